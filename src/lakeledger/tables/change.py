"""A table's next version: files come and go, and schema, statistics and snapshot follow, inside the commit's transaction."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, assert_never

from lakeledger import clock, codec
from lakeledger.db import Row, Transaction
from lakeledger.errors import Conflict, Failed, Invalid
from lakeledger.names import TableName
from lakeledger.runs import Counters, Run
from lakeledger.tables import store
from lakeledger.tables.model import (
    ADOPTED,
    BESIDE,
    KEYS,
    Change,
    Committed,
    Files,
    Keys,
    Layout,
    NewFile,
    Operation,
    Part,
    Partitions,
    Snapshot,
    Table,
    TableMetadata,
)
from lakeledger.tables.schema import ASIDE, Schema, check_written, identify, normalise, reconcile, shown, type_text
from lakeledger.tables.store import sql

# How many files one statement registers: enough to be quick, and few enough for one document.
FILES_AT_A_TIME = 2_000


def make_version(tx: Transaction, table: Table | None, change: Change, run: Run) -> Committed:
    """Give a table its next version; it is made if it is not there. Raises Conflict or Invalid."""
    if table and table.location != change.location:
        raise Conflict(f"{change.table} was made in another place while its files were written: retry", retryable=True)
    check_base(tx, table, change)
    table = table or _add_table(tx, change)
    known = _put_schema(tx, table, change)
    version = table.current_version + 1
    removed = _retire(tx, table, change, version)
    if change.operation == "replace" and _rows(removed) != change.rows:
        raise Failed(f"{change.rows} rows cannot replace {_rows(removed)} of {change.table}: nothing was changed")
    _add_files(tx, table, change, run, version)
    table = _move_table(tx, table, version, change, removed)
    snapshot = _add_snapshot(tx, table, change, known, run, removed)
    return Committed(table, snapshot, True, _counted(change, removed), known, tuple(row["file_path"] for row in removed))


def find_batch(tx: Transaction, table: Table, operation: Operation, batch_id: str | None) -> Snapshot | None:
    """The snapshot that already holds this batch. What replaces all rows is only in the table while no others came after it."""
    done = store.find_batch(tx, table, batch_id) if batch_id else None
    stays = operation not in ("overwrite", "sync") or (done is not None and done.version == table.content_version)
    return done if stays else None


def check_base(tx: Transaction, table: Table | None, change: Change) -> None:
    """Raise Conflict if what this change retires, or what its rows were computed from, is no longer what it was."""
    for part, why in ((change.retires, "while it was being overwritten"), (change.reads, "since the rows were computed from it")):
        if part is not None and _has_moved(tx, table, part, change.base_version):
            current = table.current_version if table else 0
            moved = f"moved from version {change.base_version} to {current} {why}" if change.base_version is not None else f"moved {why}"
            raise Conflict(f"{change.table} {moved}: read it again and retry", retryable=True)


def check_unmoved(tx: Transaction, name: TableName, part: Part, base: int) -> None:
    """Raise Conflict if that part of a table is no longer what it was at a version."""
    if _has_moved(tx, store.find(tx, name), part, base):
        raise Conflict(f"{name} moved since version {base}, which the rows were computed from: read it again and retry", retryable=True)


def _has_moved(tx: Transaction, table: Table | None, part: Part, base: int | None) -> bool:
    """Whether somebody has changed that part of the table since the version; files need none, they are there or they are not."""
    if isinstance(part, Files):
        return table is None or _live(tx, table, part) != len(part.paths)
    if base is None or (table.content_version <= base <= table.current_version if table else base == 0):
        return False
    match part:
        case _ if table is None:
            return True
        case _ if part == "all" or store.has_expired(tx, table, base):
            return True  # Of a version that has expired it is not known what became of its files.
        case Partitions(paths):
            touched = tx.all(sql.partitions_touched_since, table_id=table.table_id, version=base)
            return not paths.isdisjoint(row["partition_path"] for row in touched)
        case Keys():
            touched = tx.all(sql.bounds_touched_since, table_id=table.table_id, version=base, column=part.column)
            return any(part.may_be_in(_document(row["bounds"])) for row in touched)
        case _:
            assert_never(part)


def _document(value: Any) -> dict[str, Any]:
    """A part of a document, which PostgreSQL gives as a value and SQLite as text."""
    return (json.loads(value) if isinstance(value, str) else value) or {}


def _live(tx: Transaction, table: Table, files: Files) -> int:
    row = tx.one(sql.count_live, table_id=table.table_id, paths=sorted(files.paths)) or {}
    return int(row["files"])


def _add_table(tx: Transaction, change: Change) -> Table:
    # Known before the commit, so that what is published with it can carry it.
    row = tx.one(
        sql.add_table,
        table_id=change.snapshot_id,
        schema_name=change.table.schema,
        table_name=change.table.table,
        name_key=change.table.key,
        location=change.location,
    )
    return Table(**(row or {}))


def _put_schema(tx: Transaction, table: Table, change: Change) -> TableMetadata:
    compression = change.files[0].compression if change.files else "none"
    known = store.metadata(tx, table)
    next_ = foresee(change, known)
    if known and next_.version == known.schema_version:
        return known
    return store.put_metadata(tx, table, known, next_.schema, next_.columns, next_.layout, compression, properties_after(change, known))


def properties_after(change: Change, known: TableMetadata | None) -> dict[str, Any]:
    """What is kept with a table's schema after the change."""
    properties = known.properties if known else {}
    if change.keys:
        properties = {**properties, KEYS: list(change.keys)}
    if change.beside:
        beside = {field["physical_name"]: field["type"] for field in change.beside}
        properties = {**properties, BESIDE: {**properties.get(BESIDE, {}), **beside}}
    if change.adopted:
        properties = {**properties, ADOPTED: change.adopted.kind}
    return properties


