"""Which columns a table has that holds rows of Arrow, and which it has after them, by the drift policy."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from lakeledger import codec
from lakeledger.errors import Invalid
from lakeledger.pipelines.apply import Drift
from lakeledger.pipelines.drift import becomes
from lakeledger.sync.schemas.conversions import from_arrow, from_spark, to_arrow, to_spark_json
from lakeledger.tables.schema import Field, Misfit, Schema, misfit_text, normalise, shown

if TYPE_CHECKING:
    import pyarrow as pa

# What Spark reads again, and other engines do.
_KEPT = re.compile(r"boolean|byte|short|integer|long|float|double|string|binary|date|timestamp|timestamp_ntz|decimal\((\d+),\d+\)")
MOST_DIGITS = 38
_INSIDE = ("elementType", "keyType", "valueType")


def schema_of(schema: pa.Schema) -> Schema:
    """The columns that a table has which holds such rows. Raises Invalid for what Spark and other engines could not read again."""
    import pyarrow as pa

    if not isinstance(schema, pa.Schema):
        raise Invalid(f"schema={schema!r} is no schema of Arrow: write pyarrow.schema([('id', pyarrow.int64()), …])")
    return _kept_as(schema)[0]


def arrow_schema(schema: Schema) -> pa.Schema:
    """The same columns in Arrow's words."""
    return to_arrow(from_spark(normalise(schema)))


def as_table(given: pa.Table | pa.RecordBatch) -> pa.Table:
    """What was given with the types that a table has: text of any size is text, times are in microseconds. Raises Invalid.

    A column that knows no type has no values, and is left out.
    """
    import pyarrow as pa

    table = pa.Table.from_batches([given]) if isinstance(given, pa.RecordBatch) else given
    if untyped := [each.name for each in table.schema if pa.types.is_null(each.type)]:
        table = table.drop_columns(untyped)
    wanted = _kept_as(table.schema)[1]
    try:
        return table if table.schema.equals(wanted) else pa.table(_cast(table.columns, wanted), schema=wanted)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise Invalid(f"the rows cannot be kept as a table has them: {error}") from error


def grown(table: str, known: Schema | None, given: Schema, drift: Drift) -> Schema:
    """The columns of a table, as far as they are shown, after rows with the given ones. Raises Invalid that names all that do not fit.

    Columns that are missing are NULL.
    """
    if known is None:
        return given
    there = {codec.fold(each["name"]): each for each in shown(known)["fields"]}
    new: list[Field] = []
    problems: list[Misfit] = []
    for each in given["fields"]:
        same = there.get(codec.fold(each["name"]))
        if same is None:
            new += [each] if drift == "evolve" else []
            problems += [Misfit(each["name"], given=each["type"])] if drift == "freeze" else []
            continue
        became = becomes(each["type"], same["type"], drift)
        if became == "kept":
            there[codec.fold(each["name"])] = {**same, "type": each["type"]}
        elif became == "misfit":
            problems.append(Misfit(same["name"], same["type"], each["type"]))
    if problems:
        hint = "; schema_drift='evolve' lets new columns in" if any(each.known is None for each in problems) else ""
        raise Invalid(misfit_text(table, problems, hint=False) + hint)
    return {"type": "struct", "fields": [*there.values(), *new]}


def _kept_as(schema: pa.Schema) -> tuple[Schema, pa.Schema]:
    return _kept(schema.remove_metadata() if schema.metadata else schema)


@lru_cache(maxsize=64)  # Those of one stream are always the same.
def _kept(schema: pa.Schema) -> tuple[Schema, pa.Schema]:
    """The columns of a table that holds such rows, in Arrow's words, too."""
    made = normalise(to_spark_json(from_arrow(schema)))
    for given, each in zip(schema, made["fields"], strict=True):
        if odd := next((word for word in _words(each["type"]) if not _is_kept(word)), None):
            raise Invalid(f"column {given.name} is {given.type}, and no table has {odd}: cast it to what Spark reads, for example string")
    return made, arrow_schema(made)


def _cast(columns: Sequence[pa.ChunkedArray], wanted: pa.Schema) -> list[pa.ChunkedArray]:
    return [column.cast(each.type) for column, each in zip(columns, wanted, strict=True)]


def _words(type_: Any) -> Iterator[str]:
    """The plain types that a type is made of."""
    if isinstance(type_, str):
        yield type_
        return
    for inner in (*(each["type"] for each in type_.get("fields", ())), *(type_[part] for part in _INSIDE if part in type_)):
        yield from _words(inner)


def _is_kept(word: str) -> bool:
    found = _KEPT.fullmatch(word)
    return found is not None and int(found[1] or 0) <= MOST_DIGITS
