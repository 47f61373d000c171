"""Recovery: runs of lost workers are ended by what was committed."""

from __future__ import annotations

from datetime import timedelta

import pytest

from contract.making import change, execute, expire_lease, new_file, put
from lakeledger import Conflict, Ledger
from lakeledger.runs import ActiveRun, NewRun, NewStep, store


def lost(ledger: Ledger, pipeline: str = "orders") -> ActiveRun:
    """A run whose worker is silent."""
    run = ledger.run(pipeline)
    run.__enter__()
    run._ended.set()
    return run


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


def test_a_lost_run_that_had_committed_completed(ledger: Ledger) -> None:
    run = lost(ledger)
    put(ledger, change(run, new_file("a")))
    expire_lease(ledger, run.id)
    assert [ended.status for ended in ledger.runs.recover()] == ["COMPLETED"]
    assert ledger.runs.transitions(run.id)[-1].reason == f"{ledger.worker.name} was lost after its commit"


def test_the_steps_of_a_lost_run_end_by_what_each_committed(ledger: Ledger) -> None:
    run = lost(ledger)
    first, second, _ = run.plan([NewStep("a"), NewStep("b"), NewStep("c")])
    with first:
        put(ledger, change(first, new_file("a")))
    second.__enter__()
    expire_lease(ledger, run.id)
    assert [ended.status for ended in ledger.runs.recover()] == ["FAILED"]
    assert statuses(ledger, run) == ["COMPLETED", "FAILED", "SKIPPED"]
    assert "after 1 commit(s), with b, c unfinished" in str(ledger.runs.get(run.id).error_message)


def test_a_lost_run_whose_last_step_had_committed_completed(ledger: Ledger) -> None:
    run = lost(ledger)
    with run.step("a"):
        pass
    second = run.step("b").__enter__()
    put(ledger, change(second, new_file("a")))
    expire_lease(ledger, run.id)
    assert [ended.status for ended in ledger.runs.recover()] == ["COMPLETED"]
    assert statuses(ledger, run) == ["COMPLETED", "COMPLETED"]


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
