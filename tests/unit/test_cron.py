"""Cron expressions: what Quartz can do is understood, what it cannot is refused, and a Unix one means the same on every backend."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

import pytest
from croniter import croniter  # type: ignore[import-untyped]  # it has no types
from hypothesis import given
from hypothesis import strategies as st

from examples import tried
from lakeledger import Invalid
from lakeledger.control.documents import Module, parse
from lakeledger.control.settings import job_settings
from lakeledger.jobs.cron import Times, parse_quartz, parse_unix, to_quartz
from lakeledger.jobs.schedule import check

START = datetime(2026, 8, 1)  # noqa: DTZ001 - a day of the calendar, wherever that is


def times(found: Times, count: int = 4) -> Iterator[datetime]:
    at: datetime | None = START
    for _ in range(count):
        at = found.after(at) if at else None
        if at:
            yield at


def days(found: Times, count: int = 4) -> list[str]:
    return [f"{at:%m-%d}" for at in times(found, count)]


# Day of month, day of week, and the days from August 2026 on; None if Quartz refuses it or does something else than it says.
QUARTZ_DAYS = [
    ("L", "?", ["08-31", "09-30", "10-31", "11-30"]),
    ("L-3", "?", ["08-28", "09-27", "10-28", "11-27"]),
    ("L-30", "?", ["08-01", "10-01", "12-01", "01-01"]),
    ("L-31", "?", None),
    ("LW", "?", ["08-31", "09-30", "10-30", "11-30"]),
    ("L-1W", "?", ["08-31", "09-29", "10-30", "11-30"]),
    ("1W", "?", ["08-03", "09-01", "10-01", "11-02"]),
    ("15W", "?", ["08-14", "09-15", "10-15", "11-16"]),
    ("31W", "?", ["08-31", "10-30", "12-31", "01-29"]),
    ("0W", "?", None),
    ("32W", "?", None),
    ("W", "?", None),
    ("1W,15W", "?", None),
    ("1,15W", "?", None),
    ("1-15W", "?", None),
    ("L,15", "?", None),
    ("LW,1", "?", None),
    ("30-2", "?", ["08-01", "08-02", "08-30", "08-31"]),
    ("1/10", "?", ["08-01", "08-11", "08-21", "08-31"]),
    ("/10", "?", ["08-01", "08-11", "08-21", "08-31"]),
    ("*/32", "?", None),
    ("?", "L", ["08-01", "08-08", "08-15", "08-22"]),
    ("?", "6L", ["08-28", "09-25", "10-30", "11-27"]),
    ("?", "FRIL", ["08-28", "09-25", "10-30", "11-27"]),
    ("?", "2#2", ["08-10", "09-14", "10-12", "11-09"]),
    ("?", "MON#2", ["08-10", "09-14", "10-12", "11-09"]),
    ("?", "MON#5", ["08-31", "11-30", "03-29", "05-31"]),
    ("?", "MON#6", None),
    ("?", "MON#0", None),
    ("?", "MON#2,FRI#2", None),
    ("?", "MON,WED#2", None),
    ("?", "1,6L", None),
    ("?", "L5", None),
    ("?", "LFRI", None),
    ("?", "FRI-MON", ["08-01", "08-02", "08-03", "08-07"]),
    ("?", "1/2", ["08-01", "08-02", "08-04", "08-06"]),
    ("?", "1-5/2", ["08-02", "08-04", "08-06", "08-09"]),
    ("?", "MON/2", None),
    ("?", "SUN-THU/2", None),
    ("?", "1/8", None),
    ("1", "1", None),
    ("*", "*", None),
    ("?", "?", None),
]


@pytest.mark.parametrize(("day_of_month", "day_of_week", "expected"), QUARTZ_DAYS)
def test_the_days_of_quartz_are_understood_or_refused(day_of_month: str, day_of_week: str, expected: list[str] | None) -> None:
    expression = f"0 0 6 {day_of_month} * {day_of_week}"
    if expected is None:
        with pytest.raises(Invalid):
            check({"quartz_cron_expression": expression})
    else:
        check({"quartz_cron_expression": expression})
        assert days(parse_quartz(expression)) == expected


@pytest.mark.parametrize(
    ("expression", "hours"),
    [("0 0 22-2/2 * * ?", [0, 2, 22]), ("0 0 9-17/4 * * ?", [9, 13, 17]), ("0 0 /12 * * ?", [0, 12])],
)
def test_ranges_may_go_round_and_have_steps(expression: str, hours: list[int]) -> None:
    assert parse_quartz(expression).hours == hours


@pytest.mark.parametrize(
    "expression", ["0 0 6 1 JAN/3 ?", "0 0 6 1 JAN-JUN/2 ?", "0 0 6 1 1 ? 2030-2026", "0 0/60 * * * ?", "0 0 */24 * * ?"]
)
def test_what_quartz_would_ignore_or_refuse_is_refused(expression: str) -> None:
    with pytest.raises(Invalid, match="cannot read its"):
        check({"quartz_cron_expression": expression})


# Unix, and the same for Quartz; None if it is refused.
UNIX = [
    ("0 5 * * 1#2", "0 0 5 ? * MON#2"),
    ("0 5 * * mon#2", "0 0 5 ? * MON#2"),
    ("0 5 * * 7#1", "0 0 5 ? * SUN#1"),
    ("0 5 * * 5L", "0 0 5 ? * FRIL"),
    ("0 5 * * 9#2", None),
    ("0 5 * * L5", None),
    ("0 5 * * L", None),
    ("0 5 * * 1,3L", None),
    ("0 5 * * 5-7", "0 0 5 ? * FRI-SUN"),
    ("0 5 * * 0-7", "0 0 5 ? * *"),
    ("0 5 * * 1-5", "0 0 5 ? * MON-FRI"),
    ("0 5 * * mon-fri/2", "0 0 5 ? * MON,WED,FRI"),
    ("0 5 * * */2", "0 0 5 ? * SUN,TUE,THU,SAT"),
    ("0 5 * * 0-4/2", "0 0 5 ? * SUN,TUE,THU"),
    ("0 5 * * 7", "0 0 5 ? * SUN"),
    ("0 5 ? * 1", "0 0 5 ? * MON"),
    ("0 5 1 * ?", "0 0 5 1 * ?"),
    ("0 5 LW * *", "0 0 5 LW * ?"),
    ("0 5 L-3 * *", "0 0 5 L-3 * ?"),
    ("0 5 1 jan-jun/2 *", "0 0 5 1 1,3,5 ?"),
    ("*/15 * * * *", "0 */15 * * * ?"),
    ("0 5 3 * sat", None),
    ("0 0 31 2 *", None),
    ("@daily", None),
]


def module(schedule: str) -> Module:
    text = f"""
