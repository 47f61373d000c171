"""What another tool knows of one source, and how it is remembered where it came from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lakeledger.errors import Invalid
from lakeledger.sync.kinds import Position
from lakeledger.sync.model import Marker, Source

ORIGIN = "imported_from"


@dataclass(frozen=True)
class Foreign:
    """A position that another tool wrote, and the source that it belongs to here."""

    source: Source
    position: Position


@dataclass(frozen=True)
class Scan:
    """What a text holds: its format, the positions, and in words what is none and was left out."""

    format: str
    found: list[Foreign]
    skipped: list[str]


def stamped(document: Mapping[str, Any], format: str, **origin: Any) -> dict[str, Any]:
    """The document, with where it came from beside what it says."""
    if ORIGIN in document:
        raise Invalid(f"the field {ORIGIN!r} is where lakeledger remembers the origin of a position: it cannot be imported")
    return {**document, ORIGIN: {"format": format, **origin}}


def original(marker: Marker) -> dict[str, Any]:
    """The document without what `stamped` has added."""
    return {name: value for name, value in marker.position_data.items() if name != ORIGIN}


def origin(marker: Marker, format: str) -> dict[str, Any]:
    """What was remembered when it was imported; empty if that tool did not write it. Raises Invalid if only another one can read it."""
    found = marker.position_data.get(ORIGIN)
    if not isinstance(found, dict):
        return {}
    if found.get("format") == format:
        return found
    if marker.position_kind == "document":
        raise Invalid(f"{told(marker)} is a document of {found.get('format')}: {format} cannot read it")
    return {}


def told(marker: Marker) -> str:
    """Which position it is, for messages."""
    return f"the position of {marker.source.name} ({marker.marker_type})"
