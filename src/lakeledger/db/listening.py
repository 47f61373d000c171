"""Hearing of PostgreSQL's commits: one connection for all who wait, outside the pool, kept while somebody does."""

from __future__ import annotations

import selectors
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

import psycopg

# What every writer sends with its commit (see postgres.py and 0002_change_log.postgres.sql): the schema in which it wrote.
CHANNEL = "lakeledger"
# How long the connection is kept after the last one asked, how often that is looked at, and how soon a lost one is opened again.
KEPT_SECONDS = 60.0
LOOK_SECONDS = 0.25
PAUSE_SECONDS = 0.5


class Listener:
    """Counts what it hears. That it begins to listen, or no longer hears the server, counts too: something may have changed meanwhile."""

    def __init__(self, connect: Callable[[], psycopg.Connection[dict[str, Any]]], patience: float) -> None:
        self._connect = connect
        self._patience = patience
        self._changed = threading.Condition()
        self._heard = 0
        self._asked_until = 0.0
        self._has_tried = False
        self._closed = False
        self._waker: socket.socket | None = None
        self._thread: threading.Thread | None = None

    def mark(self) -> str:
        """How much was heard so far. From here on nothing that is committed goes unheard."""
        with self._changed:
            self._ask(time.monotonic())
            self._changed.wait_for(lambda: self._has_tried or self._closed, self._patience)
            return str(self._heard)

    def wait(self, timeout: float, since: str) -> bool:
        """Whether something was heard since that mark, before the time was up."""
        with self._changed:
            self._ask(time.monotonic() + timeout)
            return self._changed.wait_for(lambda: str(self._heard) != since or self._closed, timeout) and not self._closed

    def _ask(self, until: float) -> None:
        """Have the connection kept until then, and somewhat longer."""
        self._asked_until = max(self._asked_until, until)
        if self._thread is None and not self._closed:
            self._has_tried = False
            self._thread = threading.Thread(target=self._work, name="listener", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Hang up."""
        with self._changed:
            self._closed = True
            thread = self._thread
            if self._waker:
                self._waker.send(b"!")
            self._changed.notify_all()
        if thread:
            thread.join()

    def _work(self) -> None:
        while True:
            try:
                with closing(self._connect()) as connection:
                    return self._listen(connection)
            except psycopg.Error:  # Whoever looks is told why; here it is tried again.
                self._hear()
            with self._changed:
                self._changed.wait_for(lambda: self._closed, PAUSE_SECONDS)
            if not self._is_wanted():
                return None

    def _listen(self, connection: psycopg.Connection[dict[str, Any]]) -> None:
        found = connection.execute("select current_schema()::text as schema").fetchone()
        ours = str(found and found["schema"]).encode()
        connection.execute(f"listen {CHANNEL}".encode())
        self._hear()
        with selectors.DefaultSelector() as news, self._awakened() as awakened:
            news.register(connection.fileno(), selectors.EVENT_READ)
            news.register(awakened, selectors.EVENT_READ)
            while self._is_wanted():
                news.select(LOOK_SECONDS)
                connection.pgconn.consume_input()
                while notice := connection.pgconn.notifies():
                    if notice.extra == ours:
                        self._hear()

    @contextmanager
    def _awakened(self) -> Iterator[socket.socket]:
        """A socket that has something to read when the listener is closed, which need not wait for the next look then."""
        awakened, waker = socket.socketpair()
        with awakened, waker:
            with self._changed:
                self._waker = waker
            try:
                yield awakened
            finally:
                with self._changed:
                    self._waker = None

    def _is_wanted(self) -> bool:
        """Whether somebody waits, or did lately; if not, the thread is over."""
        with self._changed:
            if not self._closed and time.monotonic() < self._asked_until + KEPT_SECONDS:
                return True
            self._thread = None
            return False

    def _hear(self) -> None:
        with self._changed:
            self._heard += 1
            self._has_tried = True
            self._changed.notify_all()
