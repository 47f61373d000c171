"""A table's columns added, renamed and dropped, without touching a file: they carry physical names, which stay what they were."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from lakeledger import codec
from lakeledger.config import suggest
from lakeledger.errors import Conflict, Invalid, NotFound
from lakeledger.names import TableName
from lakeledger.tables import store
from lakeledger.tables.change import prefix_of
from lakeledger.tables.model import Change, Layout, Table, TableMetadata
from lakeledger.tables.schema import Schema, check_readable, column_names, identify, shown

if TYPE_CHECKING:
    from sqlglot import exp

Alteration = Callable[[TableName, TableMetadata], tuple[Schema, Layout]]

# What sqlglot calls a type, and what a schema of Spark does.
_PLAIN = {
    "TINYINT": "byte",
    "SMALLINT": "short",
    "INT": "integer",
    "BIGINT": "long",
    "FLOAT": "float",
    "DOUBLE": "double",
    "TEXT": "string",
    "BOOLEAN": "boolean",
    "DATE": "date",
    "TIMESTAMPTZ": "timestamp",
    "TIMESTAMPLTZ": "timestamp",
    "TIMESTAMPNTZ": "timestamp_ntz",
    "BINARY": "binary",
    "VARIANT": "variant",
}
_DIGITS = 38


def altered(table: Table, known: TableMetadata, alteration: Alteration, batch_id: str) -> Change:
    """The change of the table that is nothing but this alteration. Raises Invalid, NotFound or Conflict."""
    schema, layout = alteration(table.name, known)
    check_readable(str(table.name), schema, layout.format)
    if new := [field for field in schema["fields"] if "id" not in field]:
        named, _ = identify({"fields": new}, None, known.columns, prefix_of(table.name, table.location))
        schema = {**schema, "fields": [field for field in schema["fields"] if "id" in field] + named["fields"]}
    return Change(table.name, table.location, "alter", schema, layout, [], batch_id=batch_id)


def add(name: str, type_: str) -> Alteration:
    """A new column, NULL in the rows that are there. Raises Invalid if there is no such type."""
    parsed = parse_type(type_)

    def alteration(table: TableName, known: TableMetadata) -> tuple[Schema, Layout]:
        _check_free(table, known, name)
        field = {"name": name, "type": parsed, "nullable": True, "metadata": {}}
        grown = {"type": "struct", "fields": [*known.schema["fields"], field]}
        return grown, store.layout_of(known)

    return alteration


def rename(name: str, to: str) -> Alteration:
    """The same column under another name."""

    def alteration(table: TableName, known: TableMetadata) -> tuple[Schema, Layout]:
        place = _place(table, known, name)
        if codec.fold(to) != codec.fold(name):
            _check_free(table, known, to)
        fields = [{**field, "name": to} if index == place else field for index, field in enumerate(known.schema["fields"])]
        partition_by, sort_by = (
            tuple(to if codec.fold(each) == codec.fold(name) else each for each in by) for by in (known.partition_by, known.sort_by)
        )
        return {"type": "struct", "fields": fields}, Layout(known.format, partition_by, sort_by)

    return alteration


def drop(name: str) -> Alteration:
    """The table without the column; earlier versions keep it."""

    def alteration(table: TableName, known: TableMetadata) -> tuple[Schema, Layout]:
        place = _place(table, known, name)
        if codec.fold(name) in map(codec.fold, known.partition_by):
            raise Invalid(f"{table} is partitioned by {name}: overwrite the whole table with other partitions first")
        if codec.fold(name) in map(codec.fold, known.sort_by):
            raise Invalid(f"{table} is sorted by {name}: give it another order first (sort_by)")
        fields = [field for index, field in enumerate(known.schema["fields"]) if index != place]
        if not shown({"fields": fields})["fields"]:
            raise Invalid(f"{name} is the only column of {table}: a table has at least one")
        return {"type": "struct", "fields": fields}, store.layout_of(known)

    return alteration


def parse_type(text: str) -> Any:
    """A type as people write it, `decimal(10,2)` or `array<string>`, as schemas have it. Raises Invalid."""
    import sqlglot
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

    try:
        type_ = exp.DataType.build(text, dialect="databricks")
        # What stands behind a type is silently left out.
        is_whole = len(sqlglot.tokenize(text)) == len(sqlglot.tokenize(type_.sql("databricks")))
    except SqlglotError as error:
        raise _unknown(text) from error
    if not is_whole:
        raise _unknown(text)
    return _spark_type(type_, text)


def _spark_type(type_: exp.DataType, text: str) -> Any:
    name = getattr(type_.this, "name", None)
    inner = [getattr(each, "kind", None) or each for each in type_.expressions]
    match name:
        case "ARRAY" if len(inner) == 1:
            return {"type": "array", "elementType": _spark_type(inner[0], text), "containsNull": True}
        case "MAP" if len(inner) == 2:
            key, value = (_spark_type(each, text) for each in inner)
            return {"type": "map", "keyType": key, "valueType": value, "valueContainsNull": True}
        case "STRUCT" if inner:
            fields = [(each.name, _spark_type(kind, text)) for each, kind in zip(type_.expressions, inner, strict=True)]
            return {"type": "struct", "fields": [{"name": each, "type": kind, "nullable": True, "metadata": {}} for each, kind in fields]}
        case "DECIMAL":
            precision, scale = (*(int(each.name) for each in type_.expressions), *(10, 0)[len(type_.expressions) :])[:2]
            if not 0 < precision <= _DIGITS or not 0 <= scale <= precision:
                raise Invalid(f"{text!r} is no type: a decimal has 1 to {_DIGITS} digits, and no more than these behind the point")
            return f"decimal({precision},{scale})"
        case _ if name in _PLAIN and not inner:
            return _PLAIN[name]
    raise _unknown(text)


def _unknown(text: str) -> Invalid:
    return Invalid(f"{text!r} is no type: use Spark's, such as string, int, long, double, decimal(10,2), date, timestamp or array<string>")


def _place(table: TableName, known: TableMetadata, name: str) -> int:
    names = column_names(shown(known.schema))
    folded = [codec.fold(each) for each in names]
    if codec.fold(name) not in folded:
        raise NotFound(f"{table} has no column {name!r}: it has {', '.join(names)}{suggest(name, names)}")
    return [codec.fold(each) for each in column_names(known.schema)].index(codec.fold(name))


def _check_free(table: TableName, known: TableMetadata, name: str) -> None:
    if not name.strip():
        raise Invalid(f"a column of {table} needs a name")
    if codec.fold(name) in map(codec.fold, column_names(known.schema)):
        raise Conflict(f"{table} already has a column {name}")
