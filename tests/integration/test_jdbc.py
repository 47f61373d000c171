"""PostgreSQL as a source by JDBC: what is new, each row once, types as they are, and errors that say what to do."""

from __future__ import annotations

import threading
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from integration.frames import rows
from integration.source_database import Shop, shop_on
from integration.test_source_contract import OnTheTestsSpark
from lakeledger import Failed, Forbidden, Invalid, Ledger, NumberPosition, Unavailable
from lakeledger.pipelines.sources import Source, look
from lakeledger.pipelines.sources.asking import SparkAsks
from lakeledger.pipelines.sources.describe import describe, list_tables
from lakeledger.pipelines.sources.dialects import POSTGRESQL
from lakeledger.pipelines.sources.jdbc import JdbcConfig, JdbcSource
from lakeledger.pipelines.sources.watermark import Watermark
from lakeledger.sync import Source as SourceName
from lakeledger.tables import parse_name
from postgres_server import Server

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SOURCE = SourceName("shop", "orders")


class TestJdbc(OnTheTestsSpark):
    @pytest.fixture(autouse=True)
    def _shop(self, shop: Shop) -> None:
        self.shop = shop

    def make(self, folder: Path) -> Source:  # noqa: ARG002 - what it reads is in the database
        return self.shop.source(watermark=("at", "id"))

    def add_rows(self, folder: Path) -> None:  # noqa: ARG002
        self.shop.do("insert into orders (at, name) select now(), 'n' || n from generate_series(1, 3) n")

    def rows(self, folder: Path) -> list[tuple[Any, ...]]:  # noqa: ARG002
        return [(number, at.astimezone(UTC).replace(tzinfo=None), name) for number, at, name in self.shop.rows("select * from orders")]


class TestJdbcInParts(TestJdbc):
    def make(self, folder: Path) -> Source:  # noqa: ARG002
        return self.shop.source(partition_column="id", partitions=4, fetch_size=1)


def add(shop: Shop, *names: str) -> None:
    for name in names:
        shop.do("insert into orders (at, name) values (clock_timestamp(), %s)", name)


def names(ledger: Ledger, table: str = "orders") -> list[str]:
    return sorted(row.name for row in ledger.read(table).collect())


def test_a_full_load_replaces_the_table_each_time(lake: Ledger, shop: Shop) -> None:
    add(shop, "a", "b")
    source = shop.source(watermark=None)
    assert lake.load(source, "orders", mode="overwrite").rows == 2
    shop.do("delete from orders where name = 'a'")
    assert lake.load(source, "orders", mode="overwrite").rows == 1
    assert names(lake) == ["b"]
    assert not lake.positions.list()


def test_what_would_lose_rows_or_bring_them_twice_is_refused_before_spark_is_asked(sqlite_lake: Ledger, shop: Shop) -> None:
    add(shop, "a")
    with pytest.raises(Invalid, match="it is read whole each time; use merge with keys, or overwrite"):
        sqlite_lake.load(shop.source(watermark=None), "orders")
    with pytest.raises(Invalid, match=r"gives only a part of its rows, and overwrite would remove all others from main\.orders"):
        sqlite_lake.load(shop.source(), "orders", mode="overwrite")
    sqlite_lake.load(shop.source(), "orders")
    again = shop.source(watermark=Watermark(("id",), lookback=10))
    with pytest.raises(Invalid, match=r"would come twice into main\.orders with append: lookback 10 reads rows again"):
        sqlite_lake.load(again, "orders")
    with pytest.raises(Invalid, match="cannot be loaded by a window: it has no watermark"):
        sqlite_lake.load(shop.source(watermark=None), "orders", mode="overwrite", window=(1, 2))
    assert names(sqlite_lake) == ["a"]


def test_rows_that_come_while_others_are_read_wait_for_the_next_load(sqlite_lake: Ledger, shop: Shop) -> None:
    add(shop, "a", "b")
    source = shop.source()
    with sqlite_lake.store.read():
        reading = source.plan(look(sqlite_lake.store, SOURCE, parse_name("orders")))
    assert reading is not None
    add(shop, "c")
    assert reading.frame is not None
    with reading.frame(sqlite_lake.spark) as frame:
        assert sorted(row.name for row in frame.collect()) == ["a", "b"]
    assert reading.move is not None
    assert reading.move.to == NumberPosition(2, {"column": "id"})
    assert sqlite_lake.load(source, "orders").rows == 3


