"""The commit: files, schema, statistics, snapshot, position, counters and facts of a load become visible in one transaction."""

from __future__ import annotations

from lakeledger import clock, failpoints, records, runs
from lakeledger.db import Row, Transaction
from lakeledger.errors import Conflict, Invalid
from lakeledger.names import TableName
from lakeledger.runs import Counters
from lakeledger.runs import store as run_store
from lakeledger.sync import Advance, Marker
from lakeledger.sync.positions import store as positions
from lakeledger.sync.schemas import store as schemas
from lakeledger.tables import store
from lakeledger.tables.model import Change, Committed, Layout, NewFile, Operation, Snapshot, Table, TableMetadata
from lakeledger.tables.schema import Schema, normalise, reconcile
from lakeledger.tables.store import sql

PRODUCER = "ingestion.v1"


def commit(tx: Transaction, change: Change) -> Committed:
    """Apply a change. Raises Fenced, Conflict or Invalid, and then nothing of it is visible.

    A batch that is already in the table is found, not applied again.
    """
    run = run_store.check_fence(tx, change.fence)
    table = store.find(tx, change.table)
    if table and (done := find_applied(tx, table, change.operation, change.batch_id, change.position)):
        return Committed(table, done, applied=False)
    check_base(tx, table, change)
    table = table or _add_table(tx, change)
    known = _put_schema(tx, table, change)
    version = table.current_version + 1
    removed = _retire(tx, table, change, version)
    _add_files(tx, table, change, version)
    table = _move_table(tx, table, version, change.files, removed)
    marker = _move_position(tx, change, change.position, run) if change.position else None
    if marker and change.source_files:
        positions.register_files(tx, marker, change.source_files, run.id)
    snapshot = _add_snapshot(tx, table, change, known, run, removed)
    _count(tx, change, removed)
    if change.source_schema:
        schemas.register(tx, change.source_schema, run.worker_instance or PRODUCER)
    _add_records(tx, table, change, run, snapshot, marker)
    failpoints.reach(failpoints.IN_TRANSACTION)
    return Committed(table, snapshot, applied=True)


def find_applied(
    tx: Transaction, table: Table, operation: Operation, batch_id: str | None, position: Advance | None = None
) -> Snapshot | None:
    """The snapshot that already holds this batch.

    An overwrite is only in the table while it is the latest version, and a batch with a position only while its source stands there:
    whoever sets a position back wants the rows again.
    """
    done = store.find_batch(tx, table, batch_id) if batch_id else None
    if done is None or (operation != "append" and done.version != table.current_version):
        return None
    if position and not positions.stands_at(tx, position):
        return None
    return done


def check_base(tx: Transaction, table: Table | None, change: Change) -> None:
    """Raise Conflict if somebody committed what this change would silently undo, or what an append should have read."""
    base, current = change.base_version, table.current_version if table else 0
    if base is None or current == base:
        return
    if table is not None and change.operation != "append" and change.replaces != "all":
        rows = tx.all(sql.partitions_touched_since, table_id=table.table_id, version=base)
        if not change.replaces.intersection(row["partition_path"] for row in rows):
            return
    since = "since the rows were computed from it" if change.operation == "append" else "while it was being overwritten"
    raise Conflict(f"{change.table} moved from version {base} to {current} {since}: read it again and retry", retryable=True)


def _add_table(tx: Transaction, change: Change) -> Table:
    row = tx.one(
        sql.add_table,
        table_id=clock.new_id(),
        schema_name=change.table.schema,
        table_name=change.table.table,
        name_key=change.table.key,
        location=change.location,
    )
    return Table(**(row or {}))


def _put_schema(tx: Transaction, table: Table, change: Change) -> TableMetadata:
    compression = change.files[0].compression if change.files else "none"
    return store.put_metadata(tx, table, resulting_schema(change, store.metadata(tx, table)), change.layout, compression)


def resulting_schema(change: Change, known: TableMetadata | None) -> Schema:
    """The table's schema after the change. Raises Invalid if the change does not fit the table."""
    incoming = normalise(change.schema)
    if known is None or change.replaces == "all":
        return incoming
    check_layout(change.table, store.layout_of(known), change.layout)
    return reconcile(str(change.table), known.schema, incoming, evolve=change.evolve)


def check_layout(table: TableName, current: Layout, wanted: Layout) -> None:
    """Raise Invalid if files would be written in another way than the table's are."""
    if wanted != current:
        have = f"{current.format}, partitioned by {', '.join(current.partition_by) or 'nothing'}"
        raise Invalid(f"{table} is {have}: write it that way, or overwrite the whole table to change it")


