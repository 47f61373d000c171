"""Idle connections kept for the next transaction: handed out to one thread at a time, opened when none is idle."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, Protocol, TypeVar


class Closable(Protocol):
    """Anything that is opened and closed."""

    def close(self) -> None: ...


C = TypeVar("C", bound=Closable)


class Pool(Generic[C]):
    """A connection that raised is closed, not reused: the next transaction gets a fresh one.

    `is_stale` knows the errors by which an idle connection shows, when it is begun with, that the server has let go of it.
    """

    def __init__(self, connect: Callable[[], C], is_stale: Callable[[Exception], bool] = lambda _: False) -> None:
        self._connect = connect
        self._is_stale = is_stale
        self._idle: list[C] = []
        self._lock = threading.Lock()
        self._in_use = 0
        self._closed = False

    @contextmanager
    def connection(self, begin: Callable[[C], object] = lambda _: None) -> Iterator[C]:
        """A connection that was begun with."""
        with self._lock:
            self._in_use += 1
        try:
            connection = self._reused(begin) or self._fresh(begin)
            try:
                yield connection
            except BaseException:
                connection.close()
                raise
        finally:
            with self._lock:
                self._in_use -= 1
        with self._lock:
            if not self._closed:
                self._idle.append(connection)
                return
        connection.close()

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

    def _fresh(self, begin: Callable[[C], object]) -> C:
        return self._begun(self._connect(), begin)

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
