"""Schema drift: new columns and other types come in, are refused, rescued or dropped, as the target says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from iceberg_readers import READERS, plain
from integration.loading import only, put, rows, run
from integration.test_declared_sources import document
from lakeledger import Ledger


def orders(drift: str, **config: Any) -> str:
    return document("files", {"path": "orders/*.json", "format": "json", **config}, schema_drift=drift)


def lines(base: Path, number: int, *documents: dict[str, Any]) -> None:
    put(base / f"orders/{number}.json", "\n".join(json.dumps(each) for each in documents))


def columns(ledger: Ledger) -> dict[str, str]:
    return {field.name: field.dataType.simpleString() for field in ledger.read("orders").schema.fields}


def test_a_table_that_evolves_gets_new_columns_and_says_so(lake: Ledger, base: Path) -> None:
    lines(base, 1, {"id": 1, "name": "a"})
    run(lake, orders("evolve"), base)
    lines(base, 2, {"id": 2, "name": "b", "price": 1.5})
    assert only(run(lake, orders("evolve"), base)).status == "COMPLETED"
    assert rows(lake.read("orders")) == [(1, "a", None), (2, "b", 1.5)]
    assert lake.tables.history("orders")[0].summary["schema_changes"] == ["price double added"]
    lines(base, 3, {"id": 3, "price": 2.5})
    assert "3.json lacks the column name" in (only(run(lake, orders("evolve"), base)).error or "")
    assert only(run(lake, orders("evolve", optional_columns=["name"]), base)).status == "COMPLETED"
    assert rows(lake.read("orders"))[2] == (3, None, 2.5)


def test_a_frozen_table_refuses_a_new_column(sqlite_lake: Ledger, base: Path) -> None:
    lines(base, 1, {"id": 1})
    run(sqlite_lake, orders("freeze"), base)
    lines(base, 2, {"id": 2, "name": "b"})
    failed = only(run(sqlite_lake, orders("freeze"), base))
    assert failed.status == "FAILED"
    assert "name" in (failed.error or "")
    assert rows(sqlite_lake.read("orders")) == [(1,)]


def test_what_has_no_place_is_rescued_as_json(lake: Ledger, base: Path) -> None:
    lines(base, 1, {"id": 1, "price": 1.5})
    run(lake, orders("rescue"), base)
    lines(base, 2, {"id": 2, "price": "free", "name": "b"}, {"id": 3, "price": "2.5", "name": None})
    assert only(run(lake, orders("rescue"), base)).status == "COMPLETED"
    found = {row["id"]: (row["price"], json.loads(row["_rescued"]) if row["_rescued"] else None) for row in lake.read("orders").collect()}
    assert found == {1: (1.5, None), 2: (None, {"price": "free", "name": "b"}), 3: (2.5, None)}


def test_what_has_no_place_is_dropped(sqlite_lake: Ledger, base: Path) -> None:
    lines(base, 1, {"id": 1})
    run(sqlite_lake, orders("drop"), base)
    lines(base, 2, {"id": 2, "name": "b"})
    run(sqlite_lake, orders("drop"), base)
    assert rows(sqlite_lake.read("orders")) == [(1,), (2,)]
    assert list(columns(sqlite_lake)) == ["id"]


@pytest.mark.parametrize(
    ("narrow", "wide", "value"), [("int", "bigint", 2**40), ("float", "double", 0.1), ("decimal(5,2)", "decimal(20,2)", 123456.5)]
)
def test_a_column_gets_a_wider_type_and_every_version_and_engine_reads_it(sqlite_lake: Ledger, narrow: str, wide: str, value: Any) -> None:
    spark = sqlite_lake.spark
    sqlite_lake.append(spark.sql(f"select 1 as id, cast(7 as {narrow}) as n"), "orders", metadata="sync")
    sqlite_lake.append(spark.sql(f"select 2 as id, cast({value} as {wide}) as n"), "orders", evolve=True, metadata="sync")
    assert columns(sqlite_lake)["n"] == wide
    assert next(row["n"] for row in sqlite_lake.read("orders").collect() if row["id"] == 1) == 7
    before = {field.name: field.dataType.simpleString() for field in sqlite_lake.read("orders", 1).schema.fields}
    assert before["n"] == narrow
    for each in sqlite_lake.tables.history("orders"):
        expected = plain(sqlite_lake.read("orders", each.version).toArrow())
        for name, read in READERS.items():
            assert plain(read(sqlite_lake, "orders", each.iceberg_snapshot_id or 0)) == expected, (name, each.version)


def test_rows_are_merged_into_a_table_whose_column_gets_wider(sqlite_lake: Ledger) -> None:
    spark = sqlite_lake.spark
    sqlite_lake.merge(spark.sql("select 1 as id, 7 as n union all select 2, 8"), "orders", keys=["id"])
    sqlite_lake.merge(spark.sql(f"select 2 as id, {2**40}L as n"), "orders", keys=["id"], evolve=True)
    assert rows(sqlite_lake.read("orders")) == [(1, 7), (2, 2**40)]
