"""One write: Spark makes files that nobody sees, their footers are read, and one commit makes them visible."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from lakeledger import clock, codec, failpoints
from lakeledger.commit import Commit, Effect, commit, find_applied
from lakeledger.db import Transaction
from lakeledger.errors import Failed, Invalid, LakeledgerError, Unavailable
from lakeledger.lake import Storage, open_format
from lakeledger.pipelines import Context, aside
from lakeledger.pipelines.agreed import Agreed, agree
from lakeledger.pipelines.apply import AS_GIVEN, Given, Look, Outcome, Refused, Rewrite, Saved, Target, Write
from lakeledger.pipelines.apply.ways import WAYS
from lakeledger.pipelines.claiming import claimed
from lakeledger.pipelines.effects import IngestionFacts, Stopwatch, Unmoved
from lakeledger.pipelines.read import read_files
from lakeledger.pipelines.save import Shape, save
from lakeledger.pipelines.volumes import judged_volume, load_of
from lakeledger.quality.store import Found
from lakeledger.runs import Fence
from lakeledger.sync import Advance
from lakeledger.sync.positions import store as positions
from lakeledger.tables import Change, Committed, Layout, TableMetadata, store
from lakeledger.tables.change import check_layout, check_order, prefix_of
from lakeledger.tables.schema import Schema, check_readable, column_names, differences, identify, reconcile
from lakeledger.tables.verify import DATA

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def write(context: Context, frame: DataFrame, spec: Write, fence: Fence) -> Committed:
    """Write the frame and commit it. Raises Invalid, Conflict, Fenced or Failed; then nothing of it is visible.

    The one exception is a Failed that says that the outcome is unknown.
    """
    watch = Stopwatch()
    target, done = find_target(context, spec)
    if done:
        return done
    agreed = agree(context, frame, spec, target, fence)
    look = agreed.spec.look(agreed.frame) if agreed.spec.look else Look()
    try:
        return _write_looked_at(context, agreed, look, fence, watch)
    except LakeledgerError:
        raise
    except Exception:
        other = look.without() if look.without else None
        if other is None:
            raise
        return _write_looked_at(context, agreed, other, fence, watch)


def _write_looked_at(context: Context, agreed: Agreed, look: Look, fence: Fence, watch: Stopwatch) -> Committed:
    spec, target, incoming = agreed.spec, agreed.target, agreed.incoming
    own, asides = aside.together(look.asides, incoming.asides)
    marked = aside.mark(incoming.frame.withColumns({**look.helpers}) if look.helpers else incoming.frame, asides)
    others = aside.find(context.store, marked, asides, target)
    shape = fit(column_names(incoming.schema), incoming.schema, spec, target, others)
    check_order(spec.table, spec.sort_by or (), shape.schema)
    effects = [*spec.effects, *agreed.effects]
    given = Given(marked, spec, target, shape, fence.run_id, look.measures, tuple(others[place] for place in own))

    def reread(saved: Saved) -> DataFrame | None:
        if spec.mode not in AS_GIVEN:  # Their files hold rows of the table, too.
            return marked.where(f"{aside.MARK} = '0'") if others else marked
        return read_files(context.storage(target.location), marked.sparkSession, target.layout, shape, saved.files)

    def changes(saved: Saved) -> Planned:
        if spec.confirm:
            spec.confirm()
        measured = saved.measured if rewrite.measured is None else rewrite.measured
        seen = replace(saved, measured=measured, columns=shape.columns, read=partial(reread, saved))
        judged = spec.judge(seen) if spec.judge else ()
        watch.lap("write_ms")
        outcome = rewrite.outcome(saved)
        verdict = judged_volume(context, spec, target, outcome, saved, fence, judged)
        said = facts_of(context, spec, watch, outcome, seen)
        facts = [replace(said, load=load_of(spec, target), verdict=verdict)] if spec.is_ingestion else []
        change = change_of(spec, target, shape.schema, outcome, saved, rewrite)
        told = {name: value for each in judged if isinstance(each, Found) for name, value in each.summary.items()}
        made = [replace(change, summary={**change.summary, **told}, beside=shape.beside())]
        written = ((other, each) for other, each in zip(others, saved.asides, strict=True) if each.files)
        made += [replace(other.change(each, rewrite.beside), beside=shape.beside(other)) for other, each in written]
        made = _with_taken(made, spec.takes()) if spec.takes else made
        changed = {change.table for change in made}
        unmoved = [Unmoved(read) for read in rewrite.beside if read.table not in changed]
        return Planned(made, spec.moves, [*effects, *judged, *facts, *unmoved, *released], watch)

    with WAYS[spec.mode].apply(context, given) as rewrite:
        measures = rewrite.counts if rewrite.measured is not None else look.measures
        bounded = replace(shape, keys=(*shape.keys, *rewrite.keys, *rewrite.bounded))
        with claimed(context, fence, target.table, rewrite.touches) as released:
            made = put(context, fence, rewrite.frame, bounded, target, changes, measures, rewrite.placed)
        return made.tables[0]


@dataclass(frozen=True)
class Planned:
    """What is to be committed once the files are there."""

    changes: Sequence[Change]
    moves: Sequence[Advance] = ()
    effects: Sequence[Effect] = ()
    watch: Stopwatch = field(default_factory=Stopwatch)


def put(
    context: Context,
    fence: Fence,
    frame: DataFrame,
    shape: Shape,
    target: Target,
    plan: Callable[[Saved], Planned],
    measures: Mapping[str, Column] | None = None,
    placed: bool = False,
) -> Commit:
    """Write a frame into files of the target's place and commit what the plan makes of them. Raises as `write`.

    `measures` are taken on the way. Rows that are `placed` are written by the tasks that they are in.
    """

    def save_it(storage: Storage, folder: str) -> Saved:
        return save(context, frame, shape, target.layout, measures or {}, storage, folder, placed=placed)

    return put_files(context, fence, target, save_it, plan)


def put_files(
    context: Context, fence: Fence, target: Target, save_it: Callable[[Storage, str], Saved], plan: Callable[[Saved], Planned]
) -> Commit:
    """Have files written into a folder of the target's place and commit what the plan makes of them. Raises as `write`."""
    folder = f"{DATA}/{fence.run_id}/{clock.new_id()[-12:]}"
    storage = context.storage(target.location)
    storage.make(folder.rpartition("/")[0])
    attempted: list[Commit] = []

    def commit_it(changes: Sequence[Change], pointers: Sequence[Effect]) -> Commit:
        planned.watch.lap("publish_ms")
        return persist(context, attempted, fence, changes, planned.moves, [*planned.effects, *pointers])

    try:
        saved = save_it(storage, folder)
        planned = plan(saved)
        published = context.publisher.commit(
            commit_it, planned.changes, planned.moves, fence.run_id, target.publishing, noted=planned.effects
        )
        made = published.placed(context.warehouse)
    except BaseException as error:
        # Once the database was asked to commit it may have done so, whatever we hear of it.
        # What cannot be removed now, or must not be, the sweeper finds.
        if attempted and isinstance(error, Unavailable):
            raise _unknown(attempted[-1], error) from error
        if attempted:
            raise
        with suppress(Failed, Unavailable):
            storage.remove_folder(folder)
        if isinstance(error, Refused) and error.effects:
            persist(context, [], replace(fence, ends_run=False), [], [], error.effects)
        raise
    failpoints.reach(failpoints.AFTER_COMMIT)
    if not made.applied:
        storage.remove_folder(folder)
        return made
    used = {file.path for change in planned.changes for file in change.files}
    for file in (file for part in (saved, *saved.asides) for file in part.files if file.path not in used):
        storage.remove(file.path)  # what changed nothing
    for change, each in zip(planned.changes, made.tables, strict=True):
        context.checksums.submit(each.table, {file.path: file.size for file in change.files})
    return made


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
        if again and attempted and _is_there(tx, attempted[-1], moves):
            return attempted[-1]
        attempted.clear()
        context.check_warehouse(tx)
        attempted.append(commit(tx, fence, changes, moves, effects))
        return attempted[-1]

    return context.store.persist(once)


