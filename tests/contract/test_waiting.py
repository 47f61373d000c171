"""Waiting for a commit: of whoever, in whatever process, none missed, and no longer than asked for."""

# ruff: noqa: PT012 - what raises is the block of a transaction

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest

from contract.making import execute, opened, together, wait_until
from contract.outages import restarting
from empty_ledgers import new_sqlite_url
from lakeledger import Ledger, NumberPosition
from lakeledger.db import listening, sqlite
from postgres_server import Server

LONG = 20.0


@pytest.fixture
def other(url: str) -> Iterator[Ledger]:
    with opened(url) as ledger:
        yield ledger


def commit(ledger: Ledger, number: int = 1) -> None:
    ledger.positions.advance(f"shop{number}", NumberPosition(1))


def listeners() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "listener"]


def test_a_commit_of_anybody_wakes_whoever_waits(ledger: Ledger, other: Ledger) -> None:
    for writer in (ledger, other):
        mark = ledger.database.mark()
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(ledger.database.wait, LONG, mark)
            commit(writer, id(writer))
            began = time.monotonic()
            assert waiting.result(LONG)
            assert time.monotonic() - began < LONG / 2


def test_a_commit_of_this_process_is_not_polled_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "POLL_SECONDS", LONG)
    with opened(new_sqlite_url(tmp_path)) as ledger, ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(ledger.database.wait, LONG, ledger.database.mark())
        began = time.monotonic()
        commit(ledger)
        assert waiting.result(LONG)
        assert time.monotonic() - began < LONG / 2


def test_time_is_up_where_nobody_commits(ledger: Ledger, other: Ledger) -> None:
    assert not ledger.database.wait(0.2)
    other.runs.list()
    began = time.monotonic()
    assert not ledger.database.wait(0.2, ledger.database.mark())
    assert time.monotonic() - began >= 0.2
    assert not ledger.database.wait(0)


def test_a_commit_between_the_look_and_the_wait_is_not_missed(ledger: Ledger, other: Ledger) -> None:
    mark = ledger.database.mark()
    assert ledger.positions.list() == []
    commit(other)
    assert ledger.database.wait(LONG, mark)
    assert len(ledger.positions.list()) == 1


def test_what_is_rolled_back_wakes_nobody(ledger: Ledger, other: Ledger) -> None:
    mark = ledger.database.mark()
    with pytest.raises(ValueError, match="no"), other.store.write() as tx:
        tx.connection.execute("delete from sync_markers", {})
        raise ValueError("no")
    assert not ledger.database.wait(0.2, mark)


def test_a_follower_sees_every_commit_of_many_writers(ledger: Ledger, other: Ledger) -> None:
    seen: list[int] = []

    def follow() -> None:
        while len(seen) < 40:
            mark = ledger.database.mark()
            found = {marker.schema_name for marker in ledger.positions.list()}
            seen.extend(int(name.removeprefix("shop")) for name in found if int(name.removeprefix("shop")) not in seen)
            if len(seen) < 40:
                assert ledger.database.wait(LONG, mark), "a commit went unheard"

    def write(index: int) -> None:
        for number in range(10):
            commit(ledger if index % 2 else other, index * 10 + number)

    with ThreadPoolExecutor(1) as pool:
        following = pool.submit(follow)
        together(write, 4)
        following.result(LONG)
    assert sorted(seen) == list(range(40))


def test_whoever_waits_takes_no_connection_of_the_pool(ledger: Ledger) -> None:
    with ThreadPoolExecutor(8) as pool:
        mark = ledger.database.mark()
        waiting = [pool.submit(ledger.database.wait, LONG, mark) for _ in range(8)]
        assert ledger.database.connections()["in_use"] == 0
        commit(ledger)
        assert all(each.result(LONG) for each in waiting)


def test_whoever_closes_the_ledger_lets_go_of_those_who_wait(url: str) -> None:
    with opened(url) as ledger, ThreadPoolExecutor(1) as pool:
        mark = ledger.database.mark()
        waiting = pool.submit(ledger.database.wait, LONG, mark)
        ledger.close()
        assert not waiting.result(LONG / 2)
    assert not listeners()


def test_whoever_closes_the_ledger_does_not_wait_for_the_next_look_of_its_listener(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listening, "LOOK_SECONDS", LONG)
    with opened(url) as ledger:
        commit(ledger)
        ledger.database.mark()
        began = time.monotonic()
    assert time.monotonic() - began < LONG / 2


def test_sql_typed_by_hand_wakes_too(ledger: Ledger, url: str) -> None:
    with ledger.run("orders"):
        pass
    mark = ledger.database.mark()
    if ledger.database.dialect == "postgres":
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("update pipeline_runs set error_message = 'by hand'")
    else:
        execute(ledger, "update pipeline_runs set error_message = 'by hand'")
    assert ledger.database.wait(LONG, mark)


def test_another_ledger_in_the_same_database_wakes_nobody(postgres: Server) -> None:
    names = [f"waiting_{index}_{threading.get_ident()}" for index in range(2)]
    for name in names:
        postgres.create_schema(name)
    try:
        with opened(postgres.url(schema=names[0])) as ledger, opened(postgres.url(schema=names[1])) as neighbour:
            mark = ledger.database.mark()
            commit(neighbour)
            assert not ledger.database.wait(0.3, mark)
    finally:
        for name in names:
            postgres.drop_schema(name)


def test_a_server_that_was_restarted_may_have_changed(server_url: str, fragile_postgres: Server) -> None:
    with opened(server_url) as ledger:
        mark = ledger.database.mark()
        assert not ledger.database.wait(0.1, mark)
        back = restarting(fragile_postgres)
        assert ledger.database.wait(LONG, mark)
        back.join()

        def quiet() -> bool:
            return not ledger.database.wait(0.6, ledger.database.mark())

        wait_until(quiet)  # it listens again
        mark = ledger.database.mark()
        commit(ledger)
        assert ledger.database.wait(LONG, mark)


def test_the_connection_that_listens_is_given_up_when_nobody_waits(postgres: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listening, "KEPT_SECONDS", 0.1)
    schema = f"listening_{threading.get_ident()}"
    postgres.create_schema(schema)
    try:
        with opened(postgres.url(schema=schema)) as ledger:
            mark = ledger.database.mark()
            wait_until(lambda: not listeners())
            commit(ledger)
            assert ledger.database.wait(LONG, mark)  # nobody heard it, so something may have changed
    finally:
        postgres.drop_schema(schema)
