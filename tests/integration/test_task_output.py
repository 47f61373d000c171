"""What is kept of a task beside its step: what it printed, where it failed, and an error in the error log."""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import Any

import pytest

from contract.making import execute, rows, wait_until
from integration.test_tasks import call, logged, module, no_thread_left, only, run, statuses, steps_py
from lakeledger import Ledger
from lakeledger.jobs import MODULE_TAG, OWNER_TAG, JobSpec
from lakeledger.jobs.local import LocalBackend
from lakeledger.jobs.scheduler import Scheduler
from lakeledger.pipelines.capturing import Output


def output_of(ledger: Ledger, run_id: str) -> dict[str, Any]:
    names = {step.id: step.step_name for step in ledger.runs.steps(run_id)}
    return {names[step_id]: kept for step_id, kept in ledger.runs.output(run_id).items()}


def test_a_step_that_fails_is_an_error_with_its_run_step_and_cause(ledger: Ledger, tmp_path: Path) -> None:
    steps_py(tmp_path, "def down(): raise ConnectionError('db is down')\ndef good(): pass\n")
    what = module(call("orders", "down", max_retries=1), call("good", "good"))
    result = run(ledger, what, tmp_path)
    second, first = ledger.errors.list()
    assert (first.schema_name, first.table_name, first.error_type, first.error_message) == (
        "shop",
        "orders",
        "connection",
        "ConnectionError: db is down",
    )
    assert (first.sync_run_id, first.step_id) == (result.run_id, logged(ledger, result)[0].id)
    assert first.error_details == {"step": "orders", "attempt": 1, "target": None}
    assert (second.error_details or {})["attempt"] == 2
    assert f"{tmp_path}/steps.py:1 in down" in str(first.stack_trace)
    (group,) = ledger.errors.groups()
    assert (group.fingerprint, group.count, group.tables) == (first.fingerprint, 2, ("shop.orders",))
    assert (ledger.errors.due(), ledger.dead_letters.list()) == ([], [])


UNSPEAKABLE = """
class Mute(Exception):
    def __str__(self): raise RuntimeError("no words")
class Shy(Exception):
    def __str__(self): return self.missing
    def __repr__(self): raise RuntimeError("no words")
def mute(): raise Mute("page", 7)
def shy(): raise Shy(Shy())
def in_a_circle():
    first, second = ValueError("first"), KeyError("second")
    try:
        raise second from first
    except KeyError:
        raise first from second
def a_long_way():
    error = ValueError("begin")
    for number in range(5_000):
        error = caused_by(error, number)
    raise error
def caused_by(cause, number):
    error = ValueError(f"link {number}")
    error.__cause__ = cause
    return error
def good(): pass
"""


@pytest.mark.parametrize(
    ("function", "message"),
    [
        ("mute", "Mute: 'page' 7"),
        ("shy", "Shy"),
        ("in_a_circle", "ValueError: first"),
        ("a_long_way", "ValueError: link 4999"),
    ],
)
def test_an_exception_that_cannot_be_described_is_an_error_of_its_step_and_stops_no_other(
    ledger: Ledger, tmp_path: Path, function: str, message: str
) -> None:
    steps_py(tmp_path, UNSPEAKABLE)
    result = run(ledger, module(call("odd", function), call("good", "good"), call("later", "good", depends_on=["good"])), tmp_path)
    assert statuses(result.steps) == {"odd": "FAILED", "good": "COMPLETED", "later": "COMPLETED"}
    assert {step.step_name: step.status for step in logged(ledger, result)} == statuses(result.steps)
    (error,) = ledger.errors.list()
    assert (error.table_name, error.error_message) == ("odd", message)
    assert f" in {function}\n{message}" in str(error.stack_trace)
    assert ledger.runs.get(result.run_id).error_message == f"1 of 3 steps failed: odd: {message}"


