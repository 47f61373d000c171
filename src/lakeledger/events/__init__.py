"""Who must hear of it. The change feed: every change of a registry row or a run, in commit order, as the triggers wrote it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from lakeledger.db import Store
from lakeledger.db.queries import load

sql = load("lakeledger.events")


@dataclass(frozen=True)
class Change:
    """One change of one row. `before` is None for an INSERT, `after` for a DELETE."""

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

    def after(self, seq: int = 0, table: str | None = None, limit: int = 1_000) -> Sequence[Change]:
        """The changes behind that sequence number, oldest first, a page at a time."""
        with self._store.read() as tx:
            return [Change(**row) for row in tx.all(sql.changes_after, after=seq, table_name=table, page_size=limit)]
