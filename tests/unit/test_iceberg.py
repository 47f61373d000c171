"""A table's schema, bounds and partitions in Iceberg's words."""

from __future__ import annotations

import json
from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyiceberg.conversions import from_bytes
from pyiceberg.conversions import to_bytes as reference
from pyiceberg.schema import Schema
from pyiceberg.table.name_mapping import parse_mapping_from_json
from pyiceberg.types import DecimalType, DoubleType, LongType, StringType, TimestamptzType

from lakeledger.lake.iceberg import Added, Unpublishable, iceberg_id
from lakeledger.lake.iceberg.schema import FOREIGN_IDS, IDS_PER_COLUMN, INNER_IDS, last_id, name_mapping, to_iceberg
from lakeledger.lake.iceberg.values import data_file, proven, to_bytes


def column(name: str, type_: Any, id_: int, physical: str | None = None) -> dict[str, Any]:
    return {"name": name, "type": type_, "nullable": True, "metadata": {}, "id": id_, "physical_name": physical or name}


def schema(*columns: dict[str, Any]) -> dict[str, Any]:
    return {"type": "struct", "fields": list(columns)}


def array(of: Any) -> dict[str, Any]:
    return {"type": "array", "elementType": of, "containsNull": True}


def mapping(key: Any, value: Any) -> dict[str, Any]:
    return {"type": "map", "keyType": key, "valueType": value, "valueContainsNull": True}


def struct(**fields: Any) -> dict[str, Any]:
    return {"type": "struct", "fields": [{"name": name, "type": type_, "nullable": True, "metadata": {}} for name, type_ in fields.items()]}


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("byte", "int"), ("short", "int"), ("integer", "int"), ("long", "long"),
        ("decimal(10,2)", "decimal(10, 2)"), ("varchar(5)", "string"),
        ("string collate UNICODE", "string"), ("timestamp", "timestamptz"), ("timestamp_ntz", "timestamp"), ("binary", "binary"),
    ],
)  # fmt: skip
def test_types_have_a_counterpart(ours: str, theirs: str) -> None:
    assert to_iceberg(schema(column("a", ours, 1)), 1)["fields"][0]["type"] == theirs


@pytest.mark.parametrize("odd", ["variant", "void", "interval day to second", "time(6)"])
def test_what_has_none_is_named(odd: str) -> None:
    with pytest.raises(Unpublishable, match="column a"):
        to_iceberg(schema(column("a", array(odd), 1)), 1)


