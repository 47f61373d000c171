"""The columns of the control table and of its modules table, and the way from Arrow to rows and back.

Arrow is here the library that delta-rs brings along: pyarrow takes longer to load than all of `lakeledger control list`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any, Literal

from arro3.core import Array, ChunkedArray, DataType, Field, Table

from lakeledger.control.model import JobRow, ModuleRow, SourceRow, UnreadableRow
from lakeledger.errors import Invalid

TIMES = ("created_timestamp", "updated_timestamp")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_TYPES = {
    **dict.fromkeys(("execution_order", "timeout_seconds", "max_concurrent_runs"), "integer"),
    **dict.fromkeys(TIMES, "timestamp"),
    "is_active": "boolean",
    "control_version": "long",
}
_WHOLE = ("byte", "short", "integer", "long")
_FITS = {"integer": _WHOLE, "long": _WHOLE, "timestamp": ("timestamp", "timestamp_ntz")}


@dataclass(frozen=True)
class Columns:
    """What a table is made of: its row, and what must not, or need not, be said in it."""

    table: Literal["sources", "modules", "jobs"]
    row: type[SourceRow] | type[ModuleRow] | type[JobRow]
    key: tuple[str, ...]
    needed: tuple[str, ...]
    configs: tuple[str, ...] = ()
    defaults: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(each.name for each in fields(self.row))

    @property
    def said(self) -> tuple[str, ...]:
        """The columns that people fill in; the two times are the table's."""
        return self.names[:-2]

    def type(self, name: str) -> str:
        """The type of a column, in the word that Delta and Spark share."""
        return _TYPES.get(name, "string")


SOURCES = Columns(
    table="sources",
    row=SourceRow,
    key=("module_name", "source_id"),
    needed=("source_id", "module_name", "source_type", "execution_order", "is_active"),
    configs=("source_config", "target_config", "transformation_config"),
    defaults={
        "execution_order": "1",
        "source_config": "'{}'",
        "target_config": "'{}'",
        "transformation_config": "'{}'",
        "is_active": "true",
    },
)
MODULES = Columns(
    table="modules",
    row=ModuleRow,
    key=("module_name",),
    needed=("module_name",),
    configs=("schedule", "trigger", "parameters", "tags", "notifications"),
)
JOBS = Columns(table="jobs", row=JobRow, key=("module_name", "backend"), needed=("module_name", "backend", "job_id"))


def check(columns: Columns, types: Mapping[str, str], where: str) -> None:
    """Raises Invalid that names every column that is missing or has another type. Columns that people added are theirs."""
    problems = []
    for name in columns.names:
        wanted = columns.type(name)
        if name not in types:
            problems.append(f"column {name} ({wanted}) is missing")
        elif types[name] not in _FITS.get(wanted, (wanted,)):
            problems.append(f"column {name} is {types[name]}, not {wanted}")
    if problems:
        raise Invalid(f"{where} is no control table: {'; '.join(problems)}")


def rows(columns: Columns, data: Table) -> tuple[dict[Any, Any], tuple[UnreadableRow, ...]]:
    """The rows by key, and those that cannot be read."""
    made: list[Any] = list(map(columns.row, *_values(columns, data)))
    found = {row.key: row for row in made}
    missing = [name for name in columns.needed if data.column(name).null_count]
    if len(found) == len(made) and not missing:
        return found, ()
    problems = tuple(_problems(columns, made, missing))
    bad = {problem.row_number for problem in problems}
    return {row.key: row for number, row in enumerate(made, 1) if number not in bad}, problems


def changed_modules(columns: Columns, before: Table | None, after: Table | None) -> set[Any]:
    """The modules of which a row is not, letter by letter, in both tables; the times do not count. Only such rows are looked at singly."""
    place = columns.said.index("module_name")
    one, other = (Counter(_lines(columns, data)) if data is not None else Counter() for data in (before, after))
    return {line[place] for line, _ in one.items() ^ other.items()}


def only(data: Table, modules: Collection[str]) -> Table:
    """The rows of these modules."""
    if not data.num_rows:
        return data
    places = _places(index for index, name in enumerate(_list(data.column("module_name"))) if name in modules)
    return Table.from_arrays([_taken(data, each.name, places) for each in _fields(data)], schema=data.schema)


