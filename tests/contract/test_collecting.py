"""Collectors over the ledger's own tables, and what changed between two snapshots, on SQLite and on PostgreSQL."""

from __future__ import annotations

from typing import Any

import pytest

from contract.making import ORDERS, append, new_file
from lakeledger import Ledger, MetadataRequest, MetadataTarget
from lakeledger.collecting.differences import differences
from lakeledger.collecting.facts import Seen, facts
from lakeledger.records.model import MetadataRecord
from lakeledger.schemas import kind as schema_of
from lakeledger.sync.schemas import SchemaDefinition

TARGET = MetadataTarget("ledger", "silver", "orders")
SHOP = MetadataTarget("shop.orders", "shop", "orders")


def field(name: str, type_: str) -> dict[str, Any]:
    return {"name": name, "type": type_, "nullable": True, "metadata": {}}


def snapshot(*columns: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"columns": [{"nullable": True, **each} for each in columns], **more}


def look(ledger: Ledger, *columns: dict[str, Any], keys: tuple[str, ...] = ()) -> list[MetadataRecord]:
    """What a collector that sees these columns says, and keeps."""
    seen = Seen("jdbc", SchemaDefinition([dict(each) for each in columns], list(keys)))
    said = list(facts(MetadataRequest(SHOP), "tests.v1", seen, ledger.records))
    ledger.records.emit_many(said)
    return said


def test_a_ledger_table_is_collected_without_its_files(ledger: Ledger) -> None:
    append(ledger, new_file("a", 10), new_file("b", 30))
    (result,) = ledger.collectors.collect(ORDERS)
    assert (result.outcome, result.kinds) == ("stored", ("schema_snapshot", "statistics_snapshot"))
    schema, statistics = (ledger.records.latest(TARGET, kind) for kind in result.kinds)
    assert schema is not None
    assert statistics is not None
    assert [(each["name"], each["type"], each["position"]) for each in schema.payload["columns"]] == [("id", "long", 0)]
    assert (schema.payload["table_version"], schema.producer_id) == (1, "collector.ledger.v1")
    assert statistics.payload["columns"] == {"id": {"null_count": 0, "null_percent": 0.0, "min": 1, "max": 30}}
    assert (statistics.payload["row_count"], statistics.payload["file_count"], statistics.payload["total_bytes"]) == (40, 2, 200)
    ledger.records.kinds.set_policy("strict", "they look like their kinds")
    assert ledger.collectors.collect(ORDERS)[0].kinds == ("statistics_snapshot",), "a schema that is no news is not told again"


def test_a_table_that_is_not_there_is_an_error_and_other_targets_are_not_ours(ledger: Ledger) -> None:
    append(ledger, new_file("a", 10))
    assert [each.outcome.value for each in ledger.collectors.collect("silver.gone", ORDERS)] == ["error", "stored"]
    elsewhere = ledger.records.produce(ledger.collectors.ledger_tables, MetadataRequest(MetadataTarget("erp", "silver", "orders")))
    assert elsewhere.outcome == "unsupported_target"
    lineage = ledger.records.produce(ledger.collectors.ledger_tables, MetadataRequest(TARGET, kinds=["lineage"]))
    assert lineage.outcome == "capability_missing"


def test_what_changed_is_judged_by_the_rules_of_the_schema_registry() -> None:
    before = snapshot(
        {"name": "id", "type": "int", "nullable": False}, {"name": "code", "type": "varchar(10)"},
        {"name": "price", "type": "decimal(10,2)"},
        {"name": "note", "type": "text", "comment": "free"}, primary_key=["id"], partitioned_by=["code"],
    )  # fmt: skip
    after = snapshot(
        {"name": "price", "type": "decimal(8,2)"}, {"name": "id", "type": "bigint", "nullable": False},
        {"name": "note", "type": "text", "comment": "not free", "default": "x"}, {"name": "at", "type": "timestamp"},
        primary_key=["id"], partitioned_by=["at"],
    )  # fmt: skip
    found = {(each["change"], each["column"]): each["breaking"] for each in differences(before, after)}
    assert found == {
        ("type_changed", "id"): False,
        ("type_changed", "price"): True,
        ("default_changed", "note"): False,
        ("column_removed", "code"): True,
        ("column_added", "at"): False,
        ("position_changed", "price"): False,
        ("position_changed", "id"): False,
        ("comment_changed", "note"): False,
        ("partitioning_changed", None): False,
    }
    assert {each["change"] for each in differences(before, after)} <= set(
        schema_of("catalog_diff")["properties"]["changes"]["items"]["properties"]["change"]["enum"]
    )
    (key,) = differences(
        snapshot({"name": "a", "type": "int", "nullable": False}), snapshot({"name": "a", "type": "int"}, primary_key=["a"])
    )
    assert (key["change"], key["breaking"]) == ("key_changed", True)


@pytest.mark.parametrize(("now", "breaks"), [("numeric(8,2)", True), ("mystery", True), ("numeric(14,2)", False)])
def test_a_type_that_nobody_knows_counts_as_breaking(now: str, breaks: bool) -> None:
    (told,) = differences(snapshot({"name": "price", "type": "numeric(12,2)"}), snapshot({"name": "price", "type": now}))
    assert told["breaking"] is breaks
    assert told["words"].startswith("price changed from numeric(12,2)")


def test_a_breaking_change_stays_one_until_it_is_accepted_or_taken_back(ledger: Ledger) -> None:
    both = [{"name": "id", "type": "bigint"}, {"name": "name", "type": "text"}]
    more = {"name": "at", "type": "timestamptz"}
    assert [each.kind for each in look(ledger, *both)] == ["schema_snapshot"]
    assert ledger.insights.gate("shop.orders").is_open
    assert look(ledger, both[0])[1].payload["breaking"]
    assert look(ledger, both[0]) == []
    assert not ledger.insights.gate("shop.orders").is_open
    hidden = look(ledger, both[0], more)[1].payload
    assert [(each["change"], each["column"]) for each in hidden["changes"]] == [("column_removed", "name"), ("column_added", "at")]
    back = look(ledger, *both)[1].payload
    assert (back["changes"], back["breaking"], back["from_fingerprint"]) == ([], False, back["to_fingerprint"])
    assert ledger.insights.gate("shop.orders").is_open, "it was taken back"
