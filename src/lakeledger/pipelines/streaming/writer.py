"""The stream writer: rows are gathered, rotated by age, number or size, and acknowledged once their rotation is committed."""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from lakeledger import clock
from lakeledger.errors import Conflict, Invalid, LakeledgerError, Unavailable
from lakeledger.pipelines import Context
from lakeledger.pipelines.streaming.columns import as_table, grown, schema_of
from lakeledger.pipelines.streaming.rotation import Stream, look, rotate
from lakeledger.pipelines.streaming.rows import Piece
from lakeledger.runs import Fence
from lakeledger.tables.schema import Schema

if TYPE_CHECKING:
    import pyarrow as pa

FIRST_PAUSE_SECONDS = 0.1
LONGEST_PAUSE_SECONDS = 5.0
# Of how many dicts the size is looked at to tell that of all.
SIZED = 8

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Limits:
    """When rows are rotated: the oldest after so many seconds, or as soon as there are so many, or so many bytes of them in memory.

    While one rotation is committed as many are gathered for the next; whoever writes more waits, at most so many seconds.
    """

    every_seconds: float
    rows: int
    bytes: int
    wait_seconds: float

    def __post_init__(self) -> None:
        for name, value in (("rows", self.rows), ("bytes", self.bytes)):
            if not isinstance(value, int) or value <= 0:
                raise Invalid(f"{name}={value!r} is no number of {name} to gather: give a whole number above 0")
        if self.every_seconds <= 0:
            raise Invalid(f"every={self.every_seconds:g} seconds lets no rows gather: give more than 0")
        if self.wait_seconds < 0:
            raise Invalid(f"wait={self.wait_seconds:g} is no time: give 0 or more seconds")


class Ticket(Future[int]):
    """The version that has the rows, once it is committed; of all writes of a rotation it is one. Nobody can cancel it."""

    def __init__(self) -> None:
        super().__init__()
        self.is_heard = False
        self.set_running_or_notify_cancel()

    def result(self, timeout: float | None = None) -> int:
        try:
            return super().result(timeout)
        finally:
            self.is_heard = self.done()

    def exception(self, timeout: float | None = None) -> BaseException | None:
        try:
            return super().exception(timeout)
        finally:
            self.is_heard = self.done()


@dataclass
class Gathered:
    """The rows of the next rotation, and what becomes of it. One that is in a `hurry` is rotated at once."""

    pieces: list[Piece] = field(default_factory=list)
    rows: int = 0
    bytes: int = 0
    since: float = 0.0
    hurry: bool = False
    ticket: Ticket = field(default_factory=Ticket)

    def add(self, piece: Piece, rows: int, size: int) -> None:
        self.since = self.since if self.rows else time.monotonic()
        if isinstance(piece, list) and self.pieces and isinstance(self.pieces[-1], list):
            self.pieces[-1].extend(piece)
        else:
            self.pieces.append(piece)
        self.rows += rows
        self.bytes += size

    def is_full(self, limits: Limits) -> bool:
        return self.rows >= limits.rows or self.bytes >= limits.bytes

    def due_in(self, limits: Limits) -> float | None:
        """In how many seconds it is to be rotated; None if it has no rows."""
        if not self.rows:
            return None
        return 0.0 if self.hurry or self.is_full(limits) else self.since + limits.every_seconds - time.monotonic()


