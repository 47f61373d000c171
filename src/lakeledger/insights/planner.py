"""What the next load of a table will probably be: from its latest schema and statistics, and from what its last loads brought."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import pairwise
from math import ceil
from statistics import median
from typing import Any, Protocol

from lakeledger.errors import NotFound
from lakeledger.insights.scanning import Queried
from lakeledger.records.model import MetadataRecord, MetadataTarget, Target
from lakeledger.records.query import Condition, MetadataQuery

VOLUME, SNAPSHOT, STATISTICS = "ingestion_volume", "schema_snapshot", "statistics_snapshot"
# How big a part of a load, a file and a partition of a table are to be.
PART_BYTES = 128_000_000
# By which columns a table is partitioned, and over how long a time each partition is.
_TIMES = ("date", "timestamp", "timestamptz", "datetime", "timestamp_ntz", "timestamp_ltz")
_PERIODS = {"day": 1.0, "month": 30.0, "year": 365.0}
_DAY = timedelta(days=1)


class Known(Queried, Protocol):
    """What is asked of the records."""

    def latest(self, target: Target | None = None, kind: str | None = None) -> MetadataRecord | None: ...


@dataclass(frozen=True)
class Partitioning:
    """How a table may be partitioned, and why. `column` None: it need not be."""

    column: str | None
    period: str | None
    why: str


@dataclass(frozen=True)
class LoadPlan:
    """What the next load of a table will probably be. What is None is not known.

    `columns` have name, type, precision, scale and length. `rows` and `bytes` are the median of ordinary loads; `rows_per_day` and
    `growth_percent` the change rate, of which the latter is the share of the table that a load brings. `parts` is how many parallel parts
    a load of that size is worth.
    """

    target: str
    columns: list[dict[str, Any]]
    loads: int
    rows: int | None
    bytes: int | None
    most_rows: int | None
    hours_between: float | None
    rows_per_day: float | None
    growth_percent: float | None
    table_rows: int | None
    table_bytes: int | None
    parts: int
    partitioning: Partitioning


def plan(known: Known, target: Target, loads: int) -> LoadPlan:
    """The plan for a target. Raises NotFound if neither a schema, nor statistics, nor a load of it is known."""
    schema, statistics = known.latest(target, SNAPSHOT), known.latest(target, STATISTICS)
    asked = MetadataQuery(target, [VOLUME], where=[Condition("payload.load", "!=", "refused")], limit=max(2, loads))
    volumes = [each for each in known.query(asked) if each.payload.get("load", "ordinary") == "ordinary"]
    if schema is None and statistics is None and not volumes:
        name = target.name if isinstance(target, MetadataTarget) else target
        raise NotFound(f"nothing is known of {name}: load it, or let a collector look at it with `lakeledger records collect`")
    sizes = statistics.payload if statistics else {}
    columns = [_column(each) for each in schema.payload["columns"]] if schema else []
    return _planned(target, columns, volumes, sizes.get("row_count"), sizes.get("total_bytes"))


def _planned(
    target: Target, columns: list[dict[str, Any]], volumes: Sequence[MetadataRecord], table_rows: int | None, table_bytes: int | None
) -> LoadPlan:
    counts = [int(each.payload["rows"]) for each in volumes]
    size = round(median(int(each.payload["bytes"]) for each in volumes)) if volumes else None
    rows = round(median(counts)) if counts else None
    days, hours = _span(volumes)
    daily = sum(counts[:-1]) / days if days else None
    return LoadPlan(
        target=target.name if isinstance(target, MetadataTarget) else target,
        columns=columns,
        loads=len(volumes),
        rows=rows,
        bytes=size,
        most_rows=max(counts, default=None),
        hours_between=hours,
        rows_per_day=round(daily, 2) if daily is not None else None,
        growth_percent=round(100 * rows / table_rows, 4) if rows is not None and table_rows else None,
        table_rows=table_rows,
        table_bytes=table_bytes,
        parts=max(1, ceil((size or 0) / PART_BYTES)),
        partitioning=partitioning(columns, table_rows, table_bytes, daily),
    )


def partitioning(
    columns: Sequence[dict[str, Any]], table_rows: int | None, table_bytes: int | None, rows_per_day: float | None
) -> Partitioning:
    """By which time a table may be partitioned: the shortest period that fills a file of the usual size."""
    if table_bytes is None or table_rows is None:
        return Partitioning(None, None, "how big the table is, is not known: collect its statistics")
    if table_bytes < 2 * PART_BYTES:
        return Partitioning(None, None, f"the table has {table_bytes:,} bytes: less than two files of {PART_BYTES:,}")
    column = next((each["name"] for each in columns if _base(each["type"]) in _TIMES), None)
    if column is None:
        return Partitioning(None, None, "no column is a date or a time")
    if not rows_per_day:
        return Partitioning(column, "month", "how much comes in a day is not known; months are seldom too small")
    daily = rows_per_day * table_bytes / max(1, table_rows)
    period = next((name for name, days in _PERIODS.items() if daily * days >= PART_BYTES), "year")
    return Partitioning(column, period, f"about {round(daily):,} bytes come in a day: a {period} of them fills a file of {PART_BYTES:,}")


def _column(given: dict[str, Any]) -> dict[str, Any]:
    return {name: given.get(name) for name in ("name", "type", "nullable", "precision", "scale", "length")}


def _base(type_: str) -> str:
    return type_.partition("(")[0].partition(" ")[0].strip().lower()


def _span(volumes: Sequence[MetadataRecord]) -> tuple[float | None, float | None]:
    """From the oldest of the loads to the newest in days, and how many hours lie between two of them."""
    if len(volumes) < 2:
        return None, None
    span = volumes[0].produced_at - volumes[-1].produced_at
    gaps = [(later.produced_at - earlier.produced_at).total_seconds() / 3600 for later, earlier in pairwise(volumes)]
    return (span / _DAY) or None, round(median(gaps), 4)
