"""A few rows appended bare, through the ledger, by Delta and by Iceberg, in turns and in one session of a process of its own."""

from __future__ import annotations

import itertools
import statistics
import sys
import tempfile
from pathlib import Path

import lakeledger
from lakeledger.config import SparkSettings
from lakeledger.pipelines.session import open_session

sys.path.insert(0, str(Path(__file__).parent.parent))
from benchmark.conftest import alternate

ROUNDS = 15
CONF = {
    "spark.driver.memory": "3g",
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension,org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.catalog.ice": "org.apache.iceberg.spark.SparkCatalog",
    "spark.sql.catalog.ice.type": "hadoop",
}
SHAPES = {"narrow": 5, "wide": 200}


def main(folder: Path) -> None:
    """Print what each costs."""
    conf = {**CONF, "spark.sql.catalog.ice.warehouse": str(folder / "iceberg")}
    spark = open_session(SparkSettings(master="local[2]", conf=conf, jars=("delta", "iceberg")))
    with lakeledger.open(f"sqlite:///{folder}/ledger.db", warehouse=str(folder / "warehouse"), spark=spark) as ledger:
        for shape, width in SHAPES.items():
            frame = spark.range(10).selectExpr("id", *(f"id + {number} as c{number}" for number in range(width - 1))).coalesce(1)
            frame.writeTo(f"ice.db.{shape}").create()
            bare = (str(folder / "bare" / shape / str(number)) for number in itertools.count())
            actions = [
                lambda frame=frame, bare=bare: frame.write.parquet(next(bare)),
                lambda frame=frame, shape=shape: ledger.append(frame, f"bench.{shape}"),
                lambda frame=frame, shape=shape: ledger.append(frame, f"sync.{shape}", metadata="sync"),
                lambda frame=frame, shape=shape: frame.write.format("delta").mode("append").save(str(folder / "delta" / shape)),
                lambda frame=frame, shape=shape: frame.writeTo(f"ice.db.{shape}").append(),
            ]
            times = [1000 * statistics.median(each) for each in alternate(actions, ROUNDS, ledger.settle)]
            raw, ours, sync, delta, iceberg = times
            print(
                f"append of 10 rows, {width} columns: bare {raw:.0f} ms, ledger {ours:.0f} ms (+{ours - raw:.0f} ms, {ours / raw:.2f}×),"
                f" and seen by other engines {sync:.0f} ms (+{sync - raw:.0f} ms, {sync / raw:.2f}×),"
                f" Delta {delta:.0f} ms ({delta / raw:.2f}×), Iceberg {iceberg:.0f} ms ({iceberg / raw:.2f}×)"
            )


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        main(Path(made))
