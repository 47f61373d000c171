"""Ledger tables on real Spark: what is written, what is read back, and what the registry says of it."""

from __future__ import annotations

import hashlib
import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc
import pytest
from pyarrow import parquet

import lakeledger
from integration.waiting import until
from lakeledger import Failed, Invalid, Ledger, NotFound
from lakeledger.db import Transaction
from lakeledger.pipelines.partitions import partition_values
from lakeledger.tables import store
from lakeledger.testing import raise_at

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


FORMATS = ["parquet", "jsonl"]
ORDERS = "select * from values (1, 'a'), (2, 'b') as t(id, name)"

# Whatever people put into a partition column: each must stay itself.
WEIRD = [
    "", None, "_", "__", "a/b", "%", "%2F", "a%2Fb", "ü=;", "a=b", " ", ".", "..", ":", "\\", '"', "'", "*", "?", "{x}", "[x]", "#", "\n",
    "😀", "__HIVE_DEFAULT_PARTITION__", "null", "NULL", "a", "A", "\x01",
]  # fmt: skip


def rows(frame: DataFrame) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in frame.collect()), key=repr)


def location(ledger: Ledger, table: str) -> Path:
    return Path(ledger.tables.get(table).location)


def stored(ledger: Ledger) -> set[Path]:
    """Every file in the warehouse, with what Hadoop keeps beside it."""
    return {path for path in Path(ledger.warehouse).rglob("*") if path.is_file()}


def data_files(ledger: Ledger, table: str) -> set[str]:
    folder = location(ledger, table)
    return {str(path.relative_to(folder)) for path in stored(ledger) if path.is_relative_to(folder) and not path.name.startswith(".")}


def bounds(ledger: Ledger, table: str, column: str) -> dict[str, Any]:
    (file,) = ledger.tables.files(table)
    return file.column_bounds[column]


class Boom(Exception):
    """What a test throws."""


# Append, overwrite, by partition


def test_appended_rows_become_the_next_version(lake: Ledger, spark: SparkSession) -> None:
    first = lake.append(spark.sql(ORDERS), "orders")
    second = lake.append(spark.sql("select 3 as id, 'c' as name"), "main.ORDERS")
    assert (first.version, second.version, second.snapshot.parent_version) == (1, 2, 1)
    assert rows(lake.read("orders")) == [(1, "a"), (2, "b"), (3, "c")]
    stats, live = lake.tables.stats("orders"), lake.tables.files("orders")
    assert (stats.row_count, stats.file_count, stats.total_size) == (3, len(live), sum(file.file_size for file in live))
    assert {file.file_path for file in live} == data_files(lake, "orders")


def test_an_append_by_itself_is_a_run_with_its_counts(lake: Ledger, spark: SparkSession) -> None:
    committed = lake.append(spark.sql(ORDERS), "orders")
    run = lake.runs.get(committed.snapshot.run_id)
    assert (run.status, run.trigger_type, run.pipeline_id, run.commit_count) == ("COMPLETED", "api", "main.orders", 1)
    assert (run.records_processed, run.records_inserted) == (2, 2)
    assert run.bytes_processed == committed.table.total_size > 0
    volume = lake.records.latest("ingestion_volume", "main", "orders")
    assert volume is not None
    assert (volume.payload["rows"], volume.context.run_id) == (2, run.id)


def test_an_overwrite_replaces_every_row_and_keeps_the_old_version(lake: Ledger, spark: SparkSession) -> None:
    lake.append(spark.sql(ORDERS), "orders")
    lake.overwrite(spark.sql("select 9 as id, 'z' as name"), "orders")
    assert rows(lake.read("orders")) == [(9, "z")]
    assert rows(lake.read("orders", version=1)) == [(1, "a"), (2, "b")]
    assert lake.tables.stats("orders").row_count == 1
    assert [snapshot.operation for snapshot in lake.tables.history("orders")] == ["overwrite", "append"]
    assert lake.tables.verify("orders").ok


