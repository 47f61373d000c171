"""Astha: all tenants, one leader, and on it goes after a crash, a lost connection and a restarted server."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from contract.delivering import Recorder, Recorders, delivering, head, load, numbers
from contract.making import append, execute, new_file, opened, rows, wait_until
from contract.outages import restarting
from lakeledger import Fenced, Ledger, failpoints
from lakeledger.config import AsthaSettings
from lakeledger.db.migrate import SYSTEM_TENANT
from lakeledger.events import Event, leadership, subscription, workers
from lakeledger.runs import Worker
from postgres_server import Server

ORDERS, ITEMS = "silver.orders", "silver.items"
ELSEWHERE = Worker("elsewhere:1", "elsewhere", "another machine")


def begun(ledger: Ledger, *names: str) -> bool:
    """Whether these subscribers follow."""
    return {lag.subscriber for lag in ledger.events.lag() if lag.state == "closed"} >= {*names}


def files(recorder: Recorder | None) -> list[str]:
    return [event.data.file_name for event in recorder.seen] if recorder else []


# Independent of each other


def test_a_subscriber_that_hangs_does_not_hold_up_another(ledger: Ledger) -> None:
    gate = threading.Event()
    slow, quick = Recorders(handle=lambda _: gate.wait(30) and None), Recorders()
    try:
        load(ledger)
        with delivering(ledger, {"slow": slow, "quick": quick}):
            wait_until(lambda: begun(ledger, "slow", "quick"))
            for number in range(5):
                load(ledger, name=f"f{number}")
            wait_until(lambda: len(quick.seen) == 5)
            assert slow.seen == []
            gate.set()
            wait_until(lambda: len(slow.seen) == 5)
    finally:
        gate.set()


def test_a_table_that_hangs_or_fails_does_not_hold_up_another(ledger: Ledger) -> None:
    gate = threading.Event()

    def handle(event: Event[Any]) -> None:
        if event.data.file_name == "hangs":
            gate.wait(30)
        if event.data.file_name == "fails" and not gate.is_set():
            raise ValueError("not yet")

    made = Recorders(handle=handle)
    try:
        load(ledger)
        with delivering(ledger, {"sub": made}, retries=10_000, breaker_failures=3):
            wait_until(lambda: begun(ledger, "sub"))
            for table, name in ((ORDERS, "hangs"), (ITEMS, "fails"), (ORDERS, "o1"), (ITEMS, "i1"), ("silver.third", "t1")):
                load(ledger, table, name)
            wait_until(lambda: files(made.of["default"]) == ["t1"])
            load(ledger, "silver.third", "t2")
            wait_until(lambda: files(made.of["default"]) == ["t1", "t2"])
            gate.set()
            wait_until(lambda: len(made.seen) == 6)
    finally:
        gate.set()
    told = files(made.of["default"])
    assert told.index("hangs") < told.index("o1")
    assert told.index("fails") < told.index("i1")


def test_tenants_are_served_by_their_own_instances_and_new_ones_are_found(ledger: Ledger) -> None:
    def handle(event: Event[Any]) -> None:
        if event.tenant_id == "acme":
            raise ValueError("acme's mirror is away")

    made = Recorders(handle=handle)
    acme = ledger.for_tenant("acme")
    load(acme, name="old")
    with delivering(ledger, {"sub": made}):
        wait_until(lambda: begun(acme, "sub"))
        load(acme, name="a1")
        newcomer = ledger.for_tenant("newcomer")
        load(newcomer, name="n0")
        wait_until(lambda: begun(newcomer, "sub"))
        load(newcomer, name="n1")
        wait_until(lambda: "n1" in files(made.of.get("newcomer")))
        wait_until(lambda: bool(acme.events.lag()[0].lanes))
    assert {*made.of} == {"acme", "newcomer"}
    assert {event.tenant_id for event in made.of["newcomer"].seen} == {"newcomer"}
    assert {event.tenant_id for event in made.of["acme"].tried} == {"acme"}
    assert acme.events.lag()[0].lanes[0].error == "ValueError: acme's mirror is away"
    assert ledger.events.lag() == []


def test_a_subscriber_that_cannot_be_made_is_reported_and_the_others_go_on(ledger: Ledger) -> None:
    def broken(_: Ledger) -> Recorder:
        raise RuntimeError("no licence")

    quick = Recorders()
    load(ledger)
    with delivering(ledger, {"broken": broken, "quick": quick}):
        wait_until(lambda: begun(ledger, "quick"))
        load(ledger, name="b")
        wait_until(lambda: "b" in files(quick.of.get("default")))
    (told,) = ledger.errors.list("open", schema="lakeledger", table="astha")
    assert told.error_message == "subscriber broken cannot be made, and is tried again: RuntimeError: no licence"


def test_a_subscriber_that_takes_long_to_be_made_holds_up_nobody_and_then_misses_nothing(ledger: Ledger) -> None:
    slow, quick, gate = Recorders(), Recorders(), threading.Event()

    def held(opened: Ledger) -> Recorder:
        gate.wait(60)
        return slow(opened)

    load(ledger)
    with delivering(ledger, {"slow": slow, "quick": quick}):
        wait_until(lambda: begun(ledger, "slow") and begun(ledger, "quick"))
    slow.of.clear()
    load(ledger, name="b")
    other = ledger.for_tenant("other")
    load(other)
    with delivering(ledger, {"slow": held, "quick": quick}, timeout_seconds=0.05):
        wait_until(lambda: "b" in files(quick.of["default"]) and begun(other, "quick"))
        load(other, name="c")
        wait_until(lambda: "c" in files(quick.of["other"]))
        wait_until(lambda: bool(ledger.errors.list("open", schema="lakeledger", table="astha")))
        assert slow.of == {}
        gate.set()
        wait_until(lambda: files(slow.of.get("default")) == ["b"])
    (told,) = ledger.errors.list(schema="lakeledger", table="astha")
    assert told.error_message.startswith("subscriber slow takes long to be made")


def test_a_ledger_that_is_closed_ends_its_astha(url: str) -> None:
    with opened(url) as ledger:
        load(ledger)
        astha = ledger.astha({"sub": Recorders()}, components=False)
        astha.start()
        wait_until(lambda: begun(ledger, "sub"))
    assert not [thread.name for thread in threading.enumerate() if thread.name.startswith("astha")]


# One leads


def noting(do: Callable[..., None], done: list[str]) -> Callable[..., None]:
    """The same, with its name in the list."""

    def note(*arguments: Any) -> None:
        done.append(do.__name__)
        do(*arguments)

    return note


def test_of_two_one_delivers_and_the_other_follows_when_it_ends(ledger: Ledger, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second, doubts = Recorders(), Recorders(), list[str]()
    for name in ("suspect", "answer"):
        monkeypatch.setattr(leadership, name, noting(getattr(leadership, name), doubts))
    with opened(url) as other:
        load(ledger)
        with delivering(ledger, {"sub": first}, lease_seconds=0.5) as leader:
            wait_until(lambda: begun(ledger, "sub"))
            with delivering(other, {"sub": second}, lease_seconds=0.5) as follower:
                load(ledger, name="b")
                wait_until(lambda: "b" in files(first.of["default"]))
                wait_until(lambda: doubts[:4] == ["suspect", "answer"] * 2)
                assert (leader.is_leading, follower.is_leading, second.of) == (True, False, {})
                leader.close()
                load(ledger, name="c")
                wait_until(lambda: "c" in files(second.of.get("default")))
                assert second.of["default"].refreshes == 0
    assert files(first.of["default"]) == ["b"]
    assert files(second.of["default"]) == ["c"]


def test_a_leader_elsewhere_that_stays_silent_is_taken_over_and_can_write_nothing_more(ledger: Ledger) -> None:
    silent = leadership.take(ledger.database, ELSEWHERE, 0.5)
    assert silent is not None
    made = Recorders()
    load(ledger)
    with delivering(ledger, {"sub": made}, lease_seconds=0.5) as astha:
        wait_until(lambda: astha.is_leading)
        load(ledger, name="b")
        wait_until(lambda: begun(ledger, "sub"))
        with pytest.raises(Fenced), ledger.store.write() as tx:
            leadership.check(tx, silent.token)
    (row,) = rows(ledger, "select token, holder from astha_lease")
    assert row == {"token": silent.token + 1, "holder": None}


def test_one_that_answers_is_not_taken_over(ledger: Ledger) -> None:
    lease = leadership.take(ledger.database, ELSEWHERE, 0.3)
    assert lease is not None
    made, stop = Recorders(), threading.Event()

    def answer() -> None:
        while not stop.wait(0.02):
            leadership.answer(ledger.database, lease.token)

    answering = threading.Thread(target=answer)
    answering.start()
    try:
        with delivering(ledger, {"sub": made}, lease_seconds=0.3) as astha:
            ends = time.monotonic() + 1.5
            wait_until(lambda: time.monotonic() > ends)
            assert not astha.is_leading
    finally:
        stop.set()
        answering.join()
    assert made.of == {}


def test_who_was_deposed_stands_by_and_leads_again(ledger: Ledger) -> None:
    made = Recorders()
    load(ledger)
    with delivering(ledger, {"sub": made}) as astha:
        wait_until(lambda: begun(ledger, "sub"))
        execute(ledger, "update astha_lease set token = token + 1, holder = 'elsewhere:1', instance_id = 'x', lease_seconds = 0.2")
        wait_until(lambda: not astha.is_leading)
        wait_until(lambda: astha.is_leading)
        load(ledger, name="b")
        wait_until(lambda: "b" in files(made.of["default"]))


CHILD = """
import json, sys, threading
import lakeledger
from lakeledger.testing import kill_at
if len(sys.argv) > 3:
    kill_at(sys.argv[3])
