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
    """A connection that raised is closed, not reused: the next transaction gets a fresh one."""

    def __init__(self, connect: Callable[[], C]) -> None:
        self._connect = connect
        self._idle: list[C] = []
        self._lock = threading.Lock()
        self._in_use = 0
        self._closed = False

    @contextmanager
    def connection(self) -> Iterator[C]:
        with self._lock:
            connection = self._idle.pop() if self._idle else None
            self._in_use += 1
        try:
            connection = connection or self._connect()
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

    def usage(self) -> dict[str, int]:
        """How many connections are in use, and how many wait to be."""
        with self._lock:
            return {"in_use": self._in_use, "idle": len(self._idle)}

    def close(self) -> None:
        """Close every idle connection; one in use is closed when it comes back."""
        with self._lock:
            idle, self._idle, self._closed = self._idle, [], True
        for connection in idle:
            connection.close()
