"""Iceberg metadata of a table's next version, made from that of the last: written beside it, and seen by nobody until a pointer moves."""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

from lakeledger import clock
from lakeledger.errors import Failed, Unavailable
from lakeledger.lake.iceberg import PROPERTY, Step, Unpublishable, iceberg_id, journal
from lakeledger.lake.iceberg.avro import Entry, read, write_list
from lakeledger.lake.iceberg.manifests import Manifests, Tally, live
from lakeledger.lake.iceberg.schema import last_id, name_mapping, to_iceberg
from lakeledger.lake.iceberg.values import DAY, IDENTITY, is_partitioning
from lakeledger.lake.storage import Storage

METADATA = "metadata"
# The branch that everybody reads; every other ref is a tag of the ledger.
MAIN = "main"
# How a compressed metadata file must end, for others to know that it is one.
GZIPPED = "gz.metadata.json"
SNAPSHOTS_KEPT = 100
# How many of the ledger's schemas stay with the table that no snapshot needs: files of their columns may still be there.
SCHEMAS_KEPT = 100
LOG_KEPT = 10
NAME_MAPPING = "schema.name-mapping.default"
# Files leave the table by the ledger alone; other engines must not tidy up.
OWN_PROPERTIES = {"gc.enabled": "false"}
UNPARTITIONED: Entry = {"spec-id": 0, "fields": []}
FIRST_PARTITION_ID = 1_000
_OF_SCHEMA = re.compile(rf"{PROPERTY}\.(schema|layout)\.")


@dataclass(frozen=True)
class Base:
    """What was published last: where its metadata is, the metadata, and the manifests of its current snapshot."""

    location: str
    document: dict[str, Any]
    manifests: list[Entry]


@dataclass(frozen=True)
class Staged:
    """Metadata that is written and not yet pointed at, and what it has `before` that and has never been pointed at either.

    `paths` are the files, relative to the table's location.
    """

    version: int
    iceberg_snapshot_id: int
    manifest_list: str
    base_location: str | None
    paths: tuple[str, ...]
    base: Base
    before: tuple[Staged, ...] = ()

    @property
    def metadata_location(self) -> str:
        return self.base.location


@dataclass
class _Writing:
    """The files of one staging, named by the ledger's snapshot so that whoever sweeps knows whose they are."""

    storage: Storage
    location: str
    version: int
    snapshot_id: str
    token: str = field(default_factory=lambda: clock.new_id()[-8:])
    paths: list[str] = field(default_factory=list)

    def keep(self, content: bytes, kind: str = "manifest", ending: str = "avro") -> str:
        number = f"-{len(self.paths)}" if kind in ("manifest", "journal") else ""
        path = f"{METADATA}/{self.version:08d}-{self.snapshot_id}-{self.token}-{kind}{number}.{ending}"
        self.paths.append(path)
        self.storage.write(path, content)
        return f"{self.location}/{path}"

    def keep_document(self, document: dict[str, Any], *, is_compressed: bool) -> str:
        content = json.dumps(document).encode()
        # Without a time in it, the same metadata is the same file.
        return (
            self.keep(gzip.compress(content, mtime=0), "table", GZIPPED) if is_compressed else self.keep(content, "table", "metadata.json")
        )

    def get(self, whole: str) -> bytes:
        return self.storage.read(whole.removeprefix(f"{self.location}/"))


def read_document(location: str, content: bytes) -> dict[str, Any]:
    """The table metadata in a file with that name. Raises ValueError if it is spoilt."""
    if location.endswith(f".{GZIPPED}"):
        try:
            content = gzip.decompress(content)
        except (OSError, EOFError, zlib.error) as error:
            raise ValueError(f"it is no gzip file: {error}") from error
    found: dict[str, Any] = json.loads(content)
    return found


def load(storage: Storage, location: str, table_location: str) -> Base:
    """What was published there. Raises FileNotFoundError, or Unavailable."""

    def get(whole: str) -> bytes:
        return storage.read(whole.removeprefix(f"{table_location}/"))

    document = read_document(location, get(location))
    current = document.get("current-snapshot-id")
    chosen = next((each for each in document["snapshots"] if each["snapshot-id"] == current), None)
    return Base(location, document, read(get(chosen["manifest-list"])) if chosen else [])


