"""Where capture stands: positions, schema versions, sync runs, errors and dead letters."""

from __future__ import annotations

from lakeledger.sync.kinds import (
    BinlogPosition,
    DeltaPosition,
    DocumentPosition,
    FilesPosition,
    GtidPosition,
    IcebergPosition,
    LsnPosition,
    NumberPosition,
    OffsetsPosition,
    Position,
    ResumeTokenPosition,
    TimestampPosition,
    infer_position,
    parse_position,
)
from lakeledger.sync.model import Advance, Marker, MarkerChange, MarkerType, Source, SourceFile, parse_source
from lakeledger.sync.positions import Positions, Rewind, Target
from lakeledger.sync.schemas import EvolutionType, Policy, SchemaDefinition, SchemaDiff, Schemas, SchemaVersion, Verdict
from lakeledger.sync.sync_runs import NewSync, SyncMode, SyncRun, SyncRuns, SyncRunStatistics, SyncStatus

__all__ = [
    "Advance",
    "BinlogPosition",
    "DeltaPosition",
    "DocumentPosition",
    "EvolutionType",
    "FilesPosition",
    "GtidPosition",
    "IcebergPosition",
    "LsnPosition",
    "Marker",
    "MarkerChange",
    "MarkerType",
    "NewSync",
    "NumberPosition",
    "OffsetsPosition",
    "Policy",
    "Position",
    "Positions",
    "ResumeTokenPosition",
    "Rewind",
    "SchemaDefinition",
    "SchemaDiff",
    "SchemaVersion",
    "Schemas",
    "Source",
    "SourceFile",
    "SyncMode",
    "SyncRun",
    "SyncRunStatistics",
    "SyncRuns",
    "SyncStatus",
    "Target",
    "TimestampPosition",
    "Verdict",
    "infer_position",
    "parse_position",
    "parse_source",
]
