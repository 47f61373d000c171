"""The registry: which tables exist, which versions they had, and which files each version is made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from lakeledger import clock, codec
from lakeledger.db import Row, Transaction, pages
from lakeledger.db.pages import Page
from lakeledger.db.queries import load
from lakeledger.errors import Invalid, NotFound
from lakeledger.names import TableName
from lakeledger.runs.explain import Visible
from lakeledger.tables.model import (
    NO_NEWS,
    TAKEN_BACK,
    Brought,
    DataFile,
    Layout,
    Publication,
    Snapshot,
    Table,
    TableMetadata,
    TableStats,
    View,
)
from lakeledger.tables.schema import Schema

sql = load("lakeledger.tables")

_AS_THEY_CAME: pages.Key = {"added_version": int, "file_path": str}


def find(tx: Transaction, name: TableName) -> Table | None:
    """The table, or None."""
    row = tx.one(sql.find_table, name_key=name.key)
    return Table(**row) if row else None


def find_by_id(tx: Transaction, table_id: str) -> Table | None:
    """The table with that id, or None."""
    row = tx.one(sql.find_table_by_id, table_id=table_id)
    return Table(**row) if row else None


def get(tx: Transaction, name: TableName) -> Table:
    """The table. Raises NotFound."""
    if table := find(tx, name):
        return table
    raise NotFound(f"no table {name}: `lakeledger tables list` shows them")


def list_page(tx: Transaction, limit: int | None = None, after: str | None = None) -> Page[Table]:
    """Every table, by name; `after` is the `next` of the page before."""
    return pages.read(tx, sql.list_tables, {"name_key": str}, lambda row: Table(**row), limit, after)


def stats(tx: Transaction, table: Table) -> TableStats:
    """How big a table is. Raises NotFound."""
    if row := tx.one(sql.get_stats, table_id=table.table_id):
        return TableStats(**row)
    raise NotFound(f"table {table.name} has no statistics")


def publication(tx: Transaction, table: Table) -> Publication | None:
    """What is published of the table, or None if nobody ever asked."""
    row = tx.one(sql.find_publication, table_id=table.table_id)
    return Publication(**row) if row else None


def metadata(tx: Transaction, table: Table, schema_version: int | None = None) -> TableMetadata | None:
    """The table's schema and layout: that version, or the latest; None before the first commit."""
    if schema_version is None:
        row = tx.one(sql.latest_metadata, table_id=table.table_id)
    else:
        row = tx.one(sql.get_metadata, table_id=table.table_id, schema_version=schema_version)
    return TableMetadata(**row) if row else None


def put_metadata(
    tx: Transaction,
    table: Table,
    latest: TableMetadata | None,
    schema: Schema,
    columns: list[str],
    layout: Layout,
    compression: str,
    properties: Mapping[str, Any],
) -> TableMetadata:
    """Add a schema version."""
    row = tx.one(
        sql.add_metadata,
        id=clock.new_id(),
        table_id=table.table_id,
        schema_version=latest.schema_version + 1 if latest else 1,
        schema=schema,
        schema_hash=codec.digest(schema),
        columns=columns,
        format=layout.format,
        compression=compression,
        partition_by=list(layout.partition_by),
        sort_by=list(layout.sort_by),
        engine_config=latest.engine_config if latest else {},
        properties={**properties},
    )
    return TableMetadata(**(row or {}))


def layout_of(known: TableMetadata) -> Layout:
    """How that version's files are written."""
    return Layout(known.format, tuple(known.partition_by), tuple(known.sort_by))


def history(tx: Transaction, table: Table, limit: int | None = 100, after: str | None = None) -> Page[Snapshot]:
    """The table's versions, newest first; `after` is the `next` of the page before."""
    return pages.read(tx, sql.list_snapshots, {"version": int}, lambda row: Snapshot(**row), limit, after, table_id=table.table_id)


def find_batch(tx: Transaction, table: Table, batch_id: str) -> Snapshot | None:
    """The latest version that applied that batch, also one that has expired, or None."""
    if row := tx.one(sql.find_batch, table_id=table.table_id, batch_id=batch_id):
        return Snapshot(**row)
    row = tx.one(sql.find_expired_batch, table_id=table.table_id, batch_id=batch_id)
    return _expired(row) if row else None