def test_a_partition_overwrite_touches_only_the_partitions_of_its_rows(lake: Ledger, spark: SparkSession) -> None:
    lake.append(spark.sql("select * from values (1, 'mon'), (2, 'tue'), (3, null) as t(id, day)"), "days", partition_by=["day"])
    before = {file.partition_path: file for file in lake.tables.files("days")}
    lake.overwrite(spark.sql("select * from values (20, 'tue'), (40, 'wed') as t(id, day)"), "days", by_partition=True)
    assert rows(lake.read("days")) == [(1, "mon"), (20, "tue"), (3, None), (40, "wed")]
    after = {file.partition_path: file for file in lake.tables.files("days")}
    assert {path for path in before if after[path].id == before[path].id} == {"day=mon", "day=__HIVE_DEFAULT_PARTITION__"}
    assert rows(lake.read("days", version=1)) == [(1, "mon"), (2, "tue"), (3, None)]


def test_a_partition_overwrite_without_rows_changes_no_row(sqlite_lake: Ledger, spark: SparkSession) -> None:
    sqlite_lake.append(spark.sql("select 1 as id, 'mon' as day"), "days", partition_by=["day"])
    sqlite_lake.overwrite(spark.sql("select 2 as id, 'mon' as day where false"), "days", by_partition=True)
    assert rows(sqlite_lake.read("days")) == [(1, "mon")]


def test_only_a_partitioned_table_is_overwritten_by_partition(sqlite_lake: Ledger, spark: SparkSession) -> None:
    sqlite_lake.append(spark.sql(ORDERS), "orders")
    with pytest.raises(Invalid, match=r"main\.orders is not partitioned"):
        sqlite_lake.overwrite(spark.sql(ORDERS), "orders", by_partition=True)


def test_the_same_batch_is_applied_once(lake: Ledger, spark: SparkSession) -> None:
    first = lake.append(spark.sql(ORDERS), "orders", batch_id="monday")
    again = lake.append(spark.sql(ORDERS), "orders", batch_id="monday")
    assert (first.applied, again.applied, again.version) == (True, False, 1)
    assert len(rows(lake.read("orders"))) == 2
    assert {file.file_path for file in lake.tables.files("orders")} == data_files(lake, "orders")


def test_a_frame_that_was_read_before_an_overwrite_does_not_change(sqlite_lake: Ledger, spark: SparkSession) -> None:
    sqlite_lake.append(spark.sql(ORDERS), "orders")
    before = sqlite_lake.read("orders")
    sqlite_lake.overwrite(before.where("id = 2"), "orders")
    assert rows(before) == [(1, "a"), (2, "b")]
    assert rows(sqlite_lake.read("orders")) == [(2, "b")]


# Partitions


def test_partition_columns_stay_inside_the_files(sqlite_lake: Ledger, spark: SparkSession) -> None:
    frame = spark.sql("select * from values (1, 'mon', date'2026-01-01'), (2, 'tue', null) as t(id, day, at)")
    sqlite_lake.append(frame, "days", partition_by=["day", "at"])
    seen = []
    for file in sqlite_lake.tables.files("days"):
        content = parquet.ParquetFile(location(sqlite_lake, "days") / file.file_path).read()
        assert content.column_names == ["id", "day", "at"]
        seen += [tuple(row.values()) for row in content.to_pylist()]
        assert partition_values(file.partition_path) == {"day": seen[-1][1], "at": str(seen[-1][2]) if seen[-1][2] else None}
    assert sorted(seen) == [(1, "mon", date(2026, 1, 1)), (2, "tue", None)]


@pytest.mark.parametrize("format", FORMATS)
def test_every_partition_value_stays_itself(sqlite_lake: Ledger, spark: SparkSession, format: str) -> None:
    frame = spark.createDataFrame(list(enumerate(WEIRD)), "id int, part string")
    sqlite_lake.append(frame, "weird", partition_by=["part"], format=format)
    assert sorted(tuple(row) for row in sqlite_lake.read("weird").collect()) == list(enumerate(WEIRD))
    files = sqlite_lake.tables.files("weird")
    assert len({file.partition_path for file in files}) == len(WEIRD)
    assert Counter(partition_values(file.partition_path)["part"] for file in files) == Counter(WEIRD)
    assert sqlite_lake.tables.verify("weird").ok


def test_look_alike_partition_values_are_overwritten_one_by_one(sqlite_lake: Ledger, spark: SparkSession) -> None:
    alike = ["", None, "_", "__HIVE_DEFAULT_PARTITION__", "a/b", "a%2Fb"]
    sqlite_lake.append(spark.createDataFrame([(0, value) for value in alike], "id int, part string"), "weird", partition_by=["part"])
    for number, value in enumerate(alike, start=1):
        sqlite_lake.overwrite(spark.createDataFrame([(number, value)], "id int, part string"), "weird", by_partition=True)
    assert rows(sqlite_lake.read("weird")) == sorted(((number, value) for number, value in enumerate(alike, start=1)), key=repr)


