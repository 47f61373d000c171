"""Cleaning up by itself: every hour, and after a failure again in a minute, then ever later up to an hour."""

from __future__ import annotations

import threading
from collections.abc import Callable

from lakeledger.background import Failures
from lakeledger.redaction import scrub
from lakeledger.runs import describe

INTERVAL_SECONDS = 3_600.0
FIRST_PAUSE_SECONDS = 60.0


def pause_after(failures: int, first: float = FIRST_PAUSE_SECONDS, longest: float = INTERVAL_SECONDS) -> float:
    """How long to wait after so many failures in a row: 1, 2, 4 … minutes, at most an hour."""
    return min(longest, first * 2 ** min(failures - 1, 30)) if failures else longest


class BackgroundCleanup:
    """A thread that calls `clean` again and again. `last` is what it removed last, `error` why the last attempt failed."""

    def __init__(
        self,
        clean: Callable[[], dict[str, int]],
        first_pause: float = FIRST_PAUSE_SECONDS,
        interval: float = INTERVAL_SECONDS,
        failures: Failures | None = None,
    ) -> None:
        self._clean = clean
        self._failures = failures or Failures("cleanup")
        self._first_pause = first_pause
        self._interval = interval
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._work, name="cleanup", daemon=True)
        self.rounds = 0
        self.failures = 0
        self.last: dict[str, int] | None = None
        self.error: str | None = None

    def start(self) -> None:
        """Begin: the first round comes after a pause, so that opening a ledger stays quick."""
        self._thread.start()

    def is_stopping(self) -> bool:
        """Whether the round that is under way should end early."""
        return self._closed.is_set()

    def close(self) -> None:
        """Stop, after the chunk that is under way."""
        self._closed.set()
        if self._thread.is_alive():
            self._thread.join()

    def _work(self) -> None:
        pause = self._first_pause
        while not self._closed.wait(pause):
            try:
                self.last, self.error, self.failures = self._clean(), None, 0
            except Exception as error:  # noqa: BLE001 - the outermost loop: whatever it is, the next round tries again
                self.error, self.failures = scrub(describe(error)), self.failures + 1
                self._failures.report("", f"the cleanup failed, and is tried again: {self.error}", error)
            else:
                self._failures.clear("")
            self.rounds += 1
            pause = pause_after(self.failures, self._first_pause, self._interval)
