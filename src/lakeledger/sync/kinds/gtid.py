"""MySQL's GTID sets: which transactions of which servers, as `uuid:1-5:11-18,other:1-3`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

from lakeledger.errors import Invalid

Interval = tuple[int, int]

_SERVER = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)
_TAG = re.compile(r"[a-z_][a-z0-9_]{0,31}", re.IGNORECASE)
_INTERVAL = re.compile(r"(\d{1,20})(?:-(\d{1,20}))?")


@dataclass(frozen=True)
class GtidSet:
    """Transactions by server (and tag), as intervals that neither touch nor overlap."""

    intervals: dict[str, tuple[Interval, ...]]

    @classmethod
    def parse(cls, text: str) -> Self:
        """The set that a server writes. Raises Invalid."""
        found: dict[str, list[Interval]] = {}
        for member in filter(None, (part.strip() for part in text.split(","))):
            server, *rest = member.split(":")
            if not _SERVER.fullmatch(server) or not rest:
                raise Invalid(f"{member!r} is no GTID set: write server-uuid:1-5, several with commas")
            _add_member(found, server.lower(), rest, member)
        if not found:
            raise Invalid("a GTID set cannot be empty: write server-uuid:1-5")
        return cls({name: merge(intervals) for name, intervals in found.items()})

    def contains(self, other: GtidSet) -> bool:
        """Whether every transaction of the other set is in this one."""
        return other.missing_from(self) == 0

    def missing_from(self, other: GtidSet) -> int:
        """How many of these transactions the other set does not have."""
        return sum(_size(own) - _shared(own, other.intervals.get(name, ())) for name, own in self.intervals.items())


def merge(intervals: Iterable[Interval]) -> tuple[Interval, ...]:
    """The same numbers in as few intervals as possible."""
    merged: list[Interval] = []
    for first, last in sorted(intervals):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
        else:
            merged.append((first, last))
    return tuple(merged)


def _add_member(found: dict[str, list[Interval]], server: str, parts: list[str], member: str) -> None:
    """Intervals follow the server, or since MySQL 8.3 a tag of it."""
    name, tag = server, ""
    for part in parts:
        if not tag and _TAG.fullmatch(part.strip()):
            tag = part.strip().lower()
            name = f"{server}:{tag}"
            continue
        tag = ""
        match = _INTERVAL.fullmatch(part.strip())
        first = int(match[1]) if match else 0
        last = int(match[2] or first) if match else 0
        if not 0 < first <= last:
            raise Invalid(f"{part!r} in the GTID set {member!r} is no interval: write 5 or 1-5")
        found.setdefault(name, []).append((first, last))
    if tag:
        raise Invalid(f"the tag {tag!r} in the GTID set {member!r} has no interval: write {tag}:1-5")


def _size(intervals: Iterable[Interval]) -> int:
    return sum(last - first + 1 for first, last in intervals)


def _shared(ours: Iterable[Interval], theirs: tuple[Interval, ...]) -> int:
    return sum(max(0, min(last, end) - max(first, start) + 1) for first, last in ours for start, end in theirs)
