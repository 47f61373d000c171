"""From the control table to jobs: created, changed in place, paused, resumed, made again, adopted, and never with a task missing."""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from contract.making import execute, expire_lease, rows, together
from lakeledger import Conflict, Failed, Fenced, Invalid, Ledger
from lakeledger.cli.plan import Choices, read_plan, write_plan
from lakeledger.control import audit, sql
from lakeledger.control.delta import DeltaControlTable
from lakeledger.control.deployment import Applied, Deployment
from lakeledger.control.manager import JobOrchestrator, MetadataManager
from lakeledger.control.model import Edit, ModuleRow, Snapshot, SourceRow
from lakeledger.control.opening import open_control
from lakeledger.jobs import Job, JobSpec
from lakeledger.jobs.local import LocalBackend
from lakeledger.redaction import scrub_value
from lakeledger.runs import user_name

CRON = '{"quartz_cron_expression": "0 0 5 * * ?"}'


def source(module: str, name: str = "load", query: str = "select 1 as x", *, order: int = 1, active: bool = True) -> SourceRow:
    task = json.dumps({"task_type": "sql_query", "sql_task": {"sql_query": query}})
    return SourceRow(name, module, "sql", order, "{}", json.dumps({"schema": "bronze", "table": f"{module}_{name}"}), task, active)


@pytest.fixture
def deployment(ledger: Ledger, tmp_path: Path) -> Iterator[Deployment]:
    opened = open_control(str(tmp_path / "control/etl_control"), ledger)
    opened.deployment.table.create()
    yield opened.deployment
    opened.close()


def put(deployment: Deployment, *sources: SourceRow, modules: tuple[ModuleRow, ...] = ()) -> None:
    edit = Edit({each.key: each for each in sources}, {each.key: each for each in modules})
    deployment.table.commit(edit, deployment.table.read(), "ann")


def run_sql(deployment: Deployment, statement: str) -> None:
    sql.run(deployment.table, statement, "ann")


def kinds(deployment: Deployment, **more: Any) -> dict[str, str]:
    return {action.module_name: action.kind for action in deployment.plan(**more).actions}


def apply(deployment: Deployment, **more: Any) -> dict[str, tuple[str, str | None]]:
    """Plan and apply; what was done for each module, and to which job."""
    done = deployment.apply(deployment.plan(**more), **more)
    return {each.module_name: (each.action.kind, each.job_id) for each in done}


def test_a_module_gets_a_job_and_keeps_its_id_through_every_change(deployment: Deployment) -> None:
    put(deployment, source("shop"), modules=(ModuleRow("shop", schedule=CRON),))
    kind, job_id = apply(deployment)["shop"]
    assert kind == "create"
    assert kinds(deployment) == {"shop": "unchanged"}
    run_sql(deployment, "UPDATE x.y.etl_control SET execution_order = 2 WHERE source_id = 'load'")
    assert apply(deployment)["shop"] == ("update", job_id)
    put(deployment, source("shop", "report", "select 2 as x", order=3))
    assert apply(deployment)["shop"] == ("update", job_id)
    run_sql(deployment, "UPDATE etl_control SET is_active = false")
    assert apply(deployment)["shop"] == ("pause", job_id)
    assert kinds(deployment) == {"shop": "unchanged"}
    run_sql(deployment, "UPDATE etl_control SET is_active = true WHERE source_id = 'load'")
    assert apply(deployment)["shop"] == ("resume", job_id)
    job = deployment.backend.find(str(job_id))
    assert job is not None
    assert [task["task_key"] for task in job.settings["tasks"]] == ["load"]
    assert not job.is_paused


