"""Debezium's events from files: those that a real engine gave (see golden/record_debezium.py), and the hard cases by hand."""

from __future__ import annotations

import base64
import gzip
import json
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from integration.reducing import reduced
from lakeledger import Ledger
from lakeledger.errors import Invalid
from lakeledger.pipelines.sources import look
from lakeledger.pipelines.sources.debezium import Debezium, DebeziumFiles
from lakeledger.sync import Source as SourceName
from lakeledger.tables import parse_name

if TYPE_CHECKING:
    from pyspark.sql import Row

GOLDEN = Path(__file__).parents[1] / "golden/debezium"
CUSTOMERS = (
    "id int, name string, amount decimal(12,2), exact string, ratio double, active boolean, born date, opens string, seen timestamp_ntz, "
    "changed timestamp, doc string, uid string, raw binary, tags array<string>, big string, level int"
)
HINTS = {
    "exact": "io.debezium.data.VariableScaleDecimal",
    "opens": "io.debezium.time.MicroTime",
    "seen": "io.debezium.time.MicroTimestamp",
}
PLAIN = "id int, name string"
BIG = -12345678901234567890123456789012345678


def load(lake: Ledger, folder: Path, config: Debezium, path: str = "*.json*", **options: Any) -> list[Row]:
    """The changes in the files of a folder, in their order, as they are appended to a table."""
    loaded = lake.load(DebeziumFiles.at(SourceName("shop", "events"), path, config, base=folder, **options), "bronze.events")
    load.detail = loaded.detail  # type: ignore[attr-defined]
    return sorted(lake.read("bronze.events").collect(), key=lambda row: (row["_sequence"] is None, row["_sequence"]))


