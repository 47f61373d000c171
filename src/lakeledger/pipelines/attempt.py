"""One attempt at one task, in a thread of its own, so that it can be given up when it takes too long."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from lakeledger.control.documents import TaskSource
from lakeledger.control.graph import Task
from lakeledger.errors import LakeledgerError
from lakeledger.jobs.model import CONFIGURATION_ERRORS
from lakeledger.pipelines import references
from lakeledger.pipelines.interrupting import Interruptible
from lakeledger.pipelines.load import Loaded, load
from lakeledger.pipelines.tasks import Context, run_task
from lakeledger.runs import Status, describe

INTERRUPT_SECONDS = 0.5


@dataclass(frozen=True)
class StepResult:
    """How one source of a module went. Trying again cannot help if it is set up wrong; one that took too long may still be at work."""

    source_id: str
    target: str
    status: Status
    loaded: Loaded | None = None
    error: str | None = None
    retryable: bool = True


Progress = Callable[[StepResult], None]


class Attempt:
    """One attempt at one task. When it is over it hands itself to `done`, with its result or with an error that is not the task's."""

    def __init__(self, module: str, task: Task, number: int, context: Context, done: Callable[[Attempt], None]) -> None:
        self.task = task
        self.number = number
        self.result: StepResult | None = None
        self.error: BaseException | None = None
        self._spark = Interruptible(context.plane, alone=task.source.timeout_seconds is not None)
        bound = context.ledger and context.ledger.bound_to(context.step, self._spark.session)
        self.context = replace(context, plane=replace(context.plane, spark=self._spark.session), ledger=bound)
        self._module = module
        self._done = done
        self.deadline: float | None = None  # when it has taken too long, by the monotonic clock
        self.thread = threading.Thread(target=self._work, name=f"step-{task.key}", daemon=True)

    def start(self, progress: Progress) -> None:
        """Begin; `progress` hears of it from the attempt's own thread."""
        self._progress = progress
        limit = self.task.source.timeout_seconds
        self.deadline = None if limit is None else time.monotonic() + limit
        self.thread.start()

    def give_up(self) -> None:
        """Have it end, and stop what Spark does for it. What it still tries to commit, the ledger refuses once its step has ended."""
        if self.given_up:
            return
        self.context.stop.set()
        threading.Thread(target=self._interrupt, name=f"interrupt-{self.task.key}", daemon=True).start()

    @property
    def given_up(self) -> bool:
        return self.context.stop.is_set()

    def ended(self, status: Status, loaded: Loaded | None = None, error: str | None = None, *, retryable: bool = True) -> StepResult:
        """A result of this task."""
        return StepResult(self.task.source.source_id, self.task.source.target, status, loaded, error, retryable)

    def _interrupt(self) -> None:
        # Again and again: it may be about to start another query.
        while self.thread.is_alive():
            self._spark.interrupt()
            self.thread.join(INTERRUPT_SECONDS)

    def _work(self) -> None:
        try:
            self._progress(self.ended(Status.RUNNING))
            self.result = self._run()
        except BaseException as error:  # noqa: BLE001 - raised again by whoever waits for this thread
            self.error = error
        if self.context.ledger:
            self.context.ledger.close()
        self._done(self)

    def _run(self) -> StepResult:
        step = self.context.step
        try:
            with step:
                loaded = self._carry_out()
                step.rows_processed = loaded.rows
                step.metadata.update(loaded.detail)
        except LakeledgerError as error:
            told = " ".join(str(error).split())
            return self.ended(Status.FAILED, error=told, retryable=not isinstance(error, CONFIGURATION_ERRORS))
        except Exception as error:  # noqa: BLE001 - the outermost loop of a step: one source must not stop the others
            return self.ended(Status.FAILED, error=describe(error))
        return self.ended(Status.COMPLETED, loaded)

    def _carry_out(self) -> Loaded:
        known = references.values(self.context.run.run, self.task.source.source_id, self.context.parameters)
        source = references.resolved(self.task.source, known)
        if isinstance(source, TaskSource):
            return run_task(self.context, source)
        return load(self.context.plane, self._module, source, self.context.base, self.context.step.fence, self.context.parameters)
