"""How capture is doing: runs, errors, dead letters and positions of the last hours. What cannot be said is None."""

from __future__ import annotations

import sys
from datetime import datetime, timedelta
from typing import Any

from lakeledger import codec
from lakeledger.db import Database, Row, Transaction
from lakeledger.db.queries import load
from lakeledger.errors import Invalid
from lakeledger.sync import lookup

sql = load("lakeledger.sync", "statistics.sql")

LETTER_STATES = ("pending", "processing", "resolved", "discarded")
LONGEST_HOURS = 24 * 3_660


def collect(tx: Transaction, schema_name: str | None = None, hours: float = 24) -> dict[str, Any]:
    """The figures of one schema or of all. Raises Invalid."""
    if not 0 < hours <= LONGEST_HOURS:
        raise Invalid(f"hours must be between 0 and {LONGEST_HOURS}, not {hours}")
    since = tx.now - timedelta(hours=hours)
    scope = {"since": since, "schema_name": schema_name}
    hourly = {codec.to_time(row["hour"]): row["errors"] for row in tx.all(sql.errors_by_hour, **scope)}
    return {
        "schema_name": schema_name,
        "hours": hours,
        "since": since,
        "sync_runs": _runs(tx.one(sql.runs, **scope) or {}),
        "errors": {**_errors(tx.all(sql.errors, **scope)), "trend": _trend(hourly, since, tx.now)},
        "dead_letters": _letters(tx.all(sql.dead_letters, **scope)),
        "markers": _markers(tx.one(sql.markers, **scope) or {}),
    }


def resources(database: Database) -> dict[str, Any]:
    """What this process uses: connections to the store, and memory at its highest."""
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {"connections": database.connections(), "peak_memory_bytes": peak * (1 if sys.platform == "darwin" else 1024)}


def rate(part: int, whole: int) -> float | None:
    """The share, or None of nothing."""
    return part / whole if whole else None


def _runs(row: Row) -> dict[str, Any]:
    counts = {name: int(row[name] or 0) for name in row if name.endswith("_runs") or name.startswith("total_")}
    seconds = int(row["busy_ms"] or 0) / 1000
    ended = counts["completed_runs"] + counts["failed_runs"]
    return {
        **counts,
        "avg_duration_ms": None if row["avg_duration_ms"] is None else float(row["avg_duration_ms"]),
        "max_duration_ms": row["max_duration_ms"],
        "success_rate": rate(counts["completed_runs"], ended),
        "records_per_second": int(row["ended_records"] or 0) / seconds if seconds else None,
        "bytes_per_second": int(row["ended_bytes"] or 0) / seconds if seconds else None,
    }


def _errors(rows: list[Row]) -> dict[str, Any]:
    def total(name: str) -> int:
        return sum(int(row[name] or 0) for row in rows)

    return {
        "total_errors": total("errors"),
        "open_errors": total("open_errors"),
        "resolved_errors": total("resolved_errors"),
        "ignored_errors": total("ignored_errors"),
        "by_type": {row["error_type"]: row["errors"] for row in rows},
        "retries": total("retries"),
        "retry_success_rate": rate(total("retried_and_resolved"), total("retried_and_settled")),
    }


def _trend(hourly: dict[datetime, int], since: datetime, now: datetime) -> list[dict[str, Any]]:
    """Errors by hour, oldest first. Beyond a month only the hours that had any."""
    first = since.replace(minute=0, second=0, microsecond=0)
    if now - first > timedelta(days=31):
        return [{"hour": hour, "errors": hourly[hour]} for hour in sorted(hourly)]
    hours = int((now - first) / timedelta(hours=1)) + 1
    return [{"hour": hour, "errors": hourly.get(hour, 0)} for hour in (first + timedelta(hours=number) for number in range(hours))]


def _letters(rows: list[Row]) -> dict[str, Any]:
    found = {row["status"]: row for row in rows}
    failures = sum(int(row["failures"]) for row in rows)
    total = sum(row["letters"] for row in rows)
    return {
        **{state: found[state]["letters"] if state in found else 0 for state in LETTER_STATES},
        "total": total,
        "avg_errors": rate(failures, total),
        "oldest_pending_at": _at(found["pending"]["oldest"]) if "pending" in found else None,
    }


def _markers(row: Row) -> dict[str, Any]:
    return {"total": row["total"], "oldest_update": _at(row["oldest_update"]), "newest_update": _at(row["newest_update"])}


def _at(value: Any) -> datetime | None:
    return None if value is None else lookup.time(value)
