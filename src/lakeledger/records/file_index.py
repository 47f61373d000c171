"""What a process knows of the records in a folder: the latest of each target and kind at once, and all of them in order."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator
from datetime import datetime
from typing import Any, NamedTuple

from lakeledger import codec
from lakeledger.records.model import MetadataRecord, Target
from lakeledger.records.store import about

# Sorted runs are kept sorted one by one; what comes in bulk is sorted when it is asked for.
FEW = 64


class Entry(NamedTuple):
    """A record as the index knows it. Its time is text, of which the order is that of time."""

    at: str
    sequence: int
    path: str
    log_path: str
    log_offset: int
    run_id: str | None
    job_id: str | None
    producer_id: str


class Index:
    """The records of a folder by kind, by kind and table, and by kind and target."""

    def __init__(self) -> None:
        self.sequence = 0
        self._sorted: dict[tuple[str, str], list[Entry]] = {}
        self._new: dict[tuple[str, str], list[Entry]] = {}
        self._latest: dict[tuple[str, str], Entry] = {}
        self._same: dict[str, Entry] = {}
        self._paths: set[str] = set()
        self._names: dict[tuple[str, str], str] = {}
        self.moved: dict[int, str] = {}  # which records are in which Parquet file
        self.files: dict[str, set[int]] = {}

    def add(self, document: dict[str, Any], log_path: str, log_offset: int) -> None:
        """Take in a record as a line of the log says it."""
        target, context = document["target"], document["context"]
        entry = Entry(
            document["produced_at"],
            document["sequence"],
            document["path"],
            log_path,
            log_offset,
            context.get("run_id"),
            context.get("job_id"),
            document["producer_id"],
        )
        kind, name_key, key = document["kind"], document["name_key"], document["target_key"]
        for place in ((kind, ""), (kind, f"t{name_key}"), (kind, f"k{key}")):
            self._new.setdefault(place, []).append(entry)
            if (last := self._latest.get(place)) is None or entry[:2] > last[:2]:
                self._latest[place] = entry
        self._same[document["dedupe_key"]] = entry
        self._paths.add(entry.path)
        self._names[kind, f"k{key}"] = ".".join(part for part in (target.get("schema"), target.get("table")) if part) or target["source_id"]
        self.sequence = max(self.sequence, entry.sequence)

    def has(self, record: MetadataRecord) -> bool:
        """Whether that fact is there."""
        return record.dedupe_key in self._same

    def is_live(self, document: dict[str, Any]) -> bool:
        """Whether a line of the log is a record that is still there."""
        entry = self._same.get(document.get("dedupe_key", ""))
        return entry is not None and entry.sequence == document["sequence"]

    def same(self, record: MetadataRecord) -> Entry:
        """The entry of that fact, which is there."""
        return self._same[record.dedupe_key]

    def is_taken(self, path: str) -> bool:
        return path in self._paths

    def kinds(self) -> list[str]:
        return sorted({kind for kind, _ in self._latest})

    def latest(self, target: Target | None, kind: str) -> Entry | None:
        return self._latest.get(_place(target, kind))

    def newest_first(
        self, target: Target | None, kind: str, since: datetime | None, until: datetime | None, after: tuple[str, int] | None
    ) -> Iterator[Entry]:
        """The entries of a kind about a target, from the newest on, or from behind a place."""
        entries = self._in_order(_place(target, kind))
        end = len(entries)
        if until is not None:
            end = bisect_left(entries, (codec.to_text(until),))
        if after is not None:
            end = min(end, bisect_left(entries, after))
        first = codec.to_text(since) if since is not None else ""
        for number in range(end - 1, -1, -1):
            entry = entries[number]
            if entry.at < first:
                return
            yield entry

    def catalog(self) -> dict[str, Any]:
        """What there is about each artifact: how many records of which kind, and the latest. As `index.json` has it."""
        found: dict[str, Any] = {}
        for place, name in sorted(self._names.items(), key=lambda item: (item[1], item[0])):
            kind, latest = place[0], self._latest[place]
            said = found.setdefault(name, {}).setdefault(kind, {"records": 0, "latest": None})
            said["records"] += len(self._sorted.get(place, ())) + len(self._new.get(place, ()))
            if said["latest"] is None or (latest.at, latest.sequence) > (said["latest"]["produced_at"], said["latest"]["sequence"]):
                said["latest"] = {"produced_at": latest.at, "sequence": latest.sequence, "record": latest.path}
        return {"version": 1, "sequence": self.sequence, "artifacts": found}

    def move(self, path: str, sequences: list[int]) -> None:
        """These records are in a Parquet file now, and have no file of their own."""
        self.files[path] = inside = set(sequences)
        for sequence in inside:
            self.moved[sequence] = path
        self._paths.difference_update(self._path_of(inside))

    def _path_of(self, sequences: set[int]) -> Iterator[str]:
        return (entry.path for entry in self._same.values() if entry.sequence in sequences)

    def movable(self, kind: str, before: str) -> list[Entry]:
        """Records of a kind that are older, have a file of their own, and are not the last word about their target; oldest first."""
        last = {entry.sequence for place, entry in self._latest.items() if place[0] == kind and place[1].startswith("k")}
        entries = self._in_order((kind, ""))
        old = entries[: bisect_left(entries, (before,))]
        return [entry for entry in old if entry.sequence not in last and entry.sequence not in self.moved]

    def old(self, kind: str, before: str) -> list[Entry]:
        """Records of a kind that are older."""
        entries = self._in_order((kind, ""))
        return entries[: bisect_left(entries, (before,))]

    def forget(self, kind: str, before: str) -> None:
        """Drop records of a kind that are older."""
        gone = {entry.sequence for entry in self.old(kind, before)}
        for place in [place for place in self._latest if place[0] == kind]:
            left = [entry for entry in self._in_order(place) if entry.sequence not in gone]
            self._sorted[place] = left
            if left:
                self._latest[place] = left[-1]
            else:
                del self._latest[place], self._sorted[place]
                self._names.pop(place, None)
        self._paths.difference_update(self._path_of(gone))
        self._same = {key: entry for key, entry in self._same.items() if entry.sequence not in gone}
        for sequence in gone & self.moved.keys():
            inside = self.files[path := self.moved.pop(sequence)]
            inside.discard(sequence)
            if not inside:
                del self.files[path]

    def log_paths(self) -> set[str]:
        """The files of the log that have a record which is still there."""
        return {entry.log_path for entry in self._same.values()}

    def _in_order(self, place: tuple[str, str]) -> list[Entry]:
        entries = self._sorted.setdefault(place, [])
        if new := self._new.pop(place, None):
            if len(new) <= FEW:
                for entry in new:
                    insort(entries, entry)
            else:
                entries.extend(new)
                entries.sort()
        return entries


def _place(target: Target | None, kind: str) -> tuple[str, str]:
    chosen = about(target)
    if "name_key" in chosen:
        return kind, f"t{chosen['name_key']}"
    return (kind, f"k{chosen['target_key']}") if chosen else (kind, "")
