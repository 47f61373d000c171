"""What becomes of a run whose worker is gone: COMPLETED if its commit is found, FAILED otherwise."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from lakeledger.db import Transaction
from lakeledger.runs import store
from lakeledger.runs.model import Outcome, Run, Status, Step, completed, failed, skipped
from lakeledger.runs.worker import Worker, is_gone


def recover(
    tx: Transaction, worker: Worker, max_age: timedelta | None = None, *, kind: str | None = None, silence: timedelta | None = None
) -> list[Run]:
    """End every run whose worker is lost or was silent for so long, and every one older than max_age. The ended runs are returned."""
    store.suspect(tx)
    found = [run for run in store.open_runs(tx) if kind in (None, run.run_kind)]
    ended = [run for run in found if is_lost(tx, run, worker) or _was_silent(tx, run, silence) or _is_older(tx, run, max_age)]
    return [settle(tx, run, worker.name) for run in ended]


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


def settle(tx: Transaction, run: Run, actor: str) -> Run:
    """End a lost run and its open steps by what the ledger says was committed."""
    steps = store.steps(tx, run.id)
    for step in steps:
        if step.status in (Status.PENDING, Status.RUNNING):
            store.finish_step(tx, step.id, _step_verdict(step), actor)
    return store.finish(tx, run.id, verdict(run, steps), actor)


def verdict(run: Run, steps: list[Step]) -> Outcome:
    """How a lost run ended. A commit is found on the run, and on each of its steps, because it was written with the data."""
    worker = run.worker_instance or "an unknown worker"
    unfinished = [step.step_name for step in steps if not _did_its_work(step)]
    if run.commit_count and not unfinished:
        return completed(f"{worker} was lost after its commit")
    found = f"after {run.commit_count} commit(s), with {', '.join(unfinished)} unfinished" if run.commit_count else "before it committed"
    return failed(f"{worker} was lost {found}; run it again")


def _did_its_work(step: Step) -> bool:
    return step.status in (Status.COMPLETED, Status.SKIPPED) or (step.status == Status.RUNNING and step.committed_at is not None)


def _step_verdict(step: Step) -> Outcome:
    if _did_its_work(step):
        return completed("the worker was lost after its commit")
    return failed("the worker was lost before it committed") if step.status == Status.RUNNING else skipped("the worker was lost")


def _was_silent(tx: Transaction, run: Run, silence: timedelta | None) -> bool:
    """Whether it gave no sign for so long; never while its next one is not even due, which is after a third of its lease."""
    last = run.heartbeat_at or run.start_time
    due = (run.lease_expires_at - last) / 2 if run.lease_expires_at else timedelta(0)
    return silence is not None and last <= tx.now - max(silence, due)


def _is_older(tx: Transaction, run: Run, max_age: timedelta | None) -> bool:
    return max_age is not None and run.start_time <= tx.now - max_age
