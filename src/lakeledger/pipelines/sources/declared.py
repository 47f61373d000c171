"""Sources as a module declares them: a set of files, or a query over the ledger's tables."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lakeledger import clock, codec
from lakeledger.control import documents
from lakeledger.control.tasks import SqlTask
from lakeledger.errors import Invalid
from lakeledger.lake import StoredFile
from lakeledger.pipelines import Context, sql_task
from lakeledger.pipelines.effects import MovedFiles, ReadFiles
from lakeledger.pipelines.sources import Reading, Seen, Source, files
from lakeledger.sync import Advance, SourceFile
from lakeledger.sync import Source as SourceName
from lakeledger.tables.schema import Schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Declared = documents.FilesSource | documents.SqlSource


def open_source(context: Context, module: str, declared: Declared) -> Source:
    """The source that a module declares. A query may name the parameters."""
    name = SourceName(module, declared.source_id)
    match declared:
        case documents.FilesSource():
            return DeclaredFiles(name, declared, files.Where(context.base, context.ledger.settings.s3))
        case documents.SqlSource():
            return DeclaredQuery(name, declared, context)


@dataclass(frozen=True)
class DeclaredFiles:
    """Files that a pattern finds, relative to the document."""

    name: SourceName
    declared: documents.FilesSource
    where: files.Where

    def plan(self, seen: Seen) -> Reading | None:
        config, known, is_full = self.declared.source_config, seen.files(), self.declared.transformation_config.load_type == "full"
        if seen.table and seen.marker is None and not is_full:
            self._refuse_lost_position(seen)
        found = self._found()
        if not found and (is_full or not known):
            raise Invalid(f"no file matches {config.path}: check the source's path")
        if is_full:
            planned: files.Planned | None = files.plan_full(found, known, self.where)
        else:
            planned = files.plan_incremental(found, known, config.changed_files, self.where)
        return self._reading(seen, planned, is_full=is_full) if planned else None

    def _reading(self, seen: Seen, planned: files.Planned, *, is_full: bool) -> Reading:
        version = seen.marker.version if seen.marker else 0
        renamed = f"{len(planned.renamed)} renamed" if planned.renamed else None
        move = Advance(self.name, planned.position, version, reason=renamed)
        detail = {"files": len(planned.files), **({"renamed_files": len(planned.renamed)} if planned.renamed else {})}
        moved = (MovedFiles(self.name, planned.moved),) if planned.moved else ()
        if not planned.files:
            return Reading(None, move=move, effects=moved, detail=detail, message=f"nothing new, {renamed}")
        # The table's own schema, unless its rows are replaced: what was inferred once is not inferred again.
        schema = seen.metadata.schema if seen.metadata and self.declared.write_mode == "append" else None
        return Reading(
            frame=lambda spark: self._frame(spark, planned.files, schema),
            # The same content may come again after another: what tells two appends of it apart is where the source stood.
            batch_id=self._batch_id(planned.files, None if is_full or not version else version),
            move=move,
            effects=(*moved, ReadFiles(self.name, planned.files)),
            confirm=lambda: files.check_unchanged(planned.files, self._found()),
            summary={"source": self.name.name, "source_files": len(planned.files)},
            detail={**detail, "position": {"before": seen.marker.position_data if seen.marker else None, "after": move.to.document()}},
        )

    @contextmanager
    def _frame(self, spark: SparkSession, read: list[SourceFile], table_schema: Schema | None) -> Iterator[DataFrame]:
        config = self.declared.source_config
        spec = files.Files(config.path, config.format, config.schema_text, config.options, config.changed_files, config.optional_columns)
        yield files.read(spark, spec, read, table_schema, self.where)

    def _found(self) -> list[StoredFile]:
        path = self.declared.source_config.path
        return files.as_declared(files.discover(path, self.where.base, self.where.s3), path, self.where.base)

    def _batch_id(self, read: list[SourceFile], after: int | None) -> str:
        declared = self.declared
        shape = [declared.source_config.model_dump(mode="json", exclude={"changed_files"}), declared.target_config.model_dump(mode="json")]
        return codec.digest(["files", self.name.name, declared.write_mode, shape, sorted(file.identity for file in read), after])

    def _refuse_lost_position(self, seen: Seen) -> None:
        """A table that has rows of a source whose position is gone would get all of them again."""
        if seen.table and any(snapshot.summary.get("source") == self.name.name for snapshot in seen.versions()):
            raise Invalid(
                f"{seen.table.name} holds rows of {self.name.name}, but the position of {self.name.name} is gone: "
                f"load it with load_type full once, or restore the ledger"
            )


@dataclass(frozen=True)
class DeclaredQuery:
    """A query over the ledger's tables, each at one version. It has no position: the versions that it reads are its batch."""

    name: SourceName
    declared: documents.SqlSource
    context: Context

    def plan(self, seen: Seen) -> Reading:
        query = sql_task.prepare(self.context, text := self._text(), {**self._task.parameters, **self._named(text)})
        return Reading(
            frame=lambda spark: self._frame(spark, query),
            batch_id=query.batch_id if query.is_pinned else None,
            base_version=query.inputs.get(str(seen.table.name)) if seen.table else None,
            summary={"inputs": query.inputs},
            detail={"inputs": query.inputs},
        )

    @property
    def _task(self) -> SqlTask:
        return self.declared.transformation_config.sql_task

    def _frame(self, spark: SparkSession, query: sql_task.Query) -> AbstractContextManager[DataFrame]:
        return sql_task.run(spark, query, clock.new_id()[-12:])

    def _named(self, text: str) -> dict[str, str]:
        """Only what the query names: another parameter must not make it another query."""
        return {name: value for name, value in self.context.parameters.items() if re.search(rf":{re.escape(name)}\b", text)}

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
