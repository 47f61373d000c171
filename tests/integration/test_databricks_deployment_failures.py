"""Deploying to Databricks when things go wrong: a busy workspace, lost answers, bad rows; and what the command line says of it."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from databricks_server import TOKEN, DatabricksServer
from integration.commands import answer, invoke
from integration.databricks_site import DAILY, Site, module, notebook
from lakeledger import Ledger
from lakeledger.control.deployment import Applied
from lakeledger.control.manager import JobOrchestrator, MetadataManager
from lakeledger.jobs import MODULE_TAG

on_sqlite = pytest.mark.parametrize("url", ["sqlite"], indirect=True)
BUSY = {"status": 429, "headers": {"Retry-After": "7"}, "body": {"error_code": "REQUEST_LIMIT_EXCEEDED", "message": "too many"}}
BAD = '{"task_type": "notebok"}'


def shops(count: int = 10, **more: Any) -> list[dict[str, Any]]:
    return [module(f"m{number}", **more) for number in range(count)]


def after(name: str, then: Callable[[], None]) -> Callable[[Applied], None]:
    """What to do in the middle of an apply: as soon as that module is done."""
    return lambda done: then() if done.module_name == name else None


def deployed(site: Site) -> list[str]:
    """The modules of the jobs in the workspace, one for each job."""
    return sorted(job["settings"]["tags"][MODULE_TAG] for job in site.server.workspace.jobs.values())


def test_a_busy_workspace_is_asked_again_and_every_job_is_made_once(site: Site) -> None:
    site.put(*shops())

    def break_down() -> None:
        site.server.fail("create", **BUSY)
        site.server.fail("create", status=500)
        site.server.fail("create", status=503, is_done=True)
        site.server.fail("create", status=None, is_done=True)
        site.server.fail("list", status=502, body="<html>bad gateway</html>")

    done = site.deployment.apply(site.deployment.plan(), progress=after("m3", break_down))
    assert [each.error for each in done] == [None] * 10
    assert deployed(site) == [f"m{number}" for number in range(10)]
    assert 7 in site.waits
    assert set(site.kinds().values()) == {"unchanged"}


@on_sqlite
def test_a_busy_workspace_is_asked_again_for_every_change(site: Site) -> None:
    site.put(*shops(4))
    site.apply()
    site.put(*shops(4, description="new"))
    for call in ("get", "update", "list"):
        site.server.fail(call, **BUSY)
        site.server.fail(call, status=None)
    site.server.fail("update", status=500, is_done=True)
    assert {kind for kind, _ in site.apply().values()} == {"update"}
    assert {site.settings(f"m{number}")["description"] for number in range(4)} == {"new"}


def test_a_module_whose_calls_keep_failing_is_told_and_finished_the_next_time(site: Site) -> None:
    site.put(*shops())
    breaking = after("m3", lambda: site.server.fail("create", times=6))
    failed = [each for each in site.deployment.apply(site.deployment.plan(), progress=breaking) if each.error]
    assert [(each.module_name, each.job_id) for each in failed] == [("m4", None)]
    assert "something broke (tried 6 times; try again later)" in str(failed[0].error)
    assert deployed(site) == [f"m{number}" for number in range(10) if number != 4]
    assert site.tracked("m4") is None
    assert site.tracked("m5") is not None
    assert site.apply()["m4"][0] == "create"
    assert deployed(site) == [f"m{number}" for number in range(10)]


@on_sqlite
@pytest.mark.parametrize("was_deleted", [False, True])
def test_a_job_that_was_made_but_never_answered_for_is_adopted_the_next_time(site: Site, was_deleted: bool) -> None:
    site.put(module())
    if was_deleted:
        site.hand.jobs.delete(int(str(site.apply()["shop"][1])))
    before = site.tracked()
    site.server.fail("create", is_done=True)
    planned = site.deployment.plan()
    site.server.fail("list", times=2, status=200, body={})  # what the apply itself lists, and looks for before the create
    site.server.fail("list", times=6)
    (failed,) = site.deployment.apply(planned)
    assert "something broke" in str(failed.error)
    assert site.tracked() == before
    assert site.apply()["shop"][0] == "adopt"
    assert deployed(site) == ["shop"]
    assert site.kinds() == {"shop": "unchanged"}


@on_sqlite
def test_a_change_whose_answers_were_all_lost_is_no_change_by_hand(site: Site) -> None:
    site.put(module(timeout_seconds=60))
    job_id = site.apply()["shop"][1]
    site.put(module("shop", notebook("load", "/etl/second"), timeout_seconds=90))
    site.server.fail("update", times=6, is_done=True)
    (failed,) = site.deployment.apply(site.deployment.plan())
    assert "something broke" in str(failed.error)
    tracked = site.tracked()
    assert tracked
    assert tracked.settings["timeout_seconds"] == 60
    assert site.settings()["timeout_seconds"] == 90
    site.server.requests.clear()
    assert site.apply()["shop"] == ("update", job_id)
    assert site.sent() == []
    site.put(module("shop", notebook("load", "/etl/third"), timeout_seconds=120))
    assert site.action().conflicts == []
    assert site.apply()["shop"] == ("update", job_id)
    assert site.settings()["timeout_seconds"] == 120


def test_of_ten_modules_one_bad_row_stops_one_which_keeps_its_last_good_job(site: Site) -> None:
    site.put(*shops(schedule=DAILY))
    before = site.apply()
    kept = json.dumps(site.server.workspace.jobs[int(str(before["m3"][1]))])
    site.put(*shops(schedule=DAILY, description="new"))
    site.spoil("m3", "load", BAD)
    site.server.requests.clear()
    blocked = site.action("m3")
    assert (blocked.kind, blocked.job_id) == ("blocked", before["m3"][1])
    assert "its last good job stays as it is: m3.load: transformation_config.task_type: " in blocked.reason
    assert "did you mean 'notebook'" in blocked.reason
    done = {each.module_name: each for each in site.deployment.apply(site.deployment.plan())}
    assert {name for name, each in done.items() if each.error} == {"m3"}
    assert site.sent() == ["update"] * 9
    assert json.dumps(site.server.workspace.jobs[int(str(before["m3"][1]))]) == kept
    site.put(module("m3", schedule=DAILY, description="repaired"))
    assert site.apply()["m3"] == ("update", before["m3"][1])
    assert site.settings("m3")["description"] == "repaired"


@on_sqlite
def test_a_new_module_with_a_bad_last_row_gets_no_job(site: Site) -> None:
    site.put(module("good"), module("new", notebook("load"), notebook("check")))
    site.spoil("new", "zz_last", BAD)
    done = {each.module_name: each.error for each in site.deployment.apply(site.deployment.plan())}
    assert done["good"] is None
    assert "it gets no job: new.zz_last: transformation_config.task_type" in str(done["new"])
    assert deployed(site) == ["good"]


@pytest.fixture
def at_home(quiet: None, server: DatabricksServer, url: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder whose settings lead to the workspace, as somebody has it who works with Databricks."""
    folder = tmp_path
    (folder / "lakeledger.toml").write_text(f'url = "{url}"\n[control]\ntable = "etl_control"\nbackend = "databricks"\n')
    monkeypatch.setenv("DATABRICKS_HOST", server.url)
    monkeypatch.setenv("DATABRICKS_TOKEN", TOKEN)
    monkeypatch.setenv("DATABRICKS_CONFIG_FILE", str(folder / "databrickscfg"))
    return folder


