"""Another process of the tests, with a ledger and a Spark of its own.

python child.py crash CASES                              runs the modules of each one's document up to its point
python child.py changes CASES                            applies the second batch of each up to its point
python child.py compact CASES                            compacts a table of each up to its point
python child.py mirror CASES                             refreshes the lake's own tables of each up to its point
python child.py replay CASES                             replays quarantined rows of each up to its point
python child.py follow URL WAREHOUSE SOURCE TABLE MODE   loads a table of PostgreSQL by its watermark again and again
python child.py serve                                    does what it is told: one JSON object per line in, one per line out

Starting Spark takes far longer than any of these: where there are cases, all are taken to their points at once, and then all are killed by
one SIGKILL.
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
from integration import compacting, histories, killing
from integration.source_database import changes_of, followed
from lakeledger import LakeledgerError, Ledger, Settings, SparkSettings, failpoints
from lakeledger.config import MirrorSettings
from lakeledger.control import documents
from lakeledger.testing import kill_at
from spark_conf import SPARK_CONF

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SPARK = SparkSettings(master="local[1]", conf=SPARK_CONF)
PARALLEL = 4
NO_MIRROR = MirrorSettings(enabled=False)


mine = threading.local()  # the point at which what the thread does is killed
start_thread = threading.Thread.start


def crash(cases: str) -> None:
    def work(ledger: Ledger, document: Path) -> None:
        ledger.run_modules(documents.load(document), document.parent)

    of_documents(work, cases)


def replay(cases: str) -> None:
    def work(ledger: Ledger, document: Path) -> None:
        ledger.replay(documents.load(document).modules, document.parent, dry_run=False)

    of_documents(work, cases)


def of_documents(work: Callable[[Ledger, Path], None], cases: str) -> None:
    """Do the work with each document up to its point."""

    def one(case: killing.Case, session: SparkSession) -> None:
        with case.open(session) as ledger:
            work(ledger, case.path)

    all_to_their_points([(case.point, partial(one, case)) for case in (killing.Case(**each) for each in json.loads(cases))])


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
    session, points = start(), {point for point, _ in work}
    kill_at(failpoints.MID_WRITE)
    kill_at(failpoints.AFTER_WRITE)
    kill_when_files_appear, kill_now = failpoints.armed[failpoints.MID_WRITE], partial(failpoints.armed[failpoints.AFTER_WRITE], "")
    all_are_there = threading.Barrier(len(work), None if failpoints.MID_WRITE in points else kill_now)

    def arrive(point: str, folder: str) -> None:
        own = getattr(mine, "point", None)
        if own == point:
            all_are_there.wait()
        if own == point == failpoints.MID_WRITE:
            kill_when_files_appear(folder)
        elif point in (own, failpoints.AFTER_WRITE if own == failpoints.MID_WRITE else None):
            threading.Event().wait()  # until all are killed

    def do(point: str, one: Callable[[Any], None]) -> None:
        mine.point = point
        try:
            one(session)
        finally:
            all_are_there.abort()

    threading.Thread.start = start_with_the_point  # type: ignore[method-assign, assignment]
    failpoints.armed.update({point: partial(arrive, point) for point in failpoints.ALL})
    with ThreadPoolExecutor(len(work)) as pool:
        list(pool.map(lambda each: do(*each), work))
    sys.exit("somebody was never where they should be killed")


def start_with_the_point(thread: threading.Thread) -> None:
    """What a thread has others do, such as a step of a module, is killed at its point as well."""
    run, point = thread.run, getattr(mine, "point", None)

    def run_with_the_point() -> None:
        mine.point = point
        run()

    thread.run = run_with_the_point  # type: ignore[method-assign]
    start_thread(thread)


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
