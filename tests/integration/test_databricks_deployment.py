"""From the control table to jobs on Databricks: the real SDK over HTTP, against a workspace on this machine."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import Any

import pytest

import lakeledger
from databricks_server import DatabricksServer, serving
from integration.databricks_site import DAILY, Site, module, notebook, opened
from lakeledger import Conflict, config
from lakeledger.control.monitor import MetadataMonitor
from lakeledger.jobs import CONTENT_TAG, MODULE_TAG, OWNER_TAG

on_sqlite = pytest.mark.parametrize("url", ["sqlite"], indirect=True)
BY_HAND = {"group_name": "shop", "permission_level": "CAN_MANAGE"}


def task(name: str, kind: str, order: int = 1, *, settings: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    config = {"task_type": kind, f"{kind.removesuffix('_query').removesuffix('_file')}_task": more}
    source = {"source_id": name, "source_type": "sql" if kind.startswith("sql") else "task", "execution_order": order}
    target = {"target_config": {"schema": "gold", "table": name}} if kind.startswith("sql") else {}
    return {**source, "transformation_config": config, **target, **(settings or {})}


def everything() -> dict[str, Any]:
    """A module with every type of task, and everything that a module can say."""
    files = {"source_id": "files", "source_type": "files", "execution_order": 0, "source_config": {"path": "/landing/orders"}}
    return module(
        "everything",
        {**files, "target_config": {"schema": "bronze", "table": "orders"}},
        task("query", "sql_query", sql_query="select 1 as x"),
        task("file", "sql_file", sql_file_path="totals.sql"),
        task("warehouse", "sql_file", sql_file_path="/sql/totals.sql", warehouse_id="0a1b"),
        task("saved", "sql_query", query_id="12ab", warehouse_id="0a1b", parameters={"day": "today"}),
        task("function", "python", function="shop.tasks:note", parameters={"word": "x"}),
        task("book", "notebook", 2, notebook_path="/etl/book", base_parameters={"day": "today"}),
        task("wheel", "python_wheel", 2, package_name="shop", entry_point="main", parameters=["--fast"]),
        task("jar", "spark_jar", 2, main_class_name="shop.Main", jar_uri="/libs/shop.jar", parameters=["1"]),
        task("tables", "pipeline", 2, pipeline_id="0c1d", settings={"timeout_seconds": 600, "max_retries": 2, "retry_seconds": 1.5}),
        task("models", "dbt", 3, project_directory="/dbt", commands=["dbt deps", "dbt run"], schema="gold", warehouse_id="0a1b"),
        task("cleanup", "python", 3, function="shop.tasks:clean", settings={"depends_on": ["wheel", "book"], "run_if": "ALL_DONE"}),
        description="All there is.",
        schedule={"cron": "30 6 * * 1-5", "timezone_id": "Europe/Berlin"},
        parameters={"day": "today", "region": "eu"},
        tags={"team": "shop"},
        notifications={"on_failure": ["ops@example.com", "ada@example.com"], "on_success": ["ada@example.com"]},
        timeout_seconds=7200,
        max_concurrent_runs=3,
    )


def test_every_type_of_task_becomes_a_task_of_one_job(site: Site) -> None:
    site.put(everything(), module("plain", schedule=DAILY))
    assert {kind for kind, _ in site.apply().values()} == {"create"}
    made, tasks = site.settings("everything"), site.tasks("everything")
    assert made["schedule"] == {"quartz_cron_expression": "0 30 6 ? * MON-FRI", "timezone_id": "Europe/Berlin", "pause_status": "UNPAUSED"}
    assert site.settings("plain")["schedule"]["quartz_cron_expression"] == "0 0 5 * * ?"
    assert made["parameters"] == [{"name": "day", "default": "today"}, {"name": "region", "default": "eu"}]
    assert made["tags"].items() >= {"team": "shop", OWNER_TAG: site.deployment.owner, MODULE_TAG: "everything"}.items()
    assert made["email_notifications"] == {"on_failure": ["ops@example.com", "ada@example.com"], "on_success": ["ada@example.com"]}
    assert (made["name"], made["description"], made["timeout_seconds"], made["max_concurrent_runs"]) == (
        "everything",
        "All there is.",
        7200,
        3,
    )
    for ours in ("files", "query", "file", "function", "cleanup"):
        given = ["--param", "day={{job.parameters.day}}", "--param", "region={{job.parameters.region}}"]
        assert tasks[ours]["python_wheel_task"]["parameters"][-6:] == ["--source", ours, *given]
        assert tasks[ours]["environment_key"] == made["environments"][0]["environment_key"]
    assert tasks["warehouse"]["sql_task"] == {"warehouse_id": "0a1b", "file": {"path": "/sql/totals.sql"}}
    assert tasks["saved"]["sql_task"] == {"warehouse_id": "0a1b", "query": {"query_id": "12ab"}, "parameters": {"day": "today"}}
    assert tasks["book"]["notebook_task"] == {"notebook_path": "/etl/book", "base_parameters": {"day": "today"}}
    assert tasks["wheel"]["python_wheel_task"].items() >= {"package_name": "shop", "parameters": ["--fast"]}.items()
    assert (tasks["jar"]["spark_jar_task"]["main_class_name"], tasks["jar"]["libraries"]) == ("shop.Main", [{"jar": "/libs/shop.jar"}])
    assert tasks["tables"]["pipeline_task"]["pipeline_id"] == "0c1d"
    assert [tasks["tables"][name] for name in ("timeout_seconds", "max_retries", "min_retry_interval_millis")] == [600, 2, 1500]
    assert tasks["models"]["dbt_task"].items() >= {"commands": ["dbt deps", "dbt run"], "schema": "gold"}.items()


def test_tasks_wait_as_the_table_says(site: Site) -> None:
    site.put(everything())
    site.apply()
    tasks = site.tasks("everything")
    waits = {name: {needed["task_key"] for needed in each.get("depends_on", [])} for name, each in tasks.items()}
    second, third = {"query", "file", "warehouse", "saved", "function"}, {"book", "wheel", "jar", "tables"}
    assert waits == {
        "files": set(),
        **{name: {"files"} for name in second},
        **dict.fromkeys(third, second),
        **dict.fromkeys(("models", "cleanup"), third),
    }
    assert {name: each["run_if"] for name, each in tasks.items() if each["run_if"] != "ALL_SUCCESS"} == {"cleanup": "ALL_DONE"}


def test_a_second_plan_finds_nothing_and_writes_nothing(site: Site) -> None:
    site.put(everything(), module("plain", schedule=DAILY), module("arriving", trigger={"file_arrival": {"url": "s3://in/"}}))
    site.apply()
    assert site.sent() == ["create"] * 3
    before = {name: site.settings(name) for name in ("everything", "plain", "arriving")}
    for _ in range(2):
        assert [action.words() for action in site.deployment.plan().actions if action.kind != "unchanged" or action.changes] == []
        site.apply()
    assert site.sent() == []
    assert {name: site.settings(name) for name in before} == before


@on_sqlite
def test_a_job_that_is_listed_only_in_part_is_compared_as_a_whole(site: Site) -> None:
    site.put(module("big", *(notebook(f"t{number:03}", execution_order=number // 50) for number in range(150))))
    site.apply()
    assert site.action("big").words() == [f"unchanged job {site.action('big').job_id}: nothing changed"]


def test_a_job_is_changed_in_place_with_only_what_changed(site: Site) -> None:
    site.put(module("shop", notebook("load"), notebook("sum", execution_order=2), schedule=DAILY))
    job_id = site.apply()["shop"][1]
    run_id = site.deployment.backend.run_now(str(job_id))
    site.server.requests.clear()
    site.put(module("shop", notebook("load"), notebook("sum", execution_order=2, timeout_seconds=60), schedule=DAILY))
    assert [change.words() for change in site.action().changes] == [
        "what its sources do has changed",
        "tasks.sum.timeout_seconds becomes 60",
    ]
    site.server.requests.clear()
    assert site.apply()["shop"] == ("update", job_id)
    (update,) = site.server.calls("update")
    assert set(update.body["new_settings"]) == {"tags", "tasks"}
    assert [sent["task_key"] for sent in update.body["new_settings"]["tasks"]] == ["sum"]
    assert [str(job) for job in site.server.workspace.jobs] == [job_id]
    assert str(site.server.workspace.runs[int(run_id)]["job_id"]) == job_id


@on_sqlite
def test_what_people_set_by_hand_stays_when_we_change_the_job(site: Site) -> None:
    site.put(module("shop", notebook("load"), schedule=DAILY))
    job_id = site.apply()["shop"][1]
    made = site.settings()
    by_hand = {"task_key": "by_hand", "notebook_task": {"notebook_path": "/by_hand"}, "existing_cluster_id": "big"}
    site.change_by_hand(
        job_id,
        description="Ask Ada.",
        max_concurrent_runs=4,
        tags={**made["tags"], "cost": "7"},
        schedule={**made["schedule"], "timezone_id": "Asia/Tokyo"},
        job_clusters=[{"job_cluster_key": "big", "new_cluster": {"num_workers": 8}}],
        tasks=[{**made["tasks"][0], "job_cluster_key": "big", "max_retries": 5}, by_hand],
    )
    site.server.workspace.permissions[int(str(job_id))] = [BY_HAND]
    site.put(module("shop", notebook("load", timeout_seconds=60), notebook("sum", execution_order=2), schedule=DAILY))
    assert site.apply()["shop"] == ("update", job_id)
    found, tasks = site.settings(), site.tasks()
    assert (found["description"], found["max_concurrent_runs"], found["tags"]["cost"]) == ("Ask Ada.", 4, "7")
    assert found["schedule"]["timezone_id"] == "Asia/Tokyo"
    assert found["job_clusters"] == [{"job_cluster_key": "big", "new_cluster": {"num_workers": 8}}]
    assert tasks["by_hand"] == by_hand
    assert [tasks["load"][name] for name in ("timeout_seconds", "job_cluster_key", "max_retries")] == [60, "big", 5]
    assert set(tasks) == {"load", "sum", "by_hand"}
    assert site.server.workspace.permissions[int(str(job_id))] == [BY_HAND]
    assert site.kinds() == {"shop": "unchanged"}


@on_sqlite
@pytest.mark.parametrize("merges_all_lists", [False, True])
def test_what_was_ours_and_is_gone_from_the_table_is_removed(site: Site, merges_all_lists: bool) -> None:
    site.server.workspace.merges_all_lists = merges_all_lists
    sources = (notebook("load", timeout_seconds=60), notebook("old"))
    site.put(module("shop", *sources, schedule=DAILY, parameters={"day": "1", "kept": "2"}, tags={"team": "shop", "kept": "yes"}))
    job_id = site.apply()["shop"][1]
    made = site.settings()
    site.change_by_hand(job_id, parameters=[*made["parameters"], {"name": "by_hand", "default": "3"}], tags={**made["tags"], "cost": "7"})
    site.put(module("shop", notebook("load"), parameters={"kept": "2"}, tags={"kept": "yes"}))
    words = site.action().words()
    assert {"tasks.old is removed", "parameters.day is removed", "tags.team is removed (was shop)"} <= set(words)
    assert site.apply()["shop"] == ("update", job_id)
    found = site.settings()
    assert [(name in found) for name in ("schedule", "trigger")] == [False, False]
    assert sorted(parameter["name"] for parameter in found["parameters"]) == ["by_hand", "kept"]
    assert found["tags"].keys() - {OWNER_TAG, MODULE_TAG, CONTENT_TAG} == {"kept", "cost"}
    assert set(site.tasks()) == {"load"}
    assert not site.tasks()["load"].get("timeout_seconds")
    assert site.kinds() == {"shop": "unchanged"}


@on_sqlite
def test_a_schedule_that_goes_takes_along_what_people_set_in_it(site: Site) -> None:
    site.put(module("timed", schedule=DAILY), module("fed", trigger={"file_arrival": {"url": "s3://in/"}}))
    jobs = site.apply()
    site.change_by_hand(jobs["timed"][1], schedule={**site.settings("timed")["schedule"], "timezone_id": "Asia/Tokyo"})
    waiting = {"file_arrival": {"url": "s3://in/", "wait_after_last_change_seconds": 90}, "pause_status": "UNPAUSED"}
    site.change_by_hand(jobs["fed"][1], trigger=waiting)
    site.put(module("timed"), module("fed"))
    site.apply(prefer="ours")
    assert "schedule" not in site.settings("timed")
    assert "trigger" not in site.settings("fed")
    assert site.kinds() == {"timed": "unchanged", "fed": "unchanged"}


@on_sqlite
def test_a_task_can_become_another_type_of_task(site: Site) -> None:
    site.put(module("shop", notebook("load")))
    job_id = site.apply()["shop"][1]
    by_hand = {**site.tasks()["load"], "notebook_task": {"notebook_path": "/etl/load", "base_parameters": {"by": "hand"}}}
    site.change_by_hand(job_id, tasks=[by_hand])
    site.put(module("shop", task("load", "python_wheel", package_name="shop", entry_point="main")))
    assert site.apply()["shop"] == ("update", job_id)
    assert [name for name in site.tasks()["load"] if name.endswith("_task")] == ["python_wheel_task"]
    assert site.kinds() == {"shop": "unchanged"}


def test_drift_is_told_as_ours_theirs_or_both_and_both_needs_a_decision(site: Site) -> None:
    site.put(module("shop", schedule=DAILY, timeout_seconds=60, parameters={"day": "1"}), module("other"))
    job_id = site.apply()["shop"][1]
    site.change_by_hand(job_id, timeout_seconds=90, parameters=[{"name": "day", "default": "by hand"}])
    assert (site.action().kind, site.action().reason) == ("unchanged", "somebody changed it by hand")
    site.put(module("shop", schedule={**DAILY, "timezone_id": "Europe/Berlin"}, timeout_seconds=120, parameters={"day": "1"}))
    action = site.action()
    assert {change["field"]: change["side"] for change in action.to_dict()["changes"]} == {
        "parameters.day.default": "theirs",
        "schedule.timezone_id": "ours",
        "timeout_seconds": "both",
    }
    assert {"field": "timeout_seconds", "side": "both", "before": 60, "ours": 120, "theirs": 90} in action.to_dict()["changes"]
    assert action.words() == [
        f"update job {job_id}: the module changed",
        "parameters.day.default was changed by hand from 1 to by hand, and is left so",
        "schedule.timezone_id changes from UTC to Europe/Berlin",
        "timeout_seconds was 60; you want 120, somebody set 90 by hand",
    ]
    site.server.requests.clear()
    with pytest.raises(Conflict, match=r"shop: changed here and by hand in databricks.*: timeout_seconds; say whose side holds"):
        site.deployment.apply(site.deployment.plan())
    assert site.sent() == []


@on_sqlite
@pytest.mark.parametrize(("prefer", "seconds"), [("ours", 120), ("theirs", 90)])
@pytest.mark.parametrize("changes_more", [False, True])
def test_a_conflict_is_settled_for_good_by_whose_side_holds(site: Site, prefer: str, seconds: int, changes_more: bool) -> None:
    site.put(module("shop", schedule=DAILY, timeout_seconds=60))
    job_id = site.apply()["shop"][1]
    site.change_by_hand(job_id, timeout_seconds=90, description="Ask Ada.")
    later = {**DAILY, "timezone_id": "Europe/Berlin"} if changes_more else DAILY
    site.put(module("shop", schedule=later, timeout_seconds=120))
    assert site.apply(prefer=prefer)["shop"] == ("update", job_id)
    found = site.settings()
    assert (found["timeout_seconds"], found["description"], found["schedule"]["timezone_id"]) == (seconds, "Ask Ada.", later["timezone_id"])
    assert site.kinds() == {"shop": "unchanged"}
    site.server.requests.clear()
    site.apply()
    assert site.sent() == []


def test_a_job_deleted_outside_is_made_again_under_an_id_that_is_noted(site: Site) -> None:
    site.put(module("shop"), module("other"))
    first = site.apply()
    site.hand.jobs.delete(int(str(first["shop"][1])))
    assert site.action().words()[:1] == [f"recreate job {first['shop'][1]}: its job was deleted by somebody"]
    second = site.apply()
    assert (second["shop"][0], second["other"]) == ("recreate", ("unchanged", first["other"][1]))
    tracked = site.tracked()
    assert tracked
    assert tracked.job_id == second["shop"][1] != first["shop"][1]
    assert site.kinds() == {"shop": "unchanged", "other": "unchanged"}
    assert len(site.server.workspace.jobs) == 2


@on_sqlite
def test_a_job_deleted_after_the_plan_makes_it_stale_and_nothing_is_done(site: Site) -> None:
    site.put(module("a"), module("b"))
    jobs = site.apply()
    site.put(module("a", description="x"), module("b", description="y"))
    plan = site.deployment.plan()
    site.hand.jobs.delete(int(str(jobs["b"][1])))
    site.server.requests.clear()
    with pytest.raises(Conflict, match="the plan is no longer current") as raised:
        site.deployment.apply(plan)
    assert raised.value.retryable
    assert site.sent() == []
    assert "description" not in site.settings("a")


@on_sqlite
def test_a_job_deleted_during_the_apply_fails_alone_and_is_made_again_next_time(site: Site) -> None:
    site.put(module("a"), module("b"))
    jobs = site.apply()
    gone = {"error_code": "RESOURCE_DOES_NOT_EXIST", "message": f"Job {jobs['a'][1]} does not exist."}
    site.put(module("a", description="x"), module("b", description="y"))
    site.server.fail("update", status=404, body=gone)
    done = {each.module_name: each.error for each in site.deployment.apply(site.deployment.plan())}
    assert "does not exist" in str(done["a"])
    assert done["b"] is None
    del site.server.workspace.jobs[int(str(jobs["a"][1]))]
    assert site.apply()["a"][0] == "recreate"
    assert site.settings("a")["description"] == "x"


def test_lost_tracking_is_found_again_by_tags_and_no_job_is_doubled(site: Site, tmp_path: Path) -> None:
    site.put(module("shop", schedule=DAILY), module("other"))
    first = site.apply()
    site.change_by_hand(first["shop"][1], description="Ask Ada.")
    site.put(module("shop", schedule=DAILY, timeout_seconds=60), module("other"))
    with lakeledger.open(f"sqlite:///{tmp_path}/fresh.db") as fresh, opened(site.server, fresh, tmp_path / "etl_control") as again:
        assert again.apply() == {"shop": ("adopt", first["shop"][1]), "other": ("adopt", first["other"][1])}
        assert again.kinds() == {"shop": "unchanged", "other": "unchanged"}
    assert (site.settings()["timeout_seconds"], site.settings()["description"]) == (60, "Ask Ada.")
    assert len(site.server.workspace.jobs) == 2


@on_sqlite
def test_a_job_lost_sight_of_is_paused_if_its_module_was_switched_off_meanwhile(site: Site, tmp_path: Path) -> None:
    site.put(module(schedule=DAILY))
    job_id = site.apply()["shop"][1]
    site.put(module("shop", notebook("load", is_active=False), schedule=DAILY))
    with lakeledger.open(f"sqlite:///{tmp_path}/fresh.db") as fresh, opened(site.server, fresh, tmp_path / "etl_control") as again:
        assert again.apply()["shop"] == ("pause", job_id)
        assert site.settings()["schedule"]["pause_status"] == "PAUSED"
        again.put(module(schedule=DAILY))
        assert again.apply()["shop"] == ("resume", job_id)
        assert again.kinds() == {"shop": "unchanged"}


@on_sqlite
def test_a_job_lost_sight_of_is_paused_and_pruned_if_its_module_is_gone(site: Site, tmp_path: Path) -> None:
    site.put(module(schedule=DAILY), module("other"))
    job_id = site.apply()["shop"][1]
    site.drop("shop")
    with lakeledger.open(f"sqlite:///{tmp_path}/fresh.db") as fresh, opened(site.server, fresh, tmp_path / "etl_control") as again:
        assert again.apply()["shop"] == ("pause", job_id)
        assert site.settings()["schedule"]["pause_status"] == "PAUSED"
        assert again.apply(prune=True)["shop"] == ("remove", job_id)
    assert len(site.server.workspace.jobs) == 1


@on_sqlite
def test_one_ledger_deploys_one_table_to_two_workspaces(site: Site, tmp_path: Path) -> None:
    site.put(module())
    with serving() as second, opened(second, site.ledger, tmp_path / "etl_control") as there:
        second.workspace.add({"name": "theirs"})
        here, other = site.apply()["shop"], there.apply()["shop"]
        assert (here[0], other[0]) == ("create", "create")
        for _ in range(2):
            assert site.kinds() == there.kinds() == {"shop": "unchanged"}
            assert (site.apply()["shop"][1], there.apply()["shop"][1]) == (here[1], other[1])
        assert (len(site.server.workspace.jobs), len(second.workspace.jobs)) == (1, 2)


def test_another_checkout_of_a_project_finds_its_jobs_and_another_project_does_not(server: DatabricksServer, tmp_path: Path) -> None:
    done = []
    for folder in (tmp_path / "one/shop", tmp_path / "two/shop", tmp_path / "two/stock"):
        folder.mkdir(parents=True)
        (folder / "lakeledger.toml").write_text("")
        settings = config.read_file(folder / "lakeledger.toml")
        with lakeledger.open(settings) as ledger, opened(server, ledger, folder / "control/etl_control") as site:
            site.put(module("load"))
            done.append(site.apply()["load"])
            assert site.kinds(prune=True) == {"load": "unchanged"}
    assert [kind for kind, _ in done] == ["create", "adopt", "create"]
    assert done[0][1] == done[1][1] != done[2][1]


def test_two_projects_of_one_name_in_one_ledger_leave_each_others_jobs_alone(server: DatabricksServer, tmp_path: Path) -> None:
    done = []
    for name in ("one", "two"):
        folder = tmp_path / name / "shop"
        folder.mkdir(parents=True)
        (folder / "lakeledger.toml").write_text('url = "sqlite:///../../ledger.db"')
        settings = config.read_file(folder / "lakeledger.toml")
        with lakeledger.open(settings) as ledger, opened(server, ledger, folder / "control/etl_control") as site:
            site.put(module("load"), module(name))
            done.append(site.apply())
            assert site.kinds(prune=True) == {"load": "unchanged", name: "unchanged"}
    assert {kind for each in done for kind, _ in each.values()} == {"create"}
    assert done[0]["load"] != done[1]["load"]


@on_sqlite
def test_two_control_tables_leave_each_others_jobs_alone(site: Site, tmp_path: Path) -> None:
    site.put(module("shop"))
    ours = site.apply()["shop"][1]
    with opened(site.server, site.ledger, tmp_path / "another_control") as other:
        other.put(module("shop", description="another"))
        kind, theirs = other.apply()["shop"]
        assert (kind, theirs != ours) == ("create", True)
        other.drop("shop")
        assert other.apply(prune=True)["shop"] == ("remove", theirs)
    assert site.kinds() == {"shop": "unchanged"}
    assert [str(job) for job in site.server.workspace.jobs] == [ours]


def test_a_module_that_is_switched_off_is_paused_and_resumed_under_its_id(site: Site) -> None:
    site.put(module("shop", schedule=DAILY))
    job_id = site.apply()["shop"][1]
    site.put(module("shop", notebook("load", is_active=False), schedule=DAILY))
    assert site.apply()["shop"] == ("pause", job_id)
    assert site.settings()["schedule"]["pause_status"] == "PAUSED"
    assert site.kinds() == {"shop": "unchanged"}
    site.put(module("shop", notebook("load"), schedule=DAILY))
    assert site.apply()["shop"] == ("resume", job_id)
    assert site.settings()["schedule"]["pause_status"] == "UNPAUSED"
    assert site.kinds() == {"shop": "unchanged"}


def test_a_module_that_is_gone_is_paused_until_it_is_pruned(site: Site) -> None:
    site.put(module("shop", schedule=DAILY), module("other"))
    job_id = site.apply()["shop"][1]
    site.drop("shop")
    assert site.apply()["shop"] == ("pause", job_id)
    assert site.settings()["schedule"]["pause_status"] == "PAUSED"
    assert site.apply()["shop"][0] == "unchanged"
    assert site.apply(prune=True)["shop"] == ("remove", job_id)
    assert len(site.server.workspace.jobs) == 1
    assert site.kinds(prune=True) == {"shop": "unchanged", "other": "unchanged"}
    site.put(module("shop", schedule=DAILY))
    assert site.apply()["shop"][1] != job_id
    assert site.settings()["schedule"]["pause_status"] == "UNPAUSED"


@on_sqlite
def test_a_thousand_modules_are_deployed_and_found_unchanged_without_reading_each_job(site: Site) -> None:
    site.put(*(module(f"m{number:04}", schedule=DAILY) for number in range(1000)))
    begin = perf_counter()
    site.apply()
    made = perf_counter()
    # Two to plan, and one for each job: whether somebody else made it meanwhile.
    assert (len(site.server.calls("create")), len(site.server.calls("list")), site.server.calls("get")) == (1000, 1002, [])
    site.server.requests.clear()
    assert set(site.kinds().values()) == {"unchanged"}
    print(f"\n1,000 modules: deployed in {made - begin:.1f} s, found unchanged in {perf_counter() - made:.1f} s")  # noqa: T201 - a figure
    assert [request.call for request in site.server.calls()] == ["list"] * 10
    assert len(site.server.workspace.jobs) == 1000


@on_sqlite
def test_a_look_at_which_nothing_changed_lists_the_workspace_once(site: Site) -> None:
    site.put(*(module(f"m{number}", schedule=DAILY) for number in range(3)))
    with MetadataMonitor(str(site.deployment.table.location), ledger=site.ledger, backend=site.deployment.backend) as monitor:
        assert monitor.check().did_something
        site.server.requests.clear()
        assert not monitor.check().did_something
        assert [request.call for request in site.server.calls()] == ["list"]
        site.hand.jobs.delete(next(iter(site.server.workspace.jobs)))
        assert [each.action.kind for each in monitor.check().applied if each.action.does_something] == ["recreate"]