def stage(storage: Storage, base: Base | None, step: Step, *, is_compressed: bool = False) -> Staged:
    """Write the metadata of a step. Raises Unpublishable, and whatever the storage raises; then nothing is left of it."""
    # A hidden column is in the name mapping alone, as one that nobody reads.
    seen = [each for each in step.schema["fields"] if not each.get("hidden")]
    schema = to_iceberg({**step.schema, "fields": seen}, step.schema_version)
    specs, spec_id = _specs(base, step, schema)
    earlier = _earlier(base, step, specs)
    writing, snapshot_id = _Writing(storage, step.location, step.version, step.snapshot_id), iceberg_id(step.snapshot_id)
    try:
        made = Manifests(schema, specs, snapshot_id, step.version, writing.keep, writing.get)
        made.take_over(earlier.manifests if earlier else [], step.removed)
        made.add(step.added, _fields(step, schema), spec_id)
        parent = earlier.document.get("current-snapshot-id") if earlier else None
        listed = writing.keep(write_list(made.listed, snapshot_id, parent, step.version), "list")
        document = _document(earlier, step, schema, specs, spec_id, _snapshot(earlier, step, made, listed))
        gone = base.document["snapshots"] if base and earlier is not base else []
        _note(writing, document, [*map(journal.version_note, gone), *step.journal])
        location = writing.keep_document(document, is_compressed=is_compressed)
    except BaseException:
        remove(storage, writing.paths)
        raise
    return Staged(
        step.version, snapshot_id, listed, base.location if base else None, tuple(writing.paths), Base(location, document, made.listed)
    )


def _note(writing: _Writing, document: Entry, notes: Sequence[journal.Note]) -> None:
    """Write what a lost ledger has to know, and say in the metadata where it is."""
    noted = journal.parse(document["properties"].get(journal.JOURNAL))
    if notes:
        noted = journal.add(noted, notes, lambda content: writing.keep(content, "journal", "json.gz"), writing.get)
        document["properties"] = {**document["properties"], journal.JOURNAL: json.dumps(noted)}


def stage_all(storage: Storage, base: Base | None, steps: Sequence[Step], *, is_compressed: bool = False) -> Staged:
    """Write the metadata of several steps, each on top of the one before; the last is what others will see. Raises as `stage`."""
    *first, last = steps
    before: list[Staged] = []
    try:
        for step in first:
            before.append(stage(storage, base, step, is_compressed=is_compressed))
            made = before[-1].base
            # Between versions that were left out, a reader by time would find an older one than was current then.
            base = Base(made.location, {**made.document, "snapshot-log": []}, made.manifests)
        staged = stage(storage, base, last, is_compressed=is_compressed)
    except BaseException:
        remove(storage, [path for each in before for path in each.paths])
        raise
    return replace(staged, paths=tuple(path for each in (*before, staged) for path in each.paths), before=tuple(before))


def drop(storage: Storage, base: Base, location: str, snapshot_id: str, versions: Container[int], at_ms: int) -> Staged:
    """Write what was published last without the snapshots of these versions; its current one always stays.

    `snapshot_id` is the ledger's of the current one. Raises whatever the storage raises.
    """
    kept = {each["snapshot-id"] for each in _without(base.document, versions)["snapshots"]}
    gone = [journal.version_note(each) for each in base.document["snapshots"] if each["snapshot-id"] not in kept]
    return _revise(storage, base, (location, snapshot_id), at_ms, lambda old: _without(old, versions), gone)


def retag(storage: Storage, base: Base, location: str, snapshot_id: str, tags: Mapping[str, int], at_ms: int) -> Staged | None:
    """Write what was published last with these tags, as far as it has their snapshots; None if it has them already.

    `snapshot_id` is as for `drop`. Raises whatever the storage raises.
    """
    refs = _refs(base.document["current-snapshot-id"], base.document["snapshots"], tags)
    if refs == base.document["refs"]:
        return None
    return _revise(storage, base, (location, snapshot_id), at_ms, lambda _: {"refs": refs})


def _revise(
    storage: Storage,
    base: Base,
    of: tuple[str, str],
    at_ms: int,
    revised: Callable[[Entry], Entry],
    notes: Sequence[journal.Note] = (),
) -> Staged:
    """Write what was published last with something else in it: of the table in that place, whose current snapshot has that id."""
    old = base.document
    document = {
        **old,
        "last-updated-ms": max(at_ms, old["last-updated-ms"]),
        "metadata-log": [*old["metadata-log"], {"metadata-file": base.location, "timestamp-ms": old["last-updated-ms"]}][-LOG_KEPT:],
        **revised(old),
    }
    current = next(each for each in old["snapshots"] if each["snapshot-id"] == old["current-snapshot-id"])
    writing = _Writing(storage, of[0], current["sequence-number"], of[1])
    _note(writing, document, notes)
    written = writing.keep_document(document, is_compressed=base.location.endswith(f".{GZIPPED}"))
    made = Base(written, document, base.manifests)
    return Staged(current["sequence-number"], current["snapshot-id"], current["manifest-list"], base.location, tuple(writing.paths), made)


