"""Checksums of committed files, computed in the background so that no insert waits for them."""

from __future__ import annotations

import threading
from collections.abc import Mapping

from lakeledger.background import Failures
from lakeledger.config import S3Settings
from lakeledger.db import Store
from lakeledger.lake import Storage
from lakeledger.runs import describe
from lakeledger.tables.model import Table
from lakeledger.tables.store import sql

# Commits that follow each other closely are filled in together, and a run that has just committed ends undisturbed.
GATHER_SECONDS = 0.25
# How much of one commit is read back here: what a cluster wrote must not pass through the driver again.
BUDGET_BYTES = 64 << 20
# How long whoever closes the ledger waits, and how many files are read between two looks whether it was closed.
CLOSE_SECONDS = 2.0
# How long the thread waits for more to do before it ends; the next commit begins another.
IDLE_SECONDS = 60.0
FILES_AT_A_TIME = 32


class Checksums:
    """One background thread that fills in what is missing. Whatever it leaves out loses nothing: `verify` fills in the rest."""

    def __init__(self, store: Store, failures: Failures, s3: S3Settings) -> None:
        self._store = store
        self._s3 = s3
        self._failures = failures
        self._changed = threading.Condition()
        self._waiting: list[tuple[Table, list[str]]] = []
        self._busy = False
        self._in_a_hurry = False
        self._closed = False
        self._thread: threading.Thread | None = None

    def submit(self, table: Table, sizes: Mapping[str, int]) -> None:
        """Have these files' checksums computed soon, those of small files first, as far as the budget goes."""
        paths = within(BUDGET_BYTES, sizes)
        with self._changed:
            if self._closed or not paths:
                return
            self._waiting.append((table, paths))
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="checksums", daemon=True)
                self._thread.start()
            self._changed.notify_all()

    def drain(self) -> None:
        """Wait until nothing is left to do."""
        with self._changed:
            self._in_a_hurry = True
            self._changed.notify_all()
            self._changed.wait_for(lambda: not self._waiting and not self._busy)
            self._in_a_hurry = False

    def close(self) -> None:
        """Finish what can be finished soon, and stop."""
        with self._changed:
            self._in_a_hurry = True
            self._changed.notify_all()
            self._changed.wait_for(lambda: not self._waiting and not self._busy, CLOSE_SECONDS)
            self._closed, self._waiting = True, []
            idle = not self._busy
            thread = self._thread
            self._changed.notify_all()
        if thread and idle:
            thread.join()

    def _work(self) -> None:
        while work := self._next():
            for table, paths in work:
                try:
                    for start in range(0, len(paths), FILES_AT_A_TIME):
                        if not self._closed:
                            fill_in(self._store, table, paths[start : start + FILES_AT_A_TIME], self._s3)
                except Exception as error:  # noqa: BLE001 - the outermost loop of the background: it must go on
                    told = f"the checksums of {table.location} could not be computed: {describe(error)}; `lakeledger tables verify` does it"
                    if not self._closed:
                        self._failures.report(table.table_id, told, error)
                else:
                    self._failures.clear(table.table_id)

    def _next(self) -> list[tuple[Table, list[str]]]:
        """What has come together, or nothing once this is closed."""
        with self._changed:
            self._busy = False
            self._changed.notify_all()
            if not self._changed.wait_for(lambda: self._waiting or self._closed, IDLE_SECONDS):
                self._thread = None
                return []
            self._changed.wait_for(lambda: self._in_a_hurry or self._closed, GATHER_SECONDS)
            work, self._waiting = self._waiting, []
            self._busy = bool(work)
        return _by_table(work)


def within(budget: int, sizes: Mapping[str, int]) -> list[str]:
    """As many files as fit into that many bytes."""
    total, chosen = 0, []
    for path, size in sorted(sizes.items(), key=lambda item: item[1]):
        total += size
        if total > budget:
            break
        chosen.append(path)
    return chosen


def fill_in(store: Store, table: Table, paths: list[str], s3: S3Settings) -> None:
    """Compute and keep the checksums of these files; one that is gone meanwhile is left to `verify`."""
    found = [(path, checksum) for path, checksum in Storage(table.location, s3).checksums(paths) if checksum]
    with store.write() as tx:
        tx.many(sql.set_checksum, ({"table_id": table.table_id, "file_path": path, "checksum": checksum} for path, checksum in found))


def _by_table(work: list[tuple[Table, list[str]]]) -> list[tuple[Table, list[str]]]:
    tables = {table.table_id: table for table, _ in work}
    return [(table, [path for each, paths in work if each.table_id == key for path in paths]) for key, table in tables.items()]
