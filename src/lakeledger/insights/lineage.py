"""Where the rows of a version came from, and what was made of them: by the registry of tables, and by `lineage` records of others."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from lakeledger.codec import fold
from lakeledger.db import Row, Store
from lakeledger.db.queries import load
from lakeledger.errors import NotFound
from lakeledger.insights.scanning import Queried, scan
from lakeledger.names import parse_name, table_key
from lakeledger.records.model import MetadataRecord
from lakeledger.records.query import MetadataQuery
from lakeledger.runs import store as runs
from lakeledger.tables import Snapshot, Table
from lakeledger.tables import store as tables
from lakeledger.tables.model import NO_NEWS

sql = load("lakeledger.insights")

KIND = "lineage"
PAGE = 1_000


@dataclass(frozen=True)
class Input:
    """What was read: a ledger table at a version, or a source."""

    name: str
    version: int | None = None
    is_table: bool = False


@dataclass(frozen=True)
class Edge:
    """One version of a table, the run that made it, and what that read; `depth` is how far it is from what was asked about."""

    table: str
    version: int | None
    operation: str | None
    run_id: str | None
    pipeline: str | None
    committed_at: datetime | None
    inputs: tuple[Input, ...]
    depth: int


def up(store: Store, known: Queried, table: str, version: int | str | None, depth: int) -> list[Edge]:
    """The version, what made it, and what made its inputs, nearest first. Raises NotFound."""
    with store.read() as tx:
        start = tables.get(tx, parse_name(table))
        number = tables.snapshot(tx, start, version).version
    waiting, seen, found = deque([(str(start.name), number, 0)]), {(table_key(table), number)}, list[Edge]()
    while waiting:
        name, at, distance = waiting.popleft()
        edge = _edge(store, known, name, at, distance)
        if edge is None:
            continue
        found.append(edge)
        for each in edge.inputs if distance + 1 < depth else ():
            if each.is_table and each.version is not None and (key := (table_key(each.name), each.version)) not in seen:
                seen.add(key)
                waiting.append((each.name, each.version, distance + 1))
    return found


def down(store: Store, known: Queried, table: str, version: int | None, depth: int) -> list[Edge]:
    """What was made of a table, or of one of its versions, nearest first. Raises NotFound."""
    with store.read() as tx:
        start = tables.get(tx, parse_name(table))
    readers = _readers(store, known)
    waiting: deque[tuple[str, int | None, int]] = deque([(str(start.name), version, 1)])
    seen, found = {fold(str(start.name))}, list[Edge]()
    while waiting:
        name, at, distance = waiting.popleft()
        for reader in sorted(readers.get(fold(name), ())):
            for edge in _made_of(store, known, reader, name, at, distance):
                found.append(edge)
                if distance < depth and fold(edge.table) not in seen:
                    waiting.append((edge.table, edge.version if at is not None else None, distance + 1))
            seen.add(fold(reader))
    return found


def _edge(store: Store, known: Queried, name: str, version: int, depth: int) -> Edge | None:
    """What made a version; of one that has only other files, the version whose rows they are. None if it is not known any more."""
    with store.read() as tx:
        table = tables.find(tx, parse_name(name))
        snapshot = _snapshot(tx, table, version) if table else None
        while table and snapshot and snapshot.operation in NO_NEWS and snapshot.parent_version:
            snapshot = _snapshot(tx, table, snapshot.parent_version)
        if table is None or snapshot is None:
            return None
        pipeline = _pipeline(tx, snapshot.run_id)
    told = (each.payload for each in known.query(MetadataQuery(str(table.name), [KIND], run_id=snapshot.run_id)))
    inputs = _merged(_of_summary(snapshot.summary), *(_of_record(each) for each in told))
    return Edge(str(table.name), version, snapshot.operation, snapshot.run_id, pipeline, snapshot.committed_at, inputs, depth)


def _snapshot(tx: Any, table: Table, version: int) -> Snapshot | None:
    with suppress(NotFound):
        return tables.snapshot(tx, table, version)
    return None


def _pipeline(tx: Any, run_id: str) -> str | None:
    with suppress(NotFound):
        return runs.get(tx, run_id).pipeline_id
    return None


def _readers(store: Store, known: Queried) -> dict[str, set[str]]:
    """By the name of an input, folded, the tables whose rows were last made of it: as their versions say, or records of others."""
    found: dict[str, set[str]] = {}
    for row in _current(store):
        for each in _of_summary(row["summary"]):
            found.setdefault(fold(each.name), set()).add(f"{row['schema_name']}.{row['table_name']}")
    for record in scan(known, MetadataQuery(kinds=[KIND])):
        for each in _of_record(record.payload):
            found.setdefault(fold(each.name), set()).update(_outputs(record))
    return found


def _current(store: Store) -> Iterator[Row]:
    after: dict[str, str] = {}
    while True:
        with store.read() as tx:
            rows = tx.all(sql.current_inputs, page_size=PAGE, **after)
        yield from rows
        if len(rows) < PAGE:
            return
        last = rows[-1]
        after = {"after_key": table_key(f"{last['schema_name']}.{last['table_name']}")}


def _made_of(store: Store, known: Queried, reader: str, name: str, version: int | None, depth: int) -> list[Edge]:
    """The versions of a table that read the input at that version, newest first; without a version, the newest that read it."""
    found: list[Edge] = []
    with store.read() as tx:
        table = tables.find(tx, parse_name(reader))
    after: str | None = None
    while table:
        with store.read() as tx:
            page = tables.history(tx, table, PAGE, after)
            for snapshot in page:
                inputs = _of_summary(snapshot.summary)
                if _has(inputs, name, version):
                    pipeline = _pipeline(tx, snapshot.run_id)
                    made = (snapshot.version, snapshot.operation, snapshot.run_id, pipeline, snapshot.committed_at)
                    found.append(Edge(str(table.name), *made, inputs, depth))
                    if version is None:
                        return found
        if (after := page.next) is None:
            break
    for record in scan(known, MetadataQuery(reader, [KIND])):
        if _has(_of_record(record.payload), name, version) and record.context.run_id not in {each.run_id for each in found}:
            found.append(_told(record, reader, depth))
            if version is None:
                return found
    return found


def _told(record: MetadataRecord, table: str, depth: int) -> Edge:
    """What a record of somebody else says."""
    made = next((each.get("version") for each in record.payload["outputs"] if fold(str(each["name"])) == fold(table)), None)
    context, payload = record.context, record.payload
    return Edge(table, made, payload.get("operation"), context.run_id, context.job_id, record.produced_at, _of_record(payload), depth)


def _has(inputs: tuple[Input, ...], name: str, version: int | None) -> bool:
    return any(fold(each.name) == fold(name) and version in (None, each.version) for each in inputs)


def _of_summary(summary: Mapping[str, Any]) -> tuple[Input, ...]:
    """What a version says that it was made of: ledger tables, or a source."""
    read = tuple(Input(name, version, is_table=True) for name, version in sorted((summary.get("inputs") or {}).items()))
    source = summary.get("source")
    return read or ((Input(str(source)),) if source else ())


def _of_record(payload: Mapping[str, Any]) -> tuple[Input, ...]:
    found = payload.get("inputs") or ()
    return tuple(Input(str(each["name"]), each.get("version"), is_table=each.get("version") is not None) for each in found)


def _outputs(record: MetadataRecord) -> set[str]:
    return {str(each["name"]) for each in record.payload.get("outputs") or ()} or {record.target.name}


def _merged(*parts: tuple[Input, ...]) -> tuple[Input, ...]:
    """All of them, each once."""
    return tuple({(fold(each.name), each.version): each for part in parts for each in part}.values())