def _without(old: Entry, versions: Container[int]) -> Entry:
    current = old["current-snapshot-id"]
    snapshots = [each for each in old["snapshots"] if each["snapshot-id"] == current or each["sequence-number"] not in versions]
    left = {each["snapshot-id"]: each for each in snapshots}
    used = {old["current-schema-id"], *(each["schema-id"] for each in snapshots)}
    return {
        "schemas": [each for each in old["schemas"] if each["schema-id"] in used],
        "refs": {name: ref for name, ref in old["refs"].items() if ref["snapshot-id"] in left},
        "snapshots": snapshots,
        "snapshot-log": _without_gaps(old["snapshot-log"], left),
    }


def _refs(current: int, snapshots: Iterable[Entry], tags: Mapping[str, int]) -> Entry:
    """What has a name: the current snapshot, and those that have a tag."""
    known = {each["snapshot-id"] for each in snapshots}
    named = {name: {"snapshot-id": id_, "type": "tag"} for name, id_ in tags.items() if id_ in known}
    return {**named, MAIN: {"snapshot-id": current, "type": "branch"}}


def _without_gaps(log: list[Entry], left: Container[int]) -> list[Entry]:
    """The end of the log: before a snapshot that is gone, a reader by time would find an older one than was current then."""
    last = max((place for place, each in enumerate(log) if each["snapshot-id"] not in left), default=-1)
    return log[last + 1 :]


def remove(storage: Storage, paths: Iterable[str]) -> None:
    """Remove what was staged in vain; what cannot be removed now the sweeper finds."""
    for path in paths:
        with suppress(Failed, Unavailable):
            storage.remove(path)


def _fields(step: Step, schema: Entry) -> dict[str, tuple[int, Any]]:
    """The columns that bounds are told of, by their names in the files."""
    types = {each["id"]: each["type"] for each in schema["fields"] if isinstance(each["type"], str)}
    for each in step.schema["fields"]:
        if each.get("hidden") and isinstance(each["type"], str):
            with suppress(Unpublishable):  # Nobody reads it, but a lost ledger wants its bounds.
                types[each["id"]] = to_iceberg({"fields": [each]}, 0)["fields"][0]["type"]
    return {each["physical_name"]: (each["id"], types[each["id"]]) for each in step.schema["fields"] if each["id"] in types}


def _specs(base: Base | None, step: Step, schema: Entry) -> tuple[dict[int, Entry], int]:
    """The partition specs by id, without those of columns that are gone, and the one of new files."""
    types = {each["id"]: each["type"] for each in schema["fields"]}
    known = {each["spec-id"]: each for each in base.document["partition-specs"]} if base else {}
    specs = {0: UNPARTITIONED} | {id_: spec for id_, spec in known.items() if all(part["source-id"] in types for part in spec["fields"])}
    wanted = [(id_, DAY if id_ in step.by_day else IDENTITY) for id_ in step.partition_by]
    if not wanted or not all(is_partitioning(types.get(id_), transform) for id_, transform in wanted):
        return specs, 0
    for id_, spec in specs.items():
        if [(part["source-id"], part["transform"]) for part in spec["fields"]] == wanted:
            return specs, id_
    parts = {(part["source-id"], part["transform"]): part for spec in specs.values() for part in spec["fields"]}
    free = count(max(_partition_ids(known.values())) + 1)
    made = [parts.get(each) or _part(*each, next(free)) for each in wanted]
    new = max(known, default=0) + 1
    return {**specs, new: {"spec-id": new, "fields": made}}, new


def _part(column: int, transform: str, id_: int) -> Entry:
    # No other name can be one that a column has, or gets later.
    name = f"lakeledger_partition_{column}" if transform == IDENTITY else f"lakeledger_partition_{column}_{transform}"
    return {"source-id": column, "field-id": id_, "name": name, "transform": transform}


def _partition_ids(specs: Iterable[Entry]) -> list[int]:
    return [FIRST_PARTITION_ID - 1, *(part["field-id"] for spec in specs for part in spec["fields"])]


def _earlier(base: Base | None, step: Step, specs: Mapping[int, Entry]) -> Base | None:
    """What the new metadata goes on from: nothing, once all files are new and the old ones were partitioned by a column that is gone."""
    if base is None or all(spec["spec-id"] in specs for spec in base.document["partition-specs"]):
        return base
    if len(step.removed) < sum(live(each) for each in base.manifests):
        raise Unpublishable("the table was partitioned by a column that it no longer has: overwrite it to publish it")
    return Base(base.location, {**base.document, "snapshots": [], "snapshot-log": [], "refs": {}, "current-snapshot-id": None}, [])


