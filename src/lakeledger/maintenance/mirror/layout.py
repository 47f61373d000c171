"""The lake's own tables: which there are, how they are laid out, and which columns they have by the JSON files that declare them."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

from lakeledger import codec
from lakeledger.errors import Invalid
from lakeledger.tables.schema import DAY_OF, HIDDEN, Schema, normalise, shown, type_text, widens

# The schema that they are in is called after the tenant.
SUFFIX = "_metadata"
# What the hash of a key says in the lake.
REDACTED = "redacted"

_TYPES = {
    "STRING": "string",
    "JSON": "string",
    "INTEGER": "long",
    "INT64": "long",
    "FLOAT": "double",
    "FLOAT64": "double",
    "NUMERIC": "decimal(38,9)",
    "BOOLEAN": "boolean",
    "BOOL": "boolean",
    "TIMESTAMP": "timestamp",
    "DATE": "date",
}
_MODES = ("REQUIRED", "NULLABLE")


@dataclass(frozen=True)
class LakeTable:
    """One of the tables. `at` orders its rows in the ledger; it is partitioned by the day of a column or by a date; `constant` columns
    have that value in the lake, whatever the ledger has.
    """

    name: str
    key: str
    at: str
    day_of: str | None = None
    date: str | None = None
    cluster: tuple[str, ...] = ()
    constant: Mapping[str, str] = field(default_factory=dict)

    @property
    def partition_by(self) -> tuple[str, ...]:
        """The column by which its files are partitioned."""
        return (f"{DAY_OF}{self.day_of}",) if self.day_of else (self.date,) if self.date else ()

    @property
    def needed(self) -> tuple[str, ...]:
        """The columns without which it cannot be filled."""
        return tuple(name for name in (self.key, self.day_of or self.date) if name)


TABLES = {
    each.name: each
    for each in (
        LakeTable(
            "pipeline_runs", "pipeline_logging_id", "start_time", day_of="start_time", cluster=("tenant_id", "pipeline_id", "status")
        ),
        LakeTable("step_logs", "step_logging_id", "start_time", day_of="start_time", cluster=("pipeline_logging_id", "status")),
        LakeTable("api_keys", "api_key_id", "created_at", constant={"api_key_hash": REDACTED}),
        LakeTable(
            "dq_results", "dq_result_id", "executed_at", date="ingestion_date", cluster=("tenant_id", "target_table", "overall_status")
        ),
    )
}


@dataclass(frozen=True)
class Column:
    """A column as a JSON file declares it, in BigQuery's words."""

    name: str
    type: str
    mode: str
    description: str

    @property
    def spark_type(self) -> str:
        return _TYPES[self.type]


@dataclass(frozen=True)
class Declared:
    """The columns of a table, and where they are declared."""

    table: LakeTable
    columns: tuple[Column, ...]
    place: str

    @property
    def schema(self) -> Schema:
        """The table's columns; the day by which its files are partitioned is hidden."""
        fields: list[dict[str, Any]] = [{"name": each.name, "type": each.spark_type} for each in self.columns]
        if self.table.day_of:
            fields.append({"name": self.table.partition_by[0], "type": "date", "hidden": True})
        return normalise({"fields": fields})

    @property
    def order(self) -> tuple[str, ...]:
        """The columns by which rows are clustered, as far as they are declared."""
        names = {codec.fold(each.name) for each in self.columns}
        return tuple(name for name in self.table.cluster if codec.fold(name) in names)


def declared(name: str, folder: Path) -> Declared:
    """The columns of a table: those of the project's own file in that folder, or ours. Raises Invalid that names the file."""
    table, own = find(name), folder / f"{name}.json"
    if own.is_file():
        return parse(table, own.read_bytes(), str(own))
    ours = files("lakeledger.schemas").joinpath("tables", f"{name}.json")
    return parse(table, ours.read_bytes(), f"lakeledger/schemas/tables/{name}.json")


def find(name: str) -> LakeTable:
    """The table of that name. Raises Invalid."""
    if name not in TABLES:
        raise Invalid(f"{name!r} is none of the lake's own tables: choose from {', '.join(TABLES)}")
    return TABLES[name]


def parse(table: LakeTable, content: bytes, place: str) -> Declared:
    """The columns that a file declares. Raises Invalid that names the file, the column and what to write."""
    try:
        document = json.loads(content)
    except ValueError as error:
        raise Invalid(f"{place} is no JSON: {error}") from error
    if not isinstance(document, list) or not all(isinstance(each, dict) for each in document):
        raise Invalid(f"{place} must be a list of columns, each with name, type, mode and description")
    columns = tuple(_column(each, place) for each in document)
    names = [codec.fold(each.name) for each in columns]
    if doubled := next((each.name for each in columns if names.count(codec.fold(each.name)) > 1), None):
        raise Invalid(f"{place} declares {doubled} twice: leave one of them out")
    if missing := [each for each in table.needed if each not in names]:
        raise Invalid(f"{place} lacks {', '.join(missing)}, by which rows of {table.name} are found and partitioned: put it back")
    return Declared(table, columns, place)


def _column(document: Mapping[str, Any], place: str) -> Column:
    name, type_, mode = document.get("name"), str(document.get("type", "")).upper(), str(document.get("mode", "NULLABLE")).upper()
    if not isinstance(name, str) or not name.isidentifier() or codec.fold(name).startswith(HIDDEN):
        raise Invalid(f"{place} has a column called {name!r}: write letters, digits and underscores")
    if type_ not in _TYPES:
        raise Invalid(f"{place}: column {name} has the type {document.get('type')!r}: write one of {', '.join(_TYPES)}")
    if mode not in _MODES:
        raise Invalid(f"{place}: column {name} has the mode {document.get('mode')!r}: write {' or '.join(_MODES)}")
    return Column(name, type_, mode, str(document.get("description", "")))


def check_fillable(wanted: Declared, known: Collection[str]) -> None:
    """Raise Invalid if a column must have a value and the ledger has none for it: `known` are the ledger's columns."""
    for each in wanted.columns:
        if each.mode == "REQUIRED" and each.name not in known:
            raise Invalid(f"{wanted.place}: column {each.name} is REQUIRED, and the ledger has no such column: make it NULLABLE")


def losses(current: Schema, wanted: Declared) -> list[str]:
    """What of a table as it is would be lost by the declared columns, in words: columns that are gone, and types that hold less."""
    told = {codec.fold(each.name): each.spark_type for each in wanted.columns}
    words = []
    for known in shown(current)["fields"]:
        type_ = told.get(codec.fold(known["name"]))
        if type_ is None:
            words.append(f"column {known['name']} is gone")
        elif type_ != known["type"] and not widens(known["type"], type_):
            words.append(f"column {known['name']} is {type_text(known['type'])} and would be {type_}")
    return words


def grows(current: Schema, wanted: Declared) -> bool:
    """Whether the table gets columns or wider types by the declared ones."""
    known = {codec.fold(each["name"]): each["type"] for each in current["fields"]}
    return any(known.get(codec.fold(each.name)) != each.spark_type for each in wanted.columns)


def refuse(name: str, lost: Sequence[str], wanted: Declared) -> Invalid:
    """The error for a change that would lose data: what it would lose, and the ways on."""
    return Invalid(
        f"{wanted.place} would lose data of {name}: {', '.join(lost)}. Put it back; or begin a new table beside it with "
        f"`lakeledger mirror recreate {wanted.table.name} --as {wanted.table.name}_v2 --apply`; or make it anew, with a backup, with "
        f"`lakeledger mirror recreate {wanted.table.name} --apply`"
    )
