"""`lakeledger demo`: a small shop, loaded day by day, and everything the ledger knows of it afterwards."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lakeledger import demo as shops
from lakeledger.cli import show
from lakeledger.cli.options import as_help
from lakeledger.cli.places import describe
from lakeledger.cli.runs import print_runs
from lakeledger.cli.tables import print_tables
from lakeledger.demo import Demo, Done, oracle
from lakeledger.demo.crm import Tally
from lakeledger.demo.folder import YAML
from lakeledger.errors import Conflict, Invalid
from lakeledger.runs import Run

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

LAST_RUNS = 5
LAST_DAYS = 7
BAR_WIDTH = 40
# Variables that the demo ignores, but every other command does not.
ELSEWHERE = ("LAKELEDGER_URL", "LAKELEDGER_WAREHOUSE", "LAKELEDGER_TENANT")
SHAPE = (
    '{"tables", "runs", "positions": rows of each, "compacted": {table: {"files_before", "files_after"}}, '
    '"caught": [{"what", "noticed_by", "became"}], "customer_events": {"events", "in_order", "late", "duplicates", "deletes", "bad"}, '
    '"location": {"ledger", "warehouse", "landing", "pipeline"}}'
)

HELP = """\
See it work: make a small shop, load it day by day, show what the ledger knows.

Run it again, also after an interruption: nothing is loaded twice.

  lakeledger demo
  lakeledger demo --folder shop --days 7
  lakeledger demo --warehouse s3://lake/demo
