"""`lakeledger tables publish` and `read-with`: what other engines see of tables, and how they read them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from lakeledger.cli import FAILED, PARTLY_FAILED, show
from lakeledger.cli.options import Options, shared
from lakeledger.config import METADATA
from lakeledger.errors import Invalid

if TYPE_CHECKING:
    from lakeledger.ledger import Ledger

AS_CONFIGURED = "default"


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--all", "every", is_flag=True, help="Every table.")
@click.option(
    "--metadata",
    type=click.Choice([*METADATA, AS_CONFIGURED]),
    help="From now on: with each commit, soon after it, never, or as the settings say.",
)
@shared('{"published": [{"table", row of table_publications}], "problems": [{"table", "problem"}]}')
def publish(options: Options, names: tuple[str, ...], every: bool, metadata: str | None) -> int:
    """Let other engines see tables as they are now, as Iceberg.

    A table that Iceberg has no place for stays as it is, and says why.

      lakeledger tables publish bronze.orders
      lakeledger tables publish bronze.orders --metadata sync
      lakeledger tables publish --all
    """
    if bool(names) == every:
        raise click.UsageError("give either the NAME of a table, or several, or --all")
    published: list[dict[str, Any]] = []
    problems: list[dict[str, str]] = []
    with options.open() as ledger:
        for name in names or [str(table.name) for table in ledger.tables.list()]:
            try:
                published.append(_publish(ledger, name, metadata))
            except Invalid as error:
                problems.append({"table": name, "problem": str(error)})
    code = 0 if not problems else PARTLY_FAILED if published else FAILED
    if options.as_json:
        show.print_json({"published": published, "problems": problems})
        return code
    rows = [(row["table"], show.count(row["version"]), row["mode"] or AS_CONFIGURED, row["metadata_location"] or "") for row in published]
    show.print_table(["~table", ">version", "metadata", "+read it at"], rows) if rows else click.echo("nothing was published")
    for problem in problems:
        show.print_warning(f"{problem['table']}: {problem['problem']}")
    if published:
        show.print_next(options.command(f"tables read-with duckdb {published[0]['table']}"))
    return code


def _publish(ledger: Ledger, name: str, metadata: str | None) -> dict[str, Any]:
    if metadata:
        ledger.publisher.set_mode(name, None if metadata == AS_CONFIGURED else metadata)
    found = ledger.tables.publication(name) if metadata == "off" else ledger.publisher.publish(name)
    return {"table": str(ledger.tables.get(name).name), **(vars(found) if found else {})}


@click.command("read-with")
@click.argument("engine", type=click.Choice(["duckdb", "polars", "pyiceberg", "spark"]))
@click.argument("name")
@click.option("--fresh", is_flag=True, help="First publish the table if other engines do not see its newest version yet.")
@shared('{"engine", "table", "code"}')
def read_with(options: Options, engine: str, name: str, fresh: bool) -> None:
    """Code to paste that reads a published table with another engine.

    lakeledger tables read-with duckdb bronze.orders
    lakeledger tables read-with polars bronze.orders --fresh
    """
    with options.open() as ledger:
        if fresh:
            ledger.snapshots.fresh(name)
        table, code = ledger.tables.get(name), ledger.publisher.read_with(engine, name)
    if options.as_json:
        show.print_json({"engine": engine, "table": str(table.name), "code": code})
        return
    click.echo(code)
