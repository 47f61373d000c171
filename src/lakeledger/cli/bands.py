"""`lakeledger bands`: what is usual for tables, what was not, and what people decide about points."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lakeledger import clock
from lakeledger.cli import show
from lakeledger.cli.acting import operator
from lakeledger.cli.options import Command, Options, shared

if TYPE_CHECKING:
    from lakeledger.quality.bands import Judged
    from lakeledger.quality.bands.series import Series

TERMINAL = "-"
ROWS = 20
DECIDED = '{"decision": row of band_decisions}'


@click.group()
def bands() -> None:
    """What is usual: tolerance bands of volumes and checks."""


@bands.command("list")
@click.option("--all", "every", is_flag=True, help="Every table whose last load was judged, also those within their bands.")
@shared('{"tables": [{"table", "status", "point", "at", "source", "message", "verdict", "decision"}]}')
def list_bands(options: Options, every: bool) -> None:
    """The tables whose last load was outside of its band, unless somebody has decided about it.

    lakeledger bands list
    """
    with options.open() as ledger:
        found = ledger.bands.unusual(every=every)
    if options.as_json:
        show.print_json({"tables": found})
        return
    if not found:
        click.echo("no load was judged yet" if every else "every table's last load was within its band, or somebody has decided about it")
        return
    rows = [(each.table, show.status(each.status), show.ago(each.at), each.point, each.message) for each in found]
    show.print_table(["~table", "status", "when", "point", "+volume"], rows)
    show.print_next(options.command(f"bands show {found[0].table}"))


@bands.command("show")
@click.argument("table")
@click.option("--metric", default="rows", show_default=True, metavar="NAME", help="rows or bytes of loads, or a metric of --kind.")
@click.option(
    "--kind", default="ingestion_volume", show_default=True, help="The kind of records: recon_result and dq_result have metrics, too."
)
@click.option("--check", metavar="NAME", help="With --kind: only results of this check.")
@click.option("--source", metavar="NAME", help="Where several sources load the table: loads of this one; by default of the last.")
@click.option("--plot", "file", metavar="FILE", help="Draw it: into a file.svg or file.png, or in the terminal with -.")
@click.option("--limit", type=click.IntRange(1, 200), default=ROWS, show_default=True, help="How many points to list, the newest.")
@shared(
    '{"table", "kind", "metric", "unit", "source", "sources", "band": {"state", "method", "lower", "upper", "expected", "n", "inputs", …}, '
    '"explanation", "points": [{"id", "at", "value", "state", "is_outside", "lower", "upper", "expected"}]}'
)
def show_band(
    options: Options,
    table: str,
    metric: str,
    kind: str,
    check: str | None,
    source: str | None,
    file: str | None,
    limit: int,
) -> None:
    """What is usual for a table now, why, and the last points with the bands of their time.

    lakeledger bands show silver.orders
    lakeledger bands show silver.orders --plot orders.svg
    lakeledger bands show silver.orders --plot -
    lakeledger bands show silver.orders --kind recon_result --check count --metric difference
    """
    with options.open() as ledger:
        series = ledger.bands.series(table, metric, kind=kind, check=check, source=source)
    judged = series.walk()
    band = series.band(clock.now())
    if file and file != TERMINAL:
        from lakeledger.quality.bands.plot import draw

        draw(series, judged, Path(file))
    if options.as_json:
        show.print_json(_document(series, judged, band.to_json(), band.explain(), limit))
        return
    show.print_title(f"{series.table}: {series.metric} per {series.unit}")
    show.print_text(band.explain())
    if len(series.sources) > 1:
        show.print_text(
            f"Loads of {series.source}; others load the table, too: {', '.join(each for each in series.sources if each != series.source)}"
        )
    if file == TERMINAL:
        _plot(judged)
    elif file:
        click.echo(f"drawn in {file}")
    _points(series, judged[-limit:])
    if judged and judged[-1].is_outside and judged[-1].point.state == "ordinary":
        show.print_next(options.command(f"bands accept {series.table} {judged[-1].point.id} --reason …"))


def _document(series: Series, judged: Sequence[Judged], band: dict[str, Any], explanation: str, limit: int) -> dict[str, Any]:
    points = [
        {**vars(each.point), "is_outside": each.is_outside} | {name: getattr(each.band, name) for name in ("lower", "upper", "expected")}
        for each in judged[-limit:]
    ]
    about = {name: getattr(series, name) for name in ("table", "kind", "metric", "unit", "source", "sources")}
    return {**about, "band": band, "explanation": explanation, "points": points}


def _plot(judged: Sequence[Judged]) -> None:
    from rich.text import Text

    from lakeledger.quality.bands.plot import in_text, legend

    where = show.console()
    width = where.width if where.is_terminal else 100
    for line in [*in_text(judged, width), legend(judged)]:
        text = Text(no_wrap=True)
        for cell in line:
            text.append(cell.sign, cell.style)
        where.print(text)
    click.echo()


def _points(series: Series, judged: Sequence[Judged]) -> None:
    from lakeledger.quality.bands.model import number
    from lakeledger.quality.bands.plot import role

    rows = []
    for each in reversed(judged):
        band, decided = each.band, series.decisions.get(each.point.id or "")
        usual = f"{number(band.lower)} to {number(band.upper)}" if band.expected is not None else ""
        told = f"{decided.decision} by {decided.decided_by}: {decided.reason}" if decided else ""
        word = role(each) if each.point.state in ("ordinary", "accepted", "excluded") else each.point.state.replace("_", " ")
        rows.append(
            (f"{each.point.at.astimezone(series.zone):%Y-%m-%d %H:%M}", number(each.point.value), usual, word, each.point.id or "", told)
        )
    show.print_table(["when", f">{series.metric}", ">usual", "is", "point", "~decided"], rows)


def _deciding(verb: str) -> Callable[[Command], click.Command]:
    def decorate(command: Command) -> click.Command:
        reason = click.option("--reason", required=True, metavar="TEXT", help="Why; it is kept with who and when.")
        kind = click.option("--kind", default="ingestion_volume", show_default=True, help="The kind of records whose point it is.")
        table, point = click.argument("table"), click.argument("point")
        return bands.command(verb)(table(point(reason(kind(shared(DECIDED)(command))))))

    return decorate


@_deciding("exclude")
def exclude(options: Options, table: str, point: str, reason: str, kind: str) -> None:
    """Leave a POINT out of bands: it was wrong, or is no measure for others.

    POINT is the id that `bands show` prints, which may be abbreviated, or a day.

      lakeledger bands exclude silver.orders 2026-11-10 --reason "the shop was closed"
    """
    _decide(options, "exclude", table, point, reason, kind)


@_deciding("accept")
def accept(options: Options, table: str, point: str, reason: str, kind: str) -> None:
    """Accept a POINT that was outside of its band: it is right, and the new level.

    What was measured before counts at that level from then on. What is right only once is excluded instead.

      lakeledger bands accept silver.orders 2026-11-10 --reason "the new shop is open"
    """
    _decide(options, "accept", table, point, reason, kind)


@_deciding("restore")
def restore(options: Options, table: str, point: str, reason: str, kind: str) -> None:
    """Undo what was decided about a POINT: it counts as if nothing had been.

    lakeledger bands restore silver.orders 2026-11-10 --reason "it was the right day after all"
    """
    _decide(options, "restore", table, point, reason, kind)


def _decide(options: Options, verb: str, table: str, point: str, reason: str, kind: str) -> None:
    with options.open() as ledger:
        made = getattr(ledger.bands, verb)(table, point, reason, kind=kind, by=operator())
    if options.as_json:
        show.print_json({"decision": made})
        return
    words = {
        "exclude": "is left out of bands",
        "accept": "is accepted as the new level",
        "restore": "counts as if nothing had been decided",
    }
    click.echo(show.safe(f"{made.point} of {made.name_key} {words[verb]}: {made.reason} ({made.decided_by})"))
    show.print_next(options.command(f"bands show {made.name_key}"))
