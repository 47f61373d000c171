"""What a watermark lets a load read, compared with a model: rows tie, come late, come while others are read, or have no watermark."""

from __future__ import annotations

import sqlite3
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakeledger.errors import Invalid
from lakeledger.pipelines.sources.watermark import (
    Bound,
    Found,
    Planned,
    Slice,
    Watermark,
    plan,
    plan_window,
    render,
    to_mark,
    to_position,
)
from lakeledger.sync.kinds import DocumentPosition, NumberPosition, TimestampPosition, WatermarkPosition, parse_position

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
BY_ID = Watermark(("id",))
BY_BOTH = Watermark(("at", "id"))
NUMBERS = ("integer", "integer")


def highest(rows: list[tuple[Any, ...]]) -> Found:
    marked = [row for row in rows if None not in row]
    return Found(max(marked, default=None), len(rows) - len(marked))


def load(
    watermark: Watermark, mark: Any, at_plan: list[Any], at_read: list[Any], types: tuple[str, ...] = NUMBERS
) -> tuple[list[Any], Any]:
    """One load of a table that had some rows when it was planned, and more when it was read: what it read, and the mark afterwards."""
    planned = plan(watermark, types, mark, highest(at_plan))
    if planned is None:
        return [], mark
    return [row for row in at_read if planned.slice.contains(row)], planned.mark


# Each round: the rows that are committed before the load is planned, and those while it reads. A clock ticks between the rounds, and
# rows are numbered as they come: times tie, numbers do not.
ROUNDS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3), st.integers(0, 2)), max_size=8)


@given(ROUNDS)
def test_every_row_comes_once_whatever_ties_and_whatever_comes_while_others_are_read(rounds: list[tuple[int, int, int]]) -> None:
    table: list[tuple[int, int]] = []
    loaded: list[tuple[int, int]] = []
    clock, mark = 0, None
    for before, during, ticks in [*rounds, (0, 0, 0)]:
        table += [(clock, len(table) + number) for number in range(before)]
        at_plan = list(table)
        table += [(clock, len(table) + number) for number in range(during)]
        read, mark = load(BY_BOTH, mark, at_plan, table)
        loaded += read
        clock += ticks
    assert sorted(loaded) == table


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 5), st.booleans()), max_size=12), st.integers(0, 3))
def test_with_a_lookback_no_row_is_lost_that_is_committed_no_later_than_that(rows: list[tuple[int, int, int, bool]], lookback: int) -> None:
    """A row gets its time when its transaction begins, and is seen when that ends."""
    watermark = Watermark(("at",), lookback=lookback)
    began, committed = 0, {}
    for number, (pause, lateness, _, _) in enumerate(rows):
        began += pause
        committed[number] = (began, began + min(lateness, lookback))
    loaded: set[int] = set()
    mark = None
    for now in range(began + lookback + 2):
        there = {number: times[0] for number, times in committed.items() if times[1] <= now}
        planned = plan(watermark, ("integer",), mark, highest([(time,) for time in there.values()]))
        if planned:
            loaded |= {number for number, time in there.items() if planned.slice.contains((time,))}
            assert planned.mark is not None
            assert mark is None or planned.mark >= mark
            mark = planned.mark
    assert loaded == committed.keys()


@given(st.lists(st.one_of(st.none(), st.integers(0, 9)), max_size=12), st.integers(0, 12))
def test_rows_without_a_watermark_come_once_with_the_first_load_or_are_counted(values: list[int | None], cut: int) -> None:
    rows = [(value, number) for number, value in enumerate(values)]
    for nulls in ("include", "skip"):
        watermark = Watermark(("at", "id"), nulls=nulls)
        first, second = rows[:cut], rows
        planned = plan(watermark, NUMBERS, None, highest(first))
        if planned is None:
            assert all(value is None for value, _ in first)
            continue
        without = [row for row in first if row[0] is None]
        read = [row for row in first if planned.slice.contains(row)]
        assert [row for row in read if row[0] is None] == (without if nulls == "include" else [])
        assert planned.skipped == (0 if nulls == "include" else len(without))
        again = plan(watermark, NUMBERS, planned.mark, highest(second))
        assert again is None or not any(again.slice.contains(row) for row in second if row[0] is None)


VALUES = st.one_of(st.none(), st.integers(0, 3))


