"""`lakeledger lineage`: where the rows of a table came from, and what was made of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from lakeledger.cli import show
from lakeledger.cli.options import Options, shared

if TYPE_CHECKING:
    from lakeledger.insights.lineage import Edge

EDGE = '{"table", "version", "operation", "run_id", "pipeline", "committed_at", "inputs": [{"name", "version", "is_table"}], "depth"}'
EDGES = f'{{"edges": [{EDGE}]}}'
DEPTH = click.option("--depth", type=click.IntRange(1, 100), default=10, show_default=True, help="How far.")


@click.group()
def lineage() -> None:
    """Where rows came from, and what was made of them."""


@lineage.command()
@click.argument("table")
@click.option("--version", metavar="N", help="Of this version, a number or a tag; by default the current one.")
@DEPTH
@shared(EDGES)
def up(options: Options, table: str, version: str | None, depth: int) -> None:
    """Which runs and inputs made a version of TABLE, and what made those.

    lakeledger lineage up gold.revenue --version 7
    """
    number = int(version) if version is not None and version.isdigit() else version
    with options.open() as ledger:
        found = ledger.insights.lineage_up(table, number, depth=depth)
    _print(options, found, f"nothing is known of what made {table}")


@lineage.command()
@click.argument("table")
@click.option("--version", metavar="N", type=click.IntRange(1), help="Of this version; by default of any.")
@DEPTH
@shared(EDGES)
def down(options: Options, table: str, version: int | None, depth: int) -> None:
    """Which versions of which tables were made of TABLE, and what was made of those.

    lakeledger lineage down silver.orders
    """
    with options.open() as ledger:
        found = ledger.insights.lineage_down(table, version, depth=depth)
    _print(options, found, f"no table is made of {table}")


def _print(options: Options, found: Sequence[Edge], nothing: str) -> None:
    if options.as_json:
        show.print_json({"edges": [asdict(each) for each in found]})
        return
    if not found:
        click.echo(show.safe(nothing))
        return
    rows = [
        (
            f"{'  ' * each.depth}{each.table}",
            "" if each.version is None else str(each.version),
            each.operation or "",
            (each.run_id or "")[:13],
            each.pipeline or "",
            show.ago(each.committed_at) if each.committed_at else "",
            ", ".join(f"{name.name}{f' v{name.version}' if name.version is not None else ''}" for name in each.inputs),
        )
        for each in found
    ]
    show.print_table(["~table", ">version", "operation", "run", "~pipeline", "when", "~made of"], rows)
