"""When other engines are shown a table that follows its commits: as its policy says."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Container, Sequence
from datetime import timedelta
from typing import ClassVar, Protocol

from lakeledger.db import Store, Transaction
from lakeledger.events import COMPONENT_SUBSCRIPTIONS
from lakeledger.maintenance import policies
from lakeledger.maintenance.planning import Policy, Since, is_due
from lakeledger.tables import Table, Trigger, store

sql = policies.sql


class Publishes(Protocol):
    """What publishes tables, and knows which of them follow their commits."""

    def mode(self, tx: Transaction, table: Table | None, wanted: str | None = None) -> str: ...
    def publish_late(self, table_id: str, trigger: Trigger = "commit") -> int: ...


class Component(ABC):
    """What components share: the ledger of one tenant, and that they look at one table at a time. Each says what it looks for."""

    name: ClassVar[str]

    def __init__(self, handle: Store, publisher: Publishes) -> None:
        self._store = handle
        self._publisher = publisher

    def subscribed_tables(self) -> Sequence[str]:
        return COMPONENT_SUBSCRIPTIONS[self.name]

    def on_health(self) -> None:
        """Raise Unavailable if the ledger is away."""
        with self._store.read():
            pass

    def on_refresh(self) -> None:
        """Look at every table."""
        with self._store.read() as tx:
            tables = store.list_page(tx)
        for table in tables:
            self.look(table.table_id)

    @abstractmethod
    def look(self, table_id: str) -> None:
        """Do for the table what is due. Raises if that fails: it is done again later."""


def publish_if_due(handle: Store, publisher: Publishes, table_id: str, triggers: Container[Trigger]) -> int:
    """Publish a table that follows its commits, if one of these triggers says so; up to which version nothing is left to do."""
    with handle.read() as tx:
        table = store.find_by_id(tx, table_id)
        if table is None or publisher.mode(tx, table) == "off":
            return 0
        trigger = is_due(policies.of_table(tx, table.name), since_last(tx, table), tx.now)
    return publisher.publish_late(table_id, trigger) if trigger and trigger in triggers else 0


def due_in(tx: Transaction, table: Table) -> timedelta | None:
    """In how long the table is shown because of the time alone; None if it is not."""
    policy: Policy = policies.of_table(tx, table.name)
    since = since_last(tx, table)
    if not policy.snapshot_every or not since.commits:
        return None
    return max(timedelta(0), since.at + policy.snapshot_every - tx.now) if since.at else timedelta(0)


def since_last(tx: Transaction, table: Table) -> Since:
    """What has come since other engines were shown the table."""
    seen = store.publication(tx, table)
    version = seen.version if seen else 0
    row = tx.one(sql.unpublished_amount, table_id=table.table_id, version=version) or {}
    return Since(
        commits=table.current_version - version,
        at=seen.updated_at if seen and version else None,
        files=row["files"],
        bytes=int(row["bytes"]),
        rows=int(row["rows"]),
    )
