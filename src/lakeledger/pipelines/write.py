"""One write: Spark makes files that nobody sees, their footers are read, and one commit makes them visible."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from lakeledger import clock, codec, failpoints
from lakeledger.commit import Commit, Effect, commit, find_applied
from lakeledger.db import Transaction
from lakeledger.errors import Failed, Invalid, Unavailable
from lakeledger.lake import FileFormat, Storage, StoredFile, open_format
from lakeledger.pipelines import Plane, observe
from lakeledger.pipelines.effects import IngestionFacts, SourceSchema
from lakeledger.pipelines.own_session import moved
from lakeledger.pipelines.partitions import by_partitions, partition_path, quote
from lakeledger.runs import Counters, Fence
from lakeledger.sync import Advance, Source
from lakeledger.sync.schemas import NewSchema, from_spark
from lakeledger.sync.schemas import store as schemas
from lakeledger.tables import Change, Committed, Layout, NewFile, Partitions, Table, TableMetadata, TableName, store
from lakeledger.tables.change import check_layout
from lakeledger.tables.schema import Schema, check_readable, column_names, normalise, reconcile
from lakeledger.tables.verify import DATA

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

PARALLEL_FOOTERS = 8
# JSON has no timestamps: without these Spark would cut them to milliseconds, and old ones to whole minutes of their zone.
# It would also keep a column of the usual name for itself, to put lines into that it cannot read.
JSON_OPTIONS = {
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
    "timeZone": "UTC",
    "columnNameOfCorruptRecord": "_lakeledger_no_such_column",
}


@dataclass(frozen=True)
class Write:
    """What is to be written where.

    `by_partition` overwrites only the partitions that the data has. `base_version` is the version that the data was computed from.
    `source` is the declared source whose schema is registered with the rows; `effects` become visible with them, too.
    `confirm` has a last look, after the files are written, and raises if they should not become visible.
    """

    table: TableName
    operation: Literal["append", "overwrite"] = "append"
    by_partition: bool = False
    base_version: int | None = None
    format: str | None = None
    partition_by: tuple[str, ...] | None = None
    evolve: bool = False
    batch_id: str | None = None
    position: Advance | None = None
    source: Source | None = None
    effects: tuple[Effect, ...] = ()
    summary: dict[str, Any] = field(default_factory=dict)
    confirm: Callable[[], None] | None = None

    @property
    def moves(self) -> list[Advance]:
        return [self.position] if self.position else []


@dataclass(frozen=True)
class Target:
    """The table as it was when the write was planned."""

    table: Table | None
    metadata: TableMetadata | None
    location: str
    layout: Layout

    @property
    def base_version(self) -> int:
        return self.table.current_version if self.table else 0


def write(plane: Plane, frame: DataFrame, request: Write, fence: Fence) -> Committed:
    """Write the frame and commit it. Raises Invalid, Conflict, Fenced or Failed; then nothing of it is visible.

    The one exception is a Failed that says that the outcome is unknown.
    """
    started = time.monotonic()
    target, done = _plan(plane, request)
    if done:
        return done
    effects = [*request.effects, *_source_schema(plane, frame, request, fence)]
    frame, schema = fit(frame, request, target)
    folder = f"{DATA}/{fence.run_id}/{clock.new_id()[-12:]}"
    storage = Storage(f"{plane.warehouse}/{target.location}")
    storage.make(folder.rpartition("/")[0])
    attempted: list[Commit] = []
    try:
        files = _write_files(plane, frame, schema, target, storage, folder)
        if request.confirm:
            request.confirm()
        took = round((time.monotonic() - started) * 1000)
        effects.append(IngestionFacts(request.table, took, request.position.source.name if request.position else None))
        change = _change(request, target, schema, files)
        (committed,) = persist(plane, attempted, fence, [change], request.moves, effects).placed(plane.warehouse).tables
    except BaseException as error:
        # Once the database was asked to commit it may have done so, whatever we hear of it.
        # What cannot be removed now, or must not be, the sweeper finds.
        if attempted and isinstance(error, Unavailable):
            raise _unknown(attempted[-1], error) from error
        if attempted:
            raise
        with suppress(Failed):
            storage.remove_folder(folder)
        raise
    failpoints.reach(failpoints.AFTER_COMMIT)
    if not committed.applied:
        storage.remove_folder(folder)
        return committed
    plane.checksums.submit(committed.table, {file.path: file.size for file in files})
    return committed


def persist(
    plane: Plane,
    attempted: list[Commit],
    fence: Fence,
    changes: Sequence[Change],
    moves: Sequence[Advance] = (),
    effects: Sequence[Effect] = (),
) -> Commit:
    """Commit, and again when the store is back from an outage, as long as nobody took the run over: Spark's work is done only once.

    `attempted` holds the commit that the database was asked for, unless it is known not to have been made.
    """

    def once(tx: Transaction, again: bool) -> Commit:
        # A write transaction waits for every other one of the tenant's: what it does not see will never be.
        if again and attempted and attempted[-1].tables and _is_there(tx, attempted[-1].tables[0]):
            return attempted[-1]
        attempted.clear()
        plane.check_warehouse(tx)
        attempted.append(commit(tx, fence, changes, moves, effects))
        return attempted[-1]

    return plane.store.persist(once)


def _is_there(tx: Transaction, made: Committed) -> bool:
    return store.find_snapshot(tx, made.table, made.snapshot.snapshot_id) is not None


def _unknown(attempted: Commit, error: Unavailable) -> Failed:
    made = attempted.tables[0]
    what = f"whether version {made.version} of {made.table.name} was committed is unknown"
    return Failed(f"{what}: compare `lakeledger tables history {made.table.name}` before you run it again ({error})")


def _source_schema(plane: Plane, frame: DataFrame, request: Write, fence: Fence) -> list[Effect]:
    """What is to be registered: what the source looks like, unless that is what it looked like last time."""
    if request.source is None:
        return []
    definition = from_spark(normalise(frame.schema.jsonValue()))
    with plane.store.read() as tx:
        latest = schemas.find(tx, request.source)
    known = latest is not None and latest.definition.hash == definition.hash
    return [] if known else [SourceSchema(NewSchema(request.source, definition, run_id=fence.run_id))]


def fit(frame: DataFrame, request: Write, target: Target) -> tuple[DataFrame, Schema]:
    """The frame with its columns as the table has them, and its schema. Raises Invalid before anything is written."""
    schema = normalise(frame.schema.jsonValue())
    check_readable(str(request.table), schema, target.layout.format)
    folded = [codec.fold(name) for name in frame.columns]
    if target.metadata is None or _replaces_all(request):
        return frame, schema
    schema = reconcile(str(request.table), target.metadata.schema, schema, evolve=request.evolve)
    wanted = column_names(schema)
    if wanted == frame.columns:
        return frame, schema
    given = dict(zip(folded, frame.columns, strict=True))
    return frame.select(*(_column(given[codec.fold(name)], name) for name in wanted)), schema


def _plan(plane: Plane, request: Write) -> tuple[Target, Committed | None]:
    with plane.store.read() as tx:
        table = store.find(tx, request.table)
        known = store.metadata(tx, table) if table else None
        target = Target(table, known, table.location if table else request.table.folder, _layout(request, known))
        if request.by_partition and not target.layout.partition_by:
            raise Invalid(f"{request.table} is not partitioned: overwrite the whole table, or name the columns to partition by")
        done = find_applied(tx, table, request.operation, request.batch_id, request.moves) if table else None
    return target, Committed(table.placed(plane.warehouse), done, applied=False) if table and done else None


def _layout(request: Write, known: TableMetadata | None) -> Layout:
    current = store.layout_of(known) if known else Layout()
    layout = Layout(request.format or current.format, _partition_by(request, current))
    open_format(layout.format)
    if known and not _replaces_all(request):
        check_layout(request.table, current, layout)
    return layout


def _partition_by(request: Write, current: Layout) -> tuple[str, ...]:
    """The columns asked for, spelled as the table has them. Raises Invalid if one is there twice."""
    if request.partition_by is None:
        return current.partition_by
    wanted = [codec.fold(name) for name in request.partition_by]
    if len(set(wanted)) < len(wanted):
        raise Invalid(f"cannot partition {request.table} by {', '.join(request.partition_by)}: a column is there twice")
    return current.partition_by if wanted == [codec.fold(name) for name in current.partition_by] else request.partition_by


def _write_files(plane: Plane, frame: DataFrame, schema: Schema, target: Target, storage: Storage, folder: str) -> list[NewFile]:
    from pyspark.sql import Observation

    format_ = open_format(target.layout.format)
    seen = Observation()
    failpoints.reach(failpoints.BEFORE_WRITE)
    writer_session = plane.sessions.to_write(frame.sparkSession, schema) if format_.spark_name == "parquet" else frame.sparkSession
    with moved(frame, writer_session) as placed:
        spread, copies = by_partitions(placed, schema, target.layout.partition_by)
        watched = spread.observe(seen, *observe.aggregates(schema, with_bounds=format_.needs_observed_bounds))
        failpoints.reach(failpoints.MID_WRITE, storage.inner(folder))
        writer = watched.write.format(format_.spark_name).option("mapreduce.fileoutputcommitter.marksuccessfuljobs", "false")
        writer = writer.options(**JSON_OPTIONS) if format_.spark_name == "json" else writer
        (writer.partitionBy(*copies) if copies else writer).save(f"{storage.root}/{folder}")
    failpoints.reach(failpoints.AFTER_WRITE)
    return _inspect(storage, folder, format_, target.layout, dict(seen.get), schema)


def _inspect(storage: Storage, folder: str, format_: FileFormat, layout: Layout, seen: dict[str, Any], schema: Schema) -> list[NewFile]:
    """The files that were written, each with what it says of itself. Raises Failed if they do not hold what was sent."""
    bounds = observe.bounds(seen, schema)

    def inspect(file: StoredFile) -> NewFile:
        facts = format_.inspect(storage, file.path, bounds)
        where = partition_path(file.path, layout.partition_by)
        return NewFile(file.path, file.size, facts.rows, where, facts.compression, facts.bounds, file.modified_at)

    written = [file for file in storage.files(folder) if not file.is_bookkeeping]
    with ThreadPoolExecutor(PARALLEL_FOOTERS, thread_name_prefix="footers") as pool:
        files = list(pool.map(inspect, written))
    if (found := sum(file.rows for file in files)) != seen["rows"]:
        raise Failed(f"{storage.root}/{folder} holds {found} rows, but {seen['rows']} were written: storage lost files, run it again")
    for empty in (file for file in files if not file.rows):
        storage.remove(empty.path)
    return [file for file in files if file.rows]


def _change(request: Write, target: Target, schema: Schema, files: list[NewFile]) -> Change:
    rows = sum(file.rows for file in files)
    retires: Literal["all"] | Partitions | None = None
    if request.operation == "overwrite":
        retires = Partitions(frozenset(file.partition_path for file in files)) if request.by_partition else "all"
    return Change(
        table=request.table,
        location=target.location,
        operation=request.operation,
        schema=schema,
        layout=target.layout,
        files=files,
        retires=retires,
        # An append depends on the table only if its rows were computed from it.
        reads="all" if retires is None and request.base_version is not None else None,
        base_version=target.base_version if request.base_version is None else request.base_version,
        evolve=request.evolve,
        batch_id=request.batch_id,
        counters=Counters(processed=rows, inserted=rows),
        summary=request.summary,
    )


def _replaces_all(request: Write) -> bool:
    return request.operation == "overwrite" and not request.by_partition


def _column(given: str, wanted: str) -> Column:
    from pyspark.sql import functions as F

    return F.col(quote(given)).alias(wanted)
