"""`lakeledger changes` and `lakeledger records`: what changed, in the order of commits, and what is known."""

from __future__ import annotations

from typing import Any

import click

from lakeledger.cli import show
from lakeledger.cli.options import Options, moment_of, paged, shared
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
        (str(change.seq), show.ago(change.at), change.operation, change.table_name, change.key, _told(change.after or change.before or {}))
        for change in found
    ]
    show.print_table([">change", "when", "operation", "table", "~row", "~says"], rows)
    show.print_more(found.next)


@click.group()
def records() -> None:
    """What is known: facts about tables, written by whoever learned them."""


@records.command("list")
@click.argument("kind")
@click.option("--table", metavar="NAME", help="Only facts about this table: orders or silver.orders.")
@click.option("--since", metavar="TIME", help="Only facts of this time or later: 2026-01-31T00:00:00Z, or 7d for the last seven days.")
@click.option("--until", metavar="TIME", help="Only facts of before this time.")
@paged()
@shared(
    '{"records": [{"record_id", "target", "context", "kind", "payload", "produced_at", "producer_id", '
    '"version", "quality", "extras"}], "next"}'
)
def list_records(
    options: Options, kind: str, table: str | None, since: str | None, until: str | None, limit: int, after: str | None
) -> None:
    """Facts of one KIND, newest first.

    lakeledger records list ingestion_volume --table silver.orders
    lakeledger records list dq_result --since 7d
    lakeledger records list recon_result --since 2026-01-01T00:00:00Z --until 2026-02-01T00:00:00Z
    """
    times = {"since": moment_of(since), "until": moment_of(until)}
    with options.open() as ledger:
        found = ledger.records.history(table, kind, limit=limit, after=after, **times)
    if options.as_json:
        show.print_json({"records": found, "next": found.next})
        return
    if not found:
        click.echo(show.safe(f"no records of the kind {kind}"))
        return
    rows = [
        (
            ".".join(part for part in (record.target.schema, record.target.table) if part) or record.target.source_id,
            show.ago(record.produced_at),
            record.producer_id,
            _told(record.payload),
        )
        for record in found
    ]
    show.print_table(["~about", "when", "~by", "~says"], rows)
    show.print_more(found.next)


def _told(facts: dict[str, Any]) -> str:
    """The facts that have a value, without secrets."""
    known = {name: value for name, value in scrub_value(facts).items() if value not in (None, "", {}, [])}
    return ", ".join(f"{name}={value}" for name, value in known.items())
