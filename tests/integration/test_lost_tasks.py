"""What is left of a task whose process was killed: whoever ends its run writes down why it failed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest

from contract.making import lost, wait_until
from integration.test_tasks import call, module, no_thread_left, run, steps_py
from lakeledger import Fenced, Ledger
from lakeledger.jobs import MODULE_TAG, OWNER_TAG, JobSpec
from lakeledger.jobs.local import LocalBackend
from lakeledger.jobs.scheduler import Scheduler

KILLED = "import os, signal\ndef load(): os.kill(os.getpid(), signal.SIGKILL)\n"
MODULE = module(call("orders", "load"), call("later", "load", depends_on=["orders"]))

BY_HAND = """
import sys
from pathlib import Path
import lakeledger
from integration.test_lost_tasks import MODULE

with lakeledger.open(sys.argv[1], warehouse=sys.argv[2]) as ledger:
    ledger.run_module(MODULE, Path(sys.argv[3]), pipeline=sys.argv[4])
"""
SCHEDULED = """
import sys
import lakeledger
from lakeledger.jobs.scheduler import Scheduler

with lakeledger.open(sys.argv[1], warehouse=sys.argv[2]) as ledger:
    scheduler = Scheduler(ledger.store, ledger.worker, ledger.run_job)
    scheduler.tick()
    scheduler.drain(60)
"""


@pytest.fixture
def kill(url: str, tmp_path: Path) -> Callable[..., None]:
    """Runs a script in a process that its task kills."""

    def run_it(script: str, pipeline: str = "shop") -> None:
        steps_py(tmp_path, KILLED)
        words = [sys.executable, "-c", script, url, str(tmp_path / "warehouse"), str(tmp_path), pipeline]
        around = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        assert subprocess.run(words, env=around, timeout=120, check=False).returncode == -9

    return run_it


def take_over(ledger: Ledger) -> None:
    with ledger.run("shop", exclusive=True):
        pass


@pytest.mark.parametrize(
    ("recover", "pipeline"),
    [
        (lambda ledger: ledger.runs.recover(), "shop"),
        (lambda ledger: ledger.runs.recover(), "shop.orders"),
        (lambda ledger: ledger.tables.sweep(delete=True), "shop"),
        (take_over, "shop"),
    ],
    ids=["recover", "recover of one source", "sweep", "the next run"],
)
def test_a_killed_task_is_an_error_until_its_source_succeeds(
    ledger: Ledger, kill: Callable[..., None], tmp_path: Path, recover: Callable[[Ledger], object], pipeline: str
) -> None:
    kill(BY_HAND, pipeline)
    assert ledger.errors.list() == []
    recover(ledger)
    (lost,) = [run for run in ledger.runs.list() if run.status == "FAILED"]
    orders, later = ledger.runs.steps(lost.id)
    assert (orders.status, later.status) == ("FAILED", "SKIPPED")
    (error,) = ledger.errors.list()
    assert (error.schema_name, error.table_name, error.status) == ("shop", "orders", "open")
    assert (error.sync_run_id, error.step_id, error.error_message) == (lost.id, orders.id, orders.error_message)
    assert error.error_details == {"step": "orders", "attempt": 1, "target": None}
    assert (error.max_retries, ledger.errors.due(), ledger.dead_letters.list()) == (0, [], [])
    recover(ledger)
    steps_py(tmp_path, "def load(): pass\n")
    ledger.run_module(MODULE, tmp_path, pipeline=pipeline)
    assert [error.status for error in ledger.errors.list()] == ["resolved"]


def test_a_task_that_was_killed_with_its_scheduler_is_an_error_until_the_next_one_succeeds(
    ledger: Ledger, kill: Callable[..., None], tmp_path: Path
) -> None:
    backend = LocalBackend(ledger.store, "ann")
    settings = {"name": "shop", "tags": {OWNER_TAG: "etl_control", MODULE_TAG: "shop"}}
    backend.run_now(backend.create(JobSpec("shop", settings, MODULE.document, str(tmp_path))).job_id)
    kill(SCHEDULED)
    steps_py(tmp_path, "def load(): pass\n")
    scheduler = Scheduler(ledger.store, ledger.worker, ledger.run_job)
    assert len(scheduler.tick()) == 1
    assert scheduler.drain(60)
    (error,) = ledger.errors.list()
    assert (error.table_name, error.status) == ("orders", "resolved")
    assert "was lost before it committed" in error.error_message


def test_a_worker_that_was_given_up_and_lives_adds_no_second_error(ledger: Ledger, tmp_path: Path) -> None:
    steps_py(tmp_path, "def load(context): assert context.stop.wait(60)\n")
    with ThreadPoolExecutor(1) as pool:
        lost = pool.submit(run, ledger, module(call("orders", "load")), tmp_path)
        wait_until(lambda: [step.status for each in ledger.runs.list() for step in ledger.runs.steps(each.id)] == ["RUNNING"])
        ledger.runs.recover(max_age=timedelta(0))
        with pytest.raises(Fenced, match="already ended: FAILED"):
            lost.result(60)
    wait_until(no_thread_left)
    assert [error.table_name for error in ledger.errors.list()] == ["orders"]


def test_a_step_made_by_hand_is_no_error_of_a_source(ledger: Ledger) -> None:
    run = lost(ledger, "shop")
    run.step("orders").__enter__()
    ledger.runs.recover(max_age=timedelta(0))
    assert [step.status for step in ledger.runs.steps(run.id)] == ["FAILED"]
    assert ledger.errors.list() == []
