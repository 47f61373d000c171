"""The changes of a real PostgreSQL table, read from a logical replication slot."""

from __future__ import annotations

import json
import random
import threading
import uuid
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

import lakeledger
from integration import children, replicating
from integration.reducing import reduced
from integration.replicating import FOLLOWING, SOURCE, TABLE, follow, load, source
from lakeledger import Ledger
from lakeledger.errors import Failed, Forbidden, Invalid, Unavailable
from lakeledger.pipelines.sources import look
from lakeledger.pipelines.sources.replication import Replication, lag
from lakeledger.tables import parse_name
from lakeledger.testing import raise_at
from needs import missing
from postgres_server import MissingServer, Server, start

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MOVE = "update shop.customers set id = id + 1000, big = null where id = %s and not exists (select from shop.customers where id = %s)"
PUT = """insert into shop.customers (id, name, big) values (%s, 'new', repeat(%s, 3000))
         on conflict (id) do update set big = excluded.big"""
SLOT = "lakeledger_shop__customers"
KILLS = 2


@pytest.fixture(scope="session")
def logical_postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server whose changes can be read."""
    try:
        server = start(tmp_path_factory.mktemp("logical"), logical=True)
    except MissingServer as error:
        missing(str(error))
    yield server
    server.stop()


@pytest.fixture
def shop(logical_postgres: Server) -> Iterator[psycopg.Connection[Any]]:
    """A database of the test's own with a published table of two rows."""
    database = f"shop_{uuid.uuid4().hex[:8]}"
    server = logical_postgres.with_database(database)
    with psycopg.connect(server.url(), autocommit=True) as connection:
        connection.execute("create schema shop")
        connection.execute(
            """create table shop.customers (id int primary key, name text, amount numeric(12,2), seen timestamptz, tags text[], big text)"""
        )
        connection.execute("alter table shop.customers alter big set storage external")
        connection.execute("create publication shop for table shop.customers")
        connection.execute("insert into shop.customers values (1, 'Ada', 1.5, '2024-02-29 12:00+02', '{x,y}', repeat('a', 5000))")
        connection.execute("insert into shop.customers (id, name) values (2, 'Bob')")
        yield connection
        with suppress(psycopg.Error):
            connection.execute("select pg_drop_replication_slot(slot_name) from pg_replication_slots where database = current_database()")


def url_of(connection: psycopg.Connection[Any]) -> str:
    info = connection.info
    return f"postgresql://{info.user}@{info.host}:{info.port}/{info.dbname}"


def in_shop(connection: psycopg.Connection[Any]) -> dict[int, dict[str, Any]]:
    """What the table holds, as texts."""
    rows = connection.execute("select to_jsonb(c) from shop.customers c").fetchall()
    return {row[0]["id"]: row[0] for row in rows}


def in_lake(ledger: Ledger) -> dict[int, dict[str, Any]]:
    """What the changes lead to, as the server would write it."""
    return as_written(reduced(ledger.read(TABLE).collect(), "id"))


def as_written(rows: dict[int, dict[str, Any]]) -> dict[int, dict[str, Any]]:
    for row in rows.values():
        row["amount"] = None if row["amount"] is None else float(row["amount"])
        row["seen"] = None if row["seen"] is None else f"{row['seen'].isoformat()}+00:00"
    return rows


def behind(connection: psycopg.Connection[Any]) -> int:
    return lag(Replication(url_of(connection), "shop.customers"), SOURCE)


def test_a_sample_of_the_table_makes_no_slot(sqlite_lake: Ledger, shop: psycopg.Connection[Any], spark: SparkSession) -> None:
    with source(url_of(shop), sqlite_lake).sample(1).frame(spark) as frame:  # type: ignore[misc]
        assert [(row["id"], row["_change_type"]) for row in frame.collect()] == [(1, "read")]
    assert shop.execute("select count(*) from pg_replication_slots where database = current_database()").fetchone() == (0,)


def test_the_table_is_copied_first_and_a_column_that_came_later_is_in_the_changes_after_it(
    sqlite_lake: Ledger, shop: psycopg.Connection[Any]
) -> None:
    url = url_of(shop)
    assert load(url, sqlite_lake).rows == 2
    assert load(url, sqlite_lake).committed is None
    shop.execute("update shop.customers set name = 'A' where id = 1")
    shop.execute("alter table shop.customers add column level int")
    shop.execute("update shop.customers set level = 1 where id = 2")
    shop.execute("insert into shop.customers (id) values (3)")
    reading = source(url, sqlite_lake).plan(look(sqlite_lake.store, SOURCE, parse_name(TABLE)))
    assert reading
    assert reading.frame
    with reading.frame(sqlite_lake.spark) as frame:
        rows = sorted(frame.collect(), key=lambda row: row["_sequence"])
    assert [(row["id"], row["level"], row["_unset"]) for row in rows] == [(1, None, ["big", "level"]), (2, 1, None), (3, None, None)]
    with pytest.raises(Invalid, match="level"):
        load(url, sqlite_lake)


