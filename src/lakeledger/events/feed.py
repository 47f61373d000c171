"""The change feed: every change of a registry row or a run, in commit order, as the triggers wrote it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lakeledger.db import Database, Row, Store, pages
from lakeledger.db.derived import WATCHED
from lakeledger.db.migrate import SYSTEM_TENANT
from lakeledger.db.pages import Page
from lakeledger.db.queries import load, statement
from lakeledger.events import leadership
from lakeledger.events.leadership import Lease
from lakeledger.events.model import Change, Event, Lane, lane_column

sql = load("lakeledger.events")

PAGE = 1_000


@dataclass(frozen=True)
class Changes:
    """The change log of one tenant."""

    _store: Store

    def after(self, seq: int | str = 0, table: str | None = None, limit: int | None = PAGE) -> Page[Change]:
        """The changes behind that sequence number, or the `next` of the page before, oldest first, a page at a time. Raises Invalid."""
        with self._store.read() as tx:
            return pages.read(tx, sql.changes_after, {"seq": int}, _change, limit, seq, table_name=table)

    def last(self, table: str | None = None, limit: int = 20) -> list[Change]:
        """The newest changes, oldest first. Raises Invalid."""
        with self._store.read() as tx:
            found = tx.all(sql.last_changes, table_name=table, page_size=pages.check_limit(limit))
        return [_change(row) for row in reversed(found)]

    def load(self, change: Change | Event[Any]) -> Row | None:
        """The whole row of a change as it is now, or None if it is gone."""
        table = change.table if isinstance(change, Event) else change.table_name
        query = statement(f"select * from {table} where tenant_id = :tenant_id and {WATCHED[table]} = :key")  # noqa: S608 - our own names
        with self._store.read() as tx:
            return tx.one(query, key=change.key)


@dataclass(frozen=True)
class Look:
    """What one look at the database found: who leads, and the newest change of every tenant that has any."""

    lease: Lease | None
    heads: dict[str, int]


@dataclass(frozen=True)
class RegistryWatcher:
    """Reads the change logs of all tenants."""

    database: Database

    def look(self) -> Look:
        """One query for all tenants, whose cost does not grow with their logs."""
        with self.database.transaction(SYSTEM_TENANT, write=False) as tx:
            return Look(leadership.find(tx), {row["tenant_id"]: row["head"] for row in tx.all(sql.heads)})

    def tenants(self) -> set[str]:
        """Every tenant that has tables or subscribers, also those whose changes were all cleaned up."""
        with self.database.transaction(SYSTEM_TENANT, write=False) as tx:
            return {row["tenant_id"] for row in tx.all(sql.tenants)}


def head(store: Store) -> int:
    """The number of the tenant's newest change; 0 if there is none."""
    with store.read() as tx:
        return int((tx.one(sql.head) or {})["head"])


def page(store: Store, after: int) -> list[Change]:
    """The next changes behind that one."""
    with store.read() as tx:
        return [_change(row) for row in tx.all(sql.changes_after, after_seq=after, page_size=PAGE)]


def of_lane(store: Store, lane: Lane, after: int, last: int, limit: int) -> Sequence[Change]:
    """The next changes of one lane behind the one change, up to the other."""
    chosen = {"table_name": lane.table, "lane_column": lane_column(lane.table), "subject": lane.subject}
    with store.read() as tx:
        return [_change(row) for row in tx.all(sql.lane_after, **chosen, after_seq=after, last_seq=last, page_size=limit)]


def _change(row: Row) -> Change:
    """A row of the log; of an update it has only what was there before and is not any more."""
    whole = {**row["after"], **row["before"]} if row["operation"] == "UPDATE" else row["before"]
    return Change(**{**row, "before": whole})
