"""`lakeledger changes`: what changed, in the order of commits."""

from __future__ import annotations

from typing import Any

import click

from lakeledger.cli import show
from lakeledger.cli.options import Options, paged, shared
from lakeledger.redaction import scrub_value


@click.group()
def changes() -> None:
    """What changed, in the order of commits: runs, tables, their files."""


@changes.command("list")
@click.option("--table", metavar="NAME", help="Only changes of this table of the ledger, such as pipeline_runs or table_files.")
@paged(100)
@shared('{"changes": [{"seq", "tenant_id", "table_name", "operation", "key", "before", "after", "at"}], "next"}')
def list_changes(options: Options, table: str | None, limit: int, after: str | None) -> None:
    """Changes of the registry and of runs, oldest first: every row of the change log, or those behind a number.

    lakeledger changes list --table tables
    lakeledger changes list --after 4711
    """
    with options.open() as ledger:
        found = ledger.changes.after(after or 0, table, limit)
    if options.as_json:
        show.print_json({"changes": found, "next": found.next})
        return
    if not found:
        click.echo("nothing changed")
        return
    rows = [
        (str(change.seq), show.ago(change.at), change.operation, change.table_name, change.key, told(change.after or change.before or {}))
        for change in found
    ]
    show.print_table([">change", "when", "operation", "table", "~row", "~says"], rows)
    show.print_more(found.next)


def told(facts: dict[str, Any]) -> str:
    """The facts that have a value, without secrets."""
    known = {name: value for name, value in scrub_value(facts).items() if value not in (None, "", {}, [])}
    return ", ".join(f"{name}={value}" for name, value in known.items())
