"""The rows of a rebuilt ledger: one transaction for each tenant, so that a rebuild that is killed has done a tenant or has not."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

from lakeledger import clock, codec, failpoints
from lakeledger.db import Transaction
from lakeledger.db.queries import load
from lakeledger.errors import Invalid
from lakeledger.rebuilding.model import File, Position, Rebuilt, Tenant, Version, plural
from lakeledger.runs import NewRun, Worker, completed
from lakeledger.runs import store as run_store
from lakeledger.tables.model import NO_NEWS
from lakeledger.tables.verify import run_of

sql = load("lakeledger.rebuilding")

PIPELINE = "rebuild"
# How many files one statement registers.
AT_A_TIME = 2_000
_T = TypeVar("_T")
_RUN = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def was_rebuilt(tx: Transaction, warehouse: str) -> bool:
    """Whether the tenant has been rebuilt from that warehouse. Raises Invalid if the ledger has anything else of it."""
    if tx.one(sql.rebuilt_by, pipeline_id=PIPELINE, warehouse=warehouse):
        return True
    there = tx.one(sql.inhabitants) or {}
    if any(there.values()):
        words = ", ".join(plural(number, what.removesuffix("s")) for what, number in there.items() if number)
        raise Invalid(
            f"the ledger is not empty: tenant {tx.tenant_id} has {words}; rebuild into a new one with --url, or if this one is spoilt, "
            "move it away first"
        )
    return False


def apply(tx: Transaction, tenant: Tenant, warehouse: str, worker: Worker, by: str) -> str:
    """Write all of a tenant, in the name of a run that says so; the id of the run."""
    new = NewRun(PIPELINE, trigger_by=by, run_kind="maintenance", parameters={"warehouse": warehouse})
    run = run_store.begin(tx, run_store.add(tx, new, by).id, worker, 60.0)
    for table in tenant.tables:
        _add_table(tx, table, run.id)
    for position in tenant.positions:
        _add_position(tx, position, by)
    tx.many(sql.add_schema, tenant.schemas)
    tx.many(sql.forget_run, ({"run_id": each} for orphans in tenant.orphans.values() for each in orphans.runs))
    run_store.finish(
        tx, run.id, completed(f"{plural(len(tenant.tables), 'table')} and {plural(len(tenant.positions), 'position')} came back"), by
    )
    failpoints.reach(failpoints.IN_TRANSACTION)
    return run.id


def _add_table(tx: Transaction, table: Rebuilt, run_id: str) -> None:
    news = max((each for each in (*table.expired, *table.versions) if each.operation not in NO_NEWS), key=lambda each: each.version)
    size = {"row_count": table.rows, "total_size": sum(file.size for file in table.live), "file_count": len(table.live)}
    times = {"last_modified": news.committed_at, "created_at": table.created_at, "updated_at": table.current.committed_at}
    tx.execute(
        sql.add_table,
        table_id=table.table_id,
        schema_name=table.name.schema,
        table_name=table.name.table,
        name_key=table.name.key,
        location=table.location,
        current_version=table.current.version,
        content_version=news.version,
        **size,
        **times,
    )
    tx.execute(sql.add_stats, id=clock.new_id(), table_id=table.table_id, **size, **times)
    _add_schemas(tx, table)
    tx.many(sql.add_snapshot, (_snapshot(table, each) for each in table.versions))
    tx.many(sql.add_expired, ({**_facts(table, each), "expired_by": run_id} for each in table.expired))
    _add_files(tx, table)
    tx.execute(
        sql.add_publication,
        table_id=table.table_id,
        mode=table.mode,
        formats=table.formats or None,
        version=table.current.version if table.metadata_location else 0,
        metadata_location=table.metadata_location,
        previous_metadata_location=table.previous_location,
    )
    tx.many(
        sql.add_tag,
        (
            {"table_id": table.table_id, "name": name, "version": version, "comment": "rebuilt", "created_by": PIPELINE}
            for name, version in table.tags.items()
        ),
    )


def _add_schemas(tx: Transaction, table: Rebuilt) -> None:
    first: dict[int, Version] = {}
    for version in table.versions:
        first.setdefault(version.schema_version, version)
    for each in table.schemas:
        is_last = each is table.schemas[-1]
        used = table.columns if is_last else table.columns[: max((field["id"] for field in each.schema["fields"]), default=0)]
        tx.execute(
            sql.add_metadata,
            id=clock.new_id(),
            table_id=table.table_id,
            schema_version=each.number,
            schema=each.schema,
            schema_hash=codec.digest(each.schema),
            columns=list(used),
            at=first[each.number].committed_at if each.number in first else table.created_at,
            **each.layout,
        )


def _facts(table: Rebuilt, version: Version) -> dict[str, Any]:
    names = ("snapshot_id", "version", "operation", "summary", "schema_version", "run_id", "batch_id", "trigger", "committed_at")
    return {
        "table_id": table.table_id,
        "parent_version": version.version - 1 or None,
        **{name: getattr(version, name) for name in names},
    }


def _snapshot(table: Rebuilt, version: Version) -> dict[str, Any]:
    is_published = table.metadata_location is not None and version.manifest_list is not None
    return {
        **_facts(table, version),
        "manifest_list": version.manifest_list if is_published else None,
        "metadata_location": table.metadata_location if is_published else None,
        "iceberg_snapshot_id": version.iceberg_snapshot_id if is_published else None,
        "publish_trigger": version.publish_trigger if is_published else None,
    }


def _add_files(tx: Transaction, table: Rebuilt) -> None:
    known = {each.version: each for each in (*table.expired, *table.versions)}
    layout = table.schemas[-1].layout
    common = {
        "table_id": table.table_id,
        "file_type": layout["format"],
        "is_compressed": layout["compression"] not in ("none", "uncompressed"),
        "iceberg_state": "completed" if table.metadata_location else "pending",
    }
    for some in _chunks(table.files):
        tx.execute(sql.add_files, **common, files=[_file(table, file, known.get(file.added_version)) for file in some])


def _file(table: Rebuilt, file: File, version: Version | None) -> dict[str, Any]:
    return {
        "id": clock.new_id(),
        "file_name": file.path.rpartition("/")[2],
        "file_path": file.path,
        "file_size": file.size,
        "partition_path": file.partition_path,
        "row_count": file.rows,
        "column_bounds": file.bounds,
        "state": "live" if file.removed_version is None else "retired",
        "added_version": file.added_version,
        "removed_version": file.removed_version,
        "run_id": run_of(file.path) if _RUN.fullmatch(run_of(file.path)) or version is None else version.run_id,
        "at": codec.to_text(version.committed_at if version else table.created_at),
    }


def _add_position(tx: Transaction, position: Position, by: str) -> None:
    marker_id = clock.new_id()
    tx.execute(sql.add_marker, id=marker_id, **vars(position.move))
    tx.many(
        sql.add_history,
        ({"id": clock.new_id(), "marker_id": marker_id, "updated_by": by, **vars(move)} for move in position.history),
    )
    for some in _chunks(position.files):
        tx.execute(sql.add_source_files, marker_id=marker_id, files=[{"id": clock.new_id(), **vars(file)} for file in some])


def _chunks(items: Sequence[_T]) -> Iterator[Sequence[_T]]:
    for start in range(0, len(items), AT_A_TIME):
        yield items[start : start + AT_A_TIME]
