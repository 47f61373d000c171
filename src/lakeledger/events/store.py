"""What is kept of deliveries: how far each subscriber got, the lanes in which it is behind, and the events that were parked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from lakeledger import failpoints
from lakeledger.db import Row, Store, Transaction
from lakeledger.events.feed import sql
from lakeledger.events.model import Lane
from lakeledger.sync.dead_letters import store as letters
from lakeledger.sync.dead_letters.model import Draft

CLOSED, OPEN, REFRESHING = "closed", "open", "refreshing"


@dataclass(frozen=True)
class Cursor:
    """How far a subscriber of one tenant got: everything up to `seq` was handled, was parked, or is in a lane that is behind."""

    tenant_id: str
    subscriber: str
    seq: int
    state: str
    error: str | None
    updated_at: datetime


@dataclass(frozen=True)
class LaneRow:
    """A lane that is behind: its first event that was not handled, how often that failed, and in how many seconds it is tried again."""

    lane: Lane
    next_seq: int
    attempts: int = 0
    retry_in: float | None = field(default=None, compare=False)
    error: str | None = None


@dataclass(frozen=True)
class Progress:
    """What is to be written of one subscriber at once. `epoch` tells whether that is still so when it was written."""

    subscriber: str
    seq: int
    state: str = CLOSED
    error: str | None = None
    lanes: Sequence[LaneRow] = ()
    gone: Sequence[Lane] = ()
    parked: Sequence[Draft] = ()
    drop_all_lanes: bool = False
    epoch: int = 0


@dataclass(frozen=True)
class EventStore:
    """The deliveries of one tenant. Its store refuses to write for whoever does not lead any more."""

    store: Store

    def load(self, subscriber: str) -> tuple[Cursor | None, list[LaneRow]]:
        """Where a subscriber stands, or None if it never began; and the lanes in which it is behind."""
        with self.store.read() as tx:
            cursor = next((each for each in cursors(tx) if each.subscriber == subscriber), None)
            return cursor, [_lane(row, tx.now) for row in tx.all(sql.lanes) if row["subscriber"] == subscriber]

    def save(self, progress: Sequence[Progress]) -> None:
        """Write how far subscribers got, all at once. Raises Fenced, or Unavailable."""
        with self.store.write() as tx:
            for each in progress:
                _save(tx, each)
            failpoints.reach(failpoints.IN_SAVE)
        failpoints.reach(failpoints.AFTER_SAVE)


def cursors(tx: Transaction) -> list[Cursor]:
    """Where every subscriber of the tenant stands."""
    return [Cursor(**row) for row in tx.all(sql.cursors)]


def lane_rows(tx: Transaction) -> list[Row]:
    """Every lane that is behind."""
    return tx.all(sql.lanes)


def _save(tx: Transaction, progress: Progress) -> None:
    tx.execute(sql.put_cursor, subscriber=progress.subscriber, seq=progress.seq, state=progress.state, error=progress.error)
    if progress.drop_all_lanes:
        tx.execute(sql.drop_lanes, subscriber=progress.subscriber)
    for draft in progress.parked:
        letters.put(tx, draft)
        failpoints.reach(failpoints.IN_PARKING)
    for row in progress.lanes:
        at = None if row.retry_in is None else tx.now + timedelta(seconds=row.retry_in)
        values = {"next_seq": row.next_seq, "attempts": row.attempts, "retry_at": at, "error": row.error}
        tx.execute(sql.put_lane, **_key(progress, row.lane), **values)
    for lane in progress.gone:
        tx.execute(sql.drop_lane, **_key(progress, lane))


def _key(progress: Progress, lane: Lane) -> dict[str, Any]:
    return {"subscriber": progress.subscriber, "registry_table": lane.table, "lake_table": lane.subject}


def _lane(row: Row, now: datetime) -> LaneRow:
    left = max(0.0, (row["retry_at"] - now).total_seconds()) if row["retry_at"] else None
    return LaneRow(Lane(row["registry_table"], row["lake_table"]), row["next_seq"], row["attempts"], left, row["error"])
