"""Which versions may go, which files go with them, and when a snapshot is due: decided over values, without a database."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal

from lakeledger.tables import Trigger


@dataclass(frozen=True)
class Policy:
    """How long versions are kept, and when other engines are shown a new one.

    A version expires once it is neither among the `keep_versions` newest nor was current within the last `keep_for`. `grace` is how long
    whoever began to read something may still need it: a version that is no longer current, a file that no version needs, metadata that
    nobody points at. A snapshot is due after so many commits, so much time, or so many files, bytes or rows; None and 0 are never. With
    `snapshot_query` it is also due when somebody asks for a fresh one.
    """

    keep_versions: int = 10
    keep_for: timedelta = timedelta(days=30)
    grace: timedelta = timedelta(hours=24)
    snapshot_commits: int | None = 1
    snapshot_every: timedelta | None = None
    snapshot_files: int | None = None
    snapshot_bytes: int | None = None
    snapshot_rows: int | None = None
    snapshot_query: bool = True


@dataclass(frozen=True)
class Version:
    """A version of a table: when it became current, and when another one did; None while it is."""

    number: int
    committed_at: datetime
    superseded_at: datetime | None


@dataclass(frozen=True)
class Needs:
    """Who needs versions, in words: single ones, all from one on, and all that were current at or after some time."""

    single: Mapping[int, str] = field(default_factory=dict)
    onwards: Mapping[int, str] = field(default_factory=dict)
    since: Mapping[datetime, str] = field(default_factory=dict)

    def reason(self, version: Version) -> str | None:
        """Who needs that version; None if nobody does."""
        if version.number in self.single:
            return self.single[version.number]
        from_on = (told for first, told in sorted(self.onwards.items()) if version.number >= first)
        in_time = (told for start, told in sorted(self.since.items()) if version.superseded_at is None or version.superseded_at >= start)
        return next(from_on, None) or next(in_time, None)


@dataclass(frozen=True)
class Verdict:
    """What becomes of a version: why it is kept, or None if it expires."""

    version: Version
    kept: str | None


def judge(versions: Sequence[Version], policy: Policy, needs: Needs, now: datetime) -> list[Verdict]:
    """What becomes of each of a table's versions, which are in order. It expires if age, number and everybody allow it."""
    newest = {version.number for version in versions[-max(policy.keep_versions, 1) :]}
    return [Verdict(version, _kept(version, policy, needs, now, is_new=version.number in newest)) for version in versions]


def _kept(version: Version, policy: Policy, needs: Needs, now: datetime, *, is_new: bool) -> str | None:
    if version.superseded_at is None:
        return "current"
    if needed := needs.reason(version):
        return needed
    if is_new:
        return f"one of the {policy.keep_versions} newest"
    if version.superseded_at > now - policy.keep_for:
        return f"was current within {words(policy.keep_for)}"
    return f"may still be read for {words(policy.grace)}" if version.superseded_at > now - policy.grace else None


def dated(rows: Sequence[tuple[int, datetime]]) -> list[Version]:
    """All versions of a table with their ends, from their numbers and beginnings, in order.

    One whose successor has expired counts as current until the next that is left: it is kept a little longer, never shorter.
    """
    ends = [*(began for _, began in rows[1:]), None]
    return [Version(number, began, end) for (number, began), end in zip(rows, ends[: len(rows)], strict=True)]


def gaps(kept: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Between which versions none is kept: pairs of neighbours among those that are, beginning before the first.

    A retired file is needed by none of the kept if it came after the first of such a pair and was gone by the second.
    """
    last = 0
    for version in sorted(set(kept)):
        if version - last > 1:
            yield last, version
        last = version


@dataclass(frozen=True)
class Since:
    """What came into a table since its last snapshot, when that was (None: never), and whether somebody asks for one now."""

    commits: int
    files: int = 0
    bytes: int = 0
    rows: int = 0
    at: datetime | None = None
    asked: Literal["manual", "query"] | None = None


def is_due(policy: Policy, since_last: Since, now: datetime) -> Trigger | None:
    """By what a snapshot is due now; None if none is. Without a commit there is nothing to show."""
    if not since_last.commits:
        return None
    if since_last.asked:
        return since_last.asked
    if policy.snapshot_commits and since_last.commits >= policy.snapshot_commits:
        return "commit"
    if policy.snapshot_every and (since_last.at is None or now - since_last.at >= policy.snapshot_every):
        return "time"
    sizes = ((policy.snapshot_files, since_last.files), (policy.snapshot_bytes, since_last.bytes), (policy.snapshot_rows, since_last.rows))
    return "size" if any(limit and reached >= limit for limit, reached in sizes) else None


def words(span: timedelta) -> str:
    """A time span as people type it: 30d, 1h30m."""
    left, found = int(span.total_seconds()), ""
    for unit, seconds in (("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1)):
        if left >= seconds:
            found, left = f"{found}{left // seconds}{unit}", left % seconds
    return found or "0s"
