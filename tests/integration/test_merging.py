"""Rows that are matched with those of their table: merged, left out, compared, deleted; only the files that change are written again."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import examples
import lakeledger
from integration.frames import FORMATS, WEIRD, conf, rows, stored
from lakeledger import Conflict, Invalid, Ledger, NotFound, failpoints
from lakeledger.pipelines.apply import batch as batches

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from lakeledger.tables import Committed


def pairs(spark: SparkSession, *values: tuple[Any, ...], schema: str = "id int, name string") -> DataFrame:
    return spark.createDataFrame(list(values), schema)


def counted(made: Committed) -> tuple[int, int, int, int]:
    return made.counters.inserted, made.counters.updated, made.counters.deleted, made.snapshot.summary["unchanged"]


def paths(ledger: Ledger, table: str) -> dict[str, int]:
    return {file.file_path: file.row_count for file in ledger.tables.files(table)}


def many_files(ledger: Ledger, spark: SparkSession, table: str, files: int = 5) -> None:
    """Ten rows in each file, ids in order."""
    frame = spark.range(0, files * 10, 1, files).selectExpr("cast(id as int) as id", "concat('n', id) as name")
    ledger.append(frame, table)
    assert len(paths(ledger, table)) == files


@contextmanager
def before_the_commit(action: Any) -> Iterator[None]:
    """Do something once, after the files are written and before they are committed."""

    def once(_: str) -> None:
        failpoints.armed.pop(failpoints.AFTER_WRITE)
        action()

    failpoints.armed[failpoints.AFTER_WRITE] = once
    try:
        yield
    finally:
        failpoints.armed.clear()


# Merge


@pytest.mark.parametrize("format_", FORMATS)
def test_rows_of_the_same_key_are_replaced_and_others_are_new(lake: Ledger, spark: SparkSession, format_: str) -> None:
    made = lake.merge(pairs(spark, (1, "a"), (2, "b")), "t", keys=["id"], format=format_)
    assert (made.snapshot.operation, counted(made)) == ("merge", (2, 0, 0, 0))
    made = lake.merge(pairs(spark, (1, "a"), (2, "B"), (3, "c")), "t", keys=["ID"])
    assert counted(made) == (1, 1, 0, 1)
    assert rows(lake.read("t")) == [(1, "a"), (2, "B"), (3, "c")]
    assert rows(lake.read("t", version=1)) == [(1, "a"), (2, "b")]
    run = lake.runs.get(made.snapshot.run_id)
    assert (run.records_processed, run.records_inserted, run.records_updated, run.records_deleted) == (3, 1, 1, 0)
    lake.settle()
    assert lake.tables.verify("t").ok
    known = lake.tables.metadata("t")
    assert known is not None
    assert known.keys == ("id",)
    assert not list(Path(lake.warehouse).rglob("stage-*"))


def test_only_files_that_have_such_rows_are_written_again_each_into_one(sqlite_lake: Ledger, spark: SparkSession) -> None:
    many_files(sqlite_lake, spark, "t")
    before = paths(sqlite_lake, "t")
    made = sqlite_lake.merge(pairs(spark, (11, "x"), (38, "y"), (100, "z"), (70, "new")), "t", keys=["id"])
    after = paths(sqlite_lake, "t")
    assert counted(made) == (2, 2, 0, 0)
    assert len(before.keys() & after.keys()) == 3
    assert sorted(after[path] for path in after.keys() - before.keys()) == [2, 10, 10]
    # What was near each other stayed so: the next one finds its one file.
    second = sqlite_lake.merge(pairs(spark, (12, "again")), "t", keys=["id"])
    assert (second.snapshot.summary["removed_files"], second.snapshot.summary["added_files"]) == (1, 1)
    assert sqlite_lake.read("t").where("id = 12").collect()[0][1] == "again"
    assert sqlite_lake.read("t").count() == 52


def test_a_merge_that_changes_nothing_makes_a_version_without_files(lake: Ledger, spark: SparkSession) -> None:
    frame = pairs(spark, (1, "a"), (2, None))
    lake.merge(frame, "t", keys=["id"], position=("s", 1))
    before = {path for path in stored(lake) if path.suffix == ".parquet"}
    made = lake.merge(frame, "t", keys=["id"], position=("s", 2))
    assert (made.version, counted(made), made.snapshot.summary["added_files"]) == (2, (0, 0, 0, 2), 0)
    assert {path for path in stored(lake) if path.suffix == ".parquet"} == before
    assert lake.positions.get("s").position_data == {"value": 2}
    assert rows(lake.read("t")) == [(1, "a"), (2, None)]


def test_of_several_rows_with_one_key_it_is_always_the_same(sqlite_lake: Ledger, spark: SparkSession) -> None:
    values = [(1, "a", 3), (1, "b", 5), (1, "c", 5), (2, "x", 1), (2, None, 1)]
    for number, order in enumerate((values, values[::-1])):
        frame = pairs(spark, *order, schema="id int, name string, at int")
        sqlite_lake.merge(frame, f"plain_{number}", keys=["id"])
        sqlite_lake.merge(frame, f"newest_{number}", keys=["id"], sequence_by="at")
        assert rows(sqlite_lake.read(f"plain_{number}")) == [(1, "c", 5), (2, "x", 1)]
        assert rows(sqlite_lake.read(f"newest_{number}")) == [(1, "c", 5), (2, "x", 1)]


def test_a_late_row_does_not_replace_a_newer_one(sqlite_lake: Ledger, spark: SparkSession) -> None:
    schema = "id int, name string, at int"
    sqlite_lake.merge(pairs(spark, (1, "new", 5), (2, "two", 1), schema=schema), "t", keys=["id"], sequence_by="at")
    made = sqlite_lake.merge(pairs(spark, (1, "late", 4), (2, "newer", 2), schema=schema), "t", keys=["id"], sequence_by="at")
    assert rows(sqlite_lake.read("t")) == [(1, "new", 5), (2, "newer", 2)]
    assert counted(made)[:3] == (0, 1, 0)


def test_rows_without_a_key_are_refused(sqlite_lake: Ledger, spark: SparkSession) -> None:
    with pytest.raises(Invalid, match=r"1 rows for main\.t have NULL in id"):
        sqlite_lake.merge(pairs(spark, (None, "a"), (2, "b")), "t", keys=["id"])
    assert sqlite_lake.tables.find("t") is None
    assert not [path for path in stored(sqlite_lake) if path.suffix == ".parquet"]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"keys": []}, "no keys"),
        ({"keys": ["id", "ID"]}, "a column is there twice"),
        ({"keys": ["x"]}, r"main\.t has no column for the keys x: its columns are id, name"),
        ({"keys": ["id"], "mode": "sync", "sequence_by": "name"}, "leave out sequence_by"),
    ],
)
def test_what_cannot_be_matched_is_refused_before_spark_does_anything(
    sqlite_lake: Ledger, spark: SparkSession, more: dict[str, Any], message: str
) -> None:
    with pytest.raises(Invalid, match=message):
        sqlite_lake.merge(pairs(spark, (1, "a")), "t", **more)
    assert not stored(sqlite_lake)


def test_a_struct_is_no_key(sqlite_lake: Ledger, spark: SparkSession) -> None:
    with pytest.raises(Invalid, match=r"key k of main\.t is struct<a: integer>: a key is a plain value"):
        sqlite_lake.merge(spark.sql("select struct(1 as a) as k"), "t", keys=["k"])


KINDS = """
select * from values
  (1, 1.50bd, date'2026-01-01', timestamp'2026-01-01 10:00:00', timestamp_ntz'2026-01-01 10:00:00', double('nan'), 'text', true, X'01',
   map('a', map('b', 1)), struct(1 as x, array(1, null) as `Y`), array(struct(1 as z)), parse_json('{"b": 1, "a": [1]}'), interval '1' day),
  (2, -0.01bd, date'0001-01-01', timestamp'1900-01-01 00:00:00.000001', timestamp_ntz'9999-12-31 23:59:59', double('-0.0'), '', false, X'',
   map(), null, array(), null, null),
  (3, null, null, null, null, null, null, null, null, null, null, null, null, null)
