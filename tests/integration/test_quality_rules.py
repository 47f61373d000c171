"""Random rules over random rows, with NULL, NaN and odd texts: each row is on one side, with the reasons that plain Python gives."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import examples
from integration.judging import NAMES, ROWS, SCHEMA, Row, is_unexpected, rules
from lakeledger import Ledger
from lakeledger.quality import Expectation, Suite

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def frame_of(spark: SparkSession, rows: list[Row]) -> DataFrame:
    return spark.createDataFrame([(number, *row) for number, row in enumerate(rows)], SCHEMA)


def reasons(suite: Suite, rows: list[Row]) -> dict[int, list[str]]:
    """Why each bad row is bad, by its number."""
    found: dict[int, list[str]] = {}
    for number, row in enumerate(rows):
        values = dict(zip(NAMES, (number, *row), strict=True))
        if broken := [rule.reason for rule in suite.expectations if is_unexpected(rule, values)]:
            found[number] = broken
    return found


def distinct(declared: list[dict[str, Any]]) -> Suite:
    """Rules with names of their own, so that each reason is told from the others."""
    return Suite.of("rules", [{**each, "name": f"rule {number}"} for number, each in enumerate(declared)])


@settings(
    max_examples=examples.rounds(10, 60), deadline=None, derandomize=True, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
)
@given(declared=st.lists(rules(), min_size=4, max_size=12), rows=ROWS)
def test_counts_are_what_plain_python_counts(sqlite_lake: Ledger, declared: list[dict[str, Any]], rows: list[Row]) -> None:
    assert sqlite_lake.spark.conf.get("spark.sql.ansi.enabled") == "true"
    suite = distinct(declared)
    found = sqlite_lake.check(frame_of(sqlite_lake.spark, rows), suite, keep=False)
    expected = reasons(suite, rows)
    counts = [sum(rule.reason in each for each in expected.values()) for rule in suite.expectations]
    assert [(check.unexpected_count, check.error) for check in found.checks] == [(count, None) for count in counts]


@settings(
    max_examples=examples.rounds(3, 12), deadline=None, derandomize=True, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
)
@given(declared=st.lists(rules(), min_size=1, max_size=4), rows=ROWS)
def test_each_row_is_on_one_side_with_all_its_reasons(sqlite_lake: Ledger, declared: list[dict[str, Any]], rows: list[Row]) -> None:
    suite = distinct(declared)
    table = f"t{len(list(sqlite_lake.tables.list()))}"
    sqlite_lake.append(frame_of(sqlite_lake.spark, rows), table, quality=suite)
    expected = reasons(suite, rows)
    kept = sorted(row["n"] for row in sqlite_lake.read(table).collect())
    aside: dict[int, list[str]] = {}
    if sqlite_lake.tables.find(f"{table}__quarantine"):
        aside = {json.loads(row["row"])["n"]: list(row["reasons"]) for row in sqlite_lake.read(f"{table}__quarantine").collect()}
    assert aside == expected
    assert kept == [number for number in range(len(rows)) if number not in expected]
    latest = sqlite_lake.quality.latest(table)
    assert latest
    counts = [sum(rule.reason in each for each in expected.values()) for rule in suite.expectations]
    assert [check.unexpected_count for check in sqlite_lake.quality.checks(latest.id)] == counts


@settings(max_examples=6, deadline=None, derandomize=True, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
@given(declared=st.lists(rules(), min_size=6, max_size=12), rows=ROWS)
def test_what_files_tell_and_what_is_counted_are_the_same(sqlite_lake: Ledger, declared: list[dict[str, Any]], rows: list[Row]) -> None:
    suite = distinct([{**each, "action": "report"} for each in declared])
    table = f"t{len(list(sqlite_lake.tables.list()))}"
    sqlite_lake.append(frame_of(sqlite_lake.spark, rows), table, quality=suite)
    expected = reasons(suite, rows)
    counts = [sum(rule.reason in each for each in expected.values()) for rule in suite.expectations]
    latest = sqlite_lake.quality.latest(table)
    assert latest
    assert [check.unexpected_count for check in sqlite_lake.quality.checks(latest.id)] == counts
    assert [check.unexpected_count for check in sqlite_lake.check(table, suite, keep=False).checks] == counts


def test_the_oracle_knows_null_and_nan() -> None:
    rows: list[Row] = [(None, float("nan"), None, None, None)]
    rule = Expectation.of({"between": {"column": "d", "max": 1.0, "min": 0.0, "strict_min": False, "strict_max": False}})
    assert is_unexpected(rule, dict(zip(NAMES, (0, *rows[0]), strict=True)))
