"""The whole metadata system at work: a night of capture with its positions, schema, failures and recovery, and what is left to query.

The ledger forgets what is over after a while. The lake's own tables (`<tenant>_metadata.*`) keep it, for Spark, DuckDB and other engines.

python examples/metadata_system_demo.py                                            # SQLite and files in a temporary folder
python examples/metadata_system_demo.py postgresql://user@host/database WAREHOUSE  # on PostgreSQL, with tables in that folder

`examples/capture.py` walks through every call of capture, one by one.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from datetime import datetime, timedelta, timezone

import lakeledger
from lakeledger import Ledger, MetadataInitializer
from lakeledger.aio import ErrorType, MetadataManager, OperationType, SchemaDefinition, SyncMode, SyncRunStatistics, SyncStatus

TABLES = ("customers", "orders", "payments")
COLUMNS = [
    {"name": "id", "type": "INTEGER", "nullable": False, "primary_key": True},
    {"name": "updated_at", "type": "TIMESTAMP", "nullable": False},
]


async def capture(manager: MetadataManager) -> None:
    """Each table is captured by a run of its own; one of them fails."""
    since = datetime(2026, 1, 31, tzinfo=timezone.utc)
    for number, table in enumerate(TABLES):
        await manager.register_schema("ecommerce", table, SchemaDefinition(columns=COLUMNS, primary_keys=["id"]))
        run = await manager.start_sync_run("ecommerce", SyncMode.BATCH, source_info={"type": "mongodb", "table": table})
        if table == "payments":
            await manager.log_error("ecommerce", table, ErrorType.CONNECTION, "the source does not answer", sync_run_id=run.id)
            await manager.complete_sync_run(run.id, SyncStatus.FAILED, error_message="the source does not answer")
            continue
        await manager.update_batch_timestamp("ecommerce", since + timedelta(hours=number), table, sync_run_id=run.id)
        await manager.complete_sync_run(run.id, SyncStatus.COMPLETED, SyncRunStatistics(records_processed=1_000 * (number + 1)))
    await manager.add_to_dead_letter_queue("ecommerce", "orders", OperationType.INSERT, {"id": 7, "updated_at": "2026-13-45"})
    stats = await manager.get_sync_statistics(schema_name="ecommerce", hours=24)
    runs = stats["sync_runs"]
    print(f"1. {runs['total_runs']} runs, {runs['total_records_processed']:,} records, success rate {runs['success_rate']:.0%}")
    print(f"2. open: {stats['errors']['by_type']}, dead letters pending: {stats['dead_letters']['pending']}")


async def recover(manager: MetadataManager) -> None:
    """The source is back: the run is done again, the letter is settled, and nothing is stuck."""
    run = await manager.start_sync_run("ecommerce", SyncMode.BATCH, source_info={"type": "mongodb", "table": "payments"})
    await manager.complete_sync_run(run.id, SyncStatus.COMPLETED, SyncRunStatistics(records_processed=500))
    replay = await manager.reprocess_dead_letters(lambda _: None, "ecommerce", dry_run=False)
    stuck = await manager.recover_failed_runs(max_age_hours=24)
    print(f"3. {replay.replayed} dead letter replayed, {len(stuck)} stuck runs")


def mirror(ledger: Ledger) -> list[str]:
    """What ran becomes rows of the lake."""
    initializer = MetadataInitializer(ledger)
    made = initializer._ensure_pipeline_runs_table(ledger.mirror.dataset)  # noqa: SLF001 - as the documents call it
    found = statuses(ledger)
    print(f"4. {made} has {len(found)} runs: {', '.join(found)}")
    return found


def statuses(ledger: Ledger) -> list[str]:
    """The status of each run, read from the files of the table, as any engine reads them."""
    from pyarrow import parquet

    view = ledger.tables.view(f"{ledger.mirror.dataset}.pipeline_runs")
    return sorted(text for path in view.paths for text in parquet.ParquetFile(path).read(["status"]).column(0).to_pylist())


async def main(url: str, warehouse: str) -> None:
    """A night, its recovery, and what is left of it."""
    with lakeledger.open(url, warehouse=warehouse) as ledger:
        manager = MetadataManager(ledger, enable_cleanup=False)
        await manager.initialize()
        await capture(manager)
        await recover(manager)
        before = mirror(ledger)
        assert before == ["COMPLETED", "COMPLETED", "COMPLETED", "FAILED"]
        cleaned = await manager.cleanup_old_metadata(retention_days=0)
        ledger.mirror.refresh()
        assert statuses(ledger) == before  # the lake remembers
        left = [run for run in ledger.runs.list() if run.schema_name == "ecommerce"]
        print(
            f"5. retention deleted {cleaned['pipeline_runs']} runs from the ledger, which has {len(left)} now; the lake has {len(before)}"
        )
        await manager.close()
    print(f"done on {url.partition(':')[0]}")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        asyncio.run(main(*sys.argv[1:3]))
    else:
        with tempfile.TemporaryDirectory() as folder:
            asyncio.run(main(f"sqlite:///{folder}/ledger.db", f"{folder}/warehouse"))
