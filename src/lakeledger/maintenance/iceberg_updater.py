"""The Iceberg updater: other engines see what was committed soon after, where they do not see it with the commit."""

from __future__ import annotations

from lakeledger.db import Store
from lakeledger.events import Event, TableFiles, TableMetadata
from lakeledger.maintenance.due import Component, Publishes, publish_if_due


class IcebergUpdater(Component):
    """Publishes the tables of one tenant. All events of a commit are one look at its table, and many commits are one snapshot."""

    name = "iceberg_updater"

    def __init__(self, handle: Store, publisher: Publishes) -> None:
        super().__init__(handle, publisher)
        self._seen: dict[str, int] = {}

    def on_event(self, event: Event[TableMetadata | TableFiles]) -> None:
        """Publish the table, unless what the event tells of is published already. Raises if that fails: it is told again later."""
        if event.operation != "DELETE" and not self._is_seen(event.data):
            self.look(event.data.table_id)

    def look(self, table_id: str) -> None:
        """Publish the table if its policy says so after a commit."""
        self._seen[table_id] = publish_if_due(self._store, self._publisher, table_id, ("commit",))

    def _is_seen(self, row: TableMetadata | TableFiles) -> bool:
        if isinstance(row, TableMetadata):  # it does not say in which version it came
            return False
        return max(row.added_version, row.removed_version or 0) <= self._seen.get(row.table_id, 0)
