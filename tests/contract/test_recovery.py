"""Recovery: runs of lost workers are ended by what was committed."""

from __future__ import annotations

from datetime import timedelta

import pytest

from contract.making import change, execute, expire_lease, lost, new_file, put
from lakeledger import Conflict, Ledger
from lakeledger.runs import ActiveRun, DoneBy, NewRun, NewStep, store


def statuses(ledger: Ledger, run: ActiveRun) -> list[str]:
    return [step.status for step in ledger.runs.steps(run.id)]


def test_a_living_run_is_left_alone(ledger: Ledger) -> None:
    with ledger.run("orders") as run:
        assert ledger.runs.recover() == []
        assert ledger.runs.get(run.id).status == "RUNNING"


def test_a_lost_run_that_committed_nothing_failed(ledger: Ledger) -> None:
    run = lost(ledger)
    expire_lease(ledger, run.id)
    assert [(ended.id, ended.status) for ended in ledger.runs.recover()] == [(run.id, "FAILED")]
    assert ledger.runs.get(run.id).error_message == f"{ledger.worker.name} was lost before it committed; run it again"
    assert ledger.runs.recover() == []


def test_a_lost_run_that_commits_once_and_had_completed(ledger: Ledger) -> None:
    run = lost(ledger, done_by=DoneBy.COMMIT)
    put(ledger, change(run, new_file("a")))
    expire_lease(ledger, run.id)
    assert [ended.status for ended in ledger.runs.recover()] == ["COMPLETED"]
    assert ledger.runs.transitions(run.id)[-1].reason == f"{ledger.worker.name} was lost after its commit"


def test_a_lost_run_that_may_commit_again_failed_although_it_had_committed(ledger: Ledger) -> None:
    run = lost(ledger)
    put(ledger, change(run, new_file("a")))
    expire_lease(ledger, run.id)
    assert [ended.status for ended in ledger.runs.recover()] == ["FAILED"]
    why = f"{ledger.worker.name} was lost after 1 commit, before it said that it was done; run it again"
    assert ledger.runs.get(run.id).error_message == why


def test_a_lost_task_that_had_written_one_of_its_tables_is_run_again_under_its_key(ledger: Ledger) -> None:
    run = lost(ledger, "shop", idempotency_key="due-1", exclusive=True)
    (step,) = run.plan([NewStep("both_tables", "python")])
    step.__enter__()
    put(ledger, change(step, new_file("a"), table="first"))
    expire_lease(ledger, run.id)
    assert [ended.status for ended in ledger.runs.recover()] == ["FAILED"]
    assert statuses(ledger, run) == ["FAILED"]
    (kept,) = ledger.runs.steps(run.id)
    assert "was lost after a commit at" in str(kept.error_message)
    assert "only its end says that it is done" in str(ledger.runs.transitions(kept.id)[-1].reason)
    with ledger.run("shop", idempotency_key="due-1", exclusive=True) as again:
        assert again.run.retry_of == run.id


def test_the_steps_of_a_lost_run_end_by_what_each_committed(ledger: Ledger) -> None:
    run = lost(ledger)
    first, second, _ = run.plan([NewStep("a"), NewStep("b"), NewStep("c")])
    with first:
        put(ledger, change(first, new_file("a")))
    second.__enter__()
    expire_lease(ledger, run.id)
    assert [ended.status for ended in ledger.runs.recover()] == ["FAILED"]
    assert statuses(ledger, run) == ["COMPLETED", "FAILED", "SKIPPED"]
    assert "after 1 commit, with b, c unfinished" in str(ledger.runs.get(run.id).error_message)


def test_a_lost_run_is_done_if_all_its_planned_steps_are(ledger: Ledger) -> None:
    run = lost(ledger)
    first, second = run.plan([NewStep("a"), NewStep("b", done_by=DoneBy.COMMIT)])
    with first:
        pass
    second.__enter__()
    put(ledger, change(second, new_file("a")))
    expire_lease(ledger, run.id)
    assert [ended.status for ended in ledger.runs.recover()] == ["COMPLETED"]
    assert statuses(ledger, run) == ["COMPLETED", "COMPLETED"]
    assert ledger.runs.transitions(run.id)[-1].reason == f"{ledger.worker.name} was lost after its last step"


def test_a_lost_run_whose_steps_were_not_planned_may_have_had_more_to_do(ledger: Ledger) -> None:
    run = lost(ledger)
    step = run.step("a", done_by=DoneBy.COMMIT).__enter__()
    put(ledger, change(step, new_file("a")))
    expire_lease(ledger, run.id)
    assert [ended.status for ended in ledger.runs.recover()] == ["FAILED"]
    assert statuses(ledger, run) == ["COMPLETED"]


def test_a_lost_run_is_judged_by_the_last_attempt_of_each_step(ledger: Ledger) -> None:
    run = lost(ledger)
    (first,) = run.plan([NewStep("a")])
    with pytest.raises(ValueError, match="no luck"), first:
        raise ValueError("no luck")
    (second,) = run.plan([NewStep("a", attempt=2)])
    with second:
        pass
    expire_lease(ledger, run.id)
    assert [ended.status for ended in ledger.runs.recover()] == ["COMPLETED"]


def test_what_was_lost_cannot_come_back(ledger: Ledger) -> None:
    run = lost(ledger)
    step = run.step("a").__enter__()
    expire_lease(ledger, run.id)
    ledger.runs.recover()
    with pytest.raises(Conflict, match="already ended: FAILED"):
        put(ledger, change(step, new_file("a")))
    with pytest.raises(Conflict, match="already ended: FAILED"):
        step.__exit__(None, None, None)
    with pytest.raises(Conflict, match="already ended: FAILED"):
        run.__exit__(None, None, None)
    assert statuses(ledger, run) == ["FAILED"]


def test_an_age_may_be_given_from_which_on_a_run_counts_as_stuck(ledger: Ledger) -> None:
    old, young = lost(ledger), lost(ledger)
    long_ago = old.run.start_time - timedelta(hours=25)
    execute(ledger, "update pipeline_runs set start_time = :at where pipeline_logging_id = :id", at=long_ago, id=old.id)
    assert ledger.runs.recover() == []
    assert [ended.id for ended in ledger.runs.recover(max_age=timedelta(hours=24))] == [old.id]
    assert ledger.runs.get(young.id).status == "RUNNING"


def test_a_run_without_a_lease_is_lost(ledger: Ledger) -> None:
    run = lost(ledger)
    execute(ledger, "update pipeline_runs set lease_expires_at = null")
    assert [ended.id for ended in ledger.runs.recover()] == [run.id]


def test_many_lost_runs_are_ended_oldest_first(ledger: Ledger) -> None:
    runs = [lost(ledger, f"p{index}") for index in range(5)]
    for run in runs:
        expire_lease(ledger, run.id)
    assert [ended.id for ended in ledger.runs.recover()] == [run.id for run in runs]


def test_a_run_that_was_planned_and_never_began_is_not_lost(ledger: Ledger) -> None:
    with ledger.store.write() as tx:
        store.add(tx, NewRun("orders"), "test")
    assert ledger.runs.recover() == []
