"""Tables on Spark: append, overwrite, partitions, and what happens when a write fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date
from typing import TYPE_CHECKING, Any

import pytest
from pyarrow import parquet

import lakeledger
from integration.frames import FORMATS, ORDERS, WEIRD, Boom, conf, data_files, location, rows, stored
from lakeledger import Conflict, Failed, Invalid, Ledger, Unavailable
from lakeledger.db import Transaction
from lakeledger.tables import store
from lakeledger.testing import raise_at

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


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
    assert run.end_time == committed.snapshot.committed_at  # in the same transaction
    assert run.bytes_processed == committed.table.total_size > 0
    volume = lake.records.latest("main.orders", "ingestion_volume")
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


def test_partition_columns_stay_inside_the_files(sqlite_lake: Ledger, spark: SparkSession) -> None:
    frame = spark.sql("select * from values (1, 'mon', date'2026-01-01'), (2, 'tue', null) as t(id, day, at)")
    sqlite_lake.append(frame, "days", partition_by=["day", "at"])
    seen = []
    for file in sqlite_lake.tables.files("days"):
        content = parquet.ParquetFile(location(sqlite_lake, "days") / file.file_path).read()
        assert content.column_names == ["id", "day", "at"]
        seen += [tuple(row.values()) for row in content.to_pylist()]
        assert file.partition_path == f"day={seen[-1][1]}/at={seen[-1][2] or '__HIVE_DEFAULT_PARTITION__'}"
    assert sorted(seen) == [(1, "mon", date(2026, 1, 1)), (2, "tue", None)]


@pytest.mark.parametrize("format", FORMATS)
def test_every_partition_value_stays_itself(sqlite_lake: Ledger, spark: SparkSession, format: str) -> None:
    frame = spark.createDataFrame(list(enumerate(WEIRD)), "id int, part string")
    sqlite_lake.append(frame, "weird", partition_by=["part"], format=format)
    assert sorted(tuple(row) for row in sqlite_lake.read("weird").collect()) == list(enumerate(WEIRD))
    files = sqlite_lake.tables.files("weird")
    assert len({file.partition_path for file in files}) == len(WEIRD)
    assert sqlite_lake.tables.verify("weird").ok


def test_a_partition_gets_one_file_however_many_tasks_have_rows_of_it(sqlite_lake: Ledger, spark: SparkSession) -> None:
    sqlite_lake.append(spark.range(0, 200, 1, 20).selectExpr("id", "id % 5 as part"), "t", partition_by=["part"])
    assert sorted(file.partition_path for file in sqlite_lake.tables.files("t")) == [f"part={part}" for part in range(5)]
    assert sqlite_lake.read("t").count() == 200


def test_a_big_partition_is_written_by_several_tasks(sqlite_lake: Ledger, spark: SparkSession) -> None:
    adaptive = {"spark.sql.adaptive.enabled": "true", "spark.sql.adaptive.advisoryPartitionSizeInBytes": "64k"}
    with conf(spark, adaptive):
        sqlite_lake.append(spark.range(0, 20_000, 1, 20).selectExpr("id", "uuid() as text", "'all' as part"), "t", partition_by=["part"])
    assert len(sqlite_lake.tables.files("t")) > 1
    assert sqlite_lake.read("t").selectExpr("count(*)", "count(distinct id)").collect()[0] == (20_000, 20_000)


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
    assert {file.partition_path for file in sqlite_lake.tables.files("typed")} == {
        "flag=true/day=2026-01-01/amount=1.50/at=2026-01-01 10%3A00%3A00.000001",
        "/".join(f"{name}=__HIVE_DEFAULT_PARTITION__" for name in ("flag", "day", "amount", "at")),
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


@pytest.mark.parametrize("verb", ["append", "overwrite"])
@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (lambda spark: spark.sql("select 1 as id").toPandas(), r"pandas\.core\.frame\.DataFrame"),
        (lambda spark: spark.sql("select 1 as id").toArrow(), r"pyarrow\.lib\.Table"),
        (lambda spark: spark.sql("select 1 as id").collect(), "list"),
        (lambda _: None, "NoneType"),
    ],
    ids=["pandas", "arrow", "rows", "nothing"],
)
def test_what_is_no_frame_of_spark_is_refused(
    sqlite_lake: Ledger, spark: SparkSession, verb: str, make: Callable[[SparkSession], Any], kind: str
) -> None:
    with pytest.raises(Invalid, match=rf"main\.t takes a Spark DataFrame, not {kind}: make one with spark\.createDataFrame\(frame\)"):
        getattr(sqlite_lake, verb)(make(spark), "t")
    assert sqlite_lake.runs.list() == []


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
    with pytest.raises(Invalid, match="name is missing, id is integer, not string"):
        sqlite_lake.append(spark.sql("select '1' as id, 2 as extra"), "orders", evolve=True)


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
    from pyspark.sql.functions import udf

    broken = udf(lambda number: 1 // number, "int")
    with pytest.raises(Failed, match="ZeroDivisionError"):
        sqlite_lake.append(spark.range(1).select(broken("id").alias("id")), "t")
    run = sqlite_lake.runs.list(limit=1)[0]
    assert run.status == "FAILED"
    assert "ZeroDivisionError" in (run.error_message or "")
    assert sqlite_lake.tables.find("t") is None
    assert not stored(sqlite_lake)


def test_an_interrupt_after_the_commit_keeps_the_committed_files(lake: Ledger, spark: SparkSession) -> None:
    with heard_after_commit(lake, KeyboardInterrupt()), pytest.raises(KeyboardInterrupt):
        lake.append(spark.sql(ORDERS), "orders")
    assert rows(lake.read("orders")) == [(1, "a"), (2, "b")]
    assert lake.tables.verify("orders").ok


def test_a_commit_whose_answer_was_lost_is_found(lake: Ledger, spark: SparkSession) -> None:
    with heard_after_commit(lake, Unavailable("the connection broke")):
        committed = lake.append(spark.sql(ORDERS), "orders")
    assert (committed.version, committed.applied) == (1, True)
    assert rows(lake.read("orders")) == [(1, "a"), (2, "b")]
    assert lake.runs.list()[0].status == "COMPLETED"


def test_an_overwrite_computed_from_an_older_version_is_refused(lake: Ledger, spark: SparkSession) -> None:
    lake.append(spark.sql(ORDERS), "orders")
    computed = lake.read("orders")
    lake.append(spark.sql(ORDERS), "orders")
    with pytest.raises(Conflict, match="moved from version 1 to 2"):
        lake.overwrite(computed, "orders", base_version=1)
    assert lake.tables.get("orders").row_count == 4


@contextmanager
def heard_after_commit(ledger: Ledger, news: BaseException) -> Iterator[None]:
    """Raise just after the database has committed the data, before anybody in Python knows."""
    real, pressed = ledger.database.transaction, False

    @contextmanager
    def transaction(tenant_id: str, *, write: bool) -> Iterator[Transaction]:
        nonlocal pressed
        with real(tenant_id, write=write) as tx:
            yield tx
            has_committed = bool(store.list_page(tx, 1))
        if write and has_committed and not pressed:
            pressed = True
            raise news

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ledger.database, "transaction", transaction)
        yield
