"""Changes merged by hand, through the ledger, by Delta and by Iceberg, in turns and in one session of a process of its own.

python merging.py ROWS FILES ROUNDS CHANGES[,CHANGES] SHARE[,SHARE] [unclustered]
python merging.py growth
"""

from __future__ import annotations

import itertools
import resource
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import lakeledger
from lakeledger import Ledger
from lakeledger.config import SparkSettings
from lakeledger.pipelines.session import open_session

sys.path.insert(0, str(Path(__file__).parent.parent))
from benchmark.appending import CONF
from benchmark.conftest import alternate, seconds

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

COLUMNS = [
    "id",
    "concat('customer-', id % 50000) as customer",
    "cast(id * 0.37 as decimal(12, 2)) as amount",
    "timestamp_seconds(1700000000 + id) as ordered_at",
    "id % 13 as status",
    "concat('Product number ', id % 9973) as product",
    "cast(id % 100 / 1000 as double) as discount",
    "cast({round} as int) as round",
]


def rows(spark: SparkSession, first: int, last: int, parts: int) -> DataFrame:
    return spark.range(first, last, 1, parts).selectExpr(*(each.format(round=0) for each in COLUMNS))


def unclustered(spark: SparkSession, size: int, files: int) -> DataFrame:
    """The same rows, of which each file has some of the whole range of keys: bounds tell nothing."""
    spread = spark.range(0, size, 1, files).selectExpr(f"(id % {size // files}) * {files} + id div {size // files} as id")
    return spread.selectExpr(*(each.format(round=0) for each in COLUMNS))


