"""Kill -9 at every point of a declared load, run it again, and everything is right: rows, position, files and the run log.

Starting Spark takes far longer than a load, so one process takes one to each point, and then is killed.
"""

from __future__ import annotations

import csv
import os
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import lakeledger
from contract.failing import in_storage, needed
from contract.keeping import grow_old
from contract.making import wait_until
from iceberg_readers import with_pyiceberg
from integration import killing
from integration.killing import Case
from lakeledger import Ledger, failpoints
from lakeledger.control import documents
from lakeledger.pipelines.runner import ModuleResult

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


AT_ONCE = timedelta(0)
# Before the commit's transaction the ledger only knows that the run goes on: there the database and who publishes make no difference.
CRASHES = [
    ("sqlite", "sync", failpoints.ALL),
    ("postgres", "async", (failpoints.AFTER_WRITE, failpoints.IN_TRANSACTION, failpoints.AFTER_COMMIT)),
]

TABLES = ("main.orders", "main.orders__quarantine")  # in one place
DOCUMENT = """\
modules:
  - module_name: shop
    sources:
      - source_id: orders
        source_type: files
        source_config: {path: "landing/*.csv", schema: "id int, day string, price double"}
        target_config:
          table: orders
          partition_by: [day]
          bad_rows: quarantine
          quality:
            expectations:
              - {valid: price >= 0, action: quarantine}
              - {unique: id}
              - {not_null: day}
"""


def land(document: Path, name: str, first: int, rows: int, partitions: int) -> None:
    """A CSV file, with a row that cannot be read and one that breaks a rule. The more partitions, the longer they take to write."""
    file = document.parent / "landing" / name
    file.parent.mkdir(exist_ok=True)
    lines = [f"{number},d{number % partitions},{number}.5\n" for number in range(first, first + rows)] + [f"bad in {name},d0,1.5\n"]
    lines.append(f"{first},d1,-1.0\n")
    file.write_text("id,day,price\n" + "".join(lines), encoding="utf-8")


def oracle(document: Path) -> Counter[tuple[Any, ...]]:
    """The good rows of all files, read without any of what is tested."""
    rows: Counter[tuple[Any, ...]] = Counter()
    for path in (document.parent / "landing").glob("*.csv"):
        with path.open(newline="", encoding="utf-8") as lines:
            good = (row for row in csv.DictReader(lines) if not row["id"].startswith("bad") and float(row["price"]) >= 0)
            rows.update((int(row["id"]), row["day"], float(row["price"])) for row in good)
    return rows


def bad_rows(ledger: Ledger) -> list[str]:
    """What is in the quarantine, with a letter for each, and a result of the expectations for each version."""
    found = [(row["run_id"], row["reasons"][0], row["row"]) for row in ledger.read("orders__quarantine").collect()]
    letters = [(letter.sync_run_id or "", letter.record_data["reason"]) for letter in ledger.dead_letters.list("pending")]
    assert sorted((run_id, reason) for run_id, reason, _ in found) == sorted(letters)
    results = [(each.pipeline_logging_id, each.table_version, each.overall_status) for each in ledger.quality.history("orders")]
    assert results == [(each.run_id, each.version, "WARNING") for each in ledger.tables.history("orders")]
    return sorted(row for _, _, row in found)


def load(ledger: Ledger, document: Path) -> ModuleResult:
    (result,) = ledger.run_modules(documents.load(document), document.parent)
    assert [step.error for step in result.steps] == [None]
    return result


def publish(ledger: Ledger) -> None:
    """Let other engines see what was not published with its commit."""
    with ledger.astha():
        wait_until(lambda: all(is_published(ledger, name) for name in TABLES))


def is_published(ledger: Ledger, name: str) -> bool:
    found = ledger.tables.publication(name)
    return found is not None and found.version == ledger.tables.get(name).current_version


def files_in(ledger: Ledger) -> set[str]:
    """Every data file in the warehouse, relative to the one table; a checksum file of Hadoop's counts as the file it belongs to."""
    folder = Path(ledger.warehouse) / "main/orders"
    paths = (path.relative_to(folder) for path in (folder / "data").rglob("*") if path.is_file())
    return {str(path.with_name(path.name[1:-4]) if path.name.endswith(".crc") else path) for path in paths}


def seen_elsewhere(ledger: Ledger) -> Counter[tuple[Any, ...]]:
    """The rows as another engine finds them."""
    snapshot = ledger.tables.history("orders")[0]
    return Counter(tuple(row.values()) for row in with_pyiceberg(ledger, "orders", snapshot.iceberg_snapshot_id or 0).to_pylist())


