"""When a schedule is due: Quartz and Unix cron expressions in a time zone. Nothing here knows what time it is.

Where clocks are put forward, a time that does not exist is due at the first moment after the gap; where they are put back, a time that
comes twice is due once, the first time. A schedule for every hour follows the hours as they really pass: it leaves the gap out, and the
hour that comes twice counts twice.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from math import ceil
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo, available_timezones

from lakeledger.config import suggest
from lakeledger.errors import Invalid

if TYPE_CHECKING:
    from croniter import croniter  # type: ignore[import-untyped]  # it has no types

QUARTZ_FIELDS = ("second", "minute", "hour", "day of month", "month", "day of week", "year")
UNIX_FIELDS = QUARTZ_FIELDS[1:6]
HOUR = 1  # Where croniter keeps the hours of an expression.
EVERY = ["*"]
MOMENT = timedelta(microseconds=1)

_ALLOWED = {
    "second": "0 to 59",
    "minute": "0 to 59",
    "hour": "0 to 23",
    "day of month": "1 to 31, L for the last, nW for the weekday nearest to a day (but not LW, L-n or a list with W)",
    "month": "1 to 12 or JAN to DEC",
    "day of week": "SUN to SAT by name or number, dayL for the last one of a month or day#n for the nth, these two not in a list",
    "year": "1970 to 2099",
}
_DAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
_WORDS = {
    "day of month": {"L", "W", "LW"},
    "month": {"JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"},
    "day of week": {*_DAYS, "L", *(f"{day}L" for day in _DAYS)},
}


def next_time(schedule: Mapping[str, Any], after: datetime) -> datetime | None:
    """When the schedule is due next, after that time. None if it is paused, or if that time never comes. Raises Invalid."""
    from croniter import CroniterBadDateError

    times, zone = _parse(schedule)
    if schedule.get("pause_status") == "PAUSED":
        return None
    find = _as_hours_pass if times.expanded[HOUR] == EVERY else _by_the_clock
    try:
        return find(times, zone, after.astimezone(UTC))
    except CroniterBadDateError:
        return None


def check(schedule: Mapping[str, Any]) -> None:
    """Raises Invalid that names the field if the schedule cannot be read, or if there is no such day."""
    _parse(schedule, strict=True)


def to_quartz(unix: str) -> str:
    """A Unix expression as Quartz writes it. Raises Invalid for days of both month and week, which Quartz cannot say."""
    minute, hour, day, month, weekday = unix.split()
    if day != "*" and weekday != "*":
        raise Invalid(f"cron {unix!r} names days of the month and of the week: give two modules, or a quartz_cron_expression")
    named = re.sub(r"(?<![/\d])\d", lambda found: _DAYS[int(found[0]) % 7], weekday)
    return f"0 {minute} {hour} {'?' if weekday != '*' else day} {month} {named if weekday != '*' else '?'}"


def _by_the_clock(times: croniter, zone: ZoneInfo, after: datetime) -> datetime:
    """The next time that the clock shows, or would show if it were not put forward; of one that it shows twice, the first."""
    shown = _shown(after, zone)
    while True:
        shown = times.get_next(datetime, start_time=shown)
        due: datetime = shown.replace(tzinfo=zone).astimezone(UTC)
        if _shown(due, zone) != shown:  # It is left out: due is as long after the gap began as it is into it.
            due = _change(zone, shown.replace(tzinfo=zone, fold=1).astimezone(UTC), due)
        if due > after:
            return due


def _as_hours_pass(times: croniter, zone: ZoneInfo, after: datetime) -> datetime:
    """The next moment at which the clock shows one of the times, however often it has shown it before."""
    shown = start = _shown(after, zone)
    while True:
        due: datetime = after + (times.get_next(datetime, start_time=start) - shown)
        if _offset(due, zone) == _offset(after, zone):
            return due
        after = _change(zone, after, due)
        shown = _shown(after, zone)
        start = shown - MOMENT  # The first moment after the change may be due, too.


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


def _parse(schedule: Mapping[str, Any], *, strict: bool = False) -> tuple[croniter, ZoneInfo]:
    from croniter import CroniterError, croniter

    quartz, unix = schedule.get("quartz_cron_expression"), schedule.get("cron")
    if bool(quartz) == bool(unix):
        raise Invalid("a schedule has either a quartz_cron_expression or a cron expression, for example `0 0 6 * * ?` or `0 6 * * *`")
    text, zone = str(quartz or unix), _zone(str(schedule.get("timezone_id") or "UTC"))
    fields = " ".join(_quartz(text) if quartz else _unix(text))
    try:
        if strict:
            croniter.expand(fields, second_at_beginning=bool(quartz), strict=True)
        return croniter(fields, second_at_beginning=bool(quartz)), zone
    except (CroniterError, ValueError) as error:  # Each field is right by itself.
        raise Invalid(f"schedule {text!r} is never due: there is no such day in that month") from error


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        known = sorted(available_timezones())
        raise Invalid(f"there is no time zone {name!r}{suggest(name, known) or '; use a name such as Europe/Berlin'}") from error


def _unix(text: str) -> list[str]:
    """The fields of a Unix expression, checked one by one. Raises Invalid."""
    fields = text.upper().split()
    if len(fields) != len(UNIX_FIELDS):
        raise Invalid(f"schedule {text!r} has {len(fields)} fields: a cron expression has 5, {', '.join(UNIX_FIELDS)}")
    for index, name in enumerate(UNIX_FIELDS):
        _check_field(text, name, fields[index], [*EVERY * index, fields[index], *EVERY * (4 - index)])
    return fields


def _quartz(text: str) -> list[str]:
    """The fields of a Quartz expression as croniter writes them, checked one by one. Raises Invalid."""
    fields = text.upper().split()
    if len(fields) not in (6, 7):
        raise Invalid(f"schedule {text!r} has {len(fields)} fields: a Quartz expression has 6 or 7, {', '.join(QUARTZ_FIELDS)}")
    if (fields[3] == "?") == (fields[5] == "?"):
        raise Invalid(f"schedule {text!r}: put ? in one of day of month and day of week, and only in one, as Quartz wants it")
    fields[5] = ",".join(_quartz_day(text, item) for item in fields[5].split(","))
    for index, (name, field) in enumerate(zip(QUARTZ_FIELDS, fields, strict=False)):
        alone = ["0", *EVERY * 6]
        alone[index] = field
        _check_field(text, name, field, alone, second_at_beginning=True)
    return fields


def _quartz_day(text: str, item: str) -> str:
    """A day of the week by croniter's numbers: Quartz counts from SUN = 1, and writes the L behind the day."""
    wrong = [number for number in re.findall(r"(?<![#/\d])\d+", item) if not 1 <= int(number) <= 7]
    if wrong:
        raise Invalid(f"schedule {text!r}: there is no day of week {wrong[0]}: Quartz counts from 1 (SUN) to 7 (SAT)")
    if item == "L":
        return "6"
    counted = re.sub(r"(?<![#/\d])\d", lambda match: str(int(match[0]) - 1), item)
    if last := re.fullmatch(r"(\d|[A-Z]{3})L", counted):
        return f"L{_DAYS.index(last[1]) if last[1] in _DAYS else last[1]}"
    return counted


def _check_field(text: str, name: str, field: str, alone: Sequence[str], *, second_at_beginning: bool = False) -> None:
    """One field, in an expression where nothing else can be wrong. Raises Invalid."""
    from croniter import CroniterError, croniter

    words = sorted(_WORDS.get(name, ()))
    unknown = [word for word in re.findall(r"[^\W\d_]+", field) if word not in words]
    close = suggest(unknown[0], words) if unknown else ""
    problem = Invalid(f"schedule {text!r}: cannot read its {name}{close or f': {_ALLOWED[name]}'}")
    # croniter has letters of its own, such as R for chance: what neither cron nor Quartz knows is refused here.
    if unknown or not re.fullmatch(r"[0-9A-Z*?,/#-]+", field):
        raise problem
    try:
        croniter.expand(" ".join(alone), second_at_beginning=second_at_beginning)
    except (CroniterError, ValueError) as error:
        raise problem from error
