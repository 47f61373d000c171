"""The guide of metadata management, statement by statement: change detection, update in place, and every answer of its FAQ."""

from __future__ import annotations

import json
from collections.abc import Container
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from acceptance.seeding import INSERT, SCHEDULE, Control, document, done, insert
from contract.making import together
from integration.commands import answer
from lakeledger import Conflict, Invalid, LakeledgerError, Ledger, NotFound
from lakeledger.control import JobOrchestrator, MetadataManager, MetadataMonitor, export
from lakeledger.control.rows import modules_of
from lakeledger.jobs import Job, JobSpec
from lakeledger.jobs.local import LocalBackend
from lakeledger.jobs.scheduler import Scheduler

# Change detection


def test_change_detection_has_the_shape_of_the_document(control: Control) -> None:
    control.sql(insert("one", "module1"))
    changes = control.manager.detect_changes(last_check_timestamp=None)
    assert {name: changes[name] for name in ("new_modules", "updated_modules", "deactivated_modules")} == {
        "new_modules": ["module1"],
        "updated_modules": [],
        "deactivated_modules": [],
    }
    assert changes["changed_sources"] == [{"change": "new", "module_name": "module1", "source_id": "one"}]


@pytest.mark.parametrize("by", ["time", "version"])
def test_changes_since_a_check_are_new_updated_deactivated_and_deleted(control: Control, by: str) -> None:
    control.sql(*(insert("one", f"module{number}") for number in range(1, 5)))
    version = control.manager.detect_changes()["version"]
    since: dict[str, Any] = {"last_check_timestamp": datetime.now(UTC)} if by == "time" else {"since_version": version}
    control.sql(
        insert("one", "module5"),
        "UPDATE etl_control SET execution_order = 2 WHERE module_name = 'module2'",
        "UPDATE etl_control SET is_active = false WHERE module_name = 'module3'",
        "DELETE FROM etl_control WHERE module_name = 'module4'",
    )
    changes = control.manager.detect_changes(**since)
    assert changes["new_modules"] == ["module5"], "a module that comes after the first check is new, not updated"
    assert changes["updated_modules"] == ["module2"]
    assert changes["deactivated_modules"] == ["module3"]
    assert changes["deleted_modules"] == ["module4"]
    assert [(each["module_name"], each["change"]) for each in changes["changed_sources"]] == [
        ("module2", "updated"),
        ("module3", "deactivated"),
        ("module4", "deleted"),
        ("module5", "new"),
    ]


def test_an_edit_between_two_checks_is_never_lost(control: Control) -> None:
    """Whoever goes on from the version of the last answer sees each edit exactly once, whenever it was made."""
    found = control.manager.detect_changes()
    seen: list[str] = list(found["new_modules"])
    for number in range(10):
        control.sql(insert("one", f"module{number}"))
        if number % 3 == 0:  # some edits are checked at once, others together
            found = control.manager.detect_changes(since_version=found["version"])
            seen += found["new_modules"]
    assert seen == [f"module{number}" for number in range(10)]


def test_an_edit_that_is_made_while_jobs_are_applied_is_not_taken_for_done(control: Control, tmp_path: Path) -> None:
    class Busy(LocalBackend):
        """Somebody edits the table while the first job is made."""

        def create(self, spec: JobSpec, seen: Container[str] = ()) -> Job:
            if spec.module_name == "a":
                control.sql(insert("one", "late"))
            return super().create(spec, seen)

    monitor = MetadataMonitor(control.table, None, 60, ledger=control.ledger, backend=Busy(control.ledger.store, "ann"))
    control.sql(insert("one", "a"))
    planned = control.manager.detect_changes()["version"]
    assert done(monitor.check().applied) == {"a": "create"}
    assert monitor.cursor() == planned
    assert control.manager.detect_changes(since_version=monitor.cursor())["new_modules"] == ["late"]
    assert done(monitor.check().applied) == {"a": "unchanged", "late": "create"}


def test_an_edit_in_the_same_millisecond_as_the_check_is_told_again_rather_than_missed(control: Control) -> None:
    control.sql(insert("a", "one"))
    at = control.manager.deployment.table.history(1)[0].at
    assert control.manager.detect_changes(at + timedelta(microseconds=999))["new_modules"] == ["one"]
    assert control.manager.detect_changes(at + timedelta(milliseconds=1))["new_modules"] == []


