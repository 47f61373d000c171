"""`lakeledger quality check` and `try`: a suite on a table as it is, and on what past loads brought."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lakeledger import clock
from lakeledger.cli import DONE, FAILED, PARTLY_FAILED, show
from lakeledger.cli.options import Duration, Options, shared
from lakeledger.cli.quality import SEVERITIES, print_checks
from lakeledger.cli.ticker import ticking
from lakeledger.errors import Invalid

if TYPE_CHECKING:
    from lakeledger.pipelines.checks.trying import Tried
    from lakeledger.quality import CheckResult, Suite

MOST_LOADS = 1_000
TRIED = (
    '{"table", "dq_config_id", "since", "is_cut": whether there are older loads, "loads": [{"version", "committed_at", "operation", '
    '"rows": load or table, "status", "expectations_passed", "expectations_failed", "failed_expectations", "problem"}], '
    '"expectations": [{"name", "severity", "failed_loads", "worst_percent"}]}'
)


@click.command()
@click.argument("table", metavar="TABLE")
@click.option(
    "--suite", metavar="FILE|ID", help="The suite: a file, or the id of quality/<id>.yaml; by default the table's name is the id."
)
@click.option("--version", metavar="N|TAG", help="The table at this version or tag; by default as it is now.")
@click.option("--fail-on-warn", is_flag=True, help="Exit 1 on WARNING, too.")
@shared('{"result": row of dq_results, "checks": [row of dq_checks]}')
def check(options: Options, table: str, suite: str | None, version: str | None, fail_on_warn: bool) -> int:
    """Check a table by a suite, as a run of its own, and keep the result. Exit 1 if a critical expectation fails.

    lakeledger quality check silver.orders --suite quality/orders.yaml
    lakeledger quality check silver.orders --version 12 --fail-on-warn
    """
    from lakeledger.pipelines.checks.standalone import QualityFailed

    wanted = find_suite(suite or table)
    with show.answering(options.as_json), options.open() as ledger:
        try:
            found = ledger.check(table, wanted, version=_version(version))
        except QualityFailed as error:  # which says no more than the result
            found = error.result
        result, checks = ledger.quality.get(found.id), ledger.quality.checks(found.id)
    code = FAILED if found.status == "FAIL" or (fail_on_warn and found.status == "WARNING") else DONE
    if options.as_json:
        show.print_json({"result": result, "checks": checks})
        return code
    print_checks(checks)
    at = f" version {result.table_version}" if result.table_version is not None else ""
    passed = f"{result.expectations_passed:,} of {show.plural(len(checks), 'expectation')} passed"
    click.echo(show.safe(f"{result.target_table}{at}: {result.overall_status}, {passed}"))
    show.print_next(options.command(f"quality show {result.id[: show.SHORT_ID]}"))
    return code


def find_suite(named: str) -> Suite:
    """The suite of a file, or of the id that a file in quality/ is called by. Raises Invalid, with file:line."""
    from lakeledger.control.expectations import SUITE_FILE, load_suite

    file = Path(named)
    if not file.is_file():
        by_id = Path(SUITE_FILE.format(named))
        if by_id.is_file():
            return load_suite(by_id)
        raise Invalid(
            f"there is no suite {named}: neither the file nor {by_id}; `lakeledger quality suggest TABLE --out {by_id}` writes one"
        )
    return load_suite(file)


def _version(text: str | None) -> int | str | None:
    return int(text) if text is not None and text.isdecimal() else text


@click.command("try")
@click.argument("suite", metavar="SUITE")
@click.option("--table", metavar="NAME", required=True, help="Whose loads.")
@click.option("--last", type=Duration(), default="30d", show_default=True, help="Loads of so long ago, or later.")
@click.option("--limit", type=click.IntRange(1, MOST_LOADS), default=100, show_default=True, help="How many loads at most, the newest.")
@shared(TRIED)
def try_suite(options: Options, suite: str, table: str, last: timedelta, limit: int) -> int:
    """What a suite would have found in the loads of the last days, before it is switched on. Nothing is recorded.

    Of an append or an overwrite the load's own rows are looked at; of a merge the table as it was after it. SUITE is a file, or the id of
    quality/<id>.yaml. Exits with 3 if the rows of some loads are gone.

      lakeledger quality try quality/orders.yaml --table silver.orders --last 30d
    """
    from lakeledger.pipelines.checks import trying

    wanted, since = find_suite(suite), clock.now() - last
    with (
        show.answering(options.as_json),
        options.open() as ledger,
        ticking("trying", silent=options.as_json) as tick,
    ):
        loads, is_cut = trying.loads_since(ledger.store, table, since, limit)
        tried = []
        for each in trying.attempt(ledger.context(), wanted, loads):
            tried.append(each)
            tick(f"{show.plural(len(loads), 'load')} of {table}", len(tried))
    found = _found(tried)
    gone = [each for each in tried if each.problem]
    code = DONE if not gone else FAILED if len(gone) == len(tried) else PARTLY_FAILED
    if options.as_json:
        about = {"table": table, "dq_config_id": wanted.dq_config_id, "since": since, "is_cut": is_cut}
        show.print_json({**about, "loads": [_load(each) for each in tried], "expectations": found})
        return code
    _print_tried(options, table, tried, found, is_cut=is_cut)
    return code


def _load(each: Tried) -> dict[str, Any]:
    result = each.result
    return {
        "version": each.version,
        "committed_at": each.committed_at,
        "operation": each.operation,
        "rows": "table" if each.is_whole else "load",
        "status": result.status if result else None,
        "expectations_passed": result.passed if result else None,
        "expectations_failed": len(result.failed) if result else None,
        "failed_expectations": [check.document for check in result.failed] if result else [],
        "problem": each.problem,
    }


def _found(tried: Sequence[Tried]) -> list[dict[str, Any]]:
    """Each expectation, with how many loads would have failed it, those that fail most first."""
    looked = [each.result for each in tried if each.result]
    failed = Counter(place for result in looked for place, check in enumerate(result.checks) if not check.success)
    lines = []
    for place, expectation in enumerate(looked[0].suite.expectations if looked else ()):
        worst = max((_percent(result.checks[place]) for result in looked), default=0.0)
        lines.append({"name": expectation.label, "severity": expectation.severity, "failed_loads": failed[place], "worst_percent": worst})
    return sorted(lines, key=lambda each: (-each["failed_loads"], SEVERITIES.index(each["severity"])))


def _percent(check: CheckResult) -> float:
    return check.unexpected_percent or 0.0


def _print_tried(options: Options, table: str, tried: Sequence[Tried], found: Sequence[dict[str, Any]], *, is_cut: bool) -> None:
    if not tried:
        click.echo(f"{show.safe(table)} has no loads since then: give a longer --last")
        return
    rows = [
        (
            each["name"],
            each["severity"],
            show.count(each["failed_loads"]) if each["failed_loads"] else "",
            f"{each['worst_percent']:.2f} %" if each["worst_percent"] else "",
        )
        for each in found
    ]
    show.print_table(["~expectation", "severity", ">loads failed", ">worst"], rows, keep_empty=True)
    show.print_table(["version", "committed", "rows of", "outcome", ">failed", "~for example"], [_line(each) for each in tried])
    outcomes = Counter(str(each.result.status) for each in tried if each.result)
    told = ", ".join(f"{count:,} {word}" for word, count in sorted(outcomes.items())) or "none could be looked at"
    more = "; there are more: give a larger --limit" if is_cut else ""
    click.echo(show.safe(f"{show.plural(len(tried), 'load')} of {table} tried, nothing recorded: {told}{more}"))
    show.print_next(options.command(f"quality check {table}"))


def _line(each: Tried) -> tuple[show.Cell, ...]:
    result = each.result
    return (
        str(each.version),
        f"{each.committed_at:%Y-%m-%d %H:%M}",
        "table" if each.is_whole else each.operation,
        show.status(result.status) if result else show.status("SKIPPED"),
        show.count(len(result.failed)) if result and result.failed else "",
        each.problem or (result.failed[0].message if result and result.failed else ""),
    )
