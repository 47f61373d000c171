"""Rows of the ledger become rows of a table in the lake, each once, without Spark: files that have them already are written again."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from lakeledger import codec, failpoints
from lakeledger.db import Row
from lakeledger.errors import Failed, Invalid
from lakeledger.lake import Storage
from lakeledger.maintenance.mirror.changes import keys_of, sql
from lakeledger.maintenance.mirror.layout import Declared
from lakeledger.names import TableName
from lakeledger.pipelines import Context
from lakeledger.pipelines.apply import Saved, Target, Write
from lakeledger.pipelines.streaming import files
from lakeledger.pipelines.streaming.columns import arrow_schema
from lakeledger.pipelines.write import Planned, find_target, fit, put_files
from lakeledger.runs import Counters, Fence
from lakeledger.sync import Advance
from lakeledger.tables import Change, Committed, Files, NewFile
from lakeledger.tables.schema import DAY_OF, Schema, column_names, stored, stored_names

if TYPE_CHECKING:
    import pyarrow as pa

# Files below this size are written together once a partition has so many of them: what is small stays few, without Spark.
SMALL_BYTES = 4_000_000
SMALL_FILES = 8


@dataclass(frozen=True)
class LiveFile:
    """A file of the table, with the first and the last of its keys."""

    path: str
    size: int
    partition: str
    low: str | None
    high: str | None

    def may_have(self, keys: Sequence[str]) -> bool:
        """Whether one of these keys, which are in order, may be in it."""
        if self.low is None or self.high is None:
            return True
        place = bisect_left(keys, self.low)
        return place < len(keys) and keys[place] <= self.high


def plan(live: Iterable[LiveFile], keys: Sequence[str], gaining: Iterable[str]) -> tuple[list[LiveFile], list[LiveFile]]:
    """Which files may have rows with these keys, and which others are so small that they are written together with the new ones.

    `gaining` are the partitions that get rows. Keys begin with the time, so that few files have some of both.
    """
    suspects, small = [], defaultdict[str, list[LiveFile]](list)
    for each in live:
        if each.may_have(keys):
            suspects.append(each)
        elif each.size < SMALL_BYTES:
            small[each.partition].append(each)
    return suspects, [each for partition in set(gaining) if len(small[partition]) >= SMALL_FILES for each in small[partition]]


@dataclass(frozen=True)
class Destination:
    """A table of the lake, as it is declared and as it is."""

    declared: Declared
    name: TableName
    target: Target

    @property
    def spec(self) -> Write:
        return _spec(self.declared, self.name, self.target.publishing)


def find(context: Context, declared: Declared, name: TableName, *, anew: bool = False) -> Destination:
    """The table as it is now, to be written into or, `anew`, to be replaced. Other engines see every commit, if any."""
    publishing = "sync" if context.ledger.settings.metadata != "off" else None
    spec = _spec(declared, name, publishing)
    target, _ = find_target(context, replace(spec, mode="overwrite") if anew else spec)
    return Destination(declared, name, target)


def _spec(declared: Declared, name: TableName, publishing: str | None) -> Write:
    by = declared.table.partition_by
    return Write(name, partition_by=by, sort_by=declared.order, evolve=True, metadata=publishing, is_ingestion=False)


def put(context: Context, fence: Fence, to: Destination, rows: Sequence[Row], move: Advance, *, replaces: bool = False) -> Committed:
    """Commit rows and the move: each row once, whatever the table has of it. Without rows the table is made, or its columns are.

    With `replaces` nothing else is left in the table. Raises Conflict (retryable) if somebody else was faster, Invalid or Failed.
    """
    given = to.declared.schema
    shape = fit(column_names(given), given, replace(to.spec, mode="overwrite") if replaces else to.spec, to.target)
    part = _Part(shape.schema, to)
    table, keys = part.table_of(rows), keys_of(rows, to.declared.table)
    storage = context.storage(to.target.location)
    touched, merged, known = ([], [], 0) if replaces else _touched(context, storage, to, part, table, keys)

    def save(_: Storage, folder: str) -> Saved:
        failpoints.reach(failpoints.BEFORE_WRITE)
        saved = Saved(list(part.save(storage, folder, table, [*touched, *merged], keys)))
        failpoints.reach(failpoints.AFTER_WRITE)
        return saved

    def changes(saved: Saved) -> Planned:
        gone = frozenset(each.path for each in (*touched, *merged))
        change = Change(
            table=to.name,
            location=to.target.location,
            operation="overwrite" if replaces else "merge" if gone else "append",
            schema=shape.schema,
            layout=to.target.layout,
            files=saved.files,
            retires="all" if replaces else Files(gone) if gone else None,
            base_version=to.target.base_version,
            evolve=True,
            counters=Counters(processed=len(rows), inserted=len(rows) - known, updated=known),
            summary={"mirrored": len(rows)},
            schema_version=to.target.metadata.schema_version if to.target.metadata else None,
            keys=(part.key,),
            sort_by=to.declared.order,
        )
        return Planned([change], [move])

    return put_files(context, fence, to.target, save, changes).tables[0]


def _touched(
    context: Context, storage: Storage, to: Destination, part: _Part, table: pa.Table, keys: Sequence[str]
) -> tuple[list[LiveFile], list[LiveFile], int]:
    """The files that have rows with these keys, those that are written together with the new ones, and how many keys there are already."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if to.target.table is None or not keys:
        return [], [], 0
    with context.store.read() as tx:
        found = tx.all(sql.live_files, table_id=to.target.table.table_id, column=part.key)
    live = [LiveFile(row["file_path"], row["file_size"], row["partition_path"], row["low"], row["high"]) for row in found]
    suspects, merged = plan(live, keys, part.partitions(table))
    wanted = pa.array(keys, pa.string())
    counts = [int(pc.sum(pc.is_in(read(storage, each.path, [part.key]).column(0), wanted)).as_py() or 0) for each in suspects]
    return [each for each, count in zip(suspects, counts, strict=True) if count], merged, sum(counts)


