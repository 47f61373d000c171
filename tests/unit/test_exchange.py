"""Positions of other tools: taken over with their order, given back as they were, and never half understood."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import tried
from lakeledger import Ledger
from lakeledger.errors import Conflict, Invalid
from lakeledger.sync.exchange import FORMATS, Foreign, read, scan, write
from lakeledger.sync.kinds import (
    BinlogPosition,
    DeltaPosition,
    DocumentPosition,
    FilesPosition,
    GtidPosition,
    LsnPosition,
    NumberPosition,
    OffsetsPosition,
    Position,
    ResumeTokenPosition,
    TimestampPosition,
)
from lakeledger.sync.model import Marker, Source

AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
UUID = "3e11fa47-71ca-11e1-9e33-c80aa9429562"

POSTGRES = {
    "offsets": [
        {
            "partition": {"server": "shop"},
            "offset": {
                "lsn_proc": 24023127,
                "messageType": "INSERT",
                "lsn_commit": 24023128,
                "lsn": 24023128,
                "txId": 555,
                "ts_usec": 1767323045000000,
                "transaction_id": None,
            },
        }
    ]
}
MYSQL_OFFSET = {
    "ts_sec": 1767323045,
    "file": "mysql-bin.000003",
    "pos": 154,
    "gtids": f"{UUID}:1-5",
    "row": 1,
    "server_id": 223344,
    "event": 2,
}
MONGODB = {
    "offsets": [
        {
            "partition": {"rs": "rs0", "server_id": "shop"},
            "offset": {"sec": 1705308908, "ord": 1, "transaction_id": None, "resume_token": "8265A4F2EC000000012B0229296E04"},
        }
    ]
}
SQL_SERVER = {
    "offsets": [
        {
            "partition": {"server": "erp", "database": name},
            "offset": {
                "commit_lsn": "00000027:00000ac0:0002",
                "change_lsn": "00000027:00000ac0:0001",
                "event_serial_no": 1,
                "transaction_id": None,
            },
        }
        for name in ("sales", "stock")
    ]
}
ORACLE = {
    "offsets": [
        {
            "partition": {"server": "erp"},
            "offset": {"scn": "2868546", "commit_scn": "2868550:1:02001a00", "snapshot_scn": "2868000", "lcr_position": None},
        }
    ]
}
SINK = {
    "offsets": [
        {"partition": {"kafka_topic": topic, "kafka_partition": partition}, "offset": {"kafka_offset": offset}}
        for topic, partition, offset in (("orders", 0, 15), ("orders", 1, 0), ("customers", 0, 7))
    ]
}
SINGER = {
    "bookmarks": {
        "public-orders": {"replication_key": "updated_at", "replication_key_value": "2026-01-02T03:04:05+00:00", "version": 1767323045123},
        "public.customers": {"replication_key": "id", "replication_key_value": 10, "last_replication_method": "INCREMENTAL"},
        "public-events": {"last_replication_method": "LOG_BASED", "lsn": 108197216, "version": 1574709, "xmin": None},
        "shop-items": {"log_file": "mysql-bin.000003", "log_pos": 154},
    },
    "currently_syncing": "public-events",
}
AIRBYTE_STREAMS = [
    {
        "type": "STREAM",
        "stream": {
            "stream_descriptor": {"name": "orders", "namespace": "public"},
            "stream_state": {
                "version": 2,
                "state_type": "cursor_based",
                "stream_name": "orders",
                "stream_namespace": "public",
                "cursor": "2026-01-02T03:04:05.000000",
                "cursor_field": ["updated_at"],
                "cursor_record_count": 1,
            },
        },
    },
    {"type": "STREAM", "stream": {"stream_descriptor": {"name": "issues", "namespace": "jira"}, "stream_state": {"updated": "2026-01-02"}}},
]
AIRBYTE_GLOBAL = [
    {
        "type": "GLOBAL",
        "global": {
            "shared_state": {
                "state": {
                    '["shop",{"server":"shop"}]': '{"transaction_id":null,"lsn":5440977592,"txId":2797886,"ts_usec":1684875175198480}'
                }
            },
            "stream_states": [
                {
                    "stream_descriptor": {"name": "orders", "namespace": "public"},
                    "stream_state": {"stream_name": "orders", "cursor_field": [], "stream_namespace": "public"},
                },
                {"stream_descriptor": {"name": "customers", "namespace": "public"}, "stream_state": {}},
            ],
        },
    }
]
AIRBYTE_LEGACY = [{"type": "LEGACY", "data": {"cdc": False, "streams": [{"stream_name": "orders", "cursor": "5"}]}}]
GOLDEN: list[tuple[str, Any, str | None]] = [
    ("debezium", POSTGRES, None),
    ("debezium", {"offsets": [{"partition": {"server": "shop"}, "offset": MYSQL_OFFSET}]}, None),
    ("debezium", MONGODB, None),
    ("debezium", SQL_SERVER, None),
    ("debezium", ORACLE, None),
    ("debezium", SINK, "warehouse"),
    ("singer", SINGER, None),
    ("airbyte", AIRBYTE_STREAMS, None),
    ("airbyte", AIRBYTE_GLOBAL, None),
    ("airbyte", AIRBYTE_LEGACY, "shop"),
]


def marker(source: Source, position: Position) -> Marker:
    """What the ledger has of a position."""
    return Marker(
        "id",
        "default",
        source.schema_name,
        source.table_name,
        source.key,
        source.marker_type,
        position.kind,
        json.loads(json.dumps(position.document())),
        position.order_key,
        1,
        AT,
        None,
    )


def markers(found: list[Foreign]) -> list[Marker]:
    return [marker(foreign.source, foreign.position) for foreign in found]


def lines(*values: Any) -> str:
    return "".join(json.dumps(value) + "\n" for value in values)


def only(text: str, format: str | None = None, schema: str | None = None) -> Foreign:
    (foreign,) = read(text, format, schema)
    return foreign


def offset(value: dict[str, Any], **partition: str) -> str:
    return json.dumps({"offsets": [{"partition": partition or {"server": "shop"}, "offset": value}]})


def same(one: Any, other: Any) -> bool:
    """Equal also in whether a number is a number."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


