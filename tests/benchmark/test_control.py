"""What changed and what to do for 10,000 sources in 500 and in 10 modules, beside the same questions asked with Spark SQL."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from benchmark.conftest import median_ms, seconds
from lakeledger import Ledger
from lakeledger.control.model import Edit, SourceRow
from lakeledger.control.opening import open_control
from lakeledger.db.queries import statement

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.bench

SHAPES = [(500, 20), (10, 1_000)]
ROUNDS = 5


def row(module: int, source: int, query: str = "select 1 as x") -> SourceRow:
    task = json.dumps({"task_type": "sql_query", "sql_task": {"sql_query": query}})
    target = json.dumps({"schema": "bronze", "table": f"t_{module}_{source}"})
    return SourceRow(f"s{source}", f"m{module}", "sql", source % 3 + 1, "{}", target, task, True)


@pytest.mark.parametrize(("modules", "sources"), SHAPES)
def test_changes_and_plan_of_ten_thousand_sources(ledger: Ledger, tmp_path: Path, spark: SparkSession, modules: int, sources: int) -> None:
    deployment = open_control(str(tmp_path / "etl_control"), ledger).deployment
    deployment.table.create()
    rows = [row(module, source) for module in range(modules) for source in range(sources)]
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
            f"{what} of {modules * sources:,} sources in {modules} modules on {ledger.database.dialect}: {median_ms(ours):.0f} ms,"
            f" Spark SQL {median_ms(theirs):.0f} ms, {median_ms(theirs) / median_ms(ours):.1f}×"
        )


@pytest.mark.parametrize(("modules", "sources"), SHAPES)
def test_deploying_ten_thousand_sources(ledger: Ledger, tmp_path: Path, modules: int, sources: int) -> None:
    """No Spark beside it: what is measured is what a plan costs, prints and leaves in the ledger."""
    deployment = open_control(str(tmp_path / "etl_control"), ledger).deployment
    deployment.table.create()
    rows = [row(module, source) for module in range(modules) for source in range(sources)]
    snapshot = deployment.table.commit(Edit({each.key: each for each in rows}), deployment.table.read(), "bench")
    took = {
        "plan of new jobs": seconds(deployment.plan),
        "deploy": seconds(deployment.bring),
        "plan without a change": seconds(deployment.plan),
    }
    took["look without a change"] = seconds(deployment.bring)
    moved = replace(snapshot.sources["m0", "s0"], execution_order=4)
    deployment.table.commit(Edit({moved.key: moved}), deployment.table.read(), "bench")
    took["plan of one source that moves"] = seconds(deployment.plan)
    plan = deployment.plan()
    printed = sum(len(line) for action in plan.actions if action.does_something for line in action.words())
    took["deploy it"] = seconds(deployment.bring)
    with ledger.store.read() as tx:
        kept = [tx.one(statement(f"select sum(length(cast(settings as text))) as size from {table}")) for table in ("jobs", "local_jobs")]
    figures = ", ".join(f"{what} {each:.2f} s" for what, each in took.items())
    stored = " + ".join(f"{int(each['size']) / 1e6:.1f}" for each in kept if each)
    print(
        f"{modules * sources:,} sources in {modules} modules on {ledger.database.dialect}: {figures}; {printed:,} characters for the move,"
        f" its plan file {len(json.dumps(plan.to_dict())) / 1e6:.2f} MB, settings stored {stored} MB"
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
