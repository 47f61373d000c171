"""Publishing as Delta: a log over the table's own files, in which each version of the ledger becomes an entry some time after its commit.

The entry *is* the commit in Delta, so it cannot be one with the ledger's. It is noted before it is written and after: whoever finds such
a note after a crash finishes that entry, and nobody writes a version twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime

from lakeledger import failpoints
from lakeledger.config import Settings
from lakeledger.db import Store
from lakeledger.errors import Conflict, Failed
from lakeledger.lake import Storage
from lakeledger.lake.delta import About, Shape, log
from lakeledger.lake.delta import actions as act
from lakeledger.lake.delta.actions import Action
from lakeledger.lake.delta.read_with import read_with
from lakeledger.lake.iceberg import Unpublishable
from lakeledger.names import parse_name
from lakeledger.tables import DeltaPublication, Snapshot, Table, delta, publications, store
from lakeledger.tables.delta import LogMoved, Stretch

DELTA = "delta"
# After so many entries there is a checkpoint; of a table with many files, which one takes long to write, after more.
ENTRIES, ENTRIES_OF_MANY = 20, 100
MANY_FILES = 10_000
# An entry with so many actions is followed by one at once.
MANY_ACTIONS = 1_000
# How often others may be faster in one call.
ATTEMPTS = 20
# What Delta calls what the ledger did.
OPERATIONS = {"merge": "MERGE", "sync": "MERGE", "delete": "DELETE", "replace": "OPTIMIZE", "alter": "CHANGE COLUMN"}


class Foreign(Conflict):
    """The Delta log is, or goes on, as the ledger did not write it: nothing is written over it."""


@dataclass(frozen=True)
class _Entry:
    """An entry to be written: the version of which table it is, and what lies between that and the version before.

    Without `before` it says what the ledger says, whatever the log said: it is the first one, or on top of what others wrote.
    """

    table: Table
    reserved: DeltaPublication
    snapshot: Snapshot
    shape: Shape
    stretch: Stretch
    before: Shape | None = None

    @property
    def number(self) -> int:
        return self.reserved.target_delta or 0

    @property
    def at_ms(self) -> int:
        return _ms(self.reserved.target_at or self.reserved.updated_at)

    @property
    def about(self) -> About:
        return _about(self.table, self.reserved)


@dataclass(frozen=True)
class DeltaPublisher:
    """What publishes the tables of one tenant as Delta."""

    _store: Store
    _settings: Settings
    _find_warehouse: Callable[[], str]

    def follows(self, table_id: str) -> bool:
        """Whether a table is to be published as Delta after its commits."""
        with self._store.read() as tx:
            table = store.find_by_id(tx, table_id)
            return table is not None and publications.follows(tx, table, DELTA, self._settings)

    def publish(self, name: str, *, anew: bool = False) -> DeltaPublication | None:
        """Let other engines see the table as it is now, and on the way every version that they can.

        Raises NotFound, Unpublishable or Foreign, and the ledger knows why then. `anew` brings a log that others have written to back to
        what the ledger says, by one more entry.
        """
        for _ in range(ATTEMPTS):
            with self._store.read() as tx:
                table = store.get(tx, parse_name(name))
            try:
                while self._next(table, anew=anew):
                    anew = False
            except LogMoved:
                continue
            except (Unpublishable, Foreign) as error:
                with self._store.write() as tx:
                    delta.note_problem(tx, table, str(error))
                raise
            with self._store.read() as tx:
                return delta.find(tx, table)
        raise LogMoved(name)

    def publish_late(self, table_id: str) -> int:
        """Publish the table if it is to be; up to which version others see it now, or would if they could."""
        with self._store.read() as tx:
            table = store.find_by_id(tx, table_id)
            formats = publications.formats(tx, table, self._settings)
            is_known = table is not None and delta.find(tx, table) is not None
        if table and is_known and DELTA not in formats:  # the settings have changed
            with self._store.write() as tx:
                delta.forget_unless_published(tx, table, formats)
        if table is None or not self.follows(table_id):
            return 0
        try:
            made = self.publish(str(table.name))
        except (Unpublishable, Foreign):
            return table.current_version  # the ledger knows why; to try again changes nothing
        return made.version if made else 0

    def read_with(self, engine: str, name: str) -> str:
        """Code to paste that reads the table by its Delta log. Raises NotFound, Conflict if it has none yet, or Invalid."""
        with self._store.read() as tx:
            table = store.get(tx, parse_name(name))
            seen = delta.find(tx, table)
        if seen is None or seen.delta_version is None:
            why = f" ({seen.problem})" if seen and seen.problem else ""
            raise Conflict(
                f"{table.name} is not published as Delta{why}: `lakeledger tables publish {table.name} --formats iceberg,delta` does that"
            )
        return read_with(engine, table.name, table.placed(self._find_warehouse()).location, self._settings.s3.resolved())

    def _next(self, table: Table, *, anew: bool) -> bool:
        """Write the log's next entry; False if there is none to write."""
        storage = self._storage(table)
        with self._store.read() as tx:
            seen = delta.find(tx, table)
            due = delta.plan(tx, table, seen.version if seen else 0)
        entry = self._due(storage, table, seen, due, anew=anew)
        if entry is None:
            return False
        many = self._write(storage, entry) > MANY_ACTIONS
        failpoints.reach(failpoints.LOGGED)
        with self._store.write() as tx:
            made = delta.point(tx, table, entry.reserved)
            failpoints.reach(failpoints.IN_TRANSACTION)
        failpoints.reach(failpoints.AFTER_COMMIT)
        if made and many:
            self._write_checkpoint(storage, table, made)
        elif made:
            self._checkpoint(storage, table, made)
        return True

    def _due(self, storage: Storage, table: Table, seen: DeltaPublication | None, due: list[Stretch], *, anew: bool) -> _Entry | None:
        """The entry to be written now, which is noted; None if there is none."""
        if seen and seen.target_delta is not None and not anew:
            return self._look(table, seen)
        if anew or seen is None or seen.delta_version is None:
            return self._reserve_whole(storage, table, seen)
        self._check(storage, table, seen)
        if due:
            return self._reserve(table, seen, due[0].high, seen.delta_version + 1)
        self._checkpoint(storage, table, seen)  # of one whose writer was stopped before it could
        return None

    def _check(self, storage: Storage, table: Table, seen: DeltaPublication) -> None:
        """Raise Foreign if the log does not end where the ledger left it; if it is gone, it is begun anew."""
        last = seen.delta_version or 0
        if storage.has(log.entry_path(last)) and not storage.has(log.entry_path(last + 1)):
            return
        newest = log.newest(storage)
        if newest is None:
            with self._store.write() as tx:
                delta.begin_anew(tx, table)
            raise LogMoved(table.name)
        if newest <= last:
            raise _foreign(table, f"does not have the entry {last} that the ledger wrote")
        # Another process of ours may be a moment ahead.
        with self._store.read() as tx:
            if delta.find(tx, table) != seen:
                raise LogMoved(table.name)
        raise _foreign(table, f"has an entry {last + 1} that the ledger did not write ({_who(storage, last + 1)})")

    def _reserve_whole(self, storage: Storage, table: Table, seen: DeltaPublication | None) -> _Entry | None:
        """The entry that makes the log say what the ledger does: the first one, or one on top of whatever is there."""
        try:
            state = log.replay(storage)
        except (FileNotFoundError, ValueError, KeyError) as error:
            raise _foreign(table, f"cannot be read ({error})") from error
        if state and state.table_id != table.table_id:
            raise Foreign(
                f"{table.name} has a Delta log in its folder that is not the ledger's: move {storage.root}/_delta_log away to publish it"
            )
        with self._store.read() as tx:
            due = delta.plan(tx, table, 0)
        if not due:
            return None
        return self._reserve(table, seen, due[-1].high, state.version + 1 if state else 0)

    def _reserve(self, table: Table, seen: DeltaPublication | None, version: int, number: int) -> _Entry:
        with self._store.write() as tx:
            reserved = delta.reserve(tx, table, seen, version, number)
        failpoints.reach(failpoints.RESERVED)
        return self._look(table, reserved)

    def _look(self, table: Table, reserved: DeltaPublication) -> _Entry:
        """All that an entry is made from, once it is known which one it is."""
        goes_on = reserved.delta_version is not None and reserved.target_delta == reserved.delta_version + 1
        low, high = reserved.version if goes_on else 0, reserved.target_version or 0
        with self._store.read() as tx:
            snapshot = store.snapshot(tx, table, high)
            shape = delta.shape_at(tx, table, snapshot.schema_version)
            if not low or store.has_expired(tx, table, low):
                return _Entry(table, reserved, snapshot, shape, Stretch(0, high, "change"))
            before = delta.shape_at(tx, table, store.snapshot(tx, table, low).schema_version)
            return _Entry(table, reserved, snapshot, shape, delta.between(tx, table, low, high), before)

    def _write(self, storage: Storage, entry: _Entry) -> int:
        """Put the entry into the log, unless it is there: of how many actions it is. Raises Foreign."""
        found = list(self._actions(storage, entry))
        if storage.put(log.entry_path(entry.number), act.lines(found)):
            return len(found)
        try:
            there = act.version_in(log.read(storage, entry.number), entry.about)
        except ValueError:
            there = None
        if there != entry.snapshot.version:
            raise _foreign(entry.table, f"has an entry {entry.number} that the ledger did not write ({_who(storage, entry.number)})")
        return len(found)

    def _actions(self, storage: Storage, entry: _Entry) -> Iterator[Action]:
        stretch, snapshot = entry.stretch, entry.snapshot
        told = {"version": snapshot.version, "operation": snapshot.operation, "run-id": snapshot.run_id, "batch-id": snapshot.batch_id}
        yield act.commit_info(
            OPERATIONS.get(snapshot.operation, "WRITE"),
            entry.at_ms,
            {f"lakeledger.{name}": value for name, value in told.items() if value is not None},
            is_append=stretch.does == "append",
            engine="lakeledger",
        )
        yield act.txn(entry.about, snapshot.version, entry.at_ms)
        if entry.before is None or entry.before.features != entry.shape.features:
            yield act.protocol(entry.shape)
        if entry.before != entry.shape:
            yield act.meta_data(entry.about, entry.shape)
        yield from self._difference(storage, entry) if entry.before is None else self._step(entry)

    def _step(self, entry: _Entry) -> Iterator[Action]:
        """What lies between two versions of the ledger."""
        stretch = entry.stretch
        with self._store.read() as tx:
            gone = delta.gone(tx, entry.table, stretch.low, stretch.high)
        yield from (act.remove(path, size, entry.at_ms, is_news=stretch.is_news) for path, size in gone)
        for file in delta.came(self._store, entry.table, stretch.low, stretch.high):
            yield act.add(file, entry.shape, is_news=stretch.is_news)

    def _difference(self, storage: Storage, entry: _Entry) -> Iterator[Action]:
        """What lies between what the log says and a version of the ledger."""
        state = (log.replay(storage) if entry.number else None) or log.State(-1)
        wanted = {file.path: file for file in delta.came(self._store, entry.table, 0, entry.snapshot.version)}
        for path, vector in state.live.items():
            if path not in wanted or vector:
                yield act.remove(path, None, entry.at_ms, is_news=True, vector=vector)
        for path, file in wanted.items():
            if state.live.get(path, ...) is not None:
                yield act.add(file, entry.shape, is_news=True)

    def _checkpoint(self, storage: Storage, table: Table, seen: DeltaPublication) -> None:
        """Write a checkpoint if one is due."""
        since = (seen.delta_version or 0) - (seen.checkpoint_version if seen.checkpoint_version is not None else -1)
        if since >= (ENTRIES if table.file_count < MANY_FILES else ENTRIES_OF_MANY):
            self._write_checkpoint(storage, table, seen)

    def _write_checkpoint(self, storage: Storage, table: Table, seen: DeltaPublication) -> None:
        about, number = _about(table, seen), seen.delta_version or 0
        with self._store.read() as tx:
            shape = delta.shape_at(tx, table, store.snapshot(tx, table, seen.version).schema_version)
        told = [act.protocol(shape), act.meta_data(about, shape), act.txn(about, seen.version, _ms(seen.updated_at))]
        files = (act.add(file, shape, is_news=False) for file in delta.came(self._store, table, 0, seen.version))
        log.write_checkpoint(storage, number, told, files)
        failpoints.reach(failpoints.CHECKPOINTED)
        with self._store.write() as tx:
            delta.note_checkpoint(tx, table, number)

    def _storage(self, table: Table) -> Storage:
        return Storage(table.placed(self._find_warehouse()).location, self._settings.s3)


def _about(table: Table, row: DeltaPublication) -> About:
    properties = {
        "lakeledger.tenant": table.tenant_id,
        "lakeledger.schema-name": table.schema_name,
        "lakeledger.table-name": table.table_name,
    }
    return About(row.log_id, table.table_id, str(table.name), _ms(table.created_at), properties)


def _ms(at: datetime) -> int:
    return round(at.timestamp() * 1_000)


def _foreign(table: Table, what: str) -> Foreign:
    return Foreign(
        f"the Delta log of {table.name} {what}, and nothing is written over it: "
        f"`lakeledger tables verify {table.name} --repair --apply` brings it back to what the ledger says"
    )


def _who(storage: Storage, number: int) -> str:
    """Who wrote an entry, as far as it says so."""
    try:
        info: Action = next((each["commitInfo"] for each in log.read(storage, number) if "commitInfo" in each), {})
    except (FileNotFoundError, ValueError, Failed):
        info = {}
    return f"{info.get('operation', 'an unknown operation')} by {info.get('engineInfo') or info.get('clientVersion') or 'somebody'}"