def test_filter_columns_and_watermark_are_answered_by_the_database(sqlite_lake: Ledger, shop: Shop) -> None:
    add(shop, "a", "b", "c")
    source = shop.source(columns=("NAME",), filter="name <> 'b' or name is null")
    sqlite_lake.load(source, "orders")
    assert rows(sqlite_lake.read("orders")) == [("a",), ("c",)]
    add(shop, "b", "d")
    sqlite_lake.load(source, "orders")
    assert rows(sqlite_lake.read("orders")) == [("a",), ("c",), ("d",)]
    (volume,) = sqlite_lake.records.history(kind="ingestion_volume", limit=1)
    assert {"window_start": 3, "window_end": 5, "filter": "name <> 'b' or name is null"}.items() <= volume.payload.items()
    assert volume.payload["watermark"] == {"value": 5, "column": "id"}
    assert volume.target.source_id == "shop.orders"


def test_a_query_is_read_like_a_table(sqlite_lake: Ledger, shop: Shop) -> None:
    add(shop, "a", "b")
    query = f"select name, id as number from {shop.schema}.orders;"
    source = shop.source(query=query, watermark=("number",), partition_column="number", partitions=2)
    assert sqlite_lake.load(source, "orders").rows == 2
    add(shop, "c")
    assert sqlite_lake.load(source, "orders").rows == 1
    assert rows(sqlite_lake.read("orders")) == [("a", 1), ("b", 2), ("c", 3)]


def test_a_view_is_read_like_a_table_and_so_are_partitions(sqlite_lake: Ledger, shop: Shop) -> None:
    shop.do("create table parts (id bigint, name text) partition by range (id)")
    shop.do("create table low partition of parts for values from (0) to (10)")
    shop.do("create table high partition of parts for values from (10) to (20)")
    shop.do("insert into parts values (1, 'a'), (11, 'b')")
    shop.do("create view seen as select * from parts")
    for name in ("parts", "seen"):
        assert sqlite_lake.load(shop.source(name, partition_column="id", partitions=3), name).rows == 2
    with shop.connect() as writing:
        writing.execute("insert into low values (2, 'c')")
        shop.do("insert into parts values (12, 'd')")
        with pytest.raises(Unavailable, match="a transaction writes to"):
            sqlite_lake.load(shop.source("parts", wait_seconds=0.1), "parts")


def test_a_full_read_in_parts_is_one_instant_of_the_database(sqlite_lake: Ledger, shop: Shop) -> None:
    shop.do("insert into orders (at, name) select now(), 'n' from generate_series(1, 40)")
    source = shop.source(watermark=None, partition_column="id", partitions=4)
    reading = source.plan(look(sqlite_lake.store, SOURCE, parse_name("orders")))
    assert reading is not None
    assert reading.frame is not None
    with reading.frame(sqlite_lake.spark) as frame:
        assert reading.detail["partitions"] == 4
        # Moved from the last part to the first while it is being read: in an instant it is in one of them only.
        shop.do("update orders set id = id - 100 where id > 20")
        shop.do("delete from orders where id = 5")
        assert sorted(row.id for row in frame.collect()) == list(range(1, 41))
    with shop.connect() as other:
        open_now = other.execute("select count(*) from pg_stat_activity where application_name = 'lakeledger' and state like 'idle in%'")
        assert open_now.fetchone() == (0,)


# Late rows


def test_whoever_is_writing_is_waited_for_so_that_no_late_row_is_lost(lake: Ledger, shop: Shop) -> None:
    add(shop, "first")
    lake.load(shop.source(), "orders")
    writing = shop.connect()
    writing.execute("insert into orders (at, name) values (now(), 'late')")
    add(shop, "early")  # its id is greater, and it is committed before
    loaded: list[int] = []
    load = threading.Thread(target=lambda: loaded.append(lake.load(shop.source(), "orders").rows))
    load.start()
    load.join(1)
    assert load.is_alive()
    assert lake.positions.get(SOURCE).version == 1
    writing.commit()
    writing.close()
    load.join(60)
    assert loaded == [2]
    assert names(lake) == ["early", "first", "late"]


