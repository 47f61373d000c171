"""The metadata orchestrator: sees to it that what other engines see of a table does not fall far behind."""

from __future__ import annotations

from lakeledger.events import Event, TableMetadata, Tables
from lakeledger.maintenance.due import Component, publish_if_due
from lakeledger.tables import store

# How many versions may wait before all of them are published at once, whoever should have done it.
BATCH = 100


class MetadataOrchestrator(Component):
    """Looks after the tables of one tenant. Who writes faster than anybody publishes is held back by the publisher itself."""

    name = "metadata_orchestrator"

    def on_event(self, event: Event[Tables | TableMetadata]) -> None:
        """Publish a table that is far behind, if it is due. Raises if that fails: it is told again, and parked in the end."""
        if event.operation != "DELETE" and isinstance(event.data, Tables):
            self.look(event.data.table_id)

    def look(self, table_id: str) -> None:
        """Publish the table if it is far behind, and due by whatever its policy says."""
        with self._store.read() as tx:
            table = store.find_by_id(tx, table_id)
            seen = store.publication(tx, table) if table else None
        if table and table.current_version - (seen.version if seen else 0) >= BATCH:
            publish_if_due(self._store, self._publisher, table_id, ("commit", "size", "time"))
