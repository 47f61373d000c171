"""The scheduler: what is due starts once, whatever happens to the schedulers."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pytest

from contract.making import execute, together, wait_until
from contract.scheduling import DAILY, DAY, MINUTE, SIX, World, lose
from lakeledger import Failed, Invalid
from lakeledger.db import Database, Store, Transaction
from lakeledger.jobs import JobSpec
from lakeledger.jobs.scheduler import Due, Outcome, Scheduler
from lakeledger.jobs.triggers import TableVersion
from lakeledger.runs import Status
from lakeledger.sync.capture import Capture

# When runs start


def test_a_job_starts_when_it_is_due_and_once(world: World) -> None:
    job = world.job(schedule=DAILY)
    scheduler = world.scheduler()
    world.gate.set()
    assert world.tick(scheduler) == []
    assert world.tick(scheduler, SIX) == ["shop"]
    assert world.tick(scheduler, SIX) == []
    assert scheduler.drain(20)
    assert world.backend.get(job).next_run_at == SIX + DAY
    (run,) = world.runs()
    assert (run.status, run.cause, run.due_at, run.asked_by, run.attempt, run.reason) == ("done", "schedule", SIX, "scheduler", 1, None)
    found = world.ledger.runs.get(run.run_id or "")
    assert (found.pipeline_id, found.status, found.idempotency_key) == ("shop", "COMPLETED", run.key)


def test_times_that_were_missed_are_made_up_for_by_one_run(world: World) -> None:
    job = world.job(schedule=DAILY)
    scheduler = world.scheduler()
    world.gate.set()
    later = SIX + 100 * DAY + MINUTE
    assert world.tick(scheduler, later) == ["shop"]
    assert world.tick(scheduler, later) == []
    assert scheduler.drain(20)
    (run,) = world.runs()
    assert (run.due_at, run.reason) == (SIX, "first of the times missed since 2099-01-01 06:00:00 UTC")
    assert world.backend.get(job).next_run_at == SIX + 101 * DAY


def test_nothing_starts_a_paused_job_and_what_was_due_meanwhile_is_not_made_up_for(world: World) -> None:
    job = world.job(schedule=DAILY)
    world.backend.pause(job)
    scheduler = world.scheduler()
    assert world.tick(scheduler, SIX + DAY) == []
    world.backend.resume(job)
    assert world.tick(scheduler, datetime.now(UTC)) == []
    assert world.runs() == []


def test_a_paused_job_runs_when_somebody_asks_for_it(world: World) -> None:
    job = world.job(schedule=DAILY, parameters=[{"name": "day", "default": "today"}])
    world.backend.pause(job)
    world.backend.run_now(job, {"day": "monday"})
    scheduler = world.scheduler()
    world.gate.set()
    assert world.tick(scheduler) == ["shop"]
    assert scheduler.drain(20)
    assert (world.started[0].parameters, world.statuses()) == ({"day": "monday"}, ["done"])


def test_a_run_that_is_due_while_the_last_one_goes_on_is_skipped_and_noted(world: World) -> None:
    world.job(schedule=DAILY)
    scheduler = world.scheduler()
    world.tick(scheduler, SIX)
    assert world.tick(scheduler, SIX + DAY) == []
    assert world.statuses() == ["running", "skipped"]
    assert "max_concurrent_runs" in (world.runs()[1].reason or "")
    world.gate.set()
    assert scheduler.drain(20)
    assert world.tick(scheduler, SIX + 2 * DAY) == ["shop"]


def test_with_a_queue_it_waits_instead(world: World) -> None:
    world.job(schedule=DAILY, queue={"enabled": True})
    scheduler = world.scheduler()
    world.tick(scheduler, SIX)
    assert world.tick(scheduler, SIX + DAY) == []
    assert world.statuses() == ["running", "queued"]
    world.gate.set()
    assert scheduler.drain(20)
    assert world.tick(scheduler, SIX + DAY) == ["shop"]


def test_a_job_may_have_as_many_runs_as_it_says(world: World) -> None:
    job = world.job(schedule=DAILY, max_concurrent_runs=2)
    scheduler = world.scheduler()
    assert world.tick(scheduler, SIX) == ["shop"]
    assert world.tick(scheduler, SIX + DAY) == ["shop"]
    world.backend.run_now(job)
    assert world.tick(scheduler, SIX + DAY + MINUTE) == []
    wait_until(world.under_way)
    assert world.statuses() == ["queued", "running", "running"]


def test_a_run_that_somebody_asked_for_waits_for_its_turn(world: World) -> None:
    job = world.job(schedule=DAILY)
    world.backend.run_now(job)
    world.backend.run_now(job)
    scheduler = world.scheduler()
    assert world.tick(scheduler) == ["shop"]
    assert world.tick(scheduler) == []
    world.gate.set()
    assert scheduler.drain(20)
    assert world.tick(scheduler) == ["shop"]


def test_a_module_that_somebody_runs_by_hand_is_left_alone(world: World) -> None:
    job = world.job(schedule=DAILY)
    scheduler = world.scheduler()
    world.gate.set()
    with world.ledger.run("shop", exclusive=True):
        world.tick(scheduler, SIX)
        assert scheduler.drain(20)
        asked = world.backend.run_now(job)
        world.tick(scheduler, SIX + MINUTE)
        assert scheduler.drain(20)
    skipped, waiting = next(run for run in world.runs() if run.cause == "schedule"), world.backend.run(asked)
    assert (skipped.status, waiting.status) == ("skipped", "queued")
    assert "shop is already running" in (skipped.reason or "")
    assert world.tick(scheduler, SIX + MINUTE) == []
    assert world.tick(scheduler, SIX + 2 * MINUTE) == ["shop"]
    assert scheduler.drain(20)
    assert world.backend.run(asked).status == "done"


def test_a_scheduler_runs_only_so_much_at_a_time(world: World) -> None:
    for number in range(5):
        world.job(f"job{number}", schedule=DAILY)
    scheduler = world.scheduler(parallel=2)
    assert len(world.tick(scheduler, SIX)) == 2
    assert world.tick(scheduler, SIX) == []
    assert len(world.tick(world.scheduler(parallel=2), SIX)) == 2
    assert sorted(world.statuses()) == ["queued"] + ["running"] * 4


# Clocks


@dataclass(frozen=True)
class Shifted:
    """A database whose clock is ahead of this process's."""

    database: Database
    ahead: timedelta

    def __getattr__(self, name: str) -> Any:
        return getattr(self.database, name)

    @contextmanager
    def transaction(self, tenant_id: str, *, write: bool) -> Iterator[Transaction]:
        with self.database.transaction(tenant_id, write=write) as tx:
            yield replace(tx, now=tx.now + self.ahead)


