"""The run log: one row per run and per step, written when it starts and once more when it ends."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from lakeledger import clock, codec
from lakeledger.codec import Id
from lakeledger.db import Row, Transaction, pages
from lakeledger.db.pages import Page
from lakeledger.db.queries import load
from lakeledger.errors import Conflict, Fenced, Invalid, NotFound
from lakeledger.runs.model import (
    KINDS,
    TRIGGERS,
    Counters,
    DoneBy,
    Fence,
    NewRun,
    NewStep,
    Outcome,
    Run,
    Status,
    Step,
    Transition,
    cancelled,
    skipped,
)
from lakeledger.runs.worker import Worker

sql = load("lakeledger.runs")

FIRST_ID = "00000000-0000-0000-0000-000000000000"
LAST_ID = FIRST_ID.replace("0", "f")
MS_PER_HOUR = 3_600_000

_NEWEST: pages.Key = {"start_time": codec.to_time, "pipeline_logging_id": str}
_IN_ORDER: pages.Key = {"step_index": int, "step_logging_id": str}


def add(tx: Transaction, new: NewRun, actor: str) -> Run:
    """Write down a run that is to start. Raises Invalid, or Conflict if its idempotency key is taken."""
    if not new.pipeline_id.strip():
        raise Invalid("a run needs the name of its pipeline")
    if new.trigger_type not in TRIGGERS:
        raise Invalid(f"trigger {new.trigger_type!r} is not one of {', '.join(TRIGGERS)}")
    if new.run_kind not in KINDS:
        raise Invalid(f"run kind {new.run_kind!r} is not one of {', '.join(KINDS)}")
    earlier = _earlier_attempt(tx, new)
    run_id = clock.new_id()
    given = {
        "trigger_by": new.trigger_by or actor,
        "done_by": DoneBy(new.done_by).value,
        "retry_of": new.retry_of or earlier,
    }
    row = tx.one(sql.add_run, **{**vars(new), **given}, run_id=run_id)
    note_transition(tx, "run", run_id, None, Status.PENDING, None, actor)
    return Run(**_found(row, f"run {run_id}"))


def begin(tx: Transaction, run_id: str, worker: Worker, lease_seconds: float) -> Run:
    """Start a pending run under a new lease. Raises Conflict if it is no longer pending."""
    row = tx.one(
        sql.begin_run,
        run_id=run_id,
        worker_instance=worker.name,
        instance_id=worker.instance_id,
        node_id=worker.node_id,
        lease_expires_at=tx.now + timedelta(seconds=lease_seconds),
    )
    if row is None:
        raise Conflict(f"run {run_id} cannot start: it is {get(tx, run_id).status}")
    note_transition(tx, "run", run_id, Status.PENDING, Status.RUNNING, None, worker.name)
    return Run(**row)


def holder(tx: Transaction, pipeline_id: str) -> Run | None:
    """The run that holds the pipeline exclusively now, if any."""
    row = tx.one(sql.holder, pipeline_id=pipeline_id)
    return Run(**row) if row else None


def in_the_way(tx: Transaction, new: NewRun) -> list[Run]:
    """The running runs that keep a new one from starting: the pipeline's exclusive one, and the one with its key."""
    found = [holder(tx, new.pipeline_id) if new.exclusive else None, _find_by_key(tx, new)]
    return list({run.id: run for run in found if run and run.status == Status.RUNNING}.values())


def finish(tx: Transaction, run_id: Id, outcome: Outcome, actor: str, *, from_outside: bool = False) -> Run:
    """End a run. Steps that it did not reach are SKIPPED; from outside, those that its worker is at are CANCELLED.

    Raises NotFound, or Conflict if it has already ended.
    """
    run = get(tx, run_id)
    if outcome.status not in (Status.COMPLETED, Status.FAILED, Status.CANCELLED):
        raise Invalid(f"a run cannot end as {outcome.status}")
    row = tx.one(sql.finish_run, run_id=run.id, **_ending(tx, run.start_time, outcome), error_details=outcome.error_details)
    if row is None:
        raise Conflict(f"run {run.id} has already ended: {run.status}")
    note_transition(tx, "run", run.id, run.status, outcome.status, outcome.reason, actor)
    left = {Status.PENDING: skipped, **({Status.RUNNING: cancelled} if from_outside else {})}
    for step in steps(tx, run.id):
        if step.status in left:
            finish_step(tx, step.id, left[Status(step.status)](f"the run ended: {outcome.status}"), actor)
    return Run(**row)


