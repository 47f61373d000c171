"""Rows that are matched with those of their table, as a write takes them: which columns the table has, and what each row means."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lakeledger import codec
from lakeledger.errors import Invalid
from lakeledger.names import TableName
from lakeledger.pipelines import quarantine
from lakeledger.pipelines.apply import Aside, Changes, Incoming, Target, Write
from lakeledger.pipelines.apply.changes import RESCUED
from lakeledger.pipelines.apply.values import is_orderable, is_plain
from lakeledger.pipelines.partitions import quote
from lakeledger.tables.schema import HIDDEN, HISTORY, Field, normalise, type_text

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

# What is computed of each row, and what of it the table keeps: the sequence, and of which columns it is another one.
SEQUENCE, DELETES, TRUNCATES = f"{HIDDEN}_sequence", f"{HIDDEN}_deletes", f"{HIDDEN}_truncates"
CARRIED = f"{HIDDEN}_carried"
START_AT, END_AT, CURRENT = HISTORY
# The columns of what is remembered beside the keys.
KEPT_SEQUENCE, KEPT_TRUNCATE, KEPT_DELETED, KEPT_UNSET = "__sequence", "__truncate", "__deleted", "__unset"


@dataclass(frozen=True)
class Reading:
    """How the columns of a frame are taken: those of the table, the type of the sequence, and whether rows may say less than all."""

    fields: list[Field]
    sequence: Any
    is_partial: bool


def changes_of(spec: Write) -> Changes:
    """How the rows are matched. Raises Invalid."""
    if spec.changes is None:
        raise Invalid(f"{spec.mode} into {spec.table} needs keys: name the columns that say which row is which")
    return spec.changes


def tombstones_of(table: TableName) -> TableName:
    """Where it is remembered what was deleted."""
    return TableName(table.schema, f"{table.table}__tombstones")


def events_of(table: TableName) -> TableName:
    """Where a history keeps what its rows do not show: deletes, and events that made no version of their own."""
    return TableName(table.schema, f"{table.table}__events")


def prepare(frame: DataFrame, spec: Write, target: Target) -> Incoming:
    """Rows for merge, insert_only, sync and scd2. Raises Invalid."""
    changes = changes_of(spec)
    watched = _with_meaning(frame, changes)
    every = normalise(watched.schema.jsonValue())["fields"]
    given = every[: -3 if changes.sequence_by is not None else None]
    reading = _read(given, every, spec, changes, target)
    _check(reading, spec, changes, target)
    kept = [*reading.fields, *_more(reading, spec, changes, target)]
    return Incoming(watched, {"type": "struct", "fields": kept}, tuple(_asides(reading, spec, changes, target)))


def visible_sequence(fields: Sequence[Field], changes: Changes) -> str | None:
    """The table's own column that rows are ordered by, if it is one."""
    if not isinstance(changes.sequence_by, str) or changes.stored_as_scd_type == 2:
        return None
    wanted = codec.fold(changes.sequence_by.strip("`"))
    return next((field["name"] for field in fields if codec.fold(field["name"]) == wanted and not field.get("hidden")), None)


def tracked(fields: Sequence[Field], changes: Changes) -> list[str]:
    """The columns whose change makes a new version of a row, folded."""
    keys = {codec.fold(key) for key in changes.keys}
    others = [codec.fold(field["name"]) for field in fields if codec.fold(field["name"]) not in keys]
    if changes.track_history_column_list is not None:
        wanted = {codec.fold(name) for name in changes.track_history_column_list}
        return [name for name in others if name in wanted]
    left_out = {codec.fold(name) for name in changes.track_history_except_column_list or ()}
    return [name for name in others if name not in left_out]


def stored_key(name: str, target: Target) -> str:
    """What a key is called where it is remembered: by its physical name, which it keeps when it is renamed."""
    fields = target.metadata.schema["fields"] if target.metadata else []
    return next((field["physical_name"] for field in fields if codec.fold(field["name"]) == codec.fold(name)), name)


def _with_meaning(frame: DataFrame, changes: Changes) -> DataFrame:
    from pyspark.sql import functions as F

    if changes.sequence_by is None:
        return frame
    never = F.lit(False)
    deletes, truncates = (F.coalesce(_column(each), never) if each is not None else never for each in _conditions(changes))
    truncates = truncates.alias(TRUNCATES)
    return frame.select("*", _column(changes.sequence_by).alias(SEQUENCE), deletes.alias(DELETES), truncates)


def _conditions(changes: Changes) -> tuple[str | Column | None, str | Column | None]:
    return changes.apply_as_deletes, changes.apply_as_truncates


def _column(expression: str | Column) -> Column:
    from pyspark.sql import functions as F

    return F.expr(expression) if isinstance(expression, str) else expression


