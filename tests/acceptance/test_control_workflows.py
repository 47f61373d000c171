"""The three workflows of the guide of metadata management: SQL on the table, YAML files, and a folder that is followed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from acceptance.seeding import DEACTIVATE, EXISTING, INSERT, NEW, OLD, SCHEDULE, UPDATE, UPDATE_AS_PRINTED, Control, document, done, insert
from integration.commands import answer, shown
from lakeledger import Conflict, Invalid
from lakeledger.control import MetadataMonitor
from lakeledger.control.monitor import Cycle
from lakeledger.jobs import JobSpec

ROOT = Path(__file__).parents[2]


def test_the_example_says_what_happened_on_both_databases(url: str) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("LAKELEDGER_")}
    command = [sys.executable, str(ROOT / "examples/control.py"), url]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert ran.returncode == 0, ran.stderr
    assert "did you mean 'sql_query'?" in ran.stdout
    assert "second look: billing: create, crm: update" in ran.stdout
    assert "module2 left: hello from" in ran.stdout
    assert ran.stdout.endswith("done\n")
    assert "Traceback" not in ran.stderr


# Workflow 1: direct table updates


def test_workflow_1_the_statements_of_the_document_run_and_then_the_orchestrator_makes_the_job(control: Control) -> None:
    control.sql(insert("existing_source"), insert("old_source"))
    before = {key: control.row(key) for key in (EXISTING, OLD)}
    control.sql(INSERT, UPDATE, DEACTIVATE)

    new, existing, old = (control.row(key) for key in (NEW, EXISTING, OLD))
    assert (new.source_type, new.execution_order, new.source_config, new.is_active) == ("sql", 1, "{}", True)
    assert json.loads(new.target_config) == {"catalog": "bronze", "schema": "data", "table": "customers"}
    assert json.loads(new.transformation_config)["sql_task"]["warehouse_id"] == "abc123"
    assert (existing.execution_order, json.loads(existing.transformation_config)["sql_task"]) == (2, {"sql_query": "SELECT 2 AS x"})
    assert not old.is_active

    assert new.created_timestamp == new.updated_timestamp is not None
    for key, row in ((EXISTING, existing), (OLD, old)):
        assert row.created_timestamp == before[key].created_timestamp
        assert str(row.updated_timestamp) > str(before[key].updated_timestamp)

    assert control.run() == {"my_module": "create"}
    tasks = control.job("my_module").settings["tasks"]
    assert [(task["task_key"], task.get("depends_on")) for task in tasks] == [
        ("new_sql_task", None),
        ("existing_source", [{"task_key": "new_sql_task"}]),
    ]


def test_workflow_1_a_task_left_as_three_dots_is_refused_with_its_row_and_field(control: Control) -> None:
    control.sql(insert("existing_source"))
    before = control.row(EXISTING)
    with pytest.raises(Invalid, match=r"my_module\.existing_source\): transformation_config: not valid JSON"):
        control.manager.sql(UPDATE_AS_PRINTED)
    assert control.row(EXISTING) == before


def test_workflow_1_on_the_command_line(at: list[str], tmp_path: Path) -> None:
    (tmp_path / "first.yaml").write_text(document("other"), encoding="utf-8")
    answer("control", "load", "first.yaml", *at)  # makes the table
    for statement in (insert("existing_source"), insert("old_source"), INSERT, UPDATE, DEACTIVATE):
        assert answer("control", "sql", "-", *at, stdin=statement)["kind"] in ("INSERT", "UPDATE")
    found = answer("control", "sql", "SELECT source_id, execution_order, is_active FROM etl_control WHERE module_name = 'my_module'", *at)
    assert sorted(found["rows"]) == [["existing_source", 2, True], ["new_sql_task", 1, True], ["old_source", 1, False]]
    assert "create: the module has no job yet" in shown("plan", *at)
    results = answer("apply", "--yes", *at)["results"]
    jobs = answer("control", "sql", "SELECT module_name, job_id FROM etl_control_jobs ORDER BY module_name", *at)["rows"]
    assert jobs == [[each["module_name"], each["job_id"]] for each in results]
    answer("control", "sql", UPDATE.replace("execution_order = 2", "execution_order = 5"), *at)
    again = answer("apply", "--yes", *at)["results"]
    assert {each["module_name"]: (each["action"], each["job_id"]) for each in again} == {
        "my_module": ("update", dict(jobs)["my_module"]),
        "other": ("unchanged", dict(jobs)["other"]),
    }


# Workflow 2: YAML file ingestion


def test_workflow_2_yaml_is_loaded_and_then_orchestrated(control: Control) -> None:
    path = control.write("examples/metadata_examples.yaml", document("module1", schedule=SCHEDULE))
    loaded = control.manager.load_yaml(path)
    assert (loaded.changed, loaded.conflicts, loaded.problems) == ([("module1", "one"), ("module1", None)], [], [])
    assert control.run() == {"module1": "create"}
    assert control.job("module1").settings["schedule"]["quartz_cron_expression"] == "0 0 5 * * ?"


def test_workflow_2_the_orchestrator_takes_the_path_itself(control: Control) -> None:
    path = control.write("examples/metadata_examples.yaml", document("module1"))
    assert control.run(yaml_path=path) == {}, "without sync_yaml the file is not read"
    assert control.run(yaml_path=path, sync_yaml=True) == {"module1": "create"}
    control.write("examples/metadata_examples.yaml", document("module1", "select 2 as x"))
    assert control.run(yaml_path=path, sync_yaml=True) == {"module1": "update"}


def test_workflow_2_on_the_command_line(at: list[str], tmp_path: Path) -> None:
    (tmp_path / "metadata_examples.yaml").write_text(document("module1"), encoding="utf-8")
    assert answer("control", "load", "metadata_examples.yaml", *at)["changed"] == [["module1", "one"]]
    (made,) = answer("apply", "--yes", *at)["results"]
    assert (made["action"], answer("jobs", "show", "module1", *at)["job"]["job_id"]) == ("create", made["job_id"])


def test_yaml_that_is_loaded_again_bumps_no_timestamp_and_switches_nothing_on(control: Control) -> None:
    path = control.write("shop.yaml", document("shop"))
    control.manager.load_yaml(path)
    control.sql("UPDATE etl_control SET is_active = false")
    before = control.manager.deployment.table.read()
    assert control.manager.load_yaml(path).snapshot == before
    control.write("shop.yaml", document("shop", "select 2 as x"))
    control.manager.load_yaml(path)
    row = control.row(("shop", "one"))
    assert (row.is_active, "select 2" in row.transformation_config) == (False, True)


def test_another_checkout_of_the_same_files_goes_on_where_the_first_one_was(control: Control) -> None:
    control.manager.load_yaml(control.write("one/shop.yaml", document("shop", timeout_seconds=60)))
    other = control.write("other/shop.yaml", document("shop", "select 2 as x", timeout_seconds=80))
    assert control.manager.load_yaml(other).changed == [("shop", "one"), ("shop", None)]
    assert "select 2" in control.row(("shop", "one")).transformation_config
    control.sql("UPDATE etl_control SET execution_order = 3")
    control.write("other/shop.yaml", document("shop", "select 3 as x", timeout_seconds=80))
    with pytest.raises(Conflict, match="the file and the table both changed the row"):
        control.manager.load_yaml(other)


def test_a_file_prunes_only_what_it_said_itself(control: Control) -> None:
    first, second = (control.write(f"{name}.yaml", document("shop", source_id=name)) for name in "ab")
    for path in (first, second):
        control.manager.load_yaml(path)
    pruned = control.manager.load_yaml(second, prune=True)
    assert (pruned.deleted, sorted(pruned.snapshot.sources)) == ([], [("shop", "a"), ("shop", "b")])
    control.write("b.yaml", document("shop", source_id="c"))
    kept = control.manager.load_yaml(second)
    assert (kept.left, kept.deleted) == ([("shop", "b")], [])
    pruned = control.manager.load_yaml(second, prune=True)
    assert (pruned.deleted, sorted(pruned.snapshot.sources)) == ([("shop", "b")], [("shop", "a"), ("shop", "c")])


def test_rows_of_a_file_that_is_gone_are_deleted_also_if_no_other_can_be_read(control: Control) -> None:
    control.write("files/a.yaml", document("a"))
    control.manager.load_yaml(control.folder / "files")
    (control.folder / "files/a.yaml").unlink()
    control.write("files/bad.yaml", "modules: [")
    found = control.manager.load_yaml(control.folder / "files", prune=True, strict=False)
    assert (found.deleted, len(found.problems)) == ([("a", "one")], 1)
    assert control.manager.deployment.table.read().sources == {}


def test_yaml_that_cannot_be_taken_over_is_refused_and_the_rest_of_it_is_there(control: Control) -> None:
    with pytest.raises(Invalid, match=r"no such file: .*typo\.yaml"):
        control.manager.load_yaml(control.folder / "typo.yaml")
    control.write("files/good.yaml", document("good"))
    control.write("files/bad.yaml", "modules: [")
    with pytest.raises(Invalid, match=r"bad\.yaml:1:"):
        control.manager.load_yaml(control.folder / "files")
    assert control.row(("good", "one")).is_active
    with pytest.raises(Invalid, match=r"bad\.yaml:1:"):
        control.run(yaml_path=control.folder / "files", sync_yaml=True)
    assert control.backend.list() == []
    assert len(control.manager.load_yaml(control.folder / "files", strict=False).problems) == 1
    control.sql("UPDATE etl_control SET execution_order = 3")
    path = control.write("files/good.yaml", document("good", "select 2 as x"))
    with pytest.raises(Conflict) as told:
        control.manager.load_yaml(path)
    assert str(told.value).startswith("good.one: the file and the table both changed the row\n  execution_order was 1;")
    assert [conflict.source_id for conflict in control.manager.load_yaml(path, strict=False).conflicts] == ["one"]


# Workflow 3: volume monitoring


@pytest.fixture
def watched(control: Control) -> Iterator[tuple[MetadataMonitor, list[Cycle]]]:
    """A monitor of a folder called `volume`, and what it saw."""
    cycles: list[Cycle] = []
    (control.folder / "volume").mkdir()
    monitor = MetadataMonitor(
        control_table=control.table,
        volume_path=str(control.folder / "volume"),
        check_interval_seconds=60,
        ledger=control.ledger,
        tell=cycles.append,
        settle_seconds=0,
    )
    yield monitor, cycles
    monitor.close()


def test_workflow_3_files_that_are_added_and_changed_are_synced_in_one_look_and_jobs_updated(
    control: Control, watched: tuple[MetadataMonitor, list[Cycle]]
) -> None:
    monitor, cycles = watched
    control.write("volume/a.yaml", document("a"))
    control.write("volume/b.yaml", document("b"))
    assert monitor.run_continuous(max_iterations=1) == 1
    jobs = control.jobs()
    control.write("volume/a.yaml", document("a", "select 2 as x"))
    control.write("volume/b.yaml", document("b", "select 2 as x"))
    control.write("volume/c.yaml", document("c"))
    monitor.run_continuous(max_iterations=1)
    assert [done(cycle.applied) for cycle in cycles] == [
        {"a": "create", "b": "create"},
        {"a": "update", "b": "update", "c": "create"},
    ]
    assert {name: job_id for name, job_id in control.jobs().items() if name != "c"} == jobs
    control.sql("UPDATE etl_control SET execution_order = 2 WHERE module_name = 'c'")  # the table is followed, too
    monitor.run_continuous(max_iterations=1)
    assert done(cycles[-1].applied) == {"a": "unchanged", "b": "unchanged", "c": "update"}


def test_workflow_3_on_the_command_line(at: list[str], tmp_path: Path) -> None:
    volume = tmp_path / "volume"
    volume.mkdir()
    for name in "ab":
        (volume / f"{name}.yaml").write_text(document(name), encoding="utf-8")
    (cycle,) = answer("monitor", "--folder", "volume", "--iterations", "1", *at)["cycles"]
    assert [(each["module_name"], each["action"]) for each in cycle["applied"]] == [("a", "create"), ("b", "create")]
    assert answer("monitor", "--folder", "volume", "--iterations", "1", *at)["cycles"][0]["imported"] == []


def test_a_monitor_survives_a_table_that_cannot_be_read_and_goes_on_when_it_can(
    control: Control, watched: tuple[MetadataMonitor, list[Cycle]]
) -> None:
    monitor, cycles = watched
    control.write("volume/a.yaml", document("a"))
    monitor.run_continuous(max_iterations=1)
    cursor = monitor.cursor()
    control.write("volume/b.yaml", document("b"))
    for file in Path(control.table).glob("*.parquet"):
        file.rename(file.with_suffix(".away"))
    monitor.run_continuous(max_iterations=1)
    assert any("cannot read or write the control table" in error for error in cycles[-1].errors)
    assert (cycles[-1].applied, monitor.cursor()) == ([], cursor)
    for file in Path(control.table).glob("*.away"):
        file.rename(file.with_suffix(".parquet"))
    monitor.run_continuous(max_iterations=1)
    assert (cycles[-1].errors, done(cycles[-1].applied)) == ([], {"a": "unchanged", "b": "create"})


def test_a_module_that_waits_for_a_decision_does_not_stop_the_others(
    control: Control, watched: tuple[MetadataMonitor, list[Cycle]]
) -> None:
    monitor, cycles = watched
    for name in "ab":
        control.write(f"volume/{name}.yaml", document(name, timeout_seconds=60))
    monitor.run_continuous(max_iterations=1)
    cursor = monitor.cursor()
    control.backend.update(control.jobs()["a"], JobSpec("a", {"timeout_seconds": 70}))
    for name in "ab":
        control.write(f"volume/{name}.yaml", document(name, timeout_seconds=80))
    monitor.run_continuous(max_iterations=1)
    (error,) = cycles[-1].errors
    assert error.startswith("a: changed here and by hand in local: timeout_seconds")
    assert done([each for each in cycles[-1].applied if not each.error]) == {"b": "update"}
    assert [control.job(name).settings["timeout_seconds"] for name in "ab"] == [70, 80]
    assert monitor.cursor() == cursor


def test_the_orchestrator_tells_which_module_waits_for_a_decision_and_updates_the_others(control: Control) -> None:
    for name in "ab":
        control.manager.load_yaml(control.write(f"{name}.yaml", document(name, timeout_seconds=60)))
    control.run()
    control.backend.update(control.jobs()["a"], JobSpec("a", {"timeout_seconds": 70}))
    for name in "ab":
        control.manager.load_yaml(control.write(f"{name}.yaml", document(name, timeout_seconds=80)))
    first, second = control.orchestrator.run_all_modules()
    assert (first.module_name, second.module_name, second.error) == ("a", "b", None)
    assert first.error == "changed here and by hand in local: timeout_seconds; say whose side holds, ours or theirs"
    assert [control.job(name).settings["timeout_seconds"] for name in "ab"] == [70, 80]
    control.run(prefer="ours")
    assert control.job("a").settings["timeout_seconds"] == 80


def test_a_conflict_with_yaml_shows_no_password(control: Control) -> None:
    file = control.write("a.yaml", document("a"))
    control.run(yaml_path=file, sync_yaml=True)
    control.sql("UPDATE etl_control SET execution_order = 3")
    control.write("a.yaml", document("a", "select 'postgresql://ann:c4nary@host/db' as x"))
    with pytest.raises(Conflict, match=r"a\.one") as told:
        control.run(yaml_path=file, sync_yaml=True)
    assert "c4nary" not in str(told.value)


def test_a_second_source_for_a_table_that_is_overwritten_is_refused(control: Control) -> None:
    control.sql(insert("first"))
    with pytest.raises(Invalid, match=r"would overwrite what another source writes to data\.my_module_first"):
        control.manager.sql(insert("second").replace("my_module_second", "my_module_first"))
    assert control.manager.sql("SELECT source_id FROM etl_control").rows == (("first",),)


def test_a_monitor_with_a_tiny_interval_looks_again(control: Control) -> None:
    monitor = MetadataMonitor(control.table, control.folder, 0.0004, ledger=control.ledger)
    looks: list[int] = []
    thread = threading.Thread(target=lambda: looks.append(monitor.run_continuous(max_iterations=3)))
    thread.start()
    thread.join(30)
    monitor.close()
    thread.join(30)
    assert looks == [3]
