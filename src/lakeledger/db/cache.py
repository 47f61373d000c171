"""What was read stays true until anybody commits: reads that ask the database only whether somebody did."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

from lakeledger.db import Database

V = TypeVar("V")

FULL = 10_000


class Cache:
    """Values as of one moment of a database. A commit by anyone, in whatever process, makes all of them be read again."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._stamp = ""
        self._values: dict[Hashable, Any] = {}

    def get(self, key: Hashable, read: Callable[[], V]) -> V:
        """The value of that key, read if it is not known to be current."""
        stamp = self._database.stamp()
        with self._lock:
            if stamp != self._stamp or len(self._values) >= FULL:
                self._stamp, self._values = stamp, {}
            if key in self._values:
                found: V = self._values[key]
                return found
        value = read()
        with self._lock:
            # It is as old as the stamp or newer; if newer, the next stamp differs and it is read again.
            if self._stamp == stamp:
                self._values[key] = value
        return value
