"""Loads whose table somebody else writes in the meantime: nothing is lost, and nothing comes twice."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from integration.loading import only, rows, run, sql
from lakeledger import Conflict, Ledger, SparkSettings, failpoints
from lakeledger.pipelines import load

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_rows_that_come_while_a_query_rewrites_its_own_table_are_not_lost(sqlite_lake: Ledger, spark: SparkSession, base: Path) -> None:
    sqlite_lake.append(spark.sql("select 1 as id"), "result")

    def start_late(_: SparkSettings) -> SparkSession:
        """Spark starts after the query has pinned its input: time enough for somebody else."""
        sqlite_lake.append(spark.sql("select 7 as id"), "result")
        return spark

    with Ledger(sqlite_lake.settings, start_spark=start_late) as other:
        result = run(other, sql("select id + 1 as id from result"), base)
    assert only(result).loaded.detail["inputs"] == {"main.result": 2}  # type: ignore[union-attr]
    assert rows(sqlite_lake.read("result")) == [(2,), (8,)]


def adds_what_is_missing(module: str) -> str:
    """A module that appends what its target does not have yet."""
    return f"""\
modules:
  - module_name: {module}
    sources:
      - source_id: dim
        source_type: sql
        transformation_config: {{sql_task: {{sql_query: "select id from arrived where id not in (select id from dim) -- {module}"}}}}
        target_config: {{table: dim, write_mode: append}}
"""


def test_two_queries_that_add_what_is_missing_add_it_once(lake: Ledger, spark: SparkSession, base: Path) -> None:
    lake.append(spark.sql("select 0 as id"), "dim")
    lake.append(spark.sql("select * from values (0), (7) as t(id)"), "arrived")
    both_have_read, results = threading.Barrier(2, timeout=60), {}

    def add(module: str) -> None:
        results[module] = run(lake, adds_what_is_missing(module), base)

    with call_once_per_thread(failpoints.AFTER_WRITE, both_have_read.wait):
        threads = [threading.Thread(target=add, args=(module,)) for module in ("a", "b")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert [only(results[module]).error for module in ("a", "b")] == [None, None]
    assert sorted(result.rows for result in results.values()) == [0, 1]
    assert rows(lake.read("dim")) == [(0,), (7,)]


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long a load waits before each new plan; nothing is waited for really."""
    waited: list[float] = []
    monkeypatch.setattr(load, "pause", waited.append, raising=False)
    return waited


def test_a_query_gets_through_once_a_writer_of_its_table_pauses(
    sqlite_lake: Ledger, spark: SparkSession, base: Path, pauses: list[float]
) -> None:
    sqlite_lake.append(spark.sql("select 0 as id"), "dim")
    sqlite_lake.append(spark.sql("select * from values (0), (7) as t(id)"), "arrived")
    colliding = iter(range(100, 107))

    def somebody_else(_: str) -> None:
        if number := next(colliding, None):
            with failpoints_off():
                sqlite_lake.append(spark.sql(f"select {number} as id"), "dim")

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(failpoints.armed, failpoints.AFTER_WRITE, somebody_else)
        result = run(sqlite_lake, adds_what_is_missing("a"), base)
    assert only(result).error is None
    assert [row[0] for row in rows(sqlite_lake.read("dim"))] == [0, *range(100, 107), 7]
    assert len(pauses) == 7
    assert all(load.FIRST_PAUSE_SECONDS / 2 <= seconds <= load.LONGEST_PAUSE_SECONDS for seconds in pauses)
    assert max(pauses[-2:]) > 4 * pauses[0]


def test_a_query_gives_way_to_a_writer_that_never_pauses(sqlite_lake: Ledger, spark: SparkSession, base: Path, pauses: list[float]) -> None:
    sqlite_lake.append(spark.sql("select 0 as id"), "dim")
    sqlite_lake.append(spark.sql("select 7 as id"), "arrived")

    def somebody_else(_: str) -> None:
        with failpoints_off():
            sqlite_lake.append(spark.sql("select 100 as id"), "dim")

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(failpoints.armed, failpoints.AFTER_WRITE, somebody_else)
        step = only(run(sqlite_lake, adds_what_is_missing("a"), base))
    assert "main.dim moved from version" in (step.error or "")
    assert step.retryable
    assert len(pauses) == load.PLANS - 1


def test_an_append_of_rows_computed_from_an_older_version_is_refused(lake: Ledger, spark: SparkSession) -> None:
    version = lake.append(spark.sql("select 0 as id"), "dim").version
    missing = spark.sql("select 7 as id").join(lake.read("dim", version), "id", "anti")
    lake.append(missing, "dim", base_version=version)
    with pytest.raises(Conflict, match=r"main\.dim moved from version 1 to 2 since the rows were computed from it") as caught:
        lake.append(missing, "dim", base_version=version)
    assert caught.value.retryable
    assert rows(lake.read("dim")) == [(0,), (7,)]


@contextmanager
def failpoints_off() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.delitem(failpoints.armed, failpoints.AFTER_WRITE)
        yield


@contextmanager
def call_once_per_thread(point: str, action: Callable[[], Any]) -> Iterator[None]:
    """Do something when a thread gets to a point of the commit path for the first time."""
    been = threading.local()

    def reached(_: str) -> None:
        if not getattr(been, "here", False):
            been.here = True
            action()

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(failpoints.armed, point, reached)
        yield
