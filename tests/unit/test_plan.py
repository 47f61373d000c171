"""A plan: what would be created, changed, paused, removed, adopted, made again, left alone; and what stops it."""

from __future__ import annotations

from typing import Any

import pytest

from lakeledger.control.plan import Action, Plan, Tracked, Wish, plan_actions
from lakeledger.jobs import Job, JobSpec

CRON = {"quartz_cron_expression": "0 0 5 * * ?", "timezone_id": "Europe/Berlin", "pause_status": "UNPAUSED"}


def settings(**more: Any) -> dict[str, Any]:
    return {"name": "shop", "timeout_seconds": 60, "schedule": CRON, "tasks": [{"task_key": "a"}], **more}


def wish(**more: Any) -> Wish:
    return Wish("shop", JobSpec("shop", settings(**more)))


def one(wishes: list[Wish], tracked: Any = None, jobs: Any = None, tagged: Any = None, **more: Any) -> Action:
    (action,) = plan_actions(wishes, tracked or {}, jobs or {}, tagged or {}, **more)
    return action


def known(applied: dict[str, Any] | None = None, there: dict[str, Any] | None = None, state: str = "active") -> dict[str, Any]:
    """A job that is tracked and there."""
    applied = applied or settings()
    return {"tracked": {"shop": Tracked("7", applied, state)}, "jobs": {"7": Job("7", there or applied)}}


def test_a_new_module_is_created() -> None:
    action = one([wish()])
    assert (action.kind, action.settings) == ("create", settings())


def test_an_unchanged_module_is_left_alone() -> None:
    assert one([wish()], **known()).kind == "unchanged"


def test_a_change_is_made_in_place_and_told_field_by_field() -> None:
    action = one([wish(timeout_seconds=90)], **known())
    assert (action.kind, action.job_id) == ("update", "7")
    assert action.words() == ["update job 7: the module changed", "timeout_seconds changes from 60 to 90"]
    assert action.settings == settings(timeout_seconds=90)


def test_what_people_set_by_hand_stays_and_is_told() -> None:
    there = settings(timeout_seconds=120, email_notifications={"on_failure": ["ops"]})
    action = one([wish()], **known(there=there))
    assert (action.kind, action.reason) == ("unchanged", "somebody changed it by hand")
    assert [change.side for change in action.changes] == ["theirs"]
    updated = one([wish(description="new")], **known(there=there))
    assert updated.settings == {**there, "description": "new"}


def test_what_both_changed_is_a_conflict_until_somebody_decides() -> None:
    there = settings(timeout_seconds=120)
    action = one([wish(timeout_seconds=90)], **known(there=there))
    assert [change.name for change in action.conflicts] == ["timeout_seconds"]
    ours = one([wish(timeout_seconds=90)], **known(there=there), prefer="ours")
    theirs = one([wish(timeout_seconds=90)], **known(there=there), prefer="theirs")
    assert (ours.conflicts, theirs.conflicts) == ([], [])
    assert (ours.kind, ours.settings) == ("update", settings(timeout_seconds=90))
    assert (theirs.kind, theirs.settings) == ("update", there)  # nothing to send, but noted: the next plan does not ask again
    assert one([wish(timeout_seconds=90)], **known(settings(timeout_seconds=90), there)).kind == "unchanged"


def test_what_is_there_already_is_noted_as_ours() -> None:
    done = settings(timeout_seconds=90)
    action = one([wish(timeout_seconds=90)], **known(there=done))
    assert (action.kind, action.changes, action.settings) == ("update", (), done)
    assert action.reason == "the module changed; its job stays as it is"


def test_a_job_that_was_lost_sight_of_is_paused_if_its_module_rests() -> None:
    resting = Wish("shop", JobSpec("shop", settings()), is_active=False)
    pause = one([resting], tagged={"shop": Job("9", settings())})
    assert (pause.kind, pause.job_id) == ("pause", "9")
    stopped = settings(schedule={**CRON, "pause_status": "PAUSED"})
    resumed = one([wish()], tracked={"shop": Tracked("9", {}, "paused")}, jobs={"9": Job("9", stopped)})
    assert (resumed.kind, resumed.conflicts, resumed.settings) == ("resume", [], settings())


def test_a_job_that_was_lost_sight_of_is_paused_or_removed_if_its_module_is_gone() -> None:
    stray = {"shop": Job("9", settings())}
    assert (one([], tagged=stray).kind, one([], tagged=stray).job_id) == ("pause", "9")
    assert one([], tagged=stray, prune=True).kind == "remove"


@pytest.mark.parametrize("state", ["active", "removed"])
def test_so_is_one_beside_a_job_that_was_deleted(state: str) -> None:
    stray, deleted = {"shop": Job("9", settings())}, {"shop": Tracked("7", settings(), state)}
    assert (one([], deleted, tagged=stray).kind, one([], deleted, tagged=stray).job_id) == ("pause", "9")
    assert one([], deleted, tagged=stray, prune=True).job_id == "9"


