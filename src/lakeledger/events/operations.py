"""What people do about deliveries: see how far subscribers got, look at what was parked, replay it, forget a subscriber."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from lakeledger import clock
from lakeledger.db import Row, Store, Transaction
from lakeledger.db.pages import MAX_PAGE, Page
from lakeledger.errors import Conflict, NotFound
from lakeledger.events import parking, store
from lakeledger.events.feed import sql
from lakeledger.events.model import Lane, Subscriber, to_event
from lakeledger.events.store import Cursor
from lakeledger.names import TableName
from lakeledger.sync.dead_letters import DeadLetter, DeadLetters

HOLD_SECONDS = 3_600.0


@dataclass(frozen=True)
class LaneLag:
    """A lane that is behind: `next_seq` is its first event that was not handled. `name` is that of the table, if it is there still."""

    registry_table: str
    lake_table: str
    name: str | None
    next_seq: int
    attempts: int
    retry_at: datetime | None
    error: str | None


@dataclass(frozen=True)
class Lag:
    """How far a subscriber got: `behind` changes are not read yet, besides those of `lanes`. `oldest_at`: of the first that waits."""

    subscriber: str
    state: str
    seq: int
    head: int
    behind: int
    oldest_at: datetime | None
    moved_at: datetime
    error: str | None
    lanes: tuple[LaneLag, ...]


@dataclass(frozen=True)
class Replayed:
    """What a replay did, or would do. `skipped` ones come after one of the same lane that failed, or are held by somebody else."""

    dry_run: bool
    total: int
    replayed: int = 0
    failed: int = 0
    skipped: int = 0


@dataclass(frozen=True)
class Events:
    """The deliveries of one tenant."""

    _store: Store
    _letters: DeadLetters

    def lag(self) -> list[Lag]:
        """How far every subscriber got that ever began."""
        with self._store.read() as tx:
            head = int((tx.one(sql.head) or {})["head"])
            lanes = store.lane_rows(tx)
            return [_lag(tx, each, head, [row for row in lanes if row["subscriber"] == each.subscriber]) for each in store.cursors(tx)]

    def parked(self, subscriber: str | None = None, limit: int = 50, after: str | None = None) -> Page[DeadLetter]:
        """Events that wait to be replayed, newest first, a page at a time; those of one subscriber, or of all."""
        return self._letters.list("pending", parking.SCHEMA, subscriber, limit=limit, after=after)

    def replay(self, name: str, subscriber: Subscriber[Any] | None, limit: int | None = None, *, dry_run: bool = True) -> Replayed:
        """Give a subscriber what was parked for it, in order. What follows in a lane on one that fails again stays parked.

        It is called here, beside whatever process delivers what is new. A dry run only counts.
        """
        found = sorted(self._all_parked(name), key=parking.seq_of)[:limit]
        if dry_run or subscriber is None:
            return Replayed(True, len(found))
        by, stuck, counts = f"replay {clock.new_id()[-6:]}", set[Lane](), {"replayed": 0, "failed": 0, "skipped": 0}
        for letter in found:
            counts[self._replay_one(letter, subscriber, by, stuck)] += 1
        return Replayed(False, len(found), **counts)

    def _replay_one(self, letter: DeadLetter, subscriber: Subscriber[Any], by: str, stuck: set[Lane]) -> str:
        lane = parking.lane_of(letter)
        if lane in stuck or not self._letters.claim(worker=by, seconds=HOLD_SECONDS, ids=[letter.id]):
            stuck.add(lane)
            return "skipped"
        try:
            subscriber.on_event(to_event(parking.change_of(letter)))
        except Exception as error:  # noqa: BLE001 - the subscriber is somebody else's: whatever it raises is kept with the letter
            stuck.add(lane)
            self._letters.failed_again(letter.id, error, worker=by)
            return "failed"
        except BaseException:
            self._letters.release(letter.id, worker=by)
            raise
        self._letters.resolve(letter.id, "replayed", worker=by)
        return "replayed"

    def _all_parked(self, name: str) -> Iterator[DeadLetter]:
        page = self.parked(name, MAX_PAGE)
        yield from page
        while page.next:
            page = self.parked(name, MAX_PAGE, page.next)
            yield from page

    def forget(self, name: str, *, apply: bool = False) -> Lag:
        """Forget a subscriber that nobody delivers to any more, so that no change is kept for it; where it stood. A dry run unless `apply`.

        One that comes back begins anew, with a refresh. What was parked for it stays. Raises NotFound.
        """
        found = next((each for each in self.lag() if each.subscriber == name), None)
        if found is None:
            raise NotFound(f"no subscriber {name!r}: `lakeledger events lag` shows them")
        if apply:
            with self._store.write() as tx:
                if tx.execute(sql.forget_cursor, subscriber=name) != 1:
                    raise Conflict(f"subscriber {name} was forgotten by somebody else")
        return found


def _lag(tx: Transaction, cursor: Cursor, head: int, lanes: list[Row]) -> Lag:
    first = min([cursor.seq + 1, *(row["next_seq"] for row in lanes)])
    oldest = tx.one(sql.oldest_after, after_seq=first - 1)
    return Lag(
        cursor.subscriber,
        cursor.state,
        cursor.seq,
        head,
        int((tx.one(sql.count_after, after_seq=cursor.seq) or {})["number"]),
        oldest["at"] if oldest else None,
        cursor.updated_at,
        cursor.error,
        tuple(map(_lane_lag, lanes)),
    )


def _lane_lag(row: Row) -> LaneLag:
    name = str(TableName(row["schema_name"], row["table_name"])) if row["table_name"] else None
    return LaneLag(row["registry_table"], row["lake_table"], name, row["next_seq"], row["attempts"], row["retry_at"], row["error"])
