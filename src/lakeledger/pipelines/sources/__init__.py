"""What data comes from: a source says, without Spark, what is new, and gives it as a frame once it is wanted."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from lakeledger.commit import Effect
from lakeledger.db import Store
from lakeledger.names import TableName
from lakeledger.sync import Advance, Marker, SourceFile
from lakeledger.sync import Source as SourceName
from lakeledger.sync.positions import store as positions
from lakeledger.tables import Snapshot, Table, TableMetadata, store

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True)
class Seen:
    """What the ledger knows before a source is asked: where it stands, and the table that its rows go to."""

    source: SourceName
    marker: Marker | None
    table: Table | None
    metadata: TableMetadata | None
    _store: Store

    def files(self) -> list[SourceFile]:
        """The files of the source that were read."""
        if self.marker is None:
            return []
        with self._store.read() as tx:
            return positions.files(tx, self.marker)

    def versions(self) -> list[Snapshot]:
        """Every version of the table, newest first."""
        if self.table is None:
            return []
        with self._store.read() as tx:
            return store.history(tx, self.table, limit=None)


@dataclass(frozen=True)
class Reading:
    """What is new, and what becomes true with its commit.

    `frame` gives the rows, on a session for loads; without it there is nothing to read, only to note. The same `batch_id` is the same
    rows. `confirm` has a last look before the commit, and raises if the source is no longer what was planned. `base_version` is the
    version of the target that the rows are computed from. `summary` is kept with the table's version, `detail` with the step.
    """

    frame: Callable[[SparkSession], AbstractContextManager[DataFrame]] | None
    batch_id: str | None = None
    move: Advance | None = None
    effects: tuple[Effect, ...] = ()
    confirm: Callable[[], None] | None = None
    base_version: int | None = None
    summary: dict[str, Any] = field(default_factory=dict)
    detail: dict[str, Any] = field(default_factory=dict)
    message: str | None = None


class Source(Protocol):
    """Where rows come from. Planning is cheap, asks Spark nothing, and gives the same for the same state of the ledger and the source."""

    @property
    def name(self) -> SourceName:
        """By which the ledger knows it."""
        ...

    def plan(self, seen: Seen) -> Reading | None:
        """What is new since the ledger last saw the source, or None. Raises Invalid for what must not be read."""
        ...


def look(ledger_store: Store, source: SourceName, target: TableName) -> Seen:
    """What the ledger knows of a source and its target."""
    with ledger_store.read() as tx:
        table = store.find(tx, target)
        return Seen(source, positions.find(tx, source), table, store.metadata(tx, table) if table else None, ledger_store)