def _retire(tx: Transaction, table: Table, change: Change, version: int) -> list[Row]:
    if change.replaces == "all":
        return tx.all(sql.retire_all, table_id=table.table_id, version=version)
    if not change.replaces:
        return []
    return tx.all(sql.retire_partitions, table_id=table.table_id, version=version, paths=sorted(change.replaces))


def _add_files(tx: Transaction, table: Table, change: Change, version: int) -> None:
    common = {"table_id": table.table_id, "file_type": change.layout.format, "version": version, "run_id": change.fence.run_id}
    tx.many(
        sql.add_file,
        (
            {
                **common,
                "id": clock.new_id(),
                "file_name": file.path.rpartition("/")[2],
                "file_path": file.path,
                "file_size": file.size,
                "partition_path": file.partition_path,
                "row_count": file.rows,
                "is_compressed": file.compression not in ("none", "uncompressed"),
                "column_bounds": file.bounds,
                "modified_at": file.modified_at,
            }
            for file in change.files
        ),
    )


def _move_table(tx: Transaction, table: Table, version: int, added: list[NewFile], removed: list[Row]) -> Table:
    row = tx.one(
        sql.move_table,
        table_id=table.table_id,
        version=version,
        added_rows=sum(file.rows for file in added),
        added_size=sum(file.size for file in added),
        added_files=len(added),
        removed_rows=sum(row["row_count"] for row in removed),
        removed_size=sum(row["file_size"] for row in removed),
        removed_files=len(removed),
    )
    if row is None:
        raise Conflict(f"{table.name} got version {version} from somebody else: retry", retryable=True)
    moved = Table(**row)
    tx.execute(
        sql.put_stats,
        id=clock.new_id(),
        table_id=moved.table_id,
        row_count=moved.row_count,
        file_count=moved.file_count,
        total_size=moved.total_size,
    )
    return moved


def _move_position(tx: Transaction, change: Change, move: Advance, run: runs.Run) -> Marker:
    appended = sum(file.rows for file in change.files) if change.operation == "append" else None
    return positions.advance(tx, move, run.worker_instance or PRODUCER, run.id, appended)


def _add_snapshot(tx: Transaction, table: Table, change: Change, known: TableMetadata, run: runs.Run, removed: list[Row]) -> Snapshot:
    summary = {
        "added_files": len(change.files),
        "added_rows": sum(file.rows for file in change.files),
        "added_bytes": sum(file.size for file in change.files),
        "removed_files": len(removed),
        "removed_rows": sum(row["row_count"] for row in removed),
        "total_rows": table.row_count,
        "total_files": table.file_count,
        "total_bytes": table.total_size,
        **change.summary,
    }
    row = tx.one(
        sql.add_snapshot,
        snapshot_id=clock.new_id(),
        table_id=table.table_id,
        version=table.current_version,
        parent_version=table.current_version - 1 or None,
        operation=change.operation,
        summary=summary,
        schema_version=known.schema_version,
        run_id=run.id,
        batch_id=change.batch_id,
        trigger=run.trigger_type,
    )
    return Snapshot(**(row or {}))


def _count(tx: Transaction, change: Change, removed: list[Row]) -> None:
    size = sum(file.size for file in change.files)
    moved = change.counters + Counters(bytes=size, deleted=sum(row["row_count"] for row in removed))
    run_store.count(tx, change.fence.run_id, moved, commits=1)
    if change.fence.step_id:
        run_store.commit_step(tx, change.fence.step_id, change.counters.processed, size, str(change.table))


def _add_records(tx: Transaction, table: Table, change: Change, run: runs.Run, snapshot: Snapshot, marker: Marker | None) -> None:
    source = change.position.source.name if change.position else run.pipeline_id
    target = records.MetadataTarget(source, table.schema_name, table.table_name)
    context = records.MetadataContext(job_id=run.pipeline_id, run_id=run.id, namespace=tx.tenant_id)
    volume = {
        "rows": snapshot.summary["added_rows"],
        "bytes": snapshot.summary["added_bytes"],
        "files": snapshot.summary["added_files"],
        "operation": snapshot.operation,
        "table_version": snapshot.version,
        "watermark": marker.position_data if marker else None,
        "source_files": len(change.source_files),
    }
    runtime = {
        "duration_ms": change.write_ms,
        "retries": run_store.earlier_attempts(tx, run, change.fence.step_id),
        "table_version": snapshot.version,
    }
    records.add(tx, records.NewRecord(target, context, "ingestion_volume", volume, PRODUCER))
    records.add(tx, records.NewRecord(target, context, "ingestion_runtime", runtime, PRODUCER))
