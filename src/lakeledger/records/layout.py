"""Where records stand in a folder: `records/<kind>/<schema.table>/<time>_<run>.json`, and the lines of the log."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from datetime import datetime
from typing import Any
from urllib.parse import quote

from lakeledger import codec
from lakeledger.errors import Failed
from lakeledger.records.model import MetadataRecord

INDEX, LOG, RECORDS, SHORT_LOG, LOCK, COPIED = "index.json", "log", "records", "metadata.log", ".lock", "ledger.json"
LOG_ENDING = ".jsonl"

_LONGEST = 150
_WITHOUT_RUN = "none"


def folder_of(record: MetadataRecord) -> str:
    """The folder of what a record is about: that of its table, or of its source if it is none."""
    return f"{RECORDS}/{record.kind}/{_part(record.target.name)}"


def path_of(record: MetadataRecord, taken: Callable[[str], bool]) -> str:
    """Where a record stands. What another one has already gets a number behind it."""
    stem = f"{folder_of(record)}/{_time(record.produced_at)}_{_part(record.context.run_id or _WITHOUT_RUN)}"
    path, number = f"{stem}.json", 1
    while taken(path):
        number += 1
        path = f"{stem}_{number}.json"
    return path


def log_file(sequence: int) -> str:
    """The file of the log that begins with that record."""
    return f"{LOG}/{sequence:020d}{LOG_ENDING}"


def to_line(document: dict[str, Any]) -> bytes:
    """A line of the log: JSON without a line break in it."""
    return codec.to_json(document).encode() + b"\n"


def from_line(line: bytes, where: str) -> dict[str, Any]:
    """What a line of the log says. Raises Failed if it is none."""
    try:
        found: dict[str, Any] = json.loads(line)
    except ValueError as error:
        raise Failed(f"{where} has a line that is not JSON: {line[:80]!r}; restore the file, or take the line out") from error
    return found


def _time(at: datetime) -> str:
    """As people write it; fractions of a second only where there are any."""
    text = codec.to_text(at)
    return text.replace(".000000Z", "Z")


def _part(name: str) -> str:
    """A name as part of a path: nothing in it leads elsewhere, and different names stay different."""
    safe = quote(name, safe="._-+@=, ")
    if safe.strip(".") == "":
        safe = safe.replace(".", "%2E")
    return safe if len(safe) <= _LONGEST else f"{safe[:_LONGEST]}~{hashlib.sha256(name.encode()).hexdigest()[:12]}"
