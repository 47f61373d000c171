"""What data comes from: a source says, without Spark, what is new, and gives it as a frame once it is wanted."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from lakeledger.commit import Effect
from lakeledger.db import Store
from lakeledger.errors import Invalid
from lakeledger.names import TableName
from lakeledger.pipelines.breaking import Accepted, accepted
from lakeledger.pipelines.effects import NO_VOLUME, Volume
from lakeledger.sync import Advance, Marker, SourceFile
from lakeledger.sync import Source as SourceName
from lakeledger.sync.positions import store as positions
from lakeledger.tables import Table, TableMetadata, store
from lakeledger.tables.schema import HISTORY, Schema, shown

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True)
class Wanted:
    """What of a source is asked for, if not what is new: a window of its watermark, without its end, or everything anew."""

    window: tuple[Any, Any] | None = None
    full_refresh: bool = False


NEWS = Wanted()


@dataclass(frozen=True)
class Seen:
    """What the ledger knows before a source is asked: where it stands, the table that its rows go to, and what is wanted of it."""

    source: SourceName
    marker: Marker | None
    table: Table | None
    metadata: TableMetadata | None
    _store: Store
    wanted: Wanted = NEWS

    def files(self) -> list[SourceFile]:
        """The files of the source that were read."""
        if self.marker is None:
            return []
        with self._store.read() as tx:
            return positions.files(tx, self.marker)

    def row_keys(self) -> dict[str, str]:
        """By which the rows of the files are found that were read so, by path."""
        if self.marker is None:
            return {}
        with self._store.read() as tx:
            return positions.row_keys(tx, self.marker)

    @property
    def given_columns(self) -> Schema | None:
        """The table's columns without those that the ledger fills itself: the sequence, and a history's times."""
        if self.metadata is None:
            return None
        fields = [field for field in shown(self.metadata.schema)["fields"] if field["name"] not in HISTORY]
        return {**self.metadata.schema, "fields": fields}

    def accepted(self) -> Accepted:
        """What somebody accepted of changes of the source."""
        return accepted(self._store, self.source)

    def origins(self) -> set[str | None]:
        """The sources that brought rows into the table, ever, by their names; None stands for rows that no source brought."""
        if self.table is None:
            return set()
        with self._store.read() as tx:
            return store.origins(tx, self.table)

    def check_first_run(self) -> None:
        """Raise Invalid unless position and table agree on whether this is the source's first load.

        A position that somebody set by hand needs no table: that is how one says where to begin.
        """
        name, known = self.source.name, {self.source.name, None}
        if self.marker is None and self.table and self.table.row_count and self.origins() & known:
            raise Invalid(
                f"{self.table.name} holds rows, but the position of {name} is gone, and all of them would come again: set where it stood "
                f"with `lakeledger positions set {name} POSITION --type {self.source.marker_type}`, or replace the table with a full "
                f"refresh (`load(…, full_refresh=True)`)"
            )
        if self.marker and self.marker.sync_run_id and self.table is None:
            raise Invalid(
                f"{name} stands at {self.marker.position_data}, but the table that its rows went to is gone, and they would be missing: "
                f"load everything with a full refresh (`load(…, full_refresh=True)`), or say where to begin with "
                f"`lakeledger positions set {name} POSITION --force --reason …`"
            )

    def has_reached(self, move: Advance) -> bool:
        """Whether the source stands at a move now: whether its commit was made."""
        with self._store.read() as tx:
            return positions.stands_at(tx, move)


@dataclass(frozen=True)
class Reading:
    """What is new, and what becomes true with its commit.

    `frame` gives the rows, on a session for loads; without it there is nothing to read, only to note. The same `batch_id` is the same
    rows. `confirm` has a last look before the commit, and raises if the source is no longer what was planned. `base_version` is the
    version of the target that the rows are computed from. `summary` is kept with the table's version, `detail` with the step, and
    `volume` says which rows they are. Rows that are a slice of the source must not replace a table, and those of which `repeats` says
    why they may be in the table already must not be appended. `wanted` is what was asked for: a source that knows nothing of windows or
    full refreshes gives news, and is then not taken for what it is not. Rows that are `is_named` have the names of the table already.
    `replaces` are the keys of files whose rows these take the place of, with what else is new.
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
    volume: Volume = NO_VOLUME
    is_slice: bool = False
    wanted: Wanted = NEWS
    repeats: str | None = None
    replaces: frozenset[str] = frozenset()
    is_named: bool = False


class Source(Protocol):
    """Where rows come from. Planning is cheap, asks Spark nothing, and gives the same for the same state of the ledger and the source."""

    @property
    def name(self) -> SourceName:
        """By which the ledger knows it."""
        ...

    def plan(self, seen: Seen) -> Reading | None:
        """What is new since the ledger last saw the source, or None. Raises Invalid for what must not be read."""
        ...


@runtime_checkable
class Samples(Protocol):
    """A source that has a quicker way to a few of its rows than to plan a load of all and to take some."""

    def sample(self, rows: int) -> Reading:
        """At least so many rows, if it has them. Registers, moves and makes nothing. Raises Invalid."""
        ...


def look(ledger_store: Store, source: SourceName, target: TableName, wanted: Wanted = NEWS) -> Seen:
    """What the ledger knows of a source and its target."""
    with ledger_store.read() as tx:
        table = store.find(tx, target)
        return Seen(source, positions.find(tx, source), table, store.metadata(tx, table) if table else None, ledger_store, wanted)


def refuse_lost_position(source: SourceName, seen: Seen, fix: str) -> None:
    """Raise Invalid for a table that has rows of a source whose position is gone: it would get all of them again."""
    if seen.table and source.name in seen.origins():
        raise Invalid(
            f"{seen.table.name} holds rows of {source.name}, but the position of {source.name} is gone: {fix}, or restore the ledger"
        )
