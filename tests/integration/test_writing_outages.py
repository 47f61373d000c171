"""A write whose store goes away just when its files are finished."""

from __future__ import annotations

import logging
import sqlite3
import threading
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import lakeledger
from empty_ledgers import new_sqlite_url
from integration.frames import ORDERS, rows
from lakeledger import NumberPosition, failpoints
from lakeledger.db import sqlite
from postgres_server import Server

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_a_server_that_restarts_before_the_commit_does_not_cost_the_finished_write(
    fragile_postgres: Server, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    schema = f"test_{tmp_path.parent.name}_{tmp_path.name}"[:60].replace("-", "_").lower()
    fragile_postgres.create_schema(schema)
    written: list[str] = []

    def go_down(point: str) -> None:
        written.append(point)
        fragile_postgres.stop()
        threading.Thread(target=fragile_postgres.resume).start()

    monkeypatch.setitem(failpoints.armed, failpoints.AFTER_WRITE, go_down)
    with lakeledger.open(fragile_postgres.url(schema=schema), warehouse=str(tmp_path / "warehouse"), spark=spark) as lake:
        committed = lake.append(spark.sql(ORDERS), "orders", position=("shop", NumberPosition(2)))
        assert (committed.version, committed.applied, len(written)) == (1, True, 1)
        assert rows(lake.read("orders")) == [(1, "a"), (2, "b")]
        assert lake.positions.get("shop").position == NumberPosition(2)
        assert [run.status for run in lake.runs.list()] == ["COMPLETED"]
        lake.settle()
    fragile_postgres.drop_schema(schema)


def test_a_lock_that_is_held_too_long_at_the_commit_does_not_cost_the_finished_write(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "BUSY_SECONDS", 0.1)
    refused = threading.Event()
    with (
        lakeledger.open(new_sqlite_url(tmp_path), spark=spark) as lake,
        closing(sqlite3.connect(tmp_path / "ledger.db", isolation_level=None, check_same_thread=False)) as holder,
    ):

        def let_go() -> None:
            refused.wait(20)
            holder.rollback()

        def notice(_: logging.LogRecord) -> bool:
            refused.set()
            return True

        def hold(_: str) -> None:
            holder.execute("begin immediate")
            threading.Thread(target=let_go).start()

        monkeypatch.setitem(failpoints.armed, failpoints.AFTER_WRITE, hold)
        monkeypatch.setattr(logging.getLogger("lakeledger.db"), "filters", [notice])
        assert lake.append(spark.sql(ORDERS), "orders").version == 1
        assert refused.is_set()
        assert rows(lake.read("orders")) == [(1, "a"), (2, "b")]
        lake.settle()
