"""Records in the ledger: added in any transaction of it, found by indexes, and in the order of commits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from heapq import merge
from itertools import islice
from typing import Any

from lakeledger import codec
from lakeledger.db import Row, Transaction, pages, to_json
from lakeledger.db.pages import Page
from lakeledger.db.queries import load
from lakeledger.names import table_key
from lakeledger.records import conditions
from lakeledger.records.model import MetadataContext, MetadataRecord, MetadataTarget, Target, window_of
from lakeledger.records.query import MetadataQuery

sql = load("lakeledger.records")

NEWEST: pages.Key = {"produced_at": codec.to_time, "seq": int}


def add(tx: Transaction, record: MetadataRecord) -> str:
    """Store a fact; its id, which is that of the one that is there already if it is the same."""
    if tx.execute(sql.add_record, **columns(record)):
        return record.record_id
    found = tx.one(sql.find_same, dedupe_key=record.dedupe_key) or {}
    return str(found["record_id"])


def add_rows(tx: Transaction, rows: Sequence[Row]) -> int:
    """Store facts, as `columns` gives them, in their order; how many were new. Those that were moved to files are not."""
    if tx.one(sql.any_file) is None:
        return tx.many(sql.add_record, rows)
    known = {row["dedupe_key"] for row in tx.all(sql.moved, dedupe_keys=[row["dedupe_key"] for row in rows])}
    return tx.many(sql.add_record, [row for row in rows if row["dedupe_key"] not in known])


def find_same(tx: Transaction, dedupe_key: str) -> tuple[str, int] | None:
    """The id and the place in the log of that fact, if it is stored."""
    row = tx.one(sql.find_same, dedupe_key=dedupe_key) or tx.one(sql.moved, dedupe_keys=[dedupe_key])
    return (row["record_id"], row["seq"]) if row else None


def latest(tx: Transaction, target: Target | None, kind: str) -> MetadataRecord | None:
    """The newest fact of a kind about a target, or about anything."""
    row = tx.one(sql.latest, kind=kind, **about(target))
    return of_row(row) if row else None


def history(
    tx: Transaction,
    target: Target | None,
    kind: str,
    since: datetime | None = None,
    until: datetime | None = None,
    limit: int | None = 100,
    after: str | None = None,
) -> Page[MetadataRecord]:
    """Facts of one kind in the ledger, newest first: of one target, or of all; `after` is the `next` of the page before.

    With `since` and `until` those of that time; what was known just then, at `until`, is not among them.
    """
    return pages.read(tx, sql.history, NEWEST, of_row, limit, after, kind=kind, since=since, until=until, **about(target))


def kinds(tx: Transaction) -> list[str]:
    """The kinds that there are records of, also those of which all were moved to files."""
    return sorted({row["kind"] for query in (sql.kinds, sql.file_kinds) for row in tx.all(query)})


def of_kind(tx: Transaction, wanted: MetadataQuery, kind: str) -> list[MetadataRecord]:
    """The records of one kind that a query asks for, newest first: as many as a page has, and one more."""
    statement, values = conditions.applied(tx.dialect, sql.history, wanted.where)
    window = {"window_since": wanted.window.start, "window_until": wanted.window.end} if wanted.window else {}
    if wanted.window and not any(window.values()):
        window = {"window_since": datetime.min.replace(tzinfo=UTC)}
    behind = {f"after_{name}": value for name, value in pages.parse(wanted.after, NEWEST).items()}
    chosen = {"run_id": wanted.run_id, "job_id": wanted.job_id, "producer_id": wanted.producer_id}
    size = None if wanted.limit is None else wanted.limit + 1
    times = {"since": wanted.since, "until": wanted.until}
    rows = tx.all(statement, kind=kind, page_size=size, **about(wanted.target), **chosen, **times, **window, **behind, **values)
    return [of_row(row) for row in rows]


def merged(found: Iterable[Iterable[MetadataRecord]], limit: int | None) -> Page[MetadataRecord]:
    """What comes newest first from each, as one page."""
    parts = list(found)
    return cut(parts[0] if len(parts) == 1 else merge(*parts, key=_newest_first), limit)


def cut(found: Iterable[MetadataRecord], limit: int | None) -> Page[MetadataRecord]:
    """The first of what comes newest first, as a page."""
    if limit is None:
        return Page(found)
    taken = list(islice(found, limit + 1))
    last = taken[limit - 1] if len(taken) > limit else None
    return Page(taken[:limit], pages.place([last.produced_at, last.sequence]) if last else None)


def _newest_first(record: MetadataRecord) -> tuple[float, int]:
    return _descending(record.produced_at), -(record.sequence or 0)


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _descending(at: datetime) -> float:
    since = at - _EPOCH
    return -((since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds)


def log(tx: Transaction, after: int = 0, limit: int | None = None, kind: str | None = None) -> Iterator[MetadataRecord]:
    """The facts behind that place in the log, in the order in which they were stored."""
    return map(of_row, tx.all(sql.log, after_seq=after, page_size=limit, kind=kind))


def head(tx: Transaction) -> int:
    """The place of the newest fact in the log; 0 if there is none."""
    return int((tx.one(sql.head) or {})["head"])


def about(target: Target | None) -> dict[str, str | None]:
    """What a target is found by: a table by its name whoever wrote of it, a target by its source, too."""
    if target is None:
        return {}
    return {"name_key": table_key(target)} if isinstance(target, str) else {"target_key": target.key}


def columns(record: MetadataRecord) -> dict[str, Any]:
    """A record as a row."""
    start, end = window_of(record)
    target, context = record.target, record.context
    return {
        "record_id": record.record_id,
        "kind": record.kind,
        "source_id": target.source_id,
        "schema_name": target.schema,
        "table_name": target.table,
        "name_key": target.name_key,
        "target_key": target.key,
        "target_extras": _json(target.extras),
        "job_id": context.job_id,
        "run_id": context.run_id,
        "namespace": context.namespace,
        "context_extras": _json(context.extras),
        "payload": _json(record.payload),
        "produced_at": record.produced_at,
        "producer_id": record.producer_id,
        "version": record.version,
        "quality": None if record.quality is None else _json(record.quality),
        "extras": _json(record.extras),
        "dedupe_key": record.dedupe_key,
        "window_start": start,
        "window_end": end,
    }


def _json(document: dict[str, Any]) -> str:
    """As both databases take it, made before the transaction begins."""
    return to_json(document) if document else "{}"


def of_row(row: Row) -> MetadataRecord:
    """A row as a record. It was checked when it was made: setting its parts at once is quicker than its constructor."""
    target, context, record = object.__new__(MetadataTarget), object.__new__(MetadataContext), object.__new__(MetadataRecord)
    vars(target).update(source_id=row["source_id"], schema=row["schema_name"], table=row["table_name"], extras=row["target_extras"])
    vars(context).update(job_id=row["job_id"], run_id=row["run_id"], namespace=row["namespace"], extras=row["context_extras"])
    vars(record).update(
        target=target,
        context=context,
        kind=row["kind"],
        payload=row["payload"],
        producer_id=row["producer_id"],
        version=row["version"],
        quality=row["quality"],
        extras=row["extras"],
        produced_at=row["produced_at"],
        dedupe_key=row["dedupe_key"],
        record_id=row["record_id"],
        sequence=row["seq"],
    )
    return record
