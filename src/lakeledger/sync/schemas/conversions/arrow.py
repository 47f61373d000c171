"""Arrow schemas. Text and bytes of any size are the same, a dictionary is its values, and an instant is in UTC."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakeledger.errors import Invalid
from lakeledger.sync.schemas.definition import Column, SchemaDefinition
from lakeledger.sync.schemas.types import DataType, Member, array_of, map_of, parse, struct_of

if TYPE_CHECKING:
    import pyarrow as pa

_FROM_ARROW = {
    "int8": "byte",
    "int16": "short",
    "int32": "int",
    "int64": "long",
    "bool": "boolean",
    "date32[day]": "date",
    "null": "void",
    **dict.fromkeys(("string", "large_string", "string_view"), "string"),
    **dict.fromkeys(("binary", "large_binary", "binary_view"), "binary"),
}
_TO_ARROW = {
    "byte": "int8",
    "short": "int16",
    "int": "int32",
    "mediumint": "int32",
    "mediumint unsigned": "uint32",
    "long": "int64",
    "boolean": "bool",
    "date": "date32",
    "void": "null",
    **dict.fromkeys(("tinytext", "mediumtext", "longtext"), "string"),
    **dict.fromkeys(("varbinary", "tinyblob", "mediumblob", "longblob"), "binary"),
    # What is text to Spark's JDBC reader is text here.
    **dict.fromkeys(("char", "varchar", "json", "jsonb", "uuid", "xml", "inet", "citext"), "string"),
}
_PRECISIONS = {"s": 0, "ms": 3, "us": 6, "ns": 9}


def from_arrow(schema: pa.Schema) -> SchemaDefinition:
    """The definition of an Arrow schema. Raises Invalid."""
    return SchemaDefinition([{"name": field.name, "type": _from_arrow(field.type).text, "nullable": field.nullable} for field in schema])


def to_arrow(definition: SchemaDefinition) -> pa.Schema:
    """The Arrow schema. Raises Invalid for a type that Arrow has not."""
    import pyarrow as pa

    return pa.schema([_field(column) for column in definition.fields])


def _field(column: Column) -> pa.Field:
    import pyarrow as pa

    try:
        return pa.field(column.name, _to_arrow(column.data_type), column.nullable)
    except ValueError as error:
        raise Invalid(f"Arrow has no type for column {column.name!r} {column.type}: register it as TEXT") from error


def _from_arrow(type_: pa.DataType) -> DataType:
    from pyarrow import types

    if types.is_dictionary(type_):
        return _from_arrow(type_.value_type)
    if types.is_list(type_) or types.is_large_list(type_) or types.is_fixed_size_list(type_):
        return array_of(_from_arrow(type_.value_type), nullable=type_.value_field.nullable)
    if types.is_map(type_):
        return map_of(_from_arrow(type_.key_type), _from_arrow(type_.item_type), nullable=type_.item_field.nullable)
    if types.is_struct(type_):
        return struct_of(Member(field.name, _from_arrow(field.type), field.nullable) for field in type_)
    return _scalar(getattr(type_, "storage_type", type_))


def _scalar(type_: pa.DataType) -> DataType:
    from pyarrow import types

    if types.is_decimal(type_):
        return DataType("decimal", (type_.precision, type_.scale))
    if types.is_fixed_size_binary(type_):
        return DataType("binary", (type_.byte_width,))
    if types.is_timestamp(type_):
        return parse(f"{'timestamptz' if type_.tz else 'timestamp'}({_PRECISIONS[type_.unit]})")
    if types.is_time(type_):
        return parse(f"time({_PRECISIONS[type_.unit]})")
    return DataType(_FROM_ARROW.get(str(type_), str(type_)))


def _to_arrow(type_: DataType) -> pa.DataType:
    import pyarrow as pa

    match type_.name, type_.members:
        case "array", (element,):
            return pa.list_(_member("item", element))
        case "map", (key, value):
            return pa.map_(_to_arrow(key.type), _member("value", value))
        case "struct", members:
            return pa.struct([_member(member.name, member) for member in members])
    return _to_scalar(type_)


def _member(name: str, member: Member) -> pa.Field:
    import pyarrow as pa

    return pa.field(name, _to_arrow(member.type), member.nullable)


def _to_scalar(type_: DataType) -> pa.DataType:
    import pyarrow as pa

    match type_.name:
        case "decimal":
            precision, scale = type_.arguments or (38, 18)
            return pa.decimal128(precision, scale) if precision <= 38 else pa.decimal256(precision, scale)
        case "binary":
            return pa.binary(*type_.arguments)
        case "time" | "timestamp" | "datetime" | "timestamptz":
            return _clock(type_.name, type_.arguments[0] if type_.arguments else 6)
    name = "string" if type_.name.startswith("enum(") else type_.name
    return pa.type_for_alias(_TO_ARROW.get(name, name))


def _clock(name: str, precision: int) -> pa.DataType:
    import pyarrow as pa

    unit = next((unit for unit, digits in _PRECISIONS.items() if digits >= precision), "ns")
    if name == "time":
        return pa.time32(unit) if unit in ("s", "ms") else pa.time64(unit)
    return pa.timestamp(unit, tz="UTC" if name == "timestamptz" else None)
