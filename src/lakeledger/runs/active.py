"""A run while it happens: `with ledger.run("orders") as run: with run.step("extract") as step: …`."""

from __future__ import annotations

import logging
import threading
import time
from contextlib import suppress
from dataclasses import replace
from types import TracebackType
from typing import Any, Self

from lakeledger import clock
from lakeledger.background import Failures
from lakeledger.db import Store, Transaction
from lakeledger.errors import Conflict, LakeledgerError, NotFound, Unavailable
from lakeledger.redaction import scrub_value
from lakeledger.runs import recovery, store
from lakeledger.runs.heartbeats import BEATS, HASTY_BEATS
from lakeledger.runs.model import (
    Counters,
    DoneBy,
    Fence,
    NewRun,
    NewStep,
    Outcome,
    Run,
    Status,
    Step,
    cancelled,
    completed,
    failed,
    skipped,
)
from lakeledger.runs.recovery import NoteLost
from lakeledger.runs.worker import Worker

INTERRUPTED_SECONDS = 5.0
# How often, and for how long at most, a start looks whether a silent holder has answered.
LOOK_SECONDS = 0.2
LONGEST_WAIT_SECONDS = 60.0

_log = logging.getLogger(__name__)


class ActiveRun:
    """A started run. It holds a lease that a background heartbeat renews, and it ends when the block does."""

    def __init__(
        self,
        ledger_store: Store,
        new: NewRun,
        worker: Worker,
        lease_seconds: float,
        note_lost: NoteLost,
        within: Fence | None = None,
        failures: Failures | None = None,
    ) -> None:
        self._store = ledger_store
        self._note_lost = note_lost
        self._within = within
        self._failures = failures or Failures("heartbeats")
        self._new = new
        self._worker = worker
        self._lease_seconds = lease_seconds
        self._counters = Counters()
        self._ended = threading.Event()
        self._run: Run | None = None
        self._ends_with_commit = False

    @property
    def run(self) -> Run:
        """The run as it was when it started."""
        if self._run is None:
            raise Conflict("the run has not started: use it in a `with` block")
        return self._run

    @property
    def id(self) -> str:
        return self.run.id

    @property
    def fence(self) -> Fence:
        """The right to commit in this run's name."""
        return Fence(self.run.id, self.run.lease_token, within=self._within)

    @property
    def last_fence(self) -> Fence:
        """The right to make one commit, with which this run ends as COMPLETED."""
        self._ends_with_commit = True
        return replace(self.fence, ends_run=True)

    def __enter__(self) -> Self:
        self._run = start(self._store, self._new, self._worker, self._lease_seconds, self._note_lost)
        threading.Thread(target=self._keep_alive, name=f"heartbeat-{self.id[-6:]}", daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            if error is not None or not self._has_ended():
                self._finish(_outcome(error))
        except LakeledgerError:
            # What went wrong inside the block is the news; that the run could not be closed as well is not.
            if error is None:
                raise

    def step(
        self, name: str, type: str = "task", target_table: str | None = None, *, done_by: DoneBy = DoneBy.END, **metadata: Any
    ) -> ActiveStep:
        """A step of this run, to be used in a `with` block. One that commits exactly once, at its end, is `done_by="commit"`."""
        return ActiveStep(self._store, self.fence, self._worker, NewStep(name, type, target_table, metadata, done_by=done_by))

    def plan(self, steps: list[NewStep]) -> list[ActiveStep]:
        """Write down the steps of this run, so that the log shows what a lost run did not reach, and that it is done once they are."""
        ids = [clock.new_id() for _ in steps]

        def add(tx: Transaction, again: bool) -> list[Step]:
            if again and (known := store.find_steps(tx, ids)):
                return known
            return store.plan_steps(tx, self.id, dict(zip(ids, steps, strict=True)), self._worker.name)

        rows = self._store.persist(add)
        return [ActiveStep(self._store, self.fence, self._worker, new, row) for new, row in zip(steps, rows, strict=True)]

    def count(self, **counters: int) -> None:
        """Add to what the run moved, beside what its commits count themselves: `run.count(processed=10, updated=3)`."""
        self._counters += Counters(**counters)

    def stop(self, why: BaseException | Outcome) -> Run:
        """End the run now, and with it the right of its steps to commit: for a run whose tasks may go on behind its back.

        If somebody else was faster, it stays as they ended it.
        """
        outcome = why if isinstance(why, Outcome) else _outcome(why)

        def end(tx: Transaction, again: bool) -> Run:  # noqa: ARG001 - it looks in any case
            run = store.held(tx, self.id)
            if not run.is_open:
                return run
            store.count(tx, self.id, self._counters)
            return store.finish(tx, self.id, outcome, self._worker.name, from_outside=True)

        try:
            self._run = self._store.persist(end, _patience(outcome))
        finally:
            self._ended.set()
        return self._run

    def fail(self, message: str) -> None:
        """End the run as FAILED now, without raising: for runs whose failures were contained."""
        self._finish(failed(message))

    def _has_ended(self) -> bool:
        """Whether the run has ended with its commit. An outage is no answer: whoever ends it then looks again."""
        if self._ends_with_commit:
            with suppress(Unavailable), self._store.read() as tx:
                run = store.held(tx, self.id)
                if run.status == Status.COMPLETED:
                    self._run = run
                    self._ended.set()
                    return True
        return False

    def _finish(self, outcome: Outcome) -> None:
        """End the run, also if the store is away for a while; until then the heart beats."""

        def finish(tx: Transaction, again: bool) -> Run:
            run = store.held(tx, self.id)
            by_itself = again or self._ends_with_commit
            if not run.is_open and run.status in (self.run.status, outcome.status if by_itself else None):
                return run
            store.count(tx, self.id, self._counters)
            return store.finish(tx, self.id, outcome, self._worker.name)

        try:
            self._run = self._store.persist(finish, _patience(outcome))
        finally:
            self._ended.set()

    def _keep_alive(self) -> None:
        pause = self._lease_seconds / BEATS
        while not self._ended.wait(pause):
            pause = self._lease_seconds / BEATS
            try:
                with self._store.write() as tx:
                    held = store.renew(tx, self.fence, self._lease_seconds)
            except LakeledgerError as error:  # The store may be back before somebody takes over; if not, the commit is refused.
                self._failures.report("", f"leases of runs could not be renewed: {error}", error)
                pause = self._lease_seconds / HASTY_BEATS
                continue
            self._failures.clear("")
            if not held:
                return


class ActiveStep:
    """A step while it happens. Set `rows_processed`, `bytes_processed` and `metadata` as they become known."""

    def __init__(self, ledger_store: Store, fence: Fence, worker: Worker, new: NewStep, planned: Step | None = None) -> None:
        self._store = ledger_store
        self._fence = fence
        self._worker = worker
        self._new = new
        self._step = planned
        self._skip_reason: str | None = None
        self.rows_processed: int | None = None
        self.bytes_processed: int | None = None
        self.metadata: dict[str, Any] = {}

    @property
    def id(self) -> str:
        if self._step is None:
            raise Conflict(f"step {self._new.name} has not started: use it in a `with` block")
        return self._step.id

    @property
    def name(self) -> str:
        return self._new.name

    @property
    def ended(self) -> Step | None:
        """The step as it ended, if it ended by itself; None if it goes on, or somebody else ended it."""
        return self._step if self._step and self._step.end_time else None

    @property
    def fence(self) -> Fence:
        """The right to commit in this step's name."""
        return replace(self._fence, step_id=self.id)

    def __enter__(self) -> Self:
        planned, step_id = self._step, self._step.id if self._step else clock.new_id()

        def begin(tx: Transaction, again: bool) -> Step:
            if again and (known := store.find_steps(tx, [step_id])) and known[0].status == "RUNNING":
                return known[0]
            if planned is None:
                store.add_step(tx, self._fence.run_id, self._new, self._worker.name, step_id)
            return store.begin_step(tx, step_id, self._worker.name)

        self._step = self._store.persist(begin)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        outcome = skipped(self._skip_reason) if self._skip_reason and error is None else _outcome(error)
        try:
            self._finish(outcome)
        except LakeledgerError:
            if error is None:
                raise

    def skip(self, reason: str) -> None:
        """End the step as SKIPPED: when the block ends, or now if it never began."""
        self._skip_reason = reason
        if self._step is not None and self._step.status == "PENDING":
            self._finish(skipped(reason))

    def _finish(self, outcome: Outcome) -> None:
        metadata, worker = scrub_value(self.metadata), self._worker

        def finish(tx: Transaction, again: bool) -> Step:
            try:
                if again and (step := store.get_step(tx, self.id)).status == outcome.status:
                    return step
                return store.finish_step(
                    tx, self.id, outcome, worker.name, self.rows_processed, self.bytes_processed, metadata, worker.usd_per_hour
                )
            except NotFound:
                store.held(tx, self._fence.run_id)  # It went with its run.
                raise

        self._step = self._store.persist(finish, _patience(outcome))


def start(ledger_store: Store, new: NewRun, worker: Worker, lease_seconds: float, note_lost: NoteLost) -> Run:
    """Begin a run. It takes over from a lost one that holds its pipeline or its key. Raises Conflict that names a living holder.

    A holder whose lease ran out is given its time to answer, at most half a lease, before it counts as lost.
    """
    _wait_for_answers(ledger_store, new, worker)
    new = replace(new, retry_of=new.retry_of or _settle_lost(ledger_store, new, worker, note_lost))
    with ledger_store.write() as tx:
        if new.exclusive and (held := store.holder(tx, new.pipeline_id)):
            raise Conflict(f"{new.pipeline_id} is already running: {_holding(held)}", retryable=True)
        return store.begin(tx, store.add(tx, new, worker.name).id, worker, lease_seconds)


def _wait_for_answers(ledger_store: Store, new: NewRun, worker: Worker) -> None:
    """Until every holder in the way that is silent has renewed its lease, has ended, or counts as lost; at most a minute."""
    give_up = time.monotonic() + LONGEST_WAIT_SECONDS
    noted = False
    while (until := _silent_until(ledger_store, new, worker)) and time.monotonic() < give_up:
        if not noted:
            _log.warning("%s waits for a holder that is silent; unless it answers until %s UTC, it is taken over", new.pipeline_id, until)
            noted = True
        time.sleep(LOOK_SECONDS)


def _silent_until(ledger_store: Store, new: NewRun, worker: Worker) -> str | None:
    """Until when a silent holder may answer, as a time of the day; None if there is none, or if its time is over.

    Which holders are silent is noted on the way.
    """
    if not new.exclusive and new.idempotency_key is None:
        return None
    with ledger_store.read() as tx:
        held = store.in_the_way(tx, new)
        unnoticed = any(recovery.is_silent(tx, run) and not recovery.is_lost(tx, run, worker) for run in held)
        waited_for = [run for run in held if run.suspected_at and not recovery.is_lost(tx, run, worker)]
    if unnoticed:
        with ledger_store.write() as tx:
            store.suspect(tx)
        return _silent_until(ledger_store, new, worker)
    return max((f"{until:%H:%M:%S}" for run in waited_for if (until := recovery.answer_time(run))), default=None)


def _settle_lost(ledger_store: Store, new: NewRun, worker: Worker, note: NoteLost) -> str | None:
    """End the lost runs that are in the way, for good, even if the new run is then refused. The id of one of them, if any."""
    if not new.exclusive and new.idempotency_key is None:
        return None
    with ledger_store.read() as tx:
        if not any(recovery.is_lost(tx, run, worker) for run in store.in_the_way(tx, new)):
            return None
    with ledger_store.write() as tx:
        lost = [run for run in store.in_the_way(tx, new) if recovery.is_lost(tx, run, worker)]
        return next(iter([recovery.settle(tx, run, worker.name, note).id for run in lost]), None)


def _holding(held: Run) -> str:
    """Who holds a pipeline, and for how long."""
    holder = f"run {held.id} on {held.worker_instance}"
    if held.suspected_at and (until := recovery.answer_time(held)):
        silent_since = f"{held.heartbeat_at or held.start_time:%Y-%m-%d %H:%M:%S} UTC"
        return f"{holder} has been silent since {silent_since}; unless it answers, a start after {until:%H:%M:%S} UTC takes over"
    return f"{holder} holds its lease until {held.lease_expires_at:%Y-%m-%d %H:%M:%S} UTC"


def _patience(outcome: Outcome) -> float | None:
    """How long an ending waits for a store that is away. Whoever interrupts does not want to wait."""
    return INTERRUPTED_SECONDS if outcome.status == "CANCELLED" else None


def _outcome(error: BaseException | None) -> Outcome:
    if error is None:
        return completed()
    if isinstance(error, KeyboardInterrupt) and str(error):
        return cancelled(f"interrupted by {error}")
    if isinstance(error, KeyboardInterrupt | SystemExit):
        return cancelled("interrupted")
    return failed(error)
