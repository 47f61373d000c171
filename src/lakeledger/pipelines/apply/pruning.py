"""Which files may have rows of some keys: by the bounds that the ledger knows, and by a coarse picture of where the keys lie."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from lakeledger import codec
from lakeledger.lake import Bounds
from lakeledger.tables.model import Keys

if TYPE_CHECKING:
    from pyspark.sql import Column

# The keys of a batch as a picture: which of so many equal parts of the table's range they are in.
BITS = 32_768
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_INTEGERS = ("byte", "short", "integer", "long")


@dataclass(frozen=True)
class Range:
    """Where the keys of a column lie; `bits` is the picture of them, of the parts of the range that they were asked for."""

    low: Any
    high: Any
    bits: bytes | None = None

    def of(self, column: str) -> Keys | None:
        """The part of a table that has such keys; None if that cannot be told."""
        if self.low is None or self.high is None or not (_is_finite(self.low) and _is_finite(self.high)):
            return None
        return Keys(column, _stored(self.low), _stored(self.high))


def whole_range(bounds: Iterable[Mapping[str, Any]], type_: Any) -> Range | None:
    """The range of a column over all files, as numbers; None if it has none, or is no number."""
    lows, highs = [], []
    for each in bounds:
        low, high = (to_number(each.get(side), type_) for side in ("min", "max"))
        if low is not None and high is not None:
            lows.append(low)
            highs.append(high)
    return Range(min(lows), max(highs)) if len(lows) > 1 and min(lows) < max(highs) else None


def to_number(bound: Any, type_: Any) -> float | None:
    """A bound as a number that keeps the order; None if the type has no such."""
    if bound is None or not isinstance(type_, str):
        return None
    if type_ in _INTEGERS or type_.startswith("decimal"):
        return float(Decimal(bound))
    if type_ == "date":
        return float((date.fromisoformat(bound) - _EPOCH.date()).days)
    if type_ == "timestamp":
        since = codec.to_time(bound) - _EPOCH
        return float(since.days * 86_400_000_000 + since.seconds * 1_000_000 + since.microseconds)
    return None


def position(key: Column, type_: str, whole: Range) -> Column:
    """The part of the whole range that a key is in; NULL if it is outside."""
    from pyspark.sql import functions as F

    number = F.unix_date(key) if type_ == "date" else F.unix_micros(key) if type_ == "timestamp" else key
    place = (number.cast("double") - F.lit(float(whole.low))) / F.lit(float(whole.high - whole.low)) * F.lit(float(BITS - 1))
    return F.when(place.between(0, BITS - 1), F.floor(place).cast("long"))


class Picture:
    """Which files of a table a batch's keys of one column may be in."""

    def __init__(self, column: str, type_: Any, keys: Range, whole: Range | None) -> None:
        self._keys = keys.of(column)
        self._column, self._type, self._whole = column, type_, whole
        self._bits = int.from_bytes(keys.bits, "little") if keys.bits is not None and whole else None

    def may_be_in(self, bounds: Bounds) -> bool:
        known = bounds.get(self._column, {})
        if self._keys is not None and not self._keys.may_be_in(known):
            return False
        low, high = (to_number(known.get(side), self._type) for side in ("min", "max"))
        if self._bits is None or low is None or high is None:
            return True
        # One more on each side: what is computed here and by Spark may differ in the last digit.
        first, last = max(self._place(low) - 1, 0), min(self._place(high) + 1, BITS - 1)
        return bool(self._bits >> first & ((1 << (last - first + 1)) - 1))

    def _place(self, number: float) -> int:
        if self._whole is None:
            return 0
        return math.floor(float((number - self._whole.low) / (self._whole.high - self._whole.low) * (BITS - 1)))


def _is_finite(value: Any) -> bool:
    return not isinstance(value, float) or math.isfinite(value)


def _stored(value: Any) -> Any:
    """A value as bounds have it; a decimal is compared as one."""
    return value if isinstance(value, Decimal) else codec.to_plain(value)