def begin(case: Case, lake: Ledger) -> ModuleResult:
    """Load a file, and land the next, with which the other process is killed."""
    lake.snapshots.set_policy("", grace=AT_ONCE)
    case.path.write_text(DOCUMENT, encoding="utf-8")
    land(case.path, "1.csv", first=0, rows=50, partitions=2)
    before = load(lake, case.path)
    land(case.path, "2.csv", first=50, rows=200, partitions=40 if case.point == "mid_write" else 4)
    return before


def check(case: Case, lake: Ledger, before: ModuleResult) -> None:
    mode, document, point = case.metadata, case.path, case.point
    killed = lake.runs.list(limit=1)[0]
    assert killed.id != before.run_id
    assert killed.status == "RUNNING"

    committed = point == "after_commit"
    assert lake.tables.get("orders").current_version == (2 if committed else 1)
    bad = sorted(f"bad in {number}.csv,d0,1.5" for number in (1, 2)) + [f'{{"id":{number},"day":"d1","price":-1.0}}' for number in (0, 50)]
    assert bad_rows(lake) == (bad if committed else bad[::2])
    left = {leftover.path for leftover in lake.tables.sweep(AT_ONCE).leftovers}
    assert bool(left) == (point in ("mid_write", "after_write", "after_stage", "in_transaction"))
    if mode == "async":
        publish(lake)
    assert seen_elsewhere(lake) == Counter(tuple(row) for row in lake.read("orders").collect())
    if point == "mid_write":
        assert any("/_temporary/" in path for path in left)

    again = load(lake, document)
    if mode == "async":
        publish(lake)
    rows = Counter(tuple(row) for row in lake.read("orders").collect())
    assert rows == oracle(document) == seen_elsewhere(lake)
    assert again.rows == (0 if committed else 200)
    assert bad_rows(lake) == bad
    versions = list(reversed(lake.tables.history("orders")))
    assert [snapshot.version for snapshot in versions] == [1, 2]
    assert len({snapshot.batch_id for snapshot in versions}) == 2
    assert [snapshot.run_id for snapshot in versions] == [before.run_id, killed.id if committed else again.run_id]

    marker = lake.positions.get("shop.orders")
    assert (marker.position_data["files"], marker.version, marker.sync_run_id) == (2, 2, versions[1].run_id)
    assert [Path(file.path).name for file in lake.positions.files("shop.orders")] == ["2.csv", "1.csv"]
    assert len(lake.records.history("main.orders", "ingestion_volume")) == 2

    ended = lake.runs.get(killed.id)
    assert (ended.status, ended.commit_count) == (("COMPLETED", 1) if committed else ("FAILED", 0))
    assert [step.status for step in lake.runs.steps(killed.id)] == [ended.status]
    assert [transition.to_status for transition in lake.runs.transitions(killed.id)] == ["PENDING", "RUNNING", ended.status]
    assert [(run.status, run.retry_of) for run in lake.runs.list(limit=1)] == [("COMPLETED", killed.id)]

    assert {leftover.path for leftover in lake.tables.sweep(AT_ONCE).leftovers} == left
    grow_old(Path(lake.warehouse))  # what was just staged is left alone, whatever the grace time
    cares = lake.maintenance.maintain(apply=True).tables
    assert [problem for care in cares for problem in care.problems] == []
    assert sum(care.orphans.files for care in cares) == len(left)
    kept = needed(lake, TABLES[0]) | needed(lake, TABLES[1])
    assert in_storage(lake, "main/orders") == kept, "nothing is left over, and nothing is missing"
    known = {file.file_path for table in TABLES for version in (1, 2) for file in lake.tables.files(table, version)}
    assert files_in(lake) == known
    folders = {path.name for path in (Path(lake.warehouse) / "main/orders/data").iterdir()}
    assert folders == {snapshot.run_id for snapshot in versions}
    assert lake.tables.sweep(AT_ONCE).leftovers == []
    assert lake.tables.verify("orders").ok
    assert Counter(tuple(row) for row in lake.read("orders").collect()) == oracle(document)
    assert load(lake, document).rows == 0


@pytest.mark.parametrize(("url", "mode", "points"), CRASHES, indirect=["url"], ids=["sqlite", "postgres"])
def test_a_load_killed_anywhere_is_right_after_the_next_run(
    url: str, mode: str, points: tuple[str, ...], tmp_path: Path, spark: SparkSession
) -> None:
    known = killing.cases(url, tmp_path, mode, points)
    before = dict(zip(known, killing.of_each(known, spark, begin), strict=True))
    killing.kill(tmp_path / "child.log", "crash", known)
    killing.of_each(known, spark, lambda case, lake: check(case, lake, before[case]))