def test_partition_columns_may_have_any_name(sqlite_lake: Ledger, spark: SparkSession) -> None:
    names = ["a b", "a=b", "a/b", "a.b", "a`b", "ü", "%", "_x", "by_x"]
    frame = spark.createDataFrame([(1, *("x" for _ in names)), (2, *("y" for _ in names))], ["id", *names])
    sqlite_lake.append(frame, "t", partition_by=names)
    sqlite_lake.overwrite(frame.where("id = 2").withColumn("id", frame["id"] * 10), "t", by_partition=True)
    assert rows(sqlite_lake.read("t")) == [(1, *("x" for _ in names)), (20, *("y" for _ in names))]
    wanted = ["/".join(f"{name}={value}" for name in names) for value in "xy"]
    assert [file.partition_path for file in sqlite_lake.tables.files("t")] == wanted


def test_partitions_may_be_of_any_plain_type(sqlite_lake: Ledger, spark: SparkSession) -> None:
    frame = spark.sql(
        "select * from values (1, true, date'2026-01-01', 1.50bd, timestamp'2026-01-01 10:00:00.000001'), (2, null, null, null, null)"
        " as t(id, flag, day, amount, at)"
    )
    sqlite_lake.append(frame, "typed", partition_by=["flag", "day", "amount", "at"])
    assert rows(sqlite_lake.read("typed")) == rows(frame)
    assert {tuple(partition_values(file.partition_path).values()) for file in sqlite_lake.tables.files("typed")} == {
        ("true", "2026-01-01", "1.50", "2026-01-01 10:00:00.000001"),
        (None, None, None, None),
    }


@pytest.mark.parametrize("partition_by", [["nope"], ["id", "nope"], ["id", "id"], ["id", "ID"]])
def test_partitioning_by_what_is_not_there_or_twice_is_refused(sqlite_lake: Ledger, spark: SparkSession, partition_by: list[str]) -> None:
    with pytest.raises(Invalid, match="partition"):
        sqlite_lake.append(spark.sql(ORDERS), "orders", partition_by=partition_by)
    assert sqlite_lake.tables.find("orders") is None
    assert not stored(sqlite_lake)


def test_partition_columns_are_matched_whatever_their_case(sqlite_lake: Ledger, spark: SparkSession) -> None:
    sqlite_lake.append(spark.sql("select 1 as id, 'mon' as Day"), "days", partition_by=["DAY"])
    sqlite_lake.append(spark.sql("select 2 as ID, 'mon' as day"), "days", partition_by=["day"])
    assert len({file.partition_path for file in sqlite_lake.tables.files("days")}) == 1


def test_a_table_keeps_its_format_and_partitions(sqlite_lake: Ledger, spark: SparkSession) -> None:
    sqlite_lake.append(spark.sql(ORDERS), "orders", partition_by=["name"])
    before = stored(sqlite_lake)
    others: list[dict[str, Any]] = [{"format": "jsonl"}, {"partition_by": ["id"]}, {"partition_by": []}]
    for other in others:
        with pytest.raises(Invalid, match="parquet, partitioned by name"):
            sqlite_lake.append(spark.sql(ORDERS), "orders", **other)
    with pytest.raises(Invalid, match="unknown file format 'orc'"):
        sqlite_lake.append(spark.sql(ORDERS), "other", format="orc")
    assert stored(sqlite_lake) == before
    sqlite_lake.overwrite(spark.sql(ORDERS), "orders", format="jsonl", partition_by=[])
    assert rows(sqlite_lake.read("orders")) == rows(sqlite_lake.read("orders", version=1)) == [(1, "a"), (2, "b")]


# Time travel


def test_each_version_is_read_as_it_was(lake: Ledger, spark: SparkSession) -> None:
    lake.append(spark.sql(ORDERS), "orders")
    lake.append(spark.sql("select 3 as id, 'c' as name, 1.5d as price"), "orders", evolve=True)
    lake.overwrite(spark.sql("select 'x' as code"), "orders")
    assert lake.read("orders", version=1).columns == ["id", "name"]
    assert rows(lake.read("orders", version=1)) == [(1, "a"), (2, "b")]
    assert lake.read("orders", version=2).columns == ["id", "name", "price"]
    assert rows(lake.read("orders", version=2)) == [(1, "a", None), (2, "b", None), (3, "c", 1.5)]
    assert lake.read("orders").columns == ["code"]
    assert rows(lake.read("orders")) == [("x",)]


