"""One pass, two tables: what is measured and judged before the commit, and rows that are set aside with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from integration.frames import FORMATS, conf, rows, stored
from lakeledger import Invalid, Ledger, records
from lakeledger.commit import Commit, Effect
from lakeledger.db import Transaction
from lakeledger.pipelines.apply import Aside, Look, Refused, Saved, Write
from lakeledger.pipelines.write import write
from lakeledger.records import MetadataContext, MetadataRecord, MetadataTarget
from lakeledger.tables import Committed, parse_name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROWS = "select * from values (1, 'a', 10), (2, 'b', -1), (3, null, 5), (4, 'd', -7) as t(id, name, amount)"


def put(ledger: Ledger, frame: DataFrame, table: str, **more: Any) -> Committed:
    with ledger.run("load") as run:
        return write(ledger.context(), frame, Write(parse_name(table), **more), run.fence)


def bad_rows(frame: DataFrame) -> Look:
    from pyspark.sql import functions as F

    record = F.to_json(F.struct(*[name for name in ("id", "name", "amount") if name in frame.columns]))
    columns = {"record": record, "id": F.col("id"), "why": F.lit("amount is negative")}
    return Look(asides=(Aside(parse_name("orders_bad"), F.col("amount") < 0, columns),))


BAD = [('{"id":2,"name":"b","amount":-1}', 2, "amount is negative"), ('{"id":4,"name":"d","amount":-7}', 4, "amount is negative")]


@pytest.mark.parametrize("format_", FORMATS)
def test_rows_that_are_set_aside_go_to_another_table_in_the_same_commit(lake: Ledger, spark: SparkSession, format_: str) -> None:
    put(lake, spark.sql(ROWS), "orders", look=bad_rows, format=format_)
    assert rows(lake.read("orders")) == [(1, "a", 10), (3, None, 5)]
    assert rows(lake.read("orders_bad")) == BAD
    (good,), (bad,) = lake.tables.history("orders"), lake.tables.history("orders_bad")
    assert good.run_id == bad.run_id
    run = lake.runs.get(good.run_id)
    assert (run.records_processed, run.records_inserted, run.records_failed, run.commit_count) == (4, 2, 2, 1)
    lake.settle()
    assert lake.tables.verify("orders").ok
    assert lake.tables.verify("orders_bad").ok
    assert not lake.tables.sweep().leftovers
    if format_ == "parquet":
        assert {name for file in lake.tables.files("orders") for name in file.column_bounds} == {"id", "name", "amount"}
        assert {name for file in lake.tables.files("orders_bad") for name in file.column_bounds} == {
            "lakeledger_aside_orders_bad_record",
            "lakeledger_aside_orders_bad_id",
            "lakeledger_aside_orders_bad_why",
        }


def test_without_a_bad_row_there_is_no_other_table(sqlite_lake: Ledger, spark: SparkSession) -> None:
    put(sqlite_lake, spark.sql(ROWS).where("amount > 0"), "orders", look=bad_rows)
    assert sqlite_lake.tables.find("orders_bad") is None
    assert len(rows(sqlite_lake.read("orders"))) == 2


def test_both_tables_grow_and_change_their_columns_each_by_itself(sqlite_lake: Ledger, spark: SparkSession) -> None:
    put(sqlite_lake, spark.sql(ROWS), "orders", look=bad_rows)
    wider = spark.sql(ROWS).selectExpr("*", "'x' as why", "true as record")
    put(sqlite_lake, wider, "orders", look=bad_rows, evolve=True)
    sqlite_lake.columns.drop("orders_bad", "why")
    sqlite_lake.columns.drop("orders", "name")
    put(sqlite_lake, wider.drop("name").withColumn("name", wider["why"]), "orders", look=bad_rows, evolve=True)
    found = sqlite_lake.read("orders")
    assert found.columns == ["id", "amount", "why", "record", "name"]
    assert rows(found.where("id = 1")) == [(1, 10, "x", True, "x"), (1, 10, "x", True, None), (1, 10, None, None, None)]
    bad = sqlite_lake.read("orders_bad")
    assert bad.columns == ["record", "id", "why"]
    assert rows(bad.where("id = 2").select("why")) == [("amount is negative",), (None,), (None,)]
    sqlite_lake.settle()
    assert sqlite_lake.tables.verify("orders").ok


def test_a_partitioned_table_has_its_bad_rows_in_one_place(sqlite_lake: Ledger, spark: SparkSession) -> None:
    put(sqlite_lake, spark.sql(ROWS), "orders", look=bad_rows, partition_by=("name",))
    assert rows(sqlite_lake.read("orders")) == [(1, "a", 10), (3, None, 5)]
    assert {file.partition_path for file in sqlite_lake.tables.files("orders")} == {"name=a", "name=__HIVE_DEFAULT_PARTITION__"}
    assert {file.partition_path for file in sqlite_lake.tables.files("orders_bad")} == {""}
    put(sqlite_lake, spark.sql(ROWS).where("name = 'a' or amount < 0"), "orders", look=bad_rows, mode="overwrite_partitions")
    assert rows(sqlite_lake.read("orders")) == [(1, "a", 10), (3, None, 5)]
    assert rows(sqlite_lake.read("orders_bad")) == sorted(BAD * 2)


def test_a_table_that_lives_elsewhere_takes_no_bad_rows(sqlite_lake: Ledger, spark: SparkSession) -> None:
    sqlite_lake.append(spark.sql("select 1 as id"), "orders_bad")
    with pytest.raises(Invalid, match=r"main\.orders_bad has a place of its own"):
        put(sqlite_lake, spark.sql(ROWS), "orders", look=bad_rows)
    assert sqlite_lake.tables.find("orders") is None


def test_a_table_with_rows_set_aside_does_not_change_its_format(sqlite_lake: Ledger, spark: SparkSession) -> None:
    put(sqlite_lake, spark.sql(ROWS), "orders", look=bad_rows)
    with pytest.raises(Invalid, match=r"main\.orders_bad is parquet: jsonl files hold no rows for it"):
        put(sqlite_lake, spark.sql(ROWS), "orders", look=bad_rows, mode="overwrite", format="jsonl")
    assert (rows(sqlite_lake.read("orders")), rows(sqlite_lake.read("orders_bad"))) == ([(1, "a", 10), (3, None, 5)], BAD)


class Note:
    """An effect that notes what it saw."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, int]] = []

    def write(self, tx: Transaction, committed: Commit) -> None:  # noqa: ARG002 - what it is given
        self.seen = [(str(each.table.name), each.version) for each in committed.tables]


