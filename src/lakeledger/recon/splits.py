"""How the rows of both sides are put into the same parts, so that only parts whose digests differ are looked at again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from lakeledger.recon.canonical import Pair
from lakeledger.recon.model import Probe

MOST_PARTS = 10_000
# So many rows in a part are fetched and compared, rather than split once more.
ROWS_A_PART = 100


@dataclass(frozen=True)
class ByRange:
    """By ranges of a whole number: a database finds each by the index of its key. What lies outside belongs to the first or the last."""

    key: Pair
    bottom: int
    top: int
    width: int

    @classmethod
    def of(cls, key: Pair, bottom: int, top: int, rows: int) -> ByRange | None:
        """So many parts as the rows suggest; None if the range is too wide for whole numbers of 64 bits."""
        span = top - bottom + 1
        return cls(key, bottom, top, -(-span // count_parts(rows))) if span < 2**62 else None

    def ends(self, part: int) -> tuple[int | None, int | None]:
        """From where on and up to where the keys of a part are, without the second; None is no end."""
        last = (self.top - self.bottom) // self.width
        low, high = self.bottom + part * self.width, self.bottom + (part + 1) * self.width
        return (low if part > 0 else None), (high if part < last else None)

    def finer(self, part: int | None) -> ByRange | None:
        """A part split once more, as finely as may be; None if its keys cannot be told apart any further."""
        if part is None or self.width == 1:
            return None
        low = self.bottom + part * self.width
        return ByRange.of(self.key, low, min(low + self.width - 1, self.top), MOST_PARTS * ROWS_A_PART)

    def describe(self, part: Any) -> dict[str, Any]:
        """One part, in a result."""
        low, high = self.ends(part) if part is not None else (None, None)
        return {"keys": self.key.source.name, **({"null": True} if part is None else {"from": low, "below": high})}


@dataclass(frozen=True)
class ByHash:
    """By a hash of the keys, whatever they are."""

    keys: tuple[Pair, ...]
    count: int

    def describe(self, part: Any) -> dict[str, Any]:
        """One part, in a result."""
        return {"keys": [each.source.name for each in self.keys], "bucket": part, "buckets": self.count}


@dataclass(frozen=True)
class ByPeriod:
    """By the year, the month or the day of a date or a time, in UTC."""

    probe: Probe
    column: Pair

    @property
    def length(self) -> int:
        """How much of an ISO date tells the period."""
        return {"year": 4, "year_month": 7, "day": 10}[self.probe.period]

    def describe(self, part: Any) -> dict[str, Any]:
        """One part, in a result."""
        return {self.probe.period: part, "column": self.column.source.name}


Split = ByRange | ByHash | ByPeriod


@dataclass(frozen=True)
class Inside:
    """The rows of some parts."""

    split: Split
    parts: tuple[Any, ...]


def count_parts(rows: int) -> int:
    """In how many parts so many rows go."""
    return max(1, min(MOST_PARTS, -(-rows // ROWS_A_PART)))


def runs(split: ByRange, parts: Sequence[int]) -> list[tuple[int | None, int | None]]:
    """The ranges of parts, neighbours as one."""
    found: list[tuple[int | None, int | None]] = []
    for part in sorted(parts):
        low, high = split.ends(part)
        if found and found[-1][1] is not None and found[-1][1] == low:
            found[-1] = (found[-1][0], high)
        else:
            found.append((low, high))
    return found


def period_ends(text: str) -> tuple[str, str] | None:
    """The first day of a year, a month or a day, and the one after its last, as ISO dates; None where dates of Python do not reach."""
    parts = [int(each) for each in text.split("-")]
    try:
        match parts:
            case [year]:
                return date(year, 1, 1).isoformat(), date(year + 1, 1, 1).isoformat()
            case [year, month]:
                return date(year, month, 1).isoformat(), date(year + month // 12, month % 12 + 1, 1).isoformat()
            case _:
                day = date(parts[0], parts[1], parts[2])
                return day.isoformat(), date.fromordinal(day.toordinal() + 1).isoformat()
    except ValueError:
        return None