def test_a_table_is_read_as_it_was_at_a_time(lake: Ledger, spark: SparkSession) -> None:
    lake.append(spark.sql(ORDERS), "orders")
    lake.overwrite(spark.sql("select 'x' as code"), "orders")
    second, first = (snapshot.committed_at for snapshot in lake.tables.history("orders"))
    assert first < second
    assert rows(lake.read("orders", at=first)) == [(1, "a"), (2, "b")]
    assert rows(lake.read("orders", at=second - timedelta(microseconds=1))) == [(1, "a"), (2, "b")]
    assert rows(lake.read("orders", at=second)) == rows(lake.read("orders", at=second + timedelta(days=1))) == [("x",)]
    with pytest.raises(NotFound, match=r"main\.orders did not exist at"):
        lake.read("orders", at=first - timedelta(microseconds=1))


def test_a_version_or_table_that_never_was_is_not_found(lake: Ledger, spark: SparkSession) -> None:
    lake.append(spark.sql(ORDERS), "orders")
    for version in (0, 2, -1):
        with pytest.raises(NotFound, match=f"no version {version}: it has 1 to 1"):
            lake.read("orders", version=version)
    with pytest.raises(NotFound, match=r"no table main\.nope"):
        lake.read("nope")


def test_a_time_without_a_zone_is_refused(lake: Ledger, spark: SparkSession) -> None:
    lake.append(spark.sql(ORDERS), "orders")
    with pytest.raises(Invalid, match="time zone"):
        lake.read("orders", at=datetime(2099, 1, 1))  # noqa: DTZ001 - that is the point


def test_new_columns_come_last_and_the_others_are_found_by_name(lake: Ledger, spark: SparkSession) -> None:
    lake.append(spark.sql("select 1 as id, 'a' as name"), "orders")
    lake.append(spark.sql("select true as paid, 'b' as NAME, 2 as Id"), "orders", evolve=True)
    lake.append(spark.sql("select 'c' as name, 3 as id, false as paid"), "orders")
    assert lake.read("orders").columns == ["id", "name", "paid"]
    assert rows(lake.read("orders")) == [(1, "a", None), (2, "b", True), (3, "c", False)]
    assert lake.tables.view("orders").table.current_version == 3
    metadata = lake.tables.metadata("orders")
    assert metadata is not None
    assert metadata.schema_version == 2


def test_column_names_that_look_the_same_are_the_same(sqlite_lake: Ledger, spark: SparkSession) -> None:
    sqlite_lake.append(spark.sql("select 1 as `caf\u00e9`"), "t")
    sqlite_lake.append(spark.sql("select 2 as `cafe\u0301`"), "t")
    assert rows(sqlite_lake.read("t")) == [(1,), (2,)]


# What the registry says of files


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


@contextmanager
def conf(spark: SparkSession, settings: dict[str, str]) -> Iterator[None]:
    before = {key: spark.conf.get(key, None) for key in settings}
    for key, value in settings.items():
        spark.conf.set(key, value)
    try:
        yield
    finally:
        for key, old in before.items():
            spark.conf.unset(key) if old is None else spark.conf.set(key, old)


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


@contextmanager
def timezone(name: str) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", name)
        time.tzset()
        yield
    time.tzset()


def test_checksums_appear_in_the_background(lake: Ledger, spark: SparkSession) -> None:
    lake.append(spark.sql("select * from values (1, 'x'), (2, 'y') as t(id, part)"), "t", partition_by=["part"])
    files = until(lambda: all_have_checksums(lake, "t"), "every file has its checksum")
    for file in files:
        content = (location(lake, "t") / file.file_path).read_bytes()
        assert file.checksum == f"sha256:{hashlib.sha256(content).hexdigest()}"


def all_have_checksums(ledger: Ledger, table: str) -> list[Any]:
    files = list(ledger.tables.files(table))
    return files if all(file.checksum for file in files) else []


