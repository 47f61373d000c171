"""States of Airbyte sources: of one stream each, or of all streams with what they share."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from lakeledger import codec
from lakeledger.errors import Invalid
from lakeledger.sync.exchange import debezium
from lakeledger.sync.exchange.foreign import Foreign, Scan, origin, original, stamped, told
from lakeledger.sync.exchange.text import Record, load, mapping, pretty, shown, spread
from lakeledger.sync.kinds import DocumentPosition, NumberPosition, TimestampPosition
from lakeledger.sync.kinds.order import without
from lakeledger.sync.model import Marker, MarkerType, Source

FORMAT = "airbyte"
_CURSOR = "cursor"
_TYPES = ("STREAM", "GLOBAL", "LEGACY")


@dataclass(frozen=True)
class Part:
    """The state of one stream, or without a descriptor that of the whole source."""

    where: str
    type: str
    descriptor: dict[str, Any] | None
    state: dict[str, Any]

    @property
    def namespace(self) -> str | None:
        return self.descriptor.get("namespace") if self.descriptor else None


def knows(value: object) -> bool:
    """Whether it is a state message, a state, or what the API answers."""
    match value:
        case {"type": "STATE", "state": _} | {"stream_descriptor": _} | {"streamDescriptor": _} | {"stateType": _}:
            return True
        case {"type": str(type)} if type in _TYPES:
            return True
    return False


def read(records: Sequence[Record], schema: str | None) -> Scan:
    """The last state of every stream. Raises Invalid."""
    parts: dict[str, Part] = {}
    for state in _states(records):
        later = list(_parts(state))
        if any(part.type != "STREAM" for part in (*parts.values(), *later)):
            parts.clear()  # a state of the whole source, or after one: nothing of the other holds
        parts.update((codec.to_json(part.descriptor), part) for part in later)
    named = {part.namespace for part in parts.values() if part.namespace}
    everywhere = schema if schema is not None else next(iter(named)) if len(named) == 1 else None
    empty = [part for part in parts.values() if not part.state]
    found = [_foreign(part, schema, everywhere, empty) for part in parts.values() if part.state]
    return Scan(FORMAT, found, [f"{part.where}: its state is empty" for part in empty])


def write(markers: Sequence[Marker]) -> str:
    """The state file that a source takes with --state. Raises Invalid."""
    origins = [origin(marker, FORMAT) for marker in markers]
    if any(found.get("type") == "LEGACY" for found in origins):
        if len(markers) > 1:
            raise Invalid(f"a legacy state is one of the whole source: export {' and '.join(map(told, markers))} one by one")
        return pretty([{"type": "LEGACY", "data": original(markers[0])}])
    shared = [marker for marker in markers if not marker.table_name]
    streams = _stream_states(marker for marker in markers if marker.table_name)
    if len(shared) > 1:
        raise Invalid(f"{FORMAT} has one shared state: export {' and '.join(map(told, shared))} one by one")
    if shared:
        streams += _streams_without_state(shared[0], streams)
        return pretty([{"type": "GLOBAL", "global": {"shared_state": _shared(shared[0]), "stream_states": streams}}])
    if any(found.get("type") == "GLOBAL" for found in origins):
        return pretty([{"type": "GLOBAL", "global": {"stream_states": streams}}])
    return pretty([{"type": "STREAM", "stream": stream} for stream in streams])


def _states(records: Iterable[Record]) -> Iterator[Record]:
    """The states among the messages."""
    for record in spread(records):
        match record.value:
            case {"type": "STATE", "state": state}:
                yield Record(record.where, mapping(state, f"{record.where}: the state"))
            case {"type": str(type)} if type not in {"STATE", *_TYPES}:
                continue
            case dict():
                yield record
            case _:
                raise Invalid(f"{record.where}: expected a state or a message, not {shown(record.value)}")


def _parts(record: Record) -> Iterator[Part]:
    where, state = record.where, record.value
    match state:
        case {"type": "STREAM"}:
            yield _stream(where, "STREAM", state.get("stream"))
        case {"stream_descriptor": _} | {"streamDescriptor": _}:
            yield _stream(where, "STREAM", state)
        case {"type": "GLOBAL"}:
            yield from _global(where, state.get("global"))
        case {"data": data} if state.get("type", "LEGACY") == "LEGACY":
            yield Part(where, "LEGACY", None, _object(data, f"{where}: the data"))
        case {"stateType": _}:
            yield from _answer(where, state)
        case _:
            raise Invalid(f"{where}: a state is of the type {', '.join(_TYPES)}: found {shown(state)}")


def _answer(where: str, state: dict[str, Any]) -> Iterator[Part]:
    """What the API answers when it is asked for a connection's state."""
    match state:
        case {"stateType": "stream", "streamState": list(streams)}:
            yield from (_stream(f"{where}, stream {number}", "STREAM", each) for number, each in enumerate(streams, start=1))
        case {"stateType": "global", "globalState": shared}:
            yield from _global(where, shared)
        case {"stateType": "legacy", "state": data}:
            yield Part(where, "LEGACY", None, _object(data, f"{where}: the state"))
        case {"stateType": "not_set"}:
            return
        case _:
            raise Invalid(f"{where}: the stateType {shown(state['stateType'])} has nothing to it: found {shown(state)}")


