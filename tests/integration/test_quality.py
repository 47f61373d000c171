"""Expectations of loads: every one has a result, in the load's own commit; a FAIL that must not be stops it before anything is visible."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any

import pytest

from lakeledger import Failed, Ledger
from lakeledger.quality import Expectation, QualityFailed, Suite, Verdict, expect

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

COLUMNS = "id bigint, status string, amount decimal(10,2), day date, note string"
# Fifteen expectations, of which one fails on the rows of `orders`, and none where there are no rows.
FIFTEEN: list[dict[str, Any]] = [
    {"not_null": "id"},
    {"unique": "id"},
    {"in_set": {"column": "status", "values": ["new", "paid"]}},
    {"not_in_set": {"column": "status", "values": ["lost"]}},
    {"between": {"column": "amount", "min": 0, "max": 998}},  # one row has 999
    {"between": {"column": "day", "min": "2026-01-01", "max": date(2026, 12, 31)}},
    {"matches": {"column": "status", "regex": "^[a-z]+$"}},
    {"not_matches": {"column": "status", "regex": r"\s"}},
    {"length": {"column": "status", "min": 3, "max": 4}},
    {"row_count": {"min": 0, "max": 1000}},
    {"sum": {"column": "amount", "min": 0, "max": 10**9}, "nulls": "pass"},
    {"column_exists": "day"},
    {"columns": ["id", "status", "amount", "day", "note"]},
    {"type": {"column": "id", "types": ["bigint"]}},
    {"valid": "amount >= 0 and id >= 0"},
]


def orders(spark: SparkSession, rows: int) -> DataFrame:
    return spark.range(rows).selectExpr(
        "id",
        "if(id % 3 = 0, 'new', 'paid') as status",
        "cast(id as decimal(10,2)) as amount",
        "date'2026-01-01' + cast(id % 300 as int) as day",
        "cast(null as string) as note",
    )


def statuses(lake: Ledger, table: str) -> list[tuple[str, bool]]:
    latest = lake.quality.latest(table)
    assert latest
    return [(check.check_name, check.success) for check in lake.quality.checks(latest.id)]


@pytest.mark.parametrize("rows", [0, 1000])
def test_every_expectation_has_a_result_also_where_there_are_no_rows(lake: Ledger, rows: int) -> None:
    suite = Suite.of("orders", FIFTEEN)
    made = lake.append(orders(lake.spark, rows), "silver.orders", quality=suite)
    result = lake.quality.latest("silver.orders")
    assert result
    checks = lake.quality.checks(result.id)
    assert [check.expectation for check in checks] == [each.kind for each in suite.expectations]
    failed = [check.check_name for check in checks if not check.success]
    assert failed == ([] if rows == 0 else ["between(amount, max=998, min=0)"])
    assert (result.expectations_passed, result.expectations_failed) == (15 - len(failed), len(failed))
    assert result.overall_status == (Verdict.FAIL if rows else Verdict.PASS)
    assert (result.table_version, result.is_visible) == (made.version, True)
    assert made.snapshot.summary["quality"] == {"status": result.overall_status, "dq_result_id": result.id}
    assert result.ingestion_date == f"{result.executed_at:%Y-%m-%d}"
    counted = {check.check_name: (check.element_count, check.unexpected_count) for check in checks if check.unexpected_count is not None}
    assert counted["not_null(id)"] == counted["unique(id)"] == (rows, 0)
    assert counted["between(amount, max=998, min=0)"] == (rows, len(failed))
    (record,) = lake.records.history("silver.orders", "dq_result")
    assert record.payload["dq_result_id"] == result.id
    assert lake.quality.of_run(made.snapshot.run_id) == [result]
    if rows:
        assert next(check for check in checks if not check.success).sample == [{"amount": 999.0}]


@pytest.mark.parametrize(("severity", "verdict"), [("critical", Verdict.FAIL), ("warning", Verdict.WARNING), ("info", Verdict.PASS)])
def test_severity_says_what_a_failed_expectation_means(sqlite_lake: Ledger, severity: str, verdict: Verdict) -> None:
    suite = Suite.of("orders", [{"row_count": 5, "severity": severity}, {"not_null": "id"}])
    found = sqlite_lake.check(sqlite_lake.spark.range(3), suite)
    assert (found.status, found.passed, len(found.failed)) == (verdict, 1, 1)
    kept = sqlite_lake.quality.get(found.id)
    assert (kept.overall_status, kept.expectations_failed) == (verdict, 1)
    assert sqlite_lake.runs.get(kept.pipeline_logging_id).run_kind == "quality"


def test_fail_on_error_leaves_table_position_and_iceberg_untouched_and_keeps_the_results(lake: Ledger) -> None:
    suite = Suite.of("orders", [{"not_null": "id"}, {"between": {"column": "amount", "max": 500}}], fail_on_error=True)
    lake.append(orders(lake.spark, 100), "orders", quality=suite, metadata="sync", position=("shop.orders", 1))
    before = (lake.tables.get("orders").current_version, lake.tables.publication("orders"), lake.positions.get("shop.orders"))
    with pytest.raises(Failed, match=r"main\.orders stays as it is: quality FAIL"):
        lake.append(orders(lake.spark, 1000), "orders", quality=suite, metadata="sync", position=("shop.orders", 2))
    assert (lake.tables.get("orders").current_version, lake.tables.publication("orders"), lake.positions.get("shop.orders")) == before
    assert lake.read("orders").count() == 100
    latest, first = lake.quality.history("orders")
    assert (latest.overall_status, latest.is_visible, latest.table_version) == (Verdict.FAIL, False, None)
    assert (first.overall_status, first.is_visible, first.table_version) == (Verdict.PASS, True, 1)
    assert [(check.success, check.unexpected_count) for check in lake.quality.checks(latest.id)] == [(True, 0), (False, 499)]
    assert lake.runs.get(latest.pipeline_logging_id).status == "FAILED"


def test_rows_that_break_a_rule_are_set_aside_with_all_their_reasons(lake: Ledger) -> None:
    frame = lake.spark.createDataFrame(
        [(1, 5.0, "a"), (2, -1.0, None), (None, -2.0, "b"), (4, None, "c")], "id int, amount double, note string"
    )
    suite = Suite.of(
        "orders",
        [
            {"not_null": "id", "action": "quarantine"},
            {"valid": "amount >= 0", "action": "quarantine", "name": "amount is positive"},
            {"not_null": "note", "severity": "info"},
        ],
    )
    lake.append(frame, "orders", quality=suite)
    assert lake.read("orders").collect() == [(1, 5.0, "a")]
    aside = {row["row"]: row["reasons"] for row in lake.read("orders__quarantine").collect()}
    positive, not_null = "breaks amount is positive", "breaks not_null(id)"
    assert aside == {
        '{"id":2,"amount":-1.0,"note":null}': [positive],
        '{"id":null,"amount":-2.0,"note":"b"}': [not_null, positive],
        '{"id":4,"amount":null,"note":"c"}': [positive],
    }
    result = lake.quality.latest("orders")
    assert result
    assert result.overall_status == Verdict.WARNING
    assert [(check.success, check.unexpected_count, check.element_count) for check in lake.quality.checks(result.id)] == [
        (False, 1, 4),
        (False, 3, 4),
        (False, 1, 4),
    ]
    letters = {letter.record_data["reason"]: letter.record_data["rows"] for letter in lake.dead_letters.list()}
    assert letters == {positive: 3, not_null: 1}


def test_a_replay_applies_the_same_rules(sqlite_lake: Ledger) -> None:
    lake = sqlite_lake
    rule = Suite.of("orders", [{"valid": "amount >= 0", "action": "quarantine"}])
    lake.append(lake.spark.createDataFrame([(1, 5.0), (2, -1.0), (3, -2.0)], "id int, amount double"), "orders", quality=rule)

    def corrected(rows: DataFrame) -> DataFrame:
        read = rows.selectExpr("from_json(row, 'id int, amount double') as r", "reasons as _reasons_before")
        return read.selectExpr("r.id", "if(r.id = 2, 1.0D, r.amount) as amount", "_reasons_before")

    (done,) = lake.replay_rows("orders", corrected, quality=rule, dry_run=False)
    assert (done.error, done.rows, done.inserted, done.still_bad) == (None, 2, 1, 1)
    assert sorted(row["id"] for row in lake.read("orders").collect()) == [1, 2]
    assert [row["row"] for row in lake.read("orders__quarantine").collect()] == ['{"id":3,"amount":-2.0}']


def test_what_needs_all_rows_reads_the_files_before_the_commit(lake: Ledger) -> None:
    lake.append(lake.spark.createDataFrame([("ann",), ("bob",)], "name string"), "customers")
    frame = lake.spark.createDataFrame(
        [(1, "ann", "x"), (1, "bob", "x"), (2, "eve", None), (3, None, "y")], "id int, customer string, code string"
    )
    suite = Suite.of(
        "orders",
        [
            {"unique": "id"},
            {"unique": ["id", "customer"]},
            {"unique": {"column": "code", "mostly": 0.2}},
            {"unique": {"column": "id"}, "where": "customer = 'ann'"},
            {"foreign_key": {"column": "customer", "table": "customers", "references": "name"}},
            {"foreign_key": {"column": "customer", "table": "nobody"}},
            {"distinct_count": {"column": "id", "min": 3, "max": 3}},
            {"distinct_proportion": {"column": "code", "max": 0.7}},
        ],
    )
    lake.append(frame, "orders", quality=suite)
    result = lake.quality.latest("orders")
    assert result
    checks = lake.quality.checks(result.id)
    assert [(check.success, check.element_count, check.unexpected_count) for check in checks] == [
        (False, 4, 2),
        (True, 4, 0),
        (True, 4, 2),
        (True, 1, 0),
        (False, 4, 1),
        (False, None, None),
        (True, 4, None),
        (True, 4, None),
    ]
    assert checks[0].sample == [{"id": 1}]
    assert checks[4].sample == [{"customer": "eve"}]
    assert "nobody" in (checks[5].error_message or "")


def test_what_cannot_be_evaluated_fails_with_its_reason_and_the_others_are_checked(sqlite_lake: Ledger) -> None:
    suite = Suite.of(
        "orders",
        [
            {"not_null": "idd"},
            {"valid": "this is no sql"},
            {"valid": "unknown_column > 1"},
            {"valid": "100 / id > 1"},  # of one row, a division by zero
            {"sum": {"column": "note", "min": 1}},
            {"unique": "nope"},
            {"not_null": "id"},
        ],
    )
    frame = sqlite_lake.spark.createDataFrame([(0, "secret"), (1, "b")], "id int, note string")
    sqlite_lake.append(frame, "orders", quality=suite)
    result = sqlite_lake.quality.latest("orders")
    assert result
    checks = sqlite_lake.quality.checks(result.id)
    assert [check.success for check in checks] == [False] * 6 + [True]
    assert "there is no column 'idd'; did you mean 'id'?" in (checks[0].error_message or "")
    assert "PARSE_SYNTAX_ERROR" in (checks[1].error_message or "")
    assert "unknown_column" in (checks[2].error_message or "")
    assert "DIVIDE_BY_ZERO" in (checks[3].error_message or "")
    assert (checks[4].error_message, checks[4].observed) == (None, {"value": None})
    assert sqlite_lake.read("orders").count() == 2
    assert [check.success for check in sqlite_lake.check("orders", suite).checks] == [False] * 6 + [True]


def test_a_rule_that_cannot_be_evaluated_refuses_the_rows(sqlite_lake: Ledger) -> None:
    for condition, why in (("nope > 1", "nope"), ("100 / id > 1", "DIVIDE_BY_ZERO")):
        suite = Suite.of("orders", [{"valid": condition, "action": "quarantine"}])
        with pytest.raises(Failed, match=why):
            sqlite_lake.append(sqlite_lake.spark.range(3), "orders", quality=suite)
        result = sqlite_lake.quality.latest("orders")
        assert result
        assert (result.is_visible, result.expectations_failed) == (False, 1)
    assert sqlite_lake.tables.find("orders") is None


def test_rows_of_a_merge_are_checked_as_they_came(sqlite_lake: Ledger) -> None:
    lake = sqlite_lake
    lake.append(lake.spark.range(10).selectExpr("id", "'old' as note"), "orders")
    frame = lake.spark.createDataFrame([(1, "a"), (1, "b"), (12, None), (13, "?")], "id bigint, note string")
    suite = Suite.of("orders", [{"unique": "id"}, {"not_null": "note"}, {"row_count": 4}, {"valid": "note <> '?'", "action": "quarantine"}])
    lake.merge(frame, "orders", keys=["id"], quality=suite)
    result = lake.quality.latest("orders")
    assert result
    checks = lake.quality.checks(result.id)
    assert [(check.success, check.unexpected_count) for check in checks] == [(False, 2), (False, 1), (True, None), (False, 2)]
    assert [check.sample for check in checks[:2]] == [[{"id": 1}], [{"note": None}]]
    assert lake.read("orders").count() == 10
    assert lake.read("orders__quarantine").count() == 2


@pytest.mark.parametrize("is_column", [False, True])
def test_change_events_that_delete_are_no_rows_to_be_checked(sqlite_lake: Ledger, is_column: bool) -> None:
    from pyspark.sql import functions as F

    deletes = F.col("op") == "d" if is_column else "op = 'd'"
    frame = sqlite_lake.spark.createDataFrame([(1, "a", 1, "u"), (2, None, 2, "d")], "id int, note string, at int, op string")
    suite = Suite.of("orders", [{"not_null": "note"}, {"row_count": 1}, {"unique": "note"}])
    sqlite_lake.apply_changes(
        frame, "orders", keys=["id"], sequence_by="at", apply_as_deletes=deletes, except_column_list=["op"], quality=suite
    )
    assert [success for _, success in statuses(sqlite_lake, "orders")] == [True, True, True]


def test_a_table_is_checked_at_any_version(lake: Ledger) -> None:
    lake.append(lake.spark.range(3), "orders")
    lake.append(lake.spark.range(1), "orders")
    suite = Suite("ids", (expect("unique", "id"), expect("row_count", max=3)), fail_on_error=True)
    assert lake.check("orders", suite, version=1).status == Verdict.PASS
    with pytest.raises(QualityFailed, match=r"main\.orders: quality FAIL") as raised:
        lake.check("orders", suite)
    kept = lake.quality.latest("orders")
    assert kept
    assert (kept.id, kept.table_version, kept.scope) == (raised.value.result.id, 2, {"rows": "table", "version": 2})
    assert lake.check("orders", Suite("ids", suite.expectations), keep=False).status == Verdict.FAIL
    assert len(lake.quality.history("orders")) == 2


def test_samples_are_masked(sqlite_lake: Ledger) -> None:
    canary = "AKIAIOSFODNN7EXAMPLE"
    rows = [(1, "hunter2-canary", f"key {canary}"), (2, "ok", "plain")]
    frame = sqlite_lake.spark.createDataFrame(rows, "id int, password string, note string")
    suite = Suite.of(
        "secrets",
        [
            {"in_set": {"column": "password", "values": ["x"]}},
            {"matches": {"column": "note", "regex": "^p"}},
            {"valid": "password is null"},
            {"unique": "password"},
            {"valid": "cast(password as int) > 0"},
        ],
    )
    sqlite_lake.append(frame, "orders", quality=suite)
    with sqlite_lake.store.read() as tx:
        from lakeledger.db.queries import statement

        kept = str([tx.all(statement(f"select * from {table}")) for table in ("dq_results", "dq_checks", "metadata_records")])
    assert "hunter2-canary" not in kept
    assert canary not in kept
    assert "***" in kept


def test_a_suite_is_the_same_however_it_is_declared() -> None:
    suite = Suite.of("orders", FIFTEEN)
    assert Suite.of("orders", suite.document["expectations"]) == suite
    assert (
        Expectation.of({"expect_column_values_to_be_between": {"column": "amount", "min_value": 0, "max_value": 998}})
        == suite.expectations[4]
    )
