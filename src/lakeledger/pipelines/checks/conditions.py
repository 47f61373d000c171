"""Expectations of rows as conditions in Spark's SQL, none of which is ever NULL or raises: as text, which costs a session little."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from functools import cached_property
from typing import Any

from lakeledger import codec
from lakeledger.config import suggest
from lakeledger.errors import Invalid
from lakeledger.pipelines.partitions import quote
from lakeledger.quality import Expectation
from lakeledger.tables.schema import Schema

LONGEST_DECIMAL = 38
NUMBERS = ("byte", "short", "integer", "long", "float", "double")


@dataclass(frozen=True)
class Column:
    """A column as SQL names it, and its type as Spark's JSON has it."""

    sql: str
    type: Any

    @property
    def family(self) -> str:
        """What its values can be compared with."""
        match self.type:
            case str() if self.type in NUMBERS:
                return "number"
            case str() if self.type.startswith("decimal"):
                return "decimal"
            case str() if self.type.startswith(("string", "char", "varchar")):
                return "text"
            case str() if self.type in ("date", "timestamp", "timestamp_ntz", "boolean", "binary"):
                return self.type
            case _:
                return "other"

    @property
    def text(self) -> str:
        """Its value as text."""
        return self.sql if self.family in ("text", "binary") else f"cast({self.sql} as string)"

    def literal(self, value: Any) -> str:
        """A value as SQL compares it with the column. Raises Invalid for one that the column cannot have."""
        try:
            return _LITERALS[self.family](value, self)
        except (ValueError, TypeError, KeyError, InvalidOperation) as error:
            raise Invalid(f"{value!r} cannot be compared with {self.sql}, which is {told(self.type)}") from error


@dataclass(frozen=True)
class Rows:
    """The rows that expectations are about: their columns, and a condition for those that are looked at at all.

    `unset` is the column that lists those of which a row says nothing.
    """

    schema: Schema
    looked: str | None = None
    unset: str | None = None

    def is_set(self, names: Sequence[str]) -> str | None:
        """The condition that a row says something of these columns; None if all rows do."""
        if self.unset is None or not names:
            return None
        listed = f"transform({quote(self.unset)}, each -> lower(each))"
        told_of = (f"coalesce(array_contains({listed}, {text_literal(name.lower())}), false)" for name in names)
        return f"not ({' or '.join(told_of)})"

    @cached_property
    def _fields(self) -> dict[str, dict[str, Any]]:
        return {codec.fold(field["name"]): field for field in self.schema["fields"]}

    @property
    def names(self) -> list[str]:
        return [field["name"] for field in self.schema["fields"]]

    def column(self, name: str) -> Column:
        """A column, or with dots a field of one. Raises Invalid if there is none."""
        if field := self._fields.get(codec.fold(name)):
            return Column(quote(field["name"]), field["type"])
        first, *rest = name.split(".")
        found = self._fields.get(codec.fold(first))
        sql, type_ = quote(found["name"]) if found else "", found["type"] if found else None
        for part in rest:
            inner = type_.get("fields", []) if isinstance(type_, dict) and type_.get("type") == "struct" else []
            field = next((each for each in inner if codec.fold(each["name"]) == codec.fold(part)), None)
            sql, type_ = (f"{sql}.{quote(field['name'])}", field["type"]) if field else ("", None)
        if type_ is None or not rest:
            raise Invalid(f"there is no column {name!r}{suggest(name, self.names)}")
        return Column(sql, type_)

    def find(self, name: str) -> Column | None:
        try:
            return self.column(name)
        except Invalid:
            return None


@dataclass(frozen=True)
class Condition:
    """Which rows are looked at (None: all), which of those have no value (None: they all have one), and which are unexpected.

    `counted` is the last once more, shorter and so cheaper, and NULL for some rows that are not.
    """

    unexpected: str
    looked: str | None = None
    missing: str | None = None
    counted: str | None = None


def condition(expectation: Expectation, rows: Rows) -> Condition:
    """The conditions of an expectation of single rows. Raises Invalid if the rows have no such column, or none that can be compared so."""
    looked = looked_at(expectation, rows)
    made = _condition(expectation, rows)
    missing = both(looked, made.missing) if made.missing else None
    return Condition(both(looked, made.unexpected) or "", looked, missing, both(looked, made.counted or made.unexpected))


def looked_at(expectation: Expectation, rows: Rows) -> str | None:
    """The condition for rows that an expectation looks at; None if it looks at all."""
    where = f"coalesce(({expectation.where}\n), false)" if expectation.where else None
    return both(both(rows.looked, rows.is_set(expectation.columns)), where)


def both(first: str | None, second: str | None) -> str | None:
    """Two conditions as one; None holds for all rows."""
    return f"({first}) and ({second})" if first and second else first or second


