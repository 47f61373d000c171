"""Where capture stands: positions, schema versions, sync runs, errors and dead letters."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lakeledger.sync.capture import Capture
    from lakeledger.sync.dead_letters import DeadLetter, DeadLetters, LetterStatus, NewLetter, Replay
    from lakeledger.sync.errors import ErrorLog, Errors, ErrorStatus, ErrorType, NewError, OperationType
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
        VersionsPosition,
        WatermarkPosition,
        infer_position,
        parse_position,
    )
    from lakeledger.sync.manager import MetadataManager
    from lakeledger.sync.model import Advance, Marker, MarkerChange, MarkerType, Source, SourceFile, parse_source
    from lakeledger.sync.positions import Positions, Rewind, Target
    from lakeledger.sync.schemas import EvolutionType, Policy, SchemaDefinition, SchemaDiff, Schemas, SchemaVersion, Verdict
    from lakeledger.sync.sync_runs import NewSync, SyncMode, SyncRun, SyncRuns, SyncRunStatistics, SyncStatus

__all__ = [
    "Advance",
    "BinlogPosition",
    "Capture",
    "DeadLetter",
    "DeadLetters",
    "DeltaPosition",
    "DocumentPosition",
    "ErrorLog",
    "ErrorStatus",
    "ErrorType",
    "Errors",
    "EvolutionType",
    "FilesPosition",
    "GtidPosition",
    "IcebergPosition",
    "LetterStatus",
    "LsnPosition",
    "Marker",
    "MarkerChange",
    "MarkerType",
    "MetadataManager",
    "NewError",
    "NewLetter",
    "NewSync",
    "NumberPosition",
    "OffsetsPosition",
    "OperationType",
    "Policy",
    "Position",
    "Positions",
    "Replay",
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
    "VersionsPosition",
    "WatermarkPosition",
    "infer_position",
    "parse_position",
    "parse_source",
]

# Each name is found where it is first asked for: most who ask for one need none of the others.
_ROOMS = ("kinds", "model", "positions", "schemas", "errors", "dead_letters", "sync_runs", "capture", "manager")


def __getattr__(name: str) -> Any:
    for room in _ROOMS if name in __all__ else ():
        if hasattr(module := import_module(f"{__name__}.{room}"), name):
            return getattr(module, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
