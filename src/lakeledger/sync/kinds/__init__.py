"""The kinds of positions: one per way in which sources say how far they were read, each with its own order.

A position's document is stored as it was given, with whatever else stands in it. `follows` is what keeps a source from going back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from numbers import Number
from typing import Any

from lakeledger.errors import Invalid
from lakeledger.sync.kinds.counted import DeltaPosition, FilesPosition, IcebergPosition, NumberPosition, TimestampPosition
from lakeledger.sync.kinds.document import DocumentPosition
from lakeledger.sync.kinds.logs import BinlogPosition, GtidPosition, LsnPosition, OffsetsPosition, ResumeTokenPosition
from lakeledger.sync.kinds.order import Document, Ordered, Position
from lakeledger.sync.kinds.watermark import VersionsPosition, WatermarkPosition

__all__ = [
    "BinlogPosition",
    "DeltaPosition",
    "DocumentPosition",
    "FilesPosition",
    "GtidPosition",
    "IcebergPosition",
    "LsnPosition",
    "NumberPosition",
    "OffsetsPosition",
    "Position",
    "PositionLike",
    "ResumeTokenPosition",
    "TimestampPosition",
    "VersionsPosition",
    "WatermarkPosition",
    "as_position",
    "infer_position",
    "parse_position",
]

# What callers may write where a position is taken.
PositionLike = Position | Mapping[str, Any] | float | datetime

KINDS: dict[str, Callable[[Document], Position]] = {
    "timestamp": TimestampPosition.parse,
    "number": NumberPosition.parse,
    "files": FilesPosition.parse,
    "lsn": LsnPosition.parse,
    "binlog": BinlogPosition.parse,
    "gtid": GtidPosition.parse,
    "resume_token": ResumeTokenPosition.parse,
    "offsets": OffsetsPosition.parse,
    "delta": DeltaPosition.parse,
    "iceberg": IcebergPosition.parse,
    "watermark": WatermarkPosition.parse,
    "versions": VersionsPosition.parse,
    "document": DocumentPosition,
}
# What gives a document's kind away, in this order: Debezium's MySQL offsets have both a file and a GTID set.
_SIGNS = {
    "resume_token": {"resume_token"},
    "lsn": {"lsn"},
    "gtid": {"gtids"},
    "binlog": {"file", "pos"},
    "offsets": {"offsets"},
    "iceberg": {"snapshot_id"},
    "files": {"files", "digest"},
    "watermark": {"columns", "values"},
    "versions": {"versions"},
}


def parse_position(kind: str, document: Document, order_key: str = "") -> Position:
    """The position that a document describes. A free document's order key is kept beside it. Raises Invalid."""
    if kind not in KINDS:
        raise Invalid(f"unknown position kind {kind!r}: use {', '.join(KINDS)}")
    if kind == DocumentPosition.kind:
        return DocumentPosition(document, order_key)
    try:
        return KINDS[kind](document)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise Invalid(f"not a {kind} position: {dict(document)!r} ({error!r})") from error


def as_position(value: PositionLike, order_by: str | None = None) -> Position:
    """What a caller gives as a position: one of these kinds, a document, a whole number or a time. Raises Invalid."""
    given: Any = value
    if isinstance(given, Ordered):
        position: Position = given  # type: ignore[assignment]  # each kind adds its document
        return position
    if isinstance(given, Mapping):
        return infer_position(dict(given), order_by)
    if isinstance(given, datetime):
        return TimestampPosition(given)
    if isinstance(given, Number):
        return parse_position("number", {"value": given})
    raise Invalid(f"a position is a document such as {{'lsn': '0/16B3748'}}, a whole number or a time, not {given!r}")


def infer_position(document: Document, order_by: str | None = None) -> Position:
    """The position that a document describes, its kind told by what stands in it. Raises Invalid."""
    if order_by is not None:
        return DocumentPosition.ordered_by(document, order_by)
    given = {name for name, value in document.items() if value is not None}
    for kind, signs in _SIGNS.items():
        if signs <= given:
            return parse_position(kind, document)
    if len(document) == 1:
        only = next(iter(document))
        for kind, name in (("timestamp", "timestamp"), ("number", "value"), ("delta", "version")):
            if only == name:
                return parse_position(kind, document)
    return DocumentPosition(document)
