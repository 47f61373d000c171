"""`lakeledger control`, `plan`, `apply` and `monitor`: from files into the control table, and from there to jobs."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from contract.making import wait_until
from integration.commands import answer, invoke, refused, shown
from lakeledger import Ledger
from lakeledger.control import documents
from lakeledger.jobs import JobSpec
from lakeledger.jobs.local import LocalBackend

pytestmark = [pytest.mark.usefixtures("quiet", "ledger"), pytest.mark.parametrize("url", ["sqlite"], indirect=True)]

PROGRAM = str(Path(sys.executable).parent / "lakeledger")
SECRET = "hunter2"
DAILY = {"quartz_cron_expression": "0 0 5 * * ?"}


def sql(source_id: str, query: str = "select 1 as x", **more: Any) -> dict[str, Any]:
    return {
        "source_id": source_id,
        "source_type": "sql",
        "target_config": {"schema": "gold", "table": source_id},
        "transformation_config": {"task_type": "sql_query", "sql_task": {"sql_query": query}},
        **more,
    }


def write(name: str = "shop.yaml", *sources: dict[str, Any], module: str = "shop", **more: Any) -> str:
    """Write a document with one module; JSON is YAML."""
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    found = list(sources) or [sql("orders"), sql("totals", depends_on=["orders"])]
    Path(name).write_text(json.dumps({"modules": [{"module_name": module, "sources": found, **more}]}))
    return name


def load(at: list[str], **more: Any) -> None:
    assert answer("control", "load", write(schedule=DAILY, **more), *at)["applied"]


def rows(at: list[str], columns: str = "source_id, is_active") -> list[list[Any]]:
    found: list[list[Any]] = answer("control", "sql", f"SELECT {columns} FROM etl_control ORDER BY source_id", *at)["rows"]
    return found


@pytest.mark.parametrize(
    "words",
    [
        "control load x.yaml",
        "control list",
        "control show shop",
        "control validate",
        "control export",
        "control create",
        "control history",
        "control audit",
        "control diff 1",
        "control restore 1 --apply",
        "control set shop tags.a=b",
        "control activate shop",
        "plan",
        "apply --yes",
        "jobs list",
        "scheduler --once",
        "monitor --iterations 1",
    ],
)
def test_no_command_makes_a_ledger_or_a_control_table_where_there_is_none(words: str, tmp_path: Path) -> None:
    refused([*words.split(), "--url", f"sqlite:///{tmp_path}/new/other.db"], 2, "Invalid", "run `lakeledger init` or give --url")
    assert not (tmp_path / "control").exists()
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    "words",
    [
        "list",
        "show shop",
        "validate",
        "export",
        "history",
        "audit",
        "diff 1",
        "restore 1 --apply",
        "set shop tags.a=b",
        "activate shop",
        "deactivate shop",
    ],
)
def test_a_control_table_that_is_not_there_is_named(words: str, at: list[str], tmp_path: Path) -> None:
    refused(["control", *words.split(), *at], 2, "NotFound", f"no control table at {tmp_path}/control/etl_control")
    assert not (tmp_path / "control").exists()


def test_a_file_is_loaded_into_a_table_that_is_made_for_it(at: list[str]) -> None:
    write(schedule=DAILY)
    dry = answer("control", "load", "shop.yaml", "--dry-run", *at)
    assert (dry["applied"], len(dry["changed"])) == (False, 3)
    done = answer("control", "load", "shop.yaml", *at)
    assert (done["changed"], done["problems"], done["conflicts"]) == ([["shop", "orders"], ["shop", "totals"], ["shop", None]], [], [])
    assert rows(at) == [["orders", True], ["totals", True]]
    assert Path("control/etl_control/_delta_log").is_dir()
    text = shown("control", "load", "shop.yaml", *at)
    assert f"nothing changed: the control table is at version {done['version']}" in text
    assert "next: lakeledger plan" in text


def test_a_path_that_only_the_file_finds_is_warned_of(at: list[str]) -> None:
    Path("pipes/in").mkdir(parents=True)
    Path("pipes/in/day.csv").write_text("a\n1\n")
    files = {
        "source_id": "days",
        "source_type": "files",
        "source_config": {"path": "in/*.csv"},
        "target_config": {"schema": "bronze", "table": "days"},
    }
    path = write("pipes/days.yaml", files)
    (warning,) = answer("control", "load", path, *at)["warnings"]
    assert "shop.days: in the control table, in/*.csv is meant from" in warning
    assert warning.endswith("write pipes/in/*.csv")
    assert f"warning: {warning}" in invoke("control", "load", path, *at).stderr
    write("pipes/days.yaml", {**files, "source_config": {"path": "pipes/in/*.csv"}})
    assert answer("control", "load", path, *at)["warnings"] == []


def test_a_control_table_is_made_to_be_filled_with_sql(at: list[str]) -> None:
    refused(["control", "sql", "SELECT * FROM etl_control", *at], 2, "NotFound", "`lakeledger control create` or `control load FILE`")
    assert answer("control", "create", *at)["created"]
    assert "is there already: version 0" in shown("control", "create", *at)
    assert answer("control", "sql", "SELECT * FROM etl_control", *at)["rows"] == []


def test_a_load_takes_variables_and_another_table(at: list[str]) -> None:
    write("shop.yaml", sql("orders", "select ${var.number} as x"))
    refused(["control", "load", "shop.yaml", "--var", "number", *at], 2, "Invalid", "'number' is no variable: write it as NAME=VALUE")
    refused(["control", "load", "shop.yaml", "--var", "a=1", "--var", "a=2", *at], 2, "Invalid", "'a' is given twice")
    for verb in ("load", "validate"):
        words = ["control", verb, "shop.yaml", "--var", "number=7", "--var", "nmuber=8", *at]
        assert "no file uses the variable 'nmuber'" in invoke(*words).stderr
        assert invoke(*words).exit_code == 2
    answer("control", "load", "shop.yaml", "--var", "number=7", "--control", "elsewhere/jobs_table", *at)
    (source,) = answer("control", "show", "shop", "--control", "elsewhere/jobs_table", *at)["sources"]
    assert source["transformation_config"]["sql_task"]["sql_query"] == "select 7 as x"
    refused(["control", "list", "--control", " ", *at], 2, "Invalid", "--control is empty")


def test_a_bad_file_is_named_and_stops_no_other(at: list[str]) -> None:
    write("files/good.yaml")
    Path("files/bad.yaml").write_text("modules:\n  - module_name: crm\n    sorces: []\n")
    done = answer("control", "load", "files", *at, code=3)
    assert any("bad.yaml:3:5: unknown key 'sorces'; did you mean 'sources'?" in problem for problem in done["problems"])
    assert rows(at) == [["orders", True], ["totals", True]]
    assert answer("control", "load", "files", *at, code=3)["changed"] == []
    alone = invoke("control", "load", "files/bad.yaml", *at)
    assert (alone.exit_code, "unknown key 'sorces'" in alone.stderr) == (2, True)
    assert answer("control", "load", "files/bad.yaml", *at, code=2)["changed"] == []
    refused(["control", "load", "nowhere/*.yaml", *at], 2, "Invalid", "no file matches")


def test_what_both_changed_is_shown_field_by_field_until_somebody_chooses(at: list[str]) -> None:
    load(at)
    answer("control", "sql", "UPDATE etl_control SET target_config = '{\"table\": \"mine\"}' WHERE source_id = 'orders'", *at)
    other = {**sql("orders"), "target_config": {"schema": "gold", "table": "theirs"}}
    write("shop.yaml", other, sql("totals", depends_on=["orders"]), schedule=DAILY)
    (conflict,) = answer("control", "load", "shop.yaml", *at, code=1)["conflicts"]
    assert conflict[0] == "shop.orders: the file and the table both changed the row"
    assert any('the file has "theirs", the table has "mine"' in line for line in conflict)
    said = invoke("control", "load", "shop.yaml", *at)
    assert (said.exit_code, "next: lakeledger control load shop.yaml --choose file" in said.stdout) == (1, True)
    answer("control", "load", "shop.yaml", "--choose", "file", *at)
    assert json.loads(rows(at, "target_config")[0][0])["table"] == "theirs"


def test_what_left_the_file_stays_unless_it_is_pruned(at: list[str]) -> None:
    load(at)
    write("shop.yaml", sql("orders"), schedule=DAILY)
    kept = answer("control", "load", "shop.yaml", *at)
    assert (kept["kept"], kept["deleted"]) == ([["shop", "totals"]], [])
    assert "kept: shop.totals is no longer in the file; --prune removes it\n" in shown("control", "load", "shop.yaml", *at)
    pruned = answer("control", "load", "shop.yaml", "--prune", *at)
    assert pruned["changed"] == pruned["deleted"] == [["shop", "totals"]]
    assert rows(at) == [["orders", True]]


def test_what_would_be_deleted_is_told_apart_and_the_next_command_does_the_same(at: list[str]) -> None:
    load(at)
    write("shop.yaml", sql("orders", "select ${var.number} as x"), schedule=DAILY, tags={"a": "${var.password}"})
    words = ["control", "load", "shop.yaml", "--prune", "--var", "number=7", "--var", f"password={SECRET} b", "--choose", "table"]
    text = shown(*words, "--dry-run", *at)
    assert "  shop.orders\n  shop\n  would delete shop.totals\n2 rows would change, 1 row would be deleted\n" in text
    assert "next: lakeledger control load shop.yaml --var number=7 --var 'password=***' --prune --choose table " in text
    assert SECRET not in text
    assert rows(at) == [["orders", True], ["totals", True]]
    text = shown(*words, *at)
    assert "  shop.orders\n  shop\n  deleted shop.totals\n2 rows changed, 1 row deleted: the control table is at version 2\n" in text
    answer("control", "sql", "UPDATE etl_control SET execution_order = 3", *at)
    said = invoke("control", "load", "shop.yaml", "--var", "number=8", "--var", "password=x", "--prune", *at)
    assert "next: lakeledger control load shop.yaml --var number=8 --var 'password=***' --prune --choose file " in said.stdout


def test_modules_are_listed_with_their_sources_problems_and_jobs(at: list[str]) -> None:
    refused(["control", "list", *at], 2, "NotFound", "no control table at")
    load(at)
    answer("control", "load", write("crm.yaml", sql("people"), module="crm"), *at)
    answer("control", "deactivate", "shop", "totals", *at)
    answer("apply", "--yes", *at)
    crm, shop = answer("control", "list", *at)["modules"]
    assert (crm["module_name"], crm["starts"], crm["problems"]) == ("crm", "", [])
    assert (shop["sources"], shop["active_sources"], shop["starts"], shop["job_state"]) == (2, 1, "0 0 5 * * ? UTC", "active")
    assert re.search(rf"shop\s+1 of 2\s+✓ ok\s+0 0 5 \* \* \? UTC\s+{shop['job_id']}", shown("control", "list", *at))
    assert [each["module_name"] for each in answer("control", "list", "--module", "crm", *at)["modules"]] == ["crm"]
    refused(["control", "list", "--module", "shopp", *at], 2, "NotFound", "did you mean 'shop'?")


def test_a_module_is_shown_with_what_waits_for_what_and_without_secrets(at: list[str]) -> None:
    load(at, parameters={"password": SECRET})
    found = answer("control", "show", "shop", *at)
    assert (found["levels"], found["problems"], found["job"]) == ([["orders"], ["totals"]], [], None)
    assert found["module"]["schedule"] == DAILY
    text = shown("control", "show", "shop", *at)
    assert re.search(r"totals\s+sql\s+1\s+yes\s+gold.totals\s+orders", text)
    assert SECRET not in text + json.dumps(found)
    refused(["control", "show", "shopp", *at], 2, "NotFound", "no module 'shopp' in the control table: it has shop; did you mean 'shop'?")


def test_files_and_the_table_are_validated(at: list[str]) -> None:
    load(at)
    assert answer("control", "validate", *at) == {"ok": True, "modules": ["shop"], "problems": []}
    assert answer("control", "validate", "shop.yaml", *at)["ok"]
    Path("bad.yaml").write_text("modules: 5\n")
    found = answer("control", "validate", "bad.yaml", "shop.yaml", "missing.yaml", *at, code=2)
    assert (found["modules"], len(found["problems"])) == (["shop"], 2)
    assert any(problem.startswith("bad.yaml:1:") for problem in found["problems"])
    break_table(at)
    (problem,) = answer("control", "validate", *at, code=2)["problems"]
    assert (problem["module_name"], problem["source_id"], problem["field"]) == ("shop", "orders", "transformation_config")
    said = invoke("control", "validate", *at)
    assert (said.exit_code, "error: shop.orders: transformation_config: not valid JSON" in said.stderr) == (2, True)
    assert "shop.orders: transformation_config" in invoke("control", "show", "shop", *at).stderr


def break_table(at: list[str]) -> None:
    """Write what no command lets through, as somebody with Spark can."""
    from dataclasses import replace

    from lakeledger.control import table as tables
    from lakeledger.control.model import Edit

    table = tables.open(str(Path("control/etl_control").absolute()))
    snapshot = table.read()
    row = replace(snapshot.sources["shop", "orders"], transformation_config="{")
    table.commit(Edit({row.key: row}), snapshot, "ann")


def test_what_is_exported_is_loaded_back_as_the_same(at: list[str]) -> None:
    load(at)
    text = shown("control", "export", *at)
    assert documents.parse(text, "export").modules[0].module_name == "shop"
    done = answer("control", "export", "shop", "--output", "out.yaml", *at)
    assert (done["modules"], Path("out.yaml").read_text()) == (["shop"], text)
    assert answer("control", "load", "out.yaml", *at)["changed"] == []
    refused(["control", "export", "shopp", *at], 2, "NotFound", "no module 'shopp'")
    refused(["control", "export", "--output", "no/such/folder.yaml", *at], 2, "Invalid", "cannot write no/such/folder.yaml")
    answer("control", "load", write("crm.yaml", sql("people"), module="crm"), *at)
    break_table(at)
    assert answer("control", "export", *at, code=3)["modules"] == ["crm"]
    assert answer("control", "export", "shop", *at, code=1)["yaml"] == ""


def test_the_table_is_read_and_changed_with_sql(at: list[str]) -> None:
    load(at)
    done = answer("control", "sql", "UPDATE etl_control SET is_active = false WHERE source_id = 'totals'", *at)
    assert (done["kind"], done["updated"], done["rows"]) == ("UPDATE", 1, [])
    assert rows(at) == [["orders", True], ["totals", False]]
    assert "1 row deleted" in shown("control", "sql", "-", *at, stdin="DELETE FROM etl_control WHERE source_id = 'totals'")
    assert re.search(r"source_id\norders\n\n1 row\n", shown("control", "sql", "SELECT source_id FROM etl_control", *at))
    assert shown("control", "sql", "SELECT source_id FROM etl_control WHERE 1 = 0", *at) == "no rows\n"
    answer("apply", "--yes", *at)
    assert answer("control", "sql", "SELECT module_name, state FROM etl_control_jobs", *at)["rows"] == [["shop", "active"]]
    refused(["control", "sql", "DROP TABLE etl_control", *at], 2, "Invalid", "only INSERT, UPDATE, DELETE and SELECT")
    refused(["control", "sql", "SELECT sorce_id FROM etl_control", *at], 2, "Invalid", "did you mean 'source_id'?")


def test_sources_are_switched_on_and_off(at: list[str]) -> None:
    load(at)
    assert answer("control", "deactivate", "shop", *at)["changed"] == [["shop", "orders"], ["shop", "totals"]]
    assert answer("control", "activate", "shop", "orders", *at)["changed"] == [["shop", "orders"]]
    assert rows(at) == [["orders", True], ["totals", False]]
    assert "shop.orders is on already" in shown("control", "activate", "shop", "orders", *at)
    refused(["control", "activate", "shop", "order", *at], 2, "NotFound", "no source 'order' in module shop: it has orders, totals")
    refused(["control", "deactivate", "nobody", *at], 2, "NotFound", "no module 'nobody'")


def test_settings_of_a_module_are_set_in_parts_and_checked(at: list[str]) -> None:
    load(at)
    words = ["schedule=30 6 * * *", "schedule.timezone_id=Europe/Berlin", "timeout_seconds=60", "tags.team=finance", "description=nightly"]
    module = answer("control", "set", "shop", *words, *at)["module"]
    assert module["schedule"] == {"cron": "30 6 * * *", "timezone_id": "Europe/Berlin"}
    assert (module["timeout_seconds"], module["tags"], module["description"]) == (60, {"team": "finance"}, "nightly")
    module = answer("control", "set", "shop", "tags.team=", "description=", *at)["module"]
    assert (module["tags"], module["description"], module["timeout_seconds"]) == (None, None, 60)
    assert "shop has these settings already" in shown("control", "set", "shop", "timeout_seconds=60", *at)
    for words, told in (
        (["timeout=1"], "a module has no setting 'timeout'"),
        (["timeout_seconds=soon"], "timeout_seconds must be a whole number, not 'soon'"),
        (["max_concurrent_runs=0"], "max_concurrent_runs"),
        (["schedule=never"], "never"),
        (["tags={"], "tags: not valid JSON"),
        (["description"], "is no setting: write it as NAME=VALUE"),
    ):
        refused(["control", "set", "shop", *words, *at], 2, "Invalid", told)
    assert answer("control", "show", "shop", *at)["module"] == module


def test_versions_are_listed_compared_and_restored(at: list[str]) -> None:
    load(at)
    answer("control", "set", "shop", "timeout_seconds=60", *at)
    answer("control", "sql", "UPDATE etl_control SET execution_order = 3 WHERE source_id = 'totals'", *at)
    commits = answer("control", "history", *at)["commits"]
    assert [commit["version"] for commit in commits] == [3, 2, 1, 0]
    assert commits[1]["detail"]["reason"] == "set timeout_seconds of shop"
    assert len(answer("control", "history", "--limit", "1", *at)["commits"]) == 1
    assert "set timeout_seconds of shop" in shown("control", "history", *at)
    changes = answer("control", "diff", "1", *at)["changes"]
    assert [(each["source_id"], each["change"], [field["field"] for field in each["fields"]]) for each in changes] == [
        ("totals", "updated", ["execution_order"]),
        (None, "updated", ["timeout_seconds"]),
    ]
    assert "  timeout_seconds: nothing → 60\n" in shown("control", "diff", "1", "2", *at)
    dry = answer("control", "restore", "1", *at)
    assert (dry["applied"], dry["to"], len(dry["changes"])) == (False, 3, 2)
    assert "next: lakeledger control restore 1 --apply" in shown("control", "restore", "1", *at)
    assert answer("control", "restore", "1", "--apply", *at)["to"] == 4
    assert answer("control", "diff", "1", *at)["changes"] == []
    refused(["control", "diff", "99", *at], 2, "NotFound", "no version 99")
    refused(["control", "restore", "99", "--apply", *at], 2, "NotFound", "no version 99")


def test_who_changed_what_is_told_with_what_became_of_the_jobs(at: list[str]) -> None:
    load(at)
    answer("apply", "--yes", *at)
    answer("control", "set", "shop", "timeout_seconds=60", *at)
    job_id = answer("apply", "--yes", *at)["results"][0]["job_id"]
    entries = answer("control", "audit", *at)["entries"]
    assert [(entry["operation"], entry["version"]) for entry in entries[:3]] == [("APPLY", 2), ("EDIT", 2), ("APPLY", 1)]
    text = shown("control", "audit", "--module", "shop", *at)
    assert f"  shop: update job {job_id}\n    timeout_seconds becomes 60\n" in text
    assert "  settings of shop: updated\n    timeout_seconds: nothing → 60\n" in text
    assert "nothing was done to other yet" in shown("control", "audit", "--module", "other", *at)


def test_the_schema_for_editors_is_printed_and_written(at: list[str]) -> None:
    schema = answer("control", "schema", *at)
    assert "modules" in schema["properties"]
    assert "schema.json" in shown("control", "schema", "--output", "schema.json", *at)
    assert json.loads(Path("schema.json").read_text()) == schema


def test_a_plan_says_what_would_happen_and_changes_nothing(at: list[str]) -> None:
    refused(["plan", *at], 2, "NotFound", "no control table at")
    load(at)
    (action,) = answer("plan", *at)["actions"]
    assert (action["action"], action["module_name"], action["job_id"]) == ("create", "shop", None)
    text = shown("plan", *at)
    assert "shop: create: the module has no job yet\n  schedule.quartz_cron_expression becomes 0 0 5 * * ?\n" in text
    assert "  tasks.orders is added\n  tasks.totals is added\n" in text
    assert "next: lakeledger apply --yes" in text
    assert answer("jobs", "list", *at)["jobs"] == []
    refused(["plan", "--module", "nobody", *at], 2, "Invalid", "no module 'nobody'")


def test_nothing_is_applied_until_somebody_says_so(at: list[str]) -> None:
    load(at)
    dry = answer("apply", *at)
    assert (dry["applied"], dry["results"], dry["plan"]["actions"][0]["action"]) == (False, [], "create")
    assert "next: lakeledger apply --yes" in shown("apply", *at)
    (done,) = answer("apply", "--yes", *at)["results"]
    assert (done["action"], done["error"]) == ("create", None)
    assert "nothing to do" in shown("apply", "--yes", *at)
    answer("control", "set", "shop", "timeout_seconds=60", *at)
    assert "  timeout_seconds becomes 60" in shown("plan", *at)
    assert f"shop: update job {done['job_id']}" in shown("apply", "--yes", *at)


def test_a_kept_plan_is_applied_as_it_is_or_not_at_all(at: list[str]) -> None:
    load(at)
    assert "next: lakeledger apply plan.json" in shown("plan", "--out", "plan.json", *at)
    assert Path("plan.json").stat().st_mode & 0o077 == 0
    refused(["apply", "plan.json", "--prune", *at], 2, "Invalid", "a PLANFILE is applied as it was planned")
    assert answer("apply", "plan.json", *at)["results"][0]["action"] == "create"
    refused(["apply", "plan.json", *at], 1, "Conflict", "the plan is no longer current")
    document = json.loads(Path("plan.json").read_text())
    document["actions"][0]["settings"]["name"] = "other"
    Path("plan.json").write_text(json.dumps(document))
    refused(["apply", "plan.json", *at], 2, "Invalid", "plan.json was edited after it was planned")
    Path("plan.json").write_text("{}")
    refused(["apply", "plan.json", *at], 2, "Invalid", "plan.json is no plan")
    refused(["apply", "missing.json", *at], 2, "Invalid", "cannot read missing.json")
    refused(["plan", "--out", "no/such/plan.json", *at], 2, "Invalid", "cannot write no/such/plan.json")


def test_a_blocked_module_does_not_stop_the_others(at: list[str]) -> None:
    load(at)
    break_table(at)
    (result,) = answer("apply", "--yes", *at, code=1)["results"]
    assert (result["action"], "not valid JSON" in result["error"]) == ("blocked", True)
    answer("control", "load", write("crm.yaml", sql("people"), module="crm"), *at)
    assert "shop: blocked" in shown("plan", *at)
    assert [each["action"] for each in answer("apply", "--yes", *at, code=3)["results"]] == ["create", "blocked"]
    said = invoke("apply", "--yes", *at)
    assert (said.exit_code, "error: shop: blocked: " in said.stderr) == (3, True)


def test_a_setting_that_both_changed_needs_a_side(ledger: Ledger, at: list[str]) -> None:
    load(at)
    job_id = answer("apply", "--yes", *at)["results"][0]["job_id"]
    backend = LocalBackend(ledger.store, "ann")
    backend.update(job_id, JobSpec("shop", {"timeout_seconds": 5}))
    answer("control", "set", "shop", "timeout_seconds=60", *at)
    assert "say with --prefer whose side holds" in shown("plan", *at)
    refused(["apply", "--yes", *at], 1, "Conflict", "shop: changed here and by hand in local: timeout_seconds")
    assert "next: lakeledger apply --yes --prefer ours" in shown("plan", "--prefer", "ours", *at)
    answer("plan", "--prefer", "ours", "--out", "plan.json", *at)
    answer("apply", "plan.json", *at)
    assert backend.get(job_id).settings["timeout_seconds"] == 60


def test_jobs_of_modules_that_are_gone_are_paused_and_removed_only_when_pruned(at: list[str]) -> None:
    load(at)
    answer("apply", "--yes", *at)
    answer("control", "sql", "DELETE FROM etl_control WHERE module_name = 'shop'", *at)
    assert answer("apply", "--yes", *at)["results"][0]["action"] == "pause"
    assert answer("jobs", "list", *at)["jobs"][0]["is_paused"]
    assert "next: lakeledger apply --yes --prune" in shown("plan", "--prune", *at)
    assert answer("apply", "--yes", "--prune", *at)["results"][0]["action"] == "remove"
    assert answer("jobs", "list", *at)["jobs"] == []


def test_the_monitor_follows_a_folder_until_it_is_told_to_end(at: list[str]) -> None:
    write("files/shop.yaml", schedule=DAILY)
    words = [PROGRAM, "monitor", "--folder", "files", "--interval", "0.1", *at]
    with (
        Path("out.txt").open("w") as out,
        Path("err.txt").open("w") as errors,
        subprocess.Popen(words, stdout=out, stderr=errors) as process,
    ):
        try:
            wait_until(lambda: "shop: create job" in Path("out.txt").read_text())
            write("files/crm.yaml", sql("people"), module="crm")
            wait_until(lambda: "crm: create job" in Path("out.txt").read_text())
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 0
        finally:
            process.kill()
    assert "Traceback" not in Path("err.txt").read_text()


def test_a_single_look_right_after_a_checkout_misses_no_file(at: list[str]) -> None:
    write("files/shop.yaml")
    Path("files/bad.yaml").write_text("modules: [")
    said = invoke("monitor", "--folder", "files", "--iterations", "1", *at)
    assert (said.exit_code, "shop: create job" in said.stdout, "bad.yaml:1:11: not valid YAML" in said.stderr) == (3, True, True)


def test_the_monitor_imports_and_applies_and_tells_what_is_wrong(at: list[str]) -> None:
    refused_look = answer("monitor", "--iterations", "1", *at, code=1)
    assert refused_look["cursor"] is None
    write("files/shop.yaml", schedule=DAILY)
    found = answer("monitor", "--folder", "files", "--iterations", "1", *at)
    (cycle,) = found["cycles"]
    assert (found["looks"], len(cycle["imported"]), cycle["applied"][0]["action"], cycle["errors"]) == (1, 3, "create", [])
    assert found["cursor"] == cycle["version"]
    assert "nothing to do" in shown("monitor", "--iterations", "1", *at)
    answer("control", "set", "shop", "timeout_seconds=60", *at)
    assert "shop: update job" in shown("monitor", "--folder", "files", "--iterations", "1", *at)
    break_table(at)
    said = invoke("monitor", "--iterations", "1", *at)
    assert (said.exit_code, "not valid JSON" in said.stderr) == (1, True)
    refused(["monitor", "--interval", "0", *at], 2, "Invalid", "--interval")
    refused(["monitor", "--iterations", "0", *at], 2, "Invalid", "--iterations")


def test_a_file_that_declares_nothing_runs_nothing(at: list[str]) -> None:
    Path("empty.yaml").write_text("modules: []")
    assert "nothing to run: no module is declared" in shown("run", "empty.yaml", *at)
    assert answer("run", "empty.yaml", *at) == {"modules": []}
    refused(["run", "empty.yaml", "--module", "shop", *at], 2, "NotFound", "empty.yaml: it has none")


def test_a_module_that_is_switched_off_is_passed_over_or_refused_if_there_is_no_other(at: list[str]) -> None:
    def source(name: str, is_active: str) -> str:
        config = "{task_type: python, python_task: {function: 'gc:enable'}}"
        return f"{{source_id: {name}, source_type: task, is_active: {is_active}, transformation_config: {config}}}"

    off = f"{{module_name: off, sources: [{source('a', 'false')}, {source('b', 'false')}]}}"
    Path("off.yaml").write_text(f"modules: [{off}]")
    Path("both.yaml").write_text(f"modules: [{off}, {{module_name: on, sources: [{source('a', 'true')}, {source('b', 'false')}]}}]")
    told = "module off has nothing to run: its 2 sources are switched off; set is_active to true"
    refused(["run", "off.yaml", *at], 2, "Invalid", told)
    refused(["run", "both.yaml", "--module", "off", *at], 2, "Invalid", told)
    passed, ran = answer("run", "both.yaml", *at)["modules"]
    assert (passed["module_name"], passed["run"], passed["steps"], told in passed["passed_over"]) == ("off", None, [], True)
    assert [step["step_name"] for step in ran["steps"]] == ["a"]
    assert told in " ".join(invoke("run", "both.yaml", *at).stderr.split())
    assert [run["pipeline_id"] for run in answer("runs", "list", *at)["runs"]] == ["on", "on"]


def test_a_saved_query_is_refused_by_a_run_here(at: list[str]) -> None:
    config = "{sql_task: {query_id: 12ab, warehouse_id: 0a1b}}"
    source = f"{{source_id: totals, source_type: sql, target_config: {{table: totals}}, transformation_config: {config}}}"
    Path("saved.yaml").write_text(f"modules: [{{module_name: night, sources: [{source}]}}]")
    (module,) = answer("run", "saved.yaml", *at, code=1)["modules"]
    assert "totals: sql_task.query_id '12ab' is a query saved on Databricks" in module["steps"][0]["error_message"]
