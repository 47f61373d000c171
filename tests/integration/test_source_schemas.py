"""A load registers what its source looks like, in the same commit as the rows; and Spark's errors are ours at every door."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from contract.making import execute, rows
from lakeledger import Failed, Invalid, Ledger, NotInstalled
from lakeledger.control import documents
from lakeledger.pipelines.runner import ModuleResult

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DOCUMENT = """\
modules:
  - module_name: shop
    sources:
      - source_id: orders
        source_type: files
        source_config: {path: "*.csv", schema: "SCHEMA"}
        target_config: {schema: silver, table: orders, write_mode: overwrite}
        transformation_config: {task_type: ingest, load_type: full}
      - source_id: sums
        source_type: sql
        execution_order: 2
        target_config: {schema: gold, table: sums}
        transformation_config: {task_type: sql_query, sql_task: {sql_query: "select count(*) as n from silver.orders"}}
"""


def run(ledger: Ledger, base: Path, schema: str, lines: str) -> ModuleResult:
    (base / "a.csv").write_text(lines, encoding="utf-8")
    return ledger.run_modules(documents.parse(DOCUMENT.replace("SCHEMA", schema), "shop.yml"), base)[0]


def test_a_load_registers_what_its_source_looks_like_once(lake: Ledger, tmp_path: Path) -> None:
    first = run(lake, tmp_path, "id int, name string", "id,name\n1,a\n")
    assert [(each.name, each.version, each.sync_run_id) for each in lake.schemas.list()] == [
        ("shop.orders", 1, first.run_id),
        ("shop.sums", 1, first.run_id),
    ]
    assert [(column.name, column.type) for column in lake.schemas.get("shop.orders").definition.fields] == [
        ("id", "int"),
        ("name", "string"),
    ]
    run(lake, tmp_path, "id int, name string", "id,name\n1,a\n2,b\n")
    assert [each.version for each in lake.schemas.list()] == [1, 1]
    third = run(lake, tmp_path, "id int, name string, price double", "id,name,price\n1,a,1.5\n")
    latest = lake.schemas.get("shop.orders")
    assert (latest.version, latest.evolution_type, latest.sync_run_id) == (2, "add_column", third.run_id)


def test_a_source_that_changes_against_its_policy_is_not_loaded(lake: Ledger, tmp_path: Path) -> None:
    run(lake, tmp_path, "id int, name string", "id,name\n1,a\n")
    lake.schemas.register("shop.orders", lake.schemas.get("shop.orders").definition, policy="full")
    refused = run(lake, tmp_path, "id int, name int", "id,name\n1,2\n")
    assert [(step.source_id, step.status.value) for step in refused.steps] == [("orders", "FAILED"), ("sums", "SKIPPED")]
    assert "the schema of shop.orders may not change like this under the policy 'full'" in (refused.steps[0].error or "")
    assert (lake.tables.get("silver.orders").current_version, lake.schemas.get("shop.orders").version) == (1, 1)
    assert len(rows(lake, "select * from schema_registry")) == 2


def test_a_load_that_fails_registers_nothing_and_is_an_error(lake: Ledger, tmp_path: Path) -> None:
    result = run(lake, tmp_path, "id int", "id\nx\n")
    assert lake.schemas.list() == []
    (error,) = lake.errors.list()
    assert (error.schema_name, error.table_name, error.sync_run_id) == ("shop", "orders", result.run_id)
    assert (error.error_details or {})["target"] == "silver.orders"


def test_what_spark_cannot_do_is_told_in_our_words_by_every_write(sqlite_lake: Ledger, spark: SparkSession) -> None:
    broken = spark.sql("select raise_error('no luck') as x")
    for write in (sqlite_lake.append, sqlite_lake.overwrite):
        with pytest.raises(Failed, match="no luck"):
            write(broken, "t")
    with sqlite_lake.run("mine") as mine, pytest.raises(Failed, match="no luck"):
        sqlite_lake.append(broken, "t", run=mine)
    failed = [each for each in sqlite_lake.runs.list() if each.status == "FAILED"]
    assert all("no luck" in (each.error_message or "") for each in failed)
    assert len(failed) == 2


def test_a_table_that_cannot_be_read_is_told_in_our_words(sqlite_lake: Ledger, spark: SparkSession) -> None:
    sqlite_lake.append(spark.range(3), "t")
    sqlite_lake.settle()
    execute(sqlite_lake, "update tables set location = 'nowhere://bucket/t'")
    with pytest.raises((Failed, Invalid, NotInstalled), match="nowhere"):
        sqlite_lake.read("t")
