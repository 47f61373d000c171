"""The records of one tenant: emitted and read through the repository that the settings choose."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from functools import cached_property
from typing import Any

from lakeledger import records
from lakeledger.config import RecordSettings, S3Settings
from lakeledger.db import Store
from lakeledger.db.pages import Page
from lakeledger.records import MetadataRepository, Stored
from lakeledger.records.environment import environment, filled
from lakeledger.records.model import MetadataContext, MetadataRecord, MetadataTarget, Target
from lakeledger.records.producing import Emitted, MetadataProducer, MetadataProducerRunner, MetadataRequest, ProducerResult
from lakeledger.records.query import MetadataQuery


class Records:
    """The facts of one tenant."""

    def __init__(self, store: Store, settings: RecordSettings | None = None, s3: S3Settings | None = None) -> None:
        self._store = store
        self._settings = settings or RecordSettings()
        self._s3 = s3

    @cached_property
    def repository(self) -> MetadataRepository:
        """Where emitted records are kept, and read from."""
        return records.open(self._settings.repository, self._store, self._s3)

    @cached_property
    def environment(self) -> dict[str, Any]:
        """Where this process runs, as every record says it."""
        return environment(self._store.tenant_id, self._settings)

    @cached_property
    def runner(self) -> MetadataProducerRunner:
        """What asks producers, and stores what they say."""
        return MetadataProducerRunner(self.emit_many)

    def context(self, job_id: str | None = None, run_id: str | None = None, **extras: Any) -> MetadataContext:
        """The context of an execution here, with cluster, workspace, tenant, orchestrator and schedule."""
        return filled(MetadataContext(job_id, run_id, self._store.tenant_id, extras), self.environment)

    def record(
        self,
        target: Target,
        kind: str,
        payload: dict[str, Any],
        producer_id: str,
        *,
        context: MetadataContext | None = None,
        **more: Any,
    ) -> MetadataRecord:
        """A record to be emitted; a target may be named as a table, whose source is then its producer. Raises Invalid."""
        about = target if isinstance(target, MetadataTarget) else _table(target, producer_id)
        return MetadataRecord(about, context or self.context(), kind, payload, producer_id, **more)

    def emit(self, record: MetadataRecord) -> MetadataRecord | None:
        """Keep a record; as it is kept, or None if it was set aside as a dead letter. Raises Invalid."""
        return self.repository.store(self._complete(record))

    def emit_many(self, records: Iterable[MetadataRecord]) -> Emitted:
        """Keep many records, in their order. Should it fail, emit them again: each is kept once. Raises Invalid."""
        done = self.repository.bulk_store(self._complete(record) for record in records)
        return Emitted(done.stored, done.duplicates)

    def produce(self, producer: MetadataProducer, request: MetadataRequest, *, must_succeed: bool = False) -> ProducerResult:
        """Ask a producer about a target, and keep what it says. Raises what it raises only if it must succeed."""
        return self.runner.execute(producer, request, must_succeed=must_succeed)

    def store(self, record: MetadataRecord) -> MetadataRecord:
        """Keep a record as it is."""
        return self.repository.store(record)

    def bulk_store(self, records: Iterable[MetadataRecord]) -> Stored:
        """Keep many records as they are."""
        return self.repository.bulk_store(records)

    def latest(self, target: Target | None = None, kind: str | None = None) -> MetadataRecord | None:
        """The newest record of a kind: about a target, about a table (`silver.orders`, or `orders` of `main`), or about anything."""
        return self.repository.latest(target, kind)

    def history(
        self,
        target: Target | None = None,
        kind: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        limit: int | None = 100,
        after: str | None = None,
    ) -> Page[MetadataRecord]:
        """Records of a kind, newest first, a page at a time: about a target, about a table, or about all.

        `since` and `until` are times with a time zone, of which `until` is not part. Raises Invalid for what is none.
        """
        return self.repository.history(target, kind, since, until, limit, after)

    def query(self, query: MetadataQuery | None = None, **chosen: Any) -> Page[MetadataRecord]:
        """The records that a query asks for, newest first, a page at a time: `query(kinds=["recon_result"], job_id="shop")`."""
        return self.repository.query(replace(query, **chosen) if query else MetadataQuery(**chosen))

    def log(self, after: int = 0, limit: int | None = 1_000, kind: str | None = None) -> list[MetadataRecord]:
        """What was stored behind that place in the log, in that order."""
        return self.repository.log(after, limit, kind)

    def close(self) -> None:
        """Let go of what the repository has open."""
        if "repository" in vars(self):
            self.repository.close()

    def _complete(self, record: MetadataRecord) -> MetadataRecord:
        context = filled(record.context, self.environment)
        return record if context is record.context else replace(record, context=context, verbatim=True)


def _table(name: str, source_id: str) -> MetadataTarget:
    schema, _, table = name.rpartition(".")
    return MetadataTarget(source_id, schema or None, table)
