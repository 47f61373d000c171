"""Records as files: a JSON document for each, an append-only log, a catalog; in a folder or in an object store.

A record is kept once its line is in the log. Its file is written before that, and the catalog after it; both can be made again from
the log. Whoever reads follows the log, so it sees a record whole or not at all.
"""

from __future__ import annotations

import json
import os
import threading
import time
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from heapq import merge
from itertools import islice
from pathlib import Path
from typing import Any

from lakeledger import codec, failpoints, locations
from lakeledger.config import S3Settings
from lakeledger.db import Store, pages
from lakeledger.db.pages import Page
from lakeledger.errors import Failed
from lakeledger.lake.storage import Storage
from lakeledger.records import Stored, layout, parquet, retention, store
from lakeledger.records.file_index import Entry, Index
from lakeledger.records.file_log import Line, Place, open_log
from lakeledger.records.forgetting import Forgotten
from lakeledger.records.model import MetadataRecord, Target, check_kind, chunks
from lakeledger.records.moving import Moved
from lakeledger.records.query import MetadataQuery
from lakeledger.records.retention import Kept
from lakeledger.records.store import NEWEST, of_row

CHUNK = 1_000
# The catalog is for others to read: writing it takes at most this share of the time.
CATALOG_SHARE = 0.1
MARK_EVERY = 1_000
FILE_ROWS = 5_000
_BEGINNING = (0, "", 0)
_DEFAULT_TENANT = "default"
_CANNOT_APPEND = (*locations.REMOTE, "dbfs")