def _condition(expectation: Expectation, rows: Rows) -> Condition:
    given = expectation.parameters
    if expectation.kind == "valid":
        held = f"({given['condition']}\n)"
        if expectation.nulls == "pass":
            return Condition(f"not coalesce({held}, true)", counted=f"not {held}")
        return Condition(f"not coalesce({held}, false)")
    columns = [rows.column(name) for name in expectation.columns]
    if expectation.kind == "compare":
        return _compared(columns[0], columns[1], given)
    (column,) = columns
    if expectation.kind in ("not_null", "null"):
        return Condition(f"{column.sql} is {'' if expectation.kind == 'not_null' else 'not '}null")
    expected = _EXPECTED[expectation.kind](column, given)
    if expectation.nulls == "fail":
        return Condition(f"not coalesce({expected}, false)")
    unexpected = f"{column.sql} is not null and not coalesce({expected}, false)"
    # What is NULL exactly where the column is need not say so. A text that is no number makes it NULL, too; a constant never is.
    counted = None if "try_cast" in expected or expected in ("true", "false") else f"not ({expected})"
    return Condition(unexpected, None, f"{column.sql} is null" if expectation.nulls != "pass" else None, counted)


def _compared(one: Column, other: Column, given: Mapping[str, Any]) -> Condition:
    """Whether two values are the same can be said with a NULL, too; a NULL that is neither more nor less is not unexpected."""
    if "other" in (one.family, other.family):
        raise Invalid(f"{one.sql} ({told(one.type)}) and {other.sql} ({told(other.type)}) cannot be compared")
    left, right = _alike(one, other), _alike(other, one)
    missing = {
        "both_values_are_missing": f"{one.sql} is null and {other.sql} is null",
        "either_value_is_missing": f"{one.sql} is null or {other.sql} is null",
        "neither": None,
    }[given.get("ignore_row_if", "both_values_are_missing")]
    operator = given.get("operator", ">")
    if operator in ("=", "!="):
        fails = f"{left} <=> {right}" if operator == "!=" else f"not ({left} <=> {right})"
        return Condition(both(f"not ({missing})" if missing else None, fails) or "", missing=missing)
    fails = f"not ({left} {operator} {right})"
    return Condition(f"coalesce({fails}, false)", None, missing, fails)


def _alike(column: Column, other: Column) -> str:
    """A text that is compared with something else as that; what is none is NULL."""
    if column.family != "text" or other.family == "text":
        return column.sql
    type_ = "double" if other.family in ("number", "decimal") else other.type
    return f"try_cast({column.sql} as {type_})"


def _in_set(column: Column, given: Mapping[str, Any]) -> str:
    values = _possible(column, given["values"])
    if not given["values"]:
        return "true"
    return f"{column.sql} in ({', '.join(values)})" if values else "false"


def _not_in_set(column: Column, given: Mapping[str, Any]) -> str:
    values = _possible(column, given["values"])
    return f"{column.sql} not in ({', '.join(values)})" if values else "true"


def _possible(column: Column, values: list[Any]) -> list[str]:
    """Those of the values that the column can have."""
    if column.family == "other":
        raise Invalid(f"{column.sql} is {told(column.type)}, whose values cannot be compared")
    made = []
    for value in values:
        try:
            made.append(column.literal(value))
        except Invalid:
            continue
    return made


def _between(column: Column, given: Mapping[str, Any]) -> str:
    if column.family == "text" and any(isinstance(given.get(side), int | float | Decimal) for side in ("min", "max")):
        column = Column(f"try_cast({column.sql} as double)", "double")  # a text that is no number is not between two
    edges = []
    if given.get("min") is not None:
        edges.append(f"{column.sql} {'>' if given.get('strict_min') else '>='} {column.literal(given['min'])}")
    if given.get("max") is not None:
        edges.append(f"{column.sql} {'<' if given.get('strict_max') else '<='} {column.literal(given['max'])}")
    return " and ".join(edges)


def _matches(column: Column, given: Mapping[str, Any]) -> str:
    if column.family in ("other", "binary"):
        raise Invalid(f"{column.sql} is {told(column.type)}, which is no text")
    matches = f"{column.text} rlike {text_literal(given['regex'])}"
    plain = _PLAIN.fullmatch(given["regex"]) if column.type == "string" else None
    if plain is None or not plain["text"]:
        return matches
    text = text_literal(re.sub(r"\\(.)", r"\1", plain["text"]))
    match bool(plain["begin"]), bool(plain["end"]):
        case False, False:
            return f"contains({column.text}, {text})"
        case True, False:
            return f"startswith({column.text}, {text})"
        # The end of a text is also before its last line break: that, and what differs, is left to the regex.
        case False, True:
            return f"(endswith({column.text}, {text}) or {matches})"
        case _:
            return f"({column.text} = {text} or {matches})"


