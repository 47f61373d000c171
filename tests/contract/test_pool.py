"""The connections of one process: never more than the settings allow, none lost, and nobody waits for ever."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

import lakeledger
from contract.making import change, new_file, put, together, wait_until
from lakeledger import Invalid, Ledger, Unavailable
from lakeledger.config import Settings
from lakeledger.db import pool
from lakeledger.db.queries import statement

TENANTS = 100


@pytest.fixture
def small(url: str, tmp_path: Path) -> Iterator[Ledger]:
    """A ledger of two connections."""
    with lakeledger.open(Settings(url=url, warehouse=str(tmp_path), max_connections=2)) as ledger:
        yield ledger


def open_files() -> int:
    """Connections are files of this process: a socket, or a database with its log and its index."""
    return len(list(Path("/proc/self/fd").iterdir()))


def test_a_hundred_tenants_and_many_threads_share_a_few_connections(small: Ledger) -> None:
    before, most = open_files(), []

    def work(index: int) -> None:
        for number in range(index, TENANTS, 20):
            with small.for_tenant(f"tenant_{number}") as mine, mine.run("orders") as run:
                put(mine, change(run, new_file("a")))
                most.append(small.database.connections()["in_use"])
            assert [each.id for each in small.for_tenant(f"tenant_{number}").runs.list()] == [run.id]

    together(work, 20)
    assert max(most) <= 3  # On SQLite the one writer comes on top.
    assert open_files() - before <= 3 * 3
    assert small.database.connections()["in_use"] == 0


def test_who_waits_too_long_for_a_connection_is_refused_and_may_try_again(small: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "WAIT_SECONDS", 0.05)
    with ThreadPoolExecutor(1) as other, small.store.read(), ThreadPoolExecutor(1) as third:
        entered, leave = threading.Event(), threading.Event()

        def hold() -> None:
            with small.store.read():
                entered.set()
                leave.wait(20)

        held = other.submit(hold)
        assert entered.wait(20)
        with pytest.raises(Unavailable, match=r"all 2 connections .* raise `max_connections`") as caught:
            third.submit(small.runs.list).result(20)
        assert caught.value.retryable
        leave.set()
        held.result(20)
        assert third.submit(small.runs.list).result(20) == []
    assert small.database.connections()["in_use"] == 0


def test_whoever_waits_is_served_in_the_order_of_coming(url: str) -> None:
    order: list[int] = []
    with lakeledger.open(Settings(url=url, max_connections=1)) as ledger, ThreadPoolExecutor(5) as threads:

        def ask(number: int) -> None:
            with ledger.store.read():
                order.append(number)

        waiting = ledger.database._pool._waiting  # type: ignore[attr-defined]
        with ledger.store.read():
            asked = []
            for number in range(5):
                asked.append(threads.submit(ask, number))
                wait_until(lambda number=number: len(waiting) == number + 1)  # type: ignore[misc]  # a plain lambda
        for each in asked:
            each.result(20)
    assert order == [0, 1, 2, 3, 4]


def test_threads_that_hold_a_read_and_ask_for_more_do_not_wait_for_each_other(small: Ledger) -> None:
    gate = threading.Barrier(2)

    def nested(_: int) -> None:
        with small.store.read():
            gate.wait(20)  # every connection is in use now
            with small.store.read() as inner:
                assert inner.one(statement("select 1 as one")) == {"one": 1}
            assert small.positions.find("shop") is None
            with small.store.write() as writing:
                writing.one(statement("select 1 as one"))
                small.runs.list()

    together(nested, 2)
    assert small.database.connections()["in_use"] == 0
    assert small.database.connections()["idle"] <= 2


def test_what_raises_gives_its_place_back(small: Ledger) -> None:
    for _ in range(5):
        with pytest.raises(ValueError, match="no"), small.store.read():
            raise ValueError("no")
        with pytest.raises(ValueError, match="no"), small.store.write():
            raise ValueError("no")
    assert small.database.connections()["in_use"] == 0
    assert small.runs.list() == []


def test_a_pool_of_none_is_refused() -> None:
    with pytest.raises(Invalid, match="max_connections must be at least 1, not 0"):
        replace(Settings(), max_connections=0)
