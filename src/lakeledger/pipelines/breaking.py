"""Changes of a source that its table cannot take by itself: they block the load until somebody accepts them (`lakeledger schema accept`).

What is accepted has one effect each, and none of them loses a value: a dropped column is NULL in the rows that are written from then on; a
column of another kind of type keeps what it holds under another name, beside a new one; what is wider, narrower or new comes in.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lakeledger import codec
from lakeledger.db import Store, Transaction
from lakeledger.errors import Invalid
from lakeledger.pipelines.naming import safe_name
from lakeledger.sync import Source
from lakeledger.sync.schemas import Change as SchemaChange
from lakeledger.sync.schemas import EvolutionType, Impact, Reason, Verdict, blocked, from_spark, types
from lakeledger.sync.schemas import store as schemas
from lakeledger.sync.schemas.blocked import BlockedChange, Blocking, key_of
from lakeledger.sync.schemas.compatibility import assess
from lakeledger.tables.schema import Field, Misfit, Schema, column_names, misfit_text, shown, widens

MISSING = Impact("ok", "ok", "breaking", "new rows would have NULL in it", "restore it in the source")
FROZEN = Impact("ok", "ok", "compatible", "the table is frozen", "set schema_drift to evolve, rescue or drop")


class SchemaChanged(Invalid):
    """A source has changed in a way that somebody has to accept first."""

    def __init__(self, message: str, reasons: Sequence[Reason]) -> None:
        super().__init__(message)
        self.reasons = tuple(reasons)


@dataclass(frozen=True)
class Accepted:
    """What blocks or blocked a source, and which of it a load may go on with."""

    changes: tuple[BlockedChange, ...] = ()

    def allows(self, change: SchemaChange) -> bool:
        """Whether a load may go on with it."""
        key = key_of(change)
        return any(each.is_allowed and each.change_key == key for each in self.changes)

    def waiting(self, change: SchemaChange) -> BlockedChange | None:
        """That it was accepted, if no load has gone on with it since."""
        key = key_of(change)
        return next((each for each in self.changes if each.status == "accepted" and each.change_key == key), None)

    def columns(self, kind: EvolutionType) -> frozenset[str]:
        """The columns, folded, of which such a change was accepted."""
        return frozenset(each.column for each in self.changes if each.is_allowed and each.kind is kind)

    @property
    def is_open(self) -> bool:
        """Whether something blocks the source, or waits for the load that it was accepted for."""
        return any(each.status != "applied" for each in self.changes)


NOTHING = Accepted()


def accepted(store: Store, source: Source | None) -> Accepted:
    """What is known of the changes of a source."""
    if source is None:
        return NOTHING
    with store.read() as tx:
        return Accepted(tuple(blocked.changes_of(tx, source)))


def reasons_of(problems: Iterable[Misfit]) -> list[Reason]:
    """What does not fit a table, as changes of a schema."""
    return [_reason(each) for each in problems]


def check(
    source: Source | None, table: str, problems: Sequence[Misfit], verdict: Verdict | None, allowed: Accepted, fixed: Collection[str]
) -> None:
    """Raise SchemaChanged for what nobody accepted, or Invalid for what nobody can: rows without a source, and keys of another type."""
    if source is None:
        if problems:
            raise Invalid(misfit_text(table, problems))
        return
    if any(each.is_hidden or codec.fold(each.name) in fixed for each in problems):
        raise Invalid(
            f"{misfit_text(table, problems)}; keys, partitions and sequences keep their types: load everything anew with "
            f"`lakeledger run --full-refresh`, or into another table"
        )
    unsettled = [each for each in problems if not allowed.waiting(_reason(each).change)]
    refused = [each for each in verdict.refusals if not allowed.allows(each.change)] if verdict else []
    if not unsettled and not refused:
        return
    messages = [schemas.refusal(source, verdict)] if verdict and refused else []
    messages += [misfit_text(table, unsettled, hint=False)] if unsettled else []
    reasons = {key_of(each.change): each for each in (*refused, *reasons_of(unsettled))}
    raise SchemaChanged("; ".join(messages), list(reasons.values()))


def block(tx: Transaction, source: Source, table: str, error: SchemaChanged, by: str, run_id: str) -> SchemaChanged:
    """Keep that these changes block the source, and say so with what accepting them would do."""
    changes = [Blocking(each, effect_of(each.change, table), lasts(each.change)) for each in error.reasons]
    blocked.block(tx, source, table, changes, by, run_id)
    effects = "; ".join(f"{each.reason.change.subject} {each.effect}" for each in changes)
    command = f"`lakeledger schema accept {source.name} --reason TEXT`"
    return SchemaChanged(f"{error}; blocked until {command} lets the next run go on with it: {effects}", error.reasons)


def lasts(change: SchemaChange) -> bool:
    """Whether it is accepted for all loads to come, and not for one: what the table itself does not get, the next rows bring again."""
    return change.kind is EvolutionType.DROP_COLUMN or (change.kind is EvolutionType.MODIFY_COLUMN and change.relation == "narrower")


def effect_of(change: SchemaChange, table: str) -> str:
    """What becomes of the table once a change was accepted, in words."""
    before, after = (change.before or {}).get("type", ""), (change.after or {}).get("type", "")
    match change.kind, change.relation:
        case EvolutionType.DROP_COLUMN, _:
            return f"is NULL in the rows of {table} that are written from then on"
        case EvolutionType.ADD_COLUMN, _:
            return f"is added to {table}, NULL in the rows that are there"
        case EvolutionType.MODIFY_COLUMN, relation if after and before:
            aside = f"keeps what is there as {kept_name(change.subject, before)}, and is new in {table} as {after}"
            return f"takes {after} if {table} can hold both, else {aside}" if relation in ("wider", "narrower") else aside
        case _:
            return "is registered with the next load"


def kept_name(column: str, type_: str, taken: Collection[str] = ()) -> str:
    """What a column is called whose name a column of another type gets: `price__double`."""
    name = f"{column}__{safe_name(type_, 0)}"
    while codec.fold(name) in taken:
        name = f"{name}_"
    return name


@dataclass(frozen=True)
class Consequence:
    """What follows from an accepted change: a column that is no longer the source's, and why it may be missing there."""

    change: SchemaChange
    effect: str
    because: BlockedChange