def test_one_bad_row_blocks_its_module_only_and_its_last_good_job_stays(deployment: Deployment) -> None:
    put(deployment, *(source(f"m{number}") for number in range(10)))
    before = apply(deployment)
    jobs = {job.job_id: job for job in deployment.backend.list()}
    statement = """UPDATE etl_control SET transformation_config = '{"task_type": "sql_qery"}' WHERE module_name = 'm3'"""
    with pytest.raises(Invalid, match=r"m3.load: transformation_config.task_type: .*did you mean 'sql_query'"):
        run_sql(deployment, statement)
    put(deployment, replace(source("m3"), transformation_config='{"task_type": "sql_qery"}'))  # as somebody else's Spark would
    put(deployment, *(source(f"m{number}", query="select 3 as x") for number in range(10) if number != 3))
    plan = deployment.plan()
    blocked = next(action for action in plan.actions if action.module_name == "m3")
    assert blocked.kind == "blocked"
    assert "m3.load" in blocked.reason
    assert "transformation_config" in blocked.reason
    done = deployment.apply(plan)
    assert sum(each.error is None for each in done) == 9
    assert deployment.backend.find(str(before["m3"][1])) == jobs[str(before["m3"][1])]
    put(deployment, source("m3", query="select 4 as x"))
    assert apply(deployment)["m3"][1] == before["m3"][1]


def test_a_plan_that_is_no_longer_current_is_refused(deployment: Deployment) -> None:
    put(deployment, source("shop"))
    plan = deployment.plan()
    put(deployment, source("other"))
    with pytest.raises(Conflict, match="the plan is no longer current"):
        deployment.apply(plan)
    assert deployment.backend.list() == []


def test_a_job_that_somebody_deleted_is_made_again_and_one_lost_sight_of_is_adopted(deployment: Deployment, ledger: Ledger) -> None:
    put(deployment, source("shop"))
    first = apply(deployment)["shop"][1]
    deployment.backend.delete(str(first))
    kind, second = apply(deployment)["shop"]
    assert (kind, second != first) == ("recreate", True)
    with ledger.store.write() as tx:
        from lakeledger.jobs import tracking

        assert tracking.remove(tx, deployment.table.identity, "shop", "local")
    assert apply(deployment)["shop"] == ("adopt", second)
    assert kinds(deployment) == {"shop": "unchanged"}


def test_what_somebody_set_by_hand_stays_and_what_both_changed_needs_a_decision(deployment: Deployment, ledger: Ledger) -> None:
    put(deployment, source("shop"), modules=(ModuleRow("shop", schedule=CRON, timeout_seconds=60),))
    job_id = str(apply(deployment)["shop"][1])
    LocalBackend(ledger.store, "ann").pause(job_id)
    (action,) = deployment.plan().actions
    assert (action.kind, [change.name for change in action.changes]) == ("unchanged", ["schedule.pause_status"])
    put(deployment, modules=(ModuleRow("shop", schedule=CRON, timeout_seconds=90),))
    assert apply(deployment)["shop"][0] == "update"
    job = deployment.backend.find(job_id)
    assert job is not None
    assert (job.is_paused, job.settings["timeout_seconds"]) == (True, 90)


def test_a_module_that_is_gone_is_paused_and_removed_when_told(deployment: Deployment) -> None:
    put(deployment, source("shop"), modules=(ModuleRow("shop", schedule=CRON),))
    job_id = apply(deployment)["shop"][1]
    run_sql(deployment, "DELETE FROM etl_control WHERE module_name = 'shop'")
    assert apply(deployment)["shop"] == ("pause", job_id)
    assert apply(deployment, prune=True)["shop"] == ("remove", job_id)
    assert deployment.backend.list() == []
    put(deployment, source("shop"))
    assert apply(deployment)["shop"][0] in ("create", "recreate")


def test_of_two_who_apply_at_once_one_waits_or_finds_nothing_left(deployment: Deployment) -> None:
    put(deployment, *(source(f"m{number}") for number in range(5)))

    def work(_: int) -> int:
        try:
            return sum(each.action.kind == "create" for each in deployment.apply(deployment.plan()))
        except Conflict:
            return 0

    together(work, 3)
    apply(deployment)
    assert sorted(job.module_name or "" for job in deployment.backend.list()) == [f"m{number}" for number in range(5)]


