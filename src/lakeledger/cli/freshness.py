"""`lakeledger freshness`: when tables last got data, and which are late or silent."""

from __future__ import annotations

from datetime import timedelta

import click

from lakeledger.cli import DONE, FAILED, show
from lakeledger.cli.acting import operator
from lakeledger.cli.options import Duration, Options, paged, shared
from lakeledger.quality.freshness import page, span_text

ROW = '{"table", "status", "data_at", "age_seconds", "max_age_seconds", "usual_seconds", "learned_days", "declared_by", "reason"}'


@click.group()
def freshness() -> None:
    """How fresh tables are: list, set how old they may become."""


@freshness.command("list")
@click.option("--status", type=click.Choice(["late", "silent", "learning", "fresh"]), help="Only tables of this status.")
@click.option("--fail-on-late", is_flag=True, help="Exit 1 if a table is late or silent.")
@paged(50)
@shared(f'{{"tables": [{ROW}], "overdue": how many are late or silent, "next"}}')
def list_freshness(options: Options, status: str | None, fail_on_late: bool, limit: int, after: str | None) -> int:
    """When tables last got data, the worst first.

    A table is late if it is older than its SLA, and silent if it has none and waits longer than it usually does. How long that is, is
    learned from the last weeks; nights and weekends without data are no surprise then.

      lakeledger freshness list
      lakeledger freshness list --fail-on-late
    """
    with options.open() as ledger:
        everything = ledger.freshness.list()
    found = page(everything, limit, after, status)
    overdue = sum(each.is_overdue for each in everything)
    code = FAILED if fail_on_late and overdue else DONE
    if options.as_json:
        show.print_json({"tables": found, "overdue": overdue, "next": found.next})
        return code
    if not found:
        click.echo("no table has got data yet" if not everything else f"no table is {status}")
        return code
    rows = [
        (
            each.table,
            show.status(each.status),
            f"{each.data_at:%Y-%m-%d %H:%M} UTC" if each.data_at else "never",
            _span(each.age_seconds),
            _span(each.max_age_seconds),
            _span(each.usual_seconds) or f"learning ({show.plural(each.learned_days, 'day')})",
        )
        for each in found
    ]
    show.print_table(["~table", "status", "last data", ">age", ">SLA", ">usually at most"], rows)
    show.print_more(found.next)
    if overdue:
        show.print_next(options.command(f"bands show {everything[0].table}"))
    return code


@freshness.command("set")
@click.argument("table")
@click.argument("age", type=Duration(), metavar="AGE")
@click.option("--reason", required=True, metavar="TEXT", help="Why; it is kept with who.")
@shared(f'{{"freshness": {ROW}}}')
def set_freshness(options: Options, table: str, age: timedelta, reason: str) -> None:
    """Say how old the last data of a TABLE may become: 90m, 26h, 8d.

    What a document declares as `freshness` of its target counts again with the next load.

      lakeledger freshness set silver.orders 26h --reason "the report is at six"
    """
    _set(options, table, age, reason)


@freshness.command("unset")
@click.argument("table")
@click.option("--reason", required=True, metavar="TEXT", help="Why.")
@shared(f'{{"freshness": {ROW}}}')
def unset_freshness(options: Options, table: str, reason: str) -> None:
    """Have it learned again how long a TABLE waits for data.

    lakeledger freshness unset silver.orders --reason "it is loaded by hand now"
    """
    _set(options, table, None, reason)


def _set(options: Options, table: str, age: timedelta | None, reason: str) -> None:
    with options.open() as ledger:
        found = ledger.freshness.set(table, age, reason, operator())
    if options.as_json:
        show.print_json({"freshness": found})
        return
    click.echo(show.safe(f"{found.status}: {found.message}"))
    show.print_next(options.command("freshness list"))


def _span(seconds: float | None) -> str:
    return "" if seconds is None else span_text(seconds)
