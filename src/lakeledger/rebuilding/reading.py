"""A table as its published metadata tells of it: versions, files with their bounds, schemas, tags and moves of sources."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from lakeledger import codec
from lakeledger.carried import POSITION
from lakeledger.lake import Bounds
from lakeledger.lake.iceberg import PROPERTY, Unpublishable, journal
from lakeledger.lake.iceberg.avro import DELETED
from lakeledger.lake.iceberg.schema import to_iceberg
from lakeledger.lake.iceberg.stage import MAIN
from lakeledger.lake.iceberg.values import from_bytes
from lakeledger.names import TableName
from lakeledger.pipelines.partitions import partition_path
from lakeledger.rebuilding.model import File, Found, Move, Rebuilt, SchemaOf, Version
from lakeledger.sync import Source
from lakeledger.tables.change import prefix_of
from lakeledger.tables.schema import stored_names


def read_table(found: Found) -> Rebuilt:
    """The table. Raises KeyError or ValueError if the metadata lacks something."""
    document = found.document
    own = {name.removeprefix(f"{PROPERTY}."): value for name, value in document["properties"].items() if name.startswith(f"{PROPERTY}.")}
    name = TableName(own["schema-name"], own["table-name"])
    columns, schemas = json.loads(own["columns"]), _schemas(own)
    versions = [_version(each) for each in sorted(document["snapshots"], key=lambda each: int(each["sequence-number"]))]
    by_number = {each.number: each for each in schemas}
    # In another table's place a file is in no partition of its own, whatever folders it is in.
    is_aside = bool(prefix_of(name, own["location"]))
    files = list(_files(found, versions, _Columns(columns, schemas), {} if is_aside else by_number))
    versions, files, expired = _with_notes(found.notes, versions, files)
    by_iceberg_id = {each.iceberg_snapshot_id: each.version for each in versions}
    tags = {tag: by_iceberg_id[ref["snapshot-id"]] for tag, ref in document["refs"].items() if tag != MAIN}
    is_moved = document["location"] != found.place
    log = document["metadata-log"]
    return Rebuilt(
        tenant=found.tenant,
        name=name,
        table_id=own["table-id"],
        location=own["location"],
        place=found.place,
        mode=own["publish-mode"] or None,
        formats=json.loads(own.get("publish-formats", "[]")),
        created_at=codec.to_time(own["created-at"]),
        schemas=schemas,
        columns=columns,
        versions=versions,
        expired=expired,
        files=files,
        tags=tags,
        metadata_location=None if is_moved else f"{found.place}/{found.path}",
        previous_location=log[-1]["metadata-file"] if log and not is_moved else None,
        known=[_move(json.loads(value)) for name_, value in document["properties"].items() if name_.startswith(POSITION)],
        notes=found.notes,
        is_moved=is_moved,
    )


def _schemas(own: Mapping[str, str]) -> list[SchemaOf]:
    numbers = sorted(int(name.removeprefix("schema.")) for name in own if name.startswith("schema."))
    return [SchemaOf(number, json.loads(own[f"schema.{number}"]), json.loads(own[f"layout.{number}"])) for number in numbers]


def _version(snapshot: Mapping[str, Any]) -> Version:
    told: dict[str, str] = snapshot["summary"]
    moves = [_move(each) for each in json.loads(told.get(f"{PROPERTY}.positions", "[]"))]
    return replace(
        _noted(journal.version_note(snapshot)),
        manifest_list=snapshot["manifest-list"],
        iceberg_snapshot_id=snapshot["snapshot-id"],
        publish_trigger=told.get(f"{PROPERTY}.trigger"),
        moves=moves,
        needs={
            **_versions(json.loads(told.get(f"{PROPERTY}.with", "{}"))),
            **{name: at for move in moves for name, at in move.read.items()},
        },
    )


def _versions(told: Mapping[str, Sequence[Any]]) -> dict[str, tuple[int, str | None]]:
    return {name: (int(version), snapshot_id) for name, (version, snapshot_id) in told.items()}


def _move(told: Mapping[str, Any]) -> Move:
    source = Source(told["schema_name"], told["table_name"], told["marker_type"])
    return Move(
        schema_name=source.schema_name,
        table_name=source.table_name,
        marker_type=source.marker_type,
        name_key=source.key,
        kind=told["kind"],
        data=told["data"],
        order_key=told["order_key"],
        version=told["version"],
        at=codec.to_time(told["updated_at"]),
        run_id=told["sync_run_id"],
        table_version=told["table_version"],
        forced=bool(told.get("forced")),
        reason=told.get("reason"),
        appended_rows=told.get("appended_rows"),
        read=_versions(told.get("read", {})),
    )


class _Columns:
    """Columns by their ids: names in the files, and Iceberg's types."""

    def __init__(self, names: Sequence[str], schemas: Sequence[SchemaOf]) -> None:
        self._names = dict(enumerate(names, start=1))
        self._types: dict[int, Any] = {}
        for field in (field for schema in schemas for field in schema.schema["fields"]):
            self._names[field["id"]] = field["physical_name"]
            try:
                self._types[field["id"]] = to_iceberg({"fields": [field]}, 0)["fields"][0]["type"]
            except Unpublishable:
                continue

    def bounds(self, file: Mapping[str, Any]) -> Bounds:
        """What is known of the columns of a file."""
        found: Bounds = {}
        for pair in file["null_value_counts"]:
            found.setdefault(self._names[pair["key"]], {})["nulls"] = pair["value"]
        for side, pairs in (("min", file["lower_bounds"]), ("max", file["upper_bounds"])):
            for pair in pairs:
                if pair["key"] in self._types:
                    found.setdefault(self._names[pair["key"]], {})[side] = from_bytes(self._types[pair["key"]], pair["value"])
        return found

    def name(self, id_: int) -> str:
        return self._names[id_]


