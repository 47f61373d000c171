"""What other engines see: versions that have expired leave it before their files go, and metadata that nobody needs is swept."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

from lakeledger import failpoints
from lakeledger.config import S3Settings
from lakeledger.db import Store, Transaction
from lakeledger.errors import Failed
from lakeledger.lake import Storage, StoredFile
from lakeledger.lake.delta import LOG, log
from lakeledger.lake.delta.log import VERSIONS_KEPT
from lakeledger.lake.iceberg.reach import reachable
from lakeledger.lake.iceberg.stage import METADATA, Base, drop, load, remove
from lakeledger.maintenance.policies import sql
from lakeledger.publishing import ATTEMPTS, point_hint
from lakeledger.runs import describe
from lakeledger.tables import Publication, Table, delta, publications, store
from lakeledger.tables.publications import PointerMoved

# How metadata that the ledger stages is named: version, snapshot, token. Whatever else is there is somebody else's.
_OURS = re.compile(r"\.?\d{8,}-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}-[0-9a-f]{8}-\w.*")
# Metadata that was just written is about to be pointed at, whatever the grace time.
STAGING = timedelta(minutes=15)


class Unreadable(Failed):
    """What the pointer of a table leads to is gone, or no metadata."""

    def __init__(self, table: Table, error: Exception) -> None:
        self.reason = f"it cannot be read: {describe(error)}"
        super().__init__(
            f"what is published of {table.name} cannot be read ({describe(error)}): "
            f"`lakeledger tables verify {table.name} --repair --apply` publishes it anew"
        )


@dataclass(frozen=True)
class Published:
    """What is published of a table in its place: the ledger's pointer and id of the version, and the metadata."""

    table: Table
    publication: Publication
    snapshot_id: str
    base: Base

    @property
    def versions(self) -> set[int]:
        """The versions that other engines can read."""
        return {each["sequence-number"] for each in self.base.document["snapshots"]}


def find(handle: Store, table: Table, s3: S3Settings) -> Published | None:
    """What other engines see of a table, which has its whole location; None if nothing, or if it is not where the table is.

    Raises Unreadable if the metadata is gone or spoilt.
    """
    with handle.read() as tx:
        seen = _in_place(tx, table)
        snapshot_id = store.snapshot(tx, table, seen.version).snapshot_id if seen else ""
    if seen is None or seen.metadata_location is None:
        return None
    with reading(table):
        return Published(table, seen, snapshot_id, load(Storage(table.location, s3), seen.metadata_location, table.location))


@contextmanager
def reading(table: Table) -> Iterator[None]:
    """Around whatever reads metadata of a table. Raises Unreadable."""
    try:
        yield
    except (FileNotFoundError, ValueError, KeyError, EOFError) as error:
        raise Unreadable(table, error) from error


def drop_versions(handle: Store, table: Table, versions: Container[int], s3: S3Settings) -> list[int]:
    """Let other engines no longer see versions that have expired; those that they did. Raises as `find`, or PointerMoved (retryable)."""
    storage = Storage(table.location, s3)
    for _ in range(ATTEMPTS):
        found = find(handle, table, s3)
        gone = sorted(version for version in found.versions if version in versions) if found else []
        if found is None or not gone:
            return []
        with handle.read() as tx:
            now_ms = round(tx.now.timestamp() * 1_000)
        staged = drop(storage, found.base, table.location, found.snapshot_id, set(gone), now_ms)
        failpoints.reach(failpoints.STAGED)
        try:
            with handle.write() as tx:
                publications.repoint(tx, table, staged.version, found.base.location, staged.metadata_location)
        except PointerMoved:
            remove(storage, staged.paths)
        else:
            point_hint(handle, table, table.location, staged.metadata_location, s3)
            return gone
    raise PointerMoved(table.name)


def unneeded(handle: Store, tables: Iterable[Table], s3: S3Settings, grace: timedelta, staging: timedelta = STAGING) -> list[StoredFile]:
    """The metadata files in one place that no table there needs, and that are older than the grace time; all tables of the place are given.

    Raises Unreadable if something that is published is gone.
    """
    here = list(tables)
    storage = Storage(here[0].location, s3)
    # First what is there, then what is pointed at: what is staged after the look is not looked at.
    present = storage.files(METADATA)
    with handle.read() as tx:
        pointers = [(table, seen.metadata_location) for table in here if (seen := _in_place(tx, table)) and seen.metadata_location]
        oldest = tx.now - max(grace, staging)
    old = [file for file in present if file.modified_at <= oldest and _OURS.fullmatch(file.name)]
    if not old:
        return []
    needed: set[str] = set()
    for table, pointer in pointers:
        with reading(table):
            needed |= reachable(storage, table.location, pointer)
    return [file for file in old if file.path not in needed and _checked(file) not in needed]


def unneeded_log(handle: Store, table: Table, s3: S3Settings, grace: timedelta) -> list[StoredFile]:
    """The files of a table's Delta log that no reader of a kept version needs, and what a crash left there; none if the log is not ours."""
    with handle.read() as tx:
        seen, oldest, before = delta.find(tx, table), delta.oldest(tx, table), tx.now - max(grace, STAGING)
    if seen is None or seen.delta_version is None:
        return []
    first = max(seen.delta_version if oldest is None else oldest, seen.delta_version - VERSIONS_KEPT)
    return log.unneeded(Storage(table.location, s3).files(LOG, recursive=False), first, before)


def neighbours(tx: Transaction, table: Table) -> list[Table]:
    """Every table that lives in the same place: also those whose rows were set aside. `table` has the location as it is stored."""
    return [Table(**row) for row in tx.all(sql.neighbours, location=table.location)]


def _in_place(tx: Transaction, table: Table) -> Publication | None:
    seen = store.publication(tx, table)
    return seen if seen and seen.metadata_location and publications.Surroundings().goes_on(seen, table.location) else None


def _checked(file: StoredFile) -> str:
    """The file that Hadoop's checksum file `.name.crc` is about; any other's own path."""
    parent, _, name = file.path.rpartition("/")
    return f"{parent}/{name[1:-4]}" if name.startswith(".") and name.endswith(".crc") else file.path
