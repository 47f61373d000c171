"""`lakeledger sync`: how capture does, and what keeps it in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import timedelta
from typing import Any

import click

from lakeledger.cli import show
from lakeledger.cli.options import Options, paged, shared
from lakeledger.cli.sync_figures import facts
from lakeledger.cli.ticker import ticking
from lakeledger.config import RetentionSettings
from lakeledger.sync import SyncRun
from lakeledger.sync.statistics import LONGEST_HOURS

MAX_DAYS = 36_500
# What cleanup goes through: what it is, and the setting that says how long it is kept.
CLEANED = {
    "dead_letter_queue": ("settled dead letters", "dead_letters_days"),
    "error_log": ("settled errors", "errors_days"),
    "sync_marker_history": ("earlier positions", "positions_days"),
    "metadata_records": ("records", "records_days"),
    "dq_results": ("quality results, with their checks", "quality_days"),
    "recon_results": ("results of reconciliations", "records_days"),
    "local_job_runs": ("runs of local jobs", "runs_days"),
    "pipeline_runs": ("runs that ended; with a key {keyed_runs_days:g} days", "runs_days"),
    "change_log": ("events that every subscriber has read", "changes_days"),
    "schema_registry": ("older schema versions, moved to the records", "schema_versions"),
}


@click.group()
def sync() -> None:
    """How capture does: figures, runs, recovery, cleanup."""


@sync.command()
@click.option("--schema", metavar="NAME", help="Only this schema.")
@click.option("--hours", type=click.IntRange(1, LONGEST_HOURS), default=24, show_default=True, help="The last hours.")
@shared(
    '{"statistics": {"schema_name", "hours", "since", "sync_runs": {…}, "errors": {…, "by_type", "trend"}, "dead_letters": {…}, '
    '"markers": {…}, "resources": {…}}}'
)
def stats(options: Options, schema: str | None, hours: int) -> None:
    """Figures of the last hours: runs, throughput, errors, dead letters, positions.

    lakeledger sync stats --schema shop --hours 48
    """
    with options.open() as ledger:
        figures = ledger.sync.statistics(schema, hours)
    if options.as_json:
        show.print_json({"statistics": figures})
        return
    show.print_title(f"{schema or 'every schema'}, the last {show.plural(hours, 'hour')}")
    show.print_facts(facts(figures))
    show.print_next(options.command(_worth_a_look(figures)))


@sync.command()
@click.option("--schema", metavar="NAME", help="Only the runs of this schema.")
@paged()
@shared('{"runs": [row of sync_runs], "next"}')
def runs(options: Options, schema: str | None, limit: int, after: str | None) -> None:
    """Sync runs, newest first.

    lakeledger sync runs --schema shop
    """
    with options.open() as ledger:
        found = ledger.sync.runs.list(schema, limit, after)
    if options.as_json:
        show.print_json({"runs": found, "next": found.next})
        return
    if not found:
        click.echo("no sync runs")
        return
    print_runs(found)
    show.print_more(found.next)
    show.print_next(options.command(f"runs show {show.short_ids([run.id for run in found])[0]}"))


@sync.command()
@click.option("--max-age-hours", type=click.IntRange(0, LONGEST_HOURS), default=24, show_default=True, help="How long one may be silent.")
@shared('{"runs": [row of sync_runs]}')
def recover(options: Options, max_age_hours: int) -> None:
    """End the sync runs whose worker is lost, or gave no sign for so long. A living one may take its time.

    lakeledger sync recover
    """
    with options.open() as ledger:
        ended = ledger.sync.runs.recover(timedelta(hours=max_age_hours))
    if options.as_json:
        show.print_json({"runs": ended})
        return
    if not ended:
        click.echo("no sync run is lost")
        return
    print_runs(ended)
    show.print_next(options.command("sync stats"))


@sync.command()
@click.option(
    "--days",
    type=click.IntRange(0, MAX_DAYS),
    help="Keep so many days of runs, errors, dead letters and earlier positions, and of runs with a key at least as many as"
    " the settings say; records, quality results and events are kept as they say.",
)
@click.option("--delete", is_flag=True, help="Delete what is counted; without it nothing is touched.")
@shared(
    '{"deleted": …, "retention": {"runs_days", "errors_days", "dead_letters_days", "positions_days", "keyed_runs_days", "records_days", '
    '"quality_days", "changes_days", "schema_versions"}, "rows": {table: n}}'
)
def cleanup(options: Options, days: int | None, delete: bool) -> None:
    """Count, or delete, what is over and older than its retention.

    Without --delete nothing is touched. What is open, pending, running or current is never counted.

      lakeledger sync cleanup --days 90
      lakeledger sync cleanup --days 90 --delete
    """
    with options.open() as ledger:
        retention = ledger.sync.retention.of_days(days)
        with ticking("deleting", silent=options.as_json or not delete) as tick:
            rows = ledger.sync.cleanup(retention, dry_run=not delete, progress=tick)
    if options.as_json:
        show.print_json({"deleted": delete, "retention": asdict(retention), "rows": rows})
        return
    lines = [(table, _what(table, retention), _kept(table, retention), show.count(number)) for table, number in rows.items()]
    show.print_table(["table", "what", "kept", ">rows"], lines)
    total = show.plural(sum(rows.values()), "row")
    click.echo(f"{total} {'cleaned up' if delete else 'would be cleaned up'}")
    if any(rows.values()) and not delete:
        show.print_next(options.command(f"sync cleanup{'' if days is None else f' --days {days}'} --delete"))


def print_runs(found: Sequence[SyncRun]) -> None:
    """A line per sync run."""
    ids = show.short_ids([run.id for run in found])
    rows = [
        (
            short,
            run.schema_name,
            run.sync_mode or "",
            show.status(run.status.value.upper()),
            show.count(run.records_processed),
            show.size(run.bytes_processed) if run.bytes_processed else "",
            show.duration(run.duration_ms),
            show.ago(run.started_at),
            run.error_message or "",
        )
        for short, run in zip(ids, found, strict=True)
    ]
    show.print_table(["run", "~schema", "mode", "status", ">records", ">size", ">took", "started", "~error"], rows)


def _worth_a_look(figures: Mapping[str, Any]) -> str:
    """The command that shows more of what is most likely wrong."""
    if figures["errors"]["open_errors"]:
        return "errors groups"
    return "dlq groups" if figures["dead_letters"]["pending"] else "sync runs"


def _what(table: str, retention: RetentionSettings) -> str:
    return CLEANED[table][0].format(**vars(retention))


def _kept(table: str, retention: RetentionSettings) -> str:
    setting = CLEANED[table][1]
    unit = "version" if setting == "schema_versions" else "day"
    return f"{getattr(retention, setting):g} {unit}s"