def changes(
    spark: SparkSession, path: Path, size: int, files: int, changed: int, share: float, number: int, *, clustered: bool = True
) -> DataFrame:
    """Changes of keys in so large a share of the files, at least a tenth of them new, staged as a source has them."""
    touched, per_file = max(1, round(files * share)), size // files
    each = min(round(changed * 0.9) // touched, per_file)
    step, apart, fresh = per_file // each, per_file * (files // touched), changed - touched * each
    place = f"(id div {each}) * {apart} + (id % {each}) * {step}" if clustered else f"(id % {each}) * {step * files} + id div {each}"
    old = spark.range(0, touched * each, 1, 4).selectExpr(f"{place} as id")
    new = spark.range(size + number * changed, size + number * changed + fresh, 1, 1)
    frame = old.union(new).selectExpr(*(text.format(round=number) for text in COLUMNS))
    frame.write.mode("overwrite").parquet(str(path))
    return spark.read.parquet(str(path))


def by_hand(spark: SparkSession, current: list[Path], batch: DataFrame) -> None:
    """What people write: the whole table joined with the changes and written again."""
    from pyspark.sql import functions as F

    table = spark.read.parquet(str(current[-1]))
    kept = table.join(F.broadcast(batch.select("id")), "id", "left_anti")
    current.append(current[0].with_name(f"{current[0].name}-{len(current)}"))
    kept.unionByName(batch).write.parquet(str(current[-1]))


def measure(ledger: Ledger, folder: Path, size: int, files: int, rounds: int, changed: int, share: float, *, clustered: bool) -> None:
    spark, name = ledger.spark, f"t{changed}_{round(share * 100)}"
    base = rows(spark, 0, size, files) if clustered else unclustered(spark, size, files)
    hand = [folder / f"hand-{name}"]
    base.write.parquet(str(hand[0]))
    base.write.format("delta").save(str(folder / "delta" / name))
    base.writeTo(f"ice.db.{name}").create()
    for table in (f"u.{name}", f"d.{name}"):
        ledger.append(base, table)
    numbers = itertools.count(1)
    batch: list[DataFrame] = []

    def prepare() -> None:
        ledger.settle()

    def next_batch() -> None:
        batch[:] = [changes(spark, folder / f"changes-{name}", size, files, changed, share, next(numbers), clustered=clustered)]
        batch[0].createOrReplaceTempView("changes")

    merge = "merge into {0} t using changes s on t.id = s.id when matched then update set * when not matched then insert *"
    actions: list[Callable[[], object]] = [
        lambda: ledger.merge(batch[0], f"u.{name}", keys=["id"], unique=True),
        lambda: ledger.merge(batch[0], f"d.{name}", keys=["id"]),
        lambda: by_hand(spark, hand, batch[0]),
        lambda: spark.sql(merge.format(f"delta.`{folder / 'delta' / name}`")).collect(),
        lambda: spark.sql(merge.format(f"ice.db.{name}")).collect(),
    ]
    times: list[list[float]] = [[] for _ in actions]
    for _ in range(rounds + 1):  # the first warms up
        next_batch()
        for place, each in enumerate(alternate(actions, 1, prepare, warm_up=0)):
            times[place].append(each[-1])
    unique, deduped, plain, delta, iceberg = (statistics.median(each[1:] or each) for each in times)
    best = min(delta, iceberg)
    print(
        f"{changed:,} changes in {share:.0%} of {files} {'' if clustered else 'unclustered '}files of {size:,} rows:"
        f" unique {unique:.1f} s ({unique / best:.2f}× the better of Delta and Iceberg),"
        f" with dedupe {deduped:.1f} s, by hand {plain:.1f} s, Delta {delta:.1f} s, Iceberg {iceberg:.1f} s",
        flush=True,
    )


def grow(folder: Path) -> None:
    """Print what the same small merge and one more row cost as the table grows, in rows and in files."""
    spark = open_session(SparkSettings(master="local[2]", conf={"spark.driver.memory": "4g"}))
    with lakeledger.open(f"sqlite:///{folder}/ledger.db", warehouse=str(folder / "warehouse"), spark=spark) as ledger:
        for size, files in [
            (1_000_000, 10),
            (1_000_000, 10),
            (10_000_000, 10),
            (10_000_000, 100),
            (2_000_000, 2_000),
        ]:  # the first warms up
            name = f"growth.t{size}_{files}"
            ledger.overwrite(rows(spark, 0, size, files), name)
            numbers = itertools.count(1)

            def merge(size: int = size, files: int = files, name: str = name, numbers: Iterator[int] = numbers) -> float:
                batch = changes(spark, folder / "changes", size, files, 10_000, 0.01, next(numbers))
                ledger.settle()
                return seconds(lambda: ledger.merge(batch, name, keys=["id"]))

            def append(name: str = name, size: int = size) -> float:
                ledger.settle()
                return seconds(lambda: ledger.append(rows(spark, size * 2, size * 2 + 1, 1), name))

            merged, appended = (statistics.median(action() for _ in range(5)) for action in (merge, append))
            print(
                f"{size:,} rows in {files:,} files: 10,000 changes in 1 % of the files (at least one) merged in {merged:.2f} s, "
                f"one row appended in {appended * 1000:.0f} ms",
                flush=True,
            )
    print(f"memory of the Python side: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


def main(folder: Path, size: int, files: int, rounds: int, changed: list[int], shares: list[float], *, clustered: bool) -> None:
    """Print what each costs."""
    conf = {**CONF, "spark.driver.memory": "4g", "spark.sql.catalog.ice.warehouse": str(folder / "iceberg")}
    spark = open_session(SparkSettings(master="local[2]", conf=conf, jars=("delta", "iceberg")))
    with lakeledger.open(f"sqlite:///{folder}/ledger.db", warehouse=str(folder / "warehouse"), spark=spark) as ledger:
        for number in changed:
            for share in shares:
                measure(ledger, folder, size, files, rounds, number, share, clustered=clustered)
    print(f"memory of the Python side: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        if sys.argv[1:] == ["growth"]:
            grow(Path(made))
            sys.exit()
        size, files, rounds = (int(each) for each in sys.argv[1:4])
        main(
            Path(made),
            size,
            files,
            rounds,
            [int(each) for each in sys.argv[4].split(",")],
            [float(each) for each in sys.argv[5].split(",")],
            clustered="unclustered" not in sys.argv,
        )