"""


@click.command(help=as_help(HELP))
@click.option("--folder", default="lakeledger-demo", show_default=True, metavar="FOLDER", help="Where the shop is made.")
@click.option("--days", default=30, show_default=True, metavar="N", help=f"How many days it has been open, at most {shops.MAX_DAYS}.")
@click.option("--warehouse", metavar="FOLDER", help="Where its tables are: a folder or an object store URL; by default in FOLDER.")
@click.option("--json", "as_json", is_flag=True, help=f"Print only JSON: {SHAPE}")
def demo(folder: str, days: int, warehouse: str | None, as_json: bool) -> None:
    """Make the shop in the folder, load it and show it."""
    for name, value in (("folder", folder), ("warehouse", warehouse)):
        if value is not None and not value.strip():
            raise Invalid(f"--{name} is empty: give a value or leave the option out")
    with shops.open(Path(folder), days, warehouse=warehouse) as shop:
        if as_json:
            for _ in shop.load():
                pass
            shop.compact()
        else:
            _load(shop)
        sold = shop.check()
        runs = shop.ledger.runs.list(limit=1_000)
        if as_json:
            _print_json(shop, runs)
        else:
            show.print_text(f"✓ The tables hold exactly what the shop sold in {_count(shop.days)}: {sold}.\n", "green")
            _print_report(shop, runs, folder)


def _load(shop: Demo) -> None:
    """Load what is missing, with progress on stderr."""
    missing = shop.missing()
    if not missing and shop.reports_are_current():
        click.echo(f"Nothing to load: {_span(shop.days)} in the ledger already.\n", err=True)
        return
    click.echo(f"A small shop, {_span(shop.days)}: loaded once a day, reported once a week.", err=True)
    if loaded := len(shop.days) - len(missing):
        click.echo(f"{loaded} of them in the ledger already.", err=True)
    try:
        _start_spark(shop)
        with _progress(len(missing)) as (bar, task):
            for done in shop.load():
                _tell(done, bar, task)
        _compact(shop)
    except KeyboardInterrupt:
        click.echo("\nInterrupted. Run the same command again: it goes on from here.", err=True)
        raise
    click.echo(err=True)


def _compact(shop: Demo) -> None:
    for done in shop.compact():
        became = f"{show.plural(done.files_before, 'file')} became {done.files_after:,}"
        click.echo(f"compacted   {done.table:20}  {became}, the same rows", err=True)


def _start_spark(shop: Demo) -> None:
    started = time.monotonic()
    with show.console(stderr=True).status("Starting Spark …"):
        version = shop.ledger.spark.version
    click.echo(f"Spark {version} started in {show.duration((time.monotonic() - started) * 1000)}.", err=True)


@contextmanager
def _progress(days: int) -> Iterator[tuple[Progress, TaskID]]:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = show.console(stderr=True)
    columns = (BarColumn(30), MofNCompleteColumn(), TextColumn("days"), TimeElapsedColumn(), TextColumn("{task.description}", style="dim"))
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        yield bar, bar.add_task("the first day is the slowest", total=max(days, 1))


def _tell(done: Done, bar: Progress, task: TaskID) -> None:
    run = done.run
    line = f"{done.day:%a %d %b}  {run.pipeline_id:12}  {run.records_processed:>7,} rows  {show.duration(run.duration_ms):>7}"
    if bar.disable:
        click.echo(line, err=True)
    bar.update(task, advance=1 if run.pipeline_id == shops.DAILY else 0, description=line)


def _print_json(shop: Demo, runs: Sequence[Run]) -> None:
    counted = shop.customer_events()
    show.print_json(
        {
            "tables": shop.tables(),
            "runs": runs,
            "positions": shop.ledger.positions.list(),
            "compacted": {name: {"files_before": before, "files_after": after} for name, (before, after) in shop.compacted().items()},
            "caught": shop.caught(),
            "customer_events": counted.figures if counted else None,
            "location": _location(shop),
        }
    )


def _print_report(shop: Demo, runs: Sequence[Run], folder: str) -> None:
    print_tables(shop.tables())
    _print_runs(runs)
    _print_positions(shop)
    _print_compacted(shop)
    _print_caught(shop)
    if counted := shop.customer_events():
        _print_events(counted)
        _print_history(shop, counted)
    _print_revenue(shop)
    show.print_facts(_location(shop))
    _print_query(shop)
    _print_next(folder)


def _print_runs(runs: Sequence[Run]) -> None:
    shown = runs[:LAST_RUNS]
    show.print_title(f"last {len(shown)} runs")
    print_runs(shown)
    states = ", ".join(f"{number} {state.lower()}" for state, number in Counter(run.status for run in runs).items())
    times = [run.duration_ms or 0 for run in runs]
    show.print_text(f"{len(runs)} runs: {states}; {show.duration(sum(times))} in all, the slowest {show.duration(max(times))}\n")


def _print_positions(shop: Demo) -> None:
    rows = [
        (
            marker.source.name,
            f"{describe(marker.position_kind, marker.position_data)} read",
            show.count(marker.version),
            show.ago(marker.last_updated),
        )
        for marker in shop.ledger.positions.list()
    ]
    show.print_table(["source", "position", ">moves", "last move"], rows)


def _print_compacted(shop: Demo) -> None:
    if compacted := shop.compacted():
        rows = [(name, show.count(before), show.count(after)) for name, (before, after) in sorted(compacted.items())]
        show.print_table(["compacted", ">files before", ">files after"], rows)


def _print_caught(shop: Demo) -> None:
    rows = [(each.what, each.noticed_by, each.became) for each in shop.caught()]
    show.print_table(["what went wrong", "+noticed by", "+what became of it"], rows)


def _print_events(counted: Tally) -> None:
    became = {
        "in order": (counted.in_order, "in silver.customers: the newest row of each customer"),
        "late": (counted.late, "replace nothing newer; in their place in silver.customer_history"),
        "duplicates": (counted.duplicates, "change nothing"),
        "deletes": (counted.deletes, "remembered: a late event does not bring the customer back"),
        "bad": (counted.bad, "in silver.customers__quarantine, with file and reasons: lakeledger dlq groups"),
    }
    rows = [(name, show.count(number), what) for name, (number, what) in became.items()]
    show.print_table(["customer events", ">events", "+what became of them"], rows)


def _print_history(shop: Demo, counted: Tally) -> None:
    """The versions of whoever has the most, of those who are left."""
    chosen = max(counted.customers, key=lambda number: (len(counted.history[number]), -number))
    found = [row for row in shop.read(oracle.HISTORY) if row["customer_id"] == chosen]
    rows = [
        (
            row["city"],
            f"{row['updated_at']:%Y-%m-%d %H:%M}",
            str(row["__START_AT"][0]),
            str(row["__END_AT"][0]) if row["__END_AT"] else "",
            "yes" if row["__CURRENT"] else "",
        )
        for row in sorted(found, key=lambda row: row["__START_AT"])
    ]
    title = f"silver.customer_history of customer {chosen}, {found[0]['name']}"
    show.print_table(["city", "updated_at", ">__START_AT (LSN)", ">__END_AT", "__CURRENT"], rows, title)


def _print_revenue(shop: Demo) -> None:
    from rich.text import Text

    days = sorted(shop.read("gold.daily_revenue"), key=lambda row: row["order_date"])[-LAST_DAYS:]
    most = max(row["revenue"] for row in days)
    rows = [
        (
            f"{row['order_date']:%a %d %b}",
            show.count(row["orders"]),
            f"{row['revenue']:,.2f}",
            Text("█" * round(BAR_WIDTH * row["revenue"] / most), style="cyan"),
        )
        for row in days
    ]
    show.print_table(["gold.daily_revenue", ">orders", ">revenue", ""], rows)


def _location(shop: Demo) -> dict[str, str]:
    ledger = shop.ledger
    pipeline, landing = shop.folder / YAML, shop.folder / "landing"
    return {"ledger": ledger.database.url, "warehouse": ledger.warehouse, "landing": str(landing), "pipeline": str(pipeline)}


def _print_query(shop: Demo) -> None:
    """How DuckDB reads a table, if it can: a folder of an earlier release may say that nothing is published."""
    with suppress(Conflict):
        code = shop.ledger.publisher.read_with("duckdb", "gold.daily_revenue")
        show.print_title("the same table with DuckDB")
        click.echo("\n".join(line for line in code.splitlines() if not line.startswith("--")) + "\n")


def _print_next(folder: str) -> None:
    tries = {
        **({} if shutil.which("lakeledger") else {f"export PATH={shlex.quote(str(Path(sys.executable).parent))}:$PATH": ""}),
        f"cd {shlex.quote(folder)}": "",
        **{f"unset {name}": "it would lead to another ledger" for name in ELSEWHERE if os.environ.get(name)},
        "lakeledger tables history gold.daily_revenue": "each version, and the run that made it",
        "lakeledger positions show shop.orders": "how far it was read, and from which files",
        "lakeledger tables read-with polars gold.daily_revenue": "code for Polars, pyiceberg, Spark",
        "lakeledger compact bronze.orders": "its files by size, and why none is written together now",
        "lakeledger dlq groups": "bad events and wrong lines, by reason",
        "lakeledger quality list": "what came of expectations, load by load",
        "lakeledger bands show bronze.orders --plot -": "how many orders a day are usual, and which days were not",
        "lakeledger run shop.yaml --sample 5 --module shop": "5 rows of each source into scratch tables",
        "lakeledger tables verify --all": "every file against its checksum",
        f"lakeledger run {YAML}": "nothing new: nothing loaded twice",
    }
    show.print_title("try next")
    show.print_facts(tries)


def _span(days: Sequence[date]) -> str:
    return f"{_count(days)} ({days[0]} to {days[-1]})"


def _count(days: Sequence[date]) -> str:
    return f"{len(days)} day{'' if len(days) == 1 else 's'}"
