"""The Delta updater: the Delta logs of tables that are published so follow their commits."""

from __future__ import annotations

from typing import Protocol

from lakeledger.db import Store
from lakeledger.events import Event, TableSnapshots
from lakeledger.maintenance.due import Component


class PublishesDelta(Protocol):
    """What publishes a table as Delta if it is to be; up to which version nothing is left to do."""

    def publish_late(self, table_id: str) -> int: ...


class DeltaUpdater(Component):
    """Publishes the tables of one tenant. A commit is one event, that of its version; many that wait are one look."""

    name = "delta_updater"

    def __init__(self, handle: Store, delta: PublishesDelta) -> None:
        self._store = handle
        self._delta = delta
        self._seen: dict[str, int] = {}

    def on_event(self, event: Event[TableSnapshots]) -> None:
        """Publish the table, unless the version is published already. Raises if that fails: it is told again later."""
        if event.operation == "INSERT" and event.data.version > self._seen.get(event.data.table_id, 0):
            self.look(event.data.table_id)

    def look(self, table_id: str) -> None:
        """Publish the table if it is to be seen as Delta."""
        self._seen[table_id] = self._delta.publish_late(table_id)
