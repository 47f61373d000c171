"""`lakeledger jobs` and `scheduler`: the jobs of the control table, asked for and carried out."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from contract.making import execute, wait_until
from integration.commands import answer, invoke, refused, shown
from lakeledger import Invalid, Ledger
from lakeledger.cli import scheduler
from lakeledger.cli.jobs import Jobs
from lakeledger.jobs import JobSpec
from lakeledger.jobs.local import LocalBackend

pytestmark = [pytest.mark.usefixtures("quiet", "ledger"), pytest.mark.parametrize("url", ["sqlite"], indirect=True)]

PROGRAM = str(Path(sys.executable).parent / "lakeledger")
DAILY = {"quartz_cron_expression": "0 0 5 * * ?"}
TASKS = """\
from pathlib import Path

def note(context, word="nothing"):
    with Path("noted.txt").open("a") as file:
        file.write(f"{word}\\n")

def fail(context):
    raise ValueError("no")
"""


def python(source_id: str, function: str = "shop_tasks:note", **parameters: str) -> dict[str, Any]:
    task = {"function": function, "parameters": parameters}
    return {"source_id": source_id, "source_type": "task", "transformation_config": {"task_type": "python", "python_task": task}}


@pytest.fixture
def deployed(at: list[str], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A control table with two modules and their jobs; the options that lead there."""
    Path("shop_tasks.py").write_text(TASKS)
    monkeypatch.syspath_prepend(str(Path.cwd()))
    monkeypatch.delitem(sys.modules, "shop_tasks", raising=False)
    modules = [
        {
            "module_name": "shop",
            "schedule": DAILY,
            "parameters": {"day": "today"},
            "sources": [python("orders"), python("items", word="items")],
        },
        {"module_name": "crm", "sources": [python("people", "shop_tasks:fail")]},
    ]
    Path("jobs.yaml").write_text(json.dumps({"modules": modules}))
    there = [*at, "--warehouse", str(Path("warehouse").absolute())]
    answer("control", "load", "jobs.yaml", *there)
    answer("apply", "--yes", *there)
    return there


def test_jobs_are_listed_and_shown(deployed: list[str]) -> None:
    crm, shop = answer("jobs", "list", *deployed)["jobs"]
    assert (crm["module_name"], crm["starts"], crm["next_run_at"]) == ("crm", "", None)
    assert (shop["starts"], shop["is_paused"], shop["next_run_at"] is None) == ("0 0 5 * * ? UTC", False, False)
    assert re.search(rf"{shop['job_id']}\s+shop\s+0 0 5", shown("jobs", "list", *deployed))
    for word in ("shop", shop["job_id"], shop["job_id"][:-1]):
        assert answer("jobs", "show", word, *deployed)["job"]["job_id"] == shop["job_id"]
    text = shown("jobs", "show", "shop", *deployed)
    assert "day=today" in text
    assert "next: lakeledger jobs run shop" in text


def test_without_jobs_the_list_says_how_to_get_some(at: list[str]) -> None:
    assert answer("jobs", "list", *at) == {"backend": "local", "jobs": [], "next": None}
    assert shown("jobs", "list", *at).startswith("no jobs on local yet\nnext: lakeledger plan")


@pytest.mark.parametrize("verb", ["show", "run", "pause", "resume"])
def test_a_job_that_is_not_there_or_could_be_several_is_refused(deployed: list[str], verb: str) -> None:
    refused(["jobs", verb, "shopp", *deployed], 2, "NotFound", "no job 'shopp' on local")
    refused(["jobs", verb, "0", *deployed], 2, "Invalid", "'0' could be several jobs")
    refused(["jobs", verb, "", *deployed], 2, "NotFound", "no job ''")


def test_a_job_is_paused_and_resumed_and_the_plan_leaves_it_so(deployed: list[str]) -> None:
    assert answer("jobs", "pause", "shop", *deployed)["is_paused"]
    assert answer("jobs", "show", "shop", *deployed)["job"]["is_paused"]
    assert "schedule.pause_status was changed by hand" in shown("plan", "--module", "shop", *deployed)
    assert "next: lakeledger jobs pause shop" in shown("jobs", "resume", "shop", *deployed)
    assert not answer("jobs", "show", "shop", *deployed)["job"]["is_paused"]
    refused(["jobs", "pause", "crm", *deployed], 2, "Invalid", "nothing starts job crm by itself")


