"""Kill -9 at every point of a compaction: nothing is lost, nothing is there twice, and the sweeper leaves nothing orphaned."""

from __future__ import annotations

import json
import signal
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import lakeledger
from empty_ledgers import new_sqlite_url
from iceberg_readers import with_pyiceberg
from integration import children
from integration.compacting import compact
from integration.frames import rows
from lakeledger import Ledger, Settings, failpoints

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FILES = 3
# Each point on one of the databases; where the database decides what is there after the kill, on both.
LATE = (failpoints.IN_TRANSACTION, failpoints.AFTER_COMMIT)
CRASHES = [
    ("sqlite", (failpoints.MID_WRITE, failpoints.AFTER_STAGE, *LATE)),
    ("postgres", (failpoints.BEFORE_WRITE, failpoints.AFTER_WRITE, *LATE)),
]


def opened(case: dict[str, str], spark: SparkSession) -> Ledger:
    return lakeledger.open(Settings(case["url"], case["warehouse"], case["tenant"], metadata="sync"), spark=spark)


def check(case: dict[str, str], spark: SparkSession, before: dict[int, Any]) -> None:
    with opened(case, spark) as ledger:
        committed = case["point"] == failpoints.AFTER_COMMIT
        assert ledger.tables.get("t").file_count == (1 if committed else FILES)
        assert rows(ledger.read("t")) == before[FILES]
        # The lost run holds nothing: the next compaction does what was not done.
        ledger.runs.recover(silence=timedelta(0))
        done = compact(ledger, "t")
        assert (done.groups_done, ledger.tables.get("t").file_count) == (0 if committed else 1, 1)
        assert {version: rows(ledger.read("t", version)) for version in before} == before
        assert rows(ledger.read("t")) == before[FILES]
        assert len(ledger.tables.history("t")) == FILES + 1
        assert len(ledger.records.history(kind="compaction")) == 1
        snapshot = ledger.tables.history("t")[0]
        assert with_pyiceberg(ledger, "t", snapshot.iceberg_snapshot_id or 0).num_rows == len(before[FILES])
        ledger.settle()
        ledger.snapshots.set_policy("", grace=timedelta(0))
        assert ledger.maintenance.maintain(apply=True).tables[0].problems == []
        assert ledger.tables.sweep(timedelta(0)).leftovers == []
        assert ledger.tables.verify("t").ok
        known = {file.file_path for each in ledger.tables.history("t") for file in ledger.tables.files("t", each.version)}
        there = {
            str(path.relative_to(ledger.tables.get("t").location)) for path in Path(ledger.tables.get("t").location).rglob("data/**/part-*")
        }
        assert there == known


def test_every_point_is_on_a_database() -> None:
    assert {point for _, points in CRASHES for point in points} == set(failpoints.ALL)


@pytest.mark.parametrize(("url", "points"), CRASHES, indirect=["url"], ids=["sqlite", "postgres"])
def test_a_compaction_that_is_killed_at_any_point_leaves_the_table_as_it_was_or_compacted(
    url: str, points: tuple[str, ...], tmp_path: Path, spark: SparkSession
) -> None:
    cases, before = [], {}
    for point in points:
        place = tmp_path / point
        place.mkdir()
        case = {
            "url": new_sqlite_url(place) if url.startswith("sqlite") else url,
            "tenant": point,
            "warehouse": str(place / "w"),
            "point": point,
        }
        with opened(case, spark) as ledger:
            for number in range(FILES):
                ledger.append(spark.range(number * 10, number * 10 + 10), "t")
            before[point] = {version: rows(ledger.read("t", version)) for version in range(1, FILES + 1)}
        cases.append(case)
    child = children.start(tmp_path / "child.log", "compact", json.dumps(cases))
    assert child.wait() == -signal.SIGKILL, child.errors
    for case in cases:
        check(case, spark, before[case["point"]])
