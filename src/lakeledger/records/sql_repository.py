"""Records in the ledger, on SQLite and PostgreSQL: the default."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from lakeledger import codec, failpoints
from lakeledger.db import Store
from lakeledger.db.pages import Page
from lakeledger.records import Stored, store
from lakeledger.records.model import MetadataRecord, Target, check_kind, chunks
from lakeledger.records.query import MetadataQuery

# A writer of the tenant waits for at most so many: a fraction of a second.
CHUNK = 2_000


@dataclass(frozen=True)
class SqlRepository:
    """The records of one tenant."""

    _store: Store

    def store(self, record: MetadataRecord) -> MetadataRecord:
        with self._store.write() as tx:
            store.add(tx, record)
            found = store.find_same(tx, record)
        record_id, sequence = found or (record.record_id, None)
        return replace(record, record_id=record_id, sequence=sequence, verbatim=True)

    def bulk_store(self, records: Iterable[MetadataRecord]) -> Stored:
        stored = total = 0
        for chunk in chunks(records, CHUNK):
            rows = [store.columns(record) for record in chunk]
            with self._store.write() as tx:
                stored += tx.many(store.sql.add_record, rows)
            total += len(chunk)
            failpoints.reach(failpoints.RECORD_CHUNK)
        return Stored(stored, total - stored)

    def latest(self, target: Target | None = None, kind: str | None = None) -> MetadataRecord | None:
        kind = check_kind(kind)
        with self._store.read() as tx:
            return store.latest(tx, target, kind)

    def history(
        self,
        target: Target | None = None,
        kind: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        limit: int | None = 100,
        after: str | None = None,
    ) -> Page[MetadataRecord]:
        kind, (first, last) = check_kind(kind), (None if time is None else codec.to_moment(time) for time in (since, until))
        with self._store.read() as tx:
            return store.history(tx, target, kind, first, last, limit, after)

    def query(self, query: MetadataQuery) -> Page[MetadataRecord]:
        with self._store.read() as tx:
            return store.query(tx, query)

    def log(self, after: int = 0, limit: int | None = 1_000, kind: str | None = None) -> list[MetadataRecord]:
        with self._store.read() as tx:
            return list(store.log(tx, after, limit, kind))

    def close(self) -> None:
        """The ledger's store is closed with the ledger."""