def test_closing_the_ledger_leaves_no_checksum_undone(url: str, tmp_path: Path, spark: SparkSession) -> None:
    with lakeledger.open(url, warehouse=str(tmp_path / "w"), spark=spark) as ledger:
        for number in range(3):
            ledger.append(spark.sql(f"select {number} as id"), "t")
    with lakeledger.open(url, warehouse=str(tmp_path / "w")) as ledger:
        assert len(all_have_checksums(ledger, "t")) == 3


# JSON Lines


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


# Frames without rows, without columns, with too many


@pytest.mark.parametrize("format", FORMATS)
def test_a_frame_without_rows_makes_an_empty_table(lake: Ledger, spark: SparkSession, format: str) -> None:
    committed = lake.append(spark.sql("select 1 as id, 'x' as name where false"), "t", format=format)
    assert (committed.version, committed.snapshot.summary["added_files"]) == (1, 0)
    assert lake.read("t").columns == ["id", "name"]
    assert rows(lake.read("t")) == []
    lake.append(spark.sql("select 1 as id, 'x' as name"), "t")
    lake.append(spark.sql("select 1 as id, 'x' as name limit 0"), "t")
    assert rows(lake.read("t")) == [(1, "x")]
    lake.overwrite(spark.createDataFrame([], "id int, name string"), "t")
    assert rows(lake.read("t")) == []
    assert lake.tables.stats("t").row_count == 0
    assert lake.tables.verify("t").ok


def test_a_frame_without_columns_is_refused(sqlite_lake: Ledger, spark: SparkSession) -> None:
    with pytest.raises(Invalid, match=r"the data for main\.t has no columns"):
        sqlite_lake.append(spark.range(1).drop("id"), "t")
    assert sqlite_lake.tables.find("t") is None


def test_columns_that_differ_only_in_case_are_refused(sqlite_lake: Ledger, spark: SparkSession) -> None:
    with conf(spark, {"spark.sql.caseSensitive": "true"}):
        for query in (
            "select 1 as id, 2 as ID",
            "select 1 as id, 2 as id",
            "select 1 as `caf\u00e9`, 2 as `cafe\u0301`",
            "select array(named_struct('id', 1, 'ID', 2)) as nested",
        ):
            with pytest.raises(Invalid, match=r"the data for main\.t has columns that differ only in case"):
                sqlite_lake.append(spark.sql(query), "t")
    assert sqlite_lake.tables.find("t") is None
    assert not stored(sqlite_lake)


# What does not fit, and what fails


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ("select 1 as id", "name is missing"),
        ("select 1 as id, 'a' as name, 2 as extra", "extra is new"),
        ("select 'x' as id, 'a' as name", "id is integer, not string"),
        ("select 1L as id, 'a' as name", "id is integer, not long"),
        ("select array(1) as id, 'a' as name", "id is integer, not array"),
        ("select 1 as id, named_struct('x', 1) as name", "name is string, not struct"),
    ],
)
def test_data_that_does_not_fit_is_refused_before_anything_is_written(lake: Ledger, spark: SparkSession, query: str, problem: str) -> None:
    lake.append(spark.sql(ORDERS), "orders", partition_by=["name"])
    before = stored(lake)
    for attempt in (lake.append, by_partition(lake)):
        with pytest.raises(Invalid, match=rf"the data does not fit main\.orders: .*{problem}"), raise_at("before_write", Boom()):
            attempt(spark.sql(query), "orders")
        run = lake.runs.list(limit=1)[0]
        assert (run.status, run.commit_count) == ("FAILED", 0)
        assert problem in (run.error_message or "")
    assert stored(lake) == before
    assert lake.tables.get("orders").current_version == 1


def by_partition(ledger: Ledger) -> Callable[[DataFrame, str], Any]:
    return lambda frame, table: ledger.overwrite(frame, table, by_partition=True)


def test_growing_a_table_does_not_hide_what_else_does_not_fit(sqlite_lake: Ledger, spark: SparkSession) -> None:
    sqlite_lake.append(spark.sql(ORDERS), "orders")
    with pytest.raises(Invalid, match="name is missing, id is integer, not long"):
        sqlite_lake.append(spark.sql("select 1L as id, 2 as extra"), "orders", evolve=True)