def test_what_failed_is_settled_once_the_source_succeeds(ledger: Ledger, tmp_path: Path) -> None:
    by_hand = ledger.errors.log_exception("shop", "a", ValueError("of capture"))
    steps_py(tmp_path, "def a(): raise ValueError('no luck')\ndef b(): raise ValueError('no luck')\n")
    run(ledger, module(call("a", "a"), call("b", "b")), tmp_path)
    steps_py(tmp_path, "def a(): pass\ndef b(): raise ValueError('no luck')\n")
    second = run(ledger, module(call("a", "a"), call("b", "b")), tmp_path)
    settled = ledger.errors.list(status="resolved")
    assert [(error.table_name, error.resolution_note) for error in settled] == [("a", f"attempt 1 in run {second.run_id} completed")]
    assert sorted(error.table_name or "" for error in ledger.errors.list(status="open")) == ["a", "b", "b"]
    assert ledger.errors.get(by_hand.id).is_open


def test_a_task_that_takes_too_long_is_an_error_of_its_own_kind_and_its_output_is_kept(ledger: Ledger, tmp_path: Path) -> None:
    steps_py(tmp_path, "def slow(context):\n    print('about to wait')\n    assert context.stop.wait(60)\n")
    result = run(ledger, module(call("slow", "slow", timeout_seconds=3)), tmp_path)
    (error,) = ledger.errors.list()
    assert (error.error_type, error.error_message, error.sync_run_id) == ("timeout", "timed out after 3 s", result.run_id)
    assert output_of(ledger, result.run_id)["slow"].output == "about to wait\n"
    wait_until(no_thread_left)


