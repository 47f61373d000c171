"""When a schedule is due next: Quartz and Unix expressions, time zones, and the nights on which clocks change."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import tried
from lakeledger import Invalid
from lakeledger.jobs.schedule import check, next_time

MINUTE = timedelta(minutes=1)


def times(schedule: dict[str, Any], after: str, count: int) -> list[str]:
    """The next times, as the clock on the wall shows them there."""
    zone = ZoneInfo(schedule.get("timezone_id", "UTC"))
    at, found = datetime.fromisoformat(after).replace(tzinfo=zone), []
    for _ in range(count):
        due = next_time(schedule, at)
        assert due is not None
        assert due.tzinfo is UTC
        found.append(due.astimezone(zone).isoformat(timespec="minutes")[: -6 if zone.key == "UTC" else None])
        at = due
    return found


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("0 0 6 * * ?", ["2026-08-01T06:00", "2026-08-02T06:00"]),
        ("0 0 6 ? * 2-6", ["2026-08-03T06:00", "2026-08-04T06:00"]),
        ("0 0 6 ? * MON-FRI", ["2026-08-03T06:00", "2026-08-04T06:00"]),
        ("0 0 6 ? * 1", ["2026-08-02T06:00", "2026-08-09T06:00"]),
        ("0 0 6 ? * sun", ["2026-08-02T06:00", "2026-08-09T06:00"]),
        ("0 0 6 ? * 7-1", ["2026-08-01T06:00", "2026-08-02T06:00", "2026-08-08T06:00"]),
        ("0 0 6 ? * 2/2", ["2026-08-03T06:00", "2026-08-05T06:00", "2026-08-07T06:00", "2026-08-10T06:00"]),
        ("0 0 6 ? * 6L", ["2026-08-28T06:00", "2026-09-25T06:00"]),
        ("0 0 6 ? * FRIL", ["2026-08-28T06:00", "2026-09-25T06:00"]),
        ("0 0 6 ? * L", ["2026-08-01T06:00", "2026-08-08T06:00"]),
        ("0 0 6 ? * 6#3", ["2026-08-21T06:00", "2026-09-18T06:00"]),
        ("0 0 6 L * ?", ["2026-08-31T06:00", "2026-09-30T06:00"]),
        ("0 0 6 15W * ?", ["2026-08-14T06:00", "2026-09-15T06:00"]),
        ("0 0 6 1,15 JAN-MAR ?", ["2027-01-01T06:00", "2027-01-15T06:00"]),
        ("0 0/20 8-9 ? * *", ["2026-08-01T08:00", "2026-08-01T08:20", "2026-08-01T08:40", "2026-08-01T09:00"]),
        ("0 0 0 1 1 ? 2030", ["2030-01-01T00:00"]),
        ("0 0 0 29 2 ?", ["2028-02-29T00:00"]),
    ],
)
def test_a_quartz_expression_means_what_quartz_means(expression: str, expected: list[str]) -> None:
    schedule = {"quartz_cron_expression": expression}
    check(schedule)
    assert times(schedule, "2026-08-01T00:00", len(expected)) == expected


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("0 6 * * *", ["2026-08-01T06:00", "2026-08-02T06:00"]),
        ("*/20 8 * * *", ["2026-08-01T08:00", "2026-08-01T08:20", "2026-08-01T08:40", "2026-08-02T08:00"]),
        ("0 6 * * 1-5", ["2026-08-03T06:00"]),
        ("0 6 * * 0", ["2026-08-02T06:00"]),
        ("0 6 * * 7", ["2026-08-02T06:00"]),
        ("0 6 3 * sat", ["2026-08-01T06:00", "2026-08-03T06:00", "2026-08-08T06:00"]),
    ],
)
def test_a_unix_expression_means_what_cron_means(expression: str, expected: list[str]) -> None:
    check({"cron": expression})
    assert times({"cron": expression}, "2026-08-01T00:00", len(expected)) == expected


def test_seconds_count_in_quartz() -> None:
    at = datetime(2026, 8, 1, 6, 0, 30, 500_000, tzinfo=UTC)
    assert next_time({"quartz_cron_expression": "*/15 * * * * ?"}, at) == datetime(2026, 8, 1, 6, 0, 45, tzinfo=UTC)
    assert next_time({"quartz_cron_expression": "30 0 6 * * ?"}, at) == datetime(2026, 8, 2, 6, 0, 30, tzinfo=UTC)


def test_a_due_time_is_later_than_the_one_before_it() -> None:
    at = datetime(2026, 8, 1, 6, tzinfo=UTC)
    assert next_time({"cron": "0 6 * * *"}, at) == at + timedelta(days=1)
    assert next_time({"cron": "0 6 * * *"}, at - timedelta(microseconds=1)) == at


def test_a_paused_schedule_and_one_that_is_over_are_never_due() -> None:
    at = datetime(2026, 8, 1, tzinfo=UTC)
    assert next_time({"cron": "0 6 * * *", "pause_status": "PAUSED"}, at) is None
    assert next_time({"quartz_cron_expression": "0 0 6 1 1 ? 2020"}, at) is None


def test_a_time_is_meant_where_the_schedule_says() -> None:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    assert next_time({"cron": "0 6 * * *", "timezone_id": "Asia/Tokyo"}, at) == datetime(2026, 1, 1, 21, tzinfo=UTC)
    assert next_time({"cron": "0 6 * 7 *", "timezone_id": "Europe/Berlin"}, at) == datetime(2026, 7, 1, 4, tzinfo=UTC)


# The nights on which clocks change


NEW_YORK = {"timezone_id": "America/New_York"}


def test_a_time_that_does_not_exist_is_due_after_the_gap() -> None:
    expected = ["2026-03-07T02:30-05:00", "2026-03-08T03:00-04:00", "2026-03-09T02:30-04:00"]
    assert times({"cron": "30 2 * * *", **NEW_YORK}, "2026-03-07T00:00", 3) == expected
    assert times({"quartz_cron_expression": "0 30 2 * * ?", **NEW_YORK}, "2026-03-07T00:00", 3) == expected


def test_several_times_in_the_gap_are_due_once() -> None:
    assert times({"cron": "*/15 2 * * *", **NEW_YORK}, "2026-03-08T00:00", 2) == ["2026-03-08T03:00-04:00", "2026-03-09T02:00-04:00"]


def test_a_time_that_comes_twice_is_due_once() -> None:
    expected = ["2026-11-01T01:30-04:00", "2026-11-02T01:30-05:00"]
    assert times({"cron": "30 1 * * *", **NEW_YORK}, "2026-10-31T12:00", 2) == expected
    assert times({"quartz_cron_expression": "0 30 1 ? * *", **NEW_YORK}, "2026-10-31T12:00", 2) == expected


def test_every_hour_means_every_hour_that_passes() -> None:
    hourly = {"cron": "0 * * * *", **NEW_YORK}
    assert times(hourly, "2026-11-01T00:30", 3) == ["2026-11-01T01:00-04:00", "2026-11-01T01:00-05:00", "2026-11-01T02:00-05:00"]
    assert times(hourly, "2026-03-08T00:30", 3) == ["2026-03-08T01:00-05:00", "2026-03-08T03:00-04:00", "2026-03-08T04:00-04:00"]


def by_brute_force(minutes: set[int], hours: set[int] | None, zone: ZoneInfo, after: datetime) -> datetime:
    """The same, found by looking at the clock minute by minute."""
    at = after.replace(second=0, microsecond=0)
    while True:
        at += MINUTE
        now, before = at.astimezone(zone), (at - MINUTE).astimezone(zone)
        if hours is None:
            if now.minute in minutes:
                return at
            continue
        shown, left_out = now.replace(tzinfo=None), before.replace(tzinfo=None) + MINUTE
        times_here = [shown] if not now.fold else []
        while left_out < shown:
            times_here.append(left_out)
            left_out += MINUTE
        if any(each.hour in hours and each.minute in minutes for each in times_here):
            return at


CHANGES = [
    ("America/New_York", datetime(2026, 3, 8, 7, tzinfo=UTC)),
    ("America/New_York", datetime(2026, 11, 1, 6, tzinfo=UTC)),
    ("Europe/Berlin", datetime(2026, 3, 29, 1, tzinfo=UTC)),
    ("Europe/Berlin", datetime(2026, 10, 25, 1, tzinfo=UTC)),
    ("Australia/Lord_Howe", datetime(2026, 4, 4, 15, tzinfo=UTC)),
    ("Australia/Lord_Howe", datetime(2026, 10, 3, 15, 30, tzinfo=UTC)),
    ("Pacific/Apia", datetime(2011, 12, 30, 10, tzinfo=UTC)),
    ("Asia/Kolkata", datetime(2026, 1, 1, tzinfo=UTC)),
]


@tried(2)
@given(
    st.sampled_from(CHANGES),
    st.integers(-20_000, 20_000),
    st.sets(st.integers(0, 59), min_size=1, max_size=3),
    st.none() | st.sets(st.integers(0, 23), min_size=1, max_size=3),
)
def test_around_every_change_of_clocks_it_is_as_a_look_at_the_clock_says(
    change: tuple[str, datetime], seconds: int, minutes: set[int], hours: set[int] | None
) -> None:
    name, at = change
    after = at + timedelta(seconds=seconds)
    expression = f"{','.join(map(str, sorted(minutes)))} {'*' if hours is None else ','.join(map(str, sorted(hours)))} * * *"
    found = next_time({"cron": expression, "timezone_id": name}, after)
    assert found == by_brute_force(minutes, hours, ZoneInfo(name), after)


# What cannot be read


@pytest.mark.parametrize(
    ("schedule", "reason"),
    [
        ({"quartz_cron_expression": "0 0 25 * * ?"}, "cannot read its hour: 0 to 23"),
        ({"quartz_cron_expression": "60 0 0 * * ?"}, "cannot read its second"),
        ({"quartz_cron_expression": "0 */0 0 * * ?"}, "cannot read its minute"),
        ({"quartz_cron_expression": "0 0 6 ? JANN 1"}, "cannot read its month; did you mean 'JAN'"),
        ({"quartz_cron_expression": "0 0 6 ? * SUNN"}, "cannot read its day of week; did you mean 'SUN'"),
        ({"quartz_cron_expression": "0 0 6 ? * 0"}, "no day of week 0: Quartz counts from 1"),
        ({"quartz_cron_expression": "0 0 6 ? * 8"}, "no day of week 8"),
        ({"quartz_cron_expression": "0 0 6 ? * 6#6"}, "cannot read its day of week"),
        ({"quartz_cron_expression": "0 0 6 ? * 1,6L"}, "cannot read its day of week"),
        ({"quartz_cron_expression": "0 0 6 L,15 * ?"}, "cannot read its day of month: .* not in a list"),
        ({"quartz_cron_expression": "0 0 6 31 2 ?"}, "is never due"),
        ({"quartz_cron_expression": "0 0 6 1 1 ? 1066"}, "cannot read its year"),
        ({"quartz_cron_expression": "0 0 6 * * *"}, r"put \? in one of day of month and day of week"),
        ({"quartz_cron_expression": "0 0 6 ? * ?"}, "and only in one"),
        ({"quartz_cron_expression": "0 6 * * *"}, "has 5 fields: a Quartz expression has 6 or 7"),
        ({"cron": "0 0 6 * * ?"}, "has 6 fields: a cron expression has 5"),
        ({"cron": "61 * * * *"}, "cannot read its minute"),
        ({"cron": "R * * * *"}, "cannot read its minute"),
        ({"cron": "H H * * *"}, "cannot read its minute"),
        ({"cron": "@daily"}, "has 1 fields"),
        ({"cron": "0 6 * * 8"}, "cannot read its day of week"),
        ({"cron": "0 6 30 2 *"}, "is never due"),
        ({"cron": "0 6 * * *", "timezone_id": "Europe/Belin"}, "no time zone 'Europe/Belin'; did you mean 'Europe/Berlin'"),
        ({"cron": "0 6 * * *", "timezone_id": "../etc"}, "no time zone '../etc'; use a name such as Europe/Berlin"),
        ({"cron": "0 6 * * *", "timezone_id": "America"}, "no time zone 'America'"),
        ({"cron": "0 6 * * *", "quartz_cron_expression": "0 0 6 * * ?"}, "either a quartz_cron_expression or a cron"),
        ({}, "either a quartz_cron_expression or a cron"),
    ],
)
def test_a_schedule_that_cannot_be_read_says_which_part(schedule: dict[str, str], reason: str) -> None:
    with pytest.raises(Invalid, match=reason):
        check(schedule)


@tried(2)
@given(st.text("0123456789*/,-#?LWabMONfri @", max_size=24) | st.text(max_size=12), st.sampled_from(["cron", "quartz_cron_expression"]))
def test_whatever_is_written_there_is_understood_or_refused(text: str, kind: str) -> None:
    at = datetime(2026, 8, 1, tzinfo=UTC)
    try:
        check({kind: text})
    except Invalid:
        return
    due = next_time({kind: text}, at)
    assert due is None or due > at
