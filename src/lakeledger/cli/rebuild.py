"""`lakeledger rebuild`: a ledger made anew from what its warehouse has published."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from lakeledger.cli import DONE, FAILED, PARTLY_FAILED, show
from lakeledger.cli.options import Options, shared

if TYPE_CHECKING:
    from lakeledger.rebuilding.model import Position, Rebuilt, Report, Tenant

REPORT = (
    '{"warehouse", "applied": …, "tenants": [{"tenant", "was_there", "tables": [{"table", "version", "versions", "expired", "files", '
    '"rows", "is_moved"}], "positions": [{"source", "marker_type", "kind", "position", "version", "files"}], '
    '"lost": [{"what", "detail", "fix"}]}], "problems": [{"path", "reason"}]}'
)


@click.command()
@click.option("--from", "place", metavar="WAREHOUSE", required=True, help="The warehouse of the lost ledger: a folder or a URL.")
@click.option("--apply", is_flag=True, help="Make the ledger; without it nothing is touched.")
@shared(REPORT)
def rebuild(options: Options, place: str, apply: bool) -> int:
    """Make a lost ledger anew from its warehouse.

    Reads the Iceberg metadata that was published beside the data, and makes tables, versions, files, schemas, tags and positions from it:
    the next run loads what is new, nothing twice. The ledger must be empty, or not be there yet. Lists what does not come back. Without
    --apply nothing is touched; with it, every tenant is one transaction, and what was killed is called again. Exits with 3 if some metadata
    could not be used.

      lakeledger rebuild --from /data/warehouse
      lakeledger rebuild --from s3://lake/warehouse --url postgresql://etl@db.example/ledger --apply
    """
    from lakeledger.rebuilding import rebuild as make_anew

    here = replace(options, warehouse=place)
    report = make_anew(here.settings(), tenant=options.tenant, apply=apply)
    if options.as_json:
        show.print_json(report.document())
        return _code(report)
    for tenant in report.tenants:
        _print_tenant(tenant, is_only=len(report.tenants) == 1)
    for problem in report.problems:
        show.print_error(f"{problem.path}: {problem.reason}; it was left out")
    tables = sum(len(tenant.tables) for tenant in report.tenants if not tenant.was_there)
    click.echo(f"{show.plural(tables, 'table')} {'came back' if apply else 'would come back'} from {report.warehouse}")
    if not apply:
        click.echo("a dry run; --apply does it")
    show.print_next(replace(here, tenant=options.tenant).command("tables list") if apply else _again(options, place))
    return _code(report)


def _again(options: Options, place: str) -> str:
    return options.command(f"rebuild --from {shlex.quote(place)} --apply")


def _code(report: Report) -> int:
    if not report.problems:
        return DONE
    return PARTLY_FAILED if any(tenant.tables for tenant in report.tenants) else FAILED


def _print_tenant(tenant: Tenant, *, is_only: bool) -> None:
    if not is_only:
        show.print_title(f"tenant {tenant.tenant}")
    if tenant.was_there:
        click.echo(f"tenant {tenant.tenant} was rebuilt before: nothing is left to do")
        return
    if tenant.tables:
        show.print_table(["~table", ">version", ">versions", ">files", ">rows"], [_table(each) for each in tenant.tables])
    if tenant.positions:
        show.print_table(["~source", "kind", ">version", ">files read"], [_position(each) for each in tenant.positions])
    click.echo("does not come back:")
    for each in tenant.lost:
        click.echo(f"  {each.what}: {each.detail}{f' → {each.fix}' if each.fix else ''}")


def _table(table: Rebuilt) -> tuple[str, ...]:
    counts = (table.current.version, len(table.versions), len(table.live), table.rows)
    return (str(table.name), *(show.count(each) for each in counts))


def _position(position: Position) -> tuple[str, ...]:
    return position.move.source, position.move.kind, show.count(position.move.version), show.count(len(position.files) or None)
