"""A module's run: each task as soon as those that it waits for allow it, failures contained, what cannot run SKIPPED."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, NoReturn

from lakeledger.control.documents import Module
from lakeledger.control.graph import Task, tasks
from lakeledger.errors import Conflict, Fenced, LakeledgerError, Unavailable
from lakeledger.pipelines import Context
from lakeledger.pipelines.attempt import INTERRUPT_SECONDS, Attempt, Progress, StepResult
from lakeledger.pipelines.conditions import Standing, reason_to_skip, standing
from lakeledger.pipelines.interrupting import Interruptible
from lakeledger.runs import ActiveRun, ActiveStep, DoneBy, NewStep, Status, cancelled, failed
from lakeledger.runs import store as run_log

__all__ = ["ModuleResult", "Progress", "StepResult", "run_module"]

PARALLEL_STEPS = 8
# How often a run looks whether somebody has ended it.
WATCH_SECONDS = 1.0
# How long tasks that are stopped are waited for.
GRACE_SECONDS = 10.0
# A load commits once, at its end: from then on it is done, whatever the clock says. Any other task may commit as often as it likes.
LOADS = ("ingest", "sql_query", "sql_file")


@dataclass(frozen=True)
class ModuleResult:
    """How a module's run went."""

    module: str
    run_id: str
    steps: list[StepResult]
    timed_out: str | None = None  # after how long

    @property
    def failed(self) -> list[StepResult]:
        return [step for step in self.steps if step.status == Status.FAILED]

    @property
    def retryable(self) -> bool:
        """Whether one of those that failed may do better at another try; not if all together took too long."""
        return not self.timed_out and any(step.retryable for step in self.failed)

    @property
    def error(self) -> str | None:
        """Why the run failed, or None."""
        told = "; ".join(f"{step.source_id}: {step.error}" for step in self.failed)
        failures = [f"{len(self.failed)} of {len(self.steps)} steps failed: {told}"] if told else []
        return "; ".join([*([self.timed_out] if self.timed_out else []), *failures]) or None

    @property
    def rows(self) -> int:
        return sum(step.loaded.rows for step in self.steps if step.loaded)


def run_module(
    context: Context,
    run: ActiveRun,
    module: Module,
    base: Path,
    progress: Progress,
    *,
    parameters: Mapping[str, Any] | None = None,
    stop: threading.Event | None = None,
    alone: bool = False,
) -> ModuleResult:
    """Run a module's active sources inside a started run. A failing source ends the run as FAILED without raising.

    It is tried again as often as it says, unless it is set up wrong, or took too long: that try may still be at work. A module that
    takes longer than its `timeout_seconds` is ended: what is at work fails, the rest is SKIPPED.

    `parameters` override the module's; by default they are the run's.
    With `alone` the run gets a Spark session of its own, which can be stopped when somebody cancels the run. Without it, Python tasks get
    the session that is there; SQL tasks see its temporary views only if its settings are those of loads (see `own_session`).
    Raises Invalid if the tasks have no order, and Fenced if somebody ended the run or `stop` was set; then its open steps are CANCELLED.
    """
    given = run.run.parameters if parameters is None else parameters
    values = {**module.parameters, **{name: str(value) for name, value in given.items()}}
    spark = Interruptible(context, alone=alone)
    shared = replace(context, start_spark=spark.session, active_run=run, base=base, parameters=values)
    board = _Board(module, shared, progress, stop or threading.Event(), spark.interrupt)
    result = ModuleResult(module.module_name, run.id, board.play(), board.timed_out)
    if result.error:
        run.fail(result.error)
    return result


@dataclass(frozen=True)
class _Retry:
    """A task that failed and is tried again: as which attempt, when, and how the last one went."""

    number: int
    not_before: float
    failure: StepResult


