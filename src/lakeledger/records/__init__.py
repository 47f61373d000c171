"""What is known: immutable facts about a target, written by whoever learned them."""

from __future__ import annotations

from dataclasses import InitVar, dataclass, field, replace
from datetime import datetime
from typing import Any

from lakeledger import clock, codec
from lakeledger.db import Row, Store, Transaction, pages
from lakeledger.db.pages import Page
from lakeledger.db.queries import load
from lakeledger.names import table_key
from lakeledger.redaction import SHAPES, scrub_value

sql = load("lakeledger.records")

_NEWEST: pages.Key = {"produced_at": codec.to_time, "record_id": str}


@dataclass(frozen=True)
class MetadataTarget:
    """The physical thing that a record describes."""

    source_id: str
    schema: str | None = None
    table: str | None = None
    extras: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class MetadataContext:
    """In which execution a record came to be."""

    job_id: str | None = None
    run_id: str | None = None
    namespace: str | None = None
    extras: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class NewRecord:
    """A fact before it is stored. Tokens and credentials of URLs are taken out as it is made; what is `verbatim` was scrubbed before."""

    target: MetadataTarget
    context: MetadataContext
    kind: str
    payload: dict[str, Any]
    producer_id: str
    version: str | None = None
    quality: dict[str, Any] | None = None
    extras: dict[str, Any] = field(default_factory=dict)
    verbatim: InitVar[bool] = False

    def __post_init__(self, verbatim: bool) -> None:
        if verbatim:
            return
        for name in ("payload", "quality", "extras"):
            object.__setattr__(self, name, _without_secrets(getattr(self, name)))
        # Other tools name a source by its URL, with the password in it.
        for name in ("target", "context"):
            about = getattr(self, name)
            object.__setattr__(self, name, replace(about, **_without_secrets(vars(about))))


@dataclass(frozen=True)
class MetadataRecord:
    """A stored fact. Facts are never changed."""

    record_id: str
    target: MetadataTarget
    context: MetadataContext
    kind: str
    payload: dict[str, Any]
    produced_at: datetime
    producer_id: str
    version: str | None
    quality: dict[str, Any] | None
    extras: dict[str, Any]


def _without_secrets(facts: Any) -> Any:
    """Only what has the shape of a secret is one: names in facts are those of other people's columns."""
    return scrub_value(facts, rules=SHAPES)


def add(tx: Transaction, record: NewRecord) -> str:
    """Store a fact; its new id."""
    record_id = clock.new_id()
    tx.execute(
        sql.add_record,
        record_id=record_id,
        kind=record.kind,
        source_id=record.target.source_id,
        schema_name=record.target.schema,
        table_name=record.target.table,
        name_key=_key(record.target.schema, record.target.table),
        target_extras=record.target.extras,
        job_id=record.context.job_id,
        run_id=record.context.run_id,
        namespace=record.context.namespace,
        context_extras=record.context.extras,
        payload=record.payload,
        producer_id=record.producer_id,
        version=record.version,
        quality=record.quality,
        extras=record.extras,
    )
    return record_id


def history(
    tx: Transaction,
    kind: str,
    table: str | None = None,
    limit: int | None = 100,
    after: str | None = None,
    *,
    since: datetime | None = None,
    until: datetime | None = None,
) -> Page[MetadataRecord]:
    """Facts of one kind, newest first: of one table, or of all; `after` is the `next` of the page before.

    With `since` and `until` those of that time; what was known just then, at `until`, is not among them.
    """
    chosen = {"kind": kind, "name_key": None if table is None else table_key(table), "since": since, "until": until}
    return pages.read(tx, sql.history, _NEWEST, _record, limit, after, **chosen)


def _record(row: Row) -> MetadataRecord:
    return MetadataRecord(
        record_id=row["record_id"],
        target=MetadataTarget(row["source_id"], row["schema_name"], row["table_name"], row["target_extras"]),
        context=MetadataContext(row["job_id"], row["run_id"], row["namespace"], row["context_extras"]),
        kind=row["kind"],
        payload=row["payload"],
        produced_at=row["produced_at"],
        producer_id=row["producer_id"],
        version=row["version"],
        quality=row["quality"],
        extras=row["extras"],
    )


def _key(schema: str | None, table: str | None) -> str | None:
    """What a target is matched by; None if it is no table."""
    return table_key(f"{schema}.{table}" if schema else table) if table else None


@dataclass(frozen=True)
class Records:
    """The facts of one tenant."""

    _store: Store

    def history(
        self,
        kind: str,
        table: str | None = None,
        limit: int | None = 100,
        after: str | None = None,
        *,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
    ) -> Page[MetadataRecord]:
        """Facts of one kind, newest first, a page at a time: of all, or of one table (`silver.orders`, or `orders` of `main`).

        `since` and `until` are times with a time zone, of which `until` is not part. Raises Invalid for what is none.
        """
        first, last = (None if time is None else codec.to_moment(time) for time in (since, until))
        with self._store.read() as tx:
            return history(tx, kind, table, limit, after, since=first, until=last)

    def latest(self, kind: str, table: str | None = None) -> MetadataRecord | None:
        """The newest fact of that kind, of one table or of all, or None."""
        return next(iter(self.history(kind, table, limit=1)), None)
