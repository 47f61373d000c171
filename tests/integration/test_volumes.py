"""What a load brings is judged in its commit; a source that is suddenly empty, late or shrunken is reported though its run completes."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from contract.making import execute
from contract.measuring import days_ago
from integration.commands import answer, invoke
from integration.loading import HEADER, only, orders, run
from lakeledger import Ledger, clock
from lakeledger.control import documents
from lakeledger.errors import Invalid
from lakeledger.pipelines.runner import StepResult
from lakeledger.records import MetadataContext, MetadataRecord, MetadataTarget, add
from lakeledger.runs import Status

ORDERS = "main.orders"


def declared(**target: str) -> str:
    """The load of orders with more in its target."""
    more = "".join(f", {name}: {value}" for name, value in target.items())
    return orders().replace("{table: orders}", f"{{table: orders{more}}}")


def deliver(base: Path, name: str, rows: int) -> None:
    """A file of so many orders."""
    (base / "orders").mkdir(exist_ok=True)
    (base / f"orders/{name}.csv").write_text(HEADER + "".join(f"{number},x,1.5\n" for number in range(rows)))


def with_history(ledger: Ledger, rows: int = 100, days: int = 20) -> None:
    """As if the table had got so many rows on each of the last days."""
    target = MetadataTarget("shop.orders", "main", "orders")
    execute(ledger, "update metadata_records set produced_at = :at", at=days_ago(days + 1))
    for day in range(days, 0, -1):
        payload = {"load": "ordinary", "rows": rows, "bytes": 10, "files": 1, "operation": "append", "table_version": days - day + 2}
        with ledger.store.write() as tx:
            made = MetadataRecord(target, MetadataContext(), "ingestion_volume", payload, "ingestion.v1", "1", produced_at=days_ago(day))
            add(tx, made)


def last_volume(ledger: Ledger) -> MetadataRecord:
    found = ledger.records.latest(ORDERS, "ingestion_volume")
    assert found is not None
    return found


def loaded(ledger: Ledger, base: Path, document: str | None = None, **more: Any) -> StepResult:
    return only(run(ledger, document or orders(), base, **more))


def test_loads_are_compared_by_the_days_that_their_data_is_of_though_all_ran_today(sqlite_lake: Ledger) -> None:
    for day in range(1, 10):
        with sqlite_lake.run("orders", parameters={"logical_date": f"2026-06-{day:02}"}) as run:
            sqlite_lake.append(sqlite_lake.spark.range(30 if day == 9 else 100), ORDERS, run=run)
    judged = last_volume(sqlite_lake)
    assert (judged.payload["logical_date"], judged.quality["status"], judged.quality["unit"]) == ("2026-06-09", "warn", "load")  # type: ignore[index]
    series = sqlite_lake.bands.series(ORDERS)
    assert [f"{point.at:%m-%d}" for point in series.points] == [f"06-{day:02}" for day in range(1, 10)]


def test_the_volume_of_a_load_is_judged_in_its_commit(lake: Ledger, base: Path) -> None:
    deliver(base, "1", 100)
    first = loaded(lake, base)
    assert (first.loaded and first.loaded.warnings, last_volume(lake).quality, last_volume(lake).payload["load"]) == ((), None, "initial")
    with_history(lake)
    deliver(base, "2", 100)
    usual = loaded(lake, base)
    assert usual.loaded is not None
    assert usual.loaded.warnings == ()
    kept = last_volume(lake)
    assert kept.quality is not None
    assert (kept.quality["status"], kept.quality["value"], kept.quality["band"]["state"]) == ("pass", 100, "ACTIVE")
    assert len(kept.quality["band"]["inputs"]["values"]) == 20
    deliver(base, "3", 40)
    result = run(lake, orders(), base)
    step, kept = only(result), last_volume(lake)
    assert (step.status, lake.tables.get(ORDERS).row_count) == (Status.COMPLETED, 240)  # it is reported, and committed
    told = "volume: 40 rows is 60 % below the expected 100 (usual: 90 to 110)"
    assert (step.loaded and step.loaded.warnings, lake.runs.steps(result.run_id)[0].metadata["warnings"]) == ((told,), [told])
    assert kept.quality is not None
    assert (kept.quality["status"], kept.context.extras["step_id"]) == ("warn", lake.runs.steps(result.run_id)[0].id)
    assert [(each.table, each.status) for each in lake.bands.unusual()] == [(ORDERS, "warn")]


def test_a_declared_policy_refuses_an_unusual_load_and_keeps_why(sqlite_lake: Ledger, base: Path) -> None:
    document = declared(volume="{band: fail}", quality="{expectations: [not_null: id]}")
    deliver(base, "1", 100)
    loaded(sqlite_lake, base, document)
    with_history(sqlite_lake)
    before = (sqlite_lake.tables.get(ORDERS), sqlite_lake.positions.list())
    deliver(base, "2", 1000)
    refused = loaded(sqlite_lake, base, document)
    assert refused.status == Status.FAILED
    assert "the load of main.orders is refused: 1,000 rows is 900 % above the expected 100" in str(refused.error)
    assert (sqlite_lake.tables.get(ORDERS), sqlite_lake.positions.list()) == before
    kept = last_volume(sqlite_lake)
    assert (kept.payload["load"], kept.payload["rows"], kept.quality and kept.quality["status"]) == ("refused", 1000, "fail")
    judged = [(each.overall_status, each.is_visible) for each in sqlite_lake.quality.history(ORDERS)]
    assert judged == [("PASS", False), ("PASS", True)]  # its rows were looked at, and nobody sees them
    assert loaded(sqlite_lake, base, document).status == Status.FAILED
    sqlite_lake.bands.accept(ORDERS, kept.record_id, "the new shop is open")
    assert loaded(sqlite_lake, base, document).status == Status.COMPLETED
    assert sqlite_lake.tables.get(ORDERS).row_count == 1100


def test_backfills_and_full_refreshes_are_not_judged(sqlite_lake: Ledger, base: Path) -> None:
    deliver(base, "1", 100)
    loaded(sqlite_lake, base)
    with_history(sqlite_lake)
    deliver(base, "2", 900)
    step = loaded(sqlite_lake, base, declared(volume="{band: fail}"), full_refresh=True)
    assert step.status == Status.COMPLETED
    assert (last_volume(sqlite_lake).payload["load"], last_volume(sqlite_lake).quality) == ("full_refresh", None)


@pytest.mark.usefixtures("quiet")
def test_a_source_that_is_silently_empty_completes_and_is_reported(sqlite_lake: Ledger, base: Path) -> None:
    document = declared(freshness="26h")
    deliver(base, "1", 100)
    loaded(sqlite_lake, base, document)
    with_history(sqlite_lake)
    deliver(base, "2", 0)
    step = loaded(sqlite_lake, base, document)
    assert step.status == Status.COMPLETED
    assert step.loaded is not None
    assert "volume: 0 rows is 100 % below the expected 100" in step.loaded.warnings[0]
    assert sqlite_lake.freshness.get(ORDERS).status == "fresh"
    assert loaded(sqlite_lake, base, document).loaded.warnings == ()  # type: ignore[union-attr]  # nothing new, and that is usual
    execute(sqlite_lake, "update table_freshness set data_at = :at", at=clock.now() - timedelta(hours=30))
    step = loaded(sqlite_lake, base, document)
    assert step.loaded is not None
    told = "nothing new: main.orders got its last data 30 h ago; it may be 26 h old"
    assert (step.status, step.loaded.warnings) == (Status.COMPLETED, (told,))
    at = ["--url", sqlite_lake.settings.url]
    (base / "pipeline.yaml").write_text(document)
    printed = invoke("run", str(base / "pipeline.yaml"), *at)
    assert (printed.exit_code, f"warning: orders: {told}" in printed.stderr) == (0, True), printed.output
    assert told in invoke("runs", "show", sqlite_lake.runs.list()[0].id, *at).stdout
    (ended,) = answer("run", str(base / "pipeline.yaml"), *at)["modules"]
    assert ended["steps"][0]["metadata"]["warnings"] == [told]
    assert answer("freshness", "list", "--fail-on-late", *at, code=1)["overdue"] == 1


@pytest.mark.parametrize(
    ("target", "told"),
    [
        ({"volume": "{band: refuse}"}, "volume.band"),
        ({"volume": "{min_rows: 10, max_rows: 5}"}, "min_rows 10 is more than max_rows 5"),
        ({"volume": "{tolerance: 0}"}, "volume.tolerance"),
        ({"volume": "{min_row: 1}"}, "did you mean 'min_rows'"),
        ({"freshness": "daily"}, "'daily' is not a time span: write 90m, 26h or 8d"),
    ],
)
def test_what_is_declared_wrong_is_refused_with_its_line(target: dict[str, str], told: str) -> None:
    with pytest.raises(Invalid) as error:
        documents.parse(declared(**target), "shop.yml")
    assert "shop.yml:" in str(error.value)
    assert told in str(error.value)
