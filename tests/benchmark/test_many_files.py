"""Tables of many files: committing and looking at them, and reading them beside a folder of the same files."""

from __future__ import annotations

import os
import resource
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import lakeledger
from benchmark.conftest import alternate, median_ms, seconds
from lakeledger import Ledger
from lakeledger.commit import commit
from lakeledger.tables import Change, Layout, NewFile, parse_name

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.bench

SCHEMA = {"type": "struct", "fields": [{"name": name, "type": "long"} for name in ("id", "amount")]}
AT = datetime(2026, 1, 1, tzinfo=UTC)
ROUNDS = 5


def files(count: int, run_id: str) -> list[NewFile]:
    bounds = {name: {"min": 1, "max": 1_000, "nulls": 0} for name in ("id", "amount")}
    return [NewFile(f"data/{run_id}/part-{number:06}.parquet", 1_000, 10, "", "snappy", bounds, AT) for number in range(count)]


def put(ledger: Ledger, table: str, count: int) -> None:
    with ledger.run("bench") as run:
        name = parse_name(table)
        change = Change(name, name.folder, "append", SCHEMA, Layout(), files(count, run.id))
        with ledger.store.write() as tx:
            commit(tx, run.fence, [change])


@pytest.mark.parametrize("count", [1, 256, 5_000])
def test_commit_of_files(ledger: Ledger, count: int) -> None:
    took = [seconds(lambda number=number: put(ledger, f"bench.t{number}", count)) for number in range(ROUNDS)]  # type: ignore[misc]
    print(f"commit of {count:,} files on {ledger.database.dialect}: {median_ms(took):.0f} ms")


def test_a_table_of_a_hundred_thousand_files(ledger: Ledger) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    took = {
        "commit": seconds(lambda: put(ledger, "bench.big", 100_000)),
        "tables show": seconds(
            lambda: (ledger.tables.get("bench.big"), ledger.tables.stats("bench.big"), ledger.tables.history("bench.big"))
        ),
        "view": seconds(lambda: ledger.tables.view("bench.big")),
        "verify": seconds(lambda: ledger.tables.verify("bench.big", deep=False)),
        "sweep": seconds(ledger.tables.sweep),
    }
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1e3
    figures = ", ".join(f"{what} {each:.2f} s" for what, each in took.items())
    print(f"100,000 files on {ledger.database.dialect}: {figures}; {grown:.0f} MB more at the peak")


@pytest.mark.parametrize("count", [100, 1_000, 10_000])
def test_reading_many_files(spark: SparkSession, tmp_path: Path, count: int) -> None:
    """Each as an append of its own, the worst that can be: as many folders as files."""
    spark.range(1_000).selectExpr("id", "id % 7 as amount").coalesce(1).write.parquet(str(tmp_path / "one"))
    (original,) = (tmp_path / "one").glob("*.parquet")
    folder = tmp_path / "folder"
    folder.mkdir()
    with lakeledger.open(f"sqlite:///{tmp_path}/ledger.db", warehouse=str(tmp_path / "warehouse"), spark=spark) as ledger:
        with ledger.run("bench") as run:
            name = parse_name("bench.many")
            location = Path(ledger.context().warehouse) / name.folder
            made = [
                NewFile(f"data/{run.id}/{number:06}/part.parquet", original.stat().st_size, 1_000, "", "snappy", {}, AT)
                for number in range(count)
            ]
            for number, file in enumerate(made):
                (location / file.path).parent.mkdir(parents=True)
                os.link(original, location / file.path)
                os.link(original, folder / f"{number:06}.parquet")
            with ledger.store.write() as tx:
                commit(tx, run.fence, [Change(name, name.folder, "append", SCHEMA, Layout(), made)])
        actions = [lambda: total(spark.read.parquet(str(folder))), lambda: total(ledger.read("bench.many"))]
        bare, ours = alternate(actions, 3, lambda: None, 1)
    shutil.rmtree(tmp_path, ignore_errors=True)
    ratio = median_ms(ours) / median_ms(bare)
    print(f"read of {count:,} files: a folder {median_ms(bare):.0f} ms, a table {median_ms(ours):.0f} ms, {ratio:.2f}×")


def total(frame: DataFrame) -> None:
    frame.agg({"amount": "sum"}).collect()
