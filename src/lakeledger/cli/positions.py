"""`lakeledger positions`: where capture stands."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

import click

from lakeledger.cli import places, show
from lakeledger.cli.acting import operator
from lakeledger.cli.options import Options, paged, shared
from lakeledger.cli.positions_exchange import export_positions, import_positions
from lakeledger.cli.positions_remove import remove
from lakeledger.cli.positions_rewind import rewind
from lakeledger.db.pages import Page
from lakeledger.errors import Invalid
from lakeledger.runs import Transition
from lakeledger.sync import Marker, MarkerType, Positions, parse_source


@click.group()
def positions() -> None:
    """Where capture stands: how far each source was read."""


@positions.command("list")
@click.option("--schema", metavar="NAME", help="Only the sources of this schema.")
@places.TYPE
@paged(1_000)
@shared('{"positions": [row of sync_markers], "next"}')
def list_positions(options: Options, schema: str | None, marker_type: str | None, limit: int, after: str | None) -> None:
    """Every source and its position.

    lakeledger positions list --schema shop
    """
    with options.open() as ledger:
        found = places.page(places.chosen(ledger.positions.list(), schema, marker_type), limit, after)
    if options.as_json:
        show.print_json({"positions": found, "next": found.next})
        return
    if not found:
        narrowed = schema or marker_type
        click.echo("no such source" if narrowed else "no source was read yet")
        show.print_next(options.command("positions list" if narrowed else "run"))
        return
    ids = show.short_ids([marker.sync_run_id or "" for marker in found])
    rows = [
        (
            marker.source.name,
            marker.marker_type,
            places.describe(marker.position_kind, marker.position_data),
            show.count(marker.version),
            show.ago(marker.last_updated),
            run,
        )
        for marker, run in zip(found, ids, strict=True)
    ]
    show.print_table(["~source", "type", "~position", ">version", "moved", "by run"], rows)
    show.print_more(found.next)
    show.print_next(options.command(f"positions show {shlex.quote(found[0].source.name)}{places.type_option(_type_needed(found))}"))


@positions.command("show")
@click.argument("source")
@places.TYPE
@paged(places.SHOWN)
@shared(
    '{"position": row of sync_markers, "history": [row of sync_marker_history], "files": [{"path", "size", "modified_at", '
    '"content_hash"}], "next"}'
)
def show_position(options: Options, source: str, marker_type: str | None, limit: int, after: str | None) -> None:
    """One source: its position, the last values it had, and the files that were read, the last name first.

    --limit and --after are about the files; `positions history` goes through the values.

      lakeledger positions show shop.orders
    """
    with options.open() as ledger:
        marker = places.get(ledger.positions.list(), source, marker_type)
        changes = ledger.positions.history(marker.source, places.SHOWN)
        files = ledger.positions.files(marker.source, limit, after)
    if options.as_json:
        show.print_json({"position": marker, "history": changes, "files": files, "next": files.next})
        return
    show.print_facts(
        {
            "source": f"{marker.source.name} ({marker.marker_type})",
            "position": places.describe(marker.position_kind, marker.position_data),
            "kind": marker.position_kind,
            "version": show.count(marker.version),
            "moved": show.moment(marker.last_updated),
            "by run": marker.sync_run_id,
        }
    )
    places.print_changes(changes, f"history: the last {len(changes)}" if changes.next else "history")
    if files:
        places.print_files(files, "files read", limit)
    show.print_more(files.next)
    show.print_next(options.command(f"runs show {marker.sync_run_id[: show.SHORT_ID]}" if marker.sync_run_id else "positions list"))


@positions.command()
@click.argument("source")
@places.TYPE
@paged()
@shared('{"position": row of sync_markers, "history": [row of sync_marker_history], "removals": [row of state_transitions], "next"}')
def history(options: Options, source: str, marker_type: str | None, limit: int, after: str | None) -> None:
    """The values that a source's position had, newest first, and whether one was removed before.

    lakeledger positions history shop.orders --limit 5
    """
    with options.open() as ledger:
        markers = ledger.positions.list()
        marker = places.find(markers, source, marker_type)
        removals = _removals(ledger.positions, source, marker.marker_type if marker else marker_type)
        if marker is None and not removals:
            marker = places.get(markers, source, marker_type)
        changes = ledger.positions.history(marker.source, limit, after) if marker else Page([], None)
    if options.as_json:
        show.print_json({"position": marker, "history": changes, "removals": removals, "next": changes.next})
        return
    if removals:
        rows = [(each.from_status or "", show.moment(each.at) or "", each.actor, each.reason or "") for each in removals]
        show.print_table(["was at", "removed", "~by", "~reason"], rows, title="removed")
    if marker is None:
        show.print_next(options.command("positions list"))
        return
    places.print_changes(changes, f"{marker.source.name} ({marker.marker_type})", limit)
    show.print_more(changes.next)
    if len(changes) > 1:
        show.print_next(
            options.command(f"positions rewind {shlex.quote(source)} --to-version {changes[1].version}{places.type_option(marker_type)}")
        )


@positions.command("set")
@click.argument("source")
@click.argument("position")
@click.option("--kind", type=click.Choice(places.TYPED), help="What kind of position it is; JSON tells it by itself.")
@places.TYPE
@click.option("--order-by", metavar="FIELD", help="The field that puts a free document in order.")
@click.option(
    "--expect-version", type=click.IntRange(0, places.MAX_VERSION), metavar="N", help="Only from this version; 0: only if there is none."
)
@click.option("--force", is_flag=True, help="Even back, or to another kind of position. Needs --reason.")
@click.option("--reason", metavar="TEXT", help="Why: it is kept with the position.")
@shared('{"position": row of sync_markers}')
def set_position(
    options: Options,
    source: str,
    position: str,
    kind: str | None,
    marker_type: str | None,
    order_by: str | None,
    expect_version: int | None,
    force: bool,
    reason: str | None,
) -> None:
    """Move a source to POSITION: a JSON object, or a word such as 42 for simple kinds.

    It does not go back unless it is forced. A source that is not there yet begins with --type.

      lakeledger positions set shop.orders 2026-01-31T12:00:00Z
      lakeledger positions set crm 16/B374D848 --kind lsn --type stream
    """
    if force and not (reason or "").strip():
        raise Invalid("--force needs --reason: say why, for whoever reads the history")
    with options.open() as ledger:
        markers = ledger.positions.list()
        current = places.find(markers, source, marker_type)
        if current is None and marker_type is None:
            raise places.missing(markers, source)
        to = places.parse(position, kind or (current.position_kind if current else None), order_by)
        which = current.source if current else parse_source(source, marker_type or MarkerType.BATCH)
        acting = Positions(ledger.store, operator())
        marker = acting.advance(which, to, expect_version, force=force, reason=reason)
    if options.as_json:
        show.print_json({"position": marker})
        return
    steps = [places.describe(each.position_kind, each.position_data) for each in (current, marker) if each]
    show.print_text(f"{which.name} ({which.marker_type}): {' → '.join(steps)}, version {marker.version}")
    show.print_next(options.command(f"positions history {shlex.quote(source)}{places.type_option(marker_type)}"))


positions.add_command(rewind)
positions.add_command(remove)
positions.add_command(import_positions)
positions.add_command(export_positions)


def _removals(positions: Positions, source: str, marker_type: str | None) -> list[Transition]:
    """Every removal of a source's position, read in that way, or in any."""
    types = [marker_type] if marker_type else [each.value for each in MarkerType]
    return [each for type_ in types for each in positions.removals(parse_source(source, type_))]


def _type_needed(found: Sequence[Marker]) -> str | None:
    """The type of the first source, if its name alone does not say which is meant."""
    first, *others = found
    return first.marker_type if any(each.name_key == first.name_key for each in others) else None
