"""The gate of a load: runner and scheduler ask it before they start anything, and a person's decision opens it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from contract.repositories import fact
from integration.commands import answer
from integration.loading import HEADER, error_of, only, orders, put, run
from lakeledger import Ledger, MetadataTarget
from lakeledger.clock import new_id
from lakeledger.control import documents
from lakeledger.jobs.model import JobRun, LocalJob
from lakeledger.jobs.scheduler import Due

AT = datetime(2026, 1, 1, tzinfo=UTC)


def close(ledger: Ledger, source: str = "orders") -> None:
    change = {"change": "column_removed", "column": "name", "breaking": True, "words": "name text was dropped"}
    target = MetadataTarget(f"shop.{source}", "shop", source)
    ledger.records.emit(fact(1, "catalog_diff", target, payload={"changes": [change], "breaking": True, "to_fingerprint": "f"}))


def due(document: str, base: Path) -> Due:
    """A run of a job whose module is that of the document."""
    module = documents.parse(document, "shop.yaml").modules[0].model_dump(mode="json", exclude_unset=True, by_alias=True)
    job = LocalJob("job", "default", "shop", {}, module, str(base), False, None, False, {}, AT, AT, 1)
    claim = ("running", None, 1, 0, AT, None, 1, "me", None, None, AT, AT, None)
    return Due(job, JobRun(new_id(), "default", "job", "schedule", AT, "scheduler", {}, *claim))


def test_a_load_does_not_start_while_its_gate_is_closed(sqlite_lake: Ledger, base: Path) -> None:
    put(base / "orders/1.csv", f"{HEADER}1,a,1.5\n")
    close(sqlite_lake)
    first = run(sqlite_lake, orders(), base)
    assert only(first).status == "FAILED"
    assert not only(first).retryable
    assert "the catalog of shop.orders has a breaking change: name text was dropped" in error_of(sqlite_lake, first)
    assert sqlite_lake.tables.list() == []
    outcome = sqlite_lake.run_job(due(orders(), base))
    assert (outcome.status, outcome.retryable, outcome.run_id) == ("SKIPPED", False, None)
    assert "lakeledger schema accept shop.orders" in (outcome.reason or "")
    url = sqlite_lake.settings.database_url
    told = answer("schema", "accept", "shop.orders", "--reason", "the shop said so", "--url", url)
    assert told["gate"]["payload"]["reason"] == "the shop said so"
    assert (only(run(sqlite_lake, orders(), base)).status, sqlite_lake.tables.get("orders").row_count) == ("COMPLETED", 1)
