"""A query over ledger tables that reads only what is new: by versions, past compactions, and refused where that would be wrong."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from integration.compacting import compact
from integration.frames import rows
from integration.test_source_contract import OnTheTestsSpark
from lakeledger import Invalid, Ledger
from lakeledger.pipelines.sources import Source
from lakeledger.pipelines.sources.query import IncrementalQuery
from lakeledger.sync import Source as SourceName
from lakeledger.sync import VersionsPosition

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAME = SourceName("report", "large")
LARGE = "select id, amount from bronze.orders where amount >= 10"


class TestQuery(OnTheTestsSpark):
    """Its rows are in the ledger that it is loaded into."""

    def make(self, folder: Path) -> Source:
        self.ledger = self.open_ledger(folder)
        return IncrementalQuery(SourceName("report", "copy"), "select * from bronze.orders", self.ledger.context())

    def add_rows(self, folder: Path) -> None:
        with self.open_ledger(folder) as ledger:
            ledger.append(self.spark.range(3), "bronze.orders")

    def rows(self, folder: Path) -> list[tuple[Any, ...]]:
        with self.open_ledger(folder) as ledger:
            return [tuple(row) for row in ledger.read("bronze.orders").collect()]


def add(ledger: Ledger, *orders: tuple[int, int]) -> None:
    ledger.append(ledger.spark.createDataFrame(list(orders), "id int, amount int"), "bronze.orders")


def query(ledger: Ledger, text: str = LARGE, **options: Any) -> IncrementalQuery:
    return IncrementalQuery(NAME, text, ledger.context(), **options)


def test_only_the_rows_of_new_versions_are_read(lake: Ledger) -> None:
    add(lake, (1, 5), (2, 10))
    assert lake.load(query(lake), "silver.large").rows == 1
    assert lake.load(query(lake), "silver.large").committed is None
    add(lake, (3, 30))
    add(lake, (4, 4), (5, 50))
    loaded = lake.load(query(lake), "silver.large")
    assert loaded.rows == 2
    assert loaded.detail["position"] == {"before": {"bronze.orders": 1}, "after": {"bronze.orders": 3}}
    assert rows(lake.read("silver.large")) == [(2, 10), (3, 30), (5, 50)]
    position = lake.positions.get(NAME).position
    assert position == VersionsPosition({"bronze.orders": 3}, {"bronze.orders": lake.tables.get("bronze.orders").table_id})
    volume = lake.records.latest("silver.large", "ingestion_volume")
    assert volume is not None
    assert (volume.payload["window_start"], volume.payload["window_end"]) == ({"bronze.orders": 1}, {"bronze.orders": 3})


def test_a_compaction_is_no_news_and_hides_none(lake: Ledger) -> None:
    add(lake, (1, 10))
    lake.load(query(lake), "silver.large")
    add(lake, (2, 20))
    compact(lake, "bronze.orders")
    loaded = lake.load(query(lake), "silver.large")
    assert loaded.rows == 1
    assert lake.load(query(lake), "silver.large").committed is None
    assert rows(lake.read("silver.large")) == [(1, 10), (2, 20)]
    add(lake, (3, 30))
    assert lake.load(query(lake), "silver.large").rows == 1


def test_a_table_whose_rows_were_replaced_is_refused_until_a_full_refresh(lake: Ledger, spark: SparkSession) -> None:
    add(lake, (1, 10))
    lake.load(query(lake), "silver.large")
    lake.overwrite(spark.sql("select 7 as id, 70 as amount"), "bronze.orders")
    with pytest.raises(Invalid, match=r"rows of bronze\.orders were replaced or removed in version 2 .* full refresh"):
        lake.load(query(lake), "silver.large")
    assert rows(lake.read("silver.large")) == [(1, 10)]
    assert lake.load(query(lake), "silver.large", full_refresh=True).rows == 1
    add(lake, (8, 80))
    assert lake.load(query(lake), "silver.large").rows == 1
    assert rows(lake.read("silver.large")) == [(7, 70), (8, 80)]


def test_new_rows_meet_all_rows_of_the_tables_that_are_read_whole(sqlite_lake: Ledger, spark: SparkSession) -> None:
    add(sqlite_lake, (1, 10))
    sqlite_lake.append(spark.sql("select 1 as id, 'ann' as name union all select 2, 'bob'"), "bronze.people")
    text = "select o.id, p.name from bronze.orders o join bronze.people p on o.id = p.id"
    with pytest.raises(Invalid, match=r"reads bronze\.orders, bronze\.people: name in `incremental` the one whose new rows are wanted"):
        sqlite_lake.load(query(sqlite_lake, text), "silver.named")
    joined = query(sqlite_lake, text, incremental=("bronze.orders",))
    assert sqlite_lake.load(joined, "silver.named").rows == 1
    add(sqlite_lake, (2, 20))
    assert sqlite_lake.load(joined, "silver.named").rows == 1
    assert rows(sqlite_lake.read("silver.named")) == [(1, "ann"), (2, "bob")]
    with pytest.raises(Invalid, match=r"reads no ledger table bronze\.order: .*did you mean 'bronze\.orders'"):
        sqlite_lake.load(query(sqlite_lake, text, incremental=("bronze.order",)), "silver.named")


def test_a_new_column_is_no_news_and_is_read_from_then_on(sqlite_lake: Ledger, spark: SparkSession) -> None:
    add(sqlite_lake, (1, 10))
    whole = query(sqlite_lake, "select * from bronze.orders")
    sqlite_lake.load(whole, "silver.copy")
    sqlite_lake.columns.rename("bronze.orders", "amount", "total")
    assert sqlite_lake.load(query(sqlite_lake, "select id, total as amount from bronze.orders"), "silver.copy").committed is None
    sqlite_lake.append(spark.sql("select 2 as id, 20 as total"), "bronze.orders")
    renamed = query(sqlite_lake, "select id, total as amount from bronze.orders")
    assert sqlite_lake.load(renamed, "silver.copy").rows == 1
    assert rows(sqlite_lake.read("silver.copy")) == [(1, 10), (2, 20)]


def test_what_has_not_been_read_does_not_expire(lake: Ledger) -> None:
    add(lake, (1, 10))
    lake.load(query(lake), "silver.large")
    for number in (2, 3):
        add(lake, (number, 10 * number))
    compact(lake, "bronze.orders")
    lake.snapshots.set_policy("bronze", keep_versions=1, keep_for=timedelta(0), grace=timedelta(0))
    lake.maintenance.maintain(apply=True)
    kept = {each.snapshot.version: each.kept for each in lake.snapshots.list("bronze.orders")}
    assert kept == {4: "current", **dict.fromkeys((1, 2, 3), "source report.large has read up to version 1")}
    assert lake.load(query(lake), "silver.large").rows == 2
    lake.maintenance.maintain(apply=True)
    kept = {each.snapshot.version: each.kept for each in lake.snapshots.list("bronze.orders")}
    assert kept == {4: "current", 3: "source report.large has read up to version 3"}


def test_versions_that_are_gone_cannot_be_read(sqlite_lake: Ledger) -> None:
    for number in (1, 2, 3):
        add(sqlite_lake, (number, 10 * number))
    sqlite_lake.snapshots.set_policy("bronze", keep_versions=1, keep_for=timedelta(0), grace=timedelta(0))
    sqlite_lake.maintenance.maintain(apply=True)
    sqlite_lake.positions.advance(NAME, VersionsPosition({"bronze.orders": 1}))
    with pytest.raises(Invalid, match=r"not every version of bronze\.orders from 2 to 3 is left"):
        sqlite_lake.load(query(sqlite_lake), "silver.large")


@pytest.mark.parametrize(
    ("position", "words"),
    [
        (VersionsPosition({"bronze.other": 1}), r"bronze\.orders is not among them"),
        (VersionsPosition({"bronze.orders": 1}, {"bronze.orders": "x"}), "is another table than the one"),
        (VersionsPosition({"bronze.orders": 9}), "has no version 9"),
        (7, "are no versions of tables"),
    ],
)
def test_a_position_that_does_not_fit_is_refused(sqlite_lake: Ledger, position: Any, words: str) -> None:
    add(sqlite_lake, (1, 10))
    sqlite_lake.positions.advance(NAME, position)
    with pytest.raises(Invalid, match=words):
        sqlite_lake.load(query(sqlite_lake), "silver.large")


def test_a_query_without_ledger_tables_has_nothing_new(sqlite_lake: Ledger) -> None:
    with pytest.raises(Invalid, match=r"reads no table that the ledger has, so nothing of it is new: .* use load_type full"):
        sqlite_lake.load(query(sqlite_lake, "select 1 as id"), "silver.large")
