"""Variables are filled into a document's texts, whatever their values hold; one that is not known is named with its place."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakeledger.control.documents import Module, SqlSource, parse
from lakeledger.control.variables import escape, substitute
from lakeledger.errors import Invalid
from unit.random_modules import CHARACTERS, NASTY

DOCUMENT = """\
variables:
  where: /landing
  seconds: 30
  share: 0.5
  active: true
  since: 2026-01-02
  people: [a@example.com, b@example.com]
  version: 1.10
  owner: {default: sales, description: who pays}
  warehouse: {description: where queries run}
modules:
  - module_name: shop
    description: "${var.where} of '${var.owner}': ${var.seconds} s, ${var.version}, ${var.active}"
    timeout_seconds: ${var.seconds}
    notifications: {on_failure: "${var.people}"}
    tags: {owner: '${var.owner}', path: "$${var.where}", version: "${var.version}"}
    sources:
      - source_id: orders
        source_type: sql
        is_active: ${var.active}
        transformation_config:
          sql_task:
            sql_query: |
              select '${var.owner}' as owner, "${env:HOME}", '${secret:scope/key}'
              from x -- ${var.where}: all
            parameters: {since: "${var.since}", share: "${var.share}"}
        target_config: {table: orders}
"""


def module(text: str = DOCUMENT, **given: Any) -> Module:
    return parse(text, "shop.yml", given).modules[0]


def described(text: str, **given: Any) -> str | None:
    """What `${var.x}` in a description becomes."""
    return module(
        DOCUMENT.replace("${var.where} of '${var.owner}': ${var.seconds} s, ${var.version}, ${var.active}", text), **given
    ).description


def problems(text: str, **given: Any) -> list[str]:
    with pytest.raises(Invalid) as caught:
        module(text, **given)
    return str(caught.value).splitlines()


def test_values_of_the_document_are_filled_in_anywhere_in_a_text() -> None:
    found = module()
    assert found.description == "/landing of 'sales': 30 s, 1.10, true"
    (source,) = found.sources
    assert isinstance(source, SqlSource)
    assert source.transformation_config.sql_task.sql_query == (
        "select 'sales' as owner, \"${env:HOME}\", '${secret:scope/key}'\nfrom x -- /landing: all\n"
    )


def test_a_variable_alone_keeps_its_type() -> None:
    found = module()
    assert (found.timeout_seconds, found.sources[0].is_active) == (30, True)
    assert found.notifications
    assert found.notifications.on_failure == ("a@example.com", "b@example.com")
    (source,) = found.sources
    assert isinstance(source, SqlSource)
    assert source.transformation_config.sql_task.parameters == {"since": date(2026, 1, 2), "share": 0.5}
    assert found.tags["version"] == "1.10"


def test_an_escaped_variable_stays_as_it_is() -> None:
    assert module().tags["path"] == "${var.where}"
    assert described("$${var.where} $$${var.where} $${var.nothing} ${var.where") == "${var.where} $${var.where} ${var.nothing} ${var.where"


def test_the_environment_goes_before_the_document_and_the_call_before_both(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAKELEDGER_VAR_where", "/env")
    monkeypatch.setenv("LAKELEDGER_VAR_owner", "env")
    monkeypatch.setenv("LAKELEDGER_VAR_new", "new")
    assert described("${var.where} ${var.owner} ${var.new} ${var.seconds}", owner="call") == "/env call new 30"


def test_a_text_from_outside_takes_the_type_of_the_documents_own_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAKELEDGER_VAR_seconds", "60")
    found = module(active="false", share="0.25", where="1", since="2026-02-02")
    assert (found.timeout_seconds, found.sources[0].is_active) == (60, False)
    (source,) = found.sources
    assert isinstance(source, SqlSource)
    assert source.transformation_config.sql_task.parameters["share"] == 0.25


def test_a_text_that_does_not_fit_the_documents_own_value_is_refused_without_showing_it() -> None:
    found = problems(DOCUMENT, seconds="hunter2", active="perhaps")
    assert found == [
        "shop.yml:3:3: the variable 'seconds' must be a whole number, as its default is",
        "shop.yml:5:3: the variable 'active' must be true or false, as its default is",
    ]


def test_an_unknown_variable_is_named_with_its_place_and_a_suggestion() -> None:
    text = DOCUMENT.replace("timeout_seconds: ${var.seconds}", "timeout_seconds: ${var.secnds}").replace("${var.share}", "${var.zzz}")
    assert problems(text) == [
        "shop.yml:14:5: unknown variable 'secnds'; did you mean 'seconds'?",
        "shop.yml:26:49: unknown variable 'zzz'; declare it under `variables:`, give --var zzz=… or set LAKELEDGER_VAR_zzz",
    ]


def test_every_unknown_variable_of_a_text_is_named() -> None:
    found = problems(DOCUMENT.replace("/landing of", "").replace("${var.where} of", "${var.a} ${var.} ${var.b-c}"))
    assert [line.split(";")[0] for line in found] == [
        "shop.yml:13:5: unknown variable ''",
        "shop.yml:13:5: unknown variable 'a'",
        "shop.yml:13:5: unknown variable 'b-c'",
    ]


def test_a_declared_variable_without_a_value_must_be_given() -> None:
    text = DOCUMENT.replace("${var.where} of", "${var.warehouse} of")
    (told,) = problems(text)
    assert told.startswith("shop.yml:13:5: the variable 'warehouse' has no value: give it a default, --var warehouse=…, or set LAKELEDGER_")
    assert (module(text, warehouse="w1").description or "").startswith("w1 of")


def test_a_list_cannot_be_a_part_of_a_text() -> None:
    (found,) = problems(DOCUMENT.replace("${var.where} of", "${var.people} of"))
    assert "the variable 'people' is a list: it cannot be a part of a text" in found


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("default: sales", "defualt: sales", "shop.yml:9:11: unknown key 'defualt'; did you mean 'default'?"),
        ("variables:\n", "variables: 1\nmore:\n", "shop.yml:1:1: variables must be a mapping of names to values"),
    ],
)
def test_variables_that_are_declared_wrongly_are_named(old: str, new: str, expected: str) -> None:
    assert expected in problems(DOCUMENT.replace(old, new))


def test_a_problem_after_substitution_is_told_where_the_variable_stands() -> None:
    assert problems(DOCUMENT.replace("seconds: 30", "seconds: x")) == [
        "shop.yml:14:5: modules.timeout_seconds: input should be a valid integer, unable to parse string as an integer"
    ]


def test_variables_fill_jobs_too() -> None:
    text = "variables: {path: /a}\njobs: [{name: a, tasks: [{task_key: a, notebook_task: {notebook_path: '${var.path}'}}]}]"
    (source,) = module(text).sources
    assert source.transformation_config.task_type == "notebook"
    assert source.transformation_config.notebook_task.notebook_path == "/a"


def test_a_variable_that_yaml_takes_for_a_mapping_is_explained() -> None:
    (found,) = problems("modules: [{module_name: ${var.a}}]")
    assert found == "shop.yml:1:26: not valid YAML: expected ',' or '}', but got '{'; a ${…} inside {…} or […] needs quotes"


def test_keys_are_not_filled_in() -> None:
    assert substitute({"a": {"${var.x}": "${var.x}"}}, {"x": "y"}) == ({"a": {"${var.x}": "y"}}, [])


@pytest.mark.parametrize("value", NASTY)
def test_no_value_can_break_the_document(value: str) -> None:
    text = "[${var.a}]\n  - \\"  # a quote that would end a text, were it filled in before the YAML is read
    assert substitute({"q": text}, {"a": value}) == ({"q": text.replace("${var.a}", value)}, [])
    assert described("'${var.a}': ${var.a}", a=value) == f"'{value}': {value}"


def test_a_value_that_cannot_be_stored_is_refused() -> None:
    assert (
        "the variable 'a' holds a character that cannot be stored"
        in problems(DOCUMENT.replace("${var.where} of", "${var.a} of"), a="\ud800")[0]
    )


@given(st.text(CHARACTERS, max_size=20))
def test_what_a_value_holds_is_never_filled_in_again(value: str) -> None:
    assert substitute({"a": "${var.x}", "b": "-${var.x}-"}, {"x": value, "y": "no"}) == ({"a": value, "b": f"-{value}-"}, [])


@given(st.lists(st.sampled_from(["$", "{", "}", "var.", "x", "${var.x}", " "]), max_size=12).map("".join))
def test_an_escaped_text_comes_back_as_it_was(text: str) -> None:
    assert substitute({"a": escape(text)}, {"x": "no"}) == ({"a": text}, [])
