"""Whether reconstructed history agrees with what dashboards show: a sample of their figures, by table and day or run."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from lakeledger import codec
from lakeledger.backfilling import raw
from lakeledger.backfilling.inventory import Baseline
from lakeledger.backfilling.readers import rows
from lakeledger.errors import Invalid

# The rows of a table in a time, or of a run; None if nothing is known.
Rows = Callable[[str, tuple[datetime, datetime] | None, str | None], int | None]

_SEED = 20_260_101  # the same sample each time, so that a second look is one at the same figures


@dataclass(frozen=True)
class Mismatch:
    """A figure that is not what history says."""

    table: str
    period: str
    expected: int
    found: int | None


@dataclass(frozen=True)
class Checked:
    """How a sample of a baseline compared."""

    name: str
    figures: int
    checked: int
    mismatches: tuple[Mismatch, ...]


def check(base: Path, baseline: Baseline, rows_of: Rows) -> Checked:
    """Compare a sample of the figures of a baseline. Raises Invalid for one that cannot be read."""
    figures = [_figure(baseline, row) for _, row in rows(base, baseline.read)]
    sample = random.Random(_SEED).sample(figures, min(baseline.sample, len(figures)))  # noqa: S311 - a sample, no secret
    wrong = []
    for table, day, run_id, expected in sample:
        found = rows_of(table, (day, day + timedelta(days=1)) if day else None, run_id)
        if found is None or abs(found - expected) > abs(expected) * baseline.tolerance_percent / 100:
            wrong.append(Mismatch(table, run_id or (codec.to_text(day)[:10] if day else ""), expected, found))
    return Checked(baseline.read.name, len(figures), len(sample), tuple(wrong))


def _figure(baseline: Baseline, row: Mapping[str, object]) -> tuple[str, datetime | None, str | None, int]:
    columns = baseline.read.columns
    if missing := [column for column in columns.values() if column not in row]:
        raise Invalid(f"the baseline {baseline.read.name} has no column {missing[0]!r}: it has {', '.join(map(str, row))}")
    day = raw.moment(row[columns["day"]]) if "day" in columns else None
    run_id = str(row[columns["run_id"]]) if "run_id" in columns else None
    return str(row[columns["table"]]), day, run_id, raw.number(row[columns["rows"]]) or 0
