"""`lakeledger db`: the ledger's database and its migrations."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import click

from lakeledger import db as databases
from lakeledger.cli import show
from lakeledger.cli.options import Options, migrations, require_database, shared
from lakeledger.db import Database
from lakeledger.db.migrate import migrate as bring_up_to_date


@click.group()
def db() -> None:
    """The ledger's database: migrate it, show its migrations, follow a warehouse that was moved."""


@db.command()
@shared('{"url": …, "applied": [{"version", "name"}]}')
def migrate(options: Options) -> None:
    """Bring the database to this release; an empty one becomes a ledger.

    lakeledger db migrate --url postgresql://etl@db.example/ledger
    """
    with _opened(options) as database:
        applied = [{"version": migration.version, "name": migration.name} for migration in bring_up_to_date(database)]
    if options.as_json:
        show.print_json({"url": database.url, "applied": applied})
        return
    for migration in applied:
        click.echo(f"applied {migration['version']:04d}_{migration['name']}")
    click.echo(f"{database.url} is up to date")
    show.print_next(options.command("db status"))


@db.command()
@shared('{"url": …, "pending": n, "migrations": [{"version", "name", "applied_at"}]}')
def status(options: Options) -> None:
    """Every migration, applied or pending. Changes nothing.

    lakeledger db status
    """
    require_database(options.settings())
    with _opened(options) as database:
        steps = migrations(database)
    pending = sum(step.applied_at is None for step in steps)
    if options.as_json:
        show.print_json({"url": database.url, "pending": pending, "migrations": steps})
        return
    click.echo(f"{database.url}\n")
    rows = [(f"{step.version:04d}", step.name, show.moment(step.applied_at) or "pending") for step in steps]
    show.print_table(["version", "name", "applied"], rows)
    show.print_next(options.command("db migrate" if pending else "tables list"))


@db.command("move-warehouse")
@click.argument("location")
@click.option("--apply", "apply_it", is_flag=True, help="Do it; without this nothing is changed.")
@shared('{"before": …, "after": …, "missing": [table], "applied": …}')
def move_warehouse(options: Options, location: str, *, apply_it: bool) -> None:
    """Tell the ledger where the files of its tables were moved to. Moves no file itself.

    lakeledger db move-warehouse s3://lake/warehouse --apply
    """
    with replace(options, warehouse=location).open() as ledger:
        move = ledger.move_warehouse(apply=apply_it)
    if options.as_json:
        show.print_json(vars(move))
        return
    click.echo(f"{move.before or 'no warehouse'} → {move.after}")
    for name in move.missing:
        show.print_warning(f"the newest file of {name} is not there")
    if not move.applied:
        click.echo("a dry run; --apply does it")
    show.print_next(replace(options, warehouse=location).command("tables list"))


@contextmanager
def _opened(options: Options) -> Iterator[Database]:
    database = databases.open(options.settings().database_url)
    try:
        yield database
    finally:
        database.close()
