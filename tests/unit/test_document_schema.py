"""The JSON Schema for editors says what documents may hold, in both shapes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from jsonschema import Draft202012Validator

from examples import tried
from lakeledger import codec
from lakeledger.control import yaml_text
from lakeledger.control.documents import Document, Module, parse
from lakeledger.control.export import export
from lakeledger.control.schema_json import json_schema
from lakeledger.control.shapes import TASKS
from lakeledger.control.tasks import SOURCE_TYPES
from lakeledger.errors import Invalid
from unit import test_document_tasks as tasks
from unit import test_documents, test_variables
from unit.random_modules import documents

SCHEMA = json_schema()


def errors(text: str) -> list[str]:
    """What an editor would underline."""
    value = codec.to_plain(yaml_text.read(text).value)
    return [error.message for error in Draft202012Validator(SCHEMA).iter_errors(value)]


def references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from (inner for name, inner in value.items() if name == "$ref")
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from references(inner)


def test_it_is_json_and_says_its_draft() -> None:
    assert codec.to_plain(SCHEMA) == SCHEMA
    assert SCHEMA["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert json_schema() == SCHEMA


def test_everything_that_it_refers_to_is_there_and_nothing_else() -> None:
    assert {reference.removeprefix("#/$defs/") for reference in references(SCHEMA)} == SCHEMA["$defs"].keys()


def test_every_definition_has_a_title_and_a_description() -> None:
    assert [name for name, definition in SCHEMA["$defs"].items() if not definition.get("title") or not definition.get("description")] == []


def test_it_knows_every_key_of_both_shapes() -> None:
    assert SCHEMA["properties"].keys() == {*Document.model_fields, "jobs", "variables"}
    assert SCHEMA["$defs"]["Module"]["properties"].keys() == Module.model_fields.keys()
    job, task = (SCHEMA["$defs"][name]["properties"].keys() for name in ("Job", "Task"))
    assert {"job_name", "name", "tasks", "schedule", "parameters"} <= job
    assert {"task_key", "task_type", "depends_on", "run_if", *TASKS} <= task
    assert SCHEMA["$defs"]["Task"]["properties"]["task_type"]["enum"] == list(SOURCE_TYPES)


def test_every_value_may_be_a_variable() -> None:
    variable = {"$ref": "#/$defs/Variable"}
    for name in ("timeout_seconds", "schedule", "sources"):
        assert variable in SCHEMA["$defs"]["Module"]["properties"][name]["anyOf"]
    assert "anyOf" not in SCHEMA["$defs"]["FilesSource"]["properties"]["source_type"]


def test_it_is_a_valid_schema() -> None:
    Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize(
    "text", [test_documents.SHOP, tasks.TASKS, tasks.JOBS, tasks.NOTEBOOK, tasks.QUERY, "modules: []", test_variables.DOCUMENT]
)
def test_documents_that_can_be_read_are_right_for_editors(text: str) -> None:
    assert errors(text) == []


@tried(0.5)
@given(documents(max_size=1))
def test_whatever_is_exported_is_right_for_editors(modules: list[Module]) -> None:
    assert errors(export(modules)) == []


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        (test_documents.SHOP, "description:", "descripton:"),
        (test_documents.SHOP, "source_type: files", "source_type: fils"),
        (test_documents.SHOP, "execution_order: 2", "execution_order: x"),
        (test_documents.SHOP, "write_mode: append", "write_mode: upsert"),
        (test_documents.SHOP, "          path: landing/orders/*.csv\n", ""),
        (tasks.TASKS, "task_type: python\n", "task_type: pyton\n"),
        (tasks.TASKS, "run_if: ALL_DONE", "run_if: ALL_DON"),
        (tasks.TASKS, "commands: [dbt build], ", ""),
        (tasks.NOTEBOOK, "notebook_path: /a/b, ", ""),
        (tasks.JOBS, "job_name: shop", "job_nam: shop"),
        (tasks.JOBS, "task_type: ingest", "task_type: ingst"),
        (tasks.JOBS, "path: landing/*.csv", "pth: a"),
        (tasks.JOBS, "        target_config: {table: orders}\n", ""),
        (tasks.JOBS, "notebook_path: /check", "notebook: /check"),
    ],
)
def test_documents_that_cannot_be_read_are_wrong_for_editors_too(text: str, old: str, new: str) -> None:
    assert old in text
    changed = text.replace(old, new, 1)
    with pytest.raises(Invalid):
        parse(changed, "x.yml")
    assert errors(changed) != []
