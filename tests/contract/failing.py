"""Storage and databases that fail by chance, and a look at everything that is in storage."""

from __future__ import annotations

import errno
import json
import random
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from contract.making import rows
from iceberg_readers import catalog
from lakeledger import Ledger, publishing
from lakeledger.db import Transaction
from lakeledger.errors import Unavailable
from lakeledger.lake.iceberg.hint import hint_path
from lakeledger.lake.storage import Storage


class Faults:
    """What fails how often, from `install` until `stop`, and how often it did. `answer_lost` is of the thread's last transaction."""

    def __init__(self, seed: int, storage: float, database: float) -> None:
        self._chance = random.Random(seed)
        self._shares = {"storage": storage, "database": database}
        self._lock = threading.Lock()
        self._mine = threading.local()
        self.injected: Counter[str] = Counter()

    def stop(self) -> None:
        self._shares = {}

    @property
    def answer_lost(self) -> bool:
        return getattr(self._mine, "answer_lost", False)

    def strike(self, what: str, kind: str = "") -> bool:
        with self._lock:
            is_due = self._chance.random() < self._shares.get(what, 0.0)
            self.injected[f"{what} {kind}".strip()] += is_due
        return is_due

    def install(self, ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
        faults, database = self, type(ledger.database)
        begin = database.transaction

        class FailingStorage(Storage):
            """The real one, whose disk is full or gone now and then; what it was writing is there in part."""

            def write(self, path: str, content: bytes) -> None:
                if faults.strike("storage", "write"):
                    super().write(path, content[: len(content) // 2])
                    with self._telling(f"write {path}"):
                        raise OSError(errno.EIO, "injected")
                super().write(path, content)

            def read(self, path: str) -> bytes:
                if faults.strike("storage", "read"):
                    with self._telling(f"read {path}"):
                        raise OSError(errno.EIO, "injected")
                return super().read(path)

        @contextmanager
        def transaction(self: Any, tenant_id: str, *, write: bool) -> Iterator[Transaction]:
            faults._mine.answer_lost = False
            if faults.strike("database", "at the beginning"):
                raise Unavailable("injected: no connection")
            with begin(self, tenant_id, write=write) as tx:
                yield tx
                if write and faults.strike("database", "before the commit"):
                    raise Unavailable("injected: the connection was lost before the commit")
            if write and faults.strike("database", "after the commit"):
                faults._mine.answer_lost = True
                raise Unavailable("injected: the answer to the commit was lost")

        monkeypatch.setattr(publishing, "Storage", FailingStorage)
        monkeypatch.setattr(database, "transaction", transaction)


def in_storage(ledger: Ledger, folder: str) -> set[str]:
    """Every file below the table's folder; a checksum file of Hadoop's counts as the file it belongs to."""
    root = Path(ledger.warehouse, folder)
    found = (path.relative_to(root) for path in root.rglob("*") if path.is_file())
    return {str(path.with_name(path.name[1:-4]) if path.name.endswith(".crc") else path) for path in found}


def needed(ledger: Ledger, table: str) -> set[str]:
    """What must be in storage of a published table: the files of every version, and what other engines may read by its metadata.

    It is found by pyiceberg, which knows nothing of how the ledger looks for it.
    """
    from pyiceberg.table import StaticTable

    about = ledger.tables.get(table)
    known = rows(ledger, "select file_path from table_files where table_id = :id", id=about.table_id)
    with catalog(ledger) as opened:
        current = opened.load_table(table)
    root = f"{current.metadata.location.removeprefix('file://')}/"
    found = {current.metadata_location, *(entry.metadata_file for entry in current.metadata.metadata_log)}
    for location in list(found):
        document = current if location == current.metadata_location else StaticTable.from_metadata(location)
        found |= {path for path, _ in json.loads(document.properties.get("lakeledger.journal", "[]"))}
        for snapshot in document.snapshots():
            found.add(snapshot.manifest_list)
            found |= {manifest.manifest_path for manifest in snapshot.manifests(document.io)}
    relative = {each.removeprefix("file://").removeprefix(root) for each in found}
    return {hint_path(about.name.folder, about.location), *(row["file_path"] for row in known), *relative}
