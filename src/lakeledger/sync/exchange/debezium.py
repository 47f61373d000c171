"""Offsets of Debezium and other Kafka connectors: what the REST API gives and takes, and records of the offsets topic."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lakeledger import codec
from lakeledger.errors import Invalid
from lakeledger.sync.exchange.foreign import Foreign, Scan, origin, original, stamped, told
from lakeledger.sync.exchange.text import Record, load, mapping, pretty, shown, spread
from lakeledger.sync.kinds import (
    BinlogPosition,
    DocumentPosition,
    GtidPosition,
    LsnPosition,
    OffsetsPosition,
    Position,
    ResumeTokenPosition,
    parse_position,
)
from lakeledger.sync.kinds.order import comparable, order_text, whole, without
from lakeledger.sync.model import Marker, MarkerType, Source

FORMAT = "debezium"
# What a partition calls its source. SQL Server has a partition per database, each under the same server.
_NAMES = ("database", "server", "server_id", "rs")
_SINK = {"kafka_topic", "kafka_partition"}
# Fields by which offsets of a kind that is no position of its own are ordered: SQL Server and Db2, Oracle, MongoDB's snapshots, JDBC.
_ORDERS = (
    ("commit_lsn", "change_lsn", "event_serial_no"),
    ("scn",),
    ("sec", "ord"),
    ("timestamp", "timestamp_nanos", "incrementing"),
    ("incrementing",),
)
_MARIADB = re.compile(r"\d+-\d+-\d+(,\d+-\d+-\d+)*")


@dataclass(frozen=True)
class Entry:
    """One partition of a connector and how far it was read; None if it was reset. The REST API does not repeat the connector's name."""

    where: str
    connector: str | None
    partition: dict[str, Any]
    offset: dict[str, Any] | None

    @property
    def is_sink(self) -> bool:
        return self.partition.keys() >= _SINK

    @property
    def key(self) -> str:
        return codec.to_json([self.connector, self.partition])


def knows(value: object) -> bool:
    """Whether it is an answer of the REST API, or a record of the offsets topic."""
    match value:
        case {"offsets": list()} | {"partition": _, "offset": _}:
            return True
        case {"key": list() | str(), "value": _} | {"key": list() | str(), "payload": _}:
            return True
        case [[str(), dict()], _]:
            return True
    return False


def read(records: Sequence[Record], schema: str | None) -> Scan:
    """The positions of every connector. Raises Invalid."""
    # The topic is compacted: the last record of a partition is the one that holds.
    latest = {entry.key: entry for record in records for entry in _entries(record)}
    standing = [entry for entry in latest.values() if entry.offset is not None]
    found = [_source_position(entry, schema) for entry in standing if not entry.is_sink]
    sinks: dict[str | None, list[Entry]] = {}
    for entry in standing:
        if entry.is_sink:
            sinks.setdefault(entry.connector, []).append(entry)
    found += [_sink_position(entries, schema) for entries in sinks.values()]
    skipped = [
        f"{entry.where}: the offset of {codec.to_json(entry.partition)} was reset" for entry in latest.values() if entry.offset is None
    ]
    return Scan(FORMAT, found, skipped)


def position(offset: dict[str, Any]) -> Position:
    """The position that an offset describes. Raises Invalid."""
    there = {name for name, value in offset.items() if value is not None}
    if "resume_token" in there:
        return _resume_token(offset)
    if "lsn" in there:
        return parse_position("lsn", offset)
    # MariaDB's GTIDs have an order of their own, which its file and position have as well.
    if "gtids" in there and offset["gtids"] and not _MARIADB.fullmatch(str(offset["gtids"])):
        return parse_position("gtid", offset)
    if {"file", "pos"} <= there:
        return parse_position("binlog", offset)
    return DocumentPosition(offset, _order(offset))


def write(markers: Sequence[Marker]) -> str:
    """The offsets as the REST API takes them, or, if they were records of the topic, as such. Raises Invalid."""
    entries: dict[str, Entry] = {}
    for marker in markers:
        for entry in _written(marker):
            if entry.key in entries:
                raise Invalid(f"{told(marker)} has the same partition as another: {codec.to_json(entry.partition)}; export them one by one")
            entries[entry.key] = entry
    if entries and all(entry.connector is not None for entry in entries.values()):
        lines = ({"key": [entry.connector, entry.partition], "value": entry.offset} for entry in entries.values())
        return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    return pretty({"offsets": [{"partition": entry.partition, "offset": entry.offset} for entry in entries.values()]})


def _entries(record: Record) -> Iterator[Entry]:
    match record.value:
        case {"offsets": list(offsets)}:
            yield from (_entry(f"{record.where}, offset {number}", item) for number, item in enumerate(offsets, start=1))
        case list() if not knows(record.value):
            yield from (_entry(each.where, each.value) for each in spread([record]))
        case _:
            yield _entry(record.where, record.value)


def _entry(where: str, value: Any) -> Entry:
    connector: str | None = None
    match value:
        case {"partition": partition, "offset": offset}:
            pass
        case {"key": key, "value": offset} | {"key": key, "payload": offset}:
            connector, partition = _key(_parsed(key, where), where)
            offset = _parsed(offset, where)
        case [[str(connector), dict(partition)], offset]:
            pass
        case _:
            raise Invalid(f"{where}: expected a partition and its offset, or a key and its value, not {shown(value)}")
    known = None if offset is None else mapping(offset, f"{where}: the offset")
    return Entry(where, connector, mapping(partition, f"{where}: the partition"), known)


