"""Small files written together by hand, by the ledger, by Delta and by Iceberg, in turns and in one session of a process of its own.

python compacting.py ROWS FILES BECOME ROUNDS
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import lakeledger
from lakeledger import Ledger
from lakeledger.config import CompactionSettings, SparkSettings
from lakeledger.pipelines.session import open_session

sys.path.insert(0, str(Path(__file__).parent.parent))
from benchmark.appending import CONF
from benchmark.conftest import seconds
from benchmark.merging import rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

NAMES = ("ledger", "by hand", "Delta's OPTIMIZE", "Iceberg's rewrite_data_files")


def actions(ledger: Ledger, folder: Path, base: DataFrame, become: int, number: int) -> list[Callable[[], object]]:
    """The same small files, made anew, and what writes them together, in the order of the names."""
    spark, name = ledger.spark, f"t{number}"
    hand, delta = folder / f"hand-{number}", folder / "delta" / name
    base.write.parquet(str(hand))
    base.write.format("delta").save(str(delta))
    base.writeTo(f"ice.db.{name}").create()
    ledger.append(base, f"bench.{name}")
    ledger.settle()
    # As large as it takes to make so many files of them.
    target = ledger.tables.get(f"bench.{name}").total_size * 11 // (10 * become)
    compaction = replace(ledger.compaction, _settings=CompactionSettings(target_bytes=target, small_share=1.0, quiet_seconds=0))
    for side in ("min", "max"):
        spark.conf.set(f"spark.databricks.delta.optimize.{side}FileSize", str(target))
    options = f"map('target-file-size-bytes', '{target}', 'rewrite-all', 'true', 'max-concurrent-file-group-rewrites', '2')"

    def by_ledger() -> None:
        (done,) = compaction.compact([f"bench.{name}"], apply=True)
        assert done.problem is None, done.problem

    return [
        by_ledger,
        lambda: spark.read.parquet(str(hand)).coalesce(become).write.parquet(f"{hand}-compacted"),
        lambda: spark.sql(f"optimize delta.`{delta}`").collect(),
        lambda: spark.sql(f"call ice.system.rewrite_data_files(table => 'db.{name}', options => {options})").collect(),
    ]


def read_times(ledger: Ledger, name: str, rounds: int) -> tuple[float, float]:
    """How long all rows are read at the version before and at the last one."""
    spark: SparkSession = ledger.spark

    def read(version: int) -> float:
        frame = ledger.read(name, version)
        took = seconds(lambda: frame.selectExpr("sum(amount)", "max(product)", "count(*)").collect())
        spark.catalog.clearCache()
        return took

    last = ledger.tables.get(name).current_version
    times = [(read(last - 1), read(last)) for _ in range(rounds + 1)][1:]  # the first warms up
    before, after = zip(*times, strict=True)
    return statistics.median(before), statistics.median(after)


def main(folder: Path, size: int, files: int, become: int, rounds: int) -> None:
    """Print what each costs."""
    conf = {**CONF, "spark.sql.catalog.ice.warehouse": str(folder / "iceberg")}
    spark = open_session(SparkSettings(master="local[2]", conf=conf, jars=("delta", "iceberg")))
    with lakeledger.open(f"sqlite:///{folder}/ledger.db", warehouse=str(folder / "warehouse"), spark=spark) as ledger:
        base = rows(spark, 0, size, files)
        times: list[list[float]] = [[] for _ in NAMES]
        for number in range(rounds + 1):  # the first warms up
            order = list(enumerate(actions(ledger, folder, base, become, number)))
            for place, action in order if number % 2 else reversed(order):
                times[place].append(seconds(action))
        ledger_, *others = (statistics.median(each[1:] or each) for each in times)
        told = ", ".join(f"{name} {each:.1f} s ({ledger_ / each:.2f}×)" for name, each in zip(NAMES[1:], others, strict=True))
        left = ledger.tables.get(f"bench.t{rounds}").file_count
        print(f"{files:,} files of {size:,} rows become {left}: ledger {ledger_:.1f} s; {told}", flush=True)
        before, after = read_times(ledger, f"bench.t{rounds}", rounds)
        print(f"all rows read in {before:.2f} s before and {after:.2f} s after it", flush=True)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        main(Path(made), *(int(each) for each in sys.argv[1:5]))