@on_sqlite
@pytest.mark.usefixtures("at_home")
def test_the_command_line_plans_and_applies_and_its_exit_codes_say_how_it_went(site: Site) -> None:
    site.put(*shops(2, timeout_seconds=60))
    planned = answer("plan")
    assert (planned["backend"].split(":")[0], [action["action"] for action in planned["actions"]]) == ("databricks", ["create"] * 2)
    assert deployed(site) == []
    made = answer("apply", "--yes")
    assert [(each["action"], each["error"]) for each in made["results"]] == [("create", None)] * 2
    assert deployed(site) == ["m0", "m1"]
    assert [action["action"] for action in answer("plan")["actions"]] == ["unchanged"] * 2
    site.change_by_hand(made["results"][0]["job_id"], timeout_seconds=90)
    site.put(module("m0", timeout_seconds=120))
    refused = answer("apply", "--yes", code=1)["error"]
    assert (refused["type"], "m0: changed here and by hand" in refused["message"]) == ("Conflict", True)
    assert answer("apply", "--yes", "--prefer", "ours")["results"][0]["action"] == "update"
    assert site.settings("m0")["timeout_seconds"] == 120
    site.spoil("m1", "load", BAD)
    partly = answer("apply", "--yes", code=3)["results"]
    assert [each["error"] is None for each in partly] == [True, False]
    assert "m1.load: transformation_config.task_type" in partly[1]["error"]


@on_sqlite
def test_tasks_of_ours_are_told_what_to_install_and_where_the_settings_are(site: Site, at_home: Path) -> None:
    query = {"source_id": "sum", "source_type": "sql", "target_config": {"table": "sums"}}
    site.put(module("shop", {**query, "transformation_config": {"sql_task": {"sql_query": "select 1 as x"}}}))
    (warning,) = answer("plan")["warnings"]
    assert "is a path of this machine" in warning
    assert f"warning: {warning}" in invoke("plan").stderr
    answer("apply", "--yes")
    assert answer("plan")["warnings"] == []
    settings = at_home / "lakeledger.toml"
    settings.write_text(f'{settings.read_text()}package = "/Volumes/ops/lakeledger.whl"\nsettings = "/Volumes/ops/lakeledger.toml"\n')
    elsewhere = at_home / "elsewhere"
    elsewhere.mkdir()
    with contextlib.chdir(elsewhere):
        assert answer("apply", "--yes", "--settings", str(settings))["results"][0]["action"] == "update"
    job = site.settings("shop")
    assert job["environments"][0]["spec"]["dependencies"] == ["/Volumes/ops/lakeledger.whl"]
    assert job["tasks"][0]["python_wheel_task"]["parameters"][-2:] == ["--settings", "/Volumes/ops/lakeledger.toml"]


