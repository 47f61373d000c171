"""What files say of themselves never decides an expectation otherwise than its rows would."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from integration.judging import NAMES, ROWS, Row, is_unexpected, rules
from lakeledger.lake.parquet import bound
from lakeledger.pipelines.checks.conditions import Rows
from lakeledger.pipelines.checks.counting import plan
from lakeledger.pipelines.checks.proving import Facts
from lakeledger.quality import Suite

TYPES = ("integer", "integer", "double", "string", "date", "decimal(10,2)")
SCHEMA: dict[str, Any] = {
    "fields": [{"name": name, "type": type_, "physical_name": name} for name, type_ in zip(NAMES, TYPES, strict=True)]
}


def bounds(rows: list[Row]) -> dict[str, dict[str, Any]]:
    """As a footer tells them; those of NaN are left out."""
    found: dict[str, dict[str, Any]] = {}
    for name, values in zip(NAMES, zip(*rows, strict=True), strict=True):
        there = [each for each in values if each is not None and each == each]  # noqa: PLR0124 - NaN
        found[name] = {"nulls": sum(each is None for each in values)}
        if there:
            found[name] |= bound("min", min(there)) | bound("max", max(there))
    return found


def facts_of(*files: list[Row]) -> Facts:
    return Facts.of([(len(rows), bounds(rows)) for rows in files if rows], SCHEMA)


@settings(max_examples=500, deadline=None, derandomize=True)
@given(declared=st.lists(rules(), min_size=1, max_size=6), first=ROWS, second=ROWS)
def test_what_is_proven_is_what_plain_python_counts(declared: list[dict[str, Any]], first: list[Row], second: list[Row]) -> None:
    numbered = [[(number, *row) for number, row in enumerate(rows)] for rows in (first, second)]
    suite = Suite.of("reports", [{**each, "action": "report"} for each in declared])
    planned = plan(suite, Rows(SCHEMA), NAMES)
    told = planned.told(facts_of(*numbered))
    rows = [dict(zip(NAMES, row, strict=True)) for file in numbered for row in file]
    for place, counted in planned.counted.items():
        rule = suite.expectations[place]
        if counted.unexpected in told:
            assert told[counted.unexpected] == sum(is_unexpected(rule, row) for row in rows), rule.label
        if counted.missing in told:
            assert told[counted.missing] == sum(row[rule.columns[0]] is None for row in rows), rule.label


ORDERS: list[Row] = [(1, 5, 0.5, "b", None, None), (2, None, float("nan"), "d", None, None)]


@pytest.mark.parametrize(
    ("declared", "is_told"),
    [
        ({"not_null": "i"}, True),
        ({"between": {"column": "i", "min": 5, "max": 5}}, True),
        ({"between": {"column": "i", "min": 6}}, False),
        ({"between": {"column": "d", "min": 0}}, True),
        ({"between": {"column": "d", "max": 1}}, False),  # There may be a NaN that no bound tells of.
        ({"in_set": {"column": "i", "values": [4, 5, 6]}}, True),
        ({"in_set": {"column": "s", "values": ["b", "d"]}}, False),
        ({"in_set": {"column": "i", "values": [4, 6]}}, False),
        ({"between": {"column": "i", "min": 6}, "mostly": 0.5}, False),
        ({"min": {"column": "d", "min": 0}}, True),
        ({"max": {"column": "d", "min": 0}}, False),
        ({"max": {"column": "i", "min": 0}}, True),
        ({"sum": {"column": "i", "min": 0}}, False),
        ({"row_count": {"min": 1}}, True),
        ({"row_count": {"min": 1}, "where": "i > 0"}, False),
    ],
)
def test_files_tell_what_follows_from_counts_and_bounds(declared: dict[str, Any], is_told: bool) -> None:
    planned = plan(Suite.of("orders", [declared]), Rows(SCHEMA), NAMES)
    assert (not planned.open(planned.told(facts_of(ORDERS))).counted) == is_told


@pytest.mark.parametrize(
    ("least", "is_told"), [("2026-01-31T11:00:00", False), ("2026-01-30T00:00:00", True), ("2026-01-31T12:00:00Z", True)]
)
def test_a_time_without_a_zone_is_proven_only_where_every_zone_agrees(least: str, is_told: bool) -> None:
    schema = {"fields": [{"name": "at", "type": "timestamp", "physical_name": "at"}]}
    facts = Facts.of([(1, {"at": {"nulls": 0, **bound("min", datetime(2026, 1, 31, 12, tzinfo=UTC))}})], schema)
    planned = plan(Suite.of("times", [{"between": {"column": "at", "min": least}}]), Rows(schema), ["at"])
    assert (not planned.open(planned.told(facts)).counted) == is_told


def test_files_that_say_nothing_prove_nothing() -> None:
    planned = plan(Suite.of("orders", [{"not_null": "i"}, {"max": {"column": "i", "min": 0}}]), Rows(SCHEMA), NAMES)
    facts = Facts.of([(2, {}), (1, {"i": {"nulls": 0, "min": 1, "max": 2}})], SCHEMA)
    assert planned.told(facts) == {"count(1)": 3}
