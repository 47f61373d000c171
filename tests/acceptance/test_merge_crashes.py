"""Kill -9 at every point of a merge, a history and a comparison, do it again, and all is right: rows, memory, position and files.

Starting Spark takes far longer than any of them, so one process takes all of them to their points at once, and then is killed.
"""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from empty_ledgers import new_sqlite_url
from iceberg_readers import with_pyiceberg
from integration import children
from integration.histories import Case
from lakeledger import Ledger, failpoints

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MODES = ("merge", "scd2", "sync")


def cases(url: str, folder: Path) -> list[Case]:
    """Every way of writing with every point on one of the two databases, and every point on both.

    SQLite has one writer at a time, so that each has a database of its own there.
    """
    made, is_sqlite = [], url.startswith("sqlite")
    for row, mode in enumerate(MODES):
        for column, point in enumerate(failpoints.ALL):
            if (row + column) % 2 == is_sqlite:
                tenant = f"{mode}_{point}"
                (folder / tenant).mkdir()
                place = new_sqlite_url(folder / tenant) if is_sqlite else url
                made.append(Case(place, tenant, str(folder / "warehouse"), mode, point))
    return made


def of_each(known: list[Case], spark: SparkSession, do: Callable[[Case, Ledger, SparkSession], None]) -> None:
    def one(case: Case) -> None:
        try:
            with case.open(spark) as ledger:
                do(case, ledger, spark)
        except BaseException as error:
            error.add_note(f"{case.mode} killed at {case.point}")
            raise

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(one, known))


def begin(case: Case, ledger: Ledger, spark: SparkSession) -> None:
    case.apply(ledger, spark, 1)
    if case.point == failpoints.AFTER_COMMIT:  # at all others it is looked at after the kill
        assert found(ledger, case.mode) == case.expected(1)


def found(ledger: Ledger, mode: str) -> set[tuple[Any, ...]]:
    """The rows, which are the same for the ledger and for everybody else."""
    rows = [tuple(row) for row in ledger.read("t").collect()]
    snapshot = ledger.tables.history("t")[0]
    elsewhere = with_pyiceberg(ledger, "t", snapshot.iceberg_snapshot_id or 0).to_pylist()
    assert sorted(map(repr, (tuple(row.values()) for row in elsewhere))) == sorted(map(repr, rows))
    assert len(set(rows)) == len(rows)
    return {row[:-1] if mode == "scd2" else row for row in rows}  # without __CURRENT, which __END_AT says already


def check(case: Case, ledger: Ledger, spark: SparkSession) -> None:
    committed = case.point == failpoints.AFTER_COMMIT
    assert found(ledger, case.mode) == case.expected(1 + committed)
    case.apply(ledger, spark, 2)
    assert found(ledger, case.mode) == case.expected(2)
    assert [each.version for each in ledger.tables.history("t")] == [2, 1]
    assert ledger.positions.get("feed").position_data == {"value": 2}

    ledger.runs.recover(silence=timedelta(0))
    ledger.tables.sweep(timedelta(0), delete=True)
    ledger.settle()
    assert ledger.tables.sweep(timedelta(0)).leftovers == []
    assert ledger.tables.verify("t").ok
    assert not list(Path(ledger.warehouse).rglob("stage-*/*"))
    assert found(ledger, case.mode) == case.expected(2)


def test_what_is_killed_at_any_point_is_right_after_the_next_run(url: str, tmp_path: Path, spark: SparkSession) -> None:
    known = cases(url, tmp_path)
    of_each(known, spark, begin)
    child = children.start(tmp_path / "child.log", "changes", json.dumps([asdict(case) for case in known]))
    assert child.wait() == -signal.SIGKILL, child.errors
    of_each(known, spark, check)
