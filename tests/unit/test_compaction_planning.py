"""Which small files are written together: each at most once, within its partition, next to its neighbours, and not again and again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakeledger import Invalid
from lakeledger.config import CompactionSettings
from lakeledger.maintenance.compaction.planning import Plan, SmallFile, histogram, place_of, plan_compaction

NOW = datetime(2026, 6, 1, tzinfo=UTC)
LONG_AGO = NOW - timedelta(days=1)
KB = 1_000
RULES = CompactionSettings(target_bytes=100 * KB, round_bytes=10_000 * KB)


def file(number: int, size: int = KB, partition: str = "", **more: Any) -> SmallFile:
    given_ = {"added_at": LONG_AGO, "place": ((0, float(number), ""),), **more}
    return SmallFile(f"data/{partition}/{number:05d}", size, size, partition, **given_)


FILES = st.lists(
    st.builds(
        lambda size, partition, place, packed_for, held_by, seconds: {
            "size": size,
            "partition": partition,
            "place": ((0, float(place), ""),),
            "packed_for": packed_for,
            "held_by": held_by,
            "added_at": NOW - timedelta(seconds=seconds),
        },
        st.integers(1, 150 * KB),
        st.sampled_from(["", "day=1", "day=2"]),
        st.integers(0, 20),
        st.sampled_from([0, 0, 0, 50 * KB, 100 * KB]),
        st.sampled_from([None, None, None, None, "a run"]),
        st.sampled_from([0, 100, 1_000, 100_000]),
    ),
    max_size=60,
).map(lambda found: [SmallFile(path=f"data/{number}", rows=number, **each) for number, each in enumerate(found)])
SETTINGS = st.builds(
    CompactionSettings,
    target_bytes=st.just(100 * KB),
    small_share=st.sampled_from([0.3, 0.75, 1.0]),
    min_files=st.integers(2, 6),
    min_share=st.sampled_from([0.0, 0.1, 0.5]),
    quiet_seconds=st.sampled_from([0, 300]),
    hot_files=st.integers(6, 30),
    round_bytes=st.sampled_from([100 * KB, 300 * KB, 10_000 * KB]),
)


def carried_out(files: Sequence[SmallFile], plan: Plan, rules: CompactionSettings, shrunk: float = 1.0) -> list[SmallFile]:
    """The files after the plan was carried out; what is written together may take less room than apart."""
    gone = {each.path for group in plan.groups for each in group.files}
    made = [
        SmallFile(
            f"made/{group.partition}/{min(group.paths)}",
            round(group.size * shrunk),
            group.rows,
            group.partition,
            NOW,
            min(each.place for each in group.files),
            rules.target_bytes,
        )
        for group in plan.groups
    ]
    return [each for each in files if each.path not in gone] + made


@settings(max_examples=300, deadline=None)
@given(FILES, SETTINGS)
def test_every_file_is_in_one_group_at_most_and_groups_keep_within_partitions_target_and_round(
    files: list[SmallFile], rules: CompactionSettings
) -> None:
    plan = plan_compaction(files, rules, NOW)
    paths = [each.path for group in plan.groups for each in group.files]
    assert len(paths) == len(set(paths))
    limit = rules.target_bytes * rules.small_share
    for group in plan.groups:
        assert {each.partition for each in group.files} == {group.partition}
        assert len(group.files) > 1
        assert group.size <= rules.target_bytes
        assert all(each.size < limit and not each.held_by for each in group.files)
        assert max(each.size for each in group.files) * 2 <= group.size  # so that what is written again at least doubles
        assert sum(each.packed_for < rules.target_bytes for each in group.files) > 1
    assert plan.size <= rules.round_bytes
    told = {each.partition for each in plan.left} | {group.partition for group in plan.groups}
    assert told == {each.partition for each in files}


@settings(max_examples=300, deadline=None)
@given(FILES, SETTINGS)
def test_a_second_plan_is_empty_and_rounds_come_to_an_end(files: list[SmallFile], rules: CompactionSettings) -> None:
    whole = replace(rules, round_bytes=100_000 * KB)
    assert plan_compaction(carried_out(files, plan_compaction(files, whole, NOW), whole), whole, NOW).groups == ()
    rounds = 0
    while (plan := plan_compaction(files, rules, NOW)).groups:  # each takes away two files that came at least
        files, rounds = carried_out(files, plan, rules, shrunk=0.3), rounds + 1
        assert rounds <= 30


def test_neighbours_by_key_are_written_together() -> None:
    files = [file(number, 30 * KB) for number in (8, 1, 6, 3, 5, 2, 7, 4, 9)]
    groups = plan_compaction(files, RULES, NOW).groups
    assert sorted(sorted(int(path[-5:]) for path in group.paths) for group in groups) == [[1, 2, 3], [4, 5, 6], [7, 8, 9]]
    assert groups[0].why == ("3 files of 90.0 kB together, each smaller than 75.0 kB (75% of the target of 100 kB), become 1 file")


@pytest.mark.parametrize(
    ("files", "why"),
    [
        ([file(n, 90 * KB) for n in range(9)], "none of its 9 files is smaller than 75.0 kB"),
        ([file(n) for n in range(3)], "3 small files since the last compaction: it is worth the work from 5 on (min_files)"),
        (
            [file(n, KB if n < 5 else 90 * KB) for n in range(99)],
            "only 5 of its 99 files are small: it is worth the work from 10% on (min_share)",
        ),
        ([file(n, packed_for=100 * KB) for n in range(9)], "all of its small files (9) were compacted before, and none has come since"),
        (
            [file(n, added_at=NOW - timedelta(seconds=20)) for n in range(9)],
            "it was written 20 s ago: it is left alone until it is quiet for 300 s (quiet_seconds) or has 20 small files (hot_files)",
        ),
        ([file(n, held_by="r1") for n in range(9)], "run r1 is just rewriting its files, and a writer goes first"),
        ([file(n, 74 * KB) for n in range(9)], "no two of its 9 small files make one of 100 kB without writing a far bigger one again"),
    ],
)
def test_it_says_why_a_partition_is_left_alone(files: list[SmallFile], why: str) -> None:
    plan = plan_compaction(files, RULES, NOW)
    assert (plan.groups, [each.why for each in plan.left]) == ((), [why])


def test_a_partition_that_is_written_is_compacted_all_the_same_once_it_is_very_fragmented() -> None:
    assert len(plan_compaction([file(n, added_at=NOW) for n in range(20)], RULES, NOW).groups) == 1


def test_what_was_packed_for_smaller_files_is_packed_again_when_they_are_to_be_larger() -> None:
    assert len(plan_compaction([file(n, packed_for=50 * KB) for n in range(9)], RULES, NOW).groups) == 1


def test_a_round_begins_with_what_has_the_most_files_for_its_bytes() -> None:
    files = [file(n, 10 * KB, "a") for n in range(9)] + [file(n, KB, "b") for n in range(9)]
    plan = plan_compaction(files, replace(RULES, round_bytes=100 * KB), NOW, budget=50 * KB)
    assert [group.partition for group in plan.groups] == ["b"]
    assert [(each.partition, each.why) for each in plan.left] == [("a", "1 group of it waits for the next round (round_bytes)")]


def test_files_stand_in_the_order_of_numbers_times_and_texts() -> None:
    def ordered(type_: str, *values: Any) -> list[Any]:
        return sorted(values, key=lambda value: place_of({"k": {"min": value} if value is not None else {}}, {"k": type_}))

    assert ordered("long", 10, 9, None, 100) == [9, 10, 100, None]
    assert ordered("decimal(10,2)", "10.00", "9.50") == ["9.50", "10.00"]
    assert ordered("timestamp", "2026-01-02T00:00:00.000000Z", "2026-01-01T00:00:00.000000Z")[0].startswith("2026-01-01")
    assert ordered("string", "b", "a", None) == ["a", "b", None]


def test_a_histogram_counts_files_by_size() -> None:
    assert histogram([10, 20, 2_000_000]) == [
        {"below": 64_000, "files": 2, "bytes": 30},
        {"below": 1_000_000, "files": 0, "bytes": 0},
        {"below": 8_000_000, "files": 1, "bytes": 2_000_000},
    ]
    assert histogram([]) == []


@pytest.mark.parametrize("wrong", [{"min_files": 1}, {"small_share": 1.5}, {"round_bytes": 1}, {"hot_files": 1}, {"background": "on"}])
def test_settings_that_make_no_sense_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(Invalid, match=next(iter(wrong))):
        CompactionSettings(**wrong)
