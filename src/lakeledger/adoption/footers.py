"""What the footers of Parquet files say: rows, bounds and columns, and the one set of columns that all of them are read by."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lakeledger import codec
from lakeledger.adoption.found import Found
from lakeledger.errors import Invalid
from lakeledger.lake import Bounds, Storage, StoredFile
from lakeledger.lake.parquet import facts_of, read_footer
from lakeledger.tables.schema import ASIDE, HIDDEN, Field, normalise, type_text, widens

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow import parquet

PARALLEL = 8
# As many as files that the ledger writes have bounds of.
BOUNDED_COLUMNS = 32
# A table has a list of all physical names that it ever used.
HIGHEST_ID = 10_000
# What is the same in a folder's name and in a file: whatever else Spark would escape.
_PARTITIONING = ("byte", "short", "integer", "long", "date", "string")
_FOLDER = re.compile(r"-?[A-Za-z0-9][A-Za-z0-9 ._-]*")
_ID = b"PARQUET:field_id"
_PLAIN = {
    "bool": "boolean",
    "int8": "byte",
    "int16": "short",
    "int32": "integer",
    "int64": "long",
    "float": "float",
    "double": "double",
    "date32[day]": "date",
    **dict.fromkeys(("string", "large_string", "string_view"), "string"),
    **dict.fromkeys(("binary", "large_binary", "binary_view"), "binary"),
}


@dataclass(frozen=True)
class Footer:
    """What one file says of itself. A type that Spark cannot read is None, with the reason among the `problems`, by column."""

    path: str
    rows: int
    compression: str
    bounds: Bounds
    types: Mapping[str, Any]
    ids: Mapping[str, int] = field(default_factory=dict)
    problems: Mapping[str, str] = field(default_factory=dict)
    old_times: tuple[str, ...] = ()


@dataclass(frozen=True)
class Columns:
    """The columns of a table to be: its fields with ids and physical names, every name that its files use, by id, and what to know.

    `beside` are columns that files have and the table has not.
    """

    fields: list[Field]
    used: tuple[str, ...]
    beside: tuple[Field, ...] = ()
    notes: tuple[str, ...] = ()


def read_footers(storage: Storage, files: Sequence[StoredFile]) -> list[Footer]:
    """The footers of all files, several read at a time. Raises Invalid that names a file that is no Parquet."""

    def one(file: StoredFile) -> Footer:
        from pyarrow import ArrowException

        try:
            return footer_of(file.path, read_footer(storage, file.path))
        except (ArrowException, FileNotFoundError, OSError) as error:
            raise Invalid(f"{storage.root}/{file.path} cannot be read as Parquet: {str(error).partition(chr(10))[0]}") from error

    with ThreadPoolExecutor(PARALLEL, thread_name_prefix="footers") as pool:
        return list(pool.map(one, files))


def footer_of(path: str, footer: parquet.FileMetaData) -> Footer:
    """What a footer says."""
    schema = footer.schema.to_arrow_schema()
    old = {column.path for index in range(footer.num_columns) if (column := footer.schema.column(index)).physical_type == "INT96"}
    types: dict[str, Any] = {}
    problems: dict[str, str] = {}
    ids: dict[str, int] = {}
    for each in schema:
        try:
            types[each.name] = "timestamp" if each.name in old else _type(each.type)
        except Invalid as error:
            types[each.name], problems[each.name] = None, str(error)
        if each.metadata and _ID in each.metadata:
            ids[each.name] = int(each.metadata[_ID])
        if any(_ID in (inner.metadata or {}) for inner in _inside(each.type)):
            problems.setdefault(each.name, "has ids inside, which the ledger cannot keep")
    plain = [name for name, type_ in types.items() if isinstance(type_, str)]
    facts = facts_of(footer, set(plain[:BOUNDED_COLUMNS]))
    times = tuple(sorted(old & types.keys()))
    return Footer(path, facts.rows, facts.compression, facts.bounds, types, ids, problems, times)


def columns_of(found: Found, footers: Sequence[Footer]) -> Columns:
    """The columns by which all files are read. Raises Invalid that names what does not fit, and in which file."""
    physical, ids, every = _physical_names(found, footers), _ids(found, footers), _every_type(footers)
    _check_readable(found, footers, set(physical.values()))
    given = found.fields
    if given is None:
        given = [{"name": name, "type": type_, "nullable": True, "metadata": {}} for name, type_ in every.items()]
    if not given:
        raise Invalid(f"{found.location} has no columns")
    declared = normalise({"fields": given})["fields"]
    _check_names(found, declared, every)
    for each in declared:
        _check_type(found, each, footers, physical[each["name"]])
    taken = set(ids.values())
    free = iter(number for number in range(1, len(declared) + len(every) + len(taken) + 1) if number not in taken)
    numbered = {each["name"]: ids.get(physical[each["name"]]) or next(free) for each in declared}
    fields = [{**each, "id": numbered[each["name"]], "physical_name": physical[each["name"]]} for each in declared]
    own = {each["physical_name"] for each in fields}
    beside = [{"name": name, "physical_name": name, "type": type_ or "binary"} for name, type_ in every.items() if name not in own]
    used = {each["id"]: each["physical_name"] for each in fields}
    for other in beside:
        used[ids.get(other["name"]) or max(used) + 1] = other["name"]
    names = tuple(used.get(number, f"lakeledger_unused_{number}") for number in range(1, max(used) + 1))
    old = sorted({name for footer in footers for name in footer.old_times})
    notes = (f"{', '.join(old)} are kept as INT96: Spark and DuckDB read them, some readers of Iceberg do not",) if old else ()
    return Columns(fields, names, tuple(beside), notes)


def partition_paths(found: Found, columns: Columns, footers: Sequence[Footer]) -> list[str] | None:
    """The partition of each file, as Spark would call its folder; None unless every file has one plain value of each such column."""
    known = {codec.fold(each["name"]): each for each in columns.fields}
    fields = [known.get(codec.fold(name)) for name in found.partition_by]
    if not fields or any(each is None or each["type"] not in _PARTITIONING for each in fields):
        return None
    paths = []
    for footer in footers:
        values = [_only_value(footer, each["physical_name"]) for each in fields if each]
        if None in values:
            return None
        paths.append("/".join(f"{each['physical_name']}={value}" for each, value in zip(fields, values, strict=True) if each))
    return paths


def _only_value(footer: Footer, column: str) -> str | None:
    """The one value that a file has of a column, if it is a folder's name as it is."""
    bounds = footer.bounds.get(column, {})
    value = bounds.get("min")
    is_one = value is not None and value == bounds.get("max") and bounds.get("nulls") == 0
    return str(value) if is_one and _FOLDER.fullmatch(str(value)) else None