# A regex that is a text, where it stands, and nothing else: bytes are compared in a tenth of the time.
_PLAIN = re.compile(r"(?P<begin>\^)?(?P<text>(?:[\w @#%&:;,/=<>~!\"'-]|\\[.@/+*?()\[\]{}|^$\\-])*)(?P<end>\$)?", re.ASCII)


def _length(column: Column, given: Mapping[str, Any]) -> str:
    if column.family == "other":
        raise Invalid(f"{column.sql} is {told(column.type)}, which has no length")
    equal = given.get("equal")
    bounds = {"min": equal, "max": equal} if equal is not None else given
    characters = _between(Column(f"length({column.text})", "integer"), bounds)
    if column.family != "text" or bounds.get("max") is None:
        return characters
    # Bytes need not be counted, and are one to four for each character.
    enough = f" and octet_length({column.text}) >= {4 * (int(bounds['min']) + 1)}" if bounds.get("min") is not None else ""
    return f"((octet_length({column.text}) < {int(bounds['max'])}{enough}) or ({characters}))"


_EXPECTED = {
    "in_set": _in_set,
    "not_in_set": _not_in_set,
    "between": _between,
    "matches": _matches,
    "not_matches": lambda column, given: f"not ({_matches(column, given)})",
    "length": _length,
}


def text_literal(text: str) -> str:
    """A text as SQL has it, whatever a session makes of backslashes."""
    if text.isascii() and text.isprintable() and "'" not in text and "\\" not in text:
        return f"'{text}'"
    return f"cast(X'{text.encode('utf-8', 'replace').hex()}' as string)"


def _number(value: Any, column: Column) -> str:
    if isinstance(value, bool | date):
        raise TypeError
    if isinstance(value, str):
        value = Decimal(value)
    if isinstance(value, float) and column.family != "decimal":
        return f"({value!r}D)" if math.isfinite(value) else f"cast('{value!r}' as double)"
    if column.family == "decimal" and (own := _of_its_type(value, column)) is not None:
        return own
    if isinstance(value, int) and -(2**63) <= value < 2**63:
        return f"({value}L)" if value > -(2**63) else "(-9223372036854775807L - 1L)"
    exact = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    if not exact.is_finite() or len(exact.as_tuple().digits) > LONGEST_DECIMAL or abs(exact.adjusted()) >= LONGEST_DECIMAL:
        return f"cast('{float(exact)!r}' as double)"
    return f"({exact:f}BD)"


def _of_its_type(value: Any, column: Column) -> str | None:
    """A number in the type of a decimal column, so that Spark compares two plain integers; None if the column cannot have it."""
    size = re.fullmatch(r"decimal\((\d+),(-?\d+)\)", column.type)
    exact = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    if size is None or not exact.is_finite() or abs(exact.adjusted()) > LONGEST_DECIMAL:
        return None
    precision, scale = int(size[1]), int(size[2])
    units = Fraction(exact) * Fraction(10) ** scale
    fits = units.denominator == 1 and abs(units) < 10**precision
    return f"cast('{exact:f}' as {column.type})" if fits else None


def _text(value: Any, _: Column) -> str:
    if isinstance(value, bool):
        return text_literal(str(value).lower())
    return text_literal(value.isoformat() if isinstance(value, date) else str(value))


def _date(value: Any, column: Column) -> str:
    if isinstance(value, datetime):
        return _moment(value, column)
    if isinstance(value, date):
        return f"date'{value.isoformat()}'"
    if not isinstance(value, str):
        raise TypeError
    try:
        return f"date'{date.fromisoformat(value).isoformat()}'"
    except ValueError:
        return _moment(datetime.fromisoformat(value), column)


def _moment(value: Any, column: Column) -> str:
    if isinstance(value, str):
        value = datetime.fromisoformat(value)
    if isinstance(value, date) and not isinstance(value, datetime):
        value = datetime.combine(value, datetime.min.time())
    if not isinstance(value, datetime):
        raise TypeError
    kind = "timestamp_ntz" if column.type == "timestamp_ntz" and value.tzinfo is None else "timestamp"
    return f"{kind}'{value.isoformat(sep=' ')}'"


def _truth(value: Any, _: Column) -> str:
    if isinstance(value, bool) or value in (0, 1):
        return str(bool(value)).lower()
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower()
    raise TypeError


def _binary(value: Any, _: Column) -> str:
    if not isinstance(value, str):
        raise TypeError
    return f"X'{value.encode().hex()}'"


_LITERALS = {
    "number": _number,
    "decimal": _number,
    "text": _text,
    "date": _date,
    "timestamp": _moment,
    "timestamp_ntz": _moment,
    "boolean": _truth,
    "binary": _binary,
}


def told(type_: Any) -> str:
    """A type in the words of SQL."""
    if isinstance(type_, dict):
        return str(type_.get("type", "a struct"))
    return {"long": "bigint", "integer": "int", "short": "smallint", "byte": "tinyint"}.get(type_, str(type_))
