"""One reconciliation: both sides opened once, its checks in waves, and a result for each whatever becomes of the others."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any

from lakeledger import clock, codec
from lakeledger.errors import Invalid, LakeledgerError
from lakeledger.pipelines import Context, references
from lakeledger.recon import checks, store
from lakeledger.recon.digests import both
from lakeledger.recon.file_hash import TimedOut
from lakeledger.recon.model import DIGESTED, MEASURED, Check, Outcome, Reconciliation, Result, Status
from lakeledger.recon.sides import About, open_side
from lakeledger.redaction import SHAPES, scrub_value
from lakeledger.runs import ActiveRun, describe
from lakeledger.sync.masking import Masking, excerpt

# Of one result. What says more than that is cut, samples first.
MOST_DETAIL = 65_536
MOST_MESSAGE = 2_000

Progress = Callable[[Result], None]


@dataclass(frozen=True)
class Timed:
    """An outcome, and when it was asked for and known."""

    outcome: Outcome
    started_at: datetime
    ended_at: datetime


@dataclass
class Found:
    """What is known of the two sides while they are reconciled."""

    source: About | None = None
    target: About | None = None
    outcomes: dict[str, Timed] = field(default_factory=dict)


@dataclass(frozen=True)
class Work:
    """One reconciliation of one run."""

    context: Context
    reconciliation: Reconciliation
    run: ActiveRun
    masking: Masking
    progress: Progress = lambda _: None

    def carry_out(self) -> list[Result]:
        """Ask every check, store what came of each, and tell the run. Never raises what a check or a side does."""
        found = Found()
        try:
            with self._opened(found) as sides:
                self._waves(found, partial(self._ask, sides))
        except Exception as error:  # noqa: BLE001 - the outermost loop: whatever a side raises is the result of its checks
            outcome = _failed(error)
            now = clock.now()
            self._waves(found, lambda asked: {each.name: Timed(outcome, now, now) for each in asked})
        return self._keep(found)

    def skip(self, reason: str) -> list[Result]:
        """Note that nothing is due."""
        now = clock.now()
        skipped = Outcome(Status.SCHEDULED_SKIP, message=reason)
        return self._keep(Found(outcomes={each.name: Timed(skipped, now, now) for each in self.reconciliation.checks}))

    @contextmanager
    def _opened(self, found: Found) -> Iterator[checks.Sides]:
        declared = self.reconciliation
        with open_side(self.context, "source", declared.source) as source:
            found.source = source.about
            with open_side(self.context, "target", declared.target) as target:
                found.target = target.about
                if source.about.identity == target.about.identity:
                    raise Invalid(f"source and target are the same thing, {_shown(source.about)}: nothing would be compared")
                columns = both((source, target), lambda side: side.columns())
                yield checks.Sides(source, target, columns, declared, self.masking)

    def _waves(self, found: Found, ask: Callable[[Sequence[Check]], dict[str, Timed]]) -> None:
        """First what is asked in any case, then, as long as something is left, what is asked because something failed."""
        waiting = list(self.reconciliation.checks)
        while waiting:
            ready, skipped = choose(waiting, {name: timed.outcome.status for name, timed in found.outcomes.items()})
            now = clock.now()
            found.outcomes |= {check.name: Timed(Outcome(Status.SKIPPED, message=why), now, now) for check, why in skipped}
            found.outcomes |= ask(ready)
            waiting = [each for each in waiting if each.name not in found.outcomes]

    def _ask(self, sides: checks.Sides, asked: Sequence[Check]) -> dict[str, Timed]:
        """One wave: what is one number of each side in one question to each, the others on their own."""
        together: dict[float | None, list[Check]] = defaultdict(list)
        alone: list[Check] = []
        for check in asked:
            (together[self._timeout(check)] if check.type in MEASURED else alone).append(check)
        jobs: list[Callable[[], dict[str, Outcome]]] = [partial(self._measured, sides, each, seconds) for seconds, each in together.items()]
        jobs += [partial(self._single, sides, each) for each in alone]
        found: dict[str, Timed] = {}
        if not jobs:
            return found
        with ThreadPoolExecutor(min(self.reconciliation.max_parallel, len(jobs)), thread_name_prefix="recon") as pool:
            for answer in [pool.submit(_timed, job) for job in jobs]:
                found |= answer.result()
        return found

    def _measured(self, sides: checks.Sides, asked: Sequence[Check], seconds: float | None) -> dict[str, Outcome]:
        found: dict[str, Outcome] = {}
        measures = []
        for check in asked:  # one that asks for what is not there must not spoil the question of the others
            try:
                measures.append(checks.measure(check, sides))
            except LakeledgerError as error:
                found[check.name] = _failed(error)
        try:
            answers = checks.ask_measures(measures, sides, seconds) if measures else {}
        except Exception as error:  # noqa: BLE001 - the outermost loop of checks
            if len(measures) > 1 and not isinstance(error, TimedOut):
                return found | {name: each for one in measures for name, each in self._measured(sides, [one.check], seconds).items()}
            answers = {each.check.name: _failed(error) for each in measures}
        return found | {name: self._with_band(name, outcome, asked) for name, outcome in answers.items()}

    def _single(self, sides: checks.Sides, check: Check) -> dict[str, Outcome]:
        seconds = self._timeout(check)
        try:
            if check.type in DIGESTED:
                made = checks.digests(check, sides, seconds)
            elif check.type == "group_count":
                made = checks.group_count(check, sides, seconds)
            elif check.type == "pk_uniqueness":
                made = checks.uniqueness(check, sides, seconds)
            else:
                made = checks.schema(check, sides)
        except Exception as error:  # noqa: BLE001 - the outermost loop of checks
            made = _failed(error)
        return {check.name: self._with_band(check.name, made, [check])}

    def _with_band(self, name: str, outcome: Outcome, asked: Sequence[Check]) -> Outcome:
        check = next(each for each in asked if each.name == name)
        if not check.thresholds.band or outcome.difference is None:
            return outcome
        from lakeledger.recon.bands import with_band

        declared = self.reconciliation
        table = _table_of(declared.target) or _table_of(declared.source)
        return with_band(self.context, check, f"{declared.name}.{check.name}", str(table) if table else None, outcome)

    def _timeout(self, check: Check) -> float | None:
        return check.timeout_seconds if check.timeout_seconds is not None else self.reconciliation.timeout_seconds

    def _keep(self, found: Found) -> list[Result]:
        results = [self._result(check, found) for check in self.reconciliation.checks]
        with self.context.store.write() as tx:
            store.add(tx, results)
        for result in results:
            self._step(result)
            self.progress(result)
        return results

    def _result(self, check: Check, found: Found) -> Result:
        timed = found.outcomes[check.name]
        outcome, declared = timed.outcome, self.reconciliation
        table = (found.target.table if found.target else None) or (found.source.table if found.source else None)
        table = table or _table_of(declared.target) or _table_of(declared.source)
        runs = [run for side in (found.target, found.source) if side for run in side.run_ids]
        secrets = _secrets(declared)
        clean = partial(scrub_value, known=secrets)
        return Result(
            recon_result_id=clock.new_id(),
            run_id=self.run.id,
            recon_name=declared.name,
            check_name=check.name,
            check_type=check.type,
            status=outcome.status,
            schema_name=table.schema if table else None,
            table_name=table.table if table else None,
            source=clean(found.source.document if found.source else _declared(declared.source) or {}),
            target=clean(found.target.document if found.target else _declared(declared.target)),
            source_metric=_metric(outcome.source),
            target_metric=_metric(outcome.target),
            difference=_finite(outcome.difference),
            difference_percent=_finite(outcome.percent),
            thresholds=check.thresholds.document(),
            band=dict(outcome.band) if outcome.band else None,
            scope=codec.to_plain(outcome.scope),
            detail=bounded(scrub_value(codec.to_plain(dict(outcome.detail)), known=secrets, rules=SHAPES)),
            message=excerpt(outcome.message, MOST_MESSAGE, secrets),
            ingestion_run_ids=list(dict.fromkeys(runs)),
            frequency=declared.frequency,
            started_at=timed.started_at,
            ended_at=timed.ended_at,
        )

    def _step(self, result: Result) -> None:
        """A check in the run's log: done if it compared, failed if it could not."""
        step = self.run.step(result.check_name, "recon", result.table)
        try:
            with step:
                step.metadata = {"status": str(result.status), "message": result.message, "recon_result_id": result.id}
                rows = result.detail.get("rows")
                step.rows_processed = max(rows) if rows else None
                if result.status in (Status.SKIPPED, Status.SCHEDULED_SKIP):
                    step.skip(result.message)
                if result.status in (Status.ERROR, Status.TIMEOUT):
                    raise _CheckFailed(result.message)
        except _CheckFailed:
            return