def test_what_a_task_prints_and_logs_is_kept_and_still_shown(ledger: Ledger, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    steps_py(
        tmp_path,
        """\
import logging, sys
import click
def tell(context, name):
    click.echo(f"{name} on stdout")
    print(name, "on stderr", file=sys.stderr)
    logging.getLogger("mine").warning("%s logged", name)
    if name == "bad":
        raise ValueError("no luck")
def silent(): pass
""",
    )
    before = sys.stdout, sys.stderr, list(logging.getLogger().handlers)
    result = run(
        ledger, module(call("good", "tell", {"name": "good"}), call("bad", "tell", {"name": "bad"}), call("silent", "silent")), tmp_path
    )
    assert statuses(result.steps) == {"good": "COMPLETED", "bad": "FAILED", "silent": "COMPLETED"}
    kept = output_of(ledger, result.run_id)
    assert {name: output.output.splitlines() for name, output in kept.items()} == {
        name: [f"{name} on stdout", f"{name} on stderr", f"WARNING:mine:{name} logged"] for name in ("good", "bad")
    }
    assert f"{tmp_path}/steps.py:8 in tell\nValueError: no luck" in str(kept["bad"].traceback)
    assert kept["good"].traceback is None
    assert "good on stdout" in capsys.readouterr().out
    assert (sys.stdout, sys.stderr, logging.getLogger().handlers) == before


def test_what_threads_and_processes_print_is_kept_as_the_guide_says(ledger: Ledger, tmp_path: Path) -> None:
    steps_py(
        tmp_path,
        """\
import asyncio, contextvars, subprocess
from concurrent.futures import ThreadPoolExecutor
def tell():
    with ThreadPoolExecutor(1) as pool:
        pool.submit(print, "alone").result()
        pool.submit(contextvars.copy_context().run, print, "in context").result()
    asyncio.run(asyncio.to_thread(print, "to thread"))
    subprocess.run(["echo", "child"])
    print(subprocess.run(["echo", "captured child"], capture_output=True, text=True).stdout)
""",
    )
    result = run(ledger, module(call("a", "tell")), tmp_path)
    assert output_of(ledger, result.run_id)["a"].output.split("\n") == ["in context", "to thread", "captured child", "", ""]


def test_secrets_of_the_environment_are_not_kept(ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DB_CANARY", "hunter2secret")
    steps_py(tmp_path, "def connect(key):\n    print('with', key, 'password=swordfish')\n    raise ValueError(f'cannot use {key}')\n")
    result = run(ledger, module(call("a", "connect", {"key": "{{env.DB_CANARY}}"})), tmp_path)
    assert only(result).status == "FAILED"
    kept = output_of(ledger, result.run_id)["a"]
    for table in ("step_output", "error_log"):
        text = str(rows(ledger, f"select * from {table}"))
        assert "hunter2secret" not in text
        assert "swordfish" not in text
    assert kept.output == "with *** password=***\n"


def test_the_output_of_a_run_is_forgotten_with_it(ledger: Ledger, tmp_path: Path) -> None:
    steps_py(tmp_path, "def tell(): print('hello')\n")
    run(ledger, module(call("a", "tell")), tmp_path)
    assert len(rows(ledger, "select * from step_output")) == 1
    execute(ledger, "update pipeline_runs set end_time = :at", at=ledger.runs.list()[0].start_time.replace(year=2020))
    assert ledger.sync.cleanup()["pipeline_runs"] == 1
    assert rows(ledger, "select * from step_output") == []


def test_of_much_output_the_beginning_and_the_end_are_kept() -> None:
    output = Output(head=20, tail=30)
    for number in range(1_000):
        output.write(f"line {number}\n")
    text, left_out = output.kept()
    assert text.startswith("line 0\nline 1\nline 2")
    assert text.endswith("line 998\nline 999\n")
    assert f"… {left_out:,} characters left out …" in text
    assert len(text) < 100
    assert left_out == sum(len(f"line {number}\n") for number in range(1_000)) - 50


def test_a_secret_at_the_cut_is_not_kept_in_halves() -> None:
    output = Output(head=20, tail=30)
    for number in range(100):
        output.write(f"{number} topsecretvalue ")
    text, _ = output.kept(["topsecretvalue"])
    assert not any(part in text for part in ("tops", "secret", "value"))


def test_a_run_that_was_asked_for_before_its_module_was_switched_off_is_skipped(ledger: Ledger, tmp_path: Path) -> None:
    steps_py(tmp_path, "def tell(): print('hello')\n")
    backend = LocalBackend(ledger.store, "ann")
    job = backend.create(JobSpec("shop", {"name": "shop"}, module(call("a", "tell")).document, str(tmp_path)))
    run_id = backend.run_now(job.job_id)
    backend.update(job.job_id, JobSpec("shop", {}, module(call("a", "tell", is_active=False)).document))
    scheduler = Scheduler(ledger.store, ledger.worker, ledger.run_job)
    assert scheduler.tick()
    assert scheduler.drain(60)
    ended = backend.run(run_id)
    assert (ended.status, ended.run_id) == ("skipped", None)
    assert str(ended.reason).startswith("module shop has nothing to run: a is switched off; set is_active to true, or in a control table")
    assert (scheduler.tick(), ledger.runs.list()) == ([], [])


def test_a_scheduled_run_keeps_the_same_as_one_by_hand(ledger: Ledger, tmp_path: Path) -> None:
    steps_py(tmp_path, "def down():\n    print('looking')\n    raise ConnectionError('db is down')\n")
    what = module(call("orders", "down"))
    backend = LocalBackend(ledger.store, "ann")
    tags = {OWNER_TAG: "etl_control", MODULE_TAG: "shop"}
    job = backend.create(JobSpec("shop", {"name": "shop", "tags": tags}, what.document, str(tmp_path)))
    backend.run_now(job.job_id)
    scheduler = Scheduler(ledger.store, ledger.worker, ledger.run_job)
    assert scheduler.tick()
    assert scheduler.drain(60)
    by_hand = ledger.runs.get(ledger.run_module(what, tmp_path).run_id)
    scheduled = ledger.runs.list()[1]
    assert (scheduled.status, scheduled.config_version, scheduled.error_message) == ("FAILED", what.config_hash, by_hand.error_message)
    assert output_of(ledger, scheduled.id)["orders"].output == "looking\n"
    assert {(error.table_name, error.error_type, error.sync_run_id) for error in ledger.errors.list()} == {
        ("orders", "connection", scheduled.id),
        ("orders", "connection", by_hand.id),
    }
