"""What rows do to their table: a way of writing says which rows become files, what leaves the table for them, and what they changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol

from lakeledger.commit import Effect
from lakeledger.errors import Failed
from lakeledger.pipelines import Context
from lakeledger.pipelines.apply.changes import Changes
from lakeledger.pipelines.effects import NO_VOLUME, Volume
from lakeledger.pipelines.naming import AS_IS, Naming
from lakeledger.quality.freshness import Sla
from lakeledger.quality.volume import DEFAULT_POLICY, Load, VolumePolicy, VolumeVerdict
from lakeledger.runs import Counters
from lakeledger.sync import Advance, Source
from lakeledger.tables import Change, Layout, NewFile, Table, TableMetadata, TableName
from lakeledger.tables.model import Operation, Part, Retired
from lakeledger.tables.schema import Schema

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from lakeledger.pipelines.aside import Other
    from lakeledger.pipelines.save import Shape

__all__ = [
    "AS_GIVEN", "Apply", "Aside", "Changes", "Given", "Incoming", "Look", "Mode", "Outcome", "Read", "Refused", "Rewrite", "Saved",
    "Target", "Way", "Write",
]  # fmt: skip

Mode = Literal["append", "overwrite", "overwrite_partitions", "exchange", "insert_only", "merge", "sync", "scd2"]

# The files of these hold the rows that were given, and no others.
AS_GIVEN: tuple[Mode, ...] = ("append", "overwrite", "overwrite_partitions")

# What becomes of columns that the table does not have, or has with another type: see `drift`.
Drift = Literal["freeze", "evolve", "rescue", "drop"]

_OPERATIONS: dict[str, Operation] = {
    "append": "append", "insert_only": "append", "exchange": "exchange", "merge": "merge", "scd2": "merge", "sync": "sync",
}  # fmt: skip


@dataclass(frozen=True)
class Saved:
    """What was written and is not yet visible: the files, what was measured of all rows on the way, and the same of rows set aside.

    `columns` are the physical names of its columns, by those of the rows. `read` gives the rows that the table gets, read once more, or
    None if there are none.
    """

    files: list[NewFile]
    measured: Mapping[str, Any] = field(default_factory=dict)
    asides: tuple[Saved, ...] = ()
    columns: Mapping[str, str] = field(default_factory=dict)
    read: Callable[[], DataFrame | None] = lambda: None

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.files)


@dataclass(frozen=True)
class Aside:
    """Rows that go to another table instead, in the same pass and the same commit: which, and the columns that they have there.

    They count as `failed`, unless they are not there because something is wrong with them.
    """

    table: TableName
    when: Column
    columns: Mapping[str, Column]
    failed: bool = True


@dataclass(frozen=True)
class Look:
    """How rows are looked at before they are written: aggregates over them, and which are set aside.

    `helpers` are columns that both may refer to and that no table gets. Columns are named, as in `F.col("amount")`. If Spark fails by what
    it computes for them, `without` gives a look without that; None if it is not to blame.
    """

    measures: Mapping[str, Column] = field(default_factory=dict)
    asides: tuple[Aside, ...] = ()
    helpers: Mapping[str, Column] = field(default_factory=dict)
    without: Callable[[], Look | None] | None = None


class Refused(Failed):
    """A judge's no. Its effects become visible all the same: why it was refused."""

    def __init__(self, message: str, effects: Sequence[Effect] = ()) -> None:
        super().__init__(message)
        self.effects = tuple(effects)


