"""`lakeledger monitor`: keep jobs in step with the control table and a folder of YAML files."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

import click

from lakeledger.cli import DONE, FAILED, PARTLY_FAILED, show
from lakeledger.cli.control_table import CONTROL, open_table
from lakeledger.cli.options import Options, shared
from lakeledger.cli.stopping import when_told
from lakeledger.redaction import scrub

if TYPE_CHECKING:
    from lakeledger.control.monitor import Cycle

# A process that runs for months remembers only what it saw lately.
REMEMBERED = 1_000
CYCLE = '{"version", "imported": [[module, source]], "applied": [{"module_name", "action", "job_id", "error"}], "errors": [line]}'


@click.command("monitor")
@click.option("--folder", metavar="FOLDER", help="Import the YAML files below it, too; by default control.folder of the settings.")
@click.option("--interval", type=click.FloatRange(min=0, min_open=True), default=60, show_default=True, help="Seconds between two looks.")
@click.option("--iterations", type=click.IntRange(min=1), metavar="N", help="End after so many looks.")
@CONTROL
@shared(f'{{"looks": n, "cursor": version or null, "cycles": [{CYCLE}]}}')
def monitor(options: Options, folder: str | None, interval: float, iterations: int | None, control_table: str | None) -> int:
    """Apply what changes in the control table, and import what changes in a folder, until it is told to end.

    What goes wrong is told and tried again at the next look, and a file that may still be written is left for it. With --iterations
    the last look waits for such files, and the exit code is its own: 3 if something went wrong while something else was done, 1 if
    nothing was.

      lakeledger monitor --folder pipelines --interval 30
      lakeledger monitor --iterations 1
    """
    from lakeledger.control.monitor import MetadataMonitor
    from lakeledger.control.opening import locate
    from lakeledger.control.table import is_catalog_name

    seen: deque[Cycle] = deque(maxlen=REMEMBERED)

    def tell(cycle: Cycle) -> None:
        seen.append(cycle)
        if not options.as_json:
            _print(cycle)

    with open_table(options, control_table, must_exist=False) as control:
        settings, location = control.ledger.settings, control.table.location
        configured = locate(settings.control.folder, settings.base) if settings.control.folder else None
        spark = control.ledger.spark if is_catalog_name(location) else None
        watcher = MetadataMonitor(location, folder or configured, interval, ledger=control.ledger, spark=spark, tell=tell)
        if not options.as_json:
            follows = f"{folder or configured} and " if folder or configured else ""
            show.print_event(f"following {follows}{location}; Ctrl-C ends it")
        with when_told(watcher.stop):
            looks = watcher.run_continuous(iterations)
        cursor = watcher.cursor()
    if options.as_json:
        show.print_json({"looks": looks, "cursor": cursor, "cycles": [_document(cycle) for cycle in seen]})
    elif not any(cycle.did_something for cycle in seen):
        click.echo("nothing to do: every job is what the control table says")
    return _code(seen[-1]) if iterations and seen else DONE


def _code(last: Cycle) -> int:
    if not last.errors:
        return DONE
    return PARTLY_FAILED if any(not each.error for each in last.applied) else FAILED


def _print(cycle: Cycle) -> None:
    if cycle.imported and cycle.imported.changed:
        click.echo(f"imported {show.plural(len(cycle.imported.changed), 'row')}: the control table is at version {cycle.version}")
    for each in cycle.applied:
        if each.action.does_something and not each.error:
            click.echo(show.safe(f"{each.module_name}: {each.action.kind} job {each.job_id}"))


def _document(cycle: Cycle) -> dict[str, Any]:
    return {
        "version": cycle.version,
        "imported": [list(key) for key in cycle.imported.changed] if cycle.imported else [],
        "applied": [{**each.to_dict(), "error": each.error and scrub(each.error)} for each in cycle.applied],
        "errors": [scrub(error) for error in cycle.errors],
    }
