"""One attempt at one task, in a thread of its own, so that it can be given up when it takes too long."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from lakeledger.control.documents import TaskSource
from lakeledger.control.graph import Task
from lakeledger.errors import Failed, LakeledgerError
from lakeledger.jobs.model import CONFIGURATION_ERRORS
from lakeledger.pipelines import Context, capturing, references
from lakeledger.pipelines.declared import load_declared
from lakeledger.pipelines.interrupting import Interruptible
from lakeledger.pipelines.load import Loaded
from lakeledger.pipelines.tasks import run_task
from lakeledger.runs import Status, describe
from lakeledger.runs import output as outputs
from lakeledger.runs.exceptions import text_of, trace_of
from lakeledger.runs.model import TRACE_LIMIT
from lakeledger.sync.errors import NewError, classify
from lakeledger.sync.masking import excerpt

_log = logging.getLogger(__name__)

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
    duration_ms: int | None = None


Progress = Callable[[StepResult], None]


class Attempt:
    """One attempt at one task. When it is over it hands itself to `done`, with its result or with an error that is not the task's."""

    def __init__(self, module: str, task: Task, number: int, context: Context, done: Callable[[Attempt], None]) -> None:
        self.task = task
        self.number = number
        self.result: StepResult | None = None
        self.error: BaseException | None = None
        self._spark = Interruptible(context, alone=task.source.timeout_seconds is not None)
        bound = context.ledger.bound_to(context.step, self._spark.session)
        self.context = replace(context, start_spark=self._spark.session, ledger=bound)
        self._module = module
        self._done = done
        self._output = capturing.Output()
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
        self.context.ledger.close()
        self._done(self)

    def _run(self) -> StepResult:
        step, failure = self.context.step, None
        try:
            with self._output.capturing(), step:
                loaded = self._carry_out()
                self.context.ledger.close_writers()
                step.metadata.update(loaded.detail)
        except Exception as error:  # noqa: BLE001 - the outermost loop of a step: one source must not stop the others
            failure = error
        self._keep(failure)
        if failure is None:
            # A task need not say how many rows it moved: its commits count them.
            rows = step.ended.rows_processed if step.ended else None
            return replace(
                self.ended(Status.COMPLETED, replace(loaded, rows=rows or 0)), duration_ms=step.ended.duration_ms if step.ended else None
            )
        told = " ".join(text_of(failure).split()) if isinstance(failure, LakeledgerError) else describe(failure)
        return self.ended(Status.FAILED, error=told, retryable=not isinstance(failure, CONFIGURATION_ERRORS))

    def _keep(self, failure: Exception | None) -> None:
        """Keep what it printed and why it failed; or, if it did its work, that what failed before is settled."""
        self.keep_output(failure)
        if (ended := self.context.step.ended) is None:
            return  # Whoever ended it says why.
        if ended.status == Status.FAILED and failure:
            self.keep_error(failure)
        elif ended.status == Status.COMPLETED:
            note = f"attempt {self.number} in run {ended.pipeline_logging_id} completed"
            with _noting(self.thread.name):
                self.context.errors.source_succeeded(self._module, self.task.source.source_id, note)

    def keep_output(self, failure: Exception | None = None) -> None:
        """Keep what it printed so far, and where it failed."""
        secrets = references.secrets_of(self.task.source)
        output, left_out = self._output.kept(secrets)
        trace = excerpt(trace_of(failure), TRACE_LIMIT, secrets, end=True) if failure else None
        if output or trace:
            with _noting(self.thread.name):
                self.context.store.persist(lambda tx, _: outputs.put(tx, self.context.step.id, output, left_out, trace))

    def keep_error(self, failure: Exception | str) -> None:
        """Write an error of this attempt to the error log. A text is why somebody else ended it."""
        source, step, run_id = self.task.source, self.context.step, self.context.run.id
        details = {"step": step.name, "attempt": self.number, "target": source.target or None}
        about: dict[str, Any] = {"sync_run_id": run_id, "step_id": step.id, "error_details": details, "max_retries": 0}
        secrets, errors = references.secrets_of(source), self.context.errors
        with _noting(self.thread.name):
            if isinstance(failure, Exception):
                errors.log_exception(self._module, source.source_id, failure, secrets, **about)
            else:
                errors.log(NewError(self._module, source.source_id, classify(Failed(failure)), failure, **about), secrets)

    def _carry_out(self) -> Loaded:
        known = references.values(references.Occasion.of(self.context.run.run), self.task.source.source_id, self.context.parameters)
        source = references.resolved(self.task.source, known)
        if isinstance(source, TaskSource):
            return run_task(self.context, source)
        loaded = load_declared(self.context, self._module, source)
        self.context.step.rows_processed = loaded.rows
        return loaded


@contextmanager
def _noting(attempt: str) -> Iterator[None]:
    """What is kept beside a step must not change how the step went."""
    try:
        yield
    except LakeledgerError as error:
        _log.warning("what %s printed or why it failed could not be kept: %s", attempt, error)
