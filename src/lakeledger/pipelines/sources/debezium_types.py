"""Debezium's types: what an event's schema calls a column, the type that it has here, and how its text in JSON becomes a value.

A field is a piece of the schema that Kafka Connect writes beside a payload: `{"type": "int32", "name": "io.debezium.time.Date"}`.
A value that cannot be read is NULL: whoever sees a text and no value knows that it is bad.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING, Any, Literal

from lakeledger.errors import Invalid

if TYPE_CHECKING:
    from pyspark.sql import Column

Field = Mapping[str, Any]
Decimals = Literal["base64", "text"]

UNAVAILABLE = "__debezium_unavailable_value"
# As a text, as bytes, in an array and in a map.
_AS_BYTES = "X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ=="
PLACEHOLDERS = (UNAVAILABLE, _AS_BYTES, f'["{UNAVAILABLE}"]', f'["{_AS_BYTES}"]', f'{{"{UNAVAILABLE}":"{UNAVAILABLE}"}}')

DECIMAL = "org.apache.kafka.connect.data.Decimal"
VARIABLE_DECIMAL = "io.debezium.data.VariableScaleDecimal"
_DATES = ("io.debezium.time.Date", "org.apache.kafka.connect.data.Date")
# How many of a unit are a second.
_TIMESTAMPS = {
    "io.debezium.time.Timestamp": 1_000,
    "org.apache.kafka.connect.data.Timestamp": 1_000,
    "io.debezium.time.MicroTimestamp": 1_000_000,
    "io.debezium.time.NanoTimestamp": 1_000_000_000,
}
_TIMES = {
    "io.debezium.time.Time": 1_000,
    "org.apache.kafka.connect.data.Time": 1_000,
    "io.debezium.time.MicroTime": 1_000_000,
    "io.debezium.time.NanoTime": 1_000_000_000,
}
_ISO = {
    "io.debezium.time.ZonedTimestamp": "timestamp",
    "io.debezium.time.IsoTimestamp": "timestamp_ntz",
    "io.debezium.time.IsoDate": "date",
}
_SEMANTIC = {
    **dict.fromkeys(_DATES, "date"),
    **dict.fromkeys(_TIMESTAMPS, "timestamp_ntz"),
    **dict.fromkeys((*_TIMES, VARIABLE_DECIMAL), "string"),
    **_ISO,
}
_PLAIN = {
    "int8": "tinyint",
    "int16": "smallint",
    "int32": "int",
    "int64": "bigint",
    "float": "float",
    "float32": "float",
    "double": "double",
    "float64": "double",
    "boolean": "boolean",
    "string": "string",
    "bytes": "binary",
}
_INTEGERS = ("tinyint", "smallint", "int", "bigint")
_EARLIEST, _LATEST = -62_135_596_800_000_000, 253_402_300_799_999_999  # years 1 to 9999, which Spark can add to
_DAYS = (-719_162, 2_932_896)


def field_of(name: str) -> Field:
    """The field that a semantic type such as `io.debezium.time.MicroTimestamp` stands for, or a plain one such as `int32`.

    A decimal's scale stands in parentheses: `org.apache.kafka.connect.data.Decimal(10,2)`. Raises Invalid.
    """
    if found := re.fullmatch(re.escape(DECIMAL) + r"\((\d+), ?(\d+)\)", name):
        return {"type": "bytes", "name": DECIMAL, "parameters": {"connect.decimal.precision": found[1], "scale": found[2]}}
    if name in _PLAIN:
        return {"type": name}
    if name in (*_DATES, *_TIMESTAMPS, *_TIMES):
        return {"type": "int64", "name": name}
    if name in _ISO or name.startswith("io.debezium.data."):
        return {"type": "struct" if name == VARIABLE_DECIMAL else "string", "name": name}
    raise Invalid(f"{name!r} is no type of Debezium's: use for example io.debezium.time.MicroTimestamp, {DECIMAL}(10,2) or int32")


def type_of(field: Field) -> str:
    """The type that a field's values have here, as Spark writes it."""
    name = field.get("name")
    if name == DECIMAL:
        precision, scale = _digits(field)
        return f"decimal({precision},{scale})"
    if name in _SEMANTIC:
        return _SEMANTIC[name]
    match field.get("type"):
        case "array":
            return f"array<{type_of(field['items'])}>"
        case "map" if field["keys"].get("type") == "string":
            return f"map<string,{type_of(field['values'])}>"
        case "struct":
            inner = ", ".join(f"`{each['field']}`: {type_of(each)}" for each in field["fields"])
            return f"struct<{inner}>"
        case kind:
            return _PLAIN.get(str(kind), "string")


