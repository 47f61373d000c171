"""Other engines see what the ledger's own reads give, from the very commit on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import lakeledger
from contract.making import wait_until
from delta_readers import with_deltalake
from iceberg_readers import READERS, catalog, plain
from integration.loading import run, sql
from integration.test_aside import ROWS, bad_rows, put
from lakeledger import Invalid, Ledger

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


def test_rows_that_are_set_aside_are_seen_in_their_own_table(sync_lake: Ledger, spark: SparkSession) -> None:
    put(sync_lake, spark.sql(ROWS), "orders", look=bad_rows)
    put(sync_lake, spark.sql(ROWS), "orders", look=bad_rows)
    for table, version in (("orders", 1), ("orders", 2), ("orders_bad", 1), ("orders_bad", 2)):
        snapshot = next(each for each in sync_lake.tables.history(table) if each.version == version)
        expected = plain(sync_lake.read(table, version).toArrow())
        for name, read in READERS.items():
            assert plain(read(sync_lake, table, snapshot.iceberg_snapshot_id or 0)) == expected, (name, table, version)


def test_files_that_have_columns_for_rows_that_were_not_set_aside_are_read_all_the_same(sync_lake: Ledger, spark: SparkSession) -> None:
    put(sync_lake, spark.sql(ROWS).where("amount > 0"), "orders", look=bad_rows)
    put(sync_lake, spark.sql(ROWS).where("amount > 0"), "late", look=bad_rows, metadata="off")
    sync_lake.publisher.publish("late")
    assert sync_lake.tables.find("orders_bad") is None
    for table in ("orders", "late"):
        (snapshot,) = sync_lake.tables.history(table)
        expected = plain(sync_lake.read(table).toArrow())
        for name, read in READERS.items():
            assert plain(read(sync_lake, table, snapshot.iceberg_snapshot_id or 0)) == expected, (name, table)


def test_merged_tables_and_histories_read_alike_for_everybody_at_every_version(sync_lake: Ledger, spark: SparkSession) -> None:
    schema = "id int, name string, op string, seq int"
    first = [(id_, f"n{id_}", "U", 1) for id_ in range(6)]
    second = [(1, "one", "U", 2), (2, None, "D", 2), (7, "new", "U", 2), (None, "bad", "U", 3)]
    third = [(1, "late", "U", 1), (2, "again", "U", 3), (7, "new", "U", 4)]
    for batch in (first, second, third):
        for table, type_ in (("one", 1), ("two", 2)):
            sync_lake.apply_changes(
                spark.createDataFrame(batch, schema),
                table,
                keys=["id"],
                sequence_by="seq",
                apply_as_deletes="op = 'D'",
                except_column_list=["op", "seq"],
                stored_as_scd_type=type_,  # type: ignore[arg-type]
            )
    sync_lake.delete("one", "name = 'n5'")
    for batch in (first, third):
        sync_lake.merge(spark.createDataFrame(batch, schema), "three", keys=["id"], mode="sync")
    published = ("one", "two", "one__tombstones", "two__events", "one__quarantine", "three")
    for table in published:
        for each in sync_lake.tables.history(table):
            expected = plain(sync_lake.read(table, each.version).toArrow())
            for name, read in READERS.items():
                assert plain(read(sync_lake, table, each.iceberg_snapshot_id or 0)) == expected, (name, table, each.version)
    assert [each.operation for each in sync_lake.tables.history("one")] == ["delete", "merge", "merge", "merge"]
    assert sync_lake.tables.history("three")[0].summary["removed_files"] == 1
    assert sync_lake.read("one").columns == ["id", "name"], "the sequence of each row is hidden, from everybody"
    with catalog(sync_lake) as opened:
        told = [each.summary.operation.value for each in opened.load_table("main.one").metadata.snapshots if each.summary]
    assert told == ["append", "overwrite", "overwrite", "overwrite"]


def test_a_document_says_as_what_a_table_is_published(sqlite_lake: Ledger, tmp_path: Path) -> None:
    document = sql("select 1 as id").replace("table: result", "table: result, publish: [delta]")
    run(sqlite_lake, document, tmp_path)
    assert sqlite_lake.publisher.formats("main.result") == ("delta",)
    with sqlite_lake.astha():
        wait_until(lambda: (found := sqlite_lake.tables.delta("main.result")) is not None and found.version == 1)
    assert sqlite_lake.tables.publication("main.result").metadata_location is None  # type: ignore[union-attr]  # it has a row
    assert with_deltalake(sqlite_lake.tables.get("main.result").location, None).to_pylist() == [{"id": 1}]
    with pytest.raises(Invalid, match="publish"):
        run(sqlite_lake, document.replace("[delta]", "[hudi]"), tmp_path)
