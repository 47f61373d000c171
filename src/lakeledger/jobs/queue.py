"""The queue of local runs: what is due or asked for, who carries it out, and how it went."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from lakeledger import clock, codec
from lakeledger.db import Row, Transaction, pages
from lakeledger.db.pages import Page
from lakeledger.db.queries import load
from lakeledger.errors import NotFound
from lakeledger.jobs import adherence
from lakeledger.jobs.model import JobRun, LocalJob
from lakeledger.runs import Run, Worker

sql = load("lakeledger.jobs")

_NEWEST: pages.Key = {"due_at": codec.to_time, "id": str}


def add(
    tx: Transaction,
    job_id: str,
    cause: str,
    due_at: datetime,
    asked_by: str,
    parameters: Mapping[str, Any] | None = None,
    *,
    reason: str | None = None,
    skipped: bool = False,
) -> JobRun | None:
    """Queue a run, or note that it is skipped. None if that due time of the job is there already."""
    row = tx.one(
        sql.add_run,
        id=clock.new_id(),
        job_id=job_id,
        cause=cause,
        due_at=due_at,
        asked_by=asked_by,
        parameters=dict(parameters or {}),
        status="skipped" if skipped else "queued",
        reason=reason,
        ended_at=due_at if skipped else None,
    )
    return _settled(tx, row) if skipped else JobRun(**row) if row else None


def get(tx: Transaction, id: str) -> JobRun:
    """The run with that id. Raises NotFound."""
    row = tx.one(sql.get_run, id=id)
    if row is None:
        raise NotFound(f"no run {id!r} of a local job: `lakeledger jobs show` lists them")
    return JobRun(**row)


def history(tx: Transaction, job_id: str | None = None, limit: int | None = 50, after: str | None = None) -> Page[JobRun]:
    """The runs of a job, or of all, newest first; `after` is the `next` of the page before."""
    return pages.read(tx, sql.list_runs, _NEWEST, lambda row: JobRun(**row), limit, after, job_id=job_id)


def unfinished(tx: Transaction, job_id: str) -> list[JobRun]:
    """The runs of a job that wait or are under way."""
    return [JobRun(**row) for row in tx.all(sql.open_runs) if row["job_id"] == job_id]


def running(tx: Transaction) -> list[JobRun]:
    """Every run that somebody carries out, or did until they were lost."""
    return [JobRun(**row) for row in tx.all(sql.running_runs)]


def queued(tx: Transaction, at: datetime) -> list[JobRun]:
    """The runs that may start, in the order in which they should."""
    return [JobRun(**row) for row in tx.all(sql.queued_runs, at=at)]


def count_open(tx: Transaction) -> dict[tuple[str, str], int]:
    """How many runs of which job are `queued` and `running`."""
    return Counter((row["job_id"], row["status"]) for row in tx.all(sql.statuses))


def claim(tx: Transaction, run: JobRun, worker: Worker, at: datetime, lease_seconds: float) -> JobRun | None:
    """Take a queued run to carry it out. None if somebody else has it."""
    until = tx.now + timedelta(seconds=lease_seconds)
    row = tx.one(sql.claim, id=run.id, worker=worker.name, instance=worker.instance_id, until=until, at=at)
    return JobRun(**row) if row else None


def renew(tx: Transaction, run: JobRun, lease_seconds: float) -> bool:
    """Prolong a claim. False: the run has ended, or somebody took over."""
    until = tx.now + timedelta(seconds=lease_seconds)
    return tx.execute(sql.renew, id=run.id, claim_token=run.claim_token, until=until) == 1


def finish(tx: Transaction, run: JobRun, status: str, at: datetime, reason: str | None = None, run_id: str | None = None) -> JobRun | None:
    """End a running attempt. None if it has ended already, or somebody took over."""
    row = tx.one(sql.finish, id=run.id, claim_token=run.claim_token, status=status, at=at, reason=reason or None, run_id=run_id)
    return _settled(tx, row)


def _settled(tx: Transaction, row: Row | None) -> JobRun | None:
    """A run that has ended just now, or was skipped: how its due time was kept is known."""
    if row is None:
        return None
    run, job = JobRun(**row), tx.one(sql.find_local, job_id=row["job_id"])
    if job:
        adherence.note(tx, LocalJob(**job), run)
    return run


def again(tx: Transaction, run: JobRun, start_after: datetime, reason: str, run_id: str | None = None, **counts: int) -> JobRun | None:
    """Put a running attempt back into the queue, to be started later, with other `counts` if need be. None as in `finish`."""
    found = {"start_after": start_after, "reason": reason, "run_id": run_id}
    counted = {"attempt": run.attempt, "times_lost": run.times_lost, **counts}
    row = tx.one(sql.queue_again, id=run.id, claim_token=run.claim_token, **found, **counted)
    return JobRun(**row) if row else None


def end(
    tx: Transaction,
    job: LocalJob,
    run: JobRun,
    status: str,
    at: datetime,
    reason: str | None = None,
    run_id: str | None = None,
    *,
    retryable: bool = True,
) -> JobRun | None:
    """End a running attempt; one that failed is queued again while the job has retries left. None as in `finish`."""
    if status == "failed" and retryable and run.attempt <= job.max_retries:
        return again(tx, run, at + job.retry_pause, f"attempt {run.attempt} failed: {reason}", run_id, attempt=run.attempt + 1)
    return finish(tx, run, status, at, reason, run_id)


def lose(tx: Transaction, job: LocalJob, run: JobRun, at: datetime, reason: str, run_id: str | None) -> JobRun | None:
    """End a running attempt whose worker is gone. It is queued again at once, as often as the job has retries and at least once.

    To start it again is safe for declared loads, which are not committed twice; a task of one's own must see to that. None as in `finish`.
    """
    if run.attempt > job.max_retries and run.times_lost:
        return finish(tx, run, "failed", at, reason, run_id)
    counts = {"attempt": run.attempt + 1, "times_lost": run.times_lost + 1}
    return again(tx, run, run.start_after, f"attempt {run.attempt} was lost: {reason}", run_id, **counts)


def cancel(tx: Transaction, id: str, reason: str, run_id: str | None = None) -> JobRun | None:
    """End a run that is queued or running. None if it has ended already."""
    return _settled(tx, tx.one(sql.cancel, id=id, reason=reason, run_id=run_id))


def forget(tx: Transaction, before: datetime) -> int:
    """Delete what ended before that time; the run log keeps the runs."""
    return tx.execute(sql.forget_ended, before=before)


def will_start_again(tx: Transaction, run: Run) -> bool:
    """Whether a run of the log is one that waits in the queue, or will once its scheduler is known to be lost."""
    id, slash, _ = (run.idempotency_key or "").rpartition("/")
    row = tx.one(sql.get_run, id=id) if slash else None
    return row is not None and not run.is_open and row["status"] in ("queued", "running") and run.status == "FAILED"


def ledger_run(tx: Transaction, job: LocalJob, run: JobRun) -> Run | None:
    """What the run log has of this claim, or None if it never began."""
    row = tx.one(sql.ledger_run, pipeline_id=job.pipeline_id, key=run.key)
    return Run(**row) if row else None
