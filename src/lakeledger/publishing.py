"""Publishing: other engines see a version in the very commit that makes it, or some time after."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from time import time
from typing import Any, TypeVar

from lakeledger import failpoints
from lakeledger.carried import CARRIES, Doing, Noted, carry
from lakeledger.commit import Commit, Effect, appended
from lakeledger.config import S3Settings, Settings, check_formats, check_metadata
from lakeledger.db import Store, Transaction
from lakeledger.db.queries import statement
from lakeledger.errors import Conflict, Failed, Fenced, Invalid, Unavailable
from lakeledger.lake import Storage
from lakeledger.lake.iceberg import Unpublishable
from lakeledger.lake.iceberg.hint import hint_path, is_hinted, write_hint
from lakeledger.lake.iceberg.read_with import Published, read_with
from lakeledger.lake.iceberg.stage import Base, Staged, load, remove, retag, stage_all
from lakeledger.names import TableName, parse_name
from lakeledger.runs import store as run_store
from lakeledger.sync import Advance
from lakeledger.tables import Change, Publication, Table, Trigger, delta, publications, store
from lakeledger.tables.publications import Plan, PointerMoved, Surroundings

# How many versions may wait to be published.
MOST_BEHIND = 1_000
# How often metadata is made anew because somebody else was faster.
ATTEMPTS = 5
# What was published last is kept at hand, for so many tables.
BASES_KEPT = 32
_Done = TypeVar("_Done")
_SCHEMA = statement("select current_schema() as name")


@dataclass(frozen=True)
class Pointer:
    """An effect: other engines see the table's new version with the commit. Raises PointerMoved if it became another one."""

    table: TableName
    plan: Plan
    staged: Staged

    def write(self, tx: Transaction, committed: Commit) -> None:
        made = committed.of(self.table)
        if made is None or not made.applied:
            return
        if made.version != self.staged.version:
            raise PointerMoved(self.table)
        publications.point(tx, made.table, self.plan, self.staged)
        publications.mark(tx, made.table, made.version, "completed")  # of versions that waited, too


@dataclass(frozen=True)
class Problem:
    """An effect: the ledger knows why other engines do not see the version."""

    table: TableName
    why: str

    def write(self, tx: Transaction, committed: Commit) -> None:
        made = committed.of(self.table)
        if made is not None and made.applied:
            publications.note_problem(tx, made.table, made.version, self.why)


@dataclass(frozen=True)
class PublishedAs:
    """An effect: from the commit on, other engines see the table in these formats."""

    table: TableName
    formats: tuple[str, ...]

    def write(self, tx: Transaction, committed: Commit) -> None:
        made = committed.of(self.table)
        own = store.publication(tx, made.table) if made else None
        if made and (own is None or own.formats != list(self.formats)):
            publications.set_formats(tx, made.table, self.formats)
            delta.forget_unless_published(tx, made.table, self.formats)


@dataclass(frozen=True)
class _Tagged:
    """What is published of a table: its place, the metadata, the ledger's id of its version, and the tags; nothing if nothing is."""

    place: str = ""
    location: str | None = None
    snapshot_id: str = ""
    tags: Mapping[str, int] = field(default_factory=dict)


