"""What reconciliation talks about: what is compared with what, by which checks, and what came of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal

from lakeledger.db import Row

CheckType = Literal[
    "count", "group_count", "sum", "min", "max", "avg", "null_rate", "checksum", "key_set", "pk_uniqueness", "schema", "freshness"
]
Frequency = Literal["daily", "weekly", "monthly", "adhoc"]
# Those that are one number of each side, and are asked for together.
MEASURED = ("count", "sum", "min", "max", "avg", "null_rate", "freshness")
# Those that compare digests, and go down to the keys that differ.
DIGESTED = ("checksum", "key_set")
# Those whose two sides need keys.
KEYED = ("checksum", "key_set", "pk_uniqueness")


class Status(StrEnum):
    """How a check ended. Only the first three compare anything."""

    PASS = "pass"  # noqa: S105 - no password
    WARN = "warn"
    FAIL = "fail"
    ERROR = "error"
    SKIPPED = "skipped"
    TIMEOUT = "timeout"
    SCHEDULED_SKIP = "scheduled_skip"


# From what nobody needs to look at to what somebody must.
ORDER = (Status.SCHEDULED_SKIP, Status.SKIPPED, Status.PASS, Status.WARN, Status.TIMEOUT, Status.ERROR, Status.FAIL)


@dataclass(frozen=True)
class Thresholds:
    """How far apart the sides may be: within either of a pair is within. Beyond the first pair is a warning, beyond the second a failure.

    With `band`, what its own history allows is allowed, too.
    """

    absolute: float | None = None
    percent: float | None = None
    warn_absolute: float | None = None
    warn_percent: float | None = None
    band: bool = False

    @property
    def are_declared(self) -> bool:
        return any(each is not None for each in (self.absolute, self.percent, self.warn_absolute, self.warn_percent))

    def document(self) -> dict[str, Any]:
        """As it is stored."""
        found = {"absolute": self.absolute, "percent": self.percent, "warn": self.warn_absolute, "warn_percent": self.warn_percent}
        said = {name: value for name, value in found.items() if value is not None}
        return {**(said or {"absolute": 0}), **({"band": True} if self.band else {})}


@dataclass(frozen=True)
class Probe:
    """A period of a column by which differences are narrowed down: its year, month or day, in UTC."""

    period: Literal["year", "year_month", "day"]
    column: str


@dataclass(frozen=True)
class Check:
    """One question. `on_fail` is None, or after which failed check it is asked: one by its name, or "*" for any."""

    name: str
    type: CheckType
    column: str | None = None
    columns: tuple[str, ...] = ()
    thresholds: Thresholds = Thresholds()
    on_fail: str | None = None
    probes: tuple[Probe, ...] = ()
    timeout_seconds: float | None = None
    samples: int = 20


@dataclass(frozen=True)
class Reconciliation:
    """Two sides and the checks between them. A side is what `sides.open_side` opens; `target` must not be missing, and is an error then."""

    name: str
    source: Any
    target: Any
    checks: tuple[Check, ...]
    keys: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    frequency: Frequency = "adhoc"
    timeout_seconds: float | None = None
    max_parallel: int = 4
    max_rows: int = 100_000


@dataclass(frozen=True)
class Outcome:
    """What a check found, before it is stored."""

    status: Status
    source: Any = None
    target: Any = None
    difference: float | None = None
    percent: float | None = None
    message: str = ""
    scope: list[dict[str, Any]] = field(default_factory=list)
    detail: Mapping[str, Any] = field(default_factory=dict)
    band: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Result:
    """The stored outcome of one check: a row of `recon_results`."""

    recon_result_id: str
    run_id: str
    recon_name: str
    check_name: str
    check_type: str
    status: Status
    schema_name: str | None
    table_name: str | None
    source: dict[str, Any]
    target: dict[str, Any] | None
    source_metric: str | None
    target_metric: str | None
    difference: float | None
    difference_percent: float | None
    thresholds: dict[str, Any]
    band: dict[str, Any] | None
    scope: list[Any]
    detail: dict[str, Any]
    message: str
    ingestion_run_ids: list[str]
    frequency: str
    started_at: datetime
    ended_at: datetime

    @property
    def id(self) -> str:
        return self.recon_result_id

    @property
    def table(self) -> str | None:
        """The ledger table that it is about, if one of the sides is one."""
        return f"{self.schema_name}.{self.table_name}" if self.table_name else None

    def document(self) -> dict[str, Any]:
        """As scripts read it."""
        from lakeledger import codec

        return {
            "recon_result_id": self.recon_result_id,
            "run_id": self.run_id,
            "reconciliation": self.recon_name,
            "check": self.check_name,
            "check_type": self.check_type,
            "status": str(self.status),
            "table": self.table,
            "source": self.source,
            "target": self.target,
            "source_metric": self.source_metric,
            "target_metric": self.target_metric,
            "difference": self.difference,
            "difference_percent": self.difference_percent,
            "thresholds": self.thresholds,
            "band": self.band,
            "scope": self.scope,
            "detail": self.detail,
            "message": self.message,
            "ingestion_run_ids": self.ingestion_run_ids,
            "frequency": self.frequency,
            "started_at": codec.to_text(self.started_at),
            "ended_at": codec.to_text(self.ended_at),
        }

    @classmethod
    def from_row(cls, row: Row) -> Result:
        """The result that a row holds."""
        known: dict[str, Any] = {name: value for name, value in row.items() if name in cls.__dataclass_fields__}
        return cls(**{**known, "status": Status(row["status"])})


@dataclass(frozen=True)
class Report:
    """What one reconciliation found, in the order of its checks."""

    name: str
    run_id: str | None
    results: tuple[Result, ...]

    @property
    def status(self) -> Status:
        return worst(each.status for each in self.results)


def worst(statuses: Any) -> Status:
    """The one that matters most; a failure more than an error, because it is known."""
    return max(statuses, key=ORDER.index, default=Status.SKIPPED)