def renew(tx: Transaction, fence: Fence, lease_seconds: float) -> bool:
    """Prolong a lease that nobody has taken over, even one that ran out. False: it is lost, and with it the right to commit."""
    expires = tx.now + timedelta(seconds=lease_seconds)
    return tx.execute(sql.renew, run_id=fence.run_id, token=fence.token, lease_expires_at=expires) == 1


def suspect(tx: Transaction) -> None:
    """Note which leases have run out: their holders have half a lease from now on to renew them."""
    if is_any_silent(tx):
        tx.execute(sql.suspect)


def is_any_silent(tx: Transaction) -> bool:
    """Whether some lease has run out and nobody has noticed yet."""
    return tx.one(sql.is_any_silent) is not None


def ended(run: Run) -> str:
    """That a run has ended, how and why."""
    return f"run {run.id} has already ended: {run.status}{f' ({run.error_message})' if run.error_message else ''}"


def check_fence(tx: Transaction, fence: Fence) -> Run:
    """The run, if it may still commit. Raises Fenced."""
    run = held(tx, fence.run_id)
    if not run.is_open:
        raise Fenced(f"{ended(run)}; nothing was committed")
    if run.lease_token != fence.token:
        raise Fenced(f"run {run.id} was taken over (token {fence.token}, now {run.lease_token}); nothing was committed")
    if fence.step_id:
        _check_step(tx, fence.step_id)
    if fence.within:
        check_fence(tx, fence.within)
    return run


def held(tx: Transaction, run_id: str) -> Run:
    """A run that somebody thinks they hold. Raises Fenced if it was ended so long ago that retention has deleted it."""
    row = tx.one(sql.get_run, run_id=run_id)
    if row is None:
        raise Fenced(f"run {run_id} is no longer in the ledger: it was ended by somebody else and deleted since; nothing was committed")
    return Run(**row)


def _check_step(tx: Transaction, step_id: str) -> None:
    step = get_step(tx, step_id)
    if step.status != Status.RUNNING:
        why = f" ({step.error_message})" if step.error_message else ""
        raise Fenced(
            f"step {step.step_name} of run {step.pipeline_logging_id} has already ended: {step.status}{why}; nothing was committed"
            if step.end_time
            else f"step {step.step_name} of run {step.pipeline_logging_id} has not begun: commit inside its `with` block"
        )


def count(tx: Transaction, run_id: str, counters: Counters, commits: int = 0) -> None:
    """Add to what an open run moved."""
    tx.execute(sql.count_run, run_id=run_id, commits=commits, **vars(counters))


def get(tx: Transaction, run_id: Id) -> Run:
    """The run with that id, or the only one whose id begins so. Raises NotFound, or Invalid if several do."""
    run_id = str(run_id)
    if row := tx.one(sql.get_run, run_id=run_id):
        return Run(**row)
    # Ids of the same shape have the same order in every collation; text that is merely longer has not.
    first, last = run_id + FIRST_ID[len(run_id) :], run_id + LAST_ID[len(run_id) :]
    rows = tx.all(sql.find_run_by_prefix, prefix=run_id, first=first, last=last) if len(run_id) >= 4 else []
    if len(rows) > 1:
        raise Invalid(f"several runs begin with {run_id!r}: give more of the id")
    return Run(**_found(rows[0] if rows else None, f"no run {run_id!r}: `lakeledger runs list` shows them"))


def list_page(
    tx: Transaction,
    pipeline_id: str | None = None,
    status: str | None = None,
    limit: int = 50,
    after: str | None = None,
    *,
    kind: str | None = None,
) -> Page[Run]:
    """Runs, newest first; `after` is the `next` of the page before."""
    if status is not None and status not in Status.__members__:
        raise Invalid(f"status {status!r} is not one of {', '.join(Status.__members__)}")
    pages.check_limit(limit, pages.MAX_PAGE)
    chosen = {"pipeline_id": pipeline_id, "status": status, "run_kind": kind}
    return pages.read(tx, sql.list_runs, _NEWEST, lambda row: Run(**row), limit, after, **chosen)


