"""How one read becomes several that run side by side: ranges of a number column that together have every row once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Self

# A part is worth a connection of its own from so many portions (`fetch_size`) on.
PORTIONS = 20
MOST_PARTS = 16


@dataclass(frozen=True)
class Split:
    """Where a read is cut: each bound begins a part, and what is below the first, or NULL, is one, too. `rows` is an estimate."""

    rows: int | None = None
    column: str = ""
    bounds: tuple[int, ...] = ()

    @classmethod
    def between(cls, low: int, high: int, count: int, rows: int | None, column: str) -> Self:
        """Cut into so many parts of one width; fewer, if there are not so many numbers."""
        parts = max(1, min(count, high - low + 1))
        return cls(rows, column, tuple(low + (high - low + 1) * part // parts for part in range(1, parts)))


def choose_count(rows: int | None, fetch_size: int) -> int:
    """Into how many parts a read of so many rows is split."""
    return max(1, min(MOST_PARTS, (rows or 0) // (fetch_size * PORTIONS) + 1))


def predicates(split: Split, quote: Callable[[str], str]) -> list[str]:
    """The condition of each part; none if there is only one."""
    if not split.bounds:
        return []
    column, bounds = quote(split.column), split.bounds
    inner = [f"{column} >= {low} and {column} < {high}" for low, high in pairwise(bounds)]
    return [f"{column} < {bounds[0]} or {column} is null", *inner, f"{column} >= {bounds[-1]}"]
