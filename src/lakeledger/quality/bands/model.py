"""What a band is: what was measured when, what is expected now, and how far from it is still usual."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from lakeledger import codec

# LEARNING: too few points to believe the band.
BandState = Literal["LEARNING", "ACTIVE"]
Status = Literal["pass", "warn", "learning"]
# Only what is ordinary or accepted counts. The other states say why a point does not: somebody excluded it, its run or step failed, its
# check failed, its load was refused or taken back, or it was no ordinary load (the first one, a back-fill, a replay, a full refresh).
State = Literal["ordinary", "accepted", "excluded", "failed", "refused", "taken_back", "initial", "backfill", "replay", "full_refresh"]
COUNTED: tuple[State, ...] = ("ordinary", "accepted")

OUTSIDE = "outside its band"
# Below so many points nothing is compared at all: one or two loads are no level.
FEWEST = 3
# What logarithms leave of a number is not quite the number.
ROUNDING = 1e-9
# So many of those that were left out are kept with a band; the rest is only counted.
MOST_KEPT = 20


@dataclass(frozen=True)
class Point:
    """What was measured once. `id` is what people name it by: the id of a record, or a day. It may be of several records, as a day is."""

    at: datetime
    value: float
    id: str | None = None
    state: State = "ordinary"


@dataclass(frozen=True)
class Band:
    """What is usual at a moment. Without history nothing is expected.

    `inputs` are the points that it was learned from, `values` what they stand for at today's level, and `left_out` the others with why.
    `shifted_at` is when the level changed last: earlier points stand for what they would be at the level since then, or do not count.
    """

    at: datetime
    state: BandState
    method: str
    lower: float | None = None
    upper: float | None = None
    expected: float | None = None
    inputs: tuple[Point, ...] = ()
    values: tuple[float, ...] = ()
    left_out: tuple[tuple[Point, str], ...] = ()
    shifted_at: datetime | None = None
    weekday: str | None = None
    width: str = ""
    unit: str = field(default="", compare=False)

    @property
    def n(self) -> int:
        """From how many points it was learned."""
        return len(self.inputs)

    def contains(self, value: float) -> bool:
        """Whether the value is usual; every value is where nothing is expected."""
        if self.lower is None or self.upper is None:
            return True
        slack = ROUNDING * max(abs(self.lower), abs(self.upper))
        return self.lower - slack <= value <= self.upper + slack

    def side(self, value: float) -> int:
        """-1 below the band, 1 above it, 0 within."""
        return 0 if self.contains(value) else (-1 if self.lower is not None and value < self.lower else 1)

    def judge(self, value: float) -> Status:
        """What the band says of a value. While it is LEARNING, it says something only of what is far off several points."""
        if self.state == "LEARNING":
            return "learning" if self.n < FEWEST or self.contains(value) else "warn"
        return "pass" if self.contains(value) else "warn"

    def verdict(self, value: float) -> str:
        """The same in words: `600 rows is 40 % below the expected 1,000 (usual: 950 to 1,050)`."""
        told = f"{number(value)}{self._unit}"
        if self.expected is None:
            return f"{told}; nothing to compare it with yet"
        usual = f"(usual: {number(self.lower)} to {number(self.upper)})"
        if self.contains(value):
            return f"{told} is usual {usual}" if self.state == "ACTIVE" else f"{told}; still learning from {_points(self.n)} {usual}"
        side = "below" if self.side(value) < 0 else "above"
        apart = f"{abs(value - self.expected) / abs(self.expected) * 100:.0f} % {side}" if self.expected else side
        learning = f"; still learning from {_points(self.n)}" if self.state == "LEARNING" else ""
        return f"{told} is {apart} the expected {number(self.expected)} {usual}{learning}"

    def explain(self) -> str:
        """How the band came about, in words."""
        if self.expected is None:
            return f"LEARNING: there is no ordinary point before {self.at:%Y-%m-%d %H:%M}. {self._without()}".strip()
        by = {
            "static": "the median of what there is",
            "median": "the median",
            "trend": "the line through the points",
            "weekday": f"the median of {self.weekday}s",
            "trend and weekday": f"the line through the points, and {self.weekday}s apart from it",
        }[self.method]
        since = f"{_points(self.n)} since {min(point.at for point in self.inputs):%Y-%m-%d}"
        parts = [
            f"{self.state}: {number(self.expected)}{self._unit} expected, {number(self.lower)} to {number(self.upper)} is usual.",
            f"Learned from {since}: {by}, {self.width}.",
        ]
        if self.shifted_at:
            parts.append(f"The level changed on {self.shifted_at:%Y-%m-%d}; what was before counts at the new level or not at all.")
        return " ".join([*parts, self._without()]).strip()

    def to_json(self) -> dict[str, Any]:
        """As it is kept with a result: small, and whole. What it was learned from are `values`, in the order of time."""
        kept = [{"id": point.id, "at": codec.to_text(point.at), "value": point.value, "why": why} for point, why in self.left_out]
        return {
            "state": self.state,
            "method": self.method,
            "lower": self.lower,
            "upper": self.upper,
            "expected": self.expected,
            "n": self.n,
            "weekday": self.weekday,
            "shifted_at": codec.to_text(self.shifted_at) if self.shifted_at else None,
            "inputs": {
                "since": codec.to_text(self.inputs[0].at) if self.inputs else None,
                "until": codec.to_text(self.inputs[-1].at) if self.inputs else None,
                "values": [_short(value) for value in self.values],
                "left_out": kept[-MOST_KEPT:],
                "left_out_count": len(kept),
            },
        }

    @property
    def _unit(self) -> str:
        return f" {self.unit}" if self.unit else ""

    def _without(self) -> str:
        if not self.left_out:
            return ""
        whys = Counter(why.replace("_", " ") for _, why in self.left_out)
        return f"Left out: {', '.join(f'{count} {why}' for why, count in sorted(whys.items()))}."


def number(value: float | None) -> str:
    """1,234 or 0.0123, as people read it."""
    if value is None:
        return "?"
    if value == int(value) or abs(value) >= 100:
        return f"{round(value):,}"
    return f"{value:.4g}"


def _points(count: int) -> str:
    return "1 point" if count == 1 else f"{count} points"


def _short(value: float) -> float:
    """Numbers of a baseline as they are, without the noise of a division."""
    return int(value) if value == int(value) else float(f"{value:.6g}")