def test_the_time_is_that_of_the_store(world: World) -> None:
    job = world.backend.create(JobSpec("shop", {"name": "shop", "schedule": DAILY}, {"module_name": "shop"})).job_id
    world.gate.set()
    store = Store(cast("Database", Shifted(world.ledger.database, 3 * DAY)), world.ledger.store.tenant_id)
    scheduler = Scheduler(store, world.ledger.worker, world.carry_out)
    assert [due.job.name for due in scheduler.tick()] == ["shop"]
    assert scheduler.drain(20)
    (run,) = world.runs(job)
    assert DAY < (run.started_at or SIX) - datetime.now(UTC) < 4 * DAY
    assert (world.backend.get(job).next_run_at or SIX) > datetime.now(UTC) + 2 * DAY


@pytest.mark.parametrize("same", [True, False], ids=["one scheduler", "another scheduler"])
def test_a_clock_that_was_ahead_once_puts_no_job_off(world: World, same: bool) -> None:
    job = world.job(schedule=DAILY)
    scheduler = world.scheduler()
    world.gate.set()
    assert world.tick(scheduler, SIX + 300 * DAY) == ["shop"]
    assert scheduler.drain(20)
    assert world.backend.get(job).next_run_at == SIX + 301 * DAY
    scheduler = scheduler if same else world.scheduler()
    assert world.tick(scheduler, SIX + MINUTE) == []
    assert world.backend.get(job).next_run_at == SIX + DAY
    assert world.tick(scheduler, SIX + DAY) == ["shop"]


def test_a_scheduler_that_never_saw_the_wrong_clock_brings_forward_what_it_put_off(world: World) -> None:
    job = world.job(schedule=DAILY)
    scheduler = world.scheduler()
    world.tick(scheduler, SIX - MINUTE)
    execute(world.ledger, "update local_jobs set next_run_at = :at where job_id = :id", at=SIX + 300 * DAY, id=job)
    assert world.tick(scheduler, SIX + DAY - MINUTE) == []
    assert world.tick(scheduler, SIX + DAY) == ["shop"]


