"""`lakeledger control history`, `diff` and `restore`: who changed the control table, what, and back again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import click

from lakeledger import codec
from lakeledger.cli import show
from lakeledger.cli.acting import operator
from lakeledger.cli.control_table import CONTROL, next_command, open_table, row_document
from lakeledger.cli.options import Options, shared
from lakeledger.redaction import scrub, scrub_value

if TYPE_CHECKING:
    from lakeledger.control.model import ModuleRow, Snapshot, SourceRow

MAX_VERSION = 2**63 - 1
VERSION = click.IntRange(0, MAX_VERSION)
DIFFERENCES = '"changes": [{"module_name", "source_id", "change", "fields": [{"field", "before", "after"}]}]'

_NOT_COMPARED = ("module_name", "source_id", "created_timestamp", "updated_timestamp")


@click.command()
@click.option("--limit", type=click.IntRange(1, 10_000), default=20, show_default=True, help="How many.")
@CONTROL
@shared('{"control_table", "commits": [{"table", "version", "at", "by", "operation", "detail"}]}')
def history(options: Options, limit: int, control_table: str | None) -> None:
    """The versions of the control table, newest first: who made them, how and why.

    lakeledger control history --limit 5
    """
    with open_table(options, control_table) as control:
        commits = control.table.history(limit)
    if options.as_json:
        found = [{**vars(commit), "detail": scrub_value(commit.detail)} for commit in commits]
        show.print_json({"control_table": control.table.location, "commits": found})
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
        click.echo(f"restored what version {version} said: the control table is at version {after.version}")
        show.print_next(next_command(options, "plan", control_table))
    else:
        click.echo(f"{show.plural(len(found), 'row')} would change")
        show.print_next(next_command(options, f"control restore {version} --apply", control_table))


def differences(before: Snapshot, after: Snapshot) -> Iterator[dict[str, Any]]:
    """What is not the same, row by row and field by field, without secrets."""
    from lakeledger.control import changes

    for change in changes.between(before, after).changed_sources:
        yield {**change.to_dict(), "fields": _fields(change.before, change.after) if change.before and change.after else []}
    for name in sorted({*before.modules, *after.modules}):
        one, other = before.modules.get(name), after.modules.get(name)
        if (one and one.content_hash) != (other and other.content_hash):
            kind = "new" if one is None else "deleted" if other is None else "updated"
            yield {"change": kind, "module_name": name, "source_id": None, "fields": _fields(one, other) if one and other else []}


def print_differences(found: list[dict[str, Any]]) -> None:
    """A line per row, and below it a line per field."""
    if not found:
        click.echo("nothing changed")
    for each in found:
        name = f"{each['module_name']}.{each['source_id']}" if each["source_id"] is not None else f"settings of {each['module_name']}"
        click.echo(show.safe(f"{name}: {each['change']}"))
        for field in each["fields"]:
            click.echo(show.safe(f"  {field['field']}: {_told(field['before'])} → {_told(field['after'])}"))


def _fields(before: SourceRow | ModuleRow, after: SourceRow | ModuleRow) -> list[dict[str, Any]]:
    one, other = _flat(before), _flat(after)
    names = [name for name in {**one, **other} if one.get(name) != other.get(name)]
    return [{"field": name, "before": one.get(name), "after": other.get(name)} for name in names]


def _flat(row: SourceRow | ModuleRow) -> dict[str, Any]:
    """Every field of a row, those inside a JSON text by their path."""
    document = {name: value for name, value in row_document(row).items() if name not in _NOT_COMPARED and value is not None}
    return dict(_inside("", document))


def _inside(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if not isinstance(value, Mapping):
        yield name, value
        return
    for key, inner in value.items():
        yield from _inside(f"{name}.{key}" if name else str(key), inner)


def _told(value: Any) -> str:
    return "nothing" if value is None else codec.to_json(value)
