"""The rules of publishing as Delta, without storage and without a ledger."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from lakeledger import Invalid
from lakeledger.config import Settings, check_formats
from lakeledger.lake.delta import OWNER, LogFile, Shape, actions, log
from lakeledger.lake.delta.read_with import ENGINES, read_with
from lakeledger.lake.delta.schema import to_delta
from lakeledger.lake.iceberg import Unpublishable
from lakeledger.lake.storage import StoredFile
from lakeledger.names import TableName
from lakeledger.tables.delta import Stretch, Version, stretches

NOW = datetime(2026, 1, 2, tzinfo=UTC)


def schema(*columns: tuple[str, Any] | tuple[str, Any, str]) -> dict[str, Any]:
    """Columns as name and type, and a physical name where it is another; ids by their physical names."""
    made = [(name, type_, *(more or (name,))) for name, type_, *more in columns]
    return {"fields": [{"name": name, "type": type_, "id": _id(physical), "physical_name": physical} for name, type_, physical in made]}


def _id(physical: str) -> int:
    return 1 + "abcdefgh".index(physical[0])


def names(versions: list[Stretch]) -> list[tuple[int, int, str]]:
    return [(each.low, each.high, each.does) for each in versions]


def test_each_version_that_waits_is_an_entry_and_says_what_it_does() -> None:
    waiting = [Version(6, "append"), Version(7, "merge"), Version(8, "replace"), Version(9, "alter"), Version(10, "overwrite")]
    found = stretches(waiting, 5)
    assert names(found) == [(5, 6, "append"), (6, 7, "change"), (7, 8, "replace"), (8, 9, "replace"), (9, 10, "change")]
    assert [each.is_news for each in found] == [True, True, False, False, True]


def test_a_version_that_nobody_can_see_goes_with_the_next_and_the_last_ones_wait() -> None:
    hidden = [
        Version(1, "append", False),
        Version(2, "append"),
        Version(3, "append", False),
        Version(4, "replace"),
        Version(5, "merge", False),
    ]
    assert names(stretches(hidden, 0)) == [(0, 2, "append"), (2, 4, "change")]
    assert stretches([Version(1, "append", False)], 0) == []
    assert names(stretches([Version(1, "alter", False), Version(2, "append")], 0)) == [(0, 2, "append")]


def test_of_many_that_wait_neighbours_that_do_the_same_are_one_and_then_all_but_the_newest() -> None:
    appends = [Version(number, "append") for number in range(1, 10_001)]
    assert names(stretches(appends, 0)) == [(0, 10_000, "append")]
    turns = [Version(number, "replace" if number % 2 else "append") for number in range(1, 10_001)]
    found = stretches(turns, 0)
    assert len(found) == 100
    assert names(found)[0] == (0, 9_901, "change")
    assert names(found)[1:3] == [(9_901, 9_902, "append"), (9_902, 9_903, "replace")]
    assert found[-1].high == 10_000


def test_a_table_is_plain_until_a_column_is_called_otherwise_than_in_the_files() -> None:
    plain = to_delta([schema(("a", "long"), ("b", "string"))])
    assert (plain.features, plain.properties) == (frozenset(), {})
    assert actions.protocol(plain) == {"protocol": {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": [OWNER]}}
    renamed = to_delta([schema(("a", "long"), ("b", "string")), schema(("a", "long"), ("c", "string", "b"))])
    assert renamed.features == {"columnMapping"}
    assert renamed.properties == {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "1003000"}
    assert renamed.schema["fields"][1]["metadata"] == {"delta.columnMapping.id": 2, "delta.columnMapping.physicalName": "b"}
    back = to_delta([schema(("a", "long")), schema(("x", "long", "a")), schema(("a", "long"))])
    assert back.features == {"columnMapping"}, "it stays"
    assert to_delta([schema(("a b", "long", "a"))]).features == {"columnMapping"}


def test_what_is_inside_a_mapped_column_has_ids_of_its_own() -> None:
    inner = {"type": "struct", "fields": [{"name": "x", "type": "long", "nullable": True, "metadata": {}}]}
    shape = to_delta([schema(("q", {"type": "array", "elementType": inner, "containsNull": True}, "a"))])
    (column,) = shape.schema["fields"]
    assert column["type"]["elementType"]["fields"][0]["metadata"] == {
        "delta.columnMapping.id": 1_001_000,
        "delta.columnMapping.physicalName": "x",
    }
    assert int(shape.properties["delta.columnMapping.maxColumnId"]) > 1_001_000


def test_a_wider_type_is_just_that_and_readers_are_told_of_times_without_a_zone() -> None:
    shape = to_delta(
        [schema(("a", "integer"), ("b", "decimal(5, 2)")), schema(("a", "long"), ("b", "decimal(9, 2)"), ("c", "timestamp_ntz"))]
    )
    assert (set(shape.features), dict(shape.properties)) == ({"timestampNtz"}, {})
    assert [field["type"] for field in shape.schema["fields"]] == ["long", "decimal(9,2)", "timestamp_ntz"]
    assert to_delta([schema(("c", "timestamp_ntz")), schema(("a", "long"))]).features == {"timestampNtz"}, "it stays"


def test_a_hidden_column_is_not_told_and_what_has_no_place_is_named() -> None:
    hidden = schema(("a", "long"), ("b", "interval day"))
    hidden["fields"][1]["hidden"] = True
    assert [field["name"] for field in to_delta([hidden]).schema["fields"]] == ["a"]
    with pytest.raises(Unpublishable, match="Delta has no type for column b, which is interval day"):
        to_delta([schema(("a", "long"), ("b", "interval day"))])


def test_bounds_are_told_exactly_and_only_where_they_mean_something() -> None:
    types = {"a": "decimal(38,18)", "b": "double", "c": "timestamp", "d": "string", "e": "long"}
    bounds: dict[str, dict[str, Any]] = {
        "a": {"min": "12345678901234567890.123456789012345678", "max": "1E+2", "nulls": 0},
        "b": {"min": 0.0, "max": 0.0, "nulls": 1},
        "c": {"min": "2026-01-02T03:04:05.000006Z", "nulls": 0},
        "d": {"min": "Ü\"'", "nulls": 2},
        "e": {"min": "odd", "max": 7},
        "unknown": {"min": 1},
    }
    found = actions.stats(LogFile("x", 1, 3, bounds, 0), types)
    assert '"a":12345678901234567890.123456789012345678' in found
    assert json.loads(found) == {
        "numRecords": 3,
        "minValues": {"a": 12345678901234567890.123456789012345678, "b": -0.0, "c": "2026-01-02T03:04:05.000006Z", "d": "Ü\"'"},
        "maxValues": {"a": 100, "b": 0.0, "e": 7},
        "nullCount": {"a": 0, "b": 1, "c": 0, "d": 2},
    }
    assert '"b":-0.0' in found


def test_paths_are_written_as_uris() -> None:
    file = LogFile("data/run/name=a%20b ü/part.parquet", 1, 1, {}, 0)
    assert actions.add(file, Shape({}), is_news=True)["add"]["path"] == "data/run/name=a%2520b%20%C3%BC/part.parquet"
    assert actions.path_of(actions.remove(file.path, 1, 0, is_news=False)["remove"]) == file.path


def test_of_a_log_stays_what_a_reader_of_the_oldest_kept_version_needs() -> None:
    def file(name: str, days: int = 9) -> StoredFile:
        return StoredFile(f"_delta_log/{name}", 1, NOW - timedelta(days=days))

    files = [file(f"{number:020}.json") for number in range(12)]
    files += [file(f"{number:020}.checkpoint.parquet") for number in (3, 6, 9)]
    files += [file("_last_checkpoint"), file(".00000000000000000004.json.0a1b2c3d.lakeledger-tmp"), file("else.json")]

    def gone(oldest: int, days: int = 1) -> list[str]:
        return [each.name.lstrip("0") for each in log.unneeded(files, oldest, NOW - timedelta(days=days))]

    left = ".00000000000000000004.json.0a1b2c3d.lakeledger-tmp"
    assert gone(2) == [left]
    assert gone(7) == [".json", "1.json", "2.json", "3.json", "4.json", "5.json", "3.checkpoint.parquet", left]
    assert gone(7, days=10) == []


@pytest.mark.parametrize("engine", ENGINES)
def test_there_is_code_for_every_engine(engine: str) -> None:
    code = read_with(engine, TableName("shop", "orders"), "/lake/it's/orders", Settings().s3)
    assert "/lake/it" in code
    with pytest.raises(Invalid, match="no code for 'pyiceberg' and Delta"):
        read_with("pyiceberg", TableName("shop", "orders"), "/lake", Settings().s3)


def test_formats_are_checked_and_have_one_order() -> None:
    assert check_formats(["delta", "iceberg", "delta"]) == ("iceberg", "delta")
    assert Settings(publish=("delta", "iceberg")).publish == ("iceberg", "delta")
    for wrong, why in ((["hudi"], "publish cannot have 'hudi'"), ([], "publish needs a format")):
        with pytest.raises(Invalid, match=why):
            check_formats(wrong)