@pytest.mark.parametrize(("format", "document", "schema"), GOLDEN)
def test_an_export_gives_back_what_was_imported(format: str, document: Any, schema: str | None) -> None:
    found = scan(json.dumps(document), None, schema)
    assert found.format == format
    assert same(json.loads(write(markers(found.found), format)), document)


@pytest.mark.parametrize(("format", "document", "schema"), GOLDEN)
def test_what_is_imported_passes_through_the_ledger_unchanged(ledger: Ledger, format: str, document: Any, schema: str | None) -> None:
    found = read(json.dumps(document), format, schema)
    kept = [ledger.positions.advance(foreign.source, foreign.position) for foreign in found]
    assert [(each.source, each.position) for each in kept] == [(foreign.source, foreign.position) for foreign in found]
    assert read(write(kept, format), format, schema) == found


def test_an_import_does_not_take_a_source_back(ledger: Ledger) -> None:
    for lsn in (5, 9):
        foreign = only(offset({"lsn": lsn}))
        ledger.positions.advance(foreign.source, foreign.position)
    earlier = only(offset({"lsn": 7}))
    with pytest.raises(Conflict, match="would go back"):
        ledger.positions.advance(earlier.source, earlier.position)


@pytest.mark.parametrize(
    ("document", "kind", "source"),
    [
        (POSTGRES, LsnPosition, Source("shop", None, "stream")),
        (MONGODB, ResumeTokenPosition, Source("shop", None, "stream")),
        (ORACLE, DocumentPosition, Source("erp", None, "stream")),
        ({"offsets": [{"partition": {"server": "shop"}, "offset": MYSQL_OFFSET}]}, GtidPosition, Source("shop", None, "stream")),
        (
            {"offsets": [{"partition": {"server": "shop"}, "offset": {"file": "b.000001", "pos": 4}}]},
            BinlogPosition,
            Source("shop", None, "stream"),
        ),
        (
            {"offsets": [{"partition": {"server": "shop"}, "offset": {"file": "b.000001", "pos": 4, "gtids": "0-1-270,1-2-5"}}]},
            BinlogPosition,
            Source("shop", None, "stream"),
        ),
        (
            {"offsets": [{"partition": {"table": "orders", "server": "jdbc"}, "offset": {"incrementing": 5}}]},
            DocumentPosition,
            Source("jdbc", "orders", "stream"),
        ),
    ],
)
def test_an_offset_becomes_the_position_of_its_database(document: Any, kind: type, source: Source) -> None:
    foreign = only(json.dumps(document))
    assert isinstance(foreign.position, kind)
    assert foreign.source == source


def test_every_database_of_a_sql_server_is_a_source() -> None:
    assert [foreign.source.schema_name for foreign in read(json.dumps(SQL_SERVER))] == ["sales", "stock"]


