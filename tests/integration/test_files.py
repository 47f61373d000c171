"""Tables on Spark: what the registry says of files, JSON Lines, and whether storage agrees."""

from __future__ import annotations

import hashlib
import os
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc
import pytest
from pyarrow import parquet

import lakeledger
from integration.frames import FORMATS, all_have_checksums, bounds, conf, location, nulls_like, rows, stored, timezone
from integration.waiting import until
from lakeledger import Failed, Invalid, Ledger
from lakeledger.tables import checksums

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_sizes_rows_and_bounds_are_those_of_the_files(lake: Ledger, spark: SparkSession) -> None:
    frame = spark.sql(
        "select id, cast(id as string) as text, id * 1.25d as price, cast(id as decimal(12, 2)) as amount,"
        " date'2026-01-01' + int(id) as day, timestamp'2026-01-01 00:00:00' + make_dt_interval(0, int(id)) as at,"
        " if(id % 7 = 0, null, id) as holes, cast(null as int) as nothing from range(1000)"
    )
    lake.append(frame.repartition(2), "facts")
    files = lake.tables.files("facts")
    assert len(files) == 2
    for file in files:
        path = location(lake, "facts") / file.file_path
        content = parquet.read_table(path)
        assert (file.file_size, file.row_count, file.file_type) == (path.stat().st_size, content.num_rows, "parquet")
        assert set(file.column_bounds) == set(frame.columns)
        for name in frame.columns:
            known, column = file.column_bounds[name], content[name]
            assert known["nulls"] == column.null_count
            least, most = pc.min_max(column).as_py().values()
            assert (known.get("min"), known.get("max")) == (as_stored(least), as_stored(most)), name
    assert lake.tables.stats("facts").row_count == lake.read("facts").count() == 1000


def as_stored(value: Any) -> Any:
    match value:
        case datetime():
            return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        case date() | Decimal():
            return str(value)
    return value


def test_bounds_cover_every_row_group(sqlite_lake: Ledger, spark: SparkSession) -> None:
    with conf(spark, {"parquet.block.size": "1024", "parquet.page.size.row.check.min": "10"}):
        sqlite_lake.append(spark.sql("select 5000 - id as id, if(id < 100, null, uuid()) as text from range(5000)").coalesce(1), "t")
    (file,) = sqlite_lake.tables.files("t")
    assert parquet.read_metadata(location(sqlite_lake, "t") / file.file_path).num_row_groups > 1
    assert file.column_bounds["id"] == {"min": 1, "max": 5000, "nulls": 0}
    least, most = sqlite_lake.read("t").selectExpr("min(text)", "max(text)").collect()[0]
    assert file.column_bounds["text"] == {"min": least, "max": most, "nulls": 100}


def test_long_text_has_a_lower_bound_and_no_upper_one(sqlite_lake: Ledger, spark: SparkSession) -> None:
    sqlite_lake.append(spark.sql("select repeat('ü', 500) as text"), "t")
    assert bounds(sqlite_lake, "t", "text") == {"min": "ü" * 64, "nulls": 0}


@pytest.mark.parametrize("format", FORMATS)
def test_values_that_json_cannot_hold_are_kept_and_have_no_bounds(lake: Ledger, spark: SparkSession, format: str) -> None:
    values = ["double('Infinity')", "double('-Infinity')", "double('NaN')", "float('Infinity')", "'a' || chr(0) || 'b'"]
    columns = ", ".join(f"{value} as c{index}" for index, value in enumerate(values))
    frame = spark.sql(f"select {columns} union all select {', '.join('null' for _ in values)}").coalesce(1)
    lake.append(frame, "t", format=format)
    assert repr(rows(lake.read("t"))) == repr(rows(frame))
    assert all({"min", "max"}.isdisjoint(bounds(lake, "t", name)) for name in frame.columns)


@pytest.mark.parametrize("format", FORMATS)
def test_times_beyond_those_of_python_are_kept(sqlite_lake: Ledger, spark: SparkSession, format: str) -> None:
    values = [
        "date'-0044-03-15'",
        "timestamp'0001-01-01 00:00:00'",
        "timestamp'9999-12-31 23:59:59.999999'",
        "timestamp'+12026-01-01 00:00:00'",
        "timestamp_ntz'+12026-01-01 00:00:00'",
    ]
    sqlite_lake.append(spark.sql("select " + ", ".join(f"{value} as c{index}" for index, value in enumerate(values))), "t", format=format)
    assert sqlite_lake.read("t").where(" and ".join(f"c{index} = {value}" for index, value in enumerate(values))).count() == 1
    assert bounds(sqlite_lake, "t", "c2")["max"] == "9999-12-31T23:59:59.999999Z"


