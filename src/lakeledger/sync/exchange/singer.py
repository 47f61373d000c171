"""States of Singer taps, which Meltano and PipelineWise run: bookmarks of streams."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lakeledger.errors import Invalid
from lakeledger.sync.exchange.foreign import Foreign, Scan, origin, original, stamped, told
from lakeledger.sync.exchange.text import Record, mapping, pretty, shown, spread
from lakeledger.sync.kinds import DocumentPosition, LsnPosition, NumberPosition, Position, TimestampPosition, parse_position
from lakeledger.sync.kinds.order import without
from lakeledger.sync.model import Marker, MarkerType, Source

FORMAT = "singer"
_CURSOR = "replication_key_value"


def knows(value: object) -> bool:
    """Whether it is a state with bookmarks, or a message with one."""
    match value:
        case {"bookmarks": _} | {"type": "STATE", "value": _}:
            return True
    return False


def read(records: Sequence[Record], schema: str | None) -> Scan:
    """The bookmarks of the last state. Raises Invalid."""
    state = _last_state(records)
    bookmarks = mapping(state.get("bookmarks"), "the state's bookmarks")
    syncing = state.get("currently_syncing")
    found: list[Foreign] = []
    skipped = [f"{name}: it belongs to no stream" for name in state if name not in {"bookmarks", "currently_syncing"}]
    for stream, bookmark in bookmarks.items():
        if not bookmark and bookmark in (None, {}):
            skipped.append(f"stream {stream}: its bookmark is empty")
            continue
        interrupted = {"currently_syncing": True} if stream == syncing else {}
        document = mapping(bookmark, f"stream {stream!r}: the bookmark")
        try:
            place = _position(stamped(document, FORMAT, stream=stream, **interrupted))
            found.append(Foreign(_source(stream, schema, place), place))
        except Invalid as error:
            raise Invalid(f"stream {stream!r}: {error}") from error
    return Scan(FORMAT, found, skipped)


def write(markers: Sequence[Marker]) -> str:
    """The state that a tap takes with --state. Raises Invalid."""
    bookmarks: dict[str, Any] = {}
    interrupted: dict[str, str] = {}
    for marker in markers:
        found = origin(marker, FORMAT)
        stream = found.get("stream") or _stream(marker)
        if stream in bookmarks:
            raise Invalid(f"{told(marker)} is not the only one of the stream {stream}: export one of them")
        bookmarks[stream] = _bookmark(marker)
        if found.get("currently_syncing"):
            interrupted["currently_syncing"] = stream
    return pretty({"bookmarks": bookmarks, **interrupted})


def _last_state(records: Sequence[Record]) -> dict[str, Any]:
    state: dict[str, Any] | None = None
    for record in spread(records):
        match record.value:
            case {"bookmarks": _}:
                state = record.value
            case {"type": "STATE", "value": value}:
                state = mapping(value, f"{record.where}: the value of the STATE")
                if "bookmarks" not in state:
                    raise Invalid(f"{record.where}: the STATE has no bookmarks: found {shown(state)}")
            case {"type": str(type)} if type != "STATE":
                continue
            case _:
                raise Invalid(f"{record.where}: expected a state with bookmarks or a message, not {shown(record.value)}")
    if state is None:
        raise Invalid("there is no STATE among the messages")
    return state


def _position(bookmark: dict[str, Any]) -> Position:
    if bookmark.get("lsn") is not None:
        return parse_position("lsn", bookmark)
    if bookmark.get(_CURSOR) is not None:
        return DocumentPosition.ordered_by(bookmark, _CURSOR)
    return DocumentPosition(bookmark)


def _source(stream: str, schema: str | None, place: Position) -> Source:
    """Taps write schema-table or schema.table. A dash can as well be a part of a name, so that a given schema decides."""
    type = MarkerType.STREAM if isinstance(place, LsnPosition) else MarkerType.BATCH
    if schema is not None:
        table = next((stream.removeprefix(schema + sign) for sign in ".-" if stream.startswith(schema + sign)), stream)
        own = schema
    else:
        own, _, table = stream.partition("." if "." in stream else "-")
    if not own or not table:
        raise Invalid("it is no schema-table and no schema.table: give the schema")
    return Source(own, table, type)


def _stream(marker: Marker) -> str:
    if not marker.table_name:
        raise Invalid(f"{told(marker)} is one of a whole schema, but {FORMAT} has bookmarks of tables only")
    return f"{marker.schema_name}-{marker.table_name}"


def _bookmark(marker: Marker) -> dict[str, Any]:
    document = original(marker)
    if origin(marker, FORMAT):
        return document
    match marker.position:
        case LsnPosition() as place:
            return {**document, "lsn": place.offset()}
        case TimestampPosition():
            return {_CURSOR: document["timestamp"], **without(document, "timestamp")}
        case NumberPosition():
            return {_CURSOR: document["value"], **without(document, "value")}
        case DocumentPosition():
            return document
    raise Invalid(f"{told(marker)} is of the kind {marker.position_kind}: {FORMAT} knows timestamp, number, lsn and its own documents")
