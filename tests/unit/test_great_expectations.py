"""Suites of Great Expectations become suites of ours, and what cannot is named with its reason."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lakeledger.errors import Invalid
from lakeledger.quality.great_expectations import import_suite
from lakeledger.quality.model import Expectation, expect

GOLDEN = Path(__file__).parents[1] / "golden" / "great_expectations"


def imported(kind: str, **kwargs: Any) -> Expectation:
    """The one expectation of a suite that has no other."""
    found = import_suite({"name": "shop", "expectations": [{"type": kind, "kwargs": kwargs}]})
    assert not found.refused
    return found.suite.expectations[0]


def refused(kind: str, **kwargs: Any) -> str:
    """Why an expectation is not imported."""
    found = import_suite({"name": "shop", "expectations": [{"type": kind, "kwargs": kwargs}]})
    assert not found.suite.expectations
    assert (found.refused[0].number, found.refused[0].type) == (1, kind)
    return found.refused[0].reason


@pytest.mark.parametrize("name", ["suite.json", "suite_0_18.json"])
def test_every_expectation_of_a_recorded_suite_is_imported(name: str) -> None:
    document = json.loads((GOLDEN / name).read_text())
    found = import_suite(document)
    assert found.suite.dq_config_id == "orders"
    assert len(found.suite.expectations) == len(document["expectations"]) == 47
    assert not found.refused


def test_both_formats_give_the_same_suite_but_for_severities_which_the_old_one_has_not() -> None:
    new, old = (import_suite(json.loads((GOLDEN / name).read_text())).suite for name in ("suite.json", "suite_0_18.json"))
    strip = [(each.kind, each.columns, dict(each.parameters), each.mostly, each.where) for each in new.expectations]
    assert strip == [(each.kind, each.columns, dict(each.parameters), each.mostly, each.where) for each in old.expectations]
    assert {each.severity for each in new.expectations} == {"critical", "warning", "info"}
    assert {each.severity for each in old.expectations} == {"critical"}


def test_a_bound_of_zero_and_a_match_that_is_not_exact_are_kept() -> None:
    assert imported("expect_column_values_to_be_between", column="a", min_value=0.0, strict_min=False) == expect("between", "a", min=0.0)
    columns = imported("expect_table_columns_to_match_set", column_set=["a"], exact_match=False)
    assert columns == expect("columns", names=["a"], exact=False)


def test_null_in_a_set_is_left_out_as_it_would_hide_what_is_not_in_it() -> None:
    assert imported("expect_column_values_to_be_in_set", column="a", value_set=["x", None]) == expect("in_set", "a", values=["x"])


@pytest.mark.parametrize(
    ("condition", "parser", "sql"),
    [
        ("amount > 5 and day is not null", "spark", "amount > 5 and day is not null"),
        ('col("status") == "pa\'id"', "great_expectations", "`status` = 'pa\\'id'"),
        ('col("Amount due")>=-1.5e3', "great_expectations__experimental__", "`Amount due` >= -1.5e3"),
        ("col(\"day\") < date('2024-01-31')", "great_expectations", "`day` < date '2024-01-31'"),
        ('col("a").notNull()', "great_expectations", "`a` is not null"),
        ({"type": "nullity", "column": {"name": "a`b"}, "is_null": True}, None, "`a``b` is null"),
        ({"type": "pass_through", "pass_through_filter": "a = 1"}, "spark", "a = 1"),
        ({"type": "comparison", "column": {"name": "a"}, "operator": "NOT_IN", "parameter": [1, 2]}, None, "`a` not in (1, 2)"),
        (
            {
                "type": "or",
                "conditions": [
                    {"type": "comparison", "column": {"name": "a"}, "operator": "==", "parameter": "x"},
                    {"type": "and", "conditions": [{"type": "nullity", "column": {"name": "b"}, "is_null": False}]},
                ],
            },
            None,
            "(`a` = 'x') or ((`b` is not null))",
        ),
    ],
)
def test_a_row_condition_becomes_sql(condition: Any, parser: str | None, sql: str) -> None:
    found = imported("expect_column_values_to_not_be_null", column="id", row_condition=condition, condition_parser=parser)
    assert found == expect("not_null", "id", where=sql)


def test_what_is_only_named_otherwise_is_said_in_our_words() -> None:
    listed = imported("expect_column_values_to_match_regex_list", column="a", regex_list=["^x", "y$"], match_on="any", mostly=0.5)
    assert listed == expect("matches", "a", regex="(?:^x)|(?:y$)", mostly=0.5)
    like = imported("expect_column_values_to_match_like_pattern", column="a", like_pattern="it's%")
    assert like == expect("valid", condition="`a` like 'it\\'s%'", where="`a` is not null")
    rows = imported("unexpected_rows_expectation", unexpected_rows_query="SELECT * FROM {batch} WHERE paid > amount")
    assert rows == expect("valid", condition="not (paid > amount)", nulls="pass")
    distinct = imported("expect_column_distinct_values_to_be_in_set", column="a", value_set=[1])
    assert distinct == expect("in_set", "a", values=[1])


def test_notes_become_the_description() -> None:
    document = {"type": "expect_column_values_to_not_be_null", "kwargs": {"column": "a"}, "meta": {"notes": {"content": ["why", "so"]}}}
    assert import_suite({"name": "shop", "expectations": [document]}).suite.expectations[0].description == "why\nso"


def test_what_cannot_be_imported_is_refused_with_its_reason() -> None:
    assert "nothing like it here: declare mean" in refused("expect_column_median_to_be_between", column="a", min_value=1)
    assert "nothing like it here" in refused("expect_column_kl_divergence_to_be_less_than", column="a")
    assert "written for pandas" in refused(
        "expect_column_values_to_not_be_null", column="a", row_condition='a == "x"', condition_parser="pandas"
    )
    assert "unknown key 'parse_strings_as_datetimes'" in refused(
        "expect_column_values_to_be_between", column="a", min_value="2024-01-01", parse_strings_as_datetimes=True
    )
    assert "min_value is a parameter" in refused("expect_column_min_to_be_between", column="a", min_value={"$PARAMETER": "low"})
    assert "only `select" in refused("unexpected_rows_expectation", unexpected_rows_query="select a from {batch} where a > 1 group by a")
    assert "match_on all" in refused("expect_column_values_to_match_regex_list", column="a", regex_list=["x", "y"], match_on="all")


def test_a_refused_expectation_does_not_stop_the_others() -> None:
    good, bad = ({"type": f"expect_column_{what}", "kwargs": {"column": "a", "min_value": 1}} for what in ("min_to_be_between", "z"))
    found = import_suite({"name": "shop", "expectations": [bad, good, bad]})
    assert [each.summary for each in found.suite.expectations] == ["min(a, min=1)"]
    assert [each.number for each in found.refused] == [1, 3]


@pytest.mark.parametrize(
    "document", [{}, {"name": "a", "expectations": {}}, {"name": "a", "expectations": [{"kind": "x"}]}, {"expectations": []}]
)
def test_a_file_that_is_no_suite_is_refused(document: dict[str, Any]) -> None:
    with pytest.raises(Invalid, match=r"no suite of Great Expectations|has no name"):
        import_suite(document)
