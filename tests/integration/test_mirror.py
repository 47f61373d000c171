"""The lake's own tables as people query them: in Spark SQL and in DuckDB, and after what else is done with tables."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import lakeledger
from contract.making import ORDERS, add_api_key
from contract.mirroring import PARTS, agrees, lake, own_runs, refresh
from iceberg_readers import catalog, duckdb_session
from integration.commands import answer, invoke, refused, shown
from integration.compacting import compact
from integration.lake_queries import DAYS_BACK, QUERIES, as_of, days, expected, fill, plain
from lakeledger import Ledger, Settings
from lakeledger.config import MirrorSettings
from lakeledger.control import documents

RUNS = "default_metadata.pipeline_runs"


def in_duckdb(ledger: Ledger) -> Any:
    """DuckDB, given nothing but what is published."""
    session = duckdb_session()
    for name in PARTS:
        publication = ledger.tables.publication(f"{ledger.mirror.dataset}.{name}")
        assert publication is not None
        session.execute(f"create view {name} as select * from iceberg_scan('{publication.metadata_location}')")
    return session


def test_the_seeds_queries_run_on_the_lake_in_spark_and_in_duckdb(lake: Ledger) -> None:
    fill(lake)
    for name in PARTS:
        lake.read(f"default_metadata.{name}").createOrReplaceTempView(name)
    session, names, wanted = in_duckdb(lake), {name: name for name in PARTS}, expected()
    for name, query in QUERIES.items():
        assert plain(name, lake.spark.sql(as_of("spark", query, **names)).collect()) == wanted[name], name
        assert plain(name, session.sql(as_of("duckdb", query, **names)).fetchall()) == wanted[name], name


def scans(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """What a plan of DuckDB says of each table that is read."""
    if "Total Files Read" in (told := plan.get("extra_info", {})):
        yield {**told, "Filters": str(told.get("Filters", ""))}
    for each in plan.get("children", []):
        yield from scans(each)


def test_a_query_reads_only_the_partitions_that_it_asks_for(ledger: Ledger) -> None:
    fill(ledger)
    session, names = in_duckdb(ledger), {name: name for name in PARTS}
    for name, query in QUERIES.items():
        ((_, plan),) = session.sql(f"explain (analyze, format json) {as_of('duckdb', query, **names)}").fetchall()
        (scan,) = [each for each in scans(json.loads(plan)) if "start_time" in each["Filters"] or "ingestion_date" in each["Filters"]]
        wanted = days(ledger, name)
        assert int(scan["Total Files Read"]) == len(wanted) < DAYS_BACK, name
        assert set(re.findall(r"=(\d{4}-\d\d-\d\d)/", scan["Filename(s)"])) <= wanted, name  # the first of them
    with catalog(ledger) as opened:
        table = opened.load_table(RUNS)
        assert str(table.spec().fields[0].transform) == "day"
        assert len(list(table.scan().plan_files())) == ledger.tables.get(RUNS).file_count


def test_documents_are_queried_in_spark_and_in_duckdb(sqlite_lake: Ledger) -> None:
    fill(sqlite_lake)
    for name in PARTS:
        sqlite_lake.read(f"default_metadata.{name}").createOrReplaceTempView(name)
    session, spark = in_duckdb(sqlite_lake), sqlite_lake.spark
    for table, path, in_spark in (
        ("pipeline_runs", "parameters", "$.filters.region"),
        ("step_logs", "metadata", "$.destination_table"),
        ("dq_results", "failed_expectations", "$[0].column"),
    ):
        as_text = spark.sql(f"select distinct get_json_object({path}, '{in_spark}') as v from {table} order by v").collect()
        as_variant = spark.sql(f"select distinct variant_get(parse_json({path}), '{in_spark}', 'string') as v from {table} order by v")
        found = session.sql(f"select distinct {path} ->> '{in_spark}' as v from {table} order by v nulls first").fetchall()
        assert [row.v for row in as_text] == [row.v for row in as_variant.collect()] == [value for (value,) in found]
        assert any(value for (value,) in found), table


def test_a_table_that_spark_has_compacted_is_followed_on(sqlite_lake: Ledger) -> None:
    for number in range(3):
        with sqlite_lake.run(f"p{number}"):
            pass
        refresh(sqlite_lake)
    with sqlite_lake.run("open"):
        refresh(sqlite_lake)
        assert compact(sqlite_lake, RUNS).groups_done == 1
    refresh(sqlite_lake)
    agrees(sqlite_lake)
    assert {file.partition_path for file in sqlite_lake.tables.files(RUNS)} == {
        f"lakeledger_hidden_day_of_start_time={row['start_time'][:10]}" for row in lake_rows(sqlite_lake)
    }
    assert sqlite_lake.read(RUNS).columns == [each.name for each in sqlite_lake.mirror.declared("pipeline_runs").columns]


def lake_rows(ledger: Ledger) -> list[dict[str, Any]]:
    return lake(ledger, "pipeline_runs")


MODULE = """\
modules:
  - module_name: shop
    sources:
      - source_id: numbers
        source_type: sql
        transformation_config: {sql_task: {sql_query: select 1 as n}}
        target_config: {table: numbers}
