"""`lakeledger records collect`: what tables and sources look like, asked and kept."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lakeledger.cli import DONE, FAILED, PARTLY_FAILED, show
from lakeledger.cli.options import FILE, Options, shared

if TYPE_CHECKING:
    from lakeledger.records.producing import ProducerResult


@click.command()
@click.argument("tables", nargs=-1)
@click.option("--file", "-f", metavar="FILE", type=FILE, help="The JDBC sources that this YAML file declares, instead of ledger tables.")
@click.option("--spark", "schema", metavar="SCHEMA", help="The tables of this schema of a Spark catalog: sales, or catalog.sales.")
@shared('{"results": [{"target", "outcome", "kinds", "stored", "message"}]}')
def collect(options: Options, tables: Sequence[str], file: Path | None, schema: str | None) -> int:
    """Look at TABLES of the ledger, by default all, and keep their schema, what changed in it, and statistics.

    A schema that is no news is not kept again. Exit 3 if some could not be looked at, 1 if none could.

    lakeledger records collect silver.orders
    lakeledger records collect --file pipeline.yaml
    lakeledger records collect --spark sales
    """
    if sum(map(bool, (tables, file, schema))) > 1:
        raise click.UsageError("give tables of the ledger, or --file, or --spark: one of them")
    with options.open() as ledger:
        if file:
            from lakeledger.control import documents

            results = ledger.collectors.collect_modules(documents.load(file).modules)
        elif schema:
            catalog, dot, name = schema.rpartition(".")
            results = ledger.collectors.collect_spark(name, catalog) if dot else ledger.collectors.collect_spark(name)
        else:
            results = ledger.collectors.collect(*tables)
    _print(options, results)
    failed = sum(each.outcome.is_failure for each in results)
    return DONE if not failed else FAILED if failed == len(results) else PARTLY_FAILED


def _print(options: Options, results: Sequence[ProducerResult]) -> None:
    if options.as_json:
        told = [
            {
                "target": each.target.name,
                "outcome": each.outcome.value,
                "kinds": list(each.kinds),
                "stored": each.emitted.stored,
                "message": each.message,
            }
            for each in results
        ]
        show.print_json({"results": told})
        return
    if not results:
        click.echo("there is nothing to look at")
        return
    rows = [(each.target.name, each.outcome.value, ", ".join(each.kinds), each.message or "") for each in results]
    show.print_table(["~target", "outcome", "~kinds", "~message"], rows)
