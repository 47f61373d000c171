"""`lakeledger runs`: what ran."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import click

from lakeledger import Ledger
from lakeledger.cli import show
from lakeledger.cli.acting import operator
from lakeledger.cli.options import Duration, Options, paged, shared
from lakeledger.cli.runs_explain import explain
from lakeledger.errors import Invalid, NotFound
from lakeledger.runs import Run, Status, Step, StepOutput, Transition
from lakeledger.runs.recovery import answer_time


@click.group()
def runs() -> None:
    """What ran: list, show and explain runs, what they printed, cancel one, end those of lost workers."""


@runs.command("list")
@click.option("--pipeline", metavar="NAME", help="Only the runs of this pipeline.")
@click.option("--status", type=click.Choice(list(Status.__members__), case_sensitive=False), help="Only runs in this state.")
@paged()
@shared('{"runs": [row of pipeline_runs], "next"}')
def list_runs(options: Options, pipeline: str | None, status: str | None, limit: int, after: str | None) -> None:
    """Runs, newest first.

    lakeledger runs list --pipeline shop --status failed
    """
    with options.open() as ledger:
        found = ledger.runs.list(pipeline, status, limit, after)
    if options.as_json:
        show.print_json({"runs": found, "next": found.next})
        return
    if not found:
        click.echo("no runs")
        show.print_next(options.command("run"))
        return
    print_runs(found)
    show.print_more(found.next)
    show.print_next(options.command(f"runs show {show.short_ids([run.id for run in found])[0]}"))


def print_runs(found: Sequence[Run]) -> None:
    """A line per run."""
    ids = show.short_ids([run.id for run in found])
    rows = [
        (
            short,
            run.pipeline_id,
            show.status(run.status),
            show.count(run.records_processed),
            show.duration(run.duration_ms),
            show.ago(run.start_time),
            run.error_message or "",
        )
        for short, run in zip(ids, found, strict=True)
    ]
    show.print_table(["run", "~pipeline", "status", ">rows", ">took", "started", "~error"], rows)


@runs.command("show")
@click.argument("run_id", metavar="ID")
@paged(200)
@shared('{"run": row of pipeline_runs, "steps": [row of step_logs], "transitions": [row of state_transitions], "next"}')
def show_run(options: Options, run_id: str, limit: int, after: str | None) -> None:
    """A run, its steps and every change of state. The beginning of the ID is enough.

    lakeledger runs show 0199b2c4-7e1a
    """
    with options.open() as ledger:
        run = ledger.runs.get(run_id)
        steps = ledger.runs.steps(run.id, limit, after)
        transitions = _transitions(ledger, run, steps)
        tables = {step.target_table for step in steps if step.target_table and ledger.tables.find(step.target_table)}
    if options.as_json:
        show.print_json({"run": run, "steps": steps, "transitions": transitions, "next": steps.next})
        return
    show.print_facts(_facts(run))
    if steps:
        show.print_table(
            ["#", "~step", "type", "~target", "status", ">rows", ">size", ">took", ">USD", "+detail"], [_step_row(step) for step in steps]
        )
    names = {run.id: "run", **{step.id: step.step_name for step in steps}}
    show.print_table(["~changes", "state", "at", "~reason"], [_transition_row(each, names) for each in transitions])
    show.print_more(steps.next)
    show.print_next(options.command(f"tables show {min(tables)}" if tables else "runs list"))


@runs.command()
@click.argument("run_id", metavar="ID")
@click.option("--step", metavar="NAME", help="Only this step.")
@paged(100)
@shared('{"run_id", "steps": [{"step_name", "attempt", "status", "error_message", "output", "left_out", "traceback"}], "next"}')
def logs(options: Options, run_id: str, step: str | None, limit: int, after: str | None) -> None:
    """What the tasks of a run printed and logged, and where they failed. The beginning of the ID is enough.

    Kept are the first 16 kB and the last 48 kB of a task, without secrets, for as long as the run.

      lakeledger runs logs 0199b2c4-7e1a --step orders
    """
    with options.open() as ledger:
        run = ledger.runs.get(run_id)
        page = ledger.runs.steps(run.id, limit if step is None else None, after)
        steps = [each for each in page if step in (None, each.step_name)]
        output = ledger.runs.output(run.id, steps) if steps else {}
    if step is not None and not steps:
        raise NotFound(f"run {run.id} has no step {step!r}: `lakeledger runs show {run.id[: show.SHORT_ID]}` lists them")
    if options.as_json:
        show.print_json({"run_id": run.id, "steps": [_log(each, output.get(each.id)) for each in steps], "next": page.next})
        return
    for each in steps:
        show.print_title(f"{each.step_name}: attempt {each.attempt}, {each.status}")
        kept = output.get(each.id)
        parts = [kept and kept.output.rstrip("\n"), (kept and kept.traceback) or each.error_message]
        show.print_text("\n\n".join(part for part in parts if part) or "nothing was printed")
        click.echo("\n")
    if not steps:
        click.echo("the run has no steps")
    show.print_more(page.next)


def _log(step: Step, kept: StepOutput | None) -> dict[str, Any]:
    return {
        "step_name": step.step_name,
        "attempt": step.attempt,
        "status": step.status,
        "error_message": step.error_message,
        "output": kept.output if kept else "",
        "left_out": kept.left_out if kept else 0,
        "traceback": kept.traceback if kept else None,
    }


@runs.command()
@click.argument("run_id", metavar="ID")
@click.option("--reason", metavar="TEXT", required=True, help="Why, for the run log.")
@shared('{"run": row of pipeline_runs}')
def cancel(options: Options, run_id: str, reason: str) -> None:
    """Stop a run, wherever it is at work. The beginning of the ID is enough.

    From now on its commits are refused; its process notices within seconds, stops what Spark does for it and ends. What it has
    committed stays visible.

      lakeledger runs cancel 0199b2c4-7e1a --reason "wrong day"
    """
    if not reason.strip():
        raise Invalid("--reason is empty: say why the run is cancelled, for the run log")
    with options.open() as ledger:
        ended = ledger.runs.cancel(run_id, reason.strip(), by=operator())
    if options.as_json:
        show.print_json({"run": ended})
        return
    commits = show.plural(ended.commit_count, "commit")
    click.echo(show.safe(f"run {ended.id} of {ended.pipeline_id} on {ended.worker_instance} is cancelled after {commits}"))
    show.print_next(options.command(f"runs show {ended.id[: show.SHORT_ID]}"))


@runs.command()
@click.option("--max-age", type=Duration(), help="Also end runs that are older, even if their worker lives: 24h.")
@shared('{"runs": [row of pipeline_runs], "silent": [row of pipeline_runs]}')
def recover(options: Options, max_age: timedelta | None) -> None:
    """End the runs of lost workers, each by what it committed.

    A run is lost when its lease ran out or its process is gone. It ends COMPLETED if the ledger proves that its
    work is done (every load committed, every other task ended), FAILED otherwise.

      lakeledger runs recover
    """
    with options.open() as ledger:
        ended, silent = ledger.runs.recover(max_age), ledger.runs.silent()
        verdicts = [ledger.runs.transitions(run.id)[-1].reason or "" for run in ended]
    if options.as_json:
        show.print_json({"runs": ended, "silent": silent})
        return
    for run in silent:
        until = answer_time(run)
        click.echo(
            show.safe(f"run {run.id} of {run.pipeline_id} is silent: its worker may answer until {show.moment(until)}; try again then")
        )
    if not ended:
        click.echo("no run is lost" if not silent else "no run was ended")
        return
    ids = show.short_ids([run.id for run in ended])
    rows = [
        (short, run.pipeline_id, show.status(run.status), show.ago(run.start_time), verdict)
        for short, run, verdict in zip(ids, ended, verdicts, strict=True)
    ]
    show.print_table(["run", "~pipeline", "status", "started", "+verdict"], rows)
    show.print_next(options.command("tables sweep" if any(run.status == Status.FAILED for run in ended) else f"runs show {ids[0]}"))


runs.add_command(explain)


def _transitions(ledger: Ledger, run: Run, steps: list[Step]) -> list[Transition]:
    found = [each for entity in (run.id, *(step.id for step in steps)) for each in ledger.runs.transitions(entity)]
    return sorted(found, key=lambda each: each.transition_id)


def _facts(run: Run) -> dict[str, show.Cell | None]:
    moved = {"inserted": run.records_inserted, "updated": run.records_updated, "deleted": run.records_deleted, "failed": run.records_failed}
    parts = ", ".join(f"{show.count(number)} {word}" for word, number in moved.items() if number)
    rows = f"{show.count(run.records_processed)}{f' ({parts})' if parts else ''}, {show.size(run.bytes_processed)}"
    return {
        "run": run.id,
        "pipeline": run.pipeline_id,
        "status": show.status(run.status),
        "started": show.moment(run.start_time),
        "ended": show.moment(run.end_time),
        "took": show.duration(run.duration_ms) or None,
        "trigger": f"{run.trigger_type}, by {run.trigger_by}",
        "worker": run.worker_instance,
        "lease until": show.moment(run.lease_expires_at),
        "rows": rows,
        "commits": show.count(run.commit_count),
        "retry of": run.retry_of,
        "part of": run.parent_run_id,
        "parameters": ", ".join(f"{key}={value}" for key, value in run.parameters.items()) or None,
        "error": run.error_message,
    }


def _step_row(step: Step) -> tuple[show.Cell, ...]:
    version, cost = step.metadata.get("version"), step.metadata.get("query_cost_usd")
    told = [f"version {version}"] if version else []
    detail = step.error_message or step.metadata.get("reason") or "; ".join([*told, *step.metadata.get("warnings", ())])
    return (
        str(step.step_index + 1),
        step.step_name,
        step.step_type,
        step.target_table or "",
        show.status(step.status),
        show.count(step.rows_processed),
        show.size(step.bytes_processed) if step.bytes_processed else "",
        show.duration(step.duration_ms) if step.status != Status.SKIPPED else "",
        "" if cost is None else f"{cost:.4f}",
        str(detail),
    )


def _transition_row(each: Transition, names: dict[str, str]) -> tuple[show.Cell, ...]:
    change = f"{each.from_status or 'new'} → {each.to_status}"
    return names[each.entity_id], change, f"{each.at:%Y-%m-%d %H:%M:%S}", each.reason or ""