def _expired(row: Row) -> Snapshot:
    """A version that can no longer be read."""
    return Snapshot(**{name: value for name, value in row.items() if name not in ("expired_at", "expired_by")}, manifest_list=None)


def versions_of_run(tx: Transaction, run_id: str) -> list[Visible]:
    """What a run has committed, in order."""
    return [
        Visible(
            str(TableName(row["schema_name"], row["table_name"])),
            row["version"],
            row["operation"],
            int(row["summary"].get("added_rows", 0)),
            int(row["summary"].get("removed_rows", 0)),
            row["batch_id"],
        )
        for row in tx.all(sql.versions_of_run, run_id=run_id)
    ]


def origin(tx: Transaction, table: Table) -> Snapshot:
    """The first version of a table, also if it has expired."""
    if row := tx.one(sql.get_snapshot, table_id=table.table_id, version=1):
        return Snapshot(**row)
    return _expired(tx.one(sql.expired_snapshot, table_id=table.table_id, version=1) or {})


def versions_of_runs(tx: Transaction, run_ids: list[str]) -> list[Brought]:
    """What these runs have committed, by table and in order, also with versions that have expired."""
    return [Brought(**row) for row in tx.all(sql.versions_of_runs, runs=run_ids)]


def versions_taken_back(tx: Transaction, table_id: str) -> set[int]:
    """The versions of a table whose rows a later one took back."""
    return {version for row in tx.all(sql.deletes, table_id=table_id) for version in row["summary"].get(TAKEN_BACK, ())}


def operation_of(tx: Transaction, table_id: str, version: int) -> str | None:
    """What a version did, also one that has expired."""
    row = tx.one(sql.operation_of, table_id=table_id, version=version)
    return row["operation"] if row else None


def files_of_versions(tx: Transaction, table_id: str, versions: list[int]) -> list[DataFile]:
    """The files that these versions added, as far as they are known, live and retired."""
    return [DataFile(**row) for row in tx.all(sql.files_of_versions, table_id=table_id, versions=versions)]


def tables_of_source(tx: Transaction, source: str) -> list[TableName]:
    """The tables that a source has brought rows to, ever."""
    return [TableName(row["schema_name"], row["table_name"]) for row in tx.all(sql.tables_of_source, source=source)]


def find_snapshot(tx: Transaction, table: Table, snapshot_id: str) -> Snapshot | None:
    """The snapshot with that id, or None."""
    row = tx.one(sql.find_snapshot, table_id=table.table_id, snapshot_id=snapshot_id)
    return Snapshot(**row) if row else None


def snapshot(tx: Transaction, table: Table, version: int | str | None = None, at: datetime | None = None) -> Snapshot:
    """The version asked for, by its number or a tag, or the one that was current at that time, or the current one.

    Raises NotFound or Invalid.
    """
    if at is not None and version is not None:
        raise Invalid(f"table {table.name} is read at a version or at a time, not at both")
    if at is not None and at.tzinfo is None:
        raise Invalid(f"{at.isoformat()} could be anywhere: give it a time zone")
    if at is not None:
        row = tx.one(sql.snapshot_at, table_id=table.table_id, at=at)
        expired = tx.one(sql.expired_at, table_id=table.table_id, at=at)
        if expired and (row is None or expired["version"] > row["version"]):
            raise expiry(tx, table, expired["version"])
        missing = f"table {table.name} did not exist at {at.isoformat()}: its first version is of {table.created_at.isoformat()}"
    else:
        version = _tagged(tx, table, version) if isinstance(version, str) else version
        row = tx.one(sql.get_snapshot, table_id=table.table_id, version=table.current_version if version is None else version)
        if row is None and version is not None and 1 <= version <= table.current_version:
            raise expiry(tx, table, version)
        missing = f"table {table.name} has no version {version}: it has 1 to {table.current_version}"
    if row is None:
        raise NotFound(missing)
    return Snapshot(**row)


def _tagged(tx: Transaction, table: Table, tag: str) -> int:
    if row := tx.one(sql.tagged_version, table_id=table.table_id, name=tag):
        return int(row["version"])
    raise NotFound(f"{table.name} has no tag {tag!r}: `lakeledger snapshots list {table.name}` shows them")


