"""Fifty expectations beside the bare write and beside Great Expectations, each on the same rows.

python checking.py ROWS FILES ROUNDS
python checking.py --great-expectations PARQUET ROUNDS     in the environment that has it
"""

from __future__ import annotations

import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ITS_PACKAGE = "great_expectations==1.24.1"
# Kept, because making it takes longer than small measurements.
ITS_ENVIRONMENT = Path(tempfile.gettempdir()) / f"lakeledger-{ITS_PACKAGE.replace('==', '-')}-{os.getuid()}"
COLUMNS = [
    "id",
    "concat('customer-', id % 50000) as customer",
    "cast(id * 0.37 as decimal(14, 2)) as amount",
    "cast(id * 0.31 as decimal(14, 2)) as paid",
    "timestamp_seconds(1710000000 + id) as ordered_at",
    "date_add(date '2024-01-01', cast(id % 365 as int)) as day",
    "case when id % 997 = 0 then null else cast(id % 13 as int) end as status",
    "concat('Product number ', id % 9973) as product",
    "cast(id % 100 / 1000 as double) as discount",
    "concat('user', id, '@example.com') as email",
    "element_at(array('new', 'paid', 'shipped', 'lost'), cast(id % 4 as int) + 1) as state",
    "id % 2 = 0 as is_gift",
]
CONF = {
    "spark.driver.memory": "6g",
    "spark.ui.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.showConsoleProgress": "false",
}

Expected = tuple[str, dict[str, Any]]
NAMES = [each.rpartition(" ")[2] for each in COLUMNS]
NOT_NULL: list[Expected] = [("expect_column_values_to_not_be_null", {"column": name}) for name in NAMES if name != "status"]
BETWEEN: list[Expected] = [
    ("expect_column_values_to_be_between", {"column": column, "min_value": low, "max_value": high, **more})
    for column, low, high, more in (
        ("id", 0, 10**12, {}),
        ("amount", 0, 10**9, {}),
        ("amount", 1, 10**6, {"mostly": 0.5}),
        ("paid", 0, 10**9, {}),
        ("paid", 0, 10**6, {"mostly": 0.2, "row_condition": "state = 'paid'", "condition_parser": "spark"}),
        ("status", 0, 12, {}),
        ("status", 1, 12, {"mostly": 0.9}),
        ("discount", 0, 0.1, {"strict_max": True}),
        ("discount", 0, 0.05, {"mostly": 0.5}),
        ("day", "2024-01-01", "2024-12-31", {}),
        ("ordered_at", "2023-01-01T00:00:00", "2040-01-01T00:00:00", {}),
        ("ordered_at", "2024-01-01T00:00:00", "2040-01-01T00:00:00", {"mostly": 0.1}),
    )
]
TEXTS: list[Expected] = [
    ("expect_column_values_to_be_in_set", {"column": "state", "value_set": ["new", "paid", "shipped", "lost"]}),
    ("expect_column_values_to_be_in_set", {"column": "state", "value_set": ["new", "paid", "shipped"], "mostly": 0.7}),
    ("expect_column_values_to_be_in_set", {"column": "status", "value_set": list(range(13))}),
    ("expect_column_values_to_not_be_in_set", {"column": "state", "value_set": ["broken", "unknown"]}),
    ("expect_column_values_to_not_be_in_set", {"column": "customer", "value_set": ["customer-x", "customer-y"]}),
    ("expect_column_values_to_match_regex", {"column": "email", "regex": "@example\\.com$"}),
    ("expect_column_values_to_match_regex", {"column": "customer", "regex": "^customer-[0-9]+$"}),
    ("expect_column_values_to_not_match_regex", {"column": "email", "regex": "\\s"}),
    ("expect_column_value_lengths_to_be_between", {"column": "product", "min_value": 1, "max_value": 40}),
    ("expect_column_value_lengths_to_be_between", {"column": "customer", "min_value": 10, "max_value": 20}),
    ("expect_column_value_lengths_to_be_between", {"column": "email", "min_value": 5, "max_value": 60}),
    ("expect_column_pair_values_a_to_be_greater_than_b", {"column_A": "amount", "column_B": "paid", "or_equal": True}),
]
AGGREGATES: list[Expected] = [
    *((f"expect_column_{kind}_to_be_between", {"column": "amount", "min_value": 0}) for kind in ("min", "max", "mean", "sum")),
    *((f"expect_column_{kind}_to_be_between", {"column": "discount", "min_value": 0}) for kind in ("min", "max", "mean", "stdev")),
    ("expect_column_max_to_be_between", {"column": "id", "min_value": 0}),
    ("expect_table_row_count_to_be_between", {"min_value": 1}),
    ("expect_table_row_count_to_be_between", {"min_value": 1, "row_condition": "state = 'paid'", "condition_parser": "spark"}),
]
SHAPE: list[Expected] = [
    ("expect_table_column_count_to_equal", {"value": len(NAMES)}),
    ("expect_table_columns_to_match_set", {"column_set": NAMES}),
    ("expect_column_values_to_be_of_type", {"column": "amount", "type_": "DecimalType"}),
    ("expect_column_to_exist", {"column": "email"}),
]
FIFTY = [*NOT_NULL, *BETWEEN, *TEXTS, *AGGREGATES, *SHAPE]
# What no single look at each row can decide.
WHOLE: list[Expected] = [
    ("expect_column_values_to_be_unique", {"column": "id"}),
    ("expect_compound_columns_to_be_unique", {"column_list": ["customer", "ordered_at"]}),
]