def value_of(field: Field, text: Column, decimals: Decimals = "base64") -> Column:
    """The value that a text in JSON has."""
    if field.get("name") in (*_SEMANTIC, DECIMAL):
        return _semantic(field, text, decimals)
    return _nested(field, text, decimals) if field.get("type") in ("array", "map", "struct") else _plain(str(field.get("type")), text)


def declared_value(type_: str, text: Column, decimals: Decimals = "base64") -> Column:
    """The value that a text has for a column of which only the declared type is known."""
    from pyspark.sql import functions as F

    if found := re.fullmatch(r"decimal\((\d+), ?(\d+)\)", type_):
        variable = F.from_json(text, "scale int, value string")
        plain = text if decimals == "text" else decimal_text(text, F.lit(int(found[2])))
        return F.when(text.startswith("{"), decimal_text(variable["value"], variable["scale"])).otherwise(plain).try_cast(type_)
    match type_:
        case "binary":
            return F.try_to_binary(text, F.lit("base64"))
        case "date":
            days = text.try_cast("int")
            return F.when(days.isNotNull(), F.when(days.between(*_DAYS), F.date_from_unix_date(days))).otherwise(text.try_cast("date"))
        case _ if type_.startswith(("array", "map", "struct")):
            return F.from_json(text, type_)
        case _:
            return text.try_cast(type_)


def fits(field: Field, declared: str) -> Callable[[Column, Decimals], Column]:
    """How a field is read as the declared type: what it is, cast; a time as a number is the number that stands there."""
    natural = type_of(field)
    if natural == declared:
        return lambda text, decimals: value_of(field, text, decimals)
    if declared in _INTEGERS and str(field.get("type")).startswith("int"):
        return lambda text, _: text.try_cast(declared)
    return lambda text, decimals: value_of(field, text, decimals).try_cast(declared)


def widest(column: str, types: Sequence[str]) -> str:
    """The one type that holds the values of all. Raises Invalid if there is none."""
    return reduce(lambda one, other: _wider(column, one, other), types)


def decimal_text(base64: Column, scale: Column) -> Column:
    """An unscaled number, as the bytes of its two's complement in base64, written with its decimal point: up to 38 digits."""
    from pyspark.sql import functions as F

    digits = F.hex(F.try_to_binary(base64, F.lit("base64")))
    negative = F.substring(digits, 1, 1) >= F.lit("8")
    padded = F.lpad(digits, 32, F.when(negative, F.lit("F")).otherwise(F.lit("0")))
    high, low = (F.conv(F.substring(padded, start, 16), 16, 10).cast("decimal(20,0)") for start in (1, 17))
    two_64 = F.lit(str(2**64)).cast("decimal(20,0)")
    signed = (high - F.when(negative, two_64).otherwise(F.lit(0).cast("decimal(20,0)"))).cast("decimal(20,0)")
    whole = F.try_add(F.try_multiply(signed, two_64), low).cast("string")
    bare = F.regexp_replace(whole, "^-", "")
    plain = F.lpad(bare, F.greatest(F.length(bare), scale + 1), F.lit("0"))
    point = F.length(plain) - scale
    pointed = F.when(scale == 0, plain).otherwise(F.concat(F.substr(plain, F.lit(1), point), F.lit("."), F.substr(plain, point + 1)))
    written = F.concat(F.when(whole.startswith("-"), F.lit("-")).otherwise(F.lit("")), pointed)
    return F.when(F.length(digits).between(1, 32) & scale.between(0, 38), written)


def _wider(column: str, one: str, other: str) -> str:
    if one == other:
        return one
    if one in _INTEGERS and other in _INTEGERS:
        return max(one, other, key=_INTEGERS.index)
    if {one, other} == {"float", "double"}:
        return "double"
    found = [re.fullmatch(r"decimal\((\d+),(\d+)\)", each) for each in (one, other)]
    if all(found):
        (digits, scale), (other_digits, other_scale) = (tuple(map(int, each.groups())) for each in found if each)
        wider = max(scale, other_scale)
        whole = max(digits - scale, other_digits - other_scale)
        if whole + wider <= 38:
            return f"decimal({whole + wider},{wider})"
    raise Invalid(f"the column {column} is {one} in some events and {other} in others: declare the source's schema with a type for both")


