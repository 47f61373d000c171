"""What a ledger costs that has grown: a run started under a key among many, and the bytes that each append leaves in the change log."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta

import pytest

from benchmark.conftest import median_ms, seconds
from lakeledger import Ledger, clock
from lakeledger.commit import commit
from lakeledger.db.queries import statement
from lakeledger.pipelines.effects import IngestionFacts, Stopwatch
from lakeledger.runs import Counters
from lakeledger.tables import Change, Layout, NewFile, parse_name

pytestmark = pytest.mark.bench

RUNS, BATCH, PIPELINES = 100_000, 20_000, 500
APPENDS = 20
SCHEMA = {"type": "struct", "fields": [{"name": f"column_{i}", "type": "long", "nullable": True, "metadata": {}} for i in range(20)]}
BOUNDS = {f"column_{i}": {"min": 0, "max": 10**9, "nulls": 0} for i in range(20)}


def test_a_run_under_a_key_at_a_hundred_thousand_runs(ledger: Ledger) -> None:
    fill_with_keyed_runs(ledger)
    keys = itertools.count()

    def run(**more: object) -> None:
        with ledger.run("p7", exclusive=True, **more):  # type: ignore[arg-type]
            pass

    with_key = [seconds(lambda: run(idempotency_key=f"due {next(keys)}")) for _ in range(15)]
    without = [seconds(run) for _ in range(15)]
    print(
        f"a run, start and end, at {RUNS:,} runs on {ledger.database.dialect}: under a new key {median_ms(with_key):.1f} ms,"
        f" without one {median_ms(without):.1f} ms"
    )


def test_bytes_of_the_change_log_per_append(ledger: Ledger) -> None:
    append(ledger)
    before = size_of_log(ledger)
    for _ in range(APPENDS):
        append(ledger)
    events, bytes_ = (now - then for now, then in zip(size_of_log(ledger), before, strict=True))
    print(
        f"change log per append of a file with 20 columns on {ledger.database.dialect}:"
        f" {bytes_ / APPENDS:,.0f} bytes in {events / APPENDS:.0f} events"
    )


def append(ledger: Ledger) -> None:
    """A run with one append of one file, whose checksum arrives later."""
    path = f"data/{clock.new_id()}"
    file = NewFile(path, 10**6, 1_000, "", "snappy", BOUNDS, datetime.now(UTC))
    with ledger.run("load", parameters={"day": "2026-01-01", "source": "shop"}) as run, ledger.store.write() as tx:
        change = Change(parse_name("bench.t"), "/bench", "append", SCHEMA, Layout(), [file], counters=Counters(1_000))
        commit(tx, run.fence, [change], effects=[IngestionFacts(change.table, Stopwatch())])
    with ledger.store.write() as tx:
        tx.execute(statement("update table_files set checksum = :sum where file_path = :path"), sum="a" * 64, path=path)


def size_of_log(ledger: Ledger) -> tuple[int, int]:
    """Its rows, and the bytes of what they say."""
    with ledger.store.read() as tx:
        text = "length(coalesce(cast(before as text), '')) + length(coalesce(cast(after as text), ''))"
        row = tx.one(statement(f"select count(*) as events, sum({text}) as bytes from change_log")) or {}
    return int(row["events"]), int(row["bytes"])


def fill_with_keyed_runs(ledger: Ledger) -> None:
    """Runs of many pipelines, each under its key, as a scheduler leaves them."""
    with ledger.run("p0") as first:
        pass
    columns = "tenant_id, trigger_type, trigger_by, parameters, run_kind, exclusive, lease_token"
    add = statement(
        f"insert into pipeline_runs (pipeline_logging_id, pipeline_id, status, start_time, end_time, idempotency_key, {columns})"
        f" select :id, :pipeline, 'COMPLETED', :at, :at, :id, {columns} from pipeline_runs where pipeline_logging_id = :first"
    )
    began = datetime.now(UTC) - timedelta(days=30)
    for start in range(0, RUNS, BATCH):
        made = [(clock.new_id(), number) for number in range(start, start + BATCH)]
        with ledger.store.write() as tx:
            tx.many(
                add,
                (
                    {"id": run_id, "pipeline": f"p{number % PIPELINES}", "at": began + timedelta(seconds=number), "first": first.id}
                    for run_id, number in made
                ),
            )
