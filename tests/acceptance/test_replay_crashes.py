"""Kill -9 at every point of a replay of quarantined rows, replay again, and every row is on one side, once, and its letter is settled.

Starting Spark takes far longer than a replay, so one process takes one to each point, and then is killed.
"""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from integration import killing
from integration.killing import Case
from integration.loading import put
from lakeledger import Ledger, failpoints
from lakeledger.control import documents
from lakeledger.pipelines.replaying import Replayed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Up to the commit's transaction the database makes no difference.
CRASHES = [("sqlite", failpoints.ALL), ("postgres", (failpoints.IN_TRANSACTION, failpoints.AFTER_COMMIT))]
DOCUMENT = """\
modules:
  - module_name: shop
    sources:
      - source_id: orders
        source_type: files
        source_config: {{path: "landing/*.csv", schema: "id int, day date", options: {{dateFormat: "{format}"}}}}
        target_config: {{table: orders, bad_rows: quarantine}}
"""
GOOD, CURABLE, HOPELESS = ["1,2026-01-31", "2,2026-01-31"], ["3,31.01.2026", "4,31.01.2026"], ["x,31.01.2026"]
BEFORE, AFTER = ([1, 2], sorted([*CURABLE, *HOPELESS]), [3]), ([1, 2, 3, 4], HOPELESS, [1])


def sides(ledger: Ledger) -> tuple[list[int], list[str], list[int]]:
    """What is in the table, what is in the quarantine, and for how many rows each letter waits."""
    table = sorted(row["id"] for row in ledger.read("orders").collect())
    aside = sorted(row["row"] for row in ledger.read("orders__quarantine").collect())
    open_letters = [letter for letter in ledger.dead_letters.list() if not letter.is_settled]
    return table, aside, sorted(letter.record_data["rows"] for letter in open_letters)


def replay(ledger: Ledger, path: Path) -> list[Replayed]:
    return ledger.replay(documents.load(path).modules, path.parent, dry_run=False)


def begin(case: Case, lake: Ledger) -> Any:
    """Load rows of which some are quarantined, and then say how some of these are to be read."""
    document = put(case.path, DOCUMENT.format(format="yyyy-MM-dd"))
    put(document.parent / "landing/1.csv", "\n".join(["id,day", *GOOD, *CURABLE, *HOPELESS]))
    (loaded,) = lake.run_modules(documents.load(document), document.parent)
    assert loaded.rows == 2
    assert sides(lake) == BEFORE
    put(document, DOCUMENT.format(format="dd.MM.yyyy"))
    return lake.positions.get("shop.orders")


def check(case: Case, lake: Ledger, position: Any) -> None:
    committed = case.point == failpoints.AFTER_COMMIT
    assert sides(lake) == (AFTER if committed else BEFORE)
    (done,) = replay(lake, case.path)
    assert (done.inserted, done.still_bad) == ((0, 1) if committed else (2, 1))
    assert sides(lake) == AFTER
    versions = [lake.tables.get(name).current_version for name in ("orders", "orders__quarantine")]
    replay(lake, case.path)
    assert sides(lake) == AFTER
    assert [lake.tables.get(name).current_version for name in ("orders", "orders__quarantine")] == versions == [2, 2]
    assert lake.positions.get("shop.orders") == position
    assert {run.status for run in lake.runs.list() if run.run_kind == "backfill"} == (
        {"COMPLETED"} if committed else {"COMPLETED", "FAILED"}
    )

    lake.tables.sweep(timedelta(0), delete=True)
    lake.settle()
    assert lake.tables.sweep(timedelta(0)).leftovers == []
    assert lake.tables.verify("orders").ok
    assert lake.tables.verify("orders__quarantine").ok
    assert sides(lake) == AFTER


@pytest.mark.parametrize(("url", "points"), CRASHES, indirect=["url"], ids=["sqlite", "postgres"])
def test_rows_replayed_by_somebody_who_is_killed_are_on_one_side_after_the_next_replay(
    url: str, points: tuple[str, ...], tmp_path: Path, spark: SparkSession
) -> None:
    known = killing.cases(url, tmp_path, "sync", points)
    before = dict(zip(known, killing.of_each(known, spark, begin), strict=True))
    killing.kill(tmp_path / "child.log", "replay", known)
    killing.of_each(known, spark, lambda case, lake: check(case, lake, before[case]))