class _Board:
    """Where the tasks of one run stand."""

    def __init__(self, module: Module, context: Context, progress: Progress, stop: threading.Event, interrupt: Callable[[], None]) -> None:
        self._module = module.module_name
        self._context = context
        self._run, self._store = context.run, context.store
        self._progress = progress
        self._stop = stop
        self._interrupt = interrupt
        self._tasks = {task.key: task for task in tasks(module)}
        steps = self._run.plan([_new_step(self._module, task) for task in self._tasks.values()])
        self._steps: dict[str, ActiveStep] = dict(zip(self._tasks, steps, strict=True))
        # What each task that is not settled still waits for.
        self._missing = {key: set(task.waits_for) for key, task in self._tasks.items()}
        self._results: dict[str, StepResult] = {}
        self._standings: dict[str, Standing] = {}
        self._running: dict[str, Attempt] = {}
        self._retries: dict[str, _Retry] = {}
        self._finished: SimpleQueue[Attempt] = SimpleQueue()
        self._watched_at = time.monotonic()
        self._limit = module.timeout_seconds
        self._deadline = self._watched_at + self._limit if self._limit else None
        self.timed_out: str | None = None

    def play(self) -> list[StepResult]:
        """Run all that can run; the results in the order of the tasks. Raises Fenced if the run has ended or is to stop."""
        try:
            return self._play()
        except BaseException as error:
            if isinstance(error, Conflict):  # The ledger refuses whatever is done for a run that has ended.
                self._stop_if_over()
            # First its right to commit, then the tasks, which may take their time: nothing goes on behind the back of a run that has ended.
            with suppress(LakeledgerError):
                self._run.stop(error)
            self._let_go()
            raise

    def _play(self) -> list[StepResult]:
        while True:
            self._watch()
            self._start_what_can()
            if len(self._results) == len(self._tasks):
                return [self._results[key] for key in self._tasks]
            self._wait()
            self._give_up_what_is_late()

    def _start_what_can(self) -> None:
        """In the order of the tasks: what is skipped here is already known to those that wait for it."""
        for key, missing in list(self._missing.items()):
            if missing or key in self._running:
                continue
            task, retry = self._tasks[key], self._retries.get(key)
            if retry and self.timed_out:
                self._settle(task, retry.failure)
            elif retry and time.monotonic() < retry.not_before:
                continue
            elif reason := self.timed_out or reason_to_skip(task.run_if, self._awaited(task)):
                if not self.timed_out:  # Otherwise the end of the run skips it: should that never come, it was not carried out.
                    self._steps[key].skip(reason)
                self._settle(task, StepResult(task.source.source_id, task.source.target, Status.SKIPPED, error=reason))
            elif len(self._running) < PARALLEL_STEPS:
                self._start(task, retry.number if retry else 1)

    def _awaited(self, task: Task) -> dict[str, Standing]:
        """How those ended that the task waits for, by the names that people gave them."""
        return {self._tasks[key].source.source_id: self._standings[key] for key in task.waits_for}

    def _start(self, task: Task, number: int) -> None:
        step = self._steps[task.key]
        if number > 1:
            (step,) = self._run.plan([_new_step(self._module, task, number)])
        context = replace(self._context, active_step=step, stop=threading.Event())
        attempt = Attempt(self._module, task, number, context, self._finished.put)
        self._running[task.key] = attempt
        attempt.start(self._progress)

    def _wait(self) -> None:
        """Until an attempt is over, or it is time to look at something else."""
        moments = [moment for moment in (self._deadline, *(each.deadline for each in self._running.values())) if moment]
        now = time.monotonic()
        moments += [retry.not_before for retry in self._retries.values() if retry.not_before > now]
        soonest = min([self._watched_at + WATCH_SECONDS, *moments]) - now
        with suppress(Empty):
            attempt = self._finished.get(timeout=max(0.0, soonest))
            if self._running.get(attempt.task.key) is attempt:
                del self._running[attempt.task.key]
                self._take(attempt)

    def _take(self, attempt: Attempt, result: StepResult | None = None) -> None:
        """An attempt is over: its task is settled, or tried again later."""
        result = result or attempt.result
        if result is None:
            raise attempt.error or RuntimeError(f"{attempt.thread.name} ended without a result")
        source = attempt.task.source
        if result.status == Status.FAILED:
            with suppress(Unavailable):  # The store may be back for the next look.
                self._stop_if_over()
        if result.status == Status.FAILED and result.retryable and attempt.number <= source.max_retries:
            self._retries[attempt.task.key] = _Retry(attempt.number + 1, time.monotonic() + (source.retry_seconds or 0), result)
            return
        self._retries.pop(attempt.task.key, None)
        self._settle(attempt.task, result)

    def _settle(self, task: Task, result: StepResult) -> None:
        self._results[task.key] = result
        del self._missing[task.key]
        for missing in self._missing.values():
            missing.discard(task.key)
        self._standings[task.key] = standing(result.status, task.run_if, self._awaited(task))
        self._progress(result)

    def _give_up_what_is_late(self) -> None:
        now = time.monotonic()
        if self._deadline and self._deadline <= now:
            self._deadline = None
            self.timed_out = f"the module timed out after {self._limit:g} s"
        for key, attempt in list(self._running.items()):
            reason = self.timed_out
            if attempt.deadline and attempt.deadline <= now:
                reason = f"timed out after {attempt.task.source.timeout_seconds:g} s"
            if reason is None or attempt.given_up:
                continue
            attempt.deadline = attempt.deadline and now + WATCH_SECONDS  # unless it can be ended now
            with suppress(Unavailable):
                self._give_up(key, attempt, reason)

    def _give_up(self, key: str, attempt: Attempt, reason: str) -> None:
        if self._end_late_step(attempt, reason):
            attempt.keep_output()
            attempt.keep_error(reason)
            del self._running[key]
            attempt.give_up()
            self._take(attempt, attempt.ended(Status.FAILED, error=reason, retryable=False))
        else:
            attempt.deadline = None

    def _end_late_step(self, attempt: Attempt, reason: str) -> bool:
        """End the attempt's step, and so its right to commit. False if it has done its work, or ended by itself."""
        late = failed(reason)
        with self._store.write() as tx:
            step = run_log.get_step(tx, attempt.context.step.id)
            if step.committed_at and step.done_by == DoneBy.COMMIT:
                return False
            with suppress(Conflict):
                run_log.finish_step(tx, step.id, late, self._actor)
                return True
        return False

    def _watch(self) -> None:
        """Look now and then whether somebody else ended the run, or it is to stop. Raises Fenced."""
        if time.monotonic() - self._watched_at >= WATCH_SECONDS or self._stop.is_set():
            self._watched_at = time.monotonic()
            with suppress(Unavailable):  # The store may be back for the next look.
                self._stop_if_over()

    def _stop_if_over(self) -> None:
        with self._store.read() as tx:
            is_open = run_log.get(tx, self._run.id).is_open
        if self._stop.is_set() or not is_open:
            self._stop_all()

    def _stop_all(self) -> NoReturn:
        run = self._run.stop(cancelled("it was stopped"))
        self._let_go()
        with self._store.read() as tx:
            steps = {step.id: step.status for step in run_log.steps(tx, run.id)}
        for attempt in self._running.values():
            attempt.keep_output()
            if run.status == Status.FAILED and run.error_message and steps[attempt.context.step.id] != Status.FAILED:
                attempt.keep_error(run.error_message)  # Of a step that FAILED, whoever ended it said why.
        self._running.clear()
        raise Fenced(f"{run_log.ended(run)}; nothing more is started")

    def _let_go(self) -> None:
        """Have everything that is under way end, and wait for it, but not for ever."""
        for attempt in self._running.values():
            attempt.give_up()
        ends = time.monotonic() + GRACE_SECONDS
        while (left := [each.thread for each in self._running.values() if each.thread.is_alive()]) and time.monotonic() < ends:
            self._interrupt()
            left[0].join(INTERRUPT_SECONDS)

    @property
    def _actor(self) -> str:
        return self._run.run.worker_instance or ""


def _new_step(module: str, task: Task, number: int = 1) -> NewStep:
    source, kind = task.source, task.source.transformation_config.task_type
    done_by = DoneBy.COMMIT if kind in LOADS else DoneBy.END
    about = {"module": module, "execution_order": source.execution_order}
    return NewStep(source.source_id, kind, source.target or None, about, number, done_by)
