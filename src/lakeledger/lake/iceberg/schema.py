"""A table's columns in Iceberg's words, and by which names they are found in the files.

A column keeps the id that the ledger gave it. What is inside a column has ids of its own, counted from a place that no other column uses:
a column of another type is another column, so they never change.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import count
from typing import Any

from lakeledger.lake.iceberg import Unpublishable

Field = dict[str, Any]

# Where the ids inside columns begin, and how many each column has.
INNER_IDS = 1_000_000
IDS_PER_COLUMN = 1_000
# Where the ids of columns begin that are another table's.
FOREIGN_IDS = 1_500_000_000

_SIMPLE = {
    "boolean": "boolean",
    "byte": "int",
    "short": "int",
    "integer": "int",
    "long": "long",
    "float": "float",
    "double": "double",
    "date": "date",
    "timestamp": "timestamptz",
    "timestamp_ntz": "timestamp",
    "string": "string",
    "binary": "binary",
}
_DECIMAL = re.compile(r"decimal\((\d+),\s*(\d+)\)")
_TEXT = re.compile(r"(var)?char\(\d+\)|string collate .*")


def to_iceberg(schema: dict[str, Any], schema_id: int) -> Field:
    """The schema of one version. Raises Unpublishable that names a column."""
    fields = [_column(field) for field in schema["fields"]]
    names = [name for field in fields for name in _paths(field, "")]
    if doubled := sorted({name for name in names if names.count(name) > 1}):
        raise Unpublishable(f"Iceberg cannot tell the column {doubled[0]} from what is inside another: rename one of them")
    return {"type": "struct", "schema-id": schema_id, "fields": fields}


def last_id(schema: Field) -> int:
    """The highest id in a schema."""
    return max(_ids(schema), default=0)


def name_mapping(fields: Iterable[Field], foreign: Iterable[Field], earlier: list[Field]) -> list[Field]:
    """By which names readers find columns in files that have no ids: these, those of another table in the same files, and earlier ones.

    Some readers refuse a file that has a column which is not in here, so a foreign one has an id, too, that no column gets.
    """
    known = {entry["field-id"]: entry for entry in earlier}
    for field in fields:
        known[field["id"]] = _mapped(field["id"], field["physical_name"], _mappable(field))
    names = {name for entry in known.values() for name in entry["names"]}
    number = sum(id_ >= FOREIGN_IDS for id_ in known)
    for field in foreign:
        if field["physical_name"] not in names:
            names.add(field["physical_name"])
            id_ = FOREIGN_IDS + number * IDS_PER_COLUMN
            known[id_] = _mapped(id_, field["physical_name"], _mappable(field, id_ + 1))
            number += 1
    return [known[id_] for id_ in sorted(known)]


def _mappable(field: Field, first: int | None = None) -> Any:
    """A column's type, with ids inside from the first on; that of one which Iceberg does not have is of no interest: nobody reads it."""
    try:
        return _type(field["type"], count(INNER_IDS + field["id"] * IDS_PER_COLUMN if first is None else first), field["name"])
    except Unpublishable:
        return None


def _column(field: Field) -> Field:
    ids = count(INNER_IDS + field["id"] * IDS_PER_COLUMN)
    made = {"id": field["id"], "name": field["name"], "required": False, "type": _type(field["type"], ids, field["name"])}
    if next(ids) > INNER_IDS + (field["id"] + 1) * IDS_PER_COLUMN:
        raise Unpublishable(f"column {field['name']} has more than {IDS_PER_COLUMN} values inside, too many to publish")
    return made


def _type(type_: Any, ids: Iterator[int], column: str) -> Any:
    match type_:
        case str() if type_ in _SIMPLE:
            return _SIMPLE[type_]
        case str() if found := _DECIMAL.fullmatch(type_):
            return f"decimal({found[1]}, {found[2]})"
        case str() if _TEXT.fullmatch(type_):
            return "string"
        case {"type": "struct", "fields": fields}:
            numbered = [(next(ids), field) for field in fields]
            return {"type": "struct", "fields": [_inner(id_, field, ids, column) for id_, field in numbered]}
        case {"type": "array", "elementType": element}:
            return {"type": "list", "element-id": next(ids), "element-required": False, "element": _type(element, ids, column)}
        case {"type": "map", "keyType": key, "valueType": value}:
            key_id, value_id = next(ids), next(ids)
            return {
                "type": "map",
                "key-id": key_id,
                "key": _type(key, ids, column),
                "value-id": value_id,
                "value-required": False,
                "value": _type(value, ids, column),
            }
        case _:
            named = type_ if isinstance(type_, str) else type_.get("type", type_)
            raise Unpublishable(f"Iceberg has no type for column {column}, which is {named}")


def _inner(id_: int, field: Field, ids: Iterator[int], column: str) -> Field:
    return {"id": id_, "name": field["name"], "required": False, "type": _type(field["type"], ids, column)}


def _parts(type_: Any) -> list[tuple[int, str, Any]]:
    """What is directly inside a type: id, name, type."""
    match type_:
        case {"type": "struct", "fields": fields}:
            return [(field["id"], field["name"], field["type"]) for field in fields]
        case {"type": "list"}:
            return [(type_["element-id"], "element", type_["element"])]
        case {"type": "map"}:
            return [(type_["key-id"], "key", type_["key"]), (type_["value-id"], "value", type_["value"])]
        case _:
            return []


def _mapped(id_: int, name: str, type_: Any) -> Field:
    inside = [_mapped(*part) for part in _parts(type_)]
    return {"field-id": id_, "names": [name], **({"fields": inside} if inside else {})}


def _paths(field: Field, above: str) -> Iterator[str]:
    yield above + field["name"]
    for id_, name, type_ in _parts(field["type"]):
        yield from _paths({"id": id_, "name": name, "type": type_}, f"{above}{field['name']}.")


def _ids(type_: Any) -> Iterator[int]:
    for id_, _, inner in _parts(type_):
        yield id_
        yield from _ids(inner)