@pytest.mark.parametrize("point", ["before_write", "after_write", "in_transaction"])
def test_a_write_that_fails_leaves_no_trace_in_the_table(lake: Ledger, spark: SparkSession, point: str) -> None:
    lake.append(spark.sql(ORDERS), "orders")
    before = stored(lake)
    with raise_at(point, Boom("on purpose")), pytest.raises(Boom, match="on purpose"):
        lake.append(spark.sql(ORDERS), "orders", position=("shop.orders", lakeledger.NumberPosition(7)))
    run = lake.runs.list(limit=1)[0]
    assert (run.status, run.error_message, run.commit_count) == ("FAILED", "Boom: on purpose", 0)
    assert stored(lake) == before
    assert lake.tables.get("orders").current_version == 1
    assert lake.positions.find("shop.orders") is None
    assert lake.append(spark.sql(ORDERS), "orders", position=("shop.orders", lakeledger.NumberPosition(7))).version == 2


def test_a_first_write_that_fails_leaves_no_table(lake: Ledger, spark: SparkSession) -> None:
    with raise_at("in_transaction", Boom()), pytest.raises(Boom):
        lake.append(spark.sql(ORDERS), "orders")
    assert lake.tables.list() == []
    assert not stored(lake)
    assert [change.table_name for change in lake.changes.after(0) if change.table_name != "pipeline_runs"] == []


def test_an_error_in_the_data_reaches_the_caller(sqlite_lake: Ledger, spark: SparkSession) -> None:
    from pyspark.errors import PySparkException
    from pyspark.sql.functions import udf

    broken = udf(lambda number: 1 // number, "int")
    with pytest.raises(PySparkException, match="ZeroDivisionError"):
        sqlite_lake.append(spark.range(1).select(broken("id").alias("id")), "t")
    run = sqlite_lake.runs.list(limit=1)[0]
    assert run.status == "FAILED"
    assert "ZeroDivisionError" in (run.error_message or "")
    assert sqlite_lake.tables.find("t") is None
    assert not stored(sqlite_lake)


def test_an_interrupt_after_the_commit_keeps_the_committed_files(lake: Ledger, spark: SparkSession) -> None:
    with interrupted_after_commit(lake), pytest.raises(KeyboardInterrupt):
        lake.append(spark.sql(ORDERS), "orders")
    assert rows(lake.read("orders")) == [(1, "a"), (2, "b")]
    assert lake.tables.verify("orders").ok


@contextmanager
def interrupted_after_commit(ledger: Ledger) -> Iterator[None]:
    """Press Ctrl-C just after the database has committed the data, before anybody in Python knows."""
    real, pressed = ledger.database.transaction, False

    @contextmanager
    def transaction(tenant_id: str, *, write: bool) -> Iterator[Transaction]:
        nonlocal pressed
        with real(tenant_id, write=write) as tx:
            yield tx
            has_committed = bool(store.list_all(tx))
        if write and has_committed and not pressed:
            pressed = True
            raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ledger.database, "transaction", transaction)
        yield


# Names and types


@pytest.mark.parametrize("format", FORMATS)
def test_columns_may_have_any_name(sqlite_lake: Ledger, spark: SparkSession, format: str) -> None:
    names = ["a b", "a.b", "a`b", "ü", "漢字", "a,b;{}()=", "a/b", "%", "'", '"', "select", "a\nb", "1", "rows", "min_0"]
    frame = spark.createDataFrame([tuple(range(len(names)))], names)
    sqlite_lake.append(frame, "t", format=format)
    sqlite_lake.append(frame.select(*(frame[f"`{name.replace('`', '``')}`"] for name in reversed(names))), "t")
    assert sqlite_lake.read("t").columns == names
    assert rows(sqlite_lake.read("t")) == [tuple(range(len(names)))] * 2
    assert sqlite_lake.tables.files("t")[0].column_bounds["a b"]["max"] == 0


TYPES = {
    "boolean": "true",
    "byte": "127Y",
    "short": "-32768S",
    "int": "2147483647",
    "long": "-9223372036854775808L",
    "float": "3.4028234E38f",
    "double": "4.9E-324d",
    "decimal": "cast('-9999999999999999999999999999.9999999999' as decimal(38, 10))",
    "small decimal": "cast(-1.05 as decimal(5, 2))",
    "string": "'ü😀'",
    "varchar": "cast('ab' as varchar(10))",
    "binary": "X'00ff80'",
    "date": "date'1582-10-04'",
    "timestamp": "timestamp'1883-11-18 12:03:57.999999'",
    "timestamp_ntz": "timestamp_ntz'0001-01-01 00:00:00.000001'",
    "year-month interval": "interval '-1-2' year to month",
    "day-time interval": "interval '1 02:03:04.567891' day to second",
    "array": "array(1, null)",
    "map": "map('a', 1, 'b', null)",
    "struct": "named_struct('x', named_struct('y', array(named_struct('z', 1.10bd))))",
    "void": "null",
}
PARQUET_ONLY = {"map by number": "map(1, 'a')", "map by struct": "map(named_struct('a', 1), 2)"}


