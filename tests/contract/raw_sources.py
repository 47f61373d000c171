"""The raw sources that the seed names, as files in the formats that the guide describes, and what is true of them."""

from __future__ import annotations

import json
import sqlite3
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

START = datetime(2024, 1, 10, 5, tzinfo=UTC)
SCHEMA, TABLES = "itcftth", ("srv_cfsver_ct_main", "orders", "customers")
RUNS = 8
INVENTORY = """
source_id: erp
schema: itcftth
sources:
  - {name: progress, reader: progress_log, path: progress/*.jsonl}
  - {name: manifests, reader: slice_manifest, path: manifests/*.json}
  - {name: guardrails, reader: guardrail_report, path: guardrails/*.json}
  - {name: recon, reader: recon_output, path: recon/*.json}
  - {name: catalog, reader: catalog_snapshot, path: catalog/*.json}
  - name: warehouse
    reader: csv
    path: volumes.csv
    columns: {produced_at: loaded_at, table: tab, run_id: run, payload.rows: cnt, payload.bytes: size, extras.owner: owner}
  - name: old ledger
    reader: sql
    url: sqlite:///old.db
    query: select ended, tab, run, 'count' as name, status, source_rows from recon
    kind: recon_result
    columns:
      {produced_at: ended, table: tab, run_id: run, payload.check: name, payload.status: status, payload.metrics.source: source_rows}
tables: [itcftth.orders, itcftth.returns]
baselines:
  - {reader: csv, path: dashboard.csv, columns: {table: tab, day: day, rows: rows}, sample: 1000}
"""


def at(run: int, minutes: float = 0) -> datetime:
    return START + timedelta(days=run, minutes=minutes)


def text(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")


def rows(table: int, run: int, part: int) -> int:
    """How many rows a slice of a run of a table has."""
    return 1_000 * (table + 1) + 10 * run + part


def total(table: int, run: int) -> int:
    return sum(rows(table, run, part) for part in range(3))


def write(folder: Path) -> Path:
    """All of them; the inventory."""
    for name in ("progress", "manifests", "guardrails", "recon", "catalog"):
        (folder / name).mkdir(parents=True)
    for table, name in enumerate(TABLES[:2]):
        _progress(folder / "progress" / f"{name}.jsonl", table, name)
        for run in range(RUNS):
            _manifest(folder / "manifests" / f"{name}-{run}.json", table, name, run)
            _recon(folder / "recon" / f"{name}-{run}.json", name, run)
        _put(folder / "guardrails" / f"{name}.json", [_guardrail(name, 2)])
    for run in range(RUNS):
        tables = [_catalog(name, run) for name in TABLES[:2]]
        _put(folder / "catalog" / f"{run}.json", {"captured_at": text(at(run)), "tables": tables})
    lines = [f"{text(at(run, 5))},customers,c{run},{total(2, run)},{total(2, run) * 10},ann\n" for run in range(RUNS)]
    (folder / "volumes.csv").write_text("loaded_at,tab,run,cnt,size,owner\n" + "".join(lines), encoding="utf-8")
    _old_ledger(folder / "old.db")
    shown = [f"{SCHEMA}.{name},{text(at(run))[:10]},{total(table, run)}\n" for table, name in enumerate(TABLES) for run in range(RUNS)]
    (folder / "dashboard.csv").write_text("tab,day,rows\n" + "".join(shown), encoding="utf-8")
    (folder / "inventory.yaml").write_text(INVENTORY, encoding="utf-8")
    return folder / "inventory.yaml"


def _progress(path: Path, table: int, name: str) -> None:
    """A log that was written twice in places, as after a restart; it lacks the last slice of every run."""
    events: list[dict[str, Any]] = []
    for run in range(RUNS):
        about = {"run_id": f"{name}-{run}", "job_id": "nightly", "table": name, "cluster": "old-1"}
        events.append({"ts": text(at(run)), "event": "run_started", **about})
        for part in range(2):
            done = {"slice": f"s{part}", "rows": rows(table, run, part), "bytes": 100, **_window(run, part)}
            events += [{"ts": text(at(run, part + 1)), "event": "slice_completed", **about, **done}] * (1 + (run == 3))
        events.append({"ts": text(at(run, 3)), "event": "slice_retry", **about, "slice": "s2"})
        events.append({"ts": text(at(run, 4)), "event": "run_completed", **about, "rows": total(table, run)})
    path.write_text("".join(f"{json.dumps(event)}\n" for event in events), encoding="utf-8")


def _manifest(path: Path, table: int, name: str, run: int) -> None:
    """Every slice of a run, also those that the log has."""
    slices = [
        {"id": f"s{part}", "rows": rows(table, run, part), "bytes": 100, "completed_at": text(at(run, part + 1)), **_window(run, part)}
        for part in range(3)
    ]
    slices.append({"id": "s9", "rows": 99_999, "status": "failed", "completed_at": text(at(run, 3))})
    _put(path, {"run_id": f"{name}-{run}", "table": name, "slices": slices})


def _window(run: int, part: int) -> dict[str, str]:
    return {"window_start": text(at(run - 1, part)), "window_end": text(at(run - 1, part + 1))}


def _guardrail(name: str, run: int) -> dict[str, Any]:
    said = [{"rule": "max_rows", "action": "throttled"}]
    return {"run_id": f"{name}-{run}", "table": name, "generated_at": text(at(run, 3)), "guardrails": said}


def _recon(path: Path, name: str, run: int) -> None:
    about = {"run_id": f"recon-{name}-{run}", "table": name, "ended_at": text(at(run, 60)), "ingestion_run_ids": [f"{name}-{run}"]}
    count = {
        "check": "count",
        "type": "count",
        "status": "PASSED" if run % 4 else "FAILED",
        "source_metric": 10,
        "target_metric": 10 - (run % 4 == 0),
    }
    sums = {
        "check": "sum",
        "type": "sum",
        "status": "timeout" if run == 5 else "ok",
        "thresholds": {"percent": 1},
        "scopes": ["year_month", "day"],
    }
    _put(path, {**about, "results": [count, sums]})


def _catalog(name: str, run: int) -> dict[str, Any]:
    """A table that got a column once."""
    columns = [{"name": "id", "type": "bigint", "nullable": False}, {"name": "price", "type": "numeric(12,2)", "precision": 12, "scale": 2}]
    more = [{"name": "at", "type": "timestamptz"}] if run >= 4 else []
    return {"table": name, "columns": [*columns, *more], "primary_key": ["id"], "row_count": 5_000 + run}


def _old_ledger(path: Path) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("create table recon (ended text, tab text, run text, status text, source_rows integer, target_rows integer)")
        made = [(text(at(run, 90)), "customers", f"old-{run}", "pass", 5, 5) for run in range(RUNS)]
        connection.executemany("insert into recon values (?, ?, ?, ?, ?, ?)", made)
    connection.close()


def _put(path: Path, document: Any) -> None:
    path.write_text(json.dumps(document), encoding="utf-8")