def test_a_claim_is_held_on_to_when_the_clock_is_put_back(world: World) -> None:
    world.job(schedule=DAILY)
    scheduler = world.scheduler()
    world.tick(scheduler, SIX)
    world.tick(scheduler, SIX + DAY)
    lose(world, world.runs()[0])
    world.tick(scheduler, SIX)
    assert (world.runs()[0].claimed_until or SIX) > datetime.now(UTC)


def test_a_trigger_that_fired_by_a_clock_that_was_ahead_fires_again(world: World, tmp_path: Path) -> None:
    world.job(trigger={"file_arrival": {"url": str(tmp_path), "min_time_between_triggers_seconds": 600}})
    scheduler = world.scheduler()
    world.gate.set()
    land(tmp_path, "a.csv", SIX)
    assert world.tick(scheduler, SIX + 300 * DAY) == ["shop"]
    assert scheduler.drain(20)
    land(tmp_path, "b.csv", SIX)
    assert world.tick(scheduler, SIX + MINUTE) == ["shop"]


# How runs end


def test_a_failed_run_is_tried_again_after_a_pause_as_often_as_the_job_says(world: World) -> None:
    world.job(schedule=DAILY, max_retries=2, min_retry_interval_millis=60_000)

    def fail(due: Due) -> Outcome:
        world.started.append(due)
        raise Failed(f"no luck with {due.run.attempt}")

    scheduler = Scheduler(world.ledger.store, world.ledger.worker, fail, now=lambda: world.now)
    for attempt in (1, 2, 3):
        world.tick(scheduler, SIX + attempt * MINUTE)
        assert scheduler.drain(20)
        assert world.tick(scheduler, world.now + timedelta(seconds=59)) == []
    assert [due.run.attempt for due in world.started] == [1, 2, 3]
    assert len({due.key for due in world.started}) == 3
    (run,) = world.runs()
    assert (run.status, run.attempt, run.reason) == ("failed", 3, "no luck with 3")


def test_a_run_that_takes_too_long_is_ended_and_its_worker_refused(world: World) -> None:
    job = world.job(schedule=DAILY, timeout_seconds=60)
    scheduler = world.scheduler()
    world.tick(scheduler, SIX)
    wait_until(world.under_way)
    world.tick(scheduler, SIX + timedelta(seconds=59))
    assert world.statuses() == ["running"]
    world.tick(scheduler, SIX + timedelta(seconds=60))
    (run,) = world.runs(job)
    assert (run.status, run.reason) == ("failed", "timed out after 60 s")
    found = world.ledger.runs.get(run.run_id or "")
    assert (found.status, found.error_message) == ("FAILED", "timed out after 60 s")
    assert world.started[0].stop.is_set()
    assert scheduler.drain(20)
    assert world.tick(scheduler, SIX + DAY) == ["shop"]


def test_a_run_that_took_too_long_is_not_started_again_while_it_may_be_at_work(world: World) -> None:
    job = world.job(schedule=DAILY, timeout_seconds=60, max_retries=2)
    scheduler = world.scheduler()
    world.tick(scheduler, SIX)
    wait_until(world.under_way)
    assert world.tick(scheduler, SIX + MINUTE) == []
    (run,) = world.runs(job)
    assert (run.status, run.attempt, run.reason) == ("failed", 1, "timed out after 60 s")


@pytest.mark.parametrize("raised", [True, False], ids=["not begun", "begun"])
def test_a_run_that_is_set_up_wrong_is_not_tried_again(world: World, raised: bool) -> None:
    world.job(schedule=DAILY, max_retries=2)

    def refuse(_: Due) -> Outcome:
        if raised:
            raise Invalid("no such column")
        return Outcome(None, Status.FAILED, "no such column", retryable=False)

    scheduler = Scheduler(world.ledger.store, world.ledger.worker, refuse, now=lambda: world.now)
    world.tick(scheduler, SIX)
    assert scheduler.drain(20)
    assert world.tick(scheduler, SIX + MINUTE) == []
    (run,) = world.runs()
    assert (run.status, run.attempt, run.reason) == ("failed", 1, "no such column")


def test_a_run_that_is_cancelled_is_told_to_stop(world: World) -> None:
    world.job(schedule=DAILY)
    scheduler = world.scheduler()
    world.tick(scheduler, SIX)
    wait_until(world.under_way)
    ended = world.backend.cancel(world.runs()[0].id, "not today")
    assert world.ledger.runs.get(ended.run_id or "").status == "CANCELLED"
    assert not world.started[0].stop.is_set()
    world.tick(scheduler)
    assert world.started[0].stop.is_set()
    assert scheduler.drain(20)
    assert [(run.status, run.reason) for run in world.runs()] == [("cancelled", "not today")]


