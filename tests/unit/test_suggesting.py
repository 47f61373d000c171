"""What a starter suite says follows from what is known of the table, and no more."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from lakeledger.control.yaml_writing import export_suite
from lakeledger.quality.model import expect
from lakeledger.quality.suggesting import SHAPES, ColumnFacts, Load, TableFacts, suggest, with_values

NOW = datetime(2026, 11, 17, 12, tzinfo=UTC)
COLUMNS = (
    ColumnFacts("id", "long", 0, Decimal(1), Decimal(200)),
    ColumnFacts("status", "string", 0),
    ColumnFacts("amount", "decimal(12,2)", 4, Decimal("0.50"), Decimal("99.99")),
    ColumnFacts("balance", "double", 80, Decimal(-5), Decimal(5)),
    ColumnFacts("changed_at", "timestamp", 0, NOW - timedelta(days=90), NOW - timedelta(hours=2)),
)
LOADS = tuple(Load(rows, "append", NOW - timedelta(days=day, hours=1)) for day, rows in enumerate((100, 60, 40)))
FACTS = TableFacts("silver.orders", 200, COLUMNS, ("id",), LOADS)


def suggested(**changed: Any) -> list[str]:
    return [each.label for each in suggest(replace(FACTS, **changed), NOW).expectations]


def test_a_suite_is_made_of_what_has_held_so_far() -> None:
    suite = suggest(FACTS, NOW)
    assert suite.dq_config_id == "silver.orders"
    assert "200 rows of silver.orders and 3 loads" in (suite.description or "")
    assert list(suite.expectations) == [
        expect("columns", names=["id", "status", "amount", "balance", "changed_at"], exact=False),
        expect("unique", "id"),
        expect("row_count", min=20, severity="warning", description="The fewest rows of 3 loads were 40."),
        expect("not_null", "id"),
        expect("between", "id", min=0, severity="warning"),
        expect("not_null", "status"),
        expect("not_null", "amount", mostly=0.96, severity="warning"),
        expect("between", "amount", min=0, severity="warning"),
        expect("not_null", "changed_at"),
        expect("freshness", "changed_at", max_age="50h", severity="warning"),
    ]


def test_what_was_read_of_the_texts_is_added() -> None:
    seen = {"status": ColumnFacts("status", "string", 0, values=("new", "paid"))}
    assert 'in_set(status, values=["new","paid"])' in [each.label for each in suggest(with_values(FACTS, seen), NOW).expectations]
    shaped = suggest(with_values(FACTS, {"status": ColumnFacts("status", "string", 0, shape="uuid")}), NOW).expectations
    assert [each.parameters["regex"] for each in shaped if each.kind == "matches"] == [SHAPES["uuid"]]


def test_values_that_were_seen_once_each_are_no_set() -> None:
    few = replace(with_values(FACTS, {"status": ColumnFacts("status", "string", 0, values=tuple("abcdefgh"))}), rows=40)
    assert not [each for each in suggest(few, NOW).expectations if each.kind == "in_set"]


def test_of_an_empty_table_nothing_is_known_but_its_columns() -> None:
    assert suggested(rows=0, loads=(), keys=()) == ['columns(exact=false, names=["id","status","amount","balance","changed_at"])']


def test_where_loads_without_rows_are_usual_no_row_is_expected() -> None:
    assert not [each for each in suggested(loads=(*LOADS, Load(0, "append", NOW - timedelta(days=4)))) if each.startswith("row_count")]


def test_a_time_that_does_not_follow_the_loads_is_not_expected_to_be_fresh() -> None:
    late = replace(COLUMNS[4], greatest=NOW - timedelta(days=40))
    ahead = replace(COLUMNS[4], greatest=NOW + timedelta(days=400))
    for column in (late, ahead):
        assert not [each for each in suggested(columns=(*COLUMNS[:4], column)) if each.startswith("freshness")]
    assert not [each for each in suggested(loads=LOADS[:2]) if each.startswith("freshness")]


def test_a_suite_is_written_so_that_people_can_read_it() -> None:
    text = export_suite(suggest(replace(FACTS, columns=COLUMNS[:3]), NOW))
    assert text.startswith("dq_config_id: silver.orders\ndescription: Suggested from 200 rows")
    assert "  - columns:\n      names: [id, status, amount]\n      exact: false\n  - unique: id\n" in text
    assert "  - not_null: amount\n    severity: warning\n    mostly: 0.96\n" in text
