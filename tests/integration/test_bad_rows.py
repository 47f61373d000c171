"""Bad rows: each row is on exactly one side, with its text, its file and every reason; too many of them stop the load."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from integration.loading import only, put, rows, run
from integration.test_declared_sources import document
from lakeledger import Ledger

HEAD = "id,name,price\n"
GOOD = "1,a,1.5\n2,b,2.5\n"
BAD = "x,c,3.5\n4,d\n,e,5.5\n"


def orders(format_: str = "csv", work: dict[str, Any] | None = None, **target: Any) -> str:
    config = {"path": f"orders/*.{format_}", "format": format_, "schema": "id int, name string, price double"}
    return document("files", config, work, bad_rows="quarantine", **target)


def quarantined(ledger: Ledger) -> list[tuple[str, list[str]]]:
    return sorted((row["row"], list(row["reasons"])) for row in ledger.read("orders__quarantine").collect())


def test_rows_that_cannot_be_read_are_set_aside_in_the_same_commit(lake: Ledger, base: Path) -> None:
    put(base / "orders/1.csv", HEAD + GOOD + BAD)
    result = run(lake, orders(required_columns="id"), base)
    assert only(result).status == "COMPLETED", only(result).error
    assert rows(lake.read("orders")) == [(1, "a", 1.5), (2, "b", 2.5)]
    unreadable = ["it cannot be read by the schema"]
    assert quarantined(lake) == [("4,d", unreadable), ("x,c,3.5", unreadable), ('{"id":null,"name":"e","price":5.5}', ["id is NULL"])]
    (file,) = {row["source_file"] for row in lake.read("orders__quarantine").collect()}
    assert file.endswith("shop [eu]/orders/1.csv")
    ended = lake.runs.get(result.run_id)
    assert (ended.records_inserted, ended.records_failed) == (2, 3)
    letters = {letter.record_data["reason"]: letter for letter in lake.dead_letters.list()}
    assert {reason: letter.record_data["rows"] for reason, letter in letters.items()} == {unreadable[0]: 2, "id is NULL": 1}
    assert letters["id is NULL"].record_data["quarantine"] == "main.orders__quarantine"
    assert letters["id is NULL"].sync_run_id == result.run_id
    assert run(lake, orders(required_columns="id"), base).rows == 0
    assert len(lake.dead_letters.list()) == 2


@pytest.mark.parametrize("limit", [{"max_bad_rows": 2}, {"max_bad_rate": 0.5}])
def test_too_many_of_them_stop_the_load_and_nothing_is_visible(sqlite_lake: Ledger, base: Path, limit: dict[str, Any]) -> None:
    put(base / "orders/1.csv", HEAD + GOOD + BAD)
    failed = only(run(sqlite_lake, orders(required_columns="id", **limit), base))
    assert failed.status == "FAILED"
    assert "3 of 5 rows for main.orders are bad" in (failed.error or "")
    assert not sqlite_lake.tables.list()
    assert not sqlite_lake.dead_letters.list()
    (error,) = sqlite_lake.errors.list("open")
    assert (error.schema_name, error.table_name, error.error_type) == ("shop", "orders", "validation")
    assert error.error_message == f"Refused: {failed.error}"
    put(base / "orders/1.csv", f"{HEAD}{GOOD}x,c,3.5\n")
    assert run(sqlite_lake, orders(**limit), base).rows == 2
    assert not sqlite_lake.errors.list("open"), "the source has done its work"
    volume = sqlite_lake.records.latest("main.orders", "ingestion_volume")
    assert volume is not None
    reasons = {"it cannot be read by the schema": 1}
    limits = {"max_bad_rows": None, "max_bad_rate": None, **limit}
    assert volume.extras["guardrails"] == {"rows": 3, "bad_rows": 1, "reasons": reasons, **limits}


def test_json_lines_keep_their_text(sqlite_lake: Ledger, base: Path) -> None:
    lines = ['{"id": 1, "name": "a", "price": 1.5}', '{"id": "x", "name": "b", "price": 2.5}', "{broken"]
    put(base / "orders/1.json", "\n".join(lines))
    run(sqlite_lake, orders("json"), base)
    assert rows(sqlite_lake.read("orders")) == [(1, "a", 1.5)]
    assert [text for text, _ in quarantined(sqlite_lake)] == sorted(lines[1:])


def test_changes_without_a_key_or_a_sequence_are_set_aside(lake: Ledger, base: Path) -> None:
    changes = document(
        "files",
        {"path": "orders/*.csv", "schema": "id int, name string, at int"},
        {"load_type": "cdc"},
        keys="id",
        sequence_by="at",
        bad_rows="quarantine",
    )
    put(base / "orders/1.csv", "id,name,at\n1,a,1\n,b,2\n3,c,\n,d,\n1,A,2\nx,e,5\n")
    result = run(lake, changes, base)
    assert only(result).status == "COMPLETED", only(result).error
    assert rows(lake.read("orders")) == [(1, "A", 2)]
    found = {json.loads(text)["name"] if text.startswith("{") else text: reasons for text, reasons in quarantined(lake)}
    assert found == {
        "b": ["id is NULL"],
        "c": ["the sequence is NULL"],
        "d": ["id is NULL", "the sequence is NULL"],
        "x,e,5": ["it cannot be read by the schema"],
    }
    volume = lake.records.latest("main.orders", "ingestion_volume")
    assert volume is not None
    assert volume.extras["deduplication"] == {"rows": 2, "kept": 1, "duplicates": 1, "without_effect": 0}
    assert (volume.extras["guardrails"]["rows"], volume.extras["guardrails"]["bad_rows"]) == (6, 4)
    put(base / "orders/2.csv", "id,name,at\n1,late,1\n1,later,1\n2,new,1\n")
    assert run(lake, changes, base).rows == 1
    volume = lake.records.latest("main.orders", "ingestion_volume")
    assert volume is not None
    assert volume.extras["deduplication"] == {"rows": 3, "kept": 2, "duplicates": 1, "without_effect": 1}


def test_a_sequence_of_several_columns_is_null_if_one_of_them_is(sqlite_lake: Ledger, base: Path) -> None:
    config = {"path": "orders/*.csv", "schema": "id int, name string, day int, n int"}
    changes = document("files", config, {"load_type": "cdc"}, keys="id", sequence_by=["day", "n"], bad_rows="quarantine")
    put(base / "orders/1.csv", "id,name,day,n\n1,a,1,9\n1,b,2,1\n1,c,,7\n2,d,1,\n")
    assert only(run(sqlite_lake, changes, base)).error is None
    assert rows(sqlite_lake.read("orders")) == [(1, "b", 2, 1)]
    assert {json.loads(text)["name"]: reasons for text, reasons in quarantined(sqlite_lake)} == {
        "c": ["the sequence is NULL"],
        "d": ["the sequence is NULL"],
    }


def test_bad_rows_need_a_schema_to_be_told_by(sqlite_lake: Ledger, base: Path) -> None:
    put(base / "orders/1.csv", HEAD + GOOD)
    failed = only(run(sqlite_lake, document("files", {"path": "orders/*.csv"}, bad_rows="quarantine"), base))
    assert "declare source_config.schema" in (failed.error or "")
