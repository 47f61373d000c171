"""One text for one value, whichever engine it comes from: what two columns are compared as, and how such a text is shown to people.

| kind | text |
|---|---|
| number | plain decimal digits, with the larger scale of the two sides; without trailing zeros where one has none declared |
| float | exact: an integer with a letter for its power of two, or the bits; 0 for -0.0, one NaN |
| boolean | 1 or 0 |
| text | as it is, without the padding of CHAR; no Unicode normalisation |
| binary | hexadecimal |
| date, timestamp, timestamp_ntz | days or microseconds since 2000-01-01, as PostgreSQL sends them, hexadecimal |
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any, Literal

from lakeledger import codec
from lakeledger.config import suggest
from lakeledger.errors import Invalid

Kind = Literal["number", "float", "boolean", "text", "binary", "date", "timestamp", "timestamp_ntz"]

# Doubles of ordinary size are an exact integer times a power of two: from which magnitude on, to which, its letter, and the power.
WINDOWS = ((0, 10, "a", 52), (-10, 0, "b", 62), (10, 20, "c", 42), (20, 30, "d", 32))
EPOCH_DAYS, EPOCH_MICROS = 10_957, 946_684_800_000_000
_LETTERS = {letter: power for _, _, letter, power in WINDOWS}


@dataclass(frozen=True)
class Column:
    """A column of one side. `kind` is None where it cannot be compared, and `refused` says why. `scale` is None where none is declared."""

    name: str
    type: str
    kind: Kind | None
    scale: int | None = 0
    is_integer: bool = False
    is_padded: bool = False
    refused: str | None = None

    @property
    def canonical(self) -> str:
        """Its type as both sides would write it."""
        if self.kind != "number":
            return self.kind or self.type
        return "integer" if self.is_integer else f"decimal with scale {'unknown' if self.scale is None else self.scale}"


@dataclass(frozen=True)
class Pair:
    """A column that both sides have, and how its values become one text: with which scale, and without trailing blanks or not."""

    name: str
    source: Column
    target: Column
    kind: Kind
    scale: int | None = 0
    trims: bool = False

    @property
    def is_integer(self) -> bool:
        return self.source.is_integer and self.target.is_integer


def find(columns: Sequence[Column], name: str, what: str) -> Column:
    """The column by that name. Raises Invalid."""
    found = next((each for each in columns if codec.fold(each.name) == codec.fold(name)), None)
    if found is None:
        names = [each.name for each in columns]
        raise Invalid(f"{what} has no column {name!r}: it has {', '.join(names)}{suggest(name, names)}")
    return found


def pair(source: Column, target: Column) -> Pair:
    """The two as one column. Raises Invalid if they cannot be compared."""
    for each in (source, target):
        if each.kind is None:
            raise Invalid(f"column {each.name} is {each.type}, which cannot be compared: {each.refused}")
    if source.kind != target.kind or source.kind is None:
        raise Invalid(
            f"column {source.name} is {source.type} in the source and {target.type} in the target: cast one of them in a query, "
            "or leave the column out with `exclude`"
        )
    known = source.scale is not None and target.scale is not None
    scale = max(source.scale or 0, target.scale or 0) if known else None
    return Pair(codec.fold(source.name), source, target, source.kind, scale, source.is_padded or target.is_padded)


def agree(source: Sequence[Column], target: Sequence[Column], wanted: Sequence[str] = (), exclude: Sequence[str] = ()) -> list[Pair]:
    """The columns that are compared, in the order of their folded names: those that are wanted, or all but those that are left out.

    Raises Invalid if one side lacks a column of the other, or if two cannot be compared.
    """
    if wanted:
        pairs = [pair(find(source, name, "the source"), find(target, name, "the target")) for name in wanted]
    else:
        left_out = {codec.fold(name) for name in exclude}
        for name in exclude:
            find([*source, *target], name, "neither side")
        mine = {codec.fold(each.name): each for each in source if codec.fold(each.name) not in left_out}
        theirs = {codec.fold(each.name): each for each in target if codec.fold(each.name) not in left_out}
        if alone := sorted(mine.keys() ^ theirs.keys()):
            side = "source" if alone[0] in mine else "target"
            raise Invalid(
                f"only the {side} has column {alone[0]}: leave it out with `exclude`, or name the columns to compare in `columns`"
            )
        pairs = [pair(mine[key], theirs[key]) for key in mine]
    if doubled := [each.name for each in pairs if [other.name for other in pairs].count(each.name) > 1]:
        raise Invalid(f"column {doubled[0]} is there twice: name each column once")
    return sorted(pairs, key=lambda each: each.name)


def decode(kind: Kind, text: str | None) -> Any:  # noqa: PLR0911 - one for each kind
    """The value that a canonical text stands for; the text itself where Python has no such value (an infinite date)."""
    if text is None:
        return None
    match kind:
        case "number":
            try:
                return Decimal(text)
            except InvalidOperation:
                return text
        case "float":
            return _float(text)
        case "boolean":
            return text == "1"
        case "date":
            return _days(int.from_bytes(bytes.fromhex(text), signed=True), text)
        case "timestamp" | "timestamp_ntz":
            return _micros(int.from_bytes(bytes.fromhex(text), signed=True), UTC if kind == "timestamp" else None)
        case _:
            return text


def encode(kind: Kind, value: Any, scale: int | None = None, *, trims: bool = False) -> str | None:  # noqa: PLR0911 - one for each kind
    """The canonical text of a value of Python: what both engines must say, and what the tests hold them to."""
    if value is None:
        return None
    match kind:
        case "number":
            return _number(Decimal(value), scale)
        case "float":
            return _float_text(float(value))
        case "boolean":
            return "1" if value else "0"
        case "binary":
            return bytes(value).hex()
        case "date":
            days: int = (value - date(1970, 1, 1)).days - EPOCH_DAYS
            return days.to_bytes(4, signed=True).hex()
        case "timestamp" | "timestamp_ntz":
            zero = datetime(2000, 1, 1, tzinfo=UTC if kind == "timestamp" else None)
            micros: int = (value - zero) // timedelta(microseconds=1)
            return micros.to_bytes(8, signed=True).hex()
        case _:
            return str(value).rstrip(" ") if trims else str(value)


def shown(kind: Kind, text: str | None) -> Any:
    """A canonical text as people and JSON have it."""
    value = decode(kind, text)
    match value:
        case Decimal():
            return text
        case float():
            return value if value == value and abs(value) != float("inf") else str(value)  # noqa: PLR0124 - NaN
        case datetime() if value.tzinfo:
            return codec.to_text(value)
        case date():
            return value.isoformat()
        case _:
            return value


def row_text(kinds: Sequence[Kind], texts: Sequence[str | None]) -> str:
    """The text of a whole row, as both engines digest it: no two different rows have the same."""
    return "".join(
        f"{'' if text is None else len(text.encode())}:{text or ''}|" if kind == "text" else f"{'' if text is None else text}|"
        for kind, text in zip(kinds, texts, strict=True)
    )


def _number(value: Decimal, scale: int | None) -> str:
    if scale is not None:
        return f"{value:.{scale}f}"
    text = f"{value:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _float_text(value: float) -> str:
    if value != value:  # noqa: PLR0124 - NaN
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0:
        return "0"
    for low, high, letter, power in WINDOWS:
        if 2.0**low <= abs(value) < 2.0**high:
            return f"{letter}{int(value * 2.0**power)}"
    return f"h{struct.pack('>d', value).hex()}"


def _float(text: str) -> float:
    if text[0] in _LETTERS:
        return int(text[1:]) / 2.0 ** _LETTERS[text[0]]
    if text[0] == "h":
        return float(struct.unpack(">d", bytes.fromhex(text[1:]))[0])
    return float(text)


def _days(days: int, text: str) -> Any:
    if text in ("7fffffff", "80000000"):
        return "infinity" if text[0] == "7" else "-infinity"
    try:
        return date(2000, 1, 1) + timedelta(days=days)
    except OverflowError:
        return f"{days} days after 2000-01-01"


def _micros(micros: int, zone: Any) -> Any:
    if abs(micros) >= 2**63 - 1:
        return "infinity" if micros > 0 else "-infinity"
    try:
        return datetime(2000, 1, 1, tzinfo=zone) + timedelta(microseconds=micros)
    except OverflowError:
        return f"{micros} µs after 2000-01-01"
