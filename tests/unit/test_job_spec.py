"""From a module to its job: tasks that wait for each other, keys that nobody shares, schedules that every backend reads."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from lakeledger import Invalid, codec
from lakeledger.control.documents import Module
from lakeledger.control.graph import task_keys, tasks
from lakeledger.control.settings import GENERATION, job_settings
from lakeledger.jobs import MODULE_TAG, OWNER_TAG
from lakeledger.jobs.cron import to_quartz


def source(name: str, **more: Any) -> dict[str, Any]:
    task = {"task_type": "sql_query", "sql_task": {"sql_query": "select 1 as x"}}
    table = "".join(letter if letter.isalnum() else "_" for letter in name)
    return {
        "source_id": name,
        "source_type": "sql",
        "target_config": {"table": f"t_{table}_{len(name)}"},
        "transformation_config": task,
        **more,
    }


def module(*sources: dict[str, Any], **more: Any) -> Module:
    return Module.model_validate({"module_name": "shop", "sources": list(sources), **more})


def waits(made: Module) -> dict[str, tuple[str, ...]]:
    return {task.key: task.waits_for for task in tasks(made)}


def test_each_order_waits_for_all_of_the_one_before() -> None:
    made = module(*(source(name, execution_order=order) for name, order in (("a", 1), ("b", 1), ("c", 5), ("d", 9))))
    assert waits(made) == {"a": (), "b": (), "c": ("a", "b"), "d": ("c",)}


def test_dependencies_and_orders_add_up_and_nobody_waits_for_what_is_off() -> None:
    made = module(
        source("a"),
        source("b", depends_on=["a"]),
        source("c", execution_order=2, is_active=False),
        source("d", execution_order=3, depends_on=["c"]),
    )
    assert waits(made) == {"a": (), "b": ("a",), "d": ("a", "b")}


def test_sources_that_wait_for_each_other_and_unknown_ones_are_refused() -> None:
    circle = Module.model_construct(module_name="shop", sources=module(source("a"), source("b")).sources)
    a, b = (each.model_copy(update={"depends_on": (other,)}) for each, other in zip(circle.sources, ("b", "a"), strict=True))
    with pytest.raises(Invalid, match="the tasks of shop wait for each other: a → b → a"):
        tasks(circle.model_copy(update={"sources": [a, b]}))
    with pytest.raises(Invalid, match="depends on 'ab', which is not there"):
        tasks(circle.model_copy(update={"sources": [a.model_copy(update={"depends_on": ("ab",)})]}))


def test_names_that_look_alike_have_keys_of_their_own() -> None:
    names = ["a-b", "a.b", "a b", "a_b", "ä" * 150, "ä" * 151, "x" * 100]
    keys = task_keys(names)
    assert len(set(keys.values())) == len(names)
    assert all(len(key) <= 100 and key.isascii() for key in keys.values())
    assert (keys["a-b"], keys["a_b"]) == ("a-b", "a_b")


@pytest.mark.parametrize(
    ("unix", "expected"),
    [
        ("0 5 * * *", "0 0 5 * * ?"),
        ("*/15 8-18 * * 1-5", "0 */15 8-18 ? * MON-FRI"),
        ("30 2 1,15 * *", "0 30 2 1,15 * ?"),
        ("0 0 * * 0", "0 0 0 ? * SUN"),
        ("0 0 * * 7", "0 0 0 ? * SUN"),
        ("0 0 * 6 mon,wed", "0 0 0 ? 6 MON,WED"),
    ],
)
def test_unix_cron_is_given_to_backends_as_quartz(unix: str, expected: str) -> None:
    assert to_quartz(unix) == expected
    settings = job_settings(module(source("a"), schedule={"cron": unix, "timezone_id": "Europe/Berlin"}), "etl")
    assert settings["schedule"]["quartz_cron_expression"] == expected


@pytest.mark.parametrize(
    ("schedule", "reason"),
    [
        ({"cron": "61 5 * * *"}, "cannot read its minute: 0 to 59"),
        ({"cron": "0 5 1 * 1"}, "names days of the month and of the week"),
        ({"cron": "0 5"}, "has 2 fields"),
        ({"cron": "0 5 31 2 *"}, "is never due"),
        ({"quartz_cron_expression": "0 0 5 * * *"}, r"put \? in one of"),
        ({"cron": "0 5 * * *", "timezone_id": "Europe/Berlni"}, "did you mean 'Europe/Berlin'"),
    ],
)
def test_a_schedule_that_says_no_time_is_refused_with_the_module(schedule: dict[str, str], reason: str) -> None:
    with pytest.raises(ValidationError, match=reason):
        module(source("a"), schedule=schedule)


def test_settings_say_only_what_the_module_says() -> None:
    settings = job_settings(module(source("a", max_retries=2, retry_seconds=1.5), parameters={"day": "1"}, tags={"team": "x"}), "etl")
    assert settings.keys() == {"name", "tags", "tasks", "max_concurrent_runs", "parameters", "environments"}
    assert (settings["tags"]["team"], settings["tags"][OWNER_TAG], settings["tags"][MODULE_TAG]) == ("x", "etl", "shop")
    (task,) = settings["tasks"]
    assert (task["max_retries"], task["min_retry_interval_millis"], settings["parameters"]) == (2, 1500, [{"name": "day", "default": "1"}])


def test_our_own_tasks_are_given_the_parameters_of_the_job() -> None:
    given = ["--param", "day={{job.parameters.day}}", "--param", "region={{job.parameters.region}}"]
    (task,) = job_settings(module(source("a"), parameters={"day": "1", "region": "eu"}), "etl")["tasks"]
    assert task["python_wheel_task"]["parameters"] == ["run", "--control", "etl", "--module", "shop", "--source", "a", *given]
    (task,) = job_settings(module(source("a")), "etl")["tasks"]
    assert task["python_wheel_task"]["parameters"] == ["run", "--control", "etl", "--module", "shop", "--source", "a"]


def test_what_somebody_changes_in_a_query_changes_the_settings() -> None:
    other = source("a")
    other["transformation_config"]["sql_task"]["sql_query"] = "select 2 as x"
    assert job_settings(module(source("a")), "etl") != job_settings(module(other), "etl")


def test_what_is_switched_off_in_the_middle_leaves_the_order_around_it() -> None:
    off = {"is_active": False}
    chain = [
        source("extract"),
        source("clean", depends_on=["extract"], **off),
        source("check", depends_on=["clean"], **off),
        source("publish", depends_on=["check"]),
    ]
    assert [(task.key, task.waits_for) for task in tasks(module(*chain))] == [("extract", ()), ("publish", ("extract",))]
    circle = [source("a", depends_on=["b"], **off), source("b", depends_on=["a"], **off), source("c", depends_on=["a"])]
    assert [(task.key, task.waits_for) for task in tasks(module(*circle))] == [("c", ())]


def test_other_settings_of_the_same_module_need_another_generation() -> None:
    made = job_settings(module(source("a"), source("b", depends_on=["a"]), schedule={"cron": "0 5 * * *"}, parameters={"day": "1"}), "etl")
    assert (GENERATION, codec.digest(made)[:8]) == (3, "288c0092"), "raise GENERATION in control/settings.py, and note the new digest here"