def edited(columns: Columns, data: Table, edits: Mapping[Any, Any]) -> Table:
    """The table after the edits. All rows with an edited key give way to the new one, which keeps what people added in other columns.

    Raises Invalid if a new row lacks what people require there.
    """
    keys = list(_keys(columns, data))
    before = {key: index for index, key in enumerate(keys) if key in edits}
    kept = _places(index for index, key in enumerate(keys) if key not in edits)
    put = {key: row for key, row in edits.items() if row is not None}
    places = _places(before.get(key) for key in put)
    made = []
    for each in _fields(data):
        own = each.name in columns.names
        added = _array([getattr(row, each.name) for row in put.values()], each.type) if own else _taken(data, each.name, places)
        if added.null_count and not each.nullable:
            raise Invalid(f"a new row has no value for the column {each.name}, which is NOT NULL: add it through Spark, or let it be NULL")
        made.append(ChunkedArray([_taken(data, each.name, kept), added] if data.num_rows else [added]))
    return Table.from_arrays(made, schema=data.schema)


def _fields(data: Table) -> list[Field]:
    return [data.schema.field(name) for name in data.schema.names]


def _list(column: ChunkedArray) -> list[Any]:
    found: Any = column.to_pylist()  # a list, whatever its types say
    return list(found)


def _taken(data: Table, name: str, places: Array) -> Array:
    """The values of a column at these places."""
    column = data.column(name)
    if not column.num_chunks:
        import pyarrow as pa  # of a table without rows, the columns that people added: only there it is needed

        return Array.from_arrow(pa.nulls(len(places), pa.field(data.schema.field(name)).type))
    return column.combine_chunks().take(places)


def _places(indices: Iterable[int | None]) -> Array:
    return Array(list(indices), DataType.int64())


def _array(values: list[Any], type: DataType) -> Array:
    """Values of Python as a column; times go by way of their microseconds."""
    if type.time_unit is None:
        return Array(values, type)
    counted = Array([None if each is None else (each - EPOCH) // timedelta(microseconds=1) for each in values], DataType.int64())
    return counted.cast(DataType.timestamp("us")).cast(type)


def _lines(columns: Columns, data: Table) -> Iterator[tuple[Any, ...]]:
    """Each row, without its times."""
    return zip(*(_list(data.column(name)) for name in columns.said), strict=True)


def _keys(columns: Columns, data: Table) -> Iterable[Any]:
    found = [_list(data.column(name)) for name in columns.key]
    return zip(*found, strict=True) if len(found) > 1 else found[0]


def _values(columns: Columns, data: Table) -> Iterator[list[Any]]:
    """Column by column, because ten thousand rows are read faster so. A source's config that was not given is an empty one."""
    for name in columns.names:
        column = data.column(name)
        if name in TIMES:
            yield _times(column)
        elif columns.table == "sources" and name in columns.configs and column.null_count:
            yield ["{}" if each is None else each for each in _list(column)]
        else:
            yield _list(column)


def _times(column: ChunkedArray) -> list[Any]:
    """One commit gives all its rows the same time, so each time is made only once."""
    counted = _list(column.cast(DataType.timestamp("us", tz=column.type.tz)).cast(DataType.int64()))
    known = {each: EPOCH + timedelta(microseconds=each) for each in {*counted} if each is not None}
    return [known.get(each) for each in counted]


def _problems(columns: Columns, made: list[Any], missing: list[str]) -> Iterator[UnreadableRow]:
    doubled = {key: count for key, count in Counter(row.key for row in made).items() if count > 1}
    numbers: dict[Any, list[int]] = {key: [] for key in doubled}
    for number, row in enumerate(made, 1):
        if row.key in doubled:
            numbers[row.key].append(number)
    for number, row in enumerate(made, 1):
        key = (row.module_name, getattr(row, "source_id", None))
        values = {name: getattr(row, name) for name in columns.names}
        for name in missing:
            if values[name] is None:
                yield UnreadableRow(number, key, name, "is NULL: give it a value, or delete the row", columns.table, values)
        if row.key in doubled:
            others = ", ".join(str(other) for other in numbers[row.key] if other != number)
            message = f"the same key is in row {others} too: delete all but one"
            yield UnreadableRow(number, key, columns.key[-1], message, columns.table, values)
