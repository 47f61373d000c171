"""What the ledger costs an insert: the same frame written bare and through the ledger, in turns, in one run."""

from __future__ import annotations

import itertools
import statistics
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import lakeledger
from benchmark.conftest import alternate, median_ms

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = 1_000_000
ROUNDS = 11

pytestmark = pytest.mark.bench


def test_insert_of_a_million_rows(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.range(ROWS).selectExpr(
        "id",
        "concat('customer-', id % 50000) as customer",
        "cast(id * 0.37 as decimal(12, 2)) as amount",
        "timestamp_seconds(1700000000 + id) as ordered_at",
        "id % 13 as status",
    )
    paths = (str(tmp_path / "bare" / str(number)) for number in itertools.count())
    with lakeledger.open(f"sqlite:///{tmp_path}/ledger.db", spark=spark) as ledger:

        def through_the_ledger() -> None:
            ledger.append(frame, "bench.orders")

        bare, kept = alternate(lambda: frame.write.parquet(next(paths)), through_the_ledger, ROUNDS)
    overhead = statistics.median(kept) / statistics.median(bare) - 1
    paired = statistics.median(k / b - 1 for k, b in zip(kept, bare, strict=True))
    print(f"insert of {ROWS:,} rows, median of {ROUNDS}: bare {median_ms(bare):.0f} ms, with the ledger {median_ms(kept):.0f} ms")
    print(f"  overhead {overhead:+.1%} (median of paired ratios {paired:+.1%}); target at most 3 %")
