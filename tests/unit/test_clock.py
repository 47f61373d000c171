"""Ids are unique and ordered by time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

from lakeledger import clock


def test_later_ids_sort_after_earlier_ones() -> None:
    ids = [clock.new_id() for _ in range(5_000)]
    assert ids == sorted(ids)


def test_ids_of_several_threads_are_unique_and_ordered_in_each() -> None:
    with ThreadPoolExecutor(8) as pool:
        batches = list(pool.map(lambda _: [clock.new_id() for _ in range(500)], range(8)))
    assert all(batch == sorted(batch) for batch in batches)
    assert len({each for batch in batches for each in batch}) == 4_000


def test_now_is_utc() -> None:
    assert clock.now().tzinfo is UTC


def test_elapsed_time_is_whole_milliseconds_and_never_negative() -> None:
    start = datetime(2026, 1, 1, tzinfo=UTC)
    assert clock.elapsed_ms(start, start + timedelta(seconds=1.2345)) == 1234
    assert clock.elapsed_ms(start, start - timedelta(seconds=1)) == 0
