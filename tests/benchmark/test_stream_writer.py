"""How many rows per second the stream writer takes, from dicts and from Arrow, beside bare pyarrow and beside one append per batch."""

from __future__ import annotations

import itertools
import os
import statistics
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyarrow import parquet

import lakeledger
from benchmark.conftest import alternate
from lakeledger.pipelines.streaming.files import PARQUET

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = int(os.environ.get("STREAM_ROWS", "1000000"))
BATCH = 1_000
ROTATION = ROWS // 10
APPENDS = 20
ROUNDS = 5
START = datetime(2026, 1, 1, tzinfo=UTC)

pytestmark = pytest.mark.bench


def rows(first: int, last: int) -> list[dict[str, Any]]:
    return [
        {"id": id_, "customer": f"customer-{id_ % 50000}", "amount": id_ * 0.37, "at": START + timedelta(seconds=id_), "status": id_ % 13}
        for id_ in range(first, last)
    ]


@pytest.mark.parametrize("metadata", ["async", "sync"])
def test_rows_per_second_of_a_stream(spark: SparkSession, tmp_path: Path, metadata: str) -> None:
    dicts = [rows(start, start + BATCH) for start in range(0, ROWS, BATCH)]
    tables = [pa.Table.from_pylist(batch) for batch in dicts]
    schema, names = tables[0].schema, (tmp_path / f"bare-{number}.parquet" for number in itertools.count())
    with lakeledger.open(f"sqlite:///{tmp_path}/ledger.db", metadata=metadata, spark=spark) as ledger:

        def stream(batches: list[Any]) -> None:
            with ledger.stream_writer("bench.events", every=3600, rows=ROTATION, bytes=1 << 40, schema=schema) as writer:
                for batch in batches:
                    writer.write(batch)

        def bare(batches: list[Any], gather: Callable[[list[Any]], pa.Table]) -> None:
            for part in _rotations(batches):
                parquet.write_table(gather(part), next(names), **PARQUET)

        actions: list[Callable[[], object]] = [
            lambda: bare(tables, pa.concat_tables),
            lambda: stream(tables),
            lambda: bare(dicts, lambda part: pa.Table.from_pylist(list(itertools.chain.from_iterable(part)), schema)),
            lambda: stream(dicts),
        ]
        times = alternate(actions, ROUNDS, ledger.settle, warm_up=1)
        per_second = [ROWS / statistics.median(each) for each in times]
        frames = iter(itertools.cycle(spark.createDataFrame(table) for table in tables[:APPENDS]))
        (appended,) = alternate([lambda: ledger.append(next(frames), "bench.appended")], APPENDS, ledger.settle)
    print(f"a stream of {ROWS:,} rows of 5 columns in batches of {BATCH:,}, {ROTATION:,} per rotation ({metadata}), median of {ROUNDS}:")
    for kind, (bare_rate, rate) in {"Arrow": per_second[:2], "dicts": per_second[2:]}.items():
        print(f"  {kind}: bare pyarrow {bare_rate:,.0f} rows/s, stream writer {rate:,.0f} rows/s ({rate / bare_rate:.2f}×)")
    print(f"  one append of Spark per batch: {BATCH / statistics.median(appended):,.0f} rows/s")


def _rotations(batches: list[Any]) -> Iterator[list[Any]]:
    size = ROTATION // BATCH or 1
    return (batches[start : start + size] for start in range(0, len(batches), size))
