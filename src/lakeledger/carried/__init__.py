"""What published metadata carries besides the table, so that a lost ledger can be made from it again.

Small and current things are properties of the table and of its snapshots. What would grow without end (the files that a source was read
from, versions that have left the metadata, versions of source schemas) is written once, in journals beside the metadata.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Protocol, runtime_checkable

from lakeledger import codec
from lakeledger.db import Row, Transaction
from lakeledger.db.queries import load
from lakeledger.errors import Invalid
from lakeledger.lake.iceberg import PROPERTY
from lakeledger.names import parse_name
from lakeledger.sync import Advance, Source, VersionsPosition
from lakeledger.sync.positions import store as positions
from lakeledger.tables import Change, Files, Partitions, Publication, Table, TableMetadata, store
from lakeledger.tables.change import NextSchema, foresee, prefix_of, properties_after
from lakeledger.tables.publications import Plan

sql = load("lakeledger.carried")

# That the metadata carries all this, and in which form.
CARRIES = f"{PROPERTY}.carries"
FORM = "1"
POSITION = f"{PROPERTY}.position."
# Versions leave the metadata after a hundred; before, so many at a time are noted in a journal.
VERSIONS_AT_A_TIME = 50
# Of a bigger table that is published for the first time, or anew, nobody notes which version brought which file.
MOST_FILES_NOTED = 10_000
FILES = "files"

Note = dict[str, Any]


@runtime_checkable
class Noted(Protocol):
    """An effect of which a lost ledger has to know, beside the table and the positions."""

    def to_note(self) -> Note:
        """It as JSON knows it; `source` is the key of the source that it is about."""
        ...


@dataclass(frozen=True)
class Doing:
    """What a commit will do beside one table: the run, its other tables, where its sources will stand, and what is noted of them.

    `appended_rows` are those that a run which reads the same again would add a second time.
    """

    run_id: str
    trigger: str
    others: Sequence[Change] = ()
    moves: Sequence[Advance] = ()
    notes: Sequence[Note] = ()
    appended_rows: int | None = None


def carry(tx: Transaction, plan: Plan, change: Change | None = None, doing: Doing | None = None, *, anew: bool = False) -> Plan:
    """The plan with all that its metadata has to carry: what is new since the version that it goes on from, or everything `anew`.

    `change` and `doing` are of a commit that is to be made; without them, the version that the table has now is published.
    """
    step = plan.step
    table = store.find_by_id(tx, step.table_id) if change is None else store.find(tx, change.table)
    seen = store.publication(tx, table) if table else None
    since = 0 if plan.is_fresh or anew or seen is None else seen.version
    at = codec.to_text(datetime.fromtimestamp(step.at_ms / 1000, UTC))
    known = store.metadata(tx, table) if table else None
    next_ = foresee(change, known) if change else None
    found = tx.all(sql.moves, table_id=table.table_id, since=since) if table and since < table.current_version else []
    made = _made(tx, doing, at, step.version) if doing else []
    found += _moved_since(tx, found, made, step.version)
    moves = [{**move, "read": _read_by(tx, move)} for move in [*found, *made]]
    missed = _missed(tx, table, since, step.version)
    journal: list[Note] = [{"op": "version", **_plain(each)} for each in missed]
    name = change.table if change else table.name if table else None
    if name and not prefix_of(name, step.location):  # What is set aside in a table's place follows it, and the table has it all.
        journal += [*_read_files(tx, table, since, found, made, doing, at), *_source_schemas(tx, table, since, [*found, *made])]
    about = _of_change(tx, table, change, doing, at, since) if change and doing else _of_version(tx, table, step.version, since)
    told = {"positions": codec.to_json([_told(move) for move in moves])} if moves else {}
    properties = {
        CARRIES: FORM,
        **_own(_of_table(tx, table, plan, next_, known, seen, change)),
        **_layouts(tx, table, change, plan, since, known, next_),
        **{f"{POSITION}{move['name_key']}:{move['marker_type']}": codec.to_json(_told(move)) for move in moves},
    }
    carried = replace(
        step,
        summary={**step.summary, **_own({**about, **told})},
        properties={**step.properties, **properties},
        journal=journal,
    )
    before = tuple(replace(each, summary={**each.summary, **_own(_of_version(tx, table, each.version))}) for each in plan.before)
    return replace(plan, step=carried, before=before)


def _own(told: Mapping[str, str]) -> dict[str, str]:
    return {f"{PROPERTY}.{name}": value for name, value in told.items()}


def _of_table(
    tx: Transaction,
    table: Table | None,
    plan: Plan,
    next_: NextSchema | None,
    known: TableMetadata | None,
    seen: Publication | None,
    change: Change | None,
) -> dict[str, str]:
    columns = next_.columns if next_ else known.columns if known else []
    return {
        "table-id": table.table_id if table else plan.step.table_id,
        "location": table.location if table else change.location if change else plan.step.location,
        "publish-mode": (seen.mode if seen else None) or "",
        "publish-formats": codec.to_json((seen.formats if seen else None) or []),
        "columns": codec.to_json(columns),
        "created-at": codec.to_text(table.created_at if table else tx.now),
    }


def _of_change(tx: Transaction, table: Table | None, change: Change, doing: Doing, at: str, since: int) -> dict[str, str]:
    beside: dict[str, list[Any]] = {}
    for other in doing.others:
        found = store.find(tx, other.table)
        beside[str(other.table)] = [found.current_version + 1 if found else 1, other.snapshot_id]
    takes_along = table is not None and since < table.current_version
    beside = {**(_peers(tx, table, since) if table and takes_along else {}), **beside}
    counted = _counted(tx, table, change) if table and takes_along else {}
    return {
        "committed-at": at,
        "run-trigger": doing.trigger,
        "summary": codec.to_json({**counted, **change.summary}),
        **({"with": codec.to_json(beside)} if beside else {}),
    }


def _counted(tx: Transaction, table: Table, change: Change) -> dict[str, int]:
    """What the version will count; its snapshot counts what has come since the one before, which may be more."""
    match change.retires:
        case None:
            leaving = []
        case Files(paths):
            leaving = [file for file in store.files_at(tx, table, table.current_version) if file.file_path in paths]
        case Partitions(paths):
            leaving = [file for file in store.files_at(tx, table, table.current_version) if file.partition_path in paths]
        case _:
            leaving = list(store.files_at(tx, table, table.current_version))
    removed = sum(file.row_count for file in leaving)
    return {
        "added_files": len(change.files),
        "added_rows": change.rows,
        "added_bytes": change.size,
        "removed_files": len(leaving),
        "removed_rows": removed,
        "total_rows": table.row_count + change.rows - removed,
        "total_files": table.file_count + len(change.files) - len(leaving),
        "total_bytes": table.total_size + change.size - sum(file.file_size for file in leaving),
    }


def _peers(tx: Transaction, table: Table, since: int) -> dict[str, list[Any]]:
    """The versions of other tables that were made with those of this one: the last of each, and its snapshot."""
    rows = tx.all(sql.peers, table_id=table.table_id, since=since)
    return {f"{row['schema_name']}.{row['table_name']}": [row["version"], row["snapshot_id"]] for row in rows}


def _read_by(tx: Transaction, move: Row) -> dict[str, list[Any]]:
    """The versions of tables that a query had read, by name, and their snapshots: after a rebuild, a version may be another one."""
    read: dict[str, list[Any]] = {}
    for name, version in move["position_data"]["versions"].items() if move["position_kind"] == VersionsPosition.kind else ():
        with suppress(Invalid):  # A position that somebody set by hand may name what is no table here.
            table = store.find(tx, parse_name(name))
            rows = tx.all(sql.versions, table_id=table.table_id, after=version - 1, upto=version) if table else []
            read[name] = [version, rows[0]["snapshot_id"] if rows else None]
    return read


def _of_version(tx: Transaction, table: Table | None, version: int, since: int | None = None) -> dict[str, str]:
    if table is None:
        return {}
    snapshot = store.snapshot(tx, table, version)
    beside = _peers(tx, table, since) if since is not None else {}
    return {
        "committed-at": codec.to_text(snapshot.committed_at),
        "run-trigger": snapshot.trigger,
        "summary": codec.to_json(snapshot.summary),
        **({"with": codec.to_json(beside)} if beside else {}),
    }


def _layouts(
    tx: Transaction,
    table: Table | None,
    change: Change | None,
    plan: Plan,
    since: int,
    latest: TableMetadata | None,
    next_: NextSchema | None,
) -> dict[str, str]:
    """What belongs to the schema versions since then, beside the columns; of versions that were not published, the columns, too."""
    published = _schema_version(tx, table, since) if table and since else 0
    rows = tx.all(sql.schemas_after, table_id=table.table_id, after=published) if table and published < plan.step.schema_version else []
    known = [TableMetadata(**row) for row in rows]
    told = {f"{PROPERTY}.schema.{each.schema_version}": codec.to_json(each.schema) for each in known}
    told |= {f"{PROPERTY}.layout.{each.schema_version}": codec.to_json(_layout(each)) for each in known}
    name = f"{PROPERTY}.layout.{plan.step.schema_version}"
    if change and next_ and name not in told and plan.step.schema_version != published:
        layout = next_.layout
        told[name] = codec.to_json(
            {
                "format": layout.format,
                "partition_by": list(layout.partition_by),
                "compression": change.files[0].compression if change.files else "none",
                "sort_by": latest.sort_by if latest else [],
                "engine_config": latest.engine_config if latest else {},
                "properties": properties_after(change, latest),
            }
        )
    return told


def _schema_version(tx: Transaction, table: Table, version: int) -> int:
    row = next(iter(tx.all(sql.versions, table_id=table.table_id, after=version - 1, upto=version)), None)
    return int(row["schema_version"]) if row else 0


def _layout(known: TableMetadata) -> dict[str, Any]:
    names = ("format", "partition_by", "compression", "sort_by", "engine_config", "properties")
    return {name: getattr(known, name) for name in names}


def _made(tx: Transaction, doing: Doing, at: str, version: int) -> list[Row]:
    """The moves of the commit that is to be made, as those are told that were made."""
    made = []
    for move in doing.moves:
        current = positions.find(tx, move.source)
        made.append(
            {
                **vars(move.source),
                "name_key": move.source.key,
                "marker_id": current.id if current else None,
                "version": current.version + 1 if current else 1,
                "position_kind": move.to.kind,
                "position_data": move.to.document(),
                "order_key": move.to.order_key,
                "updated_at": at,
                "sync_run_id": doing.run_id,
                "forced": move.force,
                "reason": move.reason,
                "appended_rows": doing.appended_rows,
                "table_version": version,
            }
        )
    return made


def _moved_since(tx: Transaction, found: Sequence[Row], made: Sequence[Row], version: int) -> list[Row]:
    """Where sources of files stand now that have moved once more since, without rows: their files have got other names."""
    now = {(move["name_key"], move["marker_type"]) for move in made}
    last = {(move["name_key"], move["marker_type"]): move for move in found if move["position_kind"] == FILES}
    more = []
    for key, move in last.items():
        source = Source(move["schema_name"], move["table_name"], move["marker_type"])
        current = positions.find(tx, source) if key not in now else None
        if current and current.version > move["version"]:
            names = ("version", "position_kind", "position_data", "order_key", "sync_run_id")
            told = {name: getattr(current, name) for name in names}
            why = "moved without rows"
            more.append(
                {**move, **told, "updated_at": current.last_updated, "reason": why, "appended_rows": None, "table_version": version}
            )
    return more


def _told(move: Row) -> dict[str, Any]:
    names = ("schema_name", "table_name", "marker_type", "version", "order_key", "updated_at", "sync_run_id", "table_version")
    told = {name: move[name] for name in names}
    more = {name: move[name] for name in ("forced", "reason", "appended_rows", "read") if move.get(name) not in (None, False, {})}
    return {**told, "kind": move["position_kind"], "data": move["position_data"], **more}


def _missed(tx: Transaction, table: Table | None, since: int, version: int) -> list[Row]:
    """The versions that are noted now: those that nobody publishes, with the files they added, and those that leave the metadata soon."""
    if table is None:
        return []
    begun = since - 1 if since else 0
    noted = begun - begun % VERSIONS_AT_A_TIME
    upto = version - 1 if version - since > 1 else (version - 1) - (version - 1) % VERSIONS_AT_A_TIME
    if upto <= noted:
        return []
    rows = tx.all(sql.versions, table_id=table.table_id, after=noted, upto=upto)
    late = [row["version"] for row in rows if row["version"] > since]
    added: dict[int, list[str]] = {}
    knows_files = since > 0 or table.file_count <= MOST_FILES_NOTED
    for file in store.files_of_versions(tx, table.table_id, late) if late and knows_files else ():
        added.setdefault(file.added_version, []).append(file.file_path)
    return [{**row, **({"added": added.get(row["version"], [])} if row["version"] in late and knows_files else {})} for row in rows]


def _read_files(
    tx: Transaction, table: Table | None, since: int, found: Sequence[Row], made: Sequence[Row], doing: Doing | None, at: str
) -> list[Note]:
    """Which files were read, of the sources that moved: those that are new, or all if a move between was not the table's."""
    noted: list[Note] = []
    for source in {(move["name_key"], move["marker_type"]) for move in [*found, *made] if move["position_kind"] == FILES}:
        mine = [move for move in found if (move["name_key"], move["marker_type"]) == source]
        now = next((move for move in made if (move["name_key"], move["marker_type"]) == source), None)
        about = {"source": source[0], "marker_type": source[1]}
        moves = [*mine, *([now] if now else [])]
        if _goes_on(tx, table, since, moves, has_own=now is not None):
            for move in mine:
                rows = tx.all(sql.files_of_run, marker_id=move["marker_id"], run_id=move["sync_run_id"])
                noted.append({"op": "read", **about, "version": move["version"], "files": [_file(row) for row in rows]})
        elif moves[0]["marker_id"]:
            last = mine[-1]["version"] if mine and now is None else moves[-1]["version"] - (1 if now else 0)
            rows = tx.all(sql.all_files, marker_id=moves[0]["marker_id"])
            noted.append({"op": "all", **about, "version": last, "files": [_file(row) for row in rows]})
        if now and doing:
            own = (each for each in doing.notes if each["source"] == source[0] and each["marker_type"] == source[1])
            noted += [{**each, "version": now["version"], "at": at, "run_id": doing.run_id} for each in own]
    return noted


