"""Compaction on Spark: the same rows in fewer files, for every kind of table, and a writer always goes first."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyarrow import parquet

import lakeledger
from iceberg_readers import with_pyiceberg
from integration.commands import answer, refused, shown
from integration.compacting import compact, eager
from integration.frames import FORMATS, WEIRD, data_files, rows
from integration.loading import HEADER, only, orders, put, run
from integration.waiting import until
from lakeledger import Ledger, failpoints
from lakeledger.cli import FAILED
from lakeledger.config import CompactionSettings
from lakeledger.maintenance.compaction import pipeline_of
from lakeledger.names import parse_name
from lakeledger.pipelines import write
from lakeledger.pipelines.claiming import claimed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EVENTS = "id int, region string, name string, seq int, op string"


def apply(ledger: Ledger, *events: tuple[Any, ...], scd_type: Any = 1) -> None:
    ledger.apply_changes(
        ledger.spark.createDataFrame(list(events), EVENTS),
        "silver.people",
        keys=["id"],
        sequence_by="seq",
        apply_as_deletes="op = 'D'",
        except_column_list=["op", "seq"],
        stored_as_scd_type=scd_type,
        partition_by=["region"],
    )


def at_every_version(ledger: Ledger, table: str) -> dict[int, Any]:
    found = {}
    for each in ledger.tables.history(table):
        frame = ledger.read(table, each.version)
        found[each.version] = (frame.columns, rows(frame))
    return found


def test_rows_versions_hidden_columns_and_order_stay_what_they_were(lake: Ledger) -> None:
    scd_type = 1 if lake.database.dialect == "sqlite" else 2  # neither depends on the database
    for number in (3, 1, 2):
        ids = [10 * each + number for each in range(6)]
        apply(lake, *((each, "eu" if each < 30 else "us", f"n{number}", 5, "U") for each in ids), scd_type=scd_type)
    lake.publisher.set_mode("silver.people", "sync")
    lake.columns.rename("silver.people", "name", "who")
    lake.columns.add("silver.people", "city", "string")
    before, volumes = at_every_version(lake, "silver.people"), len(lake.records.history(kind="ingestion_volume"))
    assert lake.tables.get("silver.people").file_count >= 6
    done = compact(lake, "silver.people")
    assert (done.groups_done, done.files_after, len(done.versions)) == (2, 2, 1)
    table = lake.tables.get("silver.people")
    now = lake.read("silver.people")
    assert (now.columns, rows(now)) == before[table.current_version - 1]
    assert {version: found for version, found in at_every_version(lake, "silver.people").items() if version in before} == before
    assert table.content_version < table.current_version == done.versions[0]
    snapshot = lake.tables.history("silver.people")[0]
    assert (snapshot.operation, snapshot.summary["added_rows"]) == ("replace", snapshot.summary["removed_rows"])
    elsewhere = with_pyiceberg(lake, "silver.people", snapshot.iceberg_snapshot_id or 0)
    assert elsewhere.num_rows == now.count()
    # Rows are in the order of their keys, and of nobody's ingestion.
    for file in lake.tables.files("silver.people"):
        ids = parquet.read_table(f"{table.location}/{file.file_path}").column("id").to_pylist()
        assert ids == sorted(ids)
        assert file.column_bounds["id"]["min"] == min(ids)
    assert len(lake.records.history(kind="ingestion_volume")) == volumes
    record = lake.records.latest("silver.people", "compaction")
    assert record is not None
    assert (record.payload["files_after"], record.payload["rows"]) == (2, now.count())
    logged = lake.runs.get(done.run_id or "")
    assert (logged.run_kind, logged.pipeline_id, logged.status) == ("maintenance", "compact:silver.people", "COMPLETED")
    # A late event does not win over what was compacted: sequences are still known. A delete is.
    late = "select 1 as id, 'eu' as region, 'late' as who, 'x' as city, 4 as seq, 'U' as op union all select 32, 'us', 'x', 'x', 9, 'D'"
    lake.apply_changes(
        lake.spark.sql(late),
        "silver.people",
        keys=["id"],
        sequence_by="seq",
        apply_as_deletes="op = 'D'",
        except_column_list=["op", "seq"],
        stored_as_scd_type=scd_type,  # type: ignore[arg-type]
    )
    found = {row["id"]: row["who"] for row in lake.read("silver.people").collect() if scd_type == 1 or row["__CURRENT"]}
    assert (found[1], 32 in found) == ("n1", False)
    assert eager(lake, min_files=5).compact(["silver.people"])[0].plan.groups == ()
    lake.settle()
    assert lake.tables.verify("silver.people").ok


@pytest.mark.parametrize("format_", FORMATS)
def test_files_of_a_source_are_found_again_and_a_sort_order_holds(sqlite_lake: Ledger, base: Path, format_: str) -> None:
    lake = sqlite_lake
    target = f"target_config: {{table: orders, format: {format_}, sort_by: [price]}}"
    document = orders(changed_files="replace").replace("target_config: {table: orders}", target)
    for number in range(4):
        put(base / f"orders/{number}.csv", f"{HEADER}{number},a,{9 - number}.5\n{number + 10},b,{number}.25\n")
        assert only(run(lake, document, base)).error is None
    before, positions = rows(lake.read("orders")), lake.positions.list()
    done = compact(lake, "orders")
    assert (done.files_before, done.files_after) == (4, 1)
    assert rows(lake.read("orders")) == before
    assert lake.positions.list() == positions
    prices = [row["price"] for row in lake.read("orders").collect()]  # one file is read as it was written
    assert prices == sorted(prices)
    assert only(run(lake, document, base)).loaded.summary == "nothing new"  # type: ignore[union-attr]
    put(base / "orders/2.csv", f"{HEADER}77,z,1.5\n")
    assert only(run(lake, document, base)).error is None
    assert rows(lake.read("orders")) == sorted([row for row in before if row[0] not in (2, 12)] + [(77, "z", 1.5)], key=repr)
    assert lake.tables.metadata("orders").sort_by == ["price"]  # type: ignore[union-attr]
    lake.columns.rename("orders", "price", "cost")
    assert lake.tables.metadata("orders").sort_by == ["cost"]  # type: ignore[union-attr]


def test_every_partition_value_and_type_survives_and_so_do_rows_set_aside(sqlite_lake: Ledger, spark: SparkSession) -> None:
    parts = spark.createDataFrame([(value,) for value in WEIRD], "part string")
    values = [
        "cast(1.5 as decimal(20,3)) as d",
        "timestamp'1582-10-15 01:02:03.123456' as t",
        "date'0001-01-01' as o",
        "array(1, null) as a",
        "map('k', named_struct('x', 1.0d)) as m",
        "X'00ff' as b",
        "cast('nan' as double) as f",
    ]
    for _ in range(2):
        sqlite_lake.append(parts.selectExpr("*", *values), "odd", partition_by=["part"])
    before, places = rows(sqlite_lake.read("odd")), {file.partition_path for file in sqlite_lake.tables.files("odd")}
    done = compact(sqlite_lake, "odd")
    assert (done.files_before, done.files_after) == (2 * len(places), len(places))
    assert {file.partition_path for file in sqlite_lake.tables.files("odd")} == places
    assert repr(rows(sqlite_lake.read("odd"))) == repr(before)  # nothing equals nan
    # Rows that were set aside are in the place of the table that they are not in.
    for number in range(2):
        events = spark.sql(f"select {number} as id, 1 as seq union all select null, 1")
        sqlite_lake.apply_changes(events, "people", keys=["id"], sequence_by="seq")
    bad = rows(sqlite_lake.read("people__quarantine"))
    assert compact(sqlite_lake, "people__quarantine").files_after == compact(sqlite_lake, "people").files_after == 1
    assert (rows(sqlite_lake.read("people__quarantine")), sqlite_lake.read("people").count()) == (bad, 2)
    sqlite_lake.settle()
    assert sqlite_lake.tables.verify("people__quarantine").ok


@pytest.fixture
def people(lake: Ledger, spark: SparkSession) -> Ledger:
    """A table of two partitions, each of three files: ids 0 to 5 and 100 to 105."""
    for number in range(3):
        frame = spark.sql(f"select id, if(id < 100, 'low', 'high') as part, 0 as times from values {2 * number}, {2 * number + 1}, "
                          f"{100 + 2 * number}, {101 + 2 * number} as t(id)")  # fmt: skip
        lake.merge(frame, "people", keys=["id"], partition_by=["part"])
    assert lake.tables.get("people").file_count == 6
    return lake


def touch(ledger: Ledger, *ids: int, times: int = 1) -> int:
    """Merge new values of some rows; the version."""
    values = ", ".join(f"({each}, '{'low' if each < 100 else 'high'}', {times})" for each in ids)
    return ledger.merge(ledger.spark.sql(f"select * from values {values} as t(id, part, times)"), "people", keys=["id"]).version


def once(point: str, action: Callable[[], object]) -> None:
    def act(_: str) -> None:
        failpoints.armed.pop(point, None)
        action()

    failpoints.armed[point] = act


@pytest.fixture(autouse=True)
def _disarm() -> Any:
    yield
    failpoints.armed.clear()


def test_a_writer_who_comes_meanwhile_wins_and_the_other_groups_are_compacted(people: Ledger) -> None:
    once(failpoints.AFTER_WRITE, lambda: touch(people, 101))
    done = compact(people, "people", min_files=3)
    # The partition that the merge changed is planned again, and was worth it again.
    assert done.groups_done == 2
    assert {row["id"]: row["times"] for row in people.read("people").collect()}[101] == 1
    assert people.read("people").count() == 12
    known = {file.file_path for version in people.tables.history("people") for file in people.tables.files("people", version.version)}
    assert data_files(people, "people") == known  # nothing is left of what came too late


def test_what_a_writer_is_rewriting_is_left_alone_so_that_it_never_plans_again(people: Ledger) -> None:
    seen: dict[str, Any] = {}

    def meanwhile() -> None:
        (seen["plan"],) = eager(people).compact(["people"])
        (seen["done"],) = eager(people).compact(["people"], apply=True)

    once(failpoints.AFTER_WRITE, meanwhile)
    assert touch(people, 0, 1, 2, 3, 4, 5) == 5  # the compaction of the other partition was version 4
    assert [group.partition for group in seen["plan"].plan.groups] == ["part=high"]
    (left,) = seen["plan"].plan.left
    assert (left.partition, left.why.endswith("is just rewriting its files, and a writer goes first")) == ("part=low", True)
    assert (seen["done"].groups_done, seen["done"].problem) == (1, None)
    assert [each.operation for each in people.tables.history("people")][:2] == ["merge", "replace"]
    (done,) = eager(people).compact(["people"], apply=True)
    assert done.problem is None
    assert sum(row["times"] for row in people.read("people").collect()) == 6


def test_a_writer_who_lost_to_a_compaction_once_does_not_lose_again(people: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """A compaction can be faster only between the comparison of keys and the claim, before anything is written."""
    inner, tried, problems = claimed, [], []

    def late(*arguments: Any) -> Any:
        tried.append(arguments)
        (done,) = ThreadPoolExecutor(1).submit(lambda: eager(people).compact(["people"], apply=True)).result()
        problems.append((done.groups_done, done.problem))
        return inner(*arguments)

    monkeypatch.setattr(write, "claimed", late)
    touch(people, 0, 103)
    # The second time there is nothing to compact, and nothing could be: the run has claimed the whole table.
    assert (len(tried), problems) == (2, [(2, None), (0, None)])
    assert sum(row["times"] for row in people.read("people").collect()) == 2


def test_one_compaction_of_a_table_at_a_time_and_what_fails_is_told(people: Ledger) -> None:
    with people.run(pipeline_of(parse_name("people")), kind="maintenance", exclusive=True):
        (done,) = eager(people).compact(["people"], apply=True)
    assert done.problem is not None
    assert "compact:main.people" in done.problem
    before = data_files(people, "people")

    def fail() -> None:
        raise OSError("no space left")

    once(failpoints.AFTER_WRITE, fail)
    (done,) = eager(people).compact(["people"], apply=True)
    assert (done.problem, done.groups_done, done.files_after) == ("OSError: no space left", 0, 6)
    assert people.runs.get(done.run_id or "").status == "FAILED"
    assert data_files(people, "people") == before
    # Whoever finds writers faster time and again leaves the table to them, and says so.
    is_touching, numbers = threading.Lock(), count(1)

    def faster(_: str) -> None:
        if is_touching.acquire(blocking=False):  # a merge comes here, too
            touch(people, *range(6), *range(100, 106), times=next(numbers))
            is_touching.release()

    failpoints.armed[failpoints.AFTER_WRITE] = faster
    (done,) = eager(people).compact(["people"], apply=True)
    failpoints.armed.clear()
    assert done.problem is not None
    assert done.problem.startswith("writers of main.people were faster 3 times (somebody else has rewritten what was compacted")
    assert [each.operation for each in people.tables.history("people")] == ["merge"] * 6
    known = {file.file_path for version in people.tables.history("people") for file in people.tables.files("people", version.version)}
    assert data_files(people, "people") == known


def test_compact_plans_and_with_apply_does_it(sqlite_lake: Ledger, monkeypatch: pytest.MonkeyPatch, spark: SparkSession) -> None:
    def append(times: int, table: str = "bronze.orders") -> None:
        for number in range(times):
            sqlite_lake.append(spark.range(number, number + 1), table)

    append(5)
    append(1, "bronze.lone")
    at = ["--url", sqlite_lake.settings.url, "--warehouse", sqlite_lake.settings.warehouse or ""]
    monkeypatch.setattr("lakeledger.ledger.Ledger.spark", spark)
    assert "it is left alone until it is quiet for 300 s" in shown("compact", "bronze.orders", *at)
    text = shown("compact", "--now", *at)
    assert "5 files of" in text
    assert "2 tables looked at, 1 group of files would become one file each" in text
    assert sqlite_lake.tables.get("bronze.orders").current_version == 5
    assert "1 small file since the last compaction" in shown("compact", "bronze.lone", *at)
    report = answer("compact", "bronze.orders", "--apply", "--now", *at)
    (table,) = report["tables"]
    assert (report["applied"], table["files_before"], table["files_after"], table["versions"]) == (True, 5, 1, [6])
    assert (table["before"][0]["files"], table["after"][0]["files"]) == (5, 1)
    assert [each["groups"] for each in answer("compact", "--now", *at)["tables"]] == [[], []]
    assert "0 files fewer" in shown("compact", "bronze.orders", "--apply", "--now", *at)
    refused(["compact", "bronze.nothing", *at], 2, "NotFound", "no table bronze.nothing")
    append(5)
    with sqlite_lake.run(pipeline_of(parse_name("bronze.orders")), exclusive=True):
        failed = answer("compact", "bronze.orders", "--apply", "--now", *at, code=FAILED)
        assert "compact:bronze.orders is already running" in failed["tables"][0]["problem"]
    assert [(each.problem, each.files_after) for each in sqlite_lake.compact("bronze.orders", apply=True, now=True)] == [(None, 1)]


def test_tables_are_compacted_by_themselves_where_there_is_a_spark(sqlite_lake: Ledger, spark: SparkSession) -> None:
    settings = replace(sqlite_lake.settings, compaction=CompactionSettings(min_files=3, quiet_seconds=0))
    with lakeledger.open(settings, spark=spark) as ledger, ledger.astha():
        for number in range(3):
            ledger.append(spark.range(number, number + 1), "bronze.numbers")
        until(lambda: ledger.tables.get("bronze.numbers").file_count == 1, "the table is compacted")
    assert sorted(row[0] for row in sqlite_lake.read("bronze.numbers").collect()) == [0, 1, 2]
    (compacted,) = sqlite_lake.runs.list("compact:bronze.numbers")
    assert (compacted.status, compacted.trigger_type) == ("COMPLETED", "scheduler")
