"""What records cost: stored beside raw rows and beside MLflow, the latest and a window of many beside the raw SELECT, and the log.

BENCH_RECORDS=10000,20000 tries it with fewer.
"""

from __future__ import annotations

import os
import random
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from benchmark import logging_batches
from benchmark.conftest import median_ms, seconds
from lakeledger import Ledger, MetadataContext, MetadataRecord, MetadataTarget
from lakeledger.db.queries import statement
from lakeledger.db.sqlite import _encoded
from lakeledger.records import store
from lakeledger.records.file_repository import FileRepository

pytestmark = pytest.mark.bench

SIZES = [int(each) for each in os.environ.get("BENCH_RECORDS", "1000000,5000000").split(",")]
MANY = min(100_000, SIZES[0])
START = datetime(2026, 1, 1, tzinfo=UTC)
TABLES = 1_000
KINDS = ("ingestion_volume", "recon_result", "schema_snapshot")
ORDERS = MetadataTarget("shop", "silver", "orders")


def a_record(number: int, target: MetadataTarget = ORDERS) -> MetadataRecord:
    payload = {"rows": number, "bytes": number * 100, "files": 1, "operation": "append", "table_version": number + 1}
    at = START + timedelta(milliseconds=number)
    return MetadataRecord(target, MetadataContext("shop", f"run-{number % 1000}"), KINDS[number % 3], payload, "bench.v1", produced_at=at)


def test_storing_records_beside_raw_rows_and_mlflow(ledger: Ledger, tmp_path: Path) -> None:
    """The same rows into the same tables: as records, and by executemany alone."""
    made = [a_record(number) for number in range(2 * MANY)]
    rows = [{"tenant_id": "raw", "now": START, **store.columns(each)} for each in made[:MANY]]

    def raw() -> None:
        with ledger.for_tenant("raw").store.write() as tx:
            text = store.sql.add_record.text(tx.dialect)
            encoded = [_encoded(row) for row in rows] if tx.dialect == "sqlite" else rows
            began.append(time.perf_counter())
            tx.connection.executemany(text, encoded)

    began: list[float] = []
    raw()
    plain = time.perf_counter() - began[0]
    ours = seconds(lambda: ledger.records.bulk_store(made[MANY:]))
    whole = seconds(lambda: ledger.for_tenant("whole").records.emit_many(a_record(number) for number in range(MANY)))
    print(
        f"{MANY} records on {ledger.database.dialect}: stored {MANY / ours:,.0f}/s, {plain / ours:.2f}× raw executemany of the same rows"
        f" ({MANY / plain:,.0f}/s); made, checked and emitted {MANY / whole:,.0f}/s"
    )
    if ledger.database.dialect == "sqlite":
        its = logging_batches.per_second(min(MANY, 20_000), tmp_path)
        print("MLflow: skipped, it could not be installed" if its is None else f"MLflow log_batch {its:,.0f}/s: {MANY / whole / its:.1f}×")


def test_storing_records_as_files(ledger: Ledger, tmp_path: Path) -> None:
    kept = FileRepository(f"file://{tmp_path}/metadata", ledger.store)
    number = MANY // 5
    took = seconds(lambda: kept.bulk_store(a_record(each) for each in range(number)))
    fresh = FileRepository(f"file://{tmp_path}/metadata", ledger.store)
    opened = seconds(lambda: fresh.latest(ORDERS, KINDS[0]))
    print(f"{number} records as files: {number / took:,.0f}/s; the folder opened in {opened:.2f} s")


def test_four_hundred_thousand_records_in_random_order_have_the_right_latest(ledger: Ledger) -> None:
    number = min(400_000, SIZES[0])
    order = list(range(number))
    random.Random(1).shuffle(order)
    took = seconds(lambda: ledger.records.bulk_store(a_record(each) for each in order))
    for offset, kind in enumerate(KINDS):
        found = ledger.records.latest(ORDERS, kind)
        assert found is not None
        assert found.payload["rows"] == max(each for each in range(number - 3, number) if each % 3 == offset)
    print(f"{number} records in random order on {ledger.database.dialect}: {number / took:,.0f}/s, the latest of each kind is right")


