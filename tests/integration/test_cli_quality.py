"""`lakeledger quality`, as people type it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import lakeledger
from contract.keeping import ORDERS, put
from integration.commands import answer, invoke, refused, shown
from lakeledger import Ledger

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.usefixtures("quiet")

GOLDEN = Path(__file__).parents[1] / "golden" / "great_expectations"


@pytest.fixture
def shop() -> Iterator[Ledger]:
    """A ledger in the current folder, whose settings commands find."""
    Path("lakeledger.toml").write_text('url = "sqlite:///lakeledger.db"\nwarehouse = "warehouse"\n')
    with lakeledger.open() as opened:
        yield opened


def test_a_suite_of_great_expectations_becomes_a_file(shop: Ledger) -> None:
    told = shown("quality", "import", str(GOLDEN / "suite.json"), "--out", "suites/orders.yaml")
    assert "47 expectations imported: suites/orders.yaml" in told
    assert "next: lakeledger quality try suites/orders.yaml --table TABLE" in told
    text = Path("suites/orders.yaml").read_text()
    assert text.startswith("dq_config_id: orders\nexpectations:\n  - not_null: status\n")
    assert shown("quality", "import", str(GOLDEN / "suite_0_18.json"), "--name", "old").startswith("dq_config_id: old\n")
    refused(["quality", "import", str(GOLDEN / "suite.json"), "--out", "suites/orders.yaml"], 2, "Invalid", "is there already")


def test_what_cannot_be_imported_is_listed_and_exits_with_three(shop: Ledger) -> None:
    good, bad = ({"type": f"expect_column_{what}_to_be_between", "kwargs": {"column": "a", "min_value": 1}} for what in ("min", "median"))
    both, none = json.dumps({"name": "shop", "expectations": [good, bad]}), json.dumps({"name": "shop", "expectations": [bad]})
    found = answer("quality", "import", "-", "--out", "shop.yaml", code=3, stdin=both)
    assert found["suite"] == {"dq_config_id": "shop", "expectations": [{"min": {"column": "a", "min": 1}}]}
    ((number, kind, reason),) = [tuple(each.values()) for each in found["refused"]]
    assert (number, kind) == (2, "expect_column_median_to_be_between")
    assert "declare mean" in reason
    told = invoke("quality", "import", "-", stdin=both)
    assert told.exit_code == 3
    assert "expectation 2, expect_column_median_to_be_between, was left out" in told.stderr
    assert Path("shop.yaml").read_text() == found["yaml"] == told.stdout
    assert answer("quality", "import", "-", "--out", "none.yaml", code=2, stdin=none)["out"] is None
    assert not Path("none.yaml").exists()
    refused(["quality", "import", "-"], 2, "Invalid", "no suite of Great Expectations", stdin="{}")
    refused(["quality", "import", "absent.json"], 2, "Invalid", "cannot read absent.json")


def test_a_suite_is_suggested_from_statistics_without_spark(shop: Ledger) -> None:
    for count in (3, 4, 5):
        put(shop, range(count))
    suite = answer("quality", "suggest", ORDERS)["suite"]
    assert (suite["dq_config_id"], suite["expectations"]) == (
        ORDERS,
        [
            {"columns": {"names": ["id"], "exact": False}},
            {"row_count": {"min": 1}, "severity": "warning"},
            {"not_null": "id"},
            {"between": {"column": "id", "min": 0}, "severity": "warning"},
        ],
    )
    told = shown("quality", "suggest", ORDERS, "--out", "orders.yaml")
    assert "4 expectations suggested for shop.orders: orders.yaml" in told
    assert f"next: lakeledger quality try orders.yaml --table {ORDERS}" in told
    refused(["quality", "suggest", "shop.absent"], 2, "NotFound", "shop.absent")


def test_a_deep_suggestion_knows_the_values_of_texts_and_their_shape(shop: Ledger, spark: SparkSession) -> None:
    rows = [(number, ["new", "paid"][number % 2], f"u{number}@example.com", f"note {number}") for number in range(40)]
    frame = spark.createDataFrame(rows, "id int, state string, email string, note string")
    for part in range(3):
        shop.merge(frame.where(f"id % 3 = {part}"), "silver.orders", keys=["id"])
    found = [tuple(each) for each in answer("quality", "suggest", "silver.orders", "--deep")["suite"]["expectations"]]
    assert found == [
        ("columns",),
        ("unique",),
        ("row_count", "severity", "description"),
        ("not_null",),
        ("between", "severity"),
        ("not_null",),
        ("in_set", "severity"),
        ("not_null",),
        ("matches", "severity"),
        ("not_null",),
    ]


SUITE = """\
dq_config_id: orders
expectations:
  - not_null: id
  - in_set: {column: state, values: [new, paid]}
    severity: warning
  - between: {column: amount, min: 0}
    mostly: 0.9