def test_a_writer_that_does_not_end_is_named_and_nothing_moves(sqlite_lake: Ledger, shop: Shop) -> None:
    add(shop, "a")
    with shop.connect() as writing:
        writing.execute("insert into orders (at, name) values (now(), 'late')")
        with pytest.raises(
            Unavailable, match=rf"a transaction writes to .*orders.* since .*\(pid {writing.info.backend_pid}, user postgres\)"
        ):
            sqlite_lake.load(shop.source(wait_seconds=0.2), "orders")
        assert not sqlite_lake.positions.list()
        assert sqlite_lake.load(shop.source(late_rows="ignore"), "orders").rows == 1
        writing.rollback()


# Rows without a watermark


def test_rows_without_a_watermark_are_refused_included_once_or_skipped(sqlite_lake: Ledger, shop: Shop) -> None:
    add(shop, "a")
    shop.do("insert into orders (name) values ('none')")
    by_time = {"table": f"{shop.schema}.orders"}
    with pytest.raises(Invalid, match="1 row has no value in at, and would never be read"):
        sqlite_lake.load(shop.source(watermark=("at",), **by_time), "refused")
    included = shop.source("included", watermark=Watermark(("at",), nulls="include"), **by_time)
    skipped = shop.source("skipped", watermark=Watermark(("at",), nulls="skip"), **by_time)
    sqlite_lake.load(included, "included")
    loaded = sqlite_lake.load(skipped, "skipped")
    assert loaded.detail["rows_without_watermark"] == 1
    shop.do("insert into orders (name) values ('more')")
    add(shop, "b")
    sqlite_lake.load(included, "included")
    sqlite_lake.load(skipped, "skipped")
    assert names(sqlite_lake, "included") == ["a", "b", "none"]
    assert names(sqlite_lake, "skipped") == ["a", "b"]


# Watermarks of each type


@pytest.mark.parametrize(
    ("type_", "first", "second"),
    [
        ("timestamptz", "2026-01-05 12:00:00.000001+02", "2026-01-05 10:00:00.000002Z"),
        ("timestamp", "2026-03-29 02:30:00", "2026-03-29 02:30:00.5"),
        ("date", "2026-01-05", "2026-01-06"),
        ("integer", "-5", "3"),
        ("numeric(20, 5)", "9.5", "10.00001"),
        ("text", "Z'\\\\%ü", "a"),
        ("varchar(9)", "9", "91"),
    ],
)
def test_a_watermark_of_any_ordered_type_brings_what_is_above_it(
    sqlite_lake: Ledger, shop: Shop, type_: str, first: str, second: str
) -> None:
    shop.do(f"create table marked (mark {type_}, place int)")
    shop.do(f"insert into marked values (%s::{type_}, 1)", first)
    for watermark in (("mark",), ("mark", "place")):
        table = f"by_{len(watermark)}"
        source = shop.source(table, table=f"{shop.schema}.marked", watermark=watermark)
        assert sqlite_lake.load(source, table).rows >= 1
        assert sqlite_lake.load(source, table).committed is None
    shop.do(f"insert into marked values (%s::{type_}, 2)", second)
    for watermark in (("mark",), ("mark", "place")):
        table = f"by_{len(watermark)}"
        source = shop.source(table, table=f"{shop.schema}.marked", watermark=watermark)
        assert sqlite_lake.load(source, table).rows == 1
        assert sorted(row.place for row in sqlite_lake.read(table).collect()) == [1, 2]


def test_a_watermark_after_which_nothing_is_new_is_refused(sqlite_lake: Ledger, shop: Shop) -> None:
    shop.do("insert into orders (at, name) values ('infinity', 'a')")
    with pytest.raises(Invalid, match="the greatest at is infinity, after which nothing is ever new: leave such rows out with a filter"):
        sqlite_lake.load(shop.source(watermark=("at",)), "orders")
    assert sqlite_lake.load(shop.source(watermark=("at",), filter="isfinite(at) or at is null"), "orders").committed is None


