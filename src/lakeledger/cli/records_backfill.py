"""`lakeledger records backfill`: history from before lakeledger, by an inventory of where it lies."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from lakeledger.cli import DONE, PARTLY_FAILED, show
from lakeledger.cli.options import FILE, Options, shared

if TYPE_CHECKING:
    from lakeledger.backfilling import Report


@click.command()
@click.option("--from", "inventory", metavar="FILE", type=FILE, required=True, help="The inventory, a YAML file.")
@click.option("--apply", "apply_it", is_flag=True, help="Do it; otherwise it is a dry run.")
@shared(
    '{"dry_run", "sources": [{"name", "reader", "entries", "problems"}], "kinds": {KIND: {"found", "new", "known", "differ", "invalid", '
    '"stored"}}, "entries", "problems", "problem_count", "quarantined", "baselines": [{"name", "figures", "checked", "mismatches"}], '
    '"without_history"}'
)
def backfill(options: Options, inventory: Path, apply_it: bool) -> int:
    """Bring history from before to the records: progress logs, slice manifests, reports, catalog snapshots, CSV files and queries.

    What is known already is left as it is: to run it again adds only what is new. Exit 3 if some of it could not be used, or does not
    agree with the baselines.

    lakeledger records backfill --from inventory.yaml
    lakeledger records backfill --from inventory.yaml --apply
    """
    with options.open() as ledger:
        report = ledger.backfill.run(inventory, dry_run=not apply_it)
    if options.as_json:
        show.print_json(report.to_dict())
    else:
        _print(options, report, inventory)
    return DONE if report.is_clean else PARTLY_FAILED


def _print(options: Options, report: Report, inventory: Path) -> None:
    show.print_table(
        ["~source", "reader", ">entries", ">unusable"],
        [(each.name, each.reader, show.count(each.entries), show.count(each.problems)) for each in report.sources],
    )
    rows = [
        (kind, *map(show.count, (each.found, each.known, each.differ, each.invalid, each.new if report.dry_run else each.stored)))
        for kind, each in sorted(report.kinds.items())
    ]
    show.print_table(["kind", ">found", ">known", ">known otherwise", ">invalid", ">new" if report.dry_run else ">stored"], rows)
    for checked in report.baselines:
        show.print_text(f"{checked.name}: {checked.checked} of {checked.figures} figures compared, {len(checked.mismatches)} differ")
        for wrong in checked.mismatches:
            show.print_text(f"  {wrong.table} {wrong.period}: {wrong.expected} rows expected, {wrong.found} found", "yellow")
    for each in report.problems:
        show.print_text(f"  {each}", "yellow")
    if report.without_history:
        show.print_text(f"without history: {', '.join(report.without_history)}")
    if report.dry_run and any(each.new for each in report.kinds.values()):
        show.print_next(options.command(f"records backfill --from {inventory} --apply"))