def _is_there(tx: Transaction, made: Commit, moves: Sequence[Advance]) -> bool:
    """Whether a commit that nobody answered for was made after all: its first new version tells, or where its sources stand."""
    if version := next((each for each in made.tables if each.applied), None):
        return store.find_snapshot(tx, version.table, version.snapshot.snapshot_id) is not None
    return bool(moves) and all(positions.stands_at(tx, move) for move in moves)


def _unknown(attempted: Commit, error: Unavailable) -> Failed:
    made = attempted.tables[0]
    what = f"whether version {made.version} of {made.table.name} was committed is unknown"
    return Failed(f"{what}: compare `lakeledger tables history {made.table.name}` before you run it again ({error})")


def facts_of(context: Context, spec: Write, watch: Stopwatch, outcome: Outcome, seen: Saved) -> IngestionFacts:
    """What is told of an ingestion, with what became of duplicates and of bad rows."""
    named = spec.position.source if spec.position else spec.source
    extras: dict[str, Any] = {"deduplication": dict(outcome.deduplication)} if outcome.deduplication else {}
    if spec.guardrails:
        extras["guardrails"] = dict(spec.guardrails(seen))
    source, where = named.name if named else None, context.ledger.records.environment
    return IngestionFacts(spec.table, watch, source, spec.volume, extras, spec.load, sla=spec.sla, surroundings=where)