def test_a_given_schema_names_the_connectors_source() -> None:
    assert only(json.dumps(POSTGRES), schema="web").source == Source("web", None, "stream")


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ({"lsn": 9}, {"lsn": 10}),
        ({"file": "b.999999", "pos": 9}, {"file": "b.1000000", "pos": 4}),
        ({"resume_token": "z", "sec": 1, "ord": 9}, {"resume_token": "a", "sec": 2, "ord": 0}),
        ({"sec": 9, "ord": 5}, {"sec": 10, "ord": 1}),
        (
            {"commit_lsn": "00000027:00000ac0:0002", "change_lsn": "NULL"},
            {"commit_lsn": "00000027:00000ac0:0002", "change_lsn": "00000027:00000ac0:0001"},
        ),
        (
            {"commit_lsn": "00000027:00000ac0:0002", "change_lsn": None, "event_serial_no": 9},
            {"commit_lsn": "00000027:00000ac0:0003", "change_lsn": None, "event_serial_no": 1},
        ),
        (
            {"commit_lsn": "00000027:00000ac0:0002", "change_lsn": "00000027:00000ac0:0001", "event_serial_no": 9},
            {"commit_lsn": "00000027:00000ac0:0002", "change_lsn": "00000027:00000ac0:0001", "event_serial_no": 10},
        ),
        ({"scn": "999"}, {"scn": "1000"}),
        ({"incrementing": 9}, {"incrementing": 10}),
        ({"timestamp": 9, "timestamp_nanos": 5, "incrementing": 7}, {"timestamp": 10, "timestamp_nanos": 0, "incrementing": 3}),
        ({"gtids": f"{UUID}:1-9"}, {"gtids": f"{UUID}:1-10"}),
    ],
)
def test_offsets_keep_the_order_of_their_database(earlier: dict[str, Any], later: dict[str, Any]) -> None:
    before, after = only(offset(earlier)).position, only(offset(later)).position
    assert after.follows(before)
    assert after.follows(after)
    assert not before.follows(after)


def test_an_offset_that_nobody_knows_is_a_document_without_order() -> None:
    position = only(offset({"vgtid": "[{}]"})).position
    assert (position.kind, position.order_key) == ("document", "")


def test_all_partitions_that_a_sink_reads_are_one_position() -> None:
    foreign = only(json.dumps(SINK), schema="warehouse")
    assert isinstance(foreign.position, OffsetsPosition)
    assert foreign.position.offsets == {"orders": {"0": 15, "1": 0}, "customers": {"0": 7}}
    with pytest.raises(Invalid, match="the sink reads orders, customers: give the schema"):
        read(json.dumps(SINK))
    assert only(json.dumps({"offsets": SINK["offsets"][:2]})).source == Source("orders", None, "stream")


KEY = ["shop-connector", {"server": "shop"}]


@pytest.mark.parametrize(
    "text",
    [
        json.dumps([KEY, MYSQL_OFFSET]),
        json.dumps([[KEY, {"lsn": 3}], [KEY, MYSQL_OFFSET]]),
        lines([KEY, None], [KEY, MYSQL_OFFSET]),
        lines({"key": KEY, "value": MYSQL_OFFSET}),
        lines({"topic": "offsets", "key": json.dumps(KEY), "payload": json.dumps(MYSQL_OFFSET)}),
        f"{json.dumps(KEY)}\t{json.dumps(MYSQL_OFFSET)}",
        f"{json.dumps(KEY)}\tnull\r\n\r\n{json.dumps(KEY)}\t{json.dumps(MYSQL_OFFSET)}\r\n",
    ],
)
def test_the_offsets_topic_is_read_in_every_way_it_is_printed(text: str) -> None:
    found = read(text)
    assert [foreign.source for foreign in found] == [Source("shop", None, "stream")]
    assert same(json.loads(write(markers(found), "debezium")), {"key": KEY, "value": MYSQL_OFFSET})


def test_an_offset_that_was_reset_is_no_position_and_said_to_be_left_out() -> None:
    found = scan(lines([KEY, {"lsn": 3}], [["other", {"server": "other"}], {"lsn": 4}], [KEY, None]))
    assert [foreign.source.schema_name for foreign in found.found] == ["other"]
    assert found.skipped == ['line 3: the offset of {"server":"shop"} was reset']


