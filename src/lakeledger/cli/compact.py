"""`lakeledger compact`: small files are written together, for one table or for all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from lakeledger.cli import DONE, FAILED, PARTLY_FAILED, show
from lakeledger.cli.options import Options, shared
from lakeledger.cli.ticker import ticking

if TYPE_CHECKING:
    from lakeledger.maintenance.compaction import Compacted

LINES = 20
BAR_WIDTH = 30
SHAPE = (
    '{"applied": …, "tables": [{"table", "before": [{"below", "files", "bytes"}], "files_before", "after", "files_after", "groups": '
    '[{"partition", "files", "bytes", "rows", "why"}], "left": [{"partition", "files", "why", "is_hot"}], "groups_done", "bytes_read", '
    '"bytes_written", "seconds", "versions", "run_id", "problem"}]}'
)


@click.command()
@click.argument("names", nargs=-1, metavar="[TABLE]...")
@click.option("--apply", is_flag=True, help="Do it; without it nothing is touched.")
@click.option("--now", is_flag=True, help="Also what was written just now, which is else left alone until it is quiet.")
@click.option("--reason", metavar="TEXT", help="Why, for whoever looks at the run later.")
@shared(SHAPE)
def compact(options: Options, names: tuple[str, ...], apply: bool, now: bool, reason: str | None) -> int:
    """Write small files together: what would be done, and why or why not.

    Files of one partition that are neighbours by key become one file of about `compaction.target_bytes`, with the same rows. Whoever
    writes meanwhile goes first. Earlier versions keep their files until they expire. Without --apply nothing is touched, and no Spark is
    started. Exits with 3 if some of the tables could not be compacted.

      lakeledger compact
      lakeledger compact bronze.orders --apply
    """
    with options.open() as ledger, ticking("compacting", silent=options.as_json or not apply) as tick:
        done = ledger.compaction.compact(names, apply=apply, now=now, reason=reason, progress=tick)
    if options.as_json:
        show.print_json({"applied": apply, "tables": [each.document() for each in done]})
        return _code(done)
    for each in done:
        if each.plan.groups or names or any(part.is_hot for part in each.plan.left):
            print_compacted(each)
    groups = sum(len(each.plan.groups) for each in done)
    count = show.plural(len(done), "table")
    if apply:
        files = sum(each.files_before - each.files_after for each in done if each.run_id)
        click.echo(f"{count} looked at, {show.plural(files, 'file')} fewer")
    else:
        click.echo(f"{count} looked at, {show.plural(groups, 'group')} of files would become one file each")
    for each in done:
        if each.problem:
            show.print_error(f"{each.table}: {each.problem}")
    runs = [each.run_id for each in done if each.run_id]
    if groups and not apply:
        show.print_next(options.command(" ".join(["compact", *names, *(["--now"] if now else []), "--apply"])))
    elif runs:
        show.print_next(options.command(f"runs show {runs[0][: show.SHORT_ID]}"))
    return _code(done)


def print_compacted(each: Compacted) -> None:
    """A table's files by size, before and after; which are written together and why; and which are not."""
    print_bars(f"{each.table}: {show.plural(each.files_before, 'file')}", each.before)
    if each.plan.groups:
        rows = [
            (group.partition or "the table", show.count(len(group.files)), show.size(group.size), group.why) for group in each.plan.groups
        ]
        show.print_table(["~partition", ">files", ">size", "+why"], _first(rows))
    if each.plan.left:
        left = [(part.partition or "the table", show.count(part.files), part.why) for part in each.plan.left]
        show.print_table(["~left as it is", ">files", "+why"], _first(left))
    if each.run_id:
        took = f"{show.size(each.bytes_read)} read, {show.size(each.bytes_written)} written, {show.duration(each.seconds * 1000)}"
        print_bars(f"{each.table} now: {show.plural(each.files_after, 'file')} ({took})", each.after)


def print_bars(title: str, bars: Sequence[dict[str, int | None]]) -> None:
    """A histogram of files by size."""
    most = max((bar["files"] or 0 for bar in bars), default=1)
    rows = [
        (
            f"below {show.size(bar['below'])}" if bar["below"] else "larger",
            show.count(bar["files"]),
            show.size(bar["bytes"]),
            "█" * -(-BAR_WIDTH * (bar["files"] or 0) // max(most, 1)),
        )
        for bar in bars
    ]
    show.print_table(["size of file", ">files", ">bytes", ""], rows, title)


def _first(rows: Sequence[tuple[str, ...]]) -> Sequence[tuple[str, ...]]:
    if len(rows) <= LINES:
        return rows
    more: tuple[Any, ...] = (f"… {len(rows) - LINES:,} more: --json shows all", *[""] * (len(rows[0]) - 1))
    return [*rows[:LINES], more]


def _code(done: Sequence[Compacted]) -> int:
    wrong = [each for each in done if each.problem]
    return DONE if not wrong else FAILED if len(wrong) == len(done) else PARTLY_FAILED
