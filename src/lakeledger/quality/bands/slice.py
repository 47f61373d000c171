"""The bands of one tenant: what is usual for a table, what was unusual last, and what people decide about points."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from lakeledger import records
from lakeledger.config import BandSettings
from lakeledger.db import Row, Store, Transaction
from lakeledger.errors import Invalid
from lakeledger.names import parse_name
from lakeledger.quality import store as results
from lakeledger.quality.bands import decisions
from lakeledger.quality.bands.decisions import Decision, Verb, sql
from lakeledger.quality.bands.model import Point
from lakeledger.quality.bands.series import CHECKS, METRICS, VOLUME, Series, read_series
from lakeledger.runs import user_name
from lakeledger.tables import store

PAGE = 1_000


@dataclass(frozen=True)
class Unusual:
    """The last verdict about the volume of a table, and what was decided about it since."""

    table: str
    status: str
    point: str
    at: datetime
    source: str
    message: str
    verdict: dict[str, Any]
    decision: Decision | None = None


@dataclass(frozen=True)
class Bands:
    """Tolerance bands, and the decisions about their points."""

    _store: Store
    _settings: BandSettings

    def series(
        self,
        table: str,
        metric: str = "rows",
        *,
        kind: str = VOLUME,
        check: str | None = None,
        source: str | None = None,
        until: datetime | None = None,
    ) -> Series:
        """What was measured of a table, and what is usual: `series.band(at)`, `series.walk()`. Raises NotFound or Invalid.

        `metric` is rows or bytes of loads; of a `check` of another kind (dq_result, recon_result) one of its metrics, or what it observed.
        """
        if kind == CHECKS and not check:
            raise Invalid("a band of a quality result is one of a check: name the check")
        if kind == VOLUME and metric not in METRICS:
            raise Invalid(f"loads have no metric {metric!r}: write {' or '.join(METRICS)}, or name the kind of records")
        with self._store.read() as tx:
            known = store.get(tx, parse_name(table))
            return read_series(tx, self._settings, kind, str(known.name), metric, check, until, source)

    def unusual(self, *, every: bool = False) -> list[Unusual]:
        """The tables whose last load was outside of its band, and nobody has decided about it; with `every`, all that were judged."""
        with self._store.read() as tx:
            found = [_unusual(tx, row) for row in _last_verdicts(tx, every=every)]
        return [each for each in found if every or each.decision is None]

    def exclude(self, table: str, point: str, reason: str, *, kind: str = VOLUME, by: str | None = None) -> Decision:
        """Leave a point out of bands: it was wrong, or no measure for others. Raises NotFound or Invalid."""
        return self._decide(table, point, "exclude", reason, kind, by)

    def accept(self, table: str, point: str, reason: str, *, kind: str = VOLUME, by: str | None = None) -> Decision:
        """Take a point that was outside of its band for the new level. Raises NotFound or Invalid."""
        return self._decide(table, point, "accept", reason, kind, by)

    def restore(self, table: str, point: str, reason: str, *, kind: str = VOLUME, by: str | None = None) -> Decision:
        """Undo what was decided about a point. Raises NotFound or Invalid."""
        return self._decide(table, point, "restore", reason, kind, by)

    def decisions(self, table: str, *, kind: str = VOLUME) -> list[Decision]:
        """Everything that was decided about points of a table, the newest last. Raises NotFound."""
        with self._store.read() as tx:
            return decisions.history(tx, kind, str(store.get(tx, parse_name(table)).name))

    def _decide(self, table: str, point: str, decision: Verb, reason: str, kind: str, by: str | None) -> Decision:
        metric = "rows" if kind == VOLUME else ""
        with self._store.read() as tx:
            name = str(store.get(tx, parse_name(table)).name)
            named = _named(tx, self._settings, kind, name, metric, point)
        with self._store.write() as tx:
            return decisions.decide(tx, kind, name, named, decision, reason, by or user_name())


def _named(tx: Transaction, settings: BandSettings, kind: str, table: str, metric: str, point: str) -> str:
    """The whole id of a point. Of what was decided once, it is known however old it is. Raises NotFound or Invalid."""
    if point in decisions.current(tx, kind, table):
        return point
    if kind != VOLUME:
        since = tx.now - timedelta(days=settings.window_days)
        if kind == CHECKS:
            points = tuple(Point(each.executed_at, 0.0, each.dq_result_id) for each in results.history(tx, table, PAGE, since=since))
        else:
            points = tuple(Point(each.produced_at, 0.0, each.record_id) for each in records.history(tx, table, kind, since, limit=PAGE))
        return str(Series(kind, table, metric, points, settings).find(point).id)
    first = read_series(tx, settings, kind, table, metric)
    for source in first.sources or (None,):
        series = first if source == first.source else read_series(tx, settings, kind, table, metric, source=source)
        if any(each.id and each.id.startswith(point) for each in series.points):
            return str(series.find(point).id)
    return str(first.find(point).id)


def _last_verdicts(tx: Transaction, *, every: bool) -> Iterator[Row]:
    after: str | None = None
    wanted = {} if every else {"warn": "warn", "fail": "fail"}
    while rows := tx.all(sql.last_verdicts, after_key=after, page_size=PAGE, **wanted):
        yield from rows
        after = rows[-1]["name_key"]
        if len(rows) < PAGE:
            return


def _unusual(tx: Transaction, row: Row) -> Unusual:
    table, verdict = f"{row['schema_name']}.{row['table_name']}", row["quality"]
    point = verdict.get("day") or row["record_id"]
    decided = decisions.current(tx, VOLUME, table).get(point)
    return Unusual(table, verdict["status"], point, row["produced_at"], row["source_id"], verdict.get("message", ""), verdict, decided)
