"""The example queries of the document that the lake's own tables come from, for each engine, and a lake to run them on."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Any

from contract.making import add_dq_result, execute
from contract.mirroring import move_run, oracle, refresh
from lakeledger import Ledger
from lakeledger.clock import now

# As they are written there, but for the names of the tables; TIMESTAMP_SUB(x, y) is `x - y` in Spark and in DuckDB.
FAILED_RUNS = """
SELECT
  pipeline_id,
  status,
  start_time,
  duration_ms,
  parameters
FROM {pipeline_runs}
WHERE start_time >= CURRENT_TIMESTAMP{call} - INTERVAL 7 DAY
  AND status = 'FAILED'
ORDER BY start_time DESC
"""
SLOWEST_STEPS = """
SELECT
  pl.pipeline_id,
  sl.step_name,
  sl.duration_ms,
  sl.rows_processed
FROM {step_logs} sl
JOIN {pipeline_runs} pl
  ON sl.pipeline_logging_id = pl.pipeline_logging_id
WHERE sl.start_time >= CURRENT_TIMESTAMP{call} - INTERVAL 1 DAY
  AND sl.status = 'COMPLETED'
ORDER BY sl.duration_ms DESC
LIMIT 10
"""
FAILED_CHECKS = """
SELECT
  target_table,
  overall_status,
  expectations_passed,
  expectations_failed,
  executed_at
FROM {dq_results}
WHERE ingestion_date = CURRENT_DATE{call}
  AND overall_status = 'FAIL'
ORDER BY executed_at DESC
"""
QUERIES = {"failed_runs": FAILED_RUNS, "slowest_steps": SLOWEST_STEPS, "failed_checks": FAILED_CHECKS}
DAYS_BACK = 12
HOURS = timedelta(hours=24)


def fill(ledger: Ledger) -> None:
    """Runs of the last days, of which some failed, with steps and results, as a lake has them."""
    at = now()
    for number in range(DAYS_BACK):
        for status in ("COMPLETED", "FAILED"):
            parameters = {"date": f"d{number}", "filters": {"region": "US"}}
            with ledger.run(f"{status.lower()}_{number}", parameters=parameters) as run, run.step("load") as step:
                step.metadata["destination_table"] = f"silver.t{number}"
            # A minute after the hour counts back, so that no row is just at the border.
            move_run(ledger, run.id, at - number * HOURS + timedelta(minutes=1 if number else -1))
            told: dict[str, Any] = {"status": status, "run_id": run.id, "ms": number * 10 + (status == "FAILED")}
            execute(ledger, "update pipeline_runs set status = :status, duration_ms = :ms where pipeline_logging_id = :run_id", **told)
            execute(ledger, "update step_logs set duration_ms = :ms, rows_processed = 5 where pipeline_logging_id = :run_id", **told)
            failures = [{"expectation": "not_null", "column": "id", "count": number}] if status == "FAILED" else None
            add_dq_result(ledger, f"{run.id}-dq", at - number * HOURS, failures, run.id)
    refresh(ledger)


def as_of(engine: str, query: str, **tables: str) -> str:
    """A query with the names that the tables have: DuckDB writes `current_timestamp` without a call."""
    return query.format(call="()" if engine == "spark" else "", **tables)


def expected() -> dict[str, list[tuple[Any, ...]]]:
    """What the queries give, by hand: of each day one run that failed, a step of both runs, one result that failed."""
    both = [
        (f"{status}_{number}", "load", number * 10 + (status == "failed"), 5) for number in (0, 1) for status in ("completed", "failed")
    ]
    return {
        "failed_runs": [(f"failed_{number}", "FAILED", number * 10 + 1, f"d{number}") for number in range(8)],
        "slowest_steps": sorted(both, key=lambda row: -row[2]),
        "failed_checks": [("silver.orders", "FAIL", 3, 1)],
    }


def plain(name: str, rows: Iterable[Sequence[Any]]) -> list[tuple[Any, ...]]:
    """Rows that a query gave, as `expected` has them: without times, and of parameters the date."""
    found = [tuple(row) for row in rows]
    if name == "failed_runs":
        return [(row[0], row[1], row[3], json.loads(row[4])["date"]) for row in found]
    return [row[:4] for row in found] if name == "failed_checks" else found


def days(ledger: Ledger, name: str) -> set[str]:
    """The days whose partitions a query needs, by the rows that the ledger has: those of the table that it filters by time."""
    now_ = now()
    since = {"failed_runs": now_ - 7 * HOURS, "slowest_steps": now_ - HOURS, "failed_checks": now_}[name]
    if name == "failed_checks":
        return {f"{since:%Y-%m-%d}"}
    table = "pipeline_runs" if name == "failed_runs" else "step_logs"
    return {row["start_time"][:10] for row in oracle(ledger, table) if row["start_time"] >= since.isoformat()}
