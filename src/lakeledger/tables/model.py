"""What the registry talks about: tables, their schemas, files, statistics and snapshots, with the seed's column names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal, InvalidOperation
from typing import Any, Literal

from lakeledger import clock, codec
from lakeledger.lake import Bounds
from lakeledger.locations import is_url
from lakeledger.names import TableName
from lakeledger.runs import Counters
from lakeledger.tables.schema import Field, Schema, renamed

Operation = Literal["append", "overwrite", "merge", "sync", "delete", "exchange", "replace", "alter"]
# What leaves the table with the same rows.
NO_NEWS: tuple[Operation, ...] = ("replace", "alter")

# The property of a table that names the columns by which its rows are found.
KEYS = "keys"
# And the one that has the types of columns of other tables that its files may have, too, by their physical names.
BESIDE = "beside"
# And the one that says what it was before the ledger knew it: the files of its first version are not the ledger's.
ADOPTED = "adopted"
ADOPTED_VERSION = 1
# What a version's summary has of the versions whose rows it took back.
TAKEN_BACK = "taken_back"
# What lets other engines see a version.
Trigger = Literal["commit", "time", "size", "manual", "query"]


def placed(location: str, warehouse: str) -> str:
    """A whole location. What is stored is relative to the warehouse, so that both can move together."""
    return location if is_url(location) or location.startswith("/") else f"{warehouse}/{location}"


@dataclass(frozen=True)
class Table:
    """A table as it is now: a row of `tables`. Its rows are those of `content_version`: compactions and new columns are no news."""

    table_id: str
    tenant_id: str
    schema_name: str
    table_name: str
    name_key: str
    location: str
    current_version: int
    content_version: int
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
        """The table with its whole location."""
        return replace(self, location=placed(self.location, warehouse))


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

    @property
    def keys(self) -> tuple[str, ...]:
        """The physical names of the columns by which rows are found."""
        return tuple(self.properties.get(KEYS, ()))

    @property
    def adopted_version(self) -> int | None:
        """The version whose files somebody else wrote: they are never removed."""
        return ADOPTED_VERSION if ADOPTED in self.properties else None

    def renamed(self, names: Mapping[int, str]) -> TableMetadata:
        """The same with other names of some columns, by their ids."""
        if not names:
            return self
        now = {codec.fold(field["name"]): names[field["id"]] for field in self.schema["fields"] if field["id"] in names}
        partition_by, sort_by = ([now.get(codec.fold(name), name) for name in by] for by in (self.partition_by, self.sort_by))
        return replace(self, schema=renamed(self.schema, names), partition_by=partition_by, sort_by=sort_by)


@dataclass(frozen=True)
class DataFile:
    """A file of a table: a row of `table_files`. `file_path` is relative to the table's location.

    Since `removable_since` no version that is kept needs it: it may be gone from storage.
    """

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
    removable_since: datetime | None = None


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
    """One version of a table: a row of `table_snapshots`. The last ones are of Iceberg and of Delta, for a version that is published.

    `trigger` is what started the run that made the version, `publish_trigger` what let other engines see it.
    """

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
    metadata_location: str | None = None
    iceberg_snapshot_id: int | None = None
    publish_trigger: Trigger | None = None
    delta_version: int | None = None


@dataclass(frozen=True)
class Brought:
    """A version of a table as the run that made it left it, whether it has expired since or not."""

    table_id: str
    schema_name: str
    table_name: str
    version: int
    operation: str
    summary: dict[str, Any]
    run_id: str
    committed_at: datetime

    @property
    def table(self) -> TableName:
        return TableName(self.schema_name, self.table_name)

    @property
    def added_files(self) -> int:
        return int(self.summary.get("added_files", 0))


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
    """How a table's files are written. `sort_by` is the order of the rows in files that a compaction makes."""

    format: str = "parquet"
    partition_by: tuple[str, ...] = ()
    sort_by: tuple[str, ...] = ()


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
    """The part of a table whose values of a column, by its physical name, lie between two values; times as text, as files keep them."""

    column: str
    low: Any
    high: Any

    def may_be_in(self, bounds: Mapping[str, Any]) -> bool:
        """Whether a file with these bounds of the column may have such rows; one that says nothing, or something else, may."""
        try:
            low, high = (Decimal(bounds[side]) if isinstance(self.low, Decimal) else bounds[side] for side in ("min", "max"))
            return bool(low <= self.high and high >= self.low)
        except (KeyError, TypeError, InvalidOperation):
            return True


