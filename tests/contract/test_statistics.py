"""Statistics: what happened in the last hours, and None where nothing did."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from contract.making import execute
from lakeledger import Invalid, Ledger, NumberPosition
from lakeledger.sync import NewError, NewLetter, NewSync, SyncRunStatistics


def a_run(ledger: Ledger, schema: str, status: str, records: int = 0, duration_ms: int = 1_000) -> str:
    run = ledger.sync.runs.start(NewSync(schema, "batch"))
    if status != "running":
        ledger.sync.runs.complete(run.id, status, SyncRunStatistics(records_processed=records, bytes_processed=records * 10))
        execute(ledger, "update pipeline_runs set duration_ms = :ms where pipeline_logging_id = :id", ms=duration_ms, id=run.id)
    return run.id


def test_of_nothing_there_are_counts_but_no_rates(ledger: Ledger) -> None:
    found = ledger.sync.statistics()
    runs, errors, letters = found["sync_runs"], found["errors"], found["dead_letters"]
    assert (runs["total_runs"], runs["total_records_processed"]) == (0, 0)
    for name in ("success_rate", "avg_duration_ms", "max_duration_ms", "records_per_second", "bytes_per_second"):
        assert runs[name] is None, name
    assert (errors["total_errors"], errors["by_type"], errors["retry_success_rate"]) == (0, {}, None)
    assert (letters["total"], letters["avg_errors"], letters["oldest_pending_at"]) == (0, None, None)
    assert found["markers"] == {"total": 0, "oldest_update": None, "newest_update": None}


def test_runs_are_counted_by_how_they_ended(ledger: Ledger) -> None:
    for status, records in (("completed", 100), ("completed", 300), ("failed", 50), ("cancelled", 0), ("running", 0)):
        a_run(ledger, "shop", status, records)
    with ledger.run("orders"):
        pass
    runs = ledger.sync.statistics("shop")["sync_runs"]
    assert [runs[f"{word}_runs"] for word in ("total", "completed", "failed", "cancelled", "running")] == [5, 2, 1, 1, 1]
    assert runs["total_records_processed"] == 450
    assert runs["success_rate"] == pytest.approx(2 / 3)
    assert runs["avg_duration_ms"] == 1_000.0
    assert runs["records_per_second"] == pytest.approx(450 / 4)
    assert runs["bytes_per_second"] == pytest.approx(4_500 / 4)
    assert {type(value) for value in runs.values()} <= {int, float}


def test_a_run_that_still_runs_has_no_success_rate(ledger: Ledger) -> None:
    a_run(ledger, "shop", "running")
    assert ledger.sync.statistics()["sync_runs"]["success_rate"] is None


def test_only_the_schema_and_the_hours_asked_for_count(ledger: Ledger) -> None:
    a_run(ledger, "shop", "completed")
    old = a_run(ledger, "shop", "failed")
    a_run(ledger, "other", "failed")
    execute(
        ledger,
        "update pipeline_runs set start_time = :then, end_time = :then where pipeline_logging_id = :id",
        then=datetime.now(UTC) - timedelta(hours=30),
        id=old,
    )
    assert ledger.sync.statistics("shop")["sync_runs"]["success_rate"] == 1.0
    assert ledger.sync.statistics("shop", hours=48)["sync_runs"]["success_rate"] == 0.5
    assert ledger.sync.statistics()["sync_runs"]["total_runs"] == 2


def test_errors_are_counted_by_type_and_by_hour(ledger: Ledger) -> None:
    found = [ledger.errors.log(NewError("shop", "orders", kind, "no")) for kind in ("connection", "connection", "timeout", "schema")]
    now = datetime.now(UTC)
    execute(ledger, "update error_log set occurred_at = :at where id = :id", at=now - timedelta(hours=3), id=found[0].id)
    ledger.errors.retried(found[1].id)
    ledger.errors.succeeded(found[1].id)
    ledger.errors.ignore(found[2].id)
    errors = ledger.sync.statistics("shop")["errors"]
    assert errors["by_type"] == {"connection": 2, "timeout": 1, "schema": 1}
    assert [errors[f"{word}_errors"] for word in ("total", "open", "resolved", "ignored")] == [4, 2, 1, 1]
    assert (errors["retries"], errors["retry_success_rate"]) == (1, 1.0)
    hours = {point["hour"]: point["errors"] for point in errors["trend"]}
    assert len(hours) == 25
    assert sum(hours.values()) == 4
    assert hours[(now - timedelta(hours=3)).replace(minute=0, second=0, microsecond=0)] == 1


def test_retries_that_ended_in_a_dead_letter_did_not_succeed(ledger: Ledger) -> None:
    error = ledger.errors.log(NewError("shop", "orders", "connection", "no", record_data={"id": 1}, max_retries=1))
    ledger.errors.retried(error.id)
    found = ledger.sync.statistics()
    assert found["errors"]["retry_success_rate"] == 0.0
    assert found["dead_letters"]["pending"] == 1


def test_letters_and_positions_are_told(ledger: Ledger) -> None:
    letters = [ledger.dead_letters.add(NewLetter("shop", "orders", "insert", {"id": number})) for number in (1, 2, 2)]
    ledger.dead_letters.resolve(letters[0].id)
    marker = ledger.positions.advance("shop.orders", NumberPosition(1))
    found = ledger.sync.statistics("shop")
    assert (found["dead_letters"]["pending"], found["dead_letters"]["resolved"], found["dead_letters"]["avg_errors"]) == (1, 1, 1.5)
    assert found["dead_letters"]["oldest_pending_at"] == letters[1].created_at
    assert found["markers"] == {"total": 1, "oldest_update": marker.last_updated, "newest_update": marker.last_updated}


def test_what_this_process_uses_is_told(ledger: Ledger) -> None:
    resources = ledger.sync.statistics()["resources"]
    assert resources["peak_memory_bytes"] > 10_000_000
    assert set(resources["connections"]) == {"in_use", "idle"}
    assert resources["connections"]["in_use"] == 0


@pytest.mark.parametrize("hours", [0, -1, 1e9, float("nan")])
def test_hours_must_make_sense(ledger: Ledger, hours: float) -> None:
    with pytest.raises(Invalid, match="hours must be between"):
        ledger.sync.statistics(hours=hours)


def test_a_stream_counts_while_it_runs_and_when_it_ends_however_long_ago_it_began(ledger: Ledger) -> None:
    run = ledger.sync.runs.start(NewSync("Shop", "stream"))
    execute(ledger, "update pipeline_runs set start_time = :then", then=datetime.now(UTC) - timedelta(hours=30))
    assert ledger.sync.statistics("shop")["sync_runs"]["running_runs"] == 1
    ledger.sync.runs.complete(run.id, "completed", SyncRunStatistics(5))
    assert ledger.sync.statistics("SHOP")["sync_runs"]["total_records_processed"] == 5