@dataclass(frozen=True)
class _Part:
    """The columns of the table's files, in their words."""

    schema: Schema
    to: Destination

    @property
    def key(self) -> str:
        """The key's name in the files."""
        return stored_names(self.schema, [self.to.declared.table.key])[0]

    @property
    def arrow(self) -> pa.Schema:
        return arrow_schema(stored(self.schema))

    def table_of(self, rows: Sequence[Row]) -> pa.Table:
        """Rows of the ledger as the files have them."""
        import pyarrow as pa
        import pyarrow.compute as pc

        given, columns = {codec.fold(each["name"]): each for each in self.schema["fields"]}, []
        day_of = self.to.declared.table.day_of
        arrow = {each.name: each.type for each in self.arrow}
        for folded, field in given.items():
            type_ = arrow[field["physical_name"]]
            if folded.startswith(DAY_OF) and day_of:
                times = _column([row.get(day_of) for row in rows], pa.timestamp("us", "UTC"), day_of)
                columns.append(pc.cast(pc.floor_temporal(times, unit="day"), pa.date32()))
            else:
                columns.append(_column([row.get(field["name"]) for row in rows], type_, field["name"]))
        return pa.table(columns, schema=self.arrow)

    def partitions(self, table: pa.Table) -> list[str]:
        """The partitions that rows belong to, as their files name them."""
        return [path for path, _ in self._by_partition(table)]

    def save(self, storage: Storage, folder: str, table: pa.Table, touched: Sequence[LiveFile], keys: Sequence[str]) -> Iterator[NewFile]:
        """Write the rows, and of the touched files those that they do not replace, one partition at a time."""
        import pyarrow as pa

        wanted, gained = pa.array(keys, pa.string()), dict(self._by_partition(table))
        for partition in {**gained, **{each.partition: None for each in touched}}:
            parts = [gained[partition]] if partition in gained else []
            parts += [self._left(storage, each.path, wanted) for each in touched if each.partition == partition]
            whole = pa.concat_tables(parts)
            if order := stored_names(self.schema, self.to.declared.order):
                whole = whole.sort_by([(name, "ascending") for name in order])
            part = files.Part(whole, self.schema, self.to.target.layout.partition_by, (self.key,))
            yield from files.save(storage, folder, part)

    def _by_partition(self, table: pa.Table) -> Iterator[tuple[str, pa.Table]]:
        return files.by_partition(table, stored_names(self.schema, self.to.target.layout.partition_by))

    def _left(self, storage: Storage, path: str, keys: pa.Array) -> pa.Table:
        """The rows of a file that have none of the keys, with the columns that the table has now."""
        import pyarrow as pa
        import pyarrow.compute as pc

        found = read(storage, path)
        kept = found.filter(pc.invert(pc.is_in(found.column(self.key), keys)))
        there: Mapping[str, Any] = {name: kept.column(name) for name in kept.column_names}
        columns = [there[each.name].cast(each.type) if each.name in there else pa.nulls(len(kept), each.type) for each in self.arrow]
        return pa.table(columns, schema=self.arrow)


def read(storage: Storage, path: str, columns: Sequence[str] | None = None) -> pa.Table:
    """A file of a table. Raises Failed if it is gone."""
    from pyarrow import parquet

    try:
        with storage.reading(path), storage.filesystem.open_input_file(storage.inner(path)) as stream:
            return parquet.ParquetFile(stream).read(list(columns) if columns else None)
    except FileNotFoundError as error:
        raise Failed(f"{storage.root}/{path} is gone: `lakeledger tables verify` names what a table has lost") from error


def _column(values: list[Any], type_: pa.DataType, name: str) -> pa.Array:
    """Values of the ledger with the type that the lake has for them. Raises Invalid."""
    import pyarrow as pa

    try:
        return pa.array(values, type_)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        try:
            return pa.array(values).cast(type_)
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
            raise Invalid(f"column {name} cannot be {type_} in the lake: declare another type for it ({error})") from error
