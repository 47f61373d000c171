"""The run log: a run begins, ends once, and says what happened."""

# ruff: noqa: PT012 - what raises is the block of a run or a transaction
from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from contract.making import change, dump, execute, new_file, put, rows
from lakeledger import Conflict, Failed, Invalid, Ledger, NotFound, NumberPosition
from lakeledger.runs import Counters, NewRun, Outcome, Status, cancelled, completed, failed, skipped, store


def test_a_run_is_running_inside_its_block_and_completed_after_it(ledger: Ledger) -> None:
    with ledger.run("orders") as run:
        assert ledger.runs.get(run.id).status == "RUNNING"
        assert ledger.runs.get(run.id).end_time is None
    ended = ledger.runs.get(run.id)
    assert ended.status == "COMPLETED"
    assert ended.error_message is None
    assert ended.lease_expires_at is None


def test_what_is_known_of_a_run_is_kept(ledger: Ledger) -> None:
    parameters = {"day": "2026-01-01", "deep": {"n": 2**62, "none": None}, "list": [True]}
    given = {"by": "cron", "kind": "backfill", "parameters": parameters, "config_version": "7", "config_hash": "abc"}
    with ledger.run("parent") as parent, ledger.run("orders", "scheduler", parent_run_id=parent.id, **given) as run:  # type: ignore[arg-type]
        pass
    found = ledger.runs.get(run.id)
    assert found.parameters == parameters
    assert (found.pipeline_id, found.trigger_type, found.trigger_by, found.run_kind) == ("orders", "scheduler", "cron", "backfill")
    assert (found.config_version, found.config_hash, found.parent_run_id) == ("7", "abc", parent.id)
    assert (found.worker_instance, found.node_id) == (ledger.worker.name, ledger.worker.node_id)


def test_a_run_lasts_from_its_start_to_its_end(ledger: Ledger) -> None:
    with ledger.run("orders") as run:
        execute(ledger, "update pipeline_runs set start_time = :start", start=run.run.start_time - timedelta(seconds=90))
    ended = ledger.runs.get(run.id)
    assert ended.end_time is not None
    assert ended.duration_ms is not None
    assert 90_000 <= ended.duration_ms <= 150_000
    assert abs((ended.end_time - ended.start_time) / timedelta(milliseconds=1) - ended.duration_ms) <= 1


def test_a_run_ends_once(ledger: Ledger) -> None:
    with ledger.run("orders") as run:
        pass
    before = dump(ledger)
    with pytest.raises(Conflict, match=f"run {run.id} has already ended: COMPLETED"):
        ledger.runs.finish(run.id, failed("too late"))
    assert dump(ledger) == before


@pytest.mark.parametrize("first", [completed(), failed("broken"), cancelled("stop")], ids=lambda outcome: outcome.status)
@pytest.mark.parametrize("second", [completed(), failed("again"), cancelled("again")], ids=lambda outcome: outcome.status)
def test_the_first_outcome_stays(ledger: Ledger, first: Outcome, second: Outcome) -> None:
    run_id = started(ledger)
    ledger.runs.finish(run_id, first)
    with pytest.raises(Conflict):
        ledger.runs.finish(run_id, second)
    assert (ledger.runs.get(run_id).status, ledger.runs.get(run_id).error_message) == (first.status, first.error_message)


@pytest.mark.parametrize("outcome", [skipped("no"), Outcome(Status.PENDING), Outcome(Status.RUNNING)], ids=lambda outcome: outcome.status)
def test_a_run_cannot_end_as_anything_else(ledger: Ledger, outcome: Outcome) -> None:
    run_id = started(ledger)
    with pytest.raises(Invalid, match=f"a run cannot end as {outcome.status}"):
        ledger.runs.finish(run_id, outcome)
    assert ledger.runs.get(run_id).status == "RUNNING"


def test_a_run_that_ended_cannot_begin_again(ledger: Ledger) -> None:
    with ledger.run("orders") as run:
        pass
    with pytest.raises(Conflict, match="cannot start: it is COMPLETED"), ledger.store.write() as tx:
        store.begin(tx, run.id, ledger.worker, 60)


def test_a_run_that_is_not_there_cannot_end(ledger: Ledger) -> None:
    with pytest.raises(NotFound):
        ledger.runs.finish("nothing-here", completed())


def test_a_cancelled_runs_block_is_told_so_when_it_ends(ledger: Ledger) -> None:
    with pytest.raises(Conflict, match="already ended: CANCELLED"), ledger.run("orders") as run:
        assert ledger.runs.cancel(run.id, "not today").status == "CANCELLED"
    assert ledger.runs.get(run.id).error_message == "not today"


