"""History moved from the ledger to Parquet: what is old, and not the last word about its target.

A file is written, then it is known, then its records are taken out of the table in small transactions. Whoever reads meanwhile finds each
record once, by its place in the log; whoever goes on after a crash finds which file was begun.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from lakeledger import clock, codec, failpoints
from lakeledger.db import Row, Store
from lakeledger.lake.storage import Storage
from lakeledger.records import parquet
from lakeledger.records.retention import forget
from lakeledger.records.store import kinds, sql

# Records that others read where they are.
STAY = ("schema_version",)
FILE_ROWS = 50_000
PAGE = 5_000
# A writer of the tenant waits for at most so many, and gets its turn in the pause after them.
CHUNK, PAUSE_SECONDS = 500, 0.01
ORPHAN_AGE = timedelta(hours=1)
MOVED = "history"


@dataclass(frozen=True)
class Moved:
    """What a compaction moved, or would move, of one kind."""

    kind: str
    records: int
    files: int = 0
    bytes: int = 0


@dataclass(frozen=True)
class Mover:
    """Moves the history of one tenant to files below a folder."""

    _store: Store
    _storage: Callable[[], Storage]

    def count(self, cutoff: datetime) -> list[Moved]:
        """What would be moved: by kind."""
        with self._store.read() as tx:
            counted = [
                Moved(kind, int((tx.one(sql.count_movable, kind=kind, cutoff=cutoff) or {})["number"])) for kind in _movable(kinds(tx))
            ]
        return [each for each in counted if each.records]

    def move(self, cutoff: datetime) -> list[Moved]:
        """Move what is older than that; what was begun before is finished first."""
        storage = self._storage()
        with self._store.read() as tx:
            begun, found = tx.all(sql.moving_files), _movable(kinds(tx))
        for file in begun:
            self._take_out(storage, file)
        self._sweep(storage)
        moved = [self._move_kind(storage, kind, cutoff) for kind in found]
        return [each for each in moved if each.records]

    def _move_kind(self, storage: Storage, kind: str, cutoff: datetime) -> Moved:
        records = files = size = 0
        while rows := list(self._movable_rows(kind, cutoff)):
            file = _file(kind, rows)
            size += (file_size := parquet.write(storage, file["file_path"], rows))
            failpoints.reach(failpoints.COMPACTED_FILE)
            with self._store.write() as tx:
                tx.execute(sql.add_file, **file, file_size=file_size)
            failpoints.reach(failpoints.COMPACTED_KNOWN)
            self._take_out(storage, file, rows)
            records, files = records + len(rows), files + 1
        return Moved(kind, records, files, size)

    def _movable_rows(self, kind: str, cutoff: datetime) -> Iterator[Row]:
        after: dict[str, Any] = {}
        taken = 0
        while taken < FILE_ROWS:
            with self._store.read() as tx:
                rows = tx.all(sql.find_movable, kind=kind, cutoff=cutoff, page_size=min(PAGE, FILE_ROWS - taken), **after)
            if not rows:
                return
            yield from rows
            taken += len(rows)
            after = {"after_at": rows[-1]["produced_at"], "after_seq": rows[-1]["seq"]}

    def _take_out(self, storage: Storage, file: Row, rows: list[Row] | None = None) -> None:
        """Take the records of a file out of the table; those that were are not there any more."""
        inside = rows or parquet.read(storage, file["file_path"], {})
        for start in range(0, len(inside), CHUNK):
            chunk = inside[start : start + CHUNK]
            keys = [
                {"record_file_id": file["record_file_id"], **{name: row[name] for name in ("dedupe_key", "record_id", "seq")}}
                for row in chunk
            ]
            with self._store.write() as tx:
                tx.many(sql.add_moved, keys)
                forget(tx, [row["seq"] for row in chunk])
            time.sleep(PAUSE_SECONDS)
        with self._store.write() as tx:
            tx.execute(sql.file_is_moved, record_file_id=file["record_file_id"])

    def _sweep(self, storage: Storage) -> None:
        """Remove files that nobody knows: of a compaction that was killed before it said so."""
        with self._store.read() as tx:
            known, now = {row["file_path"] for row in tx.all(sql.all_files)}, tx.now
        for file in storage.files(MOVED):
            if file.path not in known and file.modified_at < now - ORPHAN_AGE:
                storage.remove(file.path)


def _movable(found: list[str]) -> list[str]:
    return [kind for kind in found if kind not in STAY]


def _file(kind: str, rows: list[Row]) -> Row:
    file_id = clock.new_id()
    times, places = [row["produced_at"] for row in rows], [row["seq"] for row in rows]
    first = codec.to_text(min(times))[:10]
    return {
        "record_file_id": file_id,
        "kind": kind,
        "file_path": f"{MOVED}/{kind}/{first}_{file_id}.parquet",
        "record_count": len(rows),
        "first_at": min(times),
        "last_at": max(times),
        "first_seq": min(places),
        "last_seq": max(places),
    }
