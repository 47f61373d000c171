"""What other engines see of tables: the pointer to a table's Iceberg metadata, and what lies between it and the table as it is."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lakeledger import codec
from lakeledger.config import Settings
from lakeledger.db import Transaction
from lakeledger.errors import Conflict
from lakeledger.lake import Bounds
from lakeledger.lake.iceberg import PROPERTY, Added, Step, Unpublishable, iceberg_id
from lakeledger.lake.iceberg.schema import to_iceberg
from lakeledger.names import TableName
from lakeledger.tables import store
from lakeledger.tables.change import NextSchema, foresee
from lakeledger.tables.model import (
    BESIDE,
    Change,
    DataFile,
    Files,
    Partitions,
    Publication,
    Snapshot,
    Table,
    TableMetadata,
    Trigger,
    placed,
)
from lakeledger.tables.schema import DAY_OF, Field
from lakeledger.tables.store import sql

if TYPE_CHECKING:
    from lakeledger.lake.iceberg.stage import Staged


class PointerMoved(Conflict):
    """Somebody else has published the table meanwhile: the metadata has to be made anew, the files stay."""

    def __init__(self, table: object) -> None:
        super().__init__(f"{table} was published by somebody else meanwhile: retry", retryable=True)


@dataclass(frozen=True)
class Plan:
    """A step to publish, what the pointer says now, whether the step goes on from that, or begins anew, and what triggers it.

    Where it begins anew, the steps `before` it publish the versions that have a tag.
    """

    step: Step
    base_location: str | None
    is_fresh: bool
    trigger: Trigger
    before: tuple[Step, ...] = ()


def set_mode(tx: Transaction, table: Table, mode: str | None) -> None:
    """How the table is published from now on; None is as the ledger's setting says."""
    tx.execute(sql.put_publication_mode, table_id=table.table_id, mode=mode)


def formats(tx: Transaction, table: Table | None, settings: Settings) -> tuple[str, ...]:
    """As what other engines see the table: as it says, or as the ledger does."""
    own = store.publication(tx, table) if table else None
    return tuple(own.formats) if own and own.formats else settings.publish


def follows(tx: Transaction, table: Table, format_: str, settings: Settings) -> bool:
    """Whether the table is published in that format after its commits."""
    own = store.publication(tx, table)
    return ((own.mode if own else None) or settings.metadata) != "off" and format_ in formats(tx, table, settings)


def set_formats(tx: Transaction, table: Table, wanted: Sequence[str] | None) -> None:
    """As what other engines see the table from now on; None is as the ledger's setting says."""
    tx.execute(sql.put_formats, table_id=table.table_id, formats=list(wanted) if wanted else None)


def point(tx: Transaction, table: Table, plan: Plan, staged: Staged) -> None:
    """Let other engines see that version. Raises PointerMoved if they see another than the one that it was made from."""
    told = {"table_id": table.table_id, "version": plan.step.version, "metadata_location": staged.metadata_location}
    if tx.one(sql.point, **told, base_location=plan.base_location) is None:
        raise PointerMoved(table.name)
    if tags(tx, table) != plan.step.tags:  # Somebody tagged a version meanwhile.
        raise PointerMoved(table.name)
    for each in (*staged.before, staged):
        made = {"manifest_list": each.manifest_list, "iceberg_snapshot_id": each.iceberg_snapshot_id, "publish_trigger": plan.trigger}
        query = sql.publish_snapshot if each is staged else sql.publish_tagged_snapshot
        tx.execute(query, **{**told, "version": each.version}, **made)


def repoint(tx: Transaction, table: Table, version: int, base_location: str, metadata_location: str) -> None:
    """Let other engines see the same version by other metadata. Raises PointerMoved as `point` does."""
    told = {"table_id": table.table_id, "version": version, "metadata_location": metadata_location}
    if tx.one(sql.repoint, **told, base_location=base_location) is None:
        raise PointerMoved(table.name)
    tx.execute(sql.move_snapshot_metadata, **told)


def tags(tx: Transaction, table: Table) -> dict[str, int]:
    """The tags of a table, with the numbers of their snapshots in Iceberg; without one that is called as Iceberg's own branch."""
    return {row["name"]: iceberg_id(row["snapshot_id"]) for row in tx.all(sql.tagged_snapshots, table_id=table.table_id)}


def mark(tx: Transaction, table: Table, version: int, state: str) -> None:
    """Note how far the publishing of the files up to a version is: processing, completed or failed."""
    tx.execute(sql.set_iceberg_state, table_id=table.table_id, version=version, state=state)


def note_problem(tx: Transaction, table: Table, version: int, problem: str) -> None:
    """Keep why a version is not published."""
    tx.execute(sql.note_problem, table_id=table.table_id, version=version, problem=problem)