def test_text_that_is_no_utf8_is_kept(sqlite_lake: Ledger, spark: SparkSession) -> None:
    sqlite_lake.append(spark.sql("select cast(X'ff41' as string) as text"), "t")
    assert sqlite_lake.read("t").selectExpr("hex(text)").collect()[0][0] == "FF41"


def test_bounds_of_times_are_utc_wherever_the_writer_sits(sqlite_lake: Ledger, spark: SparkSession) -> None:
    frame = spark.sql("select timestamp'2026-03-29 01:30:00.000001Z' as at, timestamp_ntz'2026-03-29 02:30:00' as local")
    with timezone("America/New_York"):
        for format in FORMATS:
            sqlite_lake.append(frame, format, format=format)
            for side in ("min", "max"):
                assert bounds(sqlite_lake, format, "at")[side] == "2026-03-29T01:30:00.000001Z"
                assert bounds(sqlite_lake, format, "local")[side].startswith("2026-03-29T02:30:00")


def test_checksums_appear_in_the_background(lake: Ledger, spark: SparkSession) -> None:
    lake.append(spark.sql("select * from values (1, 'x'), (2, 'y') as t(id, part)"), "t", partition_by=["part"])
    files = until(lambda: all_have_checksums(lake, "t"), "every file has its checksum")
    for file in files:
        content = (location(lake, "t") / file.file_path).read_bytes()
        assert file.checksum == f"sha256:{hashlib.sha256(content).hexdigest()}"


def test_a_big_commit_is_not_read_back_and_verify_fills_it_in(
    sqlite_lake: Ledger, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    sqlite_lake.append(spark.sql("select 1 as id"), "t")
    (size,) = (file.file_size for file in sqlite_lake.tables.files("t"))
    monkeypatch.setattr(checksums, "BUDGET_BYTES", size * 2)
    sqlite_lake.append(spark.sql("select * from values (2), (3), (4) as t(id)").repartition(3), "t")
    sqlite_lake.settle()
    assert [bool(file.checksum) for file in sqlite_lake.tables.files("t")].count(False) >= 1
    assert sqlite_lake.tables.verify("t").ok
    assert all_have_checksums(sqlite_lake, "t")


def test_closing_the_ledger_does_not_wait_for_storage_that_does_not_answer(
    tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checksums, "CLOSE_SECONDS", 0.1)
    ledger = lakeledger.open(f"sqlite:///{tmp_path}/l.db", warehouse=str(tmp_path / "w"), spark=spark)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checksums, "GATHER_SECONDS", 60.0)  # so that nothing is read before the file is a pipe
        ledger.append(spark.sql("select 1 as id"), "t")
        (path,) = (Path(path) for path in ledger.tables.view("t").paths)
        path.unlink()
        os.mkfifo(path)  # whoever opens it waits until somebody writes
        ledger.close()
    path.open("wb").close()


def test_closing_the_ledger_leaves_no_checksum_undone(url: str, tmp_path: Path, spark: SparkSession) -> None:
    with lakeledger.open(url, warehouse=str(tmp_path / "w"), spark=spark) as ledger:
        for number in range(3):
            ledger.append(spark.sql(f"select {number} as id"), "t")
    with lakeledger.open(url, warehouse=str(tmp_path / "w")) as ledger:
        assert len(all_have_checksums(ledger, "t")) == 3


def test_json_lines_give_back_exactly_what_was_written(lake: Ledger, spark: SparkSession) -> None:
    frame = spark.sql(
        r"""select 1 as id, timestamp'2026-03-29 01:30:00.000001' as at, timestamp_ntz'2026-03-29 01:30:00.123456' as local,
            cast('1234567890123456789012345678.0123456789' as decimal(38, 10)) as amount, 1.10bd as small, 9007199254740993L as big,
            cast(null as string) as nothing, '' as empty, 'a\nb\r\n\t"\\ ü😀' || chr(8232) as text, X'00ff' as bytes, 1e-300d as tiny,
            date'2026-01-01' as day, true as flag, 1.1f as real,
            named_struct('a', cast(null as int), 'b', array(named_struct('c', 1.20bd))) as nested,
            cast(null as struct<a: int>) as no_struct,
            array(1, null, 3) as items, array() as no_items, map('k', date'2026-01-01', '', null) as pairs,
            array(timestamp'2026-01-01 00:00:00.000001') as times"""
    )
    frame = frame.union(spark.sql(nulls_like(frame)))
    lake.append(frame, "t", format="jsonl")
    assert lake.read("t").schema.simpleString() == frame.schema.simpleString()
    assert rows(lake.read("t")) == rows(frame)
    assert lake.tables.verify("t").ok


