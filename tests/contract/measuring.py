"""Loads of other days: what tables got, as the ledger would have kept it then."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from contract.making import ORDERS, change, new_file
from lakeledger import Ledger, clock, commit
from lakeledger.pipelines.effects import IngestionFacts, Stopwatch
from lakeledger.tables import Committed, parse_name

SUNDAY = 6


def days_ago(number: float) -> datetime:
    """So many days before this one, at two o'clock."""
    return clock.now().replace(hour=2, minute=0, second=0, microsecond=0) - timedelta(days=number)


def monday(weeks: int) -> datetime:
    """The Monday so many weeks before this one's, at two o'clock."""
    today = clock.now().replace(hour=2, minute=0, second=0, microsecond=0)
    return today - timedelta(days=today.weekday(), weeks=weeks)


def load_at(
    ledger: Ledger, at: datetime, rows: int, table: str = ORDERS, pipeline: str = "load", operation: str = "append", **facts: Any
) -> Committed:
    """A load of so many rows at another time."""
    how: dict[str, Any] = {"operation": operation, **({"retires": "all"} if operation == "overwrite" else {})}
    with ledger.run(pipeline) as run, ledger.store.write() as tx:
        planned = change(run, *([new_file(clock.new_id(), rows)] if rows else []), table=table, **how)
        told = IngestionFacts(parse_name(table), Stopwatch(), **facts)
        made = commit.commit(replace(tx, now=at), planned.fence, [planned.change], [], [told])
    return made.tables[0]


def load_daily(ledger: Ledger, rows: Iterable[int], last: datetime | None = None, **more: Any) -> list[Committed]:
    """A load a day, the last one yesterday. The first of a table is no measure: it has one row."""
    volumes = list(rows)
    end = last or days_ago(1)
    if ledger.tables.find(more.get("table", ORDERS)) is None:
        load_at(ledger, end - timedelta(days=len(volumes)), 1, load="initial", **more)
    return [load_at(ledger, end - timedelta(days=len(volumes) - 1 - place), each, **more) for place, each in enumerate(volumes)]


def weekly(weeks: int, noise: float = 0.05, level: int = 1000, seed: int = 5) -> list[int]:
    """What a table gets that gets less on Sundays, from a Monday on."""
    chance = random.Random(seed)
    return [round(level * (0.4 if day % 7 == SUNDAY else 1) * (1 + chance.gauss(0, noise))) for day in range(7 * weeks)]


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)
