"""How long the lake's own tables take to follow: a hundred thousand runs at first, what has changed since, and nothing."""

from __future__ import annotations

import os
import tracemalloc
from datetime import timedelta

import pytest

from benchmark.conftest import seconds
from contract.mirroring import lake
from lakeledger import Ledger, clock
from lakeledger.db.queries import statement
from lakeledger.maintenance.mirror import Refreshed

pytestmark = pytest.mark.bench

RUNS = int(os.environ.get("LAKELEDGER_BENCH_RUNS", "100000"))
DAYS, CHANGED, AT_A_TIME = 30, 1_000, 10_000

RUN = """
    insert into pipeline_runs (pipeline_logging_id, tenant_id, pipeline_id, status, trigger_type, trigger_by, start_time, end_time,
                               duration_ms, parameters, run_kind, exclusive, lease_token)
    values (:id, :tenant_id, :pipeline, 'RUNNING', 'scheduler', 'bench', :at, :at, 1000, :parameters, 'pipeline', false, :number)
"""
END = "update pipeline_runs set status = 'COMPLETED' where tenant_id = :tenant_id and pipeline_logging_id = :id"


def fill(ledger: Ledger) -> list[str]:
    """Runs of a month, in the order in which they began, and their ids."""
    began, span = clock.now() - timedelta(days=DAYS), timedelta(days=DAYS) / RUNS
    ids = [clock.new_id() for _ in range(RUNS)]
    for start in range(0, RUNS, AT_A_TIME):
        with ledger.store.write() as tx:
            tx.many(
                statement(RUN),
                (
                    {
                        "id": ids[number],
                        "pipeline": f"p{number % 200}",
                        "at": began + number * span,
                        "parameters": {"date": "2026-01-31", "batch_size": number},
                        "number": number,
                    }
                    for number in range(start, min(start + AT_A_TIME, RUNS))
                ),
            )
    return ids


def change(ledger: Ledger, ids: list[str]) -> None:
    with ledger.store.write() as tx:
        tx.many(statement(END), ({"id": id} for id in ids))


def test_refreshes(ledger: Ledger) -> None:
    ids, name = fill(ledger), ledger.database.dialect

    def refresh() -> None:
        done: list[Refreshed] = ledger.mirror.refresh()
        assert not any(each.problem for each in done)

    took = seconds(refresh)
    files = ledger.tables.get("default_metadata.pipeline_runs").file_count
    print(f"{name}: the first refresh of {RUNS:,} runs of {DAYS} days: {took:.1f} s, {files} files")
    print(f"{name}: nothing has changed: {seconds(refresh) * 1000:.0f} ms")
    change(ledger, ids[-CHANGED:])
    print(f"{name}: {CHANGED:,} runs of the last day have ended: {seconds(refresh) * 1000:.0f} ms")
    change(ledger, ids[:: RUNS // CHANGED])
    print(f"{name}: {CHANGED:,} runs of all days have ended: {seconds(refresh) * 1000:.0f} ms")
    change(ledger, ids)
    tracemalloc.start()
    took = seconds(refresh)
    most = tracemalloc.get_traced_memory()[1] / 1e6
    print(f"{name}: all have ended: {took:.1f} s with the memory watched, at most {most:.0f} MB of it")
    tracemalloc.stop()
    assert len(lake(ledger, "pipeline_runs")) == RUNS
