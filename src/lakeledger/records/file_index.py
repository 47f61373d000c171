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

    def add(self, document: dict[str, Any], log_path: str, log_offset: int) -> None:
        """Take in a record as a line of the log says it."""
        record = document["target"], document["context"]
        target, context = record
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
