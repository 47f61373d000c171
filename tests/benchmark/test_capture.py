"""What capture costs: positions, errors and letters per second, each beside the same rows written with the bare driver in the same run."""

from __future__ import annotations

import itertools
import json
import os
import resource
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from benchmark.conftest import alternate, median_ms, seconds
from lakeledger import Ledger, NumberPosition, clock, codec
from lakeledger.db.queries import parse, statement
from lakeledger.sync import NewError, NewLetter, NewSync

pytestmark = pytest.mark.bench

TIMES = 300
ROUNDS = 9
RECORD = {"id": 12345, "order_date": "2023-13-45", "customer": "ann", "amount": 12.5}


class Raw:
    """The bare driver on the same tables with the same durability: what somebody would write by hand to keep the same."""

    def __init__(self, ledger: Ledger, url: str) -> None:
        self.is_sqlite = ledger.database.dialect == "sqlite"
        if self.is_sqlite:
            self.connection: Any = sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)
            self.connection.execute("pragma foreign_keys = on")
            self.connection.execute("pragma synchronous = full")
        else:
            self.connection = psycopg.connect(url, autocommit=True)
        self.marker_id = ledger.positions.advance("raw.orders", NumberPosition(0)).id

    def execute(self, text: str, *values: Any) -> Any:
        return self.connection.execute(text if self.is_sqlite else text.replace("?", "%s"), values)

    @contextmanager
    def transaction(self) -> Iterator[str]:
        self.execute("begin immediate" if self.is_sqlite else "begin")
        yield codec.to_text(clock.now())
        self.execute("commit")

    def move(self) -> None:
        with self.transaction() as now:
            row = self.execute("select version, order_key from sync_markers where id = ?", self.marker_id).fetchone()
            to = (codec.to_json({"value": row[0]}), f"{row[0]:020d}")
            self.execute(
                "update sync_markers set position_data = ?, order_key = ?, version = version + 1, last_updated = ?"
                " where id = ? and version = ?",
                *to,
                now,
                self.marker_id,
                row[0],
            )
            self.execute(
                "insert into sync_marker_history (id, tenant_id, marker_id, version, position_kind, position_data, order_key, updated_at,"
                " updated_by, forced) values (?, 'default', ?, ?, 'number', ?, ?, ?, 'me', false)",
                clock.new_id(),
                self.marker_id,
                row[0] + 1,
                *to,
                now,
            )

    def read(self) -> None:
        self.execute("select * from sync_markers where id = ?", self.marker_id).fetchone()

    def log(self) -> None:
        with self.transaction() as now:
            self.execute(
                "insert into error_log (id, tenant_id, schema_name, table_name, name_key, schema_key, error_type, error_message,"
                " record_data, record_complete, operation_type, fingerprint, status, retry_count, max_retries, retry_after, occurred_at)"
                " values (?, 'default', 'shop', 'orders', 'shop/orders', 'shop', 'connection', 'no answer', ?, true, 'insert', 'f', 'open',"
                " 0, 5, ?, ?)",
                clock.new_id(),
                codec.to_json(RECORD),
                now,
                now,
            )

    def claim(self) -> None:
        with self.transaction():
            until = codec.to_text(clock.now() + timedelta(minutes=5))
            self.execute(
                "update dead_letter_queue set status = 'processing', claimed_by = 'me', claimed_until = ? where id in"
                " (select id from dead_letter_queue where tenant_id = 'default' and status = 'pending' order by created_at, id limit 1)"
                " returning *",
                until,
            ).fetchall()


@pytest.fixture
def raw(ledger: Ledger, url: str) -> Iterator[Raw]:
    made = Raw(ledger, url)
    yield made
    made.connection.close()


def compare(what: str, ledger: Ledger, ours: Callable[[], object], bare: Callable[[], object]) -> None:
    """Both in turns, so many times each, and how they compare."""

    def many(action: Callable[[], object]) -> Callable[[], object]:
        return lambda: [action() for _ in range(TIMES)]

    mine, theirs = (median_ms(times) / 1000 for times in alternate([many(ours), many(bare)], ROUNDS, lambda: None, warm_up=1))
    print(
        f"{what} on {ledger.database.dialect}: {TIMES / mine:,.0f}/s, bare driver {TIMES / theirs:,.0f}/s, {theirs / mine:.2f}×"
        f" ({mine / TIMES * 1e6:.0f} µs, bare {theirs / TIMES * 1e6:.0f} µs)"
    )


def test_position_updates(ledger: Ledger, raw: Raw) -> None:
    numbers = itertools.count()
    compare("position update", ledger, lambda: ledger.positions.advance("shop.orders", NumberPosition(next(numbers))), raw.move)
    took = seconds(lambda: [ledger.positions.advance("shop.orders", NumberPosition(next(numbers))) for _ in range(1_000)])
    print(f"1,000 position updates on {ledger.database.dialect}, each durable: {took:.2f} s")


def test_position_reads(ledger: Ledger, raw: Raw) -> None:
    ledger.positions.advance("shop.orders", NumberPosition(1))
    compare("position read", ledger, lambda: ledger.positions.get("shop.orders"), raw.read)


def test_error_inserts(ledger: Ledger, raw: Raw) -> None:
    new = NewError("shop", "orders", "connection", "no answer", record_data=RECORD, operation_type="insert")
    compare("error insert", ledger, lambda: ledger.errors.log(new), raw.log)


