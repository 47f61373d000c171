"""`lakeledger control history`, `audit`, `diff` and `restore`: who changed the control table, what, and back again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from lakeledger import codec
from lakeledger.cli import show
from lakeledger.cli.acting import operator
from lakeledger.cli.control_table import CONTROL, next_command, open_table
from lakeledger.cli.options import Options, paged, shared
from lakeledger.redaction import scrub, scrub_value

MAX_VERSION = 2**63 - 1
VERSION = click.IntRange(0, MAX_VERSION)
DIFFERENCES = '"changes": [{"module_name", "source_id", "change", "fields": [{"field", "before", "after"}]}]'


@click.command()
@paged()
@CONTROL
@shared('{"control_table", "commits": [{"table", "version", "at", "by", "operation", "detail"}], "next"}')
def history(options: Options, limit: int, after: str | None, control_table: str | None) -> None:
    """The versions of the control table, newest first: who made them, how and why.

    lakeledger control history --limit 5
    """
    from lakeledger.control import audit as trail

    with open_table(options, control_table) as control:
        commits = trail.commits(control.table, limit, after)
    if options.as_json:
        found = [{**vars(commit), "detail": scrub_value(commit.detail)} for commit in commits]
        show.print_json({"control_table": control.table.location, "commits": found, "next": commits.next})
        return
    rows = [
        (
            show.count(commit.version),
            "" if commit.table in ("", control.table.name) else commit.table,
            commit.operation,
            show.ago(commit.at),
            commit.by or "",
            scrub(commit.reason),
        )
        for commit in commits
    ]
    show.print_table([">version", "table", "operation", "when", "~by", "~reason"], rows)
    show.print_more(commits.next)
    show.print_next(next_command(options, f"control diff {max(commits[0].version - 1, 0)}" if commits else "control list", control_table))


@click.command()
@click.argument("before", type=VERSION, metavar="V1")
@click.argument("after", type=VERSION, metavar="[V2]", required=False)
@CONTROL
@shared(f'{{"from": n, "to": n, {DIFFERENCES}}}')
def diff(options: Options, before: int, after: int | None, control_table: str | None) -> None:
    """What changed between two versions of the control table, by default until now, field by field.

    lakeledger control diff 3 5
    """
    from lakeledger.control.differences import differences

    with open_table(options, control_table) as control:
        one, other = control.table.read(before), control.table.read(after)
    found = list(differences(one, other))
    if options.as_json:
        show.print_json({"from": one.version, "to": other.version, "changes": found})
        return
    print_differences(found)
    show.print_next(next_command(options, f"control restore {before}" if found else "control history", control_table))


@click.command()
@click.argument("version", type=VERSION)
@click.option("--apply", "apply_it", is_flag=True, help="Restore it; without it nothing is touched.")
@CONTROL
@shared(f'{{"applied": …, "from": n, "to": n, {DIFFERENCES}}}')
def restore(options: Options, version: int, apply_it: bool, control_table: str | None) -> None:
    """Let the control table say again what it said at a version, in a new commit. Without --apply only shown.

    lakeledger control restore 3
    lakeledger control restore 3 --apply
    """
    from lakeledger.control.differences import differences

    with open_table(options, control_table) as control:
        now, then = control.table.read(), control.table.read(version)
        found = list(differences(now, then))
        after = control.table.restore(version, operator()) if apply_it else now
    if options.as_json:
        show.print_json({"applied": apply_it, "from": now.version, "to": after.version, "changes": found})
        return
    print_differences(found)
    if not found:
        return
    if apply_it:
        click.echo(f"restored the rows of version {version}: the control table is at version {after.version}")
        show.print_next(next_command(options, "plan", control_table))
    else:
        click.echo(f"{show.plural(len(found), 'row')} would change")
        show.print_next(next_command(options, f"control restore {version} --apply", control_table))


@click.command()
@click.option("--module", metavar="NAME", help="Only what was done to this module.")
@paged()
@CONTROL
@shared('{"control_table", "entries": [{"at", "by", "operation", "version", "reason", "run_id", "changes": […]}], "next"}')
def audit(options: Options, module: str | None, limit: int, after: str | None, control_table: str | None) -> None:
    """Who changed what, newest first: rows of the control table field by field, and what was then done to which job.

    lakeledger control audit --module shop
    """
    from lakeledger.control import audit as trail

    with open_table(options, control_table) as control:
        found = trail.entries(control.table, control.ledger.store, limit, module, after)
    if options.as_json:
        show.print_json({"control_table": control.table.location, "entries": [entry.to_dict() for entry in found], "next": found.next})
        return
    if not found:
        click.echo("nothing was done yet" if module is None else f"nothing was done to {show.safe(module)} yet")
    for entry in found:
        reference = f"run {entry.run_id}" if entry.run_id else f"version {entry.version}"
        told = [show.ago(entry.at), entry.by or "somebody", entry.operation, reference, entry.reason]
        click.echo(show.safe("  ".join(part for part in told if part)))
        for change in entry.changes:
            _print_job_change(change) if "action" in change else _print_difference(change, "  ")
    show.print_more(found.next)


def print_differences(found: list[dict[str, Any]]) -> None:
    """A line per row, and below it a line per field."""
    if not found:
        click.echo("nothing changed")
    for each in found:
        _print_difference(each)


def _print_difference(each: Mapping[str, Any], indent: str = "") -> None:
    name = f"{each['module_name']}.{each['source_id']}" if each["source_id"] is not None else f"settings of {each['module_name']}"
    click.echo(show.safe(f"{indent}{name}: {each['change']}"))
    for field in each["fields"]:
        click.echo(show.safe(f"{indent}  {field['field']}: {_told(field['before'])} → {_told(field['after'])}"))


def _print_job_change(change: Mapping[str, Any]) -> None:
    ended = f"failed: {change['error']}" if change["error"] else f"job {change['job_id']}"
    click.echo(show.safe(f"  {change['module_name']}: {change['action']} {ended}"))
    for words in change["changes"]:
        click.echo(show.safe(f"    {words}"))


def _told(value: Any) -> str:
    return "nothing" if value is None else codec.to_json(value)
