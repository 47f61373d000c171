"""One pass, two tables: what is measured and judged before the commit, and rows that are set aside with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pytest

from integration.frames import FORMATS, rows, stored
from lakeledger import Invalid, Ledger
from lakeledger.commit import Commit, Effect
from lakeledger.db import Transaction
from lakeledger.pipelines.apply import Aside, Saved, Write
from lakeledger.pipelines.write import write
from lakeledger.tables import Committed, parse_name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROWS = "select * from values (1, 'a', 10), (2, 'b', -1), (3, null, 5), (4, 'd', -7) as t(id, name, amount)"


def put(ledger: Ledger, frame: DataFrame, table: str, **more: Any) -> Committed:
    with ledger.run("load") as run:
        return write(ledger._context(), frame, Write(parse_name(table), **more), run.fence)


def bad_rows(table: str = "orders_bad") -> Aside:
    from pyspark.sql import functions as F

    record = F.to_json(F.struct("id", "name", "amount"))
    return Aside(parse_name(table), F.col("amount") < 0, {"record": record, "id": F.col("id"), "why": F.lit("amount is negative")})


BAD = [('{"id":2,"name":"b","amount":-1}', 2, "amount is negative"), ('{"id":4,"name":"d","amount":-7}', 4, "amount is negative")]


@pytest.mark.parametrize("format_", FORMATS)
def test_rows_that_are_set_aside_go_to_another_table_in_the_same_commit(lake: Ledger, spark: SparkSession, format_: str) -> None:
    put(lake, spark.sql(ROWS), "orders", aside=bad_rows(), format=format_)
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
        assert {name for file in lake.tables.files("orders_bad") for name in file.column_bounds} == {"record", "id_2", "why"}


def test_without_a_bad_row_there_is_no_other_table(sqlite_lake: Ledger, spark: SparkSession) -> None:
    put(sqlite_lake, spark.sql(ROWS).where("amount > 0"), "orders", aside=bad_rows())
    assert sqlite_lake.tables.find("orders_bad") is None
    assert len(rows(sqlite_lake.read("orders"))) == 2


def test_both_tables_grow_and_change_their_columns_each_by_itself(sqlite_lake: Ledger, spark: SparkSession) -> None:
    put(sqlite_lake, spark.sql(ROWS), "orders", aside=bad_rows())
    wider = spark.sql(ROWS).selectExpr("*", "'x' as why", "true as record")
    put(sqlite_lake, wider, "orders", aside=bad_rows(), evolve=True)
    sqlite_lake.columns.drop("orders_bad", "why")
    sqlite_lake.columns.drop("orders", "name")
    put(sqlite_lake, wider.drop("name").withColumn("name", wider["why"]), "orders", aside=bad_rows(), evolve=True)
    found = sqlite_lake.read("orders")
    assert found.columns == ["id", "amount", "why", "record", "name"]
    assert rows(found.where("id = 1")) == [(1, 10, "x", True, "x"), (1, 10, "x", True, None), (1, 10, None, None, None)]
    bad = sqlite_lake.read("orders_bad")
    assert bad.columns == ["record", "id", "why"]
    assert rows(bad.where("id = 2").select("why")) == [("amount is negative",), (None,), (None,)]
    sqlite_lake.settle()
    assert sqlite_lake.tables.verify("orders").ok


def test_a_partitioned_table_has_its_bad_rows_in_one_place(sqlite_lake: Ledger, spark: SparkSession) -> None:
    put(sqlite_lake, spark.sql(ROWS), "orders", aside=bad_rows(), partition_by=("name",))
    assert rows(sqlite_lake.read("orders")) == [(1, "a", 10), (3, None, 5)]
    assert {file.partition_path for file in sqlite_lake.tables.files("orders")} == {"name=a", "name=__HIVE_DEFAULT_PARTITION__"}
    assert {file.partition_path for file in sqlite_lake.tables.files("orders_bad")} == {""}
    put(sqlite_lake, spark.sql(ROWS).where("name = 'a' or amount < 0"), "orders", aside=bad_rows(), mode="overwrite_partitions")
    assert rows(sqlite_lake.read("orders")) == [(1, "a", 10), (3, None, 5)]
    assert rows(sqlite_lake.read("orders_bad")) == sorted(BAD * 2)


def test_a_table_that_lives_elsewhere_takes_no_bad_rows(sqlite_lake: Ledger, spark: SparkSession) -> None:
    sqlite_lake.append(spark.sql("select 1 as id"), "orders_bad")
    with pytest.raises(Invalid, match=r"main\.orders_bad has a place of its own"):
        put(sqlite_lake, spark.sql(ROWS), "orders", aside=bad_rows())
    assert sqlite_lake.tables.find("orders") is None


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

    measures = {"nulls": F.count_if(F.col("name").isNull()), "smallest": F.min("amount"), "all": F.count(F.lit(1))}
    put(lake, spark.sql(ROWS), "orders", measures=measures, judge=judge, aside=bad_rows())
    (saved,) = judged
    assert saved.measured == {"nulls": 1, "smallest": -7, "all": 4}
    assert (saved.rows, saved.aside and saved.aside.rows) == (2, 2)
    assert note.seen == [("main.orders", 3), ("main.orders_bad", 1)]


def test_what_a_judge_refuses_leaves_nothing(sqlite_lake: Ledger, spark: SparkSession) -> None:
    from pyspark.sql import functions as F

    before = stored(sqlite_lake)

    def judge(saved: Saved) -> Sequence[Effect]:
        raise Invalid(f"{saved.measured['negative']} rows have a negative amount")

    measures = {"negative": F.count_if(F.col("amount") < 0)}
    with pytest.raises(Invalid, match="2 rows have a negative amount"):
        put(sqlite_lake, spark.sql(ROWS), "orders", measures=measures, judge=judge)
    assert sqlite_lake.tables.find("orders") is None
    assert stored(sqlite_lake) == before