def test_a_judge_sees_the_measures_of_the_one_pass_and_adds_effects(lake: Ledger, spark: SparkSession) -> None:
    from pyspark.sql import functions as F

    lake.append(spark.sql("select 0 as id, 'z' as title, 1 as amount"), "orders")
    lake.columns.rename("orders", "title", "name")
    judged, note = list[Saved](), Note()

    def judge(saved: Saved) -> Sequence[Effect]:
        judged.append(saved)
        return [note]

    def look(frame: DataFrame) -> Look:
        measures = {"nulls": F.count_if(F.col("name").isNull()), "smallest": F.min("doubled"), "newest": F.max(F.timestamp_seconds("id"))}
        return replace(bad_rows(frame), measures=measures, helpers={"doubled": F.col("amount") * 2})

    put(lake, spark.sql(ROWS), "orders", judge=judge, look=look)
    (saved,) = judged
    assert saved.measured == {"nulls": 1, "smallest": -14, "newest": datetime(1970, 1, 1, 0, 0, 4, tzinfo=UTC)}
    assert (saved.rows, [each.rows for each in saved.asides]) == (2, [2])
    assert note.seen == [("main.orders", 3), ("main.orders_bad", 1)]


@pytest.mark.parametrize("partition_by", [None, ("name",)])
def test_an_empty_frame_is_measured_too(sqlite_lake: Ledger, spark: SparkSession, partition_by: tuple[str, ...] | None) -> None:
    from pyspark.sql import functions as F

    judged = list[Saved]()

    def judge(saved: Saved) -> Sequence[Effect]:
        judged.append(saved)
        return []

    with conf(spark, {"spark.sql.adaptive.enabled": "true"}):
        empty = spark.sql(ROWS).where("id > 9")
        put(sqlite_lake, empty, "orders", judge=judge, look=lambda _: Look({"most": F.max("amount")}), partition_by=partition_by)
    assert [(saved.rows, saved.measured) for saved in judged] == [(0, {"most": None})]


