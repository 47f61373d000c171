"""The control table, section by section: three ways to say what should run, what changed, and what becomes of the jobs.

python examples/control.py                                   # in a temporary folder, its ledger a SQLite file
python examples/control.py postgresql://user@host/database   # the same, its ledger on PostgreSQL
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from datetime import datetime, timezone
from pathlib import Path

from lakeledger import Conflict, Invalid
from lakeledger.control import JobOrchestrator, MetadataManager, MetadataMonitor
from lakeledger.control.deployment import Applied
from lakeledger.control.monitor import Cycle
from lakeledger.jobs import JobSpec

# A Delta table in a folder. On Databricks it is 'catalog.schema.table'.
CONTROL_TABLE = "control/etl_control"


def main(folder: Path, url: str) -> None:
    """Walk through all of it in that folder, on the ledger at that URL."""
    os.chdir(folder)
    os.environ.update(LAKELEDGER_URL=url, LAKELEDGER_WAREHOUSE=str(folder / "warehouse"))  # or `lakeledger.toml`
    direct_table_updates()
    yaml_file_ingestion()
    volume_monitoring()
    change_detection()
    update_in_place()
    migration_and_backup()
    best_practices()
    print("done")


ADD_A_NEW_SOURCE = """
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

UPDATE_AN_EXISTING_SOURCE = """
UPDATE fe_ppark_demo.job_demo.etl_control
SET execution_order = 2,
    transformation_config = '{"task_type": "sql_query", "sql_task": {"sql_query": "SELECT id, name FROM bronze.customers"}}',
    updated_timestamp = current_timestamp()
WHERE source_id = 'existing_source' AND module_name = 'my_module';
"""

DEACTIVATE_A_SOURCE = """
UPDATE fe_ppark_demo.job_demo.etl_control
SET is_active = false,
    updated_timestamp = current_timestamp()
WHERE source_id = 'old_source';
"""


def direct_table_updates() -> None:
    """Workflow 1: SQL on the table, without Spark. What could not run is refused, and each statement is one commit."""
    with MetadataManager(CONTROL_TABLE) as manager:
        manager.create()
        for name in ("existing_source", "old_source"):
            manager.sql(ADD_A_NEW_SOURCE.replace("new_sql_task", name).replace('"customers"', f'"{name}"'))
        added, updated, deactivated = map(manager.sql, (ADD_A_NEW_SOURCE, UPDATE_AN_EXISTING_SOURCE, DEACTIVATE_A_SOURCE))
        assert (added.inserted, updated.updated, deactivated.updated) == (1, 1, 1)
        try:
            manager.sql(UPDATE_AN_EXISTING_SOURCE.replace("sql_query", "sql_qery", 1))
        except Invalid as error:
            print(f"1. refused, {' '.join(str(error).split())}")
        else:
            raise AssertionError("a row that cannot run was let in")

        with JobOrchestrator(CONTROL_TABLE) as orchestrator:
            jobs = orchestrator.run_all_modules()
        print(f"1. {told(jobs)}")
        ((module, job_id, state),) = manager.sql("SELECT module_name, job_id, state FROM etl_control_jobs").rows
        assert (module, job_id, state) == ("my_module", jobs[0].job_id, "active")


YAML = """
modules:
  - module_name: module1
    description: Orders, and what they add up to
    schedule: {quartz_cron_expression: "0 0 5 * * ?"}
    sources:
      - source_id: orders
        source_type: sql
        target_config: {schema: silver, table: orders}
        transformation_config: {sql_task: {sql_query: select 1 as id}}
      - source_id: totals
        source_type: sql
        depends_on: [orders]
        target_config: {schema: gold, table: totals}
        transformation_config: {sql_task: {sql_query: select count(*) as orders from silver.orders}}
  - module_name: module2
    sources:
      - source_id: greet
        source_type: task
        transformation_config: {task_type: python, python_task: {function: "steps:greet"}}
"""

STEPS = """
def greet(context):
    (context.base / "greeting.txt").write_text("hello from " + context.run.id)
"""


