"""`lakeledger tables verify` and `sweep`: does storage hold what the registry says, and what did crashes leave there?"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import click

from lakeledger.cli import FAILED, PARTLY_FAILED, show
from lakeledger.cli.options import Duration, Options, shared

if TYPE_CHECKING:
    from lakeledger.maintenance.repair import Defect


@click.command()
@click.argument("name", required=False)
@click.option("--all", "every", is_flag=True, help="Every table.")
@click.option("--quick", is_flag=True, help="Compare names and sizes only; do not read the files.")
@click.option("--repair", is_flag=True, help="Say what puts right what is wrong; with --apply, do it.")
@click.option("--apply", is_flag=True, help="Repair what can be repaired; without it nothing is touched.")
@shared(
    '{"verifications": [{"table", "ok", "checked", "findings": [{"problem", "path", "detail", "repair", '
    '"repaired": null if nothing here can}]}]}'
)
def verify(options: Options, name: str | None, every: bool, quick: bool, repair: bool, apply: bool) -> int:
    """Compare the registry with storage, and with what other engines see.

    Names each file that is missing, changed or unknown, and what is published and is not what the registry says; exits with 1 if there is
    one. With --repair --apply it repairs what can be repaired: files of crashed runs go, figures are counted anew, tables are published
    anew. Rows that are lost are named, never invented; exits with 3 if only some could be repaired.

      lakeledger tables verify bronze.orders
      lakeledger tables verify --all --quick
      lakeledger tables verify bronze.orders --repair --apply
    """
    if (name is None) != every:
        raise click.UsageError("give either a table's NAME or --all")
    if apply and not repair:
        raise click.UsageError("--apply repairs: give --repair as well")
    with options.open() as ledger:
        names = [name] if name else [str(table.name) for table in ledger.tables.list()]
        done = [ledger.repair.verify(each, deep=not quick, apply=apply) for each in names]
    some = any(item.repaired for each in done for item in each.defects)
    code = 0 if all(each.ok for each in done) else PARTLY_FAILED if some else FAILED
    if options.as_json:
        found = [{"table": str(each.table.name), "ok": each.ok, "checked": each.checked, "findings": each.defects} for each in done]
        show.print_json({"verifications": found})
        return code
    rows = [
        (show.status("ok" if each.ok else "fail"), str(each.table.name), show.count(each.checked), show.count(len(each.defects)))
        for each in done
    ]
    show.print_table(["", "~table", ">files", ">findings"], rows) if rows else click.echo("no tables yet")
    for each in (each for each in done if each.defects):
        show.print_title(f"{each.table.name} in {each.table.location}")
        heads = ["problem", "+file", "+detail", *(["+repair", "repaired"] if repair else [])]
        show.print_table(heads, [_finding(item, repair=repair) for item in each.defects])
    if any(item.repaired is not None for each in done for item in each.defects) and not apply:
        show.print_next(options.command(f"tables verify {name or '--all'} --repair{' --apply' if repair else ''}"))
    elif code == 0:
        show.print_next(options.command("tables list"))
    return code


def _finding(item: Defect, *, repair: bool) -> tuple[str, ...]:
    told = {None: "", True: "yes", False: "with --apply"}[item.repaired]
    return (item.problem, item.path, item.detail, *((item.repair, told) if repair else ()))


@click.command()
@click.option("--grace", type=Duration(), default="1h", show_default=True, help="Leave files that are younger: 30m, 2h, 0.")
@click.option("--delete", is_flag=True, help="Delete what is listed; without it nothing is touched.")
@shared('{"deleted": …, "grace_seconds": n, "leftovers": [{"table", "path", "size"}]}')
def sweep(options: Options, grace: timedelta, delete: bool) -> None:
    """List, or delete, what crashed writes left behind.

    Without --delete nothing is touched. Only files of runs that can no longer commit, known to no version of any table, are ever listed.

      lakeledger tables sweep --grace 30m
      lakeledger tables sweep --delete
    """
    with options.open() as ledger:
        swept = ledger.tables.sweep(grace, delete=delete)
    if options.as_json:
        show.print_json({"deleted": swept.deleted, "grace_seconds": int(grace.total_seconds()), "leftovers": swept.leftovers})
        return
    if not swept.leftovers:
        click.echo("nothing is left over")
        return
    rows = [(item.table, show.size(item.size), item.path) for item in swept.leftovers]
    show.print_table(["table", ">size", "+file"], rows)
    total = f"{show.plural(len(rows), 'file')}, {show.size(sum(item.size for item in swept.leftovers))}"
    if swept.deleted:
        click.echo(f"deleted {total}")
        show.print_next(options.command("tables verify --all"))
    else:
        click.echo(f"{total} would be deleted")
        show.print_next(options.command(f"tables sweep --delete{_grace_option(grace)}"))


def _grace_option(grace: timedelta) -> str:
    return "" if grace == timedelta(hours=1) else f" --grace {int(grace.total_seconds())}s"