def _files(found: Found, versions: Sequence[Version], columns: _Columns, schemas: Mapping[int, SchemaOf]) -> Iterator[File]:
    """Every file of a version that is in the metadata, with the versions that it came and went with."""
    root, specs = found.document["location"], {each["spec-id"]: each for each in found.document["partition-specs"]}
    before: set[str] = set()
    live: dict[str, File] = {}
    spec_of = {each["manifest_path"]: each["partition_spec_id"] for entries in found.manifests.values() for each in entries}
    for version in versions:
        now = {each["manifest_path"] for each in found.manifests[version.manifest_list or ""]}
        gone, came = set[str](), dict[str, tuple[str, dict[str, Any]]]()
        for manifest in before - now:
            gone |= {entry["data_file"]["file_path"] for entry in found.entries[manifest] if entry["status"] != DELETED}
        for manifest in now - before:
            came |= {entry["data_file"]["file_path"]: (manifest, entry) for entry in found.entries[manifest] if entry["status"] != DELETED}
        for path in gone - came.keys():
            yield replace(live.pop(path), removed_version=version.version)
        for path, (manifest, entry) in came.items():
            if path not in live:
                spec = specs.get(spec_of[manifest], {"fields": []})
                live[path] = _file(root, entry, spec, columns, schemas.get(version.schema_version))
        before = now
    yield from live.values()


def _file(root: str, entry: Mapping[str, Any], spec: Mapping[str, Any], columns: _Columns, schema: SchemaOf | None) -> File:
    told = entry["data_file"]
    path = told["file_path"].removeprefix(f"{root}/")
    partition_by = stored_names(schema.schema, schema.layout["partition_by"]) if schema else []
    try:
        where = partition_path(path, partition_by)
    except ValueError:  # not in folders: the metadata knows it
        values = {columns.name(part["source-id"]): told["partition"][part["name"]] for part in spec["fields"]}
        where = "/".join(f"{name}={values[name]}" for name in partition_by if name in values)
    return File(path, told["file_size_in_bytes"], told["record_count"], where, columns.bounds(told), entry["sequence_number"])


def _with_notes(
    notes: Sequence[Mapping[str, Any]], versions: list[Version], files: list[File]
) -> tuple[list[Version], list[File], list[Version]]:
    """The versions with those that were noted, the files by the versions that added them, and the versions that can no longer be read.

    One that nobody had published can be read if nothing left the table between what was published before and after it.
    """
    published = {each.version for each in versions}
    noted: dict[int, Mapping[str, Any]] = {}
    for note in notes:
        if note["op"] == "version" and note["version"] < max(published):
            noted.setdefault(note["version"], note)  # the first one knows its files
    missing = {number: note for number, note in noted.items() if number not in published}
    added: dict[str, int] = {}
    readable: list[Version] = []
    by_path = {file.path: file for file in files}
    for before, after in pairwise([0, *sorted(published)]):
        between = [missing.get(number) for number in range(before + 1, after)]
        if not between:
            continue
        kept = [note for note in between if note is not None and "added" in note]
        paths = [path for note in kept for path in note["added"]]
        is_whole = len(kept) == after - before - 1 and all(not note["summary"].get("removed_files") for note in kept)
        left = any(file.removed_version == after for file in files)
        if is_whole and not left and all(path in by_path and by_path[path].added_version == after for path in paths):
            readable += [_noted(note) for note in kept]
            added |= {path: note["version"] for note in kept for path in note["added"]}
    back = {each.version for each in readable}
    placed = [replace(file, added_version=added.get(file.path, file.added_version)) for file in files]
    expired = [_noted(missing[number]) for number in sorted(missing) if number not in back]
    return sorted([*versions, *readable], key=lambda each: each.version), placed, expired


def _noted(note: Mapping[str, Any]) -> Version:
    return Version(
        snapshot_id=note["snapshot_id"],
        version=note["version"],
        operation=note["operation"],
        summary=note["summary"],
        schema_version=note["schema_version"],
        run_id=note["run_id"],
        batch_id=note["batch_id"],
        trigger=note["trigger"],
        committed_at=codec.to_time(note["committed_at"]),
    )