def _snapshot(earlier: Base | None, step: Step, made: Manifests, listed: str) -> Entry:
    parent = earlier.document.get("current-snapshot-id") if earlier else None
    snapshots: list[Entry] = earlier.document["snapshots"] if earlier else []
    last: dict[str, str] = next((each["summary"] for each in snapshots if each["snapshot-id"] == parent), {})
    totals = {
        f"total-{word}": str(int(last.get(f"total-{word}", 0)) + came - went)
        for word, came, went in (
            ("data-files", made.added.files, made.removed.files),
            ("records", made.added.rows, made.removed.rows),
            ("files-size", made.added.bytes, made.removed.bytes),
        )
    }
    return {
        "snapshot-id": made.snapshot_id,
        **({"parent-snapshot-id": parent} if parent is not None else {}),
        "sequence-number": step.version,
        "timestamp-ms": max(step.at_ms, earlier.document["last-updated-ms"] if earlier else 0),
        "manifest-list": listed,
        "schema-id": step.schema_version,
        "summary": {
            "operation": step.operation,
            **_told("added-data-files", "added-records", "added-files-size", made.added),
            **_told("deleted-data-files", "deleted-records", "removed-files-size", made.removed),
            **totals,
            "total-delete-files": "0",
            "total-position-deletes": "0",
            "total-equality-deletes": "0",
            **step.summary,
        },
    }


def _told(files: str, rows: str, size: str, tally: Tally) -> dict[str, str]:
    return {files: str(tally.files), rows: str(tally.rows), size: str(tally.bytes)} if tally.files else {}


def _document(earlier: Base | None, step: Step, schema: Entry, specs: Mapping[int, Entry], spec_id: int, snapshot: Entry) -> Entry:
    """The table's metadata, as its specification, version 2, wants it."""
    old = earlier.document if earlier else {}
    snapshots = _kept([*old.get("snapshots", ()), snapshot], set(step.tags.values()))
    schemas = {each["schema-id"]: each for each in old.get("schemas", ())} | {step.schema_version: schema}
    used = {each["schema-id"] for each in snapshots}
    logged = {each["snapshot-id"] for each in snapshots}
    log = [*old.get("snapshot-log", ()), {"snapshot-id": snapshot["snapshot-id"], "timestamp-ms": snapshot["timestamp-ms"]}]
    before = [{"metadata-file": earlier.location, "timestamp-ms": old["last-updated-ms"]}] if earlier else []
    mapped = json.loads(old.get("properties", {}).get(NAME_MAPPING, "[]"))
    mapping = name_mapping([*step.former, *step.schema["fields"]], step.foreign, mapped)
    return {
        "format-version": 2,
        "table-uuid": old.get("table-uuid", step.table_id),
        "location": step.location,
        "last-sequence-number": step.version,
        "last-updated-ms": snapshot["timestamp-ms"],
        "last-column-id": max(old.get("last-column-id", 0), last_id(schema)),
        "current-schema-id": step.schema_version,
        "schemas": [schemas[id_] for id_ in sorted(used)],
        "default-spec-id": spec_id,
        "partition-specs": [specs[id_] for id_ in sorted(specs)],
        "last-partition-id": max([old.get("last-partition-id", 0), *_partition_ids(specs.values())]),
        "default-sort-order-id": 0,
        "sort-orders": [{"order-id": 0, "fields": []}],
        "properties": {**_still_needed(old, used), **step.properties, **OWN_PROPERTIES, NAME_MAPPING: json.dumps(mapping)},
        "current-snapshot-id": snapshot["snapshot-id"],
        "refs": _refs(snapshot["snapshot-id"], snapshots, step.tags),
        "snapshots": snapshots,
        "snapshot-log": [each for each in log if each["snapshot-id"] in logged],
        "metadata-log": [*old.get("metadata-log", ()), *before][-LOG_KEPT:],
    }


def _still_needed(old: Entry, used: Container[int]) -> Entry:
    """The properties that the table has, without those of schemas that are long gone."""
    properties: dict[str, str] = old.get("properties", {})
    numbers = {name: int(number) for name in properties if (number := _OF_SCHEMA.sub("", name)).isdecimal() and _OF_SCHEMA.match(name)}
    oldest = max(numbers.values(), default=0) - SCHEMAS_KEPT
    return {name: value for name, value in properties.items() if numbers.get(name, oldest + 1) > oldest or numbers[name] in used}


def _kept(snapshots: list[Entry], named: Container[int]) -> list[Entry]:
    """The last ones, and those that have a tag."""
    return [each for each in snapshots[:-SNAPSHOTS_KEPT] if each["snapshot-id"] in named] + snapshots[-SNAPSHOTS_KEPT:]
