"""What the local backend talks about: jobs that the ledger keeps, and their runs from due to done."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from lakeledger.errors import Forbidden, Invalid, NotInstalled
from lakeledger.jobs import Job
from lakeledger.jobs.waits import unpacked
from lakeledger.runs import Status

# What is wrong as it was set up, and stays so however often it is tried.
CONFIGURATION_ERRORS = (Invalid, NotInstalled, Forbidden)
# How the queue calls what the run log says of a run that has ended.
ENDINGS = {Status.COMPLETED: "done", Status.FAILED: "failed", Status.CANCELLED: "cancelled", Status.SKIPPED: "skipped"}


@dataclass(frozen=True)
class LocalJob:
    """A job of the ledger: a row of `local_jobs`, its settings packed. `seen` is what its trigger knew when it last fired."""

    job_id: str
    tenant_id: str
    name: str
    settings: dict[str, Any]
    module: dict[str, Any]
    base: str
    paused: bool
    next_run_at: datetime | None
    watches: bool
    seen: dict[str, Any]
    created_at: datetime
    updated_at: datetime
    version: int

    @property
    def job(self) -> Job:
        return Job(self.job_id, unpacked(self.settings), self.base)

    @property
    def pipeline_id(self) -> str:
        """Under which name the run log knows its runs: that of the module."""
        return str(self.module.get("module_name") or self.name)

    @property
    def is_switched_off(self) -> bool:
        """Whether no source of its module is active: a run would do nothing."""
        sources = self.module.get("sources") or []
        return bool(sources) and not any(source.get("is_active", True) for source in sources)

    @property
    def max_concurrent_runs(self) -> int:
        return max(1, int(self.settings.get("max_concurrent_runs") or 1))

    @property
    def queues(self) -> bool:
        """Whether a run that is due waits for its turn, as with Databricks' `queue`, or is skipped."""
        return bool((self.settings.get("queue") or {}).get("enabled"))

    @property
    def timeout(self) -> timedelta | None:
        seconds = float(self.settings.get("timeout_seconds") or 0)
        return timedelta(seconds=seconds) if seconds else None

    @property
    def max_retries(self) -> int:
        """How often a failed run is tried again as a whole; its tasks have retries of their own."""
        return int(self.settings.get("max_retries") or 0)

    @property
    def retry_pause(self) -> timedelta:
        return timedelta(milliseconds=float(self.settings.get("min_retry_interval_millis") or 0))

    def parameters(self, given: Mapping[str, Any]) -> dict[str, str]:
        """The job's parameters with their defaults, and with what a run was given."""
        defaults = {str(item["name"]): str(item.get("default", "")) for item in self.settings.get("parameters") or []}
        return {**defaults, **{name: str(value) for name, value in given.items()}}


@dataclass(frozen=True)
class JobRun:
    """One run of a local job, due or asked for: a row of `local_job_runs`. `run_id` is its run in the run log, once it has ended.

    `claim_token` is the fencing token: it grows with every claim, and only the current one may end the run. `times_lost` counts the
    workers that were lost while they carried it out.
    """

    id: str
    tenant_id: str
    job_id: str
    cause: str
    due_at: datetime
    asked_by: str
    parameters: dict[str, Any]
    status: str
    reason: str | None
    attempt: int
    times_lost: int
    start_after: datetime
    run_id: str | None
    claim_token: int
    claimed_by: str | None
    claimed_on: str | None
    claimed_until: datetime | None
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None

    @property
    def key(self) -> str:
        """By which the run log knows the run that this claim became."""
        return f"{self.id}/{self.claim_token}"

    @property
    def waits(self) -> bool:
        """Whether it waits while its module is busy instead of being skipped: somebody asked for it, or it was started before."""
        return self.cause == "asked" or self.claim_token > 1