"""


def write_suite(text: str = SUITE, name: str = "orders") -> str:
    file = Path("quality") / f"{name}.yaml"
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)
    return str(file)


def load(shop: Ledger, spark: SparkSession, *rows: tuple[int | None, str, int]) -> None:
    shop.append(
        spark.createDataFrame(rows, "id bigint, state string, amount int").selectExpr(
            "id", "state", "cast(amount as decimal(10,2)) amount"
        ),
        "silver.orders",
    )


def test_a_check_is_kept_shown_and_listed(shop: Ledger, spark: SparkSession) -> None:
    file = write_suite()
    load(shop, spark, (1, "new", 5), (2, "paid", 6))
    first = answer("quality", "check", "silver.orders", "--suite", file)
    assert (first["result"]["overall_status"], first["result"]["table_version"]) == ("PASS", 1)
    assert [each["success"] for each in first["checks"]] == [True, True, True]
    load(shop, spark, (3, "lost", 5))
    assert answer("quality", "check", "silver.orders", "--suite", "orders")["result"]["overall_status"] == "WARNING"
    assert (
        answer("quality", "check", "silver.orders", "--suite", "orders", "--fail-on-warn", code=1)["result"]["overall_status"] == "WARNING"
    )
    load(shop, spark, (None, "new", -5))
    told = shown("quality", "check", "silver.orders", "--suite", "orders", code=1)
    assert "silver.orders version 3: FAIL, 0 of 3 expectations passed" in told
    assert answer("quality", "check", "silver.orders", "--suite", "orders", "--version", "1")["result"]["overall_status"] == "PASS"

    listed = answer("quality", "list", "--limit", "2")
    assert [each["overall_status"] for each in listed["results"]] == ["PASS", "FAIL"]
    behind = answer("quality", "list", "--after", listed["next"])["results"]
    assert [each["overall_status"] for each in behind] == ["WARNING", "WARNING", "PASS"]
    assert len(answer("quality", "list", "--table", "silver.orders", "--status", "fail", "--since", "1h")["results"]) == 1
    assert answer("quality", "list", "--until", "1h")["results"] == answer("quality", "list", "--suite", "absent")["results"] == []
    told = shown("quality", "list")
    assert "not_null(id): 1 of 4 rows are unexpected" in told
    failed = answer("quality", "list", "--status", "FAIL")["results"][0]
    assert f"next: lakeledger quality show {listed['results'][0]['dq_result_id'][:13]}" in told

    found = answer("quality", "show", failed["dq_result_id"][:13])
    assert found["result"] == failed
    assert [(each["check_name"], each["unexpected_count"]) for each in found["checks"]] == [
        ("not_null(id)", 1),
        ('in_set(state, values=["new","paid"])', 1),
        ("between(amount, min=0)", 1),
    ]
    assert "✗ FAIL" in shown("quality", "show", failed["dq_result_id"])
    run = answer("runs", "show", failed["pipeline_logging_id"])["run"]
    assert run["run_kind"] == "quality"
    refused(["quality", "show", "0000"], 2, "NotFound", "0000")
    refused(["quality", "check", "silver.orders"], 2, "Invalid", "neither the file nor quality/silver.orders.yaml")


def test_a_suite_that_must_not_fail_exits_with_one_and_is_kept(shop: Ledger, spark: SparkSession) -> None:
    write_suite(f"fail_on_error: true\n{SUITE}")
    load(shop, spark, (None, "new", 5))
    found = answer("quality", "check", "silver.orders", "--suite", "orders", code=1)
    assert found["result"]["overall_status"] == "FAIL"
    assert answer("quality", "list")["results"] == [found["result"]]


def test_what_a_suite_would_have_found_is_told_by_load_and_by_expectation(shop: Ledger, spark: SparkSession) -> None:
    write_suite()
    load(shop, spark, (1, "new", 5), (2, "paid", 6))
    load(shop, spark, (3, "lost", 5), (4, "lost", -5))
    load(shop, spark, (None, "new", 1))
    changed = spark.createDataFrame([(1, "paid", 7)], "id bigint, state string, amount int")
    shop.merge(changed.selectExpr("id", "state", "cast(amount as decimal(10,2)) amount"), "silver.orders", keys=["id"])
    found = answer("quality", "try", "orders", "--table", "silver.orders")
    assert [(each["version"], each["operation"], each["rows"], each["status"]) for each in found["loads"]] == [
        (4, "merge", "table", "FAIL"),
        (3, "append", "load", "FAIL"),
        (2, "append", "load", "FAIL"),
        (1, "append", "load", "PASS"),
    ]
    assert [(each["name"], each["failed_loads"], each["worst_percent"]) for each in found["expectations"]] == [
        ("not_null(id)", 2, 100.0),
        ("between(amount, min=0)", 2, 50.0),
        ('in_set(state, values=["new","paid"])', 2, 100.0),
    ]
    assert answer("quality", "list")["results"] == []
    assert len(answer("runs", "list")["runs"]) == 4
    few = answer("quality", "try", "orders", "--table", "silver.orders", "--limit", "2")
    assert ([each["version"] for each in few["loads"]], few["is_cut"]) == ([4, 3], True)
    told = invoke("quality", "try", "quality/orders.yaml", "--table", "silver.orders")
    assert "4 loads of silver.orders tried, nothing recorded: 3 FAIL, 1 PASS" in told.stdout
    assert "trying 4 loads of silver.orders" in told.stderr
    assert "no loads since then" in shown("quality", "try", "orders", "--table", "silver.orders", "--last", "0")
    refused(["quality", "try", "orders", "--table", "silver.absent"], 2, "NotFound", "silver.absent")


def test_how_fresh_a_past_load_was_is_asked_of_when_it_was_committed(shop: Ledger, spark: SparkSession) -> None:
    from contract.keeping import let_pass

    write_suite("expectations:\n  - freshness: {column: at, max_age: 1h}\n")
    shop.append(spark.sql("select current_timestamp() - interval 10 days as at"), "silver.seen")
    let_pass(shop, 10)
    assert answer("quality", "try", "orders", "--table", "silver.seen")["loads"][0]["status"] == "PASS"


def test_suite_files_are_checked_with_file_and_line(shop: Ledger) -> None:
    good, bad = write_suite(), write_suite("expectations:\n  - not_nul: id\n  - between: {column: a, min: 5, max: 1}\n", "bad")
    found = answer("quality", "validate", good, bad, code=2)
    assert (found["ok"], found["suites"]) == (False, [{"file": good, "dq_config_id": "orders", "expectations": 3}])
    assert [line.split(": ")[0] for line in found["problems"]] == ["quality/bad.yaml:2:5", "quality/bad.yaml:3:5"]
    assert "did you mean 'not_null'?" in found["problems"][0]
    told = invoke("quality", "validate", good, bad)
    assert (told.exit_code, told.stdout) == (2, "1 suite can be used, 2 problems\n")
    assert "quality/bad.yaml:3:5" in told.stderr
    assert shown("quality", "validate", good) == "1 suite can be used\n"
    assert answer("quality", "validate", "absent.yaml", code=2)["problems"][0].startswith("no suite absent.yaml")


def test_what_is_suggested_and_imported_can_be_used_as_it_is(shop: Ledger) -> None:
    put(shop, range(5))
    answer("quality", "suggest", ORDERS, "--out", f"quality/{ORDERS}.yaml")
    answer("quality", "import", str(GOLDEN / "suite.json"), "--out", "quality/imported.yaml")
    found = answer("quality", "validate", f"quality/{ORDERS}.yaml", "quality/imported.yaml")
    assert [(each["dq_config_id"], each["expectations"]) for each in found["suites"]] == [(ORDERS, 4), ("orders", 47)]
