"""Declared loads to run, and ways to look at what became of them, shared by the tests of pipelines."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from lakeledger import Ledger
from lakeledger.control import documents
from lakeledger.pipelines.runner import ModuleResult, StepResult

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


SCHEMA = "id int, name string, price double"
HEADER = "id,name,price\n"


def rows(frame: DataFrame) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in frame.collect()), key=repr)


def orders(path: str = "orders/*.csv", schema: str | None = SCHEMA, load_type: str = "incremental", **config: str) -> str:
    """A module that loads files into main.orders."""
    declared = {"path": path, **({"schema": schema} if schema else {}), **config}
    lines = "".join(f'          {key}: "{value}"\n' for key, value in declared.items())
    return f"""\
modules:
  - module_name: shop
    sources:
      - source_id: orders
        source_type: files
        source_config:
{lines}        transformation_config: {{load_type: {load_type}}}
        target_config: {{table: orders}}
"""


def sql(query: str, **task: Any) -> str:
    """A module that computes main.result."""
    return f"""\
modules:
  - module_name: report
    sources:
      - source_id: result
        source_type: sql
        transformation_config:
          sql_task: {{sql_query: {query!r}, parameters: {task.get("parameters", {})}}}
        target_config: {{table: result}}
"""


def run(ledger: Ledger, document: str, base: Path, **options: Any) -> ModuleResult:
    return ledger.run_module(documents.parse(document, "shop.yml").modules[0], base, **options)


def only(result: ModuleResult) -> StepResult:
    (step,) = result.steps
    return step


def put(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def error_of(ledger: Ledger, result: ModuleResult) -> str:
    """The message of a failed step, as the caller and as the log have it: one line, and nothing of the load visible."""
    step, logged = only(result), ledger.runs.steps(result.run_id)[0]
    assert (step.status, logged.status) == ("FAILED", "FAILED")
    assert step.error
    assert "\n" not in step.error
    assert step.error in (logged.error_message or "")
    run = ledger.runs.get(result.run_id)
    assert (run.status, run.commit_count) == ("FAILED", 0)
    return step.error


def files_on_disk(ledger: Ledger) -> list[Path]:
    return sorted(path for path in Path(ledger.warehouse).rglob("*") if path.is_file())
