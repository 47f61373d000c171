"""The mirror as a component: the lake's own tables follow the ledger by themselves, many changes with one commit."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence
from datetime import timedelta

from lakeledger.background import Failures
from lakeledger.config import MirrorSettings
from lakeledger.db import Store
from lakeledger.events import COMPONENT_SUBSCRIPTIONS, ApiKeys, DqResults, Event, PipelineRuns, StepLogs
from lakeledger.maintenance.mirror import Mirror
from lakeledger.maintenance.mirror.changes import PIPELINE
from lakeledger.maintenance.timers import Timers

# How soon the first change is copied: those that come with it are copied with it.
FIRST_SECONDS = 5.0

_log = logging.getLogger("lakeledger.mirror")


class LakeMirror:
    """Keeps the tables of one tenant, until `close`. How far they are is kept with them: an event only says that it is worth a look."""

    name = "lake_mirror"

    def __init__(self, handle: Store, mirror: Mirror, settings: MirrorSettings, failures: Failures) -> None:
        self._store, self._mirror, self._settings, self._failures = handle, mirror, settings, failures
        self._timers = Timers(self.look, _log)
        self._last = float("-inf")
        self._at_work = threading.Lock()
        self._closed = False

    def subscribed_tables(self) -> Sequence[str]:
        return COMPONENT_SUBSCRIPTIONS[self.name]

    def on_event(self, event: Event[PipelineRuns | StepLogs | DqResults | ApiKeys]) -> None:
        """Have the tables refreshed soon. What the mirror's own runs do is no news."""
        if not (isinstance(event.data, PipelineRuns) and event.data.pipeline_id == PIPELINE):
            self._soon()

    def on_health(self) -> None:
        """Raise Unavailable if the ledger is away."""
        with self._store.read():
            pass

    def on_refresh(self) -> None:
        """Have the tables refreshed soon."""
        self._soon()

    def look(self, _: str = "") -> None:
        """Refresh the tables now. What could not be done is reported, and tried again."""
        with self._at_work:
            if self._closed:
                return
            self._last = time.monotonic()
            refreshed = self._mirror.refresh(trigger="scheduler", by=self.name, stop=lambda: self._closed)
        for done in refreshed:
            if done.problem:
                self._failures.report(done.table, f"{done.table} could not be refreshed, and is tried again: {done.problem}")
                self._soon()
            else:
                self._failures.clear(done.table)

    def close(self) -> None:
        """Nothing is refreshed any more: somebody else delivers, or nobody does. The commit that is under way is finished."""
        self._closed = True
        self._timers.close()
        with self._at_work:  # A refresh that has begun no timer knows of.
            pass

    def _soon(self) -> None:
        if self._mirror.is_enabled:
            left = self._settings.every_seconds - (time.monotonic() - self._last)
            self._timers.wait("", timedelta(seconds=max(min(FIRST_SECONDS, self._settings.every_seconds), left)))