def test_the_seeds_classes_do_it_all(ledger: Ledger, tmp_path: Path) -> None:
    control_table = str(tmp_path / "etl_control")
    document = tmp_path / "metadata_examples.yaml"
    document.write_text(
        "modules: [{module_name: module1, sources: [{source_id: one, source_type: sql, target_config: {table: one},"
        " transformation_config: {sql_task: {sql_query: select 1 as x}}}]}]",
        encoding="utf-8",
    )
    manager = MetadataManager(control_table, ledger=ledger)
    manager.load_yaml(document)
    found = manager.detect_changes(last_check_timestamp=None)
    assert (found["new_modules"], found["updated_modules"], found["deactivated_modules"]) == (["module1"], [], [])
    assert len(found["changed_sources"]) == 1
    version = found["version"]
    orchestrator = JobOrchestrator(control_table, ledger=ledger)
    (first,) = orchestrator.run_all_modules()
    (again,) = orchestrator.run_all_modules(yaml_path=document, sync_yaml=True)
    assert (first.action.kind, again.action.kind, first.job_id) == ("create", "unchanged", again.job_id)
    assert manager.detect_changes(since_version=version)["changed_sources"] == []
    assert [run["pipeline_id"] for run in rows(ledger, "select pipeline_id from pipeline_runs")] == ["apply:etl_control"]


@pytest.mark.parametrize("name", ["", " ", ".", "./", "..", "/"])
@pytest.mark.parametrize("is_in_settings", [False, True])
def test_the_folder_of_the_project_is_no_control_table(ledger: Ledger, name: str, is_in_settings: bool) -> None:
    settings = replace(ledger.settings, control=replace(ledger.settings.control, table=name)) if is_in_settings else ledger.settings
    given = SimpleNamespace(store=ledger.store, worker=ledger.worker, settings=settings)
    with pytest.raises(Invalid, match=r"is empty|cannot be empty|is no control table but the folder of the project: name one within it"):
        open_control(None if is_in_settings else name, given)


# What is left to read


@pytest.mark.parametrize("words", [{"control_table": ""}, {"backend": " "}, {"ledger": ""}])
@pytest.mark.parametrize("facade", [MetadataManager, JobOrchestrator])
def test_an_empty_name_is_not_taken_for_the_one_in_the_settings(ledger: Ledger, facade: Any, words: dict[str, str]) -> None:
    with pytest.raises(Invalid, match="cannot be empty"):
        facade(**{"ledger": ledger, **words})
    with pytest.raises(Invalid, match="ledger is a object, which is neither the URL of a ledger nor an open one"):
        facade("control", ledger=object())


def test_the_jobs_table_follows_every_apply(deployment: Deployment) -> None:
    put(deployment, source("shop"), source("stock"))
    done = apply(deployment)
    assert {row["module_name"]: row["job_id"] for row in jobs_table(deployment)} == {name: job_id for name, (_, job_id) in done.items()}
    run_sql(deployment, "UPDATE etl_control SET is_active = false WHERE module_name = 'stock'")
    apply(deployment)
    assert {row["module_name"]: row["state"] for row in jobs_table(deployment)} == {"shop": "active", "stock": "paused"}


def test_an_apply_whose_jobs_table_cannot_be_written_says_so_and_the_next_one_writes_it(deployment: Deployment) -> None:
    put(deployment, source("shop"))
    blocked = Path(f"{deployment.table.location}_jobs")
    blocked.write_text("a file in the way")
    with pytest.raises(Failed, match="the jobs are as planned, but etl_control_jobs does not say so"):
        apply(deployment)
    blocked.unlink()
    assert apply(deployment)["shop"][0] == "unchanged"
    assert [row["module_name"] for row in jobs_table(deployment)] == ["shop"]


def test_a_stale_plan_names_what_moved_and_the_modules_it_concerns(deployment: Deployment) -> None:
    put(deployment, source("shop"), source("stock"))
    plan = deployment.plan()
    run_sql(deployment, "UPDATE etl_control SET execution_order = 7 WHERE module_name = 'stock'")
    with pytest.raises(Conflict, match=r"has moved on from version 1 \(stock\); look at a new one"):
        deployment.apply(plan)


