"""A table that was registered is written and read as any other, on real Spark."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from deltalake import write_deltalake

from iceberg_readers import READERS
from integration.commands import answer, invoke, refused, shown
from integration.loading import rows
from lakeledger import Ledger

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_a_registered_table_is_appended_to_merged_read_at_versions_and_published(
    sqlite_lake: Ledger, spark: SparkSession, tmp_path: Path
) -> None:
    import pyarrow as pa

    lake, place = sqlite_lake, str(tmp_path / "lake/orders")
    write_deltalake(place, pa.table({"id": pa.array([1, 2], pa.int64()), "name": ["a", "b"]}))
    write_deltalake(place, pa.table({"id": pa.array([100], pa.int64()), "name": ["z"]}), mode="append")
    at = ["--url", lake.settings.url]
    told = answer("tables", "register", "silver.orders", "--delta", place, *at, "--warehouse", lake.settings.warehouse_uri)
    assert (told["applied"], told["kind"], told["files"], told["rows"]) == (True, "delta", 2, 3)
    assert "registered before: nothing was changed" in shown(
        "tables", "register", "silver.orders", "--delta", place, *at, "--warehouse", lake.settings.warehouse_uri
    )
    missing = ["tables", "register", "silver.x", "--parquet", str(tmp_path / "nothing"), *at, "--warehouse", lake.settings.warehouse_uri]
    refused(missing, 2, "Invalid", "no Parquet file in")
    assert invoke("tables", "register", "silver.x", *at).exit_code == 2
    lake.append(spark.createDataFrame([(3, "c")], "id bigint, name string"), "silver.orders")
    lake.merge(spark.createDataFrame([(2, "B"), (4, "d")], "id bigint, name string"), "silver.orders", keys=["id"])
    untouched = [file.file_path for file in lake.tables.files("silver.orders") if file.added_version == 1]
    assert len(untouched) == 1  # The other one had a row that was merged.
    now = [(1, "a"), (100, "z"), (2, "B"), (3, "c"), (4, "d")]
    assert rows(lake.read("silver.orders")) == now
    assert rows(lake.read("silver.orders", version=1)) == [(1, "a"), (100, "z"), (2, "b")]
    lake.columns.add("silver.orders", "more", "int")
    lake.append(spark.createDataFrame([(5, "e", 7)], "id bigint, name string, more int"), "silver.orders")
    lake.publisher.publish("silver.orders")
    id_ = lake.tables.history("silver.orders")[0].iceberg_snapshot_id or 0
    for reader in ("pyiceberg", "duckdb"):
        found = READERS[reader](lake, "silver.orders", id_).to_pylist()
        wanted = sorted([(*row, None) for row in now] + [(5, "e", 7)], key=repr)
        assert sorted(((row["id"], row["name"], row["more"]) for row in found), key=repr) == wanted
    lake.settle()
    assert lake.tables.verify("silver.orders").ok
