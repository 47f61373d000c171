"""Sources that only a document declares: a set of files, and a query over the ledger's tables."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from lakeledger import clock, codec
from lakeledger.control import documents
from lakeledger.control.tasks import SqlTask
from lakeledger.errors import Invalid
from lakeledger.lake import StoredFile
from lakeledger.pipelines import Context, sql_task
from lakeledger.pipelines.apply.changes import RESCUED
from lakeledger.pipelines.breaking import Accepted
from lakeledger.pipelines.effects import MovedFiles, ReadFiles
from lakeledger.pipelines.naming import Naming
from lakeledger.pipelines.sources import Reading, Seen, files, refuse_lost_position
from lakeledger.pipelines.sources.query import IncrementalQuery
from lakeledger.sync import Advance, SourceFile
from lakeledger.sync import Source as SourceName
from lakeledger.sync.schemas import EvolutionType
from lakeledger.tables.schema import Schema, renamed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Declared = documents.LoadingSource

# How many files a sample is taken from.
SAMPLED_FILES = 10


@dataclass(frozen=True)
class DeclaredFiles:
    """Files that a pattern finds, relative to the document."""

    name: SourceName
    declared: documents.FilesSource
    where: files.Where

    def plan(self, seen: Seen) -> Reading | None:
        config, known = self.declared.source_config, seen.files()
        is_full = seen.wanted.full_refresh or self.declared.transformation_config.load_type in ("full", "snapshot_diff")
        if seen.table and seen.marker is None and not is_full:
            refuse_lost_position(self.name, seen, "load it with load_type full once")
        found = self._found()
        if not found and (is_full or not known):
            raise Invalid(f"no file matches {config.path}: check the source's path")
        if is_full:
            planned: files.Planned | None = files.plan_full(found, known, self.where)
        else:
            planned = files.plan_incremental(found, known, config.changed_files, self.where)
        return self._reading(seen, planned, is_full=is_full) if planned else None

    def sample(self, rows: int) -> Reading:  # noqa: ARG002 - nobody knows how many a file has
        """The rows of the first files, which are not looked into before."""
        read, spec = self.first_files(), self._files(Accepted(), is_full=True)
        return Reading(frame=lambda spark: self._frame(spark, spec, read, None, {}), detail={"files": len(read)})

    def first_files(self) -> list[SourceFile]:
        """The first files by name, without their content hashes. Raises Invalid if there is none."""
        found = self._found()[:SAMPLED_FILES]
        if not found:
            raise Invalid(f"no file matches {self.declared.source_config.path}: check the source's path")
        return [SourceFile(file.path, file.size, file.modified_at, "") for file in found]

    def _reading(self, seen: Seen, planned: files.Planned, *, is_full: bool) -> Reading:
        version = seen.marker.version if seen.marker else 0
        renamed = f"{len(planned.renamed)} renamed" if planned.renamed else None
        move = Advance(self.name, planned.position, version, reason=renamed)
        counts = {"renamed_files": len(planned.renamed), "changed_files": len(planned.changed)}
        detail = {"files": len(planned.files), **{name: count for name, count in counts.items() if count}}
        moved = (MovedFiles(self.name, planned.moved),) if planned.moved else ()
        if not planned.files:
            return Reading(None, move=move, effects=moved, detail=detail, message=f"nothing new, {renamed}")
        spec, schema = self._files(seen.accepted(), is_full=is_full), self._table_schema(seen)
        row_keys = {file.path: clock.new_id() for file in planned.files} if spec.names_files else {}
        return Reading(
            frame=lambda spark: self._frame(spark, spec, planned.files, schema, row_keys),
            # The same content may come again after another: what tells two appends of it apart is where the source stood.
            batch_id=None if seen.wanted.full_refresh else self._batch_id(planned.files, None if is_full or not version else version),
            move=move,
            effects=(*moved, ReadFiles(self.name, planned.files, row_keys)),
            replaces=self._leaving(seen, planned.changed),
            confirm=lambda: files.check_unchanged(planned.files, self._found()),
            summary={"source": self.name.name, "source_files": len(planned.files)},
            wanted=replace(seen.wanted, window=None),
            is_slice=not is_full,
            is_named=True,
            detail={**detail, "position": {"before": seen.marker.position_data if seen.marker else None, "after": move.to.document()}},
        )

    def _leaving(self, seen: Seen, changed: Sequence[str]) -> frozenset[str]:
        """The keys of the rows that changed files have in the table. Raises Invalid if they were written without."""
        known = seen.row_keys() if changed else {}
        if missing := [path for path in changed if path not in known]:
            raise Invalid(
                f"{missing[0]} changed, and its rows in {self.declared.target} cannot be told from others: it was read before "
                f"changed_files was 'replace'; load all once more with `lakeledger run --source {self.declared.source_id} --full-refresh`"
            )
        return frozenset(known[path] for path in changed)

    @contextmanager
    def _frame(
        self, spark: SparkSession, spec: files.Files, read: list[SourceFile], table_schema: Schema | None, row_keys: Mapping[str, str]
    ) -> Iterator[DataFrame]:
        frame = files.read(spark, spec, read, table_schema, self.where)
        yield files.with_row_keys(frame, row_keys, spec, self.where) if row_keys else frame

    def _files(self, allowed: Accepted, *, is_full: bool) -> files.Files:
        config, target = self.declared.source_config, self.declared.target_config
        is_frozen, is_append = target.schema_drift == "freeze", self.declared.write_mode == "append"
        return files.Files(
            config.path,
            config.format,
            config.schema_text,
            config.options,
            config.changed_files,
            config.optional_columns,
            keeps_bad_rows=target.bad_rows == "quarantine",
            naming=Naming.of_target(target),
            may_lack=allowed.columns(EvolutionType.DROP_COLUMN),
            # By the table's own schema: what was inferred once is not inferred again, unless something else was accepted.
            is_fixed=is_append and not is_full and is_frozen and not allowed.is_open,
            drift=target.schema_drift,
        )

    def _table_schema(self, seen: Seen) -> Schema | None:
        """The columns that files have to have: the table's, unless its rows are replaced, under the names that they have now."""
        target, columns = self.declared.target_config, seen.given_columns
        is_anew = seen.wanted.full_refresh and self.declared.write_mode == "append"
        if columns is None or is_anew or self.declared.write_mode == "overwrite":
            return None
        named = renamed(columns, Naming.of_target(target).renames(str(target.name), columns))
        return {**named, "fields": [field for field in named["fields"] if field["name"] != RESCUED]}

    def _found(self) -> list[StoredFile]:
        path = self.declared.source_config.path
        return files.as_declared(files.discover(path, self.where.base, self.where.s3), path, self.where.base)

    def _batch_id(self, read: list[SourceFile], after: int | None) -> str:
        declared = self.declared
        parts = (declared.source_config, {"changed_files"}), (declared.target_config, None)
        shape = [part.model_dump(mode="json", exclude=left_out, exclude_defaults=True) for part, left_out in parts]
        return codec.digest(["files", self.name.name, declared.write_mode, shape, sorted(file.identity for file in read), after])


