"""What a load makes known in its own commit, beside the rows: what it brought, what it read, and what its source looks like."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lakeledger import records
from lakeledger.commit import Commit
from lakeledger.db import Transaction
from lakeledger.names import TableName
from lakeledger.quality import freshness
from lakeledger.quality.bands.series import LOGICAL_DATE
from lakeledger.quality.freshness import Sla
from lakeledger.quality.volume import Load, VolumeVerdict
from lakeledger.runs import Run
from lakeledger.runs import store as run_store
from lakeledger.sync import Source, SourceFile
from lakeledger.sync.positions import store as positions
from lakeledger.sync.schemas import NewSchema, blocked
from lakeledger.sync.schemas import store as schemas
from lakeledger.tables.change import check_unmoved

if TYPE_CHECKING:
    from lakeledger.pipelines.apply import Read
    from lakeledger.pipelines.breaking import Consequence

PRODUCER = "ingestion.v1"
# The version of what is written: schemas/kinds has its JSON Schema.
SCHEMA_VERSION = "1"


class Stopwatch:
    """How long each part of a write took, in milliseconds."""

    def __init__(self) -> None:
        self.laps: dict[str, int] = {}
        self._last = time.monotonic()

    def lap(self, part: str) -> None:
        """Say that a part is over; said again, it lasted until now."""
        began, self._last = self._last, time.monotonic()
        self.laps[part] = self.laps.get(part, 0) + round((self._last - began) * 1000)


@dataclass(frozen=True)
class Volume:
    """What is kept in `ingestion_volume` of which rows were read: the slice of the source, and the filter."""

    window_start: Any = None
    window_end: Any = None
    filter: str | None = None


NO_VOLUME = Volume()


@dataclass(frozen=True)
class IngestionFacts:
    """How much was written to a table, and how long each part of that took. A source without a name is the pipeline's.

    `extras` tell what became of duplicates (`deduplication`) and of bad rows (`guardrails`). `load` says how the load came to be,
    `verdict` what is said of its volume, and `sla` how old the table may become, if a document says so. `surroundings` are where it runs.
    """

    table: TableName
    watch: Stopwatch
    source: str | None = None
    volume: Volume = NO_VOLUME
    extras: Mapping[str, Any] = field(default_factory=dict)
    load: Load = "ordinary"
    verdict: VolumeVerdict | None = None
    sla: Sla | None = None
    surroundings: Mapping[str, Any] = field(default_factory=dict)

    def write(self, tx: Transaction, committed: Commit) -> None:
        made = committed.of(self.table)
        if made is None or not made.applied:
            return
        run, summary = committed.run, made.snapshot.summary
        has_data = made.counters.inserted + made.counters.updated + made.counters.deleted > 0
        freshness.note(tx, made.table, has_data=has_data and self.load not in ("backfill", "replay"), sla=self.sla)
        target = records.MetadataTarget(self.source or run.pipeline_id, made.table.schema_name, made.table.table_name)
        context = _context(tx, committed, self.surroundings)
        volume = {
            "load": self.load,
            "rows": made.counters.inserted + made.counters.updated,
            "bytes": summary["added_bytes"],
            "files": summary["added_files"],
            "operation": made.snapshot.operation,
            "table_version": made.version,
            "watermark": next((marker.position_data for marker in committed.markers), None),
            "source_files": summary.get("source_files", 0),
            **_logical_date(run),
            **vars(self.volume),
        }
        self.watch.lap("commit_ms")
        runtime = {
            "duration_ms": sum(self.watch.laps.values()),
            **self.watch.laps,
            "retries": run_store.earlier_attempts(tx, run, committed.fence.step_id),
            "table_version": made.version,
        }
        quality, extras = self.verdict.to_json() if self.verdict else None, dict(self.extras)
        said = records.MetadataRecord(target, context, "ingestion_volume", volume, PRODUCER, SCHEMA_VERSION, quality, extras, tx.now)
        records.add(tx, said)
        records.add(tx, records.MetadataRecord(target, context, "ingestion_runtime", runtime, PRODUCER, SCHEMA_VERSION, produced_at=tx.now))


def _logical_date(run: Run) -> dict[str, Any]:
    return {LOGICAL_DATE: run.parameters[LOGICAL_DATE]} if LOGICAL_DATE in run.parameters else {}


def _context(tx: Transaction, committed: Commit, surroundings: Mapping[str, Any]) -> records.MetadataContext:
    step = {"step_id": committed.fence.step_id} if committed.fence.step_id else {}
    return records.MetadataContext(committed.run.pipeline_id, committed.run.id, tx.tenant_id, {**surroundings, **step})


@dataclass(frozen=True)
class RefusedVolume:
    """That a load was refused for its volume: it is known, and nothing of it is in the table. Somebody may accept it."""

    table: TableName
    source: str
    rows: int
    bytes: int
    files: int
    operation: str
    verdict: VolumeVerdict
    surroundings: Mapping[str, Any] = field(default_factory=dict)

    def write(self, tx: Transaction, committed: Commit) -> None:
        target = records.MetadataTarget(self.source, self.table.schema, self.table.table)
        volume = {
            "load": "refused",
            "rows": self.rows,
            "bytes": self.bytes,
            "files": self.files,
            "operation": self.operation,
            "table_version": None,
            "watermark": None,
            "source_files": 0,
            **_logical_date(committed.run),
        }
        quality = self.verdict.to_json()
        context = _context(tx, committed, self.surroundings)
        new = records.MetadataRecord(target, context, "ingestion_volume", volume, PRODUCER, SCHEMA_VERSION, quality, produced_at=tx.now)
        records.add(tx, new)


@dataclass(frozen=True)
class ReadFiles:
    """That these files of a source have been read, each once, and by which keys their rows are found, by path."""

    source: Source
    files: list[SourceFile]
    row_keys: Mapping[str, str] = field(default_factory=dict)

    def write(self, tx: Transaction, committed: Commit) -> None:
        if self.files and (marker := committed.marker(self.source)):
            positions.register_files(tx, marker, self.files, committed.run.id, self.row_keys)

    def to_note(self) -> dict[str, Any]:
        files = [[each.path, each.size, each.modified_at, each.content_hash, self.row_keys.get(each.path)] for each in self.files]
        return {"op": "read", "source": self.source.key, "marker_type": self.source.marker_type, "files": files}


@dataclass(frozen=True)
class MovedFiles:
    """That files of a source have other paths now, by their old ones."""

    source: Source
    files: Mapping[str, SourceFile]

    def write(self, tx: Transaction, committed: Commit) -> None:
        if marker := committed.marker(self.source):
            positions.rename_files(tx, marker, self.files)

    def to_note(self) -> dict[str, Any]:
        files = {old: [each.path, each.size, each.modified_at] for old, each in self.files.items()}
        return {"op": "moved", "source": self.source.key, "marker_type": self.source.marker_type, "files": files}


@dataclass(frozen=True)
class Unmoved:
    """That nobody has changed a part of a table that rows were computed from, and that they do not change themselves. Raises Conflict."""

    read: Read

    def write(self, tx: Transaction, committed: Commit) -> None:  # noqa: ARG002 - it is about another table
        check_unmoved(tx, self.read.table, self.read.part, self.read.version)


@dataclass(frozen=True)
class SourceSchema:
    """What a source looks like now."""

    schema: NewSchema

    def write(self, tx: Transaction, committed: Commit) -> None:
        schemas.register(tx, self.schema, committed.run.worker_instance or PRODUCER)


@dataclass(frozen=True)
class SettledSchema:
    """That a load of a source went through whose schema somebody had to accept, or that nothing blocks any more."""

    source: Source
    table: str
    consequences: tuple[Consequence, ...] = ()

    def write(self, tx: Transaction, committed: Commit) -> None:  # noqa: ARG002 - it is about the source
        for each in self.consequences:
            blocked.allow(tx, self.source, self.table, each.change, each.effect, each.because)
        blocked.settle(tx, self.source)
