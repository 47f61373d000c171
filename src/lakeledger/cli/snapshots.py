"""`lakeledger snapshots`: the versions of tables, how long they are kept, and why."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import click

from lakeledger.cli import show
from lakeledger.cli.maintain import CARE, code_of, print_problems
from lakeledger.cli.options import Duration, Options, paged, shared
from lakeledger.cli.ticker import ticking
from lakeledger.errors import Invalid

SPANS = ("keep_for", "grace", "snapshot_every")
SWITCHES = ("snapshot_query",)
INHERIT, ON, OFF = "inherit", "on", "off"


@click.group()
def snapshots() -> None:
    """Versions of tables: list, tag, expire; how long they are kept."""


@snapshots.command("list")
@click.argument("name")
@paged()
@shared('{"table": name, "snapshots": [{row of table_snapshots, "tags": […], "kept": why or null}], "next"}')
def list_snapshots(options: Options, name: str, limit: int, after: str | None) -> None:
    """The versions of a table, newest first, and why each is kept.

    lakeledger snapshots list bronze.orders
    """
    with options.open() as ledger:
        table, found = ledger.tables.get(name).name, ledger.snapshots.list(name, limit, after)
    if options.as_json:
        listed = [{**vars(each.snapshot), "tags": each.tags, "kept": each.kept} for each in found]
        show.print_json({"table": str(table), "snapshots": listed, "next": found.next})
        return
    rows = [
        (
            show.count(each.snapshot.version),
            each.snapshot.operation,
            show.count(int(each.snapshot.summary.get("total_rows", 0))),
            show.count(int(each.snapshot.summary.get("total_files", 0))),
            show.ago(each.snapshot.committed_at),
            each.snapshot.publish_trigger or ("yes" if each.snapshot.iceberg_snapshot_id else ""),
            ", ".join(each.tags),
            each.kept or "expires",
        )
        for each in found
    ]
    show.print_table([">version", "operation", ">rows", ">files", "when", "published", "~tags", "~kept"], rows, title=str(table))
    show.print_more(found.next)
    expiring = any(each.kept is None for each in found)
    show.print_next(options.command(f"snapshots expire {table}" if expiring else f"snapshots tag {table} NAME"))


@snapshots.command()
@click.argument("name")
@click.option("--tag", metavar="NAME", help="Keep this version under that name.")
@click.option("--comment", metavar="TEXT", help="What the tag is for.")
@shared('{"publication": row of table_publications, "tag": row of table_tags or null}')
def create(options: Options, name: str, tag: str | None, comment: str | None) -> None:
    """Let other engines see a table as it is now, and name that version.

    lakeledger snapshots create bronze.orders --tag june-close
    """
    with options.open() as ledger:
        table, made = ledger.tables.get(name), ledger.snapshots.create(name, tag, comment)
    if options.as_json:
        show.print_json({"publication": made.publication, "tag": made.tag})
        return
    version = made.publication.version if made.publication else table.current_version
    click.echo(f"{table.name} version {version} is published{f' and called {made.tag.name}' if made.tag else ''}")
    show.print_next(options.command(f"snapshots list {table.name}"))


@snapshots.command()
@click.argument("name")
@click.argument("tag")
@click.option("--version", type=click.IntRange(1, 2**63 - 1), help="Which; by default the current one.")
@click.option("--comment", metavar="TEXT", help="What it is for.")
@shared('{"tag": row of table_tags}')
def tag(options: Options, name: str, tag: str, version: int | None, comment: str | None) -> None:
    """Give a version of a table a name: it is kept until the name is taken away.

    lakeledger snapshots tag bronze.orders june-close --version 12
    """
    with options.open() as ledger:
        table, made = ledger.tables.get(name).name, ledger.snapshots.tag(name, tag, version, comment)
    if options.as_json:
        show.print_json({"tag": made})
        return
    click.echo(f"{table} version {made.version} is called {made.name}")
    show.print_next(options.command(f"snapshots list {table}"))


@snapshots.command()
@click.argument("name")
@click.argument("tag")
@shared('{"tag": row of table_tags}')
def untag(options: Options, name: str, tag: str) -> None:
    """Take a name away: the version is kept no longer than the policy says.

    lakeledger snapshots untag bronze.orders june-close
    """
    with options.open() as ledger:
        table, gone = ledger.tables.get(name).name, ledger.snapshots.untag(name, tag)
    if options.as_json:
        show.print_json({"tag": gone})
        return
    click.echo(f"{table} version {gone.version} is no longer called {gone.name}")
    show.print_next(options.command(f"snapshots list {table}"))


@snapshots.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--keep-versions", type=click.IntRange(min=1), help="Keep at least so many; by default as the policy says.")
@click.option("--keep-for", type=Duration(), help="Keep what was current within this time: 7d; by default as the policy says.")
@click.option("--apply", is_flag=True, help="Let them expire; without it nothing is touched.")
@click.option("--reason", metavar="TEXT", help="Why, for whoever looks at the run later.")
@shared(CARE)
def expire(
    options: Options, names: tuple[str, ...], keep_versions: int | None, keep_for: timedelta | None, apply: bool, reason: str | None
) -> int:
    """Let versions expire that the policy does not keep, of these tables or of all.

    Without --apply nothing is touched. The current version, tagged, published and open ones, and what runs, sources and subscribers
    still need, never expire. Files are touched only by `lakeledger maintain`.

      lakeledger snapshots expire
      lakeledger snapshots expire bronze.orders --keep-versions 5 --keep-for 7d --apply
    """
    with options.open() as ledger, ticking("expiring", silent=options.as_json or not apply) as tick:
        report = ledger.maintenance.expire(names, apply=apply, reason=reason, keep_versions=keep_versions, keep_for=keep_for, progress=tick)
    if options.as_json:
        show.print_json({"applied": report.applied, "run_id": report.run_id, "tables": [each.document() for each in report.tables]})
        return code_of(report)
    found = [each for each in report.tables if each.expired or each.dropped]
    rows = [(each.table, show.count(len(each.expired)), _ranges(each.document()["expired"])) for each in found]
    if rows:
        show.print_table(["~table", ">versions", "+which"], rows)
    total = show.plural(sum(len(each.expired) for each in found), "version")
    click.echo(f"{total} {'expired' if apply else 'would expire'}")
    print_problems(report)
    if found and not apply:
        given = [f"--keep-versions {keep_versions}" if keep_versions else "", _span("--keep-for", keep_for)]
        show.print_next(options.command(" ".join(["snapshots expire", *names, *(each for each in given if each), "--apply"])))
    elif found:
        show.print_next(options.command("maintain"))
    return code_of(report)


@snapshots.command()
@click.argument("scope", required=False)
@click.argument("settings", nargs=-1, metavar="[SETTING=VALUE]...")
@click.option("--default", "everywhere", is_flag=True, help="Set what all tables inherit, instead of a schema's or a table's.")
@shared('{"policies": [row of maintenance_policies], "policy": what counts for SCOPE, if it is a table}')
def policy(options: Options, scope: str | None, settings: tuple[str, ...], everywhere: bool) -> None:
    """Show or set how long versions are kept: by default, of a schema, or of a table.

    A table has what its schema says, and that what the default says, unless it says otherwise. `inherit` takes a setting back;
    `off` switches a trigger of snapshots off. Settings: keep_versions, keep_for, grace, snapshot_commits, snapshot_every,
    snapshot_files, snapshot_bytes, snapshot_rows, snapshot_query.

      lakeledger snapshots policy
      lakeledger snapshots policy silver keep_versions=5 keep_for=7d
      lakeledger snapshots policy silver.orders keep_for=inherit
      lakeledger snapshots policy --default grace=12h
    """
    if everywhere and scope:
        settings, scope = (scope, *settings), ""
    if scope and "=" in scope:
        raise click.UsageError("say of what: a schema, a table, or --default")
    changes = dict(_setting(each) for each in settings)
    with options.open() as ledger:
        if changes:
            ledger.snapshots.set_policy(scope or "", **changes)
        found = ledger.snapshots.policies()
        counts = ledger.snapshots.policy(scope) if scope and "." in scope else None
    if options.as_json:
        show.print_json({"policies": found, "policy": _document(vars(counts)) if counts else None})
        return
    if found:
        rows = [(each.scope or "(default)", _settings(each.settings), show.ago(each.updated_at), each.updated_by) for each in found]
        show.print_table(["~of", "+settings", "set", "by"], rows)
    else:
        click.echo("nothing is set: every table has what lakeledger comes with")
    if counts:
        show.print_title(scope or "")
        show.print_facts({name: _shown(name, value) for name, value in vars(counts).items()})
    show.print_next(options.command("snapshots expire"))


def _document(policy: dict[str, Any]) -> dict[str, Any]:
    """As it is kept: time spans in seconds."""
    return {name: value.total_seconds() if isinstance(value, timedelta) else value for name, value in policy.items()}


def _setting(text: str) -> tuple[str, Any]:
    from lakeledger.maintenance import policies

    name, equals, value = text.partition("=")
    if not equals or not value:
        raise Invalid(f"{text!r} sets nothing: write keep_versions=5, keep_for=7d or keep_for=inherit")
    if value == INHERIT:
        policies.check_name(name)
        return name, policies.INHERIT
    if name in SWITCHES and value in (ON, OFF):
        return name, value == ON
    if value == OFF:
        return name, None
    if name in SPANS:
        return name, Duration().convert(value, None, None)
    return name, int(value) if value.isdigit() else value


def _settings(settings: dict[str, Any]) -> str:
    return ", ".join(
        f"{name}={_shown(name, timedelta(seconds=value) if name in SPANS and value is not None else value)}"
        for name, value in settings.items()
    )


def _shown(name: str, value: Any) -> str:
    from lakeledger.maintenance.planning import words

    if value is None or value is False:
        return OFF
    if value is True:
        return ON
    return words(value) if name in SPANS else str(value)


def _ranges(found: Sequence[Sequence[int]]) -> str:
    return ", ".join(str(first) if first == last else f"{first}–{last}" for first, last in found)


def _span(option: str, span: timedelta | None) -> str:
    return "" if span is None else f"{option} {shlex.quote(f'{int(span.total_seconds())}s')}"
