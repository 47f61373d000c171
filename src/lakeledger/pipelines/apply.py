"""What rows do to their table: a way of writing says which rows become files, what leaves the table for them, and what they changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

from lakeledger.commit import Effect
from lakeledger.errors import Failed
from lakeledger.pipelines import Context
from lakeledger.runs import Counters
from lakeledger.sync import Advance, Source
from lakeledger.tables import Layout, NewFile, Partitions, Table, TableMetadata, TableName
from lakeledger.tables.model import Operation, Part, Retired

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

Mode = Literal["append", "overwrite", "overwrite_partitions"]


@dataclass(frozen=True)
class Saved:
    """What was written and is not yet visible: the files, what was measured of all rows on the way, and the same of rows set aside."""

    files: list[NewFile]
    measured: Mapping[str, Any] = field(default_factory=dict)
    asides: tuple[Saved, ...] = ()

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

    `helpers` are columns that both may refer to and that no table gets. Columns are named, as in `F.col("amount")`.
    """

    measures: Mapping[str, Column] = field(default_factory=dict)
    asides: tuple[Aside, ...] = ()
    helpers: Mapping[str, Column] = field(default_factory=dict)


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
    as such. `metadata` says when other engines see it, if not as the table or the ledger does.
    """

    table: TableName
    mode: Mode = "append"
    base_version: int | None = None
    format: str | None = None
    partition_by: tuple[str, ...] | None = None
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

    @property
    def moves(self) -> list[Advance]:
        return [self.position] if self.position else []

    @property
    def operation(self) -> Operation:
        return "append" if self.mode == "append" else "overwrite"

    @property
    def replaces_all(self) -> bool:
        """Whether nothing of the table is left, so that its schema and layout may be others."""
        return self.mode == "overwrite"


@dataclass(frozen=True)
class Target:
    """The table as it was when the write was planned."""

    table: Table | None
    metadata: TableMetadata | None
    location: str
    layout: Layout
    publishing: str = "async"

    @property
    def base_version(self) -> int:
        return self.table.current_version if self.table else 0


@dataclass(frozen=True)
class Outcome:
    """What the rows did: the part of the table that leaves it for them, and how many are new, changed and gone.

    `summary` is kept with the table's version.
    """

    retires: Retired | None
    counters: Counters
    summary: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Rewrite:
    """The rows to write, with the columns that they were given with, and, once they are files, what becomes of the table.

    `reads` is the part of the table that they depend on. A way of writing that adds rows of its own gives what was `measured` of the rows
    that it was given.
    """

    frame: DataFrame
    outcome: Callable[[Saved], Outcome]
    reads: Part | None = None
    measured: Mapping[str, Any] | None = None


class Apply(Protocol):
    """A way of writing. It may read the table and stage rows, which are gone when its block ends; it puts nothing into the table.

    Rows that are marked (see `aside`) keep their mark, and those that are not the table's own pass through as they are.
    """

    def __call__(self, context: Context, frame: DataFrame, spec: Write, target: Target) -> AbstractContextManager[Rewrite]: ...


def append(context: Context, frame: DataFrame, spec: Write, target: Target) -> AbstractContextManager[Rewrite]:  # noqa: ARG001
    """Every row is new."""
    return nullcontext(Rewrite(frame, lambda saved: Outcome(None, _inserted(saved)), _computed_from(spec)))


def overwrite(context: Context, frame: DataFrame, spec: Write, target: Target) -> AbstractContextManager[Rewrite]:  # noqa: ARG001
    """The rows are all that the table has."""
    return nullcontext(Rewrite(frame, lambda saved: Outcome("all", _inserted(saved))))


def overwrite_partitions(context: Context, frame: DataFrame, spec: Write, target: Target) -> AbstractContextManager[Rewrite]:  # noqa: ARG001
    """The rows are all that the table has in the partitions that they are in."""

    def outcome(saved: Saved) -> Outcome:
        return Outcome(Partitions(frozenset(file.partition_path for file in saved.files)), _inserted(saved))

    return nullcontext(Rewrite(frame, outcome))


MODES: Mapping[Mode, Apply] = {"append": append, "overwrite": overwrite, "overwrite_partitions": overwrite_partitions}


def _computed_from(spec: Write) -> Part | None:
    """Rows depend on the table only if they were computed from it."""
    return "all" if spec.base_version is not None else None


def _inserted(saved: Saved) -> Counters:
    return Counters(processed=saved.rows, inserted=saved.rows)