def test_a_job_that_replaced_a_deleted_one_is_adopted_and_not_made_twice() -> None:
    action = one([wish()], tracked={"shop": Tracked("7", settings())}, tagged={"shop": Job("9", settings())})
    assert (action.kind, action.job_id) == ("adopt", "9")


def test_a_module_that_comes_back_after_its_job_was_removed_gets_a_new_one() -> None:
    action = one([wish()], tracked={"shop": Tracked("7", settings(), "removed")})
    assert (action.kind, action.job_id) == ("create", None)


def test_a_job_that_somebody_deleted_is_made_again() -> None:
    action = one([wish()], tracked={"shop": Tracked("7", settings())})
    assert (action.kind, action.settings) == ("recreate", settings())


def test_a_job_that_was_lost_sight_of_is_adopted_by_its_tag() -> None:
    there = settings(timeout_seconds=5, notes="by hand")
    action = one([wish()], tagged={"shop": Job("9", there)})
    assert (action.kind, action.job_id, action.conflicts) == ("adopt", "9", [])
    assert action.settings == settings(notes="by hand")
    theirs = one([wish()], tagged={"shop": Job("9", there)}, prefer="theirs")
    assert (theirs.kind, theirs.settings) == ("adopt", there)


def test_a_default_that_we_spelled_out_and_somebody_changed_is_told() -> None:
    ours = settings(max_concurrent_runs=1, tasks=[{"task_key": "a", "run_if": "ALL_SUCCESS"}])
    there = settings(max_concurrent_runs=5, tasks=[{"task_key": "a", "run_if": "ALL_DONE"}])
    spelled = Wish("shop", JobSpec("shop", ours))
    action = one([spelled], **known(ours, there))
    assert {change.name: (change.side, change.to_dict()["theirs"]) for change in action.changes} == {
        "max_concurrent_runs": ("theirs", 5),
        "tasks.a.run_if": ("theirs", "ALL_DONE"),
    }
    silent = {name: value for name, value in ours.items() if name != "max_concurrent_runs"}
    assert one([spelled], **known(ours, silent)).changes == ()
    changed = one([Wish("shop", JobSpec("shop", {**ours, "max_concurrent_runs": 2}))], **known(ours, there))
    assert [(change.name, change.side) for change in changed.changes] == [("max_concurrent_runs", "both"), ("tasks.a.run_if", "theirs")]


def test_a_module_without_an_active_source_is_paused_once_and_resumed() -> None:
    resting = Wish("shop", JobSpec("shop", settings()), is_active=False)
    pause = one([resting], **known())
    assert (pause.kind, pause.settings) == ("pause", settings(schedule={**CRON, "pause_status": "PAUSED"}))
    stopped = settings(schedule={**CRON, "pause_status": "PAUSED"})
    assert one([resting], **known(stopped, state="paused")).kind == "unchanged"
    resumed = one([wish()], **known(stopped, state="paused"))
    assert (resumed.kind, resumed.settings) == ("resume", settings())
    assert one([resting]).kind == "unchanged"


def test_a_module_that_is_gone_is_paused_and_removed_only_when_told() -> None:
    assert one([], **known()).kind == "pause"
    assert one([], **known(), prune=True).kind == "remove"
    assert one([], **known(state="paused")).kind == "unchanged"
    assert one([], **known(state="paused"), prune=True).kind == "remove"
    assert one([], **known(state="removed"), prune=True).kind == "unchanged"


def test_a_module_that_cannot_be_read_keeps_its_last_good_job() -> None:
    bad = Wish("shop", problems=("shop.orders: transformation_config is no JSON",))
    action = one([bad], **known())
    assert (action.kind, action.job_id, action.settings) == ("blocked", "7", None)
    assert "its last good job stays as it is: shop.orders: transformation_config is no JSON" in action.reason
    assert "it gets no job" in one([bad]).reason


@pytest.mark.parametrize("number", [1, 10])
def test_one_bad_module_does_not_stop_the_others(number: int) -> None:
    wishes = [Wish(f"m{index}", JobSpec(f"m{index}", settings(name=f"m{index}"))) for index in range(number)]
    kinds = [action.kind for action in plan_actions([*wishes, Wish("z", problems=("bad",))], {}, {}, {})]
    assert kinds == ["create"] * number + ["blocked"]


def test_plans_that_would_do_the_same_have_the_same_digest() -> None:
    def plan(version: int, **more: Any) -> Plan:
        return Plan("etl", "local", version, 1, tuple(plan_actions([wish(**more)], {}, {}, {})))

    assert plan(1).digest == plan(2).digest
    assert plan(1).digest != plan(1, timeout_seconds=61).digest