@dataclass(frozen=True)
class NextSchema:
    """The schema version that a table has after a change."""

    version: int
    schema: Schema
    columns: list[str]
    layout: Layout


def foresee(change: Change, known: TableMetadata | None) -> NextSchema:
    """The schema that a table has after the change; it is the one that is known, or one more. Raises Invalid or Conflict."""
    if known and change.operation == "replace":
        return NextSchema(known.schema_version, known.schema, known.columns, store.layout_of(known))
    before, known = known, _renamed(change, known)
    schema, columns = resulting_schema(change, known)
    # What is added to a table is laid out as the table is, however its columns were spelled when that was planned.
    is_kept = known is not None and change.retires != "all" and change.operation != "alter"
    layout = store.layout_of(known) if known and is_kept else change.layout
    layout = _in_order(change, layout, schema)
    is_same = before is not None and before.schema == schema and store.layout_of(before) == layout
    is_same = is_same and before is not None and properties_after(change, before) == before.properties
    version = known.schema_version if known else 0
    return NextSchema(version if is_same else version + 1, schema, columns, layout)


def _in_order(change: Change, layout: Layout, schema: Schema) -> Layout:
    """The layout with the order that the change gives the table. Raises Invalid if it has no such column."""
    if change.sort_by is not None:
        return replace(layout, sort_by=check_order(change.table, change.sort_by, schema))
    names = {codec.fold(field["name"]) for field in schema["fields"]}  # An overwrite may have taken columns away.
    return replace(layout, sort_by=tuple(name for name in layout.sort_by if codec.fold(name) in names))


def check_order(table: TableName, wanted: Sequence[str], schema: Schema) -> tuple[str, ...]:
    """The columns to sort by, as the table spells them. Raises Invalid if it has no such column, or one that has no order."""
    fields = {codec.fold(field["name"]): field for field in shown(schema)["fields"]}
    for name in wanted:
        if codec.fold(name) not in fields:
            raise Invalid(f"{table} cannot be sorted by {name!r}: it has {', '.join(field['name'] for field in fields.values())}")
        type_ = fields[codec.fold(name)]["type"]
        if not isinstance(type_, str) or type_ == "variant":
            raise Invalid(f"{table} cannot be sorted by {name}, a {type_text(type_)}: sort by columns of plain values")
    return tuple(fields[codec.fold(name)]["name"] for name in wanted)


def _renamed(change: Change, known: TableMetadata | None) -> TableMetadata | None:
    """The table's columns under the names that the change gives them. Raises Conflict if they are others since it was planned."""
    if known is None or not change.renames:
        return known
    if change.schema_version != known.schema_version:
        raise Conflict(f"{change.table} has other columns since its write was planned: retry", retryable=True)
    return known.renamed(change.renames)


