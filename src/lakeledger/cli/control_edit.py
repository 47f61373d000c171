"""`lakeledger control sql`, `activate`, `deactivate` and `set`: changes of the control table by hand, each one commit."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from lakeledger.cli import show
from lakeledger.cli.acting import operator
from lakeledger.cli.control_table import CONTROL, next_command, open_table, pairs, sources_of
from lakeledger.cli.options import Options, shared
from lakeledger.cli.reading import read_text
from lakeledger.config import suggest
from lakeledger.errors import Invalid, NotFound
from lakeledger.redaction import scrub

if TYPE_CHECKING:
    from lakeledger.control.model import ModuleRow, Snapshot
    from lakeledger.control.sql import SqlResult

NUMBERS = ("timeout_seconds", "max_concurrent_runs")
CHANGED = '{"version": n, "changed": [[module, source]]}'


@click.command()
@CONTROL
@shared('{"control_table", "version": n, "created": …}')
def create(options: Options, control_table: str | None) -> None:
    """Make an empty control table, to be filled with `control sql` or from Spark. Does nothing if it is there.

    lakeledger control create
    """
    with open_table(options, control_table, must_exist=False) as control:
        was_there = control.table.exists()
        control.table.create()
        version = control.table.read().version
    if options.as_json:
        show.print_json({"control_table": control.table.location, "version": version, "created": not was_there})
        return
    click.echo(show.scrubbed(f"{control.table.location} {'is there already' if was_there else 'is made'}: version {version}"))
    show.print_next(next_command(options, "control load pipeline.yaml", control_table))


@click.command(context_settings={"ignore_unknown_options": True})  # a statement may begin with a comment: -- …
@click.argument("statement")
@CONTROL
@shared('{"kind", "version", "columns": […], "rows": [[…]], "is_cut", "inserted", "updated", "deleted"}')
def sql(options: Options, statement: str, control_table: str | None) -> None:
    """Run one SELECT, INSERT, UPDATE or DELETE on the control table, its `_modules` or, to read, its `_jobs`; `-` reads stdin.

    A write is checked and is one commit.

      lakeledger control sql "SELECT source_id, is_active FROM etl_control WHERE module_name = 'shop'"
      lakeledger control sql "UPDATE etl_control SET is_active = false WHERE source_id = 'orders'"
    """
    from lakeledger.control import sql as control_sql
    from lakeledger.control.deployment import job_rows

    text = read_text("-") if statement == "-" else statement
    with open_table(options, control_table) as control:
        done = control_sql.run(control.table, text, operator(), jobs=job_rows(control.jobs().values()))
    rows = [[scrub(value) if isinstance(value, str) else value for value in row] for row in done.rows]
    if options.as_json:
        counts = {"inserted": done.inserted, "updated": done.updated, "deleted": done.deleted}
        head = {"kind": done.kind, "version": done.snapshot.version, "columns": done.columns}
        show.print_json({**head, "rows": rows, "is_cut": done.is_cut, **counts})
        return
    _print_result(done, rows)


@click.command()
@click.argument("module")
@click.argument("source", required=False)
@CONTROL
@shared(CHANGED)
def activate(options: Options, module: str, source: str | None, control_table: str | None) -> None:
    """Switch a source on, or all of a module.

    lakeledger control activate shop orders
    """
    _switch(options, module, source, control_table, on=True)


@click.command()
@click.argument("module")
@click.argument("source", required=False)
@CONTROL
@shared(CHANGED)
def deactivate(options: Options, module: str, source: str | None, control_table: str | None) -> None:
    """Switch a source off, or all of a module; its job is paused by the next `apply`.

    lakeledger control deactivate shop
    """
    _switch(options, module, source, control_table, on=False)


@click.command("set")
@click.argument("module")
@click.argument("settings", nargs=-1, required=True, metavar="NAME=VALUE…")
@CONTROL
@shared('{"version": n, "module": row of the modules table, "changed": …}')
def set_settings(options: Options, module: str, settings: Sequence[str], control_table: str | None) -> None:
    """Change the settings of a module: description, schedule, trigger, parameters, tags, notifications, timeout_seconds,
    max_concurrent_runs.

    A schedule is a cron expression or JSON, one part of a setting is named with a dot, and nothing after `=` takes it away.

      lakeledger control set shop schedule="0 5 * * *" schedule.timezone_id=Europe/Berlin
      lakeledger control set shop timeout_seconds=3600 tags.team=finance description=
    """
    from lakeledger.control.differences import row_document
    from lakeledger.control.model import Edit, ModuleRow

    given = pairs(settings, "setting")
    with open_table(options, control_table) as control:
        before = control.table.read()
        sources_of(before, module)
        row = _changed(before.modules.get(module, ModuleRow(module)), given)
        _refuse_wrong(before, row)
        after = control.table.commit(Edit(modules={module: row}), before, operator(), f"set {', '.join(given)} of {module}")
    if options.as_json:
        found = row_document(after.modules.get(module, row))
        show.print_json({"version": after.version, "module": found, "changed": after.version != before.version})
        return
    if after.version == before.version:
        click.echo(f"{module} has these settings already")
        return
    click.echo(f"{module} changed: the control table is at version {after.version}")
    show.print_next(next_command(options, f"plan --module {shlex.quote(module)}", control_table))


def _switch(options: Options, module: str, source: str | None, control_table: str | None, *, on: bool) -> None:
    from lakeledger.control.model import Edit

    word = "activate" if on else "deactivate"
    with open_table(options, control_table) as control:
        before = control.table.read()
        rows = sources_of(before, module)
        known = [row.source_id for row in rows]
        if source is not None and source not in known:
            raise NotFound(f"no source {source!r} in module {module}: it has {', '.join(known)}{suggest(source, known)}")
        chosen = [row for row in rows if source in (None, row.source_id) and row.is_active != on]
        edit = Edit({row.key: replace(row, is_active=on) for row in chosen})
        name = module if source is None else f"{module}.{source}"
        after = control.table.commit(edit, before, operator(), f"{word} {name}") if edit else before
    if options.as_json:
        show.print_json({"version": after.version, "changed": [list(row.key) for row in chosen]})
        return
    state = "on" if on else "off"
    if not chosen:
        click.echo(f"{name} is {state} already")
        return
    click.echo(f"{show.plural(len(chosen), 'source')} switched {state}: the control table is at version {after.version}")
    show.print_next(next_command(options, f"plan --module {shlex.quote(module)}", control_table))


def _changed(row: ModuleRow, given: dict[str, str]) -> ModuleRow:
    """The row with the settings as given. Raises Invalid."""
    from lakeledger.control.rows import MODULE_CONFIGS

    names = ["description", *MODULE_CONFIGS, *NUMBERS]
    changes: dict[str, Any] = {}
    for key, value in given.items():
        name, dot, inside = key.partition(".")
        if name not in names or (dot and (name not in MODULE_CONFIGS or not inside)):
            raise Invalid(f"a module has no setting {key!r}: it has {', '.join(names)}{suggest(name, names)}")
        if dot:
            changes[name] = _with_part(name, changes.get(name, getattr(row, name)), inside, value)
        else:
            changes[name] = _value(name, value)
    return replace(row, **changes)


def _value(name: str, text: str) -> Any:
    if not text.strip():
        return None
    if name == "description":
        return text
    if name in NUMBERS:
        try:
            return int(text)
        except ValueError as error:
            raise Invalid(f"{name} must be a whole number, not {text!r}") from error
    if name == "schedule" and not text.lstrip().startswith("{"):
        return json.dumps({"cron" if len(text.split()) == 5 else "quartz_cron_expression": text.strip()})
    return json.dumps(_object(name, text))


def _with_part(name: str, before: str | None, inside: str, text: str) -> str | None:
    """A setting with one of its parts changed. A text that reads as JSON is what it says, where it is no text."""
    said = _object(name, before or "{}")
    if text:
        said[inside] = _part(text)
    else:
        said.pop(inside, None)
    return json.dumps(said) if said else None


def _part(text: str) -> Any:
    if not text.startswith(("{", "[")):
        return text
    try:
        return json.loads(text)
    except ValueError as error:
        raise Invalid(f"{text!r} is no JSON: {error}") from error


def _object(name: str, text: str) -> dict[str, Any]:
    from lakeledger.control import json_text

    try:
        return json_text.read_object(text)
    except (ValueError, TypeError) as error:
        raise Invalid(f"{name}: {error}") from error


def _refuse_wrong(snapshot: Snapshot, row: ModuleRow) -> None:
    """Raises Invalid with what is wrong with the settings; what is wrong with sources is not theirs."""
    from lakeledger.control import rows

    found = rows.modules_of(replace(snapshot, modules={**snapshot.modules, row.module_name: row})).bad.get(row.module_name, [])
    settings = ("description", *rows.MODULE_CONFIGS, *NUMBERS)
    if told := [str(problem) for problem in found if problem.source_id is None and problem.field.partition(".")[0] in settings]:
        raise Invalid("\n".join(told))


def _print_result(done: SqlResult, rows: Sequence[Sequence[Any]]) -> None:
    if done.kind != "SELECT":
        counts = {"inserted": done.inserted, "updated": done.updated, "deleted": done.deleted}
        told = ", ".join(f"{show.plural(number, 'row')} {verb}" for verb, number in counts.items() if number) or "nothing changed"
        click.echo(f"{told}: the control table is at version {done.snapshot.version}")
        return
    if not rows:
        click.echo("no rows")
        return
    show.print_table(
        [f"~{name}" for name in done.columns], [["" if value is None else str(value) for value in row] for row in rows], keep_empty=True
    )
    hidden = sum(shown != value for line, row in zip(rows, done.rows, strict=True) for shown, value in zip(line, row, strict=True))
    told = f"; what is secret in {show.plural(hidden, 'value')} is hidden as ***" if hidden else ""
    click.echo(show.plural(len(rows), "row") + (", and there are more" if done.is_cut else "") + told)
