"""Dicts and Arrow brought to the columns of a table: what fits, what is cast, added, rescued or left out, and what is bad and why."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, cast

import pyarrow as pa
import pytest

from lakeledger import Invalid
from lakeledger.pipelines.apply import Drift
from lakeledger.pipelines.streaming.columns import as_table, schema_of
from lakeledger.pipelines.streaming.files import partition_text
from lakeledger.pipelines.streaming.rows import Fitted, Piece, fit_rows
from lakeledger.pipelines.streaming.values import misfits
from lakeledger.tables.schema import Schema, type_text

KNOWN = schema_of(pa.schema([("id", pa.int64()), ("name", pa.string()), ("price", pa.float64())]))


def fit(*pieces: Piece, known: Schema | None = KNOWN, drift: str = "freeze", required: tuple[str, ...] = (), **more: Any) -> Fitted:
    return fit_rows("events", pieces, known, more.get("declared"), cast("Drift", drift), required)


def types(fitted: Fitted) -> dict[str, str]:
    return {field["name"]: type_text(field["type"]) for field in fitted.schema["fields"]}


def bad(fitted: Fitted) -> list[tuple[Any, list[str]]]:
    return [(json.loads(each.text), list(each.reasons)) for each in fitted.bad]


def test_dicts_without_a_schema_say_what_their_table_has() -> None:
    rows = [
        {"id": 1, "at": datetime(2026, 1, 1, tzinfo=UTC), "day": date(2026, 1, 1), "tags": [], "nothing": None},
        {"id": 2, "price": 1, "amount": Decimal("1.5"), "tags": ["a"], "where": {"city": "Graz", "zip": None}, "raw": b"x", "ok": True},
        {"id": 3, "price": 2.5, "local": datetime(2026, 1, 1)},  # noqa: DTZ001 - one without a time zone
    ]
    fitted = fit(rows, known=None)
    assert types(fitted) == {
        "id": "long", "at": "timestamp", "day": "date", "tags": "array<string>", "price": "double", "amount": "decimal(38,18)",
        "where": "struct<city: string>", "raw": "binary", "ok": "boolean", "local": "timestamp_ntz",
    }  # fmt: skip
    assert fitted.table.column("price").to_pylist() == [None, 1.0, 2.5]
    assert not fitted.bad


def test_values_that_do_not_fit_are_found_with_every_reason_and_the_others_stay() -> None:
    rows = [{"id": number, "name": f"n{number}", "price": float(number)} for number in range(100)]
    rows[17] = {"id": "x", "name": 5, "price": 1.0}
    rows[64] = {"id": None, "name": "e", "price": "y"}
    rows[65] = {"id": 65, "name": "new", "price": 1.0, "color": "red"}
    rows[66] = {"ID": 66, "name": "other case"}
    fitted = fit(rows, required=("id",))
    assert bad(fitted) == [
        (rows[17], ["id is not long", "name is not string"]),
        (rows[64], ["price is not double", "id is NULL"]),
        (rows[65], ["color is new"]),
    ]
    assert fitted.table.column("id").to_pylist() == [number for number in range(100) if number not in (17, 64, 65)]
    assert types(fitted) == types(fit([]))


def test_a_row_that_has_a_column_twice_or_too_many_unknown_ones_has_bounded_reasons() -> None:
    fitted = fit([{"id": 1, "Id": 2}, {f"key{number:02}": 1 for number in range(30)}])
    (_, twice), (_, many) = bad(fitted)
    assert twice == ["it has columns that differ only in case"]
    assert (many[0], many[-1], len(many)) == ("key00 is new", "another column is new", 21)


def test_evolve_adds_columns_and_wider_types_and_sets_aside_what_no_table_keeps() -> None:
    narrow = as_table(pa.table({"id": pa.array([1], pa.int32()), "n": pa.array([1], pa.int16())}))
    known = schema_of(narrow.schema)
    wide = as_table(pa.table({"id": pa.array([2**40], pa.int64()), "color": ["red"]}))
    dicts = [{"id": 3, "size": 4}, {"id": 4, "size": "big"}, {"id": 5, "odd": object()}, {"": 1}]
    fitted = fit(narrow, dicts, wide, known=known, drift="evolve")
    assert types(fitted) == {"id": "long", "n": "short", "size": "long", "color": "string"}
    assert fitted.table.column("id").to_pylist() == [1, 3, 2**40]
    no = "is nothing that a table keeps"
    assert [list(each.reasons) for each in fitted.bad] == [["size is not long"], [f"odd {no}"], [f"a column without a name {no}"]]


def test_rescue_keeps_what_has_no_place_as_json_and_drop_leaves_it_out() -> None:
    rows = [{"id": 1, "price": 1.5}, {"id": "x", "name": "b", "color": "red"}]
    arrow = as_table(pa.table({"id": ["y", None], "color": ["blue", None]}))
    fitted = fit(rows, arrow, drift="rescue")
    assert fitted.table.column("id").to_pylist() == [1, None, None, None]
    assert fitted.table.column("_rescued").to_pylist() == [None, '{"color": "red", "id": "x"}', '{"id": "y", "color": "blue"}', None]
    assert not fitted.bad
    dropped = fit([{"id": 1, "color": "red"}, {"id": "x"}], drift="drop")
    assert (types(dropped), dropped.table.num_rows, bad(dropped)) == (types(fit([])), 1, [({"id": "x"}, ["id is not long"])])


def test_a_table_of_arrow_fits_as_a_whole_or_is_refused_with_the_fix() -> None:
    given = pa.table({"name": pa.array(["a", None], pa.large_string()).dictionary_encode(), "id": [1, 2], "void": pa.nulls(2)})
    fitted = fit(as_table(given), required=("name",))
    assert (fitted.table.to_pylist(), bad(fitted)) == (
        [{"id": 1, "name": "a", "price": None}],
        [({"name": None, "id": 2}, ["name is NULL"])],
    )
    with pytest.raises(Invalid, match="id is long, not string, color is new; schema_drift='evolve' lets new columns in"):
        fit(as_table(pa.table({"id": ["a"], "color": ["red"]})))
    with pytest.raises(Invalid, match=r"column span is duration\[us\], and no table has duration\[us\]: cast it"):
        as_table(pa.table({"span": pa.array([1], pa.duration("us"))}))
    with pytest.raises(Invalid, match=r"the rows cannot be kept as a table has them: .*would lose data"):
        as_table(pa.table({"at": pa.array([1], pa.timestamp("ns"))}))
    with pytest.raises(Invalid, match="the rows for events have no columns with values: declare them with schema="):
        fit([{"id": None}, {}], known=None)


def test_declared_columns_are_those_of_the_table_whatever_the_first_rows_have() -> None:
    declared = schema_of(pa.schema([("id", pa.int32()), ("at", pa.timestamp("us", "UTC"))]))
    fitted = fit([{"id": 1}, {"id": 2**40}, {"id": 3, "color": 1}], known=None, declared=declared)
    assert types(fitted) == {"id": "integer", "at": "timestamp"}
    assert [reasons for _, reasons in bad(fitted)] == [["id is not integer"], ["color is new"]]


@pytest.mark.parametrize(
    ("type_", "good", "wrong"),
    [
        (pa.int64(), [1, 2.0, None], [1.5, Decimal("1.5"), Decimal(1), "1", True, float("nan"), 2**63]),
        (pa.float64(), [1, 1.5, float("nan")], ["1.5", 2**60 + 1, 2**70]),
        (pa.date32(), [date(2026, 1, 1)], [datetime(2026, 1, 1, 5, tzinfo=UTC), 5, "2026-01-01"]),
        (pa.timestamp("us", "UTC"), [datetime(2026, 1, 1, tzinfo=UTC)], [5, 1.5, date(2026, 1, 1), "2026-01-01"]),
        (pa.decimal128(10, 2), [1, Decimal("1.5")], [1.5, Decimal("1.234"), "1"]),
        (pa.string(), ["a"], [1, "half \ud800"]),
        (pa.list_(pa.int64()), [[1, None], []], [[1.5], ["a"], 1, "ab"]),
        (pa.struct([("a", pa.int64())]), [{"a": 1}, {"b": None}, {}], [{"a": 1, "b": 2}, {"a": 1.5}, [1]]),
        (pa.map_(pa.string(), pa.int64()), [{"x": 1}, [("y", 2)], {}], [{"x": 1.5}, {1: 1}, 5]),
    ],
)
def test_no_value_is_taken_for_another(type_: pa.DataType, good: list[Any], wrong: list[Any]) -> None:
    """Each among good ones, and all together: Arrow decides on types by what it sees first."""
    for bad_one in wrong:
        assert list(misfits([*good, bad_one, *good], type_)) == [len(good)], bad_one
    assert list(misfits([*wrong, *good], type_)) == list(range(len(wrong)))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "__HIVE_DEFAULT_PARTITION__"), ("", "_"), ("_x", "__x"), ("a/b=c", "a%2Fb%3Dc"), (True, "true"), (-5, "-5"),
        (date(2026, 1, 2), "2026-01-02"), (Decimal("1.50"), "1.50"), (b"\x0a\xff", "0AFF"),
        (datetime(2026, 1, 2, 3, 4, 5, 600000, UTC), "2026-01-02 03%3A04%3A05.6"),
        (datetime(2026, 1, 2, tzinfo=UTC), "2026-01-02 00%3A00%3A00"),
    ],
)  # fmt: skip
def test_partitions_are_named_as_spark_names_them(value: object, text: str) -> None:
    assert partition_text(value) == text
