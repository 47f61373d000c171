"""Manifests and manifest lists: Avro files with the field ids that Iceberg gives their columns."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from lakeledger.lake.iceberg.values import PARTITION_TYPES, partition_type

Entry = dict[str, Any]

EXISTING, ADDED, DELETED = 0, 1, 2
# Bytes of one block: some hundred entries, so that readers need not begin anew for each.
BLOCK_BYTES = 256_000


def write_manifest(entries: Sequence[Entry], schema: Entry, spec: Entry) -> bytes:
    """A manifest of files that all have that partition spec."""
    about = {
        "schema": json.dumps(schema),
        "schema-id": str(schema["schema-id"]),
        "partition-spec": json.dumps(spec["fields"]),
        "partition-spec-id": str(spec["spec-id"]),
        "format-version": "2",
        "content": "data",
    }
    types = {field["id"]: field["type"] for field in schema["fields"]}
    return _write(_manifest(spec, types), entries, about)


def write_list(manifests: Sequence[Entry], snapshot_id: int, parent_id: int | None, sequence_number: int) -> bytes:
    """The list of a snapshot's manifests."""
    about = {
        "snapshot-id": str(snapshot_id),
        "parent-snapshot-id": "null" if parent_id is None else str(parent_id),
        "sequence-number": str(sequence_number),
        "format-version": "2",
    }
    return _write(_LIST, manifests, about)


def read(content: bytes) -> list[Entry]:
    """The records of a file."""
    import fastavro

    return list(fastavro.reader(io.BytesIO(content)))  # type: ignore[arg-type]  # each is a record


def _write(schema: Entry, records: Iterable[Entry], about: Mapping[str, str]) -> bytes:
    import fastavro

    file = io.BytesIO()
    fastavro.writer(file, schema, records, codec="deflate", metadata=dict(about), sync_interval=BLOCK_BYTES)
    return file.getvalue()


def _field(id_: int, name: str, type_: Any, *, optional: bool = False) -> Entry:
    return (
        {"name": name, "type": ["null", type_], "default": None, "field-id": id_}
        if optional
        else {"name": name, "type": type_, "field-id": id_}
    )


def _map(key_id: int, value_id: int, value: str) -> Entry:
    """A map whose keys are numbers, which Avro does not have."""
    fields = [_field(key_id, "key", "int"), _field(value_id, "value", value)]
    return {"type": "array", "logicalType": "map", "items": {"type": "record", "name": f"k{key_id}_v{value_id}", "fields": fields}}


def _manifest(spec: Entry, types: Mapping[int, Any]) -> Entry:
    partition = [
        _field(each["field-id"], each["name"], PARTITION_TYPES[partition_type(each, types)], optional=True) for each in spec["fields"]
    ]
    # What may be missing is written as empty: to try which of two types a value has would take longer than to write it.
    file = [
        _field(134, "content", "int"),
        _field(100, "file_path", "string"),
        _field(101, "file_format", "string"),
        _field(102, "partition", {"type": "record", "name": "r102", "fields": partition}),
        _field(103, "record_count", "long"),
        _field(104, "file_size_in_bytes", "long"),
        _field(109, "value_counts", _map(119, 120, "long")),
        _field(110, "null_value_counts", _map(121, 122, "long")),
        _field(125, "lower_bounds", _map(126, 127, "bytes")),
        _field(128, "upper_bounds", _map(129, 130, "bytes")),
    ]
    entry = [
        _field(0, "status", "int"),
        _field(1, "snapshot_id", "long", optional=True),
        _field(3, "sequence_number", "long", optional=True),
        _field(4, "file_sequence_number", "long", optional=True),
        _field(2, "data_file", {"type": "record", "name": "r2", "fields": file}),
    ]
    return {"type": "record", "name": "manifest_entry", "fields": entry}


_SUMMARY = [
    _field(509, "contains_null", "boolean"),
    _field(510, "lower_bound", "bytes", optional=True),
    _field(511, "upper_bound", "bytes", optional=True),
]
_LIST: Entry = {
    "type": "record",
    "name": "manifest_file",
    "fields": [
        _field(500, "manifest_path", "string"),
        _field(501, "manifest_length", "long"),
        _field(502, "partition_spec_id", "int"),
        _field(517, "content", "int"),
        _field(515, "sequence_number", "long"),
        _field(516, "min_sequence_number", "long"),
        _field(503, "added_snapshot_id", "long"),
        _field(504, "added_files_count", "int"),
        _field(505, "existing_files_count", "int"),
        _field(506, "deleted_files_count", "int"),
        _field(512, "added_rows_count", "long"),
        _field(513, "existing_rows_count", "long"),
        _field(514, "deleted_rows_count", "long"),
        _field(
            507,
            "partitions",
            {"type": "array", "element-id": 508, "items": {"type": "record", "name": "r508", "fields": _SUMMARY}},
            optional=True,
        ),
    ],
}