def _global(where: str, value: Any) -> Iterator[Part]:
    state = mapping(value, f"{where}: the global state")
    yield Part(where, "GLOBAL", None, _object(_field(state, "shared_state"), f"{where}: the shared state"))
    streams = _field(state, "stream_states")
    if streams is None:
        return
    if not isinstance(streams, list):
        raise Invalid(f"{where}: the stream states must be a list, not {shown(streams)}")
    yield from (_stream(f"{where}, stream {number}", "GLOBAL", each) for number, each in enumerate(streams, start=1))


def _stream(where: str, type: str, value: Any) -> Part:
    stream = mapping(value, f"{where}: the stream")
    descriptor = mapping(_field(stream, "stream_descriptor"), f"{where}: the stream descriptor")
    name, namespace = descriptor.get("name"), descriptor.get("namespace")
    if not isinstance(name, str) or not name.strip() or not isinstance(namespace, str | None):
        raise Invalid(f"{where}: a stream descriptor has a name and may have a namespace: found {codec.to_json(descriptor)}")
    place = f"{where} ({name})"
    return Part(place, type, descriptor, _object(_field(stream, "stream_state"), f"{place}: the stream state"))


def _object(value: Any, what: str) -> dict[str, Any]:
    return {} if value is None else mapping(value, what)


def _field(value: dict[str, Any], name: str) -> Any:
    """The API writes streamState for what the protocol calls stream_state."""
    camel = re.sub("_(.)", lambda match: match[1].upper(), name)
    return value.get(name, value.get(camel))


def _foreign(part: Part, schema: str | None, everywhere: str | None, empty: Sequence[Part]) -> Foreign:
    try:
        if part.descriptor is not None:
            return _stream_position(part, schema)
        if everywhere is None:
            raise Invalid("the state is one of the whole source: give the schema")
        if part.type == "LEGACY":
            return Foreign(Source(everywhere), DocumentPosition(stamped(part.state, FORMAT, type=part.type)))
        without_state = [each.descriptor for each in empty if each.descriptor]
        # A stream without a state is one whose snapshot is done: if it were forgotten, Airbyte would copy it again.
        more = {"streams_without_state": without_state} if without_state else {}
        document = stamped(part.state, FORMAT, type=part.type, **more)
        return Foreign(Source(everywhere, None, MarkerType.STREAM), DocumentPosition(document, _shared_order(part.state)))
    except Invalid as error:
        raise Invalid(f"{part.where}: {error}") from error


def _stream_position(part: Part, schema: str | None) -> Foreign:
    namespace = part.namespace or schema
    if namespace is None:
        raise Invalid("the stream has no namespace: give the schema")
    descriptor = part.descriptor or {}
    source = Source(namespace, descriptor["name"], MarkerType.STREAM if part.type == "GLOBAL" else MarkerType.BATCH)
    document = stamped(part.state, FORMAT, type=part.type, stream_descriptor=descriptor)
    if document.get(_CURSOR) is None:
        return Foreign(source, DocumentPosition(document))
    return Foreign(source, DocumentPosition.ordered_by(document, _CURSOR))


def _shared_order(state: dict[str, Any]) -> str:
    """Airbyte captures changes with Debezium, whose key and offset stand as texts in the shared state, one or two levels down."""
    pairs = [[_parsed(key), _parsed(offset)] for key, offset in _texts(state, levels=2)]
    offsets = [pair[1] for pair in pairs if debezium.knows(pair) and isinstance(pair[1], dict)]
    return debezium.position(offsets[0]).order_key if len(offsets) == 1 else ""


def _texts(value: dict[str, Any], levels: int) -> Iterator[tuple[str, str]]:
    for name, item in value.items():
        if isinstance(item, str):
            yield name, item
        elif isinstance(item, dict) and levels:
            yield from _texts(item, levels - 1)


def _parsed(text: str) -> Any:
    try:
        return load(text)
    except ValueError:
        return None


def _stream_states(markers: Iterable[Marker]) -> list[dict[str, Any]]:
    states: dict[str, dict[str, Any]] = {}
    for marker in markers:
        default = {"name": marker.table_name, "namespace": marker.schema_name}
        descriptor = origin(marker, FORMAT).get("stream_descriptor", default)
        key = codec.to_json(descriptor)
        if key in states:
            raise Invalid(f"{told(marker)} is not the only one of the stream {key}: export one of them")
        states[key] = {"stream_descriptor": descriptor, "stream_state": _stream_state(marker)}
    return list(states.values())


def _streams_without_state(shared: Marker, streams: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Those that were there when the shared state was imported and have none since."""
    written = [stream["stream_descriptor"] for stream in streams]
    empty = origin(shared, FORMAT).get("streams_without_state", [])
    return [{"stream_descriptor": descriptor, "stream_state": {}} for descriptor in empty if descriptor not in written]


def _stream_state(marker: Marker) -> dict[str, Any]:
    document = original(marker)
    match marker.position:
        case TimestampPosition():
            return {_CURSOR: document["timestamp"], **without(document, "timestamp")}
        case NumberPosition():
            return {_CURSOR: document["value"], **without(document, "value")}
        case DocumentPosition():
            return document
    raise Invalid(f"{told(marker)} is of the kind {marker.position_kind}: {FORMAT} knows timestamp, number and its own documents")


def _shared(marker: Marker) -> dict[str, Any]:
    if not isinstance(marker.position, DocumentPosition):
        raise Invalid(f"{told(marker)} is of the kind {marker.position_kind}, of a whole schema: {FORMAT} knows documents only")
    return original(marker)