def test_every_kind_of_change_leads_to_the_rows_of_the_source(sqlite_lake: Ledger, shop: psycopg.Connection[Any]) -> None:
    url = url_of(shop)
    load(url, sqlite_lake)
    for statement in (
        "update shop.customers set name = 'Ada L.' where id = 1",
        "insert into shop.customers (id, tags, seen) select number, '{}', 'epoch' from generate_series(3, 9) number",
        "delete from shop.customers where id = 3",
        "update shop.customers set id = 40 where id = 4",
        "begin; insert into shop.customers (id) values (50); rollback",
    ):
        shop.execute(statement)
    loaded = load(url, sqlite_lake)
    assert (loaded.detail["changes"], loaded.detail["transactions"], loaded.rows) == (10, 4, 11)
    rows = sqlite_lake.read(TABLE).where("_change_type = 'update'").collect()
    assert [(row["name"], row["big"], row["_unset"]) for row in rows] == [("Ada L.", None, ["big"])]
    assert in_lake(sqlite_lake) == in_shop(shop)
    shop.execute("truncate shop.customers")
    shop.execute("insert into shop.customers (id) values (1)")
    load(url, sqlite_lake)
    assert in_lake(sqlite_lake) == in_shop(shop)
    assert len(in_shop(shop)) == 1


def test_the_slot_lets_go_once_the_ledger_has_the_changes_and_not_before(sqlite_lake: Ledger, shop: psycopg.Connection[Any]) -> None:
    url = url_of(shop)
    load(url, sqlite_lake)
    shop.execute("insert into shop.customers (id) values (3)")
    for point in ("after_write", "in_transaction"):
        with raise_at(point, Failed("the test says so")), pytest.raises(Failed, match="the test says so"):
            load(url, sqlite_lake)
        assert behind(shop) > 0
    assert load(url, sqlite_lake).rows == 1
    while load(url, sqlite_lake).summary != "nothing new" or behind(shop):
        pass
    assert (behind(shop), in_lake(sqlite_lake)) == (0, in_shop(shop))


def test_what_is_read_but_not_committed_leaves_no_slot_and_moves_none(sqlite_lake: Ledger, shop: psycopg.Connection[Any]) -> None:
    reader = source(url_of(shop), sqlite_lake)

    def look_at_it() -> int:
        reading = reader.plan(look(sqlite_lake.store, SOURCE, parse_name(TABLE)))
        assert reading
        assert reading.frame
        with reading.frame(sqlite_lake.spark) as frame:
            return frame.count()

    assert look_at_it() == 2
    assert shop.execute("select count(*) from pg_replication_slots where database = current_database()").fetchone() == (0,)
    load(url_of(shop), sqlite_lake)
    shop.execute("insert into shop.customers (id) values (3)")
    assert [look_at_it(), look_at_it(), load(url_of(shop), sqlite_lake).rows] == [1, 1, 1]
    assert not list(Path(sqlite_lake.warehouse, "staging").rglob("*.parquet"))


def test_a_load_is_bounded_but_takes_whole_transactions(sqlite_lake: Ledger, shop: psycopg.Connection[Any]) -> None:
    url = url_of(shop)
    load(url, sqlite_lake)
    for first in (10, 20, 30):
        shop.execute("insert into shop.customers (id) select generate_series(%s::int, %s::int)", (first, first + 8))
    assert [load(url, sqlite_lake, max_changes=5).rows for _ in range(4)] == [9, 9, 9, 0]
    shop.execute("insert into shop.customers (id) select generate_series(40, 48)")
    shop.execute("insert into shop.customers (id) values (60)")
    assert [load(url, sqlite_lake, max_bytes=1).rows for _ in range(2)] == [9, 1]
    assert in_lake(sqlite_lake) == in_shop(shop)


