"""How long records are kept, by their kind, and those that are older."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from lakeledger import schemas
from lakeledger.db import Row, Transaction
from lakeledger.records.store import kinds, sql

# Versions of schemas that were archived are the only copy; what was removed, and by whom, must be told for as long as anybody asks.
FOREVER = ("schema_version", "records_retention")
LONG_AGO = datetime(1, 1, 2, tzinfo=UTC)
MOST_DAYS = 1_000_000


@dataclass(frozen=True)
class Kept:
    """How long records of a kind are kept: for so many days, or for good; `archive` says that they go to Parquet before they go."""

    kind: str
    days: float | None
    archive: bool = False

    def before(self, now: datetime) -> datetime | None:
        """The time before which they are old."""
        if self.days is None:
            return None
        return now - min(timedelta(days=min(self.days, MOST_DAYS)), now - LONG_AGO)


def kept(tx: Transaction, days: float) -> list[Kept]:
    """Every kind that there are records of, with how long they are kept: as registered, as the kind says, or for so many days."""
    registered = {row["kind"]: row for row in tx.all(sql.latest_kinds)}
    return [kept_as(kind, registered.get(kind), days) for kind in kinds(tx)]


def kept_as(kind: str, registered: Row | None, days: float) -> Kept:
    """How long records of a kind are kept, as its newest version says if it is registered."""
    if registered is not None and kind not in FOREVER:
        own = registered["retention_days"]
        return Kept(kind, days if own is not None and own < 0 else own, registered["archive"])
    return Kept(kind, None if kind in FOREVER or schemas.is_kept_for_good(kind) else days)


def count_old(tx: Transaction, kind: str, cutoff: datetime) -> int:
    """How many records of a kind are older."""
    return int((tx.one(sql.count_old, kind=kind, cutoff=cutoff) or {})["number"])


def find_old(tx: Transaction, kind: str, cutoff: datetime, limit: int, last: Row | None = None) -> list[Row]:
    """Records of a kind that are older, oldest first, at most so many; behind the `last` of the page before."""
    after: dict[str, Any] = {"after_at": last["produced_at"], "after_seq": last["seq"]} if last else {}
    return tx.all(sql.find_old, kind=kind, cutoff=cutoff, page_size=limit, **after)


def forget(tx: Transaction, seqs: list[int]) -> int:
    """Delete records; how many there were."""
    return tx.execute(sql.forget, seqs=seqs)
