"""`lakeledger positions import` and `export`: positions that other tools wrote, and positions for them to go on from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lakeledger.cli import DONE, FAILED, PARTLY_FAILED, places, show
from lakeledger.cli.acting import error_document, operator
from lakeledger.cli.options import Options, shared
from lakeledger.cli.reading import called, read_text
from lakeledger.errors import Conflict, Invalid, NotFound
from lakeledger.sync import Marker, Positions

if TYPE_CHECKING:
    from lakeledger.sync.exchange import Foreign, Scan

# The formats of `sync.exchange`, which is loaded when it is used.
FORMATS = ("debezium", "singer", "airbyte")


@dataclass(frozen=True)
class Import:
    """What became of one position."""

    foreign: Foreign
    status: str
    marker: Marker | None
    error: Conflict | None = None

    def document(self) -> dict[str, Any]:
        """As scripts read it."""
        source = self.foreign.source
        error = error_document(self.error) if self.error else None
        return {"source": source.name, "marker_type": source.marker_type, "status": self.status, "position": self.marker, "error": error}


@click.command("import")
@click.argument("file")
@click.option("--format", type=click.Choice(FORMATS), help="Who wrote it; by default it is recognised by the content.")
@click.option("--schema", metavar="NAME", help="The schema of what has no name of its own.")
@click.option("--force", is_flag=True, help="Even back, or to another kind of position.")
@click.option("--reason", metavar="TEXT", help="Why: it is kept with the positions.")
@shared(
    '{"format": …, "positions": [{"source", "marker_type", "status": "imported", "unchanged" or "refused", '
    '"position": row of sync_markers, "error"}], "skipped": […]}'
)
def import_positions(options: Options, file: str, format: str | None, schema: str | None, force: bool, reason: str | None) -> int:
    """Take over the positions in FILE, or stdin as -: offsets of Debezium, states of Singer and Airbyte.

    A source that would go back is refused unless it is forced. Exit 3 if some were refused, 1 if all were.

      lakeledger positions import offsets.json --schema shop
      curl -s connect:8083/connectors/shop/offsets | lakeledger positions import -
    """
    found = _scan(file, format, schema)
    with options.open() as ledger:
        why = f"imported from {found.format}" + (f": {reason}" if reason else "")
        acting = Positions(ledger.store, operator())
        imports = [_import(acting, foreign, why, force=force) for foreign in found.found]
    refused = sum(each.status == "refused" for each in imports)
    code = DONE if not refused else FAILED if refused == len(imports) else PARTLY_FAILED
    if options.as_json:
        show.print_json({"format": found.format, "positions": [each.document() for each in imports], "skipped": found.skipped})
        return code
    _print_imports(imports)
    for words in found.skipped:
        show.print_text(f"left out: {words}", "dim")
    show.print_next(options.command("positions list"))
    return code


@click.command("export")
@click.argument("sources", nargs=-1, metavar="[SOURCE]...")
@click.option("--format", type=click.Choice(FORMATS), help="Who shall read it; required.")
@click.option("--schema", metavar="NAME", help="Only the sources of this schema.")
@places.TYPE
@click.option("--output", metavar="FILE", help="Where to write it, by default stdout. A file that is there is left alone.")
@shared('{"format": …, "output": …, "positions": [row of sync_markers], "text": …}')
def export_positions(
    options: Options, sources: Sequence[str], format: str | None, schema: str | None, marker_type: str | None, output: str | None
) -> None:
    """Write positions as another tool reads them: those of each SOURCE, or all.

    lakeledger positions export shop.orders shop.customers --format singer --output state.json
    """
    if format is None:
        raise click.UsageError(f"say with --format who shall read it: {', '.join(FORMATS)}")
    if sources and schema:
        raise click.UsageError("give either SOURCE or --schema")
    with options.open() as ledger:
        markers = ledger.positions.list()
    chosen = [places.get(markers, name, marker_type) for name in sources] if sources else places.chosen(markers, schema, marker_type)
    if not chosen:
        raise NotFound("no position to export: `lakeledger positions list` shows them")
    text = _written(chosen, format, named=bool(sources))
    if output:
        _write_new(Path(output), text)
    if options.as_json:
        show.print_json({"format": format, "output": output, "positions": chosen, "text": text})
    elif output:
        click.echo(f"wrote {show.plural(len(chosen), 'position')} to {output}")
    else:
        click.echo(text, nl=not text.endswith("\n"))


def _scan(file: str, format: str | None, schema: str | None) -> Scan:
    from lakeledger.sync.exchange import scan

    text = read_text(file)
    try:
        return scan(text, format, schema)
    except Invalid as error:
        raise Invalid(f"{called(file)}: {error}") from error


def _written(chosen: Sequence[Marker], format: str, *, named: bool) -> str:
    from lakeledger.sync.exchange import write

    try:
        return write(chosen, format)
    except Invalid as error:
        if named:
            raise
        raise Invalid(f"{error}; name each SOURCE to export, or give --schema or --type") from error


def _import(acting: Positions, foreign: Foreign, reason: str, *, force: bool) -> Import:
    current = acting.find(foreign.source)
    if current and (current.position_kind, current.position_data) == (foreign.position.kind, foreign.position.document()):
        return Import(foreign, "unchanged", current)
    try:
        return Import(foreign, "imported", acting.advance(foreign.source, foreign.position, force=force, reason=reason))
    except Conflict as error:
        return Import(foreign, "refused", current, error)


def _print_imports(imports: Sequence[Import]) -> None:
    if not imports:
        click.echo("there is no position in it")
        return
    rows = [
        (
            show.status(each.status),
            each.foreign.source.name,
            each.foreign.source.marker_type,
            places.describe(each.foreign.position.kind, each.foreign.position.document()),
            show.count(each.marker.version) if each.marker else "",
            str(each.error or ""),
        )
        for each in imports
    ]
    show.print_table(["", "~source", "type", "~position", ">version", "+why"], rows)


def _write_new(path: Path, text: str) -> None:
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError as error:
        raise Invalid(f"{path} is there already: give another --output, or remove it first") from error
    except (OSError, ValueError) as error:
        raise Invalid(f"cannot write {path}: {getattr(error, 'strerror', None) or error}") from error