def test_a_run_whose_job_was_deleted_is_told_to_stop(world: World) -> None:
    job = world.job(schedule=DAILY)
    scheduler = world.scheduler()
    world.tick(scheduler, SIX)
    wait_until(world.under_way)
    world.backend.delete(job)
    assert world.tick(scheduler) == []
    assert world.started[0].stop.is_set()


def test_an_end_that_nobody_expected_is_written_down(world: World) -> None:
    world.job(schedule=DAILY)

    def break_down(_: Due) -> Outcome:
        raise ZeroDivisionError("one over zero")

    scheduler = Scheduler(world.ledger.store, world.ledger.worker, break_down, now=lambda: world.now)
    world.tick(scheduler, SIX)
    assert scheduler.drain(20)
    assert [(run.status, run.reason) for run in world.runs()] == [("failed", "ZeroDivisionError: one over zero")]


def test_one_job_that_cannot_be_read_does_not_stop_the_others(world: World) -> None:
    job = world.job("bad", schedule=DAILY)
    world.job("good", schedule=DAILY)
    broken = {"name": "bad", "schedule": {"cron": "nonsense"}}
    execute(world.ledger, "update local_jobs set settings = :broken where job_id = :id", broken=broken, id=job)
    scheduler = world.scheduler()
    world.gate.set()
    assert world.tick(scheduler, SIX) == ["bad", "good"]
    assert scheduler.drain(20)
    assert world.tick(scheduler, SIX + DAY) == ["good"]
    assert len(world.problems) == 1
    assert "job bad is no longer started: schedule 'nonsense' has 1 fields" in world.problems[0]


# Triggers


def land(folder: Path, name: str, at: datetime) -> None:
    (folder / name).write_text(name, encoding="utf-8")
    os.utime(folder / name, (at.timestamp(), at.timestamp()))


def test_a_job_starts_when_files_have_arrived_and_settled(world: World, tmp_path: Path) -> None:
    folder = tmp_path / "landing"
    world.job(trigger={"file_arrival": {"url": str(folder), "wait_after_last_change_seconds": 30}})
    scheduler = world.scheduler()
    world.gate.set()
    assert world.tick(scheduler, SIX) == []
    folder.mkdir()
    land(folder, "_SUCCESS", SIX)
    land(folder, "a.csv", SIX)
    land(folder, "b.csv", SIX + timedelta(seconds=10))
    assert world.tick(scheduler, SIX + timedelta(seconds=30)) == []
    assert world.tick(scheduler, SIX + timedelta(seconds=40)) == ["shop"]
    assert scheduler.drain(20)
    (run,) = world.runs()
    assert (run.cause, run.reason) == ("file_arrival", "new: a.csv, b.csv")
    assert world.tick(scheduler, SIX + MINUTE) == []
    (folder / "a.csv").unlink()
    assert world.tick(scheduler, SIX + 2 * MINUTE) == []
    land(folder, "b.csv", SIX + 2 * MINUTE)
    assert world.tick(scheduler, SIX + 3 * MINUTE) == ["shop"]


def test_files_that_arrive_while_the_job_runs_start_it_again_afterwards(world: World, tmp_path: Path) -> None:
    world.job(trigger={"file_arrival": {"url": str(tmp_path)}})
    scheduler = world.scheduler()
    land(tmp_path, "a.csv", SIX)
    assert world.tick(scheduler, SIX + MINUTE) == ["shop"]
    land(tmp_path, "b.csv", SIX + MINUTE)
    assert world.tick(scheduler, SIX + 2 * MINUTE) == []
    world.gate.set()
    assert scheduler.drain(20)
    assert world.tick(scheduler, SIX + 2 * MINUTE) == ["shop"]
    assert "b.csv" in (world.runs()[-1].reason or "")


def test_a_trigger_may_not_fire_too_often(world: World, tmp_path: Path) -> None:
    world.job(trigger={"file_arrival": {"url": str(tmp_path), "min_time_between_triggers_seconds": 600}})
    scheduler = world.scheduler()
    world.gate.set()
    land(tmp_path, "a.csv", SIX)
    assert world.tick(scheduler, SIX + MINUTE) == ["shop"]
    assert scheduler.drain(20)
    land(tmp_path, "b.csv", SIX + MINUTE)
    assert world.tick(scheduler, SIX + 10 * MINUTE) == []
    assert world.tick(scheduler, SIX + 11 * MINUTE) == ["shop"]


