"""Another process of the tests, with a ledger and a Spark of its own.

python child.py crash URL WAREHOUSE MODE DOCUMENT POINT    runs the document's modules and dies by SIGKILL at the point
python child.py follow URL WAREHOUSE SOURCE TABLE MODE     loads a table of PostgreSQL by its id again and again, and says how many rows
python child.py changes URL WAREHOUSE TYPE POINT           applies change events and dies by SIGKILL at the point
python child.py replay URL WAREHOUSE DOCUMENT POINT        replays quarantined rows and dies by SIGKILL at the point
python child.py serve                                      does what it is told: one JSON object per line in, one per line out
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import lakeledger
from integration import histories
from lakeledger import LakeledgerError, Settings, SparkSettings, failpoints
from lakeledger.control import documents
from lakeledger.testing import kill_at
from spark_conf import SPARK_CONF

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SPARK = SparkSettings(master="local[1]", conf=SPARK_CONF)
PARALLEL = 4


def crash(url: str, warehouse: str, mode: str, document: str, point: str) -> None:
    path = Path(document)
    with lakeledger.open(Settings(url, warehouse, metadata=mode, spark=SPARK)) as ledger:
        kill_at(point)
        ledger.run_modules(documents.load(path), path.parent)
    sys.exit(f"{point} was never reached")


def follow(url: str, warehouse: str, source_url: str, table: str, mode: str) -> None:
    from lakeledger.pipelines.sources.jdbc import JdbcConfig, JdbcSource
    from lakeledger.pipelines.sources.watermark import Watermark
    from lakeledger.sync import Source

    config = JdbcConfig(source_url, table, user="postgres", watermark=Watermark(("id",)), partition_column="id", partitions=2)
    with lakeledger.open(Settings(url, warehouse, spark=replace(SPARK, jars=("postgresql",)))) as ledger:
        while True:
            say(ledger.load(JdbcSource(Source("shop", "orders"), config), "orders", mode=cast("Any", mode)).rows)


def changes(url: str, warehouse: str, scd_type: str, point: str) -> None:
    events = histories.make(random.Random(3), events=40, keys=8)
    session = spark()
    with lakeledger.open(Settings(url, warehouse, metadata="sync"), spark=session) as ledger:
        kill_at(point)
        histories.apply(ledger, session, events[1::2], int(scd_type), number=2)
    sys.exit(f"{point} was never reached")


def replay(url: str, warehouse: str, document: str, point: str) -> None:
    path = Path(document)
    with lakeledger.open(Settings(url, warehouse, metadata="sync", spark=SPARK)) as ledger:
        kill_at(point)
        done = ledger.replay(documents.load(path).modules, path.parent, dry_run=False)
    sys.exit(f"{point} was never reached: {done}")


def serve() -> None:
    for line in sys.stdin:
        command = json.loads(line)
        try:
            say(COMMANDS[command.pop("do")](**command))
        except LakeledgerError as error:
            say({"error": type(error).__name__, "message": str(error), "retryable": error.retryable})


def say(answer: Any) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


def warm_up() -> str:
    """Have Spark ready, so that what comes next happens at once."""
    spark().range(1).count()
    return "warm"


def append(url: str, warehouse: str, table: str, writer: int, times: int) -> int:
    """Append so many single rows, several at a time."""
    session = spark()
    with lakeledger.open(Settings(url, warehouse), spark=session) as ledger, ThreadPoolExecutor(PARALLEL) as pool:
        frames = (session.sql(f"select {writer} as writer, {number} as number") for number in range(times))
        return len({committed.version for committed in pool.map(lambda frame: ledger.append(frame, table), frames)})


def append_and_stop(url: str, warehouse: str, table: str, pipeline: str, lease_seconds: float) -> str:
    """Hold a pipeline, write files, stop (SIGSTOP) before they are committed, and commit when continued."""
    failpoints.armed[failpoints.AFTER_WRITE] = lambda _: os.kill(os.getpid(), signal.SIGSTOP)
    settings = Settings(url, warehouse, lease_seconds=lease_seconds)
    try:
        with lakeledger.open(settings, spark=spark()) as ledger, ledger.run(pipeline, exclusive=True) as run:
            say({"run": run.id})
            ledger.append(spark().sql("select 'late' as who"), table, run=run)
    finally:
        failpoints.armed.clear()
    return "committed"


def run_module(url: str, warehouse: str, document: str) -> list[str | None]:
    path = Path(document)
    with lakeledger.open(Settings(url, warehouse, spark=SPARK)) as ledger:
        (result,) = ledger.run_modules(documents.load(path), path.parent)
    return [step.error for step in result.steps]


def spark() -> SparkSession:
    from lakeledger.pipelines.session import open_session

    return open_session(SPARK)


COMMANDS: dict[str, Callable[..., Any]] = {
    "warm_up": warm_up,
    "append": append,
    "append_and_stop": append_and_stop,
    "run_module": run_module,
}

if __name__ == "__main__":
    {"serve": serve, "crash": crash, "follow": follow, "changes": changes, "replay": replay}[sys.argv[1]](*sys.argv[2:])  # type: ignore[operator]  # each takes its own
