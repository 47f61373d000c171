"""Whether schedules keep their due times: one `sla_adherence` record for each of them, in the transaction that settles it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

from lakeledger import codec, records
from lakeledger.db import Transaction
from lakeledger.errors import Invalid
from lakeledger.jobs import schedule
from lakeledger.jobs.model import JobRun, LocalJob
from lakeledger.records.environment import environment

KIND, PRODUCER, SCHEMA_VERSION = "sla_adherence", "scheduler.v1", "1"
# Of so many due times that nobody was there for a record each is written; the last one says that there were more.
MOST_MISSED = 1_000


def note(tx: Transaction, job: LocalJob, run: JobRun) -> None:
    """Keep how a due time was kept, now that its run has ended; one that somebody asked for, or a trigger, has none."""
    if run.cause != "schedule":
        return
    ended, limit = run.ended_at or tx.now, sla_of(job, run.due_at)
    late = max(0.0, (ended - run.due_at - limit).total_seconds()) if limit is not None else 0.0
    status = {"done": "late" if late else "on_time", "skipped": "missed"}.get(run.status, "failed")
    payload = {
        "started_at": codec.to_text(run.started_at) if run.started_at else None,
        "ended_at": codec.to_text(ended) if run.started_at else None,
        "late_seconds": late if run.started_at else None,
        "sla_seconds": limit.total_seconds() if limit is not None else None,
        "run_status": run.status,
        "attempts": run.attempt,
        "reason": run.reason,
    }
    records.add(tx, _record(tx, job, run.due_at, status, payload, ended, run.run_id))


def note_missed(tx: Transaction, job: LocalJob, times: Iterable[datetime], made_up_by: datetime) -> None:
    """Keep that nobody was there at these due times; one run, under the first of them, makes up for all."""
    found = list(times)
    for number, due in enumerate(found[:MOST_MISSED], 1):
        more = {"more_missed": True} if number == MOST_MISSED and len(found) > number else {}
        reason = f"no scheduler ran; the run of {made_up_by:%Y-%m-%d %H:%M:%S} UTC makes up for it"
        records.add(tx, _record(tx, job, due, "missed", {"run_status": None, "reason": reason, **more}, tx.now))


def times_between(job: LocalJob, after: datetime, until: datetime) -> Iterator[datetime]:
    """The due times behind one up to another, at most one more than are told. A schedule that cannot be read has none."""
    due = after
    for _ in range(MOST_MISSED + 1):
        following = _next(job, due)
        if following is None or following > until:
            return
        yield (due := following)


def sla_of(job: LocalJob, due: datetime) -> timedelta | None:
    """How long after it is due a run has to have ended: as the job's `health` says, else before it is due again."""
    for rule in (job.settings.get("health") or {}).get("rules") or ():
        if rule.get("metric") == "RUN_DURATION_SECONDS":
            return timedelta(seconds=float(rule["value"]))
    following = _next(job, due)
    return following - due if following else None


def _next(job: LocalJob, after: datetime) -> datetime | None:
    try:
        return schedule.next_time({**(job.settings.get("schedule") or {}), "pause_status": "UNPAUSED"}, after)
    except Invalid:  # It was changed past every check, or taken away since.
        return None


def _record(
    tx: Transaction, job: LocalJob, due: datetime, status: str, told: Mapping[str, Any], at: datetime, run_id: str | None = None
) -> records.MetadataRecord:
    name, plan = job.pipeline_id, job.settings.get("schedule") or {}
    frequency = plan.get("quartz_cron_expression") or plan.get("cron")
    surroundings = {**environment(tx.tenant_id), "orchestrator": "lakeledger", "schedule": job.name}
    return records.MetadataRecord(
        records.MetadataTarget(name),
        records.MetadataContext(job.job_id, run_id, tx.tenant_id, surroundings),
        KIND,
        {"schedule": name, "due_at": codec.to_text(due), "status": status, "frequency": frequency, **told},
        PRODUCER,
        SCHEMA_VERSION,
        produced_at=at,
        dedupe_key=codec.digest([KIND, job.job_id, codec.to_text(due)]),
        verbatim=True,
    )