from lakeledger.config import AsthaSettings, Settings

class Writer:
    def __init__(self, ledger): pass
    def on_event(self, event):
        with open(sys.argv[2], "a") as told:
            told.write(json.dumps([event.seq, event.data.file_name]) + chr(10))
    def on_health(self): pass
    def on_refresh(self): pass
    def subscribed_tables(self): return ["table_files"]

settings = Settings(url=sys.argv[1], warehouse="/warehouse", astha=AsthaSettings(lease_seconds=2))
with lakeledger.open(settings) as ledger, ledger.astha({"sub": Writer}, components=False):
    print("up", flush=True)
    threading.Event().wait()
"""


@contextmanager
def process(url: str, told: Path, *kill_at: str) -> Iterator[subprocess.Popen[str]]:
    """Another process that delivers to a file, and is killed where it is told."""
    child = subprocess.Popen([sys.executable, "-c", CHILD, url, str(told), *kill_at], stdout=subprocess.PIPE, text=True)
    try:
        assert child.stdout is not None
        assert child.stdout.readline() == "up\n"
        yield child
    finally:
        child.kill()
        child.communicate()


def lines(told: Path) -> list[Any]:
    return [json.loads(line) for line in told.read_text().splitlines()] if told.exists() else []


def test_when_the_leader_is_killed_another_process_takes_over_within_seconds(ledger: Ledger, url: str, tmp_path: Path) -> None:
    load(ledger)
    told, made = tmp_path / "told", Recorders()
    with process(url, told) as child:
        wait_until(lambda: begun(ledger, "sub"))
        with delivering(ledger, {"sub": made}):
            for number in range(20):
                load(ledger, name=f"f{number}")
                if number == 10:
                    wait_until(lambda: len(lines(told)) > 5)
                    os.kill(child.pid, signal.SIGKILL)
                    child.wait()
                    began = time.monotonic()
            wait_until(lambda: "f19" in files(made.of.get("default")))
            assert time.monotonic() - began < 8
    before, after = [seq for seq, _ in lines(told)], made.of["default"].seqs
    assert before == sorted(before)
    assert after == sorted(after)
    assert {*before, *after} == {*numbers(ledger)[1:]}, "at least once, and none lost"
    assert made.of["default"].refreshes == 0


@pytest.mark.parametrize("point", [failpoints.BEFORE_EVENT, failpoints.AFTER_EVENT, failpoints.IN_SAVE, failpoints.AFTER_SAVE])
def test_killed_anywhere_it_loses_nothing(ledger: Ledger, url: str, tmp_path: Path, point: str) -> None:
    load(ledger)
    told, made = tmp_path / "told", Recorders()
    with delivering(ledger, {"sub": Recorders()}):
        wait_until(lambda: begun(ledger, "sub") and not ledger.events.lag()[0].behind)
    with process(url, told, point) as child:
        for number in range(3):
            load(ledger, name=f"f{number}")
        assert child.wait(30) == -signal.SIGKILL
    with delivering(ledger, {"sub": made}):
        load(ledger, name="last")
        wait_until(lambda: "last" in files(made.of.get("default")))
    after = files(made.of["default"])
    assert {name for _, name in lines(told)} | {*after} == {"f0", "f1", "f2", "last"}
    assert after == ["f0", "f1", "f2", "last"][-len(after) :]
    assert made.of["default"].refreshes == 0


def test_killed_after_a_refresh_it_is_refreshed_again(ledger: Ledger, url: str, tmp_path: Path) -> None:
    load(ledger)
    made = Recorders()
    with process(url, tmp_path / "told", failpoints.AFTER_REFRESH) as child:
        assert child.wait(30) == -signal.SIGKILL
    with delivering(ledger, {"sub": made}):
        wait_until(lambda: begun(ledger, "sub"))
    assert made.of["default"].refreshes == 1


def test_a_leader_that_was_stopped_delivers_nothing_once_another_leads(ledger: Ledger, url: str, tmp_path: Path) -> None:
    load(ledger)
    told, made = tmp_path / "told", Recorders()
    with process(url, told) as child:
        wait_until(lambda: begun(ledger, "sub"))
        os.kill(child.pid, signal.SIGSTOP)
        try:
            with delivering(ledger, {"sub": made}):
                load(ledger, name="b")
                wait_until(lambda: "b" in files(made.of.get("default")), seconds=30)
                os.kill(child.pid, signal.SIGCONT)
                load(ledger, name="c")
                wait_until(lambda: "c" in files(made.of["default"]))
        finally:
            os.kill(child.pid, signal.SIGCONT)
    assert lines(told) == []


# Outages


def test_it_goes_on_after_the_server_was_restarted(fragile_postgres: Server, server_url: str) -> None:
    made = Recorders()
    with opened(server_url) as ledger:
        load(ledger)
        with delivering(ledger, {"sub": made}):
            wait_until(lambda: begun(ledger, "sub"))
            load(ledger, name="before")
            wait_until(lambda: "before" in files(made.of["default"]))
            thread = restarting(fragile_postgres)
            thread.join()
            with opened(server_url) as other:
                load(other, name="after")
                wait_until(lambda: "after" in files(made.of["default"]), seconds=30)
                wait_until(lambda: not other.events.lag()[0].behind)
    assert made.of["default"].refreshes == 1


def test_what_could_not_be_written_down_is_written_when_the_ledger_is_back(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    from lakeledger.errors import Unavailable
    from lakeledger.events.store import EventStore

    made, save, away = Recorders(), EventStore.save, threading.Event()

    def failing(self: EventStore, progress: Any) -> None:
        if away.is_set():
            raise Unavailable("the store is away")
        save(self, progress)

    monkeypatch.setattr(EventStore, "save", failing)
    load(ledger)
    with delivering(ledger, {"sub": made}):
        wait_until(lambda: begun(ledger, "sub"))
        away.set()
        load(ledger, name="b")
        wait_until(lambda: "b" in files(made.of["default"]))
        away.clear()
        wait_until(lambda: ledger.events.lag()[0].behind == 0)
    assert files(made.of["default"]) == ["b"]


# What is kept, and told


def test_the_change_log_is_kept_for_lanes_that_are_behind(ledger: Ledger) -> None:
    retention = replace(ledger.settings.retention, changes_days=0)
    made = Recorders(handle=lambda _: (_ for _ in ()).throw(ValueError("no")))
    load(ledger)
    with delivering(ledger, {"sub": made}, retries=10_000, breaker_failures=100_000):
        wait_until(lambda: begun(ledger, "sub"))
        load(ledger, name="bad")
        (bad,) = numbers(ledger)[1:]
        with ledger.run("something else"):
            pass
        wait_until(lambda: bool(ledger.events.lag()[0].lanes) and not ledger.events.lag()[0].behind)
        ledger.sync.cleanup(retention)
        assert ledger.changes.after(limit=1)[0].seq == bad
        made.of["default"].handle = lambda _: None
        wait_until(lambda: not ledger.events.lag()[0].lanes)
        ledger.sync.cleanup(retention)
        assert ledger.changes.after() == []


def test_who_is_stuck_for_too_long_is_reported_until_it_is_not(ledger: Ledger) -> None:
    made = Recorders(handle=lambda _: (_ for _ in ()).throw(ValueError("mirror is away")))
    load(ledger)
    with delivering(ledger, {"sub": made}, retries=100_000, breaker_failures=100_000, alarm_seconds=0.2):
        wait_until(lambda: begun(ledger, "sub"))
        load(ledger, name="bad")
        wait_until(lambda: bool(ledger.errors.list("open", schema="lakeledger", table="astha")))
        (told,) = ledger.errors.list("open", schema="lakeledger", table="astha")
        assert "events wait for subscriber sub since" in told.error_message
        assert "mirror is away" in told.error_message
        made.of["default"].handle = lambda _: None
        wait_until(lambda: not ledger.errors.list("open", schema="lakeledger", table="astha"))


def test_a_subscriber_that_is_gone_is_forgotten_and_holds_nothing_up(ledger: Ledger) -> None:
    load(ledger)
    with delivering(ledger, {"gone": Recorders(), "stays": Recorders()}):
        wait_until(lambda: begun(ledger, "gone", "stays"))
    load(ledger, name="b")
    assert ledger.events.forget("gone").behind > 0
    assert begun(ledger, "gone", "stays"), "that was a dry run"
    ledger.events.forget("gone", apply=True)
    assert [lag.subscriber for lag in ledger.events.lag()] == ["stays"]


def test_a_subscriber_that_nobody_serves_is_reported_by_the_cleanup_and_not_passed_over(ledger: Ledger) -> None:
    with delivering(ledger, {"sub": Recorders()}):
        load(ledger)
        wait_until(lambda: begun(ledger, "sub"))
    load(ledger, name="b")
    unread = ledger.events.lag()[0].behind
    retention = replace(ledger.settings.retention, changes_days=0)
    ledger.sync.retention = retention
    ledger.sync.cleanup()
    assert len(ledger.changes.after()) == unread
    (told,) = ledger.errors.list("open", schema="lakeledger", table="retention")
    assert "for subscriber sub, which has not handled it: start `lakeledger astha`, or forget it" in told.error_message
    ledger.events.forget("sub", apply=True)
    ledger.sync.cleanup()
    assert ledger.changes.after() == []
    assert ledger.errors.list("open", schema="lakeledger", table="retention") == []


def test_an_idle_astha_writes_nothing(ledger: Ledger) -> None:
    made = Recorders()
    load(ledger)
    with delivering(ledger, {"sub": made}, lease_seconds=0.5):
        wait_until(lambda: begun(ledger, "sub"))
        load(ledger, name="b")
        wait_until(lambda: "b" in files(made.of["default"]))
        wait_until(lambda: ledger.events.lag()[0].seq == head(ledger), seconds=30)
        mark = ledger.database.mark()
        assert not ledger.database.wait(2.0, mark)


def test_the_lease_is_read_in_one_query_with_the_heads_of_all_tenants(ledger: Ledger) -> None:
    from lakeledger.events.feed import RegistryWatcher

    tenants = ["default", "acme", "b2"]
    for tenant in tenants:
        append(ledger.for_tenant(tenant), new_file("a"))
    found = RegistryWatcher(ledger.database).look()
    assert found.lease is None
    assert found.heads == {tenant: head(ledger.for_tenant(tenant)) for tenant in tenants}
    assert RegistryWatcher(ledger.database).tenants() == {*tenants}
    with ledger.database.transaction(SYSTEM_TENANT, write=False) as tx:
        assert leadership.find(tx) is None
    assert AsthaSettings().retries == 30


def test_many_tables_that_hang_hold_up_no_other(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "SLOW_SECONDS", 0.2)
    gate = threading.Event()

    def handle(event: Event[Any]) -> None:
        if event.data.file_name.startswith("hangs"):
            gate.wait(30)

    made = Recorders(handle=handle)
    load(ledger)
    try:
        with delivering(ledger, {"sub": made}, threads=2):
            wait_until(lambda: begun(ledger, "sub"))
            for number in range(6):
                load(ledger, f"silver.t{number}", f"hangs{number}")
            load(ledger, ITEMS, "good")
            wait_until(lambda: files(made.of["default"]) == ["good"])
            gate.set()
            wait_until(lambda: len(made.seen) == 7)
            wait_until(lambda: len([thread for thread in threading.enumerate() if thread.name == "astha-sub"]) <= 2)
    finally:
        gate.set()


def test_what_is_too_much_for_memory_waits_in_the_log_and_holds_up_nobody(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subscription, "TOTAL_LIMIT", 5)
    monkeypatch.setattr(subscription, "SLOW_SECONDS", 0.1)
    gate = threading.Event()

    def handle(event: Event[Any]) -> None:
        if event.data.file_name == "hangs":
            gate.wait(30)

    made = Recorders(handle=handle)
    load(ledger)
    try:
        with delivering(ledger, {"sub": made}):
            wait_until(lambda: begun(ledger, "sub"))
            load(ledger, ORDERS, "hangs")
            append(ledger, *(new_file(f"o{number}") for number in range(8)), table=ORDERS)
            append(ledger, *(new_file(f"i{number}") for number in range(8)), table=ITEMS)
            load(ledger, ITEMS, "last")
            wait_until(lambda: "last" in files(made.of["default"]))
            assert "o0" not in files(made.of["default"])
            gate.set()
            wait_until(lambda: len(made.seen) == 18)
    finally:
        gate.set()
    told = made.of["default"]
    assert len({*told.seqs}) == len(told.seqs)
    orders = [event.seq for event in told.seen if event.data.file_name.startswith(("o", "hangs"))]
    assert orders == sorted(orders)
