"""The log of a Delta table in storage: entries that are put once, checkpoints of them, what the log says now, and what of it is old."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, Any

from lakeledger.lake.delta import LOG, TABLE_ID
from lakeledger.lake.delta.actions import Action, parse, path_of
from lakeledger.lake.storage import TEMPORARY, Storage, StoredFile

if TYPE_CHECKING:
    import pyarrow as pa

# Versions that readers find in the log at most, however many the ledger keeps.
VERSIONS_KEPT = 1_000
ROWS_AT_A_TIME = 5_000

_ENTRY = re.compile(r"(\d{20})\.json")
_CHECKPOINT = re.compile(r"(\d{20})\.checkpoint\.parquet")
_MAPS = ("partitionValues", "configuration", "options")
_LAST = f"{LOG}/_last_checkpoint"


def entry_path(version: int) -> str:
    """Where that version's entry is, relative to the table."""
    return f"{LOG}/{version:020}.json"


def checkpoint_path(version: int) -> str:
    """Where the checkpoint at that version is."""
    return f"{LOG}/{version:020}.checkpoint.parquet"


def read(storage: Storage, version: int) -> list[Action]:
    """An entry. Raises FileNotFoundError, or ValueError if it is none."""
    return parse(storage.read(entry_path(version)))


def newest(storage: Storage) -> int | None:
    """The newest version in the log; None if there is no log."""
    return max(_numbers(storage.files(LOG, recursive=False), _ENTRY, _CHECKPOINT), default=None)


@dataclass
class State:
    """What the log says at a version: which files are live, with the deletion vectors that others gave them, and the table's metadata."""

    version: int
    live: dict[str, Action | None] = field(default_factory=dict)
    metadata: Action = field(default_factory=dict)

    @property
    def table_id(self) -> str | None:
        """The ledger's table that the log was begun for; None if it is somebody else's."""
        found = (self.metadata.get("configuration") or {}).get(TABLE_ID)
        return str(found) if found else None

    def take(self, action: Action) -> None:
        if came := action.get("add"):
            self.live[path_of(came)] = came.get("deletionVector")
        elif gone := action.get("remove"):
            path = path_of(gone)
            if self.live.get(path, ...) == gone.get("deletionVector"):
                del self.live[path]
        elif told := action.get("metaData"):
            self.metadata = told


def replay(storage: Storage) -> State | None:
    """What the log says now; None if there is none. Raises FileNotFoundError or ValueError if it cannot be read without Delta."""
    files = storage.files(LOG, recursive=False)
    entries = sorted(_numbers(files, _ENTRY))
    start = max(_numbers(files, _CHECKPOINT), default=-1)
    if not entries and start < 0:
        return None
    state = State(max([*entries, start]))
    if start >= 0:
        for action in _checkpointed(storage, start):
            state.take(action)
    for version in range(start + 1, state.version + 1):
        actions = read(storage, version)
        # What leaves comes first: the same file may come back with another deletion vector.
        for action in sorted(actions, key=lambda each: "add" in each):
            state.take(action)
    return state


def write_checkpoint(storage: Storage, version: int, told: Sequence[Action], files: Iterable[Action]) -> None:
    """Write what the log says at that version as one file, so that readers need no entry before it, and say so."""
    import pyarrow as pa
    from pyarrow import parquet

    schema, count, buffer = _checkpoint_schema(), len(told), io.BytesIO()
    with parquet.ParquetWriter(buffer, schema, compression="snappy") as writer:
        writer.write_table(pa.Table.from_pylist([_pairs(action) for action in told], schema))
        left = iter(files)
        while some := [_pairs(action) for action in islice(left, ROWS_AT_A_TIME)]:
            writer.write_table(pa.Table.from_pylist(some, schema))
            count += len(some)
    storage.replace(checkpoint_path(version), buffer.getvalue())
    storage.replace(_LAST, json.dumps({"version": version, "size": count, "sizeInBytes": buffer.tell()}).encode())


def unneeded(files: Sequence[StoredFile], oldest: int, before: datetime) -> list[StoredFile]:
    """Of the files of a log those that no reader of that version or a later one needs, and what a crash left; none younger than `before`.

    A version is read from the last checkpoint before it on: so much of the log stays.
    """
    start = max((number for number in _numbers(files, _CHECKPOINT) if number <= oldest), default=0)
    return [file for file in files if file.modified_at <= before and (_is_older(file, start) or TEMPORARY.fullmatch(file.name))]


def _is_older(file: StoredFile, start: int) -> bool:
    found = _ENTRY.fullmatch(file.name) or _CHECKPOINT.fullmatch(file.name)
    return bool(found) and int(file.name[:20]) < start


def _numbers(files: Iterable[StoredFile], *patterns: re.Pattern[str]) -> Iterator[int]:
    return (int(found[1]) for file in files for pattern in patterns if (found := pattern.fullmatch(file.name)))


def _checkpointed(storage: Storage, version: int) -> Iterator[Action]:
    from pyarrow import parquet

    with parquet.ParquetFile(io.BytesIO(storage.read(checkpoint_path(version)))) as opened:
        names = [name for name in ("add", "metaData") if name in opened.schema_arrow.names]
        for batch in opened.iter_batches(ROWS_AT_A_TIME, columns=names):
            for row in batch.to_pylist():
                if row.get("metaData"):
                    told = row["metaData"]
                    row["metaData"] = {**told, "configuration": dict(told.get("configuration") or [])}
                yield {name: value for name, value in row.items() if value is not None}


def _pairs(told: Action) -> Action:
    """An action whose maps are as pyarrow takes them."""
    return {
        name: list(value.items()) if name in _MAPS else _pairs(value) if isinstance(value, dict) else value for name, value in told.items()
    }


def _checkpoint_schema() -> pa.Schema:
    import pyarrow as pa

    text, number, texts = pa.string(), pa.int64(), pa.map_(pa.string(), pa.string())
    words = pa.list_(pa.string())
    parts: dict[str, dict[str, Any]] = {
        "txn": {"appId": text, "version": number, "lastUpdated": number},
        "add": {
            "path": text,
            "partitionValues": texts,
            "size": number,
            "modificationTime": number,
            "dataChange": pa.bool_(),
            "stats": text,
        },
        "remove": {"path": text, "deletionTimestamp": number, "dataChange": pa.bool_()},
        "metaData": {
            "id": text,
            "name": text,
            "format": pa.struct([("provider", text), ("options", texts)]),
            "schemaString": text,
            "partitionColumns": words,
            "configuration": texts,
            "createdTime": number,
        },
        "protocol": {"minReaderVersion": pa.int32(), "minWriterVersion": pa.int32(), "readerFeatures": words, "writerFeatures": words},
    }
    return pa.schema([(name, pa.struct(list(fields.items()))) for name, fields in parts.items()])
