"""Everything about capture as its document tells it, run as a stranger would; and the queries for debugging, as the guide shows them."""

from __future__ import annotations

import re
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from contract.making import execute, rows
from lakeledger import Ledger
from lakeledger.sync import NewError, NewLetter, NewSync, SyncRunStatistics

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs/guides/capture.md"


def test_the_example_says_what_happened_on_both_databases(url: str) -> None:
    done = subprocess.run([sys.executable, str(ROOT / "examples/capture.py"), url], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    scheme = url.partition(":")[0]
    assert f"done on {scheme}: 3 of dead_letter_queue, 1 of error_log" in done.stdout
    assert {line[0] for line in done.stdout.splitlines()} >= set("23456")
    assert "hunter2" not in done.stdout


@pytest.fixture
def busy(ledger: Ledger) -> Ledger:
    """A ledger in which something ran, failed and waits."""
    for records, age in ((100, 0), (300, 0), (999, 48)):
        run = ledger.sync.runs.start(NewSync("ecommerce", "batch"))
        ledger.sync.runs.complete(run.id, "completed", SyncRunStatistics(records_processed=records))
        then = datetime.now(UTC) - timedelta(hours=age)
        execute(ledger, "update pipeline_runs set duration_ms = :ms where pipeline_logging_id = :id", ms=records * 10, id=run.id)
        execute(ledger, "update pipeline_runs set end_time = :at where pipeline_logging_id = :id", at=then, id=run.id)
    errors = [ledger.errors.log(NewError("ecommerce", "orders", kind, "no")) for kind in ("timeout", "timeout", "validation")]
    ledger.errors.resolve(errors[0].id)
    for number in (1, 2, 2):
        ledger.dead_letters.add(NewLetter("ecommerce", "orders", "insert", {"id": number}))
    return ledger


def queries(dialect: str) -> list[str]:
    """The SQL of the guide, for that database."""
    found = re.findall(r"```sql\n-- (\w+)\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    return [text for name, text in found if name in (dialect, "both")]


def test_the_queries_for_debugging_run_as_the_guide_shows_them(busy: Ledger) -> None:
    answers = [[_plain(row) for row in rows(busy, text)] for text in queries(busy.database.dialect)]
    assert answers == [
        [{"schema_name": "ecommerce", "avg_duration_ms": 2000.0, "runs": 2, "total_records": 400}],
        [{"error_type": "timeout", "error_count": 2, "open_errors": 1}, {"error_type": "validation", "error_count": 1, "open_errors": 1}],
        [{"schema_name": "ecommerce", "table_name": "orders", "status": "pending", "record_count": 2, "avg_errors": 1.5}],
    ]


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value if isinstance(value, str | int) else float(value) for name, value in row.items()}
