"""What becomes of a run whose scheduler is gone: it ends by what it committed, or is started again."""

from __future__ import annotations

from datetime import datetime

from lakeledger.db import Transaction
from lakeledger.jobs import queue
from lakeledger.jobs.local import get_job
from lakeledger.jobs.model import ENDINGS, JobRun
from lakeledger.runs import Status, Worker, recovery
from lakeledger.runs.worker import is_gone
from lakeledger.sync.lost_steps import note_lost_step


def is_lost(tx: Transaction, run: JobRun, worker: Worker) -> bool:
    """Whether nobody can be carrying it out any more. A claim may expire while the run itself lives on, with a lease of its own."""
    expired = run.claimed_until is None or run.claimed_until <= tx.now
    if not expired and not is_gone(worker, run.claimed_by, run.claimed_on):
        return False
    found = queue.ledger_run(tx, get_job(tx, run.job_id), run)
    return found is None or not found.is_open or recovery.is_lost(tx, found, worker)


def settle(tx: Transaction, run: JobRun, worker: Worker, at: datetime) -> None:
    """End a lost run by what the run log has of it, or put it back into the queue."""
    job = get_job(tx, run.job_id)
    found = queue.ledger_run(tx, job, run)
    if found is None:
        queue.again(tx, run, run.start_after, f"{run.claimed_by} was lost before it began")
        return
    ended = recovery.settle(tx, found, worker.name, note_lost_step) if found.is_open else found
    if ended.status == Status.FAILED and recovery.was_lost(ended):
        queue.lose(tx, job, run, at, ended.error_message or f"{run.claimed_by} was lost", ended.id)
    else:
        queue.end(tx, job, run, ENDINGS[Status(ended.status)], at, ended.error_message, ended.id)
