"""Looks at tables that are due later: one timer for each table, until they are closed."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from datetime import timedelta

from lakeledger.errors import LakeledgerError

# How soon what failed at its time is tried again.
AGAIN = timedelta(seconds=30)


class Timers:
    """Has tables looked at by their time, each once; a look that fails is tried again, and logged."""

    def __init__(self, look: Callable[[str], None], log: logging.Logger) -> None:
        self._look = look
        self._log = log
        self._lock = threading.Lock()
        self._waiting: dict[str, threading.Timer] = {}
        self._closed = False

    def wait(self, table_id: str, wait: timedelta) -> None:
        """Have the table looked at after that time, unless it is to be looked at anyway."""
        with self._lock:
            if self._closed or table_id in self._waiting:
                return
            timer = threading.Timer(wait.total_seconds(), self._ring, [table_id])
            timer.daemon = True
            self._waiting[table_id] = timer
            timer.start()

    def close(self) -> None:
        """Nothing is due any more."""
        with self._lock:
            self._closed = True
            timers = list(self._waiting.values())
        for timer in timers:
            timer.cancel()
        for timer in timers:
            timer.join()

    def _ring(self, table_id: str) -> None:
        with self._lock:
            self._waiting.pop(table_id, None)
        try:
            self._look(table_id)
        except LakeledgerError as error:
            self._log.warning("a table that was due could not be looked at, and is tried again: %s", error)
            self.wait(table_id, AGAIN)
