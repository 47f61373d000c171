"""The guide of metadata management, statement by statement: workflows, change detection, update in place, and every answer of its FAQ."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from contract.making import together
from integration.commands import answer, shown
from lakeledger import Conflict, Invalid, LakeledgerError, Ledger, NotFound
from lakeledger.control import JobOrchestrator, MetadataManager, MetadataMonitor, export
from lakeledger.control.deployment import Applied
from lakeledger.control.model import SourceRow
from lakeledger.control.monitor import Cycle
from lakeledger.control.rows import modules_of
from lakeledger.jobs import Job, JobSpec
from lakeledger.jobs.local import LocalBackend
from lakeledger.jobs.scheduler import Scheduler

ROOT = Path(__file__).parents[2]

# The statements of the document; `{...}` in its UPDATE stands for a task, which is left to whoever reads it.
INSERT = """
-- Add a new source
INSERT INTO fe_ppark_demo.job_demo.etl_control VALUES (
  'new_sql_task',
  'my_module',
  'sql',
  1,
  '{}',
  '{"catalog": "bronze", "schema": "data", "table": "customers"}',
  '{"task_type": "sql_query", "sql_task": {"warehouse_id": "abc123", "sql_query": "SELECT * FROM bronze.customers"}}',
  true
);
"""
UPDATE_AS_PRINTED = """
-- Update existing source
UPDATE fe_ppark_demo.job_demo.etl_control
SET execution_order = 2,
    transformation_config = '{"task_type": "sql_query", "sql_task": {...}}',
    updated_timestamp = current_timestamp()
WHERE source_id = 'existing_source' AND module_name = 'my_module';
"""
UPDATE = UPDATE_AS_PRINTED.replace("{...}", '{"sql_query": "SELECT 2 AS x"}')
DEACTIVATE = """
-- Deactivate source (soft delete)
UPDATE fe_ppark_demo.job_demo.etl_control
SET is_active = false,
    updated_timestamp = current_timestamp()
WHERE source_id = 'old_source';
"""

NEW, EXISTING, OLD = (("my_module", name) for name in ("new_sql_task", "existing_source", "old_source"))
SCHEDULE = {"quartz_cron_expression": "0 0 5 * * ?", "timezone_id": "Europe/Berlin", "pause_status": "UNPAUSED"}


def insert(source_id: str, module: str = "my_module", query: str = "SELECT 1 AS x") -> str:
    """The document's INSERT for another source, which writes to a table of its own."""
    return (
        INSERT.replace("new_sql_task", source_id)
        .replace("my_module", module)
        .replace('"customers"', f'"{module}_{source_id}"')
        .replace("SELECT * FROM bronze.customers", query)
    )


def document(module: str, query: str = "select 1 as x", *, source_id: str = "one", **more: Any) -> str:
    """A YAML file with one module; JSON is YAML."""
    source = {
        "source_id": source_id,
        "source_type": "sql",
        "target_config": {"schema": "data", "table": f"{module}_{source_id}"},
        "transformation_config": {"task_type": "sql_query", "sql_task": {"sql_query": query}},
    }
    return json.dumps({"modules": [{"module_name": module, "sources": [source], **more}]})


@dataclass(frozen=True)
class Control:
    """A control table with nothing in it, by the names of the document."""

    manager: MetadataManager
    orchestrator: JobOrchestrator
    ledger: Ledger
    folder: Path

    @property
    def table(self) -> str:
        return self.manager.deployment.table.location

    @property
    def backend(self) -> LocalBackend:
        return LocalBackend(self.ledger.store, "ann")

    def sql(self, *statements: str) -> None:
        for statement in statements:
            assert self.manager.sql(statement).changed, statement

    def row(self, key: tuple[str, str]) -> SourceRow:
        return self.manager.deployment.table.read().sources[key]

    def run(self, **more: Any) -> dict[str, str]:
        """Run the orchestrator; what it did for each module."""
        return done(self.orchestrator.run_all_modules(**more))

    def job(self, module: str) -> Job:
        found = self.backend.find(self.jobs()[module])
        assert found is not None
        return found

    def jobs(self) -> dict[str, str]:
        """What `{control_table}_jobs` says."""
        return dict(self.manager.sql("SELECT module_name, job_id FROM etl_control_jobs").rows)

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path


def done(applied: Iterable[Applied]) -> dict[str, str]:
    return {each.module_name: each.action.kind for each in applied}


@pytest.fixture
def control(ledger: Ledger, tmp_path: Path) -> Control:
    location = str(tmp_path / "control/etl_control")
    manager = MetadataManager(location, ledger=ledger)
    manager.create()
    return Control(manager, JobOrchestrator(location, ledger=ledger), ledger, tmp_path)


@pytest.fixture
def at(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A folder of its own, without the settings of whoever runs the tests; the options that lead to its ledger."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("LAKELEDGER_")] + ["COLUMNS", "NO_COLOR", "FORCE_COLOR"]:
        monkeypatch.delenv(name, raising=False)
    return ["--url", url, "--warehouse", str(tmp_path / "warehouse")]


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

        def create(self, spec: JobSpec) -> Job:
            if spec.module_name == "a":
                control.sql(insert("one", "late"))
            return super().create(spec)

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


def test_a_time_that_is_none_or_lies_before_all_that_is_known_is_refused(control: Control) -> None:
    with pytest.raises(Invalid, match="2026-01-01 is no time with a time zone"):
        control.manager.detect_changes("2026-01-01")  # type: ignore[arg-type]  # as somebody might
    control.sql(insert("a", "one"), insert("b", "one"))
    DeltaTable(control.table).create_checkpoint()
    for entry in sorted(Path(control.table, "_delta_log").glob("*.json"))[:-1]:
        entry.unlink()
    with pytest.raises(NotFound, match="its history begins at"):
        control.manager.detect_changes(datetime(2020, 1, 1, tzinfo=UTC))


def test_an_error_is_never_reported_as_no_changes(control: Control) -> None:
    control.sql(insert("one"))
    with pytest.raises(Invalid, match="is no time with a time zone"):
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
