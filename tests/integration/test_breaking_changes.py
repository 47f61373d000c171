"""A source that changes in a breaking way is not loaded until somebody accepts it; then no value is lost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from iceberg_readers import READERS, plain
from integration.commands import answer, refused, shown
from integration.loading import error_of, only, put, rows, run
from integration.test_declared_sources import document
from integration.test_drift import columns, lines, orders
from lakeledger import Ledger

pytestmark = pytest.mark.usefixtures("quiet")


def where(ledger: Ledger) -> tuple[str, ...]:
    return "--url", ledger.settings.database_url, "--warehouse", str(ledger.settings.warehouse)


def csv(base: Path, number: int, text: str) -> None:
    put(base / f"orders/{number}.csv", text)


def csvs(drift: str = "freeze", config: dict[str, Any] | None = None, **target: Any) -> str:
    return document("files", {"path": "orders/*.csv", **(config or {})}, schema_drift=drift, **target)


def test_a_breaking_change_is_blocked_shown_accepted_and_loaded(lake: Ledger, base: Path) -> None:
    lines(base, 1, {"id": 1, "name": "a", "price": 1.5})
    run(lake, orders("evolve"), base)
    lines(base, 2, {"id": 2, "price": "free"})
    told = error_of(lake, failed := run(lake, orders("evolve"), base))
    assert "2.json lacks the column name" in told
    assert "`lakeledger schema accept shop.orders --reason TEXT`" in told
    assert rows(lake.read("orders")) == [(1, "a", 1.5)]
    assert {each.run_id for each in lake.schemas.blocked()} == {failed.run_id}
    at = where(lake)
    for command in (("list",), ("show", "shop.orders"), ("diff", "shop.orders", "1")):
        assert [each["change"]["subject"] for each in answer("schema", *command, *at)["blocked"]] == ["name", "price"]
        assert "changes that block loads" in shown("schema", *command, *at)
    assert "name string was dropped: it is NULL in the rows of main.orders" in shown(
        "schema", "accept", "shop.orders", "--reason", "x", *at
    )
    assert [each["accepted_reason"] for each in answer("schema", "accept", "shop.orders", *at)["accepted"]] == ["x", "x"]
    assert only(run(lake, orders("evolve"), base)).error is None
    assert columns(lake) == {"id": "bigint", "name": "string", "price__double": "double", "price": "string"}
    assert rows(lake.read("orders")) == [(1, "a", 1.5, None), (2, None, None, "free")]
    assert lake.tables.history("orders")[0].summary["schema_changes"] == ["price string added", "price renamed to price__double"]
    refused(["schema", "accept", "shop.orders", *at], 2, "NotFound", "nothing blocks shop.orders")
    lines(base, 3, {"id": 3, "price": "dear"})
    assert only(run(lake, orders("evolve"), base)).error is None
    lines(base, 4, {"id": 4, "price": [1]})  # a number would be read as the text that it is
    assert "price is string, not array<long>" in error_of(lake, run(lake, orders("evolve"), base))
    latest = lake.schemas.get("shop.orders")
    assert {change["subject"]: change["accepted_reason"] for change in latest.changes} == {"name": "x", "price": "x"}


@pytest.mark.parametrize("drift", ["freeze", "drop"])
def test_rows_are_merged_across_an_accepted_type_and_every_engine_sees_the_same(sqlite_lake: Ledger, base: Path, drift: str) -> None:
    def declared(schema: str) -> str:
        config = {"path": "orders/*.csv", "schema": schema}
        return document("files", config, write_mode="merge", keys="id", schema_drift=drift)

    csv(base, 1, "id,price,note\n1,1.5,a\n2,2.5,b\n")
    run(sqlite_lake, declared("id int, price double, note string"), base)
    csv(base, 2, "id,price\n2,free\n3,dear\n")
    changed = declared("id int, price string")
    assert "note is missing, price is double, not string" in error_of(sqlite_lake, run(sqlite_lake, changed, base))
    sqlite_lake.schemas.accept("shop.orders")
    assert only(run(sqlite_lake, changed, base)).error is None
    assert rows(sqlite_lake.read("orders").select("id", "price__double", "note", "price")) == [
        (1, 1.5, "a", None),
        (2, None, None, "free"),
        (3, None, None, "dear"),
    ]
    sqlite_lake.publisher.publish("orders")
    expected = plain(sqlite_lake.read("orders").toArrow())
    for name, read in READERS.items():
        assert plain(read(sqlite_lake, "orders", sqlite_lake.tables.history("orders")[0].iceberg_snapshot_id or 0)) == expected, name
    csv(base, 3, "id,price\nx,9\n")
    key = declared("id string, price string")
    assert "keys, partitions and sequences keep their types" in error_of(sqlite_lake, run(sqlite_lake, key, base))
    assert sqlite_lake.schemas.blocked() == []


def test_a_policy_that_refuses_blocks_before_anything_is_written(sqlite_lake: Ledger, base: Path) -> None:
    def declared(schema: str) -> str:
        return document("files", {"path": "orders/*.csv", "schema": schema}, {"load_type": "full"})

    csv(base, 1, "id,name\n1,a\n")
    run(sqlite_lake, declared("id int, name string"), base)
    sqlite_lake.schemas.register("shop.orders", sqlite_lake.schemas.get("shop.orders").definition, policy="full")
    csv(base, 1, "id,name\n1,2\n")
    told = error_of(sqlite_lake, run(sqlite_lake, declared("id int, name int"), base))
    assert "the schema of shop.orders may not change like this under the policy 'full'" in told
    assert "schema accept shop.orders" in told
    sqlite_lake.schemas.accept("shop.orders", "agreed")
    assert only(run(sqlite_lake, declared("id int, name int"), base)).error is None
    assert rows(sqlite_lake.read("orders")) == [(1, 2)]


def test_a_frozen_table_takes_what_was_accepted_and_nothing_else(sqlite_lake: Ledger, base: Path) -> None:
    csv(base, 1, "id,name\n1,a\n")
    run(sqlite_lake, csvs(), base)
    csv(base, 2, "id,price\n2,1.5\n")
    told = error_of(sqlite_lake, run(sqlite_lake, csvs(), base))
    assert "2.csv lacks the column name: it has id, price" in told
    assert [each.change["words"] for each in sqlite_lake.schemas.blocked()] == [
        "price double was added (may be NULL)",
        "name string was dropped",
    ]
    sqlite_lake.schemas.accept("shop.orders")
    assert only(run(sqlite_lake, csvs(), base)).error is None
    assert rows(sqlite_lake.read("orders")) == [(1, "a", None), (2, None, 1.5)]
    csv(base, 3, "id,price\n3,2\n")
    assert only(run(sqlite_lake, csvs(), base)).error is None
    csv(base, 4, "id,price,city\n4,2,x\n")
    assert "city is new" in error_of(sqlite_lake, run(sqlite_lake, csvs(), base))


@pytest.mark.parametrize("kind", ["csv", "json"])
def test_files_with_other_columns_follow_the_policy(sqlite_lake: Ledger, base: Path, kind: str) -> None:
    def write(number: int, *documents: dict[str, Any]) -> None:
        names = list(documents[0])
        text = "\n".join([",".join(names), *(",".join(str(each[name]) for name in names) for each in documents)])
        put(base / f"{number}.{kind}", text if kind == "csv" else "\n".join(map(json.dumps, documents)))

    def declared(drift: str, *optional: str) -> str:
        config = {"path": f"*.{kind}", "format": kind, "optional_columns": list(optional)}
        return (
            document("files", config, schema_drift=drift)
            .replace('"table":"orders"', f'"table":"{drift}"')
            .replace('"source_id":"orders"', f'"source_id":"{drift}"')
        )

    write(1, {"id": 1, "price": 1.5, "name": "a"})
    for drift in ("freeze", "evolve", "rescue", "drop"):
        assert only(run(sqlite_lake, declared(drift), base)).error is None
    write(2, {"name": "b", "id": 2, "price": 2})  # in another order, and whole numbers only
    write(3, {"id": 3, "price": 3.5, "name": "c", "city": "x"})
    write(4, {"id": 4, "name": "d", "price": 4})
    assert "city is new" in error_of(sqlite_lake, run(sqlite_lake, declared("freeze"), base))
    for drift in ("evolve", "rescue", "drop"):
        assert only(run(sqlite_lake, declared(drift), base)).error is None, drift
    ids = {1: ("a", 1.5), 2: ("b", 2.0), 3: ("c", 3.5), 4: ("d", 4.0)}
    for drift in ("evolve", "rescue", "drop"):
        found = sqlite_lake.read(drift)
        assert {row["id"]: (row["name"], row["price"]) for row in found.collect()} == ids, drift
    assert {row["id"]: row["city"] for row in sqlite_lake.read("evolve").collect()} == {1: None, 2: None, 3: "x", 4: None}
    assert {row["id"]: row["_rescued"] for row in sqlite_lake.read("rescue").collect()}[3] == '{"city":"x"}'
    assert "city" not in sqlite_lake.read("drop").columns
    write(5, {"id": 5, "price": 5.5})
    write(6, {"id": 6, "price": 6.5, "name": "f"})
    for drift in ("rescue", "drop"):
        assert f"5.{kind} lacks the column name" in error_of(sqlite_lake, run(sqlite_lake, declared(drift), base))
        assert only(run(sqlite_lake, declared(drift, "name"), base)).error is None
        assert {row["id"]: row["name"] for row in sqlite_lake.read(drift).where("id > 4").collect()} == {5: None, 6: "f"}


def test_a_renamed_column_keeps_its_data_in_the_commit_of_the_load(lake: Ledger, base: Path) -> None:
    csv(base, 1, "id,price\n1,1.5\n")
    run(lake, csvs(partition_by=["id"]), base)
    renamed = csvs(renamed_columns={"amount": "price", "number": "id"}, partition_by=["number"])
    csv(base, 2, "number,amount\n2,2.5\n")
    csv(base, 3, "id,price\n3,3.5\n")
    assert only(run(lake, renamed, base)).error is None
    assert (lake.read("orders").columns, rows(lake.read("orders"))) == (["number", "amount"], [(1, 1.5), (2, 2.5), (3, 3.5)])
    assert lake.tables.get("orders").current_version == 2
    assert lake.tables.history("orders")[0].summary["schema_changes"] == ["id renamed to number", "price renamed to amount"]
    assert run(lake, renamed, base).rows == 0
    csv(base, 4, "number,amount,price\n4,4.5,1\n")
    assert "the data has both 'amount' and 'price'" in error_of(lake, run(lake, renamed, base))
    (base / "orders/4.csv").unlink()
    csv(base, 5, "number,amount\n5,5.5\n")
    strange = csvs(renamed_columns={"amount": "price", "number": "id", "a": "b"}, partition_by=["number"])
    assert "b is a now, but neither main.orders nor the data has them" in error_of(lake, run(lake, strange, base))


def test_keys_are_renamed_where_rows_are_merged(sqlite_lake: Ledger, base: Path) -> None:
    lines(base, 1, {"id": 1, "price": 1.5}, {"id": 2, "price": 2.5})
    config = {"path": "orders/*.json", "format": "json"}
    run(sqlite_lake, document("files", config, write_mode="merge", keys="id"), base)
    lines(base, 2, {"Order Id": 2, "price": 20.0})
    made = document("files", config, write_mode="merge", keys="order_id", column_names="safe", renamed_columns={"order_id": "id"})
    assert "Order_Id" not in sqlite_lake.read("orders").columns
    assert only(run(sqlite_lake, made, base)).error is None
    assert (sqlite_lake.read("orders").columns, rows(sqlite_lake.read("orders"))) == (["order_id", "price"], [(1, 1.5), (2, 20.0)])


def test_odd_names_are_kept_or_made_safe_and_never_mixed_up(sqlite_lake: Ledger, base: Path) -> None:
    csv(base, 1, '"Price (EUR)",net.amount, name ,"a=b;{c}"\n1.5,2,x,y\n')
    assert only(run(sqlite_lake, csvs(), base)).error is None
    csv(base, 2, 'net.amount,"Price (EUR)", name ,"a=b;{c}"\n4,3.5,z,w\n')
    assert only(run(sqlite_lake, csvs(), base)).error is None
    found = sqlite_lake.read("orders")
    assert found.columns == ["Price (EUR)", "net.amount", " name ", "a=b;{c}"]
    assert rows(found) == [(1.5, 2, "x", "y"), (3.5, 4, "z", "w")]
    safe = csvs(column_names="safe").replace('"source_id":"orders"', '"source_id":"safe"').replace('"table":"orders"', '"table":"safe"')
    assert only(run(sqlite_lake, safe, base)).error is None
    assert sqlite_lake.read("safe").columns == ["Price_EUR", "net_amount", "name", "a_b_c"]
    csv(base, 3, "Name,name,\n1,2,3\n")
    other = csvs(config={"path": "orders/3.csv"}).replace('"source_id":"orders"', '"source_id":"other"')
    other = other.replace('"table":"orders"', '"table":"other"')
    assert "3.csv has columns that differ only in case: Name, name; name all but one of them in" in error_of(
        sqlite_lake, run(sqlite_lake, other, base)
    )
    assert only(run(sqlite_lake, other.replace('"schema_drift"', '"renamed_columns":{"lower":"name"},"schema_drift"'), base)).error is None
    assert (sqlite_lake.read("other").columns, rows(sqlite_lake.read("other"))) == (["Name", "lower", "_c2"], [(1, 2, 3)])
