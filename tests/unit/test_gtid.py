"""GTID sets against Python's sets: whatever is written, the same transactions are in it."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakeledger.errors import Invalid
from lakeledger.sync.kinds.gtid import GtidSet, merge

A = "3e11fa47-71ca-11e1-9e33-c80aa9429562"
B = "726757ad-4455-11e8-ae04-0242ac110002"

INTERVALS = st.tuples(st.integers(1, 20), st.integers(0, 5)).map(lambda pair: (pair[0], sum(pair)))
OWNERS = st.sampled_from([A, B, A.upper(), f"{A}:tag", f"{A}:Tag_2", f"{B}:tag"])
MEMBERS = st.lists(st.tuples(OWNERS, st.lists(INTERVALS, min_size=1, max_size=4)), min_size=1, max_size=4)
Members = list[tuple[str, list[tuple[int, int]]]]


def text(members: Members) -> str:
    """As a server writes it: single numbers alone, members with commas and line breaks."""
    return ",\n".join(
        ":".join([owner, *(str(first) if first == last else f"{first}-{last}" for first, last in intervals)])
        for owner, intervals in members
    )


def transactions(members: Members) -> set[tuple[str, int]]:
    return {(owner.lower(), number) for owner, intervals in members for first, last in intervals for number in range(first, last + 1)}


@given(MEMBERS, MEMBERS)
def test_a_set_contains_another_as_pythons_sets_do(one: Members, other: Members) -> None:
    ours, theirs = GtidSet.parse(text(one)), GtidSet.parse(text(other))
    assert ours.contains(theirs) == (transactions(one) >= transactions(other))
    assert ours.missing_from(theirs) == len(transactions(one) - transactions(other))


@given(MEMBERS, MEMBERS)
def test_a_set_and_more_contains_both(one: Members, other: Members) -> None:
    both = GtidSet.parse(f"{text(one)},{text(other)}")
    assert both.contains(GtidSet.parse(text(one)))
    assert both.contains(GtidSet.parse(text(other)))
    assert both == GtidSet.parse(f"{text(other)} , {text(one)}")


@given(st.lists(INTERVALS))
def test_merged_intervals_hold_the_same_numbers_and_neither_touch_nor_overlap(intervals: list[tuple[int, int]]) -> None:
    merged = merge(intervals)
    numbers = [number for first, last in merged for number in range(first, last + 1)]
    assert numbers == sorted({number for first, last in intervals for number in range(first, last + 1)})
    assert all(last + 1 < following for (_, last), (following, _) in itertools.pairwise(merged))


def test_intervals_that_follow_a_tag_are_the_tags() -> None:
    assert GtidSet.parse(f"{A}:1-5:eu:1-3:7:us:2").intervals == {A: ((1, 5),), f"{A}:eu": ((1, 3), (7, 7)), f"{A}:us": ((2, 2),)}


def test_a_set_of_a_billion_transactions_is_compared_at_once() -> None:
    assert GtidSet.parse(f"{A}:1-1000000000").missing_from(GtidSet.parse(f"{A}:1-999999999")) == 1


@pytest.mark.parametrize(
    ("gtids", "words"),
    [
        ("", "cannot be empty"),
        (" , ,", "cannot be empty"),
        (A, "is no GTID set: write server-uuid:1-5"),
        (f"{A[:-1]}:1", "is no GTID set"),
        ("0-1-270", "is no GTID set"),
        (f"{A}:", "'' in the GTID set .* is no interval: write 5 or 1-5"),
        (f"{A}:0", "is no interval"),
        (f"{A}:5-1", "'5-1' in the GTID set .* is no interval"),
        (f"{A}:1-", "is no interval"),
        (f"{A}:-5", "is no interval"),
        (f"{A}:1 2", "is no interval"),
        (f"{A}:eu", "the tag 'eu' .* has no interval: write eu:1-5"),
        (f"{B}:1-5,{A}:1-5:eu", "the tag 'eu' .* has no interval"),
        (f"{A}:eu:us:1", "'us' in the GTID set .* is no interval"),
        (f"{A}:1-5,nonsense", "'nonsense' is no GTID set"),
    ],
)
def test_text_that_is_no_set_is_refused_with_the_part_that_is_wrong(gtids: str, words: str) -> None:
    with pytest.raises(Invalid, match=words):
        GtidSet.parse(gtids)
