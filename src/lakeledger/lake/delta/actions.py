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


# One for all: to make one for each value takes longer than to write the value.
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_AS_TEXT = ("string", "date", "timestamp", "timestamp_ntz")


def lines(actions: Iterable[Action]) -> bytes:
    """An entry of the log."""
    return b"".join(_encode(action).encode() + b"\n" for action in actions)


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
            "schemaString": _encode(shape.schema),
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
            "userMetadata": _encode(told),
        }
    }


def stats(file: LogFile, types: Mapping[str, str]) -> str:
    """Rows, bounds and nulls of a file, by the names that columns have in it. Decimals are written with all their digits."""
    known = {name: bounds for name, bounds in file.bounds.items() if name in types}
    nulls = {name: bounds["nulls"] for name, bounds in known.items() if "nulls" in bounds}
    low, high = (_bounds(known, types, side) for side in ("min", "max"))
    return f'{{"numRecords":{file.rows},"minValues":{low},"maxValues":{high},"nullCount":{_encode(nulls)}}}'


def _bounds(known: Mapping[str, Mapping[str, Any]], types: Mapping[str, str], side: str) -> str:
    """The bounds on one side as JSON, without those that are not of their column's type."""
    plain: dict[str, Any] = {}
    exact: list[str] = []
    for name, bounds in known.items():
        value, type_ = bounds.get(side), types[name]
        if value is None:
            continue
        if type_.startswith("decimal"):
            exact.append(f"{_encode(name)}:{Decimal(value):f}")
        elif isinstance(value, str) is (type_ in _AS_TEXT):
            # Readers tell the two zeros of floating point apart.
            plain[name] = (-0.0 if side == "min" else 0.0) if value == 0 and type_ in ("float", "double") else value
    parts = [_encode(plain)[1:-1], *exact] if plain else exact
    return f"{{{','.join(parts)}}}"
