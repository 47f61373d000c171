"""Publishing: other engines see a version in the very commit that makes it, or some time after."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import time

from lakeledger import codec, failpoints
from lakeledger.commit import Commit, Effect
from lakeledger.config import Settings, check_metadata
from lakeledger.db import Store, Transaction
from lakeledger.db.queries import statement
from lakeledger.errors import Conflict, Fenced, Invalid
from lakeledger.lake import Storage
from lakeledger.lake.iceberg import Unpublishable
from lakeledger.lake.iceberg.read_with import Published, read_with
from lakeledger.lake.iceberg.stage import Base, Staged, load, remove, stage
from lakeledger.names import TableName, parse_name
from lakeledger.sync import Advance
from lakeledger.tables import Change, Publication, Table, publications, store
from lakeledger.tables.publications import Plan, PointerMoved

# How often metadata is made anew because somebody else was faster.
ATTEMPTS = 5
# What was published last is kept at hand, for so many tables.
BASES_KEPT = 32
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
        publications.point(
            tx, made.table, self.plan, self.staged.metadata_location, self.staged.manifest_list, self.staged.iceberg_snapshot_id
        )


@dataclass(frozen=True)
class Problem:
    """An effect: the ledger knows why other engines do not see the version."""

    table: TableName
    why: str

    def write(self, tx: Transaction, committed: Commit) -> None:
        made = committed.of(self.table)
        if made is not None and made.applied:
            publications.note_problem(tx, made.table, made.version, self.why)


@dataclass
class Publisher:
    """What publishes the tables of one tenant."""

    _store: Store
    _settings: Settings
    _find_warehouse: Callable[[], str]
    _bases: dict[str, Base] = field(default_factory=dict)

    def mode(self, tx: Transaction, table: Table | None, wanted: str | None = None) -> str:
        """When other engines see a new version: as is wanted, or as the table says, or as the ledger does. Raises Invalid."""
        own = store.publication(tx, table) if table and wanted is None else None
        return check_metadata(wanted or (own.mode if own else None) or self._settings.metadata)

    def commit(
        self,
        work: Callable[[Sequence[Change], Sequence[Effect]], Commit],
        changes: Sequence[Change],
        moves: Sequence[Advance],
        run_id: str,
        mode: str,
    ) -> Commit:
        """Do the work of a commit; in sync mode with what publishes its changes, of which only metadata is made anew in a conflict.

        Raises whatever `work` raises, or Conflict (retryable) if somebody else was faster again and again.
        """
        if mode != "sync":
            return work(changes, ())
        for _ in range(ATTEMPTS):
            effects = self._prepare(changes, {"run-id": run_id, **_positions(moves)})
            failpoints.reach(failpoints.AFTER_STAGE)
            published = {each.table for each in effects if isinstance(each, Pointer)}
            try:
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

    def publish(self, name: str) -> Publication | None:
        """Let other engines see the table as it is now. Raises NotFound or Unpublishable.

        If somebody else publishes it at the same moment, theirs counts.
        """
        for _ in range(ATTEMPTS):
            with self._store.read() as tx:
                table = store.get(tx, parse_name(name))
                seen = store.publication(tx, table)
                plan = publications.plan_current(tx, table, self._find_warehouse(), _now_ms())
            if plan is None:
                return seen
            staged = self._stage(plan)
            try:
                with self._store.write() as tx:
                    publications.point(tx, table, plan, staged.metadata_location, staged.manifest_list, staged.iceberg_snapshot_id)
                    publications.complete(tx, table, seen.version if seen else 0, plan.step.version)
            except PointerMoved:
                remove(self._storage(plan), staged.paths)
            else:
                self._remember(staged)
        raise PointerMoved(name)

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
        )
        return read_with(engine, place)

    def _prepare(self, changes: Sequence[Change], about: Mapping[str, str]) -> list[Effect]:
        """The effects that publish these changes, or say why they cannot be."""
        with self._store.read() as tx:
            planned = [self._plan(tx, change, about) for change in changes]
        return [
            each if isinstance(each, Problem) else self._effect(change.table, each) for change, each in zip(changes, planned, strict=True)
        ]

    def _plan(self, tx: Transaction, change: Change, about: Mapping[str, str]) -> Plan | Problem:
        try:
            return publications.plan_change(tx, change, self._find_warehouse(), _now_ms(), about)
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
        if location and not plan.is_fresh:
            base = self._bases.get(location) or load(storage, location, plan.step.location)
        return stage(storage, base, plan.step)

    def _storage(self, plan: Plan) -> Storage:
        return Storage(plan.step.location, self._settings.s3)

    def _discard(self, effects: Sequence[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, Pointer):
                remove(self._storage(effect.plan), effect.staged.paths)

    def _end(self, effects: Sequence[Effect], made: Commit) -> None:
        if not made.applied:
            self._discard(effects)
            return
        for effect in effects:
            if isinstance(effect, Pointer):
                self._remember(effect.staged)

    def _remember(self, staged: Staged) -> None:
        if staged.base_location:
            self._bases.pop(staged.base_location, None)
        self._bases[staged.metadata_location] = staged.base
        while len(self._bases) > BASES_KEPT:
            self._bases.pop(next(iter(self._bases)))


def _now_ms() -> int:
    return round(time() * 1000)


def _positions(moves: Sequence[Advance]) -> dict[str, str]:
    """Where the sources stand with the commit, as a lost ledger could read it again."""
    told = [{"source": vars(move.source), "kind": move.to.kind, "position": move.to.document()} for move in moves]
    return {"positions": codec.to_json(told)} if told else {}
