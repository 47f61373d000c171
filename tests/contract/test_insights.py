"""What follows from facts, on SQLite, PostgreSQL and files: plans, gates, trends, timeouts, adherence and lineage."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import lakeledger
from contract.making import append, change, new_file, put
from contract.repositories import fact
from contract.scheduling import DAILY, DAY, MINUTE, SIX, World
from empty_ledgers import new_sqlite_url
from integration.commands import answer, refused, shown
from lakeledger import Invalid, Ledger, MetadataTarget, NotFound
from lakeledger.clock import new_id
from lakeledger.config import RecordSettings, load
from lakeledger.insights.gate import gate, source_target
from lakeledger.insights.planner import PART_BYTES, partitioning
from lakeledger.records import MetadataRecord

ORDERS = MetadataTarget("shop.orders", "silver", "orders")
SHOP = MetadataTarget("shop.orders", "shop", "orders")
START = datetime(2026, 1, 1, 5, tzinfo=UTC)
HOUR = timedelta(hours=1)


@pytest.fixture(params=["ledger", "files"])
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Ledger]:
    """A ledger whose records are in it, or in a folder: whoever asks does not notice."""
    where = "sql" if request.param == "ledger" else f"file://{tmp_path}/metadata"
    settings = load(url=new_sqlite_url(tmp_path), warehouse=str(tmp_path / "warehouse"))
    with lakeledger.open(replace(settings, records=RecordSettings(repository=where))) as opened:
        yield opened


def volume(day: int, rows: int, **more: Any) -> MetadataRecord:
    payload: dict[str, Any] = {
        "load": "ordinary", "rows": rows, "bytes": rows * 1_000, "files": 1, "operation": "append", "table_version": day + 1,
        "watermark": None, "source_files": 0, **more,
    }  # fmt: skip
    return fact(day, "ingestion_volume", ORDERS, payload=payload, produced_at=START + day * DAY)


def result(hour: int, status: str, table: str = "orders", check: str = "orders.count") -> MetadataRecord:
    payload: dict[str, Any] = {
        "check": check,
        "check_type": "count",
        "status": status,
        "source": None,
        "target": None,
        "metrics": {},
        "number": hour,
    }
    target = MetadataTarget("recon", "silver", table)
    return fact(hour, "recon_result", target, payload=payload, produced_at=START + hour * HOUR)


# Planning


def test_a_load_is_planned_from_the_latest_schema_and_the_last_volumes(kept: Ledger) -> None:
    columns = [
        {"name": "id", "type": "long"},
        {"name": "price", "type": "decimal(12,4)", "precision": 12, "scale": 4},
        {"name": "at", "type": "timestamptz"},
    ]
    kept.records.emit_many(volume(day, 1_000 + day) for day in range(5))
    kept.records.emit(volume(5, 900_000, load="backfill"))
    kept.records.emit(volume(6, 0, load="refused"))
    kept.records.emit(fact(1, "schema_snapshot", ORDERS, payload={"columns": columns[:1], "fingerprint": "a"}))
    kept.records.emit(fact(2, "schema_snapshot", ORDERS, payload={"columns": columns, "fingerprint": "b"}))
    kept.records.emit(fact(2, "statistics_snapshot", ORDERS, payload={"row_count": 10_020, "total_bytes": 40 * PART_BYTES}))
    plan = kept.insights.plan(ORDERS)
    assert (plan.loads, plan.rows, plan.bytes, plan.most_rows, plan.hours_between) == (5, 1_002, 1_002_000, 1_004, 24)
    assert (plan.rows_per_day, plan.growth_percent, plan.parts) == ((1_004 + 1_003 + 1_002 + 1_001) / 4, 10.0, 1)
    assert {each["name"]: (each["precision"], each["scale"]) for each in plan.columns}["price"] == (12, 4)
    assert (plan.partitioning.column, plan.partitioning.period) == ("at", "day")
    assert kept.insights.plan("silver.orders") == plan.__class__(**{**vars(plan), "target": "silver.orders"})
    with pytest.raises(NotFound, match=r"nothing is known of silver.gone: load it, or let a collector look at it"):
        kept.insights.plan("silver.gone")


def test_a_partition_is_the_shortest_period_that_fills_a_file() -> None:
    columns = [{"name": "id", "type": "long"}, {"name": "day", "type": "date"}]
    big, rows = 1_000 * PART_BYTES, 1_000_000

    def period(daily_bytes: float) -> tuple[str | None, str | None]:
        found = partitioning(columns, rows, big, daily_bytes * rows / big)
        return found.column, found.period

    assert [period(share * PART_BYTES) for share in (1.5, 0.1, 0.001)] == [("day", "day"), ("day", "month"), ("day", "year")]
    assert partitioning(columns, rows, PART_BYTES, 5.0).column is None
    assert partitioning(columns[:1], rows, big, 5.0).why == "no column is a date or a time"
    assert partitioning(columns, 0, 0, None).why.startswith("the table has 0 bytes"), "nothing is not unknown"
    assert partitioning(columns, None, None, None).why.startswith("how big the table is, is not known")


# The gate


def breaking(number: int, *, breaks: bool = True) -> MetadataRecord:
    change = {
        "change": "column_removed",
        "column": "name",
        "breaking": breaks,
        "words": "name text was dropped",
        "reason": "queries that name it fail",
    }
    payload = {"changes": [change], "breaking": breaks, "to_fingerprint": f"f{number}"}
    return fact(number, "catalog_diff", SHOP, payload=payload)


def test_a_gate_is_closed_by_a_breaking_change_and_opened_by_a_decision(kept: Ledger) -> None:
    assert kept.insights.gate("shop.orders").is_open
    kept.records.emit(breaking(1, breaks=False))
    assert kept.insights.gate("shop.orders").is_open
    kept.records.emit(breaking(2))
    assert not kept.insights.gate("shop.orders").is_open
    assert kept.insights.gate("shop.customers").is_open
    with pytest.raises(
        Invalid, match=r"breaking change: name text was dropped .queries that name it fail.: `lakeledger schema accept shop.orders"
    ):
        kept.insights.gate("shop.orders").check()
    with pytest.raises(Invalid, match="which is over"):
        kept.insights.accept("shop.orders", until="2020-01-01T00:00:00Z")
    decided = kept.insights.accept("shop.orders", "they told us", by="ann")
    found = kept.insights.gate("shop.orders")
    assert (found.is_open, found.reason) == (True, "name text was dropped (queries that name it fail): accepted by ann")
    assert (decided.payload["accepted_by"], decided.payload["reason"], decided.payload["until"]) == ("ann", "they told us", None)
    with pytest.raises(NotFound, match=r"nothing blocks shop.orders"):
        kept.insights.accept("shop.orders")
    kept.records.emit(breaking(3))
    assert not kept.insights.gate("shop.orders").is_open, "another change needs another decision"


def test_a_decision_holds_until_its_time(ledger: Ledger, url: str) -> None:
    ledger.records.emit(breaking(2))
    refused(["insights", "gate", "orders", "--url", url], 2, "Invalid", "must be module.source")
    assert answer("insights", "gate", "shop.orders", "--url", url, code=1)["open"] is False
    told = answer("schema", "accept", "shop.orders", "--reason", "for now", "--until", "2099-01-01T00:00:00Z", "--url", url)
    assert (told["accepted"], told["gate"]["payload"]["until"]) == ([], "2099-01-01T00:00:00.000000Z")
    assert "is open" in shown("insights", "gate", "shop.orders", "--url", url)
    assert not gate(ledger.records, source_target("shop.orders"), SIX + DAY).is_open
    assert "which is over" in gate(ledger.records, source_target("shop.orders"), SIX + DAY).reason
    refused(["schema", "accept", "shop.orders", "--url", url], 2, "NotFound", "nothing blocks shop.orders")
    ledger.records.kinds.set_policy("strict")
    ledger.records.emit(breaking(3))
    assert ledger.insights.accept("shop.orders").kind == "schema_acceptance"


# Dashboards


def test_trends_say_how_checks_and_loads_went(kept: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lakeledger.insights.scanning.PAGE", 3)
    statuses = ["pass", "fail", "pass", "warn", "timeout", "pass", "pass"]
    kept.records.emit_many(result(hour * 6, status) for hour, status in enumerate(statuses))
    kept.records.emit(result(1, "error", "customers"))
    kept.records.emit(fact(3, "dq_result", ORDERS, payload={"overall_status": "WARNING"}, produced_at=START))
    kept.records.emit_many(volume(day, 10) for day in range(3))
    found = kept.insights.trends("recon_result", since=START)
    assert [(each.at.day, each.target, each.statuses, each.pass_rate) for each in found] == [
        (1, "silver.customers", {"error": 1}, None),
        (1, "silver.orders", {"pass": 2, "fail": 1, "warn": 1}, 0.5),
        (2, "silver.orders", {"timeout": 1, "pass": 2}, 1.0),
    ]
    assert [each.statuses for each in kept.insights.trends("dq_result")] == [{"warn": 1}]
    (week, *_) = kept.insights.trends("ingestion_volume", "silver.orders", bucket="month")
    assert (week.rows, week.bytes, week.records) == (30, 30_000, 3)
    with pytest.raises(Invalid, match="'year' is no period"):
        kept.insights.trends(bucket="year")


def test_tables_that_time_out_again_and_again_are_told_with_their_volumes(kept: Ledger) -> None:
    kept.records.emit_many(
        [result(1, "timeout"), result(2, "timeout", check="orders.sum"), result(3, "pass"), result(4, "timeout", "customers")]
    )
    kept.records.emit_many(volume(day, rows) for day, rows in enumerate((10, 20, 90)))
    (only,) = kept.insights.timeouts()
    assert (only.target, only.timeouts, only.checks) == ("silver.orders", 2, ("orders.count", "orders.sum"))
    assert (only.rows, only.bytes, only.loads) == (20, 20_000, 3)
    assert [each.target for each in kept.insights.timeouts(at_least=1)] == ["silver.orders", "silver.customers"]
    assert kept.insights.timeouts(START + 2 * DAY) == []


# Adherence


def test_every_due_time_has_one_record_of_how_it_was_kept(world: World) -> None:
    world.job(schedule=DAILY)
    world.job("asked")
    scheduler = world.scheduler()
    assert world.tick(scheduler, SIX) == ["shop"]
    assert world.tick(scheduler, SIX + DAY + MINUTE) == [], "the first one is still under way"
    world.gate.set()
    assert scheduler.drain(20)
    assert world.tick(scheduler, SIX + 5 * DAY) == ["shop"]
    assert scheduler.drain(20)
    records = world.ledger.records.history(MetadataTarget("shop"), "sla_adherence")
    found = {each.payload["due_at"][:10]: each.payload["status"] for each in records}
    assert found == {
        "2099-01-01": "late", "2099-01-02": "missed", "2099-01-03": "late", "2099-01-04": "missed", "2099-01-05": "missed",
        "2099-01-06": "missed",
    }  # fmt: skip
    first = next(each for each in records if each.payload["due_at"].startswith("2099-01-01"))
    assert (first.payload["late_seconds"], first.payload["sla_seconds"], first.payload["run_status"]) == (60.0, 86_400.0, "done")
    assert (first.context.extras["schedule"], first.context.extras["orchestrator"]) == ("shop", "lakeledger")
    assert world.ledger.runs.get(first.context.run_id or "").status == "COMPLETED"
    (shop,) = world.ledger.insights.sla("shop")
    assert (shop.due, shop.on_time, shop.late, shop.missed, shop.failed, shop.on_time_rate) == (6, 0, 2, 4, 0, 0.0)
    world.ledger.records.kinds.set_policy("strict")
    assert world.ledger.records.emit(fact(1, "sla_adherence", payload=first.payload)) is not None


def test_a_run_that_is_asked_for_has_no_due_time(world: World) -> None:
    job = world.job(schedule=DAILY, health={"rules": [{"metric": "RUN_DURATION_SECONDS", "op": "GREATER_THAN", "value": 30}]})
    world.backend.run_now(job)
    world.gate.set()
    scheduler = world.scheduler()
    world.tick(scheduler)
    assert scheduler.drain(20)
    assert world.ledger.insights.sla() == []
    assert world.tick(scheduler, SIX) == ["shop"]
    assert scheduler.drain(20)
    (shop,) = world.ledger.insights.sla()
    assert (shop.on_time, shop.latest["sla_seconds"]) == (1, 30.0)


# Lineage


def made(ledger: Ledger, table: str, inputs: dict[str, int] | None = None, **more: Any) -> str:
    with ledger.run(f"make {table}") as run:
        put(
            ledger,
            change(run, new_file(new_id(), 3), table=table, summary={"inputs": inputs} if inputs else {"source": "shop.orders"}, **more),
        )
    return run.id


def test_lineage_goes_both_ways(ledger: Ledger, url: str) -> None:
    bronze = made(ledger, "bronze.orders")
    made(ledger, "bronze.orders")
    silver = made(ledger, "silver.orders", {"bronze.orders": 1})
    made(ledger, "silver.orders", {"bronze.orders": 2})
    gold = made(ledger, "gold.revenue", {"silver.orders": 1, "bronze.orders": 1})
    append(ledger, new_file("x"), table="silver.other")
    up = ledger.insights.lineage_up("gold.revenue")
    assert [(each.table, each.version, each.run_id, each.depth) for each in up] == [
        ("gold.revenue", 1, gold, 0), ("bronze.orders", 1, bronze, 1), ("silver.orders", 1, silver, 1),
    ]  # fmt: skip
    assert up[0].pipeline == "make gold.revenue"
    assert [(each.name, each.is_table) for each in up[1].inputs] == [("shop.orders", False)]
    assert len(ledger.insights.lineage_up("gold.revenue", 1, depth=1)) == 1
    down = ledger.insights.lineage_down("bronze.orders")
    assert [(each.table, each.version, each.depth) for each in down] == [
        ("gold.revenue", 1, 1),
        ("silver.orders", 2, 1),
        ("gold.revenue", 1, 2),
    ]
    second = ledger.insights.lineage_down("bronze.orders", 2)
    assert [(each.table, each.version) for each in second] == [("silver.orders", 2)]
    assert ledger.insights.lineage_down("gold.revenue") == []
    with pytest.raises(NotFound):
        ledger.insights.lineage_up("gold.gone")
    assert [each["table"] for each in answer("lineage", "down", "silver.orders", "--url", url)["edges"]] == ["gold.revenue"]
    assert "bronze.orders v1" in shown("lineage", "up", "gold.revenue", "--version", "1", "--url", url)


def test_what_others_say_of_lineage_counts_too(ledger: Ledger) -> None:
    run = made(ledger, "bronze.orders")
    said = {
        "inputs": [{"name": "erp.orders"}, {"name": "bronze.orders", "version": 1}],
        "outputs": [{"name": "reports.weekly", "version": 4}],
    }
    target = MetadataTarget("bi", "reports", "weekly")
    ledger.records.emit(fact(1, "lineage", target, payload=said))
    told = {"inputs": [{"name": "crm.extract"}], "outputs": [{"name": "bronze.orders", "version": 1}]}
    context = ledger.records.context("job", run)
    ledger.records.emit(fact(2, "lineage", MetadataTarget("crm", "bronze", "orders"), payload=told, context=context))
    (edge,) = ledger.insights.lineage_down("bronze.orders")
    assert (edge.table, edge.version, edge.run_id) == ("reports.weekly", 4, "run-1")
    assert {each.name for each in ledger.insights.lineage_up("bronze.orders")[0].inputs} == {"shop.orders", "crm.extract"}
