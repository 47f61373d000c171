"""What is noted beside a table's metadata, for a ledger that is lost: many small files that become few bigger ones as they get more.

Whoever adds a note writes that note, and each is written again a few times at most: once for each power of `MERGED_AT` of what is there.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from itertools import takewhile
from typing import Any

from lakeledger import codec
from lakeledger.lake.iceberg import PROPERTY

# The property that lists the journals of a table, the oldest first, each with how often it was merged.
JOURNAL = f"{PROPERTY}.journal"
MERGED_AT = 16

# How metadata is named: version, the ledger's snapshot, a token, and what it is.
_NAMED = re.compile(r"\d{8,}-(?P<snapshot>[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})-")
_COUNTED = {
    "added_files": "added-data-files",
    "added_rows": "added-records",
    "added_bytes": "added-files-size",
    "removed_files": "deleted-data-files",
    "removed_rows": "deleted-records",
    "total_rows": "total-records",
    "total_files": "total-data-files",
    "total_bytes": "total-files-size",
}

Note = dict[str, Any]
Listed = list[tuple[str, int]]


def parse(value: str | None) -> Listed:
    """The journals that the property lists."""
    return [(path, level) for path, level in json.loads(value or "[]")]


def add(listed: Listed, notes: Iterable[Note], keep: Callable[[bytes], str], get: Callable[[str], bytes]) -> Listed:
    """The journals with these notes. `keep` writes one and gives its whole path, `get` gives what is in one."""
    made, level = list(notes), 0
    while True:
        last = list(takewhile(lambda each: each[1] == level, reversed(listed)))  # noqa: B023 - it is done within the turn
        if len(last) < MERGED_AT - 1:
            break
        listed = listed[: -len(last)]
        made = [note for path, _ in reversed(last) for note in read(get(path))] + made
        level += 1
    return [*listed, (keep(_written(made)), level)]


def version_note(snapshot: Mapping[str, Any]) -> Note:
    """What is noted of a version that leaves the metadata."""
    told: dict[str, str] = snapshot["summary"]
    version = int(told.get(f"{PROPERTY}.version", snapshot["sequence-number"]))
    at = datetime.fromtimestamp(snapshot["timestamp-ms"] / 1000, UTC)
    return {
        "op": "version",
        "snapshot_id": snapshot_of(snapshot["manifest-list"]),
        "version": version,
        "parent_version": version - 1 or None,
        "operation": told.get(f"{PROPERTY}.operation", told["operation"]),
        "summary": {**counted(told), **json.loads(told.get(f"{PROPERTY}.summary", "{}"))},
        "schema_version": snapshot["schema-id"],
        "run_id": told.get(f"{PROPERTY}.run-id", ""),
        "batch_id": told.get(f"{PROPERTY}.batch-id"),
        "trigger": told.get(f"{PROPERTY}.run-trigger", "manual"),
        "committed_at": told.get(f"{PROPERTY}.committed-at", codec.to_text(at)),
    }


def counted(told: Mapping[str, str]) -> dict[str, int]:
    """What a snapshot's summary counts, in the ledger's words."""
    return {ours: int(told.get(theirs, 0)) for ours, theirs in _COUNTED.items()}


def snapshot_of(path: str) -> str:
    """The ledger's id of the snapshot that a file of metadata is named by. Raises ValueError if it is none of ours."""
    if named := _NAMED.match(path.rpartition("/")[2]):
        return named["snapshot"]
    raise ValueError(f"{path} is not named as lakeledger names metadata")


def read(content: bytes) -> Iterator[Note]:
    """The notes of one journal. Raises ValueError, OSError or EOFError if it is spoilt."""
    for line in gzip.decompress(content).splitlines():
        yield json.loads(line)


def _written(notes: Iterable[Note]) -> bytes:
    return gzip.compress("\n".join(codec.to_json(note) for note in notes).encode(), mtime=0)
