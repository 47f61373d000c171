"""How a band is learned: robustly (median and MAD), from what was usual before, by weekday and trend where they explain something.

The walk goes through the points once, in the order of time. What was outside its own band then does not count for later ones, so that a
poisoned day widens nothing; a level that somebody accepts, or that lasts, counts from its first point on.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import groupby

from lakeledger.config import BandSettings
from lakeledger.quality.bands.fitting import Kept, Rule, band, median, zone_of
from lakeledger.quality.bands.model import COUNTED, OUTSIDE, Band, Point


@dataclass(frozen=True)
class Judged:
    """A point with the band of its own moment, in which it has no part."""

    point: Point
    band: Band

    @property
    def is_outside(self) -> bool:
        """Whether it counts, and is unusual."""
        return self.point.state in COUNTED and self.band.judge(self.point.value) == "warn"


def tolerance_band(
    points: Iterable[Point],
    at: datetime,
    settings: BandSettings | None = None,
    *,
    least: float = 0.0,
    tolerance: float | None = None,
    empty_is_news: bool = False,
    unit: str = "",
) -> Band:
    """What is usual at that moment, by what was measured before it: a point of that moment or later has no part in it.

    `least` is how far from what is expected is usual in any case, in the metric's own unit. A declared `tolerance` is the half-width as
    a share of what is expected, instead of a learned one. With `empty_is_news` zero is outside where there never was one.
    """
    rule = _rule(settings, least, tolerance, empty_is_news)
    learned = _Learned(rule)
    for point in _ordered(points):
        if point.at < at:
            learned.take(point)
    return replace(learned.band(at), unit=unit)


def walk(
    points: Iterable[Point],
    settings: BandSettings | None = None,
    *,
    least: float = 0.0,
    tolerance: float | None = None,
    empty_is_news: bool = False,
    unit: str = "",
) -> list[Judged]:
    """Every point in the order of time, each with the band of its own moment."""
    learned = _Learned(_rule(settings, least, tolerance, empty_is_news))
    judged = []
    for at, same in groupby(_ordered(points), key=lambda point: point.at):
        # Points of one moment have no part in each other's bands.
        band, together = replace(learned.band(at), unit=unit), list(same)
        judged += [Judged(point, band) for point in together]
        for point in together:
            learned.take(point)
    return judged


def _rule(settings: BandSettings | None, least: float, tolerance: float | None, empty_is_news: bool) -> Rule:
    chosen = settings or BandSettings()
    return Rule(chosen, zone_of(chosen.time_zone), least, tolerance, empty_is_news)


def _ordered(points: Iterable[Point]) -> list[Point]:
    return sorted(points, key=lambda point: (point.at, point.value, point.id or ""))


class _Learned:
    """What is known after some points: the baseline, what was left out of it, and the last points in a row that were outside."""

    def __init__(self, rule: Rule) -> None:
        self._rule = rule
        self._kept: list[Kept] = []
        self._left_out: list[tuple[Point, str]] = []
        self._run: list[tuple[Point, int]] = []
        self._shifted_at: datetime | None = None

    def band(self, at: datetime) -> Band:
        since = at - timedelta(days=self._rule.settings.window_days)
        kept = [each for each in self._kept if since <= each.point.at]
        left_out = tuple(each for each in self._left_out if since <= each[0].at)
        return replace(band(kept, at, self._rule), left_out=left_out, shifted_at=self._shifted_at)

    def take(self, point: Point) -> None:
        """Learn from the next point, or leave it out."""
        if point.state not in COUNTED:
            self._left_out.append((point, point.state))
            return
        own = self.band(point.at)
        side = own.side(point.value)
        if side == 0 or (own.state == "LEARNING" and point.state == "ordinary"):
            self._run.clear()
            self._kept.append(self._as_it_is(point))
        elif point.state == "accepted":
            self._move_level(point, own)
        else:
            self._leave_out(point, side)

    def _as_it_is(self, point: Point) -> Kept:
        return Kept(point, point.value, self._rule.weekday(point.at))

    def _move_level(self, point: Point, own: Band) -> None:
        """Somebody accepted a point: what was before stands for what it would be at the new level, or for nothing if there is no ratio."""
        factor = point.value / own.expected if own.expected else 0.0
        self._kept = [replace(each, value=each.value * factor) for each in self._kept] if factor > 0 else []
        self._kept.append(self._as_it_is(point))
        self._shifted_at = point.at
        self._run.clear()

    def _leave_out(self, point: Point, side: int) -> None:
        self._left_out.append((point, OUTSIDE))
        if self._run and self._run[-1][1] != side:
            self._run.clear()
        self._run.append((point, side))
        run = [each for each, _ in self._run]
        if len(run) >= self._rule.settings.shift_points and self._is_a_level(run):
            self._kept, self._shifted_at = [], run[0].at
            self._readmit(run)
            self._run.clear()
        elif weekdays := self._lasting_weekday(point, side):
            day = self._rule.weekday(point.at)
            self._kept = [each for each in self._kept if each.weekday != day]
            self._readmit(weekdays)

    def _lasting_weekday(self, point: Point, side: int) -> list[Point]:
        """The last points of the same weekday, if all of them were left out on the same side of their bands and are one level."""
        day, needed = self._rule.weekday(point.at), self._rule.settings.seasonal_min
        counted = [each.point for each in self._kept if each.weekday == day]
        outside = [each for each, why in self._left_out if why == OUTSIDE and self._rule.weekday(each.at) == day]
        last = outside[-needed:]
        if len(last) < needed or any(each.at > last[0].at for each in counted):
            return []
        centre = median([each.value for each in self._kept]) if self._kept else 0.0
        return last if all((each.value > centre) == (side > 0) for each in last) and self._is_a_level(last) else []

    def _is_a_level(self, points: Sequence[Point]) -> bool:
        """Whether the points lie together, but for some: the new level of a week has its own Sundays."""
        centre = median([point.value for point in points])
        allowed = max(self._rule.settings.tolerance * abs(centre), self._rule.least)
        return sum(abs(point.value - centre) <= allowed for point in points) * 4 >= len(points) * 3

    def _readmit(self, points: Sequence[Point]) -> None:
        again = set(map(id, points))
        self._left_out = [each for each in self._left_out if id(each[0]) not in again]
        self._kept = sorted([*self._kept, *map(self._as_it_is, points)], key=lambda each: each.point.at)
