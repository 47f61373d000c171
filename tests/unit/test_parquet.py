"""What a Parquet footer tells about a file."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lakeledger import codec
from lakeledger.errors import Invalid
from lakeledger.lake import Bounds, FileFacts, Storage, open_format
from lakeledger.pipelines.observe import bounded


def inspect(folder: Path, table: pa.Table, **options: Any) -> FileFacts:
    pq.write_table(table, folder / "f.parquet", **options)
    return open_format("parquet").inspect(Storage(str(folder)), "f.parquet", {}, table.column_names)


def bounds(folder: Path, *values: Any, type: pa.DataType | None = None, **options: Any) -> dict[str, Any]:
    found: Bounds = inspect(folder, pa.table({"x": pa.array(values, type)}), **options).bounds
    json.loads(codec.to_json(found))
    return found["x"]


def test_rows_and_compression_are_known(tmp_path: Path) -> None:
    table = pa.table({"x": [1, 2, 3]})
    assert inspect(tmp_path, table, compression="zstd").rows == 3
    assert inspect(tmp_path, table, compression="zstd").compression == "zstd"
    assert inspect(tmp_path, table, compression="none").compression == "uncompressed"


@pytest.mark.parametrize(
    ("values", "type_", "expected"),
    [
        ([3, None, -1], pa.int64(), {"min": -1, "max": 3, "nulls": 1}),
        ([2**63 - 1, -(2**63)], pa.int64(), {"min": -(2**63), "max": 2**63 - 1, "nulls": 0}),
        ([None, None], pa.int64(), {"nulls": 2}),
        ([True, False], pa.bool_(), {"min": False, "max": True, "nulls": 0}),
        (["b", "a", None], pa.string(), {"min": "a", "max": "b", "nulls": 1}),
        (["é🙂", "z"], pa.string(), {"min": "z", "max": "é🙂", "nulls": 0}),
        (
            [Decimal("-1.50"), Decimal("12345678901234567890.25")],
            pa.decimal128(38, 2),
            {"min": "-1.50", "max": "12345678901234567890.25", "nulls": 0},
        ),
        ([date(2026, 1, 2), date(1, 1, 1)], pa.date32(), {"min": "0001-01-01", "max": "2026-01-02", "nulls": 0}),
        (
            [datetime(2026, 1, 1, 0, 0, 0, 1, tzinfo=UTC), datetime(1, 1, 1, tzinfo=UTC)],
            pa.timestamp("us", "UTC"),
            {"min": "0001-01-01T00:00:00.000000Z", "max": "2026-01-01T00:00:00.000001Z", "nulls": 0},
        ),
        (
            [datetime(2026, 1, 1, 0, 0, 0, 1)],  # noqa: DTZ001 - a local time
            pa.timestamp("us"),
            {"min": "2026-01-01T00:00:00.000001", "max": "2026-01-01T00:00:00.000001", "nulls": 0},
        ),
        ([time(1, 2, 3)], pa.time64("us"), {"min": "01:02:03", "max": "01:02:03", "nulls": 0}),
        ([1.5, float("nan")], pa.float64(), {"min": 1.5, "max": 1.5, "nulls": 0}),
        ([b"a", b"b"], pa.binary(), {"nulls": 0}),
    ],
    ids=["int", "int64", "all null", "bool", "text", "unicode", "decimal", "date", "timestamp", "local time", "time", "nan", "binary"],
)
def test_bounds_and_nulls_of_a_column(tmp_path: Path, values: list[Any], type_: pa.DataType, expected: dict[str, Any]) -> None:
    assert bounds(tmp_path, *values, type=type_) == expected


@pytest.mark.parametrize(
    ("values", "type_", "expected"),
    [
        ([1.0, float("inf")], pa.float64(), {"min": 1.0, "nulls": 0}),
        ([float("-inf"), 1.0], pa.float64(), {"max": 1.0, "nulls": 0}),
        (["\0a", "b"], pa.string(), {"max": "b", "nulls": 0}),
    ],
    ids=["infinity", "minus infinity", "NUL"],
)
def test_a_bound_that_no_database_can_keep_as_json_is_left_out(
    tmp_path: Path, values: list[Any], type_: pa.DataType, expected: dict[str, Any]
) -> None:
    assert bounds(tmp_path, *values, type=type_) == expected


@pytest.mark.parametrize(
    ("value", "type_"), [(253_402_300_800_000_000, pa.timestamp("us", "UTC")), (3_000_000, pa.date32())], ids=["timestamp", "date"]
)
def test_a_time_after_the_year_9999_has_no_bound_but_does_not_stop_the_write(tmp_path: Path, value: int, type_: pa.DataType) -> None:
    assert bounds(tmp_path, value, None, type=type_) == {"nulls": 1}


def test_long_text_is_cut_to_a_lower_bound_and_has_no_upper_one(tmp_path: Path) -> None:
    assert bounds(tmp_path, "a" * 100, "z" * 100) == {"min": "a" * 64, "nulls": 0}
    assert bounds(tmp_path, "a" * 64, "z" * 64) == {"min": "a" * 64, "max": "z" * 64, "nulls": 0}


def test_several_row_groups_count_together(tmp_path: Path) -> None:
    assert bounds(tmp_path, 5, 1, None, None, 9, 2, type=pa.int64(), row_group_size=2) == {"min": 1, "max": 9, "nulls": 2}


def test_a_row_group_without_statistics_makes_the_bounds_unknown(tmp_path: Path) -> None:
    assert bounds(tmp_path, 1, 2, write_statistics=False) == {}


def test_nested_columns_have_no_bounds_and_do_not_hide_the_others(tmp_path: Path) -> None:
    table = pa.table({"s": [{"x": 1}], "l": [[1, 2]], "m": pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int64())), "y": [7]})
    assert inspect(tmp_path, table).bounds == {"y": {"min": 7, "max": 7, "nulls": 0}}


def test_an_empty_file_has_no_rows_and_no_bounds(tmp_path: Path) -> None:
    facts = inspect(tmp_path, pa.table({"x": pa.array([], pa.int64())}))
    assert facts.rows == 0
    assert "min" not in facts.bounds.get("x", {})


def test_a_json_file_has_as_many_rows_as_lines_and_the_bounds_that_the_write_saw(tmp_path: Path) -> None:
    (tmp_path / "f.json").write_text('{"x":1}\n{"x":2}\n', encoding="utf-8")
    facts = open_format("jsonl").inspect(Storage(str(tmp_path)), "f.json", {"x": {"min": 1, "max": 2}}, ["x"])
    assert facts == FileFacts(2, "none", {"x": {"min": 1, "max": 2}})


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(Invalid, match="unknown file format 'orc': use parquet or jsonl"):
        open_format("orc")


def test_only_the_bounds_of_the_columns_that_were_asked_for_are_kept(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1, 2], "b": ["x", "y"], "c": [{"d": 1}, {"d": 2}]}), tmp_path / "f.parquet")
    facts = open_format("parquet").inspect(Storage(str(tmp_path)), "f.parquet", {}, {"b", "c.d"})
    assert facts.bounds == {"b": {"min": "x", "max": "y", "nulls": 0}}


def test_a_wide_table_keeps_the_bounds_of_its_first_columns_and_of_its_keys() -> None:
    schema = {"fields": [{"name": f"c{number}", "type": "long"} for number in range(500)]}
    assert bounded(schema, ["c499"]) == {f"c{number}" for number in range(32)} | {"c499"}