@pytest.mark.parametrize("encoding", [("latin-1", "strict"), ("utf-8", "replace"), ("utf-8", "surrogateescape")])
def test_the_binary_file_of_kafka_connect_is_refused_with_the_way_out(encoding: tuple[str, str]) -> None:
    text = b"\xac\xed\x00\x05sr\x00\x11java.util.HashMap".decode(*encoding)
    with pytest.raises(Invalid, match="GET /connectors/<name>/offsets"):
        read(text)


def test_two_positions_of_one_source_are_not_mixed_up() -> None:
    with pytest.raises(Invalid, match=r"two debezium positions are for web \(stream\)"):
        read(json.dumps(SQL_SERVER), schema="web")
    with pytest.raises(Invalid, match=r"two singer positions are for public\.orders"):
        read(json.dumps({"bookmarks": {"public-orders": {"id": 1}, "public.orders": {"id": 2}}}))


def test_a_bookmark_is_ordered_by_its_replication_key() -> None:
    found = {foreign.source.name: foreign for foreign in read(json.dumps(SINGER))}
    assert {name: (foreign.source.marker_type, foreign.position.kind) for name, foreign in found.items()} == {
        "public.orders": ("batch", "document"),
        "public.customers": ("batch", "document"),
        "public.events": ("stream", "lsn"),
        "shop.items": ("batch", "document"),
    }
    assert found["public.orders"].position.order_key == "t2026-01-02T03:04:05.000000Z"
    assert found["shop.items"].position.order_key == ""
    later = only(json.dumps({"bookmarks": {"public-orders": {"replication_key_value": "2026-01-02T04:04:06+01:00"}}})).position
    assert later.follows(found["public.orders"].position)
    assert not found["public.orders"].position.follows(later)


def test_the_last_state_of_a_tap_holds() -> None:
    messages = lines(
        {"type": "SCHEMA", "stream": "orders", "schema": {}, "key_properties": []},
        {"type": "STATE", "value": {"bookmarks": {"orders": {"id": 1}, "customers": {"id": 1}}}},
        {"type": "RECORD", "stream": "orders", "record": {"bookmarks": 1}},
        {"type": "STATE", "value": {"bookmarks": {"orders": {"id": 2}}, "shared": {"page": 3}}},
        {"type": "ACTIVATE_VERSION", "stream": "orders", "version": 1},
    )
    found = scan(messages, schema="shop")
    assert [(foreign.source, foreign.position.document()["id"]) for foreign in found.found] == [(Source("shop", "orders"), 2)]
    assert found.skipped == ["shared: it belongs to no stream"]


@pytest.mark.parametrize(
    ("stream", "schema", "source"),
    [
        ("public-orders", None, Source("public", "orders")),
        ("public-order-items", None, Source("public", "order-items")),
        ("my-schema.orders", None, Source("my-schema", "orders")),
        ("orders", "shop", Source("shop", "orders")),
        ("order-items", "shop", Source("shop", "order-items")),
        ("shop-orders", "shop", Source("shop", "orders")),
        ("shop.orders", "shop", Source("shop", "orders")),
        ("db-public-orders", "db-public", Source("db-public", "orders")),
    ],
)
def test_a_stream_is_a_table_of_a_schema(stream: str, schema: str | None, source: Source) -> None:
    text = json.dumps({"bookmarks": {stream: {"id": 1}}})
    foreign = only(text, schema=schema)
    assert foreign.source == source
    assert same(json.loads(write(markers([foreign]), "singer")), json.loads(text))


def test_an_empty_bookmark_is_no_position() -> None:
    found = scan(json.dumps({"bookmarks": {"public-orders": {}, "public-items": None}, "currently_syncing": None}))
    assert found.found == []
    assert found.skipped == ["stream public-orders: its bookmark is empty", "stream public-items: its bookmark is empty"]


ORDERS = {"stream_descriptor": {"name": "orders", "namespace": "public"}, "stream_state": {"cursor": "9", "cursor_field": ["id"]}}
STREAM = {"type": "STREAM", "stream": ORDERS}
CAMEL = {"streamDescriptor": ORDERS["stream_descriptor"], "streamState": ORDERS["stream_state"]}


