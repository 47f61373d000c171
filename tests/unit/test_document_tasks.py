"""Every type of task, schedules and triggers, and the `jobs:` shape."""

from __future__ import annotations

import json

import pytest

from lakeledger.control.documents import Document, TaskSource, parse
from lakeledger.control.tasks import SqlConfig
from lakeledger.errors import Invalid

TYPES = "python, notebook, python_wheel, spark_jar, pipeline, dbt"
CONFIG = "modules.sources.transformation_config"
BOTH = "2:1: a document has `modules:` or `jobs:`, not both"

TASKS = """\
modules:
  - module_name: night
    description: 2026
    schedule: {quartz_cron_expression: 0 0 2 * * ?, timezone_id: Europe/Rome}
    trigger: {table_update: {table_names: [bronze.orders], condition: ALL_UPDATED}, pause_status: PAUSED}
    parameters: {day: 2026-01-02, share: 1.10, code: 007, all: true}
    tags: {version: 1.10}
    notifications: {on_failure: [a@example.com]}
    timeout_seconds: 3600
    max_concurrent_runs: 2
    sources:
      - source_id: check
        source_type: task
        depends_on: wheel
        run_if: ALL_DONE
        timeout_seconds: 60
        max_retries: 3
        retry_seconds: 0.5
        transformation_config:
          task_type: python
          python_task: {function: "shop.checks:fresh", parameters: {hours: 2, since: 2026-01-02, deep: [1.10, {a: 007}]}}
      - source_id: notebook
        source_type: task
        transformation_config: {task_type: notebook, notebook_task: {notebook_path: /a/b, base_parameters: {day: 1}}}
      - source_id: wheel
        source_type: task
        transformation_config: {task_type: python_wheel, python_wheel_task: {package_name: a, entry_point: b, parameters: [1, true]}}
      - source_id: jar
        source_type: task
        transformation_config: {task_type: spark_jar, spark_jar_task: {main_class_name: a.B, jar_uri: /a.jar}}
      - source_id: pipeline
        source_type: task
        transformation_config: {task_type: pipeline, pipeline_task: {pipeline_id: 123, full_refresh: true}}
      - source_id: dbt
        source_type: task
        transformation_config: {task_type: dbt, dbt_task: {project_directory: /p, commands: [dbt build], schema: gold}}
        target_config: {table: models}
"""


def tasks(old: str = "", new: str = "") -> Document:
    assert old in TASKS
    return parse(TASKS.replace(old, new, 1), "night.yaml")


def test_every_type_of_task_is_read() -> None:
    module = tasks().modules[0]
    types = [source.transformation_config.task_type for source in module.sources]
    assert types == ["python", "notebook", "python_wheel", "spark_jar", "pipeline", "dbt"]
    assert all(isinstance(source, TaskSource) for source in module.sources)
    check = module.sources[0]
    assert (check.depends_on, check.run_if, check.timeout_seconds, check.max_retries, check.retry_seconds) == (
        ("wheel",),
        "ALL_DONE",
        60,
        3,
        0.5,
    )
    assert [source.target for source in module.sources][-2:] == ["", "main.models"]
    assert module.sources[-1].model_dump(mode="json")["transformation_config"]["dbt_task"]["schema"] == "gold"


# A notebook as the seed writes it, in every place where its path is found.
NOTEBOOK = """\
modules:
  - module_name: night
    sources:
      - source_id: notebook
        source_type: notebook
        source_config: {}
        transformation_config: {task_type: notebook, notebook_path: /a/b, base_parameters: {day: 1}}
"""


@pytest.mark.parametrize(
    ("source_config", "transformation_config"),
    [
        ("{}", "{task_type: notebook, notebook_path: /a/b}"),
        ("{}", "{task_type: notebook, notebook_task: {notebook_path: /a/b}}"),
        ("{notebook_path: /a/b}", "{task_type: notebook}"),
        ("{notebook_path: /a/b}", "{}"),
    ],
)
def test_a_source_may_be_a_notebook(source_config: str, transformation_config: str) -> None:
    before, _, _ = NOTEBOOK.partition("        source_config")
    text = f"{before}        source_config: {source_config}\n        transformation_config: {transformation_config}\n"
    assert parse(text, "night.yaml") == tasks_of(
        "source_type: task\n        transformation_config: {task_type: notebook, notebook_task: {notebook_path: /a/b}}"
    )