class _CheckFailed(LakeledgerError):
    """What ends the step of a check that could not be carried out."""


def choose(waiting: Sequence[Check], done: dict[str, Status]) -> tuple[list[Check], list[tuple[Check, str]]]:
    """Which of the checks are asked now, and which never, and why. What waits for any failure waits for all that are asked otherwise."""
    ready = [each for each in waiting if each.on_fail is None]
    if ready:
        return ready, []
    named = [each for each in waiting if each.on_fail != "*"]
    if named:
        able = [each for each in named if each.on_fail in done]
        ready = [each for each in able if done[each.on_fail or ""] == Status.FAIL]
        skipped = [(each, f"{each.on_fail} did not fail") for each in able if each not in ready]
        if ready or skipped:
            return ready, skipped
        return [], [(each, f"{each.on_fail} waits for it in turn") for each in named]
    if Status.FAIL in done.values():
        return list(waiting), []
    return [], [(each, "no other check failed") for each in waiting]


def bounded(detail: dict[str, Any]) -> dict[str, Any]:
    """A detail that is not larger than a result may be: lists become shorter until it fits."""
    while len(codec.to_json(detail).encode()) > MOST_DETAIL:
        longest = max(
            (name for name, value in detail.items() if isinstance(value, list)),
            key=lambda name: len(codec.to_json(detail[name])),
            default=None,
        )
        if longest is None or not detail[longest]:
            return {"cut": True}
        detail = {**detail, longest: detail[longest][: len(detail[longest]) // 2], "cut": True}
    return detail


def _timed(job: Callable[[], dict[str, Outcome]]) -> dict[str, Timed]:
    started = clock.now()
    found = job()
    ended = clock.now()
    return {name: Timed(outcome, started, ended) for name, outcome in found.items()}


def _failed(error: Exception) -> Outcome:
    if isinstance(error, TimedOut):
        return Outcome(Status.TIMEOUT, message=str(error))
    text = " ".join(str(error).split()) if isinstance(error, LakeledgerError) else describe(error)
    return Outcome(Status.ERROR, message=text)


def _metric(value: Any) -> str | None:
    return None if value is None else str(value)


def _finite(value: float | None) -> float | None:
    return value if value is not None and abs(value) < float("inf") else None


def _shown(about: About) -> str:
    return ", ".join(f"{name} {value}" for name, value in about.document.items())


def _declared(side: Any) -> dict[str, Any] | None:
    """What a side that could not be opened was declared as."""
    if side is None:
        return None
    if isinstance(side, str):
        return {"table": side}
    if hasattr(side, "document"):
        found: dict[str, Any] = side.document()
        return found
    return {name: value for name, value in side.items() if name in ("table", "version", "query")} or {"kind": next(iter(side), "")}


def _table_of(side: Any) -> Any:
    from lakeledger.names import parse_name

    name = side if isinstance(side, str) else side.get("table") if isinstance(side, dict) else getattr(side, "table", None)
    try:
        return parse_name(name) if name else None
    except Invalid:
        return None


def _secrets(declared: Reconciliation) -> list[str]:
    """The values that the sides take from the environment: nothing of them is stored."""
    texts = (
        side.model_dump_json(by_alias=True) if hasattr(side, "model_dump_json") else str(side)
        for side in (declared.source, declared.target)
    )
    return [secret for text in texts for secret in references.secrets_in(text)]
