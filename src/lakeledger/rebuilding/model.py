"""What a rebuild talks about: what was found in a warehouse, the ledger that is made of it, and what does not come back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from lakeledger.lake import Bounds
from lakeledger.names import TableName


@dataclass(frozen=True)
class Problem:
    """Something in the warehouse that could not be used, and why."""

    path: str
    reason: str


@dataclass(frozen=True)
class Lost:
    """Something that does not come back: of which table or source, if it is one's, and what to do about it."""

    what: str
    detail: str
    fix: str = ""


@dataclass(frozen=True)
class Found:
    """The metadata of one table, as it was read: its place in the warehouse, the files there, and `newer` metadata without a hint.

    `manifests` are the manifest lists' entries by their paths, `entries` the entries of manifests by theirs. `notes` are what the journals
    have, in order.
    """

    tenant: str
    place: str
    path: str
    document: dict[str, Any]
    manifests: Mapping[str, list[dict[str, Any]]]
    entries: Mapping[str, list[dict[str, Any]]]
    notes: Sequence[dict[str, Any]] = ()
    newer: Sequence[Found] = ()


@dataclass(frozen=True)
class File:
    """A file of a table, from the version that added it up to the one that removed it."""

    path: str
    size: int
    rows: int
    partition_path: str
    bounds: Bounds
    added_version: int
    removed_version: int | None = None


@dataclass(frozen=True)
class Move:
    """Where a source stood after a version of a table; of a query, which versions it had `read`, by table."""

    schema_name: str
    table_name: str | None
    marker_type: str
    name_key: str
    kind: str
    data: dict[str, Any]
    order_key: str
    version: int
    at: datetime
    run_id: str | None
    table_version: int
    forced: bool = False
    reason: str | None = None
    appended_rows: int | None = None
    read: Mapping[str, tuple[int, str | None]] = field(default_factory=dict)

    @property
    def source(self) -> str:
        return f"{self.schema_name}.{self.table_name}" if self.table_name else self.schema_name

    @property
    def key(self) -> tuple[str, str]:
        return self.name_key, self.marker_type


@dataclass(frozen=True)
class Version:
    """A version of a table. `needs` are the versions of other tables, with their snapshots, that were there when it was made."""

    snapshot_id: str
    version: int
    operation: str
    summary: dict[str, Any]
    schema_version: int
    run_id: str
    batch_id: str | None
    trigger: str
    committed_at: datetime
    manifest_list: str | None = None
    iceberg_snapshot_id: int | None = None
    publish_trigger: str | None = None
    moves: Sequence[Move] = ()
    needs: Mapping[str, tuple[int, str | None]] = field(default_factory=dict)


@dataclass(frozen=True)
class SchemaOf:
    """A schema version of a table, with how its files are laid out."""

    number: int
    schema: dict[str, Any]
    layout: dict[str, Any]


@dataclass(frozen=True)
class Rebuilt:
    """A table as the rebuilt ledger has it. `metadata_location` is None if it has to be published anew; `known` are moves that it carries.

    `versions` can be read, `expired` cannot any more. `unproven` is newer metadata that may or may not have been committed.
    """

    tenant: str
    name: TableName
    table_id: str
    location: str
    place: str
    mode: str | None
    formats: list[str]
    created_at: datetime
    schemas: Sequence[SchemaOf]
    columns: Sequence[str]
    versions: Sequence[Version]
    expired: Sequence[Version]
    files: Sequence[File]
    tags: Mapping[str, int]
    metadata_location: str | None
    previous_location: str | None
    known: Sequence[Move]
    notes: Sequence[dict[str, Any]]
    unproven: Sequence[str] = ()
    is_moved: bool = False

    @property
    def current(self) -> Version:
        return self.versions[-1]

    @property
    def live(self) -> list[File]:
        return [file for file in self.files if file.removed_version is None]

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.live)


@dataclass(frozen=True)
class SourceFileRow:
    """A file that a source has been read from."""

    path: str
    size: int
    modified_at: str
    content_hash: str
    row_key: str | None
    registered_at: str
    run_id: str


@dataclass(frozen=True)
class Position:
    """Where a source stands in the rebuilt ledger, how it got there, and the files that it was read from."""

    move: Move
    history: Sequence[Move]
    files: Sequence[SourceFileRow] = ()


@dataclass(frozen=True)
class Orphans:
    """Files in a table's place that no version of the rebuilt ledger has, and the runs that wrote them."""

    files: int = 0
    rows: int = 0
    bytes: int = 0
    runs: Sequence[str] = ()


@dataclass(frozen=True)
class Tenant:
    """All of one tenant: tables, positions, versions of source schemas, and what does not come back.

    It `was_there` if an earlier call has rebuilt it.
    """

    tenant: str
    tables: Sequence[Rebuilt]
    positions: Sequence[Position]
    schemas: Sequence[dict[str, Any]]
    lost: Sequence[Lost]
    orphans: Mapping[str, Orphans] = field(default_factory=dict)
    was_there: bool = False


@dataclass(frozen=True)
class Report:
    """What a rebuild did, or would do."""

    warehouse: str
    applied: bool
    tenants: Sequence[Tenant]
    problems: Sequence[Problem]

    def document(self) -> dict[str, Any]:
        """As scripts read it."""
        return {
            "warehouse": self.warehouse,
            "applied": self.applied,
            "tenants": [_tenant(each) for each in self.tenants],
            "problems": [vars(each) for each in self.problems],
        }


def plural(number: int, noun: str) -> str:
    """`1 file`, `2 files`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _tenant(tenant: Tenant) -> dict[str, Any]:
    return {
        "tenant": tenant.tenant,
        "was_there": tenant.was_there,
        "tables": [
            {
                "table": str(table.name),
                "version": table.current.version,
                "versions": len(table.versions),
                "expired": len(table.expired),
                "files": len(table.live),
                "rows": table.rows,
                "is_moved": table.is_moved,
            }
            for table in tenant.tables
        ],
        "positions": [
            {
                "source": each.move.source,
                "marker_type": each.move.marker_type,
                "kind": each.move.kind,
                "position": each.move.data,
                "version": each.move.version,
                "files": len(each.files),
            }
            for each in tenant.positions
        ],
        "lost": [vars(each) for each in tenant.lost],
    }