@dataclass(frozen=True)
class DeclaredQuery:
    """A query over the ledger's tables, each at one version. It has no position: the versions that it reads are its batch."""

    name: SourceName
    declared: documents.SqlSource
    context: Context

    def incremental(self) -> IncrementalQuery:
        """The same query, by what is new in its tables."""
        text = self._text()
        return IncrementalQuery(self.name, text, self.context, self._parameters(text), self.declared.transformation_config.incremental)

    def plan(self, seen: Seen) -> Reading:
        query = sql_task.prepare(self.context, text := self._text(), self._parameters(text))
        return Reading(
            frame=lambda spark: self._frame(spark, query),
            batch_id=query.batch_id if query.is_pinned and not seen.wanted.full_refresh else None,
            base_version=query.inputs.get(str(seen.table.name)) if seen.table else None,
            summary={"inputs": query.inputs},
            wanted=replace(seen.wanted, window=None),
            detail={"inputs": query.inputs},
        )

    @property
    def _task(self) -> SqlTask:
        return self.declared.transformation_config.sql_task

    def _frame(self, spark: SparkSession, query: sql_task.Query) -> AbstractContextManager[DataFrame]:
        return sql_task.run(spark, query, clock.new_id()[-12:])

    def _parameters(self, text: str) -> dict[str, Any]:
        """Its own, and of the run's only what the query names: another parameter must not make it another query."""
        named = {name: value for name, value in self.context.parameters.items() if re.search(rf":{re.escape(name)}\b", text)}
        return {**self._task.parameters, **named}

    def _text(self) -> str:
        if query_id := self._task.query_id:
            raise Invalid(
                f"{self.declared.source_id}: sql_task.query_id {query_id!r} is a query saved on Databricks, and runs there only; "
                "write its text as sql_query"
            )
        path = self._task.sql_file_path or ""
        try:
            return self._task.sql_query or (self.context.base / path).read_text(encoding="utf-8")
        except OSError as error:
            raise Invalid(f"cannot read {self.context.base / path}: {error.strerror}; check sql_file_path") from error