# The sweeper


def leave_files(ledger: Ledger, spark: SparkSession) -> set[str]:
    """Files of a run that ended without committing them, as a crash leaves them."""
    committed = ledger.append(spark.sql("select 1 as id"), "main.orders")
    folder = Path(ledger.warehouse) / "main/orders/data" / committed.snapshot.run_id / "crashed"
    folder.mkdir()
    for name in ("part-0.parquet", ".part-0.parquet.crc"):
        (folder / name).write_bytes(b"left behind")
    return {f"data/{committed.snapshot.run_id}/crashed/{name}" for name in ("part-0.parquet", ".part-0.parquet.crc")}


def test_a_sweep_only_tells_unless_it_is_told_to_delete(sqlite_lake: Ledger, spark: SparkSession) -> None:
    left, before = leave_files(sqlite_lake, spark), files_in(sqlite_lake)
    found = sqlite_lake.tables.sweep(AT_ONCE)
    assert (found.deleted, {leftover.path for leftover in found.leftovers}) == (False, left)
    assert {(leftover.table, leftover.size) for leftover in found.leftovers} == {("main.orders", len(b"left behind"))}
    assert files_in(sqlite_lake) == before
    assert sqlite_lake.tables.sweep(AT_ONCE, delete=True).deleted
    assert files_in(sqlite_lake) == {file.file_path for file in sqlite_lake.tables.files("orders")}
    assert sqlite_lake.read("orders").count() == 1


def test_a_sweep_leaves_what_is_younger_than_its_grace(sqlite_lake: Ledger, spark: SparkSession) -> None:
    left = leave_files(sqlite_lake, spark)
    assert sqlite_lake.tables.sweep(delete=True).leftovers == []
    assert sqlite_lake.tables.sweep(timedelta(hours=3), delete=True).leftovers == []
    old = (datetime.now(UTC) - timedelta(hours=2)).timestamp()
    for path in left:
        os.utime(Path(sqlite_lake.tables.get("orders").location, path), (old, old))
    assert sqlite_lake.tables.sweep(timedelta(hours=3), delete=True).leftovers == []
    assert {leftover.path for leftover in sqlite_lake.tables.sweep(delete=True).leftovers} == left
    assert files_in(sqlite_lake).isdisjoint(left)


def test_a_sweep_does_not_touch_what_a_living_run_is_writing(lake: Ledger, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    lake.append(spark.sql("select 1 as id"), "main.orders")
    seen: list[Any] = []

    def look(_: str) -> None:
        seen.append(files_in(lake))
        seen.append(lake.tables.sweep(AT_ONCE, delete=True).leftovers)
        seen.append(lake.tables.verify("orders").findings)

    monkeypatch.setitem(failpoints.armed, failpoints.AFTER_WRITE, look)
    lake.append(spark.sql("select 2 as id"), "main.orders")
    assert len(seen[0]) == 2
    assert seen[1:] == [[], []]
    assert sorted(row[0] for row in lake.read("orders").collect()) == [1, 2]
    assert lake.tables.verify("orders").ok


def test_a_sweep_leaves_alone_what_no_run_of_this_ledger_wrote(sqlite_lake: Ledger, spark: SparkSession) -> None:
    committed = sqlite_lake.append(spark.sql("select 1 as id"), "main.orders")
    sqlite_lake.append(spark.sql("select 2 as id"), "main.orders")
    data = Path(sqlite_lake.tables.get("orders").location, "data")
    run_id = committed.snapshot.run_id
    strangers = [
        data / "by hand/x.parquet",
        data / "loose.parquet",
        data / run_id[:4] / "x",
        data / run_id[:-1] / "x",
        data.parent / "notes.txt",
    ]
    for path in strangers:
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"mine")
    assert sqlite_lake.tables.sweep(AT_ONCE, delete=True).leftovers == []
    assert all(path.exists() for path in strangers)


def test_a_sweep_of_one_tenant_does_not_see_another(tmp_path: Path, spark: SparkSession) -> None:
    place = {"warehouse": str(tmp_path / "w"), "spark": spark}
    with (
        lakeledger.open(f"sqlite:///{tmp_path}/ledger.db", tenant="one", **place) as one,  # type: ignore[arg-type]
        lakeledger.open(f"sqlite:///{tmp_path}/ledger.db", tenant="two", **place) as two,  # type: ignore[arg-type]
    ):
        left = leave_files(one, spark)
        assert two.tables.sweep(AT_ONCE, delete=True).leftovers == []
        assert {leftover.path for leftover in one.tables.sweep(AT_ONCE).leftovers} == left