@dataclass(frozen=True)
class Surroundings:
    """Where the warehouse is, what time it is, and the metadata files that are lost: what they published is published anew."""

    warehouse: str = ""
    at_ms: int = 0
    lost: Container[str] = ()

    def goes_on(self, seen: Publication | None, location: str) -> bool:
        """Whether what is published is there, where the table is: paths in Iceberg are whole, so one that was moved is published anew."""
        found = seen.metadata_location if seen else None
        return found is not None and found.startswith(f"{location}/") and found not in self.lost


def plan_change(tx: Transaction, change: Change, around: Surroundings, about: Mapping[str, str], others: Sequence[Change] = ()) -> Plan:
    """The step to the version that the change will make, if nobody is faster. Raises Unpublishable, Invalid or Conflict.

    `others` are changed with it, and may have columns in the same files.
    """
    table = store.find(tx, change.table)
    known = store.metadata(tx, table) if table else None
    version = table.current_version + 1 if table else 1
    kept = {"version": str(version), "operation": change.operation, **({"batch-id": change.batch_id} if change.batch_id else {}), **about}
    location = placed(change.location, around.warehouse)
    beside = [field for other in others if other.location == change.location for field in other.schema["fields"]] + [*change.beside]
    files = [_added(location, file.path, file.size, file.rows, file.bounds) for file in change.files]
    return _plan(
        tx, table, _Next(change.table, location, version, change.snapshot_id, foresee(change, known), change, files, beside), around, kept
    )


def plan_current(tx: Transaction, table: Table, around: Surroundings, trigger: Trigger) -> Plan | None:
    """The step to the version that the table has now, or None if that is published. Raises Unpublishable."""
    # Its version and its files must be of one moment: what is newer than the version would be published again with the next.
    table = store.find_by_id(tx, table.table_id) or table
    seen, snapshot, known = store.publication(tx, table), store.snapshot(tx, table), store.metadata(tx, table)
    location = placed(table.location, around.warehouse)
    if known is None or (seen and seen.version == snapshot.version and around.goes_on(seen, location)):
        return None
    schema = NextSchema(known.schema_version, known.schema, known.columns, store.layout_of(known))
    return _plan(
        tx, table, _Next(table.name, location, snapshot.version, snapshot.snapshot_id, schema), around, _kept_of(snapshot), trigger
    )


@dataclass(frozen=True)
class _Next:
    """The version to be published: the current one, or the one that a change will make."""

    name: TableName
    location: str
    version: int
    snapshot_id: str
    schema: NextSchema
    change: Change | None = None
    files: Sequence[Added] = ()
    beside: Sequence[Field] = ()


def _plan(
    tx: Transaction, table: Table | None, new: _Next, around: Surroundings, about: Mapping[str, str], trigger: Trigger = "commit"
) -> Plan:
    if new.schema.layout.format != "parquet":
        raise Unpublishable(f"Iceberg has no {new.schema.layout.format} files: write {new.name} as parquet to publish it")
    location, kept = new.location, {**about, "trigger": trigger}
    seen = store.publication(tx, table) if table else None
    goes_on = around.goes_on(seen, location)
    before = _tagged_before(tx, table, new, around) if table and not goes_on else []
    since = seen.version if seen and goes_on else before[-1].version if before else 0
    leaving = _leaving(tx, table, new.change) if table and new.change and new.change.retires else frozenset()
    rows = tx.all(sql.files_added_since, table_id=table.table_id, version=since) if table and since < table.current_version else []
    late = [
        _added(location, row["file_path"], row["file_size"], row["row_count"], row["column_bounds"])
        for row in rows
        if row["file_path"] not in leaving
    ]
    gone = leaving | _removed_since(tx, table, since) if table and since else frozenset()
    parts, by_day = _partition_ids(new.schema)
    former, foreign = _columns_in_place(tx, table) if table and (before or since < table.current_version) else ([], [])
    step = Step(
        table_id=table.table_id if table else new.snapshot_id,
        location=location,
        version=new.version,
        snapshot_id=new.snapshot_id,
        schema=new.schema.schema,
        schema_version=new.schema.version,
        operation=_operation(new, kept["operation"], since, has_gone=bool(gone)),
        at_ms=around.at_ms,
        partition_by=parts,
        by_day=by_day,
        added=[*late, *new.files],
        removed=frozenset(f"{location}/{path}" for path in gone),
        former=former,
        foreign=[*foreign, *new.beside],
        summary=_summary(kept, new.schema),
        properties=_properties(tx.tenant_id, new),
        tags=tags(tx, table) if table else {},
    )
    return Plan(step, seen.metadata_location if seen else None, is_fresh=not goes_on, trigger=trigger, before=tuple(before))