def test_what_is_inside_has_ids_that_others_never_get() -> None:
    nested = struct(x="long", y=array(struct(z="string")), m=mapping("string", array("date")))
    made = to_iceberg(schema(column("a", "long", 1), column("b", nested, 2), column("c", nested, 3)), 4)
    parsed = Schema.model_validate(made)
    ids = [field.field_id for name in parsed.column_names if (field := parsed.find_field(name))]
    assert len(set(ids)) == len(ids) == 3 + 2 * 8
    assert all(id_ < INNER_IDS or (id_ - INNER_IDS) // IDS_PER_COLUMN in (2, 3) for id_ in ids)
    assert last_id(made) == max(ids)


def test_a_column_with_too_much_inside_is_not_published() -> None:
    wide = struct(**{f"f{number}": "long" for number in range(IDS_PER_COLUMN)})
    assert to_iceberg(schema(column("a", wide, 1)), 1)
    with pytest.raises(Unpublishable, match="column a has more than 1000 values inside"):
        to_iceberg(schema(column("a", struct(more=wide, x="long"), 1)), 1)


def test_a_name_that_could_mean_two_columns_is_refused() -> None:
    with pytest.raises(Unpublishable, match=r"column a\.b from what is inside another"):
        to_iceberg(schema(column("a", struct(b="long"), 1), column("a.b", "long", 2)), 1)


def test_columns_are_found_by_the_names_that_files_have_even_those_that_are_gone() -> None:
    first = name_mapping([column("a", "long", 1), column("m", mapping("string", "long"), 2)], [], [])
    second = name_mapping([column("b", "long", 1, "a"), column("m", "string", 3, "m_3")], [column("x", array("long"), 1, "theirs")], first)
    assert [(entry["field-id"], entry["names"]) for entry in second] == [(1, ["a"]), (2, ["m"]), (3, ["m_3"]), (FOREIGN_IDS, ["theirs"])]
    third = name_mapping([], [column("x", array("long"), 1, "theirs"), column("y", "variant", 2, "odd")], second)
    assert [(entry["field-id"], entry["names"]) for entry in third[3:]] == [
        (FOREIGN_IDS, ["theirs"]),
        (FOREIGN_IDS + IDS_PER_COLUMN, ["odd"]),
    ]
    parsed = parse_mapping_from_json(json.dumps(second))
    assert parsed.root[1].fields[1].field_id == INNER_IDS + 2 * IDS_PER_COLUMN + 1


@given(st.integers(-(2**63), 2**63 - 1))
def test_whole_numbers(value: int) -> None:
    assert to_bytes("long", value) == reference(LongType(), value)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_numbers(value: float) -> None:
    assert to_bytes("double", value) == reference(DoubleType(), value)


@given(st.decimals(allow_nan=False, allow_infinity=False, places=2, min_value=Decimal(-(10**15)), max_value=Decimal(10**15)))
def test_decimals(value: Decimal) -> None:
    assert to_bytes("decimal(18, 2)", str(value)) == reference(DecimalType(18, 2), value)


@given(st.text())
def test_text(value: str) -> None:
    encoded = value.encode(errors="replace").decode()
    assert from_bytes(StringType(), to_bytes("string", encoded)) == encoded


def test_times_are_counted_from_1970() -> None:
    assert to_bytes("timestamptz", "1969-12-31T23:59:59.000001Z") == reference(TimestamptzType(), -999_999)
    assert int.from_bytes(to_bytes("timestamp", "1970-01-01T00:00:01"), "little") == 1_000_000
    assert int.from_bytes(to_bytes("date", "1970-01-11"), "little") == 10
    assert int.from_bytes(to_bytes("date", "1969-12-31"), "little", signed=True) == -1
    assert (to_bytes("boolean", True), to_bytes("boolean", False)) == (b"\x01", b"\x00")


def test_zero_is_below_and_above_itself() -> None:
    made = data_file(Added("/f", 1, 2, {"x": {"min": 0.0, "max": 0.0, "nulls": 0}, "other": {"min": 1}}), {"x": (7, "double")}, {})
    assert made["lower_bounds"] == [{"key": 7, "value": reference(DoubleType(), -0.0)}]
    assert made["upper_bounds"] == [{"key": 7, "value": reference(DoubleType(), 0.0)}]
    assert made["null_value_counts"] == [{"key": 7, "value": 0}]


@pytest.mark.parametrize(
    ("bounds", "found"),
    [
        ({"min": "2026-01-01", "max": "2026-01-01", "nulls": 0}, {"p": date(2026, 1, 1)}),
        ({"nulls": 5}, {"p": None}),
        ({"min": "2026-01-01", "max": "2026-01-02", "nulls": 0}, None),
        ({"min": "2026-01-01", "max": "2026-01-01", "nulls": 1}, None),
        ({"min": "2026-01-01", "nulls": 0}, None),
        ({}, None),
    ],
)
def test_a_partition_is_proven_by_bounds_or_not_at_all(bounds: dict[str, Any], found: dict[str, Any] | None) -> None:
    assert proven(Added("/f", 1, 5, {"day": bounds}), {"day": ("p", "date", "identity")}) == found


@pytest.mark.parametrize(
    ("bounds", "found"),
    [
        ({"min": "2026-01-01T00:00:00.000000Z", "max": "2026-01-01T23:59:59.999999Z", "nulls": 0}, {"p": date(2026, 1, 1)}),
        ({"nulls": 5}, {"p": None}),
        ({"min": "2026-01-01T23:59:59.999999Z", "max": "2026-01-02T00:00:00.000000Z", "nulls": 0}, None),
        ({"min": "2026-01-01T00:00:00.000000Z", "max": "2026-01-01T00:00:00.000000Z", "nulls": 1}, None),
        ({"min": "2026-01-01T00:00:00.000000Z", "nulls": 0}, None),
        ({}, None),
    ],
)
def test_a_partition_of_a_day_is_proven_by_bounds_within_it(bounds: dict[str, Any], found: dict[str, Any] | None) -> None:
    assert proven(Added("/f", 1, 5, {"at": bounds}), {"at": ("p", "timestamptz", "day")}) == found


def test_a_snapshot_has_a_number_that_others_can_hold() -> None:
    assert 0 < iceberg_id("01a1e8b1-7f4b-77f2-a630-1e4a4e544afa") < 2**63