class FileRepository:
    """The records of one tenant in a folder: that of the URL, or `tenants/<tenant>` in it."""

    def __init__(self, url: str, store: Store, s3: S3Settings | None = None) -> None:
        """Open it. The ledger's store says whose records they are, and how long their kinds are kept."""
        root, tenant = locations.normal(url), store.tenant_id
        self._store = store
        self._storage = Storage(root if tenant == _DEFAULT_TENANT else f"{root}/tenants/{tenant}", s3 or S3Settings())
        can_append = locations.scheme_of(root) not in _CANNOT_APPEND and not root.startswith("/Volumes/")
        self._log = open_log(self._storage, can_append=can_append)
        self._is_local = can_append
        self._index = Index()
        self._read_to = Place()
        self._marks = [_BEGINNING]  # where some records stand in the log, so that it is not read from its beginning
        self._lock = threading.RLock()
        self._catalog_cost, self._catalog_at, self._catalog_sequence = 0.0, 0.0, 0

    def store(self, record: MetadataRecord) -> MetadataRecord:
        with self._lock, self._log.locked():
            self._follow()
            if self._add([record]):
                self._write_catalog()
                return replace(record, sequence=self._index.sequence, verbatim=True)
            return self._load(self._index.same(record))

    def bulk_store(self, records: Iterable[MetadataRecord]) -> Stored:
        stored = total = 0
        for chunk in chunks(records, CHUNK):
            with self._lock, self._log.locked():
                self._follow()
                stored += self._add(chunk)
            total += len(chunk)
            failpoints.reach(failpoints.RECORD_CHUNK)
        with self._lock:
            self._write_catalog(at_once=True)
        return Stored(stored, total - stored)

    def latest(self, target: Target | None = None, kind: str | None = None) -> MetadataRecord | None:
        kind = check_kind(kind)
        with self._lock:
            self._follow()
            found = self._index.latest(target, kind)
        return self._load(found) if found else None

    def history(
        self,
        target: Target | None = None,
        kind: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        limit: int | None = 100,
        after: str | None = None,
    ) -> Page[MetadataRecord]:
        return self.query(MetadataQuery(target, [check_kind(kind)], since=since, until=until, limit=limit, after=after))

    def query(self, query: MetadataQuery) -> Page[MetadataRecord]:
        with self._lock:
            self._follow()
            wanted = query.kinds or self._index.kinds()
            place = pages.parse(query.after, NEWEST)
            after = (codec.to_text(place["produced_at"]), place["seq"]) if place else None
            of_kinds = [
                self._index.newest_first(query.target, kind, query.since, query.until, after)  # type: ignore[arg-type]
                for kind in dict.fromkeys(wanted)
            ]
            entries = merge(*of_kinds, key=lambda entry: entry[:2], reverse=True)
            found = self._matching(query, entries)
            taken = list(found if query.limit is None else islice(found, query.limit + 1))
        if query.limit is None or len(taken) <= query.limit:
            return Page(taken)
        last = taken[query.limit - 1]
        return Page(taken[: query.limit], pages.place([last.produced_at, last.sequence]))

    def log(self, after: int = 0, limit: int | None = 1_000, kind: str | None = None) -> list[MetadataRecord]:
        with self._lock:
            self._follow()
            return list(islice(self._logged(after, kind), limit))

    def head(self) -> int:
        with self._lock:
            self._follow()
            return self._index.sequence

    def close(self) -> None:
        with self._lock:
            self._write_catalog(at_once=True)

    def copied(self) -> int:
        """Up to where in its log a ledger was copied."""
        try:
            return int(json.loads(self._storage.read(layout.COPIED))["sequence"])
        except FileNotFoundError:
            return 0

    def note_copied(self, sequence: int) -> None:
        """Remember up to where it was."""
        self._storage.replace(layout.COPIED, layout.to_line({"sequence": sequence, "ledger": self._store.database.url}))

    def rebuild(self) -> int:
        """Make the index and the catalog anew from the log, and the files that are missing; how many records there are."""
        with self._lock, self._log.locked():
            self._index, self._read_to, self._marks = Index(), Place(), [_BEGINNING]
            count = 0
            for line in self._log.read(self._read_to):
                document = self._take_in(line)
                if document is not None:
                    count += 1
                    if not self._storage.has(document["path"]):
                        self._write_record(document)
            self._write_catalog(at_once=True)
        return count

    def _follow(self) -> None:
        """Take in what others have added to the log."""
        for line in self._log.read(self._read_to):
            self._take_in(line)

    def _take_in(self, line: Line) -> dict[str, Any] | None:
        document = layout.from_line(line.content, f"{self._storage.root}/{line.path}")
        if "record_id" not in document:
            self._index.sequence = document["sequence"]
            if "moved" in document:
                self._index.move(document["file"], document["moved"])
            elif "forgotten" in document:
                self._index.forget(document["forgotten"], document["before"])
            return None
        self._index.add(document, line.path, line.offset)
        if document["sequence"] >= self._marks[-1][0] + MARK_EVERY:
            self._marks.append((document["sequence"], line.path, line.offset))
        return document

    def _add(self, records: Sequence[MetadataRecord]) -> int:
        """Write files, then the log: from then on they are kept. How many were new."""
        documents: list[dict[str, Any]] = []
        seen: set[str] = set()
        taken: set[str] = set()
        for record in records:
            if record.dedupe_key in seen or self._index.has(record):
                continue
            path = layout.path_of(record, lambda path: path in taken or self._index.is_taken(path))
            seen.add(record.dedupe_key)
            taken.add(path)
            documents.append(_document(record, self._index.sequence + 1 + len(documents), path))
        if not documents:
            return 0
        for document in documents:
            self._write_record(document)
        failpoints.reach(failpoints.RECORD_FILES)
        lines, short = [layout.to_line(each) for each in documents], [layout.to_line(_short(each)) for each in documents]
        self._log.append(documents[0]["sequence"], lines, short)
        self._follow()
        return len(documents)

    def _write_record(self, document: dict[str, Any]) -> None:
        content = layout.to_line({name: value for name, value in document.items() if name not in _OF_THE_LOG})
        if not self._is_local:
            self._storage.write(document["path"], content)
            return
        # There at once and whole. Should the power fail before it is on the disk for good, the log has it.
        whole = Path(self._storage.inner(document["path"]))
        part = whole.with_name(f".{whole.name}.{os.getpid():08x}.lakeledger-tmp")
        try:
            part.write_bytes(content)
        except FileNotFoundError:
            whole.parent.mkdir(parents=True, exist_ok=True)
            part.write_bytes(content)
        part.replace(whole)

    def _load(self, entry: Entry) -> MetadataRecord:
        """A record from its file, or if that is gone or broken from the log; what was moved is there, too, as long as the log has it."""
        if (moved := self._index.moved.get(entry.sequence)) is not None:
            return self._load_moved(entry, moved)
        try:
            content = self._storage.read(entry.path)
            document = layout.from_line(content, f"{self._storage.root}/{entry.path}")
        except (FileNotFoundError, Failed):
            document = layout.from_line(self._log.line_at(entry.log_path, entry.log_offset), f"{self._storage.root}/{entry.log_path}")
        return _record(document)

    def _load_moved(self, entry: Entry, path: str) -> MetadataRecord:
        try:
            return _record(layout.from_line(self._log.line_at(entry.log_path, entry.log_offset), f"{self._storage.root}/{entry.log_path}"))
        except (FileNotFoundError, Failed):
            return of_row(parquet.read_log(self._storage, path, entry.sequence - 1, entry.sequence)[0])

    def compact(self, cutoff: datetime, *, dry_run: bool = True) -> list[Moved]:
        before, found = codec.to_text(cutoff), []
        with self._lock:
            self._follow()
            kinds = self._index.kinds()
            if dry_run:
                return [Moved(kind, count) for kind in kinds if (count := len(self._index.movable(kind, before)))]
        for kind in kinds:
            with self._lock, self._log.locked():
                self._follow()
                self._sweep(kind)
            moved = Moved(kind, 0)
            while part := self._move_some(kind, before):
                moved = Moved(kind, moved.records + part.records, moved.files + 1, moved.bytes + part.bytes)
            found.append(moved)
        return [each for each in found if each.records]

    def _move_some(self, kind: str, before: str) -> Moved | None:
        """Move records to one file, while nobody else writes: it is written, then the log says so, then theirs go."""
        with self._lock, self._log.locked():
            self._follow()
            entries = self._index.movable(kind, before)[:FILE_ROWS]
            if not entries:
                return None
            rows = [{**store.columns(record), "seq": record.sequence, **_documents(record)} for record in map(self._load, entries)]
            times = [entry.at[:19].replace(":", "") for entry in (entries[0], entries[-1])]
            path = f"{layout.RECORDS}/{kind}/{times[0]}_{times[1]}_{entries[0].sequence}.parquet"
            size = parquet.write(self._storage, path, rows)
            failpoints.reach(failpoints.COMPACTED_FILE)
            self._note({"file": path, "kind": kind, "moved": [entry.sequence for entry in entries]})
            failpoints.reach(failpoints.COMPACTED_KNOWN)
            for entry in entries:
                self._storage.remove(entry.path)
            return Moved(kind, len(entries), 1, size)

    def forget(self, days: float, *, dry_run: bool = True) -> list[Forgotten]:
        with self._store.read() as tx:
            registered, now = {row["kind"]: row for row in tx.all(store.sql.latest_kinds)}, tx.now
        with self._lock:
            self._follow()
            kinds = self._index.kinds()
        found = []
        for kept in (retention.kept_as(kind, registered.get(kind), days) for kind in kinds):
            cutoff = kept.before(now)
            found.append(
                Forgotten(kept.kind, kept.days, 0) if cutoff is None else self._forget_kind(kept, codec.to_text(cutoff), dry_run=dry_run)
            )
        return found if dry_run else [each for each in found if each.records]

    def _forget_kind(self, kept: Kept, before: str, *, dry_run: bool) -> Forgotten:
        with self._lock, self._log.locked():
            self._follow()
            old = self._index.old(kept.kind, before)
            if dry_run or not old:
                return Forgotten(kept.kind, kept.days, len(old))
            archived = []
            if kept.archive:
                rows = [{**store.columns(record), "seq": record.sequence, **_documents(record)} for record in map(self._load, old)]
                archived.append(f"archive/{kept.kind}/{before[:10]}_{old[0].sequence}-{old[-1].sequence}.parquet")
                parquet.write(self._storage, archived[0], rows)
            files = set(self._index.files)
            self._note({"forgotten": kept.kind, "before": before})
            self._sweep(kept.kind)
            self._log.drop(self._index.log_paths())
            self._write_catalog(at_once=True)
            return Forgotten(kept.kind, kept.days, len(old), len(files - set(self._index.files)), tuple(archived))

    def _note(self, document: dict[str, Any]) -> None:
        """Say something in the log that is no record, and has a place in it, too."""
        sequence = self._index.sequence + 1
        self._log.append(sequence, [layout.to_line({"sequence": sequence, **document})], [])
        self._follow()

    def _sweep(self, kind: str) -> None:
        """Remove files of a kind that the log knows nothing of: what was moved or forgotten, and what a killed writer left."""
        for file in self._storage.files(f"{layout.RECORDS}/{kind}"):
            if not self._index.is_taken(file.path) and file.path not in self._index.files:
                self._storage.remove(file.path)

    def _matching(self, query: MetadataQuery, entries: Iterator[Entry]) -> Iterator[MetadataRecord]:
        for entry in entries:
            if query.run_id not in (None, entry.run_id) or query.job_id not in (None, entry.job_id):
                continue
            if query.producer_id not in (None, entry.producer_id):
                continue
            record = self._load(entry)
            if query.matches(record):
                yield record

    def _logged(self, after: int, kind: str | None) -> Iterator[MetadataRecord]:
        mark = self._marks[bisect_right(self._marks, (after + 1, chr(0x10FFFF))) - 1]
        for line in self._log.read(Place(*mark[1:])):
            document = layout.from_line(line.content, f"{self._storage.root}/{line.path}")
            if document["sequence"] > after and self._index.is_live(document) and kind in (None, document["kind"]):
                yield _record(document)

    def _write_catalog(self, *, at_once: bool = False) -> None:
        """Say what there is, unless that would take too much of the time."""
        began = time.monotonic()
        if self._index.sequence == self._catalog_sequence:
            return
        if not at_once and began - self._catalog_at < self._catalog_cost / CATALOG_SHARE:
            return
        self._storage.replace(layout.INDEX, layout.to_line(self._index.catalog()))
        self._catalog_at = time.monotonic()
        self._catalog_cost, self._catalog_sequence = self._catalog_at - began, self._index.sequence


_OF_THE_LOG = ("path", "name_key", "target_key")


def _document(record: MetadataRecord, sequence: int, path: str) -> dict[str, Any]:
    """A record as a line of the log: with where its file is, and what its target is matched by."""
    keys = {"path": path, "name_key": record.target.name_key, "target_key": record.target.key}
    return {**record.to_dict(), "sequence": sequence, **keys}


def _documents(record: MetadataRecord) -> dict[str, Any]:
    """The parts of a record that are documents, as they are and not as text."""
    parts = {"target_extras": record.target.extras, "context_extras": record.context.extras}
    return {**parts, "payload": record.payload, "quality": record.quality, "extras": record.extras}


def _short(document: dict[str, Any]) -> dict[str, Any]:
    """What `metadata.log` says of a record: where it is."""
    target = document["target"]
    name = ".".join(part for part in (target["schema"], target["table"]) if part) or target["source_id"]
    said = {name: document[name] for name in ("sequence", "kind", "produced_at", "producer_id", "record_id")}
    return {**said, "target": name, "record": document["path"]}


def _record(document: dict[str, Any]) -> MetadataRecord:
    known = {name: value for name, value in document.items() if name not in _OF_THE_LOG}
    return MetadataRecord.from_dict(known, verbatim=True)
