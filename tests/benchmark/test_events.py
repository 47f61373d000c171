"""What it costs to be told: from the commit to `on_event`, events per second, and an Astha that has nothing to do."""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Sequence
from typing import Any

import pytest

from contract.delivering import Recorders
from contract.making import change, new_file, put, wait_until
from lakeledger import Ledger
from lakeledger.db.queries import statement
from lakeledger.events import COMPONENT_SUBSCRIPTIONS, Event

pytestmark = pytest.mark.bench

COMMITS = 300
EVENTS = 20_000
IDLE_SECONDS = 10.0


class Timed:
    """Remembers when it was told of the first file of each version."""

    def __init__(self, _: Ledger) -> None:
        self.at: dict[int, float] = {}
        self.told = threading.Event()
        TIMED.append(self)

    def on_event(self, event: Event[Any]) -> None:
        self.at.setdefault(event.data.added_version, time.perf_counter())
        self.told.set()

    def on_health(self) -> None: ...

    def on_refresh(self) -> None: ...

    def subscribed_tables(self) -> Sequence[str]:
        return ["table_files"]


TIMED: list[Timed] = []


def begun(ledger: Ledger, count: int) -> bool:
    return len([lag for lag in ledger.events.lag() if lag.state == "closed"]) == count


def test_from_the_commit_to_the_event(ledger: Ledger) -> None:
    TIMED.clear()
    committed: dict[int, float] = {}
    with ledger.run("bench") as run:
        put(ledger, change(run, new_file("first")))
        with ledger.astha({"timed": Timed}, components=False):
            wait_until(lambda: begun(ledger, 1))
            for number in range(COMMITS):
                (timed,) = TIMED
                timed.told.clear()
                made = put(ledger, change(run, new_file(f"f{number}")))
                committed[made.version] = time.perf_counter()
                assert timed.told.wait(10)
    took = sorted((TIMED[0].at[version] - at) * 1000 for version, at in committed.items())
    p50, p99 = statistics.median(took), took[int(len(took) * 0.99)]
    print(f"commit → on_event on {ledger.database.dialect}: p50 {p50:.1f} ms, p99 {p99:.1f} ms over {COMMITS} commits")


def test_events_per_second(ledger: Ledger) -> None:
    with ledger.run("bench") as run:
        table = put(ledger, change(run, new_file("first"))).table
    made = {name: Recorders(*tables) for name, tables in COMPONENT_SUBSCRIPTIONS.items()}
    add = statement(
        "insert into change_log (tenant_id, table_name, operation, key, after, at)"
        " select tenant_id, table_name, operation, key, after, :now from change_log where table_name = 'table_files' limit 1"
    )
    with ledger.astha(made, components=False):
        wait_until(lambda: begun(ledger, 4))
        with ledger.store.write() as tx:
            tx.many(add, ({} for _ in range(EVENTS)))
        start = time.perf_counter()
        readers = ("iceberg_updater", "compactor", "snapshotter")
        wait_until(lambda: all(len(made[name].seen) >= EVENTS for name in readers), seconds=120)
        took = time.perf_counter() - start
    print(
        f"{EVENTS:,} events of {table.name} to three components on {ledger.database.dialect}: {took:.1f} s, "
        f"{EVENTS / took:,.0f} events and {3 * EVENTS / took:,.0f} deliveries a second"
    )


def test_an_idle_astha(ledger: Ledger) -> None:
    with ledger.run("bench") as run:
        put(ledger, change(run, new_file("first")))
    made = {name: Recorders(*tables) for name, tables in COMPONENT_SUBSCRIPTIONS.items()}
    with ledger.astha(made, components=False):
        wait_until(lambda: begun(ledger, 4))
        wait_until(lambda: all(not lag.behind for lag in ledger.events.lag()), seconds=30)
        start, cpu = time.perf_counter(), time.process_time()
        threading.Event().wait(IDLE_SECONDS)
        share = (time.process_time() - cpu) / (time.perf_counter() - start)
    print(f"an idle Astha on {ledger.database.dialect}: {share:.2%} of a core")
