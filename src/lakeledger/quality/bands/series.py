"""Series: what was measured of a table over time, as the points of a band."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, time, timedelta, tzinfo
from itertools import pairwise
from typing import Any, Literal

from lakeledger.config import BandSettings
from lakeledger.db import Row, Transaction
from lakeledger.errors import Invalid, NotFound
from lakeledger.names import table_key
from lakeledger.quality import store as results
from lakeledger.quality.bands import decisions
from lakeledger.quality.bands.decisions import Decision, sql
from lakeledger.quality.bands.fitting import median, zone_of
from lakeledger.quality.bands.learning import Judged, tolerance_band, walk
from lakeledger.quality.bands.model import Band, Point, State

VOLUME, CHECKS = "ingestion_volume", "dq_result"
CHECK_METRICS = ("unexpected_percent", "unexpected_count", "element_count")
METRICS = ("rows", "bytes")
# What is loaded more often than that is judged by whole days.
OFTEN = timedelta(hours=12)
# How many points a series has at most, and of how many loads days are summed up.
MOST_POINTS, MOST_LOADS = 200, 20_000

Unit = Literal["load", "day"]
_DECIDED: dict[str, State] = {"exclude": "excluded", "accept": "accepted"}
_ODD_LOADS: tuple[State, ...] = ("initial", "backfill", "replay", "full_refresh", "refused")


@dataclass(frozen=True)
class Series:
    """What was measured of a table, oldest first, and how it is judged.

    Points are loads (or results of checks), or days of `zone` where there are several loads a day; the running day is no point yet.
    """

    kind: str
    table: str
    metric: str
    points: tuple[Point, ...]
    settings: BandSettings
    unit: Unit = "load"
    source: str | None = None
    sources: tuple[str, ...] = ()
    last_at: datetime | None = None
    decisions: Mapping[str, Decision] = field(default_factory=dict)

    @property
    def zone(self) -> tzinfo:
        return zone_of(self.settings.time_zone)

    @property
    def judging(self) -> dict[str, Any]:
        """How a band treats the metric."""
        is_rows = self.kind == VOLUME and self.metric == "rows"
        return {
            "least": self.settings.floor_rows if is_rows else 0.0,
            "empty_is_news": self.kind == VOLUME,
            "unit": self.metric if self.kind == VOLUME else "",
        }

    def band(self, at: datetime, tolerance: float | None = None) -> Band:
        """What is usual at that moment."""
        return tolerance_band(self.points, at, self.settings, tolerance=tolerance, **self.judging)

    def walk(self) -> list[Judged]:
        """Every point with the band of its own moment."""
        return walk(self.points, self.settings, **self.judging)

    def find(self, named: str) -> Point:
        """The point that a person names: by its id, which may be abbreviated, or by its day. Raises NotFound, or Invalid if it is two."""
        found = [each for each in self.points if each.id == named] or [
            each
            for each in self.points
            if (len(named) >= 8 and (each.id or "").startswith(named)) or each.at.astimezone(self.zone).date().isoformat() == named
        ]
        if len(found) == 1:
            return found[0]
        see = f"`lakeledger bands show {self.table}` shows them"
        if not found:
            raise NotFound(f"{self.table} has no point {named} in the last {self.settings.window_days:g} days: {see}")
        raise Invalid(f"{named} is {len(found)} points of {self.table}: name one by its whole id; {see}")


def read_series(
    tx: Transaction,
    settings: BandSettings,
    kind: str,
    table: str,
    metric: str,
    check: str | None = None,
    until: datetime | None = None,
    source: str | None = None,
    *,
    once_a_day: bool = False,
) -> Series:
    """What was measured of a table before `until`, by default now, as far back as bands look.

    Of `ingestion_volume` the metric is rows or bytes, of one source if the table has several. Of `dq_result` it is the
    unexpected_percent or unexpected_count of a `check`, or what it observed. Of other kinds it is one of the payload's `metrics`, of one
    `check`. With `once_a_day`, days are summed up only if nothing was loaded today: otherwise the series has no points.
    """
    decided = decisions.current(tx, kind, table)
    end = until or tx.now + timedelta(seconds=1)
    if kind == VOLUME:
        return _volumes(tx, settings, table, metric, end, source, decided, once_a_day=once_a_day)
    since = end - timedelta(days=settings.window_days)
    if kind == CHECKS:
        checks = results.check_history(tx, table, check or "", MOST_POINTS, since=since, until=end)
        points = [point for each in reversed(checks) if (point := _checked(each, metric, decided))]
        return Series(kind, table, metric, tuple(points), settings, decisions=decided)
    about = {"kind": kind, "name_key": table_key(table), "check": check}
    rows = tx.all(sql.results, **about, since=since, until=end, most=MOST_POINTS)
    points = [point for row in reversed(rows) if (point := _result(row, metric, decided))]
    return Series(kind, table, metric, tuple(points), settings, decisions=decided)


def _result(row: Row, metric: str, decided: Mapping[str, Decision]) -> Point | None:
    """A result of a check as a point; None if it measured nothing."""
    payload = row["payload"]
    value = (payload.get("metrics") or {}).get(metric)
    status = str(payload.get("status") or "").lower()
    if not isinstance(value, int | float) or status not in ("pass", "warn", "fail"):
        return None
    state = _decided(row["record_id"], decided) or ("failed" if status == "fail" else "ordinary")
    return Point(row["produced_at"], float(value), row["record_id"], state)


def _checked(check: results.DqCheck, metric: str, decided: Mapping[str, Decision]) -> Point | None:
    """What an expectation of a table observed as a point; None if it observed no such number."""
    value = getattr(check, metric) if metric in CHECK_METRICS else check.observed.get(metric)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return Point(check.executed_at, float(value), check.dq_result_id, _decided(check.dq_result_id, decided) or "ordinary")


@dataclass(frozen=True)
class _Load:
    """What a load brought."""

    id: str
    at: datetime
    source: str
    value: float
    state: State


def _volumes(
    tx: Transaction,
    settings: BandSettings,
    table: str,
    metric: str,
    until: datetime,
    source: str | None,
    decided: Mapping[str, Decision],
    *,
    once_a_day: bool,
) -> Series:
    since, key = until - timedelta(days=settings.window_days), table_key(table)
    rows = tx.all(sql.volumes, name_key=key, since=since, until=until, most=MOST_POINTS)
    found = _loads(_with_steps(tx, rows), metric, decided)
    sources = tuple(dict.fromkeys(load.source for load in found))
    chosen = source or (sources[0] if sources else None)
    loads = [load for load in found if load.source == chosen]
    points = tuple(Point(load.at, load.value, load.id, load.state) for load in reversed(loads))
    last_at = max((load.at for load in loads if load.state != "refused"), default=None)
    series = Series(VOLUME, table, metric, points, settings, "load", chosen, sources, last_at, decided)
    # Where each load replaces the table, what it has then is what counts, however often.
    replaces = next((row["payload"].get("operation") == "overwrite" for row in rows if row["source_id"] == chosen), False)
    if replaces or not is_often([load.at for load in loads if load.state == "ordinary"]):
        return series
    if once_a_day and last_at and last_at.astimezone(series.zone).date() == tx.now.astimezone(series.zone).date():
        return replace(series, points=(), unit="day")
    many = tx.all(sql.volumes_of_days, name_key=key, since=since, until=until, most=MOST_LOADS)
    days = by_day((_part(row, metric, decided) for row in many if row["source_id"] == chosen), series.zone, until, decided)
    return replace(series, points=tuple(days), unit="day")


def _with_steps(tx: Transaction, rows: list[Row]) -> list[Row]:
    """The rows, where a step did the load with how that ended: of a run that fails, most steps may have done their work."""
    steps = {row["record_id"]: step for row in rows if (step := row["context_extras"].get("step_id"))}
    broken = {row["id"] for row in tx.all(sql.broken_steps, ids=sorted(steps.values()))} if steps else set()
    ended = {record: "FAILED" if step in broken else "COMPLETED" for record, step in steps.items()}
    return [{**row, "status": ended.get(row["record_id"], row["status"])} for row in rows]


def _loads(rows: Iterable[Row], metric: str, decided: Mapping[str, Decision]) -> list[_Load]:
    return [
        _Load(row["record_id"], row["produced_at"], row["source_id"], float(row["payload"].get(metric) or 0), _state(row, decided))
        for row in rows
    ]


def _part(row: Row, metric: str, decided: Mapping[str, Decision]) -> _Load:
    """A load as a part of its day: what came, came, whatever became of its run."""
    odd: State = row["load"] if row["load"] in _ODD_LOADS else "ordinary"
    return _Load(
        row["record_id"], row["produced_at"], row["source_id"], float(row[metric] or 0), _decided(row["record_id"], decided) or odd
    )


def _state(row: Row, decided: Mapping[str, Decision]) -> State:
    """Whether a load is one like others; what people decided comes first."""
    if state := _decided(row["record_id"], decided):
        return state
    payload = row["payload"]
    if payload.get("load") in _ODD_LOADS:
        return payload["load"]  # type: ignore[no-any-return]  # it is one of them
    if row["run_kind"] == "backfill":
        return "backfill"
    if row["status"] in ("FAILED", "CANCELLED"):
        return "failed"
    is_first = payload.get("table_version") == 1 and payload.get("operation") != "overwrite"
    return "initial" if is_first and "load" not in payload else "ordinary"


def _decided(point: str, decided: Mapping[str, Decision]) -> State | None:
    return _DECIDED[decided[point].decision] if point in decided else None


def is_often(times: Sequence[datetime]) -> bool:
    """Whether loads usually come more than once a day."""
    ordered = sorted(times)
    gaps = [(later - sooner).total_seconds() for sooner, later in pairwise(ordered)]
    return len(gaps) >= 2 and median(gaps) < OFTEN.total_seconds()


def by_day(loads: Iterable[_Load], zone: tzinfo, until: datetime, decided: Mapping[str, Decision]) -> list[Point]:
    """What whole days brought, oldest first: not the running one, and not the first, of which a part may be missing."""
    sums: dict[date, float] = {}
    today = (until - timedelta(microseconds=1)).astimezone(zone).date()
    first: date | None = None
    for load in loads:
        day = load.at.astimezone(zone).date()
        first = day if first is None else min(day, first)
        if load.state in ("ordinary", "accepted"):
            sums[day] = sums.get(day, 0.0) + load.value
    days = sorted(day for day in sums if day not in (today, first))
    return [
        Point(datetime.combine(day, time(), zone), sums[day], day.isoformat(), _decided(day.isoformat(), decided) or "ordinary")
        for day in days
    ]
