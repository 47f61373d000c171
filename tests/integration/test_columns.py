"""Columns renamed, dropped, added again and retyped on Spark: every version reads as it was, and no file is touched."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from integration.commands import answer, refused, shown
from integration.frames import FORMATS, rows, stored
from lakeledger import Conflict, Invalid, Ledger, failpoints

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.parametrize("format_", FORMATS)
def test_every_version_reads_as_it_was(lake: Ledger, spark: SparkSession, format_: str) -> None:
    lake.append(spark.sql("select 1 as id, 'a' as name, 1.5d as price"), "orders", format=format_)
    written = stored(lake)
    lake.columns.rename("orders", "price", "amount")
    lake.columns.drop("orders", "name")
    lake.columns.add("orders", "name", "string")
    lake.settle()
    assert {path for path in stored(lake) if path.suffix != ".crc"} == {path for path in written if path.suffix != ".crc"}
    lake.append(spark.sql("select 2 as id, 2.5d as amount, 'b' as name"), "orders")
    lake.append(spark.sql("select 3 as id, 3.5d as amount, 'c' as name, 7L as price"), "orders", evolve=True)
    lake.overwrite(spark.sql("select 4 as id, 'four' as price"), "orders")
    expected = {
        1: (["id", "name", "price"], [(1, "a", 1.5)]),
        2: (["id", "name", "amount"], [(1, "a", 1.5)]),
        3: (["id", "amount"], [(1, 1.5)]),
        4: (["id", "amount", "name"], [(1, 1.5, None)]),
        5: (["id", "amount", "name"], [(1, 1.5, None), (2, 2.5, "b")]),
        6: (["id", "amount", "name", "price"], [(1, 1.5, None, None), (2, 2.5, "b", None), (3, 3.5, "c", 7)]),
        7: (["id", "price"], [(4, "four")]),
    }
    for version, (names, found) in expected.items():
        frame = lake.read("orders", version=version)
        assert (frame.columns, rows(frame)) == (names, found), version
    assert rows(lake.read("orders")) == [(4, "four")]


@pytest.mark.parametrize("format_", FORMATS)
def test_what_was_dropped_is_not_found_again_in_the_files(sqlite_lake: Ledger, spark: SparkSession, format_: str) -> None:
    sqlite_lake.append(spark.sql("select 1 as id, 'secret' as note"), "t", format=format_)
    sqlite_lake.columns.drop("t", "note")
    sqlite_lake.append(spark.sql("select 2 as id, 'new' as note"), "t", evolve=True)
    assert rows(sqlite_lake.read("t")) == [(1, None), (2, "new")]
    (first, second) = sqlite_lake.tables.files("t")
    if format_ == "parquet":
        assert list(second.column_bounds) == ["id", "note_3"]
        assert list(first.column_bounds) == ["id", "note"]


def test_a_renamed_partition_column_still_says_which_partition_is_which(sqlite_lake: Ledger, spark: SparkSession) -> None:
    days = "select * from values (1, 'mon'), (2, 'tue') as t(id, day)"
    sqlite_lake.append(spark.sql(days), "t", partition_by=["day"])
    sqlite_lake.columns.rename("t", "day", "Weekday")
    sqlite_lake.overwrite(spark.sql("select 20 as id, 'tue' as weekday"), "t", by_partition=True)
    assert rows(sqlite_lake.read("t")) == [(1, "mon"), (20, "tue")]
    assert sorted(file.partition_path for file in sqlite_lake.tables.files("t")) == ["day=mon", "day=tue"]
    sqlite_lake.append(spark.sql("select 3 as id, 'mon' as weekday"), "t", partition_by=["weekday"])
    with pytest.raises(Invalid, match="partitioned by Weekday"):
        sqlite_lake.append(spark.sql("select 3 as id, 'mon' as weekday"), "t", partition_by=["day"])


def test_a_query_and_a_self_reading_load_see_the_names_of_now(sqlite_lake: Ledger, spark: SparkSession) -> None:
    sqlite_lake.append(spark.sql("select 1 as id, 'a' as name"), "t")
    sqlite_lake.columns.rename("t", "name", "title")
    sqlite_lake.overwrite(sqlite_lake.read("t").selectExpr("id + 1 as id", "upper(title) as title"), "t", base_version=2)
    assert rows(sqlite_lake.read("t")) == [(2, "A")]


def test_the_cli_alters_and_says_what_it_did(sqlite_lake: Ledger, spark: SparkSession) -> None:
    sqlite_lake.append(spark.sql("select 1 as id, 'a' as name"), "t")
    where = ("--url", sqlite_lake.settings.database_url, "--warehouse", str(sqlite_lake.settings.warehouse))
    assert "main.t version 2: added discount decimal(10,2)" in shown("tables", "add-column", "t", "discount", "decimal(10,2)", *where)
    assert "main.t version 3: renamed name to title" in shown("tables", "rename-column", "t", "name", "title", *where)
    dry = shown("tables", "drop-column", "t", "title", *where)
    assert "main.t would keep id, discount; its versions up to 3 keep title" in dry
    assert "tables drop-column main.t title --apply" in dry
    assert sqlite_lake.read("t").columns == ["id", "title", "discount"]
    assert answer("tables", "drop-column", "t", "title", "--apply", *where)["snapshot"]["operation"] == "alter"
    assert sqlite_lake.read("t").columns == ["id", "discount"]
    refused(["tables", "drop-column", "t", "titel", *where], 2, "NotFound", "has no column 'titel'")


def test_a_write_beside_a_rename_is_to_be_tried_again(sqlite_lake: Ledger, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    sqlite_lake.append(spark.sql("select 1 as id, 'a' as name"), "t")
    monkeypatch.setitem(failpoints.armed, failpoints.AFTER_WRITE, lambda _: sqlite_lake.columns.rename("t", "name", "title"))
    with pytest.raises(Conflict) as raised:
        sqlite_lake.append(spark.sql("select 2 as id, 'b' as name"), "t")
    assert raised.value.retryable
    assert rows(sqlite_lake.read("t")) == [(1, "a")]
