"""For dashboards: how checks and loads went over time, and which tables time out again and again, beside how much they get."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from statistics import median
from typing import Any

from lakeledger.errors import Invalid
from lakeledger.insights.scanning import Queried, scan
from lakeledger.records.model import MetadataRecord, Target
from lakeledger.records.query import Condition, MetadataQuery

RECON, VOLUME = "recon_result", "ingestion_volume"
BUCKETS = ("hour", "day", "week", "month")
# How each kind says what came of it, as one word.
_WORDS = {"warning": "warn", "passed": "pass", "failed": "fail"}


@dataclass(frozen=True)
class Trend:
    """What was found of one table in one period: how many of each status, and of loads how many rows and bytes came."""

    at: datetime
    target: str
    kind: str
    records: int
    statuses: dict[str, int]
    rows: int | None = None
    bytes: int | None = None

    @property
    def pass_rate(self) -> float | None:
        """The share that passed of those that compared anything."""
        judged = sum(self.statuses.get(word, 0) for word in ("pass", "warn", "fail"))
        return round(self.statuses.get("pass", 0) / judged, 4) if judged else None


@dataclass
class _Sum:
    records: int = 0
    statuses: Counter[str] = field(default_factory=Counter)
    rows: int | None = None
    bytes: int | None = None

    def add(self, record: MetadataRecord) -> None:
        self.records += 1
        if word := status_of(record):
            self.statuses[word] += 1
        for name in ("rows", "bytes"):
            value = record.payload.get(name)
            if isinstance(value, int) and not isinstance(value, bool):
                setattr(self, name, (getattr(self, name) or 0) + value)


def trends(
    known: Queried,
    kind: str,
    target: Target | None = None,
    since: datetime | str | None = None,
    until: datetime | str | None = None,
    bucket: str = "day",
) -> list[Trend]:
    """How records of a kind went, by period and table, oldest first. Raises Invalid for a period that is none."""
    if bucket not in BUCKETS:
        raise Invalid(f"{bucket!r} is no period: use {', '.join(BUCKETS)}")
    sums: defaultdict[tuple[datetime, str], _Sum] = defaultdict(_Sum)
    for record in scan(known, MetadataQuery(target, [kind], since=since, until=until)):
        sums[begin_of(record.produced_at, bucket), record.target.name].add(record)
    return [Trend(at, name, kind, each.records, dict(each.statuses), each.rows, each.bytes) for (at, name), each in sorted(sums.items())]


def status_of(record: MetadataRecord) -> str | None:
    """What came of it, in the words of reconciliation: pass, warn, fail, error, timeout …; None for what judges nothing."""
    said: Any = record.payload.get("status") or record.payload.get("overall_status") or (record.quality or {}).get("status")
    word = str(said).lower() if said else None
    return _WORDS.get(word, word) if word else None


def begin_of(at: datetime, bucket: str) -> datetime:
    """When the period of a time began, in UTC."""
    hour = at.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    match bucket:
        case "hour":
            return hour
        case "week":
            return hour.replace(hour=0) - timedelta(days=hour.weekday())
        case "month":
            return hour.replace(hour=0, day=1)
        case _:
            return hour.replace(hour=0)


@dataclass(frozen=True)
class TimedOut:
    """A table whose checks timed out again and again: how often, of how many, which, since when, and how much its loads bring."""

    target: str
    timeouts: int
    checks: tuple[str, ...]
    first_at: datetime
    last_at: datetime
    rows: int | None
    bytes: int | None
    loads: int


def timeouts(known: Queried, since: datetime | str | None, at_least: int) -> list[TimedOut]:
    """Tables with at least so many timeouts, the worst first; rows and bytes are the median of their loads in that time."""
    query = MetadataQuery(kinds=[RECON], since=since, where=[Condition("payload.status", "=", "timeout")])
    found: defaultdict[str, list[MetadataRecord]] = defaultdict(list)
    for record in scan(known, query):
        found[record.target.name].append(record)
    repeated = {name: each for name, each in found.items() if len(each) >= at_least}
    ordered = sorted(repeated.items(), key=lambda item: (-len(item[1]), item[0]))
    return [_timed_out(name, each, scan(known, MetadataQuery(name, [VOLUME], since=since))) for name, each in ordered]


def _timed_out(name: str, found: list[MetadataRecord], loads: Iterable[MetadataRecord]) -> TimedOut:
    volumes = [each.payload for each in loads if each.payload.get("load") != "refused"]
    rows, size = (round(median(int(each[part]) for each in volumes)) if volumes else None for part in ("rows", "bytes"))
    checks = tuple(sorted({str(each.payload.get("check")) for each in found}))
    return TimedOut(name, len(found), checks, found[-1].produced_at, found[0].produced_at, rows, size, len(volumes))