def test_a_folder_is_meant_beside_the_document(world: World, tmp_path: Path) -> None:
    (tmp_path / "landing").mkdir()
    land(tmp_path / "landing", "a.csv", SIX)
    settings = {"name": "shop", "trigger": {"file_arrival": {"url": "landing"}}}
    world.backend.create(JobSpec("shop", settings, {"module_name": "shop"}, str(tmp_path)))
    assert world.tick(world.scheduler(), SIX + MINUTE) == ["shop"]


def test_a_place_that_cannot_be_looked_at_is_named_once_and_stops_nobody(world: World, tmp_path: Path) -> None:
    world.job("bad", trigger={"file_arrival": {"url": "nonsense://place"}})
    strange = world.job("strange", trigger={"file_arrival": {"url": str(tmp_path)}})
    execute(world.ledger, "update local_jobs set settings = :strange where job_id = :id", strange={"name": "strange"}, id=strange)
    world.job("good", trigger={"file_arrival": {"url": str(tmp_path)}})
    land(tmp_path, "a.csv", SIX)
    scheduler = world.scheduler()
    assert world.tick(scheduler, SIX + MINUTE) == ["good"]
    world.tick(scheduler, SIX + 2 * MINUTE)
    assert sorted(problem.partition(" cannot look whether it is due")[0] for problem in world.problems) == ["job bad", "job strange"]


