"""`run --sample N`: a few rows of each source in scratch tables, and nothing else that changes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from integration.commands import answer, invoke, shown
from integration.loading import put, rows
from integration.source_database import Shop
from lakeledger import Ledger
from lakeledger.control import documents
from lakeledger.pipelines.sample import scratch_table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SOURCES = """\
modules:
  - module_name: shop
    sources:
      - source_id: orders
        source_type: files
        source_config: {path: "orders/*.csv", schema: "id int, amount double"}
        target_config: {table: orders, bad_rows: quarantine}
      - source_id: customers
        source_type: files
        source_config: {path: "events/*.jsonl", format: debezium, schema: "id int, name string", debezium: {table: shop.customers}}
        transformation_config: {load_type: cdc}
        target_config: {table: customers, keys: id}
      - source_id: rates
        source_type: function
        source_config: {function: "shop_api:rates"}
        transformation_config: {load_type: incremental}
        target_config: {table: rates}
      - source_id: large
        source_type: sql
        execution_order: 2
        transformation_config: {load_type: incremental, sql_task: {sql_query: "select id from orders where amount >= 2"}}
        target_config: {table: large}
      - source_id: clean_up
        source_type: task
        execution_order: 3
        transformation_config: {task_type: python, python_task: {function: "shop_api:clean_up"}}
"""
FUNCTIONS = """\
import pyarrow as pa

def rates(position):
    return None if position else (pa.table({"day": [1, 2, 3]}), 3)

def clean_up(context):
    (context.base / "cleaned").touch()
"""


def event(number: int) -> str:
    source = {"connector": "postgresql", "schema": "shop", "table": "customers", "lsn": number}
    return json.dumps({"op": "c", "before": None, "after": {"id": number, "name": f"c{number}"}, "source": source}) + "\n"


@pytest.fixture
def project(base: Path) -> Path:
    put(base / "orders/1.csv", "id,amount\n1,1.5\nbad,row\n2,2.5\n3,3.5\n")
    put(base / "events/1.jsonl", "".join(event(number) for number in (1, 2, 3)))
    put(base / "shop_api.py", FUNCTIONS)
    put(base / "shop.yaml", SOURCES)
    return base


def state(ledger: Ledger) -> list[Any]:
    """Everything that a sample must not touch."""
    tables = [(str(table.name), table.current_version) for table in ledger.tables.list() if table.name.schema != "scratch"]
    return [tables, ledger.positions.list(), ledger.dead_letters.list(), ledger.errors.list(), ledger.schemas.list()]


def test_a_sample_fills_scratch_tables_and_changes_nothing_else(lake: Ledger, project: Path) -> None:
    module = documents.load(project / "shop.yaml").modules[0]
    assert not lake.run_module(module, project).failed
    before = state(lake)
    sampled = lake.sample_module(module, project, 2)
    assert {step.source_id: (str(step.status), step.loaded.rows if step.loaded else None) for step in sampled.steps} == {
        "orders": ("COMPLETED", 2),
        "customers": ("COMPLETED", 2),
        "rates": ("COMPLETED", 2),
        "large": ("COMPLETED", 2),
        "clean_up": ("SKIPPED", None),
    }
    assert {row["_change_type"] for row in lake.read("scratch.shop__customers").collect()} == {"insert"}
    assert state(lake) == before
    assert lake.runs.get(sampled.run_id).pipeline_id == "sample:shop"
    put(project / "orders/1.csv", "id,amount\nx,y\n")
    again = lake.sample_module(module.only(["orders", "rates"]), project, 1)
    assert [step.loaded.rows if step.loaded else None for step in again.steps] == [1, 1]
    assert lake.read("scratch.shop__orders").select("id", "_raw").collect() == [(None, "x,y")]
    assert len(rows(lake.read("scratch.shop__rates"))) == 1
    assert state(lake) == before


def test_a_sample_of_a_database_reads_no_more_and_keeps_no_watermark(
    sqlite_lake: Ledger, shop: Shop, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_USER", "postgres")
    for name in ("a", "b", "c"):
        shop.do("insert into orders (name) values (%s)", name)
    text = f"""\
modules:
  - module_name: shop
    sources:
      - source_id: orders
        source_type: jdbc
        source_config: {{url: "{shop.url}", table: "{shop.schema}.orders", user: "{{{{env.SHOP_USER}}}}", partition_column: id}}
        transformation_config: {{load_type: incremental, watermark_column: id}}
        target_config: {{table: orders}}
"""
    (step,) = sqlite_lake.sample_module(documents.parse(text, "shop.yaml").modules[0], tmp_path, 2).steps
    assert (step.error, step.loaded.rows if step.loaded else 0) == (None, 2)
    assert sqlite_lake.positions.list() == []
    assert sqlite_lake.tables.find("orders") is None


@pytest.mark.usefixtures("quiet")
def test_a_sample_shows_rows_and_where_they_are_and_what_failed(
    spark: SparkSession, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project)
    at = ["--url", "sqlite:///ledger.db"]
    text = shown("run", "shop.yaml", "--sample", "2", *at, code=3)
    for word in (
        "a sample, no position was moved",
        "scratch.shop__orders",
        "1.5",
        "tables show scratch.shop__orders",
        "reads no table that the ledger has",
    ):
        assert word in text, text
    (module,) = answer("run", "shop.yaml", "--sample", "1", "--module", "shop", "--source", "orders", *at)["modules"]
    (source,) = module["sources"]
    assert (source["table"], source["rows"], source["first_rows"][0]["id"]) == ("scratch.shop__orders", 1, 1)
    assert not (project / "cleaned").exists()


@pytest.mark.parametrize(
    "words", [["--full-refresh"], ["--from", "1", "--to", "2"], ["--only-failed"], ["--dry-run"], ["--sample", "0"]], ids=" ".join
)
@pytest.mark.usefixtures("quiet")
def test_a_sample_is_refused_together_with_what_loads(words: list[str], project: Path) -> None:
    refused = invoke("run", str(project / "shop.yaml"), *(["--sample", "5"] if "--sample" not in words else []), *words)
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert words[0] in refused.stderr
    assert not list(project.glob("*.db"))


def test_scratch_tables_have_names_that_every_engine_takes() -> None:
    assert str(scratch_table("shop", "orders")) == "scratch.shop__orders"
    assert str(scratch_table("1 shop", "or-ders")) == "scratch._1_shop__or_ders"
