"""`lakeledger records` and `lakeledger kinds`: what is known is found, emitted, tailed and kept in order from the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from contract.making import append, new_file
from contract.repositories import fact
from integration.commands import answer, invoke, refused, shown
from lakeledger import Ledger

SCHEMA = {"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]}


@pytest.fixture
def place(url: str, ledger: Ledger, tmp_path: Path) -> list[str]:
    """The options that lead to a ledger with a commit and six facts."""
    append(ledger, new_file("a", 10), new_file("b", 5))
    ledger.records.emit_many(fact(number, extras={"half": number // 2}) for number in range(6))
    return ["--url", url, "--warehouse", str(tmp_path / "warehouse")]


def document(number: int, kind: str = "custom") -> dict[str, Any]:
    return {
        "target": {"source_id": "erp", "schema": "sales", "table": "returns"},
        "kind": kind,
        "payload": {"number": number},
        "producer_id": "me.v1",
    }


def found(*words: str) -> list[int]:
    return [each["payload"].get("number") for each in answer("records", *words)["records"]]


def test_facts_are_found(place: list[str]) -> None:
    assert answer("records", "latest", "sales.orders", "custom", *place)["record"]["payload"] == {"number": 5}
    assert answer("records", "latest", "sales.orders", "lineage", *place) == {"record": None}
    assert found("history", "sales.orders", "custom", "--limit", "2", *place) == [5, 4]
    assert found("list", "custom", "--until", "2026-01-01T00:00:03Z", *place) == [2, 1, 0]
    assert found("query", "--kind", "custom", "--where", "payload.number>=2", "--where", "extras.half != 2", *place) == [3, 2]
    assert found("query", "--run", "run-4", *place) == [4]
    assert found("query", "--source", "erp", "--table", "sales.orders", "--limit", "1", *place) == [5]
    assert "number=5" in shown("records", "latest", "sales.orders", "custom", *place)
    assert "ingestion_volume" in shown("records", "query", "--table", "silver.orders", *place)
    refused(["records", "query", "--where", "rows", *place], 2, "Invalid", "compares nothing")
    refused(["records", "latest", "custom", "sales.orders", *place], 2, "Invalid", "is no kind of record")


def test_the_log_is_tailed_from_a_place(place: list[str]) -> None:
    lines = [json.loads(line) for line in invoke("records", "tail", "--json", *place).stdout.splitlines()]
    assert [each["kind"] for each in lines] == ["ingestion_volume", "ingestion_runtime", *["custom"] * 6]
    behind = invoke("records", "tail", "--from", str(lines[4]["sequence"]), "--limit", "2", "--json", *place).stdout.splitlines()
    assert [json.loads(line) for line in behind] == lines[5:7]
    assert shown("records", "tail", "--kind", "custom", *place).splitlines()[-1].startswith(f"{lines[-1]['sequence']}  2026-01-01 00:00:05")


def test_facts_are_emitted_once_and_those_of_no_kind_wait(place: list[str], tmp_path: Path) -> None:
    told = {**document(1), "produced_at": "2026-01-01T00:00:00Z"}
    assert answer("records", "emit", *place, stdin=json.dumps(told)) == {"stored": 1, "duplicates": 0, "quarantined": 0, "published": 0}
    assert answer("records", "emit", *place, stdin=f"{json.dumps(told)}\n{json.dumps(document(2))}\n")["stored"] == 1
    assert answer("kinds", "policy", "quarantine", *place) == {"policy": "quarantine"}
    assert answer("records", "emit", *place, stdin=json.dumps([document(3, "visits")]), code=3)["quarantined"] == 1
    (tmp_path / "visits.json").write_text(json.dumps(SCHEMA))
    assert answer("kinds", "check", "visits", str(tmp_path / "visits.json"), *place)["version"] == 1
    assert answer("kinds", "register", "visits", str(tmp_path / "visits.json"), "--retention-days", "7", *place)["kind"]["version"] == 1
    assert answer("records", "replay", *place)["total"] == 1
    assert answer("records", "replay", "--kind", "visits", "--apply", *place)["replayed"] == 1
    assert found("list", "visits", *place) == [3]
    refused(["records", "emit", *place], 2, "Invalid", "needs target, kind, payload and producer_id", stdin='{"kind": "custom"}')
    refused(["records", "emit", *place], 2, "Invalid", "line 2 is not JSON", stdin=f"{json.dumps(told)}\n{{")


def test_kinds_are_shown_and_checked(place: list[str], tmp_path: Path) -> None:
    listed = answer("kinds", "list", *place)
    assert (listed["policy"], len(listed["kinds"])) == ("open", 11)
    assert answer("kinds", "show", "recon_result", *place)["kind"]["schema"]["title"] == "Reconciliation result"
    (tmp_path / "custom.json").write_text(json.dumps(SCHEMA))
    assert "not backward-compatible" in shown("kinds", "check", "custom", str(tmp_path / "custom.json"), *place, code=1)
    assert "for good" in shown("kinds", "list", *place)
    refused(["kinds", "show", "nothing", *place], 2, "NotFound", "no kind 'nothing' is registered")


def test_history_is_compacted_and_forgotten(place: list[str]) -> None:
    before = answer("records", "list", "custom", *place)
    planned = answer("records", "compact", "--older-than", "1d", *place)
    assert (planned["dry_run"], planned["moved"][0]["records"]) == (True, 5)
    assert answer("records", "compact", "--older-than", "1d", "--apply", *place)["moved"][0]["files"] == 1
    assert answer("records", "list", "custom", *place) == before
    assert {each["kind"]: each["records"] for each in answer("records", "retention", *place)["kinds"]} == {
        "custom": 6, "ingestion_volume": 0, "ingestion_runtime": 0,
    }  # fmt: skip
    assert answer("records", "retention", "--apply", "--reason", "tidy", *place)["kinds"][0]["records"] == 6
    assert found("list", "custom", *place) == []
    assert answer("records", "list", "records_retention", *place)["records"][0]["payload"]["reason"] == "tidy"
