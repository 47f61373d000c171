from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from databricks_server import Workspace, as_read
from lakeledger.jobs.settings import Patch, merge, normalise, patch, path_parts, path_text
from lakeledger.jobs.waits import packed, unpacked

SETTINGS: dict[str, Any] = {
    "name": "orders",
    "tags": {"lakeledger": "etl_control", "lakeledger_module": "orders"},
    "schedule": {"quartz_cron_expression": "0 0 6 * * ?", "timezone_id": "UTC", "pause_status": "UNPAUSED"},
    "max_concurrent_runs": 1,
    "parameters": [{"name": "day", "default": "today"}],
    "tasks": [
        {"task_key": "load", "run_if": "ALL_SUCCESS", "notebook_task": {"notebook_path": "/load"}, "max_retries": 0},
        {
            "task_key": "sum",
            "depends_on": [{"task_key": "load"}, {"task_key": "check"}],
            "python_wheel_task": {"package_name": "shop", "entry_point": "sum"},
            "environment_key": "shop",
        },
        {"task_key": "check", "pipeline_task": {"pipeline_id": "p", "full_refresh": False}},
    ],
    "environments": [{"environment_key": "shop", "spec": {"client": "2", "dependencies": ["shop"]}}],
}


def test_what_the_api_fills_in_and_reorders_makes_no_difference() -> None:
    read = as_read(SETTINGS)
    assert read != SETTINGS
    assert normalise(read) == normalise(SETTINGS)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("max_concurrent_runs", 2),
        ("timeout_seconds", 60),
        ("description", "Orders"),
        ("queue", {"enabled": False}),
        ("schedule", {"quartz_cron_expression": "0 0 6 * * ?", "pause_status": "PAUSED"}),
        ("email_notifications", {"on_failure": ["ada@example.com"]}),
        ("tasks", [{"task_key": "load", "notebook_task": {"notebook_path": "/load"}, "run_if": "ALL_DONE"}]),
        ("a_field_of_tomorrow", {"kept": [None, {}]}),
    ],
)
def test_what_is_not_a_default_makes_a_difference(name: str, value: Any) -> None:
    assert normalise(SETTINGS | {name: value}) != normalise(SETTINGS)


def test_code_from_git_is_the_default_only_of_a_job_with_a_repository() -> None:
    task = {"task_key": "load", "notebook_task": {"notebook_path": "load", "source": "GIT"}}
    unsaid = {"task_key": "load", "notebook_task": {"notebook_path": "load"}}
    assert normalise({"tasks": [task]}) != normalise({"tasks": [unsaid]})
    git = {"git_url": "https://example.com/shop.git", "git_provider": "gitHub"}
    assert normalise({"git_source": git, "tasks": [task]}) == normalise({"git_source": git, "tasks": [unsaid]})


def test_the_earlier_name_of_an_environment_s_version_means_the_same() -> None:
    earlier = {"environments": [{"environment_key": "e", "spec": {"client": "2"}}]}
    later = {"environments": [{"environment_key": "e", "spec": {"environment_version": "2"}}]}
    assert normalise(earlier) == normalise(later)


def test_normalising_changes_nothing_it_was_given() -> None:
    read = as_read(SETTINGS)
    normalise(read)
    assert read == as_read(SETTINGS)


def test_ours_are_laid_over_what_people_set() -> None:
    current = {
        "tags": {"team": "shop", "lakeledger": "old"},
        "email_notifications": {"on_failure": ["ada@example.com"]},
        "job_clusters": [{"job_cluster_key": "big", "new_cluster": {"num_workers": 8}}],
        "tasks": [
            {"task_key": "load", "notebook_task": {"notebook_path": "/old", "base_parameters": {"theirs": "1"}}, "job_cluster_key": "big"},
            {"task_key": "by_hand", "notebook_task": {"notebook_path": "/by_hand"}},
        ],
    }
    wanted = {"tags": {"lakeledger": "new"}, "tasks": [{"task_key": "load", "notebook_task": {"notebook_path": "/new"}}]}
    merged = merge(current, wanted)
    assert merged["tags"] == {"team": "shop", "lakeledger": "new"}
    assert merged["email_notifications"] == current["email_notifications"]
    assert merged["job_clusters"] == current["job_clusters"]
    assert merged["tasks"] == [
        {"task_key": "load", "notebook_task": {"notebook_path": "/new", "base_parameters": {"theirs": "1"}}, "job_cluster_key": "big"},
        {"task_key": "by_hand", "notebook_task": {"notebook_path": "/by_hand"}},
    ]