def test_a_column_without_an_order_is_no_watermark(sqlite_lake: Ledger, shop: Shop) -> None:
    shop.do("create table other (id uuid, weight double precision)")
    for column in ("id", "weight"):
        with pytest.raises(Invalid, match=f"{column} of .*other is .*, which cannot be a watermark"):
            sqlite_lake.load(shop.source("other", watermark=(column,)), "other")


# Backfill


def test_a_backfill_brings_a_window_and_leaves_the_position_alone(lake: Ledger, shop: Shop) -> None:
    shop.do("insert into orders (at, name) select '2026-01-01Z'::timestamptz + n * interval '1 day', 'd' || n from generate_series(0, 9) n")
    since = Watermark(("at", "id"), start="2026-01-06T00:00:00Z")
    source = shop.source(watermark=since)
    assert lake.load(source, "orders").rows == 5
    before = lake.positions.get(SOURCE)
    loaded = lake.load(source, "orders", window=("2026-01-02", date(2026, 1, 4)))
    assert loaded.rows == 2
    assert lake.positions.get(SOURCE) == before
    assert names(lake) == ["d1", "d2", "d5", "d6", "d7", "d8", "d9"]
    run = lake.runs.list(limit=1)[0]
    assert (run.run_kind, run.parameters) == ("backfill", {"from": "2026-01-02", "to": "2026-01-04"})
    assert loaded.detail["window"] == {"from": ["2026-01-02T00:00:00.000000Z"], "to": ["2026-01-04T00:00:00.000000Z"]}
    (volume,) = lake.records.history(kind="ingestion_volume", limit=1)
    assert volume.payload["window_start"] == "2026-01-02T00:00:00.000000Z"
    assert volume.payload["window_end"] == "2026-01-04T00:00:00.000000Z"


def test_the_same_backfill_twice_is_one_and_one_into_loaded_rows_is_refused(sqlite_lake: Ledger, shop: Shop) -> None:
    add(shop, *"abcdef")
    source = shop.source(watermark=Watermark(("id",), start=5))
    sqlite_lake.load(source, "orders")
    assert sqlite_lake.load(source, "orders", window=(1, 3)).committed is not None
    assert sqlite_lake.load(source, "orders", window=(1, 3)).committed is None
    with pytest.raises(Invalid, match="the window from 3 reaches into what was loaded before; use merge with keys"):
        sqlite_lake.load(source, "orders", window=(3, 6))
    with pytest.raises(Invalid, match="gives only a part of its rows"):
        sqlite_lake.load(source, "orders", mode="overwrite", window=(1, 3))
    assert names(sqlite_lake) == ["a", "b", "e", "f"]


def test_the_step_of_a_backfill_says_which_window_it_was(sqlite_lake: Ledger, shop: Shop) -> None:
    add(shop, "a")
    with sqlite_lake.run("orders") as run, run.step("again") as step:
        sqlite_lake.load(shop.source(), "orders", window=(0, 9), run=step)
    assert sqlite_lake.runs.steps(run.id)[0].metadata["window"] == {"from": [0], "to": [9]}


# Types


TYPES = """
create type mood as enum ('sad', 'happy'); create domain price as numeric(10, 2);
create table typed (
    id int primary key, small smallint, big bigint, narrow numeric(10, 2), domained price, tz timestamptz, local timestamp, day date,
    flag boolean, uid uuid, doc json, docb jsonb, numbers int[], words text[], raw bytea, padded char(5), short varchar(3), f4 real,
    f8 double precision, feeling mood, clock time, span interval, ip inet, range int4range, wide numeric, cash money)
"""
TYPED = (
    "(1, 2, 3, 4.50, 5.25, '2026-01-05 12:00:00.123456+02', '2026-03-29 02:30:00', '2026-01-05', true, "
    "'c56036d8-aac5-4cfe-ace1-c983c5ba680e', '{\"a\": 1}', '{\"b\": [1]}', '{1,NULL}', '{x,NULL}', '\\x00ff', 'ab', 'x', 1.5, 2.5, "
    "'happy', '12:30', '1 day', '10.0.0.1', '[1,3)', 12345678901234567890.123, 12.5)"
)


