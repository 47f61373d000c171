"""Expectations of columns: which there are, in which order, and of which types."""

from __future__ import annotations

from typing import Any

from lakeledger import codec
from lakeledger.pipelines.checks.conditions import Rows, told
from lakeledger.quality import Expectation
from lakeledger.quality.verdict import Seen, lies_between

# The types of Spark and of SQL, by the names that its JSON has.
_NAMES = {
    "byte": ("tinyint", "bytetype"),
    "short": ("smallint", "shorttype"),
    "integer": ("int", "integertype"),
    "long": ("bigint", "longtype"),
    "float": ("real", "floattype"),
    "double": ("doubletype",),
    "string": ("text", "varchar", "stringtype", "varchartype", "chartype"),
    "boolean": ("bool", "booleantype"),
    "date": ("datetype",),
    "timestamp": ("timestamptype", "timestamp_ltz"),
    "timestamp_ntz": ("timestampntztype",),
    "binary": ("binarytype",),
    "decimal": ("decimaltype", "numeric"),
    "array": ("arraytype",),
    "map": ("maptype",),
    "struct": ("structtype",),
    "variant": ("varianttype",),
}


def seen_of_columns(expectation: Expectation, rows: Rows) -> Seen:
    """What is seen of an expectation that no row is needed for. Raises Invalid if there is no such column."""
    given, names = expectation.parameters, rows.names
    match expectation.kind:
        case "column_exists":
            return _exists(expectation.columns[0], given.get("position"), rows)
        case "columns":
            return _listed(given, names)
        case "column_count":
            return Seen(success=lies_between(given, len(names)), observed={"value": len(names)})
        case _:
            type_ = rows.column(expectation.columns[0]).type
            words = {_spelled(each) for each in given["types"]}
            return Seen(success=not words.isdisjoint(names_of(type_)), observed={"value": told(type_)})


def _exists(name: str, position: int | None, rows: Rows) -> Seen:
    folded = [codec.fold(each) for each in rows.names]
    place = folded.index(codec.fold(name)) if codec.fold(name) in folded else None
    there = place is not None or rows.find(name) is not None
    return Seen(success=there and (position is None or place == position), observed={"exists": there, "position": place})


def _listed(given: Any, names: list[str]) -> Seen:
    wanted, there = [codec.fold(each) for each in given["names"]], [codec.fold(each) for each in names]
    missing = [each for each in given["names"] if codec.fold(each) not in there]
    unexpected = [each for each in names if codec.fold(each) not in wanted]
    is_set = not missing and (given.get("exact", True) is False or not unexpected)
    success = wanted == there if given.get("ordered") else is_set
    return Seen(success=success, observed={"columns": names, "missing": missing, "unexpected": unexpected})


def names_of(type_: Any) -> set[str]:
    """What a type may be called."""
    name = str(type_.get("type", "")) if isinstance(type_, dict) else str(type_)
    plain = name.partition("(")[0].partition(" ")[0]
    return {_spelled(name), plain, *_NAMES.get(plain, ())}


def _spelled(name: str) -> str:
    return name.replace(" ", "").replace("()", "").lower()