@dataclass(frozen=True)
class Write:
    """What is to be written where.

    `base_version` is the version of the table that the rows were computed from. `source` is the declared source whose schema is
    registered with the rows; `effects` become visible with them, too. `confirm` has a last look, after the files are written, and raises
    if they should not become visible. `look` says what to measure in the one pass that writes the rows, and which to set aside; `judge`
    sees that before the commit, and refuses the rows by raising (Refused, with why), or adds effects. Only what `is_ingestion` is told
    as such, with what is known of the slice of the source (`volume`), and of its bad rows and their limits (`guardrails`). `metadata`
    says when other engines see it, if not as the table or the ledger does. `changes` says how rows are matched with those of the table,
    for the modes that do. `drift` says what becomes of columns that the table does not have; those that are `optional_columns` may be
    missing then. `naming` says which columns of the table those of the rows are. If `look` sets bad rows aside, no table gets the columns
    that say why one is bad. For exchange, `replaces` are the keys of the files whose rows leave the table. Rows that another table had so
    far leave it in the same commit: `takes` gives that change, once the rows are written and judged. `load` says how it came to be;
    what is ordinary is judged by what the table usually gets, as `volume_policy` says, and `report` hears of the verdict. `sla` is how
    old the table may become.
    """

    table: TableName
    mode: Mode = "append"
    base_version: int | None = None
    format: str | None = None
    partition_by: tuple[str, ...] | None = None
    sort_by: tuple[str, ...] | None = None
    evolve: bool = False
    batch_id: str | None = None
    position: Advance | None = None
    source: Source | None = None
    effects: tuple[Effect, ...] = ()
    summary: dict[str, Any] = field(default_factory=dict)
    confirm: Callable[[], None] | None = None
    look: Callable[[DataFrame], Look] | None = None
    judge: Callable[[Saved], Sequence[Effect]] | None = None
    is_ingestion: bool = True
    metadata: str | None = None
    volume: Volume = NO_VOLUME
    guardrails: Callable[[Saved], Mapping[str, Any]] | None = None
    changes: Changes | None = None
    drift: Drift = "freeze"
    optional_columns: tuple[str, ...] = ()
    naming: Naming = AS_IS
    sets_bad_rows_aside: bool = False
    replaces: frozenset[str] = frozenset()
    takes: Callable[[], Change] | None = None
    load: Load = "ordinary"
    volume_policy: VolumePolicy = DEFAULT_POLICY
    sla: Sla | None = None
    report: Callable[[VolumeVerdict], None] | None = None

    @property
    def moves(self) -> list[Advance]:
        return [self.position] if self.position else []

    @property
    def operation(self) -> Operation:
        return _OPERATIONS.get(self.mode, "overwrite")

    @property
    def replaces_all(self) -> bool:
        """Whether nothing of the table is left, so that its schema and layout may be others."""
        return self.mode == "overwrite"


@dataclass(frozen=True)
class Target:
    """The table as it was when the write was planned, but for the columns that it renames, by their ids; `before` is its very schema."""

    table: Table | None
    metadata: TableMetadata | None
    location: str
    layout: Layout
    publishing: str = "async"
    before: Schema | None = None
    renames: Mapping[int, str] = field(default_factory=dict)

    def renamed(self, names: Mapping[int, str]) -> Target:
        """The same with further columns renamed."""
        if self.metadata is None or not names:
            return self
        return replace(self, metadata=self.metadata.renamed(names), renames={**self.renames, **names})

    @property
    def base_version(self) -> int:
        return self.table.current_version if self.table else 0


@dataclass(frozen=True)
class Outcome:
    """What the rows did: the part of the table that leaves it for them, and how many are new, changed and gone.

    `summary` is kept with the table's version, `deduplication` with the volume of the load. If it `changes_nothing`, the version has no
    files, and those that were written are removed.
    """

    retires: Retired | None
    counters: Counters
    summary: Mapping[str, Any] = field(default_factory=dict)
    changes_nothing: bool = False
    deduplication: Mapping[str, int] | None = None


@dataclass(frozen=True)
class Read:
    """A part of another table that rows depend on, as it was at a version."""

    table: TableName
    part: Part
    version: int


@dataclass(frozen=True)
class Rewrite:
    """The rows to write, with the columns that they were given with, and, once they are files, what becomes of the table.

    `reads` is the part of the table that they depend on, `beside` are those of other tables. A way of writing that adds rows of its own
    gives what was `measured` of the rows that it was given, and what it `counts` in those that it gives. Rows that are `placed` are in the
    tasks that are to write them: they are not brought together by partition. `keys` are the physical names of the columns by which the
    table's rows are found; those and the `bounded` ones have bounds in every file. `touches` are the paths of the files that are written
    again.
    """

    frame: DataFrame
    outcome: Callable[[Saved], Outcome]
    reads: Part | None = None
    beside: tuple[Read, ...] = ()
    measured: Mapping[str, Any] | None = None
    counts: Mapping[str, Column] = field(default_factory=dict)
    placed: bool = False
    keys: tuple[str, ...] = ()
    bounded: tuple[str, ...] = ()
    touches: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Incoming:
    """Rows as a way of writing takes them: the frame with what it computed of them, the columns of the table, and its own asides."""

    frame: DataFrame
    schema: Schema
    asides: tuple[Aside, ...] = ()


@dataclass(frozen=True)
class Given:
    """What a way of writing is given: rows with their marks, what to measure of them, and what is known of the tables.

    `others` are the tables of its own asides, in their order.
    """

    frame: DataFrame
    spec: Write
    target: Target
    shape: Shape
    run_id: str
    measures: Mapping[str, Column] = field(default_factory=dict)
    others: tuple[Other, ...] = ()


class Apply(Protocol):
    """A way of writing. It may read the table and stage rows, which are gone when its block ends; it puts nothing into the table.

    Rows that are marked (see `aside`) keep their mark, and those that are not the table's own pass through as they are.
    """

    def __call__(self, context: Context, given: Given) -> AbstractContextManager[Rewrite]: ...


@dataclass(frozen=True)
class Way:
    """A way of writing, and how it takes rows. `prepare` raises Invalid for rows that cannot be written so."""

    apply: Apply
    prepare: Callable[[DataFrame, Write, Target], Incoming]