def test_each_type_is_read_as_it_is(sqlite_lake: Ledger, shop: Shop) -> None:
    shop.do(TYPES)
    shop.do(f"insert into typed values {TYPED}")
    shop.do("insert into typed (id) values (2)")
    declared = {"wide": "decimal(38, 5)", "cash": "decimal(19,2)"}
    sqlite_lake.load(shop.source("typed", types=declared), "typed")
    frame = sqlite_lake.read("typed")
    types = {field.name: field.dataType.simpleString() for field in frame.schema}
    assert types == {
        "id": "int", "small": "smallint", "big": "bigint", "narrow": "decimal(10,2)", "domained": "decimal(10,2)", "tz": "timestamp",
        "local": "timestamp_ntz", "day": "date", "flag": "boolean", "uid": "string", "doc": "string", "docb": "string",
        "numbers": "array<int>", "words": "array<string>", "raw": "binary", "padded": "string", "short": "string", "f4": "float",
        "f8": "double", "feeling": "string", "clock": "string", "span": "string", "ip": "string", "range": "string",
        "wide": "decimal(38,5)", "cash": "decimal(19,2)",
    }  # fmt: skip
    found, empty = sorted(frame.collect(), key=lambda row: row.id)
    assert set(empty[1:]) == {None}
    assert found.asDict() == {
        "id": 1, "small": 2, "big": 3, "narrow": Decimal("4.50"), "domained": Decimal("5.25"),
        "tz": datetime.fromisoformat("2026-01-05T10:00:00.123456"),
        "local": datetime.fromisoformat("2026-03-29T02:30:00"), "day": date(2026, 1, 5), "flag": True,
        "uid": "c56036d8-aac5-4cfe-ace1-c983c5ba680e", "doc": '{"a": 1}', "docb": '{"b": [1]}', "numbers": [1, None],
        "words": ["x", None], "raw": b"\x00\xff", "padded": "ab", "short": "x", "f4": 1.5, "f8": 2.5, "feeling": "happy",
        "clock": "12:30:00", "span": "1 day", "ip": "10.0.0.1/32", "range": "[1,3)",
        "wide": Decimal("12345678901234567890.12300"), "cash": Decimal("12.50"),
    }  # fmt: skip


def test_what_would_lose_something_is_refused_until_its_type_is_declared(sqlite_lake: Ledger, shop: Shop) -> None:
    shop.do("create table lossy (id int, wide numeric, cash money, place point)")
    shop.do("insert into lossy values (1, 1.23456, 1, '(1,2)')")
    with pytest.raises(Invalid, match=r"column wide of .*lossy is numeric, which no decimal of Spark is sure to hold: declare its type"):
        sqlite_lake.load(shop.source("lossy"), "lossy")
    with pytest.raises(Invalid, match=r"column cash .* is money"):
        sqlite_lake.load(shop.source("lossy", types={"wide": "string"}), "lossy")
    with pytest.raises(Invalid, match=r"column place .* is point, which has no type on Spark: declare it as string"):
        sqlite_lake.load(shop.source("lossy", columns=("id", "place")), "lossy")
    with pytest.raises(Failed, match=r"wide has more decimals than decimal\(10, 2\): 1.23456"):
        sqlite_lake.load(shop.source("lossy", columns=("id", "wide"), types={"wide": "decimal(10, 2)"}), "lossy")
    sqlite_lake.load(shop.source("lossy", types={"wide": "string", "cash": "string", "place": "string"}), "lossy")
    assert rows(sqlite_lake.read("lossy")) == [(1, "1.23456", "1.00", "(1,2)")]


# Errors


def test_a_table_or_column_that_is_not_there_is_named_with_what_is(sqlite_lake: Ledger, shop: Shop) -> None:
    with pytest.raises(Invalid, match=r'relation ".*ordrs" does not exist; did you mean \'shop_\w+\.orders\'\?'):
        sqlite_lake.load(shop.source("ordrs"), "orders")
    with pytest.raises(Invalid, match="has no column 'updated' to be its watermark: it has id, at, name"):
        sqlite_lake.load(shop.source(watermark=("updated",)), "orders")
    with pytest.raises(Invalid, match="has no column 'nam': it has id, at, name; did you mean 'name'"):
        sqlite_lake.load(shop.source(columns=("nam",)), "orders")
    with pytest.raises(Invalid, match='column "nope" does not exist'):
        sqlite_lake.load(shop.source(filter="nope = 1"), "orders")
    with pytest.raises(Invalid, match="has no such database"):
        sqlite_lake.load(shop.source(url=shop.url + "x"), "orders")


