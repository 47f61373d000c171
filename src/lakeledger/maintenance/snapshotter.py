"""The snapshotter: other engines are shown tables by time or by size, where a policy says so."""

from __future__ import annotations

import logging

from lakeledger.db import Store
from lakeledger.events import Event, TableFiles, TableMetadata, TableSnapshots
from lakeledger.maintenance.due import Component, Publishes, due_in, publish_if_due
from lakeledger.maintenance.timers import Timers
from lakeledger.tables import store


class Snapshotter(Component):
    """Shows the tables of one tenant. A commit is one look, at the row of its version; what is due later has a timer until `close`."""

    name = "snapshotter"

    def __init__(self, handle: Store, publisher: Publishes) -> None:
        super().__init__(handle, publisher)
        self._timers = Timers(self.look, logging.getLogger("lakeledger.snapshots"))

    def on_event(self, event: Event[TableMetadata | TableFiles | TableSnapshots]) -> None:
        """Show the table if it is due now, and else when it will be. Raises if that fails: it is told again later."""
        if event.operation == "INSERT" and isinstance(event.data, TableSnapshots):
            self.look(event.data.table_id)

    def look(self, table_id: str) -> None:
        """Publish the table if its policy says so by size or time, and look again when it will be due."""
        publish_if_due(self._store, self._publisher, table_id, ("size", "time"))
        with self._store.read() as tx:
            table = store.find_by_id(tx, table_id)
            wait = due_in(tx, table) if table and self._publisher.mode(tx, table) != "off" else None
        if wait is not None:
            self._timers.wait(table_id, wait)

    def close(self) -> None:
        """Nothing is due any more: somebody else delivers, or nobody does."""
        self._timers.close()