def following(tx: Transaction, run: Run) -> Run | None:
    """The next run that does the same: of the same pipeline with the same parameters, or one that says that it repeats it."""
    later = (Run(**row) for row in tx.all(sql.following_runs, pipeline_id=run.pipeline_id, start_time=run.start_time))
    return next((each for each in later if each.retry_of == run.id or each.parameters == run.parameters), None)


def is_forgotten(tx: Transaction, run_id: str) -> bool:
    """Whether that was a run that retention has deleted."""
    return tx.one(sql.is_forgotten, run_id=run_id) is not None


def remove_forgotten(tx: Transaction, before: datetime, except_for: Iterable[str] = ()) -> None:
    """Stop to remember the runs that were deleted before that time: nothing is left of them, except for those."""
    tx.many(sql.forget_again, ({"run_id": run_id} for run_id in except_for))
    tx.execute(sql.remove_forgotten, before=before)


def open_runs(tx: Transaction) -> list[Run]:
    """Every run that has started and not ended."""
    return [Run(**row) for row in tx.all(sql.open_runs)]


def add_step(tx: Transaction, run_id: str, new: NewStep, actor: str, step_id: str | None = None) -> Step:
    """Write down a step that is to start. Raises Fenced if its run has ended."""
    run = held(tx, run_id)
    if not run.is_open:
        raise Fenced(f"run {run.id} has already ended: {run.status}; step {new.name} cannot start")
    row = tx.one(
        sql.add_step,
        step_id=step_id or clock.new_id(),
        run_id=run_id,
        step_name=new.name,
        step_type=new.type,
        metadata=new.metadata,
        attempt=new.attempt,
        target_table=new.target_table,
        done_by=DoneBy(new.done_by).value,
    )
    step = Step(**_found(row, f"run {run_id}"))
    note_transition(tx, "step", step.id, None, Status.PENDING, None, actor)
    return step


def plan_steps(tx: Transaction, run_id: str, new: Mapping[str, NewStep], actor: str) -> list[Step]:
    """Write down the steps of a run, by their ids: from now on it is done when they are. Raises Fenced if it has ended."""
    planned = [add_step(tx, run_id, each, actor, step_id) for step_id, each in new.items()]
    tx.execute(sql.set_done_by, run_id=run_id, done_by=DoneBy.STEPS.value)
    return planned


def begin_step(tx: Transaction, step_id: str, actor: str) -> Step:
    """Start a pending step. Raises Conflict if it is no longer pending."""
    row = tx.one(sql.begin_step, step_id=step_id)
    if row is None:
        raise Conflict(f"step {step_id} cannot start: it is {get_step(tx, step_id).status}")
    note_transition(tx, "step", step_id, Status.PENDING, Status.RUNNING, None, actor)
    return Step(**row)


def finish_step(
    tx: Transaction,
    step_id: str,
    outcome: Outcome,
    actor: str,
    rows: int | None = None,
    size: int | None = None,
    metadata: Mapping[str, Any] | None = None,
    usd_per_hour: float | None = None,
) -> Step:
    """End a step. Raises NotFound, or Conflict if it has already ended.

    If it made something visible, `metadata` says where and how many bytes, with the names of seed 003; at a price, what its time cost.
    """
    step = get_step(tx, step_id)
    if outcome.status in (Status.PENDING, Status.RUNNING):
        raise Invalid(f"a step cannot end as {outcome.status}")
    ending = _ending(tx, step.start_time, outcome)
    if step.status == Status.PENDING:
        ending["duration_ms"] = None  # It never began.
    merged = {**step.metadata, **(metadata or {})} | ({"reason": outcome.reason} if outcome.status == Status.SKIPPED else {})
    if step.committed_at:
        merged |= {"destination_table": step.target_table, "bytes_processed": step.bytes_processed if size is None else size}
    if usd_per_hour is not None and ending["duration_ms"] is not None:
        merged["query_cost_usd"] = round(usd_per_hour * ending["duration_ms"] / MS_PER_HOUR, 6)
    row = tx.one(sql.finish_step, step_id=step_id, **ending, rows_processed=rows, bytes_processed=size, metadata=merged)
    if row is None:
        raise Conflict(f"step {step.step_name} of run {step.pipeline_logging_id} has already ended: {step.status}")
    note_transition(tx, "step", step_id, step.status, outcome.status, outcome.reason, actor)
    return Step(**row)


