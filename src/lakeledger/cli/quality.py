"""`lakeledger quality`: can it be trusted? Check tables, look at results, write and try suites."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from lakeledger import codec
from lakeledger.cli import LazyGroup, show
from lakeledger.cli.options import Options, moment_of, paged, shared

if TYPE_CHECKING:
    from lakeledger.quality.store import DqCheck, DqResult

STATUSES, SEVERITIES = ("PASS", "WARNING", "FAIL"), ("critical", "warning", "info")
# What is shown of a failed expectation's values.
SAMPLE = 3

COMMANDS = {
    "check": "lakeledger.cli.quality_check:check",
    "import": "lakeledger.cli.quality_suites:import_file",
    "list": "lakeledger.cli.quality:list_results",
    "show": "lakeledger.cli.quality:show_result",
    "suggest": "lakeledger.cli.quality_suites:suggest",
    "try": "lakeledger.cli.quality_check:try_suite",
    "validate": "lakeledger.cli.quality_suites:validate",
}


@click.group(cls=LazyGroup, lazy=COMMANDS)
def quality() -> None:
    """Can it be trusted: check tables, look at results, write and try suites."""


@click.command("list")
@click.option("--table", metavar="NAME", help="Only results of this table: orders or silver.orders.")
@click.option("--suite", metavar="ID", help="Only results of the suite with this dq_config_id.")
@click.option("--status", type=click.Choice(STATUSES, case_sensitive=False), help="Only results with this outcome.")
@click.option("--since", metavar="TIME", help="Only results of this time or later: 2026-01-31T00:00:00Z, or 7d for the last seven days.")
@click.option("--until", metavar="TIME", help="Only results of before this time.")
@paged()
@shared('{"results": [row of dq_results], "next"}')
def list_results(
    options: Options,
    table: str | None,
    suite: str | None,
    status: str | None,
    since: str | None,
    until: str | None,
    limit: int,
    after: str | None,
) -> None:
    """Results, newest first.

    lakeledger quality list --table silver.orders --status fail --since 7d
    """
    times = {"since": moment_of(since), "until": moment_of(until)}
    with options.open() as ledger:
        found = ledger.quality.history(table, limit, after, suite=suite, status=status and status.upper(), **times)
    if options.as_json:
        show.print_json({"results": found, "next": found.next})
        return
    if not found:
        click.echo("no results")
        return
    ids = show.short_ids([result.id for result in found])
    show.print_table(
        ["result", "~table", "~suite", "outcome", ">passed", ">failed", "checked", "~for example"],
        [_row(short, result) for short, result in zip(ids, found, strict=True)],
    )
    show.print_more(found.next)
    show.print_next(options.command(f"quality show {ids[0]}"))


def _row(short: str, result: DqResult) -> tuple[show.Cell, ...]:
    example = str(result.failed_expectations[0]["message"]) if result.failed_expectations else ""
    return (
        short,
        result.target_table,
        result.dq_config_id,
        show.status(result.overall_status),
        show.count(result.expectations_passed),
        show.count(result.expectations_failed),
        show.ago(result.executed_at),
        example if result.is_visible else f"refused: {example}",
    )


@click.command("show")
@click.argument("result_id", metavar="ID")
@shared('{"result": row of dq_results, "checks": [row of dq_checks]}')
def show_result(options: Options, result_id: str) -> None:
    """A result and each of its expectations, those that failed first. The beginning of the ID is enough.

    lakeledger quality show 0199b2c4-7e1a
    """
    with options.open() as ledger:
        result = ledger.quality.get(result_id)
        checks = ledger.quality.checks(result.id)
    if options.as_json:
        show.print_json({"result": result, "checks": checks})
        return
    show.print_facts(_facts(result))
    print_checks(checks)
    show.print_next(options.command(f"runs show {result.pipeline_logging_id[: show.SHORT_ID]}"))


def _facts(result: DqResult) -> dict[str, show.Cell | None]:
    return {
        "result": result.id,
        "table": result.target_table,
        "version": show.count(result.table_version) or None,
        "suite": result.dq_config_id,
        "outcome": show.status(result.overall_status),
        "expectations": f"{result.expectations_passed:,} passed, {result.expectations_failed:,} failed",
        "checked": show.moment(result.executed_at),
        "run": result.pipeline_logging_id,
        "rows": None if result.is_visible else "refused: they never reached the table",
        "scope": codec.to_json(result.scope) if result.scope else None,
    }


def print_checks(checks: Sequence[DqCheck]) -> None:
    """A line per expectation, those that failed first."""
    ordered = sorted(checks, key=lambda each: (each.success, SEVERITIES.index(each.severity), each.check_index))
    rows = [
        (
            show.status("PASS" if each.success else "FAIL"),
            each.severity,
            each.check_name,
            show.count(each.unexpected_count),
            show.count(each.element_count),
            each.error_message or _seen(each),
        )
        for each in ordered
    ]
    show.print_table(["", "severity", "~expectation", ">unexpected", ">of rows", "+seen"], rows)


def _seen(each: DqCheck) -> str:
    if each.success and each.unexpected_count is not None:
        return ""
    sample = ", ".join(codec.to_json(value) for value in each.sample[:SAMPLE])
    if each.unexpected_count is not None:
        return f"for example {sample}" if sample else ""
    return ", ".join(f"{name} {codec.to_json(value)}" for name, value in each.observed.items() if value not in (None, []))
