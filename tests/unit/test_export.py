"""What is exported is read back as it was, byte for byte, whatever the texts in it hold."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import pytest
from hypothesis import given

from examples import tried
from lakeledger.control.documents import Module, parse
from lakeledger.control.export import export
from lakeledger.control.model import Edit, ModuleRow, Snapshot, SourceRow
from lakeledger.control.rows import modules_of, to_rows
from unit.random_modules import NASTY, documents

SHOP: dict[str, Any] = {
    "module_name": "shop",
    "schedule": {"quartz_cron_expression": "0 0 2 * * ?", "timezone_id": "Europe/Rome"},
    "tags": {"zone": "yes", "owner": "sales"},
    "sources": [
        {
            "source_id": "orders",
            "source_type": "files",
            "source_config": {"path": "landing/orders/*.csv", "options": {"sep": ";", "header": True}},
            "target_config": {"schema": "bronze", "table": "orders"},
        },
        {
            "source_id": "daily",
            "source_type": "sql",
            "execution_order": 2,
            "is_active": False,
            "depends_on": "orders",
            "max_retries": 2,
            "transformation_config": {
                "sql_task": {
                    "sql_query": "select day, sum(price) as revenue -- of that day\nfrom bronze.orders\nwhere day > :since\ngroup by day\n",
                    "parameters": {"until": "2026-02-01", "since": date(2026, 1, 2)},
                }
            },
            "target_config": {"schema": "gold", "table": "daily"},
        },
    ],
}
TASK: dict[str, Any] = {
    "source_type": "task",
    "transformation_config": {"task_type": "notebook", "notebook_task": {"notebook_path": "/a"}},
}
NOW = datetime(2026, 1, 2, tzinfo=UTC)


def stored(modules: list[Module]) -> list[Module]:
    """The modules after a way through an empty control table."""
    rows = [to_rows(module) for module in modules]
    edit = Edit({source.key: source for _, sources in rows for source in sources}, {module.key: module for module, _ in rows})
    found = modules_of(edit.applied(Snapshot(0, 0), NOW))
    assert not found.bad
    return list(found.good.values())


def rows_of(modules: list[Module]) -> dict[str, tuple[ModuleRow, list[SourceRow]]]:
    return {row.module_name: (row, sorted(sources, key=lambda source: source.source_id)) for row, sources in map(to_rows, modules)}


@tried(0.5)
@given(documents())
def test_export_read_store_export_is_byte_identical_and_nothing_is_lost(modules: list[Module]) -> None:
    text = export(modules)
    read = parse(text, "exported.yml").modules
    assert export(read) == text
    assert export(stored(read)) == text
    assert rows_of(read) == rows_of(modules) == rows_of(stored(modules))


@pytest.mark.parametrize("text", NASTY)
def test_any_text_comes_back_as_a_value_and_as_a_key(text: str) -> None:
    module = Module.model_validate({**SHOP, "description": text, "parameters": {text: text}, "tags": {"all": text}})
    assert parse(export([module]), "exported.yml").modules == [module]


def test_what_is_exported_reads_as_people_write_it() -> None:
    assert (
        export([Module.model_validate(SHOP)])
        == """\
metadata_version: '1.0'
modules:
  - module_name: shop
    schedule:
      quartz_cron_expression: 0 0 2 * * ?
      timezone_id: Europe/Rome
    tags:
      owner: sales
      zone: 'yes'
    sources:
      - source_id: orders
        source_type: files
        source_config:
          path: landing/orders/*.csv
          options:
            header: 'true'
            sep: ;
        target_config:
          table: orders
          schema: bronze
      - source_id: daily
        source_type: sql
        execution_order: 2
        is_active: false
        depends_on:
          - orders
        max_retries: 2
        transformation_config:
          task_type: sql_query
          sql_task:
            sql_query: |
              select day, sum(price) as revenue -- of that day
              from bronze.orders
              where day > :since
              group by day
            parameters:
              since: 2026-01-02
              until: '2026-02-01'
        target_config:
          table: daily
          schema: gold
"""
    )


def test_modules_and_sources_are_exported_in_one_order_whatever_order_they_come_in() -> None:
    one, other = (Module.model_validate({**SHOP, "module_name": name}) for name in ("a", "b"))
    turned = Module.model_validate({**SHOP, "module_name": "a", "sources": SHOP["sources"][::-1]})
    assert export([one, other]) == export([other, turned])


def test_an_order_that_would_not_follow_from_depends_on_is_written() -> None:
    sources = [
        {**SHOP["sources"][0], "execution_order": 2},
        {**SHOP["sources"][1], "execution_order": 3, "is_active": True, "depends_on": []},
        {**TASK, "source_id": "after", "execution_order": 3, "depends_on": ["orders"]},
        {**TASK, "source_id": "first", "execution_order": 1},
    ]
    module = Module.model_validate({**SHOP, "sources": sources})
    read = parse(export([module]), "exported.yml").modules[0]
    assert {source.source_id: source.execution_order for source in read.sources} == {"orders": 2, "daily": 3, "after": 3, "first": 1}


@pytest.mark.parametrize("load_type", ["incremental", "full", "snapshot_diff"])
def test_how_much_a_source_reads_survives_the_export_whatever_its_kind_reads_by_default(load_type: str) -> None:
    source = {
        "source_id": "orders",
        "source_type": "function",
        "source_config": {"function": "shop.api:orders"},
        "transformation_config": {"load_type": load_type},
        "target_config": {"table": "orders", **({"keys": "id"} if load_type == "snapshot_diff" else {})},
    }
    module = Module.model_validate({"module_name": "shop", "sources": [source]})
    assert parse(export([module]), "shop.yaml").modules[0] == module