@pytest.mark.parametrize(
    "text",
    [
        lines({"type": "STATE", "state": STREAM}),
        lines({"type": "LOG", "log": {"level": "INFO"}}, {"type": "STATE", "state": STREAM}, {"type": "TRACE", "trace": {}}),
        json.dumps([{"type": "STATE", "state": STREAM}]),
        json.dumps([STREAM]),
        json.dumps(STREAM),
        json.dumps([ORDERS]),
        json.dumps([CAMEL]),
        json.dumps({"stateType": "stream", "connectionId": "c", "streamState": [CAMEL]}),
        lines(
            {"type": "STATE", "state": {**STREAM, "stream": {**ORDERS, "stream_state": {"cursor": "8"}}}},
            {"type": "STATE", "state": STREAM},
        ),
    ],
)
def test_a_state_of_airbyte_is_read_in_every_way_it_is_kept(text: str) -> None:
    foreign = only(text)
    assert foreign.source == Source("public", "orders")
    assert same(json.loads(write(markers([foreign]), "airbyte")), [STREAM])


def test_a_stream_is_ordered_by_its_cursor() -> None:
    nine, ten = (
        only(json.dumps([{**ORDERS, "stream_state": {"cursor": cursor, "cursor_field": ["id"]}}])).position for cursor in ("9", "10")
    )
    assert ten.follows(nine)
    assert not nine.follows(ten)


@pytest.mark.parametrize(
    "shared",
    [
        {"state": {'["shop",{"server":"shop"}]': '{"lsn":%d}'}},
        {"state": {"mysql_cdc_offset": {'["shop",{"server":"shop"}]': '{"file":"binlog.000002","pos":%d}'}, "mysql_db_history": "{}"}},
    ],
)
def test_a_shared_state_is_ordered_by_the_offset_in_it(shared: dict[str, Any]) -> None:
    template = json.dumps([{"type": "GLOBAL", "global": {"shared_state": shared}}])
    nine, ten = (only(template.replace("%d", str(number)), schema="shop") for number in (9, 10))
    assert nine.source == Source("shop", None, "stream")
    assert ten.position.follows(nine.position)
    assert not nine.position.follows(ten.position)


def test_streams_whose_snapshot_is_done_are_not_forgotten() -> None:
    found = scan(json.dumps(AIRBYTE_GLOBAL))
    assert [foreign.source for foreign in found.found] == [Source("public", None, "stream"), Source("public", "orders", "stream")]
    assert found.skipped == ["the document, entry 1, stream 2 (customers): its state is empty"]
    (state,) = json.loads(write(markers(found.found), "airbyte"))
    assert {"stream_descriptor": {"name": "customers", "namespace": "public"}, "stream_state": {}} in state["global"]["stream_states"]


def test_the_api_of_airbyte_spells_the_global_state_in_its_own_way() -> None:
    answer = {
        "stateType": "global",
        "globalState": {"shared_state": {"state": {}}, "streamStates": [CAMEL]},
    }
    assert [foreign.source.name for foreign in read(json.dumps(answer))] == ["public", "public.orders"]
    assert read(json.dumps({"stateType": "not_set"})) == []
    assert only(json.dumps({"stateType": "legacy", "state": {"a": 1}}), schema="shop").source == Source("shop")


def test_a_later_state_of_the_whole_source_replaces_all_before_it() -> None:
    messages = [{"type": "STATE", "state": state} for state in (STREAM, AIRBYTE_GLOBAL[0])]
    assert same([str(each) for each in read(lines(*messages))], [str(each) for each in read(json.dumps(AIRBYTE_GLOBAL))])
    assert [foreign.source.name for foreign in read(lines(*reversed(messages)))] == ["public.orders"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (" \n", "there is nothing in it"),
        ("server=shop", "neither JSON nor JSON lines"),
        ('{"offsets": [', "neither JSON nor JSON lines: Expecting value"),
        ('{"a": 1}\n{"b": ', "line 2 is no JSON"),
        ("[" * 100_000, "nested too deeply"),
        ("[" * 300 + "]" * 300, "nested too deeply"),
        ('{"lsn": NaN}', "NaN is no number"),
        ('{"lsn": 1e999}', "1e999 is too large"),
        ("1" * 5000, "neither JSON nor JSON lines"),
        ('{"bookmarks": "\\ud800"}', "neither JSON nor JSON lines: .*surrogates not allowed"),
        ("[]", "none of debezium, singer, airbyte writes positions like this: found a list of 0"),
        ('{"lsn": 5}', "none of debezium, singer, airbyte .* found an object with lsn"),
        ("3", "found 3"),
        ('{"bookmarks": {}, "offsets": []}', "could be of debezium and of singer: say which"),
    ],
)
def test_what_is_no_state_is_refused_with_what_was_found(text: str, words: str) -> None:
    with pytest.raises(Invalid, match=words):
        read(text)


