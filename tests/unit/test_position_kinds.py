"""The kinds of positions: each has its own order, tells how far two are apart, and gives its document back as it was."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest

from lakeledger.errors import Invalid
from lakeledger.sync.kinds import (
    KINDS,
    BinlogPosition,
    DeltaPosition,
    DocumentPosition,
    FilesPosition,
    GtidPosition,
    IcebergPosition,
    NumberPosition,
    OffsetsPosition,
    Position,
    ResumeTokenPosition,
    TimestampPosition,
    VersionsPosition,
    WatermarkPosition,
    infer_position,
    parse_position,
)
from lakeledger.sync.kinds.order import order_text

A = "3e11fa47-71ca-11e1-9e33-c80aa9429562"
B = "726757ad-4455-11e8-ae04-0242ac110002"
NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)


def lsn(value: str | int) -> Position:
    return parse_position("lsn", {"lsn": value})


def binlog(file: str, pos: int, **inside: Any) -> Position:
    return BinlogPosition(file, pos, inside)


def offsets(**topics: dict[str, int]) -> Position:
    return OffsetsPosition(topics)


def by(value: Any) -> Position:
    return DocumentPosition.ordered_by({"at": value}, "at")


def token(name: str, cluster_time: int | str | None = None) -> Position:
    return ResumeTokenPosition({"_data": name}, cluster_time)


def marked(*values: Any, types: tuple[str, ...] = ()) -> Position:
    return WatermarkPosition(("updated_at", "id")[: len(values)], values, types)


BOTH = ("timestamp", "integer")


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        (marked("2026-01-05T12:00:00Z", 9, types=BOTH), marked("2026-01-05T12:00:00Z", 10, types=BOTH)),
        (marked("2026-01-05T12:00:00Z", 9, types=BOTH), marked("2026-01-05T12:00:01Z", 1, types=BOTH)),
        (marked("2026-01-05T14:00:00+02:00", 9, types=BOTH), marked("2026-01-05T13:00:00Z", 1, types=BOTH)),
        (marked("9", types=("decimal",)), marked("10.5", types=("decimal",))),
        (marked(9, types=("integer",)), marked("9.5", types=("decimal",))),
        (marked("10", types=("text",)), marked("9", types=("text",))),
        (marked("2026-01-05", types=("date",)), marked("2026-01-06", types=("date",))),
        (marked("2026-01-05T12:00:00", types=("timestamp_ntz",)), marked("2026-01-05T12:00:01", types=("timestamp_ntz",))),
        (marked("2026-01-05T12:00:00Z", 9), marked("2026-01-05T12:00:00Z", 10, types=BOTH)),
        (VersionsPosition({"a": 1, "b": 2}), VersionsPosition({"a": 1, "b": 3})),
        (VersionsPosition({"a": 1}), VersionsPosition({"a": 1, "b": 0})),
        (lsn("0/16B3747"), lsn("0/16B3748")),
        (lsn("0/9"), lsn("0/10")),
        (lsn("0/FFFFFFFF"), lsn("1/0")),
        (lsn("9/FFFFFFFF"), lsn("10/0")),
        (lsn("7FFFFFFF/FFFFFFFF"), lsn("80000000/0")),
        (lsn("FFFFFFFF/FFFFFFFE"), lsn("ffffffff/ffffffff")),
        (lsn(9), lsn(10)),
        (lsn(2**63 - 1), lsn(2**63)),
        (lsn("0/9"), lsn(10)),
        (lsn(2**32 - 1), lsn("1/0")),
        (binlog("mysql-bin.000003", 4), binlog("mysql-bin.000003", 154)),
        (binlog("mysql-bin.000003", 154), binlog("mysql-bin.000004", 4)),
        (binlog("mysql-bin.999999", 154), binlog("mysql-bin.1000000", 4)),
        (binlog("b.000001", 4, event=1, row=9), binlog("b.000001", 4, event=2, row=0)),
        (binlog("b.000001", 4, event=2, row=9), binlog("b.000001", 4, event=2, row=10)),
        (binlog("b.000001", 4), binlog("b.000001", 4, event=1)),
        (binlog("b.000001", 4, event=None, row=7), binlog("b.000001", 5, event=0, row=0)),
        (GtidPosition(f"{A}:1-5"), GtidPosition(f"{A}:1-6")),
        (GtidPosition(f"{A}:1-5"), GtidPosition(f"{A}:1-5,{B}:1")),
        (GtidPosition(f"{A}:1-5:11-18"), GtidPosition(f"{A}:1-18")),
        (GtidPosition(f"{A}:1-5"), GtidPosition(f"{A}:1-5:tag:1")),
        (token("b", 9), token("a", 10)),
        (token("b"), token("a", 10)),
        (token("b", "7123456789012345678"), token("a", 7123456789012345679)),
        (offsets(orders={"0": 5}), offsets(orders={"0": 6})),
        (offsets(orders={"0": 5}), offsets(orders={"0": 5, "1": 0})),
        (offsets(orders={"0": 5}), offsets(orders={"0": 5}, customers={"0": 0})),
        (TimestampPosition(NOON), TimestampPosition(NOON + timedelta(microseconds=1))),
        (TimestampPosition(datetime(999, 1, 1, tzinfo=UTC)), TimestampPosition(NOON)),
        (TimestampPosition(NOON.astimezone(timezone(timedelta(hours=9)))), TimestampPosition(NOON + timedelta(hours=1))),
        (NumberPosition(-10), NumberPosition(-9)),
        (NumberPosition(9), NumberPosition(10)),
        (DeltaPosition(9), DeltaPosition(10)),
        (IcebergPosition(900, 9), IcebergPosition(5, 10)),
        (IcebergPosition(900), IcebergPosition(5, 1)),
        (FilesPosition(9, "b"), FilesPosition(10, "a")),
        (by(-10), by(-9)),
        (by(-1), by(0)),
        (by(9), by(10)),
        (by(1.25), by(1.5)),
        (by("-0.2"), by("-0.15")),
        (by(Decimal("10.9")), by(Decimal("10.91"))),
        (by(10**30), by(10**30 + 1)),
        (by(-(10**38) - 1), by(-(10**38))),
        (by("2026-01-05T12:00:00+02:00"), by("2026-01-05T11:00:00Z")),
        (by("2026-01-05"), by("2026-01-05T00:00:01")),
        (by(NOON), by("2026-01-05T13:30:00+01:00")),
        (by("apple"), by("banana")),
        (by("Z"), by("a")),
        (DocumentPosition({"page": "x"}), by(1)),
    ],
)
def test_the_later_of_two_follows_the_earlier_and_not_the_other_way(earlier: Position, later: Position) -> None:
    assert later.follows(earlier)
    assert not earlier.follows(later)
    assert earlier.follows(earlier)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (lsn("0/16B3748"), lsn(0x16B3748)),
        (lsn("a/b"), lsn("0A/0B")),
        (binlog("b.000001", 4), binlog("b.1", 4, event=0, row=0)),
        (GtidPosition(f"{A}:1-5"), GtidPosition(f"{A.upper()}:1-3:4:5")),
        (GtidPosition(f"{A}:1:tag:2"), GtidPosition(f"{A}:TAG:2, {A}:1")),
        (token("a"), token("b")),
        (token("a", 5), token("a", "5")),
        (IcebergPosition(1), IcebergPosition(2)),
        (offsets(a={"0": 1}, b={"1": 2}), offsets(b={"1": 2}, a={"0": 1})),
        (by(1), by("1.0")),
        (by("2026-01-05T12:00:00Z"), by("2026-01-05T14:00:00+02:00")),
        (DocumentPosition({"page": 2}), DocumentPosition({"page": 1})),
    ],
)
def test_places_that_are_the_same_or_without_order_follow_each_other(one: Position, other: Position) -> None:
    assert one.follows(other)
    assert other.follows(one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (binlog("mysql-bin.000003", 4), binlog("replica-bin.000004", 4)),
        (GtidPosition(f"{A}:1-5"), GtidPosition(f"{B}:1-9")),
        (GtidPosition(f"{A}:1-5:7"), GtidPosition(f"{A}:1-6")),
        (GtidPosition(f"{A}:1-5"), GtidPosition(f"{A}:tag:1-5")),
        (offsets(orders={"0": 5, "1": 1}), offsets(orders={"0": 4, "1": 2})),
        (offsets(orders={"0": 5}), offsets(orders={"1": 5})),
        (offsets(orders={"0": 5}), offsets(customers={"0": 9})),
        (lsn("0/5"), NumberPosition(5)),
        (marked("9", types=("text",)), marked(9, types=("integer",))),
        (marked(9, types=("integer",)), WatermarkPosition(("id",), (9,), ("integer",))),
        (VersionsPosition({"a": 1}), VersionsPosition({"b": 1})),
        (NumberPosition(5), DeltaPosition(5)),
        (GtidPosition(f"{A}:1-5"), binlog("b.000001", 4)),
        (offsets(orders={"0": 5}), lsn("0/5")),
    ],
)
def test_places_of_different_histories_do_not_follow_each_other(one: Position, other: Position) -> None:
    assert not one.follows(other)
    assert not other.follows(one)


@pytest.mark.parametrize(
    ("with_order", "without_order"),
    [(token("a", 5), token("b")), (IcebergPosition(1, 5), IcebergPosition(2)), (by(5), DocumentPosition({"at": 6}))],
)
def test_a_place_that_lost_its_order_does_not_follow_one_that_has_it(with_order: Position, without_order: Position) -> None:
    assert not without_order.follows(with_order)
    assert without_order.order_key == ""


@pytest.mark.parametrize(
    ("one", "other", "words"),
    [
        (lsn("0/10"), lsn("1/0"), "4,294,967,280 bytes of WAL"),
        (binlog("b.000001", 4), binlog("b.000001", 1004), "1,000 bytes of the log"),
        (binlog("b.000001", 4), binlog("b.000003", 4), "2 log files"),
        (binlog("b.000001", 4), binlog("c.000003", 4), None),
        (GtidPosition(f"{A}:1-5"), GtidPosition(f"{A}:1-9,{B}:1"), "5 transactions"),
        (offsets(a={"0": 5, "1": 5}), offsets(a={"0": 7, "1": 4}, b={"0": 3}), "6 messages"),
        (TimestampPosition(NOON), TimestampPosition(NOON + timedelta(hours=30)), "1 day, 6:00:00"),
        (NumberPosition(-500), NumberPosition(500), "1,000 numbers"),
        (DeltaPosition(3), DeltaPosition(5), "2 versions"),
        (FilesPosition(3, "a"), FilesPosition(5, "b"), "2 files"),
        (marked("2026-01-05", types=("date",)), marked("2026-01-08", types=("date",)), "3 days, 0:00:00"),
        (marked(5, types=("integer",)), marked(2005, types=("integer",)), "2,000 of updated_at"),
        (VersionsPosition({"a": 1, "b": 2}), VersionsPosition({"a": 3}), "4 versions"),
        (token("a", 5), token("b", 6), None),
        (by(5), by(6), None),
        (IcebergPosition(5), IcebergPosition(6), None),
        *[(position, by(5), None) for position in (lsn("0/1"), binlog("b.1", 4), GtidPosition(f"{A}:1"), offsets(a={"0": 1}))],
        *[(position, by(5), None) for position in (TimestampPosition(NOON), NumberPosition(1), FilesPosition(1, ""))],
    ],
)
def test_how_far_two_places_are_apart_is_told_in_words(one: Position, other: Position, words: str | None) -> None:
    assert other.distance(one) == words
    assert one.distance(other) == words


DOCUMENTS: list[tuple[str, dict[str, Any]]] = [
    # As the seed's change stream gives it.
    (
        "resume_token",
        {
            "resume_token": {"_data": "8265A4F2EC000000012B0229296E04"},
            "cluster_time": "7123456789012345678",
            "timestamp": "2026-01-05T12:00:00+00:00",
        },
    ),
    # Debezium: PostgreSQL, MySQL with and without GTIDs, MongoDB, SQL Server.
    (
        "lsn",
        {"lsn": 24023128, "lsn_proc": 24023127, "lsn_commit": 24023128, "txId": 555, "ts_usec": 1767323045000000, "transaction_id": None},
    ),
    ("gtid", {"ts_sec": 1767323045, "file": "mysql-bin.000003", "pos": 154, "gtids": f"{A}:1-5", "row": 1, "server_id": 1, "event": 2}),
    ("binlog", {"ts_sec": 1767323045, "file": "mysql-bin.000003", "pos": 154, "gtids": None, "row": 1, "server_id": 1, "event": 2}),
    ("resume_token", {"resume_token": "8265A4F2EC", "sec": 1705308908, "ord": 1, "transaction_id": None}),
    ("document", {"commit_lsn": "00000027:00000ac0:0002", "change_lsn": None, "event_serial_no": 1}),
    ("lsn", {"lsn": "16/B374D848"}),
    ("lsn", {"lsn": "16/b374d848", "slot": "shop"}),
    ("lsn", {"lsn": 0}),
    ("offsets", {"offsets": {"orders": {"0": 5, "1": 9}}, "group": "loader"}),
    ("timestamp", {"timestamp": "2026-01-05T12:00:00.000000Z"}),
    ("delta", {"version": 12}),
    ("number", {"value": -3}),
    ("iceberg", {"snapshot_id": 3051729675574597004, "sequence_number": 7, "branch": "main"}),
    ("iceberg", {"snapshot_id": 3051729675574597004}),
    ("files", {"files": 3, "digest": "abc", "folder": "/in"}),
    ("watermark", {"columns": ["at", "id"], "values": ["2026-01-05T12:00:00Z", 5], "types": ["timestamp", "integer"], "by": "ann"}),
    ("watermark", {"columns": ["name"], "values": ["a"]}),
    ("versions", {"versions": {"main.orders": 3}, "table_ids": {"main.orders": "x"}}),
    ("document", {"timestamp": "2026-01-05T12:00:00Z", "id": 5}),
    ("document", {"version": 12, "etag": "x"}),
    ("document", {"page": 7, "nested": {"list": [1, 2.5, None, True]}}),
    ("document", {"lsn": None, "page": 1}),
]


@pytest.mark.parametrize(("kind", "document"), DOCUMENTS)
def test_the_kind_of_a_document_is_told_and_the_document_comes_back_as_it_was(kind: str, document: dict[str, Any]) -> None:
    position = infer_position(document)
    assert position.kind == kind
    assert position.document() == document
    again = parse_position(position.kind, position.document(), position.order_key)
    assert again == position
    assert again.order_key == position.order_key


@pytest.mark.parametrize(
    ("kind", "document"),
    [
        ("timestamp", {"timestamp": "2026-01-05T12:00:00.000000Z", "zone": "Europe/Berlin"}),
        ("number", {"value": 5, "table": "orders"}),
        ("delta", {"version": 5, "isStartingVersion": True}),
    ],
)
def test_what_else_stands_in_a_document_is_kept(kind: str, document: dict[str, Any]) -> None:
    assert parse_position(kind, document).document() == document


@pytest.mark.parametrize(("kind", "document"), [(kind, document) for kind, document in DOCUMENTS if kind != "document"])
def test_positions_with_the_same_document_are_equal_and_have_one_hash(kind: str, document: dict[str, Any]) -> None:
    one, other = parse_position(kind, document), parse_position(kind, dict(reversed(document.items())))
    assert one == other
    assert hash(one) == hash(other)


def test_a_declared_order_wins_over_what_a_document_looks_like() -> None:
    position = infer_position({"lsn": "0/5", "seq": 7}, order_by="seq")
    assert position == DocumentPosition({"lsn": "0/5", "seq": 7}, by(7).order_key)
    assert parse_position("document", position.document(), position.order_key) == position


@pytest.mark.parametrize(
    ("kind", "document", "words"),
    [
        ("lsn", {"lsn": "16B374D848"}, "'16B374D848' is no LSN: write it as 16/B374D848"),
        ("lsn", {"lsn": "0/123456789"}, "is no LSN"),
        ("lsn", {"lsn": "0/-1"}, "is no LSN"),
        ("lsn", {"lsn": -1}, "-1 is no LSN: it has 64 bits"),
        ("lsn", {"lsn": 2**64}, "is no LSN: it has 64 bits"),
        ("lsn", {"lsn": True}, "True is no LSN"),
        ("lsn", {"lsn": None}, "'None' is no LSN"),
        ("lsn", {}, "not a lsn position: {}"),
        ("binlog", {"file": "mysql-bin", "pos": 4}, "'mysql-bin' at 4 is no place in a binary log"),
        ("binlog", {"file": "mysql-bin.x1", "pos": 4}, "is no place in a binary log"),
        ("binlog", {"file": ".000001", "pos": 4}, "is no place in a binary log"),
        ("binlog", {"file": "b.000001", "pos": -1}, "is no place in a binary log"),
        ("binlog", {"file": "b.000001", "pos": 2**64}, "numbers of 64 bits"),
        ("binlog", {"file": "b.000001", "pos": 4, "row": -1}, "numbers of 64 bits"),
        ("binlog", {"file": "b.000001", "pos": 4, "event": "x"}, "not a binlog position"),
        ("binlog", {"file": "b.000001", "pos": 4.5}, "4.5 is no whole number"),
        ("binlog", {"file": "b.000001"}, "not a binlog position"),
        ("gtid", {"gtids": ""}, "a GTID set cannot be empty"),
        ("gtid", {"gtids": "x:1-5"}, "'x:1-5' is no GTID set: write server-uuid:1-5"),
        ("gtid", {}, "not a gtid position"),
        ("resume_token", {}, "not a resume_token position"),
        ("resume_token", {"resume_token": "x", "cluster_time": {"t": 1}}, "{'t': 1} has no order"),
        ("offsets", {"offsets": {}}, "are no offsets: write topic → partition → offset"),
        ("offsets", {"offsets": {"orders": {}}}, "are no offsets"),
        ("offsets", {"offsets": {"orders": {"0": -1}}}, "are no offsets"),
        ("offsets", {"offsets": {"orders": 5}}, "not a offsets position"),
        ("offsets", {"offsets": {"orders": {"0": "x"}}}, "not a offsets position"),
        ("offsets", {"offsets": {"orders": {"0": True}}}, "True is no whole number"),
        ("offsets", {"offsets": [1]}, "not a offsets position"),
        ("timestamp", {"timestamp": "yesterday"}, "not a timestamp position"),
        ("timestamp", {"timestamp": "0001-01-01T00:00:00+14:00"}, "not a timestamp position"),
        ("timestamp", {"timestamp": datetime(2026, 1, 1)}, "a time with a time zone"),  # noqa: DTZ001 - the point of the test
        ("number", {"value": 2**64}, "a number of 64 bits"),
        ("number", {"value": "x"}, "not a number position"),
        ("delta", {"version": None}, "not a delta position"),
        ("delta", {"version": True}, "True is no whole number"),
        ("iceberg", {"snapshot_id": "x"}, "not a iceberg position"),
        ("iceberg", {"snapshot_id": 1, "sequence_number": 1.5}, "1.5 is no whole number"),
        ("files", {"files": 3}, "not a files position"),
        ("files", {"files": -3, "digest": ""}, "-3 is no number of files"),
        ("cursor", {}, f"unknown position kind 'cursor': use {', '.join(KINDS)}"),
    ],
)
def test_a_document_that_is_no_position_of_its_kind_is_refused_in_words(kind: str, document: dict[str, Any], words: str) -> None:
    with pytest.raises(Invalid) as caught:
        parse_position(kind, document)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({"page": 1}, "has no 'at' to be ordered by: it has page"),
        ({"at": None}, "has no 'at' to be ordered by"),
        ({"at": True}, "True has no order"),
        ({"at": [1]}, "[1] has no order"),
        ({"at": {"t": 1}}, "{'t': 1} has no order"),
        ({"at": 10**39}, "cannot be put in an order"),
        ({"at": datetime(2026, 1, 1)}, "a time with a time zone"),  # noqa: DTZ001 - the point of the test
    ],
)
def test_an_order_that_nobody_can_tell_is_refused_in_words(document: dict[str, Any], words: str) -> None:
    with pytest.raises(Invalid) as caught:
        infer_position(document, order_by="at")
    assert words in str(caught.value)


@pytest.mark.parametrize("given", ["2026-01-02T03:04:05.123456789+02:00", "2026-01-02 03:04:05+00:00", "2026-01-02T03:04:05Z"])
def test_a_time_comes_back_as_it_was_written(given: str) -> None:
    position = parse_position("timestamp", {"timestamp": given})
    assert position.document() == {"timestamp": given}
    assert position.order_key.startswith("2026-01-02T0")


def test_a_written_time_without_a_zone_is_refused() -> None:
    with pytest.raises(Invalid, match="a time with a time zone"):
        parse_position("timestamp", {"timestamp": "2026-01-02 03:04:05"})


@pytest.mark.parametrize(
    ("before", "after", "goes_on"),
    [
        ("00000000000001df", "00000000000001e0", True),
        ("00000000000001e5", "00000000000001df", False),
        (500, "a3", False),
        ("a3", 500, False),
        ("2026-01-01T00:00:00Z", 9, False),
        (None, 9, True),
    ],
)
def test_hexadecimal_texts_are_texts_and_numbers_are_not_compared_with_them(before: Any, after: Any, goes_on: bool) -> None:
    places = [DocumentPosition({"page": 1, "at": value}, order_text(value)) for value in (before, after)]
    assert places[1].follows(places[0]) is goes_on