@pytest.mark.parametrize("name", ["shop", "crm"])
def test_a_module_that_is_switched_off_shows_in_its_job_which_then_cannot_be_run(deployed: list[str], name: str) -> None:
    answer("control", "deactivate", name, *deployed)
    answer("apply", "--yes", *deployed)
    (job,) = (each for each in answer("jobs", "list", *deployed)["jobs"] if each["module_name"] == name)
    assert (job["is_switched_off"], job["is_paused"]) == (True, True)
    assert re.search(rf"{name}\s.*switched off", shown("jobs", "list", *deployed))
    text = shown("jobs", "show", name, *deployed)
    assert "(switched off)" in text
    assert "next: lakeledger jobs run" not in text
    for verb in ("run", "resume"):
        refused(["jobs", verb, name, *deployed], 2, "Invalid", f"`lakeledger control activate {name}` and `lakeledger apply --yes`")
    assert answer("scheduler", "--once", *deployed)["runs"] == []
    answer("control", "activate", name, *deployed)
    answer("apply", "--yes", *deployed)
    assert not answer("jobs", "show", name, *deployed)["job"]["is_switched_off"]
    assert answer("jobs", "run", name, *deployed)["run_id"]


def test_a_switched_off_job_is_refused_from_python_too(deployed: list[str], ledger: Ledger) -> None:
    job_id = answer("jobs", "show", "crm", *deployed)["job"]["job_id"]
    answer("control", "deactivate", "crm", *deployed)
    answer("apply", "--yes", *deployed)
    with pytest.raises(Invalid, match="job crm is switched off: no source of its module is active"):
        LocalBackend(ledger.store, "ann").run_now(job_id)


@pytest.mark.parametrize(("status", "is_paused"), [("PAUSED", True), ("UNPAUSED", False)])
def test_a_pause_leaves_what_was_applied_in_between(deployed: list[str], ledger: Ledger, status: str, is_paused: bool) -> None:
    jobs = Jobs(LocalBackend(ledger.store, "ann"))
    read_before = jobs.get("shop")
    jobs.backend.update(read_before.job_id, JobSpec("shop", {"schedule": {"quartz_cron_expression": "0 0 9 * * ?"}}))
    jobs.set_pause(read_before, status)
    now = jobs.get("shop")
    assert (now.settings["schedule"]["quartz_cron_expression"], now.is_paused) == ("0 0 9 * * ?", is_paused)


def test_a_name_that_somebody_gave_a_job_is_shown_and_not_obeyed(deployed: list[str], ledger: Ledger) -> None:
    backend = LocalBackend(ledger.store, "ann")
    job_id = answer("jobs", "show", "shop", *deployed)["job"]["job_id"]
    backend.update(job_id, JobSpec("shop", {"name": "\x1b[31mred\x1b]0;title\x07"}))
    for words in (["jobs", "list"], ["jobs", "show", "shop"], ["jobs", "run", "shop"], ["jobs", "pause", "shop"], ["scheduler", "--once"]):
        said = invoke(*words, *deployed)
        assert said.exit_code == 0, said.output
        assert not re.search(r"[\x1b\x07]", said.stdout + said.stderr), words


def test_a_run_is_asked_for_and_carried_out_once(deployed: list[str], ledger: Ledger) -> None:
    assert "nothing was due" in shown("scheduler", "--once", *deployed)
    run_id = answer("jobs", "run", "shop", "--param", "day=monday", *deployed)["run_id"]
    (run,) = answer("scheduler", "--once", *deployed)["runs"]
    assert (run["id"], run["status"], run["cause"], run["parameters"]) == (run_id, "done", "asked", {"day": "monday"})
    logged = ledger.runs.get(run["run_id"])
    assert (logged.pipeline_id, logged.status, logged.trigger_type, logged.parameters) == ("shop", "COMPLETED", "manual", {"day": "monday"})
    assert sorted(Path("noted.txt").read_text().split()) == ["items", "nothing"]
    assert answer("scheduler", "--once", *deployed)["runs"] == []
    assert re.search(rf"{run_id}\s+done\s+asked", shown("jobs", "show", "shop", *deployed))
    refused(["jobs", "run", "shop", "--param", "dya=1", *deployed], 2, "Invalid", "did you mean 'day'?")
    refused(["jobs", "run", "shop", "--param", "day", *deployed], 2, "Invalid", "'day' is no parameter: write it as NAME=VALUE")


def test_a_run_that_was_asked_for_is_cancelled(deployed: list[str]) -> None:
    run_id = answer("jobs", "run", "shop", *deployed)["run_id"]
    assert f"run {run_id} is cancelled" in shown("jobs", "cancel", run_id, *deployed)
    assert answer("jobs", "show", "shop", *deployed)["runs"][0]["status"] == "cancelled"
    assert answer("scheduler", "--once", *deployed)["runs"] == []
    refused(["jobs", "cancel", run_id, *deployed], 1, "Conflict", "has already ended: cancelled")
    refused(["jobs", "cancel", "nobody", *deployed], 2, "NotFound", "nobody")


