"""Tolerance bands, the pure part: what is usual, learned from what was measured before."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakeledger.config import BandSettings
from lakeledger.errors import Invalid
from lakeledger.quality.bands import Band, Point, tolerance_band, walk

MONDAY = datetime(2026, 1, 5, 2, tzinfo=UTC)
SUNDAY, TUESDAY = 6, 1


def days(*values: float, start: int = 0) -> list[Point]:
    """One point a day, from a Monday on."""
    return [Point(MONDAY + timedelta(days=start + number), value, str(start + number)) for number, value in enumerate(values)]


def weeks(number: int, noise: float = 0.05, level: float = 1000, seed: int = 7) -> list[float]:
    """A table that gets less on Sundays."""
    chance = random.Random(seed)
    return [level * (0.4 if day % 7 == SUNDAY else 1) * (1 + chance.gauss(0, noise)) for day in range(7 * number)]


def after(points: list[Point], **more: Any) -> Band:
    """The band of the day after the last one."""
    return tolerance_band(points, points[-1].at + timedelta(days=1), **more)


def test_a_sundays_dip_is_usual_and_a_tuesday_that_lacks_four_tenths_is_not() -> None:
    known = days(*weeks(9))
    sunday = tolerance_band(known, MONDAY + timedelta(weeks=9, days=SUNDAY))
    tuesday = tolerance_band(known, MONDAY + timedelta(weeks=9, days=TUESDAY))
    assert (sunday.state, sunday.method, sunday.weekday, sunday.judge(400)) == ("ACTIVE", "weekday", "Sunday", "pass")
    assert (tuesday.judge(1000), tuesday.judge(600), tuesday.judge(400)) == ("pass", "warn", "warn")
    assert tuesday.verdict(600).startswith("600 is 4")
    assert "% below the expected" in tuesday.verdict(600)


def test_a_sunday_that_is_like_a_monday_is_unusual() -> None:
    assert tolerance_band(days(*weeks(9)), MONDAY + timedelta(weeks=9, days=SUNDAY)).judge(1000) == "warn"


def test_a_week_makes_no_alarm_while_its_weekdays_are_still_few() -> None:
    judged = walk(days(*weeks(12)))
    assert [each.point.id for each in judged if each.is_outside and each.band.state == "ACTIVE"] == []


def test_a_flat_series_does_not_alarm_at_a_small_change() -> None:
    band = after(days(*[1000] * 30))
    assert [band.lower, band.expected, band.upper] == pytest.approx([950, 1000, 1050])
    assert [band.judge(value) for value in (990, 1010, 950, 1050, 900, 1100)] == ["pass"] * 4 + ["warn"] * 2
    assert "± 5 %, because they hardly differ" in band.explain()


def test_three_points_are_learning_with_a_static_tolerance() -> None:
    band = after(days(1000, 1010, 990))
    assert (band.state, band.method, band.n) == ("LEARNING", "static", 3)
    assert (band.lower, band.upper, band.judge(700)) == (500, 1500, "learning")
    assert band.judge(0) == "warn"  # of what is far off even that is said
    assert band.explain().startswith("LEARNING: 1,000 expected, 500 to 1,500 is usual. Learned from 3 points")


def test_without_points_and_with_two_nothing_is_said_of_a_value() -> None:
    assert tolerance_band([], MONDAY).judge(0) == "learning"
    assert tolerance_band([], MONDAY).explain().startswith("LEARNING: there is no ordinary point")
    assert after(days(1_000_000, 10)).judge(5) == "learning"


def test_the_minimum_of_points_is_a_setting() -> None:
    points = days(*[1000] * 5)
    assert after(points).state == "LEARNING"
    assert tolerance_band(points, MONDAY + timedelta(days=5), BandSettings(min_points=5)).state == "ACTIVE"


def test_a_poisoned_day_does_not_widen_the_band() -> None:
    clean, poisoned = weeks(9), weeks(9)
    poisoned[43] *= 20
    poisoned[51] = 0
    before, now = after(days(*clean)), after(days(*poisoned))
    assert before.upper is not None
    assert now.upper is not None
    assert before.lower is not None
    assert now.lower is not None
    assert now.upper - now.lower <= 1.05 * (before.upper - before.lower)
    assert {point.id: why for point, why in now.left_out} == {"43": "outside its band", "51": "outside its band"}


def test_what_failed_or_was_excluded_or_is_no_ordinary_load_does_not_count() -> None:
    points = days(*[1000] * 10)
    odd = [
        replace(points[3], value=5, state="failed"),
        replace(points[4], value=9e6, state="backfill"),
        replace(points[5], state="excluded"),
    ]
    band = after([*points[:3], *odd, *points[6:]])
    assert [band.n, band.expected] == pytest.approx([7, 1000])
    assert band.explain().endswith("Left out: 1 backfill, 1 excluded, 1 failed.")


def test_a_level_that_somebody_accepts_counts_at_once_with_its_week() -> None:
    points = days(*weeks(9), *weeks(2, level=3000))
    points[63] = replace(points[63], state="accepted")
    judged = walk(points)
    assert [each.point.id for each in judged[63:] if each.is_outside and each.point.state != "accepted"] == []
    assert judged[-1].band.shifted_at == points[63].at
    assert judged[-1].band.judge(3000 * 0.4) == "pass"  # a Sunday of the new level


def test_a_new_level_that_nobody_accepts_is_reported_for_two_weeks_and_then_counts() -> None:
    judged = walk(days(*weeks(9), *weeks(4, level=3000)))
    assert [int(each.point.id or 0) for each in judged[63:] if each.is_outside] == list(range(63, 77))
    assert "The level changed on" in judged[-1].band.explain()


def test_a_weekday_that_becomes_another_counts_after_some_weeks() -> None:
    values = [1000.0 if day % 7 != SUNDAY or day < 42 else 400.0 for day in range(91)]
    assert [int(each.point.id or 0) for each in walk(days(*values)) if each.is_outside] == [48, 55, 62, 69]


def test_a_table_that_grows_is_judged_by_where_it_should_be_now() -> None:
    chance = random.Random(3)
    band = after(days(*[1000 + 10 * day + chance.gauss(0, 20) for day in range(60)]))
    assert (band.method, band.judge(1600), band.judge(1000)) == ("trend", "pass", "warn")


def test_a_metric_that_was_never_zero_is_outside_when_it_is() -> None:
    points = days(*[3, 4, 2, 5, 3, 4, 3, 2, 5])
    assert after(points, least=10).judge(0) == "pass"
    assert after(points, least=10, empty_is_news=True).judge(0) == "warn"
    assert after(points, least=10, empty_is_news=True).judge(1) == "pass"
    assert after([*points, *days(0, start=9)], least=10, empty_is_news=True).lower == pytest.approx(0.02)


def test_a_declared_tolerance_is_the_width() -> None:
    band = after(days(*weeks(3, noise=0.3)), tolerance=0.1)
    assert band.upper == pytest.approx(1.1 * (band.expected or 0))
    assert "± 10 % as declared" in band.explain()


def test_weekdays_are_those_of_the_time_zone() -> None:
    # Loads at 23:00 UTC on Saturdays bring what in Auckland is Sunday.
    points = [replace(point, at=point.at - timedelta(hours=3)) for point in days(*weeks(9))]
    at = MONDAY + timedelta(weeks=9, days=SUNDAY, hours=-3)
    assert tolerance_band(points, at, BandSettings(time_zone="Pacific/Auckland")).weekday == "Sunday"
    assert tolerance_band(points, at).weekday == "Saturday"


def test_what_is_kept_of_a_band_is_small_and_whole() -> None:
    kept = after(days(*weeks(12))).to_json()
    assert kept["state"] == "ACTIVE"
    assert kept["n"] == len(kept["inputs"]["values"]) == 84
    assert kept["inputs"]["since"] == "2026-01-05T02:00:00.000000Z"


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("min_points", 1),
        ("scale", 0),
        ("floor", -0.1),
        ("seasonal_min", 1),
        ("window_days", 0),
        ("shift_points", 3),
        ("time_zone", "Mars/Base"),
    ],
)
def test_settings_that_make_no_sense_are_refused(setting: str, value: object) -> None:
    with pytest.raises(Invalid, match=f"bands.{setting}"):
        BandSettings(**{setting: value})  # type: ignore[arg-type]


SERIES = st.lists(st.integers(0, 10_000), min_size=1, max_size=60)


@given(SERIES, st.randoms())
def test_the_order_in_which_points_are_given_does_not_matter(values: list[int], chance: random.Random) -> None:
    points = days(*values)
    mixed = list(points)
    chance.shuffle(mixed)
    assert after(points) == tolerance_band(mixed, points[-1].at + timedelta(days=1))


@given(SERIES, st.integers(-8, 8))
def test_a_band_has_no_unit(values: list[int], power: int) -> None:
    factor = 2.0**power
    band, scaled = after(days(*values)), after(days(*[value * factor for value in values]))
    assert (scaled.state, scaled.method, scaled.n) == (band.state, band.method, band.n)
    for name in ("lower", "upper", "expected"):
        assert getattr(scaled, name) == pytest.approx(getattr(band, name) * factor, rel=1e-6, abs=1e-6)


@given(SERIES, st.floats(0, 1e9), SERIES)
def test_a_point_has_no_part_in_its_own_band_and_none_in_earlier_ones(values: list[int], tested: float, later: list[int]) -> None:
    points = days(*values)
    at = points[-1].at + timedelta(days=1)
    with_it = [*points, Point(at, tested), *days(*later, start=len(values) + 1)]
    assert tolerance_band(with_it, at) == tolerance_band(points, at)
    assert walk(with_it)[len(values)].band == tolerance_band(points, at)


@given(SERIES)
def test_what_is_expected_is_usual(values: list[int]) -> None:
    band = after(days(*values))
    assert band.lower is not None
    assert band.upper is not None
    assert band.expected is not None
    assert band.lower <= band.expected <= band.upper
    assert band.judge(band.expected) in ("pass", "learning")
