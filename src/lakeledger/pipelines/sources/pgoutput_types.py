"""PostgreSQL's types: what a column is in Arrow, and how the text that the server writes becomes a value.

Times of the day, intervals, UUIDs, JSON, ranges, enumerations and whatever else is not named here stay texts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime
from decimal import Context, Decimal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

# What a session must have so that texts mean the same everywhere.
SESSION = "-c timezone=UTC -c datestyle=ISO -c intervalstyle=iso_8601 -c extra_float_digits=3 -c bytea_output=hex"

NUMERIC = 1700
_WIDE = Context(prec=60)
_ARRAYS = {1000: 16, 1001: 17, 1005: 21, 1007: 23, 1016: 20, 1009: 25, 1015: 25, 1021: 700, 1022: 701, 1182: 1082, 1115: 1114, 1185: 1184}
_ARRAYS |= {2951: 25, 3807: 25, 199: 25}  # of UUIDs and JSON


def _bool(text: str) -> bool:
    return text[0] == "t"


def _bytes(text: str) -> bytes:
    return bytes.fromhex(text.removeprefix("\\x"))


def _zoned(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


_PARSERS: dict[int, Callable[[str], Any]] = {
    16: _bool,
    17: _bytes,
    20: int,
    21: int,
    23: int,
    26: int,
    700: float,
    701: float,
    1082: date.fromisoformat,
    1114: datetime.fromisoformat,
    1184: _zoned,
}


def arrow_type(oid: int, modifier: int) -> pa.DataType:
    """The type that a column's values have in Arrow."""
    import pyarrow as pa

    if oid in _ARRAYS:
        return pa.list_(arrow_type(_ARRAYS[oid], -1))
    if oid == NUMERIC and (digits := _digits(modifier)):
        return pa.decimal128(*digits)
    plain = {
        16: pa.bool_(),
        17: pa.binary(),
        20: pa.int64(),
        21: pa.int16(),
        23: pa.int32(),
        26: pa.int64(),
        700: pa.float32(),
        701: pa.float64(),
        1082: pa.date32(),
        1114: pa.timestamp("us"),
        1184: pa.timestamp("us", "UTC"),
    }
    return plain.get(oid, pa.string())


def parser(oid: int, modifier: int) -> Callable[[str], Any]:
    """What reads a text of a column. It raises ValueError for what the type in Arrow cannot hold: infinite times, NaN as a decimal."""
    if oid in _ARRAYS:
        one = parser(_ARRAYS[oid], -1)
        return lambda text: [None if each is None else one(each) for each in elements(text)]
    if oid == NUMERIC and (digits := _digits(modifier)):
        return lambda text: _decimal(text, digits[1])
    return _PARSERS.get(oid, str)


def elements(text: str) -> Iterator[str | None]:
    """The elements of an array of one dimension: `{a,NULL,"b c"}`. Raises ValueError for others."""
    if not text.startswith("{") or text.startswith("{{"):
        raise ValueError(f"{text[:40]} is no array of one dimension")
    at, last = 1, len(text) - 1
    while at < last:
        quoted = text[at] == '"'
        at += quoted
        found: list[str] = []
        while text[at] != '"' if quoted else (at < last and text[at] != ","):
            at += text[at] == "\\"
            found.append(text[at])
            at += 1
        at += quoted + 1
        value = "".join(found)
        yield None if value == "NULL" and not quoted else value


def _digits(modifier: int) -> tuple[int, int] | None:
    """Precision and scale of a numeric, if it has them and Arrow can hold them."""
    if modifier < 4:
        return None
    precision, scale = (modifier - 4) >> 16 & 0xFFFF, (modifier - 4) & 0x7FF
    scale = scale - 0x800 if scale & 0x400 else scale
    return (precision, scale) if precision <= 38 and 0 <= scale <= precision else None


def _decimal(text: str, scale: int) -> Decimal:
    number = Decimal(text)
    if not number.is_finite():
        raise ValueError(f"{text} is no finite number")
    return number.quantize(Decimal(1).scaleb(-scale), context=_WIDE)
