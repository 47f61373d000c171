"""A PostgreSQL table as a source of changes: a logical replication slot, read in whole transactions, advanced only after our commit.

One slot and one publication belong to one source. The first load copies the table as it was when the slot was made; each later one
reads the changes since. Changes stay in the slot until the ledger has them: a load that dies is made again from the same changes.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from lakeledger import clock, codec
from lakeledger.config import S3Settings
from lakeledger.errors import Failed, Invalid
from lakeledger.lake import Storage
from lakeledger.lake.storage import AS_AWS
from lakeledger.pipelines.sources import Reading, Seen, refuse_lost_position
from lakeledger.pipelines.sources import replication_server as server
from lakeledger.pipelines.sources.replication_stage import Stage, read_staged
from lakeledger.sync import Advance, LsnPosition, Marker
from lakeledger.sync import Source as SourceName

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# In a position: that the table was copied, and that the slot began at this place of the log or later.
SNAPSHOT = "snapshot"


@dataclass(frozen=True)
class Replication:
    """Which table of which server. Its user needs REPLICATION, and for the first load SELECT on the table.

    `slot` and `publication` are `lakeledger_<source>` unless they are named; the publication must be there, the slot is made by the first
    load. `keys` are the primary key's columns, unless they are declared. A load reads up to `max_changes` changes or `max_bytes`, but
    always whole transactions, and at least one. With `snapshot` never, the slot must be there, and only what it has is read.
    """

    url: str = field(repr=False)
    table: str
    slot: str | None = None
    publication: str | None = None
    keys: tuple[str, ...] = ()
    max_changes: int = 100_000
    max_bytes: int = 256 * 2**20
    snapshot: Literal["initial", "never"] = "initial"


@dataclass(frozen=True)
class PostgresChanges:
    """The changes of one table. `staging` is a folder that Spark can read: what is read from the server is kept there during a load."""

    name: SourceName
    config: Replication
    staging: str
    s3: S3Settings = AS_AWS

    @property
    def slot(self) -> str:
        return self.config.slot or server.default_slot(self.name.name)

    @property
    def publication(self) -> str:
        return self.config.publication or server.default_slot(self.name.name)

    def plan(self, seen: Seen) -> Reading | None:
        if seen.marker is None:
            refuse_lost_position(self.name, seen, "drop its slot and load it into another table")
        with server.connect(self.config.url) as connection:
            state = server.look(connection, self.slot, self.publication, self.config.table)
            if seen.marker is None and self.config.snapshot == "initial":
                return self._copying(seen, state)
            self._check_slot(state, seen.marker)
            if seen.marker and _lsn(seen.marker) > state.confirmed:
                server.advance(connection, self.slot, _lsn(seen.marker))
            ahead = server.ahead(connection, self.slot, self.publication, self.config.max_changes)
        return self._changes(seen, state, ahead)

    def _copying(self, seen: Seen, state: server.State) -> Reading:
        """The first load: the slot will begin here or later, and the table is copied as it is then."""
        if state.slot_exists and not self.slot.startswith(server.OURS):
            raise Invalid(
                f"the slot {self.slot} is there, but the ledger has no position of {self.name.name}: drop it with "
                f"`{server.drop_statement(self.slot)}`, or set snapshot to never to read on from it"
            )
        move = Advance(self.name, LsnPosition(server.lsn_text(state.current), {SNAPSHOT: self.slot}), 0)
        detail: dict[str, Any] = {"snapshot": True}
        return Reading(
            frame=lambda spark: self._copy(spark, seen, move, detail),
            batch_id=codec.digest(["snapshot", self.name.name, self.slot, state.current]),
            move=move,
            summary={"source": self.name.name},
            detail=detail,
        )

    def _changes(self, seen: Seen, state: server.State, ahead: list[server.Ahead]) -> Reading | None:
        end = server.choose(ahead, self.config.max_bytes)
        version = seen.marker.version if seen.marker else 0
        begin = max(_lsn(seen.marker) if seen.marker else 0, state.confirmed)
        if end is None:
            # Only others wrote to the log. Where we stand is noted, so that the slot can let go of it.
            to = ahead[-1].end_lsn if ahead else state.current
            return (
                Reading(None, move=Advance(self.name, LsnPosition(server.lsn_text(to)), version), message="nothing new")
                if to > begin
                else None
            )
        move = Advance(self.name, LsnPosition(server.lsn_text(end.end_lsn)), version)
        lag = state.current - begin
        return Reading(
            frame=lambda spark: self._read(spark, seen, begin, end.end_lsn, move),
            batch_id=codec.digest(["changes", self.name.name, self.slot, begin, end.end_lsn]),
            move=move,
            summary={"source": self.name.name},
            detail={"changes": end.changes, "transactions": end.transactions, "lag_bytes": lag, "lsn": move.to.document()["lsn"]},
            is_slice=True,
        )

    def _check_slot(self, state: server.State, marker: Marker | None) -> None:
        anew = f"drop it with `{server.drop_statement(self.slot)}` and load the table anew, under another source_id"
        if not state.slot_exists:
            fix = (
                "load the table anew, under another source_id" if marker else f"make it, or set snapshot to initial ({server.CREATE_SLOT})"
            )
            raise Invalid(f"there is no slot {self.slot}, so that changes since {_text(marker)} are lost: {fix}")
        if state.is_lost:
            raise Invalid(f"the server has given up the slot {self.slot} (wal_status {state.wal_status}): changes are lost; {anew}")
        if state.plugin != "pgoutput" or not state.is_here:
            raise Invalid(f"the slot {self.slot} is of {state.plugin} in database {state.database}: name another slot")
        if marker and _lsn(marker) > state.current:
            raise Invalid(
                f"the server's log ends at {server.lsn_text(state.current)}, before the ledger's position {_text(marker)}: it was "
                f"restored, or is another server; {anew}"
            )
        if marker and state.confirmed > _lsn(marker) and SNAPSHOT not in marker.position_data:
            raise Invalid(
                f"the slot {self.slot} stands at {server.lsn_text(state.confirmed)}, but the ledger at {_text(marker)}: somebody else read "
                f"from it, and the changes between are lost; {anew}"
            )

    @contextmanager
    def _copy(self, spark: SparkSession, seen: Seen, move: Advance, detail: dict[str, Any]) -> Iterator[DataFrame]:
        """The rows of the table at the moment at which the slot was made. Without our commit there is no slot afterwards."""
        kept = False
        with server.new_slot(self.config.url, self.slot) as exported:
            try:
                with self._staging() as (storage, folder):
                    stage = Stage(storage, folder)
                    with server.connect(self.config.url) as connection:
                        state = server.look(connection, self.slot, self.publication, self.config.table)
                        for row in server.copy(connection, state, exported.name):
                            stage.add_copied(state.relation, row, exported.lsn)
                    stage.finish(state.relation)
                    detail["rows_copied"] = stage.rows
                    yield read_staged(spark, storage, stage)
                kept = seen.has_reached(move)
            finally:
                if not kept:
                    server.drop_slot(self.config.url, self.slot)

    @contextmanager
    def _read(self, spark: SparkSession, seen: Seen, begin: int, end: int, move: Advance) -> Iterator[DataFrame]:
        with self._staging() as (storage, folder):
            stage = Stage(storage, folder)
            with server.connect(self.config.url) as connection:
                state = server.look(connection, self.slot, self.publication, self.config.table)
                keys = frozenset(self.config.keys or state.keys)
                for data in server.peek(connection, self.slot, self.publication, end):
                    stage.add_message(data, self.config.table, keys, begin)
            stage.finish(state.relation)
            if stage.end_lsn != end:
                raise Failed(
                    f"the slot {self.slot} gave changes up to {stage.end_lsn}, not to {end} as planned: run it again", retryable=True
                )
            yield read_staged(spark, storage, stage)
        if seen.has_reached(move):
            server.advance_if_possible(self.config.url, self.slot, end)

    def sample(self, rows: int) -> Reading:
        """Rows of the table as it is now. No slot is made."""
        with server.connect(self.config.url) as connection:
            server.look(connection, self.slot, self.publication, self.config.table)
        return Reading(frame=lambda spark: self._sample(spark, rows))

    @contextmanager
    def _sample(self, spark: SparkSession, rows: int) -> Iterator[DataFrame]:
        with self._staging(f"sample_{self.slot}") as (storage, folder):
            stage = Stage(storage, folder)
            with server.connect(self.config.url) as connection:
                state = server.look(connection, self.slot, self.publication, self.config.table)
                for row in server.copy(connection, state, limit=rows):
                    stage.add_copied(state.relation, row, state.current)
            stage.finish(state.relation)
            yield read_staged(spark, storage, stage)

    @contextmanager
    def _staging(self, name: str | None = None) -> Iterator[tuple[Storage, str]]:
        """A new folder. What a load that died left in it is removed first: only one load reads a slot at a time."""
        storage, own = Storage(self.staging, self.s3), name or self.slot
        storage.remove_folder(own)
        folder = f"{own}/{clock.new_id()[-12:]}"
        storage.make(folder)
        try:
            yield storage, folder
        finally:
            storage.remove_folder(own)


def lag(config: Replication, source: SourceName) -> int:
    """How many bytes of the log the source's slot still holds back. Raises NotFound without a slot."""
    with server.connect(config.url) as connection:
        return server.lag(connection, config.slot or server.default_slot(source.name))


def _lsn(marker: Marker) -> int:
    return LsnPosition.parse(marker.position_data).offset()


def _text(marker: Marker | None) -> str:
    return str(marker.position_data["lsn"]) if marker else "its beginning"
