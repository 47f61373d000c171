"""`lakeledger control list` and `show`: the modules of the control table, their sources, problems and jobs."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from lakeledger.cli import show
from lakeledger.cli.control_table import CONTROL, module_names, next_command, open_table, sources_of
from lakeledger.cli.options import Options, shared
from lakeledger.redaction import scrub

if TYPE_CHECKING:
    from lakeledger.control.documents import Module
    from lakeledger.control.model import Snapshot, SourceRow
    from lakeledger.control.rows import Modules
    from lakeledger.jobs.tracking import TrackedJob

STARTERS = ("schedule", "trigger")


@click.command("list")
@click.option("--module", "only", metavar="NAME", multiple=True, help="Only this module; may be repeated.")
@CONTROL
@shared('{"control_table", "version", "modules": [{"module_name", "is_active", "sources", "active_sources", "starts", "problems", …}]}')
def list_modules(options: Options, only: Sequence[str], control_table: str | None) -> None:
    """Every module: how many sources it has, what starts it, whether it can run, and its job.

    lakeledger control list
    """
    from lakeledger.control import rows

    with open_table(options, control_table) as control:
        snapshot, jobs = control.table.read(), control.jobs()
    for name in only:
        sources_of(snapshot, name)
    found = rows.modules_of(snapshot)
    names = [name for name in module_names(snapshot) if not only or name in only]
    lines = [_line(name, snapshot, found, jobs.get(name)) for name in names]
    if options.as_json:
        show.print_json({"control_table": control.table.location, "version": snapshot.version, "modules": lines})
        return
    if not lines:
        click.echo("no modules yet")
        show.print_next(next_command(options, "control load pipeline.yaml", control_table))
        return
    show.print_table(
        ["~module", ">sources", "", "starts", "~job"],
        [(line["module_name"], _sources(line), _state(line), line["starts"], _job_words(line)) for line in lines],
        title=f"{control.table.name} version {snapshot.version}",
    )
    show.print_next(next_command(options, f"control show {shlex.quote(names[0])}", control_table))


@click.command("show")
@click.argument("module")
@CONTROL
@shared('{"version", "module": row of modules or null, "sources": [row], "levels": [[source_id]], "problems", "job": row of jobs}')
def show_module(options: Options, module: str, control_table: str | None) -> None:
    """One module: settings, sources, which wait for which, problems, job.

    lakeledger control show shop
    """
    from lakeledger.control import rows
    from lakeledger.control.differences import row_document

    with open_table(options, control_table) as control:
        snapshot, jobs = control.table.read(), control.jobs()
    sources = sources_of(snapshot, module)
    settings, job = snapshot.modules.get(module), jobs.get(module)
    found = rows.modules_of(snapshot)
    problems = found.bad.get(module, [])
    levels = _levels(found.good[module]) if module in found.good else []
    if options.as_json:
        show.print_json(
            {
                "version": snapshot.version,
                "module": settings and row_document(settings),
                "sources": [row_document(row) for row in sources],
                "levels": levels,
                "problems": [{**vars(problem), "message": scrub(problem.message)} for problem in problems],
                "job": job and {name: value for name, value in vars(job).items() if name not in ("settings", "tenant_id")},
            }
        )
        return
    show.print_facts(_facts(module, row_document(settings) if settings else {}, job))
    if sources:
        show.print_table(["~source", "type", ">order", "active", "~target", "~after"], _source_rows(sources, found, module))
    for problem in problems:
        show.print_error(str(problem))
    show.print_next(next_command(options, "control validate" if problems else f"plan --module {shlex.quote(module)}", control_table))


def _levels(module: Module) -> list[list[str]]:
    """The active sources in the order in which they can run: each after all that it waits for."""
    from lakeledger.control import graph

    depths: dict[str, int] = {}
    levels: dict[int, list[str]] = {}
    for task in graph.tasks(module):
        depths[task.key] = max((depths[key] + 1 for key in task.waits_for), default=0)
        levels.setdefault(depths[task.key], []).append(task.source.source_id)
    return [levels[depth] for depth in sorted(levels)]


def _line(name: str, snapshot: Snapshot, found: Modules, job: TrackedJob | None) -> dict[str, Any]:
    from lakeledger.control.differences import row_document

    sources = [row for row in snapshot.sources.values() if row.module_name == name]
    settings = snapshot.modules.get(name)
    return {
        "module_name": name,
        "is_active": any(row.is_active for row in sources),
        "sources": len(sources),
        "active_sources": sum(row.is_active for row in sources),
        "starts": _starts(row_document(settings) if settings else {}),
        "problems": [scrub(str(problem)) for problem in found.bad.get(name, [])],
        "job_id": job and job.job_id,
        "job_state": job and job.state,
    }


def _starts(settings: Mapping[str, Any]) -> str:
    """What starts a module by itself, in a few words."""
    told = []
    for part in (settings.get(name) for name in STARTERS):
        if not isinstance(part, dict):
            continue
        match part:
            case {"quartz_cron_expression": str(cron)} | {"cron": str(cron)}:
                words = f"{cron} {part.get('timezone_id', 'UTC')}"
            case {"file_arrival": {"url": url}}:
                words = f"files in {url}"
            case {"table_update": {"table_names": list(names)}}:
                words = f"changes of {', '.join(map(str, names))}"
            case _:
                words = "unreadable"
        told.append(f"{words} (paused)" if part.get("pause_status") == "PAUSED" else words)
    return "; ".join(told)


def _sources(line: Mapping[str, Any]) -> str:
    active, every = line["active_sources"], line["sources"]
    return show.count(every) if active == every else f"{active} of {every}"


def _state(line: Mapping[str, Any]) -> show.Cell:
    if line["problems"]:
        return show.status("fail")
    return show.status("ok") if line["is_active"] else "off" if line["sources"] else "no sources"


def _job_words(line: Mapping[str, Any]) -> str:
    return "" if line["job_id"] is None else line["job_id"] if line["job_state"] == "active" else f"{line['job_id']} ({line['job_state']})"


def _facts(module: str, settings: Mapping[str, Any], job: TrackedJob | None) -> dict[str, show.Cell | None]:
    from lakeledger import codec

    texts = {
        name: codec.to_json(value)
        for name, value in settings.items()
        if name in ("parameters", "tags", "notifications") and value is not None
    }
    return {
        "module": module,
        "description": settings.get("description"),
        "starts": _starts(settings) or None,
        **texts,
        **{name: str(settings[name]) for name in ("timeout_seconds", "max_concurrent_runs") if settings.get(name) is not None},
        "changed": show.moment(settings.get("updated_timestamp")),
        "job": f"{job.job_id} on {job.backend}, {job.state}, applied at version {job.control_version}" if job else None,
    }


def _source_rows(sources: Sequence[SourceRow], found: Modules, module: str) -> list[tuple[show.Cell, ...]]:
    from lakeledger.control import graph

    good = found.good.get(module)
    tasks = {task.source.source_id: task for task in graph.tasks(good)} if good else {}
    named = {task.key: task.source.source_id for task in tasks.values()}
    targets = {source.source_id: source.target for source in good.sources} if good else {}
    return [
        (
            row.source_id,
            row.source_type,
            show.count(row.execution_order),
            "yes" if row.is_active else "no",
            targets.get(row.source_id, ""),
            ", ".join(named[key] for key in tasks[row.source_id].waits_for) if row.source_id in tasks else "",
        )
        for row in sources
    ]