def test_the_audit_tells_who_changed_which_row_and_what_became_of_which_job(deployment: Deployment, ledger: Ledger) -> None:
    put(deployment, source("shop"), source("stock"))
    job_id = apply(deployment)["shop"][1]
    run_sql(deployment, "UPDATE etl_control SET execution_order = 7 WHERE module_name = 'shop'")
    apply(deployment)
    apply(deployment)  # nothing to do: nothing to tell
    assert len(ledger.runs.list()) == 2
    found = audit.entries(deployment.table, ledger.store)
    assert [(entry.operation, entry.version) for entry in found] == [
        ("APPLY", 2),
        ("EDIT", 2),
        ("APPLY", 1),
        ("EDIT", 1),
        ("CREATE TABLE", 0),
    ]
    assert [entry.by for entry in found[:4]] == [user_name(), "ann", user_name(), "ann"]
    applied, edited, first, _, _ = found
    assert [(change["module_name"], change["action"], change["job_id"]) for change in applied.changes] == [("shop", "update", job_id)]
    (change,) = edited.changes
    assert change["fields"] == [{"field": "execution_order", "before": 1, "after": 7}]
    assert [change["module_name"] for change in first.changes] == ["shop", "stock"]
    about_stock = audit.entries(deployment.table, ledger.store, module="stock")
    assert [(entry.operation, len(entry.changes)) for entry in about_stock] == [("APPLY", 1), ("EDIT", 1)]
    first_page = audit.entries(deployment.table, ledger.store, limit=2)
    apply(deployment)
    run_sql(deployment, "UPDATE etl_control SET execution_order = 8 WHERE module_name = 'shop'")
    second = audit.entries(deployment.table, ledger.store, limit=2, after=first_page.next)
    third = audit.entries(deployment.table, ledger.store, limit=2, after=second.next)
    assert ([*first_page, *second, *third], third.next) == (found, None)
    page = audit.entries(deployment.table, ledger.store, limit=1, module="stock")
    assert [*page, *audit.entries(deployment.table, ledger.store, module="stock", after=page.next)] == about_stock


def test_the_history_of_the_table_goes_on_where_its_page_ended(deployment: Deployment) -> None:
    put(deployment, source("shop"), modules=(ModuleRow("shop", "one"),))
    for order in (2, 3):
        run_sql(deployment, f"UPDATE etl_control SET execution_order = {order} WHERE module_name = 'shop'")
    DeltaTable(f"{deployment.table.location}_modules").update(new_values={"description": "by hand"})
    everything = audit.commits(deployment.table, 100)
    assert everything.next is None
    assert {commit.table for commit in everything} == {deployment.table.name, f"{deployment.table.name}_modules"}
    page = audit.commits(deployment.table, 1)
    found = [*page]
    while page.next:
        page = audit.commits(deployment.table, 1, page.next)
        found += page
    assert found == everything


class Counting(DeltaControlTable):
    """Counts how often a version of the table is read."""

    reads = 0

    def read(self, version: int | None = None) -> Snapshot:
        self.reads += 1
        return super().read(version)


def test_the_audit_of_a_module_does_not_read_versions_that_are_about_others(deployment: Deployment, ledger: Ledger) -> None:
    put(deployment, source("shop"), source("stock"))
    apply(deployment)
    for order in range(2, 12):
        run_sql(deployment, f"UPDATE etl_control SET execution_order = {order} WHERE module_name = 'shop'")
    apply(deployment)
    table = Counting(deployment.table.location)
    found = audit.entries(table, ledger.store, module="stock")
    assert [(entry.operation, entry.version) for entry in found] == [("APPLY", 1), ("EDIT", 1)]
    assert table.reads <= 4
    assert len(audit.entries(deployment.table, ledger.store, module="shop", limit=100)) == 13


def test_the_audit_of_a_module_tells_what_was_done_by_others_than_us(deployment: Deployment, ledger: Ledger) -> None:
    put(deployment, source("shop"), source("stock"))
    DeltaTable(deployment.table.location).update(new_values={"execution_order": "7"}, predicate="module_name = 'stock'")
    run_sql(deployment, "UPDATE etl_control SET execution_order = 3 WHERE module_name = 'shop'")
    found = audit.entries(deployment.table, ledger.store, module="stock")
    assert [(entry.operation, entry.version) for entry in found] == [("UPDATE", 2), ("EDIT", 1)]


