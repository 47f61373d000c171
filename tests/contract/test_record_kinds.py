"""Kinds of records: registered in versions that follow from each other, and what becomes of a record that does not look like its kind."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from contract.repositories import ORDERS, fact, numbers
from lakeledger import Conflict, Invalid, Ledger, NotFound, schemas
from lakeledger.records import retention
from lakeledger.records.compatibility import incompatibilities
from lakeledger.records.registry import NewKind

VISITS: dict[str, Any] = {
    "type": "object",
    "properties": {"number": {"type": "integer", "minimum": 0}, "page": {"enum": ["home", "cart"]}},
    "required": ["number"],
}


def with_changes(**changes: Any) -> dict[str, Any]:
    return {**VISITS, **changes}


@pytest.mark.parametrize(
    ("new", "backward", "forward"),
    [
        (VISITS, True, True),
        (with_changes(description="of a shop"), True, True),
        (with_changes(properties={**VISITS["properties"], "user": {"type": "string"}}), True, True),
        (with_changes(required=["number", "page"]), False, True),
        (with_changes(required=[]), True, False),
        (with_changes(properties={**VISITS["properties"], "number": {"type": ["integer", "null"], "minimum": 0}}), True, False),
        (with_changes(properties={**VISITS["properties"], "number": {"type": "number", "minimum": 0}}), True, False),
        (with_changes(properties={**VISITS["properties"], "number": {"type": "string"}}), False, False),
        (with_changes(properties={**VISITS["properties"], "number": {"type": "integer", "minimum": 1}}), False, True),
        (with_changes(properties={**VISITS["properties"], "page": {"enum": ["home", "cart", "help"]}}), True, False),
        (with_changes(properties={**VISITS["properties"], "page": {"enum": ["home"]}}), False, True),
        (with_changes(properties={**VISITS["properties"], "page": {"type": "string"}}), True, False),
        (with_changes(additionalProperties=False), False, True),
        (with_changes(properties={**VISITS["properties"], "page": {"enum": ["home", "cart"], "not": {"const": "cart"}}}), False, True),
    ],
)
def test_a_version_follows_from_the_one_before(new: dict[str, Any], backward: bool, forward: bool) -> None:
    found = [not incompatibilities(VISITS, new, mode) for mode in ("backward", "forward", "full", "none")]
    assert found == [backward, forward, backward and forward, True], incompatibilities(VISITS, new, "full")


def test_kinds_are_registered_in_versions(ledger: Ledger) -> None:
    kinds = ledger.records.kinds
    first = kinds.register(NewKind("visits", VISITS, retention_days=7, frequency="hourly", reason="new"))
    assert (first.version, first.compatibility, first.retention_days, first.frequency) == (1, "backward", 7, "hourly")
    assert kinds.register(NewKind("visits", VISITS)) == first
    wider = with_changes(properties={**VISITS["properties"], "user": {"type": "string"}})
    second = kinds.register(NewKind("visits", wider))
    assert (second.version, second.retention_days, second.frequency) == (2, 7, "hourly")
    assert [each.version for each in kinds.versions("visits")] == [2, 1]
    assert kinds.get("visits", 1) == first
    narrower = NewKind("visits", with_changes(required=["number", "page"]))
    assert kinds.check(narrower).problems == ["payload.page: it is required, so records that were valid are not any more"]
    with pytest.raises(Conflict, match=r"version 3 of kind visits is not backward-compatible with the one before: payload\.page"):
        kinds.register(narrower)
    assert kinds.register(replace(narrower, compatibility="none")).version == 3
    assert {each.kind for each in kinds.list()} == {*schemas.KINDS, "visits"}
    with pytest.raises(NotFound, match="no kind 'nothing' is registered"):
        kinds.get("nothing")
    with pytest.raises(NotFound, match="kind visits has no version 9: it has 1, 2, 3"):
        kinds.get("visits", 9)


def test_a_kind_of_lakeledger_may_be_widened(ledger: Ledger) -> None:
    own = ledger.records.kinds.get("ingestion_volume")
    assert (own.version, own.follows_settings, own.frequency) == (1, True, "per_load")
    wider = {**own.schema, "properties": {**own.schema["properties"], "region": {"type": "string"}}}
    assert ledger.records.kinds.register(NewKind("ingestion_volume", wider)).version == 2
    with pytest.raises(Conflict):
        ledger.records.kinds.register(NewKind("ingestion_volume", {**own.schema, "required": ["region"]}))


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({"type": "array"}, "must be a JSON Schema of an object"),
        ({"type": "object", "properties": {"a": {"type": "text"}}}, "is no JSON Schema"),
        ({"type": "object", "properties": {"a": {"$ref": "https://example.org/a.json"}}}, "refers to 'https://example.org/a.json'"),
    ],
)
def test_what_is_no_schema_of_a_payload_is_refused(schema: dict[str, Any], message: str) -> None:
    with pytest.raises(Invalid, match=message):
        NewKind("visits", schema)


def test_strict_refuses_what_is_not_registered_or_not_valid(ledger: Ledger) -> None:
    assert ledger.records.emit(fact(1, "visits", payload={"number": -1})) is not None
    ledger.records.kinds.set_policy("strict", "we are serious")
    with pytest.raises(Invalid, match=r"of the kind visits about sales\.orders is refused: no kind 'visits' is registered"):
        ledger.records.emit(fact(2, "visits"))
    ledger.records.kinds.register(NewKind("visits", VISITS))
    with pytest.raises(Invalid, match=r"not valid by version 1 of kind visits: payload\.number: -1 is less than the minimum of 0"):
        ledger.records.emit(fact(3, "visits", payload={"number": -1}))
    with pytest.raises(Invalid, match="has no version 2"):
        ledger.records.emit(fact(4, "visits", version="2"))
    with pytest.raises(Invalid, match="; and 1 more"):
        ledger.records.bulk_store([fact(5, "visits"), fact(6, "nothing"), fact(7, "nothing")])
    assert ledger.records.emit(fact(8, "visits", version="1")) is not None
    assert numbers(ledger.records.query()) == [8, -1]


def test_quarantine_sets_aside_what_is_replayed_once_its_kind_is_registered(ledger: Ledger) -> None:
    ledger.records.kinds.set_policy("quarantine")
    assert ledger.records.emit(fact(1, "visits")) is None
    assert ledger.records.emit(fact(1, "visits")) is None
    done = ledger.records.emit_many([fact(2, "visits"), fact(3), fact(4, "visits", payload={"number": "four"})])
    assert (done.stored, done.quarantined) == (1, 2)
    letters = ledger.dead_letters.list("pending", "records", "visits")
    assert [(each.item_kind, each.error_type, each.error_count) for each in letters] == [("metadata", "validation", n) for n in (1, 1, 2)]
    assert ledger.records.replay("visits", dry_run=False).failed == 3
    ledger.records.kinds.register(NewKind("visits", VISITS))
    assert ledger.records.replay("visits").total == 3
    replayed = ledger.records.replay("visits", dry_run=False)
    assert (replayed.replayed, replayed.failed) == (2, 1)
    stored = ledger.records.history(ORDERS, "visits")
    assert numbers(stored) == [2, 1]
    assert stored[1] == replace(fact(1, "visits"), record_id=stored[1].record_id, context=stored[1].context)
    (left,) = ledger.dead_letters.list("pending", "records")
    assert '"four" is not of type "integer"' in (left.error_message or "")


def test_policies_and_kinds_are_of_a_tenant(ledger: Ledger) -> None:
    ledger.records.kinds.set_policy("strict")
    ledger.records.kinds.register(NewKind("visits", VISITS))
    other = ledger.for_tenant("globex")
    assert other.records.kinds.policy == "open"
    assert other.records.emit(fact(1, "visits", payload={"number": -1})) is not None
    with pytest.raises(NotFound):
        other.records.kinds.get("visits")


def test_how_long_records_are_kept_stands_with_their_kind(ledger: Ledger) -> None:
    for kind in ("ingestion_volume", "schema_snapshot", "schema_version", "visits", "unknown"):
        ledger.records.emit(fact(1, kind))
    ledger.records.kinds.register(NewKind("visits", VISITS, retention_days=7))
    with ledger.store.read() as tx:
        kept = {each.kind: each.days for each in retention.kept(tx, 90)}
    assert kept == {"ingestion_volume": 90, "schema_snapshot": None, "schema_version": None, "visits": 7, "unknown": 90}
    assert ledger.sync.cleanup(dry_run=True)["metadata_records"] == ledger.sync.cleanup()["metadata_records"] == 3
    assert {each.kind for each in ledger.records.query()} == {"schema_snapshot", "schema_version"}
