"""The connection port: what goes in comes out, what fails leaves nothing, readers and writers do not wait for each other."""

# ruff: noqa: PT012 - what raises is the block of a run or a transaction
from __future__ import annotations

import threading
import traceback
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from contract.making import execute, opened, rows, together
from examples import tried
from lakeledger import Advance, Conflict, Failed, Forbidden, Invalid, Ledger, NumberPosition, Unavailable, db
from lakeledger.db import migrate, sqlite
from lakeledger.db.queries import statement
from lakeledger.sync import DocumentPosition, parse_source
from lakeledger.sync.positions import store as positions
from postgres_server import Server

PUT = "insert into samples (id, tenant_id, flag, big, doc, at, words) values (:id, :tenant_id, :flag, :big, :doc, :at, :words)"
EMPTY = {"flag": None, "big": None, "doc": None, "at": None, "words": None}
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
NUMBERS = st.integers(-(2**63), 2**63 - 1) | st.floats(-(10**15), 10**15)
LEAVES = st.none() | st.booleans() | NUMBERS | TEXT
DOCUMENTS = st.dictionaries(
    TEXT, st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3))
)


@pytest.fixture
def samples(ledger: Ledger) -> Iterator[Ledger]:
    """A ledger with a table of every type."""
    with ledger.store.write() as tx:
        ledger.database.run_script(
            tx,
            "create table samples (id text primary key, tenant_id text not null, flag boolean, big bigint check (big <> 13), "
            "doc jsonb, at timestamptz, words text);",
        )
    yield ledger
    execute(ledger, "drop table samples")


def advance(ledger: Ledger, times: int) -> None:
    """Add one to a position that others move too."""
    for _ in range(times):
        with ledger.store.write() as tx:
            value = int(positions.get(tx, parse_source("shop")).position_data["value"])
            positions.advance(tx, Advance(parse_source("shop"), NumberPosition(value + 1)), "test")


def back(ledger: Ledger, **values: Any) -> dict[str, Any]:
    execute(ledger, "delete from samples")
    execute(ledger, PUT, id="1", **{**EMPTY, **values})
    found = rows(ledger, "select flag, big, doc, at, words from samples")[0]
    return {name: found[name] for name in values}


@pytest.mark.parametrize(
    "values",
    [
        EMPTY,
        {"flag": True},
        {"flag": False},
        {"big": 0},
        {"big": 2**63 - 1},
        {"big": -(2**63)},
        {"doc": {}},
        {"doc": []},
        {"doc": {"null": None, "true": True, "n": 2**62, "f": 0.1, "deep": [{"ü": "ß🙂"}, [], ""], "quote": 'it\'s "x" \\ :a %s'}},
        {"at": datetime(2026, 1, 2, 3, 4, 5, 678_901, tzinfo=UTC)},
        {"at": datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)},
        {"at": datetime(1, 1, 1, tzinfo=UTC)},
        {"at": datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)},
        {"words": ""},
        {"words": "Größe, 日本, 🙂, it's :a %s %(x)s \\ \n"},
        {"words": "2026-01-01"},
        {"words": "1"},
    ],
    ids=str,
)
def test_a_value_comes_back_as_it_was(samples: Ledger, values: dict[str, Any]) -> None:
    assert back(samples, **values) == values


def test_a_time_of_another_zone_comes_back_as_utc(samples: Ledger) -> None:
    at = datetime(2026, 1, 1, 2, tzinfo=timezone(timedelta(hours=2)))
    found = back(samples, at=at)["at"]
    assert (found, found.utcoffset()) == (at, timedelta(0))


@tried(1, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(words=TEXT, doc=DOCUMENTS, big=st.integers(-(2**63), 2**63 - 1), at=st.datetimes(timezones=st.just(UTC)))
def test_any_value_comes_back_as_it_was(samples: Ledger, words: str, doc: dict[str, Any], big: int, at: datetime) -> None:
    assert back(samples, words=words, doc=doc, big=big, at=at) == {"words": words, "doc": doc, "big": big, "at": at}


def test_times_are_compared_as_times(samples: Ledger) -> None:
    times = [datetime(999, 1, 1, tzinfo=UTC), datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 1, 0, 0, 0, 1, tzinfo=UTC)]
    for index, at in enumerate(reversed(times)):
        execute(samples, PUT, id=str(index), **{**EMPTY, "at": at})
    assert [row["at"] for row in rows(samples, "select at from samples order by at")] == times
    assert [row["at"] for row in rows(samples, "select at from samples where at < :limit order by at", limit=times[1])] == times[:1]


