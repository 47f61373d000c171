"""What rows do to their table: a way of writing says which rows become files, what leaves the table for them, and what they changed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

from lakeledger.commit import Effect
from lakeledger.runs import Counters
from lakeledger.sync import Advance, Source
from lakeledger.tables import Layout, NewFile, Partitions, Table, TableMetadata, TableName
from lakeledger.tables.model import Operation, Part, Retired

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

Mode = Literal["append", "overwrite", "overwrite_partitions"]


@dataclass(frozen=True)
class Saved:
    """What was written and is not yet visible: the files, what was measured of all rows on the way, and the files of rows set aside."""

    files: list[NewFile]
    measured: Mapping[str, Any] = field(default_factory=dict)
    aside: Saved | None = None

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.files)


@dataclass(frozen=True)
class Aside:
    """Rows that go to another table instead, in the same pass and the same commit: which, and the columns that they have there."""

    table: TableName
    when: Column
    columns: Mapping[str, Column]


@dataclass(frozen=True)
class Write:
    """What is to be written where.

    `base_version` is the version of the table that the rows were computed from. `source` is the declared source whose schema is
    registered with the rows; `effects` become visible with them, too. `confirm` has a last look, after the files are written, and raises
    if they should not become visible. `measures` are aggregates over the rows, taken in the one pass that writes them; `judge` sees them
    before the commit, and refuses the rows by raising, or adds effects. Rows that are set `aside` go to another table.
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
    measures: Mapping[str, Column] = field(default_factory=dict)
    judge: Callable[[Saved], Sequence[Effect]] | None = None
    aside: Aside | None = None

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

    @property
    def base_version(self) -> int:
        return self.table.current_version if self.table else 0


@dataclass(frozen=True)
class Outcome:
    """What the rows did: the part of the table that leaves it for them, and how many are new, changed and gone."""

    retires: Retired | None
    counters: Counters


@dataclass(frozen=True)
class Rewrite:
    """The rows to write, with the columns that they were given with, and, once they are files, what becomes of the table.

    `reads` is the part of the table that they depend on.
    """

    frame: DataFrame
    outcome: Callable[[Saved], Outcome]
    reads: Part | None = None


class Apply(Protocol):
    """A way of writing. It may read the table; it writes nothing."""

    def __call__(self, frame: DataFrame, spec: Write, target: Target) -> Rewrite: ...


def append(frame: DataFrame, spec: Write, target: Target) -> Rewrite:  # noqa: ARG001 - rows are added whatever the table has
    """Every row is new. They depend on the table only if they were computed from it."""
    return Rewrite(frame, lambda saved: Outcome(None, _inserted(saved)), reads="all" if spec.base_version is not None else None)


def overwrite(frame: DataFrame, spec: Write, target: Target) -> Rewrite:  # noqa: ARG001 - all of the table goes
    """The rows are all that the table has."""
    return Rewrite(frame, lambda saved: Outcome("all", _inserted(saved)))


def overwrite_partitions(frame: DataFrame, spec: Write, target: Target) -> Rewrite:  # noqa: ARG001 - the rows say what goes
    """The rows are all that the table has in the partitions that they are in."""

    def outcome(saved: Saved) -> Outcome:
        return Outcome(Partitions(frozenset(file.partition_path for file in saved.files)), _inserted(saved))

    return Rewrite(frame, outcome)


MODES: Mapping[Mode, Apply] = {"append": append, "overwrite": overwrite, "overwrite_partitions": overwrite_partitions}


def _inserted(saved: Saved) -> Counters:
    return Counters(processed=saved.rows, inserted=saved.rows)
