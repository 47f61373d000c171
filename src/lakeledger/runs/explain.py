"""Why a run stands as it does, in words: what happened to it, what of it is visible, and what to do next."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from lakeledger.runs import recovery
from lakeledger.runs.model import Run, Status, Step, Transition

SHORT_ID = 13
# How many versions are told one by one.
MOST_VERSIONS = 20


@dataclass(frozen=True)
class Visible:
    """A version of a table that a run has committed. One with a batch id is not applied again, whoever tries."""

    table: str
    version: int
    operation: str
    added_rows: int
    removed_rows: int
    batch_id: str | None

    @property
    def comes_twice(self) -> bool:
        """Whether the same work, done again, would add the same rows again."""
        return self.operation == "append" and self.batch_id is None

    def describe(self) -> str:
        """The version in a few words."""
        removed = f", −{self.removed_rows:,}" if self.removed_rows else ""
        return f"{self.table} version {self.version} ({self.operation}, +{self.added_rows:,}{removed} {_rows(self.added_rows)})"


@dataclass(frozen=True)
class Explanation:
    """A run in words, sentence by sentence."""

    run_id: str
    pipeline_id: str
    status: str
    why: list[str]
    visible: list[str]
    next: list[str]


def explain(
    run: Run,
    steps: list[Step],
    ending: Transition | None,
    visible: list[Visible],
    following: Run | None,
    now: datetime,
    *,
    is_queued: bool = False,
) -> Explanation:
    """Put a run into words. `ending` is its last change of state, `following` the next run that does the same.

    `is_queued`: a scheduler has it in its queue, and starts it again by itself.
    """
    why = [*_why(run, steps, ending, now), *_tries(run, steps)]
    return Explanation(run.id, run.pipeline_id, run.status, why, _shown(visible), _next(run, steps, ending, visible, following, is_queued))


def _shown(visible: list[Visible]) -> list[str]:
    """What a run has committed; of a stream's many versions what they are together."""
    if len(visible) <= MOST_VERSIONS:
        return [each.describe() for each in visible] or ["nothing: it has committed no data"]
    groups: dict[tuple[str, str], list[Visible]] = {}
    for each in visible:
        groups.setdefault((each.table, each.operation), []).append(each)
    return [_together(table, operation, each) for (table, operation), each in groups.items()]


def _together(table: str, operation: str, versions: list[Visible]) -> str:
    added, removed = sum(each.added_rows for each in versions), sum(each.removed_rows for each in versions)
    less = f", −{removed:,}" if removed else ""
    span = f"{versions[0].version:,} to {versions[-1].version:,}"
    return f"{table} {len(versions):,} versions, {span} ({operation}, +{added:,}{less} {_rows(added)})"


def _why(run: Run, steps: list[Step], ending: Transition | None, now: datetime) -> list[str]:
    if run.is_open or ending is None:
        return _why_open(run, now)
    if _is_by_others(run, ending):
        return _why_ended_by_others(run, ending)
    if run.status == Status.COMPLETED:
        return [f"{run.worker_instance} finished it at {_time(run.end_time)}."]
    if run.status == Status.CANCELLED:
        return [f"It was stopped at {_time(run.end_time)}: {_sentence(ending.reason)}"]
    failed = [f"Step {step.step_name} failed: {_sentence(step.error_message)}" for step in _failed(steps)]
    skipped = [step.step_name for step in steps if step.status == Status.SKIPPED]
    after = [f"Not carried out because of that: {', '.join(skipped)}."] if failed and skipped else []
    return [*(failed or [f"It failed at {_time(run.end_time)}: {_sentence(run.error_message)}"]), *after]


def _why_open(run: Run, now: datetime) -> list[str]:
    if run.status == Status.PENDING:
        return [f"It was written down at {_time(run.start_time)} and has not begun."]
    last = run.heartbeat_at or run.start_time
    if run.lease_expires_at is None or run.lease_expires_at > now:
        lease = f"its last heartbeat came {_ago(now - last)} ago, its lease ends {_time(run.lease_expires_at)}"
        return [f"{run.worker_instance} works on it: {lease}."]
    until = recovery.answer_time(run)
    waits = (
        f"Unless it renews its lease until {_time(until)}, the next start takes over." if run.suspected_at else "Nobody has noticed so far."
    )
    return [
        f"{run.worker_instance} has been silent since {_time(last)}; its lease ran out at {_time(run.lease_expires_at)}.",
        f"Its process may be stopped or gone, or it cannot reach the ledger. {waits} Until somebody does, it may go on and commit.",
    ]


