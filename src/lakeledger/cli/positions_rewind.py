"""`lakeledger positions rewind`: what would be read again if a source went back, and then going back."""

from __future__ import annotations

import shlex
from datetime import datetime
from typing import TYPE_CHECKING

import click

from lakeledger import codec
from lakeledger.cli import places, show
from lakeledger.cli.acting import operator
from lakeledger.cli.options import Options, shared
from lakeledger.errors import Conflict, Invalid
from lakeledger.sync import Marker, Positions, Rewind, Target

if TYPE_CHECKING:
    from lakeledger.batches import TakeBack
    from lakeledger.ledger import Ledger


@click.command()
@click.argument("source")
@places.TYPE
@click.option("--to-version", type=click.IntRange(1, places.MAX_VERSION), metavar="N", help="To what it was at this version.")
@click.option("--to-time", metavar="TIME", help="To what it was at this time: 2026-01-31T12:00:00Z.")
@click.option("--to", "place", metavar="POSITION", help="To this position: JSON, or a word as `positions set` takes it.")
@click.option("--kind", type=click.Choice(places.TYPED), help="What kind of position --to is; by default the source's.")
@click.option("--expect-version", type=click.IntRange(1, places.MAX_VERSION), metavar="N", help="Only if it still stands at this version.")
@click.option("--reason", metavar="TEXT", help="Why: it is kept with the position. Needed where rows would come twice.")
@click.option("--take-back", is_flag=True, help="Also remove the rows that came since from their tables, in the same commit.")
@click.option("--apply", is_flag=True, help="Go back; without it nothing is touched.")
@shared(
    '{"applied": …, "position": row of sync_markers, "to": {"position_kind", "position_data"}, "undone": [row of sync_marker_history], '
    '"runs": n, "records": n, "files": [{"path", "size", "modified_at", "content_hash"}], "distance": …, '
    '"appended_rows": n, "appended_bound": …, "taken_back": [{"table", "versions", "rows", "files", "bytes"}]}; '
    '"taken_back" only with --take-back'
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
    take_back: bool,
    apply: bool,
) -> None:
    """Show what going back would read again; with --apply go back.

    Without --apply nothing is touched. Only the position goes back: a source that appends then appends the same rows a second time, which
    the preview counts and --apply refuses without --reason. With --take-back the rows that came since leave their tables in the same
    commit; that is refused where they were merged or written again.

      lakeledger positions rewind shop.orders --to-version 7
      lakeledger positions rewind shop.orders --to-version 7 --take-back --apply
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
        batches = ledger.batches.preview(plan) if take_back else None
        moved = _go_back(ledger, plan, batches, reason) if apply else plan.current
    if options.as_json:
        show.print_json({"applied": apply, "position": moved, **_document(plan), **_taken_back(batches)})
        return
    _print_plan(plan, batches)
    if apply:
        show.print_text(f"{plan.source.name} went back: it is at version {moved.version} now")
        show.print_next(options.command(f"positions history {shlex.quote(source)}{places.type_option(marker_type)}"))
    else:
        click.echo("nothing was changed")
        reason = reason or ("<why>" if plan.needs_reason and not take_back else None)
        given = {"--type": marker_type, "--to-version": to_version, "--to-time": to_time, "--to": place, "--kind": kind, "--reason": reason}
        show.print_next(options.command(_again(plan, source, given, take_back=take_back)))


def _go_back(ledger: Ledger, plan: Rewind, batches: TakeBack | None, reason: str | None) -> Marker:
    if batches is None:
        return Positions(ledger.store, operator()).rewind(plan, reason)
    return ledger.batches.take_back(batches, reason, operator())


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


def _taken_back(batches: TakeBack | None) -> dict[str, object]:
    if batches is None:
        return {}
    told = [
        {"table": str(each.table), "versions": list(each.versions), "rows": each.rows, "files": each.files, "bytes": each.bytes}
        for each in batches.batches
    ]
    return {"taken_back": told}


def _print_plan(plan: Rewind, batches: TakeBack | None) -> None:
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
            "comes twice": f"{plan.appended}: already in the table" if plan.needs_reason and batches is None else None,
            "taken back": show.plural(batches.rows, "row") if batches else None,
        }
    )
    if batches and batches.batches:
        rows = [
            (str(each.table), ", ".join(map(str, each.versions)), show.count(each.rows), show.count(each.files), show.size(each.bytes))
            for each in batches.batches
        ]
        show.print_table(["~table", "~versions", ">rows", ">files", ">size"], rows, title="taken back")
    places.print_changes(list(reversed(plan.undone)), "moves undone")
    if plan.files:
        places.print_files(plan.files, "files read again")


def _again(plan: Rewind, source: str, given: dict[str, str | int | None], *, take_back: bool) -> str:
    """The command that does what was shown, and nothing if the source has moved meanwhile."""
    words = [word for name, value in given.items() if value is not None for word in (name, shlex.quote(str(value)))]
    words += ["--take-back"] if take_back else []
    return " ".join(["positions rewind", shlex.quote(source), *words, "--expect-version", str(plan.current.version), "--apply"])