def test_a_job_is_deleted_only_when_asked_to_and_comes_back_with_its_module(deployed: list[str]) -> None:
    run_id = answer("jobs", "run", "shop", *deployed)["run_id"]
    preview = answer("jobs", "delete", "shop", *deployed)
    job_id = preview["job"]["job_id"]
    assert (preview["applied"], preview["cancels"], preview["run_id"]) == (False, [run_id], None)
    text = shown("jobs", "delete", "shop", "--reason", "no longer used", *deployed)
    assert "nothing was deleted" in text
    assert f"next: lakeledger jobs delete {job_id} --reason 'no longer used' --apply" in text
    assert len(answer("jobs", "list", *deployed)["jobs"]) == 2
    done = answer("jobs", "delete", job_id[:-1], "--reason", "no longer used", "--apply", *deployed)
    assert (done["applied"], done["job"]["job_id"]) == (True, job_id)
    assert [job["module_name"] for job in answer("jobs", "list", *deployed)["jobs"]] == ["crm"]
    assert answer("scheduler", "--once", *deployed)["runs"] == []
    newest = answer("control", "audit", *deployed)["entries"][0]
    assert [(change["module_name"], change["action"], change["job_id"]) for change in newest["changes"]] == [("shop", "remove", job_id)]
    assert newest["changes"][0]["changes"] == ["deleted by hand: no longer used"]
    refused(["jobs", "delete", "shop", "--apply", *deployed], 2, "NotFound", "no job 'shop' on local")
    (again,) = (each for each in answer("apply", "--yes", *deployed)["results"] if each["module_name"] == "shop")
    assert (again["action"], again["job_id"] != job_id) == ("create", True)


def test_a_job_is_not_deleted_while_its_control_table_is_applied(deployed: list[str], ledger: Ledger) -> None:
    with ledger.run("apply:etl_control", exclusive=True):
        refused(["jobs", "delete", "shop", "--apply", *deployed], 1, "Conflict", "apply:etl_control")
    assert answer("jobs", "show", "shop", *deployed)["job"]["module_name"] == "shop"


def test_the_scheduler_says_how_runs_went(deployed: list[str]) -> None:
    answer("jobs", "run", "crm", *deployed)
    (run,) = answer("scheduler", "--once", *deployed, code=1)["runs"]
    assert (run["status"], "ValueError: no" in run["reason"]) == ("failed", True)
    answer("jobs", "run", "crm", *deployed)
    answer("jobs", "run", "shop", *deployed)
    said = invoke("scheduler", "--once", *deployed)
    assert said.exit_code == 3, said.output
    assert re.search(r"crm: run \S+ FAILED: .*ValueError: no", said.stderr)
    assert "next: lakeledger runs list" in said.stdout


def test_a_run_whose_time_has_come_is_carried_out(deployed: list[str], ledger: Ledger) -> None:
    backend = LocalBackend(ledger.store, "ann")
    job_id = answer("jobs", "show", "shop", *deployed)["job"]["job_id"]
    backend.update(job_id, JobSpec("shop", {"schedule": {"quartz_cron_expression": "* * * * * ?", "timezone_id": "UTC"}}))
    wait_until(lambda: bool(answer("scheduler", "--once", *deployed)["runs"]))
    run = backend.runs(job_id)[-1]
    assert (run.status, run.cause) == ("done", "schedule")
    assert ledger.runs.get(str(run.run_id)).trigger_type == "scheduler"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_scheduler_ends_cleanly_when_it_is_told_to(deployed: list[str], number: signal.Signals) -> None:
    words, around = [PROGRAM, "scheduler", *deployed], {**os.environ, "PYTHONPATH": "."}
    with (
        Path("err.txt").open("w") as errors,
        subprocess.Popen(words, stdout=subprocess.PIPE, stderr=errors, text=True, env=around) as process,
    ):
        try:
            wait_until(lambda: "waiting for jobs" in Path("err.txt").read_text())
            answer("jobs", "run", "shop", *deployed)
            wait_until(lambda: "COMPLETED" in Path("err.txt").read_text())
            process.send_signal(number)
            out, _ = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 0, Path("err.txt").read_text()
    assert re.search(r"done\s+asked", out)
    assert "Traceback" not in Path("err.txt").read_text()


def test_a_scheduler_that_runs_on_deletes_what_is_older_than_its_retention(
    deployed: list[str], ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scheduler, "FIRST_CLEANUP_SECONDS", 0.01)
    with ledger.run("orders"):
        pass
    old = datetime(2020, 1, 1, tzinfo=UTC)
    execute(ledger, "update pipeline_runs set end_time = :old where pipeline_id = 'orders'", old=old)
    execute(ledger, "update change_log set at = :old", old=old)

    def end_when_clean() -> None:
        try:
            wait_until(lambda: not ledger.changes.after() and not ledger.runs.list("orders"))
        finally:
            os.kill(os.getpid(), signal.SIGTERM)

    thread = threading.Thread(target=end_when_clean)
    thread.start()
    assert invoke("scheduler", *deployed).exit_code == 0
    thread.join()
    assert not ledger.changes.after()
    assert not [each for each in threading.enumerate() if each.name == "cleanup"]


