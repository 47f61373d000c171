"""A scheduler killed or stopped in the middle of a run: the next one starts it again, once, and the old one can end nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from contract.making import execute, wait_until
from integration.children import TESTS
from lakeledger import Ledger
from lakeledger.control.documents import parse
from lakeledger.control.settings import job_spec
from lakeledger.jobs.local import LocalBackend

SCRIPT = Path(__file__).parent / "scheduling.py"

DOCUMENT = """\
modules:
  - module_name: shop
    schedule: {quartz_cron_expression: "0 0 0 1 1 ?", timezone_id: Europe/Berlin}
    parameters: {day: today}
    sources:
      - source_id: first
        source_type: task
        transformation_config: {task_type: python, python_task: {function: "steps:note", parameters: {day: "{{job.parameters.day}}"}}}
      - source_id: second
        source_type: task
        depends_on: [first]
        transformation_config: {task_type: python, python_task: {function: "steps:wait"}}
"""

STEPS = """\
def note(context, day):
    with open(context.base / "noted", "a") as file:
        file.write(f"{day}\\n")

def wait(context):
    (context.base / f"waiting {context.run.id}").write_text("")
    while not (context.base / "go").exists():
        if context.stop.wait(0.01):
            (context.base / f"stopped {context.run.id}").write_text("")
            return
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "steps.py").write_text(STEPS, encoding="utf-8")
    return folder


@contextmanager
def scheduler(url: str, ledger: Ledger, log: Path, lease_seconds: float = 60) -> Iterator[subprocess.Popen[str]]:
    """A real scheduler process, ready to work."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, str(SCRIPT), url, str(Path(ledger.warehouse).parent), str(lease_seconds)]
    with log.open("ab") as errors:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True, start_new_session=True, env=environment)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n", log.read_text(encoding="utf-8")
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate(timeout=60)


def make_due(ledger: Ledger) -> None:
    assert execute(ledger, "update local_jobs set next_run_at = :now") == 1


def create_job(ledger: Ledger, project: Path) -> tuple[LocalBackend, str]:
    backend = LocalBackend(ledger.store, "ann")
    (module,) = parse(DOCUMENT, "shop.yml").modules
    return backend, backend.create(job_spec(module, "etl_control", str(project))).job_id


def waiting(project: Path) -> int:
    """How many runs have come to the step that waits."""
    return len(list(project.glob("waiting *")))


def test_a_run_whose_scheduler_is_killed_is_started_again_once_and_the_next_as_well(ledger: Ledger, url: str, project: Path) -> None:
    backend, job_id = create_job(ledger, project)
    log = project.parent / "scheduler.log"

    with scheduler(url, ledger, log) as first:
        make_due(ledger)
        wait_until(lambda: waiting(project) == 1, 60)
        (killed,) = ledger.runs.list("shop")
        assert (killed.status, killed.trigger_type, killed.trigger_by) == ("RUNNING", "scheduler", "scheduler")
        os.kill(first.pid, signal.SIGKILL)
        assert first.wait(60) == -signal.SIGKILL
    assert [run.status for run in backend.runs(job_id)] == ["running"]

    (project / "go").write_text("", encoding="utf-8")
    with ExitStack() as stack:
        both = [stack.enter_context(scheduler(url, ledger, log)) for _ in range(2)]
        wait_until(lambda: [run.status for run in backend.runs(job_id)] == ["done"], 60)
        make_due(ledger)
        wait_until(lambda: [run.status for run in backend.runs(job_id)] == ["done", "done"], 60)
        for process in both:
            process.send_signal(signal.SIGTERM)
        assert [process.wait(60) for process in both] == [0, 0], log.read_text(encoding="utf-8")

    again, following = sorted(backend.runs(job_id), key=lambda run: run.due_at)
    assert (again.attempt, again.times_lost, following.attempt) == (2, 1, 1)
    retried = ledger.runs.get(again.run_id or "")
    assert (retried.status, retried.trigger_type, retried.retry_of) == ("COMPLETED", "retry", killed.id)
    assert f"{killed.worker_instance} was lost before it committed" in (ledger.runs.get(killed.id).error_message or "")
    statuses = [(run.id, run.status) for run in ledger.runs.list("shop")]
    assert statuses == [(following.run_id, "COMPLETED"), (again.run_id, "COMPLETED"), (killed.id, "FAILED")]
    assert [step.status for step in ledger.runs.steps(killed.id)] == ["COMPLETED", "FAILED"]
    assert [step.status for step in ledger.runs.steps(retried.id)] == ["COMPLETED", "COMPLETED"]
    assert (project / "noted").read_text(encoding="utf-8") == "today\n" * 3
    assert waiting(project) == 3
    assert (backend.get(job_id).next_run_at or again.due_at).month == 12  # midnight in Berlin is the evening before in UTC


def test_a_scheduler_that_was_stopped_and_taken_over_ends_nothing_when_it_wakes_up(ledger: Ledger, url: str, project: Path) -> None:
    backend, job_id = create_job(ledger, project)
    log = project.parent / "scheduler.log"
    with scheduler(url, ledger, log, 2) as old:
        run_id = backend.run_now(job_id)
        wait_until(lambda: waiting(project) == 1, 60)
        (stopped,) = ledger.runs.list("shop")
        os.kill(old.pid, signal.SIGSTOP)
        with scheduler(url, ledger, log, 2) as new:
            wait_until(lambda: waiting(project) == 2, 60)  # once the lease of the stopped one has expired
            held = backend.run(run_id)
            assert (held.status, held.attempt, held.claim_token) == ("running", 2, 2)
            assert held.claimed_by != stopped.worker_instance
            os.kill(old.pid, signal.SIGCONT)
            wait_until((project / f"stopped {stopped.id}").exists, 60)
            old.send_signal(signal.SIGTERM)
            assert old.wait(60) == 0, log.read_text(encoding="utf-8")
            now = backend.run(run_id)
            assert (now.status, now.claim_token, now.claimed_by) == ("running", 2, held.claimed_by)
            (project / "go").write_text("", encoding="utf-8")
            wait_until(lambda: backend.run(run_id).status == "done", 60)
            new.send_signal(signal.SIGTERM)
            assert new.wait(60) == 0, log.read_text(encoding="utf-8")
    assert backend.run(run_id).run_id != stopped.id
    assert [run.status for run in ledger.runs.list("shop")] == ["COMPLETED", "FAILED"]


def test_a_scheduler_that_is_told_to_end_lets_its_run_end(ledger: Ledger, url: str, project: Path) -> None:
    backend, job_id = create_job(ledger, project)
    with scheduler(url, ledger, project.parent / "scheduler.log") as process:
        asked = backend.run_now(job_id, {"day": "monday"})
        wait_until(lambda: len(list(project.glob("waiting *"))) == 1, 60)
        process.send_signal(signal.SIGTERM)
        (project / "go").write_text("", encoding="utf-8")
        assert process.wait(60) == 0
    run = backend.run(asked)
    assert (run.status, ledger.runs.get(run.run_id or "").trigger_type) == ("done", "manual")
    assert (project / "noted").read_text(encoding="utf-8") == "monday\n"
