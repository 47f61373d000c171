"""The same expectations on the same rows say here what Great Expectations said: `tests/golden/record_great_expectations.py` recorded it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from lakeledger import Ledger
from lakeledger.quality import CheckResult, Suite
from lakeledger.quality.great_expectations import import_suite

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

GOLDEN = Path(__file__).parents[1] / "golden" / "great_expectations"
VERDICTS = json.loads((GOLDEN / "verdicts.json").read_text(encoding="utf-8"))
TABLES = ("rows", "no_rows", "null_rows")
# Great Expectations compares names of columns by case, and so has no column `Email` in a table with `email`. Spark, and a ledger table,
# have one column of that name, whatever the case: every query finds it. We say what queries do.
OURS = {"column_exists(Email)": {"success": True}}


@pytest.fixture(scope="module")
def suite() -> Suite:
    found = import_suite(json.loads((GOLDEN / "suite.json").read_text(encoding="utf-8")))
    assert not found.refused
    return found.suite


def rows(lake: Ledger, name: str) -> DataFrame:
    return lake.spark.read.schema((GOLDEN / "schema.txt").read_text()).json(str(GOLDEN / f"{name}.jsonl"))


def ours(check: CheckResult) -> dict[str, Any]:
    """What we say, in its words: of what counts rows the counts, else what was observed, as far as both call it the same."""
    if check.unexpected_count is None:
        return {"success": check.success, **_observed(check.expectation.kind, dict(check.observed))}
    counts = {"element_count": check.element_count, "unexpected_count": check.unexpected_count}
    if check.expectation.kind not in ("not_null", "null"):
        counts["missing_count"] = check.observed["missing_count"]
    return {"success": check.success, **counts}


def its(check: CheckResult, said: dict[str, Any]) -> dict[str, Any]:
    """What it said. It sums over no rows, and so has no count of them where we have 0."""
    if check.expectation.label in OURS:
        return OURS[check.expectation.label]
    if "unexpected_count" in said:
        return {**said, "unexpected_count": said["unexpected_count"] or 0}
    return {"success": said["success"], **_observed(check.expectation.kind, {"value": said.get("observed_value")})}


def _observed(kind: str, seen: dict[str, Any]) -> dict[str, Any]:
    """The value, if it is a number or a time: lists of columns and types are named otherwise, and no value is None, 0 or NaN."""
    value = seen.get("value")
    if kind in ("columns", "column_exists", "type") or value in (None, 0, "NaN"):
        return {}
    return {"value": str(value).replace("T", " ").removesuffix("Z") if kind == "max" else pytest.approx(float(value))}


def test_there_are_more_than_thirty_expectations_of_every_kind_that_both_know(suite: Suite) -> None:
    assert VERDICTS["great_expectations"].startswith("1.")
    assert len(suite.expectations) == len(VERDICTS["rows"]) == 47
    verdicts = [each["success"] for each in VERDICTS["rows"]]
    assert min(verdicts.count(True), verdicts.count(False)) > 15
    from lakeledger.quality import catalogue

    assert {each.kind for each in suite.expectations} == {kind.name for kind in catalogue.KINDS if kind.gx}


@pytest.mark.parametrize("table", TABLES)
def test_a_table_has_the_same_verdicts_and_the_same_unexpected_counts(sqlite_lake: Ledger, suite: Suite, table: str) -> None:
    result = sqlite_lake.check(rows(sqlite_lake, table), suite, keep=False)
    assert [(each.expectation.label, each.error) for each in result.checks if each.error] == []
    found = {each.expectation.label: ours(each) for each in result.checks}
    assert len(found) == len(suite.expectations)
    assert found == {each.expectation.label: its(each, said) for each, said in zip(result.checks, VERDICTS[table], strict=True)}


@pytest.mark.parametrize("table", TABLES)
def test_a_load_has_the_same_verdicts_in_the_pass_that_writes(sqlite_lake: Ledger, suite: Suite, table: str) -> None:
    sqlite_lake.append(rows(sqlite_lake, table), "silver.orders", quality=suite)
    result = sqlite_lake.quality.latest("silver.orders")
    assert result
    checks = sqlite_lake.quality.checks(result.id)
    said = [{**each, **OURS.get(check.check_name, {})} for check, each in zip(checks, VERDICTS[table], strict=True)]
    assert [(check.check_name, check.success, check.unexpected_count or 0) for check in checks] == [
        (check.check_name, each["success"], each.get("unexpected_count") or 0) for check, each in zip(checks, said, strict=True)
    ]