def test_many_rows_are_written_and_the_number_of_changed_ones_is_told(samples: Ledger) -> None:
    with samples.store.write() as tx:
        tx.many(statement(PUT), ({**EMPTY, "id": str(index), "flag": index % 2 == 0} for index in range(10)))
    assert execute(samples, "update samples set words = 'x' where flag") == 5
    assert execute(samples, "delete from samples where id = 'nothing'") == 0


def test_time_and_tenant_come_from_the_transaction(samples: Ledger) -> None:
    with samples.store.write() as tx:
        tx.execute(statement("insert into samples (id, tenant_id, at) values ('1', :tenant_id, :now)"))
    assert [(row["tenant_id"], row["at"]) for row in rows(samples, "select tenant_id, at from samples")] == [("default", tx.now)]
    with samples.store.read() as later:
        assert later.now >= tx.now


@pytest.mark.parametrize("error", [ValueError("no"), KeyboardInterrupt()])
def test_an_exception_rolls_back_and_the_next_transaction_works(samples: Ledger, error: BaseException) -> None:
    with pytest.raises(type(error)), samples.store.write() as tx:
        tx.execute(statement(PUT), id="1", **EMPTY)
        raise error
    assert rows(samples, "select id from samples") == []
    execute(samples, PUT, id="1", **EMPTY)


def test_an_error_of_the_caller_stays_what_it_is(samples: Ledger) -> None:
    with pytest.raises(FileNotFoundError), samples.store.write():
        Path("/nothing/here").read_bytes()


def test_a_read_transaction_cannot_write(samples: Ledger) -> None:
    with pytest.raises((Failed, Invalid)), samples.store.read() as tx:
        tx.execute(statement(PUT), id="1", **EMPTY)
    assert rows(samples, "select id from samples") == []


def test_a_reader_sees_one_moment_and_holds_up_no_writer(samples: Ledger) -> None:
    count = statement("select count(*) as n from samples")
    with ThreadPoolExecutor(1) as pool, samples.store.read() as tx:
        assert tx.one(count) == {"n": 0}
        pool.submit(execute, samples, PUT, id="1", **EMPTY).result(timeout=10)
        assert tx.one(count) == {"n": 0}
    assert rows(samples, "select count(*) as n from samples") == [{"n": 1}]


def test_a_writer_holds_up_no_reader_and_shows_nothing_before_its_commit(samples: Ledger) -> None:
    count = "select count(*) as n from samples"
    with ThreadPoolExecutor(1) as pool:
        with samples.store.write() as tx:
            tx.execute(statement(PUT), id="1", **EMPTY)
            assert pool.submit(rows, samples, count).result(timeout=10) == [{"n": 0}]
        assert pool.submit(rows, samples, count).result(timeout=10) == [{"n": 1}]


def test_writers_go_one_after_the_other(samples: Ledger, url: str) -> None:
    entered, order = threading.Event(), []

    def second() -> None:
        with opened(url) as other:
            entered.set()
            with other.store.write():
                order.append("second")

    with ThreadPoolExecutor(1) as pool:
        with samples.store.write():
            waiting = pool.submit(second)
            assert entered.wait(10)
            with pytest.raises(TimeoutError):
                waiting.result(timeout=0.2)
            order.append("first")
        waiting.result(timeout=10)
    assert order == ["first", "second"]


def test_what_a_writer_reads_is_what_the_writer_before_left(samples: Ledger) -> None:
    execute(samples, PUT, id="1", **{**EMPTY, "big": 100})

    def add(_: int) -> None:
        for _ in range(10):
            with samples.store.write() as tx:
                found = tx.one(statement("select big from samples"))
                assert found is not None
                tx.execute(statement("update samples set big = :big"), big=found["big"] + 1)

    together(add, 6)
    assert rows(samples, "select big from samples") == [{"big": 160}]


