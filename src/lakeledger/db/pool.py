"""The connections of one process to one database: at most so many at once, idle ones kept for the next transaction."""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, Protocol, TypeVar

from lakeledger.config import DEFAULT_CONNECTIONS
from lakeledger.errors import Unavailable

WAIT_SECONDS = 30.0


class Closable(Protocol):
    """Anything that is opened and closed."""

    def close(self) -> None: ...


C = TypeVar("C", bound=Closable)


class Pool(Generic[C]):
    """At most `size` threads have a connection at once; the others wait in the order in which they came.

    A thread that has one and asks for a second gets it without waiting: threads that wait while they hold something wait for each other.
    A connection that raised is closed, not reused: the next transaction gets a fresh one. `is_stale` knows the errors by which an idle
    connection shows, when it is begun with, that the server has let go of it.
    """

    def __init__(
        self, connect: Callable[[], C], is_stale: Callable[[Exception], bool] = lambda _: False, size: int = DEFAULT_CONNECTIONS
    ) -> None:
        self._connect = connect
        self._is_stale = is_stale
        self._size = size
        self._idle: list[C] = []
        self._lock = threading.Lock()
        self._in_use = 0
        self._holders: Counter[int] = Counter()
        self._waiting: deque[threading.Event] = deque()
        self._closed = False

    @contextmanager
    def connection(self, begin: Callable[[C], object] = lambda _: None, *, at_once: bool = False) -> Iterator[C]:
        """A connection that was begun with. Raises Unavailable if there is none for long; who asks for it `at_once` never waits."""
        holder = threading.get_ident()
        self._enter(holder, at_once)
        connection: C | None = None
        try:
            connection = self._reused(begin) or self._begun(self._connect(), begin)
            yield connection
        except BaseException:
            if connection is not None:
                connection.close()
            connection = None
            raise
        finally:
            self._leave(holder, connection)

    def _enter(self, holder: int, at_once: bool) -> None:
        """Count one more thread in, once there is room."""
        with self._lock:
            self._holders[holder] += 1
            if at_once or self._holders[holder] > 1 or (self._in_use < self._size and not self._waiting):
                self._in_use += 1
                return
            turn = threading.Event()
            self._waiting.append(turn)
        try:
            turn.wait(WAIT_SECONDS)
        except BaseException:
            if not self._give_up(holder, turn):
                self._leave(holder, None)
            raise
        if self._give_up(holder, turn):
            raise Unavailable(
                f"all {self._size} connections of this process to the ledger have been in use for {WAIT_SECONDS:g} s: "
                "try again, or raise `max_connections` in the settings"
            )

    def _give_up(self, holder: int, turn: threading.Event) -> bool:
        """Stop waiting; False if it is the thread's turn already, because one that left has passed on its place."""
        with self._lock:
            if turn.is_set():
                return False
            self._waiting.remove(turn)
            self._forget(holder)
            return True

    def _leave(self, holder: int, connection: C | None) -> None:
        """Count the thread out, keep what it had, and let the next one in."""
        with self._lock:
            self._forget(holder)
            keep = not self._closed and len(self._idle) < self._size
            if connection is not None and keep:
                self._idle.append(connection)
            if self._waiting and self._in_use <= self._size:
                self._waiting.popleft().set()
            else:
                self._in_use -= 1
        if connection is not None and not keep:
            connection.close()

    def _forget(self, holder: int) -> None:
        self._holders[holder] -= 1
        if not self._holders[holder]:
            del self._holders[holder]

    def _reused(self, begin: Callable[[C], object]) -> C | None:
        """An idle connection, or None. If the server has let go of one, it has of the others too."""
        with self._lock:
            connection = self._idle.pop() if self._idle else None
        if connection is None:
            return None
        try:
            return self._begun(connection, begin)
        except Exception as error:
            if not self._is_stale(error):
                raise
            self._drop()
            return None

    def _begun(self, connection: C, begin: Callable[[C], object]) -> C:
        try:
            begin(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _drop(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def usage(self) -> dict[str, int]:
        """How many connections are in use, and how many wait to be."""
        with self._lock:
            return {"in_use": self._in_use, "idle": len(self._idle)}

    def close(self) -> None:
        """Close every idle connection; one in use is closed when it comes back."""
        self._closed = True
        self._drop()
