"""A control table by the names of the guide of metadata management, and its statements."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lakeledger import Ledger
from lakeledger.control import JobOrchestrator, MetadataManager
from lakeledger.control.deployment import Applied
from lakeledger.control.model import SourceRow
from lakeledger.jobs import Job
from lakeledger.jobs.local import LocalBackend

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
