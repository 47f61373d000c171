"""What is in memory of one subscriber's events: a queue per lane, of which the rest may still be in the change log."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from lakeledger.events.model import Change, Lane
from lakeledger.events.store import LaneRow

# How many events of a lane are kept in memory: what comes behind them is read from the change log when it is their turn. And how many of
# all lanes: with so many, the feed is not read on until some are handled. (A lane that fails or hangs keeps one.)
LANE_LIMIT = 1_000
TOTAL_LIMIT = 20_000


@dataclass
class Line:
    """The events of one lane that wait, and how the first of them does. `is_behind`: the change log has more of them, behind `loaded`."""

    lane: Lane
    pending: deque[Change] = field(default_factory=deque)
    loaded: int = 0
    is_behind: bool = False
    has_missed: bool = False
    is_busy: bool = False
    called_at: float | None = None
    attempts: int = 0
    retry_at: float | None = None
    error: str | None = None
    given_up: BaseException | None = None
    saved: LaneRow | None = None

    @property
    def next_seq(self) -> int:
        """The first event that is neither handled nor given up, or before which all are."""
        if self.given_up is None:
            return self.pending[0].seq if self.pending else self.loaded + 1
        return self.pending[1].seq if len(self.pending) > 1 else max(self.loaded, self.pending[0].seq) + 1

    @property
    def is_empty(self) -> bool:
        return not self.pending and not self.is_behind

    @property
    def has_pending(self) -> bool:
        """Whether an event is in memory that is not given up."""
        return len(self.pending) > (self.given_up is not None)

    def is_ready(self, now: float) -> bool:
        """Whether its first event may be delivered now. Behind one that was given up nothing is until that is parked in the ledger."""
        return not self.is_busy and not self.is_empty and self.given_up is None and (self.retry_at is None or self.retry_at <= now)

    def needs_row(self, cursor: int) -> bool:
        """Whether the ledger must know of it because the cursor passes, or has passed, its first event."""
        is_failing = self.attempts > 0 and self.given_up is None
        return self.is_behind or is_failing or (self.saved is not None and self.has_pending and self.next_seq <= cursor)

    def row(self, now: float) -> LaneRow:
        """As the ledger keeps it, once what is given up is parked."""
        if self.given_up is not None:
            return LaneRow(self.lane, self.next_seq)
        retry_in = None if self.retry_at is None else max(0.0, self.retry_at - now)
        return LaneRow(self.lane, self.next_seq, self.attempts, retry_in, self.error)


class Lines:
    """All lanes of one subscriber in which something waits. Whoever uses it holds the subscription's lock."""

    def __init__(self, rows: Iterable[LaneRow] = (), now: float = 0.0) -> None:
        self._lines: dict[Lane, Line] = {}
        self.waiting = 0
        for row in rows:
            retry_at = None if row.retry_in is None else now + row.retry_in
            line = Line(row.lane, loaded=row.next_seq - 1, is_behind=True, attempts=row.attempts, retry_at=retry_at, error=row.error)
            line.saved = row
            self._lines[row.lane] = line

    def all(self) -> list[Line]:
        """Every lane."""
        return list(self._lines.values())

    def add(self, change: Change) -> Line | None:
        """Let an event wait for its turn; its lane, unless that reads it from the change log later."""
        lane = change.lane
        line = self._lines.get(lane)
        if line is None:
            line = self._lines[lane] = Line(lane)
        if line.is_behind:
            line.has_missed = True
            return None
        if len(line.pending) >= LANE_LIMIT:
            line.is_behind, line.has_missed, line.loaded = True, True, line.pending[-1].seq
            return None
        line.pending.append(change)
        self.waiting += 1
        return line

    def refill(self, line: Line, found: list[Change], up_to: int, *, is_all: bool) -> None:
        """Go on with what the change log had of a lane up to there. If that is all, and nothing was missed since, it has caught up."""
        line.pending.extend(found)
        self.waiting += len(found)
        line.loaded = up_to if is_all else found[-1].seq
        line.is_behind = not is_all or line.has_missed

    def trim(self, line: Line) -> None:
        """Keep only the first event of a lane that does not get on, and read the others from the change log when it does."""
        while len(line.pending) > 1:
            line.pending.pop()
            self.waiting -= 1
            line.is_behind, line.loaded = True, line.pending[0].seq

    def done(self, line: Line) -> None:
        """The first event of the lane is done with, and what failed at it is over."""
        line.attempts, line.retry_at, line.error, line.given_up = 0, None, None, None
        line.pending.popleft()
        self.waiting -= 1

    def forget_if_empty(self, line: Line) -> None:
        """A lane in which nothing waits, and of which the ledger has no row, takes no memory."""
        if line.is_empty and line.saved is None and not line.is_busy:
            self._lines.pop(line.lane, None)

    def note_saved(self, rows: Iterable[LaneRow]) -> None:
        """The ledger has these rows now, or soon."""
        for row in rows:
            if line := self._lines.get(row.lane):
                line.saved = row

    def note_gone(self, lanes: Iterable[Lane]) -> None:
        """The ledger has no rows of these any more."""
        for lane in lanes:
            if line := self._lines.get(lane):
                line.saved = None
                self.forget_if_empty(line)

    def cursor(self, read_to: int, saved: int) -> int:
        """Up to which number everything is handled, or is in a lane that has a row of its own, given the cursor that was last saved."""
        first = (line.next_seq for line in self._lines.values() if line.has_pending and not line.needs_row(saved))
        return min(first, default=read_to + 1) - 1