def test_what_a_judge_refuses_leaves_nothing_but_why(lake: Ledger, spark: SparkSession) -> None:
    from pyspark.sql import functions as F

    before = stored(lake)
    target = MetadataTarget("orders", "main", "orders")

    @dataclass(frozen=True)
    class Why:
        negative: int

        def write(self, tx: Transaction, committed: Commit) -> None:
            context = MetadataContext(run_id=committed.run.id)
            records.add(tx, MetadataRecord(target, context, "quality", {"negative": self.negative}, "test"))

    def judge(saved: Saved) -> Sequence[Effect]:
        raise Refused(f"{saved.measured['negative']} rows have a negative amount", [Why(saved.measured["negative"])])

    look = Look({"negative": F.count_if(F.col("amount") < 0)})
    with pytest.raises(Refused, match="2 rows have a negative amount"):
        put(lake, spark.sql(ROWS), "orders", look=lambda _: look, judge=judge)
    assert lake.tables.find("orders") is None
    assert stored(lake) == before
    kept = lake.records.latest("main.orders", "quality")
    assert kept is not None
    assert kept.payload == {"negative": 2}
    (run,) = lake.runs.list()
    assert (run.id, run.status) == (kept.context.run_id, "FAILED")


def test_a_row_goes_to_the_first_table_that_wants_it(sqlite_lake: Ledger, spark: SparkSession) -> None:
    from pyspark.sql import functions as F

    nameless = Aside(parse_name("nameless"), F.col("name").isNull(), {"key": F.col("id")}, failed=False)
    small = Aside(parse_name("small"), F.col("amount") < 6, {"key": F.col("id"), "amount": F.col("amount")})
    put(sqlite_lake, spark.sql(ROWS), "orders", look=lambda _: Look(asides=(nameless, small)))
    assert rows(sqlite_lake.read("orders")) == [(1, "a", 10)]
    assert rows(sqlite_lake.read("nameless")) == [(3,)]
    assert rows(sqlite_lake.read("small")) == [(2, -1), (4, -7)]
    assert sqlite_lake.runs.list()[0].records_failed == 2


def test_columns_added_by_hand_are_left_alone(sqlite_lake: Ledger, spark: SparkSession) -> None:
    put(sqlite_lake, spark.sql(ROWS), "orders", look=bad_rows)
    sqlite_lake.columns.add("orders_bad", "handled", "array<string>")
    sqlite_lake.columns.add("orders", "why", "string")
    wider = spark.sql(ROWS).selectExpr("*", "'x' as why")
    put(sqlite_lake, wider, "orders", look=bad_rows)
    assert rows(sqlite_lake.read("orders").where("id = 1")) == [(1, "a", 10, "x"), (1, "a", 10, None)]
    assert rows(sqlite_lake.read("orders_bad").select("id", "why", "handled")) == sorted([(2, BAD[0][2], None), (4, BAD[1][2], None)] * 2)


def test_names_that_are_kept_for_it_are_refused(sqlite_lake: Ledger, spark: SparkSession) -> None:
    with pytest.raises(Invalid, match="has a column lakeledger_aside_x: names that begin with lakeledger_aside are kept"):
        sqlite_lake.append(spark.sql("select 1 as lakeledger_aside_x"), "t")


def test_a_batch_that_is_in_the_table_sets_nothing_aside_again(sqlite_lake: Ledger, spark: SparkSession) -> None:
    put(sqlite_lake, spark.sql(ROWS).where("amount > 0"), "orders", batch_id="b", look=bad_rows)
    before = stored(sqlite_lake)
    found = put(sqlite_lake, spark.sql(ROWS), "orders", batch_id="b", look=bad_rows)
    assert (found.applied, sqlite_lake.tables.find("orders_bad")) == (False, None)
    assert {path for path in stored(sqlite_lake) if path.suffix == ".parquet"} == {path for path in before if path.suffix == ".parquet"}
