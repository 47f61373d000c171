"""`lakeledger tables`: what tables, versions and files exist, and whether storage agrees."""

from __future__ import annotations

from collections.abc import Sequence

import click

from lakeledger.cli import columns, publish, register, show, storage
from lakeledger.cli.options import Options, paged, shared
from lakeledger.tables import DeltaPublication, Publication, Snapshot, Table, TableMetadata
from lakeledger.tables.schema import DAY_OF, Field, type_text

MAX_VERSION = 2**63 - 1
LAST_COMMITS = 5


@click.group()
def tables() -> None:
    """What files exist: tables, files, versions; verify and sweep."""


tables.add_command(register.register)
tables.add_command(storage.verify)
tables.add_command(storage.sweep)
tables.add_command(publish.publish)
tables.add_command(publish.read_with)
tables.add_command(columns.add_column)
tables.add_command(columns.rename_column)
tables.add_command(columns.drop_column)


@tables.command("list")
@paged(1_000)
@shared('{"tables": [row of tables], "next"}')
def list_tables(options: Options, limit: int, after: str | None) -> None:
    """Every table and its size.

    lakeledger tables list
    """
    with options.open() as ledger:
        found = ledger.tables.list(limit, after)
    if options.as_json:
        show.print_json({"tables": found, "next": found.next})
        return
    if not found:
        click.echo("no tables yet")
        show.print_next(options.command("run"))
        return
    print_tables(found)
    show.print_more(found.next)
    show.print_next(options.command(f"tables show {found[0].name}"))


def print_tables(found: Sequence[Table]) -> None:
    """A line per table."""
    rows = [
        (
            str(table.name),
            show.count(table.row_count),
            show.size(table.total_size),
            show.count(table.file_count),
            show.count(table.current_version),
            show.ago(table.last_modified),
        )
        for table in found
    ]
    show.print_table(["~table", ">rows", ">size", ">files", ">version", "changed"], rows)


@tables.command("show")
@click.argument("name")
@shared(
    '{"table": row of tables, "stats": row of table_stats, "metadata": row of table_metadata, '
    '"publication": row of table_publications, "delta": row of delta_publications, "snapshots": [row of table_snapshots]}'
)
def show_table(options: Options, name: str) -> None:
    """One table: figures, layout, columns, last commits.

    lakeledger tables show bronze.orders
    """
    with options.open() as ledger:
        table = ledger.tables.get(name)
        stats = ledger.tables.stats(name)
        metadata = ledger.tables.metadata(name)
        publication, delta = ledger.tables.publication(name), ledger.tables.delta(name)
        snapshots = ledger.tables.history(name, LAST_COMMITS)
    if options.as_json:
        found = {"table": table, "stats": stats, "metadata": metadata, "publication": publication, "delta": delta}
        show.print_json({**found, "snapshots": snapshots})
        return
    seen = {"published": _published(publication, "Iceberg"), "and": _published(delta, "Delta")}
    show.print_facts({**_facts(table, metadata), **seen})
    if metadata:
        show.print_table(["~column", "~type", ""], _column_rows(metadata))
    show.print_table(*_snapshot_table(snapshots), title="last commits")
    show.print_next(options.command(f"tables files {table.name}"))


@tables.command()
@click.argument("name")
@click.option("--version", type=click.IntRange(1, MAX_VERSION), help="The files of this version; by default the current one.")
@paged(1_000)
@shared('{"table": row of tables, "version": n, "files": [row of table_files], "next"}')
def files(options: Options, name: str, version: int | None, limit: int, after: str | None) -> None:
    """The files that a version of a table is made of.

    lakeledger tables files bronze.orders --version 3
    """
    with options.open() as ledger:
        table = ledger.tables.get(name)
        version = table.current_version if version is None else version
        found = ledger.tables.files(name, version, limit, after)
    if options.as_json:
        show.print_json({"table": table, "version": version, "files": found, "next": found.next})
        return
    total = f"{show.plural(sum(file.row_count for file in found), 'row')}, {show.size(sum(file.file_size for file in found))}"
    part = " of this page" if after or found.next else ""
    click.echo(f"{table.name} version {version}: {show.plural(len(found), 'file')}{part}, {total}\n{table.location}\n")
    rows = [
        (show.count(file.added_version), show.count(file.row_count), show.size(file.file_size), file.partition_path, file.file_path)
        for file in found
    ]
    show.print_table([">since", ">rows", ">size", "~partition", "+file"], rows)
    show.print_more(found.next)
    show.print_next(options.command(f"tables verify {table.name}"))