@dataclass
class Publisher:
    """What publishes the tables of one tenant."""

    _store: Store
    _settings: Settings
    _find_warehouse: Callable[[], str]
    _bases: dict[str, Base] = field(default_factory=dict)
    _lost: set[str] = field(default_factory=set)
    _bare: set[str] = field(default_factory=set)  # metadata of an earlier release, which carries too little
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def mode(self, tx: Transaction, table: Table | None, wanted: str | None = None) -> str:
        """When other engines see a new version as Iceberg: as is wanted, or as the table says, or as the ledger does. Raises Invalid.

        If too many versions wait to be published, the next one takes them along: who writes faster than anybody publishes is held back.
        """
        own = store.publication(tx, table) if table and wanted is None else None
        mode = check_metadata(wanted or (own.mode if own else None) or self._settings.metadata)
        if "iceberg" not in publications.formats(tx, table, self._settings):
            return "off"
        is_behind = table is not None and own is not None and 0 < own.version < table.current_version - MOST_BEHIND
        return "sync" if mode == "async" and is_behind and not (own and own.problem) else mode

    def commit(
        self,
        work: Callable[[Sequence[Change], Sequence[Effect]], Commit],
        changes: Sequence[Change],
        moves: Sequence[Advance],
        run_id: str,
        mode: str,
        noted: Sequence[Effect] = (),
    ) -> Commit:
        """Do the work of a commit; in sync mode with what publishes its changes, of which only metadata is made anew in a conflict.

        `noted` are effects of the work, of which a lost ledger has to know as far as they say so.
        Raises whatever `work` raises, or Conflict (retryable) if somebody else was faster again and again.
        """
        if mode != "sync":
            return work(changes, ())
        for _ in range(ATTEMPTS):
            effects: list[Effect] = []
            try:
                effects += self._prepare(changes, run_id, moves, [each.to_note() for each in noted if isinstance(each, Noted)])
                failpoints.reach(failpoints.AFTER_STAGE)
                published = {each.table for each in effects if isinstance(each, Pointer)}
                made = work([replace(change, is_published=change.table in published) for change in changes], effects)
            except PointerMoved:
                self._discard(effects)
            except (Conflict, Invalid, Fenced):
                self._discard(effects)
                raise
            else:
                self._end(effects, made)
                return made
        names = ", ".join(str(change.table) for change in changes)
        raise Conflict(f"others published {names} {ATTEMPTS} times while it was being written: retry", retryable=True)

    def set_mode(self, name: str, mode: str | None) -> None:
        """When other engines see the table from now on; None is as the ledger's setting says. Raises NotFound or Invalid."""
        with self._store.write() as tx:
            publications.set_mode(tx, store.get(tx, parse_name(name)), check_metadata(mode) if mode else None)

    def set_formats(self, name: str, formats: Sequence[str] | None) -> None:
        """As what other engines see the table from now on; None is as the ledger's setting says. Raises NotFound or Invalid."""
        with self._store.write() as tx:
            table = store.get(tx, parse_name(name))
            publications.set_formats(tx, table, check_formats(formats) if formats is not None else None)
            delta.forget_unless_published(tx, table, publications.formats(tx, table, self._settings))

    def formats(self, name: str) -> tuple[str, ...]:
        """As what other engines see the table. Raises NotFound."""
        with self._store.read() as tx:
            return publications.formats(tx, store.get(tx, parse_name(name)), self._settings)

    def publish(self, name: str, *, anew: bool = False, trigger: Trigger = "manual") -> Publication | None:
        """Let other engines see the table as it is now. Raises NotFound, or Unpublishable, which the ledger then knows.

        If somebody else publishes it at the same moment, theirs counts. `anew` goes on from nothing: for metadata that is spoilt.
        `trigger` is why, and is kept with the version.
        """
        for attempt in range(ATTEMPTS):
            with self._store.read() as tx:
                table = store.get(tx, parse_name(name))
                seen = store.publication(tx, table)
            if anew and attempt == 0 and seen and seen.metadata_location:
                self._lost.add(seen.metadata_location)
            if not self._catch_up(table, trigger):
                found = self._find(table)
                self._hint_again(table, found)
                return found
        raise PointerMoved(name)

    def publish_late(self, table_id: str, trigger: Trigger = "commit") -> int:
        """Publish the table if it is one that follows its commits; up to which version others see it now, or would if they could."""
        with self._store.read() as tx:
            table = store.find_by_id(tx, table_id)
            mode = self.mode(tx, table) if table else "off"
        if table is None or mode == "off":
            return 0
        try:
            published = self.publish(str(table.name), trigger=trigger)
        except Unpublishable:
            return table.current_version
        return published.version if published else 0

    def retag(self, name: str, work: Callable[[Transaction, Table], _Done]) -> _Done:
        """Do what changes the tags of a table, in one transaction with what other engines see of them.

        What they see of a version without a tag stays; what cannot be read gets its tags when it is published anew. Raises whatever
        `work` raises, which may be done more than once, or PointerMoved (retryable) if others publish the table again and again.
        """
        warehouse = self._find_warehouse()
        looked, staged = _Tagged(), None
        for _ in range(ATTEMPTS):
            found = _Tagged()
            try:
                with self._store.write() as tx:
                    table = store.get(tx, parse_name(name))
                    done = work(tx, table)
                    found = self._tagged(tx, table, warehouse)
                    if found != looked:
                        raise PointerMoved(table.name)
                    if staged and found.location:
                        publications.repoint(tx, table, staged.version, found.location, staged.metadata_location)
            except PointerMoved:
                remove(Storage(looked.place, self._settings.s3), staged.paths if staged else ())
                looked, staged = found, self._stage_tags(found)
            else:
                if staged:
                    self._remember(staged)
                    point_hint(self._store, table, found.place, staged.metadata_location, self._settings.s3)
                return done
        raise PointerMoved(name)

    def _tagged(self, tx: Transaction, table: Table, warehouse: str) -> _Tagged:
        seen, place = store.publication(tx, table), table.placed(warehouse).location
        if seen is None or not Surroundings(lost=self._lost).goes_on(seen, place):
            return _Tagged()
        return _Tagged(place, seen.metadata_location, store.snapshot(tx, table, seen.version).snapshot_id, publications.tags(tx, table))

    def _stage_tags(self, found: _Tagged) -> Staged | None:
        if found.location is None:
            return None
        storage = Storage(found.place, self._settings.s3)
        try:
            base = self._bases.get(found.location) or load(storage, found.location, found.place)
            return retag(storage, base, found.place, found.snapshot_id, found.tags, self._around().at_ms)
        except (FileNotFoundError, ValueError, KeyError, EOFError):
            return None

    def _find(self, table: Table) -> Publication | None:
        with self._store.read() as tx:
            return store.publication(tx, table)

    def _catch_up(self, table: Table, trigger: Trigger) -> bool:
        """Publish the version that the table has now; False if there is nothing to do."""
        try:
            with self._store.read() as tx:
                plan = publications.plan_current(tx, table, self._around(), trigger)
                if plan is None:
                    return False
                plan = carry(tx, plan, anew=plan.base_location in self._bare)
            staged = self._stage_late(table, plan)
        except PointerMoved:
            return True
        except Unpublishable as error:
            with self._store.write() as tx:
                publications.note_problem(tx, table, table.current_version, str(error))
            raise
        failpoints.reach(failpoints.AFTER_STAGE)
        try:
            with self._store.write() as tx:
                publications.point(tx, table, plan, staged)
                publications.mark(tx, table, plan.step.version, "completed")
                failpoints.reach(failpoints.IN_TRANSACTION)
        except PointerMoved:
            remove(self._storage(plan), staged.paths)
        else:
            self._remember(staged)
            point_hint(self._store, table, plan.step.location, staged.metadata_location, self._settings.s3)
            failpoints.reach(failpoints.AFTER_COMMIT)
        return True

    def _stage_late(self, table: Table, plan: Plan) -> Staged:
        self._mark(table, plan, "processing")
        try:
            return self._stage(plan)
        except BaseException:
            with suppress(Unavailable):  # Its files are found by their versions: the word is for people.
                self._mark(table, plan, "failed")
            raise

    def _mark(self, table: Table, plan: Plan, state: str) -> None:
        with self._store.write() as tx:
            publications.mark(tx, table, plan.step.version, state)

    def read_with(self, engine: str, name: str) -> str:
        """Code to paste that reads the table with another engine. Raises NotFound, Conflict if it is not published yet, or Invalid."""
        with self._store.read() as tx:
            table = store.get(tx, parse_name(name))
            found = store.publication(tx, table)
            schema = tx.one(_SCHEMA) if tx.dialect == "postgres" else None
        if found is None or found.metadata_location is None:
            why = f" ({found.problem})" if found and found.problem else ""
            raise Conflict(f"{table.name} is not published{why}: `lakeledger tables publish {table.name}` does that")
        place = Published(
            self._settings.database_url,
            schema["name"] if schema else None,
            self._settings.tenant,
            table.name,
            found.metadata_location,
            self._find_warehouse(),
            self._settings.s3.resolved(),
        )
        return read_with(engine, place)

    def _prepare(self, changes: Sequence[Change], run_id: str, moves: Sequence[Advance], notes: Sequence[dict[str, Any]]) -> list[Effect]:
        """The effects that publish these changes, or say why they cannot be."""
        with self._store.read() as tx:
            doing = Doing(run_id, run_store.get(tx, run_id).trigger_type, (), moves, notes, appended(changes[0]) if changes else None)
            planned = [
                self._plan(tx, change, replace(doing, others=[other for other in changes if other is not change])) for change in changes
            ]
        return [
            each if isinstance(each, Problem) else self._effect(change.table, each) for change, each in zip(changes, planned, strict=True)
        ]

    def _plan(self, tx: Transaction, change: Change, doing: Doing) -> Plan | Problem:
        try:
            plan = publications.plan_change(tx, change, self._around(), {"run-id": doing.run_id}, doing.others)
            return carry(tx, plan, change, doing, anew=plan.base_location in self._bare)
        except Unpublishable as error:
            return Problem(change.table, str(error))

    def _effect(self, table: TableName, plan: Plan) -> Effect:
        try:
            return Pointer(table, plan, self._stage(plan))
        except Unpublishable as error:
            return Problem(table, str(error))

    def _stage(self, plan: Plan) -> Staged:
        storage, location = self._storage(plan), plan.base_location
        base = None
        try:
            if location and not plan.is_fresh:
                base = self._bases.get(location) or load(storage, location, plan.step.location)
                if CARRIES not in base.document["properties"] and location not in self._bare:
                    self._bare.add(location)
                    raise PointerMoved(plan.step.location)
            return stage_all(storage, base, (*plan.before, plan.step), is_compressed=self._settings.metadata_compression == "gzip")
        except FileNotFoundError as error:
            # Somebody has removed metadata that the next goes on from: it is made anew from what the ledger knows.
            self._lost.add(location or "")
            self._bases.pop(location or "", None)
            raise PointerMoved(plan.step.location) from error

    def _around(self) -> Surroundings:
        return Surroundings(self._find_warehouse(), round(time() * 1000), self._lost)

    def _storage(self, plan: Plan) -> Storage:
        return Storage(plan.step.location, self._settings.s3)

    def _discard(self, effects: Sequence[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, Pointer):
                remove(self._storage(effect.plan), effect.staged.paths)

    def _end(self, effects: Sequence[Effect], made: Commit) -> None:
        if not made.applied:
            self._discard([each for each in effects if not self._is_named(each)])
            return
        for effect in effects:
            if isinstance(effect, Pointer) and (table := made.of(effect.table)):
                self._remember(effect.staged)
                point_hint(self._store, table.table, effect.plan.step.location, effect.staged.metadata_location, self._settings.s3)

    def _is_named(self, effect: Effect) -> bool:
        """Whether what was staged is published all the same: by a commit whose answer was lost."""
        if not isinstance(effect, Pointer):
            return False
        with self._store.read() as tx:
            table = store.find(tx, effect.table)
            seen = store.publication(tx, table) if table else None
        return seen is not None and seen.metadata_location == effect.staged.metadata_location

    def _hint_again(self, table: Table, found: Publication | None) -> None:
        """Let the hint name what is published, should whoever published it not have come so far."""
        place = table.placed(self._find_warehouse()).location
        if found and found.metadata_location and found.metadata_location.startswith(f"{place}/"):
            with suppress(Failed, Unavailable):
                if not is_hinted(Storage(place, self._settings.s3), hint_path(table.name.folder, place), found.metadata_location):
                    point_hint(self._store, table, place, found.metadata_location, self._settings.s3)

    def _remember(self, staged: Staged) -> None:
        with self._lock:
            self._bases.pop(staged.base_location or "", None)
            self._bases[staged.metadata_location] = staged.base
            while len(self._bases) > BASES_KEPT:
                self._bases.pop(next(iter(self._bases)))


def point_hint(handle: Store, table: Table, place: str, metadata_location: str, s3: S3Settings) -> None:
    """Let the hint beside a table's metadata name what is published now: that, or what others have published since.

    If it cannot be written, the next one who publishes writes it: nothing but `lakeledger rebuild` reads it.
    """
    failpoints.reach(failpoints.BEFORE_HINT)
    with suppress(Failed, Unavailable):
        storage, path = Storage(place, s3), hint_path(table.name.folder, place)
        for _ in range(ATTEMPTS):
            write_hint(storage, path, metadata_location)
            with handle.read() as tx:
                seen = store.publication(tx, table)
            if seen is None or seen.metadata_location in (None, metadata_location):
                return
            metadata_location = seen.metadata_location or metadata_location
