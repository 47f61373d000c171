"""A run in words: why it stands as it does, what of it is visible, and what to do next."""

# ruff: noqa: PT012 - what raises is the block of a run
from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from contract.making import change, execute, expire_lease, new_file, put, wait_until
from contract.scheduling import DAILY, MINUTE, SIX, World, lose
from integration.commands import answer, shown
from integration.test_tasks import call, module, steps_py
from integration.test_tasks import run as run_tasks
from lakeledger import Conflict, Failed, Fenced, Invalid, Ledger
from lakeledger.runs import DoneBy, NewStep
from lakeledger.runs.explain import Explanation


def text(found: Explanation) -> str:
    return "\n".join([*found.why, "|", *found.visible, "|", *found.next])


def silence(ledger: Ledger, run_id: str, seconds: float) -> None:
    """Let the last heartbeat of a run be so long ago."""
    last = datetime.now(UTC) - timedelta(seconds=seconds)
    late = "update pipeline_runs set heartbeat_at = :last, lease_expires_at = :until where pipeline_logging_id = :id"
    execute(ledger, late, last=last, until=last + timedelta(seconds=60), id=run_id)


def test_a_run_that_finished(ledger: Ledger) -> None:
    with ledger.run("orders") as run, run.step("load") as step:
        put(ledger, change(step, new_file("a"), operation="append"))
    found = ledger.explain(run.id)
    assert found.status == "COMPLETED"
    assert found.why[0].startswith(f"{ledger.worker.name} finished it at ")
    assert (found.visible, found.next) == (["silver.orders version 1 (append, +10 rows)"], ["Nothing."])


def test_a_healthy_run_that_another_tenants_stalled_client_does_not_disturb(ledger: Ledger) -> None:
    with ledger.run("orders") as run:
        found = ledger.explain(run.id)
        assert f"{ledger.worker.name} works on it: its last heartbeat came 0 s ago, its lease ends" in found.why[0]
        assert found.visible == ["nothing: it has committed no data"]
        assert f"`lakeledger runs cancel {run.id[:13]} --reason …` stops it" in found.next[0]


def test_a_run_whose_lease_ran_out_because_the_store_was_away(ledger: Ledger) -> None:
    with ledger.run("orders") as run:
        silence(ledger, run.id, 300)
        assert "Nobody has noticed so far. Until somebody does, it may go on and commit." in text(ledger.explain(run.id))
        ledger.runs.recover()
        assert "has been silent since" in text(ledger.explain(run.id))
        assert "Unless it renews its lease until" in text(ledger.explain(run.id))
        put(ledger, change(run, new_file("a")))
    assert ledger.explain(run.id).next == ["Nothing."]


def test_a_run_that_was_taken_over_and_whose_late_commit_was_refused(ledger: Ledger) -> None:
    with pytest.raises(Conflict), ledger.run("orders", exclusive=True) as old:
        execute(ledger, "update pipeline_runs set worker_instance = 'far:1', instance_id = 'far'")
        expire_lease(ledger, old.id)
        with ledger.run("orders", exclusive=True) as new:
            pass
        with pytest.raises(Fenced):
            put(ledger, change(old, new_file("a")))
    found = ledger.explain(old.id)
    assert found.why[0].startswith("far:1 gave its last sign of life at ")
    assert f"{ledger.worker.name} ended it at " in found.why[1]
    assert "far:1 was lost before it committed; run it again." in found.why[1]
    assert found.why[2] == "Should far:1 come back, its commits are refused."
    assert found.next == [f"Run {new.id[:13]} of orders began after it and is COMPLETED: nothing is left to do here."]
    assert f"It repeats run {old.id[:13]}." in ledger.explain(new.id).why


def test_a_run_whose_end_was_lost_but_whose_commit_was_found(ledger: Ledger) -> None:
    with pytest.raises(Conflict), ledger.run("orders", done_by=DoneBy.COMMIT) as run:
        put(ledger, change(run, new_file("a")))
        execute(ledger, "update pipeline_runs set worker_instance = 'far:1', instance_id = 'far'")
        expire_lease(ledger, run.id)
        ledger.runs.recover()
    found = ledger.explain(run.id)
    assert found.status == "COMPLETED"
    assert found.why[-1] == "The commit was found in the ledger, where it is written together with the data."
    assert (found.visible, found.next) == (["silver.orders version 1 (append, +10 rows)"], ["Nothing."])


def test_a_run_that_was_lost_with_half_of_its_work_done(ledger: Ledger) -> None:
    with pytest.raises(Conflict), ledger.run("orders", trigger="scheduler") as run:
        (step,) = run.plan([NewStep("my_task", "python")])
        with pytest.raises(Conflict), step:
            put(ledger, change(step, new_file("a"), table="first"))
            execute(ledger, "update pipeline_runs set worker_instance = 'far:1', instance_id = 'far'")
            expire_lease(ledger, run.id)
            ledger.runs.recover()
    found = ledger.explain(run.id)
    assert found.status == "FAILED"
    assert "with my_task unfinished" in text(found)
    assert found.visible == ["main.first version 1 (append, +10 rows)"]
    assert found.next[0].startswith("Mind main.first: rows were appended without a batch id, and would be appended again")
    assert found.next[1] == "Run orders again (`lakeledger jobs run orders`)."
    assert "`lakeledger tables sweep` finds files that it left behind." in found.next


