"""What the lake's own tables hold, read from their files, beside what the ledger holds."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from typing import Any

from contract.making import execute, rows
from lakeledger import Ledger

PARTS = ("pipeline_runs", "step_logs", "api_keys", "dq_results")
KEYS = {"pipeline_runs": "pipeline_logging_id", "step_logs": "step_logging_id", "api_keys": "api_key_id", "dq_results": "dq_result_id"}
DOCUMENTS = ("parameters", "metadata", "failed_expectations")


def lake(ledger: Ledger, name: str, version: int | str | None = None) -> list[dict[str, Any]]:
    """The rows of a table in the lake, in the order of their keys, with documents as values."""
    from pyarrow import parquet

    view = ledger.tables.view(f"{ledger.mirror.dataset}.{name}", version)
    shown = [field["name"] for field in view.schema["fields"] if not field.get("hidden")]
    found = [row for path in view.paths for row in parquet.ParquetFile(path).read().to_pylist()]
    key = next(key for part, key in KEYS.items() if name.startswith(part))
    return [_plain({name: row.get(name) for name in shown}) for row in sorted(found, key=lambda row: str(row[key]))]


def oracle(ledger: Ledger, name: str) -> list[dict[str, Any]]:
    """The rows of the ledger as the lake should have them."""
    columns = [each.name for each in ledger.mirror.declared(name).columns]
    found = rows(ledger, f"select * from {name} where tenant_id = :tenant_id order by {KEYS[name]}")
    kept = [row for row in found if row.get("pipeline_id") != "lake_mirror"]
    hidden = {"api_key_hash": "redacted"} if name == "api_keys" else {}
    return [_plain({column: {**row, **hidden}.get(column) for column in columns}) for row in kept]


def refresh(ledger: Ledger, *names: str, **how: Any) -> dict[str, int]:
    """Refresh, and see that nothing went wrong: the rows that were copied, by table."""
    done = ledger.mirror.refresh(names, **how)
    assert [each.problem for each in done if each.problem] == []
    return {each.table.rpartition(".")[2]: each.rows for each in done if each.rows}


def agrees(ledger: Ledger, *names: str) -> None:
    """The lake has each row of the ledger once, and no others."""
    for name in names or PARTS:
        assert lake(ledger, name) == oracle(ledger, name), name


def own_runs(ledger: Ledger) -> int:
    return len([run for run in ledger.runs.list() if run.pipeline_id == "lake_mirror"])


def move_run(ledger: Ledger, run_id: str, at: datetime) -> None:
    """Another start of a run and of its steps, as if it had been begun then."""
    execute(ledger, "update pipeline_runs set start_time = :at where pipeline_logging_id = :run_id", at=at, run_id=run_id)
    execute(ledger, "update step_logs set start_time = :at where pipeline_logging_id = :run_id", at=at, run_id=run_id)


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    return {name: _value(name, value) for name, value in row.items()}


def _value(name: str, value: Any) -> Any:
    if name in DOCUMENTS:
        return json.loads(value) if isinstance(value, str) else value
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    return value.isoformat() if isinstance(value, date) else value
