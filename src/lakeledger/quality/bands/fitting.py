"""What is usual at a moment by a baseline: the median and how far points were off it, by weekday and trend where they explain something."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from itertools import combinations, pairwise

from lakeledger.config import BandSettings
from lakeledger.quality.bands.model import Band, Point

# What a MAD is multiplied by to be a standard deviation, if the noise is normal.
TO_SIGMA = 1.4826
# A trend or a week must take away so much of the spread, or a weekday lie so many deviations off, before it is believed.
EXPLAINS = 0.6
WEEKDAY_SIGMAS = 2.0
TREND_BLOCKS = 8
# Of few points the spread is known badly, and is taken to be wider: by this, divided by how many there are.
FEW = 5.0
# Besides the MAD, how far these four fifths of the points are off: the MAD alone is zero as soon as half of them are the same.
MOST, MOST_TO_SIGMA = 0.8, 1.2816
# Of a metric that was never zero, zero is outside: the lower end is this share of the smallest value at least.
LEAST_SHARE = 0.01

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


@dataclass(frozen=True)
class Rule:
    """How a series is judged."""

    settings: BandSettings
    zone: tzinfo
    least: float
    tolerance: float | None
    empty_is_news: bool

    def weekday(self, at: datetime) -> int:
        return at.astimezone(self.zone).weekday()


@dataclass(frozen=True)
class Kept:
    """A point of a baseline, and what it stands for at the level of today."""

    point: Point
    value: float
    weekday: int


def zone_of(name: str) -> tzinfo:
    """A time zone by its name."""
    if name == "UTC":
        return UTC
    from zoneinfo import ZoneInfo

    return ZoneInfo(name)


def band(kept: Sequence[Kept], at: datetime, rule: Rule) -> Band:
    """What is usual at that moment, by that baseline."""
    if not kept:
        return Band(at, "LEARNING", "static")
    values = [each.value for each in kept]
    inputs, stands_for = tuple(each.point for each in kept), tuple(values)
    settings = rule.settings
    if len(kept) < settings.min_points:
        expected = median(values)
        share = settings.tolerance if rule.tolerance is None else rule.tolerance
        lower, upper = _ends(expected, 0.0, share, rule)
        lower, width = _not_empty(lower, values, rule), f"± {share * 100:g} %"
        return Band(at, "LEARNING", "static", lower, upper, expected, inputs, stands_for, width=width)
    today = rule.weekday(at)
    centre = _centre(kept, at, today, rule)
    lower, upper = centre.ends(rule)
    lower, upper = centre.with_few(lower, upper)
    width = _width(centre, rule)
    lower = _not_empty(lower, values, rule)
    day = WEEKDAYS[today] if "weekday" in centre.method else None
    return Band(at, "ACTIVE", centre.method, lower, upper, centre.expected, inputs, stands_for, weekday=day, width=width)


@dataclass(frozen=True)
class _Centre:
    """What is expected at a moment, how far points were off what was expected of them, and what a rare weekday was before.

    With `by_ratio` the spread is one of logarithms: a Sunday of 400 rows varies by as many percent as a Monday of 1,000.
    """

    expected: float
    sigma: float
    method: str
    by_ratio: bool
    same_weekday: tuple[float, ...] = ()

    def learned(self, rule: Rule) -> tuple[float, float]:
        half = rule.settings.scale * self.sigma
        if self.by_ratio:
            return self.expected * math.exp(-half), self.expected * math.exp(min(half, 100.0))
        return self.expected - half, self.expected + half

    def with_few(self, lower: float, upper: float) -> tuple[float, float]:
        """The same ends, and around the points of a weekday that are too few to be a level of their own: what they were is usual, too."""
        if not self.same_weekday:
            return lower, upper
        low, high = min(self.same_weekday), max(self.same_weekday)
        if self.by_ratio:
            return min(lower, low * lower / self.expected), max(upper, high * upper / self.expected)
        return min(lower, low - (self.expected - lower)), max(upper, high + (upper - self.expected))

    def ends(self, rule: Rule) -> tuple[float, float]:
        if rule.tolerance is not None:
            return _ends(self.expected, 0.0, rule.tolerance, rule)
        lower, upper = self.learned(rule)
        least = _ends(self.expected, 0.0, rule.settings.floor, rule)
        return min(lower, least[0]), max(upper, least[1])


def _ends(expected: float, half: float, share: float, rule: Rule) -> tuple[float, float]:
    half = max(half, share * abs(expected), rule.least)
    return expected - half, expected + half


def _width(centre: _Centre, rule: Rule) -> str:
    """How far from what is expected is usual, in words."""
    settings = rule.settings
    if rule.tolerance is not None:
        return f"± {rule.tolerance * 100:g} % as declared"
    if centre.learned(rule)[1] >= centre.ends(rule)[1]:
        return f"± {settings.scale:g} robust standard deviations"
    if settings.floor * abs(centre.expected) >= rule.least:
        return f"± {settings.floor * 100:g} %, because they hardly differ"
    return f"± {rule.least:g}, because so few are always allowed"


def _not_empty(lower: float, values: Sequence[float], rule: Rule) -> float:
    """The lower end, which is never below zero where nothing ever was; and where nothing was ever zero, zero is below it."""
    least = min(values)
    if least < 0:
        return lower
    return max(lower, LEAST_SHARE * least if rule.empty_is_news else 0.0)


def _centre(kept: Sequence[Kept], at: datetime, today: int, rule: Rule) -> _Centre:
    by_ratio = all(each.value > 0 for each in kept)
    levels = [math.log(each.value) if by_ratio else each.value for each in kept]
    expected = median(levels)
    least = math.log1p(rule.settings.floor) if by_ratio else rule.settings.floor * abs(expected)
    residuals, method = [level - expected for level in levels], "median"
    if line := _trend(levels, residuals, rule):
        slope, start, residuals = line
        expected, method = start + slope * _ahead(kept, at), "trend"
    sigma, few = _sigma(residuals), tuple[float, ...]()
    offsets, pooled = _weekly(residuals, [each.weekday for each in kept], rule)
    far = WEEKDAY_SIGMAS * max(pooled, least / rule.settings.scale)
    if today in offsets and (pooled < EXPLAINS * sigma or any(abs(offset) > far for offset in offsets.values())):
        expected, sigma, method = expected + offsets[today], pooled, "weekday" if method == "median" else "trend and weekday"
    else:
        same = tuple(each.value for each in kept if each.weekday == today)
        few = same if len(same) < rule.settings.seasonal_min and rule.tolerance is None else ()
    return _Centre(math.exp(expected) if by_ratio else expected, sigma * (1 + FEW / len(kept)), method, by_ratio, few)


def _weekly(residuals: Sequence[float], days: Sequence[int], rule: Rule) -> tuple[dict[int, float], float]:
    """How far each weekday that has enough points lies off, and how far points are off their weekday."""
    groups: dict[int, list[float]] = {}
    for residual, day in zip(residuals, days, strict=True):
        groups.setdefault(day, []).append(residual)
    offsets = {day: median(group) for day, group in groups.items() if len(group) >= rule.settings.seasonal_min}
    if not offsets:
        return {}, math.inf
    left = [value - offset for day, offset in offsets.items() for value in groups[day]]
    # Each offset was fitted to its points, which makes them look closer than the next one will be.
    freedom = math.sqrt(len(left) / max(1, len(left) - 2 * len(offsets)))
    return offsets, _sigma(left) * freedom


def _trend(levels: Sequence[float], residuals: Sequence[float], rule: Rule) -> tuple[float, float, list[float]] | None:
    """A line that explains most of the spread: its slope per point, where it starts, and how far points are off it. Else None.

    It goes through the medians of blocks, by the median of their slopes: some wild points do not turn it.
    """
    if len(levels) < 2 * rule.settings.min_points:
        return None
    size = len(levels) / TREND_BLOCKS
    ends = [round(size * number) for number in range(TREND_BLOCKS + 1)]
    middles = [((first + last - 1) / 2, median(levels[first:last])) for first, last in pairwise(ends)]
    slope = median([(later[1] - sooner[1]) / (later[0] - sooner[0]) for sooner, later in combinations(middles, 2)])
    off = [level - slope * place for place, level in enumerate(levels)]
    start = median(off)
    off = [value - start for value in off]
    return (slope, start, off) if slope and _sigma(off) < EXPLAINS * _sigma(residuals) else None


def _ahead(kept: Sequence[Kept], at: datetime) -> float:
    """The place of that moment in the line of points; what comes after a long silence is expected where the next one was."""
    span = (kept[-1].point.at - kept[0].point.at) / max(1, len(kept) - 1)
    return len(kept) - 1 + (min(2.0, (at - kept[-1].point.at) / span) if span else 1.0)


def _sigma(residuals: Sequence[float]) -> float:
    far = sorted(map(abs, residuals))
    return max(TO_SIGMA * _middle(far), far[math.ceil(MOST * len(far)) - 1] / MOST_TO_SIGMA)


def median(values: Sequence[float]) -> float:
    """The middle of some values."""
    return _middle(sorted(values))


def _middle(ordered: Sequence[float]) -> float:
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2