def _key(key: Any, where: str) -> tuple[str, dict[str, Any]]:
    match key:
        case [str(connector), dict(partition)]:
            return connector, partition
    raise Invalid(f'{where}: the key must be ["connector", {{partition}}], not {shown(key)}')


def _parsed(value: Any, where: str) -> Any:
    """What kcat prints as a text is JSON again."""
    if not isinstance(value, str):
        return value
    try:
        return load(value)
    except ValueError as error:
        raise Invalid(f"{where}: {shown(value)} is no JSON: {error}") from error


def _source_position(entry: Entry, schema: str | None) -> Foreign:
    names = [name for name in map(entry.partition.get, _NAMES) if isinstance(name, str) and name.strip()]
    name = schema if schema is not None else next(iter(names), entry.connector)
    if name is None:
        raise Invalid(f"{entry.where}: the partition {codec.to_json(entry.partition)} names no server: give the schema")
    table = entry.partition.get("table")
    try:
        source = Source(name, table if isinstance(table, str) and table else None, MarkerType.STREAM)
        return Foreign(source, position(_stamped(entry.offset or {}, entry.connector, partition=entry.partition)))
    except Invalid as error:
        raise Invalid(f"{entry.where} ({codec.to_json(entry.partition)}): {error}") from error


def _sink_position(entries: Sequence[Entry], schema: str | None) -> Foreign:
    """All partitions that a sink reads are one position."""
    offsets: dict[str, dict[str, int]] = {}
    for entry in entries:
        match entry.partition["kafka_topic"], _count(entry.partition["kafka_partition"]), _count((entry.offset or {}).get("kafka_offset")):
            case str(topic), int(partition), int(offset):
                offsets.setdefault(topic, {})[str(partition)] = offset
            case _:
                found = codec.to_json([entry.partition, entry.offset])
                raise Invalid(f"{entry.where}: a sink has a kafka_topic, a kafka_partition and a kafka_offset, not {found}")
    name = schema if schema is not None else entries[0].connector or (next(iter(offsets)) if len(offsets) == 1 else None)
    if name is None:
        raise Invalid(f"the sink reads {', '.join(offsets)}: give the schema that its position belongs to")
    return Foreign(Source(name, None, MarkerType.STREAM), OffsetsPosition(offsets, _stamped({}, entries[0].connector)))


def _count(value: Any) -> int | None:
    """The API takes numbers also as texts."""
    try:
        number = whole(value)
    except (TypeError, ValueError):
        return None
    return number if 0 <= number < 2**63 else None


def _stamped(offset: Mapping[str, Any], connector: str | None, **origin: Any) -> dict[str, Any]:
    return stamped(offset, FORMAT, **origin, **({} if connector is None else {"connector": connector}))


def _resume_token(offset: dict[str, Any]) -> ResumeTokenPosition:
    order = offset.get("cluster_time")
    if order is None:
        order = _cluster_time(offset)
    return ResumeTokenPosition(offset["resume_token"], order, without(offset, "resume_token", "cluster_time"))


def _cluster_time(offset: Mapping[str, Any]) -> int | None:
    """MongoDB's cluster time is a number of 64 bits: the seconds, and the place among the events of that second."""
    match offset:
        case {"sec": int(seconds), "ord": int(place)}:
            return (seconds << 32) + place
    return None


def _order(offset: Mapping[str, Any]) -> str:
    """The order of an offset by its most telling fields, or '' if it has none of them."""
    for names in _ORDERS:
        values = [None if value in ("NULL", "null") else value for value in map(offset.get, names)]
        if values[0] is not None:
            # A blank comes before every letter, so that what is missing comes first.
            return " ".join(comparable(order_text(value)) for value in values).rstrip()
    return ""


def _written(marker: Marker) -> Iterable[Entry]:
    found = origin(marker, FORMAT)
    connector = found.get("connector")
    if isinstance(place := marker.position, OffsetsPosition):
        for (topic, partition), offset in place.flat().items():
            yield Entry("", connector, {"kafka_topic": topic, "kafka_partition": _partition(partition, marker)}, {"kafka_offset": offset})
        return
    if not found and marker.table_name:
        raise Invalid(f"{told(marker)} is one of a table, but a connector has one offset for its whole server: {FORMAT} cannot express it")
    yield Entry("", connector, found.get("partition", {"server": marker.schema_name}), _offset(marker))


def _partition(text: str, marker: Marker) -> int:
    if (number := _count(text)) is None:
        raise Invalid(f"{told(marker)} has a partition {text!r}: Kafka's partitions are numbers")
    return number


def _offset(marker: Marker) -> dict[str, Any]:
    document = original(marker)
    if origin(marker, FORMAT):
        added = document.get("cluster_time") is not None and document["cluster_time"] == _cluster_time(document)
        return without(document, "cluster_time") if added else document
    match marker.position:
        case LsnPosition() as place:
            return {**document, "lsn": place.offset()}
        case ResumeTokenPosition() as place:
            return {**without(document, "cluster_time"), **_mongodb(place)}
        case BinlogPosition() | GtidPosition() | DocumentPosition():
            return document
    raise Invalid(
        f"{told(marker)} is of the kind {marker.position_kind}: {FORMAT} knows lsn, binlog, gtid, resume_token, offsets and documents"
    )


def _mongodb(place: ResumeTokenPosition) -> dict[str, Any]:
    token = place.token["_data"] if isinstance(place.token, dict) and "_data" in place.token else place.token
    if (time := _count(place.order)) is None:
        return {"resume_token": token}
    return {"resume_token": token, "sec": time >> 32, "ord": time & 0xFFFFFFFF}
