"""Steps: what a run did, in order, and what it did not reach."""

# ruff: noqa: PT012 - what raises is the block of a run or a transaction
from __future__ import annotations

from contextlib import nullcontext, suppress
from pathlib import Path

import pytest

from contract.making import ORDERS, change, dump, new_file, put
from lakeledger import Conflict, Fenced, Invalid, Ledger, Settings
from lakeledger.config import CostSettings
from lakeledger.runs import ActiveRun, ActiveStep, Counters, NewStep, Outcome, Status, completed, failed, store


def test_a_step_that_completes_keeps_what_it_moved(ledger: Ledger) -> None:
    with ledger.run("orders") as run, run.step("extract", "ingest", "silver.orders", source="a.csv") as step:
        assert ledger.runs.steps(run.id)[0].status == "RUNNING"
        step.rows_processed, step.bytes_processed = 7, 70
        step.metadata["files"] = 2
    kept = ledger.runs.steps(run.id)[0]
    assert (kept.step_name, kept.step_type, kept.target_table, kept.status) == ("extract", "ingest", "silver.orders", "COMPLETED")
    assert (kept.rows_processed, kept.bytes_processed) == (7, 70)
    assert kept.metadata == {"source": "a.csv", "files": 2}
    assert kept.end_time is not None
    assert kept.duration_ms is not None


@pytest.mark.parametrize("price", [None, 3.6])
def test_a_step_says_where_it_wrote_how_much_and_what_that_cost(url: str, tmp_path: Path, price: float | None) -> None:
    settings = Settings(url, str(tmp_path / "warehouse"), costs=CostSettings(price))
    with Ledger(settings) as ledger:
        with ledger.run("orders") as run, run.step("load", "ingest") as step:
            put(ledger, change(step, new_file("a", size=120), new_file("b", size=80)))
        with pytest.raises(ValueError, match="bad"), ledger.run("orders") as failing, run_step(failing):
            raise ValueError("bad")
        loaded, broken = ledger.runs.steps(run.id)[0], ledger.runs.steps(failing.id)[0]
    assert (loaded.target_table, loaded.bytes_processed) == (ORDERS, 200)
    assert (loaded.metadata["destination_table"], loaded.metadata["bytes_processed"]) == (ORDERS, 200)
    assert "destination_table" not in broken.metadata
    for each in (loaded, broken):
        # 3.6 USD an hour are a millionth of a dollar for each millisecond.
        assert each.metadata.get("query_cost_usd") == (None if price is None else round((each.duration_ms or 0) / 1_000_000, 6))


def run_step(run: ActiveRun) -> ActiveStep:
    return run.step("load", "ingest", ORDERS)


def test_a_price_below_nothing_is_refused() -> None:
    with pytest.raises(Invalid, match=r"costs\.usd_per_hour cannot be -1"):
        CostSettings(-1)


def test_a_step_that_raises_failed_and_so_did_its_run(ledger: Ledger) -> None:
    with pytest.raises(ValueError, match="bad"), ledger.run("orders") as run, run.step("extract"):
        raise ValueError("bad, password=hunter2")
    step = ledger.runs.steps(run.id)[0]
    assert (step.status, step.error_message) == ("FAILED", "ValueError: bad, password=***")
    assert ledger.runs.get(run.id).status == "FAILED"


def test_a_failure_that_is_contained_fails_the_step_only(ledger: Ledger) -> None:
    with ledger.run("orders") as run:
        with pytest.raises(ValueError, match="bad"), run.step("extract"):
            raise ValueError("bad")
        with run.step("load"):
            pass
    assert [step.status for step in ledger.runs.steps(run.id)] == ["FAILED", "COMPLETED"]
    assert ledger.runs.get(run.id).status == "COMPLETED"


def test_a_step_may_skip_itself(ledger: Ledger) -> None:
    with ledger.run("orders") as run, run.step("extract") as step:
        step.skip("nothing new")
    kept = ledger.runs.steps(run.id)[0]
    assert (kept.status, kept.error_message, kept.metadata) == ("SKIPPED", None, {"reason": "nothing new"})
    assert ledger.runs.transitions(kept.id)[-1].reason == "nothing new"


def test_a_step_that_skips_itself_and_then_raises_failed(ledger: Ledger) -> None:
    with pytest.raises(ValueError, match="bad"), ledger.run("orders") as run, run.step("extract") as step:
        step.skip("nothing new")
        raise ValueError("bad")
    assert ledger.runs.steps(run.id)[0].status == "FAILED"


def test_planned_steps_are_seen_before_they_begin(ledger: Ledger) -> None:
    with ledger.run("orders") as run:
        first, second, third = run.plan([NewStep("extract"), NewStep("load"), NewStep("check")])
        assert [step.status for step in ledger.runs.steps(run.id)] == ["PENDING"] * 3
        with first:
            pass
        second.skip("not needed")
        assert [step.status for step in ledger.runs.steps(run.id)] == ["COMPLETED", "SKIPPED", "PENDING"]
        with third:
            pass
    assert [(step.step_index, step.step_name) for step in ledger.runs.steps(run.id)] == [(0, "extract"), (1, "load"), (2, "check")]


def test_steps_keep_their_order_and_each_change_of_state(ledger: Ledger) -> None:
    with ledger.run("orders") as run:
        for name in ("a", "b", "c"):
            with run.step(name):
                pass
    steps = ledger.runs.steps(run.id)
    assert [(step.step_index, step.step_name) for step in steps] == [(0, "a"), (1, "b"), (2, "c")]
    assert [each.to_status for each in ledger.runs.transitions(steps[0].id)] == ["PENDING", "RUNNING", "COMPLETED"]
    assert {each.entity for each in ledger.runs.transitions(steps[0].id)} == {"step"}