def write(folder: Path, *texts: str | dict[str, Any] | None, name: str = "1.json") -> None:
    folder.mkdir(exist_ok=True)
    lines = [text if isinstance(text, str) else json.dumps(text) for text in texts]
    (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")


def event(op: str, after: Any = None, before: Any = None, lsn: int | None = 1, **source: Any) -> dict[str, Any]:
    return {"op": op, "before": before, "after": after, "source": {"schema": "s", "table": "t", "lsn": lsn, **source}, "ts_ms": 5}


def golden(folder: Path, name: str) -> Path:
    (folder / "in").mkdir()
    (folder / "in/1.jsonl").write_bytes((GOLDEN / name).read_bytes())
    return folder / "in"


def final(table: str) -> dict[Any, dict[str, Any]]:
    """The rows that the real table had in the end, with the values that they have on Spark."""
    rows = [json.loads(line) for line in (GOLDEN / f"final_{table}.jsonl").read_text().splitlines()]
    return {
        row["id"]: {name: PYTHON.get(name, lambda value: value)(value) if value is not None else None for name, value in row.items()}
        for row in rows
    }


def moment(text: str) -> datetime:
    """A time without a zone, as Spark gives it."""
    return datetime.fromisoformat(text)


PYTHON: dict[str, Any] = {
    "amount": lambda value: Decimal(str(value)).quantize(Decimal("0.01")),
    "exact": str,
    "born": date.fromisoformat,
    "opens": lambda value: f"{value}0000",
    "seen": datetime.fromisoformat,
    "changed": lambda value: datetime.fromisoformat(value).astimezone(UTC).replace(tzinfo=None),
    "doc": json.dumps,
    "raw": lambda value: bytearray.fromhex(value.removeprefix("\\x")),
}


@pytest.mark.parametrize(
    ("file", "config"),
    [
        ("with_schema.jsonl", Debezium("shop.customers")),
        ("without_schema.jsonl", Debezium("shop.customers", schema=CUSTOMERS, types=HINTS)),
        ("flattened.jsonl", Debezium("shop.customers", schema=CUSTOMERS, types=HINTS, flattened=True)),
    ],
)
def test_the_events_of_a_real_engine_lead_to_the_rows_of_its_database(
    sqlite_lake: Ledger, tmp_path: Path, file: str, config: Debezium
) -> None:
    rows = load(sqlite_lake, golden(tmp_path, file), config)
    assert [row["_problems"] for row in rows if row["_change_type"] is None] == []
    assert sorted({row["_change_type"] for row in rows}) == ["delete", "insert", "read", "update"]
    assert [row["_unset"] for row in rows if row["_unset"]] != []
    assert reduced(rows, "id") == final("customers")


def test_a_truncation_of_a_real_table_empties_it_and_other_tables_are_counted(sqlite_lake: Ledger, tmp_path: Path) -> None:
    rows = load(sqlite_lake, golden(tmp_path, "with_schema.jsonl"), Debezium("shop.orders"))
    assert [row["_change_type"] for row in rows] == ["read", "insert", "insert", "insert", "truncate", "insert", "insert"]
    assert reduced(rows, "id") == final("orders")
    detail = load.detail  # type: ignore[attr-defined]
    assert (detail["tombstones"], detail["events"], detail["other_tables"]) == (2, 7, 11)


def test_several_tables_in_one_stream_must_be_chosen_among(sqlite_lake: Ledger, tmp_path: Path) -> None:
    with pytest.raises(Invalid, match=r"several tables, shop\.customers, shop\.orders: name one"):
        load(sqlite_lake, golden(tmp_path, "with_schema.jsonl"), Debezium())


def test_every_operation_becomes_its_change_and_tombstones_are_left_out(sqlite_lake: Ledger, tmp_path: Path) -> None:
    row = {"id": 1, "name": "a"}
    ops = [event("r", row, lsn=1), event("c", row, lsn=2), event("u", row, row, lsn=3), event("d", None, {"id": 1}, lsn=4)]
    write(tmp_path / "in", *ops, "null", {"schema": None, "payload": None}, event("t", lsn=5), {"ts_ms": 1}, event("m", lsn=6))
    rows = load(sqlite_lake, tmp_path / "in", Debezium(schema=PLAIN))
    assert [(row["_change_type"], row["id"], row["name"]) for row in rows] == [
        ("read", 1, "a"),
        ("insert", 1, "a"),
        ("update", 1, "a"),
        ("delete", 1, None),
        ("truncate", None, None),
    ]
    detail = load.detail  # type: ignore[attr-defined]
    assert {name: detail[name] for name in ("events", "tombstones", "other_messages")} == {
        "events": 5,
        "tombstones": 2,
        "other_messages": 2,
    }


def test_what_cannot_be_read_is_kept_with_its_text_and_all_reasons(sqlite_lake: Ledger, tmp_path: Path) -> None:
    wrong = json.dumps(event("c", {"id": "x", "name": "a", "born": "tomorrow"}))
    write(tmp_path / "in", "{broken", wrong, event("z", {"id": 1}), event("c"), event("d"), {"id": 5}, event("c", {"id": 7, "born": 1}))
    rows = load(sqlite_lake, tmp_path / "in", Debezium(schema=f"{PLAIN}, born date"))
    assert [(row["id"], row["_change_type"]) for row in rows if row["_change_type"]] == [(7, "insert")]
    bad = {row["_raw"]: row["_problems"] for row in rows if row["_change_type"] is None}
    assert len(bad) == 6
    assert bad["{broken"] == ["it is no JSON object"]
    assert bad[wrong] == ["id: x is no int", "born: tomorrow is no date"]
    assert sorted(told for each in bad.values() for told in each)[-4:] == [
        "it has no op: an event that is flattened needs `flattened`",
        "it has no row: after is missing",
        "it is no JSON object",
        "its op is unknown: z",
    ]


def test_a_value_that_was_not_sent_is_named_and_null(sqlite_lake: Ledger, tmp_path: Path) -> None:
    hidden = "__debezium_unavailable_value"
    types = "id int, text string, bytes binary, tags array<string>, attributes map<string,string>"
    after = {"id": 1, "text": hidden, "bytes": "X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ==", "tags": [hidden], "attributes": {hidden: hidden}}
    write(tmp_path / "in", event("u", after), event("u", {"id": 2}, lsn=2), event("c", {"id": 3}, lsn=3))
    write(tmp_path / "in", event("c", {"id": 4, "text": hidden}, lsn=4), name="2.json")
    one, two, three, four = load(sqlite_lake, tmp_path / "in", Debezium(schema=types))
    assert (one["_unset"], one["text"], one["tags"]) == (["text", "bytes", "tags", "attributes"], None, None)
    assert two["_unset"] == ["text", "bytes", "tags", "attributes"]
    assert three["_unset"] is None
    assert four["_problems"] == ["text: its value was not sent with the row's new key: give the table REPLICA IDENTITY FULL"]


def schema_of(*fields: dict[str, Any]) -> dict[str, Any]:
    row = {"type": "struct", "fields": list(fields), "optional": True}
    return {"type": "struct", "fields": [{**row, "field": "before"}, {**row, "field": "after"}, {"type": "string", "field": "op"}]}


def typed(field: str, type: str, name: str | None = None, **more: Any) -> dict[str, Any]:
    return {"field": field, "type": type, **({"name": name} if name else {}), **more}


def decimal(field: str, precision: int, scale: int) -> dict[str, Any]:
    parameters = {"scale": str(scale), "connect.decimal.precision": str(precision)}
    return typed(field, "bytes", "org.apache.kafka.connect.data.Decimal", parameters=parameters)


def test_debeziums_types_become_sparks(sqlite_lake: Ledger, tmp_path: Path) -> None:
    fields: list[tuple[dict[str, Any], Any, Any]] = [
        (typed("d", "int32", "io.debezium.time.Date"), 19_782, date(2024, 2, 29)),
        (typed("ts", "int64", "io.debezium.time.Timestamp"), -1, moment("1969-12-31T23:59:59.999")),
        (typed("us", "int64", "io.debezium.time.MicroTimestamp"), 1_709_208_000_123_456, moment("2024-02-29T12:00:00.123456")),
        (typed("ns", "int64", "io.debezium.time.NanoTimestamp"), -1, moment("1969-12-31T23:59:59.999999")),
        (typed("z", "string", "io.debezium.time.ZonedTimestamp"), "2024-02-29T12:00:00+02:00", moment("2024-02-29T10:00")),
        (typed("t", "int32", "io.debezium.time.Time"), 86_399_999, "23:59:59.999000"),
        (typed("nt", "int64", "io.debezium.time.NanoTime"), 1_000, "00:00:00.000001"),
        (decimal("m", 10, 2), "/w==", Decimal("-0.01")),
        (decimal("big", 38, 0), base64.b64encode(BIG.to_bytes(16, "big", signed=True)).decode(), Decimal(BIG)),
        (decimal("low", 38, 4), "gA==", Decimal("-0.0128")),
        (typed("v", "struct", "io.debezium.data.VariableScaleDecimal", fields=[]), {"scale": 3, "value": "MDk="}, "12.345"),
        (typed("f", "float"), 1.5, 1.5),
        (typed("i8", "int8"), -128, -128),
        (typed("b", "bytes"), "AP8=", bytearray(b"\x00\xff")),
        (typed("flag", "boolean"), True, True),
        (typed("j", "string", "io.debezium.data.Json"), '{"a": 1.10}', '{"a": 1.10}'),
        (typed("a", "array", items=typed("", "int32", "io.debezium.time.Date")), [0, None], [date(1970, 1, 1), None]),
        (typed("map", "map", keys={"type": "string"}, values={"type": "int64"}), {"x": 2**62}, {"x": 2**62}),
        (
            typed("p", "struct", "io.debezium.data.geometry.Point", fields=[typed("x", "double"), typed("wkb", "bytes")]),
            {"x": 1.0, "wkb": "AQ=="},
            (1.0, bytearray(b"\x01")),
        ),
    ]
    values = {field["field"]: given for field, given, _ in fields}
    write(tmp_path / "in", {"schema": schema_of(*(field for field, _, _ in fields)), "payload": event("c", values)})
    (row,) = load(sqlite_lake, tmp_path / "in", Debezium())
    assert row["_problems"] is None
    expected = {field["field"]: value for field, _, value in fields}
    assert {name: row[name] for name in expected} == expected


def test_a_schema_that_changes_in_mid_stream_brings_its_columns_and_wider_types(sqlite_lake: Ledger, tmp_path: Path) -> None:
    old = schema_of(typed("id", "int32"), typed("at", "int64", "io.debezium.time.Timestamp"), decimal("price", 5, 2))
    new = schema_of(
        typed("id", "int64"), typed("at", "int64", "io.debezium.time.MicroTimestamp"), decimal("price", 9, 3), typed("level", "int32")
    )
    write(
        tmp_path / "in",
        {"schema": old, "payload": event("c", {"id": 1, "at": 1_000, "price": "AQ=="})},
        {"schema": new, "payload": event("u", {"id": 2**40, "at": 1_000, "price": "AQ==", "level": 9}, lsn=2)},
        {"schema": old, "payload": event("u", {"id": 3, "at": 0, "price": None}, lsn=3)},
    )
    rows = load(sqlite_lake, tmp_path / "in", Debezium())
    assert [(row["id"], row["at"], row["price"], row["level"], row["_unset"]) for row in rows] == [
        (1, moment("1970-01-01T00:00:01"), Decimal("0.010"), None, None),
        (2**40, moment("1970-01-01T00:00:00.001"), Decimal("0.001"), 9, None),
        (3, moment("1970-01-01"), None, None, ["level"]),
    ]


def test_types_that_have_nothing_in_common_need_a_declared_one(sqlite_lake: Ledger, tmp_path: Path) -> None:
    texts = [{"schema": schema_of(typed("id", type)), "payload": event("c", {"id": 1})} for type in ("int32", "string")]
    write(tmp_path / "in", *texts)
    with pytest.raises(Invalid, match=r"the column id is .* in some events and .* in others: declare"):
        load(sqlite_lake, tmp_path / "in", Debezium())
    assert [row["id"] for row in load(sqlite_lake, tmp_path / "in", Debezium(schema="id string"))] == ["1", "1"]


def test_events_without_a_schema_need_a_declared_one(sqlite_lake: Ledger, tmp_path: Path) -> None:
    write(tmp_path / "in", event("c", {"id": 1}))
    with pytest.raises(Invalid, match="the events carry no schema: declare the columns"):
        load(sqlite_lake, tmp_path / "in", Debezium())


@pytest.mark.parametrize("name", ["1.json", "1.json.gz"])
def test_arrays_over_many_lines_with_a_byte_order_mark_are_read(sqlite_lake: Ledger, tmp_path: Path, name: str) -> None:
    texts = [event("c", {"id": number, "name": "a\nb"}, lsn=None, ts_ms=1) for number in range(3)]
    data = b"\xef\xbb\xbf" + json.dumps([*texts, None], indent=1).encode()
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / name).write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    rows = load(sqlite_lake, tmp_path / "in", Debezium(schema=PLAIN), multiline=True)
    assert [(row["id"], row["name"]) for row in rows] == [(0, "a\nb"), (1, "a\nb"), (2, "a\nb")]


