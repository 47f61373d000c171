"""What changed and what to do for 10,000 sources in 500 modules, beside the same questions asked with Spark SQL in the same run."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from benchmark.conftest import median_ms, seconds
from lakeledger import Ledger
from lakeledger.control.model import Edit, SourceRow
from lakeledger.control.opening import open_control

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.bench

MODULES, SOURCES = 500, 20
ROUNDS = 7


def row(module: int, source: int, query: str = "select 1 as x") -> SourceRow:
    task = json.dumps({"task_type": "sql_query", "sql_task": {"sql_query": query}})
    target = json.dumps({"schema": "bronze", "table": f"t_{module}_{source}"})
    return SourceRow(f"s{source}", f"m{module}", "sql", source % 3 + 1, "{}", target, task, True)


def test_changes_and_plan_of_ten_thousand_sources(ledger: Ledger, tmp_path: Path, spark: SparkSession) -> None:
    deployment = open_control(str(tmp_path / "etl_control"), ledger).deployment
    deployment.table.create()
    rows = [row(module, source) for module in range(MODULES) for source in range(SOURCES)]
    before = deployment.table.commit(Edit({each.key: each for each in rows}), deployment.table.read(), "bench")
    deployment.apply(deployment.plan())
    changed = [row(module, 0, "select 2 as x") for module in range(10)]
    deployment.table.commit(Edit({each.key: each for each in changed}), before, "bench")

    detect = [seconds(lambda: deployment.changes_since(before.version)) for _ in range(ROUNDS)]
    plan = [seconds(deployment.plan) for _ in range(ROUNDS)]
    assert len(deployment.changes_since(before.version).updated_modules) == 10
    assert sum(action.kind == "update" for action in deployment.plan().actions) == 10

    from deltalake import DeltaTable

    files = DeltaTable(deployment.table.location).file_uris()
    spark_detect = [seconds(lambda: detect_with_spark(spark, files)) for _ in range(3)]
    spark_plan = [seconds(lambda: plan_with_spark(spark, files)) for _ in range(3)]
    for what, ours, theirs in (("detect_changes", detect, spark_detect), ("plan", plan, spark_plan)):
        print(
            f"{what} of {MODULES * SOURCES:,} sources in {MODULES} modules on {ledger.database.dialect}: {median_ms(ours):.0f} ms,"
            f" Spark SQL {median_ms(theirs):.0f} ms, {median_ms(theirs) / median_ms(ours):.0f}×"
        )


def detect_with_spark(spark: SparkSession, files: list[str]) -> None:
    """The questions by timestamp that such frameworks ask, one after the other."""
    spark.read.parquet(*files).createOrReplaceTempView("etl_control")
    since = (datetime.now(UTC) - timedelta(hours=1)).isoformat()
    spark.sql(
        f"select distinct module_name from etl_control where created_timestamp = updated_timestamp and updated_timestamp > '{since}'"
    ).collect()
    spark.sql(
        f"select distinct module_name from etl_control where created_timestamp < updated_timestamp and updated_timestamp > '{since}'"
    ).collect()
    spark.sql(f"select distinct module_name from etl_control where not is_active and updated_timestamp > '{since}'").collect()
    spark.sql(f"select * from etl_control where updated_timestamp > '{since}'").collect()


def plan_with_spark(spark: SparkSession, files: list[str]) -> None:
    """The tasks of every module, each with a query of its own, as job generators do."""
    spark.read.parquet(*files).createOrReplaceTempView("etl_control")
    modules = [found[0] for found in spark.sql("select distinct module_name from etl_control where is_active").collect()]
    for module in modules:
        spark.sql(f"select * from etl_control where module_name = '{module}' and is_active order by execution_order").collect()