def tasks_of(source: str) -> Document:
    return parse(f"modules:\n  - module_name: night\n    sources:\n      - source_id: notebook\n        {source}\n", "night.yaml")


def test_the_parameters_of_a_notebook_may_stand_beside_its_path() -> None:
    (source,) = parse(NOTEBOOK, "night.yaml").modules[0].sources
    assert source.transformation_config.model_dump(exclude_none=True) == {
        "task_type": "notebook",
        "notebook_task": {"notebook_path": "/a/b", "base_parameters": {"day": "1"}},
    }


def test_a_notebook_without_a_path_is_refused() -> None:
    with pytest.raises(Invalid, match="notebook_task is missing"):
        parse(NOTEBOOK.replace("notebook_path: /a/b, base_parameters: {day: 1}", ""), "night.yaml")


QUERY = """\
modules:
  - module_name: night
    sources:
      - source_id: totals
        source_type: sql
        target_config: {table: totals}
        transformation_config: {task_type: sql_query, sql_task: {query_id: 12ab, warehouse_id: 0a1b, parameters: {day: today}}}
"""


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (", warehouse_id: 0a1b", "", "sql_task.query_id needs sql_task.warehouse_id"),
        ("query_id: 12ab", "query_id: 12ab, sql_query: select 1 as x", "sql_task.query_id stands alone"),
        ("sql_query, ", "sql_file, ", "sql_task.query_id stands alone"),
        ("query_id: 12ab", "query_id: 12ab, sql_file_path: totals.sql", "sql_task.query_id stands alone"),
    ],
)
def test_a_saved_query_needs_a_warehouse_and_nothing_else_to_run(old: str, new: str, reason: str) -> None:
    assert parse(QUERY, "night.yaml").modules[0].sources[0].target == "main.totals"
    with pytest.raises(Invalid, match=reason):
        parse(QUERY.replace(old, new, 1), "night.yaml")


@pytest.mark.parametrize("text", ["modules: []", "jobs: []", "jobs: {}"])
def test_a_document_may_declare_nothing(text: str) -> None:
    assert parse(text, "night.yaml").modules == []


def test_a_module_says_when_it_runs_and_who_is_told() -> None:
    module = tasks().modules[0]
    assert module.schedule
    assert module.trigger
    assert module.trigger.table_update
    assert module.notifications
    assert (module.schedule.quartz_cron_expression, module.schedule.timezone_id, module.schedule.pause_status) == (
        "0 0 2 * * ?",
        "Europe/Rome",
        "UNPAUSED",
    )
    assert (module.trigger.table_update.table_names, module.trigger.pause_status) == (("bronze.orders",), "PAUSED")
    assert module.notifications.on_failure == ("a@example.com",)
    assert (module.timeout_seconds, module.max_concurrent_runs) == (3600, 2)


def test_where_a_text_is_meant_a_number_keeps_its_spelling() -> None:
    module = tasks().modules[0]
    assert module.description == "2026"
    assert module.parameters == {"day": "2026-01-02", "share": "1.10", "code": "007", "all": "true"}
    assert module.tags == {"version": "1.10"}


def test_where_any_value_may_stand_it_is_plain() -> None:
    config = tasks().modules[0].sources[0].transformation_config
    assert config.task_type == "python"
    assert config.python_task.parameters == {"hours": 2, "since": "2026-01-02", "deep": [1.1, {"a": 7}]}
    assert [type(value) for value in config.python_task.parameters["deep"]] == [float, dict]
    assert type(config.python_task.parameters["deep"][1]["a"]) is int