def _digits(field: Field) -> tuple[int, int]:
    parameters = field.get("parameters") or {}
    return min(int(parameters.get("connect.decimal.precision") or 38), 38), int(parameters.get("scale") or 0)


def _semantic(field: Field, text: Column, decimals: Decimals) -> Column:
    """The value of a field whose name tells more than its type."""
    from pyspark.sql import functions as F

    match str(field["name"]):
        case name if name in _DATES:
            days = text.try_cast("int")
            return F.when(days.between(*_DAYS), F.date_from_unix_date(days))
        case name if name in _TIMESTAMPS:
            return _timestamp(text, _TIMESTAMPS[name])
        case name if name in _TIMES:
            return _time(text, _TIMES[name])
        case name if name in _ISO:
            return text.try_cast(_ISO[name])
        case name if name == VARIABLE_DECIMAL:
            parts = F.from_json(text, "scale int, value string")
            return decimal_text(parts["value"], parts["scale"])
        case _:
            written = text if decimals == "text" else decimal_text(text, F.lit(_digits(field)[1]))
            return written.try_cast(type_of(field))


def _plain(kind: str, text: Column) -> Column:
    from pyspark.sql import functions as F

    if kind == "bytes":
        return F.try_to_binary(text, F.lit("base64"))
    return text if _PLAIN.get(kind, "string") == "string" else text.try_cast(_PLAIN[kind])


def _timestamp(text: Column, per_second: int) -> Column:
    """A time without a zone, in microseconds: what is finer is cut off."""
    from pyspark.sql import functions as F

    number = text.try_cast("bigint")
    if per_second <= 1_000_000:
        micros = F.try_multiply(number, F.lit(1_000_000 // per_second))
    else:
        micros = F.floor(number.cast("decimal(20,0)") / F.lit(1_000)).cast("bigint")
    return F.when(micros.between(_EARLIEST, _LATEST), F.timestamp_add("MICROSECOND", micros, F.expr("timestamp_ntz'1970-01-01'")))


def _time(text: Column, per_second: int) -> Column:
    """A time of the day as text: `08:30:00.250000`, up to 24:00:00."""
    from pyspark.sql import functions as F

    number = text.try_cast("bigint")
    seconds = F.floor(number.cast("decimal(20,0)") / F.lit(per_second)).cast("bigint")
    rest = number - seconds * F.lit(per_second)
    micros = rest * F.lit(1_000_000 // per_second) if per_second <= 1_000_000 else F.floor(rest / F.lit(1_000)).cast("bigint")
    parts = (F.floor(seconds / 3600).cast("bigint"), F.floor(seconds / 60).cast("bigint") % 60, seconds % 60, micros)
    return F.when(number.between(0, 86_400 * per_second), F.format_string("%02d:%02d:%02d.%06d", *parts))


def _nested(field: Field, text: Column, decimals: Decimals) -> Column:
    """An array, a map or a struct: NULL as a whole if any value in it cannot be read."""
    from pyspark.sql import functions as F

    match field["type"]:
        case "array":
            texts = F.from_json(text, "array<string>")
            values = F.transform(texts, lambda each: value_of(field["items"], each, decimals))
            return F.when(_known(texts) == _known(values), values)
        case "map" if field["keys"].get("type") == "string":
            entries = F.from_json(text, "map<string,string>")
            mapped = F.transform_values(entries, lambda _, each: value_of(field["values"], each, decimals))
            return F.when(_known(F.map_values(entries)) == _known(F.map_values(mapped)), mapped)
        case "struct":
            entries = F.from_json(text, "map<string,string>")
            parts = [(each, entries[each["field"]]) for each in field["fields"]]
            read = [(part, value_of(each, part, decimals).alias(each["field"])) for each, part in parts]
            good = reduce(and_, (part.isNull() | value.isNotNull() for part, value in read), entries.isNotNull())
            return F.when(good, F.struct(*(value for _, value in read)))
        case _:
            return text


def _known(values: Column) -> Column:
    from pyspark.sql import functions as F

    return F.size(F.filter(values, F.isnotnull))
