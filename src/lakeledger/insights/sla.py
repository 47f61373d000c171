"""How schedules kept their due times, from one `sla_adherence` record for each of them."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from lakeledger.insights.scanning import Queried, scan
from lakeledger.records.model import MetadataTarget
from lakeledger.records.query import MetadataQuery

KIND = "sla_adherence"


@dataclass(frozen=True)
class Adherence:
    """How one schedule kept its due times. `latest` is the payload of its newest record."""

    schedule: str
    due: int
    on_time: int
    late: int
    missed: int
    failed: int
    worst_late_seconds: float
    latest: dict[str, Any]

    @property
    def on_time_rate(self) -> float:
        """The share of due times that were kept."""
        return round(self.on_time / self.due, 4)


def adherence(known: Queried, schedule: str | None, since: datetime | str | None, until: datetime | str | None) -> list[Adherence]:
    """How schedules, or one, kept their due times, by name."""
    target = MetadataTarget(schedule) if schedule else None
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    worst: defaultdict[str, float] = defaultdict(float)
    latest: dict[str, dict[str, Any]] = {}
    for record in scan(known, MetadataQuery(target, [KIND], since=since, until=until)):
        payload = record.payload
        name = str(payload["schedule"])
        counts[name][payload["status"]] += 1
        worst[name] = max(worst[name], float(payload.get("late_seconds") or 0))
        latest.setdefault(name, payload)
    return [
        Adherence(name, sum(each.values()), each["on_time"], each["late"], each["missed"], each["failed"], worst[name], latest[name])
        for name, each in sorted(counts.items())
    ]
