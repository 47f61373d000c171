"""Positions of tables that are read by the values of their own columns: a watermark column, or several of which each breaks the ties."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, ClassVar, Self

from lakeledger import codec
from lakeledger.errors import Invalid
from lakeledger.sync.kinds.order import Document, Ordered, Position, order_text, whole, without

# How the values of a column are ordered. An integer and a decimal have one order.
TIMESTAMP, TIMESTAMP_NTZ, DATE, INTEGER, DECIMAL, TEXT = "timestamp", "timestamp_ntz", "date", "integer", "decimal", "text"
NUMBERS = (INTEGER, DECIMAL)


def to_value(type_: str, written: Any) -> Any:
    """What a written value means. A time needs its zone where the type has one, and must not have one where it has none. Raises Invalid."""
    try:
        return _READ[type_](written)
    except (ValueError, TypeError, ArithmeticError) as error:
        raise Invalid(f"{written!r} is no {type_} for a watermark: write it as {_EXAMPLES[type_]}") from error


def to_written(type_: str, value: Any) -> Any:
    """A value as it is stored: a whole number as a number, everything else as text. `to_value` reads it."""
    match value:
        case datetime() if value.tzinfo is not None:
            return codec.to_text(value)
        case date():
            return value.isoformat()
        case Decimal():
            return str(value)
    return int(value) if type_ == INTEGER else value


@dataclass(frozen=True)
class WatermarkPosition(Ordered):
    """Everything up to these values has been read: those of the first column first, and among equal ones those of the next.

    `types` says how they are ordered. Who sets a position by hand may leave it out: then numbers, times and texts are told by their looks.
    """

    kind: ClassVar[str] = "watermark"
    columns: tuple[str, ...]
    values: tuple[Any, ...]
    types: tuple[str, ...] = ()
    extras: Document = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        if not self.columns or len(self.columns) != len(self.values) or len(self.types) not in (0, len(self.columns)):
            raise Invalid(f"a watermark has one value per column: {list(self.columns)} and {list(self.values)} differ in number")
        if unknown := [each for each in self.types if each not in _READ]:
            raise Invalid(f"{unknown[0]!r} is no type of a watermark: use {', '.join(_READ)}")
        if any(value is None for value in self.values):
            raise Invalid(f"a watermark has no NULL: {dict(zip(self.columns, self.values, strict=True))}")
        if self.types:
            self.compared()

    @property
    def order_key(self) -> str:
        """For whoever looks at the store; two of them are compared by their values."""
        return "\x1f".join(order_text(value if isinstance(value, int) else str(value)) for value in self.values)

    def compared(self) -> tuple[Any, ...]:
        """The values as they are compared."""
        return tuple(to_value(type_, value) for type_, value in zip(self.types, self.values, strict=True))

    def document(self) -> dict[str, Any]:
        types = {"types": list(self.types)} if self.types else {}
        return {"columns": list(self.columns), "values": list(self.values), **types, **self.extras}

    def follows(self, earlier: Position) -> bool:
        if not isinstance(earlier, WatermarkPosition) or _folded(self.columns) != _folded(earlier.columns):
            return False
        if not self.types or not earlier.types:
            return super().follows(earlier)
        return _orders(self.types) == _orders(earlier.types) and self.compared() >= earlier.compared()

    def distance(self, earlier: Position) -> str | None:
        if not isinstance(earlier, WatermarkPosition) or not self.types or self.types != earlier.types or self.types[0] == TEXT:
            return None
        apart = abs(self.compared()[0] - earlier.compared()[0])
        return f"{apart:,} of {self.columns[0]}" if self.types[0] in NUMBERS else str(apart)

    @classmethod
    def parse(cls, document: Document) -> Self:
        columns, values = tuple(map(str, document["columns"])), tuple(document["values"])
        return cls(columns, values, tuple(document.get("types") or ()), without(document, "columns", "values", "types"))


@dataclass(frozen=True)
class VersionsPosition(Ordered):
    """Everything up to these versions of ledger tables has been read, by their names; `ids` tells a table from another of its name."""

    kind: ClassVar[str] = "versions"
    versions: Mapping[str, int] = field(hash=False)
    ids: Mapping[str, str] = field(default_factory=dict, hash=False)
    extras: Document = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        if not self.versions or any(whole(version) < 0 for version in self.versions.values()):
            raise Invalid(f"{dict(self.versions)!r} are no versions of tables: write table → version")

    def document(self) -> dict[str, Any]:
        return {"versions": dict(self.versions), "table_ids": dict(self.ids), **self.extras}

    def follows(self, earlier: Position) -> bool:
        if not isinstance(earlier, VersionsPosition):
            return False
        return all(self.versions.get(table, -1) >= version for table, version in earlier.versions.items())

    def distance(self, earlier: Position) -> str | None:
        if not isinstance(earlier, VersionsPosition):
            return None
        ours, theirs = self.versions, earlier.versions
        return f"{sum(abs(ours.get(table, 0) - theirs.get(table, 0)) for table in {*ours, *theirs}):,} versions"

    @classmethod
    def parse(cls, document: Document) -> Self:
        versions = {str(table): whole(version) for table, version in document["versions"].items()}
        ids = {str(table): str(each) for table, each in (document.get("table_ids") or {}).items()}
        return cls(versions, ids, without(document, "versions", "table_ids"))


def _folded(names: tuple[str, ...]) -> list[str]:
    return [codec.fold(name) for name in names]


def _orders(types: tuple[str, ...]) -> list[str]:
    return [DECIMAL if each in NUMBERS else each for each in types]


def _moment(written: Any) -> datetime:
    at = written if isinstance(written, datetime) else datetime.fromisoformat(str(written))
    if at.tzinfo is None:
        raise ValueError("no time zone")
    return at.astimezone(UTC)


def _wall_clock(written: Any) -> datetime:
    at = written if isinstance(written, datetime) else datetime.fromisoformat(str(written))
    if at.tzinfo is not None:
        raise ValueError("a time zone")
    return at


def _day(written: Any) -> date:
    if isinstance(written, datetime):
        raise TypeError("a time, not a day")
    return written if isinstance(written, date) else date.fromisoformat(str(written))


def _integer(written: Any) -> int:
    return whole(written)


def _decimal(written: Any) -> Decimal:
    if isinstance(written, bool):
        raise TypeError("a boolean")
    number = Decimal(str(written))
    if not number.is_finite():
        raise ValueError("not finite")
    return number


def _text(written: Any) -> str:
    if not isinstance(written, str):
        raise TypeError("no text")
    return written


_READ: Mapping[str, Callable[[Any], Any]] = {
    TIMESTAMP: _moment,
    TIMESTAMP_NTZ: _wall_clock,
    DATE: _day,
    INTEGER: _integer,
    DECIMAL: _decimal,
    TEXT: _text,
}
_EXAMPLES = {
    TIMESTAMP: "2026-01-31T12:00:00Z",
    TIMESTAMP_NTZ: "2026-01-31T12:00:00, without a time zone",
    DATE: "2026-01-31",
    INTEGER: "42",
    DECIMAL: "42.50",
    TEXT: "a text",
}