def fill(ledger: Ledger, number: int) -> None:
    """So many records about a thousand tables, one a second, written by the database itself."""
    series = {
        "sqlite": f"with recursive series (n) as (select 1 union all select n + 1 from series where n < {number})",
        "postgres": f"with series (n) as (select generate_series(1, {number}))",
    }[ledger.database.dialect]
    at = {
        "sqlite": "strftime('%Y-%m-%dT%H:%M:%S.000000Z', '2020-01-01', n || ' seconds')",
        "postgres": "timestamptz '2020-01-01 00:00:00Z' + n * interval '1 second'",
    }[ledger.database.dialect]
    columns = (
        "record_id, tenant_id, kind, source_id, schema_name, table_name, name_key, target_key, target_extras, run_id, context_extras,"
        " payload, produced_at, producer_id, extras, dedupe_key"
    )
    table = f"'t' || (n % {TABLES})"
    values = (
        f"'r' || n, 'default', 'ingestion_volume', 'shop', 'silver', {table}, 'silver.' || {table}, 'shop|silver.' || {table}, '{{}}',"
        f" 'run-' || n, '{{}}', '{{\"rows\": 1}}', {at}, 'bench', '{{}}', 'd' || n"
    )
    with ledger.store.write() as tx:
        tx.execute(statement(f"insert into metadata_records ({columns}) {series} select {values} from series"))
    if ledger.database.dialect == "postgres":
        with ledger.store.write() as tx:
            tx.execute(statement("analyze metadata_records"))


@pytest.mark.timeout(7200)
@pytest.mark.parametrize("number", SIZES)
def test_the_latest_and_a_window_of_many(ledger: Ledger, number: int) -> None:
    fill(ledger, number)
    chosen = random.Random(2)
    names = [f"silver.t{chosen.randrange(TABLES)}" for _ in range(200)]
    middle = datetime(2020, 1, 1, tzinfo=UTC) + timedelta(seconds=number / 2)
    until = middle + timedelta(seconds=50 * TABLES)
    latest = "select * from metadata_records where tenant_id = 'default' and kind = 'ingestion_volume' and name_key = :name_key"
    window = f"{latest} and produced_at >= :since and produced_at < :until order by produced_at desc, seq desc limit 100"
    latest += " order by produced_at desc, seq desc limit 1"

    def ours(name: str) -> object:
        return ledger.records.latest(name, "ingestion_volume")

    def windowed(name: str) -> object:
        return ledger.records.history(name, "ingestion_volume", middle, until)

    print(f"{number} records on {ledger.database.dialect}:")
    _compare("the latest", ledger, names, ours, latest)
    _compare("a window of 50", ledger, names, windowed, window, since=middle, until=until)
    start, count = time.perf_counter(), 0
    for _ in ledger.records.tail(max(0, number - MANY)):
        count += 1
    print(f"  tail: {count / (time.perf_counter() - start):,.0f} records/s")


def _compare(what: str, ledger: Ledger, names: list[str], ours: Callable[[str], object], text: str, **values: Any) -> None:
    """Our call beside the bare statement on a connection of the driver, which gives times and documents as values, too."""
    raw = _raw_sqlite if ledger.database.dialect == "sqlite" else _raw_postgres
    for name in names[:20]:
        ours(name)
    our_times = [seconds(lambda name=name: ours(name)) for name in names]  # type: ignore[misc]
    raw_times = raw(ledger, names, text, values)
    inside = [seconds(lambda name=name: _in_transaction(ledger, name, text, values)) for name in names]  # type: ignore[misc]
    bare, own = (median_ms(our_times) / median_ms(each) for each in (raw_times, inside))
    print(
        f"  {what}: {median_ms(our_times):.2f} ms, {bare:.1f}× the raw SELECT ({median_ms(raw_times):.2f} ms),"
        f" {own:.1f}× the same in a transaction of the ledger ({median_ms(inside):.2f} ms)"
    )


def _in_transaction(ledger: Ledger, name: str, text: str, values: dict[str, Any]) -> object:
    with ledger.store.read() as tx:
        return tx.all(statement(text), name_key=name, **values)


def _raw_sqlite(ledger: Ledger, names: list[str], text: str, values: dict[str, Any]) -> list[float]:
    given = _encoded(values)
    place = ledger.database.url.removeprefix("sqlite:///")
    with closing(sqlite3.connect(place, detect_types=sqlite3.PARSE_DECLTYPES)) as connection:
        return [seconds(lambda name=name: connection.execute(text, {**given, "name_key": name}).fetchall()) for name in names]  # type: ignore[misc]


def _raw_postgres(ledger: Ledger, names: list[str], text: str, values: dict[str, Any]) -> list[float]:
    written = statement(text).text("postgres").encode()
    with ledger.store.read() as tx:
        raw: Any = tx.connection.raw  # type: ignore[attr-defined]
        return [seconds(lambda name=name: raw.execute(written, {**values, "name_key": name}).fetchall()) for name in names]  # type: ignore[misc]
