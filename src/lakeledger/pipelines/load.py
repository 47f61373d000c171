"""One declared source carried out: what is new is read, written and committed; if nothing is, Spark is not even started."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from time import sleep as pause
from typing import Any, Literal, cast

from lakeledger import codec
from lakeledger.commit import find_applied
from lakeledger.control.documents import FilesSource, SqlSource
from lakeledger.errors import Conflict, Invalid
from lakeledger.pipelines import Plane, sql_task
from lakeledger.pipelines.effects import ReadFiles
from lakeledger.pipelines.sources import files
from lakeledger.pipelines.translating import translating
from lakeledger.pipelines.write import Write, write
from lakeledger.runs import Fence
from lakeledger.runs import store as run_log
from lakeledger.sync import Advance, FilesPosition, Marker, Source, SourceFile
from lakeledger.sync.positions import store as positions
from lakeledger.tables import Committed, Table, store

Operation = Literal["append", "overwrite"]

# How often a load is planned before it gives way to the others that write its table, and how long it waits before it is planned again:
# at random, so that it does not meet the same writer at the same moment, and longer each time. All pauses together are at most 22 s.
PLANS = 10
FIRST_PAUSE_SECONDS = 0.1
LONGEST_PAUSE_SECONDS = 5.0


@dataclass(frozen=True)
class Loaded:
    """What a source's load did. `committed` is None if there was nothing new. `said` is what a task that is no load says of itself."""

    rows: int
    committed: Committed | None
    detail: dict[str, Any]
    said: str | None = None

    @property
    def summary(self) -> str:
        """The load in a few words."""
        return self.said or (f"version {self.committed.version}" if self.committed else "nothing new")


def load(
    plane: Plane, module: str, source: FilesSource | SqlSource, base: Path, fence: Fence, parameters: Mapping[str, str] | None = None
) -> Loaded:
    """Carry out one source; a query may name the job's parameters, too. If somebody else was faster, it is planned again with back-off.

    Raises Invalid, Conflict, Fenced or Failed; then nothing of it is visible.
    """
    for number in range(1, PLANS + 1):
        try:
            with translating():
                if isinstance(source, FilesSource):
                    return _load_files(plane, module, source, base, fence)
                return _run_sql(plane, module, source, base, fence, parameters or {})
        except Conflict as error:
            if not error.retryable or number == PLANS:
                raise
            longest = min(FIRST_PAUSE_SECONDS * 2 ** (number - 1), LONGEST_PAUSE_SECONDS)
            pause(longest * random.uniform(0.5, 1))  # noqa: S311 - jitter, no secret
    raise AssertionError("the last plan has returned or raised")


def _load_files(plane: Plane, module: str, source: FilesSource, base: Path, fence: Fence) -> Loaded:
    config, target = source.source_config, source.target_config.name
    origin = Source(module, source.source_id)
    spec = files.Files(config.path, config.format, config.schema_text, config.options, config.changed_files, config.optional_columns)
    found = files.as_declared(files.discover(config.path, base), config.path, base)
    with plane.store.read() as tx:
        marker = positions.find(tx, origin)
        known = positions.files(tx, marker) if marker else []
        table = store.find(tx, target)
        metadata = store.metadata(tx, table) if table else None
        full = source.transformation_config.load_type == "full"
        if table and marker is None and not full:
            _refuse_lost_position(store.history(tx, table, limit=table.current_version), origin, table)
    if not found and (full or not known):
        raise Invalid(f"no file matches {config.path}: check the source's path")
    if full:
        reading: files.Reading | None = files.plan_full(found, known, base)
    else:
        reading = files.plan_incremental(found, known, spec.changed_files, base)
    if reading and reading.renamed and marker:
        marker = _register_renamed(plane, marker, reading, fence)
        if not reading.files:
            return Loaded(0, None, {"files": 0, "renamed_files": len(reading.renamed)}, said=f"nothing new, {len(reading.renamed)} renamed")
    # The same content may come again after another: what tells two appends of it apart is where the source stood.
    batch_id = _batch_id(origin, source, reading.files, None if full or marker is None else marker.version) if reading else ""
    if reading is None or (table and _is_current(plane, table, batch_id)):
        return Loaded(0, None, {"files": 0})
    request = Write(
        table=target,
        operation=cast("Operation", source.write_mode),
        format=source.target_config.format,
        partition_by=source.target_config.partition_by,
        batch_id=batch_id,
        position=Advance(origin, reading.position, expected_version=marker.version if marker else 0),
        source=origin,
        effects=(ReadFiles(origin, reading.files),),
        summary={"source": origin.name, "source_files": len(reading.files)},
        confirm=lambda: files.check_unchanged(reading.files, files.as_declared(files.discover(config.path, base), config.path, base)),
    )
    use_table_schema = metadata.schema if metadata and source.write_mode == "append" else None
    frame = files.read(plane.sessions.to_load(plane.spark()), spec, reading.files, use_table_schema, base)
    committed = write(plane, frame, request, fence)
    return _loaded(committed, {"files": len(reading.files), "position": _moved(marker, request)})


