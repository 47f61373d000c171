"""Table schemas as Spark writes them in JSON: made comparable, compared, and grown by new columns."""

from __future__ import annotations

from collections.abc import Iterator
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


def check_readable(table: str, schema: Schema, format_: str) -> None:
    """Raise Invalid for what Spark would write and could not read again."""
    if not schema["fields"]:
        raise Invalid(f"the data for {table} has no columns")
    for type_ in _types(schema):
        folded = [codec.fold(field["name"]) for field in type_.get("fields", ())]
        if doubled := sorted({name for name in folded if folded.count(name) > 1}):
            raise Invalid(f"the data for {table} has columns that differ only in case: {', '.join(doubled)}")
        if format_ == "jsonl" and not str(type_.get("keyType", "string")).startswith("string"):
            raise Invalid(f"the data for {table} has a map whose keys are no text, which jsonl cannot give back: write it as parquet")


def column_names(schema: Schema) -> list[str]:
    """The names of the columns, in order."""
    return [field["name"] for field in schema["fields"]]


def type_text(type_: Any) -> str:
    """A column type as people write it: `decimal(10,2)`, `array<long>`."""
    if isinstance(type_, str):
        return type_
    match type_["type"]:
        case "struct":
            fields = ", ".join(f"{field['name']}: {type_text(field['type'])}" for field in type_["fields"])
            return f"struct<{fields}>"
        case "array":
            return f"array<{type_text(type_['elementType'])}>"
        case "map":
            return f"map<{type_text(type_['keyType'])}, {type_text(type_['valueType'])}>"
        case _:
            return str(type_["type"])


def _types(type_: Any) -> Iterator[dict[str, Any]]:
    """A type and all inside it that are more than a word."""
    if isinstance(type_, dict):
        yield type_
        for inner in (*type_.get("fields", ()), *(type_.get(part) for part in ("type", "elementType", "keyType", "valueType"))):
            yield from _types(inner)


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
