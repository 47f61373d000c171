"""`lakeledger tables publish` and `read-with`: what other engines see of tables, and how they read them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from lakeledger.cli import FAILED, PARTLY_FAILED, show
from lakeledger.cli.options import Options, shared
from lakeledger.config import METADATA, PUBLISHED_FORMATS, check_formats
from lakeledger.errors import Conflict, Invalid

if TYPE_CHECKING:
    from lakeledger.ledger import Ledger

AS_CONFIGURED = "default"
# These read Delta alone; pyiceberg reads Iceberg alone, and the others both.
BY_DELTA = ("databricks", "deltalake")
ENGINES = (*BY_DELTA, "duckdb", "polars", "pyiceberg", "spark")


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--all", "every", is_flag=True, help="Every table.")
@click.option(
    "--metadata",
    type=click.Choice([*METADATA, AS_CONFIGURED]),
    help="From now on: with each commit, soon after it, never, or as the settings say.",
)
@click.option("--formats", metavar="LIST", help="From now on as iceberg, delta or iceberg,delta; default is as the settings say.")
@shared(
    '{"published": [{"table", "formats", row of table_publications, "delta": row of delta_publications}], '
    '"problems": [{"table", "format", "problem"}]}'
)
def publish(options: Options, names: tuple[str, ...], every: bool, metadata: str | None, formats: str | None) -> int:
    """Let other engines see tables as they are now, as Iceberg, as Delta or as both.

    A table that a format has no place for stays as it is, and says why.

      lakeledger tables publish bronze.orders
      lakeledger tables publish bronze.orders --formats iceberg,delta
      lakeledger tables publish bronze.orders --metadata sync
      lakeledger tables publish --all
    """
    if bool(names) == every:
        raise click.UsageError("give either the NAME of a table, or several, or --all")
    wanted = None if formats in (None, AS_CONFIGURED) else check_formats(each.strip() for each in str(formats).split(","))
    published: list[dict[str, Any]] = []
    problems: list[dict[str, str]] = []
    with options.open() as ledger:
        for name in names or [str(table.name) for table in ledger.tables.list()]:
            if formats is not None:
                ledger.publisher.set_formats(name, wanted)
            if metadata:
                ledger.publisher.set_mode(name, None if metadata == AS_CONFIGURED else metadata)
            failed = [] if metadata == "off" else _publish(ledger, name)
            problems += failed
            if len(failed) < len(ledger.publisher.formats(name)):
                published.append(_shown(ledger, name))
    code = 0 if not problems else PARTLY_FAILED if published else FAILED
    if options.as_json:
        show.print_json({"published": published, "problems": problems})
        return code
    _print(published)
    for problem in problems:
        show.print_warning(f"{problem['table']}, as {problem['format']}: {problem['problem']}")
    if published:
        chosen = "duckdb" if "iceberg" in published[0]["formats"] else "deltalake"
        show.print_next(options.command(f"tables read-with {chosen} {published[0]['table']}"))
    return code


def _publish(ledger: Ledger, name: str) -> list[dict[str, str]]:
    """Publish a table in each of its formats; what is not published, and why."""
    problems = []
    for format_ in ledger.publisher.formats(name):
        try:
            ledger.delta.publish(name) if format_ == "delta" else ledger.publisher.publish(name)
        except (Invalid, Conflict) as error:
            problems.append({"table": name, "format": format_, "problem": str(error)})
    return problems


def _shown(ledger: Ledger, name: str) -> dict[str, Any]:
    table, found, delta = ledger.tables.get(name), ledger.tables.publication(name), ledger.tables.delta(name)
    row = vars(found) if found else {"version": 0, "mode": None, "metadata_location": None}
    formats = ledger.publisher.formats(name)
    return {"table": str(table.name), **row, "formats": formats, "delta": delta, "location": table.location}


def _print(published: list[dict[str, Any]]) -> None:
    rows: list[tuple[show.Cell, ...]] = []
    for row in published:
        name, mode = row["table"], row["mode"] or AS_CONFIGURED
        if "iceberg" in row["formats"]:
            rows.append((name, "iceberg", show.count(row["version"]), mode, row["metadata_location"] or ""))
        if "delta" in row["formats"]:
            rows.append((name, "delta", show.count(row["delta"].version if row["delta"] else 0), mode, row["location"]))
    show.print_table(["~table", "format", ">version", "metadata", "+read it at"], rows) if rows else click.echo("nothing was published")


@click.command("read-with")
@click.argument("engine", type=click.Choice(ENGINES))
@click.argument("name")
@click.option("--fresh", is_flag=True, help="First publish the table if other engines do not see its newest version yet.")
@click.option("--format", "format_", type=click.Choice(PUBLISHED_FORMATS), help="As what the table is read, where the engine knows both.")
@shared('{"engine", "table", "code"}')
def read_with(options: Options, engine: str, name: str, fresh: bool, format_: str | None) -> None:
    """Code to paste that reads a published table with another engine.

    lakeledger tables read-with duckdb bronze.orders
    lakeledger tables read-with polars bronze.orders --fresh
    lakeledger tables read-with spark bronze.orders --format delta
    """
    with options.open() as ledger:
        formats = ledger.publisher.formats(name)
        chosen = format_ or ("delta" if engine in BY_DELTA or "iceberg" not in formats else "iceberg")
        if fresh and chosen in formats:
            ledger.delta.publish(name) if chosen == "delta" else ledger.snapshots.fresh(name)
        read = ledger.delta.read_with if chosen == "delta" else ledger.publisher.read_with
        table, code = ledger.tables.get(name), read(engine, name)
    if options.as_json:
        show.print_json({"engine": engine, "table": str(table.name), "code": code})
        return
    click.echo(code)