def test_what_is_wrong_with_a_job_is_over_when_it_works_again(world: World, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    job = world.job(trigger={"file_arrival": {"url": "nonsense://place"}})
    scheduler = world.scheduler()
    world.tick(scheduler, SIX)
    world.tick(scheduler, SIX + MINUTE)
    assert [(line.name, line.levelname) for line in caplog.records] == [("lakeledger.scheduler", "ERROR")]
    assert len(world.problems) == 1
    repaired = {"name": "shop", "trigger": {"file_arrival": {"url": str(tmp_path)}}}
    execute(world.ledger, "update local_jobs set settings = :repaired where job_id = :id", repaired=repaired, id=job)
    world.tick(scheduler, SIX + 2 * MINUTE)
    assert world.problems == []


@pytest.mark.parametrize("restarted", [False, True])
def test_what_is_wrong_with_a_job_is_over_when_the_job_is_gone(world: World, restarted: bool) -> None:
    watching = world.job("watching", trigger={"file_arrival": {"url": "nonsense://place"}})
    paused = world.job("paused", trigger={"file_arrival": {"url": "nonsense://place"}})
    daily = world.job("daily", schedule=DAILY)
    execute(world.ledger, "update local_jobs set settings = :it where job_id = :id", it={"schedule": {"cron": "nonsense"}}, id=daily)
    world.gate.set()
    scheduler = world.scheduler()
    assert world.tick(scheduler, SIX) == ["daily"]
    assert scheduler.drain(20)
    assert len(world.problems) == 3
    world.backend.delete(watching)
    world.backend.delete(daily)
    world.backend.pause(paused)
    if restarted:
        scheduler = world.scheduler(failures=Capture(world.ledger.store, world.ledger.worker, 60).background("scheduler"))
    world.tick(scheduler, SIX + MINUTE)
    notes = [error.resolution_note for error in world.ledger.errors.list("resolved", schema="lakeledger", table="scheduler")]
    assert sorted(map(str, notes)) == ["its trigger is paused or gone", "the job was deleted", "the job was deleted"]


def test_a_paused_trigger_does_not_look(world: World, tmp_path: Path) -> None:
    job = world.job(trigger={"file_arrival": {"url": str(tmp_path)}})
    world.backend.pause(job)
    land(tmp_path, "a.csv", SIX)
    scheduler = world.scheduler()
    assert world.tick(scheduler, SIX + MINUTE) == []
    world.backend.resume(job)
    assert world.tick(scheduler, SIX + MINUTE) == ["shop"]


def test_a_job_starts_when_a_table_has_moved(world: World) -> None:
    world.job(trigger={"table_update": {"table_names": ["orders", "lines"]}})
    scheduler = world.scheduler()
    world.gate.set()
    assert world.tick(scheduler, SIX) == []
    world.versions["orders"] = TableVersion(3, SIX)
    assert world.tick(scheduler, SIX) == ["shop"]
    assert scheduler.drain(20)
    assert (world.runs()[0].cause, world.runs()[0].reason) == ("table_update", "orders is at version 3")
    assert world.tick(scheduler, SIX + MINUTE) == []
    world.versions["lines"] = TableVersion(1, SIX + MINUTE)
    assert world.tick(scheduler, SIX + MINUTE) == ["shop"]


def test_a_job_may_wait_until_all_its_tables_have_moved_and_rest(world: World) -> None:
    wanted = {"table_names": ["orders", "lines"], "condition": "ALL_UPDATED", "wait_after_last_change_seconds": 60}
    world.job(trigger={"table_update": wanted})
    scheduler = world.scheduler()
    world.versions["orders"] = TableVersion(1, SIX)
    assert world.tick(scheduler, SIX + MINUTE) == []
    world.versions["lines"] = TableVersion(1, SIX + MINUTE)
    assert world.tick(scheduler, SIX + MINUTE) == []
    assert world.tick(scheduler, SIX + 2 * MINUTE) == ["shop"]


def test_of_many_schedulers_that_see_a_file_one_starts_the_job(world: World, tmp_path: Path) -> None:
    world.job(trigger={"file_arrival": {"url": str(tmp_path)}}, max_concurrent_runs=10)
    land(tmp_path, "a.csv", SIX)
    schedulers = [world.scheduler() for _ in range(4)]
    together(lambda index: schedulers[index].tick(SIX + MINUTE), 4)
    assert world.statuses() == ["running"]


# The loop


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
def test_it_runs_until_it_is_told_to_stop_and_lets_its_runs_end(world: World) -> None:
    job = world.backend.create(JobSpec("often", {"name": "often", "schedule": {"quartz_cron_expression": "* * * * * ?"}}, {}))
    scheduler = Scheduler(world.ledger.store, world.ledger.worker, world.carry_out)
    stop = threading.Event()
    thread = threading.Thread(target=scheduler.run, args=(stop, 20.0))
    thread.start()
    wait_until(lambda: len(world.started) == 1)
    world.gate.set()
    wait_until(lambda: len(world.started) >= 2)
    asked = world.backend.run_now(job.job_id)
    wait_until(lambda: world.backend.run(asked).status == "done")
    stop.set()
    thread.join(20)
    assert not thread.is_alive()
    assert {run.status for run in world.runs()} <= {"done", "skipped"}


def test_what_does_not_end_in_time_is_stopped_with_the_scheduler(world: World) -> None:
    job = world.job()
    world.backend.run_now(job)
    scheduler = Scheduler(world.ledger.store, world.ledger.worker, world.carry_out)
    stop = threading.Event()
    thread = threading.Thread(target=scheduler.run, args=(stop, 0.1))
    thread.start()
    wait_until(world.under_way)
    stop.set()
    thread.join(20)
    assert world.started[0].stop.is_set()
    wait_until(lambda: world.statuses() == ["queued"])
    (run,) = world.runs()
    assert (run.attempt, run.times_lost) == (2, 1), "the next scheduler starts it again, as if this one had been killed"
    assert "was told to end" in (run.reason or "")


def test_what_ended_long_ago_is_forgotten(world: World) -> None:
    world.gate.set()
    job = world.job(schedule=DAILY)
    scheduler = world.scheduler()
    world.tick(scheduler, SIX)
    assert scheduler.drain(20)
    waiting = world.backend.run_now(job)
    execute(world.ledger, "update local_job_runs set start_after = :later where id = :id", later=SIX + 900 * DAY, id=waiting)
    world.now = SIX + 31 * DAY
    execute(world.ledger, "update local_jobs set next_run_at = null")
    scheduler.run(stopped())
    scheduler._tidy()
    assert [run.id for run in world.runs()] == [waiting]


def stopped() -> threading.Event:
    event = threading.Event()
    event.set()
    return event


def test_what_is_asked_for_starts_without_waiting_for_the_next_look(world: World) -> None:
    job_id, stop = world.job(), threading.Event()
    scheduler = world.scheduler(look_seconds=1_000, lease_seconds=3_000)
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(scheduler.run, stop)
        wait_until(lambda: scheduler._tidied_at is not None)
        world.backend.run_now(job_id)
        wait_until(lambda: bool(world.started))
        world.gate.set()
        stop.set()
        running.result(20)
