"""`lakeledger runs explain`: a run in words."""

from __future__ import annotations

import click

from lakeledger.cli import show
from lakeledger.cli.options import Options, shared


@click.command()
@click.argument("run_id", metavar="ID")
@shared('{"run_id", "pipeline_id", "status", "why": [sentence], "visible": [version of a table], "next": [what to do]}')
def explain(options: Options, run_id: str) -> None:
    """Why a run ended as it did, what of it is visible, and what to do next. The beginning of the ID is enough.

    lakeledger runs explain 0199b2c4-7e1a
    """
    with options.open() as ledger:
        found = ledger.explain(run_id)
    if options.as_json:
        show.print_json(vars(found))
        return
    click.echo(show.safe(f"Run {found.run_id} of {found.pipeline_id}: {found.status}"))
    for title, lines in {"Why": found.why, "Visible": found.visible, "Next": found.next}.items():
        click.echo(f"\n{title}")
        for line in lines:
            click.echo(show.safe(f"  {line}"))
