"""The metadata orchestrator: sees to it that what other engines see of a table does not fall far behind."""

from __future__ import annotations

from collections.abc import Sequence

from lakeledger.db import Store
from lakeledger.events import COMPONENT_SUBSCRIPTIONS, Event, TableMetadata, Tables
from lakeledger.maintenance.due import Publishes, publish_if_due
from lakeledger.tables import store

# How many versions may wait before all of them are published at once, whoever should have done it.
BATCH = 100


class MetadataOrchestrator:
    """Looks after the tables of one tenant. Who writes faster than anybody publishes is held back by the publisher itself."""

    def __init__(self, store: Store, publisher: Publishes) -> None:
        self._store = store
        self._publisher = publisher

    def subscribed_tables(self) -> Sequence[str]:
        return COMPONENT_SUBSCRIPTIONS["metadata_orchestrator"]

    def on_event(self, event: Event[Tables | TableMetadata]) -> None:
        """Publish a table that is far behind, if it is due. Raises if that fails: it is told again, and parked in the end."""
        if event.operation != "DELETE" and isinstance(event.data, Tables):
            self._look(event.data.table_id)

    def on_health(self) -> None:
        """Raise Unavailable if the ledger is away."""
        with self._store.read():
            pass

    def on_refresh(self) -> None:
        """Look at every table."""
        with self._store.read() as tx:
            tables = store.list_page(tx)
        for table in tables:
            self._look(table.table_id)

    def _look(self, table_id: str) -> None:
        with self._store.read() as tx:
            table = store.find_by_id(tx, table_id)
            seen = store.publication(tx, table) if table else None
        if table and table.current_version - (seen.version if seen else 0) >= BATCH:
            publish_if_due(self._store, self._publisher, table_id, ("commit", "size", "time"))