"""


def test_a_tenants_first_run_makes_and_fills_the_tables(tmp_path: Path, sqlite_lake: Ledger) -> None:
    settings = Settings(f"sqlite:///{tmp_path}/own.db", str(tmp_path / "own"), tenant="acme")
    with lakeledger.open(settings, spark=sqlite_lake.spark) as ledger:
        ledger.run_modules(documents.parse(MODULE, "shop.yml"), tmp_path)
        assert {str(table.name) for table in ledger.tables.list()} == {"main.numbers", *(f"acme_metadata.{name}" for name in PARTS)}
        agrees(ledger)
        ledger.run_modules(documents.parse(MODULE, "shop.yml"), tmp_path)
        assert own_runs(ledger) == 1, "not again within mirror.every_seconds"


def test_a_table_that_cannot_follow_fails_no_run(tmp_path: Path, sqlite_lake: Ledger) -> None:
    (own := tmp_path / "configs/metadata/schemas").mkdir(parents=True)
    (own / "step_logs.json").write_text("[]")
    eager = MirrorSettings(every_seconds=1e-6)
    settings = Settings(f"sqlite:///{tmp_path}/own.db", str(tmp_path / "own"), base=tmp_path, mirror=eager)
    with lakeledger.open(settings, spark=sqlite_lake.spark) as ledger:
        (result,) = ledger.run_modules(documents.parse(MODULE, "shop.yml"), tmp_path)
        assert ledger.runs.get(result.run_id).status == "COMPLETED"
        agrees(ledger, "pipeline_runs")
        (error,) = ledger.errors.list()
        assert "default_metadata.step_logs could not be refreshed, and is tried again" in error.error_message
        (own / "step_logs.json").unlink()
        ledger.run_modules(documents.parse(MODULE, "shop.yml"), tmp_path)
        agrees(ledger)
        assert [each.status for each in ledger.errors.list()] == ["resolved"]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lakeledger.toml").write_text('url = "sqlite:///ledger.db"\nwarehouse = "warehouse"\n')
    with lakeledger.open() as ledger:
        with ledger.run("orders"):
            pass
        add_api_key(ledger)
    return tmp_path


@pytest.mark.usefixtures("project")
def test_commands_show_refresh_and_recreate_the_tables() -> None:
    before = answer("mirror", "status")
    assert [(each["name"], each["rows"], each["waiting"]) for each in before["tables"]] == [(name, None, None) for name in PARTS]
    assert before["enabled"] is False, "LAKELEDGER_MIRROR=off"
    done = answer("mirror", "refresh")["tables"]
    assert [(each["table"], each["rows"], each["is_new"]) for each in done] == [
        (RUNS, 1, True),
        ("default_metadata.step_logs", 0, True),
        ("default_metadata.api_keys", 1, True),
        ("default_metadata.dq_results", 0, True),
    ]
    assert "not made yet" not in shown("mirror", "status")
    assert answer("mirror", "refresh", "pipeline_runs", "--full")["tables"][0]["rows"] == 1
    assert answer("mirror", "recreate", "pipeline_runs")["applied"] is False
    refused(["mirror", "recreate", "pipeline_runs", "--apply"], 2, "Invalid", "add --yes to confirm")
    made = answer("mirror", "recreate", "pipeline_runs", "--apply", "--yes", "--reason", "a test")
    assert (made["kept_in"], made["refreshed"]["rows"]) == (RUNS, 1)
    assert made["tag"].startswith("before-recreate-")
    again = answer("mirror", "recreate", "pipeline_runs", "--as", "pipeline_runs_v2", "--apply")
    assert (again["table"], again["tag"]) == ("default_metadata.pipeline_runs_v2", None)
    assert "pipeline_runs_v2" in shown("mirror", "status")
    refused(["mirror", "refresh", "orders"], 2, "Invalid", "is none of the lake's own tables: choose from pipeline_runs, step_logs")


def test_what_keeps_a_table_from_following_is_told(project: Path) -> None:
    answer("mirror", "refresh")
    own = project / "configs/metadata/schemas"
    own.mkdir(parents=True)
    (own / "step_logs.json").write_text("[]")
    said = invoke("mirror", "refresh")
    assert said.exit_code == 3
    assert f"{own / 'step_logs.json'} lacks step_logging_id, start_time" in said.stderr
    status = invoke("mirror", "status")
    assert (status.exit_code, "lacks step_logging_id" in status.stderr) == (1, True)
    assert ORDERS not in status.stdout