def expiry(tx: Transaction, table: Table, version: int) -> NotFound:
    """The error for a version that was there once: which are left, and how they are kept."""
    chosen = {"table_id": table.table_id, "version": version}
    near = [row["version"] for query in (sql.newest_before, sql.oldest_after) if (row := tx.one(query, **chosen))]
    return NotFound(
        f"version {version} of {table.name} has expired; the nearest that {'is' if len(near) == 1 else 'are'} left: "
        f"{' and '.join(map(str, near))}. `lakeledger snapshots list {table.name}` shows all; "
        f"`lakeledger snapshots tag {table.name} NAME --version N` keeps one"
    )


def has_expired(tx: Transaction, table: Table, version: int) -> bool:
    """Whether the table had that version and can no longer be read at it."""
    return 1 <= version <= table.current_version and tx.one(sql.get_snapshot, table_id=table.table_id, version=version) is None


def origins(tx: Transaction, table: Table) -> set[str | None]:
    """The sources that brought files into a table, also with versions that have expired; None for whoever is no source."""
    return {row["source"] for row in tx.all(sql.origins, table_id=table.table_id)}


def view(tx: Transaction, name: TableName, version: int | str | None = None, at: datetime | None = None) -> View:
    """A table at a version, a tag or a time, with that version's schema and files. Raises NotFound."""
    table = get(tx, name)
    chosen = snapshot(tx, table, version, at)
    known = metadata(tx, table, chosen.schema_version)
    if known is None:
        raise NotFound(f"table {name} has lost its schema version {chosen.schema_version}")
    is_current = chosen.version == table.current_version
    rows = tx.all(sql.live_paths if is_current else sql.paths_at, table_id=table.table_id, version=chosen.version)
    return View(table, chosen.version, known.schema, layout_of(known), [row["file_path"] for row in rows])


def appended(tx: Transaction, view: View, after: int) -> View:
    """Of a table's current view, only the rows that came after a version, all by appends. Compactions and new columns are no news.

    Raises Invalid if rows were replaced or removed since, or if that is no longer known.
    """
    name, upto = view.table.name, view.content_version
    if after > upto:
        raise Invalid(f"{name} has no version {after}: its rows are those of version {upto}; was the ledger restored?")
    versions = tx.all(sql.versions_between, table_id=view.table.table_id, after=after, upto=upto)
    if len(versions) < upto - after:
        raise Invalid(f"not every version of {name} from {after + 1} to {upto} is left: which rows came since is no longer known")
    if changed := next((row for row in versions if row["operation"] not in ("append", *NO_NEWS)), None):
        raise Invalid(
            f"rows of {name} were replaced or removed in version {changed['version']} (run {changed['run_id']}), not only appended: "
            f"what came since version {after} does not tell what is gone"
        )
    rows = tx.all(sql.paths_appended, table_id=view.table.table_id, after=after, upto=upto)
    return replace(view, file_paths=[row["file_path"] for row in rows])


def files_at(tx: Transaction, table: Table, version: int, limit: int | None = None, after: str | None = None) -> Page[DataFile]:
    """The files that a version of a table is made of, with all that is known of each; `after` is the `next` of the page before."""
    are_all_live = version == table.current_version and limit is None and after is None
    query, chosen = sql.live_files if are_all_live else sql.files_at, {"table_id": table.table_id, "version": version}
    return pages.read(tx, query, _AS_THEY_CAME, lambda row: DataFile(**row), limit, after, **chosen)


def files(tx: Transaction, table: Table) -> list[DataFile]:
    """Every file the registry knows, live and retired."""
    return [DataFile(**row) for row in tx.all(sql.all_files, table_id=table.table_id)]


def adopted(tx: Transaction) -> list[Table]:
    """The tables that began with files of others, outside of the warehouse."""
    return [Table(**row) for row in tx.all(sql.adopted_tables)]


def known_paths(tx: Transaction, location: str) -> set[str]:
    """The paths of every file that any version of whatever table lives there knows."""
    return {row["file_path"] for row in tx.all(sql.known_paths, location=location)}