Retired = Literal["all"] | Partitions | Files
Part = Retired | Keys


@dataclass(frozen=True)
class Adopted:
    """That the files of a table's first version are somebody else's: in which format, and the names of columns in them, by id."""

    kind: str
    columns: tuple[str, ...]


@dataclass(frozen=True)
class Change:
    """A table's next version to be.

    `retires` is the part whose files leave the table. `reads` is the part that the rows were computed from. Neither may have changed
    since `base_version`, or the change is a conflict; rows that do not depend on the table read nothing.
    With a `batch_id`, the same batch is applied once; a change without one follows the others of its commit. `counters` come from whoever
    computed the rows. `schema_version` is the one that the files were written for. A `replace` has the same rows in other files.
    What `is_published` is seen by other engines from the same moment. `keys` are the physical names of the columns by which the table's
    rows are found, whose bounds are kept from then on. `beside` are columns of other tables that its files may have, too. `renames` are
    columns that get another name before anything else, by their ids. A table that is `adopted` begins with files of others, and its schema
    has the ids that they have. `sort_by` is the order that its files get from then on when they are compacted; without it, it stays.
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
    schema_version: int | None = None
    snapshot_id: str = field(default_factory=clock.new_id)
    is_published: bool = False
    keys: tuple[str, ...] = ()
    beside: tuple[Field, ...] = ()
    adopted: Adopted | None = None
    renames: Mapping[int, str] = field(default_factory=dict)
    sort_by: tuple[str, ...] | None = None

    @property
    def is_news(self) -> bool:
        """Whether the table has other rows by it."""
        return self.operation not in NO_NEWS

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.files)

    @property
    def size(self) -> int:
        return sum(file.size for file in self.files)


@dataclass(frozen=True)
class Committed:
    """A version of a table: its snapshot, and whether this commit made it or found it there; if it made it, what it moved and removed."""

    table: Table
    snapshot: Snapshot
    applied: bool
    counters: Counters = field(default_factory=Counters)
    metadata: TableMetadata | None = None
    removed: tuple[str, ...] = ()

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
    def content_version(self) -> int:
        """The version that brought the rows, as far as it is known: a compaction since then is no news."""
        return self.table.content_version if self.version == self.table.current_version else self.version

    @property
    def paths(self) -> list[str]:
        """Where the files are."""
        return [f"{self.table.location}/{path}" for path in self.file_paths]


@dataclass(frozen=True)
class Publication:
    """What other engines see of a table as Iceberg: a row of `table_publications`.

    Without a `mode`, the ledger's setting counts; so it does without `formats`, which are those that the table is published in.
    """

    table_id: str
    tenant_id: str
    mode: str | None
    version: int
    metadata_location: str | None
    previous_metadata_location: str | None
    problem: str | None
    problem_version: int | None
    updated_at: datetime
    formats: list[str] | None = None


@dataclass(frozen=True)
class DeltaPublication:
    """What other engines see of a table as Delta: a row of `delta_publications`.

    `version` is the ledger's and `delta_version` its number in the log, which `log_id` is the id of. While an entry is being written,
    `target_version` is to become the entry `target_delta`.
    """

    table_id: str
    tenant_id: str
    version: int
    delta_version: int | None
    log_id: str
    checkpoint_version: int | None
    target_version: int | None
    target_delta: int | None
    target_at: datetime | None
    problem: str | None
    problem_version: int | None
    updated_at: datetime
