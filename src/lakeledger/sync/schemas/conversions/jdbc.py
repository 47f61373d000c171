"""Columns as JDBC's `DatabaseMetaData.getColumns` or an `information_schema.columns` gives them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from lakeledger.errors import Invalid
from lakeledger.sync.schemas.definition import Column, Document, SchemaDefinition
from lakeledger.sync.schemas.types import DataType, parse

_NAMES = {
    "byte": "TINYINT",
    "short": "SMALLINT",
    "int": "INTEGER",
    "long": "BIGINT",
    "uint8": "TINYINT UNSIGNED",
    "uint16": "SMALLINT UNSIGNED",
    "uint32": "INTEGER UNSIGNED",
    "uint64": "BIGINT UNSIGNED",
    "float": "REAL",
    "double": "DOUBLE PRECISION",
    "string": "TEXT",
}
_SIZED = ("char", "varchar", "binary", "varbinary", "decimal")
_UNSIZED = ("text", "ntext", "string", "clob", "nclob")  # what drivers say of these is no limit that anybody chose
_UNLIMITED = 2**31 - 1  # what drivers say of a text without a limit
_GREATEST_PRECISION = 1000  # PostgreSQL's; what is beyond it, or 0, says that there is no limit
_REQUIRED = (0, "no", "n")


def from_jdbc(rows: Iterable[Mapping[str, Any]], *, primary_keys: Sequence[str] = (), indexes: Sequence[Document] = ()) -> SchemaDefinition:
    """The definition of a table from one row per column, with names in any case. Raises Invalid."""
    folded = [{word.upper(): value for word, value in row.items()} for row in rows]
    ordered = sorted(folded, key=lambda row: int(row.get("ORDINAL_POSITION") or 0))
    return SchemaDefinition([_column(row) for row in ordered], list(primary_keys), list(indexes))


def to_jdbc(definition: SchemaDefinition) -> list[Document]:
    """One row per column as `getColumns` gives them."""
    return [_row(column, place) for place, column in enumerate(definition.fields, start=1)]


def _column(row: Mapping[str, Any]) -> Document:
    nullable = _first(row, "NULLABLE", "IS_NULLABLE")
    required = (nullable.lower() if isinstance(nullable, str) else nullable) in _REQUIRED
    column = {"name": row.get("COLUMN_NAME"), "type": _type(row), "nullable": not required}
    told = {"default": _first(row, "COLUMN_DEF", "COLUMN_DEFAULT"), "comment": _first(row, "REMARKS", "COLUMN_COMMENT") or None}
    return column | {word: value for word, value in told.items() if value is not None}


def _type(row: Mapping[str, Any]) -> str:
    """The type with its size, unless it says its size itself."""
    name = _first(row, "TYPE_NAME", "COLUMN_TYPE", "DATA_TYPE")
    if not isinstance(name, str):
        raise Invalid(f"column {row.get('COLUMN_NAME')!r} has no TYPE_NAME, only {name!r}")
    if name.upper() in ("ARRAY", "USER-DEFINED"):
        name = str(row.get("UDT_NAME") or name)
    if "(" in name or name.lower() in _UNSIZED:
        return name
    return f"{name}{_size(row, 'bit' if name.lower() == 'bit' else parse(f'{name}(1)').name)}"


def _size(row: Mapping[str, Any], kind: str) -> str:
    size = int(_first(row, "COLUMN_SIZE", "CHARACTER_MAXIMUM_LENGTH", "NUMERIC_PRECISION") or 0)
    match kind:
        case "char" | "varchar" | "binary" | "varbinary" | "bit" if 0 < size < _UNLIMITED:
            return f"({size})"
        case "decimal" if 0 < size <= _GREATEST_PRECISION:
            return f"({size},{int(_first(row, 'DECIMAL_DIGITS', 'NUMERIC_SCALE') or 0)})"
        case "time" | "timestamp" | "datetime" | "timestamptz" if row.get("DATETIME_PRECISION") is not None:
            return f"({row['DATETIME_PRECISION']})"
    return ""


def _row(column: Column, place: int) -> Document:
    type_ = column.data_type
    sized = type_.name in _SIZED
    size, digits, *_ = (*(type_.arguments if sized else ()), None, None)
    return {
        "COLUMN_NAME": column.name,
        "TYPE_NAME": _NAMES.get(type_.name) or (type_.name.upper() if sized else _own_name(type_)),
        "COLUMN_SIZE": size,
        "DECIMAL_DIGITS": digits,
        "NULLABLE": int(column.nullable),
        "IS_NULLABLE": "YES" if column.nullable else "NO",
        "COLUMN_DEF": column.default,
        "REMARKS": column.comment,
        "ORDINAL_POSITION": place,
    }


def _own_name(type_: DataType) -> str:
    return type_.text.upper() if type_.known and not type_.members else type_.text


def _first(row: Mapping[str, Any], *words: str) -> Any:
    return next((row[word] for word in words if row.get(word) is not None), None)
