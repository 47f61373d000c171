"""One subscriber of one tenant: what it was given, what waits, what failed, and whether it is well."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from lakeledger import failpoints
from lakeledger.config import AsthaSettings
from lakeledger.db import Store
from lakeledger.errors import Fenced, LakeledgerError
from lakeledger.events import feed, parking
from lakeledger.events.breaker import CircuitBreaker, State, pause_before
from lakeledger.events.lanes import TOTAL_LIMIT, Line, Lines
from lakeledger.events.model import Change, Subscriber, to_event
from lakeledger.events.pace import UNKNOWN, Pace
from lakeledger.events.store import CLOSED, OPEN, REFRESHING, EventStore, LaneRow, Progress
from lakeledger.events.workers import SLOW_SECONDS, Workers
from lakeledger.sync.dead_letters import NewLetter
from lakeledger.sync.dead_letters.drafts import message_of
from lakeledger.sync.dead_letters.model import Draft

# How long a thread stays with one lane while others wait for it, and how many events of a lane are read at once.
SLICE_SECONDS = 0.2
REFILL = 500
OUTAGE_PAUSE_SECONDS = 1.0


@dataclass(frozen=True)
class Surroundings:
    """What all subscriptions of a term share: the time, chance, whether this process may still deliver, and who is told of news."""

    settings: AsthaSettings
    now: Callable[[], float]
    chance: Callable[[], float]
    may_deliver: Callable[[], bool]
    wake: Callable[[], None]


class Subscription:
    """Delivers what it is given, lane by lane. `tick` starts what is due; `progress` and `saved` write down how far it got."""

    def __init__(
        self,
        name: str,
        subscriber: Subscriber[Any],
        store: Store,
        workers: Workers,
        around: Surroundings,
        draft: Callable[[NewLetter], Draft],
        report: Callable[[str | None, BaseException | None], None],
    ) -> None:
        self.name = name
        self.tenant_id = store.tenant_id
        self.subscriber = subscriber
        self.tables = frozenset(subscriber.subscribed_tables())
        self._store = store
        self._kept = EventStore(store)
        self._workers = workers
        self._around = around
        self._draft = draft
        self._report = report
        self._lock = threading.Lock()
        self._breaker = CircuitBreaker(around.settings, around.chance)
        self._epoch = 0
        self._refreshes = 0
        self._refresh_at = 0.0
        self._is_refreshing = False
        self._error: str | None = None
        cursor, rows = self._kept.load(name)
        self._needs_refresh = cursor is None or cursor.state == REFRESHING
        self._pace = Pace(cursor.seq if cursor else None)
        self._lines = Lines(rows, around.now())
        self.read_to = cursor.seq if cursor else 0
        if cursor and cursor.state == OPEN:
            self._breaker.open(around.now())

    # What comes in

    @property
    def is_following(self) -> bool:
        """Whether it may be given what is new."""
        return self._breaker.state == State.CLOSED and not self._needs_refresh

    @property
    def is_at_work(self) -> bool:
        """Whether something waits, is under way, or is not as it should be."""
        with self._lock:
            return not self.is_following or bool(self._lines.all())

    def has_room(self) -> bool:
        """Whether more may be read for it. What lanes keep that hang is let go of first: they must not hold up others."""
        with self._lock:
            if self._lines.waiting >= TOTAL_LIMIT:
                late = self._around.now() - SLOW_SECONDS
                for line in self._lines.all():
                    if line.called_at is not None and line.called_at < late:
                        self._lines.trim(line)
            return self._lines.waiting < TOTAL_LIMIT

    def take(self, changes: Sequence[Change], after: int, up_to: int) -> None:
        """Deliver these changes, which are all of its own between the two numbers."""
        with self._lock:
            if self.read_to != after or not self.is_following:
                return
            now = self._around.now()
            ready = [line for change in changes if (line := self._lines.add(change)) and line.is_ready(now)]
            self.read_to = up_to
            if not changes:
                self._pace.drift(now)
            for line in ready:
                if not line.is_busy:
                    self._start(line)

    # What is done

    def tick(self) -> float | None:
        """Start whatever is due; how long until something else is, if anything is known to be."""
        with self._lock:
            now = self._around.now()
            waits = [self._give_up_if_late(line, now) for line in self._lines.all()]
            if self._needs_refresh:
                return self._start_refresh(now)
            if self._breaker.may_probe(now):
                self._workers.submit(self._probe)
            if self._breaker.state == State.OPEN:
                waits.append(self._breaker.probe_at - now)
            elif self._breaker.state == State.CLOSED:
                waits += [self._start_or_wait(line, now) for line in self._lines.all()]
            waits.append(self._pace.due_in(now))
            return min((max(0.0, each) for each in waits if each is not None), default=None)

    def _start_or_wait(self, line: Line, now: float) -> float | None:
        if line.is_ready(now) and self._around.may_deliver():
            self._start(line)
        return line.retry_at - now if line.retry_at is not None and line.retry_at > now and not line.is_busy else None

    def _start(self, line: Line) -> None:
        line.is_busy = True
        epoch = self._epoch
        self._workers.submit(lambda: self._deliver(line, epoch))

    def _deliver(self, line: Line, epoch: int) -> None:
        """Give the lane's events to the subscriber, one after the other, for a while."""
        ends = self._around.now() + SLICE_SECONDS
        while (change := self._next(line, epoch)) is not None:
            failpoints.reach(failpoints.BEFORE_EVENT, str(change.seq))
            try:
                self.subscriber.on_event(to_event(change))
            except BaseException as error:  # noqa: BLE001 - the subscriber is somebody else's: whatever it raises, the event failed
                self._failed(line, epoch, error)
                return
            failpoints.reach(failpoints.AFTER_EVENT, str(change.seq))
            if not self._worked(line, epoch):
                return
            if self._around.now() >= ends:
                with self._lock:
                    self._start(line)
                return

    def _next(self, line: Line, epoch: int) -> Change | None:
        """The lane's next event, read from the change log if need be; None if there is none, or if it may not be delivered now."""
        while True:
            with self._lock:
                line.called_at = None
                if epoch != self._epoch:
                    return None
                if not self.is_following or not self._around.may_deliver() or line.is_empty:
                    line.is_busy = False
                    self._lines.forget_if_empty(line)
                    return None
                if line.pending:
                    line.called_at = self._around.now()
                    return line.pending[0]
                line.has_missed = False
                after, last = line.loaded, self.read_to
            if not self._refill(line, epoch, after, last):
                return None

    def _refill(self, line: Line, epoch: int, after: int, last: int) -> bool:
        try:
            found = list(feed.of_lane(self._store, line.lane, after, last, REFILL))
        except LakeledgerError:  # The store is away, which whoever reads the feed reports; it is tried again.
            with self._lock:
                line.is_busy, line.retry_at = False, self._around.now() + OUTAGE_PAUSE_SECONDS
            self._around.wake()
            return False
        with self._lock:
            if epoch == self._epoch:
                self._lines.refill(line, found, last, is_all=len(found) < REFILL)
                self._touch()
        return True

    def _worked(self, line: Line, epoch: int) -> bool:
        with self._lock:
            if epoch != self._epoch:
                return False
            self._lines.done(line)
            line.called_at = None
            self._breaker.worked()
            self._pace.handled += 1
            self._touch()
            return True

    def _failed(self, line: Line, epoch: int, error: BaseException) -> None:
        """Count it, and try it again later; after the last retry it is parked. While the breaker is open nothing counts."""
        message, now = message_of(error), self._around.now()
        with self._lock:
            if epoch != self._epoch:
                return
            line.is_busy, line.called_at = False, None
            if self._breaker.state == State.CLOSED:
                line.attempts += 1
                line.error = message
                if line.attempts > self._around.settings.retries:
                    line.given_up = error
                else:
                    line.retry_at = now + pause_before(line.attempts, self._around.settings, self._around.chance)
                    if line.attempts > 1:
                        self._lines.trim(line)
                if self._breaker.failed(now):
                    self._error = message
                self._touch()
        self._around.wake()

    def _give_up_if_late(self, line: Line, now: float) -> float | None:
        """Take a call that lasts too long for one that never ends; how long it still may last."""
        if line.called_at is None:
            return None
        left = line.called_at + self._around.settings.timeout_seconds - now
        if left <= 0:
            self._error = (
                f"on_event took longer than {self._around.settings.timeout_seconds:g} s at event {line.next_seq}: "
                f"{self.name} is refreshed from the ledger instead"
            )
            self._breaker.open(now)
            self._forget_all()
            self._needs_refresh = True
        return left

    def _forget_all(self) -> None:
        """Nothing that is under way counts any more."""
        self._epoch += 1
        self._lines = Lines()
        self._pace.forget()

    # Is it well

    def _probe(self) -> None:
        try:
            self.subscriber.on_health()
        except BaseException as error:  # noqa: BLE001 - the subscriber is somebody else's: whatever it raises, it is not well
            with self._lock:
                self._error = message_of(error)
                self._breaker.stay_open(self._around.now())
                self._touch()
        else:
            with self._lock:
                self._breaker.close()
                self._error = None
                self._touch()
        self._around.wake()

    def _start_refresh(self, now: float) -> float | None:
        if self._is_refreshing:
            return None
        if now < self._refresh_at or not self._around.may_deliver():
            return max(self._refresh_at - now, 0.05)
        self._is_refreshing = True
        self._workers.submit(self._refresh)
        return None

    def _refresh(self) -> None:
        """Let it take everything from the ledger, and go on from where that was: the head is read first, so nothing is missed."""
        because, head = self._error, 0
        if because:
            self._report(because, None)
        try:
            cursor = self._pace.cursor
            head = max(feed.head(self._store), cursor or 0)
            self._kept.save([Progress(self.name, head if cursor is None else cursor, REFRESHING, because)])
            failure = self._ask_to_refresh()
        except Fenced:
            return  # Somebody else leads, and refreshes it.
        except LakeledgerError as error:
            failure = error
        failpoints.reach(failpoints.AFTER_REFRESH)
        if failure is None:
            self._follow(head)
        else:
            self._postpone_refresh(failure)
        self._around.wake()

    def _ask_to_refresh(self) -> BaseException | None:
        """What went wrong, if anything did."""
        try:
            self.subscriber.on_refresh()
        except BaseException as error:  # noqa: BLE001 - the subscriber is somebody else's: whatever it raises, it is tried again
            return error
        return None

    def _follow(self, head: int) -> None:
        """Go on from there, and have that written at once: until it is, a crash begins the refresh again."""
        with self._lock:
            self._forget_all()
            self._pace.begin_at(head, self._around.now())
            self.read_to = head
            self._needs_refresh = self._is_refreshing = False
            self._refreshes, self._error = 0, None
            self._breaker.close()
        self._report(None, None)

    def _postpone_refresh(self, error: BaseException) -> None:
        with self._lock:
            self._is_refreshing = False
            self._refreshes += 1
            self._refresh_at = self._around.now() + pause_before(self._refreshes, self._around.settings, self._around.chance)
        self._report(f"on_refresh of {self.name} failed, and is tried again: {message_of(error)}", error)

    # How far it got

    def _touch(self) -> None:
        if self._pace.touch(self._around.now()):
            self._around.wake()

    def progress(self, *, is_last: bool = False) -> Progress | None:
        """What is to be written down now; None if there is nothing, or not yet."""
        with self._lock:
            now = self._around.now()
            due = self._pace.due_in(now)
            if self._needs_refresh or due is None or (due > 0 and not is_last):
                return None
            state = CLOSED if self._breaker.state == State.CLOSED else OPEN
            found = self._pace.collect(self._lines, self.read_to, now)
            if found is None:
                return None
            epoch, error = self._epoch, self._error
        drafts = [self._draft(parking.letter(self.name, change, why)) for change, why in found.given_up]
        return Progress(self.name, found.seq, state, error, found.rows, found.gone, drafts, found.drops_lanes, epoch)

    def saved(self, progress: Progress) -> None:
        """It was written."""
        with self._lock:
            if progress.epoch != self._epoch:
                return
            has_parked = self._pace.saved(self._lines, progress)
        if has_parked:
            self._around.wake()

    def unsaved(self, progress: Progress) -> None:
        """It is not known whether it was written: it is tried again."""
        with self._lock:
            self._lines.note_saved([LaneRow(row.lane, UNKNOWN) for row in progress.lanes])
            self._touch()

    def first_waiting(self, head: int) -> tuple[int, str | None] | None:
        """The first event that it has not handled although it was there, and why not; None if there is none."""
        with self._lock:
            if (cursor := self._pace.cursor) is None:
                return None
            behind = [(line.next_seq, line.error) for line in self._lines.all() if not line.is_empty]
            if self.read_to < head or not self.is_following:
                behind.append((cursor + 1, self._error))
            return min(behind, default=None, key=lambda each: each[0])
