"""Freshness and silence: when tables last got data, how long they usually wait for it, and how long they may."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from lakeledger import codec
from lakeledger.config import BandSettings
from lakeledger.db import Row, Store, Transaction, pages
from lakeledger.db.pages import Page
from lakeledger.db.queries import load
from lakeledger.errors import Invalid
from lakeledger.names import parse_name
from lakeledger.redaction import scrub
from lakeledger.runs import user_name
from lakeledger.tables import Table, store

sql = load("lakeledger.quality.freshness")

# late: older than it may be; silent: nothing is declared, and it waits longer than it ever does; learning: too few loads to know.
Status = Literal["late", "silent", "learning", "fresh"]
WORST: tuple[Status, ...] = ("late", "silent", "learning", "fresh")

# Of how many days with data the longest silence is remembered.
DAYS = 35
# How long a table usually waits at most: longer than nine in ten of those silences, and half as long again.
MOST, SLACK = 0.9, 1.5
SHORTEST = timedelta(minutes=15)
PAGE = 1_000

_KEY: pages.Key = {"rank": int, "data_at": codec.to_time, "table": str}
Gaps = Sequence[tuple[str, float]]


@dataclass(frozen=True)
class Sla:
    """How old a table may become, as a document declares it; None where it declares nothing."""

    max_age: timedelta | None = None


@dataclass(frozen=True)
class Freshness:
    """How fresh a table is: when it last got data, how old that may be, and how long it usually waits for it at most."""

    table: str
    status: Status
    data_at: datetime | None
    age_seconds: float | None
    max_age_seconds: int | None = None
    usual_seconds: float | None = None
    learned_days: int = 0
    declared_by: str | None = None
    reason: str | None = None

    @property
    def is_overdue(self) -> bool:
        """Whether somebody should look."""
        return self.status in ("late", "silent")

    @property
    def message(self) -> str:
        """The same in words."""
        if self.data_at is None:
            return f"{self.table} has never got any data"
        got = f"{self.table} got its last data {span_text(self.age_seconds or 0)} ago"
        if self.max_age_seconds is not None:
            return f"{got}; it may be {span_text(self.max_age_seconds)} old"
        if self.usual_seconds is None:
            return f"{got}; how long it usually waits is still being learned"
        return f"{got}; it usually waits {span_text(self.usual_seconds)} at most"


def span_text(seconds: float) -> str:
    """45 s, 12 min, 26 h, 3 d 4 h."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    if seconds < 3_600:
        return f"{seconds / 60:.0f} min"
    if seconds < 2 * 86_400:
        return f"{seconds / 3_600:.0f} h"
    days, hours = divmod(round(seconds / 3_600), 24)
    return f"{days} d {hours} h" if hours else f"{days} d"


def with_gap(gaps: Gaps, sooner: datetime | None, later: datetime) -> list[tuple[str, float]]:
    """The longest silences of the last days with data, once data came again."""
    if sooner is None or later <= sooner:
        return list(gaps)
    day, gap = later.date().isoformat(), round((later - sooner).total_seconds(), 1)
    if gaps and gaps[-1][0] == day:
        return [*gaps[:-1], (day, max(gap, gaps[-1][1]))]
    return [*gaps, (day, gap)][-DAYS:]


def longest_wait(gaps: Gaps) -> float | None:
    """How many seconds a table waits for data at most, but for one silence in ten; None if it never did.

    Weekends are no surprise, because they are silences like others; one outage is not taken for usual.
    """
    ordered = sorted(seconds for _, seconds in gaps)
    return ordered[math.ceil(MOST * len(ordered)) - 1] if ordered else None


def assess(table: str, row: Row, now: datetime, settings: BandSettings) -> Freshness:
    """How fresh a table is, by what is kept of it."""
    data_at, allowed, days = row["data_at"], row["max_age_seconds"], row["learned_days"]
    age = max(0.0, (now - data_at).total_seconds()) if data_at else None
    usual = max(SHORTEST.total_seconds(), SLACK * row["wait_seconds"]) if row["wait_seconds"] and days >= settings.min_points else None
    status: Status = "fresh"
    if allowed is not None:
        status = "late" if age is None or age > allowed else "fresh"
    elif usual is None or age is None:
        status = "learning"
    elif age > usual:
        status = "silent"
    return Freshness(table, status, data_at, age, allowed, usual, days, row["declared_by"], row["reason"])