def test_a_database_that_is_away_is_unavailable(sqlite_lake: Ledger, shop: Shop) -> None:
    with pytest.raises(Unavailable, match=r"postgresql://127\.0\.0\.1:1/shop does not answer") as caught:
        sqlite_lake.load(shop.source(url="jdbc:postgresql://127.0.0.1:1/shop"), "orders")
    assert caught.value.retryable


def test_a_database_that_goes_away_while_it_is_read_is_unavailable_and_nothing_is_loaded(
    sqlite_lake: Ledger, shop: Shop, fragile_postgres: Server
) -> None:
    with shop_on(fragile_postgres) as fragile:
        add(fragile, "a", "b")
        source = fragile.source()
        reading = source.plan(look(sqlite_lake.store, SOURCE, parse_name("orders")))
        assert reading is not None
        assert reading.frame is not None
        fragile_postgres.stop()
        try:
            with pytest.raises(Unavailable, match="does not answer: see that it runs"), reading.frame(sqlite_lake.spark) as frame:
                frame.collect()
        finally:
            fragile_postgres.resume()
        assert sqlite_lake.load(source, "orders").rows == 2


def test_credentials_are_references_and_appear_nowhere(sqlite_lake: Ledger, shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    user = f"u_{shop.schema}"
    shop.do(f"create role {user} login password 'correct-horse'")
    try:
        source = shop.source(user=user, password="${env:SHOP_PASSWORD}")
        monkeypatch.setenv("SHOP_PASSWORD", "correct-horse")
        with pytest.raises(Forbidden, match=r"permission denied for schema .*; grant SELECT"):
            sqlite_lake.load(source, "orders")
        shop.do(f"grant usage on schema {shop.schema} to {user}")
        shop.do(f"grant select on {shop.schema}.orders to {user}")
        add(shop, "a")
        loaded = sqlite_lake.load(source, "orders")
        assert loaded.rows == 1
        with sqlite_lake.store.read() as tx:
            for table in ("records", "sync_markers", "table_snapshots", "pipeline_runs", "change_log"):
                found = tx.all(_all(table))
                assert "correct-horse" not in repr(found)
        assert "correct-horse" not in repr(source)
    finally:
        shop.do(f"drop owned by {user}")
        shop.do(f"drop role {user}")
    with pytest.raises(Forbidden, match="refuses the user or the password: check the references") as caught:
        sqlite_lake.load(source, "orders")
    assert "correct-horse" not in str(caught.value)
    monkeypatch.delenv("SHOP_PASSWORD")
    with pytest.raises(Invalid, match=r"SHOP_PASSWORD\W+ leads nowhere: set the variable SHOP_PASSWORD"):
        sqlite_lake.load(shop.source(user=user, password="${env:SHOP_PASSWORD}"), "orders")


def _all(table: str) -> Any:
    from lakeledger.db.queries import statement

    name = {"records": "metadata_records"}.get(table, table)
    return statement(f"select * from {name} where tenant_id = :tenant_id")


def test_a_url_holds_no_password() -> None:
    for url in (
        "jdbc:postgresql://db/shop?user=a&password=hunter2hunter2",
        "postgresql://a:hunter2hunter2@db/shop",
        "jdbc:mysql://a:hunter2hunter2@db/shop",
        "jdbc:oracle:thin:scott/hunter2hunter2@db/shop",
    ):
        with pytest.raises(
            Invalid, match=r"the URL of db/shop holds a password, and URLs are stored: give password='\$\{env:NAME\}'"
        ) as caught:
            JdbcConfig(url, "orders")
        assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({}, "either a table or a query"),
        ({"table": "a", "query": "select 1"}, "either a table or a query"),
        ({"table": "a", "partitions": 4}, "needs a partition_column"),
        ({"table": "a", "fetch_size": 0}, "fetch_size is the number of rows"),
        ({"table": "a", "url": "jdbc:postgre://x/y"}, "no database is known by postgre"),
    ],
)
def test_a_source_that_makes_no_sense_is_refused(config: dict[str, Any], words: str) -> None:
    with pytest.raises(Invalid, match=words):
        JdbcConfig(**{"url": "jdbc:postgresql://x/y", **config})


