"""Leases: one worker at a time, a heartbeat while it lives, and no commit by one that lost it."""

# ruff: noqa: PT012 - what raises is the block of a run or a transaction
from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from contract.making import ORDERS, change, dump, execute, expire_lease, new_file, opened, put, rows, together, wait_until
from lakeledger import Advance, Conflict, Fenced, Ledger, NumberPosition
from lakeledger.runs import DoneBy, active, store
from lakeledger.runs.worker import is_gone, this_worker
from lakeledger.sync import parse_source

HOLDER = """
import sys, lakeledger
from lakeledger.config import Settings
ledger = lakeledger.open(Settings(url=sys.argv[1], warehouse="/warehouse"))
run = ledger.run("orders", exclusive=True, idempotency_key="monday").__enter__()
print(run.id, flush=True)
sys.stdin.read()
"""


def test_an_exclusive_pipeline_has_one_run_at_a_time_and_the_holder_is_named(ledger: Ledger) -> None:
    with ledger.run("orders", exclusive=True) as run:
        until = run.run.lease_expires_at
        expected = f"orders is already running: run {run.id} on {ledger.worker.name} holds its lease until {until:%Y-%m-%d %H:%M:%S} UTC"
        with pytest.raises(Conflict, match=re.escape(expected)) as caught, ledger.run("orders", exclusive=True):
            pass
        assert caught.value.retryable
        with ledger.run("returns", exclusive=True), ledger.run("orders"):
            pass
    with ledger.run("orders", exclusive=True):
        pass


def test_of_many_that_start_at_once_one_gets_the_pipeline(ledger: Ledger, url: str) -> None:
    started, release = threading.Semaphore(0), threading.Event()

    def start(_: int) -> str:
        with opened(url) as other:
            try:
                with other.run("orders", exclusive=True):
                    started.release()
                    assert release.wait(30)
                    return "ran"
            except Conflict:
                started.release()
                return "refused"

    def let_go() -> None:
        for _ in range(6):
            assert started.acquire(timeout=30)
        release.set()

    threading.Thread(target=let_go).start()
    assert sorted(together(start, 6)) == ["ran"] + ["refused"] * 5


def test_each_run_of_a_pipeline_has_a_greater_token(ledger: Ledger) -> None:
    tokens = []
    for pipeline in ("orders", "orders", "returns", "orders"):
        with ledger.run(pipeline) as run:
            tokens.append(run.run.lease_token)
    assert tokens == [1, 2, 1, 3]


def test_a_run_that_lost_its_lease_is_taken_over(ledger: Ledger) -> None:
    with pytest.raises(Conflict, match="already ended: FAILED"), ledger.run("orders", exclusive=True) as old:
        expire_lease(ledger, old.id)
        with ledger.run("orders", exclusive=True) as new:
            assert new.run.lease_token > old.run.lease_token
            assert new.run.retry_of == old.id
        lost = ledger.runs.get(old.id)
        assert (lost.status, lost.error_message) == ("FAILED", f"{ledger.worker.name} was lost before it committed; run it again")
        assert ledger.runs.transitions(old.id)[-1].reason == lost.error_message


def test_who_lost_the_lease_can_neither_commit_nor_renew_it(ledger: Ledger) -> None:
    with pytest.raises(Conflict), ledger.run("orders", exclusive=True) as old:
        expire_lease(ledger, old.id)
        with ledger.run("orders", exclusive=True):
            before = dump(ledger)
            with pytest.raises(
                Fenced, match=r"has already ended: FAILED \(.* was lost before it committed; run it again\); nothing was committed"
            ):
                put(ledger, change(old, new_file("a")))
            with ledger.store.write() as tx:
                assert not store.renew(tx, old.fence, 60)
            assert dump(ledger) == before


def test_an_expired_lease_is_still_its_holders_until_somebody_takes_over(ledger: Ledger) -> None:
    with ledger.run("orders", exclusive=True) as run:
        expire_lease(ledger, run.id)
        put(ledger, change(run, new_file("a")))
        with ledger.store.write() as tx:
            assert store.renew(tx, run.fence, 60)
        assert ledger.runs.recover() == []
        with pytest.raises(Conflict, match="already running"), ledger.run("orders", exclusive=True):
            pass
    assert ledger.runs.get(run.id).status == "COMPLETED"