def test_a_row_that_breaks_a_rule_is_a_conflict(samples: Ledger) -> None:
    execute(samples, PUT, id="1", **EMPTY)
    with pytest.raises(Conflict, match="the ledger refused a row"):
        execute(samples, PUT, id="1", **EMPTY)
    with pytest.raises(Conflict):
        execute(samples, PUT, id="2", **{**EMPTY, "big": 13})
    with pytest.raises(Conflict):
        execute(samples, "insert into samples (id, tenant_id) values ('3', null)")
    with pytest.raises(Conflict):
        execute(samples, "insert into table_stats select '1', :tenant_id, 'no such table', 0, 0, 0, :now, :now, :now")
    assert [row["id"] for row in rows(samples, "select id from samples")] == ["1"]


def test_a_statement_that_cannot_be_read_has_failed(samples: Ledger) -> None:
    with pytest.raises(Failed):
        rows(samples, "selec 1")


def test_a_number_that_is_too_big_is_refused_in_our_words(samples: Ledger) -> None:
    with pytest.raises((Invalid, Failed)):
        execute(samples, PUT, id="1", **{**EMPTY, "big": 2**63})


def test_closing_twice_is_no_error(url: str) -> None:
    database = db.open(url)
    database.close()
    database.close()


def test_a_server_that_cannot_be_reached_is_unavailable_and_its_password_stays_secret() -> None:
    password = "hunter2"
    with pytest.raises(Unavailable, match=r"postgresql://ann:\*\*\*@127.0.0.1:1/shop cannot be reached") as caught:
        db.open(f"postgresql://ann:{password}@127.0.0.1:1/shop")
    assert caught.value.retryable
    assert password not in "".join(traceback.format_exception(caught.value)).replace('password = "hunter2"', "")


@pytest.mark.parametrize("password", ["hunter2%zz", "hunter2/x", "hunter2#x", "hunter2 x", "hunter2]x", "x@hunter2"])
def test_a_password_that_makes_the_url_unreadable_stays_secret(password: str) -> None:
    with pytest.raises((Invalid, Unavailable)) as caught:
        db.open(f"postgresql://ann:{password}@127.0.0.1:1/shop")
    assert "hunter2" not in "".join(traceback.format_exception(caught.value))


def test_a_database_that_does_not_exist_is_unavailable(postgres: Server) -> None:
    with pytest.raises(Unavailable, match="does not exist"):
        db.open(postgres.url("nothing"))


@pytest.mark.parametrize("url", ["mysql://ann:hunter2@db/shop", "ledger.db", "sqlite://ledger.db", "sqlite:///", "sqlite:///:memory:", ""])
def test_a_url_of_another_kind_is_refused(url: str) -> None:
    with pytest.raises(Invalid, match="cannot open") as caught:
        db.open(url)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    "content", [b"hello, this is no database" * 100, b"SQLite format 3\0" + b"\xff" * 4096], ids=["other file", "broken header"]
)
def test_a_file_that_is_no_database_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "ledger.db"
    path.write_bytes(content)
    with pytest.raises(Invalid, match="is not a usable SQLite database"):
        db.open(f"sqlite:///{path}")
    assert path.read_bytes() == content


def test_a_ledger_whose_pages_are_damaged_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    with opened(f"sqlite:///{path}"):
        pass
    content = path.read_bytes()
    path.write_bytes(content[:4096] + b"\xff" * (len(content) - 4096))
    with pytest.raises(Invalid, match="is not a usable SQLite database"), opened(f"sqlite:///{path}") as ledger:
        ledger.runs.list()


def test_a_place_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(Invalid, match="cannot create the ledger"):
        db.open(f"sqlite:///{tmp_path}/file/ledger.db")
    with pytest.raises(Invalid, match="cannot open"):
        db.open(f"sqlite:///{tmp_path}")


def test_a_file_that_another_process_keeps_locked_is_unavailable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "BUSY_SECONDS", 0.05)
    url = f"sqlite:///{tmp_path}/ledger.db"
    with opened(url) as first, opened(url) as second, first.store.write():
        with pytest.raises(Unavailable, match="another writer has held") as caught, second.store.write():
            pass
        assert caught.value.retryable
        assert second.runs.list() == []


def test_writers_are_ordered_also_where_the_server_defaults_to_another_isolation(postgres: Server) -> None:
    schema = f"isolated_{threading.get_ident()}"
    postgres.create_schema(schema)
    url = postgres.url(schema=schema) + "%20-cdefault_transaction_isolation%3Dserializable"
    try:
        with opened(url) as ledger:
            ledger.positions.advance("shop", NumberPosition(0))
            together(lambda _: advance(ledger, times=5), 4)
            assert ledger.positions.get("shop").position == NumberPosition(20)
    finally:
        postgres.drop_schema(schema)