def test_the_whole_old_row_brings_back_what_an_update_left_unchanged(sqlite_lake: Ledger, shop: psycopg.Connection[Any]) -> None:
    shop.execute("alter table shop.customers replica identity full")
    url = url_of(shop)
    load(url, sqlite_lake)
    shop.execute("update shop.customers set name = 'A' where id = 1")
    shop.execute("update shop.customers set id = 10 where id = 1")
    load(url, sqlite_lake)
    assert in_lake(sqlite_lake) == in_shop(shop)
    assert in_lake(sqlite_lake)[10]["big"] == "a" * 5000


def test_a_value_that_was_not_sent_with_a_new_key_is_set_aside_and_not_null(sqlite_lake: Ledger, shop: psycopg.Connection[Any]) -> None:
    url = url_of(shop)
    load(url, sqlite_lake)
    shop.execute("update shop.customers set id = 10 where id = 1")
    load(url, sqlite_lake)
    (bad,) = sqlite_lake.read(TABLE).where("_change_type is null").collect()
    assert bad["_problems"] == ["big: its value was not sent with the row's new key: give the table REPLICA IDENTITY FULL"]
    assert sorted(in_lake(sqlite_lake)) == [2]


def test_values_that_no_type_here_holds_are_kept_with_their_reason(sqlite_lake: Ledger, shop: psycopg.Connection[Any]) -> None:
    url = url_of(shop)
    load(url, sqlite_lake)
    shop.execute("insert into shop.customers (id, seen, amount) values (3, 'infinity', 'NaN'), (4, 'epoch', 0)")
    load(url, sqlite_lake)
    (bad,) = sqlite_lake.read(TABLE).where("_change_type is null").collect()
    assert bad["_problems"] == ["amount: NaN is no decimal128(12, 2)", "seen: infinity is no timestamp[us, tz=UTC]"]
    assert json.loads(bad["_raw"])["id"] == "3"
    assert 4 in in_lake(sqlite_lake)


def test_a_role_that_may_replicate_and_read_is_enough(sqlite_lake: Ledger, shop: psycopg.Connection[Any]) -> None:
    role = f"reader_{uuid.uuid4().hex[:8]}"
    url = url_of(shop).replace("postgres@", f"{role}@")
    shop.execute(f"create role {role} login")
    with pytest.raises(Forbidden, match=r"needs REPLICATION"):
        load(url, sqlite_lake)
    for statement in (
        f"alter role {role} replication",
        f"grant usage on schema shop to {role}",
        f"grant select on shop.customers to {role}",
    ):
        shop.execute(statement)
    load(url, sqlite_lake)
    shop.execute("delete from shop.customers where id = 2")
    load(url, sqlite_lake)
    assert in_lake(sqlite_lake) == in_shop(shop)


def test_a_server_that_is_not_prepared_is_refused_with_what_to_do(
    sqlite_lake: Ledger, shop: psycopg.Connection[Any], postgres: Server
) -> None:
    url = url_of(shop)
    with pytest.raises(Invalid, match="wal_level replica: run `alter system set wal_level = logical` and restart"):
        load(postgres.url(), sqlite_lake)
    with pytest.raises(Unavailable, match="PostgreSQL is not reached"):
        load("postgresql://postgres@127.0.0.1:1/postgres", sqlite_lake)
    with pytest.raises(Invalid, match=r'run `create publication "other" for table "shop"\."customers"`'):
        load(url, sqlite_lake, publication="other")
    with pytest.raises(Invalid, match=r"no table shop\.nothing"):
        load(url, sqlite_lake, table="shop.nothing")
    shop.execute("create table shop.more (id int primary key)")
    with pytest.raises(Invalid, match=r'run `alter publication "shop" add table "shop"\."more"`'):
        load(url, sqlite_lake, table="shop.more")
    shop.execute("alter publication shop set (publish = 'insert, update')")
    with pytest.raises(Invalid, match="leaves out delete, truncate"):
        load(url, sqlite_lake)


def test_a_slot_that_lost_changes_is_refused(sqlite_lake: Ledger, shop: psycopg.Connection[Any]) -> None:
    url = url_of(shop)
    load(url, sqlite_lake)
    shop.execute("insert into shop.customers (id) values (3)")
    load(url, sqlite_lake)
    shop.execute("insert into shop.customers (id) values (4)")
    shop.execute("select pg_replication_slot_advance(%s, pg_current_wal_lsn())", (SLOT,))
    with pytest.raises(Invalid, match="somebody else read from it, and the changes between are lost"):
        load(url, sqlite_lake)
    shop.execute("select pg_drop_replication_slot(%s)", (SLOT,))
    with pytest.raises(Invalid, match=f"there is no slot {SLOT}, so that changes since .* are lost"):
        load(url, sqlite_lake)