@given(
    st.lists(st.tuples(VALUES, VALUES), max_size=20),
    *[st.one_of(st.none(), st.builds(Bound, st.tuples(st.integers(0, 3)) | st.tuples(st.integers(0, 3), st.integers(0, 3)), st.booleans()))]
    * 2,
    st.booleans(),
)
def test_the_condition_in_sql_means_what_the_slice_means(rows: list[Any], low: Bound | None, high: Bound | None, nulls: bool) -> None:
    slice_ = Slice(("a", "b"), NUMBERS, low, high, nulls)
    condition = render(slice_, lambda index: "ab"[index], lambda _, value: str(value))
    with sqlite3.connect(":memory:") as database:
        database.execute("create table t (a, b)")
        database.executemany("insert into t values (?, ?)", rows)
        found = database.execute(f"select a, b from t where {condition or 'true'}").fetchall()
    database.close()
    assert found == [row for row in rows if slice_.contains(row)]


def test_rows_without_a_watermark_are_refused_unless_it_is_said_what_becomes_of_them() -> None:
    with pytest.raises(Invalid, match="2 rows have no value in id, and would never be read: fill it in"):
        plan(BY_ID, ("integer",), None, Found((3,), 2))
    with pytest.raises(Invalid, match="1 row has"):
        plan(BY_ID, ("integer",), (1,), Found((3,), 1))


def test_nothing_is_new_in_an_empty_source_nor_in_one_that_went_back() -> None:
    assert plan(BY_ID, ("integer",), None, Found(None)) is None
    assert plan(BY_ID, ("integer",), (5,), Found(None)) is None
    assert plan(BY_ID, ("integer",), (5,), Found((5,))) is None
    assert plan(BY_ID, ("integer",), (5,), Found((3,))) is None


def test_a_lookback_never_moves_the_mark_back() -> None:
    planned = plan(Watermark(("id",), lookback=10), ("integer",), (5,), Found((3,)))
    assert planned == Planned(Slice(("id",), ("integer",), Bound((-5,), True), Bound((3,), True)), (5,), "lookback 10 reads rows again")


@pytest.mark.parametrize(
    ("type_", "mark", "lookback", "low"),
    [
        ("timestamp", NOON, timedelta(hours=2), NOON - timedelta(hours=2)),
        ("timestamp_ntz", NOON.replace(tzinfo=None), timedelta(minutes=1), datetime(2026, 1, 5, 11, 59)),  # noqa: DTZ001 - as it is stored
        ("timestamp", datetime(1, 1, 1, tzinfo=UTC), timedelta(days=9), datetime(1, 1, 1, tzinfo=UTC)),
        ("date", date(2026, 1, 5), timedelta(days=2), date(2026, 1, 3)),
        ("integer", 5, 7, -2),
        ("decimal", Decimal("5.5"), Decimal("0.25"), Decimal("5.25")),
        ("text", "b", 0, "b"),
    ],
)
def test_a_lookback_reads_again_from_so_far_below_the_mark(type_: str, mark: Any, lookback: Any, low: Any) -> None:
    planned = plan(Watermark(("at",), lookback=lookback), (type_,), (mark,), Found((mark,)))
    assert planned is not None
    assert planned.slice.low == Bound((low,), inclusive=True)


@pytest.mark.parametrize(
    ("type_", "lookback", "words"),
    [
        ("integer", timedelta(hours=1), "give a number"),
        ("timestamp", 5, "give a time span such as 2h"),
        ("text", 5, "give no lookback but 0"),
        ("date", timedelta(hours=30), "give whole days"),
    ],
)
def test_a_lookback_that_does_not_go_with_the_column_is_refused(type_: str, lookback: Any, words: str) -> None:
    with pytest.raises(Invalid, match=words):
        plan(Watermark(("at",), lookback=lookback), (type_,), None, Found(None))


def test_a_watermark_that_is_none_is_refused() -> None:
    for columns in ((), ("id", "ID")):
        with pytest.raises(Invalid, match="one column or several different ones"):
            Watermark(columns)
    with pytest.raises(Invalid, match="not negative"):
        Watermark(("id",), lookback=-1)
    with pytest.raises(Invalid, match="refuse, include or skip"):
        Watermark(("id",), nulls="drop")  # type: ignore[arg-type]  # as a document may have it


