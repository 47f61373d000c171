"""Records in the ledger, on SQLite and PostgreSQL: the default. What was moved to Parquet is found with them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from lakeledger import codec, failpoints
from lakeledger.db import Row, Store, Transaction, pages
from lakeledger.db.pages import Page
from lakeledger.errors import Invalid
from lakeledger.lake.storage import Storage
from lakeledger.records import Stored, store
from lakeledger.records.forgetting import Forgetter, Forgotten
from lakeledger.records.history_files import HistoryFiles
from lakeledger.records.model import MetadataRecord, Target, check_kind, chunks
from lakeledger.records.moving import Moved, Mover
from lakeledger.records.query import MetadataQuery
from lakeledger.records.store import NEWEST, sql

# A writer of the tenant waits for at most so many: a fraction of a second.
CHUNK = 5_000


def _nowhere() -> Storage:
    raise Invalid("history was moved to Parquet files, and this ledger has no warehouse to find them in: give --warehouse")


@dataclass(frozen=True)
class SqlRepository:
    """The records of one tenant. `_storage` opens the folder of what was moved."""

    _store: Store
    _storage: Callable[[], Storage] = _nowhere

    def store(self, record: MetadataRecord) -> MetadataRecord:
        row = store.columns(record)
        with self._store.write() as tx:
            store.add_rows(tx, [row])
            found = store.find_same(tx, record.dedupe_key)
        record_id, sequence = found or (record.record_id, None)
        return replace(record, record_id=record_id, sequence=sequence, verbatim=True)

    def bulk_store(self, records: Iterable[MetadataRecord]) -> Stored:
        stored = total = 0
        for chunk in chunks(records, CHUNK):
            rows = [store.columns(record) for record in chunk]
            with self._store.write() as tx:
                stored += store.add_rows(tx, rows)
            total += len(chunk)
            failpoints.reach(failpoints.RECORD_CHUNK)
        return Stored(stored, total - stored)

    def latest(self, target: Target | None = None, kind: str | None = None) -> MetadataRecord | None:
        kind = check_kind(kind)
        with self._store.read() as tx:
            return store.latest(tx, target, kind)  # the last word about a target is never moved

    def history(
        self,
        target: Target | None = None,
        kind: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        limit: int | None = 100,
        after: str | None = None,
    ) -> Page[MetadataRecord]:
        return self.query(MetadataQuery(target, [check_kind(kind)], since=since, until=until, limit=limit, after=after))

    def query(self, query: MetadataQuery) -> Page[MetadataRecord]:
        place = pages.parse(query.after, NEWEST)
        after = (place["produced_at"], place["seq"]) if place else None
        with self._store.read() as tx:
            kinds = dict.fromkeys(query.kinds or store.kinds(tx))
            found = [(store.of_kind(tx, query, kind), _files(tx, query, kind, after)) for kind in kinds]
        # Files are read when the transaction is over.
        history = HistoryFiles(self._storage)
        return store.merged([history.of_kind(files, query, after, rows) if files else rows for rows, files in found], query.limit)

    def log(self, after: int = 0, limit: int | None = 1_000, kind: str | None = None) -> list[MetadataRecord]:
        with self._store.read() as tx:
            found, files = list(store.log(tx, after, limit, kind)), tx.all(sql.files_behind, after_seq=after, kind=kind)
        return HistoryFiles(self._storage).logged(files, after, limit, kind, found) if files else found

    def compact(self, cutoff: datetime, *, dry_run: bool = True) -> list[Moved]:
        mover = Mover(self._store, self._storage)
        return mover.count(cutoff) if dry_run else mover.move(cutoff)

    def forget(self, days: float, *, dry_run: bool = True) -> list[Forgotten]:
        forgetter = Forgetter(self._store, self._storage)
        return forgetter.plan(days) if dry_run else forgetter.forget(days)

    def head(self) -> int:
        with self._store.read() as tx:
            return store.head(tx)

    def close(self) -> None:
        """The ledger's store is closed with the ledger."""


def _files(tx: Transaction, query: MetadataQuery, kind: str, after: tuple[datetime, int] | None) -> list[Row]:
    """The files that may have something of what is asked for."""
    until = query.until
    if after is not None and (until is None or after[0] < codec.to_moment(until)):
        until = after[0] + datetime.resolution
    return tx.all(sql.files_of_kind, kind=kind, since=query.since, until=until)
