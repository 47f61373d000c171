"""`lakeledger positions remove`: a source that is no longer read is forgotten, and pins no version any more."""

from __future__ import annotations

import shlex

import click

from lakeledger.cli import places, show
from lakeledger.cli.acting import operator
from lakeledger.cli.options import Options, shared
from lakeledger.sync import Marker, Positions
from lakeledger.sync.kinds import VersionsPosition


@click.command()
@click.argument("source")
@places.TYPE
@click.option("--expect-version", type=click.IntRange(1, places.MAX_VERSION), metavar="N", help="Only if it still stands at this version.")
@click.option("--reason", metavar="TEXT", help="Why: it is kept.")
@click.option("--apply", is_flag=True, help="Remove it; without it nothing is touched.")
@shared('{"applied": …, "position": row of sync_markers, "tables": [name], "pinned": {table: version}}')
def remove(options: Options, source: str, marker_type: str | None, expect_version: int | None, reason: str | None, apply: bool) -> None:
    """Forget where a source stands; without --apply nothing is touched.

    For a source that is gone from the configuration: as long as it has a position, the versions of tables that it reads piece by piece do
    not expire. What it has loaded stays. `positions history` tells that it was removed.

      lakeledger positions remove shop.orders --reason "replaced by shop.sales" --apply
    """
    with options.open() as ledger:
        marker = places.get(ledger.positions.list(), source, marker_type)
        tables, pinned = ledger.batches.tables(marker.source), _pinned(marker)
        acting = Positions(ledger.store, operator())
        if apply:
            marker = acting.remove(marker.source, expect_version or marker.version, reason=reason)
    if options.as_json:
        show.print_json({"applied": apply, "position": marker, "tables": tables, "pinned": pinned})
        return
    show.print_facts(
        {
            "source": f"{marker.source.name} ({marker.marker_type})",
            "position": f"{places.describe(marker.position_kind, marker.position_data)}, version {marker.version}",
            "moved": show.moment(marker.last_updated),
            "keeps": ", ".join(f"{table} from version {version} on" for table, version in pinned.items()) or None,
            "has loaded": ", ".join(tables) or None,
        }
    )
    if tables:
        click.echo(
            f"{', '.join(tables)} may hold rows of it: should {marker.source.name} run again, it is refused until a position is set "
            "(`positions set`) or everything is loaded with a full refresh, because its rows would come twice"
        )
    words = f"{shlex.quote(source)}{places.type_option(marker_type)}"
    if apply:
        show.print_text(f"{marker.source.name} has no position any more")
        show.print_next(options.command(f"positions history {words}"))
        return
    click.echo("nothing was changed")
    why = shlex.quote(reason or "<why>")
    show.print_next(options.command(f"positions remove {words} --expect-version {marker.version} --reason {why} --apply"))


def _pinned(marker: Marker) -> dict[str, int]:
    """The tables that the source reads piece by piece, and up to which version it has."""
    position = marker.position
    return dict(position.versions) if isinstance(position, VersionsPosition) else {}