def test_a_run_may_be_ended_by_the_beginning_of_its_id(ledger: Ledger) -> None:
    run_id = started(ledger)
    assert ledger.runs.cancel(run_id[:30], "by hand").status == "CANCELLED"
    assert ledger.runs.get(run_id).status == "CANCELLED"
    assert [each.to_status for each in ledger.runs.transitions(run_id)] == ["PENDING", "RUNNING", "CANCELLED"]


def test_every_change_of_state_is_kept_in_order_with_its_reason_and_actor(ledger: Ledger) -> None:
    with pytest.raises(ValueError, match="bad"), ledger.run("orders") as run:
        raise ValueError("bad date")
    kept = ledger.runs.transitions(run.id)
    assert [(each.entity, each.from_status, each.to_status) for each in kept] == [
        ("run", None, "PENDING"),
        ("run", "PENDING", "RUNNING"),
        ("run", "RUNNING", "FAILED"),
    ]
    assert kept[-1].reason == "ValueError: bad date"
    assert {each.actor for each in kept} == {ledger.worker.name}
    assert [each.at for each in kept] == sorted(each.at for each in kept)


def test_an_exception_is_recorded_and_raised_again(ledger: Ledger) -> None:
    with pytest.raises(ZeroDivisionError) as caught, ledger.run("orders") as run:
        _ = 1 / 0
    assert caught.value.__context__ is None
    ended = ledger.runs.get(run.id)
    assert ended.status == "FAILED"
    assert ended.error_message == "ZeroDivisionError: division by zero"
    assert ended.error_details is not None
    assert ended.error_details["type"] == "ZeroDivisionError"
    assert "test_runs.py" in ended.error_details["traceback"]
    assert "1 / 0" not in ended.error_details["traceback"]  # a line of source may hold a secret


def test_no_secret_that_a_caller_hands_over_is_kept(ledger: Ledger) -> None:
    parameters = {"url": "postgresql://ann:hunter2@db/shop", "options": [{"password": "hunter2", "reference": "${env:PASSWORD}"}], "n": 7}
    with pytest.raises(Conflict), ledger.run("orders", parameters=parameters) as run, run.step("load", token="hunter2") as step:
        step.metadata["source"] = "jdbc:mysql://db/shop?password=hunter2"
        ledger.runs.cancel(run.id, "password=hunter2 is wrong")
    ledger.positions.advance("shop", NumberPosition(1), force=True, reason="token=hunter2")
    assert "hunter2" not in str(dump(ledger))
    kept = ledger.runs.get(run.id).parameters
    assert kept == {"url": "postgresql://ann:***@db/shop", "options": [{"password": "***", "reference": "${env:PASSWORD}"}], "n": 7}


@pytest.mark.parametrize(
    "message",
    ["cannot reach postgresql://ann:hunter2@db/shop", "connect(host='db', password='hunter2')", "Invalid: token=hunter2; try again"],
)
def test_no_secret_gets_into_the_log(ledger: Ledger, message: str) -> None:
    with pytest.raises(RuntimeError), ledger.run("orders") as run, run.step("extract"):
        try:
            raise ConnectionError(message)
        except ConnectionError as error:
            raise RuntimeError(f"no data: {message}") from error
    assert "RuntimeError: no data: " in str(ledger.runs.get(run.id).error_message)
    assert "hunter2" not in str(dump(ledger))


@pytest.mark.parametrize(
    "message",
    ["a\0b", "\udcff", "Größe 日本 🙂", "x" * 100_000, "line\nline", ""],
    ids=["NUL", "surrogate", "unicode", "long", "lines", "empty"],
)
def test_whatever_an_exception_says_the_run_ends_and_the_exception_comes_through(ledger: Ledger, message: str) -> None:
    with pytest.raises(ValueError) as caught, ledger.run("orders") as run, run.step("extract"):  # noqa: PT011 - compared below
        raise ValueError(message)
    assert caught.value.args == (message,)
    ended = ledger.runs.get(run.id)
    assert ended.status == "FAILED"
    assert str(ended.error_message).startswith("ValueError")
    assert len(str(ended.error_message)) <= 2_000
    assert "\n" not in str(ended.error_message)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(1)])
def test_an_interrupted_run_is_cancelled(ledger: Ledger, error: BaseException) -> None:
    with pytest.raises(type(error)), ledger.run("orders") as run, run.step("extract"):
        raise error
    assert ledger.runs.get(run.id).status == "CANCELLED"
    assert [step.status for step in ledger.runs.steps(run.id)] == ["CANCELLED"]
    assert ledger.runs.transitions(run.id)[-1].reason == "interrupted"


