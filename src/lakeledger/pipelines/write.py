"""One write: Spark makes files that nobody sees, their footers are read, and one commit makes them visible."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from lakeledger import clock, codec, failpoints
from lakeledger.commit import Commit, Effect, commit, find_applied
from lakeledger.db import Transaction
from lakeledger.errors import Failed, Invalid, Unavailable
from lakeledger.lake import Storage, open_format
from lakeledger.pipelines import Context, aside
from lakeledger.pipelines.apply import MODES, Rewrite, Saved, Target, Write
from lakeledger.pipelines.effects import IngestionFacts, SourceSchema
from lakeledger.pipelines.save import Shape, save
from lakeledger.runs import Fence
from lakeledger.sync import Advance
from lakeledger.sync.schemas import NewSchema, from_spark
from lakeledger.sync.schemas import store as schemas
from lakeledger.tables import Change, Committed, Layout, TableMetadata, store
from lakeledger.tables.change import check_layout
from lakeledger.tables.schema import Schema, check_readable, identify, normalise, reconcile
from lakeledger.tables.verify import DATA

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def write(context: Context, frame: DataFrame, spec: Write, fence: Fence) -> Committed:
    """Write the frame and commit it. Raises Invalid, Conflict, Fenced or Failed; then nothing of it is visible.

    The one exception is a Failed that says that the outcome is unknown.
    """
    started = time.monotonic()
    target, done = _plan(context, spec)
    if done:
        return done
    given = _schema(frame)
    effects = [*spec.effects, *_source_schema(context, given, spec, fence)]
    rewrite = MODES[spec.mode](frame, spec, target)
    other = aside.find(context.store, spec.aside, target) if spec.aside else None
    shape = fit(rewrite.frame, given if rewrite.frame is frame else _schema(rewrite.frame), spec, target, other)
    folder = f"{DATA}/{fence.run_id}/{clock.new_id()[-12:]}"
    storage = Storage(f"{context.warehouse}/{target.location}")
    storage.make(folder.rpartition("/")[0])
    attempted: list[Commit] = []
    try:
        saved = save(context, rewrite.frame, shape, target.layout, spec.measures, storage, folder)
        if spec.confirm:
            spec.confirm()
        effects += spec.judge(saved) if spec.judge else []
        took = round((time.monotonic() - started) * 1000)
        effects.append(IngestionFacts(spec.table, took, spec.position.source.name if spec.position else None))
        changes = [_change(spec, target, shape.schema, rewrite, saved)]
        changes += [shape.other.change(saved.aside, spec.batch_id)] if shape.other and saved.aside and saved.aside.files else []
        committed, *others = persist(context, attempted, fence, changes, spec.moves, effects).placed(context.warehouse).tables
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
    for made, files in zip((committed, *others), (saved, saved.aside), strict=False):
        context.checksums.submit(made.table, {file.path: file.size for file in files.files} if files else {})
    return committed


def persist(
    context: Context,
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
        context.check_warehouse(tx)
        attempted.append(commit(tx, fence, changes, moves, effects))
        return attempted[-1]

    return context.store.persist(once)


def _is_there(tx: Transaction, made: Committed) -> bool:
    return store.find_snapshot(tx, made.table, made.snapshot.snapshot_id) is not None


def _unknown(attempted: Commit, error: Unavailable) -> Failed:
    made = attempted.tables[0]
    what = f"whether version {made.version} of {made.table.name} was committed is unknown"
    return Failed(f"{what}: compare `lakeledger tables history {made.table.name}` before you run it again ({error})")


def _source_schema(context: Context, given: Schema, spec: Write, fence: Fence) -> list[Effect]:
    """What is to be registered: what the source looks like, unless that is what it looked like last time."""
    if spec.source is None:
        return []
    definition = from_spark(given)
    with context.store.read() as tx:
        latest = schemas.find(tx, spec.source)
    known = latest is not None and latest.definition.hash == definition.hash
    return [] if known else [SourceSchema(NewSchema(spec.source, definition, run_id=fence.run_id))]


def _schema(frame: DataFrame) -> Schema:
    return normalise(frame.schema.jsonValue())


def fit(frame: DataFrame, given: Schema, spec: Write, target: Target, other: aside.Other | None = None) -> Shape:
    """How the frame's columns become those of the files. Raises Invalid before anything is written."""
    check_readable(str(spec.table), given, target.layout.format)
    known = target.metadata
    schema = given
    if known and not spec.replaces_all:
        schema = reconcile(str(spec.table), known.schema, given, evolve=spec.evolve)
    avoid = other.metadata.columns if other and other.metadata else ()
    schema, used = identify(schema, known.schema if known else None, known.columns if known else [], avoid)
    spelled = {codec.fold(name): name for name in frame.columns}
    columns = {spelled[codec.fold(field["name"])]: str(field["physical_name"]) for field in schema["fields"]}
    return Shape(schema, columns, aside.with_schema(other, frame, used) if other else None)


def _plan(context: Context, spec: Write) -> tuple[Target, Committed | None]:
    with context.store.read() as tx:
        table = store.find(tx, spec.table)
        known = store.metadata(tx, table) if table else None
        target = Target(table, known, table.location if table else spec.table.folder, _layout(spec, known))
        if spec.mode == "overwrite_partitions" and not target.layout.partition_by:
            raise Invalid(f"{spec.table} is not partitioned: overwrite the whole table, or name the columns to partition by")
        done = find_applied(tx, table, spec.operation, spec.batch_id, spec.moves) if table else None
    return target, Committed(table.placed(context.warehouse), done, applied=False) if table and done else None


def _layout(spec: Write, known: TableMetadata | None) -> Layout:
    current = store.layout_of(known) if known else Layout()
    layout = Layout(spec.format or current.format, _partition_by(spec, current))
    open_format(layout.format)
    if known and not spec.replaces_all:
        check_layout(spec.table, current, layout)
    return layout


def _partition_by(spec: Write, current: Layout) -> tuple[str, ...]:
    """The columns asked for, spelled as the table has them. Raises Invalid if one is there twice."""
    if spec.partition_by is None:
        return current.partition_by
    wanted = [codec.fold(name) for name in spec.partition_by]
    if len(set(wanted)) < len(wanted):
        raise Invalid(f"cannot partition {spec.table} by {', '.join(spec.partition_by)}: a column is there twice")
    return current.partition_by if wanted == [codec.fold(name) for name in current.partition_by] else spec.partition_by


def _change(spec: Write, target: Target, schema: Schema, rewrite: Rewrite, saved: Saved) -> Change:
    outcome = rewrite.outcome(saved)
    return Change(
        table=spec.table,
        location=target.location,
        operation=spec.operation,
        schema=schema,
        layout=target.layout,
        files=saved.files,
        retires=outcome.retires,
        reads=rewrite.reads,
        base_version=target.base_version if spec.base_version is None else spec.base_version,
        evolve=spec.evolve,
        batch_id=spec.batch_id,
        counters=outcome.counters,
        summary=spec.summary,
    )