def test_a_time_may_be_a_text_or_of_any_zone(control: Control) -> None:
    control.sql(insert("a", "one"))
    after = control.manager.deployment.table.history(1)[0].at + timedelta(seconds=1)
    tokyo = after.astimezone(timezone(timedelta(hours=9)))
    expected = control.manager.detect_changes(after)
    for same in (tokyo, after.isoformat(), after.isoformat().replace("+00:00", "Z"), tokyo.isoformat()):
        assert control.manager.detect_changes(same) == expected
    long_ago = control.manager.detect_changes("2020-01-01T00:00:00Z")
    assert "one" in long_ago["new_modules"]


def test_a_time_that_is_none_or_lies_before_all_that_is_known_is_refused(control: Control) -> None:
    for wrong in ("2026-01-01", "yesterday", datetime(2026, 1, 1)):  # noqa: DTZ001 - as somebody might
        with pytest.raises(Invalid, match="2026-01-31T12:00:00Z"):
            control.manager.detect_changes(wrong)
    control.sql(insert("a", "one"), insert("b", "one"))
    DeltaTable(control.table).create_checkpoint()
    for entry in sorted(Path(control.table, "_delta_log").glob("*.json"))[:-1]:
        entry.unlink()
    with pytest.raises(NotFound, match="its history begins at"):
        control.manager.detect_changes(datetime(2020, 1, 1, tzinfo=UTC))


def test_an_error_is_never_reported_as_no_changes(control: Control) -> None:
    control.sql(insert("one"))
    with pytest.raises(Invalid, match="needs a time with a time zone"):
        control.manager.detect_changes(last_check_timestamp=datetime(2026, 1, 1))  # noqa: DTZ001 - a naive time is what is refused
    with pytest.raises(NotFound):
        control.manager.detect_changes(since_version=99)
    with pytest.raises(NotFound, match="no control table at"):
        MetadataManager(str(control.folder / "nowhere"), ledger=control.ledger).detect_changes()
    for file in Path(control.table).glob("*.parquet"):
        file.unlink()
    with pytest.raises(LakeledgerError, match=r"cannot be read or written|cannot read or write"):
        control.manager.detect_changes()


# Update in place


def test_update_in_place_keeps_the_id_the_runs_the_settings_and_the_schedule(control: Control) -> None:
    control.sql(insert("one", "shop"))
    assert control.run() == {"shop": "create"}
    job_id = control.jobs()["shop"]
    by_hand = {"schedule": SCHEDULE, "max_retries": 3, "queue": {"enabled": True}}
    control.backend.update(job_id, JobSpec("shop", by_hand))
    run = control.backend.run_now(job_id)

    control.sql(insert("two", "shop"), "UPDATE etl_control SET execution_order = 2 WHERE source_id = 'two'")
    assert control.run() == {"shop": "update"}
    job = control.job("shop")
    assert (job.job_id, control.jobs()) == (job_id, {"shop": job_id})
    assert [task["task_key"] for task in job.settings["tasks"]] == ["one", "two"]
    assert {name: job.settings[name] for name in by_hand} == by_hand
    assert [each.id for each in control.backend.runs(job_id)] == [run]


def test_the_last_source_switched_off_pauses_the_job_and_its_schedule_goes_on_with_it(control: Control) -> None:
    control.manager.load_yaml(control.write("shop.yaml", document("shop", schedule=SCHEDULE)))
    control.run()
    job_id = control.jobs()["shop"]
    control.sql("UPDATE etl_control SET is_active = false")
    assert control.run() == {"shop": "pause"}
    assert control.job("shop").is_paused
    control.sql("UPDATE etl_control SET is_active = true")
    assert control.run() == {"shop": "resume"}
    assert (control.job("shop").job_id, control.job("shop").is_paused) == (job_id, False)


def test_sources_that_are_called_nearly_the_same_are_tasks_of_their_own(control: Control) -> None:
    control.sql(insert("a-b", "shop").replace("shop_a-b", "one"), insert("a.b", "shop").replace("shop_a.b", "two"))
    assert control.run() == {"shop": "create"}
    keys = [task["task_key"] for task in control.job("shop").settings["tasks"]]
    assert (len(keys), len(set(keys))) == (2, 2)


# Why Delta tables, best practices and migration


