"""`lakeledger mirror`: the lake's own tables, in which runs, steps, quality results and keys are queried by any engine."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from lakeledger.cli import DONE, FAILED, PARTLY_FAILED, show
from lakeledger.cli.options import Options, shared
from lakeledger.cli.ticker import ticking
from lakeledger.errors import Invalid

if TYPE_CHECKING:
    from lakeledger.maintenance.mirror import Recreated, Refreshed

REFRESHED = '{"table", "rows", "versions", "is_new", "seconds", "problem"}'


@click.group()
def mirror() -> None:
    """The lake's own tables: how far they are; refresh and recreate them."""


@mirror.command("status")
@shared('{"enabled": …, "tables": [{"name", "table", "declared_in", "rows", "version", "refreshed_at", "waiting", "problem"}]}')
def status(options: Options) -> int:
    """How far the lake's own tables have followed the ledger.

    Exits with 1 if one of them cannot be refreshed, and says why.

      lakeledger mirror status
    """
    with options.open() as ledger:
        enabled, found = ledger.mirror.is_enabled, ledger.mirror.status()
    wrong = [each for each in found if each.problem]
    if options.as_json:
        show.print_json({"enabled": enabled, "tables": [each.document() for each in found]})
        return FAILED if wrong else DONE
    rows = [
        (
            each.table,
            show.count(each.rows) if each.version else "not made yet",
            show.ago(each.refreshed_at),
            "all rows" if each.waiting is None else show.count(each.waiting or None),
            each.declared_in,
        )
        for each in found
    ]
    show.print_table(["~table", ">rows", "refreshed", ">waiting", "~columns from"], rows)
    if not enabled:
        click.echo("mirror.enabled is false: they are refreshed only by hand")
    for each in wrong:
        show.print_error(str(each.problem))
    show.print_next(options.command("mirror refresh"))
    return FAILED if wrong else DONE


@mirror.command("refresh")
@click.argument("names", nargs=-1, metavar="[TABLE]...")
@click.option("--full", is_flag=True, help="Read every row of the ledger again, not only what has changed.")
@click.option("--reason", metavar="TEXT", help="Why, for whoever looks at the run later.")
@shared(f'{{"tables": [{REFRESHED}]}}')
def refresh(options: Options, names: tuple[str, ...], full: bool, reason: str | None) -> int:
    """Bring the lake's own tables to what the ledger has now; no Spark is started.

    A table that is not there is made, and one whose file declares more columns gets them. Rows that retention has deleted from the ledger
    stay. Exits with 3 if some of the tables could not be refreshed.

      lakeledger mirror refresh
      lakeledger mirror refresh pipeline_runs --full
    """
    with options.open() as ledger, ticking("copying", silent=options.as_json) as tick:
        done = ledger.mirror.refresh(names, full=full, reason=reason, progress=tick)
    if options.as_json:
        show.print_json({"tables": [each.document() for each in done]})
        return _code(done)
    rows = [(each.table, show.count(each.rows), show.duration(each.seconds * 1000), "made" if each.is_new else "") for each in done]
    show.print_table(["~table", ">rows copied", ">took", ""], rows)
    _print_problems(done)
    show.print_next(options.command(f"tables read-with duckdb {done[0].table}"))
    return _code(done)


@mirror.command("recreate")
@click.argument("name", metavar="TABLE")
@click.option("--as", "as_", metavar="NAME", help="Begin a new table of this name beside the old one, which stays as it is.")
@click.option("--apply", is_flag=True, help="Do it; without it nothing is touched.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--reason", metavar="TEXT", help="Why, for whoever looks at the run later.")
@shared(f'{{"applied": …, "table", "rows", "kept_in", "tag", "refreshed": {REFRESHED} or null}}')
def recreate(options: Options, name: str, as_: str | None, apply: bool, yes: bool, reason: str | None) -> int:
    """Make one of the lake's own tables anew, with the columns that its file declares now.

    Its rows come from the ledger again. Those that only the lake has, because retention has deleted them from the ledger, are in the
    backup: the version before gets a tag, under which it is kept and read. With --as the old table is left as it is. Without --apply
    nothing is touched.

      lakeledger mirror recreate pipeline_runs --apply
      lakeledger mirror recreate pipeline_runs --as pipeline_runs_v2 --apply
    """
    with options.open() as ledger:
        planned = ledger.mirror.recreate(name, as_=as_)
        if apply and not yes and as_ is None and planned.kept_in:
            _confirm(options, planned)
        done = ledger.mirror.recreate(name, as_=as_, apply=True, reason=reason) if apply else planned
    if options.as_json:
        show.print_json({"applied": apply, **done.document()})
    else:
        _print_recreated(done, applied=apply)
        again = " ".join(["mirror recreate", name, *(["--as", as_] if as_ else []), "--apply"])
        show.print_next(options.command("mirror status" if apply else again))
    return _code([done.refreshed]) if done.refreshed else DONE


def _confirm(options: Options, planned: Recreated) -> None:
    """Ask before a table is made anew. Raises Invalid where nobody can answer."""
    what = f"make {planned.table} anew; its {show.plural(planned.rows, 'row')} stay under the tag {planned.tag}"
    if options.as_json or not sys.stdin.isatty():
        raise Invalid(f"this would {what}: add --yes to confirm")
    click.confirm(f"{what[0].upper()}{what[1:]}. Go on?", abort=True, err=True)


def _print_recreated(done: Recreated, *, applied: bool) -> None:
    made = f"{done.table} {'is' if applied else 'would be'} made from what the ledger has"
    copied = f": {show.plural(done.refreshed.rows, 'row')} copied" if done.refreshed else ""
    click.echo(f"{made}{copied}")
    if done.kept_in:
        where = f"{done.kept_in} under the tag {done.tag}" if done.tag else done.kept_in
        click.echo(f"the {show.plural(done.rows, 'row')} so far {'are' if applied else 'would be'} kept in {where}")
    if done.refreshed:
        _print_problems([done.refreshed])


def _print_problems(done: Sequence[Refreshed]) -> None:
    for each in done:
        if each.problem:
            show.print_error(f"{each.table}: {each.problem}")


def _code(done: Sequence[Refreshed]) -> int:
    wrong = [each for each in done if each.problem]
    return DONE if not wrong else FAILED if len(wrong) == len(done) else PARTLY_FAILED
