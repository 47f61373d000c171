"""Settings compared field by field: ours, theirs, both; and merged without losing what people set."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakeledger.control.fields import compare, flatten, merged, unflatten


def job(**more: Any) -> dict[str, Any]:
    return {"name": "shop", "timeout_seconds": 60, "tasks": [{"task_key": "a", "max_retries": 1}, {"task_key": "b"}], **more}


def told(before: dict[str, Any], ours: dict[str, Any], theirs: dict[str, Any]) -> list[tuple[str, str]]:
    return [(change.name, change.side) for change in compare(before, ours, theirs)]


def test_nothing_differs_when_all_agree_whatever_the_order() -> None:
    theirs = job(tasks=[{"task_key": "b"}, {"max_retries": 1, "task_key": "a"}])
    assert compare(job(), job(), theirs) == []


def test_what_we_changed_is_ours_and_what_they_changed_is_theirs() -> None:
    assert told(job(), job(timeout_seconds=90), job()) == [("timeout_seconds", "ours")]
    assert told(job(), job(), job(timeout_seconds=90)) == [("timeout_seconds", "theirs")]
    assert told(job(), job(timeout_seconds=70), job(timeout_seconds=90)) == [("timeout_seconds", "both")]
    assert told(job(), job(timeout_seconds=90), job(timeout_seconds=90)) == []


def test_what_we_never_set_is_theirs_alone() -> None:
    theirs = job(email_notifications={"on_failure": ["ops@shop"]}, tasks=[*job()["tasks"], {"task_key": "by_hand"}])
    assert compare(job(), job(), theirs) == []
    kept = merged(theirs, job(timeout_seconds=90), compare(job(), job(timeout_seconds=90), theirs))
    assert kept["email_notifications"] == {"on_failure": ["ops@shop"]}
    assert (kept["timeout_seconds"], [task["task_key"] for task in kept["tasks"]]) == (90, ["a", "b", "by_hand"])


def test_tasks_are_compared_one_by_one() -> None:
    ours = job(tasks=[{"task_key": "a", "max_retries": 2}, {"task_key": "c", "run_if": "ALL_DONE"}])
    theirs = job(tasks=[{"task_key": "a", "max_retries": 1, "notes": "by hand"}, {"task_key": "b", "notes": "by hand"}])
    changes = compare(job(), ours, theirs)
    assert [(change.name, change.side) for change in changes] == [("tasks.a.max_retries", "ours"), ("tasks.b", "ours"), ("tasks.c", "ours")]
    assert [change.words() for change in changes] == [
        "tasks.a.max_retries changes from 1 to 2",
        "tasks.b is removed",
        "tasks.c is added",
    ]
    assert merged(theirs, ours, changes)["tasks"] == [
        {"task_key": "a", "max_retries": 2, "notes": "by hand"},
        {"task_key": "c", "run_if": "ALL_DONE"},
    ]


def test_a_field_of_ours_that_we_no_longer_want_is_removed() -> None:
    ours = {name: value for name, value in job().items() if name != "timeout_seconds"}
    changes = compare(job(), ours, job())
    assert [change.words() for change in changes] == ["timeout_seconds is removed (was 60)"]
    assert "timeout_seconds" not in merged(job(), ours, changes)


def test_drift_stays_and_in_a_conflict_we_are_followed() -> None:
    ours, theirs = job(timeout_seconds=70, name="new"), job(timeout_seconds=90)
    assert merged(theirs, ours, compare(job(), ours, theirs))["timeout_seconds"] == 70
    drifted = merged(theirs, job(name="new"), compare(job(), job(name="new"), theirs))
    assert (drifted["name"], drifted["timeout_seconds"]) == ("new", 90)


CRON = {"quartz_cron_expression": "0 0 5 * * ?", "timezone_id": "UTC"}
LATER = {**CRON, "quartz_cron_expression": "0 0 6 * * ?"}


@pytest.mark.parametrize(
    ("ours", "theirs", "both"),
    [
        ({"schedule": LATER}, {}, ["schedule.quartz_cron_expression", "schedule.timezone_id"]),
        (
            {"schedule": LATER},
            {"continuous": {"pause_status": "PAUSED"}},
            ["continuous.pause_status", "schedule.quartz_cron_expression", "schedule.timezone_id"],
        ),
        (
            {"trigger": {"file_arrival": {"url": "/in"}}},
            {"continuous": {"pause_status": "PAUSED"}},
            ["continuous.pause_status", "trigger.file_arrival.url"],
        ),
        ({"schedule": CRON}, {"continuous": {"pause_status": "PAUSED"}}, []),
        ({}, {"continuous": {"pause_status": "PAUSED"}}, []),
        ({"trigger": {"file_arrival": {"url": "/in"}}}, {"schedule": CRON}, []),
    ],
)
def test_how_a_job_starts_is_one_decision(ours: dict[str, Any], theirs: dict[str, Any], both: list[str]) -> None:
    changes = compare({"schedule": CRON}, ours, theirs)
    assert [change.name for change in changes if change.side == "both"] == both
    if both:
        assert merged(theirs, ours, changes) == ours
        left = [replace(change, side="theirs") for change in changes]
        assert merged(theirs, ours, left) == theirs


def test_what_a_task_does_is_one_decision() -> None:
    book = {"task_key": "a", "notebook_task": {"notebook_path": "/a"}}
    ours = {"tasks": [{"task_key": "a", "notebook_task": {"notebook_path": "/a", "base_parameters": {"day": "1"}}}]}
    theirs = {"tasks": [{"task_key": "a", "max_retries": 3, "pipeline_task": {"pipeline_id": "p"}}]}
    changes = compare({"tasks": [book]}, ours, theirs)
    assert {change.side for change in changes} == {"both"}
    assert "tasks.a.pipeline_task.pipeline_id was set by hand to p, and cannot stay beside what you want" in [
        change.words() for change in changes
    ]
    assert merged(theirs, ours, changes) == {"tasks": [{**ours["tasks"][0], "max_retries": 3}]}


def test_what_people_set_in_a_part_goes_with_it() -> None:
    theirs = {"name": "shop", "schedule": {**CRON, "notes": "by hand"}}
    ours = {"name": "shop"}
    assert merged(theirs, ours, compare({"name": "shop", "schedule": CRON}, ours, theirs)) == ours


NAMES = st.sampled_from(["a", "b", "c", "task_key2"])
VALUES = st.integers() | st.text(max_size=3) | st.lists(st.integers(), max_size=2)
SETTINGS = st.fixed_dictionaries(
    {},
    optional={
        "name": st.text(max_size=3),
        "limits": st.dictionaries(NAMES, VALUES, min_size=1, max_size=3),
        "tasks": st.dictionaries(NAMES, st.dictionaries(NAMES, VALUES, max_size=2), min_size=1, max_size=3).map(
            lambda tasks: [{"task_key": key, **fields} for key, fields in tasks.items()]
        ),
    },
)


@given(SETTINGS)
def test_settings_survive_being_taken_apart(settings: dict[str, Any]) -> None:
    assert unflatten(dict(flatten(settings))) == settings


@given(before=SETTINGS, ours=SETTINGS, theirs=SETTINGS)
def test_after_a_merge_nothing_of_ours_is_left_to_do(before: dict[str, Any], ours: dict[str, Any], theirs: dict[str, Any]) -> None:
    result = merged(theirs, ours, compare(before, ours, theirs))
    assert [change for change in compare(ours, ours, result) if change.side != "theirs"] == []
    wanted, there = dict(flatten(ours)), dict(flatten(result))
    drifted = {change.path for change in compare(before, ours, theirs) if change.side == "theirs"}
    for path, value in wanted.items():
        if path not in drifted and path[:2] not in drifted:
            assert there.get(path) == value