def test_a_window_leaves_out_its_end_and_does_not_move_the_mark() -> None:
    planned = plan_window(Watermark(("at", "id")), ("timestamp", "integer"), ("2026-01-01", "2026-01-02"), None)
    day = datetime(2026, 1, 1, tzinfo=UTC)
    assert planned.mark is None
    assert planned.repeats is None
    assert planned.slice.contains((day, 7))
    assert planned.slice.contains((day + timedelta(days=1, microseconds=-1), 7))
    assert not planned.slice.contains((day + timedelta(days=1), 0))
    with pytest.raises(Invalid, match="is empty"):
        plan_window(BY_ID, ("integer",), (5, 5), None)
    with pytest.raises(Invalid, match="no timestamp for a watermark: write it as 2026-01-31T12:00:00Z"):
        plan_window(Watermark(("at",)), ("timestamp",), ("2026-01-01T12:00", "2026-01-02"), None)


def test_a_window_says_when_it_reaches_into_what_was_loaded() -> None:
    assert "reaches into what was loaded" in (plan_window(BY_ID, ("integer",), (1, 3), (9,)).repeats or "")
    assert plan_window(BY_ID, ("integer",), (10, 12), (9,)).repeats is None
    since_five = Watermark(("id",), start=5)
    assert plan_window(since_five, ("integer",), (1, 5), (9,)).repeats is None
    assert plan_window(since_five, ("integer",), (1, 6), (9,)).repeats is not None


def test_a_start_leaves_out_what_is_before_it_at_the_first_load_only() -> None:
    since_five = Watermark(("id",), start=5)
    first = plan(since_five, ("integer",), None, Found((9,)))
    assert first is not None
    assert [number for number in range(12) if first.slice.contains((number,))] == [5, 6, 7, 8, 9]
    assert plan(since_five, ("integer",), None, Found((4,))) is None


@pytest.mark.parametrize(
    ("types", "mark", "kind"),
    [
        (("timestamp",), (NOON,), "timestamp"),
        (("integer",), (5,), "number"),
        (("integer",), (2**70,), "watermark"),
        (("decimal",), (Decimal("10.50"),), "watermark"),
        (("date",), (date(2026, 1, 5),), "watermark"),
        (("timestamp_ntz",), (NOON.replace(tzinfo=None),), "watermark"),
        (("text",), ("00000a",), "watermark"),
        (("timestamp", "integer"), (NOON, 5), "watermark"),
        (("text", "decimal"), ("x", Decimal("1.5")), "watermark"),
    ],
)
def test_a_mark_is_stored_and_read_back_as_it_was(types: tuple[str, ...], mark: tuple[Any, ...], kind: str) -> None:
    watermark = Watermark(("at", "id")[: len(types)])
    position = to_position(watermark, types, mark)
    assert position.kind == kind
    assert to_mark("shop.orders", watermark, types, parse_position(position.kind, position.document())) == mark


def test_a_place_that_somebody_typed_will_do() -> None:
    assert to_mark("shop", BY_ID, ("integer",), NumberPosition(5)) == (5,)
    assert to_mark("shop", Watermark(("at",)), ("timestamp",), TimestampPosition(NOON)) == (NOON,)
    typed = WatermarkPosition(("AT", "id"), ("2026-01-05T13:00:00+01:00", "7"))
    assert to_mark("shop", BY_BOTH, ("timestamp", "integer"), typed) == (NOON, 7)


@pytest.mark.parametrize(
    ("types", "position"),
    [
        (("integer",), NumberPosition(5, {"column": "number"})),
        (("timestamp",), NumberPosition(5)),
        (("decimal",), NumberPosition(5)),
        (("timestamp_ntz",), TimestampPosition(NOON)),
        (("integer",), WatermarkPosition(("id", "at"), (5, 6))),
        (("integer",), WatermarkPosition(("id",), ("x",))),
        (("integer",), DocumentPosition({"page": 1})),
    ],
)
def test_a_position_of_another_watermark_is_refused_with_what_to_do(types: tuple[str, ...], position: Any) -> None:
    with pytest.raises(Invalid, match=r"shop\.orders stands at .*no place in its watermark id: load everything again with a full refresh"):
        to_mark("shop.orders", BY_ID, types, position)