def note(tx: Transaction, table: Table, *, has_data: bool, sla: Sla | None = None) -> None:
    """Remember that a table got data now, and how old it may become if a document says so: what it no longer says counts no more."""
    row = _found(tx, table)
    declared = {name: row[name] for name in ("max_age_seconds", "declared_by", "reason")}
    if sla and sla.max_age:
        declared = {"max_age_seconds": round(sla.max_age.total_seconds()), "declared_by": None, "reason": None}
    elif sla and row["declared_by"] is None:
        declared["max_age_seconds"] = None
    if not has_data and declared["max_age_seconds"] == row["max_age_seconds"]:
        return
    data = {"data_at": tx.now, "gaps": with_gap(row["gaps"], row["data_at"], tx.now)} if has_data else {}
    _put(tx, table, {**row, **declared, **data})


def find(tx: Transaction, settings: BandSettings, table: Table) -> Freshness | None:
    """How fresh a table is; None if it never got data and nothing is declared."""
    row = tx.one(sql.find_freshness, table_id=table.table_id)
    return assess(str(table.name), row, tx.now, settings) if row else None


def every(tx: Transaction, settings: BandSettings) -> Iterator[Freshness]:
    """How fresh each table is, in the order of their names."""
    after: str | None = None
    while rows := tx.all(sql.list_freshness, after_key=after, page_size=PAGE):
        yield from (assess(f"{row['schema_name']}.{row['table_name']}", row, tx.now, settings) for row in rows)
        after = rows[-1]["name_key"]
        if len(rows) < PAGE:
            return


def declare(tx: Transaction, table: Table, max_age: timedelta | None, reason: str, by: str) -> None:
    """Say how old a table may become, or that it is to be learned. Raises Invalid without a reason, or for what is no span."""
    if not reason.strip():
        raise Invalid("a change of what is expected of a table needs a reason: somebody will ask")
    if max_age is not None and max_age <= timedelta():
        raise Invalid(f"a table cannot be {max_age.total_seconds():g} s old at most: write a span such as 26h")
    seconds = None if max_age is None else round(max_age.total_seconds())
    declared = {"max_age_seconds": seconds, "declared_by": by if seconds else None, "reason": scrub(reason.strip()) if seconds else None}
    _put(tx, table, {**_found(tx, table), **declared})


def _found(tx: Transaction, table: Table) -> dict[str, Any]:
    nothing: dict[str, Any] = {"data_at": None, "gaps": [], "max_age_seconds": None, "declared_by": None, "reason": None}
    return tx.one(sql.find_freshness, table_id=table.table_id) or nothing


def _put(tx: Transaction, table: Table, row: Row) -> None:
    kept = {name: row[name] for name in ("data_at", "gaps", "max_age_seconds", "declared_by", "reason")}
    learned = {"wait_seconds": longest_wait(row["gaps"]), "learned_days": len(row["gaps"])}
    tx.execute(sql.put_freshness, table_id=table.table_id, **kept, **learned)


def page(found: Iterable[Freshness], limit: int | None, after: str | None, status: str | None = None) -> Page[Freshness]:
    """A part of those tables, the worst first, or of those of that status."""
    never = datetime(1, 1, 2, tzinfo=UTC)
    chosen = [each for each in found if status in (None, each.status)]
    return pages.cut(chosen, _KEY, lambda each: (WORST.index(each.status), each.data_at or never, each.table), limit, after)


@dataclass(frozen=True)
class Freshnesses:
    """How fresh the tables of one tenant are."""

    _store: Store
    _settings: BandSettings

    def list(self, limit: int | None = None, after: str | None = None, *, status: Status | None = None) -> Page[Freshness]:
        """Tables, the worst first: late, silent, learning, fresh; of each those whose data is oldest first."""
        with self._store.read() as tx:
            return page(every(tx, self._settings), limit, after, status)

    def get(self, table: str) -> Freshness:
        """How fresh a table is. Raises NotFound or Invalid."""
        with self._store.read() as tx:
            known = store.get(tx, parse_name(table))
            found = find(tx, self._settings, known)
            return found or Freshness(str(known.name), "learning", None, None)

    def set(self, table: str, max_age: timedelta | None, reason: str, by: str | None = None) -> Freshness:
        """Say how old a table may become; None has it learned. What a document declares counts again with its next load.

        Raises NotFound or Invalid.
        """
        with self._store.write() as tx:
            known = store.get(tx, parse_name(table))
            declare(tx, known, max_age, reason, by or user_name())
            found = find(tx, self._settings, known)
        return found or Freshness(str(known.name), "learning", None, None)
