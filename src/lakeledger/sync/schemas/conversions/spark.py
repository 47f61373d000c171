"""Spark schemas, by way of their JSON."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import TYPE_CHECKING, Any

from lakeledger.errors import Invalid
from lakeledger.sync.schemas.definition import Document, SchemaDefinition
from lakeledger.sync.schemas.types import DataType, Member, array_of, map_of, parse, struct_of

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

DECLARED = "__CHAR_VARCHAR_TYPE_STRING"  # where Spark itself keeps what a string column was declared as

_NAMES = {
    "int": "integer",
    "char": "string",
    "varchar": "string",
    "timestamp": "timestamp_ntz",
    "datetime": "timestamp_ntz",
    "timestamptz": "timestamp",
    "mediumint": "integer",
    "mediumint unsigned": "integer",
    "varbinary": "binary",
    **dict.fromkeys(("tinytext", "mediumtext", "longtext"), "string"),
    **dict.fromkeys(("tinyblob", "mediumblob", "longblob"), "binary"),
    "uint8": "short",
    "uint16": "integer",
    "uint32": "long",
    "uint64": "decimal(20,0)",
    # What Spark's own JDBC reader takes as text.
    **dict.fromkeys(("json", "jsonb", "uuid", "xml", "inet", "citext"), "string"),
}


def from_spark(schema: StructType | Mapping[str, Any]) -> SchemaDefinition:
    """The definition of a Spark schema, or of its JSON. Spark's timestamp is one with a time zone. Raises Invalid."""
    document = schema if isinstance(schema, Mapping) else schema.jsonValue()
    return SchemaDefinition([_column(field) for field in document["fields"]])


def to_spark(definition: SchemaDefinition) -> StructType:
    """The Spark schema; a timestamp without a time zone is TIMESTAMP_NTZ there. Raises Invalid for a type that Spark has not."""
    from pyspark.sql.types import StructField, StructType

    fields = []
    for column, given in zip(definition.fields, definition.columns, strict=True):
        metadata = deepcopy(given.get("metadata", {}))  # Spark takes the collations out of it
        if column.comment:
            metadata["comment"] = column.comment
        if column.data_type.name in ("char", "varchar"):
            metadata[DECLARED] = column.data_type.text
        document = {"name": column.name, "type": _to_json(column.data_type), "nullable": column.nullable, "metadata": metadata}
        try:
            fields.append(StructField.fromJson(document))
        except ValueError as error:
            raise Invalid(f"Spark has no type for column {column.name!r} {column.type}: register it as TEXT") from error
    return StructType(fields)


def to_spark_json(definition: SchemaDefinition) -> Document:
    """The same as Spark writes it in JSON, by names and types alone; it takes no Spark to make it."""
    return {"type": "struct", "fields": [_field(Member(each.name, each.data_type, each.nullable)) for each in definition.fields]}


def _column(field: Mapping[str, Any]) -> Document:
    metadata = field.get("metadata") or {}
    type_ = parse(metadata[DECLARED]) if DECLARED in metadata else _from_json(field["type"])
    column = {"name": field["name"], "type": type_.text, "nullable": field.get("nullable", True)}
    return column | ({"comment": metadata["comment"]} if "comment" in metadata else {}) | ({"metadata": metadata} if metadata else {})


def _from_json(type_: Any) -> DataType:
    if isinstance(type_, str):
        return DataType("timestamptz") if type_ == "timestamp" else parse(type_)
    match type_["type"]:
        case "array":
            return array_of(_from_json(type_["elementType"]), nullable=type_["containsNull"])
        case "map":
            return map_of(_from_json(type_["keyType"]), _from_json(type_["valueType"]), nullable=type_["valueContainsNull"])
        case "struct":
            return struct_of(Member(field["name"], _from_json(field["type"]), field["nullable"]) for field in type_["fields"])
        case _:
            return _from_json(type_["sqlType"])  # a user-defined type is kept as what it is stored as


def _to_json(type_: DataType) -> Any:
    match type_.name, type_.members:
        case "array", (element,):
            return {"type": "array", "elementType": _to_json(element.type), "containsNull": element.nullable}
        case "map", (key, value):
            return {
                "type": "map",
                "keyType": _to_json(key.type),
                "valueType": _to_json(value.type),
                "valueContainsNull": value.nullable,
            }
        case "struct", members:
            return {"type": "struct", "fields": [_field(member) for member in members]}
        case "decimal", _:
            return f"decimal({','.join(map(str, type_.arguments or (38, 18)))})"
        case "time", _:
            return f"time({type_.arguments[0] if type_.arguments else 6})"
    return _NAMES.get(type_.name, "string" if type_.name.startswith("enum(") else type_.name)


def _field(member: Member) -> Document:
    return {"name": member.name, "type": _to_json(member.type), "nullable": member.nullable, "metadata": {}}
