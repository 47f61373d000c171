"""Sources and their positions as people type and read them: a bare word where the kind is simple, JSON everywhere."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import click

from lakeledger import codec
from lakeledger.cli import show
from lakeledger.cli.reading import parse_object
from lakeledger.config import suggest
from lakeledger.db import pages
from lakeledger.db.pages import Page
from lakeledger.errors import Invalid, NotFound
from lakeledger.sync import (
    DocumentPosition,
    Marker,
    MarkerChange,
    MarkerType,
    Position,
    SourceFile,
    infer_position,
    parse_position,
    parse_source,
)
from lakeledger.sync.kinds import KINDS

# The kinds that one word says: the field that it stands for, and how it looks.
WORDS = {
    "lsn": ("lsn", "16/B374D848"),
    "number": ("value", "42"),
    "timestamp": ("timestamp", "2026-01-31T12:00:00Z"),
    "delta": ("version", "7"),
    "gtid": ("gtids", "3E11FA47-71CA-11E1-9E33-C80AA9429562:1-5"),
}
NUMBERS = ("number", "delta")
# What a source of files has read is told by the files themselves.
TYPED = [kind for kind in KINDS if kind != "files"]
# Where an imported position says who wrote it; lists are shown without loading what reads those formats.
ORIGIN = "imported_from"
MAX_VERSION = 2**63 - 1
SHOWN = 20

TYPE = click.option("--type", "marker_type", type=click.Choice([each.value for each in MarkerType]), help="How the source is read.")


def find(markers: Sequence[Marker], name: str, marker_type: str | None = None) -> Marker | None:
    """The source of that name, also where its schema has a dot. Raises Invalid if it is read in several ways and none is given."""
    wanted = codec.fold(name)
    named = [each for each in markers if codec.fold(each.source.name) == wanted and marker_type in (None, each.marker_type)]
    types = list(dict.fromkeys(each.marker_type for each in named))
    if len(types) > 1:
        raise Invalid(f"{name!r} has several positions: say which with --type {' or '.join(types)}")
    if len(named) < 2:
        return named[0] if named else None
    meant = parse_source(name).key
    return next((each for each in named if each.name_key == meant), named[0])


def get(markers: Sequence[Marker], name: str, marker_type: str | None = None) -> Marker:
    """The source of that name. Raises NotFound, or Invalid if it is read in several ways and none is given."""
    if found := find(markers, name, marker_type):
        return found
    raise NotFound(f"no position for {told(name, marker_type)}: `lakeledger positions list` shows them{_alike(markers, name)}")


def missing(markers: Sequence[Marker], name: str) -> NotFound:
    """The error for a source that is not there, in a place where one may begin."""
    return NotFound(f"no position for {name!r}: to begin one, give --type stream, batch or initial{_alike(markers, name)}")


def told(name: str, marker_type: str | None) -> str:
    """A source for messages."""
    return f"{name!r} ({marker_type})" if marker_type else repr(name)


def parse(text: str, kind: str | None, order_by: str | None = None) -> Position:
    """The position that a word or a JSON object says; its kind is told by the JSON if none is given. Raises Invalid."""
    if kind == "files":
        raise Invalid("a source of files stands where its files were read: `positions rewind` takes it back to a version or a time")
    if order_by and kind not in (None, DocumentPosition.kind):
        raise Invalid(f"a {kind} has its own order: leave --order-by out")
    if not text.lstrip().startswith("{"):
        return _from_word(text.strip(), kind)
    document = parse_object(text, "the position")
    if kind is None or order_by:
        return infer_position(document, order_by)
    try:
        return parse_position(kind, document)
    except Invalid as error:
        raise Invalid(f"{error}; say with --kind what it is") from error


def describe(kind: str, document: dict[str, Any]) -> str:
    """A position in a few words."""
    given = {name: value for name, value in document.items() if name != ORIGIN}
    match document.get(ORIGIN), given:
        case {"format": format}, {"replication_key_value": cursor} | {"cursor": cursor}:
            return f"{_short(cursor)} (from {format})"
        case {"format": format}, _:
            return f"{_words(kind, given)} (from {format})"
    return _words(kind, given)


def chosen(markers: Sequence[Marker], schema: str | None, marker_type: str | None) -> list[Marker]:
    """The sources of a schema, read in one way."""
    wanted = None if schema is None else codec.fold(schema)
    return [each for each in markers if wanted in (None, codec.fold(each.schema_name)) and marker_type in (None, each.marker_type)]


def page(markers: Sequence[Marker], limit: int, after: str | None) -> Page[Marker]:
    """A part of these sources, by name. Raises Invalid."""
    return pages.cut(markers, {"name_key": str, "marker_type": str}, lambda each: (each.name_key, each.marker_type), limit, after)


def print_changes(changes: Sequence[MarkerChange], title: str, shown: int = SHOWN) -> None:
    """A line per value that a position had, newest first."""
    rows = [
        (
            show.count(change.version),
            describe(change.position_kind, change.position_data),
            f"{change.updated_at:%Y-%m-%d %H:%M:%S}",
            change.updated_by,
            ("forced: " if change.forced else "") + (change.reason or ""),
        )
        for change in changes
    ]
    show.print_table([">version", "~position", "moved at", "~by", "~reason"], rows[:shown], _title(title, len(rows), shown))


def print_files(files: Sequence[SourceFile], title: str, shown: int = SHOWN) -> None:
    """A line per file of a source."""
    rows = [(file.path, show.size(file.size), f"{file.modified_at:%Y-%m-%d %H:%M:%S}") for file in files]
    show.print_table(["+file", ">size", "modified at"], rows[-shown:], _title(title, len(rows), shown))


def type_option(marker_type: str | None) -> str:
    """The option to give again in a suggested command."""
    return f" --type {marker_type}" if marker_type else ""


def _words(kind: str, document: dict[str, Any]) -> str:  # noqa: C901 - one for each kind of position
    match kind, document:
        case "files", {"files": int(count)}:
            words = show.plural(count, "file")
        case "timestamp", {"timestamp": str(at)}:
            words = at.replace(".000000Z", "Z")
        case "lsn", {"lsn": int(number)}:
            words = f"{number >> 32:X}/{number & 0xFFFFFFFF:X}"
        case "lsn" | "gtid" | "number", {"lsn": place} | {"gtids": place} | {"value": place}:
            words = str(place)
        case "versions", {"versions": dict(tables)}:
            words = ", ".join(f"{table} version {version}" for table, version in tables.items())
        case "delta", {"version": version}:
            words = f"version {version}"
        case "binlog", {"file": file, "pos": pos}:
            words = f"{file} at {pos}"
        case "iceberg", {"snapshot_id": snapshot}:
            words = f"snapshot {snapshot}"
        case "offsets", {"offsets": dict(topics)}:
            words = ", ".join(f"{topic} {part}:{offset}" for topic, parts in topics.items() for part, offset in parts.items())
        case "resume_token", {"resume_token": {"_data": token} | token}:
            words = f"token {_short(token)}"
        case _:
            words = ", ".join(f"{name}={_short(value)}" for name, value in document.items())
    return words


def _from_word(word: str, kind: str | None) -> Position:
    if kind is None:
        raise Invalid(f"{word!r} could be of several kinds: give --kind {', '.join(WORDS)}, or write the position as JSON")
    if kind not in WORDS:
        raise Invalid(f"a {kind} is written as a JSON object, not as {word!r}")
    field, example = WORDS[kind]
    try:
        return parse_position(kind, {field: int(word) if kind in NUMBERS and word.lstrip("-").isdecimal() else word})
    except Invalid as error:
        raise Invalid(f"{word!r} is no {kind}: write it as {example}") from error


def _alike(markers: Sequence[Marker], name: str) -> str:
    return suggest(name, sorted({each.source.name for each in markers}))


def _short(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _title(what: str, number: int, shown: int) -> str:
    return what if number <= shown else f"{what}: the last {shown} (--json gives all)"