def seconds(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def rows(spark: SparkSession, size: int, files: int) -> DataFrame:
    return spark.range(0, size, 1, files).selectExpr(*COLUMNS)


def suite_of(name: str, expected: list[Expected]) -> Any:
    """The expectations as a suite of ours, imported as a user would."""
    from lakeledger.quality.great_expectations import import_suite

    found = import_suite({"name": name, "expectations": [{"type": kind, "kwargs": kwargs} for kind, kwargs in expected]})
    assert not found.refused, found.refused
    return found.suite


def great_expectations(parquet: str, rounds: int) -> None:
    """Within the environment: print, as JSON, how long it takes, and how many of the expectations hold."""
    import great_expectations as gx  # type: ignore[import-not-found]
    from great_expectations.expectations.registry import get_expectation_impl  # type: ignore[import-not-found]
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]")
    for key, value in CONF.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    context = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = {"globally": False}
    source = context.data_sources.add_spark("spark")
    suite = gx.ExpectationSuite(name="fifty", expectations=[get_expectation_impl(kind)(**kwargs) for kind, kwargs in FIFTY])
    numbers = itertools.count()
    held: list[int] = []

    def check() -> None:
        asset = source.add_dataframe_asset(f"rows{next(numbers)}")
        frame = spark.read.parquet(parquet)
        batch = asset.add_batch_definition_whole_dataframe("all").get_batch(batch_parameters={"dataframe": frame})
        held.append(sum(each.success for each in batch.validate(suite, result_format="BASIC").results))
        frame.unpersist()

    times = [seconds(check) for _ in range(rounds)]
    print(json.dumps({"seconds": statistics.median(times), "held": held[-1]}))


def its_environment() -> Path | None:
    """The Python of an environment with Great Expectations on the same Spark; None if it cannot be had."""
    python = ITS_ENVIRONMENT / "bin/python"
    if python.exists():
        return python
    uv = Path(sys.executable).with_name("uv")
    wanted = [ITS_PACKAGE, f"pyspark=={metadata.version('pyspark')}", "pandas<3"]
    try:
        subprocess.run([uv, "venv", "--quiet", ITS_ENVIRONMENT], check=True)
        subprocess.run([uv, "pip", "install", "--quiet", "--python", python, *wanted], check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return python


def beside(parquet: Path, rounds: int) -> dict[str, Any] | None:
    """What Great Expectations takes for the same rows, in a process of its own."""
    python = its_environment()
    if python is None:
        return None
    command = [str(python), __file__, "--great-expectations", str(parquet), str(rounds)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=parquet.parent)
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def main(folder: Path, size: int, files: int, rounds: int) -> None:
    """Print what each costs."""
    import lakeledger
    from lakeledger.config import SparkSettings
    from lakeledger.pipelines.session import open_session

    sys.path.insert(0, str(Path(__file__).parent.parent))
    from benchmark.conftest import alternate

    spark = open_session(SparkSettings(master="local[2]", conf={"spark.driver.memory": "6g"}))
    fifty, more = suite_of("fifty", FIFTY), suite_of("more", [*FIFTY, *WHOLE])
    with lakeledger.open(f"sqlite:///{folder}/ledger.db", warehouse=str(folder / "warehouse"), spark=spark) as ledger:
        frame, bare = rows(spark, size, files), folder / "bare"
        ledger.overwrite(frame, "bench.plain")
        actions: list[Callable[[], object]] = [
            lambda: frame.write.mode("overwrite").parquet(str(bare)),
            lambda: ledger.overwrite(frame, "bench.plain"),
            lambda: ledger.overwrite(frame, "bench.checked", quality=fifty),
            lambda: ledger.overwrite(frame, "bench.more", quality=more),
            lambda: ledger.check("bench.plain", fifty),
            lambda: ledger.check("bench.plain", more),
        ]
        plain, ours, checked, with_whole, alone, alone_whole = (
            statistics.median(each) for each in alternate(actions, rounds, ledger.settle, warm_up=1)
        )
        verdict = ledger.check("bench.plain", fifty)
    print(
        f"{len(FIFTY)} expectations on {size:,} rows of {len(COLUMNS)} columns: bare write {plain:.1f} s, load without them {ours:.1f} s,"
        f" load with them {checked:.1f} s ({checked / plain - 1:+.0%} beside the bare write, {checked / ours - 1:+.0%} beside the load),"
        f" the table alone {alone:.1f} s\n"
        f"and {len(WHOLE)} of uniqueness: load {with_whole:.1f} s ({with_whole / plain - 1:+.0%}), the table alone {alone_whole:.1f} s",
        flush=True,
    )
    spark.stop()
    its = beside(bare, 1)
    if its is None:
        print(f"Great Expectations: skipped, {ITS_PACKAGE} could not be installed")
        return
    held = len(verdict.checks) - len(verdict.failed)
    print(
        f"Great Expectations {ITS_PACKAGE.partition('==')[2]} on the same rows: {its['seconds']:.1f} s,"
        f" {its['seconds'] / alone:.1f}× what the table alone takes here;"
        f" {its['held']} hold there, {held} here"
    )


if __name__ == "__main__":
    if sys.argv[1] == "--great-expectations":
        great_expectations(sys.argv[2], int(sys.argv[3]))
        sys.exit()
    with tempfile.TemporaryDirectory() as made:
        main(Path(made), *(int(each) for each in sys.argv[1:4]))
