"""A ledger with local jobs and schedulers whose clock and runs do as the tests tell them."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from contract.making import execute, wait_until
from lakeledger import Failed, Ledger
from lakeledger.jobs import MODULE_TAG, OWNER_TAG, JobSpec
from lakeledger.jobs.local import LocalBackend
from lakeledger.jobs.model import JobRun
from lakeledger.jobs.scheduler import Due, Outcome, Scheduler
from lakeledger.jobs.triggers import TableVersion
from lakeledger.runs import Status

SIX = datetime(2099, 1, 1, 6, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
DAY = timedelta(days=1)
DAILY = {"cron": "0 6 * * *"}


@dataclass
class World:
    """A ledger with local jobs, a clock that stands still, and schedulers whose runs end when they are told to."""

    ledger: Ledger
    backend: LocalBackend
    now: datetime = SIX - timedelta(seconds=1)
    started: list[Due] = field(default_factory=list)
    gate: threading.Event = field(default_factory=threading.Event)
    versions: dict[str, TableVersion] = field(default_factory=dict)

    def job(self, name: str = "shop", **settings: Any) -> str:
        """A job as it would be if it had been made at the time that the clock shows."""
        tags = {OWNER_TAG: "etl_control", MODULE_TAG: name}
        made = self.backend.create(JobSpec(name, {"name": name, "tags": tags, **settings}, {"module_name": name}))
        if "schedule" in settings:
            execute(self.ledger, "update local_jobs set next_run_at = :at where job_id = :id", at=SIX, id=made.job_id)
        return made.job_id

    def scheduler(self, **options: Any) -> Scheduler:
        given = {
            "now": lambda: self.now,
            "failures": self.ledger.sync.background("scheduler"),
            "versions": lambda _: self.versions,
            "look_seconds": 0,
        }
        return Scheduler(self.ledger.store, self.ledger.worker, self.carry_out, **{**given, **options})

    def carry_out(self, due: Due) -> Outcome:
        """A run that is in the run log, and that lasts until the gate opens or it is stopped."""
        self.started.append(due)
        with self.ledger.run(due.job.pipeline_id, "scheduler", idempotency_key=due.key, exclusive=due.is_exclusive) as run:
            wait_until(lambda: self.gate.is_set() or due.stop.is_set())
            if due.stop.is_set():
                raise Failed("stopped")
        return Outcome(run.id, Status.COMPLETED)

    def tick(self, scheduler: Scheduler, at: datetime | None = None) -> list[str]:
        """The jobs that were started."""
        self.now = at or self.now
        return [due.job.name for due in scheduler.tick(self.now)]

    def runs(self, job_id: str | None = None) -> list[JobRun]:
        """Oldest first."""
        return list(reversed(self.backend.runs(job_id)))

    def statuses(self, job_id: str | None = None) -> list[str]:
        return [run.status for run in self.runs(job_id)]

    @property
    def problems(self) -> list[str]:
        """What the ledger has of what went wrong, and is not over."""
        return [error.error_message for error in self.ledger.errors.list("open", schema="lakeledger", table="scheduler")]

    def under_way(self) -> bool:
        """Whether everything that was started is in the run log."""
        return len(self.started) > 0 and len(self.ledger.runs.list(status="RUNNING")) == len(self.started)


def lose(world: World, run: JobRun) -> None:
    """Let a run's scheduler be gone for so long that its claim is over."""
    past = datetime(2020, 1, 1, tzinfo=UTC)
    assert execute(world.ledger, "update local_job_runs set claimed_until = :past where id = :id", past=past, id=run.id) == 1
