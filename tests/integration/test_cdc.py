"""Change events applied: the newest row of each key, and every version of it, in whatever order and however often events come."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

import examples
from integration import histories
from integration.frames import FORMATS, rows
from integration.histories import SCHEMA, Event
from integration.test_merging import before_the_commit, counted
from lakeledger import Invalid, Ledger
from lakeledger.pipelines.apply import Changes, Write
from lakeledger.pipelines.bad_rows import Limit, watched
from lakeledger.pipelines.write import write
from lakeledger.tables import parse_name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


# The example that Databricks publishes for AUTO CDC.
USERS = "userId int, name string, city string, operation string, sequenceNum bigint"
CDC_DATA = [
    (124, "Raul", "Oaxaca", "INSERT", 1),
    (123, "Isabel", "Monterrey", "INSERT", 1),
    (125, "Mercedes", "Tijuana", "INSERT", 2),
    (126, "Lily", "Cancun", "INSERT", 2),
    (123, None, None, "DELETE", 6),
    (125, "Mercedes", "Guadalajara", "UPDATE", 6),
    (125, "Mercedes", "Mexicali", "UPDATE", 5),
    (123, "Isabel", "Chihuahua", "UPDATE", 5),
]
TRUNCATE = (None, None, None, "TRUNCATE", 3)
AUTO_CDC: dict[str, Any] = {
    "keys": ["userId"],
    "sequence_by": "sequenceNum",
    "apply_as_deletes": "operation = 'DELETE'",
    "except_column_list": ["operation", "sequenceNum"],
}
# However they come: at once, from the last to the first, and with some of them once more.
BATCHES = [[CDC_DATA], [CDC_DATA[6:], CDC_DATA[3:6], CDC_DATA[:3]], [CDC_DATA[4:], CDC_DATA[:4], CDC_DATA[4:]]]


@pytest.mark.parametrize("batches", BATCHES, ids=["at once", "reversed", "again"])
def test_the_published_examples_of_auto_cdc(sqlite_lake: Ledger, spark: SparkSession, batches: list[list[Any]]) -> None:
    for batch in batches:
        frame = spark.createDataFrame(batch, USERS)
        sqlite_lake.apply_changes(frame, "one", **AUTO_CDC)
        sqlite_lake.apply_changes(frame, "two", stored_as_scd_type=2, **AUTO_CDC)
        sqlite_lake.apply_changes(frame, "tracked", stored_as_scd_type=2, track_history_except_column_list=["city"], **AUTO_CDC)
    assert rows(sqlite_lake.read("one")) == [(124, "Raul", "Oaxaca"), (125, "Mercedes", "Guadalajara"), (126, "Lily", "Cancun")]
    assert sqlite_lake.read("two").columns == ["userId", "name", "city", "__START_AT", "__END_AT", "__CURRENT"]
    assert rows(sqlite_lake.read("two").drop("__CURRENT")) == [
        (123, "Isabel", "Chihuahua", 5, 6),
        (123, "Isabel", "Monterrey", 1, 5),
        (124, "Raul", "Oaxaca", 1, None),
        (125, "Mercedes", "Guadalajara", 6, None),
        (125, "Mercedes", "Mexicali", 5, 6),
        (125, "Mercedes", "Tijuana", 2, 5),
        (126, "Lily", "Cancun", 2, None),
    ]
    assert sqlite_lake.read("two").where("__CURRENT <> (__END_AT is null)").count() == 0
    assert rows(sqlite_lake.read("tracked").drop("__CURRENT")) == [
        (123, "Isabel", "Chihuahua", 1, 6),
        (124, "Raul", "Oaxaca", 1, None),
        (125, "Mercedes", "Guadalajara", 2, None),
        (126, "Lily", "Cancun", 2, None),
    ]


@pytest.mark.parametrize(
    "batches", [[[*CDC_DATA, TRUNCATE]], [CDC_DATA, [TRUNCATE]], [[TRUNCATE], CDC_DATA]], ids=["at once", "late", "first"]
)
def test_the_published_example_with_a_truncate(sqlite_lake: Ledger, spark: SparkSession, batches: list[list[Any]]) -> None:
    for batch in batches:
        frame = spark.createDataFrame(batch, USERS)
        sqlite_lake.apply_changes(frame, "one", apply_as_truncates="operation = 'TRUNCATE'", **AUTO_CDC)
    assert rows(sqlite_lake.read("one")) == [(125, "Mercedes", "Guadalajara")]


# In any order


def in_batches(spark: SparkSession, histories_: list[list[Event]], orders: int, cuts: list[Event], batches: int = 4) -> list[DataFrame]:
    """Each history in so many orders, each a `case` of its own, cut into batches; some events come again later, and some twice."""
    chance = random.Random(7)
    parts: list[list[tuple[Any, ...]]] = [[] for _ in range(batches)]
    for number, events in enumerate(histories_):
        for order in range(orders):
            for event in events:
                first = chance.randrange(batches)
                for place in {first, chance.randrange(first, batches)} if chance.random() < 0.2 else {first}:
                    parts[place].append((number * orders + order, *event.row))
    for cut in cuts:
        parts[chance.randrange(batches)].append((None, *cut.row))
    for part in parts:
        chance.shuffle(part)
    return [spark.createDataFrame(part, f"case int, {SCHEMA}") for part in parts]


def cases(found: DataFrame) -> dict[int, set[tuple[Any, ...]]]:
    by_case: dict[int, set[tuple[Any, ...]]] = {}
    for row in found.collect():
        by_case.setdefault(row[0], set()).add(tuple(row[1:]))
    return by_case


HISTORIES, ORDERS = 5, 40
EVENTS: dict[str, Any] = {
    "keys": ["case", "key"],
    "sequence_by": "seq",
    "apply_as_deletes": "op = 'D'",
    "apply_as_truncates": "op = 'T'",
    "except_column_list": ["op", "seq"],
}


def check(ledger: Ledger, frames: list[DataFrame], wanted: list[set[tuple[Any, ...]]], columns: list[str], **more: Any) -> None:
    for frame in frames:
        ledger.apply_changes(frame, "t", **{**EVENTS, **more})
    found = cases(ledger.read("t").select("case", "key", *columns))
    different = [case for case in range(HISTORIES * ORDERS) if found.get(case, set()) != wanted[case // ORDERS]]
    assert not different, (different, found.get(different[0]), wanted[different[0] // ORDERS])
    assert ledger.read("t").count() == sum(len(each) * ORDERS for each in wanted)


@pytest.mark.parametrize(("partial", "truncates"), [(False, False), (True, True), *examples.if_long((True, False))])
def test_events_in_two_hundred_orders_and_batchings_give_one_table(
    sqlite_lake: Ledger, spark: SparkSession, partial: bool, truncates: bool
) -> None:
    chance = random.Random(partial * 10 + truncates)
    made = [histories.make(chance, partial=partial) for _ in range(HISTORIES)]
    cuts = [Event(None, chance.randint(2, 6), "T") for _ in range(2)] if truncates else []
    wanted = [histories.newest([*events, *cuts], partial=partial) for events in made]
    assert any(wanted)
    frames = in_batches(spark, made, ORDERS, cuts)
    check(sqlite_lake, frames if partial else [frame.drop("_unset") for frame in frames], wanted, ["a", "b"])


@pytest.mark.parametrize(
    ("partial", "truncates", "tracked"),
    [(False, True, ("a",)), (True, True, ("a", "b")), *examples.if_long((False, False, ("a", "b")), (True, False, ("a",)))],
)
def test_events_in_two_hundred_orders_and_batchings_give_one_history(
    sqlite_lake: Ledger, spark: SparkSession, partial: bool, truncates: bool, tracked: tuple[str, ...]
) -> None:
    chance = random.Random(partial * 10 + truncates)
    made = [histories.make(chance, partial=partial) for _ in range(HISTORIES)]
    cuts = [Event(None, chance.randint(2, 12), "T") for _ in range(2)] if truncates else []
    wanted = [histories.versions([*events, *cuts], tracked) for events in made]
    frames = in_batches(spark, made, ORDERS, cuts)
    more = {"stored_as_scd_type": 2, "track_history_column_list": tracked}
    columns = ["a", "b", "__START_AT", "__END_AT"]
    check(sqlite_lake, frames if partial else [frame.drop("_unset") for frame in frames], wanted, columns, **more)


# One by one


def events(spark: SparkSession, *values: tuple[Any, ...]) -> DataFrame:
    return spark.createDataFrame(list(values), "id int, name string, op string, seq int")


CDC: dict[str, Any] = {
    "keys": ["id"],
    "sequence_by": "seq",
    "apply_as_deletes": "op = 'D'",
    "apply_as_truncates": "op = 'T'",
    "except_column_list": ["op", "seq"],
}


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("type_", [1, 2])
def test_events_without_a_key_or_a_sequence_go_to_quarantine_in_the_same_commit(
    lake: Ledger, spark: SparkSession, format_: str, type_: int
) -> None:
    bad = [(None, "no key", "U", 1), (1, "no sequence", "U", None), (None, None, "U", None)]
    made = lake.apply_changes(events(spark, (1, "a", "U", 1), *bad), "t", stored_as_scd_type=type_, format=format_, **CDC)  # type: ignore[arg-type]
    assert rows(lake.read("t").select("id", "name")) == [(1, "a")]
    found = lake.read("t__quarantine")
    assert found.columns == ["row", "reasons", "source_file", "run_id", "format"]
    assert rows(found.select("row", "reasons")) == [
        ('{"id":1,"name":"no sequence","op":"U","seq":null}', ["the sequence is NULL"]),
        ('{"id":null,"name":"no key","op":"U","seq":1}', ["id is NULL"]),
        ('{"id":null,"name":null,"op":"U","seq":null}', ["id is NULL", "the sequence is NULL"]),
    ]
    assert {row[0] for row in found.select("run_id").collect()} == {made.snapshot.run_id}
    run = lake.runs.get(made.snapshot.run_id)
    assert (run.records_processed, run.records_inserted, run.records_failed, run.commit_count) == (4, 1, 3, 1)
    lake.apply_changes(events(spark, (1, None, "D", 2), (1, "again", "U", 1)), "t", stored_as_scd_type=type_, **CDC)  # type: ignore[arg-type]
    assert rows(lake.read("t").where("__CURRENT" if type_ == 2 else "true")) == []
    lake.settle()
    assert lake.tables.verify("t").ok


def test_the_sequence_is_kept_and_nobody_sees_it(lake: Ledger, spark: SparkSession) -> None:
    lake.apply_changes(events(spark, (1, "a", "U", 5)), "t", **CDC)
    assert lake.read("t").columns == ["id", "name"]
    known = lake.tables.metadata("t")
    assert known is not None
    assert [(field["name"], field.get("hidden")) for field in known.schema["fields"]] == [
        ("id", None), ("name", None), ("lakeledger_hidden_sequence", True),
    ]  # fmt: skip
    lake.append(spark.sql("select 2 as id, 'appended' as name"), "t")
    lake.columns.rename("t", "name", "title")
    late = events(spark, (1, "late", "U", 4), (2, "newer than nothing", "U", 1)).withColumnRenamed("name", "title")
    lake.apply_changes(late, "t", **CDC)
    assert rows(lake.read("t")) == [(1, "a"), (2, "newer than nothing")]
    with pytest.raises(Invalid, match=r"rows of main\.t have a sequence: give sequence_by"):
        lake.merge(spark.sql("select 1 as id, 'x' as title"), "t", keys=["id"])
    with pytest.raises(Invalid, match="names that begin with lakeledger_hidden are kept for the ledger"):
        lake.append(spark.sql("select 1 as id, 'x' as title, 1 as lakeledger_hidden_sequence"), "t")


def test_a_sequence_of_several_columns_is_compared_in_their_order(sqlite_lake: Ledger, spark: SparkSession) -> None:
    def apply(*values: tuple[Any, ...]) -> None:
        frame = spark.createDataFrame(list(values), "id int, name string, lsn bigint, at timestamp")
        more = {"keys": ["id"], "sequence_by": "struct(lsn, at)", "column_list": ["id", "name"]}
        sqlite_lake.apply_changes(frame.selectExpr("id", "name", "lsn", "at"), "one", **more)  # type: ignore[arg-type]
        sqlite_lake.apply_changes(frame, "two", stored_as_scd_type=2, **more)  # type: ignore[arg-type]

    early, late = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC)
    apply((1, "b", 2, early), (1, "a", 1, late))
    apply((1, "c", 2, late), (1, "old", 1, early))
    assert rows(sqlite_lake.read("one")) == [(1, "c")]
    assert [row[0] for row in sqlite_lake.read("two").orderBy("__START_AT").select("name").collect()] == ["old", "a", "b", "c"]


def test_a_row_of_the_change_feed_is_applied_by_its_contract(sqlite_lake: Ledger, spark: SparkSession) -> None:
    schema = "id int, name string, note string, _change_type string, _sequence bigint, _unset array<string>"

    def apply(type_: int, *values: tuple[Any, ...]) -> None:
        changes = Changes.of_feed(["id"], stored_as_scd_type=type_)
        frame = spark.createDataFrame(list(values), schema)
        with sqlite_lake.run("feed") as run:
            request = Write(parse_name(f"t{type_}"), changes.mode, changes=changes)
            context = sqlite_lake.context()
            write(context, frame, watched(context, request, Limit(), run.id), run.fence)

    for type_ in (1, 2):
        apply(type_, (1, "a", "long", "insert", 1, None), (2, "b", "x", "read", 1, None))
        apply(type_, (1, "A", None, "update", 2, ["note"]), (2, None, None, "delete", 3, None), (9, "q", "z", "insert", None, None))
    assert rows(sqlite_lake.read("t1")) == [(1, "A", "long")]
    assert rows(sqlite_lake.read("t2").drop("__CURRENT")) == [(1, "A", "long", 2, None), (1, "a", "long", 1, 2), (2, "b", "x", 1, 3)]
    assert sqlite_lake.read("t1__quarantine").count() == 1


def test_values_that_are_null_are_left_as_they_were(sqlite_lake: Ledger, spark: SparkSession) -> None:
    more = {**CDC, "ignore_null_updates": True}
    sqlite_lake.apply_changes(events(spark, (1, "a", "U", 1)), "t", **more)
    sqlite_lake.apply_changes(events(spark, (1, None, "U", 3), (2, None, "U", 3)), "t", **more)
    assert rows(sqlite_lake.read("t")) == [(1, "a"), (2, None)]
    sqlite_lake.apply_changes(events(spark, (1, "between", "U", 2), (2, "known at last", "U", 2)), "t", **more)
    assert rows(sqlite_lake.read("t")) == [(1, "between"), (2, "known at last")]


@pytest.mark.parametrize("type_", [1, 2])
def test_a_delete_that_is_committed_meanwhile_is_seen(lake: Ledger, spark: SparkSession, type_: int) -> None:
    def apply(*values: tuple[Any, ...]) -> None:
        lake.apply_changes(events(spark, *values), "t", stored_as_scd_type=type_, **CDC)  # type: ignore[arg-type]

    apply((7, "other", "U", 1))
    with before_the_commit(lambda: apply((1, None, "D", 5))):
        apply((1, "late", "U", 4))
    assert rows(lake.read("t").where("__CURRENT" if type_ == 2 else "true").select("id")) == [(7,)]


def test_only_files_that_have_open_versions_of_the_keys_are_written_again(sqlite_lake: Ledger, spark: SparkSession) -> None:
    def apply(*values: tuple[Any, ...]) -> Any:
        return sqlite_lake.apply_changes(events(spark, *values), "t", stored_as_scd_type=2, **CDC)

    apply(*((id_, "a", "U", 1) for id_ in range(10)))
    apply(*((id_, "a", "U", 1) for id_ in range(100, 110)))
    made = apply((105, "b", "U", 2), (106, "a", "U", 2))
    assert (made.snapshot.summary["removed_files"], counted(made)) == (1, (1, 1, 0, 1))
    ended = apply((105, "c", "U", 3))
    assert ended.snapshot.summary["removed_files"] == 1
    late = apply((105, "z", "U", 0))
    assert counted(late)[0] == 1
    found = rows(sqlite_lake.read("t").where("id = 105").select("name", "__START_AT", "__END_AT"))
    assert found == [("a", 1, 2), ("b", 2, 3), ("c", 3, None), ("z", 0, 1)]
    assert rows(sqlite_lake.read("t__events").select("id", "__sequence", "__deleted")) == [(106, 1, False), (106, 2, False)]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"column_list": ["id"], "except_column_list": ["op"]}, "column_list or except_column_list, not both"),
        ({"except_column_list": ["nope"]}, r"except_column_list of main\.t names nope: the data has id, name, op, seq"),
        ({"stored_as_scd_type": 3}, "stored_as_scd_type is 3"),
        ({"track_history_column_list": ["name"]}, "track_history_… is for stored_as_scd_type=2"),
        ({"stored_as_scd_type": 2, "track_history_column_list": ["nope"]}, r"track_history of main\.t names nope"),
        ({"sequence_by": "map(1, 2)"}, r"sequence_by of main\.t is map<integer, integer>, which has no order"),
    ],
)
def test_parameters_that_do_not_fit_are_refused(sqlite_lake: Ledger, spark: SparkSession, more: dict[str, Any], message: str) -> None:
    with pytest.raises(Invalid, match=message):
        sqlite_lake.apply_changes(events(spark, (1, "a", "U", 1)), "t", **{**CDC, **more})
    assert sqlite_lake.tables.find("t") is None


def test_deletes_need_a_sequence() -> None:
    with pytest.raises(Invalid, match="apply_as_deletes needs sequence_by"):
        Changes(("id",), apply_as_deletes="op = 'D'")
    with pytest.raises(Invalid, match=r"a history \(scd2\) needs sequence_by"):
        Changes(("id",), stored_as_scd_type=2)
