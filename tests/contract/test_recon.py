"""Results of reconciliations as they are stored, on SQLite and on PostgreSQL."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from contract.making import execute
from lakeledger import Invalid, Ledger, NotFound
from lakeledger.clock import new_id, now
from lakeledger.recon import Result, Status, store


def result(number: int = 1, **more: Any) -> Result:
    at = datetime(2026, 6, 1, tzinfo=UTC) + timedelta(hours=number)
    given: dict[str, Any] = {
        "recon_result_id": new_id(),
        "run_id": f"run-{number}",
        "recon_name": "Orders",
        "check_name": "count",
        "check_type": "count",
        "status": Status.FAIL,
        "schema_name": "silver",
        "table_name": "orders",
        "source": {"jdbc": "postgresql://db/shop", "table": "public.orders"},
        "target": {"table": "silver.orders", "version": 3},
        "source_metric": "100",
        "target_metric": "97",
        "difference": -3.0,
        "difference_percent": 3.0,
        "thresholds": {"absolute": 0},
        "band": None,
        "scope": [{"year_month": "2026-06", "column": "at"}],
        "detail": {"rows": [100, 97], "samples": [{"kind": "missing", "key": {"id": "1"}, "source": {"name": "😀"}}]},
        "message": "3 less",
        "ingestion_run_ids": ["load-1"],
        "frequency": "daily",
        "started_at": at,
        "ended_at": at + timedelta(seconds=2),
    }
    return Result(**{**given, **more})


def keep(ledger: Ledger, *results: Result) -> None:
    with ledger.store.write() as tx:
        store.add(tx, results)


def test_a_result_comes_back_as_it_was_kept_and_as_a_record(ledger: Ledger) -> None:
    made = result()
    keep(ledger, made)
    assert ledger.recon.history() == [made]
    assert ledger.recon.get(made.id[:-2]) == made
    record = ledger.records.latest("silver.orders", "recon_result")
    assert record
    assert record.payload["metrics"] == {"source": 100, "target": 97, "difference": -3, "difference_percent": 3}
    assert (record.payload["check"], record.payload["status"], record.context.run_id) == ("Orders.count", "fail", "run-1")
    assert (record.payload["ingestion_run_ids"], record.quality) == (["load-1"], {"status": "fail", "band": None})


def test_records_are_as_their_schema_says(ledger: Ledger) -> None:
    import json
    from importlib.resources import files

    import jsonschema

    schema = json.loads(files("lakeledger").joinpath("schemas/kinds/recon_result.json").read_text(encoding="utf-8"))
    for each in (
        result(),
        result(status=Status.ERROR, target=None, difference=None, source_metric=None, target_metric="0f"),
    ):
        jsonschema.validate(store.record(each, each.ended_at).payload, schema)


def test_results_are_found_by_name_table_time_and_status_a_page_at_a_time(ledger: Ledger) -> None:
    made = [result(number, status=Status.PASS if number % 2 else Status.FAIL) for number in range(6)]
    other = result(9, recon_name="other", schema_name=None, table_name=None)
    keep(ledger, *made, other)
    newest = list(reversed(made))
    assert ledger.recon.history("ORDERS") == newest
    assert ledger.recon.history(table="Silver.Orders") == newest
    assert ledger.recon.history(status="fail", name="orders") == newest[1::2]
    assert ledger.recon.history(since=made[2].ended_at, until=made[4].ended_at) == [made[3], made[2]]
    first = ledger.recon.history(limit=4)
    assert first == [other, *newest[:3]]
    rest = ledger.recon.history(limit=4, after=first.next)
    assert (rest, rest.next) == (newest[3:], None)


def test_what_is_asked_wrongly_is_refused_with_what_to_do(ledger: Ledger) -> None:
    with pytest.raises(Invalid, match="status 'odd' is not one of pass, warn, fail"):
        ledger.recon.history(status="odd")
    with pytest.raises(NotFound, match="no reconciliation and no result 'nobody'"):
        ledger.recon.explain("nobody")
    with pytest.raises(Invalid, match="needs a time with a time zone"):
        ledger.recon.history(since="2026-01-01T00:00:00")


def test_the_last_run_is_explained_in_words(ledger: Ledger) -> None:
    keep(ledger, result(1), result(2), result(2, check_name="sum", message="both are 5", status=Status.PASS, detail={}, scope=[]))
    told = ledger.recon.explain("orders")
    assert told.startswith(
        "Orders: public.orders of postgresql://db/shop (source) against silver.orders at version 3 (target)\nrun run-2, "
    )
    assert "FAIL count: 3 less\n  The sides differ. Allowed: a difference of 0." in told
    assert "narrowed down to year_month 2026-06 of at" in told
    assert "id = '1' is missing in the target: name = '😀'" in told
    assert "PASS sum: both are 5" in told
    assert "run-1" not in told


def test_only_what_compared_something_counts_as_carried_out(ledger: Ledger) -> None:
    keep(ledger, result(1), result(2, status=Status.ERROR), result(3, status=Status.SCHEDULED_SKIP))
    with ledger.store.read() as tx:
        assert store.last_compared(tx, "orders") == result(1).ended_at
        assert store.last_compared(tx, "never") is None


def test_results_are_kept_as_long_as_records_and_no_other_tenant_sees_them(ledger: Ledger) -> None:
    old, new = result(1), result(2, ended_at=now())
    keep(ledger, old, new)
    execute(ledger, "update metadata_records set produced_at = :at", at=now())
    other = ledger.for_tenant("other")
    assert other.recon.history() == []
    assert other.sync.cleanup()["recon_results"] == 0
    assert ledger.sync.cleanup(dry_run=True)["recon_results"] == 1
    assert ledger.sync.cleanup()["recon_results"] == 1
    assert ledger.recon.history() == [new]
