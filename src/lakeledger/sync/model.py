"""Where capture stands: what a position belongs to, how it moves, and the files a source has given."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from lakeledger import codec
from lakeledger.errors import Invalid
from lakeledger.redaction import scrub
from lakeledger.sync.kinds import Position, PositionLike, as_position, parse_position


class MarkerType(StrEnum):
    """How a source is read: followed as it changes, asked from time to time, or copied once at the start."""

    STREAM = "stream"
    BATCH = "batch"
    INITIAL = "initial"


# By word or member, the plain word: drivers and JSON want no enumerations.
_MARKER_TYPES: dict[str, str] = {member: member.value for member in MarkerType}


@dataclass(frozen=True)
class Source:
    """What a position belongs to: a source schema or module, one of its tables, and how it is read."""

    schema_name: str
    table_name: str | None = None
    marker_type: str = MarkerType.BATCH

    def __post_init__(self) -> None:
        if not self.schema_name.strip():
            raise Invalid("a source needs the name of its schema")
        if self.table_name is not None and not self.table_name.strip():
            raise Invalid(f"the table name {self.table_name!r} of {self.schema_name} is empty: leave it out for the whole schema")
        if self.marker_type not in _MARKER_TYPES:
            raise Invalid(f"marker type {self.marker_type!r} is not one of {', '.join(MarkerType)}")
        object.__setattr__(self, "marker_type", _MARKER_TYPES[self.marker_type])

    @property
    def name(self) -> str:
        return f"{self.schema_name}.{self.table_name}" if self.table_name else self.schema_name

    @property
    def key(self) -> str:
        """What it is matched by; a dot or a slash in a name is not taken for the end of it."""
        return f"{key_part(self.schema_name)}/{key_part(self.table_name or '')}"


def key_part(name: str) -> str:
    """A name inside a key: folded, and with its slashes escaped."""
    return codec.fold(name).replace("\\", "\\\\").replace("/", "\\/")


def parse_source(name: str, marker_type: str = MarkerType.BATCH) -> Source:
    """`shop` or `shop.orders`. Raises Invalid."""
    schema, dot, table = name.partition(".")
    if not schema or (dot and not table):
        raise Invalid(f"source {name!r} must be a schema or schema.table")
    return Source(schema, table or None, marker_type)


@dataclass(frozen=True)
class Marker:
    """A source's current position: a row of `sync_markers`. `version` is what compare-and-set compares."""

    id: str
    tenant_id: str
    schema_name: str
    table_name: str | None
    name_key: str
    marker_type: str
    position_kind: str
    position_data: dict[str, Any]
    order_key: str
    version: int
    last_updated: datetime
    sync_run_id: str | None

    @property
    def source(self) -> Source:
        return Source(self.schema_name, self.table_name, self.marker_type)

    @property
    def position(self) -> Position:
        return parse_position(self.position_kind, self.position_data, self.order_key)


@dataclass(frozen=True)
class MarkerChange:
    """One earlier or current value of a marker: a row of `sync_marker_history`.

    `appended_rows` are those that the same commit appended; None where it replaced rows or the position was moved without data.
    """

    id: str
    tenant_id: str
    marker_id: str
    version: int
    position_kind: str
    position_data: dict[str, Any]
    order_key: str
    updated_at: datetime
    updated_by: str
    sync_run_id: str | None
    forced: bool
    reason: str | None
    appended_rows: int | None

    @property
    def position(self) -> Position:
        return parse_position(self.position_kind, self.position_data, self.order_key)


@dataclass(frozen=True)
class Advance:
    """Move a source's position. With `expected_version`, only from that version (0: there must be none yet).

    The position may be given as a document, a whole number or a time, too.
    """

    source: Source
    to: Position
    expected_version: int | None = None
    force: bool = False
    reason: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "to", as_position(self.to))
        object.__setattr__(self, "reason", scrub(self.reason) if self.reason else None)


def as_advance(position: Advance | tuple[str | Source, PositionLike] | None) -> Advance | None:
    """The move that was given as one, or as a pair. Raises Invalid."""
    if position is None or isinstance(position, Advance):
        return position
    try:
        source, to = position
    except (TypeError, ValueError) as error:
        raise Invalid(
            "position must be Advance(…) or a pair (source, position), for example ('shop.orders', TimestampPosition(…))"
        ) from error
    return Advance(parse_source(source) if isinstance(source, str) else source, as_position(to))


@dataclass(frozen=True)
class SourceFile:
    """One file of a source, identified by name, size, time and content."""

    path: str
    size: int
    modified_at: datetime
    content_hash: str

    @property
    def identity(self) -> tuple[str, str]:
        return self.path, self.content_hash
