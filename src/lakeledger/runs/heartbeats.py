"""Leases of runs that are not a `with` block: one thread renews all that this process has begun and not ended."""

from __future__ import annotations

import threading

from lakeledger.background import Failures
from lakeledger.db import Store
from lakeledger.errors import LakeledgerError
from lakeledger.runs import store
from lakeledger.runs.model import Fence

# How often a lease is renewed while it lasts, and how often that is tried while the store is away.
BEATS, HASTY_BEATS = 3, 30


class Heartbeats:
    """The living runs of one process."""

    def __init__(self, ledger_store: Store, lease_seconds: float, failures: Failures | None = None) -> None:
        self._store = ledger_store
        self._lease_seconds = lease_seconds
        self._failures = failures or Failures("heartbeats")
        self._lock = threading.Lock()
        self._living: dict[str, Fence] = {}
        self._closed = threading.Event()
        self._thread: threading.Thread | None = None

    def add(self, fence: Fence) -> None:
        """Keep that run's lease from running out."""
        with self._lock:
            self._living[fence.run_id] = fence
            if self._thread is None:
                self._thread = threading.Thread(target=self._beat, name="heartbeats", daemon=True)
                self._thread.start()

    def drop(self, run_id: str) -> None:
        """The run has ended."""
        with self._lock:
            self._living.pop(run_id, None)

    def close(self) -> None:
        """Stop: the leases of what is still open run out by themselves."""
        self._closed.set()
        with self._lock:
            thread = self._thread
        if thread:
            thread.join()

    def _beat(self) -> None:
        pause = self._lease_seconds / BEATS
        while not self._closed.wait(pause):
            pause = self._lease_seconds / BEATS
            with self._lock:
                living = list(self._living.values())
                if not living:
                    self._thread = None
                    return
            try:
                with self._store.write() as tx:
                    lost = [fence.run_id for fence in living if not store.renew(tx, fence, self._lease_seconds)]
            except LakeledgerError as error:  # The store may be back before somebody takes over; if not, they say what became of the runs.
                self._failures.report("", f"leases of runs could not be renewed: {error}", error)
                pause = self._lease_seconds / HASTY_BEATS
                continue
            self._failures.clear("")
            for run_id in lost:
                self.drop(run_id)