@tables.command()
@click.argument("name")
@paged()
@shared('{"table": row of tables, "snapshots": [row of table_snapshots], "next"}')
def history(options: Options, name: str, limit: int, after: str | None) -> None:
    """The versions of a table, newest first.

    lakeledger tables history bronze.orders
    """
    with options.open() as ledger:
        table = ledger.tables.get(name)
        snapshots = ledger.tables.history(name, limit, after)
    if options.as_json:
        show.print_json({"table": table, "snapshots": snapshots, "next": snapshots.next})
        return
    show.print_table(*_snapshot_table(snapshots), title=str(table.name))
    show.print_more(snapshots.next)
    show.print_next(options.command(f"runs show {snapshots[0].run_id[: show.SHORT_ID]}" if snapshots else "tables list"))


def _facts(table: Table, metadata: TableMetadata | None) -> dict[str, show.Cell | None]:
    layout = f"{metadata.format}, {metadata.compression}" if metadata else None
    if metadata and metadata.partition_by:
        parts = (f"the day of {name.removeprefix(DAY_OF)}" if name.startswith(DAY_OF) else name for name in metadata.partition_by)
        layout = f"{layout}, partitioned by {', '.join(parts)}"
    if metadata and metadata.sort_by:
        layout = f"{layout}, sorted by {', '.join(metadata.sort_by)}"
    return {
        "table": str(table.name),
        "rows": show.count(table.row_count),
        "size": f"{show.size(table.total_size)} in {show.plural(table.file_count, 'file')}",
        "version": f"{show.count(table.current_version)} (schema {metadata.schema_version})"
        if metadata
        else show.count(table.current_version),
        "layout": layout,
        "location": table.location,
        "changed": show.moment(table.last_modified),
        "created": show.moment(table.created_at),
    }


def _published(publication: Publication | DeltaPublication | None, format_: str) -> str | None:
    """What other engines see of it in a format, and why no more."""
    if publication is None:
        return None
    seen = f"version {show.count(publication.version)}, as {format_}" if publication.version else f"no version yet, as {format_}"
    return f"{seen}; not version {show.count(publication.problem_version)}: {publication.problem}" if publication.problem else seen


def _column_rows(metadata: TableMetadata) -> Sequence[tuple[str, str, str]]:
    return [(field["name"], type_text(field["type"]), _role(field, metadata)) for field in metadata.schema["fields"]]


def _role(field: Field, metadata: TableMetadata) -> str:
    """What a column is for: rows are found or stored by it, or only the ledger reads it."""
    roles = {
        "key": field["physical_name"] in metadata.keys,
        "partition": field["name"] in metadata.partition_by,
        "hidden": bool(field.get("hidden")),
    }
    return ", ".join(role for role, has_it in roles.items() if has_it)


def _snapshot_table(snapshots: Sequence[Snapshot]) -> tuple[Sequence[str], Sequence[tuple[show.Cell, ...]]]:
    ids = show.short_ids([snapshot.run_id for snapshot in snapshots])
    rows: Sequence[tuple[show.Cell, ...]] = [
        (
            show.count(snapshot.version),
            snapshot.operation,
            f"+{show.count(int(snapshot.summary.get('added_rows', 0)))}",
            f"−{show.count(int(snapshot.summary.get('removed_rows', 0)))}" if snapshot.summary.get("removed_rows") else "",
            show.count(snapshot.summary.get("total_rows")),
            show.size(snapshot.summary.get("added_bytes")),
            show.ago(snapshot.committed_at),
            run,
        )
        for snapshot, run in zip(snapshots, ids, strict=True)
    ]
    return [">version", "operation", ">added", ">removed", ">rows", ">written", "when", "run"], rows
