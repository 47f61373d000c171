"""What a write sees of its rows as they go by: how many, and for formats that keep no statistics the bounds of the columns."""

from __future__ import annotations

from collections.abc import Collection, Container, Mapping
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any

from lakeledger.errors import Failed
from lakeledger.lake import Bounds
from lakeledger.lake.parquet import bound
from lakeledger.pipelines.partitions import quote
from lakeledger.tables.schema import Schema

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

# As text: made of function calls it takes a classic session 17 requests instead of 3, and four times as long.
ROWS = "count(1) as rows"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# A wide table's files would else be mostly bounds.
BOUNDED_COLUMNS = 32
UNORDERED = ("binary", "variant", "void", "interval")


def bounded(schema: Schema, keys: Collection[str]) -> frozenset[str]:
    """The columns whose bounds are kept: the first of those that hold plain values, the hidden ones, and the keys."""
    plain = [field for field in schema["fields"] if isinstance(field["type"], str)]
    hidden = [field["name"] for field in plain if field.get("hidden")]
    return frozenset(field["name"] for field in plain[:BOUNDED_COLUMNS]).union(hidden, keys)


def types(frame: DataFrame, wanted: Mapping[str, Column]) -> dict[str, str]:
    """What the measures of a frame give, by their names."""
    if not wanted:
        return {}
    fields = frame.agg(*(measure.alias(name) for name, measure in wanted.items())).schema.jsonValue()["fields"]
    return {field["name"]: str(field["type"]) for field in fields}


def measures(wanted: Mapping[str, Column], types: Mapping[str, str]) -> list[Column]:
    """What to observe of the rows as they were given: `rows`, and what is to be measured."""
    from pyspark.sql import functions as F

    each = (_fetchable(measure, types[name]).alias(f"measure_{index}") for index, (name, measure) in enumerate(wanted.items()))
    return [F.expr(ROWS), *each]


def aggregates(schema: Schema, bounded: Container[str]) -> list[Column]:
    """What to observe of the rows as they are written: `rows`, and `min_i` and `max_i` of the columns whose bounds are asked for."""
    from pyspark.sql import functions as F

    wanted = [F.expr(ROWS)]
    for index, name, type_ in (each for each in _ordered_columns(schema) if each[1] in bounded):
        column = F.col(quote(name))
        wanted += [_fetchable(F.min(column), type_).alias(f"min_{index}"), _fetchable(F.max(column), type_).alias(f"max_{index}")]
    return wanted


def range_of(column: Column, type_: str, low: str, high: str) -> list[Column]:
    """The least and the greatest value of a column of a plain type, as they can be fetched, by these names."""
    from pyspark.sql import functions as F

    return [_fetchable(F.min(column), type_).alias(low), _fetchable(F.max(column), type_).alias(high)]


def measured(seen: Mapping[str, Any], types: Mapping[str, str], written: int) -> dict[str, Any]:
    """What was measured, by the names it was asked for by. Raises Failed if it was not of the rows that were written."""
    if seen.get("rows", 0) != written:  # A stage that Spark had to repeat was measured twice.
        raise Failed(f"{seen.get('rows', 0)} rows were measured, but {written} were written: run it again")
    return {name: fetched(seen.get(f"measure_{index}"), type_) for index, (name, type_) in enumerate(types.items())}


def bounds(seen: Mapping[str, Any], schema: Schema) -> Bounds:
    """The bounds that were observed, by column; none if they were not asked for."""
    return {
        name: bound("min", fetched(seen[f"min_{index}"], type_)) | bound("max", fetched(seen[f"max_{index}"], type_))
        for index, name, type_ in _ordered_columns(schema)
        if f"min_{index}" in seen
    }


def _ordered_columns(schema: Schema) -> list[tuple[int, str, str]]:
    return [
        (index, field["name"], field["type"])
        for index, field in enumerate(schema["fields"])
        if isinstance(field["type"], str) and not field["type"].startswith(UNORDERED)
    ]


def _fetchable(value: Column, type_: str) -> Column:
    """A bound as it can be fetched: Python's times are those of its own time zone, and end where Spark's go on."""
    from pyspark.sql import functions as F

    if type_ == "timestamp":
        return F.unix_micros(value)
    return value.cast("string") if type_ in ("date", "timestamp_ntz") else value


def fetched(value: Any, type_: str) -> Any:
    """A bound that was fetched, as Python has it; None where it has no value for it."""
    try:
        match type_:
            case _ if value is None:
                return None
            case "timestamp":
                return EPOCH + timedelta(microseconds=value)
            case "timestamp_ntz":
                return datetime.fromisoformat(value)
            case "date":
                return date.fromisoformat(value)
    except (OverflowError, ValueError):
        return None
    return value