def _run_sql(plane: Plane, module: str, source: SqlSource, base: Path, fence: Fence, parameters: Mapping[str, str]) -> Loaded:
    task = source.transformation_config.sql_task
    if task.query_id:
        raise Invalid(
            f"{source.source_id}: sql_task.query_id {task.query_id!r} is a query saved on Databricks, and runs there only; "
            "write its text as sql_query"
        )
    text = task.sql_query or _read_sql(base, task.sql_file_path or "")
    # Only what the query names: another parameter must not make it another query.
    named = {name: value for name, value in parameters.items() if re.search(rf":{re.escape(name)}\b", text)}
    query = sql_task.prepare(plane, text, {**task.parameters, **named})
    with plane.store.read() as tx:
        table = store.find(tx, source.target_config.name)
    if table and query.is_pinned and _is_current(plane, table, query.batch_id):
        return Loaded(0, None, {"inputs": query.inputs})
    request = Write(
        table=source.target_config.name,
        operation=cast("Operation", source.write_mode),
        format=source.target_config.format,
        partition_by=source.target_config.partition_by,
        batch_id=query.batch_id if query.is_pinned else None,
        base_version=query.inputs.get(str(table.name)) if table else None,
        source=Source(module, source.source_id),
        summary={"inputs": query.inputs},
    )
    with sql_task.run(plane.sessions.to_load(plane.spark()), query, (fence.step_id or fence.run_id)[-12:]) as frame:
        committed = write(plane, frame, request, fence)
    return _loaded(committed, {"inputs": query.inputs})


def _register_renamed(plane: Plane, marker: Marker, reading: files.Reading, fence: Fence) -> Marker:
    """Keep known files under their new paths: they are not loaded again. Raises Conflict or Fenced."""
    with plane.store.write() as tx:
        run = run_log.check_fence(tx, fence)
        known, elsewhere = {file.path: file for file in positions.files(tx, marker)}, reading.moved
        kept = [file for path, file in known.items() if path not in elsewhere]
        position = FilesPosition.of(file.identity for file in [*kept, *elsewhere.values()])
        move = Advance(marker.source, position, marker.version, reason=f"{len(reading.renamed)} renamed")
        moved = positions.advance(tx, move, run.worker_instance or "", run.id)
        positions.rename_files(tx, moved, elsewhere)
    return moved


def _is_current(plane: Plane, table: Table, batch_id: str) -> bool:
    """Whether the table's latest version is this very batch."""
    with plane.store.read() as tx:
        return find_applied(tx, table, "overwrite", batch_id) is not None


def _refuse_lost_position(history: list[Any], origin: Source, table: Table) -> None:
    """A table that has rows of a source whose position is gone would get all of them again."""
    if any(snapshot.summary.get("source") == origin.name for snapshot in history):
        raise Invalid(
            f"{table.name} holds rows of {origin.name}, but the position of {origin.name} is gone: "
            f"load it with load_type full once, or restore the ledger"
        )


def _batch_id(origin: Source, source: FilesSource, read: list[SourceFile], after: int | None) -> str:
    shape = [source.source_config.model_dump(mode="json", exclude={"changed_files"}), source.target_config.model_dump(mode="json")]
    return codec.digest(["files", origin.name, source.write_mode, shape, sorted(file.identity for file in read), after])


def _read_sql(base: Path, path: str) -> str:
    try:
        return (base / path).read_text(encoding="utf-8")
    except OSError as error:
        raise Invalid(f"cannot read {base / path}: {error.strerror}; check sql_file_path") from error


def _loaded(committed: Committed, detail: dict[str, Any]) -> Loaded:
    rows = int(committed.snapshot.summary["added_rows"]) if committed.applied else 0
    return Loaded(rows, committed if committed.applied else None, {**detail, "version": committed.version})


def _moved(marker: Marker | None, request: Write) -> dict[str, Any]:
    return {"before": marker.position_data if marker else None, "after": request.position.to.document() if request.position else None}
