"""`lakeledger run`: carry out the pipelines that a YAML file declares."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lakeledger import Ledger, SparkSettings, config
from lakeledger.cli import DONE, FAILED, INTERRUPTED, PARTLY_FAILED, preview, sample, show
from lakeledger.cli.control_table import pairs
from lakeledger.cli.options import Options, shared
from lakeledger.cli.progress import Progress, watch
from lakeledger.config import suggest
from lakeledger.errors import Failed, Invalid, LakeledgerError, NotFound
from lakeledger.runs import Run, Status, Step
from lakeledger.runs.model import TRIGGERS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lakeledger.control.documents import Module
    from lakeledger.pipelines.runner import ModuleResult, StepResult
    from lakeledger.quality import SuiteResult

PIPELINE_FILE = "pipeline.yaml"
MAX_SAMPLE = 1_000_000


@dataclass(frozen=True)
class Outcome:
    """How one module went: its run and steps as the ledger has them, why it could not start, or why it was passed over."""

    module_name: str
    run: Run | None = None
    steps: Sequence[Step] = ()
    result: ModuleResult | None = None
    error: LakeledgerError | None = None
    passed_over: str | None = None

    def statuses(self) -> list[str]:
        """Of each step, as its last attempt ended; a module that could not start counts as one that failed."""
        if self.error:
            return ["FAILED"]
        # A run may fail without any of its steps: it took too long, and what was left was skipped.
        return [
            *{step.step_name: step.status for step in self.steps}.values(),
            *(["FAILED"] if self.run and self.run.error_message else []),
        ]

    @property
    def quality(self) -> list[tuple[str, SuiteResult]]:
        """What came of the expectations of its sources, by their names."""
        steps = self.result.steps if self.result else []
        return [(step.source_id, step.loaded.quality) for step in steps if step.loaded and step.loaded.quality]

    def document(self) -> dict[str, Any]:
        """As scripts read it."""
        if self.error:
            return {
                "module_name": self.module_name,
                "error": show.error_object(type(self.error).__name__, str(self.error), retryable=self.error.retryable),
            }
        told = {"passed_over": self.passed_over} if self.passed_over else {}
        return {"module_name": self.module_name, "run": self.run, "steps": self.steps, **told}


@click.command()
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.option("--module", metavar="NAME", help="Run only this module.")
@click.option("--control", "control_table", metavar="TABLE", help="Run what this control table declares, instead of a file.")
@click.option("--source", metavar="ID", help="With --module: run only this source of the module.")
@click.option("--only-failed", is_flag=True, help="Run only the sources that did not complete in the module's last run.")
@click.option("--from", "since", metavar="VALUE", help="With --to: load this window of the watermark again; the position stays.")
@click.option("--to", "until", metavar="VALUE", help="The end of the window, which is not part of it.")
@click.option("--full-refresh", is_flag=True, help="Read everything again and replace the tables of all loads that are run.")
@click.option("--yes", is_flag=True, help="Do not ask before a full refresh.")
@click.option("--dry-run", is_flag=True, help="Show what each source would read and write now, without Spark; nothing is written.")
@click.option(
    "--sample",
    "sampled",
    metavar="N",
    type=click.IntRange(1, MAX_SAMPLE),
    help="Load at most N rows of each source into a scratch table; positions and the sources' own tables stay as they are.",
)
@click.option("--param", "parameters", metavar="NAME=VALUE", multiple=True, help="A parameter of the run; may be repeated.")
@click.option("--trigger", type=click.Choice(TRIGGERS), default="manual", show_default=True, help="Who or what starts it, for the run log.")
@shared(
    '{"modules": [{"module_name", "run": row of pipeline_runs, "steps": [row of step_logs]}]}, '
    'with --dry-run {"modules": [{"module_name", "sources": [{"source_id", "target", "would", "write_mode", "detail", "message"}]}]}, '
    'with --sample {"modules": [{"module_name", "run_id", "sources": [{"source_id", "table", "status", "rows", "first_rows", "message"}]}]}'
)
def run(
    options: Options,
    file: Path | None,
    module: str | None,
    control_table: str | None,
    source: str | None,
    only_failed: bool,
    since: str | None,
    until: str | None,
    full_refresh: bool,
    yes: bool,
    dry_run: bool,
    sampled: int | None,
    parameters: Sequence[str],
    trigger: str,
) -> int:
    """Run the pipelines of FILE, by default pipeline.yaml beside lakeledger.toml.

    The file is checked first. Each source loads what is new and commits it with its position; a failing source does not stop
    its neighbours, only what waits for it. A module without an active source is passed over. Exit 0 if all went well, 3 if some sources
    failed, or a critical expectation did of rows that were loaded all the same, 1 if all sources failed, 2 if there is no active source.

      lakeledger run
      lakeledger run pipelines/shop.yaml --module shop --param day=2026-01-31
      lakeledger run --dry-run
      lakeledger run --sample 100
      lakeledger run --only-failed
      lakeledger run --module shop --source orders --from 2026-01-01T00:00:00Z --to 2026-02-01T00:00:00Z
      lakeledger run --module shop --source orders --full-refresh
      lakeledger run --control control/etl_control --module shop --source orders
    """
    others = {"--only-failed": only_failed, "--from": since, "--to": until, "--full-refresh": full_refresh, "--dry-run": dry_run}
    if sampled is not None and (also := [name for name, value in others.items() if value]):
        raise click.UsageError(f"--sample reads a few rows and loads nothing: use it without {', '.join(also)}")
    values = pairs(parameters, "parameter")
    modules, base = _chosen(options, file, module, control_table, source)
    check_parameters(modules, values)
    if modules and not any(each.is_active for each in modules):
        raise Invalid("\n".join(str(each.why_idle) for each in modules))
    wanted = _wanted(since, until, full_refresh=full_refresh)
    if dry_run:
        return preview.show_preview(options, modules, base, values, wanted)
    if sampled is not None:
        return _sample(options, modules, base, values, sampled)
    if full_refresh and not yes:
        _confirm_refresh(options, modules)
    with show.answering(options.as_json), watch(modules, silent=options.as_json) as progress:
        spark = Interrupter(progress)
        with Ledger(options.settings(), start_spark=spark.start) as ledger, spark.listening():
            how = How(base, trigger, source, values, wanted, only_failed=only_failed, contain=len(modules) > 1)
            outcomes = [_run(ledger, progress, each, how) for each in modules]
    if options.as_json:
        show.print_json({"modules": [outcome.document() for outcome in outcomes]})
    else:
        for outcome in outcomes:
            _show(outcome)
        if not outcomes:
            click.echo("nothing to run: no module is declared")
        show.print_next(options.command(_next(outcomes)))
    return exit_code(outcomes)


def _sample(options: Options, modules: Sequence[Module], base: Path, parameters: Mapping[str, str], rows: int) -> int:
    """Take a sample of each source and show it."""
    with show.answering(options.as_json), watch(modules, silent=options.as_json) as progress:
        spark = Interrupter(progress)
        with Ledger(options.settings(), start_spark=spark.start) as ledger, spark.listening():
            made = [_sample_module(ledger, progress, each, base, parameters, rows) for each in modules if each.is_active]
    sample.show_samples(options, made)
    return _code({step.status for each in made for step in each.steps})


def _sample_module(
    ledger: Ledger, progress: Progress, module: Module, base: Path, parameters: Mapping[str, str], rows: int
) -> ModuleResult:
    return ledger.sample_module(module, base, rows, lambda step: progress.step(module.module_name, step), dict(parameters))


def check_parameters(modules: Sequence[Module], given: Mapping[str, str]) -> None:
    """Raises Invalid for a parameter that is none of those that the modules declare, unless one of them declares none."""
    if not all(module.parameters for module in modules):
        return
    known = sorted({name for module in modules for name in module.parameters})
    for name in given:
        if name not in known:
            raise Invalid(f"there is no parameter {name!r}: the module declares {', '.join(known)}{suggest(name, known)}")


def _wanted(since: str | None, until: str | None, *, full_refresh: bool) -> dict[str, Any]:
    """What loads read, if not what is new, as `run_module` takes it."""
    if (since is None) != (until is None):
        raise click.UsageError("a window has both ends: give --from and --to")
    if since is not None and full_refresh:
        raise click.UsageError("give either --from and --to, or --full-refresh")
    return {"window": (since, until) if since is not None else None, "full_refresh": full_refresh}


def _confirm_refresh(options: Options, modules: Sequence[Module]) -> None:
    """Ask before tables are replaced. Raises Invalid where nobody can answer."""
    tables = ", ".join(sorted({each.target for module in modules for each in module.sources if each.is_active and each.target}))
    if options.as_json or not sys.stdin.isatty():
        raise Invalid(f"a full refresh replaces {tables}: add --yes to confirm")
    click.confirm(f"Read everything again and replace {tables}?", abort=True, err=True)


class Interrupter:
    """Starts Spark and says so, for it takes seconds; and has the run stop when the program is asked to end."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._stopped = False

    def start(self, settings: SparkSettings) -> SparkSession:
        """The session, once it is there."""
        from lakeledger.pipelines.session import open_session

        self._progress.spark_is_starting()
        session = open_session(settings)
        self._progress.spark_has_started()
        if self._stopped:
            raise Failed("interrupted")
        return session

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Have Ctrl-C, and whoever ends the process, end the run, which stops what Spark does for it.

        Spark does not always let go at once. A second Ctrl-C leaves without it; the next run settles what this one was.
        """
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self._stop) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _stop(self, number: int, _: object) -> None:
        if self._stopped:
            self._progress.leave()
            os._exit(INTERRUPTED)
        self._stopped = True
        self._progress.stopping()
        raise KeyboardInterrupt(signal.Signals(number).name)


def exit_code(outcomes: Sequence[Outcome]) -> int:
    """0 if nothing failed, 3 if something did while something else completed, else 1.

    Rows that were loaded although a critical expectation failed are work that was done, and partly failed: 3.
    """
    code = _code({status for outcome in outcomes for status in outcome.statuses()})
    is_doubtful = any(not result.success for outcome in outcomes for _, result in outcome.quality)
    return PARTLY_FAILED if code == DONE and is_doubtful else code


def _code(statuses: Collection[str]) -> int:
    if Status.FAILED not in statuses:
        return DONE
    return PARTLY_FAILED if Status.COMPLETED in statuses else FAILED


def _chosen(
    options: Options, file: Path | None, module: str | None, control_table: str | None, source: str | None
) -> tuple[list[Module], Path]:
    """The modules to run and where their paths begin. Raises Invalid or NotFound, before anything is opened."""
    if source is not None and module is None:
        raise click.UsageError("--source is of a module: give --module, too")
    if control_table is None:
        path = (file or default_file(options)).absolute()
        return [each if source is None else each.alone(source) for each in load_modules(path, module)], path.parent
    if file is not None:
        raise click.UsageError("give either a FILE or --control")
    from lakeledger.cli.control_table import given, module_of, read_table

    settings = options.settings()
    return [module_of(read_table(settings, given(control_table)), module, source)], settings.base


def default_file(options: Options) -> Path:
    """The file that declares pipelines where none is given."""
    settings = options.file or config.find_file(Path.cwd())
    return (settings.parent if settings else Path.cwd()) / PIPELINE_FILE


def load_modules(path: Path, name: str | None) -> list[Module]:
    """The modules to run, checked. Raises Invalid or NotFound, before anything is opened."""
    from lakeledger.control import documents

    modules = documents.load(path).modules
    chosen = [module for module in modules if name in (None, module.module_name)]
    if not chosen and name is not None:
        names = [module.module_name for module in modules]
        raise NotFound(f"no module {name!r} in {path}: it has {', '.join(names) or 'none'}{suggest(name, names)}")
    return chosen


@dataclass(frozen=True)
class How:
    """How modules are run. With `contain`, one that cannot start does not stop the others."""

    base: Path
    trigger: str
    source: str | None
    parameters: Mapping[str, str]
    wanted: Mapping[str, Any]
    only_failed: bool
    contain: bool


def _run(ledger: Ledger, progress: Progress, module: Module, how: How) -> Outcome:
    """Run one module, one source of it, or what did not complete last time, if any of that is active."""
    if module.why_idle:
        return Outcome(module.module_name, passed_over=module.why_idle)
    # The neighbours of a single source may run at the same time, as tasks of the same job.
    pipeline = module.module_name if how.source is None else f"{module.module_name}.{how.source}"
    last = ledger.runs.unfinished(pipeline) if how.only_failed else None
    if last and not last[1]:
        return Outcome(module.module_name, passed_over=f"all sources of {pipeline} completed in its last run {last[0].id}")

    def tell(step: StepResult) -> None:
        progress.step(module.module_name, step)

    progress.expect(module.module_name, ledger.runs.usual_ms(pipeline))
    given = {name: value for name, value in how.parameters.items() if name in module.parameters or not module.parameters}
    chosen: dict[str, Any] = {"only": last[1], "retry_of": last[0].id} if last else {}
    try:
        result = ledger.run_module(module, how.base, how.trigger, tell, given, pipeline=pipeline, **chosen, **how.wanted)
    except LakeledgerError as error:
        if not how.contain:
            raise
        return Outcome(module.module_name, error=error)
    return Outcome(module.module_name, ledger.runs.get(result.run_id), ledger.runs.steps(result.run_id), result)


def _next(outcomes: Sequence[Outcome]) -> str:
    """What to look at: the first run that failed, else the last one."""
    runs = [outcome.run for outcome in outcomes if outcome.run]
    failed = [run for run in runs if run.status == Status.FAILED]
    verb = "logs" if failed else "show"
    return f"runs {verb} {(failed or runs[-1:])[0].id[: show.SHORT_ID]}" if runs else "runs list"


def _show(outcome: Outcome) -> None:
    if outcome.passed_over:
        show.print_warning(f"{outcome.passed_over}; it was passed over")
        return
    if outcome.error or not outcome.run or not outcome.result:
        show.print_title(outcome.module_name)
        show.print_error(str(outcome.error))
        click.echo()
        return
    took = {step.step_name: show.duration(step.duration_ms) for step in outcome.steps if step.status != Status.SKIPPED}
    rows = [
        (
            step.source_id,
            step.target,
            show.status(step.status),
            show.count(step.loaded.rows) if step.loaded else "",
            took.get(step.source_id, ""),
            step.loaded.summary if step.loaded else "",
        )
        for step in outcome.result.steps
    ]
    show.print_title(f"{outcome.module_name}: run {outcome.run.id}, {show.duration(outcome.run.duration_ms)}")
    show.print_table(["~source", "~target", "status", ">rows", ">took", "result"], rows)
    problems = [(show.status(step.status), step.source_id, show.scrubbed(step.error)) for step in outcome.result.steps if step.error]
    problems += [(show.status(found.status), name, show.scrubbed(found.message)) for name, found in outcome.quality if found.failed]
    for step in outcome.result.steps:
        for warning in step.loaded.warnings if step.loaded else ():
            show.print_warning(f"{step.source_id}: {warning}")
    if problems:
        show.print_grid(problems)