def test_a_run_may_fail_without_raising(ledger: Ledger) -> None:
    with ledger.run("orders") as run:
        run.fail("2 of 3 steps failed, password=hunter2")
    ended = ledger.runs.get(run.id)
    assert (ended.status, ended.error_message) == ("FAILED", "2 of 3 steps failed, password=***")


def test_counters_add_up_over_commits_and_what_the_run_counts_itself(ledger: Ledger) -> None:
    with ledger.run("orders") as run:
        put(ledger, change(run, new_file("a", rows=10, size=100), counters=Counters(processed=10, inserted=10)))
        put(ledger, change(run, new_file("b", rows=5, size=50), counters=Counters(processed=6, inserted=5, updated=1)))
        run.count(processed=3, failed=2)
        run.count(deleted=4, failed=1)
    ended = ledger.runs.get(run.id)
    moved = (ended.records_processed, ended.records_inserted, ended.records_updated, ended.records_deleted, ended.records_failed)
    assert moved == (19, 15, 1, 4, 3)
    assert (ended.bytes_processed, ended.commit_count) == (150, 2)


def test_a_failed_run_keeps_what_it_counted(ledger: Ledger) -> None:
    with pytest.raises(ValueError, match="no"), ledger.run("orders") as run:
        run.count(processed=3)
        raise ValueError("no")
    assert ledger.runs.get(run.id).records_processed == 3


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"pipeline": " "}, "a run needs the name of its pipeline"),
        ({"trigger": "cron"}, "trigger 'cron' is not one of api, scheduler, manual, webhook, retry"),
        ({"kind": "load"}, "run kind 'load' is not one of pipeline, sync, recon, maintenance, backfill"),
    ],
)
def test_a_run_that_makes_no_sense_does_not_start(ledger: Ledger, more: dict[str, Any], message: str) -> None:
    with pytest.raises(Invalid, match=message), ledger.run(**{"pipeline": "orders", **more}):
        pass
    assert ledger.runs.list() == []


def test_a_run_has_no_id_before_it_starts(ledger: Ledger) -> None:
    with pytest.raises(Conflict, match="use it in a `with` block"):
        _ = ledger.run("orders").id


def test_the_same_key_runs_once(ledger: Ledger) -> None:
    with ledger.run("orders", idempotency_key="monday") as run:
        pass
    with (
        pytest.raises(Conflict, match=f"orders with key 'monday' is run {run.id}: COMPLETED"),
        ledger.run("orders", idempotency_key="monday"),
    ):
        pass
    with ledger.run("orders", idempotency_key="tuesday"), ledger.run("returns", idempotency_key="monday"):
        pass


def test_the_same_key_cannot_run_twice_at_a_time(ledger: Ledger) -> None:
    with ledger.run("orders", idempotency_key="monday") as run:
        second = ledger.run("orders", idempotency_key="monday")
        with pytest.raises(Conflict, match=f"is run {run.id}: RUNNING"):
            second.__enter__()
    assert len(ledger.runs.list()) == 1


def test_after_a_failure_the_same_key_runs_again_and_knows_what_it_repeats(ledger: Ledger) -> None:
    ids = []
    for _ in range(2):
        with pytest.raises(ValueError, match="no"), ledger.run("orders", idempotency_key="monday") as run:
            raise ValueError("no")
        ids.append(run.id)
    with ledger.run("orders", idempotency_key="monday") as last:
        pass
    assert [ledger.runs.get(run_id).retry_of for run_id in [*ids, last.id]] == [None, ids[0], ids[1]]


def started(ledger: Ledger, pipeline: str = "orders") -> str:
    """A run that nobody will end."""
    with ledger.store.write() as tx:
        return store.begin(tx, store.add(tx, NewRun(pipeline), "test").id, ledger.worker, 60).id


def test_the_worst_that_a_full_store_does_to_a_run_is_to_leave_it_for_recovery(ledger: Ledger) -> None:
    # The user's exception is the news, also when the store cannot be written any more.
    with pytest.raises(ValueError, match="the news"), ledger.run("orders") as run:
        execute(ledger, "alter table state_transitions rename to gone")
        raise ValueError("the news")
    execute(ledger, "alter table gone rename to state_transitions")
    assert rows(ledger, "select status from pipeline_runs") == [{"status": "RUNNING"}]
    assert ledger.runs.get(run.id).status == "RUNNING"


def test_a_store_that_cannot_be_written_is_told_if_nothing_else_went_wrong(ledger: Ledger) -> None:
    with pytest.raises(Failed), ledger.run("orders"):
        execute(ledger, "alter table state_transitions rename to gone")
