"""Other engines see what the ledger's own reads give, from the very commit on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import lakeledger
from iceberg_readers import READERS, plain
from lakeledger import Ledger

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MIXED = """
select id, 'n' || id as name, cast(id as decimal(10, 2)) as price, cast(id as double) / 3 as ratio, id % 2 = 0 as even,
       date '2026-01-01' + cast(id as int) as day, timestamp '2026-01-01 12:00:00' + make_interval(0, 0, 0, 0, id) as at,
       timestamp_ntz '2026-01-01 12:00:00' as local, array(id, null) as list, map('k', id) as map,
       named_struct('a', id, 'b', array('x')) as nested, cast(id as tinyint) as small, case when id > 2 then null else id end as gaps
  from range(0, 4)
"""


@pytest.fixture
def sync_lake(url: str, tmp_path: Path, spark: SparkSession) -> Iterator[Ledger]:
    with lakeledger.open(url, warehouse=str(tmp_path / "warehouse"), metadata="sync", spark=spark) as opened:
        yield opened


def test_a_table_reads_alike_for_everybody_at_every_version(sync_lake: Ledger, spark: SparkSession) -> None:
    mixed = spark.sql(MIXED)
    sync_lake.append(mixed, "orders", partition_by=["day"])
    sync_lake.append(mixed.where("id > 1"), "orders")
    sync_lake.columns.rename("orders", "name", "title")
    sync_lake.columns.drop("orders", "price")
    sync_lake.columns.add("orders", "price", "string")
    renamed = mixed.withColumnRenamed("name", "title").selectExpr("*", "'cheap' as cost").drop("price").withColumnRenamed("cost", "price")
    sync_lake.overwrite(renamed.where("id = 2"), "orders", by_partition=True)
    sync_lake.overwrite(mixed.select("id", "day"), "orders", partition_by=["id"])
    history = sync_lake.tables.history("orders")
    assert [each.version for each in history] == [7, 6, 5, 4, 3, 2, 1]
    for each in history:
        expected = plain(sync_lake.read("orders", each.version).toArrow())
        for name, read in READERS.items():
            assert plain(read(sync_lake, "orders", each.iceberg_snapshot_id or 0)) == expected, (name, each.version)
