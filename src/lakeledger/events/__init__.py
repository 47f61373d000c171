"""Who must hear of it. The change feed: every change of a registry row or a run, in commit order, as the triggers wrote it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from lakeledger.db import Row, Store, pages
from lakeledger.db.derived import WATCHED
from lakeledger.db.pages import Page
from lakeledger.db.queries import load, statement

sql = load("lakeledger.events")


@dataclass(frozen=True)
class Change:
    """One change of one row: its columns before and after, without documents and other large ones, which `Changes.load` gives.

    `before` is None for an INSERT, `after` for a DELETE. `seq` orders the changes of one tenant.
    """

    seq: int
    tenant_id: str
    table_name: str
    operation: str
    key: str
    before: dict[str, Any] | None
    after: dict[str, Any] | None
    at: datetime


@dataclass(frozen=True)
class Changes:
    """The change log of one tenant."""

    _store: Store

    def after(self, seq: int | str = 0, table: str | None = None, limit: int | None = 1_000) -> Page[Change]:
        """The changes behind that sequence number, or the `next` of the page before, oldest first, a page at a time. Raises Invalid."""
        with self._store.read() as tx:
            return pages.read(tx, sql.changes_after, {"seq": int}, _change, limit, seq, table_name=table)

    def load(self, change: Change) -> Row | None:
        """The whole row of a change as it is now, or None if it is gone."""
        key = WATCHED[change.table_name]
        query = statement(f"select * from {change.table_name} where tenant_id = :tenant_id and {key} = :key")  # noqa: S608 - our own names
        with self._store.read() as tx:
            return tx.one(query, key=change.key)


def _change(row: Row) -> Change:
    """A row of the log; of an update it has only what was there before and is not any more."""
    whole = {**row["after"], **row["before"]} if row["operation"] == "UPDATE" else row["before"]
    return Change(**{**row, "before": whole})