def test_a_step_ends_once(ledger: Ledger) -> None:
    with ledger.run("orders") as run:
        with run.step("extract") as step:
            pass
        with pytest.raises(Conflict, match=r"step extract of run .* has already ended: COMPLETED"), ledger.store.write() as tx:
            store.finish_step(tx, step.id, failed("late"), "test")
        with pytest.raises(Conflict, match="cannot start: it is COMPLETED"), step:
            pass


@pytest.mark.parametrize("status", [Status.PENDING, Status.RUNNING])
def test_a_step_cannot_end_as_something_that_is_no_end(ledger: Ledger, status: Status) -> None:
    with ledger.run("orders") as run, run.step("extract") as step:
        with pytest.raises(Invalid, match=f"a step cannot end as {status}"), ledger.store.write() as tx:
            store.finish_step(tx, step.id, Outcome(status), "test")
        assert ledger.runs.steps(run.id)[0].end_time is None


def test_a_step_has_no_id_before_it_starts(ledger: Ledger) -> None:
    with ledger.run("orders") as run, pytest.raises(Conflict, match="step extract has not started"):
        _ = run.step("extract").id


def test_a_commit_in_a_steps_name_is_noted_on_the_step(ledger: Ledger) -> None:
    with ledger.run("orders") as run, run.step("load") as step:
        put(ledger, change(step, new_file("a", rows=10, size=100), counters=Counters(processed=10)))
        put(ledger, change(step, new_file("b", rows=5, size=50), counters=Counters(processed=5)))
    kept = ledger.runs.steps(run.id)[0]
    assert (kept.rows_processed, kept.bytes_processed, kept.target_table) == (15, 150, ORDERS)
    assert kept.committed_at is not None


def test_a_step_that_has_ended_cannot_commit(ledger: Ledger) -> None:
    with ledger.run("orders") as run:
        with run.step("load") as step:
            pass
        before = dump(ledger)
        with pytest.raises(Fenced, match=r"step load of run .* has already ended: COMPLETED; nothing was committed"):
            put(ledger, change(step, new_file("a")))
        assert dump(ledger) == before


def test_a_run_that_has_ended_gets_no_new_steps(ledger: Ledger) -> None:
    with ledger.run("orders") as run:
        pass
    before = dump(ledger)
    with pytest.raises(Conflict, match="has already ended: COMPLETED"), run.step("late"):
        pass
    with pytest.raises(Conflict, match="has already ended: COMPLETED"):
        run.plan([NewStep("late")])
    assert dump(ledger) == before


@pytest.mark.parametrize("error", [ValueError("bad"), KeyboardInterrupt()])
def test_steps_that_a_run_did_not_reach_do_not_wait_for_ever(ledger: Ledger, error: BaseException) -> None:
    with pytest.raises(type(error)), ledger.run("orders") as run:
        first, _, _ = run.plan([NewStep("extract"), NewStep("load"), NewStep("check")])
        with first:
            pass
        raise error
    assert [step.status for step in ledger.runs.steps(run.id)] == ["COMPLETED", "SKIPPED", "SKIPPED"]


def test_cancelling_a_run_ends_its_open_steps(ledger: Ledger) -> None:
    with pytest.raises(Conflict, match="already ended: CANCELLED"), ledger.run("orders") as run:
        first, _ = run.plan([NewStep("extract"), NewStep("load")])
        with first:
            ledger.runs.cancel(run.id, "not today")
    assert [step.status for step in ledger.runs.steps(run.id)] == ["CANCELLED", "SKIPPED"]


def test_a_run_from_outside_may_be_completed_with_its_steps(ledger: Ledger) -> None:
    with ledger.run("orders") as run, run.step("load"):
        pass
    assert completed().status == ledger.runs.get(run.id).status


def retries(ledger: Ledger) -> list[int]:
    return [record.payload["retries"] for record in reversed(ledger.records.history(ORDERS, "ingestion_runtime"))]


def test_a_commit_tells_how_often_its_step_was_tried_before(ledger: Ledger) -> None:
    with pytest.raises(ValueError, match="no luck"), ledger.run("orders") as first:
        (load,) = first.plan([NewStep("load")])
        with load:
            put(ledger, change(load, new_file("a")))
            raise ValueError("no luck")
    with ledger.run("orders", retry_of=first.id) as second:
        for attempt in (1, 2):
            (load, other) = second.plan([NewStep("load", attempt=attempt), NewStep(f"other {attempt}")])
            with pytest.raises(ValueError, match="no luck") if attempt == 1 else nullcontext(), load:
                put(ledger, change(load, new_file(f"b{attempt}")))
                if attempt == 1:
                    raise ValueError("no luck")
            with other:
                put(ledger, change(other, new_file(f"c{attempt}")))
        put(ledger, change(second, new_file("d")))
    assert retries(ledger) == [0, 1, 0, 2, 0, 1]


def test_how_long_steps_usually_take_comes_from_the_latest_runs(ledger: Ledger) -> None:
    for _ in range(3):
        with ledger.run("shop") as run:
            with run.step("load"):
                pass
            with suppress(ValueError), run.step("broken"):
                raise ValueError
    usual = ledger.runs.usual_ms("shop")
    assert list(usual) == ["load"]
    assert usual["load"] in {step.duration_ms for each in ledger.runs.list("shop") for step in ledger.runs.steps(each.id)}
    assert ledger.runs.usual_ms("nobody") == {}