def test_a_slot_of_somebody_elses_is_not_dropped(sqlite_lake: Ledger, shop: psycopg.Connection[Any]) -> None:
    slot = f"theirs_{uuid.uuid4().hex[:8]}"
    shop.execute("select pg_create_logical_replication_slot(%s, 'pgoutput')", (slot,))
    shop.execute("insert into shop.customers (id) values (3)")
    with pytest.raises(Invalid, match="the ledger has no position"):
        load(url_of(shop), sqlite_lake, slot=slot)
    assert load(url_of(shop), sqlite_lake, slot=slot, snapshot="never").rows == 1


def test_changes_are_not_lost_that_were_open_when_the_slot_began(sqlite_lake: Ledger, shop: psycopg.Connection[Any]) -> None:
    """The first two are waited for. The third wrote before the place at which the slot begins, but is committed after it."""
    url = url_of(shop)
    with psycopg.connect(url) as first, psycopg.connect(url) as second, psycopg.connect(url) as third:
        begin(first, 100)
        loading = threading.Thread(target=load, args=(url, sqlite_lake))
        loading.start()
        wait_for_waiter(shop, first)
        begin(second, 101)
        first.commit()
        wait_for_waiter(shop, second)
        begin(third, 102)
        second.commit()
        loading.join()
        third.commit()
    assert sorted(in_lake(sqlite_lake)) == [1, 2, 100, 101]
    load(url, sqlite_lake)
    assert in_lake(sqlite_lake) == in_shop(shop)
    assert 102 in in_shop(shop)


def begin(connection: psycopg.Connection[Any], id: int) -> None:
    connection.execute("insert into shop.customers (id) values (%s)", (id,))


def wait_for_waiter(shop: psycopg.Connection[Any], of: psycopg.Connection[Any]) -> None:
    (xid,) = of.execute("select pg_current_xact_id()::xid").fetchone() or (None,)
    waits = "select count(*) from pg_locks where not granted and locktype = 'transactionid' and transactionid = %s::text::xid"
    while shop.execute(waits, (str(xid),)).fetchone() == (0,):
        pass


def write_at_random(url: str, stop: threading.Event, seed: int) -> None:
    """Change rows of the table until told to stop."""
    chance = random.Random(seed)
    with psycopg.connect(url) as connection:
        while not stop.is_set():
            for _ in range(chance.randint(1, 20)):
                id = chance.randint(1, 60)
                match chance.randint(0, 9):
                    case 0 | 1:
                        connection.execute("delete from shop.customers where id = %s", (id,))
                    case 2:
                        connection.execute(MOVE, (id, id + 1000))
                    case 3 | 4 | 5:
                        connection.execute("update shop.customers set name = %s where id = %s", (str(chance.random()), id))
                    case _:
                        connection.execute(PUT, (id, chance.choice("abc")))
            if chance.random() < 0.01:
                connection.execute("truncate shop.customers")
            connection.rollback() if chance.random() < 0.1 else connection.commit()
            stop.wait(0.05)


@pytest.mark.parametrize("url", ["postgres"], indirect=True)
def test_a_table_that_follows_a_slot_is_that_of_the_source_however_often_its_pipeline_is_killed(
    url: str, spark: SparkSession, shop: psycopg.Connection[Any], tmp_path: Path
) -> None:
    stop, warehouse = threading.Event(), str(tmp_path / "warehouse")
    writer = threading.Thread(target=write_at_random, args=(url_of(shop), stop, 7))
    writer.start()
    chance = random.Random()
    try:
        for number in range(KILLS):
            child = children.start(tmp_path / f"{number}.log", url, warehouse, url_of(shop), script=Path(replicating.__file__))
            try:
                assert child.process.stdout
                for _ in range(chance.randint(2, 12)):
                    assert child.process.stdout.readline(), child.errors
            finally:
                child.end()
    finally:
        stop.set()
        writer.join()
    with lakeledger.open(url, warehouse=warehouse, spark=spark) as ledger:
        while follow(url_of(shop), ledger).summary != "nothing new" or behind(shop):
            pass
        found = [row.asDict() for row in ledger.read(FOLLOWING).collect()]
        assert as_written({row["id"]: row for row in found}) == in_shop(shop)
        assert len(found) == len(in_shop(shop))  # and the slot was not behind; the server itself writes a little to its log at any time
        assert ledger.tables.find(f"{FOLLOWING}__quarantine") is None
