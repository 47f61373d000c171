"""Sync runs: begun once, ended once, kept alive in between, and without a credential in them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta

import pytest

from contract.making import dump, execute, expire_lease, opened, rows, wait_until
from lakeledger import Conflict, Fenced, Invalid, Ledger, NotFound, NumberPosition
from lakeledger.runs import NewRun, Worker
from lakeledger.runs import store as run_store
from lakeledger.sync import NewSync, SyncMode, SyncRuns, SyncRunStatistics, SyncStatus

MOVED = SyncRunStatistics(10_000, 8_500, 1_200, 300, 7, 5 * 1024 * 1024)

STARTER = """
import sys, lakeledger
from lakeledger.config import Settings
from lakeledger.sync import NewSync, SyncRuns
ledger = lakeledger.open(Settings(url=sys.argv[1], warehouse="/warehouse"))
run = SyncRuns(ledger.store, ledger.worker, 60).start(NewSync("shop", "stream"))
print(run.id, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def runs(ledger: Ledger) -> Iterator[SyncRuns]:
    handle = SyncRuns(ledger.store, ledger.worker, 60.0)
    yield handle
    handle.close()


def test_a_run_is_one_row_from_start_to_end(runs: SyncRuns, ledger: Ledger) -> None:
    new = NewSync("ecommerce", SyncMode.STREAM, "abc123", {"type": "mongodb"}, {"type": "postgresql"}, "pod-123", "worker-01")
    started = runs.start(new)
    assert (started.status, started.sync_mode, started.schema_name) == (SyncStatus.RUNNING, SyncMode.STREAM, "ecommerce")
    assert (started.instance_id, started.node_id, started.config_hash) == ("pod-123", "worker-01", "abc123")
    ended = runs.complete(started.id, SyncStatus.COMPLETED, MOVED)
    assert (ended.status, ended.statistics) == (SyncStatus.COMPLETED, MOVED)
    assert ended.completed_at is not None
    assert ended.duration_ms is not None
    assert runs.get(started.id) == ended
    (row,) = rows(ledger, "select * from sync_runs")
    assert (row["id"], row["status"], row["source_info"], row["records_inserted"]) == (ended.id, "completed", {"type": "mongodb"}, 8_500)
    assert [run.status for run in ledger.runs.list()] == ["COMPLETED"]


@pytest.mark.parametrize("first", ["completed", "FAILED", "Cancelled"])
def test_a_run_ends_once(runs: SyncRuns, first: str) -> None:
    run = runs.start(NewSync("shop", "batch"))
    ended = runs.complete(run.id, first, MOVED, "because")
    with pytest.raises(Conflict, match=f"run {run.id} has already ended: {first.upper()}"):
        runs.complete(run.id, "completed", SyncRunStatistics(1))
    assert runs.get(run.id) == ended


def test_an_unknown_run_a_run_of_another_kind_and_a_state_that_is_no_end_are_refused(runs: SyncRuns, ledger: Ledger) -> None:
    with pytest.raises(NotFound, match="no run 'nobody'"):
        runs.complete("nobody", "completed")
    run = runs.start(NewSync("shop", "initial"))
    with pytest.raises(Invalid, match="cannot end as running"):
        runs.complete(run.id, "running")
    with pytest.raises(Invalid, match="'done' is not one of pending, running, completed, failed, cancelled"):
        runs.complete(run.id, "done")
    with ledger.run("orders") as other, pytest.raises(Invalid, match="is a pipeline run, not a sync run"):
        runs.get(other.id)


def test_a_run_needs_a_schema_a_mode_and_counts_that_are_counts(runs: SyncRuns) -> None:
    with pytest.raises(Invalid, match="needs the name of the schema"):
        runs.start(NewSync(" ", "stream"))
    with pytest.raises(Invalid, match="'hourly' is not one of stream, batch, initial"):
        runs.start(NewSync("shop", "hourly"))
    with pytest.raises(Invalid, match="records_inserted must be a count, not -1"):
        SyncRunStatistics(records_inserted=-1)


def test_credentials_are_not_stored(runs: SyncRuns, ledger: Ledger) -> None:
    source = {"uri": "mongodb+srv://app:CANARY1@db/x", "password": "CANARY2", "options": {"api_key": "CANARY3"}, "host": "prod-db"}
    run = runs.start(NewSync("shop", "stream", source_info=source, destination_info={"dsn": "host=x password=CANARY4"}))
    runs.complete(run.id, "failed", None, "cannot log in: password=CANARY5", {"header": "Authorization: Bearer CANARY6CANARY6CANARY6"})
    assert "CANARY" not in str(dump(ledger))
    assert runs.get(run.id).source_info == {
        "uri": "mongodb+srv://app:***@db/x",
        "password": "***",
        "options": {"api_key": "***"},
        "host": "prod-db",
    }


def test_a_run_lives_as_long_as_its_process_keeps_it_alive(ledger: Ledger) -> None:
    runs = SyncRuns(ledger.store, ledger.worker, 0.3)
    run = runs.start(NewSync("shop", "stream", instance_id="pod-1"))
    first = runs.get(run.id).heartbeat_at
    wait_until(lambda: runs.get(run.id).heartbeat_at != first)
    assert runs.recover() == []
    runs.close()
    wait_until(lambda: [each.id for each in runs.recover()] == [run.id])
    assert runs.get(run.id).status == SyncStatus.FAILED


def test_a_living_run_is_not_ended_for_its_age_but_a_silent_one_is(runs: SyncRuns, ledger: Ledger) -> None:
    living, silent = (runs.start(NewSync(name, "stream", instance_id="pod-1")) for name in ("living", "silent"))
    execute(ledger, "update pipeline_runs set start_time = '2020-01-01T00:00:00.000000Z', heartbeat_at = :now")
    execute(
        ledger,
        "update pipeline_runs set heartbeat_at = '2020-01-01T00:00:00.000000Z' where pipeline_logging_id = :id",
        id=silent.id,
    )
    assert [run.id for run in runs.recover(silence=timedelta(hours=24))] == [silent.id]
    assert runs.get(living.id).status == SyncStatus.RUNNING


def test_a_run_whose_lease_ran_out_is_recovered_and_cannot_be_completed_any_more(runs: SyncRuns, ledger: Ledger) -> None:
    run = runs.start(NewSync("shop", "stream"))
    expire_lease(ledger, run.id)
    (ended,) = runs.recover()
    assert (ended.id, ended.status) == (run.id, SyncStatus.FAILED)
    assert "was lost before it committed" in str(ended.error_message)
    with pytest.raises(Conflict, match="already ended: FAILED"):
        runs.complete(run.id, "completed", MOVED)
    with pytest.raises(Fenced, match="the position of shop was not moved"):
        ledger.positions.advance("shop", NumberPosition(1), run_id=run.id)
    assert ledger.positions.find("shop") is None


def test_recovery_leaves_the_runs_of_pipelines_to_others(runs: SyncRuns, ledger: Ledger) -> None:
    with ledger.run("orders") as run:
        expire_lease(ledger, run.id)
        assert runs.recover() == []
        execute(ledger, "update pipeline_runs set lease_expires_at = '2999-01-01T00:00:00.000000Z'")


@pytest.mark.parametrize("mode", [None, "a mode of later days"])
def test_a_run_without_a_mode_is_listed_and_recovered_like_the_others(runs: SyncRuns, ledger: Ledger, mode: str | None) -> None:
    kept = runs.start(NewSync("shop", "batch"))
    with ledger.store.write() as tx:
        bare = run_store.add(tx, NewRun("by hand", run_kind="sync", sync_mode=mode), "somebody")
        run_store.begin(tx, bare.id, ledger.worker, 60)
    for run_id in (kept.id, bare.id):
        expire_lease(ledger, run_id)
    assert {(run.id, run.schema_name, run.sync_mode) for run in runs.list()} == {
        (kept.id, "shop", SyncMode.BATCH),
        (bare.id, "by hand", None),
    }
    assert {(run.id, run.status) for run in runs.recover()} == {(kept.id, SyncStatus.FAILED), (bare.id, SyncStatus.FAILED)}


def test_a_run_of_a_process_that_died_on_this_machine_is_recovered_at_once(runs: SyncRuns, url: str) -> None:
    with subprocess.Popen([sys.executable, "-c", STARTER, url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as starter:
        assert starter.stdout is not None
        run_id = starter.stdout.readline().strip()
        assert runs.recover() == []
        starter.kill()
    assert [run.id for run in runs.recover()] == [run_id]


def test_a_run_may_be_completed_by_another_process_than_began_it(runs: SyncRuns, url: str) -> None:
    run = runs.start(NewSync("shop", "batch"))
    with opened(url) as other:
        elsewhere = SyncRuns(other.store, Worker("other:1", "other", "other"), 60)
        assert elsewhere.heartbeat(run.id)
        assert elsewhere.complete(run.id, "completed", MOVED).statistics == MOVED


def test_a_run_that_gave_a_sign_just_now_is_never_silent(runs: SyncRuns) -> None:
    run = runs.start(NewSync("shop", "stream", instance_id="pod-1"))
    assert runs.recover(silence=timedelta(0)) == []
    assert runs.get(run.id).status == SyncStatus.RUNNING


def test_a_run_of_another_kind_is_neither_ended_nor_kept_alive(runs: SyncRuns, ledger: Ledger) -> None:
    with ledger.run("orders") as run:
        before = ledger.runs.get(run.id)
        for refused in (lambda: runs.complete(run.id, "failed"), lambda: runs.heartbeat(run.id)):
            with pytest.raises(Invalid, match="not a sync run"):
                refused()
        assert ledger.runs.get(run.id) == before


def test_what_json_does_not_know_is_kept_as_text(runs: SyncRuns) -> None:
    run = runs.start(NewSync("shop", "batch", source_info={"raw": b"x", "rate": float("nan")}))
    ended = runs.complete(run.id, "failed", None, "no", {"bytes": b"y", "at": timedelta(1)})
    assert ended.source_info == {"raw": "eA==", "rate": "nan"}
    assert set(ended.error_details or {}) == {"bytes", "at"}


def test_a_position_is_noted_with_the_whole_id_of_its_run(runs: SyncRuns, ledger: Ledger) -> None:
    run = runs.start(NewSync("shop", "batch"))
    assert ledger.positions.advance("shop", NumberPosition(1), run_id=run.id[:30]).sync_run_id == run.id
