"""Five ways in which loads by watermark lose rows, or bring them twice, without anybody noticing: each is refused or made impossible."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from integration.source_database import Shop
from integration.test_pipelines import forget_position
from lakeledger import Failed, Invalid, Ledger
from lakeledger.pipelines.sources import look
from lakeledger.pipelines.sources.watermark import Watermark
from lakeledger.sync import Source as SourceName
from lakeledger.tables import parse_name
from lakeledger.testing import raise_at

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SOURCE = SourceName("shop", "orders")


@pytest.fixture
def shop(shop: Shop) -> Shop:
    """With two orders."""
    shop.do("insert into orders (at, name) values (now(), 'a'), (now(), 'b')")
    return shop


def ids(ledger: Ledger, table: str = "orders") -> list[int]:
    return sorted(row.id for row in ledger.read(table).collect())


def test_a_slice_never_replaces_the_table(lake: Ledger, shop: Shop) -> None:
    lake.load(shop.source(), "orders")
    shop.do("insert into orders (at, name) values (now(), 'c')")
    with pytest.raises(Invalid, match=r"overwrite would remove all others from main\.orders: use append or merge, or load everything"):
        lake.load(shop.source(), "orders", mode="overwrite")
    assert ids(lake) == [1, 2]
    assert lake.load(shop.source(), "orders").rows == 1
    assert ids(lake) == [1, 2, 3]


def test_a_slice_does_not_replace_partitions_but_a_window_may(sqlite_lake: Ledger, shop: Shop) -> None:
    sqlite_lake.load(shop.source(), "orders", partition_by=["name"])
    shop.do("insert into orders (at, name) values (now(), 'a')")
    with pytest.raises(Invalid, match=r"overwriting partitions of main\.orders would remove what they had before"):
        sqlite_lake.load(shop.source(), "orders", mode="overwrite_partitions")
    assert ids(sqlite_lake) == [1, 2]
    sqlite_lake.load(shop.source(), "orders", mode="overwrite_partitions", window=(1, 4))
    assert ids(sqlite_lake) == [1, 2, 3]


def test_a_lost_position_does_not_bring_everything_again(lake: Ledger, shop: Shop) -> None:
    lake.load(shop.source(), "orders")
    forget_position(lake)
    with pytest.raises(Invalid) as caught:
        lake.load(shop.source(), "orders")
    assert "main.orders holds rows, but the position of shop.orders is gone" in str(caught.value)
    assert "`lakeledger positions set shop.orders POSITION --type batch`" in str(caught.value)
    assert "full_refresh=True" in str(caught.value)
    assert ids(lake) == [1, 2]


def test_both_ways_out_of_a_lost_position_lead_on(lake: Ledger, shop: Shop) -> None:
    lake.load(shop.source(), "orders")
    forget_position(lake)
    lake.positions.advance(SOURCE, 2)
    shop.do("insert into orders (at, name) values (now(), 'c')")
    assert lake.load(shop.source(), "orders").rows == 1
    assert ids(lake) == [1, 2, 3]
    forget_position(lake)
    assert lake.load(shop.source(), "orders", full_refresh=True).rows == 3
    shop.do("insert into orders (at, name) values (now(), 'd')")
    assert lake.load(shop.source(), "orders").rows == 1
    assert ids(lake) == [1, 2, 3, 4]


def test_rows_of_others_are_no_rows_of_this_source(sqlite_lake: Ledger, shop: Shop, spark: SparkSession) -> None:
    shop.do("create table others as select * from orders")
    sqlite_lake.load(shop.source("others"), "orders")
    assert sqlite_lake.load(shop.source(), "orders").rows == 2
    assert ids(sqlite_lake) == [1, 1, 2, 2]
    sqlite_lake.append(spark.sql("select 9L as id, timestamp'2026-01-01' as at, 'x' as name"), "by_hand")
    with pytest.raises(Invalid, match=r"main\.by_hand holds rows, but the position of shop\.third is gone"):
        sqlite_lake.load(shop.source("third", table=f"{shop.schema}.orders"), "by_hand")


@pytest.mark.parametrize("point", ["after_write", "in_transaction"])
def test_the_position_moves_with_the_rows_or_not_at_all(lake: Ledger, shop: Shop, point: str) -> None:
    lake.load(shop.source(), "orders")
    shop.do("insert into orders (at, name) values (now(), 'c')")
    before = lake.positions.get(SOURCE)
    with raise_at(point, Failed("as in a crash")), pytest.raises(Failed, match="as in a crash"):
        lake.load(shop.source(), "orders")
    assert lake.positions.get(SOURCE) == before
    assert ids(lake) == [1, 2]
    assert lake.load(shop.source(), "orders").rows == 1
    assert ids(lake) == [1, 2, 3]


def test_rows_that_commit_late_are_read_again_with_a_lookback(lake: Ledger, shop: Shop) -> None:
    """Without one, whoever writes is waited for: see test_jdbc."""
    with shop.connect() as late:
        late.execute("insert into orders (at, name) values (now(), 'late')")
        shop.do("insert into orders (at, name) values (now(), 'early')")
        lake.load(shop.source(late_rows="ignore"), "orders")
        late.commit()
    assert ids(lake) == [1, 2, 4]
    source = shop.source(watermark=Watermark(("id",), lookback=2))
    reading = source.plan(look(lake.store, SOURCE, parse_name("orders")))
    assert reading is not None
    assert reading.frame is not None
    with reading.frame(lake.spark) as frame:
        assert sorted(row.id for row in frame.collect()) == [2, 3, 4]


def test_a_table_that_is_gone_is_no_first_run(lake: Ledger, shop: Shop) -> None:
    lake.load(shop.source(), "orders")
    shop.do("insert into orders (at, name) values (now(), 'c')")
    with pytest.raises(Invalid) as caught:
        lake.load(shop.source(), "renamed")
    assert "but the table that its rows went to is gone, and they would be missing" in str(caught.value)
    assert "full_refresh=True" in str(caught.value)
    assert "`lakeledger positions set shop.orders POSITION --force --reason …`" in str(caught.value)
    assert lake.tables.find("renamed") is None
    assert lake.load(shop.source(), "renamed", full_refresh=True).rows == 3
    assert ids(lake, "renamed") == [1, 2, 3]


def test_a_full_refresh_goes_on_from_where_the_source_is_even_if_it_went_back(lake: Ledger, shop: Shop) -> None:
    lake.load(shop.source(), "orders")
    shop.do("truncate orders restart identity")
    with pytest.raises(Invalid, match=r"shop\.orders gives nothing for a full refresh, which would leave main\.orders empty"):
        lake.load(shop.source(), "orders", full_refresh=True)
    shop.do("insert into orders (at, name) values (now(), 'new')")
    assert lake.load(shop.source(), "orders", full_refresh=True).rows == 1
    change = lake.positions.history(SOURCE)[0]
    assert (change.position_data["value"], change.forced, change.reason) == (1, True, "full refresh")
    shop.do("insert into orders (at, name) values (now(), 'newer')")
    assert lake.load(shop.source(), "orders").rows == 1
    assert ids(lake) == [1, 2]


def test_another_watermark_begins_with_a_full_refresh(sqlite_lake: Ledger, shop: Shop) -> None:
    sqlite_lake.load(shop.source(), "orders")
    by_time = shop.source(watermark=("at", "id"))
    with pytest.raises(Invalid, match="no place in its watermark at, id: load everything again with a full refresh"):
        sqlite_lake.load(by_time, "orders")
    sqlite_lake.load(by_time, "orders", full_refresh=True)
    shop.do("insert into orders (at, name) values (now(), 'c')")
    assert sqlite_lake.load(by_time, "orders").rows == 1
    assert ids(sqlite_lake) == [1, 2, 3]


def test_somebody_may_say_where_a_new_table_begins(sqlite_lake: Ledger, shop: Shop) -> None:
    sqlite_lake.positions.advance(SOURCE, 1)
    assert sqlite_lake.load(shop.source(), "orders").rows == 1
    assert ids(sqlite_lake) == [2]
