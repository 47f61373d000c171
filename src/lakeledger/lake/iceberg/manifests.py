"""Which manifests a snapshot has: those of the one before, without what left the table, and new ones for what came."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lakeledger.lake.iceberg import Added
from lakeledger.lake.iceberg.avro import ADDED, DELETED, EXISTING, Entry, read, write_manifest
from lakeledger.lake.iceberg.values import data_file, partition_type, proven, to_bytes

FILES_PER_MANIFEST = 1_000
# Small manifests are brought together when there are so many of them.
MANIFESTS_MERGED_AT = 100


@dataclass
class Tally:
    """What came and went, as a snapshot's summary says it."""

    files: int = 0
    rows: int = 0
    bytes: int = 0

    def add(self, entry: Entry) -> None:
        file = entry["data_file"]
        self.files, self.rows, self.bytes = self.files + 1, self.rows + file["record_count"], self.bytes + file["file_size_in_bytes"]


@dataclass
class Manifests:
    """The manifests of a snapshot in the making. `keep` stores a file and gives its whole path; `get` gives a file's content."""

    schema: Entry
    specs: Mapping[int, Entry]
    snapshot_id: int
    version: int
    keep: Callable[[bytes], str]
    get: Callable[[str], bytes]
    listed: list[Entry] = field(default_factory=list)
    added: Tally = field(default_factory=Tally)
    removed: Tally = field(default_factory=Tally)

    def take_over(self, earlier: Sequence[Entry], removed: frozenset[str]) -> None:
        """Take the manifests of the snapshot before, without these files; those that only told of deleted files are dropped."""
        alive = [each for each in earlier if live(each)]
        left = set(removed)
        for manifest in alive:
            entries = self._live_entries(manifest) if left else []
            gone = [entry for entry in entries if entry["data_file"]["file_path"] in left]
            if not gone:
                self.listed.append(manifest)
                continue
            for entry in gone:
                self.removed.add(entry)
            stay = [{**entry, "status": EXISTING} for entry in entries if entry["data_file"]["file_path"] not in left]
            went = [{**entry, "status": DELETED, "snapshot_id": self.snapshot_id} for entry in gone]
            left -= {entry["data_file"]["file_path"] for entry in gone}
            self._write([*stay, *went], manifest["partition_spec_id"])
        self._merge()

    def add(self, files: Iterable[Added], fields: Mapping[str, tuple[int, Any]], spec_id: int) -> None:
        """Add files: with a partition of that spec where their bounds prove it, without one elsewhere."""
        columns = self._partition_columns(fields, spec_id)
        by_spec: dict[int, list[Entry]] = defaultdict(list)
        for file in files:
            partition = proven(file, columns) if columns else None
            entry = self._new_entry(data_file(file, fields, partition or {}))
            self.added.add(entry)
            chosen = 0 if partition is None else spec_id
            by_spec[chosen].append(entry)
            if len(by_spec[chosen]) == FILES_PER_MANIFEST:
                self._write(by_spec.pop(chosen), chosen)
        for chosen, entries in by_spec.items():
            self._write(entries, chosen)

    def _merge(self) -> None:
        small = [each for each in self.listed if live(each) < FILES_PER_MANIFEST and each["added_snapshot_id"] != self.snapshot_id]
        if len(small) < MANIFESTS_MERGED_AT:
            return
        by_spec: dict[int, list[Entry]] = defaultdict(list)
        for manifest in small:
            by_spec[manifest["partition_spec_id"]] += [{**entry, "status": EXISTING} for entry in self._live_entries(manifest)]
        gone = {each["manifest_path"] for each in small}
        self.listed = [each for each in self.listed if each["manifest_path"] not in gone]
        for spec_id, entries in by_spec.items():
            for chunk in _chunks(entries):
                self._write(chunk, spec_id)

    def _write(self, entries: Sequence[Entry], spec_id: int) -> None:
        spec = self.specs[spec_id]
        content = write_manifest(entries, self.schema, spec)
        alive = [entry for entry in entries if entry["status"] != DELETED]
        self.listed.append(
            {
                "manifest_path": self.keep(content),
                "manifest_length": len(content),
                "partition_spec_id": spec_id,
                "content": 0,
                "sequence_number": self.version,
                "min_sequence_number": min((entry["sequence_number"] for entry in alive), default=self.version),
                "added_snapshot_id": self.snapshot_id,
                **_counts("added", entries, ADDED),
                **_counts("existing", entries, EXISTING),
                **_counts("deleted", entries, DELETED),
                "partitions": [self._summary(each, entries) for each in spec["fields"]],
            }
        )

    def _summary(self, part: Entry, entries: Sequence[Entry]) -> Entry:
        type_ = partition_type(part, {each["id"]: each["type"] for each in self.schema["fields"]})
        values = [entry["data_file"]["partition"][part["name"]] for entry in entries]
        known = sorted(value for value in values if value is not None)
        ends = {"lower_bound": to_bytes(type_, known[0]), "upper_bound": to_bytes(type_, known[-1])} if known else {}
        return {"contains_null": len(known) < len(values), **ends}

    def _partition_columns(self, fields: Mapping[str, tuple[int, Any]], spec_id: int) -> dict[str, tuple[str, Any, str]]:
        by_id = {id_: (name, type_) for name, (id_, type_) in fields.items()}
        chosen = [(part["name"], part["transform"], *by_id[part["source-id"]]) for part in self.specs[spec_id]["fields"]]
        return {name: (part, type_, transform) for part, transform, name, type_ in chosen}

    def _new_entry(self, file: Entry) -> Entry:
        number = {"sequence_number": self.version, "file_sequence_number": self.version}
        return {"status": ADDED, "snapshot_id": self.snapshot_id, **number, "data_file": file}

    def _live_entries(self, manifest: Entry) -> list[Entry]:
        return [entry for entry in read(self.get(manifest["manifest_path"])) if entry["status"] != DELETED]


def live(manifest: Entry) -> int:
    """How many files of a manifest are in the table."""
    return int(manifest["added_files_count"] + manifest["existing_files_count"])


def _counts(word: str, entries: Iterable[Entry], status: int) -> Entry:
    rows = [entry["data_file"]["record_count"] for entry in entries if entry["status"] == status]
    return {f"{word}_files_count": len(rows), f"{word}_rows_count": sum(rows)}


def _chunks(entries: Sequence[Entry]) -> Iterator[Sequence[Entry]]:
    for start in range(0, len(entries), FILES_PER_MANIFEST):
        yield entries[start : start + FILES_PER_MANIFEST]
