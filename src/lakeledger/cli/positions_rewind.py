"""`lakeledger positions rewind`: what would be read again if a source went back, and then going back."""

from __future__ import annotations

import shlex
from datetime import datetime

import click

from lakeledger import codec
from lakeledger.cli import places, show
from lakeledger.cli.acting import operator
from lakeledger.cli.options import Options, shared
from lakeledger.errors import Conflict, Invalid
from lakeledger.sync import Marker, Positions, Rewind, Target


@click.command()
@click.argument("source")
@places.TYPE
@click.option("--to-version", type=click.IntRange(1, places.MAX_VERSION), metavar="N", help="To what it was at this version.")
@click.option("--to-time", metavar="TIME", help="To what it was at this time: 2026-01-31T12:00:00Z.")
@click.option("--to", "place", metavar="POSITION", help="To this position: JSON, or a word as `positions set` takes it.")
@click.option("--kind", type=click.Choice(places.TYPED), help="What kind of position --to is; by default the source's.")
@click.option("--expect-version", type=click.IntRange(1, places.MAX_VERSION), metavar="N", help="Only if it still stands at this version.")
@click.option("--reason", metavar="TEXT", help="Why: it is kept with the position. Needed where rows would come twice.")
@click.option("--apply", is_flag=True, help="Go back; without it nothing is touched.")
@shared(
    '{"applied": …, "position": row of sync_markers, "to": {"position_kind", "position_data"}, "undone": [row of sync_marker_history], '
    '"runs": n, "records": n, "files": [{"path", "size", "modified_at", "content_hash"}], "distance": …, '
    '"appended_rows": n, "appended_bound": …}'
)
def rewind(
    options: Options,
    source: str,
    marker_type: str | None,
    to_version: int | None,
    to_time: str | None,
    place: str | None,
    kind: str | None,
    expect_version: int | None,
    reason: str | None,
    apply: bool,
) -> None:
    """Show what going back would read again; with --apply go back.

    Without --apply nothing is touched. Only the position goes back: a source that appends then appends the same rows a second time, which
    the preview counts and --apply refuses without --reason.

      lakeledger positions rewind shop.orders --to-version 7
      lakeledger positions rewind shop.orders --to-time 2026-01-31T12:00:00Z --reason "late files" --apply
    """
    if sum(each is not None for each in (to_version, to_time, place)) != 1:
        raise click.UsageError("give one of --to-version, --to-time and --to")
    with options.open() as ledger:
        current = places.get(ledger.positions.list(), source, marker_type)
        _check_version(current, expect_version)
        to = places.parse(place, kind or current.position_kind) if place is not None else None
        plan = ledger.positions.preview_rewind(current.source, Target(to_version, _time(to_time), to))
        _check_version(plan.current, expect_version)
        moved = Positions(ledger.store, operator()).rewind(plan, reason) if apply else plan.current
    if options.as_json:
        show.print_json({"applied": apply, "position": moved, **_document(plan)})
        return
    _print_plan(plan)
    if apply:
        show.print_text(f"{plan.source.name} went back: it is at version {moved.version} now")
        show.print_next(options.command(f"positions history {shlex.quote(source)}{places.type_option(marker_type)}"))
    else:
        click.echo("nothing was changed")
        reason = reason or ("<why>" if plan.needs_reason else None)
        given = {"--type": marker_type, "--to-version": to_version, "--to-time": to_time, "--to": place, "--kind": kind, "--reason": reason}
        show.print_next(options.command(_again(plan, source, given)))


def _check_version(marker: Marker, expected: int | None) -> None:
    if expected not in (None, marker.version):
        raise Conflict(f"{marker.source.name} stands at version {marker.version}, not at {expected}: look at a new preview first")


def _time(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        return codec.to_time(text)
    except (ValueError, OverflowError) as error:
        raise Invalid(f"--to-time {text!r} is no time: write 2026-01-31T12:00:00Z") from error


def _document(plan: Rewind) -> dict[str, object]:
    return {
        "to": {"position_kind": plan.to.kind, "position_data": plan.to.document()},
        "undone": plan.undone,
        "runs": plan.runs,
        "records": plan.records,
        "files": plan.files,
        "distance": plan.distance,
        "appended_rows": plan.appended_rows,
        "appended_bound": plan.appended_bound,
    }


def _print_plan(plan: Rewind) -> None:
    current = plan.current
    again = [show.plural(plan.records, "record") + f" of {show.plural(plan.runs, 'run')}"] if plan.runs else []
    again += [show.plural(len(plan.files), "file")] if plan.files else []
    show.print_facts(
        {
            "source": f"{current.source.name} ({current.marker_type})",
            "from": f"{places.describe(current.position_kind, current.position_data)}, version {current.version}",
            "back to": places.describe(plan.to.kind, plan.to.document()),
            "between": plan.distance,
            "reads again": ", ".join(again) or "what no run of the ledger has counted",
            "comes twice": f"{plan.appended}: already in the table" if plan.needs_reason else None,
        }
    )
    places.print_changes(list(reversed(plan.undone)), "moves undone")
    if plan.files:
        places.print_files(plan.files, "files read again")


def _again(plan: Rewind, source: str, given: dict[str, str | int | None]) -> str:
    """The command that does what was shown, and nothing if the source has moved meanwhile."""
    words = [word for name, value in given.items() if value is not None for word in (name, shlex.quote(str(value)))]
    return " ".join(["positions rewind", shlex.quote(source), *words, "--expect-version", str(plan.current.version), "--apply"])