@pytest.mark.parametrize(
    ("format", "value", "words"),
    [
        ("debezium", {"offsets": {}}, "the document: expected a partition and its offset.* not an object with offsets"),
        ("debezium", {"offsets": [1]}, "offset 1: expected a partition and its offset.* not 1"),
        (
            "debezium",
            {"offsets": [{"partition": {"server": "a"}, "offset": {"lsn": 1}}, {"partition": 2, "offset": {}}]},
            "offset 2: the partition must be an object, not 2",
        ),
        ("debezium", {"offsets": [{"partition": {}, "offset": "x"}]}, 'offset 1: the offset must be an object, not "x"'),
        ("debezium", {"offsets": [{"partition": {}, "offset": {}}]}, r"offset 1: the partition \{\} names no server: give the schema"),
        (
            "debezium",
            {"offsets": [{"partition": {"server": "shop"}, "offset": {"lsn": "x"}}]},
            r"offset 1 \(\{\"server\":\"shop\"\}\): 'x' is no LSN",
        ),
        ("debezium", {"offsets": [{"partition": {"server": "shop"}, "offset": {"gtids": "x"}}]}, "'x' is no GTID set"),
        ("debezium", {"offsets": [{"partition": {"server": "shop"}, "offset": {"file": "x", "pos": 1}}]}, "no place in a binary log"),
        (
            "debezium",
            {"offsets": [{"partition": {"server": "shop"}, "offset": {"file": "b.01", "pos": 1, "row": "x"}}]},
            "not a binlog position",
        ),
        (
            "debezium",
            {"offsets": [{"partition": {"server": "shop"}, "offset": {"resume_token": "x", "cluster_time": []}}]},
            r"\[\] has no order",
        ),
        (
            "debezium",
            {"offsets": [{"partition": {"server": "shop"}, "offset": {"imported_from": 1}}]},
            "'imported_from' is where lakeledger remembers",
        ),
        (
            "debezium",
            {"offsets": [{"partition": {"kafka_topic": "t", "kafka_partition": 1}, "offset": {}}]},
            "offset 1: a sink has a kafka_topic",
        ),
        ("debezium", {"key": "x", "value": {}}, 'the document: "x" is no JSON'),
        ("debezium", {"key": ["x"], "value": {}}, "the key must be .* not a list of 1"),
        ("singer", {"bookmarks": []}, "the state's bookmarks must be an object, not a list of 0"),
        ("singer", {"bookmarks": {"public-orders": 5}}, "stream 'public-orders': the bookmark must be an object, not 5"),
        ("singer", {"bookmarks": {"public-orders": False}}, "stream 'public-orders': the bookmark must be an object, not false"),
        ("singer", {"bookmarks": {"orders": {"id": 1}}}, "stream 'orders': it is no schema-table and no schema.table: give the schema"),
        ("singer", {"bookmarks": {"public-orders": {"replication_key_value": []}}}, r"stream 'public-orders': \[\] has no order"),
        ("singer", {"type": "STATE", "value": {"orders": 1}}, "the STATE has no bookmarks: found an object with orders"),
        ("singer", {"type": "STATE"}, "expected a state with bookmarks or a message"),
        ("singer", {"type": "RECORD"}, "there is no STATE among the messages"),
        ("airbyte", {"type": "STATE", "state": 5}, "the state must be an object, not 5"),
        ("airbyte", {"type": "STREAM"}, "the stream must be an object, not null"),
        ("airbyte", {"type": "STREAM", "stream": {"stream_descriptor": {}}}, "a stream descriptor has a name"),
        ("airbyte", {"type": "STREAM", "stream": {"stream_descriptor": {"name": "o", "namespace": 5}}}, "a stream descriptor has a name"),
        (
            "airbyte",
            {"type": "STREAM", "stream": {"stream_descriptor": {"name": "o"}, "stream_state": 5}},
            r"\(o\): the stream state must be an object, not 5",
        ),
        (
            "airbyte",
            {"type": "STREAM", "stream": {"stream_descriptor": {"name": "o"}, "stream_state": {"cursor": 5}}},
            r"\(o\): the stream has no namespace",
        ),
        ("airbyte", {"type": "GLOBAL", "global": {"shared_state": {"a": 1}}}, "the state is one of the whole source: give the schema"),
        ("airbyte", {"type": "GLOBAL", "global": {"stream_states": {}}}, "the stream states must be a list"),
        ("airbyte", {"type": "LEGACY", "data": []}, "the data must be an object"),
        ("airbyte", {"stateType": "stream"}, 'the stateType "stream" has nothing to it'),
        ("airbyte", {"cursor": 5}, "a state is of the type STREAM, GLOBAL, LEGACY: found an object with cursor"),
        ("airbyte", 5, "expected a state or a message, not 5"),
    ],
)
def test_a_malformed_state_is_refused_with_what_is_wrong_where(format: str, value: Any, words: str) -> None:
    with pytest.raises(Invalid, match=words):
        read(json.dumps(value), format)


