"""Cron expressions: Quartz's, with seconds and years, and Unix's. Whatever Quartz, and so Databricks, can do is understood here.

What Quartz reads but does not do is refused: a list with `L`, `W` or `#`, and a step behind a name, which it ignores.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta

from lakeledger.config import suggest
from lakeledger.errors import Invalid

DAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
# A 29th of February comes within eight years, and as each day of the week within forty.
LONGEST_SEARCH = timedelta(days=366 * 40)
DAY = timedelta(days=1)

_ITEM = re.compile(r"(?:\*?|(?P<first>[0-9A-Z]{1,4})(?:-(?P<last>[0-9A-Z]{1,4}))?)(?:/(?P<step>[0-9]{1,4}))?")
_DAY_OF_MONTH = re.compile(r"L(?:-(?P<before>[0-9]{1,2}))?(?P<weekday>W?)|(?P<near>[0-9]{1,2})W")
_DAY_OF_WEEK = re.compile(r"(?P<day>[0-9]|[A-Z]{3})(?:L|#(?P<nth>[1-5]))")

IsDay = Callable[[date], bool]


@dataclass(frozen=True)
class Field:
    """One field of an expression: its lowest and highest value, the `names` of values, and the `allowed` words for people."""

    name: str
    low: int
    high: int
    allowed: str
    names: Mapping[str, int] = field(default_factory=dict)
    is_quartz: bool = True

    @property
    def top(self) -> int:
        """The highest number that may be written: Unix has two for Sunday."""
        return self.high if self.is_quartz or self.name != "day of week" else 7

    def values(self, text: str) -> frozenset[int]:
        """The numbers that the field stands for. Raises ValueError."""
        count = self.high - self.low + 1
        return frozenset((value - self.low) % count + self.low for item in text.split(",") for value in self._item(item, count))

    def number(self, word: str) -> int:
        """The number of one value. Raises ValueError."""
        found = self.names[word] if word in self.names else int(word)
        if not self.low <= found <= self.top:
            raise ValueError(word)
        return found

    def _item(self, item: str, count: int) -> range:
        found = _ITEM.fullmatch(item)
        if not item or not found or not 1 <= (step := int(found["step"] or 1)) <= self.top:
            raise ValueError(item)
        if found["first"] is None:
            return range(self.low, self.high + 1, step)
        if self.is_quartz and found["step"] and has_name(item):
            raise ValueError(item)
        first = self.number(found["first"])
        last = self.number(found["last"]) if found["last"] else self.high if found["step"] else first
        if last < first and self.name == "year":
            raise ValueError(item)
        return range(first, last + 1 if last >= first else last + count + 1, step)


_OF_MONTH = "1 to 31, L for the last day, L-3 for the third before it, LW for the last weekday, 15W for the weekday nearest to a day"
_OF_WEEK = "SUN to SAT by name or number, FRIL for the last one of a month, FRI#2 for the second"
_ALONE = "these not in a list"
QUARTZ = (
    Field("second", 0, 59, "0 to 59"),
    Field("minute", 0, 59, "0 to 59"),
    Field("hour", 0, 23, "0 to 23"),
    Field("day of month", 1, 31, f"{_OF_MONTH}; {_ALONE}"),
    Field("month", 1, 12, "1 to 12 or JAN to DEC, a step only behind numbers", {name: at for at, name in enumerate(MONTHS, 1)}),
    Field("day of week", 1, 7, f"{_OF_WEEK}, {_ALONE}; a step only behind numbers", {name: at for at, name in enumerate(DAYS, 1)}),
    Field("year", 1970, 2099, "1970 to 2099"),
)
UNIX = (
    *QUARTZ[1:4],
    Field("month", 1, 12, "1 to 12 or JAN to DEC", QUARTZ[4].names, is_quartz=False),
    Field("day of week", 0, 6, f"{_OF_WEEK}; {_ALONE}", {name: at for at, name in enumerate(DAYS)}, is_quartz=False),
)


@dataclass(frozen=True)
class Times:
    """What an expression says: the days, as any of some rules, and the times of those days. No `years` are all of them."""

    seconds: Sequence[int]
    minutes: Sequence[int]
    hours: Sequence[int]
    days: Sequence[IsDay]
    months: frozenset[int]
    years: frozenset[int] | None

    def after(self, moment: datetime) -> datetime | None:
        """The first time later than that, None if there is none in decades."""
        soonest = moment.replace(microsecond=0) + timedelta(seconds=1)
        day, start = soonest.date(), soonest.time()
        while day - soonest.date() < LONGEST_SEARCH:
            if day.month not in self.months or (self.years is not None and day.year not in self.years):
                day, start = day.replace(day=1) + timedelta(days=monthrange(day.year, day.month)[1]), time.min
                continue
            if any(is_day(day) for is_day in self.days) and (found := self._time_from(start)):
                return datetime.combine(day, found)
            day, start = day + DAY, time.min
        return None

    def _time_from(self, start: time) -> time | None:
        for hour in (hour for hour in self.hours if hour >= start.hour):
            for minute in (minute for minute in self.minutes if (hour, minute) >= (start.hour, start.minute)):
                for second in self.seconds:
                    if (found := time(hour, minute, second)) >= start:
                        return found
        return None


def parse_quartz(text: str) -> Times:
    """What a Quartz expression says. Raises Invalid that names the field."""
    texts = text.upper().split()
    if len(texts) not in (6, 7):
        raise Invalid(f"schedule {text!r} has {len(texts)} fields: a Quartz expression has 6 or 7, {_names(QUARTZ)}")
    if (texts[3] == "?") == (texts[5] == "?"):
        raise Invalid(f"schedule {text!r}: put ? in one of day of month and day of week, and only in one, as Quartz wants it")
    if wrong := [number for number in re.findall(r"(?<![#/\d])\d+", texts[5]) if not 1 <= int(number) <= 7]:
        raise Invalid(f"schedule {text!r}: there is no day of week {wrong[0]}: Quartz counts from 1 (SUN) to 7 (SAT)")
    second, minute, hour, month = (_values(text, QUARTZ[at], texts[at]) for at in (0, 1, 2, 4))
    days = _day_of_month(text, QUARTZ[3], texts[3]) if texts[5] == "?" else _day_of_week(text, QUARTZ[5], texts[5])
    years = _values(text, QUARTZ[6], texts[6]) if len(texts) == 7 else None
    return Times(sorted(second), sorted(minute), sorted(hour), (days,), month, years)


def parse_unix(text: str) -> Times:
    """What a Unix expression says. Raises Invalid that names the field."""
    texts = _unix_fields(text)
    minute, hour, month = (_values(text, UNIX[at], texts[at]) for at in (0, 1, 3))
    rules = _day_of_month(text, UNIX[2], texts[2]), _day_of_week(text, UNIX[4], texts[4])
    # As cron has it, a day of the month or of the week is enough if both are named.
    days = rules if "*" not in (texts[2], texts[4]) else rules[:1] if texts[4] == "*" else rules[1:]
    return Times((0,), sorted(minute), sorted(hour), days, month, None)


def to_quartz(text: str) -> str:
    """A Unix expression as Quartz writes it. Raises Invalid for days of both month and week, which Quartz cannot say."""
    minute, hour, day, month, weekday = _unix_fields(text)
    if day != "*" and weekday != "*":
        raise Invalid(f"cron {text!r} names days of the month and of the week: give two modules, or a quartz_cron_expression")
    if "/" in month and has_name(month):
        month = ",".join(str(value) for value in sorted(_values(text, UNIX[3], month)))
    days = ",".join(_to_quartz_days(text, item) for item in weekday.split(","))
    return f"0 {minute} {hour} {'?' if weekday != '*' else day} {month} {days if weekday != '*' else '?'}"


def has_name(text: str) -> bool:
    """Whether days or months stand there by name."""
    return any(letter.isalpha() for letter in text)


def _to_quartz_days(text: str, item: str) -> str:
    """Days by name, which both count alike. A step behind a name would be ignored, and Sunday to Sunday would be one day."""
    if special := _DAY_OF_WEEK.fullmatch(item):
        _day_of_week(text, UNIX[4], item)
        return f"{DAYS[UNIX[4].number(special['day']) % 7]}{item[len(special['day']) :]}"
    values = _values(text, UNIX[4], item)
    if len(values) == 7:
        return "*"
    if "/" in item or "-" not in item:
        return ",".join(DAYS[value] for value in sorted(values))
    return "-".join(DAYS[UNIX[4].number(word) % 7] for word in item.split("-"))


def _unix_fields(text: str) -> list[str]:
    texts = ["*" if each == "?" else each for each in text.upper().split()]
    if len(texts) != len(UNIX):
        raise Invalid(f"schedule {text!r} has {len(texts)} fields: a cron expression has 5, {_names(UNIX)}")
    return texts


def _names(fields: Sequence[Field]) -> str:
    return ", ".join(each.name for each in fields)


def _values(text: str, of: Field, written: str) -> frozenset[int]:
    try:
        return of.values(written)
    except ValueError as error:
        raise _unreadable(text, of, written) from error


def _unreadable(text: str, of: Field, written: str) -> Invalid:
    words = [*of.names, *(f"{name}L" for name in of.names if of.name == "day of week")]
    unknown = [word for word in re.findall(r"[^\W\d_]+", written) if word not in words]
    return Invalid(f"schedule {text!r}: cannot read its {of.name}{(suggest(unknown[0], words) if unknown else '') or f': {of.allowed}'}")


def _day_of_month(text: str, of: Field, written: str) -> IsDay:
    found = _DAY_OF_MONTH.fullmatch(written)
    if found is None:
        values = _values(text, of, written)
        return lambda day: day.day in values
    near, before = int(found["near"] or 0), int(found["before"] or 0)
    if (found["near"] and not 1 <= near <= 31) or before > 30:
        raise _unreadable(text, of, written)

    def is_day(day: date) -> bool:
        last = monthrange(day.year, day.month)[1]
        meant = near or last - before
        if not 1 <= meant <= last:
            return False
        there = day.replace(day=meant)
        return day == (_nearest_weekday(there, last) if near or found["weekday"] else there)

    return is_day


def _nearest_weekday(day: date, last: int) -> date:
    """The weekday nearest to that day, within its month."""
    match day.isoweekday():
        case 6:
            return day - DAY if day.day > 1 else day + 2 * DAY
        case 7:
            return day + DAY if day.day < last else day - 2 * DAY
        case _:
            return day


def _day_of_week(text: str, of: Field, written: str) -> IsDay:
    if of.is_quartz and written == "L":
        written = "SAT"
    found = _DAY_OF_WEEK.fullmatch(written)
    if found is None:
        values = {(value - of.low) % 7 for value in _values(text, of, written)}
        return lambda day: day.isoweekday() % 7 in values
    try:
        meant, nth = (of.number(found["day"]) - of.low) % 7, int(found["nth"] or 0)
    except ValueError as error:
        raise _unreadable(text, of, written) from error

    def is_day(day: date) -> bool:
        is_right = (day.day - 1) // 7 + 1 == nth if nth else day.day + 7 > monthrange(day.year, day.month)[1]
        return is_right and day.isoweekday() % 7 == meant

    return is_day
