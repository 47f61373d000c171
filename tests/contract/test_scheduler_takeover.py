"""Schedulers that come and go: what a lost one left is ended or started again by the next, and it can end nothing any more."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from contract.making import execute, expire_lease, together, wait_until
from contract.scheduling import DAILY, DAY, MINUTE, SIX, World, lose
from lakeledger import Conflict
from lakeledger.jobs import MODULE_TAG, OWNER_TAG, JobSpec, queue
from lakeledger.jobs.scheduler import Due, Outcome, Scheduler
from lakeledger.runs import Status, Worker, cancelled, failed

ELSEWHERE = Worker("elsewhere:1", "elsewhere", "another machine")


@dataclass
class Held:
    """A scheduler on another machine whose runs last until they are let go, and then end as they are told to."""

    world: World
    outcome: Outcome | Exception
    go: threading.Event = field(default_factory=threading.Event)
    started: list[Due] = field(default_factory=list)

    def scheduler(self, **options: Any) -> Scheduler:
        return Scheduler(self.world.ledger.store, ELSEWHERE, self._carry_out, now=lambda: self.world.now, **options)

    def _carry_out(self, due: Due) -> Outcome:
        self.started.append(due)
        wait_until(self.go.is_set)
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return self.outcome


def lose_all(world: World) -> None:
    """Let the only run that is under way be lost, with its scheduler."""
    lose(world, next(run for run in world.runs() if run.status == "running"))
    (active,) = world.ledger.runs.list(status="RUNNING")
    expire_lease(world.ledger, active.id)


def test_of_many_schedulers_that_see_what_is_due_one_starts_it(world: World) -> None:
    for number in range(12):
        world.job(f"job{number}", schedule=DAILY)
    world.gate.set()
    schedulers = [world.scheduler(parallel=100) for _ in range(6)]
    world.now = SIX
    started = together(lambda index: [due.job.name for due in schedulers[index].tick(SIX)], 6)
    assert sorted(name for names in started for name in names) == sorted(f"job{number}" for number in range(12))
    assert all(scheduler.drain(20) for scheduler in schedulers)
    assert world.statuses() == ["done"] * 12


# Started again


def test_a_run_whose_scheduler_was_lost_is_started_again_by_the_next(world: World) -> None:
    world.job(schedule=DAILY)
    world.tick(world.scheduler(), SIX)
    wait_until(world.under_way)
    (run,) = world.runs()
    (active,) = world.ledger.runs.list(status="RUNNING")
    again = world.scheduler()
    lose(world, run)
    assert world.tick(again, SIX + MINUTE) == []
    assert world.statuses() == ["running"], "its run is still alive, whatever its scheduler is"
    expire_lease(world.ledger, active.id)
    assert world.tick(again, SIX + 2 * MINUTE) == ["shop"]
    assert world.ledger.runs.get(active.id).status == "FAILED"
    (run,) = world.runs()
    assert (run.status, run.attempt, run.times_lost, run.claim_token, run.run_id) == ("running", 2, 1, 2, active.id)
    assert "attempt 1 was lost" in (run.reason or "")
    world.gate.set()
    assert again.drain(20)
    (run,) = world.runs()
    assert run.status == "done"
    assert world.ledger.runs.get(run.run_id or "").status == "COMPLETED"
    assert world.tick(again, SIX + DAY) == ["shop"]
    assert world.tick(again, SIX + DAY) == []


@pytest.mark.parametrize(("retries", "attempts"), [(0, 2), (1, 2), (3, 4)])
def test_it_is_started_again_as_often_as_its_retries_say_and_at_least_once(world: World, retries: int, attempts: int) -> None:
    world.job(schedule=DAILY, max_retries=retries, min_retry_interval_millis=3_600_000)
    world.tick(world.scheduler(), SIX)
    for attempt in range(2, attempts + 1):
        wait_until(lambda: len(world.ledger.runs.list(status="RUNNING")) == 1)
        lose_all(world)
        assert world.tick(world.scheduler(), SIX + attempt * MINUTE) == ["shop"], f"attempt {attempt}"
    wait_until(lambda: len(world.ledger.runs.list(status="RUNNING")) == 1)
    lose_all(world)
    assert world.tick(world.scheduler(), SIX + DAY - MINUTE) == []
    (run,) = world.runs()
    assert (run.status, run.attempt) == ("failed", attempts)
    assert "was lost before it committed" in (run.reason or "")


def test_a_run_that_failed_before_it_was_lost_is_started_again_all_the_same(world: World) -> None:
    world.job(schedule=DAILY, max_retries=1)
    broken = Held(world, Outcome(None, Status.FAILED, "no luck"))
    broken.go.set()
    first = broken.scheduler()
    world.tick(first, SIX)
    assert first.drain(20)
    world.tick(world.scheduler())
    wait_until(world.under_way)
    lose_all(world)
    assert world.tick(world.scheduler(), SIX + MINUTE) == ["shop"]
    assert [due.run.attempt for due in world.started] == [2, 3]


def test_a_lost_run_that_finds_its_module_busy_waits_for_it(world: World) -> None:
    world.job(schedule=DAILY)
    world.tick(world.scheduler(), SIX)
    wait_until(world.under_way)
    lose_all(world)
    again = world.scheduler()
    with world.ledger.run("shop", exclusive=True):
        assert world.tick(again, SIX + MINUTE) == ["shop"]
        assert again.drain(20)
    (run,) = world.runs()
    assert (run.status, run.attempt) == ("queued", 2)
    world.gate.set()
    assert world.tick(again, SIX + 2 * MINUTE) == ["shop"]
    assert again.drain(20)
    assert world.statuses() == ["done"]


def test_a_run_that_was_claimed_but_never_began_is_started_by_another(world: World) -> None:
    world.job(schedule=DAILY)
    silent = Held(world, Outcome(None, Status.COMPLETED))
    first = silent.scheduler()
    world.tick(first, SIX)
    lose(world, world.runs()[0])
    world.gate.set()
    again = world.scheduler()
    assert world.tick(again, SIX + MINUTE) == ["shop"]
    assert again.drain(20)
    silent.go.set()
    assert first.drain(20)
    (run,) = world.runs()
    assert (run.status, run.attempt) == ("done", 1)
    assert len(world.ledger.runs.list("shop")) == 1


def test_a_run_that_ended_before_its_scheduler_could_say_so_counts_as_it_ended(world: World) -> None:
    world.job(schedule=DAILY)
    world.tick(world.scheduler(), SIX)
    wait_until(world.under_way)
    lose(world, world.runs()[0])
    world.ledger.runs.finish(world.ledger.runs.list(status="RUNNING")[0].id, cancelled("by hand"))
    world.tick(world.scheduler(), SIX + MINUTE)
    assert [(run.status, run.reason) for run in world.runs()] == [("cancelled", "by hand")]


def test_a_run_that_failed_by_itself_before_its_scheduler_could_say_so_is_no_lost_one(world: World) -> None:
    world.job(schedule=DAILY, max_retries=0)
    world.tick(world.scheduler(), SIX)
    wait_until(world.under_way)
    lose(world, world.runs()[0])
    world.ledger.runs.finish(world.ledger.runs.list(status="RUNNING")[0].id, failed("set up wrong"))
    assert world.tick(world.scheduler(), SIX + MINUTE) == []
    assert [(run.status, run.reason) for run in world.runs()] == [("failed", "set up wrong")]


# Fenced


def test_whoever_was_taken_over_before_its_run_began_does_not_begin_the_work(world: World, tmp_path: Path) -> None:
    (tmp_path / "steps.py").write_text("def work(context):\n    (context.base / context.run.id).touch()\n", encoding="utf-8")
    python = {"task_type": "python", "python_task": {"function": "steps:work"}}
    source = {"source_id": "t", "source_type": "task", "transformation_config": python}
    tags = {OWNER_TAG: "etl_control", MODULE_TAG: "shop"}
    spec = JobSpec("shop", {"name": "shop", "tags": tags}, {"module_name": "shop", "sources": [source]}, str(tmp_path))
    world.backend.run_now(world.backend.create(spec).job_id)
    wakes_up = threading.Event()

    def stopped_before_it_begins(due: Due) -> Outcome:
        wait_until(wakes_up.is_set)
        return world.ledger.run_job(due)

    old = Scheduler(world.ledger.store, ELSEWHERE, stopped_before_it_begins)
    assert len(old.tick()) == 1
    lose(world, world.runs()[0])
    new = Scheduler(world.ledger.store, world.ledger.worker, world.ledger.run_job)
    assert len(new.tick()) == 1
    assert new.drain(20)
    wakes_up.set()
    assert old.drain(20)
    late, done = world.ledger.runs.list("shop")
    assert (late.status, late.error_message, done.status) == ("CANCELLED", "it was taken over before it began", "COMPLETED")
    assert [path.name for path in tmp_path.iterdir() if path.name in (late.id, done.id)] == [done.id]
    assert [(run.status, run.run_id) for run in world.runs()] == [("done", done.id)]


@pytest.mark.parametrize(
    "late",
    [
        Outcome(None, Status.COMPLETED),
        Outcome(None, Status.FAILED, "too late"),
        Outcome(None, Status.FAILED, "too late", retryable=False),
        Outcome(None, Status.CANCELLED, "too late"),
        Conflict("shop is already running", retryable=True),
        ZeroDivisionError("too late"),
    ],
    ids=["done", "failed", "set up wrong", "cancelled", "busy", "broken"],
)
def test_whoever_was_taken_over_ends_nothing(world: World, late: Outcome | Exception) -> None:
    world.job(schedule=DAILY, max_retries=3)
    old = Held(world, late)
    stopped = old.scheduler()
    world.tick(stopped, SIX)
    wait_until(lambda: bool(old.started))
    lose(world, world.runs()[0])
    new = world.scheduler()
    assert world.tick(new, SIX + MINUTE) == ["shop"]
    wait_until(lambda: len(world.ledger.runs.list(status="RUNNING")) == 1)
    (held,) = world.runs()
    old.go.set()
    assert stopped.drain(20)
    assert world.runs() == [held]
    world.tick(new)
    assert not world.started[0].stop.is_set(), "whoever took over goes on"
    world.gate.set()
    assert new.drain(20)
    assert world.statuses() == ["done"]


def test_whoever_was_taken_over_is_told_to_stop_and_can_neither_renew_nor_time_out(world: World) -> None:
    world.job(schedule=DAILY, timeout_seconds=600)
    old = Held(world, Outcome(None, Status.COMPLETED))
    stopped = old.scheduler()
    world.tick(stopped, SIX)
    wait_until(lambda: bool(old.started))
    lose(world, world.runs()[0])
    assert world.tick(world.scheduler(), SIX + 9 * MINUTE) == ["shop"]
    wait_until(lambda: len(world.ledger.runs.list(status="RUNNING")) == 1)
    (held,) = world.runs()
    with world.ledger.store.write() as tx:
        assert not queue.renew(tx, old.started[0].run, 3_600)
        stopped._time_out(tx, old.started[0], SIX + 10 * MINUTE)
    world.tick(stopped, SIX + 10 * MINUTE)
    assert old.started[0].stop.is_set()
    assert world.runs() == [held]
    assert [run.status for run in world.ledger.runs.list("shop")] == ["RUNNING"]
    old.go.set()


def test_a_claim_is_its_holders_until_somebody_takes_over_however_late_it_is_renewed(world: World) -> None:
    world.job(schedule=DAILY)
    scheduler = world.scheduler()
    world.tick(scheduler, SIX)
    wait_until(world.under_way)
    lose(world, world.runs()[0])
    world.tick(scheduler, SIX + MINUTE)
    (run,) = world.runs()
    assert (run.status, run.claim_token) == ("running", 1)
    assert (run.claimed_until or SIX) > datetime.now(UTC)
    world.gate.set()
    assert scheduler.drain(20)
    assert world.statuses() == ["done"]


def test_a_scheduler_that_comes_back_too_late_changes_nothing(world: World) -> None:
    world.job(schedule=DAILY)
    slow = world.scheduler()
    world.tick(slow, SIX)
    wait_until(world.under_way)
    active = world.ledger.runs.list(status="RUNNING")[0]
    lose_all(world)
    execute(world.ledger, "update local_job_runs set times_lost = 1")
    world.tick(world.scheduler(), SIX + MINUTE)
    world.gate.set()
    assert slow.drain(20)
    assert world.statuses() == ["failed"]
    assert world.ledger.runs.get(active.id).status == "FAILED"
