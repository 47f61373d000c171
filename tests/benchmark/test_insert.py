"""What the ledger costs an insert: the same frame written bare and through the ledger, in turns, in one run."""

from __future__ import annotations

import itertools
import os
import resource
import statistics
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import jars
import lakeledger
from benchmark.conftest import alternate, median_ms, seconds

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = 1_000_000
ROUNDS = 25
# Until Java has compiled all of it.
WARM_UP = 8

pytestmark = pytest.mark.bench


NARROW = [
    "id",
    "concat('customer-', id % 50000) as customer",
    "cast(id * 0.37 as decimal(12, 2)) as amount",
    "timestamp_seconds(1700000000 + id) as ordered_at",
    "id % 13 as status",
]
# An order line as shops keep it.
TYPICAL = [
    *NARROW,
    "uuid() as line_key",
    "id div 3 as order_id",
    "id % 9973 as product_id",
    "concat('Product number ', id % 9973) as product",
    "element_at(array('Lyon', 'Porto', 'Graz', 'Gent', 'Turku'), cast(id % 5 + 1 as int)) as city",
    "element_at(array('FR', 'PT', 'AT', 'BE', 'FI'), cast(id % 5 + 1 as int)) as country",
    "cast(id % 7 + 1 as int) as quantity",
    "cast(id % 100 / 1000 as double) as discount",
    "to_date(timestamp_seconds(1700000000 + id)) as day",
    "if(id % 11 = 0, null, concat('note ', id)) as note",
    "id % 2 = 0 as is_gift",
]


@pytest.mark.parametrize("columns", [NARROW, TYPICAL], ids=["narrow", "typical"])
def test_insert_of_a_million_rows(spark: SparkSession, tmp_path: Path, columns: list[str]) -> None:
    frame = spark.range(ROWS).selectExpr(*columns)
    paths = (str(tmp_path / "bare" / str(number)) for number in itertools.count())
    with lakeledger.open(f"sqlite:///{tmp_path}/ledger.db", spark=spark) as ledger:
        actions = [
            lambda: frame.write.parquet(next(paths)),
            lambda: ledger.append(frame, "bench.orders"),
            lambda: ledger.append(frame, "bench.sync", metadata="sync"),
        ]

        def settle() -> None:
            ledger.settle()
            os.sync()  # What one write left in the page cache must not be flushed during the next.

        with ledger.astha():  # "bench.orders" is published beside it
            bare, kept, sync = alternate(actions, ROUNDS, settle, WARM_UP)
        background = seconds(ledger.settle)
    overhead = statistics.median(kept) / statistics.median(bare) - 1
    paired = statistics.median(k / b - 1 for k, b in zip(kept, bare, strict=True))
    print(f"insert of {ROWS:,} rows of {len(columns)} columns, median of {ROUNDS}:")
    print(f"  bare {median_ms(bare):.0f} ms, with the ledger {median_ms(kept):.0f} ms")
    print(f"  overhead {overhead:+.1%} (median of paired ratios {paired:+.1%}), published by Astha meanwhile; target at most 5 %")
    print(f"  published in its commit {median_ms(sync):.0f} ms, {statistics.median(sync) / statistics.median(bare) - 1:+.1%}")
    print(f"  checksums of the last insert, in the background: {background * 1000:.0f} ms")


def test_append_of_ten_million_rows(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.range(10 * ROWS).selectExpr(*NARROW)
    paths = (str(tmp_path / "bare" / str(number)) for number in itertools.count())
    with lakeledger.open(f"sqlite:///{tmp_path}/ledger.db", spark=spark) as ledger:

        def settle() -> None:
            ledger.settle()
            os.sync()

        actions = [lambda: frame.write.parquet(next(paths)), lambda: ledger.append(frame, "bench.many")]
        bare, kept = alternate(actions, 5, settle, warm_up=1)
    overhead = statistics.median(kept) / statistics.median(bare) - 1
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"append of {10 * ROWS:,} rows, median of 5:")
    print(f"  bare {median_ms(bare):.0f} ms, with the ledger {median_ms(kept):.0f} ms ({overhead:+.1%})")
    print(f"  memory of the Python side: {memory:.0f} MB")


def test_append_of_a_few_rows_beside_delta_and_iceberg() -> None:
    """In a process of its own: their extensions would be in the way of every other figure."""
    jars.fetch("delta", "iceberg")
    said = subprocess.run([sys.executable, Path(__file__).with_name("appending.py")], check=True, capture_output=True, text=True)
    print(said.stdout)
