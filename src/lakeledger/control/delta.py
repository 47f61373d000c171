"""The control table as two Delta tables, read and written by delta-rs: a path or URL, no Spark.

A commit of the sources is the commit: it names the version of the modules table that belongs to it. A version of the modules that we
staged counts only when the sources' commit that it waits for is there, so an edit of both is seen whole or not at all.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from heapq import merge
from itertools import islice
from pathlib import Path
from typing import Any

from arro3.core import Table
from deltalake import CommitProperties, DeltaTable, Field, Schema, Transaction, write_deltalake
from deltalake.exceptions import CommitFailedError, DeltaError, DeltaProtocolError, SchemaMismatchError, TableNotFoundError
from deltalake.schema import PrimitiveType

from lakeledger import clock
from lakeledger.control import columns, edits
from lakeledger.control.columns import JOBS, MODULES, SOURCES, Columns
from lakeledger.control.delta_log import DeltaLog
from lakeledger.control.history import Mark, commit_of, committed_at, mark_of
from lakeledger.control.model import Commit, Edit, JobRow, Snapshot
from lakeledger.errors import Conflict, Failed, Invalid, NotFound, Unavailable
from lakeledger.redaction import scrub

LONGEST_REASON = 300
# Under this name the sources remember which version of the modules belongs to them.
_MODULES_APP = "lakeledger_modules"


@dataclass(frozen=True)
class _Part:
    """One of the two Delta tables at one version, with everything in it, or with the rows of some modules."""

    delta: DeltaTable
    data: Table

    def only(self, modules: Collection[str]) -> _Part:
        return replace(self, data=columns.only(self.data, modules))

    @property
    def version(self) -> int:
        return self.delta.version()


@dataclass(frozen=True)
class _State:
    """Both tables as they are now. `tip` is the newest version of the modules table: if it does not count, it is not `modules`."""

    sources: _Part
    modules: _Part | None
    tip: DeltaTable | None

    @cached_property
    def snapshot(self) -> Snapshot:
        rows, problems = columns.rows(SOURCES, self.sources.data)
        if self.modules is None:
            return Snapshot(self.sources.version, -1, rows, {}, problems)
        settings, more = columns.rows(MODULES, self.modules.data)
        return Snapshot(self.sources.version, self.modules.version, rows, settings, (*problems, *more))

    def only(self, modules: Collection[str]) -> _State:
        """The rows of these modules."""
        return replace(self, sources=self.sources.only(modules), modules=self.modules and self.modules.only(modules))


class DeltaControlTable:
    """A control table of Delta files. Object stores take their options from the environment unless they are given."""

    def __init__(self, location: str, storage_options: Mapping[str, str] | None = None, place: str | None = None) -> None:
        self.location = location.rstrip("/") if "://" in location else str(Path(location).expanduser().absolute())
        self.place = place or self.location
        self.name = self.location.rpartition("/")[2]
        self._modules_location = f"{self.location}_modules"
        self._jobs_location = f"{self.location}_jobs"
        self._options = dict(storage_options) if storage_options else None
        self._log = DeltaLog(self.location, self._options)
        self._modules_log = DeltaLog(self._modules_location, self._options)
        self._id: str | None = None

    @property
    def identity(self) -> str:
        """The id that Delta gave the table when it was made, as it was last read: copies have the same, a table made anew another."""
        if self._id is None:
            with self._told():
                self._id = _id(self._open(self.location))
        return self._id

    def exists(self) -> bool:
        with self._told():
            return DeltaTable.is_deltatable(self.location, self._options)

    def create(self) -> None:
        with self._told():
            try:
                self._create(self._modules_location, MODULES)
                self._id = _id(self._create(self.location, SOURCES))
            except TableNotFoundError as error:  # that is how delta-rs says that it cannot write there
                raise OSError(_line(error)) from error

    def read(self, version: int | None = None) -> Snapshot:
        return (self._now() if version is None else self._then(version)).snapshot

    def read_changed(self, version: int) -> tuple[Snapshot, Snapshot]:
        now = self._now()
        before = self._then(version, now)
        names = columns.changed_modules(SOURCES, before.sources.data, now.sources.data)
        names |= columns.changed_modules(MODULES, *(state.modules.data if state.modules else None for state in (before, now)))
        return before.only(names).snapshot, now.only(names).snapshot

    def commit(self, edit: Edit, base: Snapshot, by: str, reason: str = "") -> Snapshot:
        return self._commit(edit, base, Mark(clock.new_id(), by, reason))

    def history(self, limit: int = 50) -> list[Commit]:
        with self._told():
            own = (commit_of(version, info, self.name) for version, info in self._log.newest_first(self._open(self.location).version()))
            tip = self._open_modules()
            others = self._modules_log.newest_first(tip.version()) if tip else iter(())
            hand_made = (commit_of(version, info, f"{self.name}_modules") for version, info in others if mark_of(info) is None)
            return list(islice(merge(own, hand_made, key=lambda commit: commit.at, reverse=True), limit))

    def restore(self, version: int, by: str) -> Snapshot:
        now, then = self.read(), self.read(version)
        mark = Mark(clock.new_id(), by, f"restore version {version}", "RESTORE")
        return self._commit(edits.difference(now, then), now, mark)

    def put_jobs(self, backend: str, rows: Sequence[JobRow]) -> None:
        for _ in edits.attempts():
            try:
                with self._told():
                    jobs = self._part(self._create(self._jobs_location, JOBS), JOBS)
                    if change := edits.jobs_change(backend, rows, columns.rows(JOBS, jobs.data)[0]):
                        properties = _properties(Mark(clock.new_id(), "", "apply"))
                        write_deltalake(jobs.delta, columns.edited(JOBS, jobs.data, change), mode="overwrite", commit_properties=properties)
                return
            except CommitFailedError:
                continue  # somebody was faster: theirs is read again
        raise Conflict(f"{self.name}_jobs is changed by others all the time", retryable=True)

    def _commit(self, edit: Edit, base: Snapshot, mark: Mark) -> Snapshot:
        for _ in edits.attempts():
            state = self._now()
            edits.refuse_conflicts(edit, base, state.snapshot, self.name)
            change = edits.effective(edit, state.snapshot, clock.now())
            if not change:
                return state.snapshot
            try:
                with self._told():
                    return self._write(state, change, mark.naming(change))
            except CommitFailedError as error:
                made = mark_of(self._log.info(state.snapshot.version + 1))
                if made is not None and made.edit == mark.edit:
                    return self.read(state.snapshot.version + 1)  # it was us: an object store that answers late is asked twice
                self._refuse_other_failures(state, error)
        raise Conflict(
            f"{self.name} is changed by others all the time: the edit was not made within {edits.PATIENCE_SECONDS:.0f} s", retryable=True
        )

    def _write(self, state: _State, change: Edit, mark: Mark) -> Snapshot:
        """One Delta commit, with one of the modules staged before it if they change. Raises CommitFailedError if somebody was faster."""
        modules_version = state.snapshot.modules_version
        if change.modules or self._is_dead(state):
            modules_version = self._stage(state, change, mark)
        properties = _properties(replace(mark, modules_version=modules_version))
        delta = state.sources.delta
        if change.sources:
            data = columns.edited(SOURCES, state.sources.data, change.sources)
            write_deltalake(delta, data, mode="overwrite", commit_properties=properties)
        else:
            delta.create_write_transaction([], "append", delta.schema(), partition_by=[], commit_properties=properties)
        version = state.snapshot.version + 1
        if state.snapshot.problems:
            return self.read(version)  # some may be repaired
        return replace(edits.after(change, state.snapshot), version=version, modules_version=modules_version)

    def _stage(self, state: _State, change: Edit, mark: Mark) -> int:
        """Write the modules as they will be once the sources' commit is there; their version."""
        tip = state.tip or self._create(self._modules_location, MODULES)
        before = state.modules or _Part(tip, _data(tip))
        data = columns.edited(MODULES, before.data, change.modules)
        properties = _properties(replace(mark, sources_version=state.snapshot.version))
        write_deltalake(tip, data, mode="overwrite", commit_properties=properties)
        return tip.version()

    def _now(self) -> _State:
        with self._told():
            # The sources first: modules that are staged for a later version of them then do not count.
            sources = self._part(self._open(self.location), SOURCES)
            self._id = _id(sources.delta)
            tip = self._open_modules()
            version = self._counting(tip.version(), sources.version) if tip else -1
            return self._state(sources, tip, version)

    def _then(self, version: int, now: _State | None = None) -> _State:
        with self._told():
            newest = (now.sources.delta if now else self._open(self.location)).version()
            if not 0 <= version <= newest:
                raise NotFound(f"{self.name} has no version {version}: the newest is {newest}")
            tip = now.tip if now else self._open_modules()
            try:
                sources = self._part(self._open(self.location, version), SOURCES)
                return self._state(sources, tip, self._modules_then(version, tip))
            except (DeltaError, OSError) as error:
                raise NotFound(
                    f"version {version} of {self.name} is no longer there: its files were cleaned up ({_line(error)})"
                ) from error

    def _state(self, sources: _Part, tip: DeltaTable | None, modules_version: int) -> _State:
        """Both tables, with the modules at that version; -1 is none."""
        if tip is None or modules_version < 0:
            return _State(sources, None, tip)
        is_tip = tip.version() == modules_version
        return _State(sources, self._part(tip if is_tip else self._open(self._modules_location, modules_version), MODULES), tip)

    def _modules_then(self, version: int, tip: DeltaTable | None) -> int:
        """The version of the modules that belongs to that version of the sources: the one it names, or the newest of its time."""
        info = self._log.info(version)
        if (mark := mark_of(info)) and mark.modules_version is not None:
            return mark.modules_version
        commits = self._modules_log.newest_first(tip.version()) if tip else iter(())
        at = committed_at(info)
        newest = next((each for each, other in commits if committed_at(other) <= at), -1)
        return self._counting(newest, version)

    def _counting(self, version: int, sources_version: int) -> int:
        """The newest version of the modules, from this one back, that was not only staged."""
        while version > 0 and not self._counts(version, sources_version):
            version -= 1
        return version

    def _counts(self, version: int, sources_version: int) -> bool:
        staged = mark_of(self._modules_log.info(version))
        if staged is None or staged.sources_version is None:
            return True
        waits_for = staged.sources_version + 1
        if waits_for > sources_version:
            return False
        info = self._log.info(waits_for)
        if info is None:  # cleaned up: what the table itself remembers outlives its log
            last = self._open(self.location).transaction_version(_MODULES_APP)
            return last is None or version <= last
        made = mark_of(info)
        return made is not None and made.edit == staged.edit

    def _is_dead(self, state: _State) -> bool:
        """Whether the newest modules are what is left of an edit that was never finished: Spark, which sees them, should not for long."""
        if state.tip is None or state.tip.version() == state.snapshot.modules_version:
            return False
        staged = mark_of(self._modules_log.info(state.tip.version()))
        return staged is not None and staged.sources_version is not None and staged.sources_version < state.snapshot.version

    def _create(self, location: str, kind: Columns) -> DeltaTable:
        made = [Field(name, PrimitiveType(kind.type(name)), nullable=name not in kind.key) for name in kind.names]
        said = {"userMetadata": Mark(clock.new_id(), "", operation="CREATE TABLE").text}
        properties = CommitProperties(max_commit_retries=0, custom_metadata=said)
        try:
            return DeltaTable.create(location, Schema(made), "ignore", storage_options=self._options, commit_properties=properties)
        except CommitFailedError:
            return self._open(location)  # somebody made it at the same moment

    def _open(self, location: str, version: int | None = None) -> DeltaTable:
        return DeltaTable(location, version, self._options)

    def _open_modules(self) -> DeltaTable | None:
        """The modules table, which a control table that was made by hand need not have."""
        try:
            return self._open(self._modules_location)
        except TableNotFoundError:
            return None

    def _part(self, delta: DeltaTable, kind: Columns) -> _Part:
        types = {field.name: field.type.type for field in delta.schema().fields}
        columns.check(kind, types, self.name if kind is SOURCES else f"{self.name}_{kind.table}")
        return _Part(delta, _data(delta))

    def _refuse_other_failures(self, state: _State, error: CommitFailedError) -> None:
        """A commit that failed although nobody else committed would fail for ever."""
        with self._told():
            tip = self._open_modules()
            moved = self._open(self.location).version() > state.snapshot.version
            if not moved and (tip.version() if tip else -1) == (state.tip.version() if state.tip else -1):
                raise Invalid(
                    f"delta-rs cannot write {self.name}: {_line(error)}; change it through Spark, by its name in the catalog"
                ) from error

    @contextmanager
    def _told(self) -> Iterator[None]:
        """What delta-rs raises, in our words."""
        try:
            yield
        except CommitFailedError:
            raise
        except TableNotFoundError as error:
            raise NotFound(f"there is no control table at {scrub(self.location)}: create it first") from error
        except (DeltaProtocolError, SchemaMismatchError) as error:
            raise Invalid(
                f"delta-rs cannot handle {self.name}: {_line(error)}; open it through Spark, by its name in the catalog"
            ) from error
        except DeltaError as error:
            told = f"the control table at {scrub(self.location)} cannot be read or written: {_line(error)}"
            raise Failed(f"{told}; if files of it are damaged or missing, put them back, or load it anew elsewhere") from error
        except OSError as error:
            raise Unavailable(f"cannot read or write the control table at {scrub(self.location)}: {_line(error)}") from error


def _id(delta: DeltaTable) -> str:
    return str(delta.metadata().id)


def _data(delta: DeltaTable) -> Table:
    """Everything in the table, in the types of its schema: the scan gives texts as views, which cannot be written again."""
    schema, scan = delta.schema().to_arrow(), delta.scan()
    try:
        found = scan.read_all()
    except Exception as error:
        raise OSError(_line(error)) from error  # a file that is not there, which Arrow cannot tell from a bad one
    return Table.from_arrays([found.column(name).cast(schema.field(name).type) for name in schema.names], schema=schema)


def _properties(mark: Mark) -> CommitProperties:
    """No retries of delta-rs's own: it would write our rows over those of whoever was faster."""
    said: dict[str, Any] = {"userName": mark.by, "userMetadata": mark.text}
    belongs = None if mark.modules_version in (None, -1) else [Transaction(_MODULES_APP, mark.modules_version)]
    return CommitProperties(max_commit_retries=0, custom_metadata=said, app_transactions=belongs)


def _line(error: Exception) -> str:
    line = scrub((str(error).strip().splitlines() or [type(error).__name__])[0])
    return line if len(line) <= LONGEST_REASON else f"{line[:LONGEST_REASON]}…"
