"""Several at once on one table or one module: nothing is lost, nothing is doubled, and whoever comes too late hears of it."""

from __future__ import annotations

import os
import signal
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from integration import children
from integration.children import Child
from integration.waiting import until
from lakeledger import Conflict, Ledger, failpoints
from lakeledger.control import documents
from lakeledger.runs import ActiveRun

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


WRITERS, TIMES = 2, 50
LEASE_SECONDS = 2.0


@pytest.fixture(scope="module")
def writers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Child]]:
    """Other processes, each with its own Spark, which all tests of this file use."""
    folder = tmp_path_factory.mktemp("writers")
    with ExitStack() as stack:
        started = [stack.enter_context(children.serving(folder / f"{number}.log")) for number in range(WRITERS)]
        for child in started:
            child.tell("warm_up")
        assert [child.hear() for child in started] == ["warm"] * WRITERS
        yield started


def place(ledger: Ledger, url: str) -> dict[str, str]:
    return {"url": url, "warehouse": str(Path(ledger.warehouse).parent)}


def changes(ledger: Ledger, table: str) -> list[Any]:
    """The whole change log of one ledger table."""
    found: list[Any] = []
    while page := ledger.changes.after(found[-1].seq if found else 0, table):
        found += page
    return found


def test_a_hundred_appends_of_two_processes_are_a_hundred_versions(lake: Ledger, url: str, writers: list[Child]) -> None:
    for number, child in enumerate(writers):
        child.tell("append", **place(lake, url), table="events", writer=number, times=TIMES)
    assert [child.hear() for child in writers] == [TIMES] * WRITERS

    total = WRITERS * TIMES
    rows = Counter(tuple(row) for row in lake.read("events").collect())
    assert rows == Counter((writer, number) for writer in range(WRITERS) for number in range(TIMES))
    versions = list(reversed(lake.tables.history("events", limit=1_000)))
    assert [snapshot.version for snapshot in versions] == list(range(1, total + 1))
    assert [snapshot.parent_version for snapshot in versions] == [None, *range(1, total)]
    assert [snapshot.committed_at for snapshot in versions] == sorted(snapshot.committed_at for snapshot in versions)

    live, stats, table = lake.tables.files("events"), lake.tables.stats("events"), lake.tables.get("events")
    assert stats.row_count == table.row_count == sum(file.row_count for file in live) == total
    assert stats.file_count == table.file_count == len(live) == total
    assert stats.total_size == table.total_size == sum(file.file_size for file in live)
    assert lake.tables.verify("events").ok

    runs = lake.runs.list(limit=1_000)
    assert Counter(run.status for run in runs) == {"COMPLETED": total}
    assert {run.id for run in runs} == {snapshot.run_id for snapshot in versions}
    assert len({run.worker_instance for run in runs}) == WRITERS
    check_change_log(lake, total)


def check_change_log(lake: Ledger, total: int) -> None:
    """The log tells the same story, in the order of the commits."""
    assert [change.after["version"] for change in changes(lake, "table_snapshots")] == list(range(1, total + 1))
    assert [change.after["current_version"] for change in changes(lake, "tables")] == list(range(total + 1))
    assert [change.after["row_count"] for change in changes(lake, "table_stats")] == list(range(1, total + 1))
    added = [change.after["added_version"] for change in changes(lake, "table_files") if change.operation == "INSERT"]
    assert added == list(range(1, total + 1))


def test_the_change_log_is_in_the_order_of_the_commits(lake: Ledger, spark: SparkSession) -> None:
    frames = [spark.sql(f"select {number} as number") for number in range(12)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda frame: lake.append(frame, "events"), frames))
    check_change_log(lake, len(frames))