class StreamWriter:
    """Writes rows to a table, any number of threads at a time. Use it as a context manager, or call `close`.

    One background thread commits. Once a rotation has failed the writer has: whoever waits is told, and so is whoever writes or closes;
    what was acknowledged is visible, nothing else is.
    """

    def __init__(self, context: Context, stream: Stream, limits: Limits, begin: Callable[[ExitStack], Fence]) -> None:
        """Raises Invalid for a table that cannot be written so. `begin` gives the right to commit, for as long as a stack is open."""
        self._context = context
        self._stream = stream
        self._limits = limits
        self._begin = begin
        self._changed = threading.Condition()
        self._known: Schema | None = look(context, stream)
        self._is_first = self._known is None  # The first rows say which columns the table has.
        self._fitting: Schema | None = None  # The columns that were found to fit the last time.
        self._next = Gathered()
        self._busy: Gathered | None = None
        self._version = 0
        self._fence: Fence | None = None
        self._closed = False
        self._failure: BaseException | None = None
        self._is_told = False
        self._lost: list[Ticket] = []
        self._ended_by: BaseException | None = None
        self._thread: threading.Thread | None = None

    @property
    def run_id(self) -> str | None:
        """The run in whose name rows are committed; None before the first rotation."""
        return self._fence.run_id if self._fence else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._ended_by = error
        try:
            self.close()
        except LakeledgerError:
            if error is None:
                raise

    def write(self, rows: Mapping[str, Any] | Iterable[Mapping[str, Any]] | pa.Table | pa.RecordBatch) -> Ticket:
        """Take rows: a dict, several of them, or a table or batch of Arrow. The ticket has their version once it is committed.

        Rows that do not fit the table are in its quarantine then. Columns that rows do not have are NULL. Raises Invalid for what is no
        row, for a table of Arrow with columns that do not fit, and once the writer is closed; Unavailable if there is no room for so long
        as may be waited: nothing of it was taken then. Once a rotation has failed, raises what it failed by.
        """
        piece, number, size = self._taken(rows)
        with self._changed:
            self._check_open()
            if not number:
                return _done(self._version)
            if self._next.is_full(self._limits):
                self._wait_for_room()
            is_first = not self._next.rows
            self._next.add(piece, number, size)
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name=f"stream-writer-{self._stream.table}", daemon=True)
                self._thread.start()
            if is_first or self._next.is_full(self._limits):  # Before that nobody has anything to do.
                self._changed.notify_all()
            return self._next.ticket

    def flush(self) -> int:
        """Commit what was written so far, and return once it is visible: the version that has it. Raises what the rotation failed by."""
        with self._changed:
            self._check_failure()
            if self._next.rows:
                self._next.hurry = True
                self._changed.notify_all()
            waited = self._next if self._next.rows else self._busy
        return waited.ticket.result() if waited else self._version

    def close(self) -> None:
        """Commit what was written so far and end the run. Raises what a rotation failed by, unless somebody has heard of it before."""
        with self._changed:
            self._closed = True
            self._next.hurry = True
            self._changed.notify_all()
        if self._thread:
            self._thread.join()
        with self._changed:
            if not self._is_told and not any(ticket.is_heard for ticket in self._lost):
                self._check_failure()

    def _taken(self, rows: Any) -> tuple[Piece, int, int]:
        """Rows as they are gathered, how many, and how many bytes in memory they are, more or less."""
        if isinstance(rows, Mapping):
            row = dict(rows)  # Whoever wrote it may go on to use theirs.
            return [row], 1, _size_of(row)
        if _is_arrow(rows):
            table = as_table(rows)
            self._check_columns(table)
            return table, len(table), table.nbytes
        if not isinstance(rows, Iterable) or isinstance(rows, str | bytes) or hasattr(rows, "columns"):
            raise Invalid(f"{self._stream.table} takes dicts or Arrow, not {_kind(rows)}: make a pyarrow.Table of it")
        given = list(rows)
        if odd := next((each for each in set(map(type, given)) if not issubclass(each, Mapping)), None):
            raise Invalid(f"a row for {self._stream.table} is a {odd.__name__}: give dicts, or a pyarrow.Table")
        made = list(map(dict, given))
        return made, len(made), _size(made)

    def _check_columns(self, table: pa.Table) -> None:
        """Raise Invalid if the columns do not fit the table, also as it is now, or the first ones that are to make it."""
        name, given, drift = self._stream.table, schema_of(table.schema), self._stream.spec.drift
        if given is self._fitting:
            return
        if self._known is None and not self._is_first:
            self._known = look(self._context, self._stream)
        try:
            self._known = grown(name, self._known, given, "evolve" if self._is_first else drift)
        except Invalid:
            if (known := look(self._context, self._stream)) is None:
                raise
            self._known = grown(name, known, given, drift)
        self._fitting = given

    def _check_open(self) -> None:
        self._check_failure()
        if self._closed:
            raise Invalid(f"the stream writer of {self._stream.table} is closed: open another with ledger.stream_writer")

    def _check_failure(self) -> None:
        if self._failure:
            self._is_told = True
            raise self._failure

    def _wait_for_room(self) -> None:
        wait = self._limits.wait_seconds
        if not self._changed.wait_for(lambda: self._closed or self._failure or not self._next.is_full(self._limits), wait):
            raise Unavailable(
                f"{self._next.rows:,} rows wait for {self._stream.table} since its last rotation takes longer than {wait:g} s: "
                "write them again later, or give it larger rotations"
            )
        self._check_open()

    def _work(self) -> None:
        """Rotate until the writer is closed or a rotation fails, all in one run, which ends with it."""
        try:
            with ExitStack() as right:
                while gathered := self._take():
                    version = self._rotate(gathered, right)
                    with self._changed:
                        self._version, self._busy = version, None
                        if self._is_first:
                            self._known, self._is_first = None, False
                    gathered.ticket.set_result(version)
                if self._ended_by:
                    raise self._ended_by
        except BaseException as error:  # noqa: BLE001 - raised again by whoever waits, writes or closes
            if error is not self._ended_by:
                self._fail(error)

    def _take(self) -> Gathered | None:
        """What is to be rotated, once it is; None if nothing is left to come."""
        with self._changed:
            while (due := self._next.due_in(self._limits)) is None or due > 0:
                if self._closed and not self._next.rows:
                    return None
                self._changed.wait(due)
            self._busy, self._next = self._next, Gathered()
            self._changed.notify_all()
            return self._busy

    def _fail(self, error: BaseException) -> None:
        with self._changed:
            self._failure = error
            self._lost = [each.ticket for each in (self._busy, self._next) if each and each.rows]
            self._busy, self._next = None, Gathered()
            self._changed.notify_all()
        for ticket in self._lost:
            ticket.set_exception(error)

    def _rotate(self, gathered: Gathered, right: ExitStack) -> int:
        """Commit what was gathered, again with back-off while a store is away or others are faster. Raises what it fails by at last."""
        give_up = time.monotonic() + self._context.store.outage_seconds
        pause, is_noted = FIRST_PAUSE_SECONDS, False
        while True:
            try:
                self._fence = self._fence or self._begin(right)
                return rotate(self._context, self._stream, gathered.pieces, self._fence).version
            except (Conflict, Unavailable) as error:
                left = give_up - time.monotonic()
                if not error.retryable or left <= 0:
                    raise
                if not is_noted:
                    _log.warning("%s; %s rows for %s wait for up to %.0f s", error, f"{gathered.rows:,}", self._stream.table, left)
                is_noted = True
            time.sleep(min(left, pause))
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)


def seconds_of(name: str, span: float | timedelta | str) -> float:
    """A time span in seconds, however it was given. Raises Invalid."""
    found = clock.parse_span(span) if isinstance(span, str) else span
    if isinstance(found, timedelta):
        return found.total_seconds()
    if not isinstance(found, int | float):
        raise Invalid(f"{name}={span!r} is no time span: write 10s, 5m, a number of seconds or a timedelta")
    return float(found)


def _done(version: int) -> Ticket:
    done = Ticket()
    done.set_result(version)
    return done


def _is_arrow(rows: object) -> bool:
    """Whether it is a table or a batch of Arrow; whoever has none need not have Arrow loaded."""
    arrow = sys.modules.get("pyarrow")
    return arrow is not None and isinstance(rows, arrow.Table | arrow.RecordBatch)


def _size(rows: list[dict[str, Any]]) -> int:
    """About how much memory dicts take, by some of them."""
    some = rows[:: max(1, len(rows) // SIZED)]
    return sum(map(_size_of, some)) * len(rows) // max(1, len(some))


def _size_of(row: dict[str, Any]) -> int:
    return sys.getsizeof(row) + sum(map(sys.getsizeof, row.values()))


def _kind(rows: object) -> str:
    kind = type(rows)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