def commit_step(tx: Transaction, step_id: str, rows: int, size: int, target_table: str) -> None:
    """Note on the step, in the commit's own transaction, that its data is visible."""
    if tx.execute(sql.commit_step, step_id=step_id, rows_processed=rows, bytes_processed=size, target_table=target_table) != 1:
        raise Fenced(f"step {step_id} has already ended; nothing was committed")


def get_step(tx: Transaction, step_id: str) -> Step:
    """The step with that id. Raises NotFound."""
    return Step(**_found(tx.one(sql.get_step, step_id=step_id), f"no step {step_id!r}"))


def find_steps(tx: Transaction, ids: list[str]) -> list[Step]:
    """Those of these steps that are written down, in the order of the ids."""
    found = (tx.one(sql.get_step, step_id=step_id) for step_id in ids)
    return [Step(**row) for row in found if row]


def earlier_attempts(tx: Transaction, run: Run, step_id: str | None) -> int:
    """How often the work of a run, or of a step of it, was tried before."""
    step = get_step(tx, step_id) if step_id else None
    if run.retry_of is None and (step is None or step.attempt == 1):
        return 0
    row = tx.one(sql.earlier_attempts, run_id=run.id, step_name=step.step_name if step else None) or {}
    return int(row["number"])


def steps(tx: Transaction, run_id: str, limit: int | None = None, after: str | None = None) -> Page[Step]:
    """The steps of a run, in order; `after` is the `next` of the page before."""
    return pages.read(tx, sql.list_steps, _IN_ORDER, lambda row: Step(**row), limit, after, run_id=run_id)


def usual_ms(tx: Transaction, pipeline_id: str, runs: int = 5) -> dict[str, float]:
    """How long each step of a pipeline took in its latest runs, in the middle, by its name; a step that never completed is not there."""
    took: dict[str, list[int]] = {}
    for row in tx.all(sql.recent_steps, pipeline_id=pipeline_id, runs=runs):
        took.setdefault(row["step_name"], []).append(row["duration_ms"])
    return {name: sorted(each)[len(each) // 2] for name, each in took.items()}


def transitions(tx: Transaction, entity_id: Id) -> list[Transition]:
    """Every change of state of a run or a step, in order."""
    return [Transition(**row) for row in tx.all(sql.list_transitions, entity_id=str(entity_id))]


def _earlier_attempt(tx: Transaction, new: NewRun) -> str | None:
    """The failed run that a new one with the same key repeats. Raises Conflict if there is nothing to repeat."""
    earlier = _find_by_key(tx, new)
    if earlier is None:
        return None
    if earlier.is_open or earlier.status == Status.COMPLETED:
        raise Conflict(f"{new.pipeline_id} with key {new.idempotency_key!r} is run {earlier.id}: {earlier.status}")
    return earlier.id


def _find_by_key(tx: Transaction, new: NewRun) -> Run | None:
    if new.idempotency_key is None:
        return None
    row = tx.one(sql.find_by_idempotency_key, pipeline_id=new.pipeline_id, idempotency_key=new.idempotency_key)
    return Run(**row) if row else None


def _ending(tx: Transaction, start: datetime, outcome: Outcome) -> dict[str, Any]:
    return {"status": outcome.status.value, "duration_ms": clock.elapsed_ms(start, tx.now), "error_message": outcome.error_message}


def note_transition(tx: Transaction, entity: str, entity_id: str, before: str | None, after: str, reason: str | None, actor: str) -> None:
    """Keep that something changed its state, when, why and by whom."""
    tx.execute(
        sql.add_transition,
        transition_id=clock.new_id(),
        entity=entity,
        entity_id=entity_id,
        from_status=before,
        to_status=str(after),
        reason=reason,
        actor=actor,
    )


def _found(row: Row | None, message: str) -> Row:
    if row is None:
        raise NotFound(message)
    return row
