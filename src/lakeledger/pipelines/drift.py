"""Schema drift: what becomes of columns that a table does not have, or has with another type, by the policy of the load."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import TYPE_CHECKING, Any, Literal

from lakeledger import codec
from lakeledger.pipelines.apply import Drift
from lakeledger.pipelines.apply.changes import CHANGE_TYPE, RESCUED, SEQUENCE, UNSET, Changes
from lakeledger.pipelines.partitions import quote
from lakeledger.pipelines.quarantine import RESERVED
from lakeledger.tables.schema import SOURCE_FILE, Field, Schema, normalise, shown, type_text, widens

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def fitted(
    frame: DataFrame,
    known: Schema | None,
    drift: Drift,
    changes: Changes | None = None,
    optional: Collection[str] = (),
    cast: Collection[str] = (),
    accepted: Collection[str] = (),
) -> DataFrame:
    """The rows as the table can take them: narrower values cast to its types, and what it has no place for rescued or dropped.

    With `evolve` new columns stay, and wider types, too: the write lets the table grow. With `freeze` only the columns to `cast` are.
    Columns that are `optional` may be missing; new ones that are `accepted` stay. What fits in no way is left as it is, and refused by the
    write. Columns that only say what a change means are not looked at.
    """
    from pyspark.sql import functions as F

    if drift == "freeze":
        return _frozen(frame, known, optional, cast)
    fields = normalise(frame.schema.jsonValue())["fields"]
    passed = _passing(fields, changes)
    if known is None:
        return frame.withColumn(RESCUED, F.lit(None).cast("string")) if drift == "rescue" and RESCUED not in frame.columns else frame
    there = {codec.fold(field["name"]): field for field in shown(known)["fields"] if field["name"] != RESCUED}
    given = {codec.fold(field["name"]): field for field in fields}
    columns: list[Column] = []
    rescued: list[Column] = []
    for key, field in given.items():
        column = F.col(quote(field["name"]))
        if key in passed:
            columns.append(column)
        elif key in there:
            kept, lost = _valued(column, field, there[key], drift)
            columns.append(kept.alias(field["name"]))
            rescued += [lost.alias(field["name"])] if lost is not None else []
        elif drift == "evolve" or key in accepted:
            columns.append(column)
        elif drift == "rescue" and key != codec.fold(RESCUED):
            rescued.append(column)
    wanted = {codec.fold(name) for name in optional}
    columns += [_nothing(field) for key, field in there.items() if key not in given and key in wanted]
    if drift == "rescue":  # A row that is replayed may have been rescued before.
        before = [F.col(quote(given[RESCUED]["name"]))] if RESCUED in given else []
        columns.append(F.coalesce(_together(rescued), *before).alias(RESCUED))
    return frame.select(*columns)


def _frozen(frame: DataFrame, known: Schema | None, optional: Collection[str], cast: Collection[str]) -> DataFrame:
    """The rows as they are, but for what somebody accepted: narrower values, and columns that may be missing."""
    from pyspark.sql import functions as F

    if known is None or not (optional or cast):
        return frame
    there = {codec.fold(field["name"]): field for field in shown(known)["fields"]}
    given = {codec.fold(field["name"]): field for field in normalise(frame.schema.jsonValue())["fields"]}
    narrower = {
        given[key]["name"]: F.col(quote(given[key]["name"])).cast(type_text(there[key]["type"]))
        for key in cast
        if key in given and key in there and widens(given[key]["type"], there[key]["type"])
    }
    wanted = {codec.fold(name) for name in optional}
    missing = [_nothing(field) for key, field in there.items() if key not in given and key in wanted]
    frame = frame.withColumns(narrower) if narrower else frame
    return frame.select("*", *missing) if missing else frame


def _passing(fields: list[Field], changes: Changes | None) -> set[str]:
    """The columns that are not the table's, and say what a row means: they stay as they are."""
    always = {codec.fold(name) for name in (*RESERVED, CHANGE_TYPE, SEQUENCE, UNSET, SOURCE_FILE)}
    if changes is None:
        return always
    texts = [each for each in (changes.sequence_by, changes.apply_as_deletes, changes.apply_as_truncates) if isinstance(each, str)]
    words = {codec.fold(word) for text in texts for word in re.findall(r"\w+", text)}
    named = {codec.fold(name) for name in changes.except_column_list or ()}
    return always | named | {key for field in fields if (key := codec.fold(field["name"])) in words}


def becomes(given: Any, known: Any, drift: Drift) -> Literal["kept", "cast", "rescued", "misfit"]:
    """What becomes of a column that rows have with one type and the table with another, or the same.

    With `evolve` a wider one is kept: the table grows. What is a misfit is refused.
    """
    if given == known or (drift == "evolve" and widens(known, given)):
        return "kept"
    if drift != "freeze" and widens(given, known):
        return "cast"
    return "rescued" if drift == "rescue" else "misfit"


def _valued(column: Column, given: Field, known: Field, drift: Drift) -> tuple[Column, Column | None]:
    """A column as the table has it, and what of it has to be rescued."""
    from pyspark.sql import functions as F

    target = type_text(known["type"])
    match becomes(given["type"], known["type"], drift):
        case "cast":
            return column.cast(target), None
        case "rescued":
            kept = column.try_cast(target) if _is_plain(given) and _is_plain(known) else F.lit(None).cast(target)
            return kept, F.when(kept.isNull(), column)
    return column, None


def _together(columns: list[Column]) -> Column:
    """One JSON text of all that has a value; NULL if nothing has."""
    from pyspark.sql import functions as F

    if not columns:
        return F.lit(None).cast("string")
    text = F.to_json(F.struct(*columns))
    return F.when(text != "{}", text)


def _nothing(field: Field) -> Column:
    from pyspark.sql import functions as F

    return F.lit(None).cast(type_text(field["type"])).alias(field["name"])


def _is_plain(field: Field) -> bool:
    return isinstance(field["type"], str)
