"""A scheduler killed by kill -9 in the middle of a run: its run is recovered, and what is due next starts once."""

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
        context.stop.wait(0.01)
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "steps.py").write_text(STEPS, encoding="utf-8")
    return folder


@contextmanager
def scheduler(url: str, ledger: Ledger, log: Path) -> Iterator[subprocess.Popen[str]]:
    """A real scheduler process, ready to work."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, str(SCRIPT), url, str(Path(ledger.warehouse).parent)]
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


def test_a_scheduler_that_is_killed_in_mid_run_recovers_it_and_starts_the_next_once(ledger: Ledger, url: str, project: Path) -> None:
    backend = LocalBackend(ledger.store, "ann")
    (module,) = parse(DOCUMENT, "shop.yml").modules
    job = backend.create(job_spec(module, "etl_control", str(project)))
    log = project.parent / "scheduler.log"

    with scheduler(url, ledger, log) as first:
        make_due(ledger)
        wait_until(lambda: len(list(project.glob("waiting *"))) == 1, 60)
        (killed,) = ledger.runs.list("shop")
        assert (killed.status, killed.trigger_type, killed.trigger_by) == ("RUNNING", "scheduler", "scheduler")
        os.kill(first.pid, signal.SIGKILL)
        assert first.wait(60) == -signal.SIGKILL
    assert [run.status for run in backend.runs(job.job_id)] == ["running"]

    (project / "go").write_text("", encoding="utf-8")
    make_due(ledger)
    with ExitStack() as stack:
        both = [stack.enter_context(scheduler(url, ledger, log)) for _ in range(2)]
        wait_until(lambda: sorted(run.status for run in backend.runs(job.job_id)) in (["done", "failed"], ["failed", "skipped"]), 60)
        if any(run.status == "skipped" for run in backend.runs(job.job_id)):
            pytest.fail("the lost run stood in the way of the next one")
        for process in both:
            process.send_signal(signal.SIGTERM)
        assert [process.wait(60) for process in both] == [0, 0], log.read_text(encoding="utf-8")

    lost, done = sorted(backend.runs(job.job_id), key=lambda run: run.due_at)
    assert (lost.status, lost.run_id, done.status) == ("failed", killed.id, "done")
    assert f"{killed.worker_instance} was lost before it committed" in (lost.reason or "")
    assert [(run.id, run.status) for run in ledger.runs.list("shop")] == [(done.run_id, "COMPLETED"), (killed.id, "FAILED")]
    assert [step.status for step in ledger.runs.steps(killed.id)] == ["COMPLETED", "FAILED"]
    assert [step.status for step in ledger.runs.steps(done.run_id or "")] == ["COMPLETED", "COMPLETED"]
    assert (project / "noted").read_text(encoding="utf-8") == "today\n" * 2
    assert len(list(project.glob("waiting *"))) == 2
    assert (backend.get(job.job_id).next_run_at or lost.due_at).month == 12  # midnight in Berlin is the evening before in UTC


def test_a_scheduler_that_is_told_to_end_lets_its_run_end(ledger: Ledger, url: str, project: Path) -> None:
    backend = LocalBackend(ledger.store, "ann")
    (module,) = parse(DOCUMENT, "shop.yml").modules
    job = backend.create(job_spec(module, "etl_control", str(project)))
    with scheduler(url, ledger, project.parent / "scheduler.log") as process:
        asked = backend.run_now(job.job_id, {"day": "monday"})
        wait_until(lambda: len(list(project.glob("waiting *"))) == 1, 60)
        process.send_signal(signal.SIGTERM)
        (project / "go").write_text("", encoding="utf-8")
        assert process.wait(60) == 0
    run = backend.run(asked)
    assert (run.status, ledger.runs.get(run.run_id or "").trigger_type) == ("done", "manual")
    assert (project / "noted").read_text(encoding="utf-8") == "monday\n"
