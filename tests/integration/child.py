"""Another process of the tests, with a ledger and a Spark of its own.

python child.py crash URL WAREHOUSE MODE DOCUMENT POINT    runs the document's modules and dies by SIGKILL at the point
python child.py follow URL WAREHOUSE SOURCE TABLE MODE     loads a table of PostgreSQL by its watermark again and again
python child.py changes CASES                              applies the second batch of each up to its point; dies when all are there
python child.py compact CASES                              compacts a table of each up to its point; dies when all are there
python child.py mirror CASES                               refreshes the lake's own tables up to the point of each; dies when all are there
python child.py replay URL WAREHOUSE DOCUMENT POINT        replays quarantined rows and dies by SIGKILL at the point
python child.py serve                                      does what it is told: one JSON object per line in, one per line out
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import lakeledger
from integration import compacting, histories
from integration.source_database import changes_of, followed
from lakeledger import LakeledgerError, Settings, SparkSettings, failpoints
from lakeledger.config import MirrorSettings
from lakeledger.control import documents
from lakeledger.testing import kill_at
from spark_conf import SPARK_CONF

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SPARK = SparkSettings(master="local[1]", conf=SPARK_CONF)
PARALLEL = 4
NO_MIRROR = MirrorSettings(enabled=False)


def crash(url: str, warehouse: str, mode: str, document: str, point: str) -> None:
    path = Path(document)
    with lakeledger.open(Settings(url, warehouse, metadata=mode, spark=SPARK, mirror=NO_MIRROR)) as ledger:
        kill_at(point)
        ledger.run_modules(documents.load(path), path.parent)
    sys.exit(f"{point} was never reached")


def follow(url: str, warehouse: str, source_url: str, table: str, mode: str) -> None:
    source = followed(source_url, table, mode)
    with lakeledger.open(Settings(url, warehouse, spark=replace(SPARK, jars=("postgresql",)))) as ledger:
        while True:
            say(ledger.load(source, "orders", mode=cast("Any", mode), changes=changes_of(mode)).rows)


def changes(cases: str) -> None:
    known = [histories.Case(**case) for case in json.loads(cases)]

    def apply(case: histories.Case, session: SparkSession) -> None:
        with case.open(session) as ledger:
            case.apply(ledger, session, 2)

    all_to_their_points([(case.point, partial(apply, case)) for case in known])


def compact(cases: str) -> None:
    def work(case: dict[str, str], session: SparkSession) -> None:
        settings = Settings(case["url"], case["warehouse"], case["tenant"], metadata="sync")
        with lakeledger.open(settings, spark=session) as ledger:
            compacting.compact(ledger, "t")

    all_to_their_points([(case["point"], partial(work, case)) for case in json.loads(cases)])


def mirror(cases: str) -> None:
    def work(case: dict[str, str], _: None) -> None:
        with lakeledger.open(Settings(case["url"], case["warehouse"], case["tenant"])) as ledger:
            ledger.mirror.refresh()

    all_to_their_points([(case["point"], partial(work, case)) for case in json.loads(cases)], lambda: None)


def all_to_their_points(work: list[tuple[str, Callable[[Any], None]]], start: Callable[[], Any] = lambda: spark("local[4]")) -> None:
    """Do all of it at once, each up to its point; when all are there, the process is killed."""
    session, mine, all_are_there = start(), threading.local(), threading.Barrier(len(work))
    kill_at(failpoints.MID_WRITE)
    kill_when_files_appear = failpoints.armed[failpoints.MID_WRITE]

    def arrive(point: str, folder: str) -> None:
        if mine.point == point:
            all_are_there.wait()
        if mine.point == point == failpoints.MID_WRITE:
            kill_when_files_appear(folder)
        elif point in (mine.point, failpoints.AFTER_WRITE if mine.point == failpoints.MID_WRITE else None):
            threading.Event().wait()  # until all are killed

    def do(point: str, one: Callable[[Any], None]) -> None:
        mine.point = point
        try:
            one(session)
        finally:
            all_are_there.abort()

    failpoints.armed.update({point: partial(arrive, point) for point in failpoints.ALL})
    with ThreadPoolExecutor(len(work)) as pool:
        list(pool.map(lambda each: do(*each), work))
    sys.exit("somebody was never where they should be killed")


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
    with lakeledger.open(Settings(url, warehouse, spark=SPARK, mirror=NO_MIRROR)) as ledger:
        (result,) = ledger.run_modules(documents.load(path), path.parent)
    return [step.error for step in result.steps]


def spark(master: str = SPARK.master) -> SparkSession:
    from lakeledger.pipelines.session import open_session

    return open_session(replace(SPARK, master=master))


COMMANDS: dict[str, Callable[..., Any]] = {
    "warm_up": warm_up,
    "append": append,
    "append_and_stop": append_and_stop,
    "run_module": run_module,
}

if __name__ == "__main__":
    jobs = {"serve": serve, "crash": crash, "follow": follow, "changes": changes, "compact": compact, "mirror": mirror, "replay": replay}
    jobs[sys.argv[1]](*sys.argv[2:])  # type: ignore[operator]  # each takes its own