def run_out(ledger: Ledger, run_id: str, lease_seconds: float = 60) -> None:
    """Let a lease run out as an outage of the store does: nobody could renew it, and nobody has noticed."""
    past = datetime.now(UTC) - timedelta(hours=1)
    expire = "update pipeline_runs set heartbeat_at = :before, lease_expires_at = :past where pipeline_logging_id = :id"
    assert execute(ledger, expire, before=past - timedelta(seconds=lease_seconds), past=past, id=run_id) == 1


def test_after_an_outage_a_healthy_holder_has_time_to_renew_its_lease(ledger: Ledger) -> None:
    with ledger.run("orders", exclusive=True) as run:
        run_out(ledger, run.id)
        assert ledger.runs.recover() == []
        assert [silent.id for silent in ledger.runs.silent()] == [run.id]
        with ledger.store.write() as tx:
            assert store.renew(tx, run.fence, 60)
        assert ledger.runs.silent() == []
        put(ledger, change(run, new_file("a")))
    assert ledger.runs.get(run.id).status == "COMPLETED"


def test_a_start_waits_for_a_holder_that_is_silent_and_takes_over_if_it_stays_so(ledger: Ledger) -> None:
    with pytest.raises(Conflict, match="already ended: FAILED"), ledger.run("orders", exclusive=True) as old:
        run_out(ledger, old.id, lease_seconds=0.3)
        with ledger.run("orders", exclusive=True) as new:
            assert new.run.retry_of == old.id


def test_a_start_that_waits_is_refused_when_the_silent_holder_answers(ledger: Ledger) -> None:
    with ledger.run("orders", exclusive=True) as run:
        run_out(ledger, run.id)

        def answer() -> None:
            wait_until(lambda: bool(ledger.runs.silent()))
            with ledger.store.write() as tx:
                store.renew(tx, run.fence, 60)

        answering = threading.Thread(target=answer)
        answering.start()
        with pytest.raises(Conflict, match="holds its lease until"), ledger.run("orders", exclusive=True):
            pass
        answering.join()


