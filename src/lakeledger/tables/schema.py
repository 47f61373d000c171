"""Table schemas as Spark writes them in JSON: made comparable, compared, and grown by new columns.

A column of a table has two more keys: its `id`, and the `physical_name` that it has in the files. The table never uses either again.
One that is `hidden` is in the files, and nobody but the ledger reads it; rows that are written without it have NULL there.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lakeledger import codec
from lakeledger.errors import Conflict, Invalid

# What the physical names of a table begin with whose files are those of another table's writes, too, and no other column's.
ASIDE = "lakeledger_aside"
# What the names of columns begin with that the ledger itself needs, and that nobody else sees.
HIDDEN = "lakeledger_hidden"
# The one by which rows are known by the file that they came from.
SOURCE_FILE = f"{HIDDEN}_source_file"
# What the names of those begin with that hold the day (in UTC) of another column, whose name follows: what a table is partitioned by daily.
DAY_OF = f"{HIDDEN}_day_of_"
# The columns that a table which keeps the history of its rows fills itself.
HISTORY = ("__START_AT", "__END_AT", "__CURRENT")

# From the narrowest to the widest.
INTEGERS = ("byte", "short", "integer", "long")

Schema = dict[str, Any]
Field = dict[str, Any]


def normalise(schema: Schema) -> Schema:
    """The schema as it is published: every field optional, because that is how Spark writes it."""
    return {"type": "struct", "fields": [_published(field) for field in schema["fields"]]}


def identify(schema: Schema, current: Schema | None, used: Sequence[str], prefix: str = "") -> tuple[Schema, list[str]]:
    """The schema with ids and physical names, and every physical name that its table has used: the n-th is that of the column with id n.

    A column is the same as a current one if name and type are, or if its type has only become wider: files of both are read as that.
    The physical names of new ones begin with the prefix.
    """
    known = _by_name(current)
    names, taken, fields = list(used), {codec.fold(name) for name in used}, []
    for field in schema["fields"]:
        same = known.get(codec.fold(field["name"]))
        if same is None or not _holds(same["type"], field["type"]):
            names.append(field.get("physical_name") or _free_name(prefix + field["name"], taken, len(names) + 1))
            taken.add(codec.fold(names[-1]))
            same = {"id": len(names), "physical_name": names[-1]}
        fields.append({**field, "id": same["id"], "physical_name": same["physical_name"]})
    return {"type": "struct", "fields": fields}, names


def check_written(table: str, schema: Schema, current: Schema | None, used: Sequence[str]) -> None:
    """Raise Conflict (retryable) if files were written for columns that have become others since: renamed, dropped or added again."""
    known, taken = _by_name(current), {codec.fold(name) for name in used}
    for field in schema["fields"]:
        written, same = field.get("physical_name"), known.get(codec.fold(field["name"]))
        is_same = same is not None and _holds(same["type"], field["type"])
        if written and (same["physical_name"] != written if same and is_same else codec.fold(written) in taken):
            raise Conflict(f"column {field['name']} of {table} has changed since the rows were written: retry", retryable=True)


def stored(schema: Schema) -> Schema:
    """The schema as its files have it: the columns under their physical names."""
    return {"type": "struct", "fields": [{**field, "name": field["physical_name"]} for field in schema["fields"]]}


def stored_names(schema: Schema, names: Iterable[str]) -> list[str]:
    """The physical names of some columns. Raises Invalid that names those that are not there."""
    known = {codec.fold(field["name"]): field["physical_name"] for field in schema["fields"]}
    wanted = list(names)
    if missing := [name for name in wanted if codec.fold(name) not in known]:
        raise Invalid(f"cannot partition by {', '.join(missing)}: the data has {', '.join(column_names(schema))}")
    return [known[codec.fold(name)] for name in wanted]


def reconcile(table: str, current: Schema, incoming: Schema, *, evolve: bool) -> Schema:
    """The table's schema after an append of `incoming`. Raises Invalid that names every column that does not fit.

    With `evolve`, new columns come in, and a column may get a wider type.
    """
    known, given = _by_name(current), _by_name(incoming)
    if problems := misfits(current, incoming, evolve=evolve):
        raise Invalid(misfit_text(table, problems))
    kept = [{**field, "type": given[key]["type"]} if key in given else field for key, field in known.items()]
    return {"type": "struct", "fields": kept + [given[key] for key in given if key not in known]}


@dataclass(frozen=True)
class Misfit:
    """A column that a table has and rows do not, or the other way round, or that they have with another type."""

    name: str
    known: Any = None
    given: Any = None
    is_hidden: bool = False

    def words(self) -> str:
        if self.given is None:
            return f"{self.name} is missing"
        return f"{self.name} is new" if self.known is None else f"{self.name} is {type_text(self.known)}, not {type_text(self.given)}"


def misfits(current: Schema, incoming: Schema, *, evolve: bool) -> list[Misfit]:
    """What of the incoming columns does not fit those of a table: missing ones, other types, then new ones."""
    known, given = _by_name(current), _by_name(incoming)
    found = [Misfit(field["name"], known=field["type"]) for key, field in known.items() if key not in given and not field.get("hidden")]
    for key in (key for key in given if key in known):
        before, after = known[key], given[key]
        if not (_holds(before["type"], after["type"]) if evolve else before["type"] == after["type"]):
            found.append(Misfit(before["name"], before["type"], after["type"], bool(before.get("hidden"))))
    new = [] if evolve else [field for key, field in given.items() if key not in known and not field.get("hidden")]
    return found + [Misfit(field["name"], given=field["type"]) for field in new]


def misfit_text(table: str, problems: Sequence[Misfit], *, hint: bool = True) -> str:
    """All that does not fit a table, in words."""
    more = "; evolve=True lets new columns in" if hint and any(each.known is None for each in problems) else ""
    return f"the data does not fit {table}: {', '.join(each.words() for each in problems)}{more}"


def widens(narrow: Any, wide: Any) -> bool:
    """Whether a type holds all values of a narrower one, and files of that can be read as it: in Spark, and in Iceberg as a promotion."""
    if narrow in INTEGERS and wide in INTEGERS:
        return INTEGERS.index(narrow) < INTEGERS.index(wide)
    if (narrow, wide) == ("float", "double"):
        return True
    decimals = [re.fullmatch(r"decimal\((\d+),(\d+)\)", each) if isinstance(each, str) else None for each in (narrow, wide)]
    if decimals[0] and decimals[1]:
        return decimals[0][2] == decimals[1][2] and int(decimals[0][1]) < int(decimals[1][1])
    return False


def differences(before: Schema | None, after: Schema) -> list[str]:
    """What changed from one schema of a table to the next, in words."""
    old = {field["id"]: field for field in shown(before)["fields"]} if before else {}
    new = {field["id"]: field for field in shown(after)["fields"]}
    words = [f"{field['name']} {type_text(field['type'])} added" for id_, field in new.items() if id_ not in old]
    words += [f"{field['name']} removed" for id_, field in old.items() if id_ not in new]
    for id_ in sorted(old.keys() & new.keys()):
        if old[id_]["name"] != new[id_]["name"]:
            words.append(f"{old[id_]['name']} renamed to {new[id_]['name']}")
        if old[id_]["type"] != new[id_]["type"]:
            words.append(f"{new[id_]['name']} widened from {type_text(old[id_]['type'])} to {type_text(new[id_]['type'])}")
    return words if before else []


def _holds(current: Any, given: Any) -> bool:
    return current == given or widens(current, given)


def check_readable(table: str, schema: Schema, format_: str) -> None:
    """Raise Invalid for what Spark would write and could not read again."""
    if not schema["fields"]:
        raise Invalid(f"the data for {table} has no columns")
    if reserved := [name for name in column_names(shown(schema)) if codec.fold(name).startswith((ASIDE, HIDDEN))]:
        word = ASIDE if codec.fold(reserved[0]).startswith(ASIDE) else HIDDEN
        purpose = "rows that are set aside" if word == ASIDE else "the ledger"
        raise Invalid(f"the data for {table} has a column {reserved[0]}: names that begin with {word} are kept for {purpose}")
    for type_ in _types(schema):
        folded = [codec.fold(field["name"]) for field in type_.get("fields", ())]
        if doubled := sorted({name for name in folded if folded.count(name) > 1}):
            raise Invalid(f"the data for {table} has columns that differ only in case: {', '.join(doubled)}")
        if format_ == "jsonl" and not str(type_.get("keyType", "string")).startswith("string"):
            raise Invalid(f"the data for {table} has a map whose keys are no text, which jsonl cannot give back: write it as parquet")


def renamed(schema: Schema, names: Mapping[int, str]) -> Schema:
    """The schema with other names of some columns, by their ids."""
    return {**schema, "fields": [{**field, "name": names.get(field["id"], field["name"])} for field in schema["fields"]]}


def column_names(schema: Schema) -> list[str]:
    """The names of the columns, in order."""
    return [field["name"] for field in schema["fields"]]


def shown(schema: Schema) -> Schema:
    """The schema without what is hidden."""
    return {**schema, "fields": [field for field in schema["fields"] if not field.get("hidden")]}


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


def _free_name(name: str, taken: Container[str], column_id: int) -> str:
    """`name`, or `name_<id>` if the table has used that before."""
    wanted = name if codec.fold(name) not in taken else f"{name}_{column_id}"
    while codec.fold(wanted) in taken:
        wanted = f"{wanted}_"
    return wanted


def _by_name(schema: Schema | None) -> dict[str, Field]:
    return {codec.fold(field["name"]): field for field in schema["fields"]} if schema else {}


def _types(type_: Any) -> Iterator[dict[str, Any]]:
    """A type and all inside it that are more than a word."""
    if isinstance(type_, dict):
        yield type_
        for inner in (*type_.get("fields", ()), *(type_.get(part) for part in ("type", "elementType", "keyType", "valueType"))):
            yield from _types(inner)


def _published(field: Field) -> Field:
    named: dict[str, Any] = {key: field[key] for key in ("physical_name", "hidden") if key in field}
    return {"name": field["name"], "type": _optional(field["type"]), "nullable": True, "metadata": {}, **named}


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
