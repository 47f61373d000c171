"""The Iceberg updater: other engines see what was committed soon after, where they do not see it with the commit."""

from __future__ import annotations

from collections.abc import Sequence

from lakeledger.db import Store
from lakeledger.events import COMPONENT_SUBSCRIPTIONS, Event, TableFiles, TableMetadata
from lakeledger.maintenance.due import Publishes, publish_if_due
from lakeledger.tables import store


class IcebergUpdater:
    """Publishes the tables of one tenant. All events of a commit are one look at its table, and many commits are one snapshot."""

    def __init__(self, store: Store, publisher: Publishes) -> None:
        self._store = store
        self._publisher = publisher
        self._seen: dict[str, int] = {}

    def subscribed_tables(self) -> Sequence[str]:
        return COMPONENT_SUBSCRIPTIONS["iceberg_updater"]

    def on_event(self, event: Event[TableMetadata | TableFiles]) -> None:
        """Publish the table, unless what the event tells of is published already. Raises if that fails: it is told again later."""
        if event.operation != "DELETE" and not self._is_seen(event.data):
            self._publish(event.data.table_id)

    def on_health(self) -> None:
        """Raise Unavailable if the ledger is away."""
        with self._store.read():
            pass

    def on_refresh(self) -> None:
        """Publish every table that is behind."""
        with self._store.read() as tx:
            tables = store.list_page(tx)
        for table in tables:
            self._publish(table.table_id)

    def _publish(self, table_id: str) -> None:
        self._seen[table_id] = publish_if_due(self._store, self._publisher, table_id, ("commit",))

    def _is_seen(self, row: TableMetadata | TableFiles) -> bool:
        if isinstance(row, TableMetadata):  # it does not say in which version it came
            return False
        return max(row.added_version, row.removed_version or 0) <= self._seen.get(row.table_id, 0)
