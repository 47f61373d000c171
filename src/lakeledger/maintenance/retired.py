"""Retired files that no kept version needs: marked first, removed from storage after a grace time, and then forgotten.

Versions never come back, so what is marked once stays removable; a crash anywhere leaves work for the next time, and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta
from typing import Any

from lakeledger import failpoints, records
from lakeledger.db import Row, Store, Transaction
from lakeledger.lake import Storage
from lakeledger.maintenance.model import Amount
from lakeledger.maintenance.planning import gaps
from lakeledger.maintenance.policies import sql
from lakeledger.tables import Table, store

# So many files are dealt with in one transaction, and are named by one record.
FILES_AT_A_TIME = 500
PRODUCER = "maintenance.v1"
REMOVAL = "file_removal"

Progress = Callable[[int], None]


def count_removable(handle: Store, table: Table, kept: Iterable[int]) -> Amount:
    """The files that none of these versions needs and that are not marked yet."""
    total = Amount()
    with handle.read() as tx:
        for low, high in gaps(kept):
            row = tx.one(sql.count_retired_between, table_id=table.table_id, low=low, high=high) or {}
            total = Amount(total.files + int(row["files"]), total.bytes + int(row["bytes"]))
    return total


def mark_removable(handle: Store, table: Table, kept: Iterable[int]) -> Iterator[Amount]:
    """Mark the files that none of these versions needs, some at a time: from now on no version needs them."""
    for low, high in gaps(kept):
        while True:
            with handle.write() as tx:
                chosen = {"table_id": table.table_id, "low": low, "high": high, "page_size": FILES_AT_A_TIME}
                found = tx.all(sql.retired_between, **chosen)
                tx.execute(sql.mark_files, ids=[file["id"] for file in found])
            if not found:
                break
            failpoints.reach(failpoints.MARKED)
            yield Amount(len(found), sum(file["file_size"] for file in found))


def mark(handle: Store, file_id: str) -> None:
    """From now on no version needs that file."""
    with handle.write() as tx:
        tx.execute(sql.mark_files, ids=[file_id])


def find_marked(handle: Store, table: Table) -> Iterator[tuple[list[Row], datetime]]:
    """The files that are marked, some at a time, and the time of the look."""
    after: dict[str, Any] = {}
    while True:
        with handle.read() as tx:
            found, now = tx.all(sql.marked_files, table_id=table.table_id, page_size=FILES_AT_A_TIME, **after), tx.now
        if not found:
            return
        yield found, now
        after = {"after_since": found[-1]["removable_since"], "after_id": found[-1]["id"]}


def over(files: list[Row], now: datetime, grace: timedelta) -> list[Row]:
    """Those of the marked whose grace time is over."""
    return [file for file in files if file["removable_since"] <= now - grace]


def remove(handle: Store, storage: Storage, table: Table, location: str, files: list[Row], run_id: str) -> None:
    """Remove files from storage, and then from the registry, with a record of them. Raises Failed or Unavailable if one cannot be removed.

    `location` is the table's as it is stored: a file that another table in the same place knows is only forgotten, and so is one that
    somebody else wrote before the table was registered.
    """
    with handle.read() as tx:
        shared = {row["file_path"] for row in tx.all(sql.needed_elsewhere, table_id=table.table_id, location=location, paths=_paths(files))}
        known = store.metadata(tx, table)
    theirs = known.adopted_version if known else None
    ours = [file for file in files if file["added_version"] != theirs]
    for _ in storage.remove_all(path for path in _paths(ours) if path not in shared):
        pass
    failpoints.reach(failpoints.REMOVED)
    with handle.write() as tx:
        tx.execute(sql.forget_files, ids=[file["id"] for file in files])
        if ours:
            note_removal(tx, table, run_id, "retired", [(file["file_path"], file["file_size"]) for file in ours])


def note_removal(tx: Transaction, table: Table, run_id: str, why: str, files: list[tuple[str, int]]) -> None:
    """Keep which files were removed, and in which run."""
    target = records.MetadataTarget("maintenance", table.schema_name, table.table_name)
    payload = {"reason": why, "files": len(files), "bytes": sum(size for _, size in files), "paths": [path for path, _ in files]}
    context = records.MetadataContext("maintenance", run_id, tx.tenant_id)
    records.add(tx, records.MetadataRecord(target, context, REMOVAL, payload, PRODUCER, produced_at=tx.now, verbatim=True))


def _paths(files: list[Row]) -> list[str]:
    return [file["file_path"] for file in files]