def test_the_table_is_versioned_and_says_who_changed_it(control: Control) -> None:
    control.sql(insert("one"))
    version = control.manager.detect_changes()["version"]
    control.sql("DELETE FROM etl_control")
    table = control.manager.deployment.table
    assert set(table.read(version).sources) == {("my_module", "one")}
    newest = table.history()[0]
    assert (bool(newest.by), newest.reason) == (True, "DELETE FROM etl_control")
    table.restore(version, "ann")
    assert set(table.read().sources) == {("my_module", "one")}


def test_many_people_update_different_modules_at_once(control: Control) -> None:
    control.sql(*(insert("one", f"module{number}") for number in range(4)))

    def work(number: int) -> None:
        own = MetadataManager(control.table, ledger=control.ledger)
        for order in range(1, 6):
            own.sql(f"UPDATE etl_control SET execution_order = {order + 1} WHERE module_name = 'module{number}'")

    together(work, 4)
    assert {row.execution_order for row in control.manager.deployment.table.read().sources.values()} == {6}


def test_migration_from_yaml_to_the_table_and_a_backup_back_to_yaml(control: Control) -> None:
    control.manager.load_yaml(control.write("shop.yaml", document("shop", schedule=SCHEDULE)))
    control.sql(insert("two", "shop"), "UPDATE etl_control SET is_active = false WHERE source_id = 'two'")
    text = export.export(modules_of(control.manager.deployment.table.read()).good.values())
    elsewhere = MetadataManager(str(control.folder / "elsewhere/etl_control"), ledger=control.ledger)
    elsewhere.load_yaml(control.write("backup.yaml", text))
    restored = elsewhere.deployment.table.read()
    assert {key: row.is_active for key, row in restored.sources.items()} == {("shop", "one"): True, ("shop", "two"): False}
    assert export.export(modules_of(restored).good.values()) == text


def test_a_backup_is_exported_on_the_command_line(at: list[str], tmp_path: Path) -> None:
    (tmp_path / "shop.yaml").write_text(document("shop"), encoding="utf-8")
    answer("control", "load", "shop.yaml", *at)
    answer("control", "sql", insert("two", "shop"), *at)
    answer("control", "export", "--output", "backup.yaml", *at)
    answer("control", "load", "backup.yaml", "--control", "elsewhere/etl_control", *at)
    first, second = (
        answer("control", "export", "--control", name, *at)["yaml"] for name in ("control/etl_control", "elsewhere/etl_control")
    )
    assert first == second == (tmp_path / "backup.yaml").read_text(encoding="utf-8")


# FAQ


def test_faq_can_i_still_use_yaml_files(control: Control) -> None:
    """Yes! YAML files are fully supported as an ingestion mechanism."""
    for name in ("one.yaml", "below/two.yml"):
        control.write(f"files/{name}", document(Path(name).stem))
    control.manager.load_yaml(control.folder / "files")
    control.sql(insert("three", "three"))
    assert control.run() == {"one": "create", "two": "create", "three": "create"}


def test_faq_what_happens_if_i_update_the_table_directly(control: Control) -> None:
    """Changes are immediately available. Run the orchestrator to update jobs."""
    control.sql(insert("one", "shop"))
    control.run()
    control.sql("UPDATE etl_control SET execution_order = 7")
    somebody_else = MetadataManager(control.table, ledger=control.ledger)
    assert somebody_else.sql("SELECT execution_order FROM etl_control").rows == ((7,),)
    control.sql(insert("two", "shop"))
    assert [task["task_key"] for task in control.job("shop").settings["tasks"]] == ["one"], "jobs wait for the orchestrator"
    assert control.run() == {"shop": "update"}
    tasks = {task["task_key"]: task.get("depends_on") for task in control.job("shop").settings["tasks"]}
    assert tasks == {"one": [{"task_key": "two"}], "two": None}


def test_faq_can_i_use_both_yaml_and_direct_table_updates(control: Control) -> None:
    """Yes, and no care is needed: YAML does not overwrite what somebody changed in the table since; both changed is told, and decided."""
    path = control.write("shop.yaml", document("shop"))
    control.manager.load_yaml(path)
    control.sql(insert("two", "shop"), "UPDATE etl_control SET execution_order = 3 WHERE source_id = 'one'")
    control.run(yaml_path=path, sync_yaml=True)
    assert control.row(("shop", "one")).execution_order == 3
    assert control.row(("shop", "two")).is_active

    control.write("shop.yaml", document("shop", "select 2 as x"))
    before = control.manager.deployment.table.read()
    with pytest.raises(Conflict, match="the file and the table both changed the row"):
        control.run(yaml_path=path, sync_yaml=True)
    assert control.manager.deployment.table.read() == before
    control.manager.load_yaml(path, choose="file")
    row = control.row(("shop", "one"))
    assert (row.execution_order, "select 2" in row.transformation_config) == (1, True)