@pytest.mark.parametrize("where", [["jobs.yaml"], ["--control", "control/etl_control"]], ids=["file", "control table"])
def test_a_run_is_given_parameters(deployed: list[str], ledger: Ledger, where: list[str]) -> None:
    modules = [
        {"module_name": "sales", "parameters": {"day": "today", "hour": "1"}, "sources": [python("a", word="{{job.parameters.day}}")]}
    ]
    Path("jobs.yaml").write_text(json.dumps({"modules": modules}))
    answer("control", "load", "jobs.yaml", *deployed)
    words = ["run", *where, "--module", "sales"]
    (module,) = answer(*words, "--param", "day=a=b", *deployed)["modules"]
    assert (module["run"]["parameters"], Path("noted.txt").read_text()) == ({"day": "a=b"}, "a=b\n")
    answer(*words, *deployed)
    assert Path("noted.txt").read_text() == "a=b\ntoday\n"
    refused(
        [*words, "--param", "dya=1", *deployed], 2, "Invalid", "there is no parameter 'dya': the module declares day, hour; did you mean"
    )
    refused([*words, "--param", "day", *deployed], 2, "Invalid", "'day' is no parameter: write it as NAME=VALUE")


def test_each_module_is_given_the_parameters_that_it_knows(deployed: list[str]) -> None:
    modules = [
        {"module_name": "shop", "parameters": {"day": "today"}, "sources": [python("a", word="{{job.parameters.day}}")]},
        {"module_name": "crm", "parameters": {"region": "eu"}, "sources": [python("a", word="{{job.parameters.region}}")]},
    ]
    Path("jobs.yaml").write_text(json.dumps({"modules": modules}))
    found = answer("run", "jobs.yaml", "--param", "day=monday", "--param", "region=us", *deployed)["modules"]
    assert [module["run"]["parameters"] for module in found] == [{"day": "monday"}, {"region": "us"}]
    assert sorted(Path("noted.txt").read_text().split()) == ["monday", "us"]


def test_one_module_or_one_source_of_the_control_table_is_run(deployed: list[str], ledger: Ledger) -> None:
    words = ["run", "--control", "control/etl_control"]
    (module,) = answer(*words, "--module", "shop", "--source", "items", *deployed)["modules"]
    assert (module["run"]["pipeline_id"], [step["step_name"] for step in module["steps"]]) == ("shop.items", ["items"])
    assert Path("noted.txt").read_text() == "items\n"
    with ledger.run("shop.items", exclusive=True):  # a neighbour is no reason to wait
        assert answer(*words, "--module", "shop", "--source", "orders", *deployed)["modules"][0]["run"]["status"] == "COMPLETED"
    (module,) = answer(*words, "--module", "shop", *deployed)["modules"]
    assert (module["run"]["pipeline_id"], len(module["steps"])) == ("shop", 2)
    refused([*words, *deployed], 2, "Invalid", "say with --module which module")
    refused([*words, "--module", "shopp", *deployed], 2, "NotFound", "no module 'shopp'")
    refused([*words, "--module", "shop", "--source", "order", *deployed], 2, "NotFound", "no source 'order' in module shop")
    refused([*words, "jobs.yaml", *deployed], 2, "Invalid", "give either a FILE or --control")
    refused(["run", "jobs.yaml", "--source", "items", *deployed], 2, "Invalid", "--source is of a module: give --module, too")


def test_what_a_task_prints_does_not_get_into_the_answer(deployed: list[str]) -> None:
    Path("loud.py").write_text("def speak():\n    print('hello from the task')\n")
    source = {"source_id": "a", "source_type": "task", "transformation_config": {"task_type": "python"}}
    source["transformation_config"]["python_task"] = {"function": "loud:speak"}  # type: ignore[index]  # it is a dict
    Path("loud.yaml").write_text(json.dumps({"modules": [{"module_name": "loud", "sources": [source]}]}))
    answered = invoke("run", "loud.yaml", "--json", *deployed)
    assert json.loads(answered.stdout)["modules"][0]["run"]["status"] == "COMPLETED"
    assert "hello from the task" in answered.stderr
    answer("control", "load", "loud.yaml", *deployed)
    answer("apply", "--yes", *deployed)
    answer("jobs", "run", "loud", *deployed)
    answered = invoke("scheduler", "--once", "--json", *deployed)
    assert json.loads(answered.stdout)["runs"][0]["status"] == "done"
    assert "hello from the task" in answered.stderr
