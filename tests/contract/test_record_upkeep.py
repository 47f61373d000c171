"""Compaction and retention of records: history gives the same answers, what is old goes by its kind, and a crash changes nothing."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from contract.repositories import ORDERS, START, fact, numbers
from lakeledger import Ledger, failpoints, records
from lakeledger.clock import now
from lakeledger.records import Condition, MaintainedRepository, MetadataQuery, MetadataRecord, MetadataTarget, Stored, Window
from lakeledger.records.registry import NewKind

RETURNS = MetadataTarget("erp", "sales", "returns")
CUTOFF = START + timedelta(seconds=80)
ANY: dict[str, Any] = {"type": "object"}


class Killed(BaseException):
    """What ends the work as a kill would: nothing catches it."""


def some_facts() -> list[MetadataRecord]:
    """A hundred of two kinds and two targets, in any order, several of a moment, with all that a query can ask for."""
    made = []
    for number in range(100):
        window = {"window_start": f"2026-01-{1 + number % 28:02}", "window_end": f"2026-01-{2 + number % 28:02}"}
        target = RETURNS if number % 5 == 0 else ORDERS
        at = START + timedelta(seconds=number - number % 2)
        more = {"quality": {"status": "pass"}} if number % 4 else {"extras": {"half": number / 2}}
        made.append(
            fact(number, ("custom", "recon_result")[number % 3 == 0], target, payload={"number": number, **window}, produced_at=at, **more)
        )
    random.Random(3).shuffle(made)
    return made


def answers(kept: MaintainedRepository) -> dict[str, Any]:
    """What the repository says to everything that may be asked."""
    found: dict[str, Any] = {}
    for kind in ("custom", "recon_result"):
        for target in (None, ORDERS, RETURNS, "sales.orders"):
            found[f"latest {target} {kind}"] = kept.latest(target, kind)
            found[f"history {target} {kind}"] = kept.history(target, kind, limit=None)
            paged: list[MetadataRecord] = []
            after = None
            while True:
                page = kept.history(target, kind, limit=7, after=after)
                paged += page
                if (after := page.next) is None:
                    break
            found[f"pages {target} {kind}"] = paged
        found[f"time {kind}"] = kept.history(None, kind, START + timedelta(seconds=20), START + timedelta(seconds=60), limit=None)
    found["all"] = kept.query(MetadataQuery(limit=None))
    found["where"] = kept.query(MetadataQuery(where=[Condition("payload.number", "<", 30), Condition("quality.status", "=", "pass")]))
    found["window"] = kept.query(MetadataQuery(ORDERS, window=Window("2026-01-05T00:00:00Z", "2026-01-08T00:00:00Z"), limit=5))
    found["run"] = kept.query(MetadataQuery(run_id="run-13"))
    found["log"] = kept.log(limit=None)
    place, parts = 0, []
    while part := kept.log(place, limit=9):
        parts += part
        place = part[-1].sequence or 0
    found["log in parts"] = parts
    assert [each.sequence for each in parts] == [each.sequence for each in found["log"]]
    return found


def test_compaction_moves_history_to_parquet_and_every_answer_stays_the_same(kept: MaintainedRepository) -> None:
    kept.bulk_store(some_facts())
    before = answers(kept)
    planned = {each.kind: each.records for each in kept.compact(CUTOFF)}
    assert answers(kept) == before
    moved = {each.kind: each.records for each in kept.compact(CUTOFF, dry_run=False)}
    assert moved == planned == {"custom": 53, "recon_result": 27}
    assert answers(kept) == before
    assert kept.compact(CUTOFF, dry_run=False) == kept.compact(CUTOFF) == []


def test_what_was_moved_is_still_the_same_record(kept: MaintainedRepository) -> None:
    kept.bulk_store(some_facts())
    before = answers(kept)
    kept.compact(CUTOFF, dry_run=False)
    assert kept.bulk_store(some_facts()) == Stored(0, 100)
    again = kept.store(some_facts()[0])
    assert again.sequence == next(each.sequence for each in before["log"] if each.dedupe_key == again.dedupe_key)
    assert answers(kept) == before


def test_the_last_word_about_a_target_stays_however_old_it_is(kept: MaintainedRepository) -> None:
    kept.bulk_store([fact(1), fact(2), fact(3, target=RETURNS)])
    assert [each.records for each in kept.compact(now(), dry_run=False)] == [1]
    assert [numbers([kept.latest(target, "custom")]) for target in (ORDERS, RETURNS)] == [[2], [3]]


@pytest.mark.parametrize("point", [failpoints.COMPACTED_FILE, failpoints.COMPACTED_KNOWN])
def test_a_compaction_that_is_killed_changes_no_answer_and_is_finished_by_the_next(
    keeper: Ledger, point: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = keeper.records.repository
    kept.bulk_store(some_facts())
    before = answers(kept)

    def die(_: str) -> None:
        raise Killed

    monkeypatch.setitem(failpoints.armed, point, die)
    with pytest.raises(Killed):
        kept.compact(CUTOFF, dry_run=False)
    reopened = records.open(keeper.settings.records.repository, keeper.store, folder=lambda: f"{keeper.warehouse}/_records")
    assert answers(reopened) == before
    monkeypatch.delitem(failpoints.armed, point)
    reopened.compact(CUTOFF, dry_run=False)
    assert answers(reopened) == before
    assert reopened.compact(CUTOFF) == []
    assert reopened.bulk_store(some_facts()) == Stored(0, 100)


def test_retention_goes_by_kind_and_is_audited(keeper: Ledger) -> None:
    kinds = ("ingestion_volume", "schema_snapshot", "visits", "kept")
    keeper.records.kinds.register(NewKind("visits", ANY, retention_days=3650))
    keeper.records.kinds.register(NewKind("kept", ANY, archive=True, retention_days=1))
    old = [replace(fact(number, kind), dedupe_key=f"{kind}{number}") for number in range(6) for kind in kinds]
    recent = [fact(number, kind, produced_at=now(), dedupe_key=f"new {kind}") for number, kind in enumerate(kinds)]
    keeper.records.emit_many([*old, *recent])
    planned = {each.kind: (each.days, each.records) for each in keeper.records.retain()}
    assert planned == {"ingestion_volume": (90, 6), "schema_snapshot": (None, 0), "visits": (3650, 0), "kept": (1, 6)}
    gone = keeper.records.retain(dry_run=False, reason="tidy")
    assert {each.kind: (each.records, len(each.archived)) for each in gone} == {"ingestion_volume": (6, 0), "kept": (6, 1)}
    left = {kind: len(keeper.records.history(kind=kind)) for kind in kinds}
    assert left == {"ingestion_volume": 1, "schema_snapshot": 7, "visits": 7, "kept": 1}
    audit = keeper.records.latest(kind="records_retention")
    assert audit is not None
    assert (audit.payload["reason"], audit.payload["kinds"]["kept"]["records"]) == ("tidy", 6)
    assert keeper.records.retain(dry_run=False) == []


def test_retention_reaches_what_was_moved(keeper: Ledger) -> None:
    kept = keeper.records.repository
    kept.bulk_store(fact(number, "ingestion_volume") for number in range(10))
    kept.store(fact(99, "ingestion_volume", produced_at=now()))
    kept.compact(CUTOFF, dry_run=False)
    (gone,) = keeper.records.retain(dry_run=False)
    assert (gone.records, gone.files) == (10, 1)
    assert numbers(kept.history(ORDERS, "ingestion_volume")) == numbers(kept.log(kind="ingestion_volume")) == [99]
    again = records.open(keeper.settings.records.repository, keeper.store, folder=lambda: f"{keeper.warehouse}/_records")
    assert numbers(again.history(ORDERS, "ingestion_volume")) == [99]
