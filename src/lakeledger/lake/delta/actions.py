"""What stands in an entry of a Delta log: each action is one line of JSON. Nothing here reads or writes a file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any
from urllib.parse import quote, unquote

from lakeledger.lake.delta import OWNER, TABLE_ID, About, LogFile, Shape

Action = dict[str, Any]

# Others must not tidy up: a VACUUM that runs in spite of the feature finds nothing that is old enough.
OWN_PROPERTIES = {"delta.deletedFileRetentionDuration": "interval 36500 days", "delta.enableExpiredLogCleanup": "false"}


def lines(actions: Iterable[Action]) -> bytes:
    """An entry of the log."""
    return b"".join(json.dumps(action, ensure_ascii=False, separators=(",", ":")).encode() + b"\n" for action in actions)


def parse(content: bytes) -> list[Action]:
    """The actions of an entry. Raises ValueError if it is none."""
    return [json.loads(line) for line in content.splitlines() if line.strip()]


def protocol(shape: Shape) -> Action:
    """Who may read the table: whoever knows its features. And who may write: nobody but the ledger."""
    features = sorted(shape.features)
    return {
        "protocol": {
            "minReaderVersion": 3 if features else 1,
            "minWriterVersion": 7,
            **({"readerFeatures": features} if features else {}),
            "writerFeatures": [*features, OWNER],
        }
    }


def meta_data(about: About, shape: Shape) -> Action:
    """Columns and properties. Partitions are not told: readers would trust them, and not the files."""
    return {
        "metaData": {
            "id": about.log_id,
            "name": about.name,
            "format": {"provider": "parquet", "options": {}},
            "schemaString": json.dumps(shape.schema, ensure_ascii=False, separators=(",", ":")),
            "partitionColumns": [],
            "configuration": {**OWN_PROPERTIES, TABLE_ID: about.table_id, **about.properties, **shape.properties},
            "createdTime": about.created_ms,
        }
    }


def add(file: LogFile, shape: Shape, *, is_news: bool) -> Action:
    """A file that comes into the table."""
    return {
        "add": {
            "path": quote(file.path, safe="/=:@!$&'()*+,;-._~"),
            "partitionValues": {},
            "size": file.size,
            "modificationTime": file.modified_ms,
            "dataChange": is_news,
            "stats": stats(file, shape.stats),
        }
    }


def remove(path: str, size: int | None, at_ms: int, *, is_news: bool, vector: Action | None = None) -> Action:
    """A file that leaves the table, with the deletion vector that somebody else gave it."""
    return {
        "remove": {
            "path": quote(path, safe="/=:@!$&'()*+,;-._~"),
            "deletionTimestamp": at_ms,
            "dataChange": is_news,
            **({"extendedFileMetadata": True, "partitionValues": {}, "size": size} if size is not None else {}),
            **({"deletionVector": vector} if vector else {}),
        }
    }


def path_of(action: Mapping[str, Any]) -> str:
    """The path of a file that came or went, as storage knows it."""
    return unquote(str(action["path"]))


def txn(about: About, version: int, at_ms: int) -> Action:
    """Which version of the ledger the entry is."""
    return {"txn": {"appId": about.app_id, "version": version, "lastUpdated": at_ms}}


def version_in(actions: Iterable[Action], about: About) -> int | None:
    """The ledger's version that an entry is; None if the ledger did not write it."""
    mine = (action["txn"] for action in actions if "txn" in action)
    return next((int(each["version"]) for each in mine if each.get("appId") == about.app_id), None)


def commit_info(operation: str, at_ms: int, told: Mapping[str, Any], *, is_append: bool, engine: str) -> Action:
    """Where the entry comes from: `DESCRIBE HISTORY` shows it."""
    return {
        "commitInfo": {
            "timestamp": at_ms,
            "operation": operation,
            "operationParameters": {},
            "isBlindAppend": is_append,
            "engineInfo": engine,
            "userMetadata": json.dumps(told, ensure_ascii=False, separators=(",", ":")),
        }
    }


def stats(file: LogFile, types: Mapping[str, str]) -> str:
    """Rows, bounds and nulls of a file, by the names that columns have in it. Decimals are written with all their digits."""
    known = {name: bounds for name, bounds in file.bounds.items() if name in types}
    parts = [f'"numRecords":{file.rows}']
    for word, side in (("minValues", "min"), ("maxValues", "max")):
        found = {name: _bound(types[name], bounds[side], side) for name, bounds in known.items() if side in bounds}
        parts.append(f'"{word}":{{{",".join(f"{_text(name)}:{value}" for name, value in found.items() if value)}}}')
    nulls = {name: bounds["nulls"] for name, bounds in known.items() if "nulls" in bounds}
    parts.append(f'"nullCount":{json.dumps(nulls, ensure_ascii=False, separators=(",", ":"))}')
    return f"{{{','.join(parts)}}}"


def _bound(type_: str, value: Any, side: str) -> str:
    """A bound as JSON; nothing for one that is not of the column's type."""
    if type_.startswith("decimal"):
        return f"{Decimal(value):f}"
    if type_ in ("float", "double") and value == 0:
        return "-0.0" if side == "min" else "0.0"  # readers tell the two zeros of floating point apart
    if isinstance(value, str) is (type_ in ("string", "date", "timestamp", "timestamp_ntz")):
        return _text(value)
    return ""


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
