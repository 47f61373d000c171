"""How the columns of PostgreSQL are read on Spark. Nothing is rounded, cut or guessed: what has no type of its own in Spark is a text,
and what would lose something is refused until somebody declares its type.

| PostgreSQL | Spark |
|---|---|
| smallint, integer, bigint, real, double precision, boolean, date, bytea | the same |
| numeric(p, s) up to 38 digits | decimal(p, s) |
| timestamp with time zone | timestamp |
| timestamp without time zone | timestamp_ntz |
| text, varchar, char (without its padding), name, enums, uuid, json, jsonb, xml, time, interval, inet, ranges, bit | string |
| arrays of numbers, texts, booleans, dates and times | arrays |
| numeric without precision, or with more than 38 digits; money; everything else | refused, unless declared |
"""

from __future__ import annotations

import re

from lakeledger.pipelines.sources.asking import Column
from lakeledger.sync.kinds.watermark import DATE, DECIMAL, INTEGER, TEXT, TIMESTAMP, TIMESTAMP_NTZ

MOST_DIGITS = 38
_PLAIN = ("real", "double precision", "boolean", "bytea", "oid")
_WHOLE = ("smallint", "integer", "bigint")
_AS_TEXT = frozenset(
    (
        "uuid", "json", "jsonb", "xml", "interval", "inet", "cidr", "macaddr", "macaddr8", "name", "citext", "tsvector", "tsquery",
        "time", "bit", "bit varying", "pg_lsn", "xid", "xid8", "hstore", "ltree", "regclass",
    )
)  # fmt: skip
_IN_ARRAYS = (*_WHOLE, "real", "double precision", "boolean", "text", "character varying", "date", "timestamp")
_NUMERIC = re.compile(r"numeric\((\d+),(-?\d+)\)")


def to_column(name: str, type_: str, category: str, *, nullable: bool, declared: str | None) -> Column:
    """A column of that type, as PostgreSQL writes it; `category` is its `typtype`. `declared` is the type that somebody wants on Spark."""
    order = _order(type_)
    if declared is not None:
        exact = "{}::numeric::text" if type_ == "money" else "{}::text"
        return Column(name, type_, nullable, order, exact, None if declared.lower() == "string" else declared)
    expression = _expression(type_, category)
    if expression is None:
        return Column(name, type_, nullable, order, refused=_refusal(type_))
    return Column(name, type_, nullable, order, expression)


def _base(type_: str) -> str:
    """The type without its length, precision and zone: `timestamp(3) with time zone` is a timestamp."""
    return re.sub(r"\s+with(?:out)? time zone$", "", re.sub(r"\([^)]*\)", "", type_)).strip()


def _order(type_: str) -> str | None:
    base = _base(type_)
    if base == "timestamp":
        return TIMESTAMP if type_.endswith("with time zone") else TIMESTAMP_NTZ
    if base in ("text", "character varying"):
        return TEXT
    return {**dict.fromkeys(_WHOLE, INTEGER), "numeric": DECIMAL, "date": DATE}.get(base)


def _expression(type_: str, category: str) -> str | None:
    base = _base(type_)
    if type_.endswith("[]"):
        inner = type_[:-2]
        return "{}" if _base(inner) in _IN_ARRAYS or _is_narrow(inner) else None
    if category in ("e", "r", "m") or base in _AS_TEXT:
        return "{}::text"
    if base == "character":  # The padding is not part of the value.
        return "{}::text"
    if base == "numeric":
        return "{}" if _is_narrow(type_) else None
    known = base in _WHOLE or base in _PLAIN or base in ("date", "timestamp", "text", "character varying")
    return "{}" if known and category == "b" else None


def _is_narrow(type_: str) -> bool:
    """Whether a numeric is one that Spark's decimals hold."""
    found = _NUMERIC.fullmatch(type_)
    return found is not None and int(found[1]) <= MOST_DIGITS and 0 <= int(found[2]) <= int(found[1])


def _refusal(type_: str) -> str:
    if _base(type_) in ("numeric", "money"):
        return f"is {type_}, which no decimal of Spark is sure to hold: declare its type, for example decimal(20, 4), or string"
    return f"is {type_}, which has no type on Spark: declare it as string, leave the column out, or cast it in a query"
