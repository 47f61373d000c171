"""`lakeledger maintain`: expire, remove, sweep and check, for one table or for all."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from lakeledger.cli import DONE, FAILED, PARTLY_FAILED, show
from lakeledger.cli.options import Options, shared
from lakeledger.cli.ticker import ticking

if TYPE_CHECKING:
    from lakeledger.maintenance.model import Amount, Care, Report

CARE = (
    '{"applied": …, "run_id", "tables": [{"table", "expired": [[first, last]], "dropped": [[first, last]], "marked": {"files", "bytes"}, '
    '"waiting", "removed", "orphans", "metadata": as marked, "checksums": n, "problems": […]}]}'
)


@click.command()
@click.argument("names", nargs=-1, metavar="[TABLE]...")
@click.option("--apply", is_flag=True, help="Do it; without it nothing is touched.")
@click.option("--reason", metavar="TEXT", help="Why, for whoever looks at the run later.")
@shared(CARE)
def maintain(options: Options, names: tuple[str, ...], apply: bool, reason: str | None) -> int:
    """Keep tables tidy: versions, files, metadata, checksums.

    Lets versions expire that the policy does not keep (`lakeledger snapshots policy`), removes the files that no version needs any more,
    sweeps what crashed writes left, in data and in metadata, and fills in checksums. A file is marked first and removed after the grace
    time, by a later call. Without --apply nothing is touched. Exits with 3 if something could not be done for some of the tables.

      lakeledger maintain
      lakeledger maintain bronze.orders --apply
    """
    with options.open() as ledger, ticking("maintaining", silent=options.as_json or not apply) as tick:
        report = ledger.maintenance.maintain(names, apply=apply, reason=reason, progress=tick)
    if options.as_json:
        show.print_json({"applied": report.applied, "run_id": report.run_id, "tables": [each.document() for each in report.tables]})
        return code_of(report)
    busy = [each for each in report.tables if each.has_done or each.waiting.files]
    if busy:
        heads = ["~table", ">expired", ">marked", ">waiting", ">removed", ">orphans", ">metadata", ">checksums"]
        show.print_table(heads, [_row(each) for each in busy])
    removed = sum((each.removed.bytes + each.orphans.bytes + each.metadata.bytes) for each in report.tables)
    count = show.plural(len(report.tables), "table")
    click.echo(f"{count} {f'maintained, {show.size(removed)} freed' if apply else f'looked at, {show.size(removed)} would be freed'}")
    print_problems(report)
    if not apply and any(each.has_done for each in report.tables):
        show.print_next(options.command(" ".join(["maintain", *names, "--apply"])))
    elif report.run_id:
        show.print_next(options.command(f"runs show {report.run_id[: show.SHORT_ID]}"))
    return code_of(report)


def code_of(report: Report) -> int:
    """3 if something could not be done for some of the tables, 1 if for all."""
    wrong = [each for each in report.tables if each.problems]
    return DONE if not wrong else FAILED if len(wrong) == len(report.tables) else PARTLY_FAILED


def print_problems(report: Report) -> None:
    """What could not be done, a line each, on stderr."""
    for each in report.tables:
        for problem in each.problems:
            show.print_error(f"{each.table}: {problem}")


def _row(each: Care) -> tuple[str, ...]:
    return (
        each.table,
        show.count(len(each.expired) or None),
        *(_amount(part) for part in (each.marked, each.waiting, each.removed, each.orphans, each.metadata)),
        show.count(each.checksums or None),
    )


def _amount(part: Amount) -> str:
    return f"{show.plural(part.files, 'file')}, {show.size(part.bytes)}" if part.files else ""
