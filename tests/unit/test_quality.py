"""Expectations as people declare them, and the rules that make verdicts of what was seen."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from lakeledger.control import documents
from lakeledger.control.expectations import load_suite
from lakeledger.errors import Invalid
from lakeledger.quality import Expectation, Suite, SuiteResult, Verdict, expect
from lakeledger.quality.catalogue import ALIASES, KINDS, find
from lakeledger.quality.verdict import Seen, judge

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("declared", "told"),
    [
        ({"not_nul": "id"}, "there is no expectation 'not_nul'; did you mean 'not_null'?"),
        ({"in_set": {"column": "a", "valeus": [1]}}, "in_set: unknown key 'valeus'; did you mean 'values'?"),
        ({"in_set": "a"}, "in_set needs values"),
        ({"between": "a"}, "between needs min or max"),
        ({"between": {"column": "a", "min": 2, "max": 1}}, "nothing lies between them"),
        ({"not_null": ["a", "b"]}, "not_null is about one column, not 2 (a, b); write one for each"),
        ({"unique": ["a", "A"]}, "unique names a twice"),
        ({"not_null": "a", "mostly": 1.5}, "mostly is a share of rows from 0 to 1, not 1.5"),
        ({"not_null": "a", "mostly": 0.5, "max_unexpected": 1}, "give either mostly or max_unexpected"),
        ({"not_null": "a", "severity": "critcal"}, "severity 'critcal' is none of critical, warning, info; did you mean 'critical'?"),
        ({"sum": {"column": "a", "min": 0}, "mostly": 0.5}, "sum counts no rows, so none can be tolerated"),
        ({"unique": "a", "action": "quarantine"}, "unique cannot be decided row by row, so no row can be set aside for it"),
        ({"foreign_key": {"column": "a", "table": "b"}, "action": "quarantine"}, "no row can be set aside for it"),
        ({"row_count": 1, "action": "quarantine"}, "no row can be set aside for it"),
        ({"not_null": "a", "nulls": "fail"}, "not_null has no use for nulls"),
        ({"column_exists": "a", "where": "b > 1"}, "column_exists is about columns, not rows"),
        ({"matches": {"column": "a", "regex": "("}}, "'(' is no regular expression"),
        ({"freshness": {"column": "a", "max_age": "soon"}}, "max_age is a time span such as 90s"),
        ({"not_null": "a", "unique": "b"}, "this one names not_null, unique"),
        ({"valid": ""}, "valid: condition is a text"),
        ("not_null", "an expectation is a mapping"),
    ],
)
def test_what_is_wrong_with_an_expectation_is_told_with_what_is_meant(declared: Any, told: str) -> None:
    with pytest.raises(Invalid) as raised:
        Expectation.of(declared)
    assert told in str(raised.value)


def test_the_names_of_great_expectations_are_known() -> None:
    given = {"column": "a", "min_value": 1, "strict_min": True, "meta": {"notes": "x"}}
    assert Expectation.of({"expect_column_values_to_be_between": given}) == expect("between", "a", min=1, strict_min=True)
    pair = {"column_A": "a", "column_B": "b", "or_equal": True}
    assert Expectation.of({"expect_column_pair_values_a_to_be_greater_than_b": pair}) == expect("compare", "a", "b", operator=">=")
    assert Expectation.of({"expect_compound_columns_to_be_unique": {"column_list": ["a", "b"]}}) == expect("unique", "a", "b")
    assert all(find(alias)[0] in KINDS for alias in ALIASES)


def test_an_expectation_is_written_as_it_is_read() -> None:
    declared: list[dict[str, Any]] = [
        {"not_null": "a"},
        {"unique": ["a", "b"], "mostly": 0.9},
        {"valid": "a > 0", "action": "quarantine"},
        {"row_count": {"min": 1}},
        {"between": {"column": "day", "min": "2026-01-01"}, "severity": "info", "name": "this year", "where": "b = 1"},
    ]
    made = [Expectation.of(each) for each in declared]
    assert [each.document for each in made] == declared
    assert expect("between", "day", min=date(2026, 1, 1)).parameters == {"min": "2026-01-01"}


def test_a_rule_that_quarantines_is_a_warning_unless_somebody_says_otherwise() -> None:
    assert Expectation.of({"not_null": "a", "action": "quarantine"}).severity == "warning"
    critical = Expectation.of({"not_null": "a", "action": "quarantine", "severity": "critical"})
    assert (critical.severity, Expectation.of(critical.document)) == ("critical", critical)


@pytest.mark.parametrize(
    ("declared", "seen", "success"),
    [
        ({"not_null": "a"}, Seen(0, 0, 0), True),
        ({"not_null": "a"}, Seen(10, 0, 1), False),
        ({"not_null": "a", "mostly": 0.9}, Seen(10, 0, 1), True),
        ({"not_null": "a", "mostly": 0.91}, Seen(10, 0, 1), False),
        ({"not_null": "a", "mostly": 0.7}, Seen(10, 0, 3), True),  # as numbers of binary fractions, 0.7 * 10 is more than 7
        ({"not_null": "a", "max_unexpected": 1}, Seen(10, 0, 1), True),
        ({"between": {"column": "a", "min": 1}, "mostly": 0.5}, Seen(10, 8, 1), True),
        ({"between": {"column": "a", "min": 1}}, Seen(10, 10, 0), True),
        ({"sum": {"column": "a", "min": 1}}, Seen(0, value=None), False),
        ({"sum": {"column": "a", "min": 1}, "nulls": "pass"}, Seen(0, value=None), True),
        ({"mean": {"column": "a", "min": 1, "max": 2, "strict_max": True}}, Seen(3, value=Decimal("2.0")), False),
        ({"max": {"column": "a", "max": "2026-01-31"}}, Seen(3, value=date(2026, 1, 31)), True),
        ({"max": {"column": "a", "max": "2026-01-31T00:00:00Z"}}, Seen(3, value=datetime(2026, 1, 31, 1, tzinfo=UTC)), False),
        ({"max": {"column": "a", "max": 5}}, Seen(3, value=float("nan")), False),
        ({"row_count": 3}, Seen(3, value=3), True),
        ({"freshness": {"column": "a", "max_age": "1h"}}, Seen(3, value=NOW - timedelta(minutes=59)), True),
        ({"freshness": {"column": "a", "max_age": "1h"}}, Seen(3, value=NOW - timedelta(minutes=61)), False),
        ({"freshness": {"column": "a", "max_age": "1h"}}, Seen(0, value=None), False),
        ({"not_null": "a"}, Seen(error="no such column"), False),
    ],
)
def test_what_was_seen_decides(declared: dict[str, Any], seen: Seen, success: bool) -> None:
    assert judge(Expectation.of(declared), seen, NOW).success is success


def test_the_worst_severity_that_failed_is_the_verdict() -> None:
    def verdict(*failed: str) -> Verdict:
        suite = Suite.of("s", [{"not_null": "a", "severity": each} for each in ("critical", "warning", "info")])
        checks = [judge(each, Seen(1, 0, int(each.severity in failed)), NOW) for each in suite.expectations]
        return SuiteResult(suite, "main.t", tuple(checks), "1").status

    assert verdict() == verdict("info") == Verdict.PASS
    assert verdict("warning") == verdict("info", "warning") == Verdict.WARNING
    assert verdict("critical") == verdict("critical", "warning", "info") == Verdict.FAIL


DOCUMENT = """\
modules:
  - module_name: shop
    sources:
      - source_id: orders
        source_type: files
        source_config: {path: orders/*.csv}
        target_config:
          table: orders
          quality: QUALITY
      - source_id: checks
        source_type: task
        execution_order: 2
        transformation_config:
          task_type: data_quality
          data_quality_task: {table: orders, expectations: [{not_null: id}]}
"""


def write(folder: Path, quality: str) -> Path:
    path = folder / "pipeline.yaml"
    path.write_text(DOCUMENT.replace("QUALITY", quality))
    return path


@pytest.mark.parametrize(
    ("quality", "told"),
    [
        ("{expectations: [{not_null: id}, {not_nul: id}]}", ":9:52: there is no expectation 'not_nul'; did you mean 'not_null'?"),
        ("{expectation: [{not_null: id}]}", ":9:21: unknown key 'expectation'; did you mean 'expectations'?"),
        ("{fail_on_error: true}", "quality says nothing: give expectations, a suite or a dq_config_id"),
        ("{suite: ../orders.yaml}", "suite '../orders.yaml' must lie beside the document"),
        ("{suite: /etc/passwd}", "suite '/etc/passwd' must lie beside the document"),
        ("{dq_config_id: ../x}", "dq_config_id '../x' is a name, not a path"),
        ("{dq_config_id: orders}", "quality/orders.yaml: write it, with `expectations:`"),
    ],
)
def test_what_is_wrong_with_expectations_of_a_source_is_told_with_its_place(tmp_path: Path, quality: str, told: str) -> None:
    with pytest.raises(Invalid) as raised:
        documents.load(write(tmp_path, quality))
    assert told in str(raised.value)


def test_a_suite_file_is_checked_with_file_and_line(tmp_path: Path) -> None:
    path = write(tmp_path, "{dq_config_id: orders, fail_on_error: true}")
    (tmp_path / "quality").mkdir()
    suite = tmp_path / "quality/orders.yaml"
    suite.write_text("expectations:\n  - not_null: id\n  - between: {column: amount}\n")
    with pytest.raises(Invalid, match=r"quality/orders\.yaml:3:5: between needs min or max"):
        documents.load(path)
    suite.write_text(
        "fail_on_error: false\nexpectations:\n  - not_null: id\n  - {between: {column: day, min: 2026-01-01}, severity: warning}\n"
    )
    source = documents.load(path).modules[0].sources[0]
    assert source.target_config
    assert source.target_config.quality
    read = source.target_config.quality.read(tmp_path, "x")
    assert (read.dq_config_id, read.fail_on_error, len(read.expectations)) == ("orders", True, 2)
    assert load_suite(suite) == Suite("orders", read.expectations)
    assert documents.load(tmp_path).modules == documents.load(path).modules  # a suite among documents declares no module


def test_a_link_out_of_the_project_is_not_followed(tmp_path: Path) -> None:
    outside, inside = tmp_path / "outside.yaml", tmp_path / "project"
    outside.write_text("expectations: [{not_null: id}]")
    (inside / "quality").mkdir(parents=True)
    (inside / "quality/orders.yaml").symlink_to(outside)
    with pytest.raises(Invalid, match="a link that leads out"):
        documents.load(write(inside, "{dq_config_id: orders}"))


def test_a_module_with_expectations_is_the_same_when_it_is_read_again(tmp_path: Path) -> None:
    path = write(tmp_path, "{expectations: [{between: {column: day, min: 2026-01-01}}, {valid: 'a > 1', action: quarantine}]}")
    module = documents.load(path).modules[0]
    again = documents.Module.model_validate(module.document)
    assert again == module
    assert again.config_hash == module.config_hash
