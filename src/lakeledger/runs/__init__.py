"""What ran: runs, steps, their states, leases and recovery."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from lakeledger.codec import Id
from lakeledger.db import Store
from lakeledger.db.pages import Page
from lakeledger.runs import output, recovery, store
from lakeledger.runs.active import ActiveRun, ActiveStep
from lakeledger.runs.exceptions import describe
from lakeledger.runs.heartbeats import Heartbeats
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
    StepOutput,
    Transition,
    cancelled,
    completed,
    failed,
    skipped,
)
from lakeledger.runs.recovery import NoteLost
from lakeledger.runs.worker import Worker, this_worker, user_name

__all__ = [
    "ActiveRun",
    "ActiveStep",
    "Counters",
    "DoneBy",
    "Fence",
    "Heartbeats",
    "NewRun",
    "NewStep",
    "Outcome",
    "Run",
    "Runs",
    "Status",
    "Step",
    "StepOutput",
    "Transition",
    "Worker",
    "cancelled",
    "completed",
    "describe",
    "failed",
    "skipped",
    "this_worker",
    "user_name",
]


@dataclass(frozen=True)
class Runs:
    """The run log of one tenant."""

    _store: Store
    _worker: Worker
    _note_lost: NoteLost

    def get(self, run_id: Id) -> Run:
        """The run with that id, or with an id that begins so. Raises NotFound."""
        with self._store.read() as tx:
            return store.get(tx, run_id)

    def list(self, pipeline: str | None = None, status: str | None = None, limit: int = 50, after: str | None = None) -> Page[Run]:
        """Runs, newest first, a page at a time."""
        with self._store.read() as tx:
            return store.list_page(tx, pipeline, status, limit, after)

    def steps(self, run_id: Id, limit: int | None = None, after: str | None = None) -> Page[Step]:
        """The steps of a run, in order: all, or a page at a time."""
        with self._store.read() as tx:
            return store.steps(tx, store.get(tx, run_id).id, limit, after)

    def unfinished(self, pipeline: str) -> tuple[Run, Sequence[str]] | None:
        """The latest run of a pipeline, and the names of its steps whose last attempt did not complete; None if it never ran."""
        with self._store.read() as tx:
            latest = next(iter(store.list_page(tx, pipeline, limit=1)), None)
            last = {step.step_name: step for step in store.steps(tx, latest.id)} if latest else {}
        return (latest, [name for name, step in last.items() if step.status != Status.COMPLETED]) if latest else None

    def usual_ms(self, pipeline: str) -> Mapping[str, float]:
        """How long the steps of a pipeline usually take, in milliseconds, by their names."""
        with self._store.read() as tx:
            return store.usual_ms(tx, pipeline)

    def output(self, run_id: str, steps: Sequence[Step] | None = None) -> Mapping[str, StepOutput]:
        """What the steps of a run printed, and where they failed, by the step's id: of all, or of a page of them."""
        with self._store.read() as tx:
            return output.of_run(tx, store.get(tx, run_id).id, steps)

    def transitions(self, entity_id: Id) -> Sequence[Transition]:
        """Every change of state of a run or a step."""
        with self._store.read() as tx:
            return store.transitions(tx, entity_id)

    def finish(self, run_id: Id, outcome: Outcome, by: str | None = None) -> Run:
        """End a run from outside. Raises NotFound, or Conflict if it has already ended."""
        with self._store.write() as tx:
            return store.finish(tx, run_id, outcome, by or self._worker.name, from_outside=True)

    def cancel(self, run_id: Id, reason: str, by: str | None = None) -> Run:
        """Stop a run: its worker notices within seconds and stops what Spark does for it; its commits are refused from now on.

        Raises NotFound, or Conflict if it has already ended.
        """
        return self.finish(run_id, cancelled(f"cancelled by {by}: {reason}" if by else reason), by)

    def silent(self) -> Sequence[Run]:
        """The runs whose lease ran out and whose holders still have time to answer."""
        with self._store.read() as tx:
            return [run for run in store.open_runs(tx) if run.suspected_at]

    def recover(self, max_age: timedelta | None = None, *, kind: str | None = None, silence: timedelta | None = None) -> Sequence[Run]:
        """End the runs of lost workers, each by what was committed. The ended runs are returned.

        With `silence` also those that gave no sign for so long, with `max_age` also those that live but began so long ago.
        """
        with self._store.write() as tx:
            return recovery.recover(tx, self._worker, self._note_lost, max_age, kind=kind, silence=silence)
