"""Expectations in pipelines: declared beside a source, of a SQL task, as a task of their own; the verdict is seen by whoever runs them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from integration.loading import only, put, rows, run
from integration.test_declared_sources import document
from lakeledger import Ledger, codec
from lakeledger.cli.run import Outcome, _show, exit_code
from lakeledger.control import documents
from lakeledger.pipelines.runner import ModuleResult

HEAD = "id,name,price\n"
POSITIVE = {"valid": "price > 0", "action": "quarantine", "name": "price is positive"}


def orders(expectations: list[dict[str, Any]], work: dict[str, Any] | None = None, **more: Any) -> str:
    config = {"path": "orders/*.csv", "schema": "id int, name string, price double"}
    quality = {"dq_config_id": "orders", "expectations": expectations, "fail_on_error": more.pop("fail_on_error", False)}
    return document("files", config, work, quality=quality, **more)


def outcome(ledger: Ledger, result: ModuleResult) -> Outcome:
    return Outcome("shop", ledger.runs.get(result.run_id), ledger.runs.steps(result.run_id), result)


def test_bad_rows_and_rules_set_rows_aside_in_one_pass_each_with_all_its_reasons(sqlite_lake: Ledger, base: Path) -> None:
    put(base / "orders/1.csv", f"{HEAD}1,a,1.5\n2,b,-1\n,c,-2\nx,d,4\n5,e,0\n")
    declared = orders([POSITIVE, {"not_null": "name"}, {"unique": "id"}], bad_rows="quarantine", required_columns="id", max_bad_rows=2)
    step = only(run(sqlite_lake, declared, base))
    assert step.status == "COMPLETED", step.error
    assert rows(sqlite_lake.read("orders")) == [(1, "a", 1.5)]
    aside = {row["row"]: row["reasons"] for row in sqlite_lake.read("orders__quarantine").collect()}
    rule = "breaks price is positive"
    assert aside == {
        '{"id":2,"name":"b","price":-1.0}': [rule],
        '{"id":null,"name":"c","price":-2.0}': ["id is NULL", rule],
        "x,d,4": ["it cannot be read by the schema"],
        '{"id":5,"name":"e","price":0.0}': [rule],
    }
    assert step.loaded
    assert step.loaded.quality
    checks = [(check.success, check.element_count, check.unexpected_count) for check in step.loaded.quality.checks]
    assert checks == [(False, 4, 3), (True, 4, 0), (True, 1, 0)]  # what cannot be read is no row; unique is of what the table gets
    assert step.loaded.summary == "version 1, quality WARNING"
    (volume,) = sqlite_lake.records.history("orders", "ingestion_volume")
    assert volume.extras["guardrails"]["bad_rows"] == 4


def test_a_verdict_is_seen_by_whoever_runs_a_module(sqlite_lake: Ledger, base: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(base / "orders/1.csv", f"{HEAD}1,a,1.5\n")
    good = run(sqlite_lake, orders([{"not_null": "name"}, {"row_count": {"max": 2}}]), base)
    assert exit_code([outcome(sqlite_lake, good)]) == 0
    put(base / "orders/2.csv", f"{HEAD}2,,1.5\n")
    warned = run(sqlite_lake, orders([{"not_null": "name", "severity": "warning"}]), base)
    assert exit_code([outcome(sqlite_lake, warned)]) == 0
    put(base / "orders/3.csv", f"{HEAD}3,,1.5\n")
    failed = run(sqlite_lake, orders([{"not_null": "name"}]), base)
    assert only(failed).status == "COMPLETED"
    assert exit_code([outcome(sqlite_lake, failed)]) == 3
    _show(outcome(sqlite_lake, failed))
    printed = " ".join(capsys.readouterr().out.split())
    assert "FAIL orders quality FAIL: 0 of 1 expectations passed; not_null(name): 1 of 1 rows are unexpected" in printed
    (step,) = sqlite_lake.runs.steps(failed.run_id)
    assert step.metadata["quality"]["status"] == "FAIL"
    put(base / "orders/4.csv", f"{HEAD}4,,1.5\n")
    stopped = run(sqlite_lake, orders([{"not_null": "name"}], fail_on_error=True), base)
    assert only(stopped).status == "FAILED"
    assert exit_code([outcome(sqlite_lake, stopped)]) == 1
    assert sqlite_lake.read("orders").count() == 3
    kept = sqlite_lake.quality.history("orders", status="FAIL")
    assert [(each.is_visible, each.step_logging_id is not None) for each in kept] == [(False, True), (True, True)]
    put(base / "orders/4.csv", f"{HEAD}4,d,1.5\n")
    assert run(sqlite_lake, orders([{"not_null": "name"}], fail_on_error=True), base).rows == 1  # its position had not moved


def test_a_table_is_checked_by_a_task_and_by_a_sql_task(sqlite_lake: Ledger, base: Path) -> None:
    put(base / "orders/1.csv", f"{HEAD}1,a,1.5\n2,a,2.5\n")
    (base / "quality").mkdir()
    put(base / "quality/totals.yaml", "expectations:\n  - unique: name\n  - sum: {column: total, min: 4, max: 4}\n")
    sources = [
        {
            "source_id": "orders",
            "source_type": "files",
            "source_config": {"path": "orders/*.csv", "schema": "id int, name string, price double"},
            "target_config": {"table": "orders"},
        },
        {
            "source_id": "totals",
            "source_type": "sql",
            "execution_order": 2,
            "transformation_config": {"sql_task": {"sql_query": "select name, sum(price) as total from orders group by name"}},
            "target_config": {"table": "totals", "quality": {"dq_config_id": "totals"}},
        },
        {
            "source_id": "check",
            "source_type": "task",
            "execution_order": 3,
            "transformation_config": {
                "task_type": "data_quality",
                "data_quality_task": {
                    "table": "orders",
                    "expectations": [{"unique": "id"}, {"foreign_key": {"column": "name", "table": "totals"}}, {"unique": "name"}],
                },
            },
        },
    ]
    text = codec.to_json({"modules": [{"module_name": "shop", "sources": sources}]})
    put(base / "pipeline.yaml", text)
    module = documents.load(base / "pipeline.yaml").modules[0]
    result = sqlite_lake.run_module(module, base)
    assert [step.status for step in result.steps] == ["COMPLETED"] * 3, result.error
    totals, check = (step.loaded.quality for step in result.steps[1:] if step.loaded)
    assert totals
    assert check
    assert (totals.suite.dq_config_id, totals.status) == ("totals", "PASS")
    assert (check.suite.dq_config_id, check.status, [each.success for each in check.checks]) == ("check", "FAIL", [True, True, False])
    found = sqlite_lake.quality.of_run(result.run_id)
    assert [(each.target_table, each.overall_status) for each in found] == [("main.totals", "PASS"), ("main.orders", "FAIL")]
    assert exit_code([outcome(sqlite_lake, result)]) == 3
    task = sources[2]["transformation_config"]["data_quality_task"]  # type: ignore[index]
    task["fail_on_error"] = True
    strict = documents.parse(codec.to_json({"modules": [{"module_name": "shop", "sources": sources}]}), "shop.yaml").modules[0]
    again = sqlite_lake.run_module(strict, base)
    assert [step.status for step in again.steps] == ["COMPLETED", "COMPLETED", "FAILED"]
    assert "main.orders: quality FAIL: 2 of 3 expectations passed; unique(name): 2 of 2 rows are unexpected" in str(again.error)


def test_rows_that_a_rule_set_aside_are_replayed_through_the_same_rules(sqlite_lake: Ledger, base: Path) -> None:
    put(base / "orders/1.csv", f"{HEAD}1,a,1.5\n2,b,-1\n3,c,-20\n")
    run(sqlite_lake, orders([POSITIVE]), base)
    assert rows(sqlite_lake.read("orders")) == [(1, "a", 1.5)]

    def replay(rule: dict[str, Any]) -> list[Any]:
        module = documents.parse(orders([rule]), "shop.yaml").modules[0]
        return sqlite_lake.replay([module], base, dry_run=False)

    (still,) = replay(POSITIVE)
    assert "would be set aside again for the same reasons" in (still.error or "")
    (done,) = replay({**POSITIVE, "valid": "price > -10"})
    assert (done.error, done.inserted, done.still_bad) == (None, 1, 1)
    assert rows(sqlite_lake.read("orders")) == [(1, "a", 1.5), (2, "b", -1.0)]
    assert [row["row"] for row in sqlite_lake.read("orders__quarantine").collect()] == ['{"id":3,"name":"c","price":-20.0}']