def test_what_somebody_changed_in_the_modules_table_alone_is_not_told_of_who_came_next(deployment: Deployment, ledger: Ledger) -> None:
    put(deployment, source("shop"), modules=(ModuleRow("shop", "one"),))
    modules = f"{deployment.table.location}_modules"
    for text in ("two", "three"):
        DeltaTable(modules).update(new_values={"description": text})
        if text == "two":
            run_sql(deployment, "UPDATE etl_control SET execution_order = 7")
    newest, edit, other, *_ = audit.entries(deployment.table, ledger.store)
    assert [entry.operation for entry in (newest, edit, other)] == ["UPDATE", "EDIT", "UPDATE"]
    assert [[field["after"] for change in entry.changes for field in change["fields"]] for entry in (newest, edit, other)] == [
        ["three"],
        [7],
        ["two"],
    ]


def test_plans_audit_and_run_log_show_no_password(deployment: Deployment, ledger: Ledger) -> None:
    def secret(word: str) -> ModuleRow:
        return ModuleRow("shop", parameters=json.dumps({"url": f"postgresql://ann:{word}@host/db", "db_password": word}))

    put(deployment, source("shop"), modules=(secret("c4nary-p4ss"),))
    apply(deployment)
    put(deployment, source("shop"), modules=(secret("c4nary-n3w"),))
    plan = deployment.plan()
    apply(deployment)
    told = [entry.to_dict() for entry in audit.entries(deployment.table, ledger.store)]
    steps = [step for run in ledger.runs.list() for step in ledger.runs.steps(run.id)]
    words = plan.actions[0].words()
    assert "parameters.db_password.default changes from *** to ***" in words
    for shown in (words, told, steps, scrub_value(plan.to_dict())):
        assert "db_password" in str(shown)
        assert "c4nary" not in str(shown)


def jobs_table(deployment: Deployment) -> list[dict[str, Any]]:
    found = pa.table(DeltaTable(f"{deployment.table.location}_jobs").scan()).to_pylist()
    return sorted(found, key=lambda row: str(row["module_name"]))


@pytest.mark.parametrize("was_paused", [False, True])
def test_a_schedule_that_was_set_by_hand_goes_on_when_the_module_does_unless_somebody_paused_it(
    deployment: Deployment, was_paused: bool
) -> None:
    put(deployment, source("shop"))
    job_id = str(apply(deployment)["shop"][1])
    by_hand = {**json.loads(CRON), "timezone_id": "UTC", "pause_status": "PAUSED" if was_paused else "UNPAUSED"}
    deployment.backend.update(job_id, JobSpec("shop", {"schedule": by_hand}))
    for is_active in ("false", "true"):
        run_sql(deployment, f"UPDATE etl_control SET is_active = {is_active}")
        apply(deployment)
        assert is_paused(deployment, job_id) is (was_paused or is_active == "false")
    assert kinds(deployment) == {"shop": "unchanged"}


def is_paused(deployment: Deployment, job_id: str) -> bool:
    job = deployment.backend.find(job_id)
    assert job is not None
    return job.is_paused


def test_a_plan_reads_on_only_where_rows_or_jobs_changed_and_finds_the_same(deployment: Deployment) -> None:
    put(deployment, source("shop"), source("stock"), modules=(ModuleRow("shop", schedule=CRON),))
    job_id = str(apply(deployment)["shop"][1])
    assert [action.spec for action in deployment.plan().actions] == [None, None]
    put(deployment, source("shop", "off", active=False))
    changed, other = deployment.plan().actions
    assert (changed.kind, changed.spec is not None, other.spec) == ("unchanged", True, None)
    apply(deployment)
    assert [action.spec for action in deployment.plan().actions] == [None, None]
    deployment.backend.update(job_id, JobSpec("shop", {"timeout_seconds": 7}))
    changed, _ = deployment.plan().actions
    assert [change.side for change in changed.changes] == []  # a field that we never set is theirs alone
    deployment.backend.update(job_id, JobSpec("shop", {"schedule": {"timezone_id": "Europe/Berlin"}}))
    changed, _ = deployment.plan().actions
    assert [(change.name, change.side) for change in changed.changes] == [("schedule.timezone_id", "theirs")]


