"""Kill -9 at every point of a merge and of a history, apply the events again, and everything is right: rows, memory, position and files."""

from __future__ import annotations

import random
import signal
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import lakeledger
from iceberg_readers import with_pyiceberg
from integration import children, histories
from lakeledger import Ledger, failpoints

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CRASHES = [("sqlite", point) for point in failpoints.ALL] + [("postgres", failpoints.IN_TRANSACTION), ("postgres", failpoints.AFTER_COMMIT)]


@pytest.fixture
def lake(url: str, tmp_path: Path, spark: SparkSession) -> Iterator[Ledger]:
    """A ledger whose commits other engines see at once."""
    with lakeledger.open(url, warehouse=str(tmp_path / "warehouse"), metadata="sync", spark=spark) as opened:
        yield opened


def found(ledger: Ledger, scd_type: int) -> set[tuple[Any, ...]]:
    columns = ["key", "a", "b", *(["__START_AT", "__END_AT"] if scd_type == 2 else [])]
    return {tuple(row) for row in ledger.read("t").select(*columns).collect()}


@pytest.mark.parametrize(("url", "point"), CRASHES, indirect=["url"])
@pytest.mark.parametrize("scd_type", [1, 2])
def test_events_applied_by_somebody_who_is_killed_are_right_after_the_next_run(
    lake: Ledger, url: str, tmp_path: Path, spark: SparkSession, point: str, scd_type: int
) -> None:
    events = histories.make(random.Random(3), events=40, keys=8)
    first, second = events[::2], events[1::2]
    wanted = [(histories.newest if scd_type == 1 else histories.versions)(part) for part in (first, events)]
    histories.apply(lake, spark, first, scd_type, number=1)
    assert found(lake, scd_type) == wanted[0]
    child = children.start(tmp_path / "child.log", "changes", url, str(tmp_path / "warehouse"), str(scd_type), point)
    assert child.wait() == -signal.SIGKILL, child.errors

    committed = point == failpoints.AFTER_COMMIT
    assert found(lake, scd_type) == wanted[committed]
    histories.apply(lake, spark, second, scd_type, number=2)
    assert found(lake, scd_type) == wanted[1]
    assert len(lake.read("t").collect()) == len(wanted[1])
    assert [each.version for each in lake.tables.history("t")] == [2, 1]
    assert lake.positions.get("feed").position_data == {"value": 2}
    snapshot = lake.tables.history("t")[0]
    elsewhere = with_pyiceberg(lake, "t", snapshot.iceberg_snapshot_id or 0).to_pylist()
    assert sorted(map(repr, (tuple(row.values()) for row in elsewhere))) == sorted(
        map(repr, (tuple(row) for row in lake.read("t").collect()))
    )

    lake.runs.recover(silence=timedelta(0))
    lake.tables.sweep(timedelta(0), delete=True)
    lake.settle()
    assert lake.tables.sweep(timedelta(0)).leftovers == []
    assert lake.tables.verify("t").ok
    assert not list(Path(lake.warehouse).rglob("stage-*/*"))
    assert found(lake, scd_type) == wanted[1]
