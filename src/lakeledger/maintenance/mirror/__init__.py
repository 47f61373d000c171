"""The lake's own tables: runs, steps, quality results and keys of a tenant as tables of its lake, which follow the ledger."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from lakeledger import clock
from lakeledger.background import Failures
from lakeledger.config import Settings
from lakeledger.db import Store
from lakeledger.errors import Conflict, Invalid, LakeledgerError
from lakeledger.maintenance.mirror import changes
from lakeledger.maintenance.mirror.layout import SUFFIX, TABLES, Declared, check_fillable, declared, find, grows, losses, refuse
from lakeledger.names import TableName
from lakeledger.sync import Source
from lakeledger.sync.positions import store as positions
from lakeledger.tables import Table, store

if TYPE_CHECKING:
    from lakeledger.maintenance.snapshots import Snapshots
    from lakeledger.pipelines import Context
    from lakeledger.runs import ActiveRun, Fence

__all__ = ["Mirror", "Recreated", "Refreshed", "Status"]

Progress = Callable[[str, int], None]

# Up to how many changes that wait are counted.
MOST_WAITING = 100_000
_NAME = re.compile(r"[a-z][a-z0-9_]{0,100}")


@dataclass
class Refreshed:
    """What a refresh did to one table: rows that were new or had changed, its versions, and what kept it from its work."""

    table: str
    rows: int = 0
    versions: list[int] = field(default_factory=list)
    is_new: bool = False
    seconds: float = 0.0
    problem: str | None = None

    def document(self) -> dict[str, Any]:
        """As scripts read it."""
        return asdict(self)


@dataclass(frozen=True)
class Status:
    """How far one of the tables has followed. `waiting` are changes that it does not have yet; None: all rows have to be copied first."""

    name: str
    table: str
    declared_in: str
    rows: int | None
    version: int | None
    refreshed_at: datetime | None
    waiting: int | None
    problem: str | None

    def document(self) -> dict[str, Any]:
        """As scripts read it."""
        return asdict(self)


@dataclass(frozen=True)
class Recreated:
    """A table that was made anew, or would be: its name, that of the table with the rows so far, and the tag that keeps them there."""

    table: str
    rows: int
    kept_in: str | None
    tag: str | None
    refreshed: Refreshed | None = None

    def document(self) -> dict[str, Any]:
        """As scripts read it."""
        return asdict(self)


@dataclass(frozen=True)
class Mirror:
    """What keeps the lake's own tables of one tenant."""

    _store: Store
    _settings: Settings
    _begin: Callable[..., ActiveRun]
    _context: Callable[[], Context]
    _snapshots: Callable[[], Snapshots]

    @property
    def dataset(self) -> str:
        """The schema that the tenant's tables are in."""
        return f"{self._store.tenant_id}{SUFFIX}"

    @property
    def is_enabled(self) -> bool:
        """Whether the tables are kept without anybody asking: the setting does not say no, and there is a warehouse to keep them in."""
        try:
            return self._settings.mirror.enabled and bool(self._settings.warehouse_uri)
        except Invalid:  # a shared ledger that has none
            return False

    def declared(self, name: str) -> Declared:
        """The columns of one of the tables: the project's own, or ours. Raises Invalid."""
        return declared(name, self._settings.base / self._settings.mirror.schemas)

    def status(self) -> list[Status]:
        """How far each table has followed. Changes nothing."""
        return [self._status(name) for name in TABLES]

    def is_due(self) -> bool:
        """Whether somebody who has nothing else to do should refresh: never done, or long ago, and the setting does not say no."""
        if not self.is_enabled:
            return False
        with self._store.read() as tx:
            found = positions.find(tx, changes.source_of(self.dataset, find("pipeline_runs")))
            return found is None or (tx.now - found.last_updated).total_seconds() >= self._settings.mirror.every_seconds

    def refresh(
        self,
        names: tuple[str, ...] = (),
        *,
        full: bool = False,
        trigger: str = "manual",
        by: str | None = None,
        reason: str | None = None,
        progress: Progress = lambda _what, _count: None,
        stop: Callable[[], bool] = lambda: False,
    ) -> list[Refreshed]:
        """Bring the tables, or these, to what the ledger has now; one that is not there is made. With `full` every row is read again.

        All that is committed is one run, and if nothing has changed, there is none. What keeps a table from it is its `problem`. It ends
        after the commit that is under way when `stop` says so. Raises Invalid for what is no such table.
        """
        chosen = [find(name).name for name in names or TABLES]
        with ExitStack() as stack:
            told = {"trigger": trigger, "by": by, "parameters": {"reason": reason} if reason else {}}
            right = _Right(lambda: stack.enter_context(self._begin(changes.PIPELINE, kind="maintenance", **told)))
            return [self._refresh(name, right, progress, stop, full=full) for name in chosen]

    def follow(self, failures: Failures) -> None:
        """After a run: refresh if that is due. What goes wrong is reported, and is nothing that the run could be blamed for."""
        try:
            done = self.refresh(trigger="scheduler", by=changes.PIPELINE) if self.is_due() else []
        except LakeledgerError as error:
            failures.report("", f"the lake's own tables could not be refreshed, and are tried again: {error}", error)
            return
        for each in done:
            if each.problem:
                failures.report(each.table, f"{each.table} could not be refreshed, and is tried again: {each.problem}")
            else:
                failures.clear(each.table)

    def ensure(self, name: str) -> TableName:
        """One of the tables, made if it is not there, with the columns that are declared. Raises Invalid or Failed."""
        done = self.refresh((name,))[0]
        if done.problem:
            raise Invalid(done.problem)
        return self.table_name(name)

    def table_name(self, name: str) -> TableName:
        """What one of the tables is called in the lake now. Raises Invalid."""
        with self._store.read() as tx:
            return self._named(changes.standing(tx, changes.source_of(self.dataset, find(name))))

    def recreate(
        self, name: str, *, as_: str | None = None, apply: bool = False, by: str | None = None, reason: str | None = None
    ) -> Recreated:
        """Make a table anew from what the ledger has, with the columns that are declared. A dry run unless `apply`.

        The rows so far are kept: in the version that gets a tag, or, with `as_`, in the table that is left as it is when another one is
        begun beside it. Raises Invalid, or Conflict if there is a table of the new name.
        """
        wanted, source = self._checked(name), changes.source_of(self.dataset, find(name))
        with self._store.read() as tx:
            here = self._named(changes.standing(tx, source))
            there = store.find(tx, here)
            new = TableName(self.dataset, as_ or here.table)
            if as_ is not None and (not _NAME.fullmatch(as_) or as_ in TABLES):
                raise Invalid(f"a new table cannot be called {as_!r}: write lower-case letters, digits and underscores, as in {name}_v2")
            if as_ is not None and store.find(tx, new):
                raise Conflict(f"{new} is there already: choose another name")
        tag = f"before-recreate-{clock.now():%Y%m%dT%H%M%SZ}" if there and as_ is None else None
        found = Recreated(str(new), there.row_count if there else 0, str(here) if there else None, tag)
        if not apply:
            return found
        if tag:
            self._snapshots().tag(str(here), tag, comment=reason or "kept before the table was made anew", by=by)
        with self._begin(changes.PIPELINE, kind="maintenance", by=by, parameters={"reason": reason} if reason else {}) as run:
            self._begin_anew(wanted, source, new, run.fence)
        return Recreated(found.table, found.rows, found.kept_in, tag, self.refresh((name,), by=by, reason=reason)[0])

    def _begin_anew(self, wanted: Declared, source: Source, new: TableName, fence: Fence) -> None:
        """The table without a row, and that everything has yet to be copied into it, in one commit."""
        from lakeledger.maintenance.mirror import writing
        from lakeledger.pipelines.load import replanned

        def once() -> None:
            context = self._context()
            with self._store.read() as tx:
                at = changes.standing(tx, source)
                is_there = store.find(tx, new) is not None
            start = at.next(new.table, anew=True)
            if start:
                to = writing.find(context, wanted, new, anew=is_there)
                writing.put(context, fence, to, [], at.move(start), replaces=is_there)

        replanned(once)

    def _refresh(self, name: str, right: _Right, progress: Progress, stop: Callable[[], bool], *, full: bool) -> Refreshed:
        started = time.monotonic()
        done = Refreshed(str(TableName(self.dataset, name)))
        try:
            self._follow(name, right, done, progress, stop, full=full)
        except LakeledgerError as error:
            done.problem = str(error)
        done.seconds = time.monotonic() - started
        return done

    def _follow(self, name: str, right: _Right, done: Refreshed, progress: Progress, stop: Callable[[], bool], *, full: bool) -> None:
        """Commit by commit, until nothing is left or it is told to stop. Raises Invalid, Conflict or Failed; what was committed stays."""
        from lakeledger.pipelines.load import replanned

        wanted, source = self._checked(name), changes.source_of(self.dataset, find(name))
        is_over = stop() or replanned(lambda: self._step(wanted, source, right, done, anew=full))
        while not is_over and not stop():
            progress(f"rows of {done.table}", done.rows)
            is_over = replanned(lambda: self._step(wanted, source, right, done))

    def _step(self, wanted: Declared, source: Source, right: _Right, done: Refreshed, *, anew: bool = False) -> bool:
        """Read what is next and commit it with where it ends; whether nothing is left."""
        with self._store.read() as tx:
            at = changes.standing(tx, source)
            name = self._named(at)
            table = store.find(tx, name)
            known = store.metadata(tx, table) if table else None
            if known and (lost := losses(known.schema, wanted)):
                raise refuse(str(name), lost, wanted)
            place = at.next(name.table, anew=anew or table is None)
            is_changed = known is None or grows(known.schema, wanted)
            chunk = changes.read(tx, wanted, place, at.head) if place else None
            # Changes of nothing but the mirror's own runs need no commit, which would be the next of them.
            while chunk and place and not (chunk.rows or chunk.is_last or place.copying):
                place = chunk.place
                chunk = changes.read(tx, wanted, place, at.head)
        done.table = str(name)
        if chunk is None or not (chunk.rows or (place and place.copying)):
            if is_changed and at.place:
                self._put(wanted, name, right.fence, [], at.move(at.place), done)
            return True
        if chunk.rows or is_changed:
            self._put(wanted, name, right.fence, chunk.rows, at.move(chunk.place), done)
            done.is_new = done.is_new or table is None
        else:
            self._move(right.fence, at.move(chunk.place))
        done.rows += len(chunk.rows)
        return chunk.is_last

    def _put(self, wanted: Declared, name: TableName, fence: Fence, rows: list[Any], move: Any, done: Refreshed) -> None:
        from lakeledger.maintenance.mirror import writing

        context = self._context()
        made = writing.put(context, fence, writing.find(context, wanted, name), rows, move)
        done.versions.append(made.version)

    def _move(self, fence: Fence, move: Any) -> None:
        """Only the position: there was nothing to copy."""
        from lakeledger.pipelines.write import persist

        persist(self._context(), [], fence, [], [move])

    def _checked(self, name: str) -> Declared:
        wanted = self.declared(name)
        with self._store.read() as tx:
            check_fillable(wanted, changes.known_columns(tx, wanted.table))
        return wanted

    def _named(self, at: changes.Standing) -> TableName:
        return TableName(self.dataset, at.place.table if at.place else str(at.source.table_name))

    def _status(self, name: str) -> Status:
        problem, wanted, source = None, None, changes.source_of(self.dataset, find(name))
        try:
            wanted = self._checked(name)
        except Invalid as error:
            problem = str(error)
        with self._store.read() as tx:
            at, marker = changes.standing(tx, source), positions.find(tx, source)
            here = self._named(at)
            table: Table | None = store.find(tx, here)
            known = store.metadata(tx, table) if table else None
            if wanted and known and (lost := losses(known.schema, wanted)):
                problem = str(refuse(str(here), lost, wanted))
            next_ = at.next(here.table, anew=table is None)
            about = {"table_name": name, "after_seq": at.place.seq if at.place else 0, "most": MOST_WAITING, "own": changes.PIPELINE}
            waiting = 0 if next_ is None else None if next_.copying else int((tx.one(changes.sql.waiting, **about) or {})["number"])
        return Status(
            name,
            str(here),
            wanted.place if wanted else f"{self._settings.mirror.schemas}/{name}.json",
            table.row_count if table else None,
            table.current_version if table else None,
            marker.last_updated if marker else None,
            waiting,
            problem,
        )


class _Right:
    """The right to commit, of one run that begins when it is first needed: what changes nothing is no run."""

    def __init__(self, begin: Callable[[], ActiveRun]) -> None:
        self._begin = begin
        self._run: ActiveRun | None = None

    @property
    def fence(self) -> Fence:
        if self._run is None:
            self._run = self._begin()
        return self._run.fence
