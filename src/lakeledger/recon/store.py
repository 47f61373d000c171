"""What is stored of reconciliations: one row for each check, and one record, in one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from lakeledger import codec
from lakeledger.db import Transaction, pages
from lakeledger.db.pages import Page
from lakeledger.db.queries import load
from lakeledger.errors import Invalid, NotFound
from lakeledger.names import table_key
from lakeledger.recon.model import Result
from lakeledger.records import MetadataContext, MetadataRecord, MetadataTarget
from lakeledger.records import add as add_record
from lakeledger.runs.store import FIRST_ID, LAST_ID

sql = load("lakeledger.recon")

KIND, PRODUCER = "recon_result", "recon.v1"
SHORTEST_PREFIX = 4
_NEWEST: pages.Key = {"ended_at": codec.to_time, "recon_result_id": str}


def add(tx: Transaction, results: Sequence[Result]) -> None:
    """Store results, each also as a record."""
    tx.many(sql.add, [_columns(each) for each in results])
    for each in results:
        add_record(tx, record(each, tx.now))


def record(result: Result, at: datetime) -> MetadataRecord:
    """A result as the fact that others build on, known at that time. It was scrubbed when it was made."""
    metrics = {"source": _number(result.source_metric), "target": _number(result.target_metric)}
    payload = {
        "recon_result_id": result.id,
        "recon_config_id": result.recon_name,
        "check": f"{result.recon_name}.{result.check_name}",
        "check_type": result.check_type,
        "status": str(result.status),
        "source": result.source,
        "target": result.target,
        "metrics": {**metrics, "difference": result.difference, "difference_percent": result.difference_percent},
        "thresholds": result.thresholds,
        "band": result.band,
        "scopes": result.scope,
        "ingestion_run_ids": result.ingestion_run_ids,
        "message": result.message,
        "frequency": result.frequency,
        "duration_ms": round((result.ended_at - result.started_at).total_seconds() * 1000),
    }
    compared = result.status in ("pass", "warn", "fail")
    return MetadataRecord(
        MetadataTarget(result.recon_name, result.schema_name, result.table_name),
        MetadataContext(job_id=f"recon:{result.recon_name}", run_id=result.run_id),
        KIND,
        payload,
        PRODUCER,
        version="1",
        quality={"status": str(result.status), "band": result.band} if compared else None,
        produced_at=at,
        verbatim=True,
    )


def history(
    tx: Transaction,
    name: str | None = None,
    table: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    status: str | None = None,
    limit: int | None = 100,
    after: str | None = None,
) -> Page[Result]:
    """Results, newest first: of one reconciliation, of one ledger table, or all."""
    chosen: dict[str, Any] = {
        "recon_key": None if name is None else codec.fold(name),
        "name_key": None if table is None else table_key(table),
        "since": since,
        "until": until,
        "status": status,
    }
    return pages.read(tx, sql.history, _NEWEST, Result.from_row, limit, after, **chosen)


def get(tx: Transaction, result_id: str) -> Result:
    """A result by its id, or the beginning of it. Raises NotFound, or Invalid if several begin so."""
    first, last = result_id + FIRST_ID[len(result_id) :], result_id + LAST_ID[len(result_id) :]
    rows = tx.all(sql.find_by_prefix, prefix=result_id, first=first, last=last) if len(result_id) >= SHORTEST_PREFIX else []
    if not rows:
        raise NotFound(f"no reconciliation and no result {result_id!r}: `lakeledger recon history` lists them")
    if len(rows) > 1:
        raise Invalid(f"several results begin with {result_id}: give more of the id")
    return Result.from_row(rows[0])


def last_results(tx: Transaction, name: str) -> list[Result]:
    """What the last run of a reconciliation found, in the order of its checks; nothing if it never ran."""
    row = tx.one(sql.last_run, recon_key=codec.fold(name))
    if row is None:
        return []
    found = [each for each in history(tx, name, limit=1_000) if each.run_id == row["run_id"]]
    return sorted(found, key=lambda each: each.id)


def last_compared(tx: Transaction, name: str) -> datetime | None:
    """When a reconciliation last compared something."""
    row = tx.one(sql.last_compared, recon_key=codec.fold(name))
    return row["ended_at"] if row else None


def _columns(result: Result) -> dict[str, Any]:
    table = result.table
    return {
        **asdict(result),
        "status": str(result.status),
        "recon_key": codec.fold(result.recon_name),
        "name_key": table_key(table) if table else None,
    }


def _number(text: str | None) -> float | None:
    try:
        value = float(text) if text is not None else None
    except ValueError:
        return None
    return value if value is not None and abs(value) < float("inf") else None
