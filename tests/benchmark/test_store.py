"""What the store costs: a commit by the number of its files, a page of runs in a long history."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from benchmark.conftest import median_ms, seconds
from lakeledger import Ledger, clock
from lakeledger.commit import commit
from lakeledger.db.queries import statement
from lakeledger.pipelines.effects import IngestionFacts, Stopwatch
from lakeledger.runs import Counters, NewRun
from lakeledger.runs import store as run_store
from lakeledger.tables import Change, Layout, NewFile, parse_name

pytestmark = pytest.mark.bench

SCHEMA = {"type": "struct", "fields": [{"name": f"column_{i}", "type": "long", "nullable": True, "metadata": {}} for i in range(20)]}
BOUNDS = {f"column_{i}": {"min": 0, "max": 10**9, "nulls": 0} for i in range(20)}


@pytest.mark.parametrize("file_count", [1, 16, 256])
def test_commit_latency(ledger: Ledger, file_count: int, tmp_path: Path) -> None:
    with ledger.run("bench") as run:

        def one() -> None:
            batch = clock.new_id()
            files = [NewFile(f"data/{batch}/{i}", 10**6, 1000, "", "snappy", BOUNDS, datetime.now(UTC)) for i in range(file_count)]
            change = Change(parse_name("bench.t"), str(tmp_path), "append", SCHEMA, Layout(), files, counters=Counters(1000))
            with ledger.store.write() as tx:
                commit(tx, run.fence, [change], effects=[IngestionFacts(change.table, Stopwatch())])

        one()
        times = [seconds(one) for _ in range(15)]
        raw = [seconds(lambda: _raw_insert(ledger, file_count)) for _ in range(15)]
    print(
        f"commit of {file_count:>3} files on {ledger.database.dialect}: {median_ms(times):.1f} ms (bare rows alone {median_ms(raw):.1f} ms)"
    )


def _raw_insert(ledger: Ledger, count: int) -> None:
    with ledger.store.write() as tx:
        tx.execute(statement("create table if not exists raw_rows (id text, body jsonb)"))
        tx.many(statement("insert into raw_rows values (:id, :body)"), [{"id": clock.new_id(), "body": BOUNDS} for _ in range(count)])


def test_a_page_of_a_hundred_thousand_runs(ledger: Ledger) -> None:
    with ledger.store.write() as tx:
        first = run_store.add(tx, NewRun("bench"), "bench")
        columns = "tenant_id, pipeline_id, trigger_type, trigger_by, start_time, parameters, run_kind, exclusive, lease_token"
        tx.many(
            statement(
                f"insert into pipeline_runs (pipeline_logging_id, status, {columns}) select :id, 'COMPLETED', {columns}"
                " from pipeline_runs where pipeline_logging_id = :first"
            ),
            ({"id": clock.new_id(), "first": first.id} for _ in range(100_000)),
        )
    times = [seconds(lambda: ledger.runs.list(limit=50)) for _ in range(15)]
    failed = [seconds(lambda: ledger.runs.list(status="FAILED", limit=50)) for _ in range(5)]
    print(f"runs list at 100,000 runs on {ledger.database.dialect}: {median_ms(times):.1f} ms; only FAILED ones {median_ms(failed):.1f} ms")
