"""What a load brought, judged by what its table usually gets, and by the limits that are declared for it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from lakeledger.config import BandSettings
from lakeledger.db import Transaction
from lakeledger.errors import Invalid
from lakeledger.quality.bands.model import Band, number
from lakeledger.quality.bands.series import VOLUME, Series, read_series

Action = Literal["warn", "fail", "off"]
# How a load came to be. Only ordinary ones are compared with each other.
Load = Literal["ordinary", "initial", "backfill", "replay", "full_refresh", "refused"]


@dataclass(frozen=True)
class VolumePolicy:
    """What is declared of the volume of loads: what becomes of one that is unusual, or has fewer or more rows than it may.

    `tolerance` is how far from what is expected is usual, as a share of it, instead of what is learned.
    """

    band: Action = "warn"
    min_rows: int | None = None
    max_rows: int | None = None
    tolerance: float | None = None

    def __post_init__(self) -> None:
        if self.band not in ("warn", "fail", "off"):
            raise Invalid(f"volume.band cannot be {self.band!r}: write warn, fail or off")
        for name in ("min_rows", "max_rows"):
            if (getattr(self, name) or 0) < 0:
                raise Invalid(f"volume.{name} cannot be {getattr(self, name)}: give 0 or more")
        if self.min_rows is not None and self.max_rows is not None and self.min_rows > self.max_rows:
            raise Invalid(f"volume.min_rows {self.min_rows} is more than max_rows {self.max_rows}")
        if self.tolerance is not None and self.tolerance <= 0:
            raise Invalid(f"volume.tolerance cannot be {self.tolerance}: write a share such as 0.3")

    def limit(self, rows: int) -> str | None:
        """The limit that so many rows are beyond, in words."""
        if self.min_rows is not None and rows < self.min_rows:
            return f"{number(rows)} rows are fewer than min_rows {number(self.min_rows)}"
        if self.max_rows is not None and rows > self.max_rows:
            return f"{number(rows)} rows are more than max_rows {number(self.max_rows)}"
        return None


DEFAULT_POLICY = VolumePolicy()


@dataclass(frozen=True)
class VolumeVerdict:
    """What is said of the volume of a load, or of the `day` before it where there are several loads a day."""

    status: Literal["pass", "warn", "learning", "fail"]
    value: float
    message: str
    day: str | None = None
    band: Band | None = None

    def to_json(self) -> dict[str, Any]:
        """As it is kept with the volume."""
        return {
            "status": self.status,
            "metric": "rows",
            "unit": "day" if self.day else "load",
            "day": self.day,
            "value": int(self.value),
            "message": self.message,
            "band": self.band.to_json() if self.band else None,
        }


def judge(
    tx: Transaction, settings: BandSettings, table: str, source: str, rows: int, policy: VolumePolicy = DEFAULT_POLICY
) -> VolumeVerdict | None:
    """What is said of a load of so many rows that is about to be committed; None if nothing is."""
    beyond = policy.limit(rows)
    series = read_series(tx, settings, VOLUME, table, "rows", source=source, once_a_day=True) if policy.band != "off" else None
    found = _of_band(series, rows, tx.now, policy) if series else None
    if beyond:
        return VolumeVerdict(
            "fail" if policy.band == "fail" else "warn", rows, beyond, band=found.band if found and not found.day else None
        )
    return found


def _of_band(series: Series, rows: int, at: datetime, policy: VolumePolicy) -> VolumeVerdict | None:
    if series.unit == "day":
        return _of_day(series, policy)
    band = series.band(at, policy.tolerance)
    status = band.judge(rows)
    return VolumeVerdict("fail" if status == "warn" and policy.band == "fail" else status, rows, band.verdict(rows), band=band)


def _of_day(series: Series, policy: VolumePolicy) -> VolumeVerdict | None:
    """What is said of the last whole day, with the first load of the next; it is over, and no load is refused for it."""
    last = series.points[-1] if series.points else None
    if last is None or last.state != "ordinary":
        return None
    band = series.band(last.at, policy.tolerance)
    return VolumeVerdict(band.judge(last.value), last.value, f"on {last.id}: {band.verdict(last.value)}", last.id, band)
