"""The columns of the control table and of its modules table, and the way from Arrow to rows and back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from lakeledger.control.model import JobRow, ModuleRow, SourceRow, UnreadableRow
from lakeledger.errors import Invalid

if TYPE_CHECKING:
    import pyarrow as pa

TIMES = ("created_timestamp", "updated_timestamp")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

_TYPES = {
    **dict.fromkeys(("execution_order", "timeout_seconds", "max_concurrent_runs"), "integer"),
    **dict.fromkeys(TIMES, "timestamp"),
    "is_active": "boolean",
    "control_version": "long",
}


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


def check(columns: Columns, schema: pa.Schema, where: str) -> None:
    """Raises Invalid that names every column that is missing or has another type. Columns that people added are theirs."""
    problems = []
    for name in columns.names:
        wanted = columns.type(name)
        if name not in schema.names:
            problems.append(f"column {name} ({wanted}) is missing")
        elif not _is(schema.field(name).type, wanted):
            problems.append(f"column {name} is {schema.field(name).type}, not {wanted}")
    if problems:
        raise Invalid(f"{where} is no control table: {'; '.join(problems)}")


def rows(columns: Columns, data: pa.Table) -> tuple[dict[Any, Any], tuple[UnreadableRow, ...]]:
    """The rows by key, and those that cannot be read."""
    made: list[Any] = list(map(columns.row, *_values(columns, data)))
    found = {row.key: row for row in made}
    missing = [name for name in columns.needed if data.column(name).null_count]
    if len(found) == len(made) and not missing:
        return found, ()
    problems = tuple(_problems(columns, made, missing))
    bad = {problem.row_number for problem in problems}
    return {row.key: row for number, row in enumerate(made, 1) if number not in bad}, problems


def changed_modules(columns: Columns, before: pa.Table | None, after: pa.Table | None) -> set[Any]:
    """The modules of which a row is not, letter by letter, in both tables; the times do not count. Only such rows are looked at singly."""
    names: dict[str, Any] = {}
    counts: list[Counter[str]] = []
    for data in (before, after):
        lines = _lines(columns, data) if data is not None else []
        names |= zip(lines, data.column("module_name").to_pylist(), strict=True) if data is not None else ()
        counts.append(Counter(lines))
    one, other = counts
    return {names[line] for line, _ in one.items() ^ other.items()}


def only(data: pa.Table, modules: Collection[str]) -> pa.Table:
    """The rows of these modules."""
    import pyarrow as pa
    import pyarrow.compute as pc

    return data.filter(pc.is_in(data.column("module_name"), pa.array(list(modules), data.schema.field("module_name").type)))


def edited(columns: Columns, data: pa.Table, edits: Mapping[Any, Any]) -> pa.Table:
    """The table after the edits. All rows with an edited key give way to the new one, which keeps what people added in other columns."""
    import pyarrow as pa

    keys = list(_keys(columns, data))
    before = {key: index for index, key in enumerate(keys) if key in edits}
    kept = data.take(pa.array([index for index, key in enumerate(keys) if key not in edits], pa.int64()))
    put = {key: row for key, row in edits.items() if row is not None}
    places = pa.array([before.get(key) for key in put], pa.int64())
    added = [
        pa.array([getattr(row, each.name) for row in put.values()], each.type)
        if each.name in columns.names
        else data.column(each.name).combine_chunks().take(places)
        for each in data.schema
    ]
    return pa.concat_tables([kept, pa.Table.from_arrays(added, schema=data.schema)])


def _lines(columns: Columns, data: pa.Table) -> list[str]:
    """Each row as one text: how long each of its values is, then the values."""
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = [pc.cast(data.column(name), pa.string()) for name in columns.said]
    lengths = [pc.cast(pc.fill_null(pc.binary_length(text), -1), pa.string()) for text in texts]
    found: list[str] = pc.binary_join_element_wise(*lengths, *(pc.fill_null(text, "") for text in texts), ",").to_pylist()
    return found


def _keys(columns: Columns, data: pa.Table) -> Iterable[Any]:
    found = [data.column(name).to_pylist() for name in columns.key]
    return zip(*found, strict=True) if len(found) > 1 else found[0]


def _values(columns: Columns, data: pa.Table) -> Iterator[list[Any]]:
    """Column by column, because ten thousand rows are read faster so. A source's config that was not given is an empty one."""
    import pyarrow.compute as pc

    for name in columns.names:
        column = data.column(name)
        if name in TIMES:
            yield _times(column)
        elif columns.table == "sources" and name in columns.configs and column.null_count:
            yield pc.fill_null(column, "{}").to_pylist()
        else:
            yield column.to_pylist()


def _times(column: pa.ChunkedArray) -> list[Any]:
    """One commit gives all its rows the same time, so each time is made only once. Arrow would load pandas to make one."""
    import pyarrow as pa

    encoded = column.combine_chunks().dictionary_encode()
    counted = encoded.dictionary.cast(pa.timestamp("us"), safe=False).cast(pa.int64()).to_pylist()
    known = [EPOCH + timedelta(microseconds=each) for each in counted]
    return [None if index is None else known[index] for index in encoded.indices.to_pylist()]


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


def _is(type_: pa.DataType, wanted: str) -> bool:
    from pyarrow import types

    match wanted:
        case "integer" | "long":
            return bool(types.is_integer(type_))
        case "boolean":
            return bool(types.is_boolean(type_))
        case "timestamp":
            return bool(types.is_timestamp(type_))
        case _:
            return any(is_text(type_) for is_text in (types.is_string, types.is_large_string, types.is_string_view))