def test_a_plan_warns_of_secrets_in_clear_where_something_is_to_be_done(deployment: Deployment) -> None:
    def settings(password: str) -> ModuleRow:
        return ModuleRow("shop", parameters=json.dumps({"url": f"postgresql://ann:{password}@host/db", "day": "today"}))

    put(deployment, source("shop"), source("stock"), modules=(settings("hunter2"),))
    (warning,) = deployment.plan().warnings
    assert warning.startswith("shop: parameters.url holds a secret in clear")
    apply(deployment)
    assert deployment.plan().warnings == ()
    put(deployment, source("shop", "new"), modules=(settings("{{env.DB_PASSWORD}}"),))
    assert deployment.plan().warnings == ()


def test_a_job_follows_the_folder_of_the_settings(deployment: Deployment, ledger: Ledger) -> None:
    put(deployment, source("shop"))
    job_id = apply(deployment)["shop"][1]
    moved = Deployment(ledger.store, ledger.worker, deployment.table, deployment.backend, "/moved")
    assert moved.plan().actions[0].words() == [f"update job {job_id}: its paths begin at /moved now"]
    assert apply(moved) == {"shop": ("update", job_id)}
    assert kinds(moved) == {"shop": "unchanged"}


def test_what_people_set_while_an_apply_works_is_never_overwritten(deployment: Deployment, ledger: Ledger) -> None:
    put(deployment, source("a"), source("b"), modules=tuple(ModuleRow(name, schedule=CRON) for name in "ab"))
    first = {name: str(job_id) for name, (_, job_id) in apply(deployment).items()}
    put(deployment, *(source(name, query="select 2 as x") for name in "ab"))

    def person(done: Applied) -> None:
        if done.module_name == "a":
            by_hand = LocalBackend(ledger.store, "ann")
            by_hand.update(first["b"], JobSpec("b", {"max_concurrent_runs": 7, "description": "kept by ops"}))
            by_hand.pause(first["b"])

    done = {each.module_name: each.error for each in deployment.apply(deployment.plan(), progress=person)}
    assert done["a"] is None
    assert "was changed by hand since it was planned (max_concurrent_runs, schedule.pause_status)" in str(done["b"])
    assert by_hand(deployment, first["b"]) == (7, "kept by ops", True)
    assert apply(deployment)["b"] == ("update", first["b"])
    assert by_hand(deployment, first["b"]) == (7, "kept by ops", True)
    assert kinds(deployment) == {"a": "unchanged", "b": "unchanged"}


def test_what_is_not_ours_may_change_while_an_apply_works(deployment: Deployment) -> None:
    put(deployment, source("a"), source("b"))
    job_id = str(apply(deployment)["b"][1])
    put(deployment, *(source(name, query="select 2 as x") for name in "ab"))

    def person(done: Applied) -> None:
        if done.module_name == "a":
            deployment.backend.update(job_id, JobSpec("b", {"description": "kept by ops"}))

    assert [each.error for each in deployment.apply(deployment.plan(), progress=person)] == [None, None]
    assert by_hand(deployment, job_id) == (1, "kept by ops", False)


@pytest.mark.parametrize("prune", [False, True])
def test_a_job_that_people_changed_since_the_plan_is_neither_paused_nor_removed(deployment: Deployment, prune: bool) -> None:
    put(deployment, source("a"), source("b"), modules=tuple(ModuleRow(name, schedule=CRON) for name in "ab"))
    job_id = str(apply(deployment)["b"][1])
    run_sql(deployment, "DELETE FROM etl_control")

    def person(done: Applied) -> None:
        if done.module_name == "a":
            deployment.backend.update(job_id, JobSpec("b", {"schedule": {"timezone_id": "Asia/Tokyo"}}))

    _, done = deployment.apply(deployment.plan(prune=prune), prune=prune, progress=person)
    assert "changed by hand since it was planned (schedule.timezone_id)" in str(done.error)
    assert not is_paused(deployment, job_id)
    assert apply(deployment, prune=prune)["b"] == ("remove" if prune else "pause", job_id)