modules:
  - module_name: shop
    schedule: {schedule}
    sources:
      - {{source_id: a, source_type: sql, target_config: {{table: t}}, transformation_config: {{sql_task: {{sql_query: select 1 as x}}}}}}
"""
    return parse(text, "shop.yml").modules[0]


@pytest.mark.parametrize(("unix", "quartz"), UNIX)
def test_what_a_document_may_say_in_unix_is_what_every_backend_can_do(unix: str, quartz: str | None) -> None:
    if quartz is None:
        with pytest.raises(Invalid):
            module(f"{{cron: '{unix}'}}")
        return
    settings = job_settings(module(f"{{cron: '{unix}'}}"), "etl_control")["schedule"]
    assert settings["quartz_cron_expression"] == quartz
    check(settings)
    assert list(times(parse_quartz(quartz), 30)) == list(times(parse_unix(unix), 30))


def one(low: int, high: int) -> st.SearchStrategy[str]:
    numbers = st.integers(low, high)
    ranges = st.sets(numbers, min_size=2, max_size=2).map(lambda pair: f"{min(pair)}-{max(pair)}")
    steps = st.tuples(st.just("*") | ranges, st.integers(1, high)).map(lambda pair: f"{pair[0]}/{pair[1]}")
    return st.lists(numbers.map(str) | ranges | steps, min_size=1, max_size=3).map(",".join)


UNIX_EXPRESSIONS = st.tuples(
    one(0, 59), st.just("*") | one(0, 23), st.just("*") | one(1, 28), st.just("*") | one(1, 12), st.just("*") | one(0, 6)
).map(" ".join)


@tried(1)
@given(UNIX_EXPRESSIONS)
def test_a_unix_expression_means_what_another_library_reads_in_it(expression: str) -> None:
    theirs = croniter(expression, START)
    assert list(times(parse_unix(expression), 5)) == [theirs.get_next(datetime) for _ in range(5)]


@tried(1)
@given(UNIX_EXPRESSIONS)
def test_a_unix_expression_means_the_same_for_quartz(expression: str) -> None:
    _, _, day, _, weekday = expression.split()
    if day != "*" and weekday != "*":
        with pytest.raises(Invalid, match="names days of the month and of the week"):
            to_quartz(expression)
    else:
        assert list(times(parse_quartz(to_quartz(expression)), 5)) == list(times(parse_unix(expression), 5))
