"""pgoutput's messages, byte by byte."""

from __future__ import annotations

import struct
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest

from lakeledger.errors import Failed
from lakeledger.pipelines.sources import pgoutput
from lakeledger.pipelines.sources.pgoutput import UNCHANGED, Begin, Commit, Decoder, Delete, Insert, Truncate, Update
from lakeledger.pipelines.sources.pgoutput_types import elements, parser
from lakeledger.pipelines.sources.replication_server import Ahead, choose, default_slot

RELATION = b"R" + struct.pack("!I", 7) + b"shop\0orders\0d" + struct.pack("!H", 2)
RELATION += b"\1id\0" + struct.pack("!Ii", 23, -1) + b"\0note\0" + struct.pack("!Ii", 25, -1)


def row(*values: Any) -> bytes:
    parts = [struct.pack("!H", len(values))]
    for value in values:
        if value is None:
            parts.append(b"n")
        elif value is UNCHANGED:
            parts.append(b"u")
        else:
            parts.append(b"t" + struct.pack("!I", len(value.encode())) + value.encode())
    return b"".join(parts)


def read(*messages: bytes) -> list[pgoutput.Message | None]:
    decoder = Decoder()
    return [decoder.read(message) for message in (RELATION, *messages)][1:]


def change(kind: bytes, *rest: bytes) -> bytes:
    return kind + struct.pack("!I", 7) + b"".join(rest)


def test_a_transaction_tells_where_it_is_committed_and_where_the_log_goes_on() -> None:
    begin, commit = b"B" + struct.pack("!qqI", 100, 5, 9), b"C" + struct.pack("!bqqq", 0, 100, 132, 5)
    assert read(begin, commit) == [Begin(100, 9), Commit(100, 132)]
    assert pgoutput.commit_of(commit) == Commit(100, 132)


def test_every_change_has_its_rows() -> None:
    inserted, updated, moved, whole, gone, emptied = read(
        change(b"I", b"N", row("1", "ä")),
        change(b"U", b"N", row("1", UNCHANGED)),
        change(b"U", b"K", row("1", None), b"N", row("2", UNCHANGED)),
        change(b"U", b"O", row("1", "old"), b"N", row("1", UNCHANGED)),
        change(b"D", b"K", row("1", None)),
        b"T" + struct.pack("!IbI", 1, 0, 7),
    )
    assert isinstance(inserted, Insert)
    assert inserted.new == ("1", "ä")
    assert isinstance(updated, Update)
    assert (updated.new, updated.old) == (("1", UNCHANGED), None)
    assert isinstance(moved, Update)
    assert pgoutput.key_changed(moved, {"id"})
    assert pgoutput.with_old_values(moved) == ("2", UNCHANGED)
    assert isinstance(whole, Update)
    assert not pgoutput.key_changed(whole, {"id"})
    assert pgoutput.with_old_values(whole) == ("1", "old")
    assert isinstance(gone, Delete)
    assert (gone.old, gone.old_is_key) == (("1", None), True)
    assert isinstance(emptied, Truncate)
    assert emptied.relations[0].name == "orders"


def test_types_origins_and_logical_messages_change_nothing() -> None:
    assert read(b"Y" + struct.pack("!I", 5) + b"a\0b\0", b"O" + struct.pack("!q", 5) + b"x\0", b"M\0") == [None, None, None]


def test_what_is_not_of_the_protocol_is_an_error() -> None:
    with pytest.raises(Failed, match="a message 'S'"):
        Decoder().read(b"S")
    with pytest.raises(Failed, match="a change of the relation 7 without describing it"):
        Decoder().read(change(b"I", b"N", row("1")))


@pytest.mark.parametrize(
    ("oid", "modifier", "text", "value"),
    [
        (16, -1, "t", True),
        (17, -1, "\\x00ff", b"\x00\xff"),
        (20, -1, "-9223372036854775808", -(2**63)),
        (701, -1, "NaN", pytest.approx(float("nan"), nan_ok=True)),
        (1082, -1, "2024-02-29", date(2024, 2, 29)),
        (1114, -1, "2024-02-29 12:00:00.5", datetime.fromisoformat("2024-02-29T12:00:00.5")),
        (1184, -1, "2024-02-29 12:00:00+00", datetime(2024, 2, 29, 12, tzinfo=UTC)),
        (1700, ((12 << 16) | 2) + 4, "-1.5", Decimal("-1.50")),
        (1700, -1, "1.2345", "1.2345"),
        (2950, -1, "6f9619ff-8b86-d011-b42d-00cf4fc964ff", "6f9619ff-8b86-d011-b42d-00cf4fc964ff"),
        (1007, -1, "{1,NULL,3}", [1, None, 3]),
        (1009, -1, '{"NULL",NULL,"a \\"b\\", c",}', ["NULL", None, 'a "b", c']),
        (1009, -1, "{}", []),
    ],
)
def test_texts_of_postgresql_become_values(oid: int, modifier: int, text: str, value: Any) -> None:
    assert parser(oid, modifier)(text) == value


@pytest.mark.parametrize(("oid", "modifier", "text"), [(1082, -1, "infinity"), (1114, -1, "0044-03-15 00:00:00 BC"), (1700, 65540, "NaN")])
def test_what_no_type_here_can_hold_is_an_error(oid: int, modifier: int, text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        parser(oid, modifier)(text)


def test_an_array_of_arrays_is_an_error() -> None:
    with pytest.raises(ValueError, match="no array of one dimension"):
        list(elements("{{1,2},{3,4}}"))


def test_as_many_whole_transactions_are_read_as_fit_and_at_least_one() -> None:
    found = [Ahead(10, 0, 100, 1), Ahead(20, 5, 1_000, 2), Ahead(30, 9, 5_000, 3)]
    assert choose(found, 1_000) == found[1]
    assert choose(found, 5_000) == found[2]
    assert choose(found, 1) == found[1]
    assert choose(found[:1], 1_000) is None


def test_two_sources_have_two_slots_whose_names_the_server_allows() -> None:
    names = [
        default_slot(source)
        for source in ("shop.orders", "shop.Orders", "shop.örders", f"shop.{'x' * 80}", "shop_orders.x", "shop.orders_x")
    ]
    assert names[0] == "lakeledger_shop__orders"
    assert len(set(names)) == len(names)
    assert all(len(name) <= 63 and name.isascii() and name == name.lower() for name in names)