def test_an_unknown_format_is_refused_with_those_that_exist() -> None:
    for use in (lambda: read("{}", "fivetran"), lambda: write([], "fivetran")):
        with pytest.raises(Invalid, match="unknown format 'fivetran': use debezium, singer, airbyte"):
            use()


STREAMED = Source("shop", None, "stream")
TABLE = Source("shop", "orders")


@pytest.mark.parametrize(
    ("format", "source", "position", "document"),
    [
        ("debezium", STREAMED, LsnPosition("0/16E9058", {"txId": 5}), {"lsn": 24023128, "txId": 5}),
        ("debezium", STREAMED, BinlogPosition("b.000001", 4, {"row": 1}), {"file": "b.000001", "pos": 4, "row": 1}),
        ("debezium", STREAMED, GtidPosition(f"{UUID}:1-5"), {"gtids": f"{UUID}:1-5"}),
        ("debezium", STREAMED, ResumeTokenPosition({"_data": "8265"}, str((7 << 32) + 3)), {"resume_token": "8265", "sec": 7, "ord": 3}),
        ("debezium", STREAMED, ResumeTokenPosition("8265"), {"resume_token": "8265"}),
        ("debezium", STREAMED, DocumentPosition({"scn": "5"}), {"scn": "5"}),
    ],
)
def test_a_position_of_ours_becomes_an_offset(format: str, source: Source, position: Position, document: dict[str, Any]) -> None:
    text = write([marker(source, position)], format)
    assert same(json.loads(text), {"offsets": [{"partition": {"server": "shop"}, "offset": document}]})
    assert only(text).position.document().items() >= document.items()


@pytest.mark.parametrize(
    ("position", "bookmark", "state"),
    [
        (
            TimestampPosition(AT, {"replication_key": "at"}),
            {"replication_key_value": "2026-01-02T03:04:05.000000Z", "replication_key": "at"},
            None,
        ),
        (TimestampPosition(AT, {"cursor_field": ["at"]}), None, {"cursor": "2026-01-02T03:04:05.000000Z", "cursor_field": ["at"]}),
        (NumberPosition(5), {"replication_key_value": 5}, {"cursor": 5}),
        (LsnPosition("0/10"), {"lsn": 16}, None),
        (DocumentPosition({"updated_at": "2026"}), {"updated_at": "2026"}, {"updated_at": "2026"}),
    ],
)
def test_a_position_of_ours_becomes_a_bookmark_and_a_stream_state(
    position: Position, bookmark: dict[str, Any] | None, state: dict[str, Any] | None
) -> None:
    if bookmark is not None:
        assert same(json.loads(write([marker(TABLE, position)], "singer")), {"bookmarks": {"shop-orders": bookmark}})
    if state is not None:
        (written,) = json.loads(write([marker(TABLE, position)], "airbyte"))
        assert same(written["stream"], {"stream_descriptor": {"name": "orders", "namespace": "shop"}, "stream_state": state})


def test_nothing_is_written_as_an_empty_state() -> None:
    assert [json.loads(write([], format)) for format in FORMATS] == [{"offsets": []}, {"bookmarks": {}}, []]


@pytest.mark.parametrize(
    ("format", "source", "position", "words"),
    [
        ("debezium", STREAMED, TimestampPosition(AT), r"the position of shop \(stream\) is of the kind timestamp: debezium knows lsn"),
        ("debezium", STREAMED, DeltaPosition(5), "is of the kind delta"),
        ("debezium", TABLE, LsnPosition("0/1"), r"the position of shop\.orders \(batch\) is one of a table"),
        ("debezium", STREAMED, OffsetsPosition({"t": {"x": 1}}), "has a partition 'x'"),
        ("singer", STREAMED, LsnPosition("0/1"), r"the position of shop \(stream\) is one of a whole schema"),
        ("singer", TABLE, FilesPosition(1, "x"), r"the position of shop\.orders \(batch\) is of the kind files: singer knows"),
        ("airbyte", TABLE, GtidPosition(f"{UUID}:1"), r"the position of shop\.orders \(batch\) is of the kind gtid: airbyte knows"),
        ("airbyte", STREAMED, LsnPosition("0/1"), r"the position of shop \(stream\) is of the kind lsn, of a whole schema"),
    ],
)
def test_a_position_that_a_tool_cannot_express_is_named(format: str, source: Source, position: Position, words: str) -> None:
    with pytest.raises(Invalid, match=words):
        write([marker(source, position)], format)


