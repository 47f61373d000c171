"""How far one subscriber got since that was last written down, what of it is to be written, and when."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lakeledger.events.lanes import Line, Lines
from lakeledger.events.model import Change, Lane
from lakeledger.events.store import LaneRow, Progress

# How soon what was handled is written down: after so many events or so long; how soon if there was nothing in them for the subscriber.
SAVE_EVENTS = 1_000
SAVE_SECONDS = 0.5
DRIFT_SECONDS = 10.0
UNKNOWN = -1


@dataclass(frozen=True)
class Found:
    """What is to be written: the cursor, the rows of lanes that are behind and those that are not any more, and what was given up."""

    seq: int
    rows: Sequence[LaneRow]
    gone: Sequence[Lane]
    given_up: Sequence[tuple[Change, BaseException]]
    drops_lanes: bool


class Pace:
    """`cursor` is what was last written, None before the first time. Whoever uses it holds the subscription's lock."""

    def __init__(self, cursor: int | None) -> None:
        self.cursor = cursor
        self.handled = 0
        self._changed_at: float | None = None
        self._drifted_at: float | None = None
        self._drops_lanes = False
        self._parking: list[Line] = []

    def touch(self, now: float) -> bool:
        """Something has changed; whether it is the first since it was last written."""
        if self._changed_at is not None:
            return False
        self._changed_at = now
        return True

    def drift(self, now: float) -> None:
        """There was something to read, and nothing in it for the subscriber."""
        if self._drifted_at is None:
            self._drifted_at = now

    def forget(self) -> None:
        """Nothing that happened since it was last written counts any more."""
        self._parking = []
        self._changed_at = self._drifted_at = None
        self.handled = 0

    def begin_at(self, head: int, now: float) -> None:
        """Go on from there, which is to be written at once, without any lane."""
        self.cursor, self._drops_lanes, self._changed_at = head, True, now - SAVE_SECONDS

    def due_in(self, now: float) -> float | None:
        """In how long what happened is to be written down; None if there is nothing."""
        if self.handled >= SAVE_EVENTS:
            return 0.0
        waits = [at + wait - now for at, wait in ((self._changed_at, SAVE_SECONDS), (self._drifted_at, DRIFT_SECONDS)) if at is not None]
        return min(waits, default=None)

    def collect(self, lines: Lines, read_to: int, now: float) -> Found | None:
        """What is to be written down now; None before the subscriber has begun."""
        if self.cursor is None:
            return None
        all_ = lines.all()
        seq = lines.cursor(read_to, self.cursor)
        gone = [line.lane for line in all_ if line.saved and not line.needs_row(self.cursor)]
        self._parking = [line for line in all_ if line.given_up is not None]
        given_up = [(line.pending[0], line.given_up) for line in self._parking if line.given_up is not None]
        self._changed_at, self._drifted_at, self.handled = None, None, 0
        rows = [row for line in all_ if line.needs_row(self.cursor) and (row := line.row(now)) != line.saved]
        lines.note_saved(rows)  # before it is written: a lane that empties meanwhile must not be forgotten with a row left
        return Found(seq, rows, gone, given_up, self._drops_lanes)

    def saved(self, lines: Lines, progress: Progress) -> bool:
        """It was written; whether lanes go on because of that."""
        self.cursor, self._drops_lanes = progress.seq, False
        parked, self._parking = self._parking, []
        for line in parked:
            lines.done(line)
            lines.forget_if_empty(line)
        lines.note_gone(progress.gone)
        return bool(parked)
