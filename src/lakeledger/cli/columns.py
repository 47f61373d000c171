"""`lakeledger tables add-column`, `rename-column` and `drop-column`: commits that touch no file."""

from __future__ import annotations

import shlex

import click

from lakeledger.cli import show
from lakeledger.cli.options import Options, shared
from lakeledger.tables import Committed, alter
from lakeledger.tables.schema import column_names

RESULT = '{"table": row of tables, "snapshot": row of table_snapshots}'


@click.command("add-column")
@click.argument("name")
@click.argument("column")
@click.argument("type")
@shared(RESULT)
def add_column(options: Options, name: str, column: str, type: str) -> None:
    """Add a column, NULL in the rows that are there.

    lakeledger tables add-column bronze.orders discount "decimal(10,2)"
    """
    with options.open() as ledger:
        _print(options, ledger.columns.add(name, column, type), f"added {column} {type}")


@click.command("rename-column")
@click.argument("name")
@click.argument("column")
@click.argument("to")
@shared(RESULT)
def rename_column(options: Options, name: str, column: str, to: str) -> None:
    """Give a column another name; earlier versions keep the old one.

    lakeledger tables rename-column bronze.orders amount total
    """
    with options.open() as ledger:
        _print(options, ledger.columns.rename(name, column, to), f"renamed {column} to {to}")


@click.command("drop-column")
@click.argument("name")
@click.argument("column")
@click.option("--apply", is_flag=True, help="Drop it; without it nothing is touched.")
@shared(f'{RESULT}, without "snapshot" unless --apply')
def drop_column(options: Options, name: str, column: str, apply: bool) -> None:
    """Drop a column; earlier versions keep it.

    Without --apply nothing is touched.

    lakeledger tables drop-column bronze.orders amount --apply
    """
    with options.open() as ledger:
        if apply:
            _print(options, ledger.columns.drop(name, column), f"dropped {column}")
            return
        table, metadata = ledger.tables.get(name), ledger.tables.metadata(name)
    left = column_names(alter.drop(column)(table.name, metadata)[0]) if metadata else []
    if options.as_json:
        show.print_json({"table": table})
        return
    click.echo(f"{table.name} would keep {', '.join(left)}; its versions up to {table.current_version} keep {column}")
    show.print_next(options.command(f"tables drop-column {table.name} {shlex.quote(column)} --apply"))


def _print(options: Options, made: Committed, what: str) -> None:
    if options.as_json:
        show.print_json({"table": made.table, "snapshot": made.snapshot})
        return
    click.echo(f"{made.table.name} version {made.version}: {what}")
    show.print_next(options.command(f"tables show {made.table.name}"))
