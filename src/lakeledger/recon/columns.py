"""The columns of either side as what they can be compared as."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lakeledger.pipelines.sources import asking
from lakeledger.recon.canonical import Column, Kind

if TYPE_CHECKING:
    from pyspark.sql.types import StructField

_NUMERIC = re.compile(r"(?:numeric|decimal)\((\d+),\s*(-?\d+)\)")
_INTEGERS = ("smallint", "integer", "bigint", "oid", "tinyint", "int")
_POSTGRES: dict[str, Kind] = {
    "real": "float",
    "double precision": "float",
    "boolean": "boolean",
    "bytea": "binary",
    "date": "date",
    "timestamp with time zone": "timestamp",
    "timestamp without time zone": "timestamp_ntz",
    "text": "text",
    "character varying": "text",
    "character": "text",
}
_SPARK: dict[str, Kind] = {
    "float": "float",
    "double": "float",
    "boolean": "boolean",
    "binary": "binary",
    "date": "date",
    "timestamp": "timestamp",
    "timestamp_ntz": "timestamp_ntz",
    "string": "text",
}
_WAY_OUT = "leave it out with `exclude`, or cast it to text in a query"


def of_postgres(column: asking.Column) -> Column:
    """A column of PostgreSQL. What the data plane reads as text is compared as text."""
    name, type_ = column.name, column.type
    base = re.sub(r"\(\d+\)", "", type_).strip()
    if base in _INTEGERS:
        return Column(name, base, "number", 0, is_integer=True)
    if type_.startswith("numeric"):
        found = _NUMERIC.fullmatch(type_)
        return Column(name, type_, "number", max(0, int(found[2])) if found else None)
    if base in _POSTGRES:
        return Column(name, base, _POSTGRES[base], is_padded=base == "character")
    if column.expression == "{}::text" and type_ != "money":
        return Column(name, type_, "text")
    return Column(name, type_, None, refused=_WAY_OUT)


def of_spark(field: StructField) -> Column:
    """A column of Spark."""
    type_ = field.dataType.simpleString()
    if type_ in _INTEGERS:
        return Column(field.name, type_, "number", 0, is_integer=True)
    if found := _NUMERIC.fullmatch(type_):
        return Column(field.name, type_, "number", int(found[2]))
    if type_ in _SPARK:
        return Column(field.name, type_, _SPARK[type_])
    if re.fullmatch(r"(?:char|varchar)\(\d+\)", type_):
        return Column(field.name, type_, "text", is_padded=type_.startswith("char"))
    return Column(field.name, type_, None, refused=_WAY_OUT)
