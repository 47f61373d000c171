"""Which versions may go and which files go with them: whatever is kept stays readable, whatever goes is needed by nobody."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakeledger.maintenance.model import ranges
from lakeledger.maintenance.planning import Needs, Policy, Since, dated, gaps, is_due, judge, words

NOW = datetime(2026, 6, 1, tzinfo=UTC)
DAY = timedelta(days=1)
STRICT = Policy(keep_versions=1, keep_for=timedelta(0), grace=timedelta(0))

POLICIES = st.builds(
    Policy,
    keep_versions=st.integers(1, 8),
    keep_for=st.sampled_from([0, 1, 3, 10]).map(lambda days: days * DAY),
    grace=st.sampled_from([0, 1, 5]).map(lambda days: days * DAY),
)
THOROUGH = settings(max_examples=1_000, deadline=None)
# Versions are some days apart; a few of them have expired before.
AGES = st.lists(st.integers(0, 5), min_size=1, max_size=12)


def table(steps: list[int], gone: set[int]) -> list[tuple[int, datetime]]:
    found, at = [], NOW - sum(steps) * DAY
    for number, step in enumerate(steps, 1):
        at += step * DAY
        if number not in gone or number == len(steps):
            found.append((number, at))
    return found


@THOROUGH
@given(AGES, st.sets(st.integers(1, 15)), POLICIES, st.sets(st.integers(1, 15)), st.integers(1, 20), st.integers(0, 40))
def test_what_somebody_needs_is_kept(
    steps: list[int], gone: set[int], policy: Policy, tags: set[int], consumer: int, run_days: int
) -> None:
    rows = table(steps, gone)
    began = NOW - run_days * DAY
    needs = Needs(dict.fromkeys(tags, "tag"), {consumer: "consumer"}, {began: "run"})
    verdicts = judge(dated(rows), policy, needs, NOW)
    expired = [each.version for each in verdicts if each.kept is None]
    assert [each.version.number for each in verdicts] == [number for number, _ in rows]
    numbers = {version.number for version in expired}
    assert numbers.isdisjoint(tags)
    assert all(version.number < consumer for version in expired)
    assert numbers.isdisjoint(number for number, _ in rows[-policy.keep_versions :])
    # Whoever asks for a time within the policy, or since the run began, finds the version that was current then.
    for days in range(41):
        moment = NOW - days * DAY
        current = [number for number, at in rows if at <= moment][-1:]
        if moment >= min(began, NOW - max(policy.keep_for, policy.grace) + timedelta(seconds=1)):
            assert numbers.isdisjoint(current)


@THOROUGH
@given(AGES, POLICIES)
def test_what_nobody_needs_and_is_old_enough_goes(steps: list[int], policy: Policy) -> None:
    rows = table(steps, set())
    for each in judge(dated(rows), policy, Needs(), NOW):
        ended = each.version.superseded_at
        is_new = each.version.number > len(steps) - policy.keep_versions
        is_young = ended is None or ended > NOW - max(policy.keep_for, policy.grace)
        assert (each.kept is not None) == (is_new or is_young)


@THOROUGH
@given(st.sets(st.integers(1, 30), min_size=1), st.lists(st.tuples(st.integers(1, 30), st.integers(1, 10)), max_size=30))
def test_a_file_is_in_a_gap_exactly_if_no_kept_version_has_it(kept: set[int], lives: list[tuple[int, int]]) -> None:
    kept = kept | {31}  # the current one: what is retired was gone by then
    for added, length in lives:
        removed = min(added + length, 31)
        in_gaps = [True for low, high in gaps(kept) if removed > low and removed <= high and added > low]
        needed = any(added <= version < removed for version in kept)
        assert len(in_gaps) == (0 if needed else 1)


@pytest.mark.parametrize(
    ("policy", "since", "due"),
    [
        ({}, Since(0, asked="manual"), None),
        ({}, Since(1), "commit"),
        ({"snapshot_commits": 3}, Since(2), None),
        ({"snapshot_commits": 3}, Since(2, asked="manual"), "manual"),
        ({"snapshot_commits": 3}, Since(2, asked="query"), "query"),
        ({"snapshot_commits": 3}, Since(3), "commit"),
        ({"snapshot_commits": None}, Since(1_000), None),
        ({"snapshot_commits": 0}, Since(1_000), None),
        ({"snapshot_commits": None, "snapshot_every": DAY}, Since(1), "time"),
        ({"snapshot_commits": None, "snapshot_every": DAY}, Since(1, at=NOW - DAY), "time"),
        ({"snapshot_commits": None, "snapshot_every": DAY}, Since(1, at=NOW - DAY / 2), None),
        ({"snapshot_commits": None, "snapshot_files": 10}, Since(1, files=9), None),
        ({"snapshot_commits": None, "snapshot_files": 10}, Since(1, files=10), "size"),
        ({"snapshot_commits": None, "snapshot_bytes": 10}, Since(1, bytes=10), "size"),
        ({"snapshot_commits": None, "snapshot_rows": 10}, Since(1, rows=11), "size"),
    ],
)
def test_a_snapshot_is_due_by_commits_time_size_or_because_somebody_asks(policy: dict[str, Any], since: Since, due: str | None) -> None:
    assert is_due(Policy(**policy), since, NOW) == due


def test_a_table_with_fewer_versions_than_are_kept_loses_none() -> None:
    rows = [(number, NOW - (100 - number) * DAY) for number in range(1, 4)]
    for keep in range(3, 9):
        verdicts = judge(dated(rows), Policy(keep_versions=keep, keep_for=DAY), Needs(), NOW)
        assert [each.kept for each in verdicts if each.kept is None] == []


def test_reasons_are_told() -> None:
    rows = [(number, NOW - (10 - number) * DAY) for number in range(1, 8)]
    needs = Needs({1: "tag june"}, {6: "source crm has read up to version 6"}, {NOW - 6 * DAY: "run r is at work"})
    kept = {each.version.number: each.kept for each in judge(dated(rows), STRICT, needs, NOW)}
    assert kept == {
        1: "tag june",
        2: None,
        3: "run r is at work",
        4: "run r is at work",
        5: "run r is at work",
        6: "source crm has read up to version 6",
        7: "current",
    }


def test_numbers_and_spans_are_told_shortly() -> None:
    assert ranges([7, 1, 2, 3]) == [[1, 3], [7, 7]]
    assert [words(timedelta(seconds=each)) for each in (0, 90, 86_400, 90_000)] == ["0s", "1m30s", "1d", "1d1h"]