def _why_ended_by_others(run: Run, ending: Transition) -> list[str]:
    worker = run.worker_instance or "its worker"
    found = f"{ending.actor} ended it at {_time(ending.at)}: {_sentence(ending.reason)}"
    if run.status == Status.CANCELLED:
        return [found, f"Whatever {worker} tries to commit after that is refused."]
    silent = f"{worker} gave its last sign of life at {_time(run.heartbeat_at or run.start_time)}."
    if run.status == Status.COMPLETED:
        return [silent, found, "The commit was found in the ledger, where it is written together with the data."]
    return [silent, found, f"Should {worker} come back, its commits are refused."]


def _tries(run: Run, steps: list[Step]) -> list[str]:
    attempts = {step.step_name: step.attempt for step in sorted(steps, key=lambda step: step.attempt)}
    found = [f"Step {name} was tried {number} times." for name, number in attempts.items() if number > 1]
    return [*found, *([f"It repeats run {run.retry_of[:SHORT_ID]}."] if run.retry_of else [])]


def _next(
    run: Run, steps: list[Step], ending: Transition | None, visible: list[Visible], following: Run | None, is_queued: bool
) -> list[str]:
    if run.is_open:
        stop = f"`lakeledger runs cancel {run.id[:SHORT_ID]} --reason …` stops it"
        return [f"Wait for it; `lakeledger runs recover` ends it once its worker is lost, {stop}."]
    if run.status == Status.COMPLETED:
        return ["Nothing."]
    if following is not None:
        later = f"Run {following.id[:SHORT_ID]} of {run.pipeline_id} began after it and is {following.status}"
        return [f"{later}: nothing is left to do here." if following.status == Status.COMPLETED else f"{later}: look at that one."]
    if is_queued:
        return ["Nothing: it is in the queue, and the next look of a `lakeledger scheduler` starts it again.", *_twice(visible)]
    lost = ending is not None and _is_by_others(run, ending) and run.status == Status.FAILED
    logs = f"Remove the cause: `lakeledger runs logs {run.id[:SHORT_ID]}` shows what its tasks printed and where they failed."
    first = [] if lost or run.status == Status.CANCELLED else [logs]
    again = f"Run {run.pipeline_id} again ({_again(run, steps)})"
    twice = _twice(visible)
    kept = "what is visible stays and is not loaded twice" if visible else "nothing of it is visible, so nothing comes twice"
    sweep = ["`lakeledger tables sweep` finds files that it left behind."] if lost else []
    return [*first, *twice, f"{again}." if twice else f"{again}: {kept}.", *sweep]


def _twice(visible: list[Visible]) -> list[str]:
    """A warning of what the same work would append again: a task may commit as it likes, and then nothing tells its rows apart."""
    tables = ", ".join(sorted({each.table for each in visible if each.comes_twice}))
    cure = "look whether its task leaves out what is there; with a batch_id or a position, an append comes once"
    return [f"Mind {tables}: rows were appended without a batch id, and would be appended again: {cure}."] if tables else []


def _again(run: Run, steps: list[Step]) -> str:
    module, _, source = run.pipeline_id.rpartition(".")
    if module and {step.step_name for step in steps} == {source}:
        return f"`lakeledger run --control … --module {module} --source {source}`, or where it was started"
    if run.trigger_type in ("scheduler", "webhook", "retry"):
        return f"`lakeledger jobs run {run.pipeline_id}`"
    return "the same call" if run.trigger_type == "api" else f"`lakeledger run --module {run.pipeline_id}`"


def _failed(steps: list[Step]) -> list[Step]:
    last = {step.step_name: step for step in sorted(steps, key=lambda step: step.attempt)}
    return [step for step in last.values() if step.status == Status.FAILED]


def _is_by_others(run: Run, ending: Transition) -> bool:
    return run.worker_instance is not None and ending.actor != run.worker_instance


def _sentence(text: str | None) -> str:
    return f"{(text or 'no reason is known').rstrip('. ')}."


def _time(at: datetime | None) -> str:
    return f"{at:%Y-%m-%d %H:%M:%S} UTC" if at else "never"


def _ago(span: timedelta) -> str:
    seconds = max(0, int(span.total_seconds()))
    return f"{seconds} s" if seconds < 120 else f"{seconds // 60} min"


def _rows(number: int) -> str:
    return "row" if number == 1 else "rows"
