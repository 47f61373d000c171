"""Change feeds as a module declares them: Debezium's events and replication slots, applied to the table that they are about."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg
import pytest

from integration.loading import only, put, run
from integration.test_debezium import GOLDEN, final
from integration.test_declared_sources import document
from integration.test_replication import in_shop, logical_postgres, shop, url_of  # noqa: F401 - the first two are fixtures
from lakeledger import Ledger

EVENT = '{"op":"c","before":null,"after":{"id":1,"name":"a"},"source":{"schema":"shop","table":"t","lsn":1},"ts_ms":1}'


def found(ledger: Ledger, *columns: str) -> dict[Any, tuple[Any, ...]]:
    return {row["id"]: tuple(row[name] for name in columns) for row in ledger.read("orders").collect()}


def events(**more: Any) -> str:
    config = {"path": "events/*.jsonl", "format": "debezium", **more.pop("config", {})}
    return document("files", config, {"load_type": "cdc"}, keys="id", **more)


@pytest.mark.parametrize("file", ["with_schema.jsonl", "flattened.jsonl"])
def test_the_events_of_a_real_engine_lead_to_its_table(lake: Ledger, base: Path, file: str) -> None:
    put(base / "events/1.jsonl", (GOLDEN / file).read_text())
    config = {"debezium": {"table": "shop.customers", "flattened": file == "flattened.jsonl"}}
    if file == "flattened.jsonl":
        config["schema"] = "id int, name string, big string, level int"  # type: ignore[assignment]
    result = run(lake, events(config=config), base)
    assert only(result).status == "COMPLETED", only(result).error
    expected = final("customers")
    assert found(lake, "name", "big", "level") == {key: (row["name"], row["big"], row["level"]) for key, row in expected.items()}
    assert run(lake, events(config=config), base).rows == 0


def test_events_that_cannot_be_read_are_set_aside_or_stop_the_load(sqlite_lake: Ledger, base: Path) -> None:
    put(base / "events/1.jsonl", f"{EVENT}\n{{broken\n{EVENT.replace('1', '2')}\n")
    config = {"schema": "id int, name string"}
    stopped = only(run(sqlite_lake, events(config=config), base))
    assert stopped.status == "FAILED"
    assert "1 of 3 rows for main.orders are bad" in (stopped.error or "")
    assert not sqlite_lake.tables.list()
    assert only(run(sqlite_lake, events(config=config, bad_rows="quarantine"), base)).status == "COMPLETED"
    assert found(sqlite_lake, "name") == {1: ("a",), 2: ("a",)}
    (bad,) = sqlite_lake.read("orders__quarantine").collect()
    assert bad["row"] == "{broken"
    assert len(bad["reasons"]) >= 1
    (letter,) = sqlite_lake.dead_letters.list()
    assert letter.record_data["rows"] == 1


@pytest.mark.parametrize("scd", [1, 2])
def test_a_table_follows_a_replication_slot(lake: Ledger, base: Path, shop: psycopg.Connection[Any], scd: int) -> None:  # noqa: F811
    config = {"url": url_of(shop).replace("postgres@", ""), "user": "postgres", "table": "shop.customers", "publication": "shop"}
    declared = document("postgres_changes", config, {"load_type": "cdc"}, keys="id", stored_as_scd_type=scd)
    first = only(run(lake, declared, base))
    assert first.status == "COMPLETED", first.error
    shop.execute("insert into shop.customers (id, name) values (3, 'Cyd')")
    shop.execute("update shop.customers set name = 'Ada L.' where id = 1")
    shop.execute("delete from shop.customers where id = 2")
    assert only(run(lake, declared, base)).status == "COMPLETED"
    run(lake, declared, base)
    rows = lake.read("orders")
    current = rows if scd == 1 else rows.where("__CURRENT")
    names = {row["id"]: (row["name"], len(row["big"] or "")) for row in current.collect()}
    assert names == {key: (row["name"], len(row["big"] or "")) for key, row in in_shop(shop).items()}
    if scd == 2:
        assert rows.count() == 4
