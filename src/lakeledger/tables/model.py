"""What the registry talks about: tables, their schemas, files, statistics and snapshots, with the seed's column names."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Literal

from lakeledger.lake import Bounds
from lakeledger.names import TableName
from lakeledger.runs import Counters
from lakeledger.tables.schema import Schema

Operation = Literal["append", "overwrite", "replace", "alter"]


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
    """One schema version of a table: a row of `table_metadata`. `columns` are the physical names that the table ever used, by id."""

    id: str
    tenant_id: str
    table_id: str
    schema_version: int
    schema: Schema
    schema_hash: str
    columns: list[str]
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
class Partitions:
    """The part of a table that is in these partitions, by their paths."""

    paths: frozenset[str]


@dataclass(frozen=True)
class Files:
    """The part of a table that is in these files, by their paths."""

    paths: frozenset[str]


@dataclass(frozen=True)
class Keys:
    """The part of a table whose values of a column lie between two bounds, as files keep them."""

    column: str
    low: Any
    high: Any

    def may_be_in(self, bounds: Bounds) -> bool:
        """Whether a file with these bounds may have such rows; one that says nothing may."""
        known = bounds.get(self.column, {})
        return not ("min" in known and known["min"] > self.high) and not ("max" in known and known["max"] < self.low)


Retired = Literal["all"] | Partitions | Files
Part = Retired | Keys


@dataclass(frozen=True)
class Change:
    """A table's next version to be.

    `retires` is the part whose files leave the table. `reads` is the part that the rows were computed from. Neither may have changed
    since `base_version`, or the change is a conflict; rows that do not depend on the table read nothing.
    With a `batch_id`, the same batch is applied once. `counters` come from whoever computed the rows.
    """

    table: TableName
    location: str
    operation: Operation
    schema: Schema
    layout: Layout
    files: list[NewFile]
    retires: Retired | None = None
    reads: Part | None = None
    base_version: int | None = None
    evolve: bool = False
    batch_id: str | None = None
    counters: Counters = field(default_factory=Counters)
    summary: dict[str, Any] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.files)

    @property
    def size(self) -> int:
        return sum(file.size for file in self.files)


@dataclass(frozen=True)
class Committed:
    """A version of a table: its snapshot, whether this commit made it or found it there, and what it moved."""

    table: Table
    snapshot: Snapshot
    applied: bool
    counters: Counters = field(default_factory=Counters)

    @property
    def version(self) -> int:
        return self.snapshot.version

    def placed(self, warehouse: str) -> Committed:
        """The commit with its table's whole location."""
        return replace(self, table=self.table.placed(warehouse))


@dataclass(frozen=True)
class View:
    """A table at one version: what a reader needs. `file_paths` are relative to the table's location."""

    table: Table
    version: int
    schema: Schema
    layout: Layout
    file_paths: list[str]

    def placed(self, warehouse: str) -> View:
        """The view with its table's whole location."""
        return replace(self, table=self.table.placed(warehouse))

    @property
    def paths(self) -> list[str]:
        """Where the files are."""
        return [f"{self.table.location}/{path}" for path in self.file_paths]
