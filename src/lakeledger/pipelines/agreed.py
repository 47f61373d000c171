"""Rows and table brought together before a write: names, drift, and what somebody accepted; what is left blocks the load."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lakeledger import codec
from lakeledger.commit import Effect
from lakeledger.pipelines import Context, breaking
from lakeledger.pipelines.apply import Incoming, Target, Write
from lakeledger.pipelines.apply.ways import WAYS
from lakeledger.pipelines.breaking import Accepted
from lakeledger.pipelines.drift import fitted
from lakeledger.pipelines.effects import SettledSchema, SourceSchema
from lakeledger.pipelines.quarantine import own_columns
from lakeledger.runs import Fence
from lakeledger.sync.schemas import EvolutionType, NewSchema, Verdict, from_spark
from lakeledger.sync.schemas import store as schemas
from lakeledger.tables.schema import HISTORY, misfits, normalise

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class Agreed:
    """A write whose rows fit its table: the frame as it came, under the names of the table, the rows to write, and what is registered."""

    spec: Write
    target: Target
    frame: DataFrame
    incoming: Incoming
    effects: tuple[Effect, ...]


def agree(context: Context, frame: DataFrame, spec: Write, target: Target, fence: Fence) -> Agreed:
    """Bring rows and table together. Raises Invalid, or SchemaChanged for what somebody has to accept."""
    frame = spec.naming.apply(frame)
    known = target.metadata if not spec.replaces_all else None
    spec.naming.check_found(str(spec.table), known.schema if known else None, frame.columns)
    allowed = breaking.accepted(context.store, spec.source)
    verdict, registered = _source_schema(context, frame, spec, fence)
    prepare = WAYS[spec.mode].prepare
    if known is None:
        breaking.check(spec.source, str(spec.table), (), verdict, allowed, ())
        frame = fitted(frame, None, spec.drift)
        return Agreed(spec, target, frame, prepare(frame, spec, target), (*registered, *_settled(spec, allowed)))
    fixed = {codec.fold(name) for name in (*(spec.changes.keys if spec.changes else ()), *known.partition_by, *HISTORY)}
    moved = breaking.retyped(known.schema, normalise(frame.schema.jsonValue()), allowed, fixed)
    target, schema = target.renamed(moved.renames), known.renamed(moved.renames).schema
    optional = {*spec.optional_columns, *allowed.columns(EvolutionType.DROP_COLUMN), *moved.columns}
    cast = allowed.columns(EvolutionType.MODIFY_COLUMN)
    frame = fitted(frame, schema, spec.drift, spec.changes, optional, cast, moved.replaced)
    incoming = prepare(frame, spec, target)
    problems = misfits(schema, incoming.schema, evolve=spec.evolve)
    unexpected = [each for each in problems if each.known is not None or codec.fold(each.name) not in moved.replaced]
    breaking.check(spec.source, str(spec.table), unexpected, verdict, allowed, fixed)
    grown = spec if spec.evolve or not problems else replace(spec, evolve=True)
    return Agreed(grown, target, frame, incoming, (*registered, *_settled(spec, allowed, moved)))


def _source_schema(context: Context, frame: DataFrame, spec: Write, fence: Fence) -> tuple[Verdict | None, list[Effect]]:
    """What the source looks like, to be registered with what the policy says of it; nothing if that is what it looked like last time."""
    if spec.source is None or spec.takes:  # Rows that another table had so far do not tell what the source looks like.
        return None, []
    definition = from_spark(own_columns(normalise(frame.schema.jsonValue())))
    with context.store.read() as tx:
        latest = schemas.find(tx, spec.source)
        if latest is not None and latest.definition.hash == definition.hash:
            return None, []
        verdict = schemas.check(tx, spec.source, definition)
    return verdict, [SourceSchema(NewSchema(spec.source, definition, run_id=fence.run_id))]


def _settled(spec: Write, allowed: Accepted, moved: breaking.Retyped = breaking.NOTHING_MOVED) -> list[Effect]:
    """That the load went through, for a source that something blocked or that somebody accepted something for."""
    if spec.source is None or not allowed.is_open:
        return []
    return [SettledSchema(spec.source, str(spec.table), moved.consequences)]