def _goes_on(tx: Transaction, table: Table | None, since: int, moves: Sequence[Row], *, has_own: bool) -> bool:
    """Whether these are all moves since what was published, and each only read files that had not been read."""
    versions = [move["version"] for move in moves]
    if versions != list(range(versions[0], versions[0] + len(versions))):
        return False
    if any(move["forced"] or move["reason"] for move in (moves[:-1] if has_own else moves)):
        return False
    if versions[0] == 1:
        return True
    told = {"marker_id": moves[0]["marker_id"], "version": versions[0] - 1, "since": since}
    return table is not None and since > 0 and tx.one(sql.is_of_table, table_id=table.table_id, **told) is not None


def _file(row: Row) -> list[Any]:
    return [row[name] for name in ("file_path", "file_size", "modified_at", "content_hash", "row_key", "registered_at", "run_id")]


def _source_schemas(tx: Transaction, table: Table | None, since: int, moves: Sequence[Row]) -> list[Note]:
    """The schema versions of the sources that moved, since what was published; one of the very commit comes with the next."""
    version = next(iter(tx.all(sql.versions, table_id=table.table_id, after=since - 1, upto=since)), None) if table and since else None
    since_at = version["committed_at"] if version else None
    rows = [
        row for key in sorted({move["name_key"] for move in moves}) for row in tx.all(sql.schema_versions, name_key=key, since_at=since_at)
    ]
    return [{"op": "schema", **_plain(row)} for row in rows]


def _plain(row: Mapping[str, Any]) -> dict[str, Any]:
    plain: dict[str, Any] = codec.to_plain({name: value for name, value in row.items() if name != "tenant_id"})
    return plain