def test_a_task_that_does_something_else_no_longer_does_what_it_did() -> None:
    current = {"tasks": [{"task_key": "load", "notebook_task": {"notebook_path": "/load"}, "job_cluster_key": "big"}]}
    wanted = {"tasks": [{"task_key": "load", "pipeline_task": {"pipeline_id": "p"}}]}
    assert merge(current, wanted)["tasks"] == [{"task_key": "load", "job_cluster_key": "big", "pipeline_task": {"pipeline_id": "p"}}]


def test_a_trigger_waits_for_one_thing() -> None:
    current = {"trigger": {"pause_status": "PAUSED", "file_arrival": {"url": "/in"}}}
    merged = merge(current, {"trigger": {"table_update": {"table_names": ["a.b.c"]}}})
    assert merged["trigger"] == {"pause_status": "PAUSED", "table_update": {"table_names": ["a.b.c"]}}


@pytest.mark.parametrize(
    ("path", "gone"),
    [
        ("schedule", lambda left: "schedule" not in left),
        ("schedule/timezone_id", lambda left: set(left["schedule"]) == {"quartz_cron_expression", "pause_status"}),
        ("tasks/sum", lambda left: [task["task_key"] for task in left["tasks"]] == ["load", "check"]),
        ("tasks/sum/depends_on", lambda left: "depends_on" not in left["tasks"][1]),
        ("tasks/load/notebook_task/notebook_path", lambda left: left["tasks"][0]["notebook_task"] == {}),
        ("parameters/day", lambda left: left["parameters"] == []),
        ("tags/lakeledger", lambda left: set(left["tags"]) == {"lakeledger_module"}),
    ],
)
def test_a_field_is_removed_wherever_it_is(path: str, gone: Any) -> None:
    assert gone(merge(SETTINGS, {}, [path]))


def test_what_no_longer_says_when_goes_as_a_whole() -> None:
    assert "schedule" not in merge(SETTINGS, {}, ["schedule/quartz_cron_expression"])
    waiting = {"trigger": {"pause_status": "UNPAUSED", "file_arrival": {"url": "/in", "wait_after_last_change_seconds": 90}}}
    assert merge(waiting, {}, ["trigger/file_arrival/url"]) == {}
    updated = merge(waiting, {"trigger": {"table_update": {"table_names": ["a.b.c"]}}}, ["trigger/file_arrival/url"])
    assert updated == {"trigger": {"pause_status": "UNPAUSED", "table_update": {"table_names": ["a.b.c"]}}}
    tomorrow = {"trigger": {"pause_status": "UNPAUSED", "a_kind_of_tomorrow": {"at": "dawn"}}}
    assert merge(tomorrow, {}, ["trigger/nothing"]) == tomorrow


def test_a_time_zone_and_a_continuous_job_are_said_never_left_out() -> None:
    assert normalise({"schedule": {"quartz_cron_expression": "x", "timezone_id": "UTC"}})["schedule"]["timezone_id"] == "UTC"
    assert patch({"continuous": {"pause_status": "UNPAUSED"}}, {}) == Patch({}, ["continuous"])


def test_tuples_are_the_lists_that_the_api_gives_back() -> None:
    given = {"email_notifications": {"on_failure": ("ada@example.com",)}}
    assert not patch({"email_notifications": {"on_failure": ["ada@example.com"]}}, given)


@pytest.mark.parametrize("path", ["nothing", "tasks/nobody", "tasks/nobody/run_if", "name/deeper", "tasks/load/nothing/deeper", ""])
def test_removing_what_is_not_there_changes_nothing(path: str) -> None:
    assert merge(SETTINGS, {}, [path]) == SETTINGS


def test_what_is_wanted_is_not_removed() -> None:
    assert merge(SETTINGS, SETTINGS, ["schedule", "tasks/load"])["schedule"] == SETTINGS["schedule"]
    assert normalise(merge(SETTINGS, SETTINGS, ["schedule", "tasks/load"])) == normalise(SETTINGS)


@given(st.lists(st.text(alphabet="a/~01b"), min_size=1))
def test_a_path_keeps_slashes_in_names(parts: list[str]) -> None:
    assert path_parts(path_text(parts)) == parts