def test_letter_claims(ledger: Ledger, raw: Raw) -> None:
    for number in range(2 * TIMES * (ROUNDS + 1)):
        ledger.dead_letters.add(NewLetter("shop", "orders", "insert", {**RECORD, "id": number}))
    compare("letter claim", ledger, ledger.dead_letters.claim, raw.claim)


# A smaller number for a quick look, or for a release that does not come to an end with as many.
RUNS, BATCH = int(os.environ.get("LAKELEDGER_BENCH_RUNS", "1_000_000")), 20_000


@pytest.mark.timeout(3_600)
def test_cleanup_of_a_million_runs(ledger: Ledger, url: str) -> None:
    """While it goes on, another process writes; how long it waited is printed."""
    fill_with_runs(ledger)
    with subprocess.Popen([sys.executable, "-c", WRITER, url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdin is not None
        assert writer.stdout is not None
        alone = json.loads(writer.stdout.readline())
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        start, worked = time.perf_counter(), time.process_time()
        removed = ledger.sync.cleanup()
        took, worked = time.perf_counter() - start, time.process_time() - worked
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - grown
        writer.stdin.close()
        waits = json.loads(writer.stdout.read())
    assert removed["pipeline_runs"] == RUNS
    print(
        f"cleanup of {RUNS:,} runs on {ledger.database.dialect}: {took:.0f} s ({worked:.0f} s of CPU),"
        f" {grown / 1e3:.0f} MB more at its peak; meanwhile {len(waits):,}"
        f" writes of another process, {spread(waits)}; before, {len(alone):,} writes alone, {spread(alone)}"
    )


def spread(times: list[float]) -> str:
    """How long most took, nearly all, and the slowest."""
    nearly_all = sorted(times)[len(times) * 99 // 100]
    return f"median {median_ms(times):.1f} ms, 99 % under {nearly_all * 1000:.0f} ms, slowest {max(times) * 1000:.0f} ms"


WRITER = """
import itertools, json, sys, threading, time, lakeledger
from lakeledger import NumberPosition
ledger = lakeledger.open(sys.argv[1], warehouse="/warehouse")
numbers = itertools.count()

def waits(done):
    found = []
    while not done.wait(0.003):
        start = time.perf_counter()
        ledger.positions.advance("shop.orders", NumberPosition(next(numbers)))
        found.append(time.perf_counter() - start)
    return json.dumps(found)

alone, done = threading.Event(), threading.Event()
threading.Timer(10, alone.set).start()
print(waits(alone), flush=True)
threading.Thread(target=lambda: (sys.stdin.read(), done.set()), daemon=True).start()
print(waits(done))
"""


def fill_with_runs(ledger: Ledger) -> None:
    """Old runs, each with its two transitions, as years of capture leave them; what the change log had of them is long gone."""
    run = ledger.sync.runs.start(NewSync("shop", "batch"))
    ledger.sync.runs.complete(run.id, "completed")
    for first in range(1, RUNS + 1, BATCH):
        with ledger.store.write() as tx:
            numbers = {"first": first, "last": min(first + BATCH - 1, RUNS)}
            tx.execute(FILL.runs, **numbers, copied=run.id)
            tx.execute(FILL.transitions, **numbers)
            tx.execute(statement("delete from change_log"))
    if ledger.database.dialect == "postgres":
        with ledger.store.write() as tx:
            tx.execute(statement("analyze"))


COLUMNS = "tenant_id, pipeline_id, status, trigger_type, trigger_by, parameters, run_kind, schema_name, sync_mode, exclusive, lease_token"
FILL = parse(f"""
-- name: runs@sqlite
with recursive numbers(n) as (select :first union all select n + 1 from numbers where n < :last)
insert into pipeline_runs (pipeline_logging_id, start_time, end_time, {COLUMNS})
select printf('0190%032x', n), strftime('%Y-%m-%dT%H:%M:%f000Z', 1700000000 + 20 * n, 'unixepoch'),
       strftime('%Y-%m-%dT%H:%M:%f000Z', 1700000010 + 20 * n, 'unixepoch'), {COLUMNS}
  from numbers cross join pipeline_runs where pipeline_logging_id = :copied

-- name: transitions@sqlite
with recursive numbers(n) as (select :first union all select n + 1 from numbers where n < :last)
insert into state_transitions (transition_id, tenant_id, entity, entity_id, to_status, at, actor)
select printf('0190%031x%d', n, state), 'default', 'run', printf('0190%032x', n), 'COMPLETED', '2024-01-01T00:00:00.000000Z', 'bench'
  from numbers cross join (select 1 as state union all select 2) states

-- name: runs@postgres
insert into pipeline_runs (pipeline_logging_id, start_time, end_time, {COLUMNS})
select '0190' || lpad(to_hex(n), 32, '0'), to_timestamp(1700000000 + 20 * n), to_timestamp(1700000010 + 20 * n), {COLUMNS}
  from generate_series(cast(:first as integer), cast(:last as integer)) n cross join pipeline_runs where pipeline_logging_id = :copied

-- name: transitions@postgres
insert into state_transitions (transition_id, tenant_id, entity, entity_id, to_status, at, actor)
select '0190' || lpad(to_hex(n), 31, '0') || state, 'default', 'run', '0190' || lpad(to_hex(n), 32, '0'), 'COMPLETED', '2024-01-01', 'bench'
  from generate_series(cast(:first as integer), cast(:last as integer)) n cross join generate_series(1, 2) state
""")
