"""`lakeledger tables register`: a table that somebody else has written, taken in where it is."""

from __future__ import annotations

import click

from lakeledger.cli import show
from lakeledger.cli.options import Options, shared


@click.command()
@click.argument("name")
@click.option("--parquet", metavar="FOLDER", help="A folder of Parquet files.")
@click.option("--delta", metavar="FOLDER", help="A Delta table.")
@click.option("--iceberg", metavar="FILE", help="An Iceberg table, by its current metadata file (….metadata.json).")
@shared(
    '{"applied": …, "table": row of tables, "snapshot": row of table_snapshots, "kind": …, "location": …, "files": n, "rows": n, '
    '"bytes": n, "notes": […]}; "applied" is false if it was registered before'
)
def register(options: Options, name: str, parquet: str | None, delta: str | None, iceberg: str | None) -> None:
    """Make a table of files that are there already, without copying them.

    The table stays where it is, and what the ledger writes to it is put beside its files. Files that were there before are never deleted.
    What needs the engine that wrote it (deletion vectors, delete files, columns that are only in the names of folders) is refused.

      lakeledger tables register silver.orders --delta /lake/orders
      lakeledger tables register silver.customers --iceberg /lake/customers/metadata/00012-….metadata.json
    """
    if sum(each is not None for each in (parquet, delta, iceberg)) != 1:
        raise click.UsageError("give one of --parquet, --delta and --iceberg")
    with options.open() as ledger:
        made = ledger.adoption.register(name, parquet=parquet, delta=delta, iceberg=iceberg)
    told = {"kind": made.kind, "location": made.location, "files": made.files, "rows": made.rows, "bytes": made.bytes}
    if options.as_json:
        document = {"applied": made.applied, "table": made.table.table, "snapshot": made.table.snapshot, **told, "notes": made.notes}
        show.print_json(document)
        return
    show.print_facts(
        {
            "table": str(made.table.table.name),
            "was": made.kind,
            "location": made.location,
            "rows": show.count(made.rows),
            "size": f"{show.size(made.bytes)} in {show.plural(made.files, 'file')}",
            "version": show.count(made.table.version),
        }
    )
    for note in made.notes:
        click.echo(f"note: {note}")
    if not made.applied:
        click.echo("it was registered before: nothing was changed")
    show.print_next(options.command(f"tables show {made.table.table.name}"))
