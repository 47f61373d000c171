"""What a ledger costs that has a long history: a million changes, and a table of a hundred thousand live files, beside a small one."""

from __future__ import annotations

import statistics
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from benchmark.conftest import seconds
from contract.keeping import grow_old
from lakeledger import Ledger, clock
from lakeledger.commit import Commit, commit
from lakeledger.db.queries import statement
from lakeledger.tables import Change, Layout, NewFile, parse_name

pytestmark = pytest.mark.bench

CHANGES, FILES, FEW = 1_000_000, 100_000, 100
ROUNDS = 7
NAMES = [f"column_{number}" for number in range(20)]
SCHEMA = {"type": "struct", "fields": [{"name": name, "type": "long", "nullable": True, "metadata": {}} for name in NAMES]}
BOUNDS = {name: {"min": 0, "max": 10**9, "nulls": 0} for name in NAMES}

# What the triggers write of a file, as often as is asked for.
FILL = {
    "sqlite": """
        with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < :count)
        insert into change_log (tenant_id, table_name, operation, key, before, after, at)
        select tenant_id, table_name, operation, key, before, after, at from numbers cross join
               (select * from change_log where tenant_id = :tenant_id and table_name = 'table_files' order by seq limit 1) one
    """,
    "postgres": """
        insert into change_log (tenant_id, table_name, operation, key, before, after, at)
        select tenant_id, table_name, operation, key, before, after, at from generate_series(1, :count) cross join
               (select * from change_log where tenant_id = :tenant_id and table_name = 'table_files' order by seq limit 1) one
    """,
}


@dataclass(frozen=True)
class Cost:
    """The median of the times, and what Python allocates at the peak of one more call."""

    ms: float
    mb: float

    def __str__(self) -> str:
        return f"{self.ms:,.1f} ms, +{self.mb:,.1f} MB"


def append(ledger: Ledger, table: str, count: int = 1) -> Commit:
    """A commit of so many files, which are there and empty, published with it."""
    name = parse_name(table)
    root = Path(ledger.warehouse, name.folder)
    with ledger.run("bench") as run:
        folder = f"data/{run.id}/{clock.new_id()}"
        (root / folder).mkdir(parents=True)
        files = [NewFile(f"{folder}/{number:06}.parquet", 0, 10, "", "snappy", BOUNDS, datetime.now(UTC)) for number in range(count)]
        for file in files:
            (root / file.path).touch()
        change = Change(name, name.folder, "append", SCHEMA, Layout(), files)

        def work(changes: object, effects: object) -> Commit:
            with ledger.store.write() as tx:
                return commit(tx, run.fence, changes, effects=effects)  # type: ignore[arg-type]  # as the publisher gives them

        return ledger.publisher.commit(work, [change], [], run.id, "sync")


def show(ledger: Ledger, table: str) -> None:
    """What `tables show` asks for."""
    ledger.tables.get(table)
    ledger.tables.stats(table)
    ledger.tables.metadata(table)
    ledger.tables.publication(table)
    ledger.tables.history(table, 10)


def maintain(ledger: Ledger, table: str, *, apply: bool) -> None:
    report = ledger.maintenance.maintain([table], apply=apply)
    assert [care.problems for care in report.tables] == [[]]


def cost(action: Callable[[], object], rounds: int = ROUNDS) -> Cost:
    action()  # warm
    took = [seconds(action) for _ in range(rounds)]
    tracemalloc.start()
    action()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return Cost(statistics.median(took) * 1_000, peak / 1e6)


def fill_change_log(ledger: Ledger) -> None:
    for _ in range(10):
        with ledger.store.write() as tx:
            tx.execute(statement(FILL[tx.dialect]), count=CHANGES // 10)
    if ledger.database.dialect == "postgres":
        with ledger.store.write() as tx:  # as its background worker does
            tx.execute(statement("analyze change_log"))
            tx.execute(statement("analyze table_files"))


def look_at(ledger: Ledger, table: str) -> dict[str, Cost]:
    def forget() -> None:
        ledger.publisher._bases.clear()
        append(ledger, table)

    found = {
        "publish one more file": cost(lambda: append(ledger, table)),
        "… with nothing at hand": cost(forget),
        "tables show": cost(lambda: show(ledger, table)),
    }
    grow_old(Path(ledger.warehouse))
    with ledger.store.write() as tx:  # empty files have no checksum worth a measurement
        tx.execute(statement("update table_files set checksum = 'x' where checksum is null"))
    found["maintain, a dry run"] = cost(lambda: maintain(ledger, table, apply=False), 3)
    found["maintain, apply"] = cost(lambda: maintain(ledger, table, apply=True), 3)
    return found


def test_a_long_history_beside_a_short_one(ledger: Ledger) -> None:
    ledger.snapshots.set_policy("", keep_versions=5, keep_for=timedelta(days=1), grace=timedelta(0))
    append(ledger, "bench.small", FEW)
    append(ledger, "bench.later", FEW)
    before = look_at(ledger, "bench.small")
    fill_change_log(ledger)
    changes = look_at(ledger, "bench.later")
    append(ledger, "bench.big", FILES)
    files = look_at(ledger, "bench.big")
    print(f"{ledger.database.dialect}: a small ledger | {CHANGES:,} changes | and {FILES:,} live files in the table")
    for what in before:
        print(f"  {what}: {before[what]} | {changes[what]} | {files[what]}")
    print("  maintain lists the table's files in storage: it grows with the files that are there, and not with the change log")
