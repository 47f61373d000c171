"""Order texts against the values themselves: they are in the same order, however close or far apart."""

from __future__ import annotations

import itertools
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakeledger.errors import Invalid
from lakeledger.sync.kinds import DocumentPosition
from lakeledger.sync.kinds.order import order_text, whole

LARGEST = 10**39 - 1
NEAR = st.integers(-3, 3)
INTS = st.integers(-LARGEST, LARGEST) | NEAR
DECIMALS = st.decimals(-LARGEST, LARGEST, allow_nan=False, places=6) | st.decimals(-2, 2, places=3) | st.integers(-2, 2).map(Decimal)
FLOATS = st.floats(-1e38, 1e38, allow_subnormal=False).filter(lambda number: number == 0 or abs(number) > 1e-80)
ZONES = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
TIMES = st.datetimes(min_value=datetime(2, 1, 1), max_value=datetime(9998, 1, 1), timezones=ZONES)  # noqa: DTZ001 - hypothesis adds the zone


def agrees(one: Any, other: Any) -> bool:
    ours, theirs = order_text(one), order_text(other)
    return (ours < theirs, ours == theirs) == (one < other, one == other)


def place(cursor: Any) -> DocumentPosition:
    return DocumentPosition.ordered_by({"cursor": cursor}, "cursor")


@given(INTS, INTS)
def test_whole_numbers_of_any_size_are_in_order(one: int, other: int) -> None:
    assert agrees(one, other)


@given(INTS)
def test_neighbours_are_told_apart(number: int) -> None:
    assert order_text(number - 1 if number > -LARGEST else number) <= order_text(number)
    assert order_text(number) != order_text(number + 1 if number < LARGEST else number - 1)


@given(DECIMALS, DECIMALS)
def test_decimals_are_in_order(one: Decimal, other: Decimal) -> None:
    assert agrees(one, other)
    assert agrees(one, int(other))


@given(FLOATS, FLOATS)
def test_floats_are_in_order(one: float, other: float) -> None:
    assert agrees(one, other)


@given(DECIMALS)
def test_a_number_has_one_place_however_it_is_written(number: Decimal) -> None:
    for written in (number, str(number), f"{number:f}0" if "." in f"{number:f}" else f"{number:f}.0"):
        assert place(written).follows(place(number))
        assert place(number).follows(place(written))


@given(TIMES, TIMES)
def test_times_are_in_order_in_whatever_zone(one: datetime, other: datetime) -> None:
    assert agrees(one, other)


@given(TIMES)
def test_a_time_has_one_place_however_it_is_written(at: datetime) -> None:
    assert order_text(at) == order_text(at.isoformat()) == order_text(at.astimezone(UTC).isoformat().replace("+00:00", "Z"))


@given(st.text(), st.text())
def test_any_text_has_an_order_or_is_refused(one: str, other: str) -> None:
    for text in (one, other):
        try:
            assert order_text(text)
        except Invalid:
            assert any(letter.isdigit() for letter in text) or text.strip().lower().lstrip("+-s").startswith(("nan", "inf"))


HEX = st.text("0123456789abcdef", min_size=8, max_size=8)


@given(HEX, HEX)
def test_texts_of_one_length_keep_their_order_also_where_they_look_like_numbers(one: str, other: str) -> None:
    assert place(other).follows(place(one)) == (other >= one)


@given(st.lists(st.text("019a", min_size=1, max_size=3), min_size=2, max_size=6), st.integers(1, 3))
def test_texts_of_one_length_never_go_round_in_a_circle(texts: list[str], length: int) -> None:
    chain = [place(text.zfill(length)[:length]) for text in texts]
    if all(later.follows(earlier) for earlier, later in itertools.pairwise(chain)):
        assert chain[-1].follows(chain[0])


@pytest.mark.parametrize(("earlier", "later"), [("9", "10b"), ("29", "0000002a"), (29, "2a"), ("2a", 29), ("2a", 31)])
def test_a_number_and_a_text_of_another_length_are_not_compared(earlier: Any, later: Any) -> None:
    assert not place(later).follows(place(earlier))
    assert not place(earlier).follows(place(later))


def test_a_day_is_its_beginning_and_nothing_comes_before_everything() -> None:
    assert order_text(date(2026, 1, 5)) == order_text("2026-01-05") == order_text(datetime(2026, 1, 5, tzinfo=UTC))
    assert order_text(None) == ""
    assert order_text(None) < order_text(-LARGEST)


@pytest.mark.parametrize("value", [True, [], {}, LARGEST + 1, -LARGEST - 1, float("nan"), float("inf")])
def test_what_has_no_order_is_refused(value: Any) -> None:
    with pytest.raises(Invalid, match="order"):
        order_text(value)


@pytest.mark.parametrize(("value", "number"), [(5, 5), ("5", 5), (5.0, 5), (-3, -3), ("-3", -3), (2**70, 2**70)])
def test_a_whole_number_is_read_from_numbers_and_texts(value: Any, number: int) -> None:
    assert whole(value) == number


@pytest.mark.parametrize("value", [True, 5.5, "5.5", "x", "", float("nan"), float("inf"), None, []])
def test_what_is_no_whole_number_is_refused(value: Any) -> None:
    with pytest.raises((ValueError, TypeError, OverflowError)):
        whole(value)
