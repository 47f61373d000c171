"""A table's columns in Delta's words.

As long as every column is called in the files as in the table, the table is a plain one that every reader of Delta knows. From the first
column on that is not, it has a column mapping by name: physical names are the ledger's, so a rename touches no file. A type that became
wider is just the wider one: every reader reads narrower files as that, and delta-rs refuses tables with Delta's feature for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import count
from typing import Any

from lakeledger.lake.delta import Shape
from lakeledger.lake.iceberg import Unpublishable
from lakeledger.lake.iceberg.schema import IDS_PER_COLUMN, INNER_IDS

Field = dict[str, Any]

MAPPING, NTZ = "columnMapping", "timestampNtz"

_SIMPLE = ("boolean", "byte", "short", "integer", "long", "float", "double", "date", "timestamp", "timestamp_ntz", "string", "binary")
_DECIMAL = re.compile(r"decimal\((\d+),\s*(\d+)\)")
_TEXT = re.compile(r"(var)?char\(\d+\)|string collate .*")
# What no name may have in a table without a mapping.
_ODD = re.compile(r"[ ,;{}()\n\t=]")
# Columns of these types have no bounds in the log.
_WITHOUT_BOUNDS = ("boolean", "binary")


def to_delta(schemas: Sequence[dict[str, Any]]) -> Shape:
    """The last of a table's schemas, oldest first, without what is hidden. Raises Unpublishable that names a column.

    What a schema once needed, the table needs for good: files that were written for it may still be there.
    """
    shown = [[field for field in schema["fields"] if not field.get("hidden")] for schema in schemas]
    every = [field for fields in shown for field in fields]
    is_mapped = any(_needs_mapping(field) for field in every)
    features = {MAPPING: is_mapped, NTZ: any("timestamp_ntz" in _words(field["type"]) for field in every)}
    fields = [_column(field, is_mapped=is_mapped) for field in shown[-1]]
    properties: dict[str, str] = {}
    if is_mapped:
        last = INNER_IDS + (max(field["id"] for field in every) + 1) * IDS_PER_COLUMN
        properties = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": str(last)}
    stats = {field["physical_name"]: made["type"] for field, made in zip(shown[-1], fields, strict=True) if isinstance(made["type"], str)}
    return Shape(
        {"type": "struct", "fields": fields},
        frozenset(name for name, is_needed in features.items() if is_needed),
        properties,
        {name: type_ for name, type_ in stats.items() if type_ not in _WITHOUT_BOUNDS},
    )


def _needs_mapping(field: Field) -> bool:
    return field["physical_name"] != field["name"] or any(_ODD.search(name) for name in (field["name"], *_names(field["type"])))


def _column(field: Field, *, is_mapped: bool) -> Field:
    ids = count(INNER_IDS + field["id"] * IDS_PER_COLUMN) if is_mapped else None
    mapping = {"delta.columnMapping.id": field["id"], "delta.columnMapping.physicalName": field["physical_name"]}
    return {
        "name": field["name"],
        "type": _type(field["type"], ids, field["name"]),
        "nullable": True,
        "metadata": mapping if is_mapped else {},
    }


def _type(type_: Any, ids: Iterator[int] | None, column: str) -> Any:
    match type_:
        case str() if _spelled(type_) in _SIMPLE or _DECIMAL.fullmatch(type_):
            return _spelled(type_)
        case {"type": "struct", "fields": fields}:
            return {"type": "struct", "fields": [_inner(field, ids, column) for field in fields]}
        case {"type": "array", "elementType": element}:
            return {"type": "array", "elementType": _type(element, ids, column), "containsNull": True}
        case {"type": "map", "keyType": key, "valueType": value}:
            typed = {"keyType": _type(key, ids, column), "valueType": _type(value, ids, column)}
            return {"type": "map", **typed, "valueContainsNull": True}
        case _:
            named = type_ if isinstance(type_, str) else type_.get("type", type_)
            raise Unpublishable(f"Delta has no type for column {column}, which is {named}")


def _inner(field: Field, ids: Iterator[int] | None, column: str) -> Field:
    told = {"delta.columnMapping.id": next(ids), "delta.columnMapping.physicalName": field["name"]} if ids else {}
    return {"name": field["name"], "type": _type(field["type"], ids, column), "nullable": True, "metadata": told}


def _spelled(type_: Any) -> Any:
    """A simple type as Delta writes it: text has no length there."""
    if not isinstance(type_, str):
        return type_
    if found := _DECIMAL.fullmatch(type_):
        return f"decimal({found[1]},{found[2]})"
    return "string" if _TEXT.fullmatch(type_) else type_


def _inside(type_: Any) -> list[Any]:
    """The types directly inside a type."""
    if not isinstance(type_, dict):
        return []
    parts = [type_.get(part) for part in ("elementType", "keyType", "valueType")]
    return [*(field["type"] for field in type_.get("fields", ())), *(part for part in parts if part is not None)]


def _words(type_: Any) -> Iterator[str]:
    """The simple types in a type."""
    if isinstance(type_, str):
        yield type_
    for inner in _inside(type_):
        yield from _words(inner)


def _names(type_: Any) -> Iterator[str]:
    """The names of the fields inside a type."""
    if isinstance(type_, dict):
        yield from (field["name"] for field in type_.get("fields", ()))
    for inner in _inside(type_):
        yield from _names(inner)