def test_a_start_does_not_wait_for_ever_for_a_silent_holder(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(active, "LONGEST_WAIT_SECONDS", 0.1)
    with ledger.run("orders", exclusive=True) as run:
        run_out(ledger, run.id)
        expected = rf"run {run.id} on \S+ has been silent since .*; unless it answers, a start after \d\d:\d\d:\d\d UTC takes over"
        with pytest.raises(Conflict, match=expected), ledger.run("orders", exclusive=True):
            pass


def test_another_token_is_refused(ledger: Ledger) -> None:
    with ledger.run("orders") as run:
        made = change(run, new_file("a"))
        with pytest.raises(Fenced, match=r"was taken over \(token 0, now 1\)"):
            put(ledger, replace(made, fence=replace(made.fence, token=0)))
        with ledger.store.write() as tx:
            assert not store.renew(tx, replace(run.fence, token=0), 60)


def test_a_heartbeat_renews_the_lease_in_the_background(url: str) -> None:
    with opened(url, lease_seconds=0.6) as ledger, ledger.run("orders") as run:
        first = ledger.runs.get(run.id)
        assert first.lease_expires_at is not None
        assert first.heartbeat_at is not None
        later = first.lease_expires_at + timedelta(seconds=0.1)
        wait_until(lambda: (ledger.runs.get(run.id).lease_expires_at or first.start_time) > later)
        assert (ledger.runs.get(run.id).heartbeat_at or first.start_time) > first.heartbeat_at
        put(ledger, change(run, new_file("a")))
    assert ledger.runs.get(run.id).status == "COMPLETED"


def test_whoever_holds_a_run_that_was_ended_and_deleted_meanwhile_is_fenced(ledger: Ledger) -> None:
    def forget() -> None:
        execute(ledger, "delete from step_logs")
        execute(ledger, "delete from pipeline_runs")

    deleted = "it was ended by somebody else and deleted since"
    with pytest.raises(Fenced, match=deleted), ledger.run("orders") as run:
        forget()
        with pytest.raises(Fenced, match=deleted):
            put(ledger, change(run, new_file("a")))
        with pytest.raises(Fenced, match=deleted), run.step("load"):
            pass
    with pytest.raises(Fenced, match=deleted), ledger.run("orders") as run, run.step("load"):
        forget()
    assert ledger.tables.list() == []


def test_a_heartbeat_revives_a_lease_that_ran_out_while_nobody_took_over(url: str) -> None:
    with opened(url, lease_seconds=0.6) as ledger, ledger.run("orders") as run:
        expire_lease(ledger, run.id)
        wait_until(lambda: (ledger.runs.get(run.id).lease_expires_at or run.run.start_time) > run.run.start_time)
        assert ledger.runs.get(run.id).suspected_at is None


def test_the_heart_stops_when_somebody_took_over(url: str) -> None:
    with opened(url, lease_seconds=0.6) as ledger, pytest.raises(Conflict), ledger.run("orders") as run:
        ledger.runs.cancel(run.id, "no longer wanted")
        before = rows(ledger, "select heartbeat_at, lease_expires_at from pipeline_runs")
        wait_until(lambda: not _heart(run.id).is_alive())
        assert rows(ledger, "select heartbeat_at, lease_expires_at from pipeline_runs") == before


def test_the_heart_stops_with_its_run(ledger: Ledger) -> None:
    with ledger.run("orders") as run:
        heart = _heart(run.id)
        assert heart.is_alive()
    heart.join(10)
    assert not heart.is_alive()


def test_a_worker_that_was_killed_on_this_machine_is_replaced_at_once(ledger: Ledger, url: str) -> None:
    with holder(url) as (child, run_id):
        with pytest.raises(Conflict, match="already running"), ledger.run("orders", exclusive=True):
            pass
        child.kill()
        # Killed, but nobody has waited for it: a zombie, which still has a process id.
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        with ledger.run("orders", exclusive=True) as run:
            assert run.run.retry_of == run_id
    assert ledger.runs.get(run_id).status == "FAILED"


def test_a_key_that_a_lost_run_holds_can_be_used_again(ledger: Ledger) -> None:
    with pytest.raises(Conflict, match="already ended: FAILED"), ledger.run("orders", idempotency_key="monday") as lost:
        expire_lease(ledger, lost.id)
        with ledger.run("orders", idempotency_key="monday") as run:
            assert run.run.retry_of == lost.id
    assert ledger.runs.get(lost.id).status == "FAILED"


def test_a_key_whose_lost_run_had_committed_is_done_and_the_log_says_so(ledger: Ledger) -> None:
    key: dict[str, Any] = {"idempotency_key": "monday", "exclusive": True}
    with pytest.raises(Conflict, match="already ended: COMPLETED"), ledger.run("orders", **key, done_by=DoneBy.COMMIT) as lost:
        put(ledger, change(lost, new_file("a")))
        expire_lease(ledger, lost.id)
        with pytest.raises(Conflict, match=f"is run {lost.id}: COMPLETED"), ledger.run("orders", **key):
            pass
        assert ledger.runs.get(lost.id).status == "COMPLETED"
    assert ledger.tables.get(ORDERS).current_version == 1


def test_this_process_is_not_gone_and_one_of_another_machine_may_live() -> None:
    here = this_worker()
    assert not is_gone(here, here.name, here.instance_id)
    with subprocess.Popen([sys.executable, "-c", ""]) as child:
        child.wait()
    ended = f"{here.node_id}:{child.pid}"
    assert is_gone(here, ended, here.instance_id)
    assert not is_gone(here, ended, "another machine")
    assert not is_gone(here, None, here.instance_id)
    assert not is_gone(here, "no pid", here.instance_id)


def test_a_position_moves_with_the_commit_or_not_at_all(ledger: Ledger) -> None:
    move = Advance(parse_source("shop"), NumberPosition(7))
    with pytest.raises(Conflict), ledger.run("orders") as run:
        ledger.runs.cancel(run.id, "taken over")
        with pytest.raises(Fenced):
            put(ledger, change(run, new_file("a"), position=move))
    assert ledger.positions.find("shop") is None


def _heart(run_id: str) -> threading.Thread:
    name = f"heartbeat-{run_id[-6:]}"
    return next((thread for thread in threading.enumerate() if thread.name == name), threading.Thread())


@contextmanager
def holder(url: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Another process that has started an exclusive run; the id of the run."""
    with subprocess.Popen([sys.executable, "-c", HOLDER, url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout is not None
            yield child, child.stdout.readline().strip()
        finally:
            child.kill()
