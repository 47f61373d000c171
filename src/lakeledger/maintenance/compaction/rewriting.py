"""A compaction carried out on Spark: each group of files becomes one file, and one commit replaces them with the same rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

from lakeledger import records
from lakeledger.commit import Commit
from lakeledger.config import CompactionSettings
from lakeledger.db import Transaction
from lakeledger.errors import Conflict, Failed, NotFound
from lakeledger.lake import open_format
from lakeledger.maintenance.compaction.planning import Group, Plan, SmallFile, histogram, place_of, plan_compaction
from lakeledger.names import TableName
from lakeledger.pipelines import Context
from lakeledger.pipelines.apply import Saved, Target
from lakeledger.pipelines.effects import Stopwatch
from lakeledger.pipelines.read import read_stored
from lakeledger.pipelines.save import Shape
from lakeledger.pipelines.write import Planned, put
from lakeledger.runs import Fence
from lakeledger.tables import Change, DataFile, Files, NewFile, Table, TableMetadata, View, claims, store
from lakeledger.tables.schema import ASIDE, stored_names

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

KIND = "compaction"
PRODUCER = "compactor.v1"
# Which group a row is of: rows of different groups are in different folders. No column of a table may be called so.
MARK = f"{ASIDE}_group"
# How many groups are one job of Spark and one commit. More would make its plan slow, and its commit late.
GROUPS_AT_A_TIME = 32


@dataclass(frozen=True)
class Looked:
    """A table as a compaction finds it, and what it would do."""

    table: Table
    metadata: TableMetadata
    files: list[DataFile]
    order: tuple[str, ...]
    plan: Plan

    @property
    def sizes(self) -> dict[str, int]:
        return {file.file_path: file.file_size for file in self.files}

    @property
    def at_a_time(self) -> int:
        """How many groups one commit takes: where a write sees only the bounds of all its rows, one."""
        return 1 if open_format(self.metadata.format).needs_observed_bounds else GROUPS_AT_A_TIME


@dataclass(frozen=True)
class Rewritten:
    """What one commit did: the version, and of how many groups a writer was faster."""

    version: int
    groups: int
    lost: int
    bytes_read: int
    bytes_written: int


def look(tx: Transaction, name: TableName, settings: CompactionSettings, budget: int | None = None) -> Looked:
    """The table as it is, and what a round of at most so many bytes would do. Raises NotFound."""
    table = store.get(tx, name)
    known = store.metadata(tx, table)
    if known is None:
        raise NotFound(f"{name} has no rows yet")
    files = list(store.files_at(tx, table, table.current_version))
    order = order_of(known)
    packed = {row["version"]: int(row["target_bytes"] or 0) for row in tx.all(store.sql.compactions, table_id=table.table_id)}
    held = claims.holders(tx, table, (file.file_path for file in files))
    types = {field["physical_name"]: field["type"] for field in known.schema["fields"]}
    columns = {column: types[column] for column in order}
    seen = [_seen(file, columns, packed, held) for file in files]
    return Looked(table, known, files, order, plan_compaction(seen, settings, tx.now, budget))


def order_of(known: TableMetadata) -> tuple[str, ...]:
    """The physical names of the columns that rows are sorted by: as the table is declared to be, else by the keys that merges look for."""
    there = {field["physical_name"] for field in known.schema["fields"]}
    return tuple(name for name in (stored_names(known.schema, known.sort_by) or known.keys) if name in there)


def rewrite(context: Context, fence: Fence, looked: Looked, groups: Sequence[Group], settings: CompactionSettings) -> Rewritten:
    """Write each group into one file, and commit those that no writer has touched meanwhile.

    Raises Conflict (retryable) if that is none; then, and whatever else it raises, no file of it is left.
    """
    watch = Stopwatch()
    physical = [field["physical_name"] for field in looked.metadata.schema["fields"]]
    shape = Shape(looked.metadata.schema, {name: name for name in physical}, keys=looked.metadata.keys, folders=(MARK,), order=looked.order)
    lost: list[Group] = []

    def plan(saved: Saved) -> Planned:
        made = _by_group(looked.table, groups, saved)
        with context.store.read() as tx:
            good = [group for group in groups if _is_free(tx, looked.table, group)]
        if not good:
            raise Conflict(f"somebody else has rewritten what was compacted of {looked.table.name}: a writer goes first", retryable=True)
        lost.extend(group for group in groups if group not in good)
        new = [file for group in good for file in made[group]]
        gone = frozenset().union(*(group.paths for group in good))
        watch.lap("write_ms")
        facts = Facts(looked.table.name, looked.sizes, gone, new, len(good), watch)
        change = Change(
            table=looked.table.name,
            location=looked.table.location,
            operation="replace",
            schema=looked.metadata.schema,
            layout=store.layout_of(looked.metadata),
            files=new,
            retires=Files(gone),
            base_version=looked.table.current_version,
            schema_version=looked.metadata.schema_version,
            summary={"target_bytes": settings.target_bytes, "groups": len(good)},
        )
        return Planned([change], effects=[Unclaimed(looked.table.name, gone), facts], watch=watch)

    with context.store.read() as tx:
        publishing = context.publisher.mode(tx, looked.table)
    target = Target(looked.table, looked.metadata, looked.table.location, store.layout_of(looked.metadata), publishing)
    committed = put(context, fence, _rows(context, looked, groups), shape, target, plan, placed=True).tables[0]
    read = sum(group.size for group in groups if group not in lost)
    return Rewritten(committed.version, len(groups) - len(lost), len(lost), read, committed.snapshot.summary["added_bytes"])


@dataclass(frozen=True)
class Unclaimed:
    """That no writer is just rewriting these files. Raises Conflict."""

    table: TableName
    paths: frozenset[str]

    def write(self, tx: Transaction, committed: Commit) -> None:  # noqa: ARG002 - it is about others
        claims.check_unclaimed(tx, self.table, self.paths)


@dataclass(frozen=True)
class Facts:
    """What a compaction did, kept as a record: the files before and after by size, and what it took."""

    table: TableName
    sizes: Mapping[str, int]
    gone: frozenset[str]
    new: Sequence[NewFile]
    groups: int
    watch: Stopwatch

    def write(self, tx: Transaction, committed: Commit) -> None:
        made, run = committed.of(self.table), committed.run
        if made is None or not made.applied:
            return
        self.watch.lap("commit_ms")
        left = [size for path, size in self.sizes.items() if path not in self.gone]
        payload = {
            "table_version": made.version,
            "groups": self.groups,
            "rows": sum(file.rows for file in self.new),
            "files_before": len(self.sizes),
            "files_after": len(left) + len(self.new),
            "files_read": len(self.gone),
            "files_written": len(self.new),
            "bytes_read": sum(self.sizes[path] for path in self.gone),
            "bytes_written": sum(file.size for file in self.new),
            "seconds": sum(self.watch.laps.values()) / 1000,
            "histogram_before": histogram(self.sizes.values()),
            "histogram_after": histogram([*left, *(file.size for file in self.new)]),
        }
        target = records.MetadataTarget(run.pipeline_id, made.table.schema_name, made.table.table_name)
        context = records.MetadataContext(job_id=run.pipeline_id, run_id=run.id, namespace=tx.tenant_id)
        records.add(tx, records.MetadataRecord(target, context, KIND, payload, PRODUCER, produced_at=tx.now))


def _seen(file: DataFile, columns: Mapping[str, Any], packed: Mapping[int, int], held: Mapping[str, str]) -> SmallFile:
    # Without an order, rows that came together stay together.
    place = place_of(file.column_bounds, columns) if columns else ((0, float(file.added_version), ""),)
    return SmallFile(
        path=file.file_path,
        size=file.file_size,
        rows=file.row_count,
        partition=file.partition_path,
        added_at=file.created_at,
        place=place,
        packed_for=packed.get(file.added_version, 0),
        held_by=held.get(file.file_path),
    )


def _rows(context: Context, looked: Looked, groups: Sequence[Group]) -> DataFrame:
    """The rows of all groups with all columns, also the hidden ones, those of each group in one task."""
    from pyspark.sql import functions as F

    session = context.sessions.to_merge(context.sessions.to_load(context.spark))
    table, layout = looked.table.placed(context.warehouse), store.layout_of(looked.metadata)

    def of(number: int, group: Group) -> DataFrame:
        view = View(table, table.current_version, looked.metadata.schema, layout, [file.path for file in group.files])
        return read_stored(session, view).coalesce(1).withColumn(MARK, F.lit(str(number)))

    return reduce(lambda all_, one: all_.unionAll(one), [of(number, group) for number, group in enumerate(groups)])


def _by_group(table: Table, groups: Sequence[Group], saved: Saved) -> dict[Group, list[NewFile]]:
    """What was written of each group. Raises Failed if it is not the same number of rows, or in another partition."""
    made = {}
    for number, group in enumerate(groups):
        files = made[group] = [file for file in saved.files if f"/{MARK}={number}/" in file.path]
        if (rows := sum(file.rows for file in files)) != group.rows:
            raise Failed(f"{rows} rows were written of files of {table.name} that have {group.rows}: nothing was changed")
        if strange := [file.partition_path for file in files if file.partition_path != group.partition]:
            raise Failed(f"rows of {table.name} in {group.partition} were written to {strange[0]}: nothing was changed")
    return made


def _is_free(tx: Transaction, table: Table, group: Group) -> bool:
    """Whether the files of a group are still in the table, and nobody is rewriting them."""
    row = tx.one(store.sql.count_live, table_id=table.table_id, paths=sorted(group.paths)) or {}
    return int(row["files"]) == len(group.paths) and not claims.holders(tx, table, group.paths)
