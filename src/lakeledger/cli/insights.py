"""`lakeledger insights`: what follows from facts; for planning, for starting loads, and for dashboards."""

from __future__ import annotations

import shlex
from dataclasses import asdict

import click

from lakeledger.cli import DONE, FAILED, show
from lakeledger.cli.options import Options, moment_of, shared

SINCE = click.option(
    "--since", metavar="TIME", help="Only facts of this time or later: 2026-01-31T00:00:00Z, or 30d for the last thirty days."
)
UNTIL = click.option("--until", metavar="TIME", help="Only facts of before this time.")


@click.group()
def insights() -> None:
    """What follows from facts: plans, gates, trends, timeouts, SLAs."""


@insights.command()
@click.argument("table")
@click.option("--loads", type=click.IntRange(2, 1_000), default=30, show_default=True, help="From how many of the last loads.")
@shared(
    '{"plan": {"target", "columns": [{"name", "type", "nullable", "precision", "scale", "length"}], "loads", "rows", "bytes", "most_rows", '
    '"hours_between", "rows_per_day", "growth_percent", "table_rows", "table_bytes", "parts", "partitioning": {"column", "period", "why"}}}'
)
def plan(options: Options, table: str, loads: int) -> None:
    """What the next load of TABLE will probably be: columns with precision, size, change rate, and how to partition it.

    lakeledger insights plan silver.orders
    """
    with options.open() as ledger:
        found = ledger.insights.plan(table, loads=loads)
    if options.as_json:
        show.print_json({"plan": asdict(found)})
        return
    facts = {
        "rows": show.count(found.rows) if found.rows is not None else None,
        "size": show.size(found.bytes) if found.bytes is not None else None,
        "rows per day": f"{found.rows_per_day:,.0f}" if found.rows_per_day is not None else None,
        "hours between loads": f"{found.hours_between:g}" if found.hours_between is not None else None,
        "share of the table": f"{found.growth_percent:g} %" if found.growth_percent is not None else None,
        "parallel parts": show.count(found.parts),
        "partition by": f"{found.partitioning.column} ({found.partitioning.period})" if found.partitioning.column else "nothing",
        "because": found.partitioning.why,
    }
    show.print_title(f"the next load of {found.target}, from {show.plural(found.loads, 'load')}")
    show.print_facts({name: value for name, value in facts.items() if value is not None})
    rows = [(each["name"], each["type"], _text(each["precision"]), _text(each["scale"]), _text(each["length"])) for each in found.columns]
    if rows:
        show.print_table(["~column", "~type", ">precision", ">scale", ">length"], rows)


@insights.command()
@click.argument("source")
@shared('{"source", "open", "reason", "breaking": [change], "acceptance": {"accepted_by", "reason", "until", …} or null}')
def gate(options: Options, source: str) -> int:
    """Whether loads of SOURCE may start: not while the latest difference of its catalog breaks readers. Exit 1 if they may not.

    lakeledger insights gate shop.orders
    """
    with options.open() as ledger:
        found = ledger.insights.gate(source)
    if options.as_json:
        decided = found.acceptance.payload if found.acceptance else None
        told = {"source": found.name, "open": found.is_open, "reason": found.reason, "breaking": found.breaking, "acceptance": decided}
        show.print_json(told)
    else:
        show.print_text(f"{found.name} is {'open' if found.is_open else 'closed'}: {found.reason}", "green" if found.is_open else "red")
        if not found.is_open:
            show.print_next(options.command(f"schema accept {shlex.quote(found.name)} --reason TEXT"))
    return DONE if found.is_open else FAILED


@insights.command()
@click.argument("kind", default="recon_result")
@click.option("--table", metavar="NAME", help="Only of this table.")
@click.option(
    "--by", "bucket", type=click.Choice(["hour", "day", "week", "month"]), default="day", show_default=True, help="By which period."
)
@SINCE
@UNTIL
@shared('{"trends": [{"at", "target", "kind", "records", "statuses", "pass_rate", "rows", "bytes"}]}')
def trends(options: Options, kind: str, table: str | None, bucket: str, since: str | None, until: str | None) -> None:
    """How facts of a KIND went over time, by table: passed, warned, failed; rows and bytes of loads.

    lakeledger insights trends recon_result --since 30d
    lakeledger insights trends ingestion_volume --table silver.orders --by week
    """
    with options.open() as ledger:
        found = ledger.insights.trends(kind, table, moment_of(since), moment_of(until), bucket)
    if options.as_json:
        show.print_json({"trends": [{**asdict(each), "pass_rate": each.pass_rate} for each in found]})
        return
    if not found:
        click.echo(show.safe(f"no records of the kind {kind}"))
        return
    rows = [
        (
            f"{each.at:%Y-%m-%d %H:%M}" if bucket == "hour" else f"{each.at:%Y-%m-%d}",
            each.target,
            show.count(each.records),
            ", ".join(f"{number} {word}" for word, number in sorted(each.statuses.items())),
            f"{each.pass_rate:.0%}" if each.pass_rate is not None else "",
            show.count(each.rows) if each.rows is not None else "",
        )
        for each in found
    ]
    show.print_table(["from", "~table", ">records", "~statuses", ">passed", ">rows"], rows)


@insights.command()
@click.option("--at-least", type=click.IntRange(1), default=2, show_default=True, help="How often.")
@SINCE
@shared('{"tables": [{"target", "timeouts", "checks", "first_at", "last_at", "rows", "bytes", "loads"}]}')
def timeouts(options: Options, at_least: int, since: str | None) -> None:
    """Tables whose reconciliations timed out repeatedly, the worst first, beside the volumes of their loads.

    lakeledger insights timeouts --since 30d
    """
    with options.open() as ledger:
        found = ledger.insights.timeouts(moment_of(since), at_least=at_least)
    if options.as_json:
        show.print_json({"tables": [asdict(each) for each in found]})
        return
    if not found:
        click.echo("no table timed out repeatedly")
        return
    rows = [
        (
            each.target,
            show.count(each.timeouts),
            ", ".join(each.checks),
            show.ago(each.last_at),
            show.count(each.rows) if each.rows is not None else "",
            show.size(each.bytes) if each.bytes is not None else "",
        )
        for each in found
    ]
    show.print_table(["~table", ">timeouts", "~checks", "last", ">rows per load", ">size per load"], rows)


@insights.command()
@click.argument("schedule", required=False)
@SINCE
@UNTIL
@shared('{"schedules": [{"schedule", "due", "on_time", "late", "missed", "failed", "on_time_rate", "worst_late_seconds", "latest"}]}')
def sla(options: Options, schedule: str | None, since: str | None, until: str | None) -> None:
    """How schedules, or one SCHEDULE, kept their due times.

    lakeledger insights sla shop --since 30d
    """
    with options.open() as ledger:
        found = ledger.insights.sla(schedule, moment_of(since), moment_of(until))
    if options.as_json:
        show.print_json({"schedules": [{**asdict(each), "on_time_rate": each.on_time_rate} for each in found]})
        return
    if not found:
        click.echo("no due time of a schedule is known")
        return
    rows = [
        (
            each.schedule,
            *map(show.count, (each.due, each.on_time, each.late, each.missed, each.failed)),
            f"{each.on_time_rate:.0%}",
            f"{each.worst_late_seconds:,.0f} s",
        )
        for each in found
    ]
    show.print_table(["~schedule", ">due", ">on time", ">late", ">missed", ">failed", ">kept", ">worst"], rows)


def _text(number: int | None) -> str:
    return "" if number is None else str(number)