def test_changes_are_ordered_by_their_log_then_by_where_they_stand(sqlite_lake: Ledger, tmp_path: Path) -> None:
    binlog = [
        event("c", {"id": number}, lsn=None, file=file, pos=pos, row=row)
        for number, (file, pos, row) in enumerate([("b.000010", 4, 0), ("b.000009", 900, 1), ("b.000009", 900, 0)])
    ]
    write(tmp_path / "in", *binlog, name="1.json")
    assert [row["id"] for row in load(sqlite_lake, tmp_path / "in", Debezium(schema="id int"))] == [2, 1, 0]


def test_equal_times_are_ordered_by_file_and_line_over_several_loads(sqlite_lake: Ledger, tmp_path: Path) -> None:
    folder = tmp_path / "with a space"
    for number, names in enumerate((("b.json", "a.json"), ("0.json",))):
        for name in names:
            write(folder, *({"id": line, "name": name, "__source_ts_ms": 7} for line in (1, 0)), name=name)
        rows = load(sqlite_lake, folder, Debezium(schema=PLAIN, flattened=True))
        assert len(rows) == (4, 6)[number]
    assert [(row["name"], row["id"]) for row in rows] == [(name, line) for name in ("a.json", "b.json", "0.json") for line in (1, 0)]


def test_the_same_events_loaded_again_have_the_same_order(sqlite_lake: Ledger, tmp_path: Path) -> None:
    write(tmp_path / "in", *(event("c", {"id": number}, lsn=None, ts_ms=1) for number in range(20)))
    source = DebeziumFiles.at(SourceName("shop", "events"), "*.json", Debezium(schema="id int"), base=tmp_path / "in")
    seen = look(sqlite_lake.store, source.name, parse_name("bronze.events"))
    readings = [source.plan(seen) for _ in range(2)]
    frames = []
    for reading in readings:
        assert reading
        assert reading.frame
        assert reading.batch_id == readings[0].batch_id  # type: ignore[union-attr]
        with reading.frame(sqlite_lake.spark) as frame:
            frames.append([(row["id"], row["_sequence"]) for row in frame.collect()])
    assert sorted(frames[0]) == sorted(frames[1])


def test_a_later_batch_without_events_of_the_table_adds_nothing_and_is_read(sqlite_lake: Ledger, tmp_path: Path) -> None:
    with_schema = {"schema": schema_of(typed("id", "int32")), "payload": event("c", {"id": 1})}
    write(tmp_path / "in", with_schema)
    assert len(load(sqlite_lake, tmp_path / "in", Debezium("s.t"))) == 1
    write(tmp_path / "in", {**with_schema, "payload": event("c", {"id": 2}, table="other")}, name="2.json")
    assert len(load(sqlite_lake, tmp_path / "in", Debezium("s.t"))) == 1
    assert load.detail["other_tables"] == 1  # type: ignore[attr-defined]


def test_an_event_that_does_not_name_its_table_is_set_aside_if_one_is_wanted(sqlite_lake: Ledger, tmp_path: Path) -> None:
    write(tmp_path / "in", {"id": 1, "__op": "c"}, {"id": 2, "__op": "c", "__table": "t", "__lsn": 1})
    rows = load(sqlite_lake, tmp_path / "in", Debezium("t", schema="id int", flattened=True))
    assert [(row["id"], row["_problems"]) for row in rows] == [
        (2, None),
        (None, ["it does not name its table: it needs add.fields=table,schema"]),
    ]
