"""The control table as two tables of a catalog, read and written by Spark SQL: Databricks, Unity Catalog, or any Spark with Delta.

An edit is a MERGE that fails if one of its rows is not what was read, so no version has to be locked.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from heapq import merge
from typing import TYPE_CHECKING, Any

from arro3.core import Table
from py4j.protocol import Py4JError  # type: ignore[import-untyped]  # py4j has no types
from pyspark.errors import PySparkException

from lakeledger import clock
from lakeledger.control import columns, edits
from lakeledger.control.columns import JOBS, MODULES, SOURCES, TIMES, Columns
from lakeledger.control.history import Mark, commit_of, committed_at, mark_of
from lakeledger.control.model import Commit, Edit, JobRow, Snapshot
from lakeledger.errors import Conflict, Failed, Invalid, LakeledgerError, NotFound
from lakeledger.redaction import scrub

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

_PART = re.compile(r"`[^`]+`|[^.`]+")
_CHANGED = "lakeledger: a row was changed meanwhile"
_RACES = (_CHANGED, "DELTA_CONCURRENT", "DELTA_METADATA_CHANGED", "DELTA_PROTOCOL_CHANGED", "ConcurrentModification")
_ABSENT = ("TABLE_OR_VIEW_NOT_FOUND", "DELTA_TABLE_NOT_FOUND", "DELTA_MISSING_DELTA_TABLE", "DELTA_PATH_DOES_NOT_EXIST", "PATH_NOT_FOUND")
# Delta's own errors have no class in PySpark: they come as py4j found them.
_ERRORS = (PySparkException, Py4JError)
_NOTE = "spark.databricks.delta.commitInfo.userMetadata"


class _Changed(Exception):
    """Somebody committed between our read and our write."""


@dataclass(frozen=True)
class _Table:
    """One of the tables, by its quoted name."""

    name: str
    columns: Columns
    spark: SparkSession

    def newest(self) -> int:
        """Its newest version, or -1 if it is not there."""
        try:
            return int(self.history(1)[0]["version"])
        except _ERRORS as error:
            if any(word in str(error) for word in _ABSENT):
                return -1
            if "PARSE_SYNTAX_ERROR" in str(error):
                raise Invalid(f"this Spark session knows no Delta tables, so it cannot find {self.name}: start it with Delta") from error
            raise

    def history(self, limit: int | None = None) -> list[dict[str, Any]]:
        rows = self.spark.sql(f"DESCRIBE HISTORY {self.name}{f' LIMIT {limit:d}' if limit else ''}").collect()
        return [row.asDict(recursive=True) for row in rows]

    def data(self, version: int) -> Table:
        found = self.spark.sql(f"SELECT * FROM {self.name} VERSION AS OF {version:d}")  # noqa: S608 - a quoted name
        columns.check(self.columns, {field.name: field.dataType.typeName() for field in found.schema}, self.name)
        return Table.from_arrow(found.toArrow())

    def create(self) -> None:
        """The two times are filled in by Spark if an INSERT leaves them out, and so is what has a default."""
        defaults = {**self.columns.defaults, **dict.fromkeys(TIMES, "current_timestamp()")}
        made = [
            f"{name} {self.columns.type(name)}{' NOT NULL' if name in self.columns.key else ''}"
            f"{f' DEFAULT {defaults[name]}' if name in defaults else ''}"
            for name in self.columns.names
        ]
        feature = "TBLPROPERTIES ('delta.feature.allowColumnDefaults' = 'supported')"
        self.spark.sql(f"CREATE TABLE IF NOT EXISTS {self.name} ({', '.join(made)}) USING delta {feature}")

    def merge(self, changed: Mapping[Any, Any], now: Mapping[Any, Any]) -> None:
        """Put and delete these rows, if they are still what they are now. Raises _Changed if not; then nothing has happened."""
        view = f"lakeledger_edit_{clock.new_id().replace('-', '')}"
        self.spark.createDataFrame(_edit_data(self.columns, changed, now)).createOrReplaceTempView(view)
        try:
            self.spark.sql(_merge_text(self.columns, self.name, view)).collect()
        except _ERRORS as error:
            if any(word in str(error) for word in _RACES):
                raise _Changed from error
            raise
        finally:
            self.spark.catalog.dropTempView(view)


class CatalogControlTable:
    """A control table of a catalog: `catalog.schema.table`, or what else Spark calls a Delta table."""

    def __init__(self, name: str, spark: SparkSession) -> None:
        parts = [part.strip("`") for part in _PART.findall(name)]
        self.location = self.place = self.identity = name
        self.name = parts[-1].rstrip("/").rpartition("/")[2]
        self._spark = spark
        self._noting = threading.Lock()
        self._sources = _Table(_quoted(parts), SOURCES, spark)
        self._modules, self._jobs = (
            _Table(_quoted([*parts[:-1], f"{parts[-1].rstrip('/')}_{kind.table}"]), kind, spark) for kind in (MODULES, JOBS)
        )

    def exists(self) -> bool:
        with self._told():
            return self._sources.newest() >= 0

    def create(self) -> None:
        with self._told():
            for table in (self._modules, self._sources):
                if table.newest() < 0:
                    table.create()

    def read(self, version: int | None = None) -> Snapshot:
        with self._told():
            newest = self._sources.newest()
            if newest < 0:
                raise NotFound(f"there is no control table {self.location}: create it first")
            if version is None:
                return self._snapshot(newest, self._modules.newest())
            if not 0 <= version <= newest:
                raise NotFound(f"{self.name} has no version {version}: the newest is {newest}")
            try:
                return self._snapshot(version, self._modules_then(version))
            except _ERRORS as error:
                raise NotFound(
                    f"version {version} of {self.name} is no longer there: its files were cleaned up ({_line(error)})"
                ) from error

    def read_changed(self, version: int) -> tuple[Snapshot, Snapshot]:
        return self.read(version), self.read()

    def commit(self, edit: Edit, base: Snapshot, by: str, reason: str = "") -> Snapshot:
        return self._commit(edit, base, Mark(clock.new_id(), by, reason))

    def history(self, limit: int = 50) -> list[Commit]:
        with self._told():
            own = [commit_of(info["version"], info, self.name) for info in self._sources.history(limit)]
            others = self._modules.history(limit) if self._modules.newest() >= 0 else []
            made = [commit_of(info["version"], info, f"{self.name}_modules") for info in others if mark_of(info) is None]
            return list(merge(own, made, key=lambda commit: commit.at, reverse=True))[:limit]

    def restore(self, version: int, by: str) -> Snapshot:
        now, then = self.read(), self.read(version)
        mark = Mark(clock.new_id(), by, f"restore version {version}", "RESTORE")
        return self._commit(edits.difference(now, then), now, mark)

    def put_jobs(self, backend: str, rows: Sequence[JobRow]) -> None:
        for _ in edits.attempts():
            with self._told(), self._noted(Mark(clock.new_id(), "", "apply")):
                self._jobs.create()
                before, _ = columns.rows(JOBS, self._jobs.data(self._jobs.newest()))
                try:
                    if change := edits.jobs_change(backend, rows, before):
                        self._jobs.merge(change, before)
                    return
                except _Changed:
                    continue
        raise Conflict(f"{self.name}_jobs is changed by others all the time", retryable=True)

    def _commit(self, edit: Edit, base: Snapshot, mark: Mark) -> Snapshot:
        """The modules first, then the sources. If the sources then cannot be written, the modules are put back."""
        undo: dict[str, Any] = {}
        try:
            for _ in edits.attempts():
                now = self.read()
                edits.refuse_conflicts(edit, base, now, self.name)
                change = edits.effective(edit, now, clock.now())
                if not change:
                    return now
                self._refuse_broken(change, now)
                try:
                    undo |= self._write_modules(change, now, mark)
                    base = replace(base, modules=edits.after(Edit(modules=change.modules), base).modules)  # that was us
                    self._write_sources(change, now, mark)
                except _Changed:
                    continue
                return self._after(change, now)
            raise Conflict(f"{self.name} is changed by others all the time: the edit was not made", retryable=True)
        except LakeledgerError:
            self._put_back(undo, mark)
            raise

    def _after(self, change: Edit, now: Snapshot) -> Snapshot:
        """The rows after a commit of ours. If nobody else committed meanwhile, they need not be read again."""
        with self._told():
            version, modules_version = self._sources.newest(), self._modules.newest()
            expected = (now.version + bool(change.sources), now.modules_version + bool(change.modules))
            if (version, modules_version) != expected or now.problems:
                return self._snapshot(version, modules_version)
        return replace(edits.after(change, now), version=version, modules_version=modules_version)

    def _write_modules(self, change: Edit, now: Snapshot, mark: Mark) -> dict[str, Any]:
        """The rows as they were, to be put back if need be."""
        if not change.modules:
            return {}
        with self._told(), self._noted(mark):
            if now.modules_version < 0:
                self._modules.create()
            self._modules.merge(change.modules, now.modules)
        return {name: now.modules.get(name) for name in change.modules}

    def _write_sources(self, change: Edit, now: Snapshot, mark: Mark) -> None:
        if change.sources:
            modules_version = self._modules.newest() if change.modules else now.modules_version
            with self._told(), self._noted(replace(mark.naming(change), modules_version=modules_version)):
                self._sources.merge(change.sources, now.sources)

    def _put_back(self, undo: Mapping[str, Any], mark: Mark) -> None:
        if undo:
            now = self.read()
            with self._told(), self._noted(replace(mark, operation="UNDO")):
                self._modules.merge(undo, now.modules)

    def _refuse_broken(self, change: Edit, now: Snapshot) -> None:
        """MERGE cannot make one row of two: that takes a DELETE that only a person can write."""
        broken = {".".join(map(str, key)) for key in change.sources.keys() & edits.broken_keys(now, "sources")}
        if broken := broken | {str(key) for key in change.modules.keys() & edits.broken_keys(now, "modules")}:
            raise Invalid(f"{', '.join(sorted(broken))} cannot be read: repair the rows of {self.location} with Spark SQL first")

    def _snapshot(self, version: int, modules_version: int) -> Snapshot:
        rows, problems = columns.rows(SOURCES, self._sources.data(version))
        if modules_version < 0:
            return Snapshot(version, -1, rows, {}, problems)
        settings, more = columns.rows(MODULES, self._modules.data(modules_version))
        return Snapshot(version, modules_version, rows, settings, (*problems, *more))

    def _modules_then(self, version: int) -> int:
        """The version of the modules that belongs to that version of the sources: the one it names, or the newest of its time."""
        info = next((info for info in self._sources.history() if info["version"] == version), None)
        if (mark := mark_of(info)) and mark.modules_version is not None:
            return mark.modules_version
        others = self._modules.history() if self._modules.newest() >= 0 else []
        return next((int(other["version"]) for other in others if committed_at(other) <= committed_at(info)), -1)

    @contextmanager
    def _noted(self, mark: Mark) -> Iterator[None]:
        """Our note in the commit, a setting of the whole session. Where Spark refuses it, as on serverless, its own user name has to do."""
        with self._noting:
            try:
                self._spark.conf.set(_NOTE, mark.text)
            except _ERRORS:
                yield
                return
            try:
                yield
            finally:
                self._spark.conf.unset(_NOTE)

    @contextmanager
    def _told(self) -> Iterator[None]:
        """What Spark raises, in our words."""
        try:
            yield
        except _ERRORS as error:
            raise Failed(f"Spark cannot read or write the control table {self.location}: {_line(error)}") from error


def _edit_data(kind: Columns, changed: Mapping[Any, Any], now: Mapping[Any, Any]) -> pa.Table:
    """Each changed row as it is to be, as it was (`was_…`), and whether it was there and is to go."""
    import pyarrow as pa

    types = {
        "integer": pa.int32(),
        "long": pa.int64(),
        "boolean": pa.bool_(),
        "timestamp": pa.timestamp("us", "UTC"),
        "string": pa.string(),
    }
    pairs = [(row or now[key], now.get(key), row is None) for key, row in changed.items()]
    made = {name: pa.array([getattr(row, name) for row, _, _ in pairs], types[kind.type(name)]) for name in kind.names}
    was = {f"was_{name}": pa.array([getattr(old, name, None) for _, old, _ in pairs], types[kind.type(name)]) for name in kind.said}
    flags = {"was_there": [old is not None for _, old, _ in pairs], "is_gone": [gone for _, _, gone in pairs]}
    return pa.table({**made, **was, **{name: pa.array(values, pa.bool_()) for name, values in flags.items()}})


def _merge_text(kind: Columns, table: str, view: str) -> str:
    """A source's config that is NULL was read as an empty one, and is still the same."""
    nothing = "'{}'" if kind is SOURCES else "NULL"
    stays = [
        f"coalesce(t.{name}, {nothing}) <=> coalesce(e.was_{name}, {nothing})" if name in kind.configs else f"t.{name} <=> e.was_{name}"
        for name in kind.said
    ]
    key, names, refused = ", ".join(kind.key), ", ".join(kind.names), f"CAST(raise_error('{_CHANGED}') AS STRING)"
    return f"""
        MERGE INTO {table} AS t USING {view} AS e ON {" AND ".join(f"t.{name} = e.{name}" for name in kind.key)}
        WHEN MATCHED AND NOT (e.was_there AND {" AND ".join(stays)}) THEN UPDATE SET t.module_name = {refused}
        WHEN MATCHED AND e.is_gone THEN DELETE
        WHEN MATCHED THEN UPDATE SET {", ".join(f"t.{name} = e.{name}" for name in kind.names)}
        WHEN NOT MATCHED AND e.was_there AND NOT e.is_gone THEN INSERT ({key}) VALUES ({", ".join([refused] * len(kind.key))})
        WHEN NOT MATCHED AND NOT e.is_gone THEN INSERT ({names}) VALUES ({", ".join(f"e.{name}" for name in kind.names)})
    """  # noqa: S608 - made of our own column names and the quoted name of the table


def _quoted(parts: list[str]) -> str:
    return ".".join("`" + part.replace("`", "``") + "`" for part in parts)


def _line(error: Exception) -> str:
    """The telling line, which for an error of the JVM stands below py4j's introduction."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return scrub(next((line.removeprefix(": ") for line in lines[1:2] if line.startswith(": ")), lines[0]))
