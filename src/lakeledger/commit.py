"""The commit: what a run did to any number of tables, how far its sources got and what is known of it become visible at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from lakeledger import failpoints
from lakeledger.db import Transaction
from lakeledger.names import TableName
from lakeledger.runs import Counters, Fence, Run, completed
from lakeledger.runs import store as run_store
from lakeledger.sync import Advance, Marker, Source
from lakeledger.sync.positions import store as positions
from lakeledger.tables import Change, Committed, Snapshot, Table, store
from lakeledger.tables.change import find_batch, make_version
from lakeledger.tables.model import Operation


@dataclass(frozen=True)
class Commit:
    """What was committed: a version of each changed table, in the order of the changes, and where each moved source stands.

    A batch that was already in its table is found, not applied again.
    """

    run: Run
    fence: Fence
    tables: tuple[Committed, ...] = ()
    markers: tuple[Marker, ...] = ()

    @property
    def applied(self) -> bool:
        """Whether this commit changed any table, and not an earlier one."""
        return any(each.applied for each in self.tables)

    def of(self, table: TableName) -> Committed | None:
        """What became of that table, or None if it is not among the changed."""
        return next((each for each in self.tables if each.table.name_key == table.key), None)

    def marker(self, source: Source) -> Marker | None:
        """Where that source stands now, or None if it was not moved."""
        return next((each for each in self.markers if each.source == source), None)

    def placed(self, warehouse: str) -> Commit:
        """The commit with the whole locations of its tables."""
        return replace(self, tables=tuple(each.placed(warehouse) for each in self.tables))


class Effect(Protocol):
    """Something prepared that becomes visible with the commit: a fact, a registration, another catalog's pointer."""

    def write(self, tx: Transaction, committed: Commit) -> None: ...


def commit(
    tx: Transaction, fence: Fence, changes: Sequence[Change], moves: Sequence[Advance] = (), effects: Sequence[Effect] = ()
) -> Commit:
    """Apply everything, or nothing. Raises Fenced, Conflict or Invalid, and then nothing of it is visible.

    If each of the changes that have a batch is in its table already, nothing is changed, no source is moved and no effect is written.
    """
    run = run_store.check_fence(tx, fence)
    known = [store.find(tx, change.table) for change in changes]
    done = [_applied(tx, table, change, moves) for table, change in zip(known, changes, strict=True)]
    if any(done) and all(there or not change.batch_id for there, change in zip(done, changes, strict=True)):
        return Commit(run, fence, tuple(each for each in done if each))
    tables = tuple(
        there or make_version(tx, store.find(tx, change.table), change, run) for there, change in zip(done, changes, strict=True)
    )
    # What a position brings is what goes into the first table; the others follow it.
    rows = appended(changes[0]) if changes and not done[0] else None
    by = run.worker_instance or run.trigger_by
    markers = tuple(positions.advance(tx, move, by, run.id, rows) for move in moves)
    committed = Commit(run, fence, tables, markers)
    _count(tx, committed)
    for effect in effects:
        effect.write(tx, committed)
    if fence.ends_run:
        run_store.finish(tx, run.id, completed(), by)
    failpoints.reach(failpoints.IN_TRANSACTION)
    return committed


def find_applied(
    tx: Transaction, table: Table, operation: Operation, batch_id: str | None, moves: Sequence[Advance] = ()
) -> Snapshot | None:
    """The snapshot that already holds this batch; one with positions only while its sources stand there.

    Whoever sets a position back wants the rows again.
    """
    found = find_batch(tx, table, operation, batch_id)
    return found if found and all(positions.stands_at(tx, move) for move in moves) else None


def _applied(tx: Transaction, table: Table | None, change: Change, moves: Sequence[Advance]) -> Committed | None:
    found = find_applied(tx, table, change.operation, change.batch_id, moves) if table else None
    return Committed(table, found, applied=False) if table and found else None


def appended(change: Change) -> int | None:
    """How many rows a run that reads the same again would add a second time; None if it would find them."""
    return {"append": change.rows, "exchange": change.counters.inserted}.get(change.operation)


def _count(tx: Transaction, committed: Commit) -> None:
    """Add to the counters of the run and its step: the first table is the step's."""
    if not committed.tables:
        return
    counted = sum((each.counters for each in committed.tables), start=Counters())
    run_store.count(tx, committed.run.id, counted, commits=1)
    if committed.fence.step_id:
        target = str(committed.tables[0].table.name)
        run_store.commit_step(tx, committed.fence.step_id, counted.processed, counted.bytes, target)