def test_a_role_without_rights_is_told_so(postgres: Server) -> None:
    name = f"guest_{threading.get_ident()}"
    postgres.create_schema(name)
    with psycopg.connect(postgres.url(), autocommit=True) as connection:
        connection.execute(f"create role {name} login".encode())
    try:
        url = postgres.url(schema=name).replace("postgres@", f"{name}@")
        with pytest.raises(Invalid, match="no schema has been selected"), opened(url):
            pass
        with psycopg.connect(postgres.url(), autocommit=True) as connection:
            connection.execute(f"grant usage on schema {name} to {name}".encode())
        with pytest.raises(Forbidden, match="permission denied"), opened(url):
            pass
    finally:
        postgres.drop_schema(name)
        with psycopg.connect(postgres.url(), autocommit=True) as connection:
            connection.execute(f"drop role {name}".encode())


def drop_connections(postgres: Server) -> None:
    with psycopg.connect(postgres.url(), autocommit=True) as connection:
        found = "from pg_stat_activity where application_name = 'lakeledger' and datname = current_database()"
        connection.execute(f"select pg_terminate_backend(pid, 5000) {found}".encode())


def test_a_server_that_dropped_idle_connections_is_asked_on_a_new_one(postgres: Server) -> None:
    schema = f"dropped_{threading.get_ident()}"
    postgres.create_schema(schema)
    try:
        with opened(postgres.url(schema=schema)) as ledger:
            together(lambda _: ledger.runs.list(), 6)
            drop_connections(postgres)
            for _ in range(8):
                assert ledger.runs.list() == []
                assert ledger.positions.find("shop") is None
            with pytest.raises(Unavailable), ledger.store.read() as tx:
                drop_connections(postgres)
                tx.all(statement("select 1 as one"))
            assert ledger.runs.list() == []
    finally:
        postgres.drop_schema(schema)


def make_ledger(url: str, schema: str | None = None) -> list[str]:
    """Migrate a database; the migrations that were applied."""
    database = db.open(url, schema)
    try:
        return [migration.name for migration in migrate.migrate(database)]
    finally:
        database.close()


def test_a_ledger_on_postgresql_has_a_schema_of_its_own_and_looking_does_not_make_it(postgres: Server) -> None:
    def schemas() -> set[str]:
        with psycopg.connect(postgres.url()) as connection:
            found = connection.execute("select table_schema from information_schema.tables where table_name = 'pipeline_runs'").fetchall()
            return {name for (name,) in found} & {"public", "lakeledger"}

    database = db.open(postgres.url())
    assert all(step.applied_at is None for step in migrate.status(database))
    database.close()
    assert schemas() == set()
    make_ledger(postgres.url())
    try:
        assert schemas() == {"lakeledger"}
    finally:
        postgres.drop_schema("lakeledger")


def test_many_may_make_the_same_schema_at_once(postgres: Server) -> None:
    names = [migration.name for migration in migrate.available("postgres")]
    for number in range(3):
        schema = f"made_{number}_{threading.get_ident()}"
        try:
            for applied in together(lambda _, schema=schema: make_ledger(postgres.url(), schema), 8):  # type: ignore[misc]  # a plain lambda
                assert applied in ([], names)
        finally:
            postgres.drop_schema(schema)


def test_a_schema_that_is_there_needs_no_right_to_make_one(postgres: Server) -> None:
    name = f"user_{threading.get_ident()}"
    postgres.create_schema(name)
    with psycopg.connect(postgres.url(), autocommit=True) as connection:
        connection.execute(f"create role {name} login; grant all on schema {name} to {name}".encode())
    try:
        database = db.open(postgres.url().replace("postgres@", f"{name}@"), name)
        migrate.migrate(database)
        database.close()
    finally:
        postgres.drop_schema(name)
        with psycopg.connect(postgres.url(), autocommit=True) as connection:
            connection.execute(f"drop role {name}".encode())


@pytest.mark.parametrize("value", [float("nan"), b"bytes", object(), {1, "a"}, "\ud800"])
def test_a_value_that_json_does_not_know_is_refused_in_words(ledger: Ledger, value: Any) -> None:
    with pytest.raises(Invalid, match="the ledger cannot keep that value"):
        ledger.positions.advance("shop", DocumentPosition({"cursor": value}))
    assert ledger.positions.find("shop") is None
