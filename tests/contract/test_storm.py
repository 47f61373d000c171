"""A storm: ten thousand events of five tenants, four components and a fifth subscriber that fails at random. Nothing is lost."""

from __future__ import annotations

import random
from collections import defaultdict
from typing import Any

import pytest

from contract.delivering import Recorder, Recorders, delivering, head
from contract.making import execute, wait_until
from lakeledger import Ledger, clock
from lakeledger.db.queries import statement
from lakeledger.events import COMPONENT_SUBSCRIPTIONS, Event, pace
from lakeledger.events.model import Change

TENANTS = [f"tenant{number}" for number in range(5)]
LAKE_TABLES = 8
EVENTS = 2_000  # of each tenant
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


ADD_STATS = statement("""
insert into table_stats (id, table_id, tenant_id, row_count, total_size, file_count, last_modified, created_at, updated_at)
values (:table_id, :table_id, :tenant_id, 0, 0, 0, :now, :now, :now)
""")
GROW = statement("update tables set file_count = file_count + 1 where tenant_id = :tenant_id and table_id = :table_id")
GROW_STATS = statement("update table_stats set file_count = file_count + 1 where tenant_id = :tenant_id and table_id = :table_id")


def fill(ledger: Ledger) -> None:
    """Files of several tables, a hundred events at a time; with some of them the table and its statistics change."""
    ids = [f"{ledger.settings.tenant}_{number}" for number in range(LAKE_TABLES)]
    chance = random.Random(ledger.settings.tenant)
    for _ in range(0, EVENTS, BATCH):
        files = chance.choices(ids, k=BATCH * 8 // 10)
        with ledger.store.write() as tx:
            tx.many(ADD_FILE, [{"id": clock.new_id(), "table_id": id_} for id_ in files])
            for grow in (GROW, GROW_STATS):
                tx.many(grow, [{"table_id": id_} for id_ in files[: BATCH // 10]])


def lanes(seqs: list[Event[Any]]) -> dict[tuple[str, str], list[int]]:
    found = defaultdict(list)
    for event in seqs:
        found[event.table, event.data.table_id].append(event.seq)
    return found


def expected(changes: list[Change], tables: list[str]) -> dict[tuple[str, str], list[int]]:
    """The events of each lane, in order, as the change log has them."""
    found = defaultdict(list)
    for change in changes:
        if change.table_name in tables:
            found[change.table_name, change.lane.subject].append(change.seq)
    return found


def once(numbers: list[int]) -> list[int]:
    """Each number where it was seen first."""
    return list(dict.fromkeys(numbers))


def test_every_event_is_handled_or_parked_and_the_order_is_kept(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pace, "DRIFT_SECONDS", 0.2)
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
            with owner.store.write() as tx:
                tx.execute(ADD_STATS, table_id=f"{owner.settings.tenant}_{number}")
    began = {owner.settings.tenant: head(owner) for owner in owners}
    pauses = {"first_pause_seconds": 0.001, "longest_pause_seconds": 0.002}
    with delivering(ledger, {**made}, retries=3, breaker_failures=5, **pauses):
        wait_until(lambda: all(len(owner.events.lag()) == len(made) for owner in owners))
        wait_until(lambda: all(lag.state == "closed" for owner in owners for lag in owner.events.lag()))
        for owner in owners:
            fill(owner)
        wait_until(lambda: all(not lag.behind and not lag.lanes for owner in owners for lag in owner.events.lag()), seconds=60)
    for owner in owners:
        tenant = owner.settings.tenant
        changes = list(owner.changes.after(began[tenant], limit=None))
        assert len(changes) == EVENTS
        for name, tables in COMPONENT_SUBSCRIPTIONS.items():
            assert lanes(made[name].of[tenant].seen) == expected(changes, tables), f"{name} of {tenant}"
        files = expected(changes, ["table_files"])
        fifth: Recorder = made["flaky"].of[tenant]
        parked = {int((letter.source_record_id or "").partition("/")[2]) for letter in owner.events.parked("flaky", limit=1_000)}
        handled = {event.seq for event in fifth.seen}
        assert handled | parked == {seq for seqs in files.values() for seq in seqs}
        assert not handled & parked
        assert {seq for seq in handled | parked if seq % 997 == 0} <= parked
        assert {lane: once(seqs) for lane, seqs in lanes(fifth.tried).items()} == files