def test_a_run_that_was_lost_after_a_batch_that_is_not_applied_again(ledger: Ledger) -> None:
    with pytest.raises(Failed), ledger.run("orders") as run:
        put(ledger, change(run, new_file("a"), batch_id="monday"))
        raise Failed("no luck")
    assert (
        "Run orders again (`lakeledger run --module orders`): what is visible stays and is not loaded twice." in ledger.explain(run.id).next
    )


def test_a_run_that_was_lost_with_its_scheduler_starts_again_by_itself(world: World) -> None:
    world.job(schedule=DAILY)
    world.tick(world.scheduler(), SIX)
    wait_until(world.under_way)
    (active,) = world.ledger.runs.list(status="RUNNING")
    lose(world, world.runs()[0])
    expire_lease(world.ledger, active.id)
    world.ledger.runs.recover()
    assert world.ledger.explain(active.id).next[0].startswith("Nothing: it is in the queue, and the next look of a `lakeledger scheduler`")
    world.gate.set()
    again = world.scheduler()
    world.tick(again, SIX + MINUTE)
    assert again.drain(20)
    assert "is COMPLETED: nothing is left to do here." in world.ledger.explain(active.id).next[0]


def test_a_run_of_another_day_makes_up_for_nothing(ledger: Ledger) -> None:
    with pytest.raises(Failed), ledger.run("orders", parameters={"day": "monday"}) as monday:
        raise Failed("no luck")
    with ledger.run("orders", parameters={"day": "tuesday"}):
        pass
    assert "Run orders again" in text(ledger.explain(monday.id))
    with ledger.run("orders", parameters={"day": "monday"}) as again:
        pass
    assert f"Run {again.id[:13]} of orders began after it and is COMPLETED" in text(ledger.explain(monday.id))


def test_a_run_of_a_single_source_is_repeated_as_such(ledger: Ledger) -> None:
    with ledger.run("shop.orders") as run:
        (step,) = run.plan([NewStep("orders")])
        with pytest.raises(Invalid), step:
            raise Invalid("no luck")
        run.fail("1 of 1 steps failed")
    assert "`lakeledger run --control … --module shop --source orders`" in text(ledger.explain(run.id))


def test_a_run_with_a_task_that_took_too_long(ledger: Ledger, tmp_path: Path) -> None:
    steps_py(tmp_path, "def slow(context):\n    context.stop.wait(60)\n")
    result = run_tasks(ledger, module(call("late", "slow", timeout_seconds=1)), tmp_path)
    found = ledger.explain(result.run_id)
    assert (found.why, found.visible) == (["Step late failed: timed out after 1 s."], ["nothing: it has committed no data"])


def test_a_run_that_somebody_cancelled(ledger: Ledger) -> None:
    with pytest.raises(Conflict), ledger.run("orders") as run:
        ledger.runs.cancel(run.id, "wrong day", by="ann@laptop")
    found = ledger.explain(run.id)
    assert "ann@laptop ended it at" in found.why[0]
    assert "wrong day." in found.why[0]
    assert found.why[1] == f"Whatever {ledger.worker.name} tries to commit after that is refused."
    assert found.next == ["Run orders again (`lakeledger run --module orders`): nothing of it is visible, so nothing comes twice."]


def test_a_run_with_a_step_that_failed(ledger: Ledger, url: str) -> None:
    with ledger.run("orders") as run:
        first, _ = run.plan([NewStep("extract"), NewStep("load")])
        with pytest.raises(Invalid), first:
            raise Invalid("no file matches in/*.csv: check the source's path")
        run.fail("1 of 2 steps failed")
    found = ledger.explain(run.id)
    assert found.why == [
        "Step extract failed: Invalid: no file matches in/*.csv: check the source's path.",
        "Not carried out because of that: load.",
    ]
    assert found.next[0].startswith(f"Remove the cause: `lakeledger runs logs {run.id[:13]}` shows")
    assert answer("runs", "explain", run.id[:20], "--url", url) == vars(found)
    printed = shown("runs", "explain", run.id, "--url", url)
    assert printed.startswith(f"Run {run.id} of orders: FAILED\n\nWhy\n  Step extract failed: Invalid: no file matches in/*.csv")


def test_a_run_that_failed_as_a_whole(ledger: Ledger) -> None:
    with pytest.raises(Failed), ledger.run("orders", trigger="api") as run:
        raise Failed("the disk is full")
    found = ledger.explain(run.id)
    assert "the disk is full." in found.why[0]
    assert "Run orders again (the same call)" in found.next[1]
