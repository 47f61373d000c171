"""Everything about capture, section by section: positions, schemas, sync runs, errors, dead letters, recovery, monitoring.

python examples/capture.py                                   # on a SQLite file in a temporary folder
python examples/capture.py postgresql://user@host/database   # on PostgreSQL, in a schema of its own
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from datetime import datetime, timedelta, timezone

from lakeledger import Conflict, NotFound
from lakeledger.aio import (
    ErrorType,
    EvolutionType,
    MetadataManager,
    OperationType,
    SchemaDefinition,
    SyncMode,
    SyncRun,
    SyncRunStatistics,
    SyncStatus,
)


async def main(url: str) -> None:
    """Walk through all of it on the ledger at that URL."""
    # 1. The manager: everything in one place. `enable_cleanup` cleans up in the background, every hour.
    manager = MetadataManager(
        connection_pool=url,
        metadata_schema="cartridge_warp",
        enable_cleanup=True,
        retention_days=30,
    )
    await manager.initialize()
    await manager.initialize()  # twice does no harm
    try:
        sync_run = await start_run(manager)
        await positions(manager, sync_run)
        await schemas(manager)
        await errors_and_dead_letters(manager, sync_run)
        await complete_run(manager, sync_run)
        await recovery_and_monitoring(manager, url)
    finally:
        await manager.close()


async def start_run(manager: MetadataManager) -> SyncRun:
    """4. A sync run begins; nothing that is a credential is kept."""
    sync_run = await manager.start_sync_run(
        schema_name="ecommerce",
        sync_mode=SyncMode.STREAM,
        config_hash="abc123",
        source_info={"type": "mongodb", "host": "prod-db", "uri": "mongodb://app:hunter2@prod-db"},
        destination_info={"type": "postgresql", "host": "warehouse"},
        instance_id="pod-123",
        node_id="worker-01",
    )
    assert sync_run.status == SyncStatus.RUNNING
    assert sync_run.source_info["uri"] == "mongodb://app:***@prod-db"
    print(f"4. sync run {sync_run.id} of {sync_run.schema_name} is {sync_run.status} on {sync_run.node_id}")
    return sync_run


async def positions(manager: MetadataManager, sync_run: SyncRun) -> None:
    """2. Positions of streams and of batches. They come back as they were given, and never go back by themselves."""
    position_data = {
        "resume_token": {"_data": "8265A4F2EC000000012B0229296E04"},
        "cluster_time": "7123456789012345678",
        "timestamp": datetime.now(timezone.utc).isoformat(),
    }
    await manager.update_stream_position(
        schema_name="ecommerce",
        position=position_data,
        table_name=None,  # Schema-level position
        sync_run_id=sync_run.id,
    )
    assert await manager.get_stream_position("ecommerce") == position_data
    assert await manager.get_stream_position("ecommerce", "orders") is None  # a table's position is its own

    try:
        await manager.update_stream_position("ecommerce", {**position_data, "cluster_time": "7123456789012345677"})
    except Conflict as conflict:
        print(f"2. refused: {str(conflict)[:60]}…")
    else:
        raise AssertionError("a position went back")

    last_sync_time = datetime(2023, 12, 1, 10, 30, 0, tzinfo=timezone.utc)
    await manager.update_batch_timestamp(schema_name="ecommerce", timestamp=last_sync_time, table_name="orders")
    assert await manager.get_batch_timestamp("ecommerce", "orders") == last_sync_time
    await manager.update_initial_position("ecommerce", {"snapshot": "2023-12-01"}, "orders")
    print("2. positions: a stream, a batch and an initial copy")


async def schemas(manager: MetadataManager) -> None:
    """3. Every version of a schema, and what its change means."""
    columns = [
        {"name": "id", "type": "INTEGER", "nullable": False, "primary_key": True},
        {"name": "name", "type": "TEXT", "nullable": True},
        {"name": "created_at", "type": "TIMESTAMP", "nullable": False},
    ]
    schema_def = SchemaDefinition(
        columns=columns,
        primary_keys=["id"],
        indexes=[{"name": "idx_created_at", "columns": ["created_at"]}],
    )
    registry = await manager.register_schema(
        schema_name="ecommerce",
        table_name="customers",
        schema_definition=schema_def,
        evolution_type=EvolutionType.CREATE,
    )
    assert (registry.version, registry.evolution_type) == (1, EvolutionType.CREATE)

    evolved_schema = SchemaDefinition(
        columns=[
            *columns,
            {"name": "email", "type": "TEXT", "nullable": True},
            {"name": "phone", "type": "TEXT", "nullable": True},
        ],
        primary_keys=["id"],
        indexes=[
            {"name": "idx_created_at", "columns": ["created_at"]},
            {"name": "idx_email", "columns": ["email"]},
        ],
    )
    evolved_registry = await manager.register_schema(
        schema_name="ecommerce",
        table_name="customers",
        schema_definition=evolved_schema,
        evolution_type=EvolutionType.ADD_COLUMN,
    )
    assert (evolved_registry.version, evolved_registry.previous_version) == (2, 1)
    assert evolved_registry.compatibility_status == "compatible"
    for change in evolved_registry.changes:
        print(f"3. {change['subject']}: {change['reason']}")

    again = await manager.register_schema("ecommerce", "customers", evolved_schema)
    assert again.version == 2  # nothing changed, no new version
    back = await manager.register_schema("ecommerce", "customers", schema_def)
    assert (back.version, back.compatibility_status) == (3, "breaking")  # A → B → A is a third version

    latest = await manager.get_schema_version("ecommerce", "customers")
    version_1 = await manager.get_schema_version("ecommerce", "customers", version=1)
    assert (latest.version, version_1.version) == (3, 1)
    assert latest.schema_hash == version_1.schema_hash == schema_def.hash
    assert latest.schema_definition["columns"][0]["name"] == "id"  # a document, not a text


async def errors_and_dead_letters(manager: MetadataManager, sync_run: SyncRun) -> None:
    """5. Errors with their context, tried again with growing pauses; what cannot be applied is a dead letter."""
    error_log = await manager.log_error(
        schema_name="ecommerce",
        table_name="orders",
        error_type=ErrorType.VALIDATION,
        error_message="Invalid date format in order_date field",
        sync_run_id=sync_run.id,
        error_code="VAL_001",
        error_details={"field": "order_date", "value": "2023-13-45"},
        stack_trace="ValidationError: time data '2023-13-45' does not match format '%Y-%m-%d'",
        record_data={"id": 12345, "order_date": "2023-13-45"},
        operation_type=OperationType.INSERT,
        max_retries=3,
    )
    assert (error_log.status, error_log.retry_count, error_log.max_retries) == ("open", 0, 3)
    pauses = [error_log.retry_after - error_log.occurred_at]
    for _ in range(2):
        error_log = await manager.retry_failed(error_log.id, "still invalid")
        pauses.append(error_log.retry_after - error_log.last_retry_at)
    assert pauses == [timedelta(seconds=30), timedelta(seconds=60), timedelta(seconds=120)]
    error_log = await manager.retry_failed(error_log.id, "still invalid")
    assert (error_log.retry_count, error_log.retry_after) == (3, None)  # exhausted: it is a dead letter now
    assert error_log.dead_letter_id is not None

    dlq_record = await manager.add_to_dead_letter_queue(
        schema_name="ecommerce",
        table_name="orders",
        operation_type=OperationType.INSERT,
        record_data={"id": 12345, "order_date": "2023-13-45"},
        sync_run_id=sync_run.id,
        error_log_id=error_log.id,
        source_record_id="mongo_obj_12345",
        error_message="Validation failed after 3 retries",
    )
    assert dlq_record.id == error_log.dead_letter_id  # the same record, counted once more
    assert (dlq_record.status, dlq_record.error_count) == ("pending", 2)
    others = [await manager.add_to_dead_letter_queue("ecommerce", "orders", "insert", {"id": number}) for number in (1, 2)]
    assert len({letter.id for letter in others}) == 2  # no source id, other records: other letters

    counted = await manager.reprocess_dead_letters(print, "ecommerce")
    assert (counted.total, counted.replayed) == (3, 0)  # a dry run
    repaired = []
    replay = await manager.reprocess_dead_letters(repaired.append, "ecommerce", dry_run=False)
    assert (replay.replayed, replay.failed, len(repaired)) == (3, 0, 3)
    print(f"5. the error was tried {error_log.retry_count} times, {replay.replayed} dead letters were replayed")


async def complete_run(manager: MetadataManager, sync_run: SyncRun) -> None:
    """4. The run ends, once."""
    statistics = SyncRunStatistics(
        records_processed=10000,
        records_inserted=8500,
        records_updated=1200,
        records_deleted=300,
        bytes_processed=5 * 1024 * 1024,
    )
    await manager.complete_sync_run(sync_run_id=sync_run.id, status=SyncStatus.COMPLETED, statistics=statistics)
    for run_id, expected in ((sync_run.id, Conflict), ("nobody", NotFound)):
        try:
            await manager.complete_sync_run(sync_run_id=run_id, status=SyncStatus.COMPLETED)
        except expected as error:
            print(f"4. refused: {error}")
        else:
            raise AssertionError("a run ended twice, or was never there")


async def recovery_and_monitoring(manager: MetadataManager, url: str) -> None:
    """6. Runs of lost workers, figures, positions, cleanup."""
    recovered_runs = await manager.recover_failed_runs(max_age_hours=24)
    print(f"6. Recovered {len(recovered_runs)} stuck sync runs")
    assert len(recovered_runs) == 0

    stats = await manager.get_sync_statistics(schema_name="ecommerce", hours=24)
    print(f"6. Processed {stats['sync_runs']['total_records_processed']} records")
    print(f"6. Success rate: {stats['sync_runs']['completed_runs'] / stats['sync_runs']['total_runs'] * 100:.1f}%")
    assert stats["sync_runs"]["total_records_processed"] == 10000
    assert stats["sync_runs"]["success_rate"] == 1.0
    assert stats["errors"]["by_type"] == {"validation": 1}
    assert stats["dead_letters"]["resolved"] == 3
    nothing = await manager.get_sync_statistics(schema_name="nobody")
    assert nothing["sync_runs"]["success_rate"] is None  # of nothing there is no rate

    markers = await manager.get_active_markers()
    for marker in markers:
        print(f"6. Schema {marker.schema_name}: last updated {marker.last_updated}")
    assert [(marker.table_name, marker.marker_type) for marker in markers] == [
        (None, "stream"),
        ("orders", "batch"),
        ("orders", "initial"),
    ]

    cleanup_stats = await manager.cleanup_old_metadata()
    print(f"6. Cleaned up {sum(cleanup_stats.values())} old records")
    assert sum(cleanup_stats.values()) == 0
    cleanup_stats = await manager.cleanup_old_metadata(retention_days=0)
    assert cleanup_stats["pipeline_runs"] == 1
    assert cleanup_stats["error_log"] == 1
    assert cleanup_stats["dead_letter_queue"] == 3
    print(f"done on {url.partition(':')[0]}: " + ", ".join(f"{count} of {table}" for table, count in cleanup_stats.items()))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        asyncio.run(main(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as folder:
            asyncio.run(main(f"sqlite:///{folder}/ledger.db"))
