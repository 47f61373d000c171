"""Changes on their way from a server to Spark: decoded and kept as Parquet, one file for each shape that the table had."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lakeledger.lake import Storage
from lakeledger.pipelines.read import OPTIONS, literal
from lakeledger.pipelines.sources import changes, pgoutput
from lakeledger.pipelines.sources.pgoutput import UNCHANGED, Column, Decoder, Relation, Row
from lakeledger.pipelines.sources.pgoutput_types import arrow_type, parser
from lakeledger.pipelines.sources.replication_server import split

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow import parquet
    from pyspark.sql import DataFrame, SparkSession

ROWS_AT_ONCE = 20_000


class Stage:
    """A folder that changes are written into. Rows of one relation, as it was then, are in one file."""

    def __init__(self, storage: Storage, folder: str) -> None:
        self.folder = folder
        self.rows = 0
        self.end_lsn = 0
        self.shapes: dict[tuple[Column, ...], _Shape] = {}
        self._storage = storage
        self._decoder = Decoder()
        self._commit_lsn = 0
        self._place = 0

    def add_copied(self, relation: Relation, row: Row, lsn: int) -> None:
        """Keep a row of the table as it was when the slot began."""
        self._add(relation, changes.READ, row, [lsn, 0])

    def add_message(self, data: bytes, table: str, keys: frozenset[str], begin: int) -> None:
        """Keep the changes of the table that a message brings. Transactions that were committed before `begin` are known."""
        match self._decoder.read(data):
            case pgoutput.Begin() as found:
                self._commit_lsn, self._place = found.commit_lsn, 0
            case pgoutput.Commit() as found:
                self.end_lsn = found.end_lsn
            case pgoutput.Truncate() as found if self._commit_lsn >= begin:
                for relation in found.relations:
                    if _is(relation, table):
                        self._change(relation, changes.TRUNCATE, (None,) * len(relation.columns))
            case pgoutput.Insert() | pgoutput.Update() | pgoutput.Delete() as found if self._commit_lsn >= begin and _is(
                found.relation, table
            ):
                self._add_change(found, keys)

    def finish(self, relation: Relation) -> None:
        """Write what is left; without any row, a file that has only the table's columns."""
        if not self.shapes:
            self._shape(relation)
        for shape in self.shapes.values():
            shape.close()

    def _add_change(self, found: pgoutput.Insert | pgoutput.Update | pgoutput.Delete, keys: frozenset[str]) -> None:
        match found:
            case pgoutput.Insert():
                self._change(found.relation, changes.INSERT, found.new)
            case pgoutput.Delete():
                self._change(found.relation, changes.DELETE, found.old)
            case pgoutput.Update() if pgoutput.key_changed(found, keys):
                self._change(found.relation, changes.DELETE, found.old or ())
                self._change(found.relation, changes.INSERT, pgoutput.with_old_values(found))
            case pgoutput.Update():
                self._change(found.relation, changes.UPDATE, pgoutput.with_old_values(found))

    def _change(self, relation: Relation, change: str, row: Row) -> None:
        self._place += 1
        self._add(relation, change, row, [self._commit_lsn, self._place])

    def _add(self, relation: Relation, change: str, row: Row, sequence: list[int]) -> None:
        self._shape(relation).add(change, row, sequence)
        self.rows += 1

    def _shape(self, relation: Relation) -> _Shape:
        # Whether a column is part of the key changes no row.
        columns = tuple(Column(column.name, column.type_oid, column.type_modifier) for column in relation.columns)
        if columns not in self.shapes:
            self.shapes[columns] = _Shape(columns, self._storage, f"{self.folder}/{len(self.shapes)}.parquet")
        return self.shapes[columns]


def read_staged(spark: SparkSession, storage: Storage, stage: Stage) -> DataFrame:
    """The staged changes. A column that an update did not have, because it came or went, is one that it does not carry."""
    from pyspark.sql import functions as F

    names = list(dict.fromkeys(column.name for shape in stage.shapes.values() for column in shape.columns))
    frames = []
    for shape in stage.shapes.values():
        frame = spark.read.options(**OPTIONS).parquet(literal(f"{storage.root}/{shape.path}"))
        if lacking := [name for name in names if name not in shape.names]:
            more = F.concat(F.coalesce(changes.UNSET, F.lit([]).cast("array<string>")), F.lit(lacking))
            frame = frame.withColumns(
                {changes.UNSET: F.when(F.col(changes.CHANGE_TYPE) == changes.UPDATE, more).otherwise(F.col(changes.UNSET))}
            )
        frames.append(frame)
    whole = frames[0]
    for frame in frames[1:]:
        whole = whole.unionByName(frame, allowMissingColumns=True)
    return whole.select(*(F.col(f"`{name}`") for name in names), *changes.COLUMNS)


@dataclass
class _Shape:
    """The rows of the table while it had these columns."""

    columns: tuple[Column, ...]
    storage: Storage
    path: str
    waiting: list[list[Any]] = field(default_factory=list)
    writer: parquet.ParquetWriter | None = None

    def __post_init__(self) -> None:
        import pyarrow as pa

        self.names = [column.name for column in self.columns]
        self.parsers: list[Callable[[str], Any]] = [parser(column.type_oid, column.type_modifier) for column in self.columns]
        self.types = [arrow_type(column.type_oid, column.type_modifier) for column in self.columns]
        texts = pa.list_(pa.string())
        beside = {
            changes.CHANGE_TYPE: pa.string(),
            changes.SEQUENCE: pa.list_(pa.int64()),
            changes.UNSET: texts,
            changes.RAW: pa.string(),
            changes.PROBLEMS: texts,
        }
        self.schema: pa.Schema = pa.schema([*zip(self.names, self.types, strict=True), *beside.items()])

    def add(self, change: str, row: Row, sequence: list[int]) -> None:
        values: list[Any] = []
        unset: list[str] = []
        problems: list[str] = []
        for name, read, type_, value in zip(self.names, self.parsers, self.types, row, strict=True):
            known = None
            if value is UNCHANGED:
                unset.append(name)
            elif value is not None:
                try:
                    known = read(value)
                except (ValueError, ArithmeticError):
                    problems.append(f"{name}: {value[:60]} is no {type_}")
            values.append(known)
        if unset and change == changes.INSERT:
            problems += [f"{name}: {changes.NOT_SENT}" for name in unset]
        if problems:
            raw = json.dumps(
                {name: value for name, value in zip(self.names, row, strict=True) if value is not UNCHANGED}, ensure_ascii=False
            )
            self.waiting.append([*([None] * len(values)), None, None, None, raw, problems])
        else:
            self.waiting.append([*values, change, sequence, unset or None, None, None])
        if len(self.waiting) >= ROWS_AT_ONCE:
            self._write()

    def close(self) -> None:
        self._write()
        if self.writer:
            self.writer.close()

    def _write(self) -> None:
        import pyarrow as pa
        from pyarrow import parquet

        if self.writer is None:
            self.writer = parquet.ParquetWriter(self.storage.inner(self.path), self.schema, filesystem=self.storage.filesystem)
        by_column = list(zip(*self.waiting, strict=True)) or [()] * len(self.schema)
        arrays = [pa.array(values, field.type) for values, field in zip(by_column, self.schema, strict=True)]
        self.writer.write_table(pa.table(arrays, schema=self.schema))
        self.waiting = []


def _is(relation: Relation, table: str) -> bool:
    return (relation.schema, relation.name) == split(table)