@on_sqlite
def test_the_token_is_never_shown(site: Site, at_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site.put(module(description=f"uses {TOKEN[:4]}"))
    outputs = [invoke(*words).output for words in (["plan"], ["apply", "--yes"], ["jobs", "list"], ["jobs", "show", "shop", "--json"])]
    site.server.fail("list", status=400, body={"message": f"not with {TOKEN}"})
    outputs.append(invoke("plan").output)
    site.put(module(description="new"))
    site.server.fail("update", status=400, body={"message": f"Authorization: Bearer {TOKEN}"})
    failed = invoke("apply", "--yes", "--json")
    assert failed.exit_code == 1
    assert "cannot update job" in json.loads(failed.stdout)["results"][0]["error"]
    monkeypatch.setenv("DATABRICKS_TOKEN", "dapi-a-wrong-canary")
    wrong = invoke("plan")
    assert (wrong.exit_code, "cannot list the jobs" in wrong.stderr) == (2, True)
    for output in (*outputs, failed.output, wrong.output):
        assert output
        assert TOKEN not in output
        assert "wrong-canary" not in output
        assert "Traceback" not in output
    (run,) = [run for run in site.ledger.runs.list() if run.status == "FAILED"]
    assert TOKEN not in str(run)


@on_sqlite
@pytest.mark.usefixtures("at_home")
def test_without_a_workspace_the_command_line_says_what_to_set(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DATABRICKS_HOST")
    monkeypatch.delenv("DATABRICKS_TOKEN")
    monkeypatch.setenv("PATH", "")
    error = answer("plan", code=2)["error"]
    assert (error["type"], "set DATABRICKS_HOST and DATABRICKS_TOKEN" in error["message"]) == ("Invalid", True)


@on_sqlite
def test_the_seeds_classes_deploy_to_databricks(site: Site, at_home: Path, ledger: Ledger) -> None:
    table = site.deployment.table.location
    document = at_home / "metadata_examples.yaml"
    document.write_text(json.dumps({"modules": [module("one"), module("two", schedule=DAILY)]}))
    MetadataManager(table, ledger=ledger, backend="databricks").load_yaml(document)
    orchestrator = JobOrchestrator(table, backend="databricks", ledger=ledger)
    first = orchestrator.run_all_modules()
    again = orchestrator.run_all_modules(yaml_path=document, sync_yaml=True)
    assert [(each.action.kind, each.error) for each in first] == [("create", None)] * 2
    assert [(each.action.kind, each.job_id) for each in again] == [("unchanged", each.job_id) for each in first]
    assert deployed(site) == ["one", "two"]


@on_sqlite
def test_what_people_set_in_the_workspace_while_an_apply_works_is_never_overwritten(site: Site) -> None:
    site.put(module("a", schedule=DAILY), module("b", schedule=DAILY, timeout_seconds=60))
    jobs = site.apply()
    site.put(module("a", schedule=DAILY, description="x"), module("b", schedule=DAILY, timeout_seconds=90, tags={"team": "shop"}))
    stopped = {**DAILY, "pause_status": "PAUSED"}

    def person() -> None:
        site.change_by_hand(jobs["b"][1], max_concurrent_runs=7, schedule=stopped, timeout_seconds=120, description="Ask Ada.")

    done = {each.module_name: each.error for each in site.deployment.apply(site.deployment.plan(), progress=after("a", person))}
    assert done["a"] is None
    assert "changed by hand since it was planned (max_concurrent_runs, schedule.pause_status, timeout_seconds)" in str(done["b"])
    assert site.sent() == []
    kept = site.settings("b")
    assert (kept["max_concurrent_runs"], kept["timeout_seconds"], kept["schedule"], kept["description"]) == (7, 120, stopped, "Ask Ada.")
    assert [change.name for change in site.action("b").conflicts] == ["timeout_seconds"]


@on_sqlite
def test_a_job_that_people_change_while_an_apply_works_is_not_removed(site: Site) -> None:
    site.put(module("a"), module("b"))
    job_id = site.apply()["b"][1]
    site.drop("a")
    site.drop("b")
    changing = after("a", lambda: site.change_by_hand(job_id, description="Ask Ada."))
    _, done = site.deployment.apply(site.deployment.plan(prune=True), prune=True, progress=changing)
    assert f"job {job_id} was changed by hand since it was planned (description)" in str(done.error)
    assert deployed(site) == ["b"]
    assert site.apply(prune=True)["b"] == ("remove", job_id)