def _check_names(found: Found, declared: Sequence[Field], every: Mapping[str, Any]) -> None:
    names = [each["name"] for each in declared]
    folded = [codec.fold(name) for name in (*names, *(name for name in every if name not in names))]
    if doubled := sorted({name for name in folded if folded.count(name) > 1}):
        raise Invalid(f"{found.location} has columns that differ only in case: {', '.join(doubled)}")
    if reserved := [name for name in names if codec.fold(name).startswith((ASIDE, HIDDEN))]:
        raise Invalid(f"{found.location} has a column {reserved[0]}, a name that the ledger keeps for itself: rename it first")
    folders = {part for file in found.files for part in file.path.split("/")[:-1] if "=" in part} if found.fields is None else set()
    parts = {folder.partition("=")[0] for folder in folders}
    if missing := sorted(part for part in parts if codec.fold(part) not in folded):
        raise Invalid(
            f"{found.location} has {', '.join(missing)} only in the names of its folders, and files do not say it: write the table again "
            "with that column in the files, or load it with source_type files"
        )


def _check_readable(found: Found, footers: Sequence[Footer], wanted: Container[str]) -> None:
    """Raise Invalid for a file that has one of the columns in a way that cannot be read."""
    for footer in footers:
        if odd := next((name for name in footer.problems if name in wanted), None):
            raise Invalid(f"{found.location}/{footer.path}: column {odd} {footer.problems[odd]}; write the table again without it")
        if footer.ids and (bare := [name for name in footer.types if name not in footer.ids]):
            raise Invalid(f"{found.location}/{footer.path} has ids for some columns and none for {bare[0]}: write the table again")