def resulting_schema(change: Change, known: TableMetadata | None) -> tuple[Schema, list[str]]:
    """The table's schema after the change, and every physical name it has used. Raises Invalid or Conflict."""
    if known and change.operation == "alter":
        fields = change.schema["fields"]
        return change.schema, known.columns + [field["physical_name"] for field in fields if field["id"] > len(known.columns)]
    incoming, prefix = normalise(change.schema), prefix_of(change.table, change.location)
    if known is None and change.adopted:
        return change.schema, list(change.adopted.columns)
    if known is None:
        return identify(incoming, None, [], prefix)
    check_written(str(change.table), incoming, known.schema, known.columns)
    if change.retires != "all":
        try:
            check_layout(change.table, store.layout_of(known), change.layout)
            incoming = reconcile(str(change.table), known.schema, incoming, evolve=change.evolve)
        except Invalid as error:
            if change.schema_version in (None, known.schema_version):
                raise
            raise Conflict(f"{change.table} has other columns since the rows were written: retry ({error})", retryable=True) from error
    return identify(incoming, known.schema, known.columns, prefix)


def prefix_of(table: TableName, location: str) -> str:
    """What the physical names of a table begin with: nothing, unless its files are in another one's place: then its own name."""
    return "" if f"/{location}".endswith(f"/{table.folder}") else f"{ASIDE}_{codec.fold(table.table)}_"


def check_layout(table: TableName, current: Layout, wanted: Layout) -> None:
    """Raise Invalid if files would be written in another way than the table's are."""
    if (wanted.format, _folded(wanted)) != (current.format, _folded(current)):
        have = f"{current.format}, partitioned by {', '.join(current.partition_by) or 'nothing'}"
        raise Invalid(f"{table} is {have}: write it that way, or overwrite the whole table to change it")


def _folded(layout: Layout) -> list[str]:
    return [codec.fold(name) for name in layout.partition_by]


def _retire(tx: Transaction, table: Table, change: Change, version: int) -> list[Row]:
    retired = {"table_id": table.table_id, "version": version}
    match change.retires:
        case None:
            return []
        case "all":
            return tx.all(sql.retire_all, **retired)
        case Partitions(paths):
            return tx.all(sql.retire_partitions, **retired, paths=sorted(paths))
        case Files(paths):
            return tx.all(sql.retire_files, **retired, paths=sorted(paths))
        case _:
            assert_never(change.retires)


def _add_files(tx: Transaction, table: Table, change: Change, run: Run, version: int) -> None:
    state = "completed" if change.is_published else "pending"
    common = {"table_id": table.table_id, "file_type": change.layout.format, "version": version, "run_id": run.id, "iceberg_state": state}
    for start in range(0, len(change.files), FILES_AT_A_TIME):
        tx.execute(sql.add_files, **common, files=[_row(file) for file in change.files[start : start + FILES_AT_A_TIME]])


def _row(file: NewFile) -> Row:
    return {
        "id": clock.new_id(),
        "file_name": file.path.rpartition("/")[2],
        "file_path": file.path,
        "file_size": file.size,
        "partition_path": file.partition_path,
        "row_count": file.rows,
        "is_compressed": file.compression not in ("none", "uncompressed"),
        "column_bounds": file.bounds,
        "modified_at": codec.to_text(file.modified_at),
    }


def _move_table(tx: Transaction, table: Table, version: int, change: Change, removed: list[Row]) -> Table:
    row = tx.one(
        sql.move_table,
        table_id=table.table_id,
        version=version,
        is_news=change.is_news,
        added_rows=change.rows,
        added_size=change.size,
        added_files=len(change.files),
        removed_rows=_rows(removed),
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


def _add_snapshot(tx: Transaction, table: Table, change: Change, known: TableMetadata, run: Run, removed: list[Row]) -> Snapshot:
    summary = {
        "added_files": len(change.files),
        "added_rows": sum(file.rows for file in change.files),
        "added_bytes": change.size,
        "removed_files": len(removed),
        "removed_rows": _rows(removed),
        "total_rows": table.row_count,
        "total_files": table.file_count,
        "total_bytes": table.total_size,
        **change.summary,
    }
    row = tx.one(
        sql.add_snapshot,
        snapshot_id=change.snapshot_id,
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


def _counted(change: Change, removed: list[Row]) -> Counters:
    """What whoever computed the rows has counted, and the bytes. Only here it is known how many rows an overwrite has met."""
    overwritten = _rows(removed) if change.operation == "overwrite" else 0
    return change.counters + Counters(bytes=change.size, deleted=overwritten)


def _rows(removed: list[Row]) -> int:
    return sum(row["row_count"] for row in removed)
