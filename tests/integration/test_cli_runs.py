"""`lakeledger run` and `lakeledger runs`: how a run is stopped, and what is found of it afterwards."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import lakeledger
from contract.making import wait_until
from integration.commands import answer, invoke, refused, shown

pytestmark = pytest.mark.usefixtures("quiet")


def project(folder: Path, code: str, **module: Any) -> None:
    """A module `shop` with one task for each function of steps.py."""
    names = [line.removeprefix("def ").partition("(")[0] for line in code.splitlines() if line.startswith("def ")]
    tasks = [
        {
            "source_id": name,
            "source_type": "task",
            "transformation_config": {"task_type": "python", "python_task": {"function": f"steps:{name}"}},
        }
        for name in names
    ]
    (folder / "steps.py").write_text(code, encoding="utf-8")
    (folder / "pipeline.yaml").write_text(json.dumps({"modules": [{"module_name": "shop", "sources": tasks, **module}]}), encoding="utf-8")


def start(*words: str) -> subprocess.Popen[str]:
    """A command in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-c", "from lakeledger.cli import main; main()", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def test_a_run_is_cancelled_from_another_process(tmp_path: Path, at: list[str], url: str) -> None:
    project(tmp_path, "def waits(context):\n    (context.base / 'began').touch()\n    assert context.stop.wait(60)\n")
    running = start("run", *at)
    wait_until((tmp_path / "began").exists, 60)
    with lakeledger.open(url) as ledger:
        (run,) = ledger.runs.list()
    refused(["runs", "cancel", run.id, "--reason", " ", *at], 2, "Invalid", "--reason is empty")
    assert f"run {run.id} of shop on {run.worker_instance} is cancelled after 0 commits" in shown(
        "runs", "cancel", run.id[:13], "--reason", "wrong day", *at
    )
    _, errors = running.communicate(timeout=60)
    assert running.returncode == 1
    assert f"error: run {run.id} has already ended: CANCELLED (cancelled by " in errors
    assert ": wrong day); nothing more is started" in errors
    ended = answer("runs", "show", run.id, *at)
    assert [step["status"] for step in ended["steps"]] == ["CANCELLED"]
    (last,) = [each for each in ended["transitions"] if each["to_status"] == "CANCELLED" and each["entity"] == "run"]
    assert "@" in last["actor"]
    assert last["reason"] == f"cancelled by {last['actor']}: wrong day"
    refused(["runs", "cancel", run.id, "--reason", "again", *at], 1, "Conflict", "has already ended: CANCELLED")


IGNORES_EVERYTHING = """\
import threading
from lakeledger import NumberPosition
pause = threading.Event()
def waits(context):
    (context.base / 'began').touch()
    while not (context.base / 'go_on').exists():
        pause.wait(0.05)
    try:
        context.ledger.positions.advance("shop.orders", NumberPosition(1))
    except Exception as error:
        (context.base / 'refused').write_text(str(error))
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_what_goes_on_after_an_interrupt_commits_nothing(tmp_path: Path, at: list[str], url: str, number: signal.Signals) -> None:
    project(tmp_path, IGNORES_EVERYTHING)
    running = start("run", *at)
    wait_until((tmp_path / "began").exists, 60)
    running.send_signal(number)
    with lakeledger.open(url) as ledger:
        wait_until(lambda: ledger.runs.list()[0].status == "CANCELLED", 60)
        (tmp_path / "go_on").touch()
        wait_until((tmp_path / "refused").exists)
        running.communicate(timeout=60)
        assert "has already ended: CANCELLED" in (tmp_path / "refused").read_text()
        assert ledger.positions.find("shop.orders") is None
        assert [step.status for step in ledger.runs.steps(ledger.runs.list()[0].id)] == ["CANCELLED"]


def test_a_module_that_takes_too_long_is_ended_by_the_command_line_too(tmp_path: Path) -> None:
    project(tmp_path, "def waits(context):\n    assert context.stop.wait(60)\n", timeout_seconds=1)
    result = invoke("run", "--url", "sqlite:///lakeledger.db")
    assert result.exit_code == 1
    assert "the module timed out after 1 s" in result.stdout


def test_what_a_task_printed_is_shown_with_where_it_failed(tmp_path: Path, at: list[str]) -> None:
    project(tmp_path, "def good():\n    pass\ndef bad():\n    print('looking')\n    raise ValueError('no luck')\n")
    result = invoke("run", *at)
    assert (result.exit_code, "runs logs" in result.stdout) == (3, True)
    (run,) = answer("runs", "list", *at)["runs"]
    run_id = run["pipeline_logging_id"]
    text = shown("runs", "logs", run_id[:13], *at)
    assert "good: attempt 1, COMPLETED\nnothing was printed" in text
    assert "bad: attempt 1, FAILED\nlooking\n" in text
    assert "steps.py:5 in bad\nValueError: no luck" in text
    (step,) = answer("runs", "logs", run_id, "--step", "bad", *at)["steps"]
    assert (step["output"], step["left_out"], step["status"]) == ("looking\n", 0, "FAILED")
    refused(["runs", "logs", run_id, "--step", "worse", *at], 2, "NotFound", "has no step 'worse'")
    (group,) = answer("errors", "groups", *at)["groups"]
    assert group["tables"] == ["shop.bad"]


def test_what_spark_does_for_a_cancelled_run_is_stopped(tmp_path: Path) -> None:
    query = "select sum(id % 7) as n from range(1000000000000)"
    source = {
        "source_id": "endless",
        "source_type": "sql",
        "target_config": {"table": "t"},
        "transformation_config": {"task_type": "sql_query", "sql_task": {"sql_query": query}},
    }
    document = {"modules": [{"module_name": "shop", "sources": [source]}]}
    (tmp_path / "pipeline.yaml").write_text(json.dumps(document), encoding="utf-8")
    url = f"sqlite:///{tmp_path}/lakeledger.db"
    running = start("run", "--url", url)
    # The folder is made just before Spark begins to write.
    wait_until(lambda: any(tmp_path.glob("**/main/t/data/*")), 120)
    with lakeledger.open(url) as ledger:
        (run,) = ledger.runs.list()
        ledger.runs.cancel(run.id, "too dear", by="ann@desk")
    _, errors = running.communicate(timeout=60)
    assert (running.returncode, "CANCELLED (cancelled by ann@desk: too dear)" in errors) == (1, True)
    assert "Traceback" not in errors