@pytest.mark.parametrize(
    ("old", "new", "place", "told"),
    [
        (
            "task_type: python\n",
            "task_type: pyton\n",
            "20:11",
            f"task_type 'pyton' is not one of {TYPES}, api_call, data_quality; did you mean 'python'?",
        ),
        ("task_type: python\n", "\n", "19:9", f"task_type is missing: {TYPES}, api_call or data_quality"),
        ("function:", "functon:", "21:25", "unknown key 'functon'; did you mean 'function'?"),
        ("shop.checks:fresh", "shop.checks", "21:25", f"{CONFIG}.python_task.function: write package.module:function, not 'shop.checks'"),
        ("run_if: ALL_DONE", "run_if: ALL_DON", "15:9", "'ALL_FAILED' or 'AT_LEAST_ONE_FAILED'; did you mean 'ALL_DONE'?"),
        ("depends_on: wheel", "depends_on: [weel]", "14:9", "check depends on 'weel', which is not there; did you mean 'wheel'?"),
        ("depends_on: wheel", "depends_on: check", "2:5", "the tasks of night wait for each other: check → check; change depends_on"),
        ("depends_on: wheel", "depends_on: 1", "14:9", "modules.sources.depends_on: input should be a valid list"),
        ("quartz_cron_expression: 0 0 2 * * ?, ", "", "4:5", "a schedule needs quartz_cron_expression or cron, and not both"),
        ("0 0 2 * * ?", "0 0 2 * * ?, cron: 0 2 * * *", "4:5", "a schedule needs quartz_cron_expression or cron, and not both"),
        ("table_update", "file_arrival: {url: /a}, table_update", "5:5", "a trigger needs file_arrival or table_update, and not both"),
        ("[bronze.orders]", "[]", "5:30", "modules.trigger.table_update.table_names: list should have at least 1 item"),
        ("timezone_id", "timezone", "4:53", "unknown key 'timezone'; did you mean 'timezone_id'?"),
        ("on_failure", "on_failed", "8:21", "unknown key 'on_failed'; did you mean 'on_failure'?"),
        (
            "max_concurrent_runs: 2",
            "max_concurrent_runs: 0",
            "10:5",
            "modules.max_concurrent_runs: input should be greater than or equal to 1",
        ),
        ("parameters: [1, true]", "parameters: [1], named_parameters: {a: 1}", "27:58", "parameters or named_parameters, not both"),
        ("commands: [dbt build], ", "", "36:49", f"{CONFIG}.dbt_task.commands is missing"),
        (
            "source_id: jar",
            'source_id: "a\\u0007b"',
            "28:9",
            "modules.sources.source_id: 'a\\x07b' holds a character that cannot be printed",
        ),
    ],
)
def test_what_is_wrong_with_a_task_or_a_schedule_is_told_with_its_place(old: str, new: str, place: str, told: str) -> None:
    with pytest.raises(Invalid) as caught:
        tasks(old, new)
    assert any(problem.startswith(f"night.yaml:{place}: ") and told in problem for problem in str(caught.value).splitlines())


def orders(text: str) -> dict[str, int]:
    return {source.source_id: source.execution_order for source in parse(text, "x.yml").modules[0].sources}


def chain(*sources: str) -> str:
    work = "source_type: task, transformation_config: {task_type: notebook, notebook_task: {notebook_path: /a}}"
    return "modules:\n  - module_name: x\n    sources:\n" + "".join(f"      - {{{source}, {work}}}\n" for source in sources)


def test_a_source_without_an_order_is_as_late_as_what_it_depends_on() -> None:
    text = chain("source_id: a", "source_id: d, depends_on: [c, a]", "source_id: c, depends_on: b", "source_id: b, execution_order: 3")
    assert orders(text) == {"a": 1, "b": 3, "c": 3, "d": 3}
    assert orders(chain("source_id: a", "source_id: b, depends_on: a")) == {"a": 1, "b": 1}
    assert orders(chain("source_id: a, execution_order: 0", "source_id: b, depends_on: a")) == {"a": 0, "b": 0}


JOBS = """\
jobs:
  - job_name: shop
    description: the shop
    schedule: {cron: 0 2 * * *}
    parameters: [{name: day, default: 1}]
    tasks:
      - task_key: orders
        task_type: ingest
        source_config: {path: landing/*.csv}
        target_config: {table: orders}
      - task_key: daily
        task_type: sql_query
        depends_on: [{task_key: orders}]
        run_if: ALL_DONE
        transformation_config: {sql_task: {sql_query: select 1}}
        target_config: {table: daily}
      - task_key: check
        depends_on: [daily, orders]
        notebook_task: {notebook_path: /check}
"""


def jobs(old: str = "", new: str = "") -> Document:
    assert old in JOBS
    return parse(JOBS.replace(old, new, 1), "jobs.yaml")