def test_json_lines_files_are_tracked_like_any_other(lake: Ledger, spark: SparkSession) -> None:
    lake.append(
        spark.sql("select id, 'line\nbreak' as text, if(id = 3, null, id) as holes from range(10)").repartition(2), "t", format="jsonl"
    )
    files = lake.tables.files("t")
    assert (lake.tables.stats("t").row_count, len(files)) == (10, 2)
    for file in files:
        content = (location(lake, "t") / file.file_path).read_bytes()
        assert (file.file_type, file.file_size, file.row_count) == ("jsonl", len(content), content.count(b"\n"))
        assert (file.column_bounds["id"]["min"], file.column_bounds["id"]["max"]) == (0, 9)  # of the whole write, so of each of its files
        assert (file.column_bounds["holes"]["min"], file.column_bounds["holes"]["max"]) == (0, 9)
    lake.append(spark.sql("select 10L as id, 'x' as text, 1L as holes"), "t")
    lake.overwrite(spark.sql("select 11L as id, 'x' as text, 1L as holes"), "t")
    assert rows(lake.read("t")) == [(11, "x", 1)]
    assert lake.read("t", version=2).count() == 11
    assert lake.tables.verify("t").ok


def test_json_lines_keep_a_column_that_spark_would_keep_for_itself(sqlite_lake: Ledger, spark: SparkSession) -> None:
    sqlite_lake.append(spark.sql("select 1 as id, 'mine' as _corrupt_record"), "t", format="jsonl")
    assert rows(sqlite_lake.read("t")) == [(1, "mine")]


def test_json_lines_keep_old_times_to_the_second_in_any_time_zone(sqlite_lake: Ledger, spark: SparkSession) -> None:
    with conf(spark, {"spark.sql.session.timeZone": "America/New_York"}):  # whose offset was -4:56:02 before 1883
        sqlite_lake.append(spark.sql("select timestamp_micros(-2717651038000000) as at"), "t", format="jsonl")
        assert sqlite_lake.read("t").selectExpr("unix_micros(at)").collect()[0][0] == -2717651038000000
    assert bounds(sqlite_lake, "t", "at")["min"] == "1883-11-18T16:56:02.000000Z"


def test_json_lines_refuse_what_they_could_not_give_back(sqlite_lake: Ledger, spark: SparkSession) -> None:
    for query in ("select map(1, 'a') as m", "select array(named_struct('m', map(date'2026-01-01', 1))) as a"):
        with pytest.raises(Invalid, match="jsonl"):
            sqlite_lake.append(spark.sql(query), "t", format="jsonl")
    assert sqlite_lake.tables.find("t") is None
    assert not stored(sqlite_lake)


def test_verify_names_each_file_that_is_not_as_registered(lake: Ledger, spark: SparkSession) -> None:
    for number in range(5):
        lake.append(spark.sql(f"select {number} as id"), "t")
    until(lambda: all_have_checksums(lake, "t"), "every file has its checksum")
    sound, gone, cut, changed, _ = (file.file_path for file in lake.tables.files("t"))
    folder = location(lake, "t")
    (folder / gone).unlink()
    (folder / cut).write_bytes((folder / cut).read_bytes()[:-1])
    (folder / changed).write_bytes(b"x" * (folder / changed).stat().st_size)
    stranger = f"{sound.rpartition('/')[0]}/part-by-hand.parquet"
    (folder / stranger).write_bytes(b"?")
    found = lake.tables.verify("t")
    assert not found.ok
    assert found.checked == 5
    assert {(finding.problem, finding.path) for finding in found.findings} == {
        ("missing", gone),
        ("changed", cut),
        ("changed", changed),
        ("untracked", stranger),
    }
    assert [finding.path for finding in lake.tables.verify("t", deep=False).findings if finding.problem == "changed"] == [cut]


def test_verify_also_looks_at_files_of_older_versions(sqlite_lake: Ledger, spark: SparkSession) -> None:
    sqlite_lake.append(spark.sql("select 1 as id"), "t")
    (old,) = sqlite_lake.tables.files("t")
    sqlite_lake.overwrite(spark.sql("select 2 as id"), "t")
    assert sqlite_lake.tables.verify("t").ok
    (location(sqlite_lake, "t") / old.file_path).unlink()
    assert [(finding.problem, finding.path) for finding in sqlite_lake.tables.verify("t").findings] == [("missing", old.file_path)]


def test_a_missing_file_is_an_error_that_names_it(sqlite_lake: Ledger, spark: SparkSession) -> None:
    sqlite_lake.append(spark.sql("select 1 as id"), "t")
    sqlite_lake.append(spark.sql("select 2 as id"), "t")
    gone = sqlite_lake.tables.files("t")[0]
    (location(sqlite_lake, "t") / gone.file_path).unlink()
    with pytest.raises(Failed, match=rf"main\.t .*{gone.file_name}.*verify"):
        sqlite_lake.read("t").collect()
