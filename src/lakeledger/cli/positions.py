"""`lakeledger positions`: where capture stands."""

from __future__ import annotations

from typing import Any

import click

from lakeledger import Ledger
from lakeledger.cli import show
from lakeledger.cli.options import Options, shared
from lakeledger.sync import Marker

SHOWN = 20


@click.group()
def positions() -> None:
    """Where capture stands: how far each source was read."""


@positions.command("list")
@shared('{"positions": [row of sync_markers]}')
def list_positions(options: Options) -> None:
    """Every source and its position.

    lakeledger positions list
    """
    with options.open() as ledger:
        found = ledger.positions.list()
    if options.as_json:
        show.print_json({"positions": found})
        return
    if not found:
        click.echo("no source was read yet")
        show.print_next(options.command("run"))
        return
    ids = show.short_ids([marker.sync_run_id or "" for marker in found])
    rows = [
        (
            marker.source.name,
            describe(marker.position_kind, marker.position_data),
            show.count(marker.version),
            show.ago(marker.last_updated),
            run,
        )
        for marker, run in zip(found, ids, strict=True)
    ]
    show.print_table(["~source", "~position", ">version", "moved", "by run"], rows)
    show.print_next(options.command(f"positions show {found[0].source.name}"))


@positions.command("show")
@click.argument("source")
@shared(
    '{"position": row of sync_markers, "history": [row of sync_marker_history], "files": [{"path", "size", "modified_at", "content_hash"}]}'
)
def show_position(options: Options, source: str) -> None:
    """One source: its position, every value it had, and the files that were read.

    lakeledger positions show shop.orders
    """
    with options.open() as ledger:
        marker = _find(ledger, source)
        history = ledger.positions.history(marker.source)
        files = ledger.positions.files(marker.source)
    if options.as_json:
        show.print_json({"position": marker, "history": history, "files": files})
        return
    show.print_facts(
        {
            "source": marker.source.name,
            "position": describe(marker.position_kind, marker.position_data),
            "version": show.count(marker.version),
            "moved": show.moment(marker.last_updated),
            "by run": marker.sync_run_id,
        }
    )
    rows = [
        (
            show.count(change.version),
            describe(change.position_kind, change.position_data),
            f"{change.updated_at:%Y-%m-%d %H:%M:%S}",
            change.updated_by,
            ("forced: " if change.forced else "") + (change.reason or ""),
        )
        for change in reversed(history)
    ]
    show.print_table([">version", "~position", "moved at", "~by", "~reason"], rows[:SHOWN], _title("history", len(rows), "values"))
    if files:
        lines = [(file.path, show.size(file.size), f"{file.modified_at:%Y-%m-%d %H:%M:%S}") for file in files]
        show.print_table(["+file", ">size", "modified at"], lines[-SHOWN:], _title("files read", len(lines), "files"))
    show.print_next(options.command(f"runs show {marker.sync_run_id[: show.SHORT_ID]}" if marker.sync_run_id else "positions list"))


def describe(kind: str, document: dict[str, Any]) -> str:
    """A position in a few words."""
    match kind:
        case "files":
            return show.plural(int(document.get("files", 0)), "file")
        case "timestamp" | "number":
            return str(next(iter(document.values()), ""))
        case _:
            return ", ".join(f"{name}={value}" for name, value in document.items())


def _find(ledger: Ledger, name: str) -> Marker:
    """The source with that name, also where the name of its module has a dot. Raises NotFound or Invalid."""
    known = next((marker for marker in ledger.positions.list() if marker.source.name == name), None)
    return known or ledger.positions.get(name)


def _title(what: str, number: int, unit: str) -> str:
    return what if number <= SHOWN else f"{what}: the last {SHOWN} of {number:,} {unit} (--json gives all)"