def _read(given: list[Field], every: list[Field], spec: Write, changes: Changes, target: Target) -> Reading:
    names = {codec.fold(field["name"]) for field in given}
    meant = {"column_list": changes.column_list, "except_column_list": changes.except_column_list}
    unset = codec.fold(changes.unset) if changes.unset else None
    for word, listed in meant.items():
        if missing := [name for name in listed or () if codec.fold(name) not in names | {unset}]:
            raise Invalid(f"{word} of {spec.table} names {', '.join(missing)}: the data has {', '.join(field['name'] for field in given)}")
    if changes.column_list is not None:
        wanted = {codec.fold(name) for name in (*changes.column_list, *([RESCUED] if spec.drift == "rescue" else []))}
        fields = [field for field in given if codec.fold(field["name"]) in wanted]
    else:
        left_out = {codec.fold(name) for name in (*(changes.except_column_list or ()), *quarantine.RESERVED)} | {unset}
        fields = [field for field in given if codec.fold(field["name"]) not in left_out]
    known = target.metadata.schema["fields"] if target.metadata else []
    was_partial = any(field["name"] == CARRIED for field in known)
    is_partial = changes.ignore_null_updates or was_partial or unset in names
    return Reading(fields, every[-3]["type"] if changes.sequence_by is not None else None, is_partial)


def _check(reading: Reading, spec: Write, changes: Changes, target: Target) -> None:
    types = {codec.fold(field["name"]): field["type"] for field in reading.fields}
    listed = ", ".join(field["name"] for field in reading.fields)
    if missing := [key for key in changes.keys if codec.fold(key) not in types]:
        raise Invalid(f"{spec.table} has no column for the keys {', '.join(missing)}: its columns are {listed}")
    if odd := [key for key in changes.keys if not is_plain(types[codec.fold(key)])]:
        text = type_text(types[codec.fold(odd[0])])
        raise Invalid(f"key {odd[0]} of {spec.table} is {text}: a key is a plain value, such as a number, a text or a time")
    if reading.sequence is not None and not is_orderable(reading.sequence):
        raise Invalid(f"sequence_by of {spec.table} is {type_text(reading.sequence)}, which has no order: use a number, a time or a struct")
    if reading.is_partial and changes.sequence_by is None:
        raise Invalid(f"rows for {spec.table} that say nothing of some columns need sequence_by: it says which value is the newest")
    if spec.mode == "sync" and changes.sequence_by is not None:
        raise Invalid(f"sync makes {spec.table} what the rows are: leave out sequence_by, and give one row for each key")
    has_sequence = target.metadata and any(field["name"] == SEQUENCE for field in target.metadata.schema["fields"])
    if has_sequence and changes.sequence_by is None and spec.mode != "insert_only":
        raise Invalid(f"rows of {spec.table} have a sequence: give sequence_by, or a late row could replace a newer one")
    tracks = (*(changes.track_history_column_list or ()), *(changes.track_history_except_column_list or ()))
    if unknown := [name for name in tracks if codec.fold(name) not in types]:
        raise Invalid(f"track_history of {spec.table} names {', '.join(unknown)}: its columns are {listed}")
    if spec.mode == "scd2" and (taken := [name for name in (START_AT, END_AT, CURRENT) if codec.fold(name) in types]):
        raise Invalid(f"the data for {spec.table} has a column {taken[0]}, which a history fills itself: leave it out")


def _more(reading: Reading, spec: Write, changes: Changes, target: Target) -> list[Field]:
    """The columns that the table has beside those of the rows."""
    if spec.mode == "scd2":
        return [_field(START_AT, reading.sequence), _field(END_AT, reading.sequence), _field(CURRENT, "boolean")]
    hidden = {field["name"]: field for field in (target.metadata.schema["fields"] if target.metadata else []) if field.get("hidden")}
    made = {name: _field(name, field["type"], hidden=True) for name, field in hidden.items()}
    if changes.sequence_by is not None and visible_sequence(reading.fields, changes) is None:
        made[SEQUENCE] = _field(SEQUENCE, reading.sequence, hidden=True)
    if reading.is_partial and spec.mode == "merge":
        carried = {"type": "map", "keyType": "string", "valueType": reading.sequence, "valueContainsNull": True}
        made[CARRIED] = _field(CARRIED, carried, hidden=True)
    return list(made.values())


def _field(name: str, type_: Any, *, hidden: bool = False) -> Field:
    return {"name": name, "type": type_, "nullable": True, "metadata": {}, **({"hidden": True} if hidden else {})}


def _asides(reading: Reading, spec: Write, changes: Changes, target: Target) -> list[Aside]:
    """What is remembered beside the table: what was deleted, and what a history does not show."""
    from pyspark.sql import functions as F

    made = []
    never = F.lit(False)
    keys = {stored_key(key, target): F.col(quote(key)) for key in changes.keys}
    if spec.mode == "merge" and any(each is not None for each in _conditions(changes)):
        columns = {**keys, KEPT_SEQUENCE: F.col(SEQUENCE), KEPT_TRUNCATE: never}
        made.append(Aside(tombstones_of(spec.table), never, columns, failed=False))
    if spec.mode == "scd2":
        rest = {stored_key(field["name"], target): F.col(quote(field["name"])) for field in reading.fields}
        more = {KEPT_SEQUENCE: F.col(SEQUENCE), KEPT_DELETED: never, KEPT_TRUNCATE: never, KEPT_UNSET: F.array(F.lit(""))}
        made.append(Aside(events_of(spec.table), never, {**keys, **rest, **more}, failed=False))
    return made