def test_nothing_is_sent_where_nothing_differs() -> None:
    assert not patch(as_read(SETTINGS), SETTINGS)
    assert not patch(SETTINGS, as_read(SETTINGS))


def test_only_what_differs_is_sent() -> None:
    target = merge(
        as_read(SETTINGS), {"max_concurrent_runs": 3, "tasks": [{"task_key": "check", "max_retries": 2}]}, ["tasks/sum", "schedule"]
    )
    made = patch(as_read(SETTINGS), target)
    assert set(made.new_settings) == {"max_concurrent_runs", "tasks"}
    assert [task["task_key"] for task in made.new_settings["tasks"]] == ["check"]
    assert sorted(made.fields_to_remove) == ["schedule", "tasks/sum"]


def test_a_field_set_back_to_its_default_is_sent_and_an_emptied_one_is_removed() -> None:
    assert patch({"timeout_seconds": 60}, {"timeout_seconds": 0}) == Patch({"timeout_seconds": 0}, [])
    assert patch({"parameters": [{"name": "day", "default": "today"}]}, {"parameters": []}) == Patch({}, ["parameters"])


_names = st.sampled_from(["a", "b", "c"])
_task = st.fixed_dictionaries(
    {"task_key": _names, "notebook_task": st.fixed_dictionaries({"notebook_path": _names})},
    optional={
        "timeout_seconds": st.integers(0, 2),
        "run_if": st.sampled_from(["ALL_SUCCESS", "ALL_DONE"]),
        "max_retries": st.integers(0, 1),
    },
)
_settings = st.fixed_dictionaries(
    {"tasks": st.lists(_task, unique_by=lambda task: task["task_key"])},
    optional={
        "tags": st.dictionaries(_names, _names),
        "max_concurrent_runs": st.integers(1, 2),
        "schedule": st.fixed_dictionaries(
            {"quartz_cron_expression": _names, "timezone_id": _names}, optional={"pause_status": st.sampled_from(["PAUSED", "UNPAUSED"])}
        ),
        "parameters": st.lists(st.fixed_dictionaries({"name": _names, "default": _names}), unique_by=lambda one: one["name"]),
    },
)


@given(_settings, _settings, st.lists(st.sampled_from(["schedule", "tags/a", "tasks/a", "tasks/b/timeout_seconds", "parameters/c"])))
def test_what_is_sent_makes_the_job_what_it_should_be(current: dict[str, Any], wanted: dict[str, Any], remove: list[str]) -> None:
    workspace = Workspace()
    job_id = workspace.add(current)
    read = workspace.get({"job_id": str(job_id)})["settings"]
    target = merge(read, wanted, remove)
    made = patch(read, target)
    workspace.update({"job_id": job_id, "new_settings": made.new_settings, "fields_to_remove": made.fields_to_remove})
    after = workspace.get({"job_id": str(job_id)})["settings"]
    assert normalise(after) == normalise(target)
    assert normalise(merge(after, wanted)) == normalise(after)
    assert not patch(after, target)


TASKS = st.lists(st.sampled_from([None, [], ["a"], ["a", "b"], ["b", "a"], ["a", "b", "c"]]), max_size=6).map(
    lambda waits: [
        {"task_key": f"t{number}", **({} if names is None else {"depends_on": [{"task_key": name} for name in names]})}
        for number, names in enumerate(waits)
    ]
)


@given(TASKS)
def test_what_tasks_wait_for_is_packed_and_unpacked_without_loss(tasks: list[dict[str, Any]]) -> None:
    settings = {**SETTINGS, "tasks": tasks}
    assert unpacked(packed(settings)) == settings
    assert packed(packed(settings)) == packed(settings) == packed(unpacked(packed(settings)))


def test_a_list_that_several_tasks_wait_for_stands_once_and_one_that_says_more_than_names_stays() -> None:
    names = [{"task_key": "a"}, {"task_key": "b"}]
    outcome = [{"task_key": "a", "outcome": "true"}, {"task_key": "b"}]
    tasks = [{"task_key": key, "depends_on": waits} for key, waits in (("c", names), ("d", list(names)), ("e", outcome), ("f", outcome))]
    assert packed({"tasks": tasks}) == {
        "tasks": [{"task_key": "c", "depends_on": 0}, {"task_key": "d", "depends_on": 0}, *tasks[2:]],
        "depends_on_lists": [["a", "b"]],
    }