@dataclass(frozen=True)
class Retyped:
    """Columns of a table that give way to one of another type: their new names by their ids, and what follows from that.

    `replaced` are the names, folded, that the others get.
    """

    renames: Mapping[int, str] = field(default_factory=dict)
    consequences: tuple[Consequence, ...] = ()
    replaced: frozenset[str] = frozenset()

    @property
    def columns(self) -> frozenset[str]:
        return frozenset(self.renames.values())


NOTHING_MOVED = Retyped()


def retyped(known: Schema, given: Schema, allowed: Accepted, fixed: Collection[str]) -> Retyped:
    """The columns that get another name because a column of another kind of type was accepted in their place."""
    incoming = {codec.fold(each["name"]): each["type"] for each in given["fields"]}
    taken, renames, consequences = {codec.fold(name) for name in column_names(known)}, {}, []
    for each in shown(known)["fields"]:
        key, was = codec.fold(each["name"]), each["type"]
        now = incoming.get(key, was)
        if now == was or widens(was, now) or widens(now, was) or key in fixed:
            continue
        change = _reason(Misfit(each["name"], was, now)).change
        if because := allowed.waiting(change):
            name = kept_name(each["name"], (change.before or {})["type"], taken)
            taken.add(codec.fold(name))
            renames[each["id"]] = name
            consequences.append(Consequence(dropped(name, was), f"keeps what {each['name']} was before", because))
    return Retyped(renames, tuple(consequences), frozenset(each.because.column for each in consequences))


def dropped(name: str, type_: Any) -> SchemaChange:
    """That a column is not there any more."""
    return SchemaChange(EvolutionType.DROP_COLUMN, name, before=_column(name, type_))


def _reason(problem: Misfit) -> Reason:
    name = problem.name
    if problem.given is None:
        return Reason(dropped(name, problem.known), MISSING)
    if problem.known is None:
        return Reason(SchemaChange(EvolutionType.ADD_COLUMN, name, after=_column(name, problem.given)), FROZEN)
    before, after = _column(name, problem.known)["type"], _column(name, problem.given)["type"]
    change = SchemaChange(EvolutionType.MODIFY_COLUMN, name, {"type": before}, {"type": after}, types.relation(before, after))
    return Reason(change, assess(change))


def _column(name: str, type_: Any) -> dict[str, Any]:
    column: Field = {"name": name, "type": type_, "nullable": True}
    return from_spark({"fields": [column]}).fields[0].document
