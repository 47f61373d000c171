"""Where capture stands: typed, ordered positions, the source they belong to, and the files a source has given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar, Protocol

from lakeledger import codec
from lakeledger.errors import Invalid


class Position(Protocol):
    """A place in a source. Positions of one kind are ordered by their text order key."""

    @property
    def kind(self) -> str: ...
    @property
    def order_key(self) -> str: ...
    def document(self) -> dict[str, Any]:
        """The position as it is stored."""
        ...


@dataclass(frozen=True)
class TimestampPosition:
    """Everything up to this time has been read."""

    kind: ClassVar[str] = "timestamp"
    at: datetime

    def __post_init__(self) -> None:
        if self.at.tzinfo is None:
            raise Invalid(f"a position needs a time with a time zone, not {self.at.isoformat()}")

    @property
    def order_key(self) -> str:
        return codec.to_text(self.at)

    def document(self) -> dict[str, Any]:
        return {"timestamp": codec.to_text(self.at)}


@dataclass(frozen=True)
class NumberPosition:
    """Everything up to this number has been read: a sequence, an offset, a table version."""

    kind: ClassVar[str] = "number"
    value: int

    def __post_init__(self) -> None:
        if not -(2**63) <= self.value < 2**64:
            raise Invalid(f"a position is a number of 64 bits, not {self.value}")

    @property
    def order_key(self) -> str:
        return f"{self.value + 2**63:020d}"

    def document(self) -> dict[str, Any]:
        return {"value": self.value}


@dataclass(frozen=True)
class FilesPosition:
    """These files have been read: how many, and a digest of all of them. The files themselves are in `source_files`."""

    kind: ClassVar[str] = "files"
    count: int
    digest: str

    @property
    def order_key(self) -> str:
        return f"{self.count:020d}"

    def document(self) -> dict[str, Any]:
        return {"files": self.count, "digest": self.digest}


def parse_position(kind: str, document: Mapping[str, Any]) -> Position:
    """The position that a document describes. Raises Invalid."""
    try:
        match kind:
            case "timestamp":
                return TimestampPosition(codec.to_time(document["timestamp"]))
            case "number":
                return NumberPosition(int(document["value"]))
            case "files":
                return FilesPosition(int(document["files"]), str(document["digest"]))
    except (KeyError, TypeError, ValueError) as error:
        raise Invalid(f"not a {kind} position: {dict(document)!r} ({error})") from error
    raise Invalid(f"unknown position kind {kind!r}: use timestamp, number or files")


@dataclass(frozen=True)
class Source:
    """What a position belongs to: a source schema or module, one of its tables, and how it is read."""

    schema_name: str
    table_name: str | None = None
    marker_type: str = "batch"

    @property
    def name(self) -> str:
        return f"{self.schema_name}.{self.table_name}" if self.table_name else self.schema_name

    @property
    def key(self) -> str:
        """What it is matched by; a schema with a dot in its name is not taken for a table."""
        return f"{codec.fold(self.schema_name)}/{codec.fold(self.table_name or '')}"


def parse_source(name: str) -> Source:
    """`shop` or `shop.orders`. Raises Invalid."""
    schema, dot, table = name.partition(".")
    if not schema or (dot and not table):
        raise Invalid(f"source {name!r} must be a schema or schema.table")
    return Source(schema, table or None)


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
        return parse_position(self.position_kind, self.position_data)


@dataclass(frozen=True)
class MarkerChange:
    """One earlier or current value of a marker: a row of `sync_marker_history`."""

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


@dataclass(frozen=True)
class Advance:
    """Move a source's position. With `expected_version`, only from that version (0: there must be none yet)."""

    source: Source
    to: Position
    expected_version: int | None = None
    force: bool = False
    reason: str | None = None


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
