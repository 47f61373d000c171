"""A storm: ten thousand events of five tenants, four components and a fifth subscriber that fails at random. Nothing is lost."""

from __future__ import annotations

import random
from collections import defaultdict
from typing import Any

import pytest

from contract.delivering import Recorder, Recorders, delivering
from contract.making import execute, wait_until
from lakeledger import Ledger, clock
from lakeledger.db.queries import statement
from lakeledger.events import COMPONENT_SUBSCRIPTIONS, Event, subscription
from lakeledger.events.model import Change

TENANTS = [f"tenant{number}" for number in range(5)]
LAKE_TABLES = 8
FILES = 2_000  # of each tenant, each an event
BATCH = 100

ADD_TABLE = """
insert into tables (table_id, tenant_id, schema_name, table_name, name_key, location, current_version, content_version, row_count,
                    total_size, file_count, last_modified, created_at, updated_at)
values (:id, :tenant_id, 'silver', :id, :id, '/w', 0, 0, 0, 0, 0, :now, :now, :now)
"""
ADD_FILE = statement("""
insert into table_files (id, tenant_id, table_id, file_name, file_path, file_size, file_type, partition_path, row_count, is_compressed,
                         column_bounds, state, added_version, run_id, iceberg_metadata_state, created_at, modified_at)
values (:id, :tenant_id, :table_id, :id, :id, 1, 'parquet', '', 1, true, '{}', 'live', 1, 'run', 'pending', :now, :now)
""")


def fill(ledger: Ledger) -> None:
    """Files of several tables, a hundred at a time."""
    ids = [f"{ledger.settings.tenant}_{number}" for number in range(LAKE_TABLES)]
    for start in range(0, FILES, BATCH):
        with ledger.store.write() as tx:
            tx.many(ADD_FILE, [{"id": clock.new_id(), "table_id": ids[number % LAKE_TABLES]} for number in range(start, start + BATCH)])


def lanes(seqs: list[Event[Any]]) -> dict[tuple[str, str], list[int]]:
    found = defaultdict(list)
    for event in seqs:
        found[event.table, event.data.table_id].append(event.seq)
    return found


def once(numbers: list[int]) -> list[int]:
    """Each number where it was seen first."""
    return list(dict.fromkeys(numbers))


def test_every_event_is_handled_or_parked_and_the_order_is_kept(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subscription, "DRIFT_SECONDS", 0.2)
    chance = random.Random(7)

    def flaky(event: Event[Any]) -> None:
        if chance.random() < 0.1 or int(event.seq) % 997 == 0:
            raise ValueError("by chance")

    made = {name: Recorders(*tables) for name, tables in COMPONENT_SUBSCRIPTIONS.items()}
    made["flaky"] = Recorders("table_files", handle=flaky)
    owners = [ledger.for_tenant(tenant) for tenant in TENANTS]
    for owner in owners:
        for number in range(LAKE_TABLES):
            execute(owner, ADD_TABLE, id=f"{owner.settings.tenant}_{number}")
    pauses = {"first_pause_seconds": 0.001, "longest_pause_seconds": 0.002}
    with delivering(ledger, {**made}, retries=3, breaker_failures=5, **pauses):
        wait_until(lambda: all(len(owner.events.lag()) == 5 for owner in owners))
        wait_until(lambda: all(lag.state == "closed" for owner in owners for lag in owner.events.lag()))
        for owner in owners:
            fill(owner)
        wait_until(lambda: all(not lag.behind and not lag.lanes for owner in owners for lag in owner.events.lag()), seconds=60)
    for owner in owners:
        expected: dict[tuple[str, str], list[int]] = defaultdict(list)
        change: Change
        for change in owner.changes.after(table="table_files", limit=None):
            expected["table_files", (change.after or {})["table_id"]].append(change.seq)
        assert sum(map(len, expected.values())) == FILES
        tenant = owner.settings.tenant
        for name in ("iceberg_updater", "compactor", "snapshotter"):
            assert lanes(made[name].of[tenant].seen) == expected, f"{name} of {tenant}"
        assert made["metadata_orchestrator"].of[tenant].seen == []
        fifth: Recorder = made["flaky"].of[tenant]
        parked = {int((letter.source_record_id or "").partition("/")[2]) for letter in owner.events.parked("flaky", limit=1_000)}
        handled = {event.seq for event in fifth.seen}
        assert handled | parked == {seq for seqs in expected.values() for seq in seqs}
        assert not handled & parked
        assert {seq for seq in handled | parked if seq % 997 == 0} <= parked
        assert {lane: once(seqs) for lane, seqs in lanes(fifth.tried).items()} == expected
