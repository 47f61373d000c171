"""When a schedule is due: Quartz and Unix cron expressions in a time zone. Nothing here knows what time it is.

Where clocks are put forward, a time that does not exist is due at the first moment after the gap; where they are put back, a time that
comes twice is due once, the first time. A schedule for every hour follows the hours as they really pass: it leaves the gap out, and the
hour that comes twice counts twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from math import ceil
from typing import Any
from zoneinfo import ZoneInfo, available_timezones

from lakeledger.config import suggest
from lakeledger.errors import Invalid
from lakeledger.jobs import cron
from lakeledger.jobs.cron import Times

MOMENT = timedelta(microseconds=1)
LONG_AGO = datetime(2000, 1, 1)  # noqa: DTZ001 - a day of the calendar, wherever that is


def next_time(schedule: Mapping[str, Any], after: datetime) -> datetime | None:
    """When the schedule is due next, after that time. None if it is paused, or if that time never comes. Raises Invalid."""
    times, zone = _parse(schedule)
    if schedule.get("pause_status") == "PAUSED":
        return None
    find = _as_hours_pass if len(times.hours) == 24 else _by_the_clock
    return find(times, zone, after.astimezone(UTC))


def check(schedule: Mapping[str, Any]) -> None:
    """Raises Invalid that names the field if the schedule cannot be read, or if there is no such day."""
    times, _ = _parse(schedule)
    if replace(times, years=None).after(LONG_AGO) is None:
        raise Invalid(f"schedule {_text(schedule)!r} is never due: there is no such day in that month")


def _by_the_clock(times: Times, zone: ZoneInfo, after: datetime) -> datetime | None:
    """The next time that the clock shows, or would show if it were not put forward; of one that it shows twice, the first."""
    shown = _shown(after, zone)
    while found := times.after(shown):
        shown = found
        due: datetime = shown.replace(tzinfo=zone).astimezone(UTC)
        if _shown(due, zone) != shown:  # It is left out: due is as long after the gap began as it is into it.
            due = _change(zone, shown.replace(tzinfo=zone, fold=1).astimezone(UTC), due)
        if due > after:
            return due
    return None


def _as_hours_pass(times: Times, zone: ZoneInfo, after: datetime) -> datetime | None:
    """The next moment at which the clock shows one of the times, however often it has shown it before."""
    shown = start = _shown(after, zone)
    while found := times.after(start):
        due: datetime = after + (found - shown)
        if _offset(due, zone) == _offset(after, zone):
            return due
        after = _change(zone, after, due)
        shown = _shown(after, zone)
        start = shown - MOMENT  # The first moment after the change may be due, too.
    return None


def _change(zone: ZoneInfo, start: datetime, end: datetime) -> datetime:
    """The second between those times at which the clock was put forward or back."""
    start = start.replace(microsecond=0)
    low, high = 0, ceil((end - start).total_seconds())
    while high - low > 1:
        middle = (low + high) // 2
        same = _offset(start + timedelta(seconds=middle), zone) == _offset(start, zone)
        low, high = (middle, high) if same else (low, middle)
    return start + timedelta(seconds=high)


def _offset(at: datetime, zone: ZoneInfo) -> timedelta | None:
    return at.astimezone(zone).utcoffset()


def _shown(at: datetime, zone: ZoneInfo) -> datetime:
    """What the clock on the wall shows."""
    return at.astimezone(zone).replace(tzinfo=None, fold=0)


def _parse(schedule: Mapping[str, Any]) -> tuple[Times, ZoneInfo]:
    if bool(schedule.get("quartz_cron_expression")) == bool(schedule.get("cron")):
        raise Invalid("a schedule has either a quartz_cron_expression or a cron expression, for example `0 0 6 * * ?` or `0 6 * * *`")
    parse = cron.parse_unix if schedule.get("cron") else cron.parse_quartz
    return parse(_text(schedule)), _zone(str(schedule.get("timezone_id") or "UTC"))


def _text(schedule: Mapping[str, Any]) -> str:
    return str(schedule.get("quartz_cron_expression") or schedule.get("cron"))


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        known = sorted(available_timezones())
        raise Invalid(f"there is no time zone {name!r}{suggest(name, known) or '; use a name such as Europe/Berlin'}") from error
