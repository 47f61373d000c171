"""What becomes of a run whose worker is gone: COMPLETED if the ledger proves that its work is done, FAILED otherwise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from lakeledger.db import Transaction
from lakeledger.runs import store
from lakeledger.runs.model import DoneBy, Outcome, Run, Status, Step, completed, failed, skipped
from lakeledger.runs.worker import Worker, is_gone

# In the details of a run that failed because its worker was lost: which one that was.
LOST = "lost_worker"
# Writes down, in the transaction that ends it, that a step failed because its worker was lost.
NoteLost = Callable[[Transaction, Step], None]


def recover(
    tx: Transaction,
    worker: Worker,
    note: NoteLost,
    max_age: timedelta | None = None,
    *,
    kind: str | None = None,
    silence: timedelta | None = None,
) -> list[Run]:
    """End every run whose worker is lost or was silent for so long, and every one older than max_age. The ended runs are returned."""
    store.suspect(tx)
    found = [run for run in store.open_runs(tx) if kind in (None, run.run_kind)]
    ended = [run for run in found if is_lost(tx, run, worker) or _was_silent(tx, run, silence) or _is_older(tx, run, max_age)]
    return [settle(tx, run, worker.name, note) for run in ended]


def is_lost(tx: Transaction, run: Run, worker: Worker) -> bool:
    """Whether nobody works on that run any more: its process ended on this machine, or it stayed silent after its lease ran out.

    A lease may run out because the store was away. So its holder has time to renew it from when that was first noticed.
    """
    answers_until = answer_time(run)
    return is_gone(worker, run.worker_instance, run.instance_id) or answers_until is None or answers_until <= tx.now


def is_silent(tx: Transaction, run: Run) -> bool:
    """Whether a lease has run out and nobody has noticed yet."""
    return run.suspected_at is None and run.lease_expires_at is not None and run.lease_expires_at <= tx.now


def answer_time(run: Run) -> datetime | None:
    """Until when the holder of a run may show that it lives. None: it has no lease to renew."""
    if run.lease_expires_at is None:
        return None
    if run.suspected_at is None:
        return datetime.max.replace(tzinfo=UTC)
    return run.suspected_at + max((run.lease_expires_at - (run.heartbeat_at or run.start_time)) / 2, timedelta(0))


def settle(tx: Transaction, run: Run, actor: str, note: NoteLost) -> Run:
    """End a lost run and its open steps by what the ledger says was committed; `note` is told which of them failed."""
    steps = store.steps(tx, run.id)
    for step in steps:
        if step.status in (Status.PENDING, Status.RUNNING):
            ended = store.finish_step(tx, step.id, step_verdict(step, _worker_of(run)), actor)
            if ended.status == Status.FAILED:
                note(tx, ended)
    return store.finish(tx, run.id, verdict(run, steps), actor)


def was_lost(run: Run) -> bool:
    """Whether a run that has failed was ended here, and not by its worker."""
    return LOST in (run.error_details or {})


def verdict(run: Run, steps: list[Step]) -> Outcome:
    """How a lost run ended: by its commit or its steps, if that is what it is done by, because they were written with the data."""
    unfinished = [step.step_name for step in _last_attempts(steps) if not _did_its_work(step)]
    if run.done_by == DoneBy.STEPS and steps and not unfinished:
        return completed(f"{_worker_of(run)} was lost after its last step")
    if run.done_by == DoneBy.COMMIT and run.commit_count and not unfinished:
        return completed(f"{_worker_of(run)} was lost after its commit")
    lost = failed(f"{_worker_of(run)} was lost {_found(run, unfinished)}; run it again")
    return replace(lost, error_details={**(lost.error_details or {}), LOST: _worker_of(run)})


def step_verdict(step: Step, worker: str) -> Outcome:
    """How an open step of a lost run ended."""
    if step.status == Status.PENDING:
        return skipped(f"{worker} was lost before it began")
    if _did_its_work(step):
        return completed(f"{worker} was lost after its commit")
    if step.committed_at is None:
        return failed(f"{worker} was lost before it committed")
    return failed(
        f"{worker} was lost after a commit at {step.committed_at:%Y-%m-%d %H:%M:%S} UTC: what it committed is visible, "
        f"but a {step.step_type} step may commit again, and only its end says that it is done"
    )


def _found(run: Run, unfinished: list[str]) -> str:
    if not run.commit_count:
        return "before it committed"
    commits = "1 commit" if run.commit_count == 1 else f"{run.commit_count} commits"
    return (
        f"after {commits}, with {', '.join(unfinished)} unfinished" if unfinished else f"after {commits}, before it said that it was done"
    )


def _last_attempts(steps: list[Step]) -> list[Step]:
    """Of each step its last attempt: an earlier one that failed was made up for."""
    return list({step.step_name: step for step in sorted(steps, key=lambda step: step.attempt)}.values())


def _did_its_work(step: Step) -> bool:
    by_commit = step.status == Status.RUNNING and step.done_by == DoneBy.COMMIT and step.committed_at is not None
    return by_commit or step.status in (Status.COMPLETED, Status.SKIPPED)


def _worker_of(run: Run) -> str:
    return run.worker_instance or "an unknown worker"


def _was_silent(tx: Transaction, run: Run, silence: timedelta | None) -> bool:
    """Whether it gave no sign for so long; never while its next one is not even due, which is after a third of its lease."""
    last = run.heartbeat_at or run.start_time
    due = (run.lease_expires_at - last) / 2 if run.lease_expires_at else timedelta(0)
    return silence is not None and last <= tx.now - max(silence, due)


def _is_older(tx: Transaction, run: Run, max_age: timedelta | None) -> bool:
    return max_age is not None and run.start_time <= tx.now - max_age
