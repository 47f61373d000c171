"""Facts: what a commit leaves behind for whoever asks later."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from contract.making import AT, append, new_file, overwrite
from lakeledger import Advance, Conflict, FilesPosition, Invalid, Ledger, NumberPosition, records
from lakeledger.pipelines.effects import Stopwatch
from lakeledger.records import MetadataContext, MetadataRecord, MetadataTarget
from lakeledger.sync import SourceFile, parse_source


def test_a_commit_leaves_its_volume(ledger: Ledger) -> None:
    move = Advance(parse_source("shop.orders"), NumberPosition(7))
    committed = append(ledger, new_file("a", 10, 100), new_file("b", 5, 50), position=move)
    fact = ledger.records.latest("silver.orders", "ingestion_volume")
    assert fact is not None
    assert fact.payload == {
        "rows": 15, "bytes": 150, "files": 2, "operation": "append", "table_version": 1, "watermark": {"value": 7}, "source_files": 0,
        "window_start": None, "window_end": None, "filter": None, "load": "ordinary",
    }  # fmt: skip
    assert fact.target == MetadataTarget("shop.orders", "silver", "orders")
    assert fact.context == MetadataContext("load", committed.snapshot.run_id, "default")
    assert (fact.producer_id, fact.produced_at) == ("ingestion.v1", committed.snapshot.committed_at)


def test_a_commit_leaves_how_long_it_took(ledger: Ledger) -> None:
    watch = Stopwatch()
    watch.laps |= {"write_ms": 1200, "publish_ms": 34}
    append(ledger, new_file("a"), watch=watch)
    fact = ledger.records.latest("silver.orders", "ingestion_runtime")
    assert fact is not None
    commit_ms = fact.payload["commit_ms"]
    assert 0 <= commit_ms < 60_000
    parts = {"write_ms": 1200, "publish_ms": 34, "commit_ms": commit_ms}
    assert fact.payload == {"duration_ms": 1234 + commit_ms, **parts, "retries": 0, "table_version": 1}
    assert fact.target.source_id == "load"


def test_a_load_of_files_says_how_many(ledger: Ledger) -> None:
    move = Advance(parse_source("shop.orders"), FilesPosition(1, "x"))
    append(ledger, new_file("a"), position=move, source_files=[SourceFile("/in/a.csv", 1, AT, "h")])
    fact = ledger.records.latest(kind="ingestion_volume")
    assert fact is not None
    assert (fact.payload["source_files"], fact.payload["watermark"]) == (1, {"files": 1, "digest": "x"})


def test_an_empty_commit_has_a_volume_of_zero_not_an_unknown_one(ledger: Ledger) -> None:
    append(ledger)
    fact = ledger.records.latest(kind="ingestion_volume")
    assert fact is not None
    assert (fact.payload["rows"], fact.payload["files"], fact.payload["watermark"]) == (0, 0, None)


def test_facts_of_a_time_are_found(ledger: Ledger) -> None:
    target, start = MetadataTarget("shop", "silver", "orders"), datetime(2026, 1, 1, tzinfo=UTC)
    for day in range(6):
        with ledger.store.write() as tx:
            at = start + timedelta(days=day)
            records.add(tx, MetadataRecord(target, MetadataContext(), "custom", {"day": day}, "me", produced_at=at))

    def days(**times: Any) -> list[int]:
        return [fact.payload["day"] for fact in ledger.records.history("silver.orders", "custom", **times)]

    assert days(since=start + timedelta(days=3)) == [5, 4, 3]
    assert days(until=start + timedelta(days=3)) == [2, 1, 0]
    assert days(since="2026-01-02T00:00:00Z", until="2026-01-04T00:00:00Z") == [2, 1]
    first = ledger.records.history(kind="custom", limit=2, since=start + timedelta(days=1))
    assert [fact.payload["day"] for fact in ledger.records.history(kind="custom", after=first.next, since=start + timedelta(days=1))] == [
        3,
        2,
        1,
    ]
    with pytest.raises(Invalid, match="time zone"):
        days(since="2026-01-02T00:00:00")


def test_each_commit_adds_facts_and_changes_none(ledger: Ledger) -> None:
    append(ledger, new_file("a", 10))
    first = ledger.records.history(kind="ingestion_volume")
    overwrite(ledger, new_file("b", 3), base_version=1)
    history = ledger.records.history("silver.orders", "ingestion_volume")
    assert [(fact.payload["operation"], fact.payload["rows"]) for fact in history] == [("overwrite", 3), ("append", 10)]
    assert history[1:] == first


def test_a_batch_that_is_found_or_refused_leaves_no_facts(ledger: Ledger) -> None:
    append(ledger, new_file("a"), batch_id="b1")
    append(ledger, new_file("b"), batch_id="b1")
    with pytest.raises(Conflict):
        overwrite(ledger, new_file("c"), base_version=7)
    assert len(ledger.records.history(kind="ingestion_volume")) == len(ledger.records.history(kind="ingestion_runtime")) == 1


def test_facts_of_one_table_are_found_together_however_the_table_is_spelt(ledger: Ledger) -> None:
    append(ledger, new_file("a"), table="Silver.Orders")
    append(ledger, new_file("b"), table="silver.orders")
    targets = {(fact.target.schema, fact.target.table) for fact in ledger.records.history(kind="ingestion_volume")}
    assert targets == {("Silver", "Orders")}
    assert len(ledger.records.history("silver.ORDERS", "ingestion_volume")) == 2


def test_a_name_without_a_schema_means_the_same_table_as_everywhere(ledger: Ledger) -> None:
    append(ledger, new_file("a"), table="orders")
    found = [ledger.records.latest(name, "ingestion_volume") for name in ("orders", "ORDERS", "main.orders")]
    assert [fact and (fact.target.schema, fact.target.table) for fact in found] == [("main", "orders")] * 3
    assert len(ledger.records.history("orders", "ingestion_volume")) == 1
    assert ledger.records.latest("other.orders", "ingestion_volume") is None
    with ledger.store.write() as tx:
        records.add(tx, MetadataRecord(MetadataTarget("erp", None, "returns"), MetadataContext(), "custom", {}, "tests"))
    assert ledger.records.latest("returns", "custom") == ledger.records.latest("main.returns", "custom") is not None


def test_facts_are_told_apart_by_kind_and_table(ledger: Ledger) -> None:
    for table in ("silver.orders", "silver.returns", "gold.orders"):
        append(ledger, new_file("a"), table=table)
    assert len(ledger.records.history(kind="ingestion_volume")) == 3
    assert [fact.target.table for fact in ledger.records.history("silver.orders", "ingestion_volume")] == ["orders"]
    assert len(ledger.records.history(kind="ingestion_volume", limit=2)) == 2
    assert ledger.records.latest(kind="nothing") is None
    assert ledger.records.latest("bronze.orders", "ingestion_volume") is None


def test_a_fact_keeps_business_data_and_no_credentials(ledger: Ledger) -> None:
    token = "ghp_" + "a1B2" * 6
    payload = {"password": "reset", "pass": "yes", "account_key": 7, "source": "postgresql://ann:hunter2@db/shop", "note": f"with {token}"}
    target = MetadataTarget("erp", extras={"url": "https://ann:hunter2@h"})
    with ledger.store.write() as tx:
        records.add(
            tx, MetadataRecord(target, MetadataContext(), "custom", payload, "tests", quality={"by": token}, extras={"token": token})
        )
    fact = ledger.records.latest(kind="custom")
    assert fact is not None
    assert fact.payload == {**payload, "source": "postgresql://ann:***@db/shop", "note": "with ***"}
    assert (fact.target.extras, fact.quality, fact.extras) == ({"url": "https://ann:***@h"}, {"by": "***"}, {"token": "***"})


def test_a_fact_comes_back_as_it_was_written(ledger: Ledger) -> None:
    target = MetadataTarget("erp", None, None, {"host": "db"})
    context = MetadataContext("job", "run", "ns", {"try": 2})
    payload: dict[str, Any] = {"n": 2**62, "none": None, "yes": True, "text": "ü🙂", "deep": [{}]}
    new = MetadataRecord(target, context, "custom", payload, "tests", "1.0", {"score": 0.5}, {"x": []})
    with ledger.store.write() as tx:
        record_id = records.add(tx, new)
    fact = ledger.records.latest(kind="custom")
    assert fact is not None
    assert (fact.record_id, fact.target, fact.context, fact.payload) == (record_id, target, context, payload)
    assert (fact.version, fact.quality, fact.extras, fact.produced_at) == ("1.0", {"score": 0.5}, {"x": []}, new.produced_at)


def test_a_source_that_is_named_by_its_url_keeps_its_password_to_itself(ledger: Ledger) -> None:
    target = MetadataTarget("postgresql://ann:hunter2@db/shop", "shop", "orders")
    context = MetadataContext(job_id="https://ann:hunter2@airflow/dag", run_id="r")
    with ledger.store.write() as tx:
        records.add(tx, MetadataRecord(target, context, "volume", {}, "test"))
    kept = ledger.records.latest("shop.orders", "volume")
    assert kept is not None
    assert "hunter2" not in f"{kept.target} {kept.context}"
    assert (kept.target.table, kept.context.run_id) == ("orders", "r")
