"""What the registry talks about: tables, their schemas, files, statistics and snapshots, with the seed's column names."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal

from lakeledger.lake import Bounds
from lakeledger.names import TableName
from lakeledger.runs import Counters, Fence
from lakeledger.sync import Advance, SourceFile
from lakeledger.sync.schemas import NewSchema
from lakeledger.tables.schema import Schema

Operation = Literal["append", "overwrite", "replace"]


@dataclass(frozen=True)
class Table:
    """A table as it is now: a row of `tables`."""

    table_id: str
    tenant_id: str
    schema_name: str
    table_name: str
    name_key: str
    location: str
    current_version: int
    row_count: int
    total_size: int
    file_count: int
    last_modified: datetime
    created_at: datetime
    updated_at: datetime

    @property
    def name(self) -> TableName:
        return TableName(self.schema_name, self.table_name)

    def placed(self, warehouse: str) -> Table:
        """The table with its whole location. What is stored is relative to the warehouse, so that both can move together."""
        whole = "://" in self.location or self.location.startswith("/")
        return self if whole else replace(self, location=f"{warehouse}/{self.location}")


@dataclass(frozen=True)
class TableMetadata:
    """One schema version of a table: a row of `table_metadata`."""

    id: str
    tenant_id: str
    table_id: str
    schema_version: int
    schema: Schema
    schema_hash: str
    storage_engine: str
    engine_config: dict[str, Any]
    format: str
    compression: str
    partition_by: list[str]
    sort_by: list[str]
    properties: dict[str, Any]
    last_modified: datetime
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True)
class DataFile:
    """A file of a table: a row of `table_files`. `file_path` is relative to the table's location."""

    id: str
    tenant_id: str
    table_id: str
    file_name: str
    file_path: str
    file_size: int
    file_type: str
    partition_path: str
    row_count: int
    checksum: str | None
    is_compressed: bool
    column_bounds: Bounds
    state: str
    added_version: int
    removed_version: int | None
    run_id: str
    iceberg_metadata_state: str
    created_at: datetime
    modified_at: datetime


@dataclass(frozen=True)
class TableStats:
    """How big a table is now: a row of `table_stats`."""

    id: str
    tenant_id: str
    table_id: str
    row_count: int
    file_count: int
    total_size: int
    last_modified: datetime
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True)
class Snapshot:
    """One version of a table: a row of `table_snapshots`."""

    snapshot_id: str
    tenant_id: str
    table_id: str
    version: int
    parent_version: int | None
    operation: str
    summary: dict[str, Any]
    schema_version: int
    run_id: str
    batch_id: str | None
    trigger: str
    committed_at: datetime
    manifest_list: str | None


@dataclass(frozen=True)
class NewFile:
    """A file that was written and is not yet part of a table. `path` is relative to the table's location."""

    path: str
    size: int
    rows: int
    partition_path: str
    compression: str
    bounds: Bounds
    modified_at: datetime


@dataclass(frozen=True)
class Layout:
    """How a table's files are written."""

    format: str = "parquet"
    partition_by: tuple[str, ...] = ()


@dataclass(frozen=True)
class Change:
    """A commit to be: everything that is to become visible at once.

    `replaces` says which live files leave the table: none, "all", or those of a set of partition paths.
    `source_schema` is what the source looks like now, if the registry does not know it yet.
    `base_version` is the version that an overwrite was planned on, or that the rows of an append were computed from; an append of rows
    that do not depend on the table has none. With a `batch_id`, the same batch is applied once.
    """

    table: TableName
    location: str
    operation: Operation
    fence: Fence
    schema: Schema
    layout: Layout
    files: list[NewFile]
    replaces: Literal["all"] | frozenset[str] = frozenset()
    base_version: int | None = None
    evolve: bool = False
    batch_id: str | None = None
    position: Advance | None = None
    source_files: list[SourceFile] = field(default_factory=list)
    source_schema: NewSchema | None = None
    counters: Counters = field(default_factory=Counters)
    write_ms: int = 0
    summary: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Committed:
    """A commit that is: the snapshot, and whether this call made it or found it there."""

    table: Table
    snapshot: Snapshot
    applied: bool

    @property
    def version(self) -> int:
        return self.snapshot.version

    def placed(self, warehouse: str) -> Committed:
        """The commit with its table's whole location."""
        return replace(self, table=self.table.placed(warehouse))


@dataclass(frozen=True)
class View:
    """A table at one version: what a reader needs."""

    table: Table
    version: int
    schema: Schema
    layout: Layout
    files: list[DataFile]

    def placed(self, warehouse: str) -> View:
        """The view with its table's whole location."""
        return replace(self, table=self.table.placed(warehouse))

    @property
    def paths(self) -> list[str]:
        """Where the files are."""
        return [f"{self.table.location}/{file.file_path}" for file in self.files]