def yaml_file_ingestion() -> None:
    """Workflow 2: YAML into the table, then jobs. Reading the same file again changes nothing, not even a timestamp."""
    Path("examples").mkdir()
    Path("examples/metadata_examples.yaml").write_text(YAML, encoding="utf-8")
    Path("steps.py").write_text(STEPS, encoding="utf-8")

    with MetadataManager(CONTROL_TABLE) as manager, JobOrchestrator(CONTROL_TABLE) as orchestrator:
        loaded = manager.load_yaml("./examples/metadata_examples.yaml")
        jobs = orchestrator.run_all_modules()
        print(f"2. {len(loaded.changed)} rows loaded; {told(jobs)}")

        again = orchestrator.run_all_modules(yaml_path="./examples/metadata_examples.yaml", sync_yaml=True)
        assert not any(job.action.does_something for job in again)
        assert manager.load_yaml("./examples/metadata_examples.yaml").snapshot == loaded.snapshot

        manager.sql("UPDATE etl_control SET is_active = false WHERE source_id = 'totals'")
        manager.load_yaml("./examples/metadata_examples.yaml")
        (switched,) = manager.sql("SELECT is_active FROM etl_control WHERE source_id = 'totals'").rows
        assert switched == (False,)  # what somebody switched off stays off

        manager.sql("UPDATE etl_control SET execution_order = 3 WHERE source_id = 'orders'")
        Path("examples/metadata_examples.yaml").write_text(YAML.replace("select 1 as id", "select 2 as id"), encoding="utf-8")
        try:
            orchestrator.run_all_modules(yaml_path="./examples/metadata_examples.yaml", sync_yaml=True)
        except Conflict:
            print("2. refused: the file and the table both changed module1.orders; nothing was overwritten")
        else:
            raise AssertionError("YAML overwrote what somebody changed in the table")
        manager.load_yaml("./examples/metadata_examples.yaml", choose="file")  # or "table"
        orchestrator.run_all_modules()


CRM = """
modules:
  - module_name: crm
    sources:
      - source_id: people
        source_type: sql
        target_config: {schema: silver, table: people}
        transformation_config: {sql_task: {sql_query: select 'Ada' as name}}
"""
BILLING = CRM.replace("crm", "billing").replace("people", "invoices")


def volume_monitoring() -> None:
    """Workflow 3: a folder of YAML files, followed. Every file that is new or changed is noticed in the same look."""
    volume = Path("metadata_volume")
    volume.mkdir()
    cycles: list[Cycle] = []
    monitor = MetadataMonitor(
        control_table=CONTROL_TABLE,
        volume_path=volume,
        check_interval_seconds=60,
        tell=cycles.append,
        settle_seconds=0,  # by default, a file that changed within two seconds is left alone: somebody may still be writing it
    )
    with monitor:
        (volume / "crm.yaml").write_text(CRM, encoding="utf-8")
        monitor.run_continuous(max_iterations=1)
        (volume / "crm.yaml").write_text(CRM.replace("Ada", "Grace"), encoding="utf-8")
        (volume / "billing.yaml").write_text(BILLING, encoding="utf-8")
        monitor.run_continuous(max_iterations=1)  # without a limit: until it is told to stop
    first, second = cycles
    assert told(first.applied) == "crm: create"
    assert told(second.applied) == "billing: create, crm: update"
    print(f"3. first look: {told(first.applied)}; second look: {told(second.applied)}")


