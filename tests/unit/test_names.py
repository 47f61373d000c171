"""Only names that are safe everywhere are table names."""

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lakeledger.errors import Invalid
from lakeledger.tables import TableName, parse_name

SAFE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
PARTS = st.from_regex(SAFE, fullmatch=True)


@given(st.text(st.sampled_from("aZ_09.-/\\ \n\t\0\"'`;é٣"), max_size=8) | st.text())
@example("orders\n")
@example("silver\n.orders")
@example("../../etc.passwd")
@example("a.b.c")
@example(".orders")
@example("orders.")
@example("٣rders")
@example("o" * 129)
def test_a_name_is_safe_or_it_is_refused(name: str) -> None:
    try:
        parsed = parse_name(name)
    except Invalid:
        return
    assert SAFE.fullmatch(parsed.schema)
    assert SAFE.fullmatch(parsed.table)
    assert re.fullmatch(r"[a-z_][a-z0-9_]*/[a-z_][a-z0-9_]*", parsed.folder)


@given(PARTS, PARTS)
def test_every_safe_name_is_taken_as_given(schema: str, table: str) -> None:
    parsed = parse_name(f"{schema}.{table}")
    assert (parsed.schema, parsed.table, str(parsed)) == (schema, table, f"{schema}.{table}")


@given(PARTS, PARTS)
def test_spellings_that_differ_only_in_case_are_the_same_table(schema: str, table: str) -> None:
    upper, lower = parse_name(f"{schema}.{table}".upper()), parse_name(f"{schema}.{table}".lower())
    assert upper.key == lower.key
    assert upper.folder == lower.folder


def test_a_name_without_a_schema_is_in_main() -> None:
    assert parse_name("orders") == TableName("main", "orders")


def test_a_parsed_name_is_left_as_it_is() -> None:
    assert parse_name(TableName("silver", "orders")) == TableName("silver", "orders")


def test_the_message_says_what_is_allowed() -> None:
    with pytest.raises(Invalid, match=r"table name 'a-b' is not allowed: write table or schema\.table"):
        parse_name("a-b")