def _check_type(found: Found, declared: Field, footers: Sequence[Footer], physical: str) -> None:
    """Raise Invalid unless every file that has the column can be read as what is declared."""
    for footer in footers:
        type_ = footer.types.get(physical)
        if type_ is not None and not _same(type_, declared["type"]) and not widens(type_, declared["type"]):
            raise Invalid(
                f"{found.location}/{footer.path} has column {physical} as {type_text(type_)}, and the table as "
                f"{type_text(declared['type'])}, which is not the same: write one of them again"
            )


def _every_type(footers: Sequence[Footer]) -> dict[str, Any]:
    """Every column that a file has, in the order in which they come, with the widest of its types."""
    every: dict[str, Any] = {}
    for footer in footers:
        for name, type_ in footer.types.items():
            if name not in every or widens(every[name], type_):
                every[name] = type_
    return every


def _physical_names(found: Found, footers: Sequence[Footer]) -> dict[str, str]:
    """What each declared column is called in the files: by its id where there are ids. Raises Invalid if it has several names."""
    names: dict[int, str] = {}
    for footer in footers if found.ids else ():
        for name, id_ in footer.ids.items():
            if names.setdefault(id_, name) != name:
                raise Invalid(
                    f"column {id_} of {found.location} is called {names[id_]} in some files and {name} in {footer.path}: it was renamed, "
                    "and Spark finds columns by name; rewrite its data files first"
                )
    if found.fields is None:
        return {name: name for footer in footers for name in footer.types}
    called = {str(each["name"]): found.ids.get(each["name"], 0) for each in found.fields}
    return {column: names.get(id_, column) for column, id_ in called.items()}


def _ids(found: Found, footers: Sequence[Footer]) -> dict[str, int]:
    """The ids of columns, by their names in the files; none where nobody gave any. Raises Invalid where they contradict each other."""
    ids: dict[str, int] = {}
    for footer in footers:
        for name, id_ in footer.ids.items():
            if ids.setdefault(name, id_) != id_:
                raise Invalid(
                    f"column {name} of {found.location} has the id {ids[name]} in some files and {id_} in {footer.path}: it was dropped "
                    "and added again, and Spark finds columns by name; rewrite its data files first"
                )
    for name, id_ in found.ids.items():
        if id_ not in ids.values():
            ids.setdefault(name, id_)
    numbers = list(ids.values())
    if len(set(numbers)) < len(numbers) or any(not 0 < id_ <= HIGHEST_ID for id_ in numbers):
        raise Invalid(f"the columns of {found.location} have ids in its files that the ledger cannot keep: write the table again")
    return ids


def _same(one: Any, other: Any) -> bool:
    """Whether types are the same, whatever may be NULL in them."""
    if isinstance(one, dict) and isinstance(other, dict):
        return type_text(one) == type_text(other)
    return bool(one == other)


def _inside(type_: pa.DataType) -> Iterator[pa.Field]:
    for index in range(type_.num_fields):
        yield type_.field(index)
        yield from _inside(type_.field(index).type)


def _type(type_: pa.DataType) -> Any:  # noqa: PLR0911 - one for each kind of type
    """A type as Spark reads it from Parquet. Raises Invalid for one that it cannot."""
    from pyarrow import types

    if types.is_dictionary(type_):
        return _type(type_.value_type)
    if types.is_list(type_) or types.is_large_list(type_):
        return {"type": "array", "elementType": _type(type_.value_type), "containsNull": True}
    if types.is_map(type_):
        return {"type": "map", "keyType": _type(type_.key_type), "valueType": _type(type_.item_type), "valueContainsNull": True}
    if types.is_struct(type_):
        return {"type": "struct", "fields": [_inner(each) for each in type_]}
    if types.is_decimal128(type_):
        return f"decimal({type_.precision},{type_.scale})"
    if types.is_timestamp(type_) and type_.unit in ("ms", "us"):
        return "timestamp" if type_.tz else "timestamp_ntz"
    if str(type_) not in _PLAIN:
        raise Invalid(f"is {type_}, which Spark does not read from Parquet")
    return _PLAIN[str(type_)]


def _inner(each: pa.Field) -> Field:
    return {"name": each.name, "type": _type(each.type), "nullable": True, "metadata": {}}