# What a database says of its tables


def test_a_table_is_described_with_its_key_and_what_may_be_its_watermark(shop: Shop) -> None:
    shop.do("create table events (tenant int, number bigint primary key, updated_at timestamptz not null, created date, total numeric)")
    shop.do("create index on events (updated_at)")
    shop.do("insert into events select 1, n, now(), now(), 1 from generate_series(1, 500) n")
    shop.do("analyze events")
    connection = JdbcConfig(shop.url, "any", user="postgres")
    found = describe(connection, f"{shop.schema}.events")
    assert [(column.name, column.type, column.nullable) for column in found.columns] == [
        ("tenant", "integer", True),
        ("number", "bigint", False),
        ("updated_at", "timestamp with time zone", False),
        ("created", "date", True),
        ("total", "numeric", True),
    ]
    assert (found.primary_key, found.rows, list(found.unreadable)) == (("number",), 500, ["total"])
    assert [candidate.columns for candidate in found.watermarks] == [("updated_at", "number"), ("number",), ("created", "number")]
    first, second, third = found.watermarks
    assert first.warning == "rows that are committed late need a lookback and merge"
    assert "changed rows are not seen" in (second.warning or "")
    assert third.warning == "a day ties: give a lookback and merge; it may be NULL; it has no index"
    assert {f"{shop.schema}.events", f"{shop.schema}.orders"} <= set(list_tables(connection))
    with pytest.raises(Invalid, match="did you mean"):
        describe(connection, f"{shop.schema}.event")


# Another database is asked through Spark


def test_through_spark_a_database_answers_the_same(sqlite_lake: Ledger, shop: Shop, spark: SparkSession) -> None:
    shop.do(TYPES.replace("wide numeric, cash money", "wide int"))
    shop.do("insert into typed (id, big, narrow, tz, local, day, short) values (7, 8, 1.5, '2026-01-05Z', '2026-01-06', '2026-01-07', 'x')")
    source = shop.source("typed")
    with source.asking() as asks:
        directly = {column.name: column.order for column in asks.columns(source.rows)}
    asked = SparkAsks(spark, POSTGRESQL, source._url, source._properties, {})
    through_spark = {column.name: column.order for column in asked.columns(source.rows)}
    marks = {"id", "small", "big", "narrow", "tz", "local", "day", "short", "domained"}
    assert {name: through_spark[name] for name in marks} == {name: directly[name] for name in marks}
    query = f"select max(id)::text as high, null::text as none from {source.rows}"
    with source.asking() as asks:
        assert asked.one(query) == asks.one(query) == ("7", None)
    assert asked.one(f"select id::text from {source.rows} where false") == ()


def test_a_database_that_is_asked_through_spark_needs_one() -> None:
    source = JdbcSource(SOURCE, JdbcConfig("jdbc:mysql://db/shop", "orders"))
    with pytest.raises(Invalid, match="mysql is asked through Spark: give"):
        source.plan(None)  # type: ignore[arg-type]  # it is refused before it looks


def test_without_its_driver_spark_says_which_jar_to_name(sqlite_lake: Ledger, spark: SparkSession) -> None:
    from lakeledger.errors import NotInstalled

    source = JdbcSource(SOURCE, JdbcConfig("jdbc:mysql://127.0.0.1:1/shop", "orders"), lambda: spark)
    with pytest.raises(NotInstalled, match=r"Spark has no driver com\.mysql\.cj\.jdbc\.Driver .*: name its JAR in spark\.jars"):
        sqlite_lake.load(source, "orders", mode="overwrite")


def test_a_full_refresh_reads_everything_again_and_goes_on_from_there(lake: Ledger, shop: Shop) -> None:
    add(shop, "a", "b")
    lake.load(shop.source(), "orders")
    shop.do("update orders set name = 'changed' where name = 'a'")
    shop.do("delete from orders where name = 'b'")
    add(shop, "c")
    assert lake.load(shop.source(), "orders", full_refresh=True).rows == 2
    assert names(lake) == ["c", "changed"]
    add(shop, "d")
    assert lake.load(shop.source(), "orders").rows == 1
    assert names(lake) == ["c", "changed", "d"]
