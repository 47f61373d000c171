"""Maintenance beside writers and readers, and on an S3 server; Spark is not needed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest

import lakeledger
from contract.keeping import ORDERS, files, let_pass, overwrite, put, read
from iceberg_readers import catalog
from lakeledger import Ledger, Settings, clock
from lakeledger.config import S3Settings
from lakeledger.lake import Storage
from lakeledger.maintenance import published
from s3_server import S3Server

NOTHING = timedelta(0)
COMMITS = 25


@pytest.mark.parametrize("format_", ["parquet", "jsonl"])
def test_a_warehouse_on_s3_is_maintained_as_one_on_disk(bucket: S3Server, tmp_path: Path, format_: str) -> None:
    s3 = S3Settings(bucket.endpoint)
    with lakeledger.open(Settings(url=f"sqlite:///{tmp_path}/ledger.db", warehouse="s3://lake/shop", metadata="sync", s3=s3)) as ledger:
        ledger.snapshots.set_policy("", keep_versions=1, keep_for=timedelta(days=1), grace=NOTHING)
        for number in range(1, 6):
            overwrite(ledger, [number], format_=format_)
        ledger.snapshots.tag(ORDERS, "june", 2)
        let_pass(ledger, 5)
        kept = {path for version in (2, 5) for path in ledger.tables.view(ORDERS, version).file_paths}
        (care,) = ledger.maintenance.maintain(apply=True).tables
        assert (care.problems, care.expired, care.removed.files, care.checksums) == ([], [1, 3, 4], 3, 2)
        assert files(ledger) == kept
        assert (read(ledger), read(ledger, 2)) == ([5], [2])
        assert ledger.repair.verify(ORDERS).defects == []
        if format_ == "parquet":
            _sweep_metadata(ledger, s3)


def _sweep_metadata(ledger: Ledger, s3: S3Settings) -> None:
    table = ledger.tables.get(ORDERS)
    storage = Storage(table.location, s3)
    left = f"metadata/00000006-{clock.new_id()}-abcdef01-list.avro"
    storage.write(left, b"")
    found = published.unneeded(ledger.store, [table], s3, NOTHING, NOTHING)
    assert [file.path for file in found] == [left]
    for path in [file.path for file in found]:
        storage.remove(path)
    assert published.find(ledger.store, table, s3) is not None


def test_readers_and_writers_do_not_notice_maintenance(url: str, tmp_path: Path) -> None:
    settings = Settings(url=url, warehouse=str(tmp_path / "warehouse"), metadata="sync")
    over = threading.Event()
    with lakeledger.open(settings) as ledger:
        ledger.snapshots.set_policy("", keep_versions=1, keep_for=NOTHING, grace=NOTHING)
        expected = {put(ledger, [0]).tables[0].version: [0]}

        def write() -> None:
            with lakeledger.open(settings) as mine:
                for number in range(1, COMMITS):
                    version = overwrite(mine, [number]).tables[0].version
                    expected[version] = [number]

        def follow() -> int:
            seen = 0
            with lakeledger.open(settings) as mine:
                while not over.is_set():
                    with mine.pin(ORDERS) as view:
                        assert read(mine, view.version) == [view.version - 1]
                        seen += 1
            return seen

        def maintain() -> int:
            removed = 0
            with lakeledger.open(settings) as mine:
                while not over.is_set():
                    (care,) = mine.maintenance.maintain(apply=True).tables
                    assert care.problems == []
                    removed += care.removed.files
            return removed

        seen, removed = _while(write, [follow, maintain], over)
        assert seen > 1
        (care,) = ledger.maintenance.maintain(apply=True).tables
        assert removed + care.removed.files == COMMITS - 1
        assert read(ledger) == expected[COMMITS]
        assert files(ledger) == set(ledger.tables.view(ORDERS).file_paths)
        with catalog(ledger) as opened:
            assert opened.load_table(ORDERS).scan().to_arrow()["id"].to_pylist() == [COMMITS - 1]
        assert ledger.repair.verify(ORDERS).defects == []


def _while(work: Callable[[], None], loops: list[Callable[[], int]], over: threading.Event) -> list[int]:
    """Do the work while the others go on; what they give once it is over."""
    with ThreadPoolExecutor(1 + len(loops)) as pool:
        running = [pool.submit(each) for each in loops]
        try:
            pool.submit(work).result(120)
        finally:
            over.set()
        return [each.result(60) for each in running]