@pytest.mark.parametrize("format", FORMATS)
def test_every_type_comes_back_as_it_went(sqlite_lake: Ledger, spark: SparkSession, format: str) -> None:
    types = TYPES | (PARQUET_ONLY if format == "parquet" else {})
    frame = spark.sql("select " + ", ".join(f"{value} as `{name}`" for name, value in types.items()))
    sqlite_lake.append(frame, "t", format=format)
    sqlite_lake.append(frame.select(*(f"`{name}`" for name in types)).where("false").union(spark.sql(nulls_like(frame))), "t")
    back = sqlite_lake.read("t")
    assert back.schema.simpleString() == frame.schema.simpleString()
    assert as_text(back.where("`int` is not null")) == as_text(frame)
    assert set(as_text(back.where("`int` is null"))[0]) == {None}


def nulls_like(frame: DataFrame) -> str:
    return "select " + ", ".join(f"cast(null as {field.dataType.simpleString()}) as `{field.name}`" for field in frame.schema)


def as_text(frame: DataFrame) -> list[tuple[Any, ...]]:
    """Rows by Spark's own text: Python has no value for some of Spark's types."""
    return [tuple(row) for row in frame.selectExpr(*(f"string(`{name}`)" for name in frame.columns)).collect()]


@pytest.mark.parametrize("format", FORMATS)
def test_variants_come_back_as_they_went(sqlite_lake: Ledger, spark: SparkSession, format: str) -> None:
    sqlite_lake.append(
        spark.sql("""select parse_json('{"a": [1, null, "x"]}') as v, parse_json('null') as n, cast(null as variant) as z"""),
        "t",
        format=format,
    )
    back = sqlite_lake.read("t").selectExpr("to_json(v)", "is_variant_null(n)", "z is null").collect()
    assert rows_of(back) == [('{"a":[1,null,"x"]}', True, True)]


def rows_of(collected: Iterable[Any]) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in collected]


def test_numbers_without_a_value_come_back(sqlite_lake: Ledger, spark: SparkSession) -> None:
    for format in FORMATS:
        sqlite_lake.append(spark.sql("select double('NaN') as x, -0.0d as zero"), format, format=format)
        ((nan, zero),) = sqlite_lake.read(format).collect()
        assert math.isnan(nan)
        assert math.copysign(1, zero) == -1


# Verify


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


# Names and places


@pytest.mark.parametrize(
    "name",
    ["", ".", "a.", ".a", "..", "../x", "a/b", "/etc", "a.b.c", "a b", "a-b", "a;drop table x", "a'b", 'a"b', "a`b", "ü", "1a", "a\n",
     "a\x00", "%41", "x" * 129, "~", "$HOME", "a\\b"],
)  # fmt: skip
def test_hostile_table_names_are_refused(sqlite_lake: Ledger, spark: SparkSession, name: str) -> None:
    for attempt in (
        lambda: sqlite_lake.append(spark.sql(ORDERS), name),
        lambda: sqlite_lake.read(name),
        lambda: sqlite_lake.tables.verify(name),
    ):
        with pytest.raises(Invalid, match="is not allowed"):
            attempt()
    assert not Path(sqlite_lake.warehouse).exists()
    assert sqlite_lake.tables.list() == []


@pytest.mark.parametrize("folder", ["a b#ü", "a[b]c", "a{b}", "100%20", "a*b?", "a:b'", "a\\b"])
def test_a_warehouse_may_be_in_any_folder(tmp_path: Path, spark: SparkSession, folder: str) -> None:
    with lakeledger.open(f"sqlite:///{tmp_path}/ledger.db", warehouse=str(tmp_path / folder / "w"), spark=spark) as ledger:
        ledger.append(spark.sql("select * from values (1, 'x'), (2, 'y') as t(id, part)"), "t", partition_by=["part"])
        assert rows(ledger.read("t")) == [(1, "x"), (2, "y")]
        assert ledger.tables.verify("t").ok
        assert ledger.tables.sweep(timedelta(0)).leftovers == []