@pytest.mark.parametrize("by_hand", [{"schedule": {"timezone_id": "Asia/Tokyo"}}, {"description": "ops uses it"}])
def test_a_plan_does_not_remove_a_job_that_was_changed_since(deployment: Deployment, by_hand: dict[str, Any], tmp_path: Path) -> None:
    put(deployment, source("shop"), modules=(ModuleRow("shop", schedule=CRON),))
    job_id = str(apply(deployment)["shop"][1])
    deployment.table.commit(Edit({("shop", "load"): None}, {"shop": None}), deployment.table.read(), "ann")
    write_plan(tmp_path / "plan.json", deployment.plan(prune=True), Choices(prune=True))
    kept, _ = read_plan(str(tmp_path / "plan.json"))
    assert kept.digest == deployment.plan(prune=True).digest
    deployment.backend.update(job_id, JobSpec("shop", by_hand))
    with pytest.raises(Conflict, match=r"the plan is no longer current: something changed on local .*\(shop\)"):
        deployment.apply(kept, prune=True)
    assert deployment.backend.find(job_id)
    assert apply(deployment, prune=True)["shop"] == ("remove", job_id)


@pytest.mark.parametrize(
    ("by_hand", "is_whole", "told"),
    [
        ({"tasks": [{"task_key": "two", "timeout_seconds": 77}]}, False, "tasks.two.timeout_seconds"),
        (
            {"tasks": [{"task_key": "one", "python_wheel_task": {"named_parameters": {"a": "1"}}}]},
            False,
            "tasks.one.python_wheel_task.named_",
        ),
        ({"description": "kept by ops"}, True, "description"),
    ],
)
def test_nothing_that_people_add_during_an_apply_goes_with_what_is_removed(
    deployment: Deployment, by_hand: dict[str, Any], is_whole: bool, told: str
) -> None:
    put(deployment, source("a"), source("b", "one"), source("b", "two"))
    job_id = str(apply(deployment)["b"][1])
    one = SourceRow("one", "b", "notebook", 1, "{}", "{}", '{"notebook_path": "/etl/one"}', True)
    sources: dict[Any, Any] = {("a", "load"): None, ("b", "two"): None, ("b", "one"): None if is_whole else one}
    deployment.table.commit(Edit(sources), deployment.table.read(), "ann")

    def person(done: Applied) -> None:
        if done.module_name == "a":
            deployment.backend.update(job_id, JobSpec("b", by_hand))

    _, done = deployment.apply(deployment.plan(prune=True), prune=True, progress=person)
    assert f"job {job_id} was changed by hand since it was planned ({told}" in str(done.error)
    assert apply(deployment, prune=True)["b"] == ("remove" if is_whole else "update", job_id)


def by_hand(deployment: Deployment, job_id: str) -> tuple[Any, ...]:
    job = deployment.backend.find(job_id)
    assert job is not None
    return job.settings["max_concurrent_runs"], job.settings["description"], job.is_paused


def test_a_query_that_is_saved_on_databricks_blocks_its_module_here(deployment: Deployment) -> None:
    saved = json.dumps({"task_type": "sql_query", "sql_task": {"query_id": "12ab", "warehouse_id": "0a1b"}})
    put(deployment, replace(source("shop"), transformation_config=saved), source("stock"))
    blocked, other = deployment.plan().actions
    assert (blocked.kind, other.kind) == ("blocked", "create")
    assert "shop.load: sql_task.query_id '12ab' is a query saved on Databricks, which the local backend cannot run" in blocked.reason


def test_a_source_of_type_notebook_becomes_a_task(deployment: Deployment) -> None:
    book = json.dumps({"task_type": "notebook", "notebook_path": "/etl/book"})
    put(deployment, SourceRow("load", "shop", "notebook", 1, "{}", "{}", book, True))
    job_id = apply(deployment)["shop"][1]
    assert notebooks(deployment, job_id or "") == [{"notebook_path": "/etl/book", "base_parameters": {}}]


