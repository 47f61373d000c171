"""What crashed writes left behind is found, also when the log of their runs is long gone."""

# ruff: noqa: PT012 - what raises is the block of a run
from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from contract.making import append, execute, expire_lease, new_file, rows
from lakeledger import Conflict, Ledger
from lakeledger.config import RetentionSettings
from lakeledger.sync.cleanup import clean


def crash(ledger: Ledger) -> tuple[str, Path]:
    """A run that was lost after it wrote a file and before it committed; its id, and the file."""
    with pytest.raises(Conflict), ledger.run("orders") as run:
        file = Path(ledger.warehouse) / "main/orders/data" / run.id / "abc/part-0.parquet"
        file.parent.mkdir(parents=True)
        file.write_bytes(b"rows")
        expire_lease(ledger, run.id)
        ledger.runs.recover()
    return run.id, file


def test_files_of_a_run_that_retention_deleted_are_swept(ledger: Ledger) -> None:
    run_id, file = crash(ledger)
    clean(ledger.store, RetentionSettings(runs_days=0))
    assert rows(ledger, "select 1 from pipeline_runs") == []
    assert [leftover.path for leftover in ledger.tables.sweep(timedelta(0)).leftovers] == [f"data/{run_id}/abc/part-0.parquet"]
    assert file.exists()
    ledger.tables.sweep(timedelta(0), delete=True)
    assert not file.exists()
    assert rows(ledger, "select 1 from forgotten_runs") == []


def test_what_is_to_be_swept_is_remembered_while_the_warehouse_is_not_there(ledger: Ledger) -> None:
    append(ledger, new_file("a"), location="silver/orders")
    _, file = crash(ledger)
    clean(ledger.store, RetentionSettings(runs_days=0))
    whole = Path(ledger.warehouse)
    whole.rename(whole.with_name("not_mounted"))
    assert ledger.tables.sweep(timedelta(0), delete=True).leftovers == []
    whole.with_name("not_mounted").rename(whole)
    assert len(ledger.tables.sweep(timedelta(0), delete=True).leftovers) == 1
    assert not file.exists()


def test_what_is_too_young_to_be_swept_is_remembered(ledger: Ledger) -> None:
    _, file = crash(ledger)
    clean(ledger.store, RetentionSettings(runs_days=0))
    execute(ledger, "update forgotten_runs set forgotten_at = :long_ago", long_ago=datetime(2020, 1, 1, tzinfo=UTC))
    assert ledger.tables.sweep(delete=True).leftovers == []
    ledger.tables.sweep(timedelta(0), delete=True)
    assert not file.exists()


def test_files_of_a_run_that_this_ledger_never_had_are_left_alone(ledger: Ledger) -> None:
    _, file = crash(ledger)
    strange = file.parent.parent.parent / "01a1e6dd-3035-754a-816a-475744d1ed31/abc/part-0.parquet"
    strange.parent.mkdir(parents=True)
    strange.write_bytes(b"rows")
    assert len(ledger.tables.sweep(timedelta(0), delete=True).leftovers) == 1
    assert (strange.exists(), file.exists()) == (True, False)


def test_files_of_a_silent_run_that_may_still_commit_are_left_alone(ledger: Ledger) -> None:
    with ledger.run("orders") as run:
        file = Path(ledger.warehouse) / "main/orders/data" / run.id / "abc/part-0.parquet"
        file.parent.mkdir(parents=True)
        file.write_bytes(b"rows")
        expire_lease(ledger, run.id)
        assert ledger.tables.sweep(timedelta(0)).leftovers == []
    assert file.exists()
