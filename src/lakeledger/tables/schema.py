"""Table schemas as Spark writes them in JSON: made comparable, compared, and grown by new columns."""

from __future__ import annotations

from typing import Any

from lakeledger import codec
from lakeledger.errors import Invalid

Schema = dict[str, Any]


def normalise(schema: Schema) -> Schema:
    """The schema as it is published: every field optional, because that is how Spark writes it."""
    fields = [{"name": field["name"], "type": _optional(field["type"]), "nullable": True, "metadata": {}} for field in schema["fields"]]
    return {"type": "struct", "fields": fields}


def reconcile(table: str, current: Schema, incoming: Schema, *, evolve: bool) -> Schema:
    """The table's schema after an append of `incoming`. Raises Invalid that names every column that does not fit."""
    known = {codec.fold(field["name"]): field for field in current["fields"]}
    given = {codec.fold(field["name"]): field for field in incoming["fields"]}
    added = [given[key] for key in given if key not in known]
    problems = [f"{known[key]['name']} is missing" for key in known if key not in given]
    problems += [
        f"{known[key]['name']} is {type_text(known[key]['type'])}, not {type_text(given[key]['type'])}"
        for key in given
        if key in known and known[key]["type"] != given[key]["type"]
    ]
    problems += [] if evolve else [f"{field['name']} is new" for field in added]
    if problems:
        hint = "" if evolve or not added else "; evolve=True lets new columns in"
        raise Invalid(f"the data does not fit {table}: {', '.join(problems)}{hint}")
    return {"type": "struct", "fields": current["fields"] + added}


def column_names(schema: Schema) -> list[str]:
    """The names of the columns, in order."""
    return [field["name"] for field in schema["fields"]]


def type_text(type_: Any) -> str:
    """A column type in one word or so."""
    if isinstance(type_, str):
        return type_
    inner = type_.get("elementType") or type_.get("valueType")
    return f"{type_['type']}<{type_text(inner)}>" if inner else str(type_["type"])


def _optional(type_: Any) -> Any:
    if isinstance(type_, str):
        return type_
    match type_["type"]:
        case "struct":
            return normalise(type_)
        case "array":
            return {"type": "array", "elementType": _optional(type_["elementType"]), "containsNull": True}
        case "map":
            value = _optional(type_["valueType"])
            return {"type": "map", "keyType": _optional(type_["keyType"]), "valueType": value, "valueContainsNull": True}
        case _:
            return type_
