"""Positions: typed, compared before they are set, never backwards unless forced, and every value kept."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from contract.making import append, dump, new_file, together
from lakeledger import Advance, Conflict, FilesPosition, Invalid, Ledger, NotFound, NumberPosition, Source, TimestampPosition
from lakeledger.sync import DocumentPosition, Position, SourceFile, parse_position, parse_source
from lakeledger.sync.positions.store import register_files

MONDAY = datetime(2026, 1, 5, 0, 0, 0, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("position", "kind", "document"),
    [
        (TimestampPosition(MONDAY), "timestamp", {"timestamp": "2026-01-05T00:00:00.000001Z"}),
        (TimestampPosition(MONDAY.astimezone(timezone(timedelta(hours=2)))), "timestamp", {"timestamp": "2026-01-05T00:00:00.000001Z"}),
        (NumberPosition(0), "number", {"value": 0}),
        (NumberPosition(2**63 - 1), "number", {"value": 2**63 - 1}),
        (NumberPosition(-(2**63)), "number", {"value": -(2**63)}),
        (NumberPosition(2**64 - 1), "number", {"value": 2**64 - 1}),
        (FilesPosition(3, "abc"), "files", {"files": 3, "digest": "abc"}),
    ],
)
def test_a_position_comes_back_as_what_it_was(ledger: Ledger, position: Position, kind: str, document: dict[str, object]) -> None:
    ledger.positions.advance("shop.orders", position)
    marker = ledger.positions.get("shop.orders")
    assert marker.position == position
    assert (marker.position_kind, marker.position_data, marker.version) == (kind, document, 1)
    assert marker.source == Source("shop", "orders")


@pytest.mark.parametrize(
    ("kind", "document"),
    [
        ("timestamp", {}),
        ("timestamp", {"timestamp": "yesterday"}),
        ("timestamp", {"timestamp": 3}),
        ("number", {"value": None}),
        ("number", {"value": "x"}),
        ("files", {"files": 1}),
        ("sextant", {"lsn": "0/16B3748"}),
    ],
)
def test_a_document_that_is_no_position_is_refused(kind: str, document: dict[str, object]) -> None:
    with pytest.raises(Invalid, match=f"not a {kind} position|unknown position kind"):
        parse_position(kind, document)


def test_a_time_without_a_zone_is_no_position(ledger: Ledger) -> None:
    with pytest.raises(Invalid, match="time zone"):
        ledger.positions.advance("shop", TimestampPosition(datetime(2026, 1, 1)))  # noqa: DTZ001 - the point of the test


@pytest.mark.parametrize("value", [2**64, -(2**63) - 1, 10**25])
def test_a_number_whose_order_cannot_be_kept_is_no_position(ledger: Ledger, value: int) -> None:
    with pytest.raises(Invalid, match="64 bits"):
        ledger.positions.advance("shop", NumberPosition(value))


def test_a_source_that_was_never_read_has_no_position(ledger: Ledger) -> None:
    assert ledger.positions.find("shop.orders") is None
    with pytest.raises(NotFound, match=r"no position for 'shop\.orders'"):
        ledger.positions.get("shop.orders")
    with pytest.raises(NotFound):
        ledger.positions.history("shop.orders")


def test_a_position_moves_forward_and_stays_where_it_is(ledger: Ledger) -> None:
    for value, version in ((-5, 1), (5, 2), (5, 3), (6, 4)):
        assert ledger.positions.advance("shop", NumberPosition(value)).version == version
    assert ledger.positions.get("shop").position == NumberPosition(6)


@pytest.mark.parametrize(
    ("there", "back"),
    [
        (NumberPosition(5), NumberPosition(4)),
        (NumberPosition(0), NumberPosition(-1)),
        (NumberPosition(10), NumberPosition(9)),
        (NumberPosition(2**64 - 1), NumberPosition(2**63 - 1)),
        (TimestampPosition(MONDAY), TimestampPosition(MONDAY - timedelta(microseconds=1))),
        (TimestampPosition(datetime(1000, 1, 1, tzinfo=UTC)), TimestampPosition(datetime(999, 1, 1, tzinfo=UTC))),
        (FilesPosition(10, "a"), FilesPosition(9, "b")),
    ],
)
def test_a_position_never_goes_back_unless_forced(ledger: Ledger, there: Position, back: Position) -> None:
    ledger.positions.advance("shop", there)
    before = dump(ledger)
    with pytest.raises(Conflict, match=r"the position of shop would go back from .*: force it if it is meant") as caught:
        ledger.positions.advance("shop", back)
    assert not caught.value.retryable
    assert dump(ledger) == before
    assert ledger.positions.advance("shop", back, force=True, reason="reload").position == back


def test_a_text_cursor_goes_on_where_it_first_has_a_letter(ledger: Ledger) -> None:
    for cursor in ("00000028", "00000029", "0000002a", "0000002f", "00000030"):
        ledger.positions.advance("shop", DocumentPosition.ordered_by({"cursor": cursor}, "cursor"))
    for back in ("0000002f", "00000029"):
        with pytest.raises(Conflict, match="would go back"):
            ledger.positions.advance("shop", DocumentPosition.ordered_by({"cursor": back}, "cursor"))


@pytest.mark.parametrize(
    ("there", "next_one", "message"),
    [
        ("9", "10b", r"is ordered as a number, {'c': '9'}, and cannot be compared with {'c': '10b'}, which is a text"),
        (9, "b", "is ordered as a number, .* which is a text"),
        ("2026-01-01T00:00:00Z", 9, "is ordered as a time, .* which is a number"),
    ],
)
def test_a_cursor_that_changes_its_type_is_refused_in_words(ledger: Ledger, there: Any, next_one: Any, message: str) -> None:
    ledger.positions.advance("shop", DocumentPosition.ordered_by({"c": there}, "c"))
    with pytest.raises(Conflict, match=message):
        ledger.positions.advance("shop", DocumentPosition.ordered_by({"c": next_one}, "c"))


def test_kinds_do_not_mix_unless_forced(ledger: Ledger) -> None:
    ledger.positions.advance("shop", NumberPosition(5))
    with pytest.raises(Conflict, match="the position of shop is a number, not a timestamp"):
        ledger.positions.advance("shop", TimestampPosition(MONDAY))
    assert ledger.positions.advance("shop", TimestampPosition(MONDAY), force=True).position == TimestampPosition(MONDAY)


def test_a_position_is_set_only_from_the_version_that_the_caller_knows(ledger: Ledger) -> None:
    assert ledger.positions.advance("shop", NumberPosition(1), expected_version=0).version == 1
    with pytest.raises(Conflict, match=r"is version 1, {'value': 1}; it cannot go from version 0") as caught:
        ledger.positions.advance("shop", NumberPosition(2), expected_version=0)
    assert caught.value.retryable
    assert ledger.positions.advance("shop", NumberPosition(2), expected_version=1).version == 2
    with pytest.raises(Conflict):
        ledger.positions.advance("shop", NumberPosition(3), expected_version=1, force=True)
    with pytest.raises(Conflict, match="is not there; it cannot go from version 3"):
        ledger.positions.advance("other", NumberPosition(3), expected_version=3)


def test_of_eight_that_race_exactly_one_wins_each_version(ledger: Ledger) -> None:
    def race(version: int, index: int) -> bool:
        try:
            ledger.positions.advance("shop", NumberPosition(version * 100 + index), expected_version=version)
        except Conflict:
            return False
        return True

    for version in range(5):
        won = together(lambda index, version=version: race(version, index), 8)  # type: ignore[misc] # bound now
        assert won.count(True) == 1
        assert ledger.positions.get("shop").position == NumberPosition(version * 100 + won.index(True))
    assert [change.version for change in ledger.positions.history("shop")] == [5, 4, 3, 2, 1]


def test_every_value_is_kept_with_who_when_and_why(ledger: Ledger) -> None:
    ledger.positions.advance("shop", NumberPosition(5))
    committed = append(ledger, new_file("a"), position=Advance(parse_source("shop"), NumberPosition(9)))
    ledger.positions.advance("shop", NumberPosition(2), force=True, reason="reload of January")
    history = ledger.positions.history("shop")[::-1]
    assert [(each.version, each.position_data, each.forced, each.reason) for each in history] == [
        (1, {"value": 5}, False, None),
        (2, {"value": 9}, False, None),
        (3, {"value": 2}, True, "reload of January"),
    ]
    assert [each.sync_run_id for each in history] == [None, committed.snapshot.run_id, None]
    assert {each.updated_by for each in history} == {ledger.worker.name}
    assert history[1].updated_at == committed.snapshot.committed_at
    assert ledger.positions.get("shop").last_updated == history[-1].updated_at


def test_sources_are_told_apart(ledger: Ledger) -> None:
    sources = [Source("shop"), Source("shop", "orders"), Source("shop", "orders", "stream"), Source("other", "orders")]
    for value, source in enumerate(sources):
        ledger.positions.advance(source, NumberPosition(value))
    assert [ledger.positions.get(source).position for source in sources] == [NumberPosition(value) for value in range(4)]
    assert [marker.source for marker in ledger.positions.list()] == [sources[3], sources[0], sources[1], sources[2]]


@pytest.mark.parametrize("name", ["", ".", ".orders", "shop."])
def test_a_name_that_is_no_source_is_refused(name: str) -> None:
    with pytest.raises(Invalid, match=r"must be a schema or schema\.table"):
        parse_source(name)


def test_an_unknown_way_of_reading_is_refused(ledger: Ledger) -> None:
    with pytest.raises((Conflict, Invalid)):
        ledger.positions.advance(Source("shop", "orders", "sideways"), NumberPosition(1))


def test_files_are_registered_once_and_take_their_new_identity(ledger: Ledger) -> None:
    marker = ledger.positions.advance("shop", FilesPosition(2, "x"))
    a, b = SourceFile("/in/a.csv", 10, MONDAY, "sha256:a"), SourceFile("/in/b.csv", 20, MONDAY, "sha256:b")
    changed = SourceFile("/in/a.csv", 11, MONDAY + timedelta(days=1), "sha256:c")
    with ledger.store.write() as tx:
        register_files(tx, marker, [a, b], "r1")
        register_files(tx, marker, [changed], "r2")
        register_files(tx, marker, [], "r3")
    assert ledger.positions.files("shop") == [b, changed]
    ledger.positions.advance("other", FilesPosition(0, ""))
    assert ledger.positions.files("other") == []


def test_a_text_that_the_database_cannot_keep_is_refused_or_kept_whole(ledger: Ledger) -> None:
    document = {"cursor": "a\0b"}
    if ledger.database.dialect == "sqlite":
        ledger.positions.advance("shop", DocumentPosition(document))
        assert ledger.positions.get("shop").position_data == document
    else:
        with pytest.raises(Invalid, match="cannot keep that text"):
            ledger.positions.advance("shop", DocumentPosition(document))
        assert ledger.positions.find("shop") is None


def test_a_slash_in_a_name_is_part_of_the_name(ledger: Ledger) -> None:
    names = [("a/b", "c"), ("a", "b/c"), ("a/", None), ("a", "/"), ("a\\/b", "c"), ("a", None)]
    for number, (schema, table) in enumerate(names):
        ledger.positions.advance(Source(schema, table), NumberPosition(number))
    assert [ledger.positions.get(Source(schema, table)).position for schema, table in names] == [
        NumberPosition(n) for n in range(len(names))
    ]
