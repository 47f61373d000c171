"""What it costs to judge a load by its band, and to ask how fresh ten thousand tables are."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest

from benchmark.conftest import seconds
from lakeledger import Ledger, clock
from lakeledger.db.queries import statement
from lakeledger.quality import volume

pytestmark = pytest.mark.bench

TABLES, ROUNDS = 10_000, 5

TABLE = """
    insert into tables (table_id, tenant_id, schema_name, table_name, name_key, location, current_version, content_version, row_count,
                        total_size, file_count, last_modified, created_at, updated_at)
    values (:id, :tenant_id, 's', :id, :key, 'l', 1, 1, 1, 1, 1, :now, :now, :now)
"""
FRESHNESS = """
    insert into table_freshness (table_id, tenant_id, data_at, gaps, wait_seconds, learned_days, updated_at)
    values (:id, :tenant_id, :at, :gaps, 86400, 30, :now)
"""
RECORD = """
    insert into metadata_records (record_id, tenant_id, kind, source_id, schema_name, table_name, name_key, target_extras, context_extras,
                                  payload, produced_at, producer_id, quality, extras)
    values (:record_id, :tenant_id, 'ingestion_volume', 'shop', 's', :id, :key, :none, :none, :payload, :at, 'bench', :quality, :none)
"""


def loads(table: str, moments: Iterator[datetime], rows: int = 1000) -> Iterator[dict[str, Any]]:
    """What is kept of loads of a table."""
    payload = {"load": "ordinary", "rows": rows, "bytes": 1, "files": 1, "operation": "append", "table_version": 2, "watermark": None}
    about = {"id": table, "key": f"s.{table}", "payload": payload, "quality": {"status": "pass"}, "none": {}}
    return ({**about, "record_id": clock.new_id(), "at": at} for at in moments)


def test_bands_and_freshness_of_many_tables(ledger: Ledger) -> None:
    now, gaps = clock.now(), [[f"2026-10-{day:02}", 86_400.0] for day in range(1, 31)]
    names = [f"t{number}" for number in range(TABLES)]
    with ledger.store.write() as tx:
        tx.many(statement(TABLE), ({"id": name, "key": f"s.{name}"} for name in names))
        tx.many(statement(FRESHNESS), ({"id": name, "gaps": gaps, "at": now - timedelta(hours=len(name))} for name in names))
        for name in names[2:]:
            tx.many(statement(RECORD), loads(name, (now - timedelta(days=day) for day in range(1, 6))))
        tx.many(statement(RECORD), loads("t0", (now - timedelta(days=day) for day in range(1, 90))))
        tx.many(statement(RECORD), loads("t1", (now - timedelta(days=1, minutes=10 * part) for part in range(12_000))))
        tx.execute(statement("analyze"))  # as the database does by itself soon after

    def judge(table: str) -> object:
        with ledger.store.read() as tx:
            return volume.judge(tx, ledger.settings.bands, f"s.{table}", "shop", 1000)

    for what, action in (
        ("a load is judged, of a table without history", lambda: judge("nothing")),
        ("a load is judged, by 5 days", lambda: judge("t9")),
        ("a load is judged, by 89 days", lambda: judge("t0")),
        ("the first load of a day is judged, by 83 days of a load every ten minutes", lambda: judge("t1")),
        (f"freshness of {TABLES:,} tables", ledger.freshness.list),
        (f"tables outside of their bands, of {TABLES:,}", ledger.bands.unusual),
    ):
        print(f"{ledger.database.dialect}: {what}: {_median_ms(action):,.1f} ms")


def _median_ms(action: Callable[[], object]) -> float:
    return statistics.median(seconds(action) for _ in range(ROUNDS)) * 1000
