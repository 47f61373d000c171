"""`lakeledger run` and its options, through the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from integration.commands import answer, invoke
from lakeledger import codec

pytestmark = pytest.mark.usefixtures("quiet")

STEPS = """\
import os

def work(context, name):
    if os.path.exists(context.base / f"{name}.broken"):
        raise ValueError(f"{name} is broken")
"""


def task(name: str, **more: Any) -> dict[str, Any]:
    work = {"task_type": "python", "python_task": {"function": "steps:work", "parameters": {"name": name}}}
    return {"source_id": name, "source_type": "task", "transformation_config": work, **more}


def statuses(ended: dict[str, Any]) -> dict[str, str]:
    (module,) = ended["modules"]
    return {step["step_name"]: step["status"] for step in module["steps"]}


def test_only_what_failed_runs_again(at: list[str], tmp_path: Path) -> None:
    ten = [*(task(f"t{number}") for number in range(8)), task("a", depends_on=["t3"]), task("b", depends_on=["a"])]
    (tmp_path / "pipeline.yaml").write_text(codec.to_json({"modules": [{"module_name": "shop", "sources": ten}]}))
    (tmp_path / "steps.py").write_text(STEPS)
    broken = tmp_path / "t3.broken"
    broken.touch()
    first = answer("run", *at, code=3)
    found = statuses(first)
    assert (found.pop("t3"), found.pop("a"), found.pop("b")) == ("FAILED", "SKIPPED", "SKIPPED")
    assert set(found.values()) == {"COMPLETED"}
    assert len(found) == 7
    assert statuses(answer("run", "--only-failed", *at, code=1)) == {"t3": "FAILED", "a": "SKIPPED", "b": "SKIPPED"}
    broken.unlink()
    again = answer("run", "--only-failed", *at)
    assert statuses(again) == {"t3": "COMPLETED", "a": "COMPLETED", "b": "COMPLETED"}
    runs = answer("runs", "list", *at)["runs"]
    assert [run["retry_of"] for run in runs] == [runs[1]["pipeline_logging_id"], runs[2]["pipeline_logging_id"], None]
    assert len({run["config_hash"] for run in runs}) == 1
    nothing = invoke("run", "--only-failed", *at)
    assert nothing.exit_code == 0
    assert "all sources of shop completed in its last run" in nothing.output


def test_what_never_ran_runs_whole(at: list[str], tmp_path: Path) -> None:
    (tmp_path / "pipeline.yaml").write_text(codec.to_json({"modules": [{"module_name": "shop", "sources": [task("a"), task("b")]}]}))
    (tmp_path / "steps.py").write_text(STEPS)
    assert statuses(answer("run", "--only-failed", *at)) == {"a": "COMPLETED", "b": "COMPLETED"}


LOADS = """\
modules:
  - module_name: shop
    sources:
      - source_id: orders
        source_type: files
        source_config: {path: "orders/*.csv", schema: "id int"}
        target_config: {table: orders}
      - source_id: absent
        source_type: files
        source_config: {path: "absent/*.csv"}
        target_config: {table: absent}
      - source_id: count
        source_type: sql
        execution_order: 2
        transformation_config: {sql_task: {sql_query: select 1 as n}}
        target_config: {table: counted}
"""


NOT_ASKED = """\
modules:
  - module_name: shop
    sources:
      - source_id: rates
        source_type: function
        source_config: {function: "steps:fetch"}
        transformation_config: {load_type: full}
        target_config: {table: rates}
      - source_id: stock
        source_type: jdbc
        source_config: {url: "jdbc:mysql://127.0.0.1:1/shop", table: stock}
        transformation_config: {load_type: full}
        target_config: {table: stock}
"""


def test_a_dry_run_calls_no_function_and_starts_no_spark(at: list[str], tmp_path: Path) -> None:
    (tmp_path / "pipeline.yaml").write_text(NOT_ASKED)
    (tmp_path / "steps.py").write_text("def fetch():\n    open('called', 'w').close()\n")
    answer("db", "migrate", *at)
    (module,) = answer("run", "--dry-run", *at)["modules"]
    assert [(each["source_id"], each["would"]) for each in module["sources"]] == [("rates", "ask"), ("stock", "ask")]
    assert "steps:fetch" in module["sources"][0]["message"]
    assert "through Spark" in module["sources"][1]["message"]
    assert not (tmp_path / "called").exists()


def test_a_dry_run_shows_what_would_be_read_and_starts_and_writes_nothing(at: list[str], tmp_path: Path) -> None:
    (tmp_path / "pipeline.yaml").write_text(LOADS)
    (tmp_path / "orders").mkdir()
    for name in ("a", "b"):
        (tmp_path / f"orders/{name}.csv").write_text(f"id\n{ord(name)}\n")
    (module,) = answer("run", "--dry-run", *at, code=1)["modules"]
    found = {each["source_id"]: each for each in module["sources"]}
    assert {name: each["would"] for name, each in found.items()} == {"orders": "load", "absent": "fail", "count": "load"}
    assert found["orders"]["detail"]["files"] == 2
    assert (found["orders"]["write_mode"], found["count"]["write_mode"]) == ("append", "overwrite")
    assert "no file matches" in found["absent"]["message"]
    shown = invoke("run", "--dry-run", *at)
    assert "2 files" in shown.stdout
    assert "nothing was written" in shown.stdout
    assert answer("runs", "list", *at)["runs"] == []
    assert answer("tables", "list", *at)["tables"] == []
