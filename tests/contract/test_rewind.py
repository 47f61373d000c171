"""Setting a source back: a preview says what would be read again, and the rewind does exactly that."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import pytest

from contract.making import AT, change, execute, new_file, put
from lakeledger import Advance, Conflict, FilesPosition, Invalid, Ledger, NotFound, NumberPosition, TimestampPosition
from lakeledger.runs import Counters
from lakeledger.sync import DocumentPosition, LsnPosition, SourceFile, Target, parse_source
from lakeledger.sync.positions import store


def load(ledger: Ledger, to: int, rows: int = 10, **more: Any) -> str:
    """A load that brings the source to that number; the id of its run."""
    with ledger.run("load") as run:
        move = Advance(parse_source("shop.orders"), NumberPosition(to))
        put(ledger, change(run, new_file(f"{to}-{run.id}", rows), position=move, counters=Counters(processed=rows), **more))
        return run.id


def read_files(ledger: Ledger, files: Iterable[SourceFile]) -> None:
    """Note that these files were read as well."""
    source = parse_source("shop.files")
    with ledger.run("load") as run, ledger.store.write() as tx:
        marker = store.find(tx, source)
        known = {file.path: file for file in (store.files(tx, marker) if marker else [])} | {file.path: file for file in files}
        marker = store.advance(tx, Advance(source, FilesPosition.of(file.identity for file in known.values())), "ann", run.id)
        store.register_files(tx, marker, files, run.id)


def test_a_preview_names_the_moves_the_runs_and_the_records_that_would_come_again(ledger: Ledger) -> None:
    load(ledger, 10, rows=5)
    for number, rows in ((20, 7), (30, 11)):
        load(ledger, number, rows)
    plan = ledger.positions.preview_rewind("shop.orders", Target(version=1))
    assert [move.position for move in plan.undone] == [NumberPosition(20), NumberPosition(30)]
    assert (plan.to, plan.runs, plan.records, plan.distance) == (NumberPosition(10), 2, 18, "20 numbers")
    assert ledger.positions.get("shop.orders").position == NumberPosition(30)


def test_a_rewind_goes_where_the_preview_said_and_is_audited(ledger: Ledger) -> None:
    for number in (10, 20, 30):
        load(ledger, number)
    plan = ledger.positions.preview_rewind("shop.orders", Target(to=NumberPosition(15)))
    marker = ledger.positions.rewind(plan, "the source was repaired")
    assert (marker.position, marker.version) == (NumberPosition(15), 4)
    last = ledger.positions.history("shop.orders")[0]
    assert (last.forced, last.updated_by, last.reason) == (True, ledger.worker.name, "rewound from version 3: the source was repaired")


def test_a_rewind_to_a_time_finds_where_the_source_stood(ledger: Ledger) -> None:
    load(ledger, 10)
    then = ledger.positions.get("shop.orders").last_updated
    load(ledger, 20)
    assert ledger.positions.preview_rewind("shop.orders", Target(at=then)).to == NumberPosition(10)
    with pytest.raises(NotFound, match="has no position of 2020-01-01"):
        ledger.positions.preview_rewind("shop.orders", Target(at=datetime(2020, 1, 1, tzinfo=UTC)))


def test_a_source_that_moved_since_the_preview_is_not_rewound(ledger: Ledger) -> None:
    load(ledger, 10)
    load(ledger, 20)
    plan = ledger.positions.preview_rewind("shop.orders", Target(version=1))
    load(ledger, 30)
    with pytest.raises(Conflict, match="look at a new preview first"):
        ledger.positions.rewind(plan, "again")
    assert ledger.positions.get("shop.orders").position == NumberPosition(30)


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        (Target(version=9), "has no version 9 of its position: it has 1 to 2"),
        (Target(version=2), "already stands there"),
        (Target(to=NumberPosition(20)), "is not behind"),
        (Target(to=NumberPosition(99)), "is not behind"),
        (Target(to=TimestampPosition(AT)), "is not behind"),
        (Target(to=FilesPosition(0, "")), "rewound to a version or a time"),
    ],
)
def test_there_is_no_rewind_to_what_is_not_behind(ledger: Ledger, target: Target, expected: str) -> None:
    load(ledger, 10)
    load(ledger, 20)
    with pytest.raises((Invalid, NotFound), match=expected):
        ledger.positions.preview_rewind("shop.orders", target)


def test_a_target_is_one_of_version_time_and_place() -> None:
    for words in ({}, {"version": 1, "at": AT}):
        with pytest.raises(Invalid, match="one of them"):
            Target(**words)  # type: ignore[arg-type]


def test_files_read_since_are_forgotten_and_read_again(ledger: Ledger) -> None:
    first, second, third = (SourceFile(f"{name}.csv", 1, AT, name) for name in "abc")
    read_files(ledger, [first])
    read_files(ledger, [second])
    read_files(ledger, [third, SourceFile("a.csv", 2, AT, "a2")])
    plan = ledger.positions.preview_rewind("shop.files", Target(version=2))
    assert [file.path for file in plan.files] == ["a.csv", "c.csv"]
    marker = ledger.positions.rewind(plan)
    assert list(ledger.positions.files("shop.files")) == [second]
    assert marker.position == FilesPosition.of([second.identity])


def test_places_without_an_order_are_rewound_by_version_only(ledger: Ledger) -> None:
    for word in "ab":
        ledger.positions.advance("shop", DocumentPosition({"cursor": word}))
    assert ledger.positions.preview_rewind("shop", Target(version=1)).to == DocumentPosition({"cursor": "a"})
    with pytest.raises(Invalid, match="is not behind"):
        ledger.positions.preview_rewind("shop", Target(to=DocumentPosition({"cursor": "a"})))


def test_the_distance_of_a_log_position_is_told_in_bytes(ledger: Ledger) -> None:
    for lsn in ("0/10", "1/0"):
        ledger.positions.advance("shop", LsnPosition(lsn))
    assert ledger.positions.preview_rewind("shop", Target(version=1)).distance == "4,294,967,280 bytes of WAL"


def test_a_rewind_never_goes_forward(ledger: Ledger) -> None:
    for number in (10, 20):
        load(ledger, number)
    ledger.positions.rewind(ledger.positions.preview_rewind("shop.orders", Target(version=1)), "again")
    with pytest.raises(Invalid, match="is not behind"):
        ledger.positions.preview_rewind("shop.orders", Target(version=2))


@pytest.mark.parametrize("reason", [None, "", "  "])
def test_rows_come_twice_only_for_a_reason(ledger: Ledger, reason: str | None) -> None:
    for number, rows in ((10, 5), (20, 700), (30, 1_100)):
        load(ledger, number, rows)
    plan = ledger.positions.preview_rewind("shop.orders", Target(version=1))
    assert plan.appended_rows == 1_800
    with pytest.raises(Invalid, match=r"shop.orders appends: the next run would append 1,800 rows a second time.* give a reason"):
        ledger.positions.rewind(plan, reason)
    assert ledger.positions.get("shop.orders").position == NumberPosition(30)
    assert ledger.positions.rewind(plan, "the table was emptied").position == NumberPosition(10)


@pytest.mark.parametrize(
    ("target", "words"),
    [
        (Target(version=2), "1 row"),
        (Target(to=NumberPosition(20)), "1 row"),
        (Target(to=NumberPosition(15)), "up to 8 rows"),
        (Target(to=NumberPosition(5)), "up to 13 rows"),
    ],
)
def test_the_rows_that_come_twice_are_told_as_exactly_as_they_are_known(ledger: Ledger, target: Target, words: str) -> None:
    for number, rows in ((10, 5), (20, 7), (30, 1)):
        load(ledger, number, rows)
    assert ledger.positions.preview_rewind("shop.orders", target).appended == words
    execute(ledger, "delete from sync_marker_history where version < 3")
    assert ledger.positions.preview_rewind("shop.orders", Target(to=NumberPosition(20))).appended == "at least 1 row"


def test_a_rewind_over_moves_that_were_cleaned_up_needs_a_reason(ledger: Ledger) -> None:
    load(ledger, 10, 5)
    load(ledger, 20, 1_000_000)
    ledger.positions.advance("shop.orders", NumberPosition(30))
    execute(ledger, "delete from sync_marker_history where version < 3")
    plan = ledger.positions.preview_rewind("shop.orders", Target(to=NumberPosition(5)))
    assert (plan.appended, plan.needs_reason) == ("at least 0 rows", True)
    with pytest.raises(Invalid, match=r"cleaned up.* give a reason"):
        ledger.positions.rewind(plan)
    assert ledger.positions.rewind(plan, "the table was emptied").position == NumberPosition(5)


def test_rows_of_moves_that_were_cleaned_up_in_between_are_not_taken_for_none(ledger: Ledger) -> None:
    for number, rows in ((10, 5), (20, 7), (30, 0)):
        load(ledger, number, rows)
    execute(ledger, "delete from sync_marker_history where version = 2")  # forced moves, such as the one before, are kept for good
    assert ledger.positions.preview_rewind("shop.orders", Target(version=1)).appended == "at least 0 rows"


def test_what_was_taken_back_before_does_not_count_again(ledger: Ledger) -> None:
    for number, rows in ((10, 5), (20, 7)):
        load(ledger, number, rows)
    ledger.positions.rewind(ledger.positions.preview_rewind("shop.orders", Target(version=1)), "again")
    load(ledger, 20, 7)
    assert ledger.positions.preview_rewind("shop.orders", Target(version=1)).appended_rows == 7


def test_a_source_that_replaces_its_rows_goes_back_without_a_reason(ledger: Ledger) -> None:
    for number in (10, 20):
        load(ledger, number, operation="overwrite", retires="all")
    plan = ledger.positions.preview_rewind("shop.orders", Target(version=1))
    assert plan.appended_rows == 0
    assert ledger.positions.rewind(plan).position == NumberPosition(10)
