"""Which small files are written together, and why or why not: neighbours by key within a partition, packed towards a target size."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from lakeledger.codec import size_text
from lakeledger.config import CompactionSettings
from lakeledger.lake import Bounds
from lakeledger.pipelines.apply.pruning import to_number

# Up to which size, in bytes, a file is counted in which bar of a histogram; the last bar has the rest.
BARS = (64_000, 1_000_000, 8_000_000, 32_000_000, 128_000_000, 512_000_000)

Place = tuple[tuple[int, float, str], ...]


@dataclass(frozen=True)
class SmallFile:
    """A live file of a table, of whatever size, as the planner sees it.

    `place` is where its first rows are in the table's order. `packed_for` is the target size of the compaction that made it: it is not
    packed again for the same one, except along with files that came since. `held_by` is the run that is just rewriting it.
    """

    path: str
    size: int
    rows: int
    partition: str
    added_at: datetime
    place: Place = ()
    packed_for: int = 0
    held_by: str | None = None


@dataclass(frozen=True)
class Group:
    """Files of one partition that become one file."""

    partition: str
    files: tuple[SmallFile, ...]
    why: str

    @property
    def size(self) -> int:
        return sum(file.size for file in self.files)

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.files)

    @property
    def paths(self) -> frozenset[str]:
        return frozenset(file.path for file in self.files)

    def document(self) -> dict[str, Any]:
        """As scripts read it."""
        return {"partition": self.partition, "files": len(self.files), "bytes": self.size, "rows": self.rows, "why": self.why}


@dataclass(frozen=True)
class LeftOut:
    """A partition of which files stay as they are, and why; one that `is_hot` only until it is quiet."""

    partition: str
    files: int
    why: str
    is_hot: bool = False


@dataclass(frozen=True)
class Plan:
    """What one round does to a table, and what it leaves."""

    groups: tuple[Group, ...]
    left: tuple[LeftOut, ...]

    @property
    def files(self) -> int:
        return sum(len(group.files) for group in self.groups)

    @property
    def size(self) -> int:
        return sum(group.size for group in self.groups)


def plan_compaction(files: Iterable[SmallFile], settings: CompactionSettings, now: datetime, budget: int | None = None) -> Plan:
    """The groups of one round, of at most so many bytes (by default those of the settings). A hundred thousand files take a second."""
    partitions: dict[str, list[SmallFile]] = {}
    for file in files:
        partitions.setdefault(file.partition, []).append(file)
    groups: list[Group] = []
    left: list[LeftOut] = []
    for name in sorted(partitions):
        found = _of_partition(name, partitions[name], settings, now)
        if isinstance(found, LeftOut):
            left.append(found)
        else:
            groups += found
    chosen, waiting = _within(groups, settings.round_bytes if budget is None else budget)
    return Plan(tuple(chosen), tuple(sorted([*left, *waiting], key=lambda each: each.partition)))


def place_of(bounds: Bounds, columns: Mapping[str, Any]) -> Place:
    """Where a file begins in the order of these columns, given with their types, by the least values that it has of them."""
    least = {name: bounds.get(name, {}).get("min") for name in columns}
    return tuple(_comparable(value, to_number(value, columns[name])) for name, value in least.items())


def histogram(sizes: Iterable[int]) -> list[dict[str, int | None]]:
    """How many files there are of which size, and of how many bytes: one bar each, without those at the ends that are empty."""
    bars = [[0, 0] for _ in (*BARS, None)]
    for size in sizes:
        place = sum(size >= bar for bar in BARS)
        bars[place] = [bars[place][0] + 1, bars[place][1] + size]
    filled = [place for place, (count, _) in enumerate(bars) if count]
    named = list(zip((*BARS, None), bars, strict=True))
    return (
        [{"below": bar, "files": count, "bytes": total} for bar, (count, total) in named[min(filled) : max(filled) + 1]] if filled else []
    )


def _of_partition(name: str, files: list[SmallFile], settings: CompactionSettings, now: datetime) -> list[Group] | LeftOut:
    limit = round(settings.target_bytes * settings.small_share)
    all_small = [file for file in files if file.size < limit]
    held = {file.held_by for file in all_small if file.held_by}
    small = [file for file in all_small if not file.held_by]
    fresh = [file for file in small if file.packed_for < settings.target_bytes]
    if why := _why_not(files, small, fresh, held, settings):
        return LeftOut(name, len(files), why)
    if why := _why_later(fresh, settings, now):
        return LeftOut(name, len(files), why, is_hot=True)
    bins = [_without_giants(each) for each in _packed(small, settings.target_bytes)]
    worth = [each for each in bins if sum(file.packed_for < settings.target_bytes for file in each) > 1]
    if not worth:
        size = size_text(settings.target_bytes)
        why = f"no two of its {_count(len(small), 'small file')} make one of {size} without writing a far bigger one again"
        return LeftOut(name, len(files), why)
    return [Group(name, tuple(each), _why(each, limit, settings)) for each in worth]


def _why_not(
    files: Sequence[SmallFile],
    small: Sequence[SmallFile],
    fresh: Sequence[SmallFile],
    held: set[str],
    settings: CompactionSettings,
) -> str | None:
    """Why a partition is not worth it; None if it may be."""
    if held and len(fresh) < settings.min_files:
        return f"run {min(held)} is just rewriting its files, and a writer goes first"
    if not small:
        return f"none of its {_count(len(files), 'file')} is smaller than {size_text(round(settings.target_bytes * settings.small_share))}"
    if not fresh:
        return f"all of its small files ({len(small):,}) were compacted before, and none has come since"
    if len(fresh) < settings.min_files:
        return (
            f"{_count(len(fresh), 'small file')} since the last compaction: it is worth the work from {settings.min_files} on (min_files)"
        )
    if len(small) < settings.min_share * len(files):
        return f"only {len(small)} of its {len(files)} files are small: it is worth the work from {settings.min_share:.0%} on (min_share)"
    return None


def _why_later(fresh: Sequence[SmallFile], settings: CompactionSettings, now: datetime) -> str | None:
    """Why a partition has to be quiet first; None if it is, or has too many small files to wait for that."""
    newest = max(file.added_at for file in fresh)
    if now - newest < timedelta(seconds=settings.quiet_seconds) and len(fresh) < settings.hot_files:
        ago = max(0, round((now - newest).total_seconds()))
        return (
            f"it was written {ago} s ago: it is left alone until it is quiet for {settings.quiet_seconds:.0f} s (quiet_seconds) "
            f"or has {settings.hot_files} small files (hot_files)"
        )
    return None


def _packed(files: Iterable[SmallFile], target: int) -> list[list[SmallFile]]:
    """Neighbours packed into bins of at most the target size, in the table's order: so the bounds of the new files stay narrow."""
    bins: list[list[SmallFile]] = []
    room = 0
    for file in sorted(files, key=lambda each: (each.place, each.path)):
        if not bins or file.size > room:
            bins.append([])
            room = target
        bins[-1].append(file)
        room -= file.size
    return bins