def test_jobs_with_tasks_become_the_same_modules() -> None:
    (module,) = jobs().modules
    assert (module.module_name, module.description, module.parameters) == ("shop", "the shop", {"day": "1"})
    found = {
        source.source_id: (
            source.source_type,
            source.transformation_config.task_type,
            source.execution_order,
            source.depends_on,
            source.run_if,
        )
        for source in module.sources
    }
    assert found == {
        "orders": ("files", "ingest", 1, (), "ALL_SUCCESS"),
        "daily": ("sql", "sql_query", 1, ("orders",), "ALL_DONE"),
        "check": ("task", "notebook", 1, ("daily", "orders"), "ALL_SUCCESS"),
    }


def test_a_job_may_be_named_in_other_ways() -> None:
    assert jobs("job_name: shop", "name: shop") == jobs()
    body = JOBS.partition("  - job_name: shop\n")[2]
    assert parse(f"jobs:\n  shop:\n{body}", "jobs.yaml") == jobs()
    assert parse(f"jobs:\n  key:\n    name: shop\n{body}", "jobs.yaml") == jobs()
    assert parse(f"jobs:\n  key:\n    job_name: shop\n{body}", "jobs.yaml") == jobs()


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("job_name: shop", "job_nam: shop", ["2:5: jobs.job_name is missing", "2:5: unknown key 'job_nam'; did you mean 'job_name'?"]),
        ("key: daily", "kye: daily", ["11:9: jobs.tasks.task_key is missing", "11:9: unknown key 'task_kye'; did you mean 'task_key'?"]),
        (
            "type: ingest",
            "type: ingst",
            [f"8:9: task_type 'ingst' is not one of ingest, sql_query, sql_file, {TYPES}, api_call, data_quality; did you mean 'ingest'?"],
        ),
        ("        task_type: ingest\n", "", [f"7:9: task_type is missing: ingest, sql_query, sql_file, {TYPES}, api_call or data_quality"]),
        ("path:", "pth:", ["9:9: jobs.tasks.source_config.path is missing", "9:25: unknown key 'pth'; did you mean 'path'?"]),
        ("notebook_path: /check", "", ["19:9: jobs.tasks.notebook_task.notebook_path is missing"]),
        ("{task_key: orders}", "{task_key: odrers}", ["13:9: daily depends on 'odrers', which is not there; did you mean 'orders'?"]),
        ("jobs:", "modules: [{}]\njobs:", ["1:11: modules.module_name is missing", "1:11: modules.sources is missing", BOTH]),
        (JOBS, "jobs: 1", ["1:1: jobs: input should be a valid list"]),
        (JOBS, "jobs: {a: 1}", ["1:8: jobs.a: input should be a mapping"]),
        (JOBS, "jobs: [{name: a, tasks: 1}]", ["1:18: jobs.tasks: input should be a valid list"]),
        (JOBS, "jobs: [{name: a, tasks: [1]}]", ["1:26: jobs.tasks: input should be a mapping"]),
    ],
)
def test_what_is_wrong_with_jobs_is_told_in_their_words(old: str, new: str, expected: list[str]) -> None:
    with pytest.raises(Invalid) as caught:
        jobs(old, new)
    assert str(caught.value).splitlines() == [f"jobs.yaml:{problem}" for problem in expected]


def test_the_words_of_the_first_shape_are_understood_in_the_second() -> None:
    assert jobs("    tasks:\n", "    sources:\n") == jobs()


@pytest.mark.parametrize("query", ["drop table x", "-- a comment\nDELETE FROM x", "/* first */ (insert into x values (1))"])
def test_a_query_that_is_no_select_is_refused_where_it_stands(query: str) -> None:
    source = {
        "source_id": "a",
        "source_type": "sql",
        "target_config": {"table": "t"},
        "transformation_config": {"sql_task": {"sql_query": query}},
    }
    with pytest.raises(Invalid, match=r"sql_query must be a SELECT, not (drop|DELETE|insert)"):
        parse(json.dumps({"modules": [{"module_name": "m", "sources": [source]}]}), "m.yaml")


@pytest.mark.parametrize(
    "query", ["select 1", " (select 1) union all (select 2)", "-- why\nWITH a AS (SELECT 1) SELECT * FROM a", "FROM x", "values (1)"]
)
def test_every_kind_of_query_is_taken(query: str) -> None:
    SqlConfig.model_validate({"sql_task": {"sql_query": query}})
