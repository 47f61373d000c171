"""Checksums of committed files, computed in the background so that no insert waits for them."""

from __future__ import annotations

import threading
from concurrent.futures import Future, ThreadPoolExecutor, wait

from lakeledger.db import Store
from lakeledger.lake import Storage
from lakeledger.tables.model import Table
from lakeledger.tables.store import sql


class Checksums:
    """One background thread that fills in what is missing. A crash loses nothing: `verify` fills in the rest."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._pool: ThreadPoolExecutor | None = None
        self._lock = threading.Lock()
        self._pending: set[Future[None]] = set()

    def submit(self, table: Table, paths: list[str]) -> None:
        """Have these files' checksums computed soon."""
        if not paths:
            return
        with self._lock:
            self._pool = self._pool or ThreadPoolExecutor(1, thread_name_prefix="checksums")
            future = self._pool.submit(fill_in, self._store, table, paths)
            self._pending.add(future)
        future.add_done_callback(self._pending.discard)

    def drain(self) -> None:
        """Wait until nothing is left to do."""
        wait(set(self._pending))

    def close(self) -> None:
        """Finish what was submitted and stop."""
        if self._pool:
            self._pool.shutdown(wait=True)


def fill_in(store: Store, table: Table, paths: list[str]) -> None:
    """Compute and keep the checksums of these files; one that is gone meanwhile is left to `verify`."""
    found = [(path, checksum) for path, checksum in Storage(table.location).checksums(paths) if checksum]
    with store.write() as tx:
        tx.many(sql.set_checksum, ({"table_id": table.table_id, "file_path": path, "checksum": checksum} for path, checksum in found))