def _without_giants(files: Sequence[SmallFile]) -> list[SmallFile]:
    """Without those that are bigger than all others together: each time a row is written again its file at least doubles."""
    left, total = sorted(files, key=lambda file: file.size), sum(file.size for file in files)
    while left and left[-1].size > total - left[-1].size:
        total -= left.pop().size
    kept = {file.path for file in left}
    return [file for file in files if file.path in kept]


def _within(groups: Sequence[Group], budget: int) -> tuple[list[Group], list[LeftOut]]:
    """The groups that a round has room for, those first that make the most files few by reading the least; and those that wait."""
    chosen: list[Group] = []
    waiting: dict[str, list[Group]] = {}
    for group in sorted(groups, key=lambda each: (each.size / len(each.files), each.partition)):
        if group.size <= budget:
            chosen.append(group)
            budget -= group.size
        else:
            waiting.setdefault(group.partition, []).append(group)
    left = [
        LeftOut(
            name, sum(len(group.files) for group in found), f"{_count(len(found), 'group')} of it waits for the next round (round_bytes)"
        )
        for name, found in waiting.items()
    ]
    return sorted(chosen, key=lambda each: each.partition), left


def _why(files: Sequence[SmallFile], limit: int, settings: CompactionSettings) -> str:
    again = sum(file.packed_for >= settings.target_bytes for file in files)
    joined = f", {again} of them compacted before," if again else ""
    return (
        f"{len(files)} files{joined} of {size_text(sum(file.size for file in files))} together, each smaller than {size_text(limit)} "
        f"({settings.small_share:.0%} of the target of {size_text(settings.target_bytes)}), become 1 file"
    )


def _comparable(value: Any, number: float | None) -> tuple[int, float, str]:
    """A bound among its like: numbers, then texts, then what has none."""
    if number is not None:
        return 0, number, ""
    if isinstance(value, int | float) and not math.isnan(value):
        return 0, float(value), ""
    return (1, 0.0, value) if isinstance(value, str) else (2, 0.0, "")


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
