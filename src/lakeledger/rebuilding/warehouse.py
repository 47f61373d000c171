"""What is in a warehouse: the published metadata of its tables, and folders that have data and no metadata. Reads, and changes nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from lakeledger.carried import CARRIES
from lakeledger.config import S3Settings
from lakeledger.errors import Failed
from lakeledger.lake import Storage, StoredFile
from lakeledger.lake.iceberg import PROPERTY, journal
from lakeledger.lake.iceberg.avro import read
from lakeledger.lake.iceberg.hint import HINT, read_hint
from lakeledger.lake.iceberg.stage import METADATA, read_document
from lakeledger.lake.storage import PARALLEL
from lakeledger.rebuilding.model import Found, Problem
from lakeledger.runs import describe
from lakeledger.tables.verify import DATA

_TENANT = re.compile(r"[a-z][a-z0-9_]{0,62}")
_SPOILT = (ValueError, KeyError, EOFError, TypeError, OSError, StopIteration, IndexError, Failed)


@dataclass
class Contents:
    """What was found: metadata, what cannot be used of it, and by tenant the folders of tables with data and without metadata."""

    found: list[Found] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    unpublished: dict[str, list[str]] = field(default_factory=dict)


def look(warehouse: str, s3: S3Settings, tenant: str | None = None) -> Contents:
    """Everything in a warehouse, or only of one tenant. Raises Invalid or Unavailable."""
    root, contents = Storage(warehouse, s3), Contents()
    for each in root.folders():
        if tenant in (None, each) and _TENANT.fullmatch(each):
            for schema in root.folders(each):
                for table in root.folders(f"{each}/{schema}"):
                    _look_at(contents, root, each, f"{schema}/{table}", s3)
    return contents


def _look_at(contents: Contents, root: Storage, tenant: str, folder: str, s3: S3Settings) -> None:
    storage = Storage(f"{root.root}/{tenant}/{folder}", s3)
    present = storage.files(METADATA, recursive=False)
    hints = [file for file in present if file.name.endswith(HINT)]
    if not hints and any(file.name.endswith(".metadata.json") for file in present):
        why = f"no {HINT} says which of it is published: an earlier release did, or somebody else"
        contents.problems.append(Problem(f"{storage.root}/{METADATA}", why))
    elif not any(file.name == HINT for file in hints) and storage.folders(DATA):
        contents.unpublished.setdefault(tenant, []).append(folder.replace("/", "."))
    for hint in hints:
        try:
            contents.found.append(_hinted(storage, tenant, hint, present))
        except _SPOILT as error:
            contents.problems.append(Problem(f"{storage.root}/{hint.path}", _why(error)))


def _why(error: Exception) -> str:
    return f"it lacks {error}" if isinstance(error, KeyError) else describe(error)


def _hinted(storage: Storage, tenant: str, hint: StoredFile, present: list[StoredFile]) -> Found:
    named = {file.path: file for file in present}
    chosen = next((path for path in read_hint(storage, hint.path) if path in named), None)
    if chosen is None:
        raise ValueError("the metadata that it names is gone")
    document = read_document(chosen, storage.read(chosen))
    _check(document, tenant)
    logged = {entry["metadata-file"].rpartition("/")[2] for entry in document["metadata-log"]}
    newer = []
    for file in present:
        is_metadata = file.name.endswith(".metadata.json") and file.path != chosen and file.name not in logged
        if is_metadata and file.modified_at >= named[chosen].modified_at:
            candidate = _candidate(storage, tenant, file.path, document)
            newer += [candidate] if candidate else []
    return _found(storage, tenant, chosen, document, newer)


def _check(document: dict[str, Any], tenant: str) -> None:
    properties = document["properties"]
    if f"{PROPERTY}.tenant" not in properties:
        raise ValueError("it is no metadata of lakeledger")
    if CARRIES not in properties:
        raise ValueError("it was published by an earlier release, and carries too little: nothing but a commit by this release adds to it")
    if properties[f"{PROPERTY}.tenant"] != tenant:
        raise ValueError(f"it is of tenant {properties[f'{PROPERTY}.tenant']}, in the folder of {tenant}: move it back")


def _candidate(storage: Storage, tenant: str, path: str, hinted: dict[str, Any]) -> Found | None:
    """Metadata that goes on from what the hint names, if it is that: nobody knows yet whether it was committed."""
    try:
        document = read_document(path, storage.read(path))
        same = document["properties"][f"{PROPERTY}.table-id"] == hinted["properties"][f"{PROPERTY}.table-id"]
        if not same or document["last-sequence-number"] <= hinted["last-sequence-number"]:
            return None
        return _found(storage, tenant, path, document, ())
    except _SPOILT:
        return None


def _found(storage: Storage, tenant: str, path: str, document: dict[str, Any], newer: Any) -> Found:
    old = document["location"]

    def get(whole: str) -> bytes:
        return storage.read(whole.removeprefix(f"{old}/"))

    def get_all(paths: list[str]) -> dict[str, list[dict[str, Any]]]:
        return dict(zip(paths, pool.map(lambda path: read(get(path)), paths), strict=True))

    noted = [path for path, _ in journal.parse(document["properties"].get(journal.JOURNAL))]
    with ThreadPoolExecutor(PARALLEL, thread_name_prefix="metadata") as pool:
        lists = get_all([each["manifest-list"] for each in document["snapshots"]])
        entries = get_all(sorted({entry["manifest_path"] for entry in chain.from_iterable(lists.values())}))
        notes = [note for content in pool.map(get, noted) for note in journal.read(content)]
    return Found(tenant, storage.root, path, document, lists, entries, notes, tuple(newer))


def data_files(place: str, s3: S3Settings) -> Iterator[StoredFile]:
    """The data files in a table's place."""
    for file in Storage(place, s3).files(DATA):
        if not file.is_bookkeeping:
            yield file
