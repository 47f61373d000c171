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
