"""What every kind of position has in common: a document, and an order that keeps a source from going back."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from decimal import Context, Decimal, Inexact, InvalidOperation
from typing import Any, ClassVar, Protocol

from lakeledger import codec
from lakeledger.errors import Invalid

Document = Mapping[str, Any]

_LIMIT = 10**39
# What is written in hexadecimal or with an exponent is a text: "1e5" and "1df" are neighbours.
_NUMBER = re.compile(r"[-+]?\d+(\.\d+)?", re.ASCII)
_WRITTEN = re.compile(r"(n\d{40}\.\d*) (\d+)", re.ASCII)
# Python's own context rounds to 28 digits, which would make neighbours equal.
_EXACT = Context(prec=140, traps=[Inexact])


class Position(Protocol):
    """A place in a source."""

    @property
    def kind(self) -> str: ...
    @property
    def order_key(self) -> str:
        """A text whose order is the order of the places; '' where they have no such order."""
        ...

    def document(self) -> dict[str, Any]:
        """The position as it is stored."""
        ...

    def follows(self, earlier: Position) -> bool:
        """Whether nothing that was read before the earlier place is read again from here."""
        ...

    def distance(self, earlier: Position) -> str | None:
        """How much lies between, in words, or None if nobody can tell."""
        ...


class Ordered:
    """Positions whose order key says it all. Two without an order follow each other; one without never follows one with.

    Keys of numbers, times and texts are not compared with each other: what was ordered by one is not ordered by another. But digits
    may be a text that only happens to have no letter in it, as "00000029" before "0000002a".
    """

    kind: ClassVar[str]

    @property
    def order_key(self) -> str:
        return ""

    def follows(self, earlier: Position) -> bool:
        return self.kind == earlier.kind and _not_before(self.order_key, earlier.order_key)

    def distance(self, earlier: Position) -> str | None:  # noqa: ARG002 - the kinds that can tell override it
        return None


def order_class(order_key: str) -> str | None:
    """What a key is ordered as, if that depends on what was given."""
    return {"n": "a number", "t": "a time", "s": "a text"}.get(order_key[:1])


def have_one_order(key: str, other: str) -> bool:
    """Whether the two can be compared. Texts of one length can: those of them that are numbers have the same order either way."""
    return order_class(key) == order_class(other) or 0 < len(_as_written(key)) == len(_as_written(other))


def _not_before(key: str, earlier: str) -> bool:
    if not (key and earlier) or order_class(key) == order_class(earlier):
        return comparable(key) >= comparable(earlier)
    return have_one_order(key, earlier) and _as_written(key) >= _as_written(earlier)


def comparable(key: str) -> str:
    """A key without how its number was written."""
    number = _WRITTEN.fullmatch(key)
    return number[1] if number else key


def _as_written(key: str) -> str:
    """The text that a key was made of; '' if it was none."""
    number = _WRITTEN.fullmatch(key)
    return number[2] if number else key[1:] if key.startswith("s") else ""


def order_text(value: Any) -> str:
    """A text whose order is that of the values: numbers by size, times by time, anything else as it is written; '' for None.

    A text of digits is a number, and keeps behind a space how it was written.
    """
    match value:
        case None:
            return ""
        case datetime() if value.tzinfo is not None:
            return f"t{codec.to_text(value)}"
        case datetime():
            raise Invalid(f"a position needs a time with a time zone, not {value.isoformat()}")
        case bool() | dict() | list():
            raise Invalid(f"{value!r} has no order: give a number, a time or a text")
    if isinstance(value, str) and not _NUMBER.fullmatch(value):
        return _order_of_text(value)
    try:
        number = Decimal(str(value))
    except InvalidOperation:
        return _order_of_text(str(value))
    try:
        if not number.is_finite() or not -_LIMIT < number < _LIMIT:
            raise Inexact
        # Shifted, so that negative numbers come first; the fraction follows the fixed width of the whole part.
        whole, _, fraction = f"{_EXACT.add(number, _LIMIT):f}".partition(".")
    except Inexact:
        raise Invalid(f"{value!r} cannot be put in an order: give a number below 10^39 with up to 100 decimals, a time or a text") from None
    written = f" {value}" if isinstance(value, str) and value.isdigit() else ""
    return f"n{whole:0>40}.{fraction.rstrip('0')}{written}"


def _order_of_text(text: str) -> str:
    try:
        return order_text(codec.to_time(text))
    except (ValueError, OverflowError):
        return f"s{text}"


def whole(value: Any) -> int:
    """The value as a whole number. Raises ValueError if it is none."""
    is_fraction = isinstance(value, float | Decimal) and value.as_integer_ratio()[1] != 1
    if isinstance(value, bool) or is_fraction:
        raise ValueError(f"{value!r} is no whole number")
    return int(value)


def without(document: Document, *names: str) -> dict[str, Any]:
    """What else stands in the document."""
    return {name: value for name, value in document.items() if name not in names}