def test_faq_how_do_i_know_what_changed(control: Control) -> None:
    """Use `MetadataManager.detect_changes()` or query `updated_timestamp` column."""
    control.sql(insert("one", "shop"), insert("two", "shop"))
    found = control.manager.detect_changes()
    ((checked_at,),) = control.manager.sql("SELECT max(updated_timestamp) FROM etl_control").rows
    control.sql("UPDATE etl_control SET execution_order = 4 WHERE source_id = 'two'")
    assert control.manager.detect_changes(since_version=found["version"])["changed_sources"] == [
        {"change": "updated", "module_name": "shop", "source_id": "two"}
    ]
    later = control.manager.sql(f"SELECT source_id FROM etl_control WHERE updated_timestamp > '{checked_at}'")
    assert later.rows == (("two",),)


def test_faq_what_if_i_delete_a_job_manually(control: Control) -> None:
    """Framework will detect it doesn't exist and create a new one, updating the job_id in the tracking table."""
    control.sql(insert("one", "shop"), insert("one", "other"))
    control.run()
    before = control.jobs()
    control.backend.delete(before["shop"])
    assert control.run() == {"shop": "recreate", "other": "unchanged"}
    after = control.jobs()
    assert (after["other"], after["shop"] != before["shop"]) == (before["other"], True)
    assert control.job("shop").job_id == after["shop"]


# The loop closed: table, job, run in the ledger


STEPS = """\
def note(context, word):
    with (context.base / "noted.txt").open("a") as file:
        file.write(word + "\\n")
"""


def test_a_deployed_job_is_run_and_its_run_is_in_the_ledger(at: list[str], ledger: Ledger, tmp_path: Path) -> None:
    (tmp_path / "steps.py").write_text(STEPS, encoding="utf-8")
    (tmp_path / "empty.yaml").write_text(document("other"), encoding="utf-8")
    answer("control", "load", "empty.yaml", *at)
    for order, word in ((2, "second"), (1, "first")):
        task = json.dumps({"task_type": "python", "python_task": {"function": "steps:note", "parameters": {"word": word}}})
        values = f"'{word}', 'shop', 'task', {order}, '{{}}', '{{}}', '{task}', true"
        assert answer("control", "sql", f"INSERT INTO etl_control VALUES ({values})", *at)["inserted"] == 1
    answer("apply", "--yes", *at)
    queued = answer("jobs", "run", "shop", *at)["run_id"]
    (run,) = answer("scheduler", "--once", *at)["runs"]
    assert (run["id"], run["status"]) == (queued, "done")
    assert (tmp_path / "noted.txt").read_text(encoding="utf-8") == "first\nsecond\n"
    logged = ledger.runs.get(run["run_id"])
    assert (logged.pipeline_id, logged.status) == ("shop", "COMPLETED")
    assert {step.step_name: step.status for step in ledger.runs.steps(logged.id)} == {"first": "COMPLETED", "second": "COMPLETED"}


def test_the_sql_task_of_the_document_runs_on_spark_and_fills_its_table(lake: Ledger, tmp_path: Path) -> None:
    manager = MetadataManager(str(tmp_path / "control/etl_control"), ledger=lake)
    manager.create()
    customers = INSERT.replace("new_sql_task", "customers").replace('"data"', '"bronze"')
    manager.sql(customers.replace("SELECT * FROM bronze.customers", "SELECT id FROM range(3)"))
    manager.sql(INSERT.replace("  1,\n", "  2,\n"))
    (made,) = JobOrchestrator(manager.deployment.table.location, ledger=lake).run_all_modules()
    backend = LocalBackend(lake.store, "ann")
    queued = backend.run_now(str(made.job_id))
    scheduler = Scheduler(lake.store, lake.worker, lake.run_job)
    assert scheduler.tick()
    assert scheduler.drain(300)
    run = backend.run(queued)
    assert (run.status, run.reason) == ("done", None)
    assert lake.runs.get(str(run.run_id)).status == "COMPLETED"
    assert lake.read("data.customers").count() == 3
