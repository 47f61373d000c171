"""When an error is tried again, and how often."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakeledger.errors import Invalid
from lakeledger.sync.errors import ErrorType, RetryPolicy


def test_the_pause_doubles_up_to_an_hour() -> None:
    pauses = [RetryPolicy().delay(attempt).total_seconds() for attempt in range(1, 10)]
    assert pauses == [30, 60, 120, 240, 480, 960, 1_920, 3_600, 3_600]


@given(attempt=st.integers(1, 10**9), factor=st.floats(1, 100), base=st.floats(0.001, 3_600))
def test_no_pause_is_longer_than_the_cap(attempt: int, factor: float, base: float) -> None:
    policy = RetryPolicy(base, factor)
    assert timedelta(0) <= policy.delay(attempt) <= timedelta(hours=1)
    assert policy.delay(attempt) <= policy.delay(attempt + 1)


@pytest.mark.parametrize(
    ("kind", "attempts"),
    [
        ("connection", 5),
        ("timeout", 5),
        ("constraint", 3),
        ("unknown", 3),
        ("transformation", 0),
        ("schema", 0),
        ("permission", 0),
        ("validation", 0),
    ],
)
def test_the_kind_of_an_error_says_how_often_it_is_tried_again(kind: str, attempts: int) -> None:
    assert RetryPolicy().attempts(ErrorType(kind), None) == attempts
    assert RetryPolicy().attempts(ErrorType(kind), 7) == 7
    assert RetryPolicy().attempts(ErrorType(kind), 0) == 0


def test_an_error_cannot_be_tried_less_than_never() -> None:
    with pytest.raises(Invalid, match="-1"):
        RetryPolicy().attempts(ErrorType.CONNECTION, -1)


@pytest.mark.parametrize(("base", "factor", "cap"), [(0, 2, 60), (-1, 2, 60), (30, 0.5, 60), (90, 2, 60), (float("nan"), 2, 60)])
def test_pauses_that_make_no_sense_are_refused(base: float, factor: float, cap: float) -> None:
    with pytest.raises(Invalid, match="at most the cap"):
        RetryPolicy(base, factor, cap)
