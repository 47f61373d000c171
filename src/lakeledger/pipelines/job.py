"""A local job that is due, carried out: its module becomes one run of the run log, under the key by which the scheduler finds it again."""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

from lakeledger.control.documents import Module
from lakeledger.errors import Conflict, Fenced, Invalid
from lakeledger.jobs import queue
from lakeledger.jobs.scheduler import Due, Outcome
from lakeledger.pipelines import Context
from lakeledger.pipelines.config_version import config_version
from lakeledger.pipelines.gates import all_closed
from lakeledger.pipelines.runner import Progress, run_module
from lakeledger.runs import ActiveRun, Status, cancelled
from lakeledger.runs import store as run_log


def run_due(context: Context, due: Due, progress: Progress = lambda _: None) -> Outcome:
    """Run the job's module. One that was switched off since it was asked for, or whose gates are all closed, is SKIPPED for good.

    Raises Invalid, or a retryable Conflict if the module is running already.
    """
    module = _module(due)
    if module.why_idle:
        return Outcome(None, Status.SKIPPED, module.why_idle, retryable=False)
    if closed := all_closed(context, module):
        return Outcome(None, Status.SKIPPED, closed, retryable=False)
    run: ActiveRun | None = None
    retryable = True
    begin = context.ledger.run(
        module.module_name,
        _trigger(due),
        by=due.run.asked_by,
        parameters=due.parameters,
        config_hash=module.config_hash,
        config_version=config_version(Path(due.job.base), module.config_hash),
        idempotency_key=due.key,
        retry_of=due.run.run_id,
        exclusive=due.is_exclusive,
    )
    try:
        with begin as run:
            _check_claim(context, due, run)
            result = run_module(context, run, module, Path(due.job.base), progress, parameters=due.parameters, stop=due.stop, alone=True)
            retryable = result.retryable
    except Conflict:
        if run is None:  # It did not begin. Otherwise somebody ended it, and the run log says how.
            raise
    return _ended(context, run.id, retryable=retryable)


def _module(due: Due) -> Module:
    try:
        return Module.model_validate(due.job.module)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise Invalid(f"job {due.job.name} holds a module that cannot be read: {where}: {first['msg']}; apply it again") from error


def _check_claim(context: Context, due: Due, run: ActiveRun) -> None:
    """Raise Fenced if the claim was taken over before this run began; from now on whoever wants to take over finds the run, which lives."""
    with context.store.read() as tx:
        now = queue.get(tx, due.run.id)
    if (now.status, now.claim_token) != ("running", due.run.claim_token):
        run.stop(cancelled("it was taken over before it began"))
        raise Fenced(f"run {due.run.id} of {due.job.name} was taken over before it began")


def _trigger(due: Due) -> str:
    if due.run.attempt > 1:
        return "retry"
    return "manual" if due.run.cause == "asked" else "scheduler"


def _ended(context: Context, run_id: str, *, retryable: bool) -> Outcome:
    """What the run log says of it, as soon as it can be asked: to guess would have the work done again."""
    run = context.store.persist(lambda tx, _: run_log.get(tx, run_id))
    return Outcome(run_id, Status(run.status), run.error_message, retryable)