def change_detection() -> None:
    """What changed, by content: since ever, since a time, since a version. Deleted rows are seen, too."""
    with MetadataManager(CONTROL_TABLE) as manager:
        changes = manager.detect_changes(last_check_timestamp=None)
        assert changes["new_modules"] == ["billing", "crm", "module1", "module2", "my_module"]
        checked_at, version = datetime.now(timezone.utc), changes["version"]

        manager.sql(ADD_A_NEW_SOURCE.replace("my_module", "module3"))
        manager.sql("UPDATE etl_control SET execution_order = 4 WHERE module_name = 'module2'")
        manager.sql("UPDATE etl_control SET is_active = false WHERE module_name = 'crm'")
        manager.sql("DELETE FROM etl_control WHERE module_name = 'billing'")
        changes = manager.detect_changes(last_check_timestamp=checked_at)
        print(f"4. {changes}")
        assert changes == manager.detect_changes(since_version=version)
        assert changes["new_modules"] == ["module3"]
        assert changes["updated_modules"] == ["module2"]
        assert changes["deactivated_modules"] == ["crm"]
        assert changes["deleted_modules"] == ["billing"]
        assert len(changes["changed_sources"]) == 4
        assert manager.detect_changes(since_version=changes["version"])["changed_sources"] == []


def update_in_place() -> None:
    """A job keeps its id, its runs and what people set by hand; one that somebody deleted is made again."""
    with MetadataManager(CONTROL_TABLE) as manager, JobOrchestrator(CONTROL_TABLE) as orchestrator:
        backend = orchestrator.deployment.backend
        print(f"5. {told(orchestrator.run_all_modules())}")
        before = dict(manager.sql("SELECT module_name, job_id FROM etl_control_jobs").rows)

        run = backend.run_now(before["module2"])
        lakeledger("scheduler", "--once")
        print(f"5. run {run} of module2 left: {Path('greeting.txt').read_text(encoding='utf-8')}")
        by_hand = {"quartz_cron_expression": "0 30 6 * * ?", "timezone_id": "Europe/Berlin", "pause_status": "UNPAUSED"}
        backend.update(before["module2"], JobSpec("module2", {"schedule": by_hand}))  # somebody, in the backend

        manager.sql("UPDATE etl_control SET source_id = 'welcome' WHERE module_name = 'module2'")
        assert told(orchestrator.run_all_modules()) == "module2: update"
        job = backend.find(before["module2"])
        assert job is not None
        assert [task["task_key"] for task in job.settings["tasks"]] == ["welcome"]
        assert job.settings["schedule"] == by_hand
        lakeledger("jobs", "show", "module2")  # its run is still there

        backend.delete(before["module2"])
        assert told(orchestrator.run_all_modules()) == "module2: recreate"
        after = dict(manager.sql("SELECT module_name, job_id FROM etl_control_jobs").rows)
        assert [name for name in after if after[name] != before[name]] == ["module2"]
        print("5. its job was deleted by hand: it has a new one, and every other module its old one")


def migration_and_backup() -> None:
    """From YAML files to the table and, for Git, back: the export is read as exactly what the table says."""
    with MetadataManager(CONTROL_TABLE) as manager, MetadataManager("restored/etl_control") as restored:
        text = manager.export_yaml("backup.yaml")
        loaded = restored.load_yaml("backup.yaml")
        assert restored.export_yaml() == text
        print(f"6. {len(loaded.snapshot.sources)} sources exported, loaded elsewhere and exported again: the same text")


def best_practices() -> None:
    """Who changed what, and when: in the rows, and in the history of the table."""
    with MetadataManager(CONTROL_TABLE) as manager:
        latest = manager.sql("SELECT module_name, source_id, updated_timestamp FROM etl_control ORDER BY updated_timestamp DESC LIMIT 3")
        for module, source, at in latest.rows:
            print(f"7. {module}.{source} was last changed at {at} UTC")
        assert latest.rows[0][:2] == ("module2", "welcome")
    lakeledger("control", "history", "--limit", "3")


def told(jobs: Iterable[Applied]) -> str:
    """What became of the jobs to which something was done."""
    return ", ".join(f"{job.module_name}: {job.action.kind}" for job in jobs if job.action.does_something)


def lakeledger(*words: str) -> None:
    """The same ledger on the command line."""
    sys.stdout.flush()
    subprocess.run([str(Path(sys.executable).with_name("lakeledger")), *words], check=True)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        main(Path(made).resolve(), sys.argv[1] if len(sys.argv) > 1 else f"sqlite:///{made}/ledger.db")
