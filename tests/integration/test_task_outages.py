"""Tasks and jobs while the store is away: what is late is ended, what is healthy goes on, and what has ended is not done again."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import lakeledger
from contract.making import wait_until
from contract.outages import restarting
from integration.test_tasks import call, module, run, statuses, steps_py
from lakeledger import Ledger
from lakeledger.config import Settings
from lakeledger.jobs import MODULE_TAG, OWNER_TAG, JobSpec
from lakeledger.jobs.local import LocalBackend
from lakeledger.jobs.scheduler import Due, Outcome, Scheduler
from lakeledger.pipelines.runner import StepResult
from postgres_server import Server

STEPS = """\
def slow(context):
    context.stop.wait(60)
def healthy(context):
    while not (context.base / "go").exists() and not context.stop.wait(0.05):
        pass
    return {"was told to stop": context.stop.is_set()}
"""


def at(url: str) -> Ledger:
    return lakeledger.open(Settings(url=url, lease_seconds=60))


@pytest.mark.parametrize("limit", ["of the task", "of the module"])
def test_a_time_limit_that_passes_while_the_store_is_away_ends_what_is_late_and_nothing_else(
    fragile_postgres: Server, server_url: str, tmp_path: Path, limit: str
) -> None:
    steps_py(tmp_path, STEPS)
    by_task = limit == "of the task"
    slow = call("slow", "slow", timeout_seconds=2) if by_task else call("slow", "slow")
    what = module(slow, call("healthy", "healthy"), call("next", "slow", depends_on=["slow"]), timeout_seconds=None if by_task else 2)
    begun: list[StepResult] = []
    with at(server_url) as ledger, ThreadPoolExecutor(1) as pool:
        result = pool.submit(run, ledger, what, tmp_path, progress=begun.append)
        wait_until(lambda: len(begun) == 2)
        limit_passes = time.monotonic() + 3
        fragile_postgres.stop()
        wait_until(lambda: time.monotonic() > limit_passes)
        fragile_postgres.resume()
        if not by_task:  # All of it is late then.
            assert statuses(result.result(60).steps) == {"slow": "FAILED", "healthy": "FAILED", "next": "SKIPPED"}
            return
        wait_until(lambda: any(step.status == "FAILED" for step in begun), 60)
        (tmp_path / "go").touch()
        assert statuses(result.result(60).steps) == {"slow": "FAILED", "healthy": "COMPLETED", "next": "SKIPPED"}
        steps = {step.step_name: step for step in ledger.runs.steps(result.result().run_id)}
        assert (steps["slow"].status, steps["slow"].error_message) == ("FAILED", "timed out after 2 s")
        assert (steps["healthy"].status, steps["healthy"].metadata["was told to stop"]) == ("COMPLETED", False)


def test_a_job_whose_run_has_ended_is_not_run_again_because_the_store_was_away(
    fragile_postgres: Server, server_url: str, tmp_path: Path
) -> None:
    steps_py(tmp_path, "def work(context):\n    with (context.base / 'done').open('a') as file:\n        file.write('x')\n")
    tags = {OWNER_TAG: "etl_control", MODULE_TAG: "shop"}
    with at(server_url) as ledger:
        backend = LocalBackend(ledger.store, "ann")
        spec = JobSpec(
            "shop", {"name": "shop", "tags": tags, "max_retries": 3}, module(call("t", "work")).model_dump(mode="json"), str(tmp_path)
        )
        backend.run_now(backend.create(spec).job_id)
        went_down: list[threading.Thread] = []

        def run_job(due: Due) -> Outcome:
            ended = ledger.run_job(due)
            went_down.append(restarting(fragile_postgres))
            return ended

        scheduler = Scheduler(ledger.store, ledger.worker, run_job)
        assert len(scheduler.tick()) == 1
        wait_until(lambda: bool(went_down), 60)
        went_down[0].join(60)
        assert scheduler.drain(60)
        assert scheduler.tick() == []
        assert [(each.status, each.attempt) for each in backend.runs()] == [("done", 1)]
        assert (tmp_path / "done").read_text() == "x"
