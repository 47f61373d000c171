"""Modules become rows and rows modules; a row that is wrong is named, and makes no other module bad."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import tried
from lakeledger.control.documents import Module, SqlSource, TaskSource, parse
from lakeledger.control.model import ModuleRow, Snapshot, SourceRow, UnreadableRow
from lakeledger.control.rows import RowProblem, canonical, canonical_module, from_rows, modules_of, to_rows
from lakeledger.control.tasks import KINDS
from lakeledger.errors import Invalid
from unit.random_modules import modules

SHOP = parse(
    """\
modules:
  - module_name: shop
    description: the shop
    schedule: {cron: 0 2 * * *}
    tags: {owner: sales}
    max_concurrent_runs: 1
    sources:
      - source_id: daily
        source_type: sql
        execution_order: 2
        depends_on: [orders]
        run_if: ALL_DONE
        timeout_seconds: 60
        max_retries: 2
        retry_seconds: 1.5
        transformation_config:
          sql_task: {sql_query: select 1, parameters: {day: 2026-01-02, days: [2026-01-02, "2026-01-03"]}}
        target_config: {schema: gold, table: daily}
      - source_id: orders
        source_type: files
        source_config: {path: landing/*.csv, options: {sep: ";"}}
        target_config: {table: orders}
      - source_id: check
        source_type: task
        execution_order: 3
        is_active: false
        transformation_config: {task_type: python, python_task: {function: "shop.checks:fresh", parameters: {hours: 2}}}
""",
    "shop.yml",
).modules[0]


def snapshot(*sources: SourceRow, modules: tuple[ModuleRow, ...] = (), problems: tuple[UnreadableRow, ...] = ()) -> Snapshot:
    return Snapshot(1, 1, {source.key: source for source in sources}, {module.key: module for module in modules}, problems)


def row(source_id: str = "daily", **changes: Any) -> SourceRow:
    """A row of the shop, changed."""
    return replace(next(source for source in to_rows(SHOP)[1] if source.source_id == source_id), **changes)


def problems(*sources: SourceRow) -> list[RowProblem]:
    """What is wrong with the shop if these rows are in it, instead of its own."""
    own = {source.key: source for source in to_rows(SHOP)[1]}
    return modules_of(snapshot(*{**own, **{source.key: source for source in sources}}.values())).bad.get("shop", [])


def test_rows_have_the_columns_of_the_control_table_and_compact_json() -> None:
    module, (daily, orders, check) = to_rows(SHOP)
    assert module == ModuleRow("shop", "the shop", schedule='{"cron":"0 2 * * *"}', tags='{"owner":"sales"}', max_concurrent_runs=1)
    assert orders == SourceRow(
        "orders", "shop", "files", 1, '{"options":{"sep":";"},"path":"landing/*.csv"}', '{"table":"orders"}', '{"task_type":"ingest"}', True
    )
    assert daily.transformation_config == (
        '{"depends_on":["orders"],"max_retries":2,"retry_seconds":1.5,"run_if":"ALL_DONE","sql_task":{"parameters":'
        '{"day":{"date":"2026-01-02"},"days":[{"date":"2026-01-02"},"2026-01-03"]},"sql_query":"select 1"},'
        '"task_type":"sql_query","timeout_seconds":60}'
    )
    assert (check.source_type, check.target_config, check.is_active) == ("task", "{}", False)


def test_rows_become_the_module_again_in_the_order_of_execution() -> None:
    module, sources = to_rows(SHOP)
    found = from_rows(module, sources)
    assert [source.source_id for source in found.sources] == ["orders", "daily", "check"]
    assert sorted(found.sources, key=lambda source: source.source_id) == sorted(SHOP.sources, key=lambda source: source.source_id)
    assert found.model_copy(update={"sources": SHOP.sources}) == SHOP


def test_a_date_of_a_query_is_one_again_also_when_the_module_was_kept_as_json() -> None:
    for module in (from_rows(*to_rows(SHOP)), Module.model_validate(SHOP.model_dump(mode="json", by_alias=True))):
        daily = next(source for source in module.sources if source.source_id == "daily")
        assert isinstance(daily, SqlSource)
        assert daily.transformation_config.sql_task.parameters == {"day": date(2026, 1, 2), "days": [date(2026, 1, 2), "2026-01-03"]}


@tried(0.5)
@given(modules())
def test_every_module_survives_its_rows(module: Module) -> None:
    row, sources = to_rows(module)
    found = from_rows(row, sources)
    assert to_rows(found) == (row, sorted(sources, key=lambda source: (source.execution_order, source.source_id)))
    assert {source.source_id: source for source in found.sources} == {source.source_id: source for source in module.sources}


def test_the_row_that_the_guide_inserts_is_understood() -> None:
    inserted = SourceRow(
        "new_sql_task",
        "my_module",
        "sql",
        1,
        "{}",
        '{"catalog": "bronze", "schema": "data", "table": "customers"}',
        '{"task_type": "sql_query", "sql_task": {"warehouse_id": "abc123", "sql_query": "SELECT * FROM bronze.customers"}}',
        True,
    )
    (source,) = from_rows(None, [inserted]).sources
    assert isinstance(source, SqlSource)
    assert (source.target, source.transformation_config.sql_task.warehouse_id) == ("data.customers", "abc123")


def test_a_module_without_a_row_of_its_own_has_no_settings() -> None:
    found = from_rows(None, to_rows(SHOP)[1])
    assert (found.module_name, found.description, found.schedule, found.tags) == ("shop", None, None, {})


def test_a_module_whose_sources_are_all_off_is_good_and_inactive() -> None:
    found = modules_of(snapshot(*(replace(source, is_active=False) for source in to_rows(SHOP)[1])))
    assert not found.good["shop"].is_active
    assert len(found.good["shop"].sources) == 3
    assert modules_of(snapshot(*to_rows(SHOP)[1])).good["shop"].is_active


@pytest.mark.parametrize(
    ("changes", "field", "message"),
    [
        ({"transformation_config": '{"task_type": '}, "transformation_config", "not valid JSON: Expecting value at line 1, column 15"),
        ({"transformation_config": "[1]"}, "transformation_config", "must be a mapping: {…}"),
        ({"target_config": '{"table": "a", "table": "b"}'}, "target_config", "the key 'table' is used twice"),
        ({"source_config": '{"a": NaN}'}, "source_config", "not valid JSON: NaN"),
        ({"source_config": '{"a": 1e999}'}, "source_config", "not valid JSON: 1e999"),
        ({"source_config": '{"a": "\\ud800"}'}, "source_config", "holds a character that cannot be stored"),
        ({"source_config": '{"a":' * 5000 + "1" + "}" * 5000}, "source_config", "nested more than 50 levels deep"),
        ({"source_config": '{"a":' * 60 + "1" + "}" * 60}, "source_config", "nested more than 50 levels deep"),
        (
            {"source_type": "sqll"},
            "source_type",
            f"source_type 'sqll' is not one of {', '.join(KINDS)}; did you mean 'sql'?",
        ),
        (
            {"source_type": None},
            "source_type",
            f"source_type 'None' is not one of {', '.join(KINDS)}",
        ),
        ({"execution_order": -1}, "execution_order", "input should be greater than or equal to 0"),
        ({"execution_order": "x"}, "execution_order", "input should be a valid integer, unable to parse string as an integer"),
        ({"target_config": "{}"}, "target_config", "is missing"),
        ({"target_config": '{"schema": "gold"}'}, "target_config.table", "is missing"),
        ({"target_config": '{"table": "a", "schmea": "b"}'}, "target_config.schmea", "unknown key 'schmea'; did you mean 'schema'?"),
        ({"target_config": '{"table": "../x"}'}, "target_config", "table name 'main.../x' is not allowed"),
        ({"transformation_config": "{}"}, "transformation_config", "is missing"),
        (
            {"transformation_config": '{"task_type": "sqlquery", "sql_task": {"sql_query": "select 1"}}'},
            "transformation_config.task_type",
            "input should be 'sql_query' or 'sql_file'; did you mean 'sql_query'?",
        ),
        (
            {"transformation_config": '{"sql_task": {"sql_query": "select 1"}, "depends_on": ["oders"]}'},
            "transformation_config.depends_on",
            "daily depends on 'oders', which is not there; did you mean 'orders'?",
        ),
        (
            {"transformation_config": '{"sql_task": {"sql_query": "select 1"}, "run_if": "ALWAYS"}'},
            "transformation_config.run_if",
            "input should be 'ALL_SUCCESS', 'ALL_DONE'",
        ),
        (
            {"transformation_config": '{"sql_task": {"sql_query": "select 1"}, "max_retries": "x"}'},
            "transformation_config.max_retries",
            "input should be a valid integer",
        ),
        (
            {"source_type": "task", "transformation_config": '{"task_type": "pythn"}'},
            "transformation_config.task_type",
            "task_type 'pythn' is not one of python, notebook, python_wheel, spark_jar, pipeline, dbt, api_call, data_quality;",
        ),
        (
            {"source_type": "task", "transformation_config": '{"task_type": "python"}'},
            "transformation_config.python_task",
            "is missing",
        ),
    ],
)
def test_a_wrong_row_is_named_with_its_field(changes: dict[str, Any], field: str, message: str) -> None:
    (problem,) = problems(row(**changes))
    assert (problem.module_name, problem.source_id, problem.field) == ("shop", "daily", field)
    assert problem.message.startswith(message)
    assert str(problem).startswith(f"shop.daily: {field}: ")


def test_an_unsafe_row_is_refused() -> None:
    (problem,) = problems(row("orders", target_config='{"table": "orders", "write_mode": "overwrite"}'))
    assert problem.field == "target_config.write_mode"
    assert "incremental with overwrite" in problem.message


def test_every_problem_of_a_module_is_told_at_once() -> None:
    found = problems(row(execution_order=-1, target_config='{"tabel": "a"}'), row("orders", source_config="{"))
    assert [(problem.source_id, problem.field) for problem in found] == [
        ("orders", "source_config"),
        ("daily", "execution_order"),
        ("daily", "target_config.table"),
        ("daily", "target_config.tabel"),
    ]


def test_a_circle_is_told_for_the_module() -> None:
    (problem,) = problems(
        row("orders", transformation_config='{"task_type": "ingest", "depends_on": ["daily"]}'),
    )
    assert (problem.source_id, problem.field) == (None, "transformation_config.depends_on")
    assert "wait for each other" in problem.message


def test_a_wrong_row_of_the_module_settings_makes_the_module_bad() -> None:
    settings = ModuleRow("shop", schedule='{"cron": "a", "quartz_cron_expression": "b"}', tags="[", parameters='{"a": {}}')
    found = modules_of(snapshot(*to_rows(SHOP)[1], modules=(settings,)))
    assert [(problem.source_id, problem.field) for problem in found.bad["shop"]] == [
        (None, "tags"),
        (None, "schedule"),
        (None, "parameters.a"),
    ]


def test_one_bad_module_does_not_make_the_others_bad() -> None:
    sources = [replace(source, module_name=f"m{at}") for at in range(10) for source in to_rows(SHOP)[1]]
    sources[0] = replace(sources[0], target_config="{")
    found = modules_of(snapshot(*sources))
    assert list(found.bad) == ["m0"]
    assert list(found.good) == [f"m{at}" for at in range(1, 10)]


def test_a_row_that_could_not_be_read_at_all_makes_its_module_bad() -> None:
    twice = UnreadableRow(7, ("shop", "orders"), "source_id", "there are two rows with this key")
    nameless = UnreadableRow(8, (None, "x"), "module_name", "is missing")
    found = modules_of(snapshot(*to_rows(SHOP)[1], problems=(twice, nameless)))
    assert not found.good
    assert found.bad["shop"] == [RowProblem("shop", "orders", "source_id", "there are two rows with this key (row 7)")]
    assert found.bad[""] == [RowProblem("", "x", "module_name", "is missing (row 8)")]


def test_the_settings_of_a_module_without_sources_are_no_module() -> None:
    found = modules_of(snapshot(modules=(ModuleRow("empty"),)))
    assert (found.good, found.bad) == ({}, {})


def test_a_name_with_blanks_around_it_is_refused_because_it_looks_like_another() -> None:
    problem, *_ = problems(replace(row("orders"), source_id=" orders"))
    assert (problem.source_id, problem.field) == (" orders", "source_id")


def test_reading_rows_that_are_wrong_tells_everything() -> None:
    with pytest.raises(Invalid, match=r"shop\.daily: execution_order: .*\nshop\.daily: target_config\.table: is missing"):
        from_rows(None, [row(execution_order=-1, target_config='{"schema": "a"}')])
    with pytest.raises(Invalid, match="has no sources"):
        from_rows(ModuleRow("shop"), [])


def test_a_row_with_its_defaults_spelled_out_says_the_same() -> None:
    spelled = row(
        "orders",
        source_config='{"path": "landing/*.csv", "format": "csv", "options": {"sep": ";"}, "changed_files": "refuse"}',
        target_config='{"schema": "main", "table": "orders", "catalog": null}',
        transformation_config='{"task_type": "ingest", "load_type": "incremental", "depends_on": [], "run_if": "ALL_SUCCESS"}',
    )
    assert canonical(spelled) == row("orders")
    assert canonical_module(ModuleRow("a", tags="{}", schedule='{"cron": "0 5 * * *", "timezone_id": "UTC"}')) == ModuleRow(
        "a", schedule='{"cron":"0 5 * * *"}'
    )


def test_a_row_that_is_wrong_has_no_other_form() -> None:
    for wrong in (row(target_config="{"), row(execution_order=-1)):
        assert canonical(wrong) == wrong
    assert canonical_module(ModuleRow("a", tags="{")) == ModuleRow("a", tags="{")


TEXTS = st.text(max_size=20) | st.sampled_from(
    ["{}", '{"table": "a"}', '{"task_type": "dbt"}', "null", "[]", '{"depends_on": 1}', '{"a":"\\u0000"}']
)
ROWS = st.builds(
    SourceRow,
    source_id=st.text(max_size=3),
    module_name=st.sampled_from(["a", "b"]),
    source_type=st.sampled_from(["files", "sql", "task", "", "x"]),
    execution_order=st.integers(-1, 3),
    source_config=TEXTS,
    target_config=TEXTS,
    transformation_config=TEXTS,
    is_active=st.booleans(),
)


@tried(2)
@given(st.lists(ROWS, max_size=4))
def test_whatever_stands_in_the_rows_is_good_or_bad(sources: list[SourceRow]) -> None:
    found = modules_of(snapshot(*sources))
    assert found.good.keys() | found.bad.keys() == {source.module_name for source in sources}
    assert all(found.bad.values())


def test_a_task_needs_no_target() -> None:
    check = next(source for source in from_rows(*to_rows(SHOP)).sources if source.source_id == "check")
    assert isinstance(check, TaskSource)
    assert (check.target, check.write_mode) == ("", None)
