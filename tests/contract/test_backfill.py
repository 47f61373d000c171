"""History from before: raw sources in many formats become records, each once, with where they came from."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from contract.raw_sources import RUNS, TABLES, at, total, write
from contract.repositories import fact
from integration.commands import answer, refused, shown
from lakeledger import Invalid, Ledger, MetadataTarget
from lakeledger.backfilling import load, merging, readers
from lakeledger.records import Condition, MetadataQuery
from postgres_server import Server

EXPECTED = {
    "ingestion_volume": 3 * RUNS,
    "ingestion_runtime": 2 * RUNS,
    "recon_result": 5 * RUNS,
    "schema_snapshot": 4,
    "statistics_snapshot": 2 * RUNS,
}


def stored(ledger: Ledger) -> dict[str, int]:
    return {kind: len(ledger.records.history(None, kind, limit=None)) for kind in EXPECTED}


def test_history_is_brought_once_however_often_it_is_asked_for(keeper: Ledger, tmp_path: Path) -> None:
    inventory = write(tmp_path / "raw")
    dry = keeper.backfill.run(inventory)
    assert {kind: each.new for kind, each in dry.kinds.items()} == EXPECTED
    assert stored(keeper) == dict.fromkeys(EXPECTED, 0)
    first = keeper.backfill.run(inventory, dry_run=False)
    assert first.problems == []
    assert first.is_clean
    kept = stored(keeper)
    assert kept == {kind: each.stored for kind, each in first.kinds.items()} == EXPECTED
    old = keeper.records.latest("itcftth.customers", "recon_result")
    assert old is not None
    assert (old.payload["status"], old.payload["metrics"], old.quality) == ("pass", {"source": 5}, {"status": "pass"})
    second = keeper.backfill.run(inventory, dry_run=False)
    assert {(each.new, each.stored, each.differ, each.known == each.found) for each in second.kinds.values()} == {(0, 0, 0, True)}
    assert stored(keeper) == kept
    assert len(keeper.records.log(limit=None)) == sum(kept.values())
    assert [(each.checked, each.mismatches) for each in (*dry.baselines, *first.baselines)] == [(3 * RUNS, ())] * 2
    assert first.without_history == ["itcftth.returns"]


def test_what_several_sources_say_of_a_run_is_one_record(keeper: Ledger, tmp_path: Path) -> None:
    keeper.backfill.run(write(tmp_path / "raw"), dry_run=False)
    target = MetadataTarget("erp", "itcftth", TABLES[0])
    found = keeper.records.history(target, "ingestion_volume", limit=None)
    assert [each.payload["rows"] for each in reversed(found)] == [total(0, run) for run in range(RUNS)]
    run = next(each for each in found if each.context.run_id == f"{TABLES[0]}-2")
    assert (run.payload["slices"], run.payload["bytes"], run.context.job_id, run.produced_at) == (3, 300, "nightly", at(2, 4))
    assert run.extras["guardrails"] == [{"rule": "max_rows", "action": "throttled"}]
    assert [each["reader"] for each in run.extras["original_source"]] == ["guardrail_report", "progress_log", "slice_manifest"]
    assert run.context.extras == {"cluster": "old-1", "workspace": None, "orchestrator": None, "schedule": None, "tenant": "default"}
    assert (run.payload["window_start"][:16], run.payload["window_end"][:16]) == ("2024-01-11T05:00", "2024-01-11T05:03")
    runtime = keeper.records.latest(target, "ingestion_runtime")
    assert runtime is not None
    assert (runtime.payload["duration_ms"], runtime.payload["retries"]) == (240_000, 1)
    failed = keeper.records.query(MetadataQuery(target, ["recon_result"], where=[Condition("payload.status", "=", "fail")]))
    assert [each.payload["ingestion_run_ids"] for each in failed] == [[f"{TABLES[0]}-4"], [f"{TABLES[0]}-0"]]
    schema = keeper.records.history(target, "schema_snapshot")
    assert [(len(each.payload["columns"]), each.produced_at) for each in schema] == [(3, at(4)), (2, at(0))]
    customers = keeper.records.latest("itcftth.customers", "ingestion_volume")
    assert customers is not None
    assert (customers.payload["rows"], customers.extras["owner"]) == (total(2, RUNS - 1), "ann")


def test_what_a_load_has_told_itself_is_left_alone(ledger: Ledger, tmp_path: Path) -> None:
    payload = {
        "load": "ordinary",
        "rows": 7,
        "bytes": 1,
        "files": 1,
        "operation": "append",
        "table_version": 1,
        "watermark": None,
        "source_files": 0,
    }
    live = fact(
        1, "ingestion_volume", MetadataTarget("live", "itcftth", "orders"), payload=payload, context=ledger.records.context("j", "orders-3")
    )
    ledger.records.emit(live)
    report = ledger.backfill.run(write(tmp_path / "raw"), dry_run=False)
    told = report.kinds["ingestion_volume"]
    assert (told.known, told.differ, told.stored) == (1, 1, 3 * RUNS - 1)
    assert [each.payload["rows"] for each in ledger.records.query(run_id="orders-3", kinds=["ingestion_volume"])] == [7]
    assert [(each.table, each.expected, each.found) for each in report.baselines[0].mismatches] == [("itcftth.orders", total(1, 3), None)]


def test_the_order_of_entries_does_not_matter(tmp_path: Path) -> None:
    inventory = load(write(tmp_path / "raw"))
    found = [each for source in inventory.sources for each in readers.read(inventory, source, lambda *_: None)]
    one = merging.merge(found, "default", "backfill.v1")
    random.Random(7).shuffle(found)
    other = merging.merge(found, "default", "backfill.v1")
    assert [(each.dedupe_key, each.payload, each.extras) for each in one.records] == [
        (each.dedupe_key, each.payload, each.extras) for each in other.records
    ]
    assert len({each.dedupe_key for each in one.records}) == len(one.records)


def test_what_cannot_be_used_is_told_and_the_rest_is_read(ledger: Ledger, tmp_path: Path, url: str) -> None:
    log = tmp_path / "progress.jsonl"
    lines = [
        {"ts": "2024-01-10T05:00:00Z", "run_id": "a", "table": "orders", "slice": "1", "rows": 5},
        {"ts": "2024-01-10T05:01:00Z", "run_id": "a", "table": "orders", "slice": "1", "rows": 6},
        {"ts": "yesterday", "run_id": "a", "table": "orders", "rows": 6},
        {"ts": "2024-01-10T05:02:00Z", "run_id": "b", "table": "orders", "event": "run_failed", "rows": 4},
        {"ts": "2024-01-10T05:03:00Z", "run_id": "c", "rows": 4},
    ]
    log.write_text("not json\n" + "".join(f"{json.dumps(each)}\n" for each in lines), encoding="utf-8")
    (tmp_path / "report.json").write_text(json.dumps({"run_id": "z", "table": "orders", "guardrails": []}), encoding="utf-8")
    sources = [{"reader": "progress_log", "path": "progress.jsonl"}, {"reader": "guardrail_report", "path": "report.json"}]
    inventory = tmp_path / "inventory.yaml"
    inventory.write_text(json.dumps({"sources": sources}), encoding="utf-8")
    told = answer("records", "backfill", "--from", str(inventory), "--apply", "--url", url, code=3)
    assert (told["problem_count"], told["kinds"]["ingestion_volume"]["stored"]) == (6, 1)
    problems = "\n".join(told["problems"])
    for part in (
        "progress.jsonl:1: it is not JSON",
        "'yesterday' is no time",
        "it names no table",
        "6 rows, and 5 in",
        "loaded nothing",
        "no load is known",
    ):
        assert part in problems
    latest = ledger.records.latest("orders", "ingestion_volume")
    assert latest is not None
    assert (latest.payload["rows"], latest.extras["unknown"]) == (6, ["bytes", "files", "operation"])
    assert "known otherwise" in shown("records", "backfill", "--from", str(inventory), "--url", url, code=3)


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ({"reader": "progres_log", "path": "x"}, "did you mean 'progress_log'"),
        ({"reader": "csv", "path": "x"}, "needs columns"),
        ({"reader": "sql", "url": "sqlite:///x"}, "needs query"),
        ({"reader": "csv", "path": "x", "columns": {}, "tabel": 1}, "did you mean 'table'"),
    ],
)
def test_an_inventory_that_is_wrong_is_refused_with_its_place(source: dict[str, object], told: str, tmp_path: Path) -> None:
    inventory = tmp_path / "inventory.yaml"
    inventory.write_text(json.dumps({"sources": [source]}), encoding="utf-8")
    with pytest.raises(Invalid, match=rf"inventory.yaml:1:\d+: .*{told}"):
        load(inventory)


def test_a_file_that_is_not_there_is_refused(ledger: Ledger, tmp_path: Path, url: str) -> None:
    inventory = tmp_path / "inventory.yaml"
    inventory.write_text(json.dumps({"sources": [{"reader": "progress_log", "path": "gone/*.jsonl"}]}), encoding="utf-8")
    refused(["records", "backfill", "--from", str(inventory), "--url", url], 2, "Invalid", "no file is there by")
    assert ledger.records.head() == 0


def test_rows_of_postgresql_are_a_raw_source(keeper: Ledger, postgres: Server, tmp_path: Path) -> None:
    made = "timestamptz '2024-01-10 06:00+01' as at, 'silver.orders' as tab, 'r1' as run, n::text as part, n * 10 as cnt"
    query = f"select {made} from generate_series(1, 3) n"
    columns = {"produced_at": "at", "table": "tab", "run_id": "run", "slice": "part", "payload.rows": "cnt"}
    source = {"reader": "sql", "url": postgres.url(), "query": query, "columns": columns}
    inventory = tmp_path / "inventory.yaml"
    inventory.write_text(json.dumps({"sources": [source]}), encoding="utf-8")
    assert keeper.backfill.run(inventory, dry_run=False).problems == []
    latest = keeper.records.latest("silver.orders", "ingestion_volume")
    assert latest is not None
    assert (latest.payload["rows"], latest.payload["slices"], latest.produced_at) == (60, 3, at(0))
    broken = {**source, "query": "select gone from nowhere"}
    inventory.write_text(json.dumps({"sources": [broken]}), encoding="utf-8")
    with pytest.raises(Invalid, match=r"nowhere"):
        keeper.backfill.run(inventory)
