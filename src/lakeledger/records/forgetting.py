"""Records that are older than their kind is kept: archived to Parquet if the kind says so, deleted, and noted in a record of its own."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from lakeledger import codec
from lakeledger.db import Row, Store
from lakeledger.lake.storage import Storage
from lakeledger.records import parquet, retention
from lakeledger.records.model import MetadataContext, MetadataRecord, MetadataTarget
from lakeledger.records.moving import CHUNK, PAUSE_SECONDS
from lakeledger.records.retention import Kept
from lakeledger.records.store import sql

AUDIT, PRODUCER = "records_retention", "records.v1"
ARCHIVE = "archive"
ARCHIVE_ROWS = 20_000


@dataclass(frozen=True)
class Forgotten:
    """What went, or would go, of one kind. `files` are those of moved history that went, `archived` those that were written."""

    kind: str
    days: float | None
    records: int
    files: int = 0
    archived: tuple[str, ...] = ()


def audit(gone: list[Forgotten], by: str, reason: str | None) -> MetadataRecord:
    """What went, and who asked for it, as a record that is kept for good."""
    payload = {"kinds": {each.kind: vars(each) for each in gone}, "by": by, "reason": reason}
    return MetadataRecord(MetadataTarget("records"), MetadataContext(), AUDIT, payload, PRODUCER)


@dataclass(frozen=True)
class Forgetter:
    """Deletes what is old of one tenant's records."""

    _store: Store
    _storage: Callable[[], Storage]

    def plan(self, days: float) -> list[Forgotten]:
        """How long each kind is kept, and how many of it are older."""
        with self._store.read() as tx:
            found = []
            for each in retention.kept(tx, days):
                cutoff = each.before(tx.now)
                files = tx.all(sql.old_files, kind=each.kind, cutoff=cutoff) if cutoff else []
                count = retention.count_old(tx, each.kind, cutoff) if cutoff else 0
                found.append(Forgotten(each.kind, each.days, count + sum(file["record_count"] for file in files), len(files)))
        return found

    def forget(self, days: float) -> list[Forgotten]:
        """Delete it, in small transactions; what went."""
        with self._store.read() as tx:
            kept, now = retention.kept(tx, days), tx.now
        done = [self._forget_kind(each, cutoff) for each in kept if (cutoff := each.before(now))]
        return [each for each in done if each.records or each.files]

    def _forget_kind(self, kept: Kept, cutoff: datetime) -> Forgotten:
        count, archived = 0, []
        while True:
            with self._store.read() as tx:
                rows = (
                    tx.all(sql.old_records, kind=kept.kind, cutoff=cutoff, page_size=ARCHIVE_ROWS)
                    if kept.archive
                    else retention.find_old(tx, kept.kind, cutoff, ARCHIVE_ROWS)
                )
            if not rows:
                break
            if kept.archive:
                archived.append(self._archive(kept.kind, rows))
            count += self._delete(rows)
        files, inside = self._forget_files(kept, cutoff, archived)
        return Forgotten(kept.kind, kept.days, count + inside, files, tuple(archived))

    def _archive(self, kind: str, rows: list[Row]) -> str:
        """The same records again are the same file again."""
        first, last = (codec.to_text(row["produced_at"])[:19].replace(":", "") for row in (rows[0], rows[-1]))
        path = f"{ARCHIVE}/{kind}/{first}_{last}_{rows[0]['seq']}-{rows[-1]['seq']}.parquet"
        parquet.write(self._storage(), path, rows)
        return path

    def _delete(self, rows: list[Row]) -> int:
        count = 0
        for start in range(0, len(rows), CHUNK):
            with self._store.write() as tx:
                count += retention.forget(tx, [row["seq"] for row in rows[start : start + CHUNK]])
            time.sleep(PAUSE_SECONDS)
        return count

    def _forget_files(self, kept: Kept, cutoff: datetime, archived: list[str]) -> tuple[int, int]:
        """Files of moved history in which everything is old; how many, and how many records were in them."""
        with self._store.read() as tx:
            files = tx.all(sql.old_files, kind=kept.kind, cutoff=cutoff)
        for file in files:
            if kept.archive:
                path = f"{ARCHIVE}/{file['file_path'].partition('/')[2]}"
                self._storage().replace(path, self._storage().read(file["file_path"]))
                archived.append(path)
            with self._store.write() as tx:
                tx.execute(sql.forget_file, record_file_id=file["record_file_id"])
            self._storage().remove(file["file_path"])
        return len(files), sum(file["record_count"] for file in files)