def test_a_document_of_one_tool_is_not_given_to_another() -> None:
    imported = markers(read(json.dumps([STREAM])))
    with pytest.raises(Invalid, match=r"public\.orders \(batch\) is a document of airbyte: singer cannot read it"):
        write(imported, "singer")
    (bookmark,) = markers(read(json.dumps({"bookmarks": {"public-events": {"lsn": 16}}})))
    with pytest.raises(Invalid, match="is one of a table"):
        write([bookmark], "debezium")


@pytest.mark.parametrize("format", FORMATS)
def test_two_positions_of_one_stream_are_not_written_over_each_other(format: str) -> None:
    batch, stream = DocumentPosition({"id": 1}), DocumentPosition({"id": 2})
    both = (
        [marker(Source("shop", None, "batch"), batch), marker(Source("shop", None, "stream"), stream)]
        if format != "singer"
        else [marker(Source("shop", "orders", "batch"), batch), marker(Source("shop", "orders", "stream"), stream)]
    )
    with pytest.raises(Invalid, match=r"one by one|export one of them"):
        write(both, format)


def test_a_legacy_state_stands_alone() -> None:
    legacy = markers(read(json.dumps(AIRBYTE_LEGACY), schema="shop"))
    with pytest.raises(Invalid, match="one by one"):
        write([*legacy, marker(TABLE, NumberPosition(1))], "airbyte")


FIELDS = """
    offsets partition offset key value payload server database rs server_id table kafka_topic kafka_partition kafka_offset
    lsn gtids file pos row event resume_token cluster_time sec ord commit_lsn change_lsn scn
    bookmarks currently_syncing replication_key_value type state stream global data stateType streamState globalState
    stream_descriptor streamDescriptor stream_state stream_states shared_state name namespace cursor
"""
NAMES = st.sampled_from(FIELDS.split())
WORDS = st.sampled_from(
    ["STATE", "STREAM", "GLOBAL", "LEGACY", "stream", "global", "legacy", "0/5", f"{UUID}:1-5", "b.000001", "public-orders"]
)
NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | NAMES | WORDS | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES | st.text(max_size=3), inner, max_size=4),
    max_leaves=8,
)


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every value inside a document, as what holds it and its name there."""
    for name in list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else []:
        yield value, name
        yield from places(value[name])


@st.composite
def damaged(draw: st.DrawFn) -> Any:
    """A document of a tool in which one value was replaced by another."""
    goldens = [document for _, document, _ in GOLDEN]
    document = copy.deepcopy(draw(st.sampled_from([*goldens, [STREAM], [CAMEL], [[KEY, MYSQL_OFFSET]]])))
    holder, name = draw(st.sampled_from(list(places(document))))
    holder[name] = draw(VALUES)
    return document


def check(text: str, format: str | None, schema: str | None) -> None:
    """Whatever is read can be written and read again; whatever is not is refused in words."""
    try:
        found = scan(text, format, schema)
    except Invalid:
        return
    again = scan(write(markers(found.found), found.format), found.format, schema)
    assert sorted(map(repr, again.found)) == sorted(map(repr, found.found))


FORMAT = st.none() | st.sampled_from(list(FORMATS))
SCHEMA = st.none() | st.sampled_from(["shop", "public", ""])


@tried(2)
@given(damaged(), FORMAT, SCHEMA)
def test_damaged_documents_are_understood_or_refused(document: Any, format: str | None, schema: str | None) -> None:
    check(json.dumps(document), format, schema)


@tried(2)
@given(VALUES, FORMAT, SCHEMA)
def test_arbitrary_json_is_understood_or_refused(value: Any, format: str | None, schema: str | None) -> None:
    check(json.dumps(value), format, schema)


@given(st.text() | st.binary().map(lambda data: data.decode("latin-1")), FORMAT)
def test_arbitrary_text_is_understood_or_refused(text: str, format: str | None) -> None:
    check(text, format, "shop")