def fit(columns: Sequence[str], given: Schema, spec: Write, target: Target, others: Sequence[aside.Other] = ()) -> Shape:
    """How a frame's columns become those of the files. Raises Invalid before anything is written."""
    check_readable(str(spec.table), given, target.layout.format)
    known = target.metadata
    schema = given
    if known and not spec.replaces_all:
        schema = reconcile(str(spec.table), known.schema, given, evolve=spec.evolve)
    prefix = prefix_of(spec.table, target.location)
    schema, _ = identify(schema, known.schema if known else None, known.columns if known else [], prefix)
    spelled = {codec.fold(name): name for name in columns}
    there = [field for field in schema["fields"] if codec.fold(field["name"]) in spelled]
    named = {spelled[codec.fold(field["name"])]: field["physical_name"] for field in there}
    return Shape(schema, named, tuple(others), known.keys if known else ())


def find_target(context: Context, spec: Write) -> tuple[Target, Committed | None]:
    """The table as it is now, and the version that already holds this batch, if any. Raises Invalid."""
    with context.store.read() as tx:
        table = store.find(tx, spec.table)
        before = store.metadata(tx, table) if table else None
        publishing = context.publisher.mode(tx, table, spec.metadata)
        renames = spec.naming.renames(str(spec.table), before.schema) if before and not spec.replaces_all else {}
        known, location = before.renamed(renames) if before else None, table.location if table else spec.table.folder
        target = Target(table, known, location, _layout(spec, known), publishing, before.schema if before else None, renames)
        if spec.mode == "overwrite_partitions" and not target.layout.partition_by:
            raise Invalid(f"{spec.table} is not partitioned: overwrite the whole table, or name the columns to partition by")
        done = find_applied(tx, table, spec.operation, spec.batch_id, spec.moves) if table else None
    return target, Committed(table.placed(context.warehouse), done, applied=False) if table and done else None


def _layout(spec: Write, known: TableMetadata | None) -> Layout:
    current = store.layout_of(known) if known else Layout()
    layout = Layout(spec.format or current.format, _partition_by(spec, current), current.sort_by)
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


def _with_taken(made: list[Change], taken: Change) -> list[Change]:
    """The changes, with that of a table whose rows were taken: one that also gets rows has one change."""
    place = next((place for place, change in enumerate(made) if change.table == taken.table), None)
    if place is None:
        return [*made, taken]
    gains = made[place]
    both = replace(gains, operation="merge", files=[*taken.files, *gains.files], retires=taken.retires, base_version=taken.base_version)
    return [*made[:place], replace(both, summary=taken.summary), *made[place + 1 :]]


def _schema_changes(target: Target, schema: Schema) -> dict[str, Any]:
    """What a version changes in the columns of its table, for its summary."""
    words = differences(target.before, schema)
    return {"schema_changes": words} if words else {}


def change_of(spec: Write, target: Target, schema: Schema, outcome: Outcome, saved: Saved, rewrite: Rewrite | None = None) -> Change:
    """What becomes of the table."""
    return Change(
        table=spec.table,
        location=target.location,
        operation=spec.operation,
        schema=schema,
        layout=target.layout,
        files=[] if outcome.changes_nothing else saved.files,
        retires=outcome.retires,
        reads=rewrite.reads if rewrite else None,
        base_version=target.base_version if spec.base_version is None else spec.base_version,
        evolve=spec.evolve,
        batch_id=spec.batch_id,
        counters=outcome.counters,
        summary={**spec.summary, **outcome.summary, **_schema_changes(target, schema)},
        schema_version=target.metadata.schema_version if target.metadata else None,
        keys=rewrite.keys if rewrite else (),
        renames=target.renames,
        sort_by=spec.sort_by,
    )