def _tagged_before(tx: Transaction, table: Table, new: _Next, around: Surroundings) -> list[Step]:
    """The steps to the versions before that one which have a tag, of each of which Iceberg has a place for all columns."""
    ids = {field["id"] for field in new.schema.schema["fields"]}
    steps: list[Step] = []
    there: dict[str, DataFile] = {}
    for row in tx.all(sql.tagged_versions, table_id=table.table_id, version=new.version):
        snapshot = Snapshot(**row)
        known = store.metadata(tx, table, snapshot.schema_version)
        if known is None or not _is_publishable(known):
            continue
        schema = NextSchema(known.schema_version, known.schema, known.columns, store.layout_of(known))
        now = {file.file_path: file for file in store.files_at(tx, table, snapshot.version)}
        parts, by_day = _partition_ids(schema)
        steps.append(
            Step(
                table_id=table.table_id,
                location=new.location,
                version=snapshot.version,
                snapshot_id=snapshot.snapshot_id,
                schema=schema.schema,
                schema_version=schema.version,
                operation="overwrite" if there.keys() - now.keys() else "append",
                at_ms=around.at_ms,
                partition_by=parts if set(parts) <= ids else (),
                by_day=by_day,
                added=[
                    _added(new.location, path, file.file_size, file.row_count, file.column_bounds)
                    for path, file in now.items()
                    if path not in there
                ],
                removed=frozenset(f"{new.location}/{path}" for path in there.keys() - now.keys()),
                summary=_summary(_kept_of(snapshot), schema),
                properties=_properties(tx.tenant_id, replace(new, schema=schema)),
            )
        )
        there = now
    return steps


def _is_publishable(known: TableMetadata) -> bool:
    try:
        to_iceberg(known.schema, known.schema_version)
    except Unpublishable:
        return False
    return known.format == "parquet"


def _kept_of(snapshot: Snapshot) -> dict[str, str]:
    kept = {"version": str(snapshot.version), "operation": snapshot.operation, "run-id": snapshot.run_id}
    return kept | ({"batch-id": snapshot.batch_id} if snapshot.batch_id else {})


def _summary(kept: Mapping[str, str], schema: NextSchema) -> dict[str, str]:
    return {f"{PROPERTY}.{name}": value for name, value in kept.items()} | {f"{PROPERTY}.schema-version": str(schema.version)}


def _added(location: str, path: str, size: int, rows: int, bounds: Bounds) -> Added:
    return Added(f"{location}/{path}", size, rows, bounds)


def _leaving(tx: Transaction, table: Table, change: Change) -> frozenset[str]:
    """The paths that leave the table by the change."""
    match change.retires:
        case Files(paths):
            return paths
        case Partitions(paths):
            live = tx.all(sql.live_in_partitions, table_id=table.table_id, paths=sorted(paths))
        case _:
            live = tx.all(sql.live_paths, table_id=table.table_id)
    return frozenset(row["file_path"] for row in live)


def _removed_since(tx: Transaction, table: Table, version: int) -> frozenset[str]:
    if version == table.current_version:
        return frozenset()
    return frozenset(row["file_path"] for row in tx.all(sql.paths_removed_since, table_id=table.table_id, version=version))


def _columns_in_place(tx: Transaction, table: Table) -> tuple[list[Field], list[Field]]:
    """Every column that files in the table's place may have: those that the table has had, and those of others."""
    own: dict[int, Field] = {}
    foreign: dict[str, Field] = {}
    for row in tx.all(sql.schemas_in_place, location=table.location):
        for field in row["schema"]["fields"]:
            if row["table_id"] == table.table_id:
                own[field["id"]] = field
            else:
                foreign[field["physical_name"]] = field
        for name, type_ in row["properties"].get(BESIDE, {}).items():
            foreign.setdefault(name, {"name": name, "physical_name": name, "type": type_})
    return list(own.values()), list(foreign.values())


def _operation(new: _Next, operation: str, since: int, *, has_gone: bool) -> str:
    """What Iceberg calls it: others that follow the table read only what was appended."""
    if since == new.version - 1 and operation in ("replace", "alter"):
        return "replace"
    return "overwrite" if has_gone else "append"


def _partition_ids(schema: NextSchema) -> tuple[tuple[int, ...], frozenset[int]]:
    """The columns that files are partitioned by, and those among them of which they have a day. None, if one of them is gone."""
    ids = {codec.fold(field["name"]): field["id"] for field in schema.schema["fields"]}
    found = {ids.get(codec.fold(name).removeprefix(DAY_OF)): name.startswith(DAY_OF) for name in schema.layout.partition_by}
    parts = tuple(id_ for id_ in found if id_ is not None)
    return (parts, frozenset(id_ for id_ in parts if found[id_])) if len(parts) == len(found) else ((), frozenset())


def _properties(tenant_id: str, new: _Next) -> dict[str, str]:
    """What a lost ledger could be made from again."""
    return {
        f"{PROPERTY}.tenant": tenant_id,
        f"{PROPERTY}.schema-name": new.name.schema,
        f"{PROPERTY}.table-name": new.name.table,
        f"{PROPERTY}.partition-by": codec.to_json(list(new.schema.layout.partition_by)),
        f"{PROPERTY}.schema.{new.schema.version}": codec.to_json(new.schema.schema),
    }