as t(id, amount, day, at, local, ratio, name, is_on, raw, places, inner, list, doc, span)
"""


@pytest.mark.parametrize("format_", FORMATS)
def test_every_type_is_compared_and_kept(sqlite_lake: Ledger, spark: SparkSession, format_: str) -> None:
    frame = spark.sql(KINDS).drop("span") if format_ == "parquet" else spark.sql(KINDS).drop("span", "doc", "ratio")
    sqlite_lake.merge(frame, "t", keys=["id"], format=format_)
    made = sqlite_lake.merge(frame.unionByName(frame), "t", keys=["id"])
    assert counted(made) == (0, 0, 0, 3)
    others = ("if(id = 1, map('a', map('b', 2)), places) as places" if name == "places" else name for name in frame.columns)
    made = sqlite_lake.merge(frame.where("id < 3").selectExpr(*others), "t", keys=["id"])
    assert counted(made) == (0, 1, 0, 1)
    assert rows(sqlite_lake.read("t").selectExpr("id", "places")) == [(1, {"a": {"b": 2}}), (2, {}), (3, None)]


@pytest.mark.parametrize("key", ["amount", "day", "at", "local", "ratio", "name", "is_on", "raw"])
def test_every_plain_type_is_a_key(sqlite_lake: Ledger, spark: SparkSession, key: str) -> None:
    frame = spark.sql(KINDS).where("id < 3").selectExpr(key, "id")
    sqlite_lake.merge(frame.where("id = 1"), "t", keys=[key])
    sqlite_lake.merge(frame.where("id = 2"), "t", keys=[key])
    made = sqlite_lake.merge(frame.selectExpr(key, "id + 10 as id"), "t", keys=[key])
    assert counted(made) == (0, 2, 0, 0)
    assert rows(sqlite_lake.read("t").select("id")) == [(11,), (12,)]


def test_several_keys_and_the_bounds_of_each_choose_the_files(sqlite_lake: Ledger, spark: SparkSession) -> None:
    schema = "shop string, id int, name string"
    for shop in "abc":
        sqlite_lake.append(pairs(spark, (shop, 1, "x"), (shop, 2, "y"), schema=schema), "t")
    made = sqlite_lake.merge(pairs(spark, ("b", 2, "z"), ("d", 1, "w"), schema=schema), "t", keys=["shop", "id"])
    assert (counted(made), made.snapshot.summary["removed_files"]) == ((1, 1, 0, 0), 1)
    assert rows(sqlite_lake.read("t").where("id = 2")) == [("a", 2, "y"), ("b", 2, "z"), ("c", 2, "y")]


def test_a_partitioned_table_keeps_its_partitions_whatever_their_values(sqlite_lake: Ledger, spark: SparkSession) -> None:
    frame = spark.createDataFrame(list(enumerate(WEIRD)), "id int, part string").selectExpr("*", "0 as n")
    sqlite_lake.append(frame, "weird", partition_by=["part"])
    made = sqlite_lake.merge(frame.selectExpr("id", "part", "id as n"), "weird", keys=["id"])
    assert counted(made) == (0, len(WEIRD) - 1, 0, 1)
    assert sorted(tuple(row) for row in sqlite_lake.read("weird").collect()) == [(i, part, i) for i, part in enumerate(WEIRD)]
    assert len({file.partition_path for file in sqlite_lake.tables.files("weird")}) == len(WEIRD)
    moved = sqlite_lake.merge(pairs(spark, (0, "elsewhere", 1), (99, "a", 1), schema="id int, part string, n int"), "weird", keys=["id"])
    assert counted(moved) == (1, 1, 0, 0)
    places = {file.partition_path: file.row_count for file in sqlite_lake.tables.files("weird")}
    assert places["part=elsewhere"] == 1
    assert sqlite_lake.tables.verify("weird").ok


def test_renamed_and_new_columns_and_names_in_other_case(sqlite_lake: Ledger, spark: SparkSession) -> None:
    sqlite_lake.append(pairs(spark, (1, "a"), (2, "b")), "t")
    sqlite_lake.columns.rename("t", "id", "key")
    sqlite_lake.columns.rename("t", "name", "b0")
    wider = pairs(spark, ("x", 2, "B"), ("y", 3, "c"), schema="`T 0` string, KEY int, B0 string")
    with pytest.raises(Invalid, match="T 0 is new; evolve=True lets new columns in"):
        sqlite_lake.merge(wider, "t", keys=["key"])
    made = sqlite_lake.merge(wider, "t", keys=["key"], evolve=True)
    assert counted(made) == (1, 1, 0, 0)
    assert sqlite_lake.read("t").columns == ["key", "b0", "T 0"]
    assert rows(sqlite_lake.read("t")) == [(1, "a", None), (2, "B", "x"), (3, "c", "y")]


def test_a_place_with_spaces_and_percent_signs(tmp_path: Path, spark: SparkSession) -> None:
    with lakeledger.open(f"sqlite:///{tmp_path}/l.db", warehouse=str(tmp_path / "ware %20 höuse [x]"), spark=spark) as ledger:
        ledger.merge(pairs(spark, (1, "a")), "t", keys=["id"])
        ledger.merge(pairs(spark, (1, "b")), "t", keys=["id"])
        assert rows(ledger.read("t")) == [(1, "b")]


def test_a_batch_too_large_to_be_sent_to_every_task(sqlite_lake: Ledger, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    many_files(sqlite_lake, spark, "t")
    monkeypatch.setattr(batches, "BROADCAST_ROWS", 0)
    made = sqlite_lake.merge(pairs(spark, (11, "x"), (38, "y"), (100, "z")), "t", keys=["id"])
    assert counted(made) == (1, 2, 0, 0)
    assert made.snapshot.summary["removed_files"] == 2
    assert sqlite_lake.read("t").count() == 51
    assert rows(sqlite_lake.read("t").where("name < 'n' or name > 'n9'")) == [(100, "z"), (11, "x"), (38, "y")]


def test_what_is_promised_to_be_unique_is_not_staged(sqlite_lake: Ledger, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    many_files(sqlite_lake, spark, "t")
    monkeypatch.setattr(batches, "_stage", None)
    made = sqlite_lake.merge(pairs(spark, (11, "x"), (12, "n12"), (100, "z")), "t", keys=["id"], unique=True)
    assert counted(made) == (1, 1, 0, 1)
    assert sqlite_lake.read("t").count() == 51


def test_rows_that_are_others_each_time_are_read_once(sqlite_lake: Ledger, spark: SparkSession) -> None:
    many_files(sqlite_lake, spark, "t")
    frame = spark.range(0, 60, 1, 4).selectExpr("cast(id as int) as id", "concat(uuid(), '') as name").where("rand() < 0.5")
    made = sqlite_lake.merge(frame, "t", keys=["id"])
    inserted, updated = counted(made)[:2]
    found = sqlite_lake.read("t")
    assert found.count() == found.select("id").distinct().count() == 50 + inserted
    assert found.where("length(name) = 36").count() == inserted + updated == made.counters.processed


def test_keys_beyond_the_first_columns_have_bounds(sqlite_lake: Ledger, spark: SparkSession) -> None:
    frame = spark.range(0, 20, 1, 2).selectExpr(*(f"id as c{number}" for number in range(40)), "id as key")
    sqlite_lake.merge(frame, "t", keys=["key"])
    sqlite_lake.append(frame.selectExpr(*frame.columns[:-1], "key + 100 as key"), "t")
    assert all("key" in file.column_bounds for file in sqlite_lake.tables.files("t"))


def test_a_batch_is_merged_once(lake: Ledger, spark: SparkSession) -> None:
    first = lake.merge(pairs(spark, (1, "a")), "t", keys=["id"], batch_id="b1")
    lake.merge(pairs(spark, (1, "b")), "t", keys=["id"], batch_id="b2")
    again = lake.merge(pairs(spark, (1, "a")), "t", keys=["id"], batch_id="b1")
    assert (again.applied, again.version) == (False, first.version)
    assert rows(lake.read("t")) == [(1, "b")]


# Insert only


def test_rows_whose_keys_are_there_are_left_out(lake: Ledger, spark: SparkSession) -> None:
    many_files(lake, spark, "t", files=2)
    before = paths(lake, "t")
    made = lake.merge(pairs(spark, (5, "x"), (15, "y"), (30, "new"), (30, "newer")), "t", keys=["id"], mode="insert_only")
    assert (made.snapshot.operation, made.counters.inserted, made.counters.processed) == ("append", 1, 4)
    assert before.items() <= paths(lake, "t").items()
    assert rows(lake.read("t").where("id in (5, 15, 30)")) == [(15, "n15"), (30, "newer"), (5, "n5")]
    again = lake.merge(pairs(spark, (5, "x"), (30, "y")), "t", keys=["id"], mode="insert_only")
    assert (again.counters.inserted, again.snapshot.summary["added_files"]) == (0, 0)


# Sync


def test_a_table_becomes_what_the_rows_are_and_only_what_differs_is_written(lake: Ledger, spark: SparkSession) -> None:
    many_files(lake, spark, "t")
    before = paths(lake, "t")
    full = lake.read("t").where("id not in (3, 4) and id < 40").selectExpr("id", "if(id = 12, 'changed', name) as name")
    wanted = sorted([*rows(full), (77, "new")], key=repr)
    made = lake.merge(spark.createDataFrame(wanted, "id int, name string"), "t", keys=["id"], mode="sync")
    assert (made.snapshot.operation, made.counters.inserted, made.counters.updated, made.counters.deleted) == ("sync", 1, 1, 12)
    assert rows(lake.read("t")) == wanted
    assert len(before.keys() & paths(lake, "t").keys()) == 2
    again = lake.merge(spark.createDataFrame(wanted, "id int, name string"), "t", keys=["id"], mode="sync")
    assert (again.snapshot.summary["added_files"], again.snapshot.summary["removed_files"]) == (0, 0)
    assert again.counters.inserted == again.counters.updated == again.counters.deleted == 0


def test_no_rows_at_all_empty_a_table_only_if_that_is_allowed(sqlite_lake: Ledger, spark: SparkSession) -> None:
    empty = pairs(spark, (1, "a")).where("false")
    sqlite_lake.merge(empty, "t", keys=["id"], mode="sync")
    sqlite_lake.merge(pairs(spark, (1, "a")), "t", keys=["id"], mode="sync")
    with pytest.raises(Invalid, match="would delete all that it has: check the source; allow_empty=True"):
        sqlite_lake.merge(empty, "t", keys=["id"], mode="sync")
    made = sqlite_lake.merge(empty, "t", keys=["id"], mode="sync", allow_empty=True)
    assert (made.counters.deleted, sqlite_lake.read("t").count()) == (1, 0)


def test_the_same_rows_again_after_others_are_compared_again(sqlite_lake: Ledger, spark: SparkSession) -> None:
    one, other = pairs(spark, (1, "a")), pairs(spark, (1, "b"))
    for frame, batch in ((one, "A"), (other, "B"), (one, "A")):
        sqlite_lake.merge(frame, "t", keys=["id"], mode="sync", batch_id=batch)
    assert rows(sqlite_lake.read("t")) == [(1, "a")]


# Delete


def test_rows_are_deleted_by_a_condition(lake: Ledger, spark: SparkSession) -> None:
    many_files(lake, spark, "t")
    before = paths(lake, "t")
    made = lake.delete("t", "id between 20 and 29 or name = 'n3'")
    assert (made.snapshot.operation, made.counters.deleted, made.counters.inserted) == ("delete", 11, 0)
    assert (made.snapshot.summary["removed_files"], made.snapshot.summary["added_files"]) == (2, 1)
    assert {row[0] for row in rows(lake.read("t"))} == {*range(50)} - {3, *range(20, 30)}
    assert len(before.keys() & paths(lake, "t").keys()) == 3
    nothing = lake.delete("t", "id = 3")
    assert (nothing.counters.deleted, nothing.snapshot.summary["removed_files"]) == (0, 0)
    whole = lake.delete("t", "true")
    assert (whole.counters.deleted, whole.snapshot.summary["added_files"], lake.read("t").count()) == (39, 0, 0)


def test_a_row_of_which_a_condition_is_unknown_stays(sqlite_lake: Ledger, spark: SparkSession) -> None:
    sqlite_lake.append(pairs(spark, (1, None), (2, "b"), (3, "c")), "t")
    sqlite_lake.columns.rename("t", "name", "title")
    assert sqlite_lake.delete("t", "title = 'b'").counters.deleted == 1
    assert rows(sqlite_lake.read("t")) == [(1, None), (3, "c")]


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ("id =", "cannot read the condition"),
        ("id in (select id from other)", "asks another table"),
        ("day < current_date()", "asks the clock or chance"),
        ("nope = 1", "nope"),
    ],
)
def test_conditions_that_mean_nothing_definite_are_refused(sqlite_lake: Ledger, spark: SparkSession, where: str, message: str) -> None:
    sqlite_lake.append(pairs(spark, (1, "a")), "t")
    with pytest.raises(Invalid, match=message):
        sqlite_lake.delete("t", where)
    assert sqlite_lake.tables.get("t").current_version == 1


def test_nothing_is_deleted_from_a_table_that_is_not_there(ledger: Ledger) -> None:
    with pytest.raises(NotFound, match=r"no table main\.t"):
        ledger.delete("t", "id = 1")
    assert ledger.runs.list() == []


# With Spark's adaptive execution, which leaves out what turns out to be empty


def test_what_turns_out_to_be_empty_on_the_way_is_nothing(sqlite_lake: Ledger, spark: SparkSession) -> None:
    cdc = {"keys": ["id"], "sequence_by": "id", "apply_as_deletes": "name = 'gone'"}
    with conf(spark, {"spark.sql.adaptive.enabled": "true", "spark.sql.shuffle.partitions": "4"}):
        empty = pairs(spark, (1, "a")).where("id > 1")
        assert sqlite_lake.merge(empty, "t", keys=["id"]).counters.inserted == 0
        sqlite_lake.merge(pairs(spark, (1, "a"), (2, "b")), "t", keys=["id"])
        for mode in ("merge", "insert_only"):
            made = sqlite_lake.merge(empty, "t", keys=["id"], mode=mode)
            assert (made.counters.inserted, made.snapshot.summary["removed_files"]) == (0, 0)
        assert sqlite_lake.merge(pairs(spark, (1, "x")), "t", keys=["id"], mode="insert_only").counters.inserted == 0
        assert sqlite_lake.merge(empty, "t", keys=["id"], mode="sync", allow_empty=True).counters.deleted == 2
        for type_ in (1, 2):
            sqlite_lake.apply_changes(pairs(spark, (1, "a")), f"c{type_}", stored_as_scd_type=type_, **cdc)  # type: ignore[arg-type]
            made = sqlite_lake.apply_changes(empty, f"c{type_}", stored_as_scd_type=type_, **cdc)  # type: ignore[arg-type]
            assert counted(made) == (0, 0, 0, 0)
            made = sqlite_lake.apply_changes(pairs(spark, (1, "gone")), f"c{type_}", stored_as_scd_type=type_, **cdc)  # type: ignore[arg-type]
            assert made.counters.deleted == 1
            assert sqlite_lake.read(f"c{type_}").count() == 0


# At the same time


def test_rows_of_other_keys_that_come_meanwhile_do_not_matter(lake: Ledger, spark: SparkSession) -> None:
    many_files(lake, spark, "t")
    with before_the_commit(lambda: lake.append(pairs(spark, (70, "other")), "t")):
        made = lake.merge(pairs(spark, (11, "x"), (12, "y")), "t", keys=["id"])
    assert (made.version, len(list(lake.runs.list()))) == (3, 3)
    assert lake.read("t").count() == 51


def test_rows_of_the_same_keys_that_come_meanwhile_are_seen(lake: Ledger, spark: SparkSession) -> None:
    many_files(lake, spark, "t")
    with before_the_commit(lambda: lake.merge(pairs(spark, (77, "theirs"), (11, "theirs")), "t", keys=["id"])):
        made = lake.merge(pairs(spark, (77, "ours"), (12, "ours")), "t", keys=["id"])
    assert counted(made) == (0, 2, 0, 0)
    assert rows(lake.read("t").where("id in (11, 12, 77)")) == [(11, "theirs"), (12, "ours"), (77, "ours")]
    assert lake.read("t").count() == 51


def test_a_table_that_is_made_meanwhile_is_seen(lake: Ledger, spark: SparkSession) -> None:
    with before_the_commit(lambda: lake.merge(pairs(spark, (1, "theirs")), "t", keys=["id"])):
        lake.merge(pairs(spark, (1, "ours"), (2, "ours")), "t", keys=["id"])
    assert rows(lake.read("t")) == [(1, "ours"), (2, "ours")]


def test_whoever_is_always_too_late_gives_way(sqlite_lake: Ledger, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lakeledger.pipelines.load.FIRST_PAUSE_SECONDS", 0)
    monkeypatch.setattr("lakeledger.pipelines.load.PLANS", 2)
    sqlite_lake.append(pairs(spark, (1, "a")), "t")

    def in_between(_: str) -> None:
        held = dict(failpoints.armed)
        failpoints.armed.clear()
        sqlite_lake.append(pairs(spark, (1, "again")), "t")
        failpoints.armed.update(held)

    monkeypatch.setitem(failpoints.armed, failpoints.AFTER_WRITE, in_between)
    with pytest.raises(Conflict, match=r"main\.t moved from version 2 to 3"):
        sqlite_lake.merge(pairs(spark, (1, "x")), "t", keys=["id"])
    failpoints.armed.clear()
    assert sqlite_lake.read("t").count() == 3


@pytest.mark.parametrize("table", [f"t{number}" for number in range(examples.rounds(1, 5))])
def test_two_at_once_that_merge_the_same_keys_are_as_if_one_came_after_the_other(lake: Ledger, spark: SparkSession, table: str) -> None:
    """Five times in each table: the first time both make the table."""
    with ThreadPoolExecutor(2) as pool:
        for number in range(5):
            both = threading.Barrier(2)

            def merge(who: str, ids: tuple[int, ...], number: int = number, both: threading.Barrier = both) -> None:
                values = ", ".join(f"({id_}, '{who}', {number})" for id_ in ids)
                frame = spark.sql(f"select * from values {values} as t(id, name, round)")
                both.wait(60)
                lake.merge(frame, table, keys=["id"], unique=True)

            ours, theirs = pool.submit(merge, "ours", (number, 1001, 1002)), pool.submit(merge, "theirs", (number, 1002, 1003))
            ours.result(), theirs.result()
            found = [tuple(row) for row in lake.read(table).collect()]
            newest = {id_: (who, when) for id_, who, when in found}
            assert len(found) == len(newest) == number + 4
            assert newest[1001] == ("ours", number)
            assert newest[1003] == ("theirs", number)
            assert newest[number] == newest[1002]
            assert newest[1002] in {("ours", number), ("theirs", number)}
    assert lake.tables.get(table).current_version == 10


# By chance


VALUES = st.tuples(st.sampled_from([None, "x", "y", "z"]), st.sampled_from([None, 1.5, float("nan")]))
ROWS = st.dictionaries(st.integers(0, 30), VALUES, max_size=12)
STEPS = st.lists(st.tuples(st.sampled_from(["merge", "insert_only", "sync", "delete", "append"]), ROWS), min_size=4, max_size=5)
SHAPES = st.tuples(st.sampled_from(FORMATS[:1] * 3 + FORMATS[1:]), st.sampled_from([None, ("name",)]), st.booleans())


def expected(table: dict[int, tuple[Any, ...]], mode: str, given: dict[int, tuple[Any, ...]]) -> dict[int, tuple[Any, ...]]:
    """What becomes of a table, in plain Python."""
    match mode:
        case "merge":
            return {**table, **given}
        case "sync":
            return dict(given)
        case "delete":
            return {key: row for key, row in table.items() if row[0] != "x"}
        case _:
            return {**given, **table}


@settings(max_examples=4, deadline=None, derandomize=True, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
@given(steps=STEPS, shape=SHAPES)
def test_any_sequence_of_changes_gives_what_plain_python_gives(
    sqlite_lake: Ledger, spark: SparkSession, steps: list[tuple[str, dict[int, tuple[Any, ...]]]], shape: tuple[Any, ...]
) -> None:
    table, wanted = f"t{len(list(sqlite_lake.tables.list()))}", dict[int, tuple[Any, ...]]()
    format_, partition_by, is_clustered = shape
    schema = "id int, name string, ratio double"
    sqlite_lake.append(pairs(spark, schema=schema), table, format=format_, partition_by=partition_by)
    for mode, rows_ in steps:
        before, wanted = wanted, expected(wanted, mode, rows_)
        values = [(id_, *row) for id_, row in rows_.items() if mode != "append" or id_ not in before]
        frame = spark.createDataFrame(values, schema).repartition(1 if is_clustered else 3)
        if mode == "append":
            sqlite_lake.append(frame, table)
        elif mode == "delete":
            made = sqlite_lake.delete(table, "name = 'x'")
            assert made.counters.deleted == len(before) - len(wanted)
        else:
            made = sqlite_lake.merge(frame, table, keys=["id"], mode=mode, allow_empty=True)  # type: ignore[arg-type]
            changed = [id_ for id_ in before.keys() & wanted.keys() if repr(before[id_]) != repr(wanted[id_])]
            counters = made.counters
            assert (counters.inserted, counters.updated) == (len(wanted.keys() - before.keys()), len(changed)), (mode, before, rows_)
            assert counters.deleted == len(before.keys() - wanted.keys())
        found = sorted(map(repr, (tuple(row) for row in sqlite_lake.read(table).collect())))
        assert found == sorted(repr((id_, *row)) for id_, row in wanted.items()), (mode, before, rows_)