def test_of_two_overwrites_at_the_same_time_one_is_told_to_try_again(
    lake: Ledger, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake.append(spark.sql("select 0 as writer"), "state")
    both_have_written = threading.Barrier(2, timeout=60)
    monkeypatch.setitem(failpoints.armed, failpoints.AFTER_WRITE, lambda _: both_have_written.wait())

    def overwrite(writer: int) -> Any:
        try:
            return lake.overwrite(spark.sql(f"select {writer} as writer"), "state").version
        except Conflict as conflict:
            return conflict

    with ThreadPoolExecutor(2) as pool:
        answers = dict(zip((1, 2), pool.map(overwrite, (1, 2)), strict=True))
    (winner,) = (writer for writer, answer in answers.items() if answer == 2)
    refused = answers[3 - winner]
    assert isinstance(refused, Conflict)
    assert refused.retryable
    assert "main.state moved from version 1 to 2 while it was being overwritten" in str(refused)
    assert [tuple(row) for row in lake.read("state").collect()] == [(winner,)]
    assert lake.tables.verify("state").ok

    monkeypatch.delitem(failpoints.armed, failpoints.AFTER_WRITE)
    assert overwrite(3 - winner) == 3
    assert [tuple(row) for row in lake.read("state").collect()] == [(3 - winner,)]
    assert sorted(run.status for run in lake.runs.list()) == ["COMPLETED", "COMPLETED", "COMPLETED", "FAILED"]


def test_overwrites_of_different_partitions_do_not_disturb_each_other(
    lake: Ledger, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake.append(spark.sql("select * from values (0, 'a'), (0, 'b') as t(writer, part)"), "state", partition_by=["part"])
    both_have_written = threading.Barrier(2, timeout=60)
    monkeypatch.setitem(failpoints.armed, failpoints.AFTER_WRITE, lambda _: both_have_written.wait())

    def overwrite(part: str) -> int:
        return lake.overwrite(spark.sql(f"select 1 as writer, '{part}' as part"), "state", by_partition=True).version

    with ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(overwrite, "ab")) == [2, 3]
    assert sorted(tuple(row) for row in lake.read("state").collect()) == [(1, "a"), (1, "b")]


def test_a_holder_that_slept_through_its_lease_is_refused(lake: Ledger, url: str, spark: SparkSession, writers: list[Child]) -> None:
    sleeper = writers[0]
    sleeper.tell("append_and_stop", **place(lake, url), table="state", pipeline="nightly", lease_seconds=LEASE_SECONDS)
    run_id = sleeper.hear()["run"]
    until(lambda: os.waitpid(sleeper.process.pid, os.WUNTRACED | os.WNOHANG)[0], "the holder has stopped")
    try:
        assert files_of(lake, run_id)
        with ExitStack() as stack:
            mine = until(lambda: take_over(lake, stack), "the lease has run out")
            assert mine.run.retry_of == run_id
            assert lake.append(spark.sql("select 'in time' as who"), "state", run=mine).version == 1
    finally:
        os.kill(sleeper.process.pid, signal.SIGCONT)
        answer = sleeper.hear()
    assert answer["error"] == "Fenced"
    assert run_id in answer["message"]
    assert "nothing was committed" in answer["message"]
    assert files_of(lake, run_id) == []
    assert [tuple(row) for row in lake.read("state").collect()] == [("in time",)]
    assert [(run.status, run.commit_count) for run in (lake.runs.get(run_id), lake.runs.get(mine.id))] == [("FAILED", 0), ("COMPLETED", 1)]
    assert lake.tables.verify("state").ok


def files_of(ledger: Ledger, run_id: str) -> list[Path]:
    return [path for path in Path(ledger.warehouse).glob(f"*/*/data/{run_id}/**/*") if path.is_file()]


def take_over(ledger: Ledger, stack: ExitStack) -> ActiveRun | None:
    """A run of the pipeline, if nobody holds it any more."""
    try:
        return stack.enter_context(ledger.run("nightly", exclusive=True))
    except Conflict:
        return None


def test_a_module_runs_once_at_a_time(lake: Ledger, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    document = tmp_path / "shop.yml"
    document.write_text(
        "modules: [{module_name: shop, sources: [{source_id: one, source_type: sql, target_config: {table: one},"
        " transformation_config: {sql_task: {sql_query: select 1 as x}}}]}]",
        encoding="utf-8",
    )
    answers: list[Any] = []

    def try_elsewhere(_: str) -> None:
        with children.serving(tmp_path / "other.log") as other:
            other.tell("run_module", **place(lake, url), document=str(document))
            answers.append((other.hear(), lake.runs.list(status="RUNNING")))

    monkeypatch.setitem(failpoints.armed, failpoints.BEFORE_WRITE, try_elsewhere)
    (result,) = lake.run_modules(documents.load(document), tmp_path)
    ((refused, running),) = answers
    (holder,) = running
    assert (refused["error"], refused["retryable"]) == ("Conflict", True)
    assert f"shop is already running: run {holder.id} on {holder.worker_instance} holds its lease until" in refused["message"]
    assert holder.lease_expires_at is not None
    assert f"{holder.lease_expires_at:%Y-%m-%d %H:%M}" in refused["message"]
    assert (holder.id, [step.error for step in result.steps]) == (result.run_id, [None])
    assert [run.status for run in lake.runs.list("shop")] == ["COMPLETED"]
    assert lake.tables.get("one").current_version == 1
