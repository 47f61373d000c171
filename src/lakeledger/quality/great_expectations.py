"""Suites of Great Expectations, as its files have them (1.x and 0.18), as suites of ours; what cannot be had is named with its reason."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lakeledger.errors import Invalid
from lakeledger.quality import catalogue
from lakeledger.quality.gx_conditions import as_sql, name_sql, text_sql
from lakeledger.quality.model import Expectation, Suite

# What says how results are shown, not what is expected.
_ITS_OWN = frozenset({"result_format", "include_config", "catch_exceptions", "batch_id", "condition_parser", "rendered_content"})
# What has the same verdict under another name of ours.
_SAME = {"expect_column_distinct_values_to_be_in_set": "expect_column_values_to_be_in_set"}
_REGEX_LISTS = {"expect_column_values_to_match_regex_list": "matches", "expect_column_values_to_not_match_regex_list": "not_matches"}
_LIKE = {"expect_column_values_to_match_like_pattern": "like", "expect_column_values_to_not_match_like_pattern": "not like"}
_INSTEAD = {
    "expect_column_proportion_of_non_null_values_to_be_between": "declare not_null with mostly",
    "expect_column_median_to_be_between": "declare mean, or a valid condition for each row",
    "expect_column_quantile_values_to_be_between": "declare between with mostly",
    "expect_table_row_count_to_equal_other_table": "reconcile the two tables",
    "expect_multicolumn_sum_to_equal": "declare the sum as a valid condition: {valid: a + b = 100}",
}
_BATCH_QUERY = re.compile(
    r"\s*select\s.+?\sfrom\s+\{batch\}(?:\s+as)?(?:\s+\w+)?\s+where\s(?P<condition>.+?);?\s*", re.IGNORECASE | re.DOTALL
)
_MORE_THAN_ROWS = re.compile(r"\b(group\s+by|having|limit|union|intersect|except|order\s+by|join|window)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Refused:
    """An expectation that was not imported: which of the file's, counted from 1, and why."""

    number: int
    type: str
    reason: str


@dataclass(frozen=True)
class Imported:
    """A suite, and what of the file is not in it."""

    suite: Suite
    refused: tuple[Refused, ...] = ()


def import_suite(document: Mapping[str, Any], name: str | None = None) -> Imported:
    """The suite of a file of Great Expectations, under its name or another. Raises Invalid if it is no such file."""
    declared = document.get("expectations")
    if not isinstance(declared, list) or not all(isinstance(each, Mapping) and _type(each) for each in declared):
        raise Invalid(
            "this is no suite of Great Expectations: it needs `expectations`, each with `type` (1.x) or `expectation_type` (0.18)"
        )
    called = name or document.get("name") or document.get("expectation_suite_name")
    if not isinstance(called, str) or not called.strip():
        raise Invalid("the suite has no name: give one with --name")
    made, refused = [], []
    for number, each in enumerate(declared, 1):
        try:
            made.append(_expectation(each))
        except Invalid as error:
            refused.append(Refused(number, _type(each), str(error)))
    notes = document.get("notes")
    return Imported(Suite(called, tuple(made), description=notes if isinstance(notes, str) and notes.strip() else None), tuple(refused))


def _type(declared: Mapping[str, Any]) -> str:
    found = declared.get("type") or declared.get("expectation_type")
    return found if isinstance(found, str) else ""


def _expectation(declared: Mapping[str, Any]) -> Expectation:
    kwargs = declared.get("kwargs")
    if not isinstance(kwargs, Mapping):
        raise Invalid("it has no kwargs")
    given = {str(key): value for key, value in kwargs.items() if key not in _ITS_OWN and value is not None and value is not False}
    if parameter := next((key for key, value in given.items() if isinstance(value, Mapping) and "$PARAMETER" in value), None):
        raise Invalid(f"{parameter} is a parameter that is given when the suite runs: write its value into the file")
    if "exact_match" in kwargs:
        given["exact_match"] = kwargs["exact_match"]  # here, false says something
    if (condition := given.pop("row_condition", None)) is not None:
        given["where"] = as_sql(condition, kwargs.get("condition_parser"))
    shared = {"severity": declared.get("severity"), "description": _notes(declared)}
    kind, given = _ours(_SAME.get(_type(declared), _type(declared)), given)
    return Expectation.of({kind: given, **{key: value for key, value in shared.items() if value is not None}})


def _ours(kind: str, given: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """What is expected in our words, where it is not only the names that differ."""
    if kind in _REGEX_LISTS:
        return _REGEX_LISTS[kind], _one_regex(kind, given)
    if kind in _LIKE:
        return "valid", _like(_LIKE[kind], given)
    if kind in ("unexpected_rows_expectation", "UnexpectedRowsExpectation"):
        return "valid", _valid(given)
    if kind not in catalogue.ALIASES:
        raise Invalid(f"there is nothing like it here{f': {_INSTEAD[kind]}' if kind in _INSTEAD else ''}")
    if isinstance(values := given.get("value_set"), list):
        # NULLs are not looked at; in the set, they would hide all that is not in it.
        given["value_set"] = [each for each in values if each is not None]
    if "mostly" in given and not catalogue.find(kind)[0].counts:
        del given["mostly"]  # which it does not look at there, either
    return kind, given


def _one_regex(kind: str, given: dict[str, Any]) -> dict[str, Any]:
    listed, match_on = given.pop("regex_list", None), given.pop("match_on", "any")
    if not isinstance(listed, list) or not listed or not all(isinstance(each, str) for each in listed):
        raise Invalid("regex_list is no list of regular expressions")
    if match_on == "all" and len(listed) > 1:
        raise Invalid("match_on all is not known here: declare matches for each of them")
    if len(listed) > 1 and any(re.search(r"\\[1-9]|\\k<", each) for each in listed):
        raise Invalid(f"{kind} refers back to groups, which cannot be told apart in one expression: declare each of them")
    return {**given, "regex": listed[0] if len(listed) == 1 else "|".join(f"(?:{each})" for each in listed)}


def _like(operator: str, given: dict[str, Any]) -> dict[str, Any]:
    column, pattern = given.pop("column", None), given.pop("like_pattern", None)
    if not isinstance(column, str) or not isinstance(pattern, str):
        raise Invalid("it needs a column and a like_pattern")
    there = f"{name_sql(column)} is not null"
    where = f"({given.pop('where')}) and {there}" if "where" in given else there
    return {**given, "condition": f"{name_sql(column)} {operator} {text_sql(pattern)}", "where": where}


def _valid(given: dict[str, Any]) -> dict[str, Any]:
    """A query of unexpected rows, if all that it does is to choose them."""
    query = given.pop("unexpected_rows_query", None)
    matched = _BATCH_QUERY.fullmatch(query) if isinstance(query, str) else None
    if matched is None or _MORE_THAN_ROWS.search(matched["condition"]):
        raise Invalid("only `select … from {batch} where …` can be imported: declare what is valid as a condition")
    return {**given, "condition": f"not ({matched['condition'].strip()})", "nulls": "pass"}


def _notes(declared: Mapping[str, Any]) -> str | None:
    meta = declared.get("meta")
    found = declared.get("description") or declared.get("notes") or (meta.get("notes") if isinstance(meta, Mapping) else None)
    found = found.get("content") if isinstance(found, Mapping) else found
    text = "\n".join(map(str, found)) if isinstance(found, list) else found
    return text.strip() or None if isinstance(text, str) else None