def notebooks(deployment: Deployment, job_id: str) -> list[Any]:
    job = deployment.backend.find(job_id)
    assert job is not None
    return [task["notebook_task"] for task in job.settings["tasks"]]


def test_a_notification_that_the_backend_cannot_send_blocks_its_module_until_it_is_taken_out(deployment: Deployment) -> None:
    put(deployment, source("shop"), source("stock"), modules=(ModuleRow("shop", timeout_seconds=60),))
    job_id = apply(deployment)["shop"][1]
    asks = ModuleRow("shop", timeout_seconds=90, notifications='{"on_failure": ["ops@example.com"]}')
    put(deployment, modules=(asks,))
    blocked, other = deployment.plan().actions
    assert (blocked.kind, other.kind) == ("blocked", "unchanged")
    assert "shop: notifications.on_failure: the local backend sends no e-mail; take notifications out of the module" in blocked.reason
    put(deployment, source("shop", active=False))  # nobody is to be told of a module that does not run
    assert apply(deployment)["shop"] == ("pause", job_id)
    put(deployment, source("shop"), modules=(replace(asks, notifications="{}"),))
    assert apply(deployment)["shop"] == ("resume", job_id)


# Two who apply, one of them stopped for so long that the other took over


class Stopped(LocalBackend):
    """The jobs of a process that is stopped right before it makes a job, for as long as somebody else needs to take over."""

    def __init__(self, ledger: Ledger, meanwhile: Callable[[], object]) -> None:
        super().__init__(ledger.store, "stopped")
        self.__dict__["meanwhile"] = meanwhile

    def create(self, spec: JobSpec, seen: Container[str] = ()) -> Job:
        if meanwhile := self.__dict__.pop("meanwhile", None):
            meanwhile()
        return super().create(spec, seen)


def stopped(deployment: Deployment, ledger: Ledger, meanwhile: Callable[[], object]) -> Deployment:
    """The same control table in a process that loses its lease in the middle of an apply, and what happens until it goes on."""

    def lose() -> None:
        (run,) = ledger.runs.list(status="RUNNING")
        execute(ledger, "update pipeline_runs set worker_instance = 'gone:1', instance_id = 'gone' where status = 'RUNNING'")
        expire_lease(ledger, run.id)
        meanwhile()

    return Deployment(ledger.store, ledger.worker, deployment.table, Stopped(ledger, lose), deployment.base)


def test_an_apply_that_was_taken_over_makes_no_second_job(deployment: Deployment, ledger: Ledger) -> None:
    put(deployment, source("a"), source("b"))
    late = stopped(deployment, ledger, lambda: apply(deployment))
    with pytest.raises(Fenced, match="b: create: somebody else took over this apply"):
        late.apply(late.plan())
    assert [job.module_name for job in deployment.backend.list()] == ["a", "b"]
    assert {job.job_id for job in deployment.backend.list()} == {job.job_id for job in deployment.jobs()}
    assert kinds(deployment) == {"a": "unchanged", "b": "unchanged"}


def test_an_apply_that_was_taken_over_notes_nothing_and_what_it_made_is_told(deployment: Deployment, ledger: Ledger) -> None:
    put(deployment, source("a"))

    def take_over_and_rename() -> None:
        job_id = apply(deployment)["a"][1]
        deployment.backend.update(str(job_id), JobSpec("a", {"name": "renamed by ops"}))

    late = stopped(deployment, ledger, take_over_and_rename)
    with pytest.raises(Fenced, match="a: create: somebody else took over this apply, and what it did here is not noted"):
        late.apply(late.plan())
    (followed,) = deployment.jobs()
    (extra,) = [job.job_id for job in deployment.backend.list() if job.job_id != followed.job_id]
    told = f"module a has another job, {extra}, which nobody follows: `lakeledger jobs delete {extra} --apply` deletes it"
    assert deployment.plan().warnings == (told,)
    deployment.backend.delete(extra)
    assert deployment.plan().warnings == ()
