"""Modules with hundreds of sources: each level waits for all of the one before, and a plan is still short to read, to keep and to store."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from contract.making import rows
from lakeledger import Conflict, Ledger
from lakeledger.cli.plan import Choices, read_plan, write_plan
from lakeledger.control.deployment import Deployment
from lakeledger.control.model import Edit, ModuleRow, SourceRow
from lakeledger.control.opening import open_control
from lakeledger.jobs import JobSpec

SOURCES = 120
LEVEL = SOURCES // 2


def source(number: int, order: int) -> SourceRow:
    task = json.dumps({"task_type": "sql_query", "sql_task": {"sql_query": f"select {number} as x"}})
    return SourceRow(f"s{number:03}", "shop", "sql", order, "{}", json.dumps({"table": f"t{number}"}), task, True)


@pytest.fixture
def deployment(ledger: Ledger, tmp_path: Path) -> Iterator[Deployment]:
    """A module with two levels of 60 sources, deployed."""
    opened = open_control(str(tmp_path / "control/etl_control"), ledger)
    opened.deployment.table.create()
    found = [source(number, 1 + number % 2) for number in range(SOURCES)]
    opened.deployment.table.commit(Edit({each.key: each for each in found}), opened.deployment.table.read(), "ann")
    opened.deployment.apply(opened.deployment.plan())
    yield opened.deployment
    opened.close()


def move(deployment: Deployment) -> None:
    """Let the first source run last."""
    snapshot = deployment.table.read()
    deployment.table.commit(Edit({("shop", "s000"): replace(snapshot.sources["shop", "s000"], execution_order=3)}), snapshot, "ann")


def waits(deployment: Deployment) -> dict[str, set[str]]:
    (job,) = deployment.backend.list()
    return {task["task_key"]: {each["task_key"] for each in task.get("depends_on", [])} for task in job.settings["tasks"]}


def test_one_source_that_moves_is_a_line_for_each_level(deployment: Deployment) -> None:
    move(deployment)
    (action,) = deployment.plan().actions
    assert action.words()[1:] == [
        "what its sources do has changed",
        f"tasks.s000.depends_on: + s001, s003, s005, s007, s009, … ({LEVEL})",
        f"depends_on of {LEVEL} tasks (s001, s003, s005, s007, s009, …): − s000",
    ]


def test_every_task_really_waits_for_all_of_the_level_before(deployment: Deployment) -> None:
    even, odd = ({f"s{number:03}" for number in range(begin, SOURCES, 2)} for begin in (0, 1))
    assert waits(deployment) == {**{name: set() for name in even}, **dict.fromkeys(odd, even)}
    move(deployment)
    deployment.apply(deployment.plan())
    first = even - {"s000"}
    assert waits(deployment) == {**{name: set() for name in first}, **dict.fromkeys(odd, first), "s000": odd}
    assert [action.kind for action in deployment.plan().actions] == ["unchanged"]


def test_what_a_plan_prints_and_the_ledger_keeps_grows_with_the_sources_and_not_with_their_square(
    deployment: Deployment, ledger: Ledger
) -> None:
    move(deployment)
    plan = deployment.plan()
    assert len(json.dumps(plan.to_dict())) < 400 * SOURCES
    deployment.apply(plan)
    for table in ("jobs", "local_jobs"):
        (kept,) = rows(ledger, f"select length(cast(settings as text)) as size from {table}")
        assert kept["size"] < 400 * SOURCES, table
    steps = rows(ledger, "select length(cast(metadata as text)) as size from step_logs")
    assert max(step["size"] for step in steps) < 1_000


def test_a_plan_that_was_kept_in_a_file_is_applied_as_it_was_made(deployment: Deployment, tmp_path: Path) -> None:
    move(deployment)
    made = deployment.plan()
    write_plan(tmp_path / "plan.json", made, Choices())
    kept, _ = read_plan(str(tmp_path / "plan.json"))
    assert (kept.digest, kept.to_dict()["actions"]) == (made.digest, made.to_dict()["actions"])
    assert [each.action.kind for each in deployment.apply(kept)] == ["update"]


def test_what_happens_to_all_tasks_alike_is_one_line(deployment: Deployment) -> None:
    parameters = ModuleRow("shop", parameters='{"day": "1"}')
    deployment.table.commit(Edit({}, {"shop": parameters}), deployment.table.read(), "ann")
    (action,) = deployment.plan().actions
    assert action.words()[1:] == [
        "parameters.day is added",
        f"python_wheel_task.parameters of {SOURCES} tasks (s000, s001, s002, s003, s004, …): + --param, day={{{{job.parameters.day}}}}",
    ]


def test_many_tasks_that_come_or_go_are_one_line(deployment: Deployment) -> None:
    snapshot = deployment.table.read()
    new = [source(number, 1) for number in range(900, 910)]
    old = dict.fromkeys(("shop", f"s{number:03}") for number in range(0, 20, 2))
    deployment.table.commit(Edit({**old, **{each.key: each for each in new}}), snapshot, "ann")
    (action,) = deployment.plan().actions
    assert action.words()[1:] == [
        "what its sources do has changed",
        "tasks: − s000, s002, s004, s006, s008, … (10)",
        "tasks: + s900, s901, s902, s903, s904, … (10)",
        (
            f"depends_on of {LEVEL} tasks (s001, s003, s005, s007, s009, …):"
            " + s900, s901, s902, s903, s904, … (10), − s000, s002, s004, s006, s008, … (10)"
        ),
    ]


def test_what_both_changed_is_a_line_for_each_level_too(deployment: Deployment, tmp_path: Path) -> None:
    (job,) = deployment.backend.list()
    gated = [
        {"task_key": task["task_key"], "depends_on": [*task["depends_on"], {"task_key": "gate"}]}
        for task in job.settings["tasks"]
        if task.get("depends_on")
    ]
    gate = {"task_key": "gate", "notebook_task": {"notebook_path": "/gate"}}
    deployment.backend.update(job.job_id, JobSpec("shop", {"tasks": [gate, *gated]}))
    move(deployment)
    plan = deployment.plan()
    (action,) = plan.actions
    assert [change.words() for change in action.conflicts] == [
        f"depends_on of {LEVEL} tasks (s001, s003, s005, s007, s009, …): you want − s000, somebody set + gate by hand"
    ]
    assert len(json.dumps(plan.to_dict())) < 400 * SOURCES
    write_plan(tmp_path / "plan.json", plan, Choices())
    kept, _ = read_plan(str(tmp_path / "plan.json"))
    assert kept.actions[0].changes == action.changes
    with pytest.raises(Conflict, match=r"shop: changed here and by hand in local: tasks\.\*\.depends_on; say whose side holds"):
        deployment.apply(kept)
    deployment.apply(deployment.plan(prefer="theirs"), prefer="theirs")
    assert "gate" in waits(deployment)["s001"]


def test_a_dependency_that_somebody_added_by_hand_stays(deployment: Deployment) -> None:
    (job,) = deployment.backend.list()
    by_hand = {"task_key": "s002", "depends_on": [{"task_key": "s004"}]}
    deployment.backend.update(job.job_id, JobSpec("shop", {"tasks": [by_hand]}))
    (action,) = deployment.plan().actions
    assert action.words()[1:] == []  # we never said what it waits for
    by_hand = {"task_key": "s001", "depends_on": [{"task_key": "s004"}]}
    deployment.backend.update(job.job_id, JobSpec("shop", {"tasks": [by_hand]}))
    (action,) = deployment.plan().actions
    assert action.words()[1:] == [
        f"tasks.s001.depends_on was changed by hand: − s000, s002, s006, s008, s010, … ({LEVEL - 1}), and is left so"
    ]
    assert waits(deployment)["s001"] == {"s004"}
