"""The table's side of a match: its files with what the ledger knows of them, and the rows of those that are worth reading."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lakeledger.errors import Conflict, Failed
from lakeledger.locations import from_spark
from lakeledger.names import TableName
from lakeledger.pipelines import Context
from lakeledger.pipelines.apply import Given, Read
from lakeledger.pipelines.apply.batch import Batch, Columns
from lakeledger.pipelines.apply.pruning import Picture, Range, whole_range
from lakeledger.pipelines.partitions import quote
from lakeledger.pipelines.read import read_stored
from lakeledger.tables import DataFile, Layout, Table, View, store
from lakeledger.tables.model import Keys, Part
from lakeledger.tables.schema import Schema

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession


@dataclass(frozen=True)
class Known:
    """A table as it is, with its files; without one if it is not there yet."""

    table: Table | None
    schema: Schema
    layout: Layout
    files: list[DataFile]

    @property
    def version(self) -> int:
        return self.table.current_version if self.table else 0

    def whole(self, columns: Columns) -> dict[int, Range]:
        """Where the keys lie in all files, for those whose place in it can be told."""
        found = {
            place: whole_range((file.column_bounds.get(columns.physical[place], {}) for file in self.files), columns.types[place])
            for place in columns.keys
        }
        return {place: each for place, each in found.items() if each is not None}

    def rows(self, session: SparkSession, files: Sequence[DataFile]) -> DataFrame:
        """The rows of some of the files, under their physical names."""
        if self.table is None or not files:
            raise AssertionError("no files are read without Spark")
        return read_stored(session, View(self.table, self.version, self.schema, self.layout, [file.file_path for file in files]))

    def find(self, hits: Iterable[str]) -> dict[str, DataFile]:
        """The files that Spark names, by those names. Raises Failed if one is not a file of the table."""
        known = {f"{self.table.location if self.table else ''}/{file.file_path}": file for file in self.files}
        found = {hit: known.get(from_spark(hit)) for hit in hits}
        if strange := [hit for hit, file in found.items() if file is None]:
            raise Failed(f"rows were found in {strange[0]}, which is no file of {self.table.name if self.table else 'the table'}")
        return {hit: file for hit, file in found.items() if file is not None}


def look(context: Context, given: Given) -> Known:
    """The table that is written, with the schema that it will have. Raises Conflict if it moved since the write was planned."""
    found = _find(context, given.spec.table, given.shape.schema, given.target.layout)
    if found.version != given.target.base_version:
        raise Conflict(f"{given.spec.table} moved while a write was planned: retry", retryable=True)
    return found


def look_at(context: Context, name: TableName) -> Known | None:
    """A table beside it, as it is, or None."""
    with context.store.read() as tx:
        table = store.find(tx, name)
        known = store.metadata(tx, table) if table else None
    return _find(context, name, known.schema, store.layout_of(known)) if known else None


def _find(context: Context, name: TableName, schema: Schema, layout: Layout) -> Known:
    with context.store.read() as tx:
        table = store.find(tx, name)
        files = store.files_at(tx, table, table.current_version) if table else []
    return Known(table.placed(context.warehouse) if table else None, schema, layout, list(files))


def candidates(
    files: Sequence[DataFile], batch: Batch, whole: Mapping[int, Range], named: Mapping[int, str] | None = None
) -> list[DataFile]:
    """The files that may have rows of the batch's keys, which are called so there."""
    columns = batch.columns
    names = named or {place: columns.physical[place] for place in columns.keys}
    pictures = [Picture(names[place], columns.types[place], batch.ranges[place], whole.get(place)) for place in columns.keys]
    return [file for file in files if all(picture.may_be_in(file.column_bounds) for picture in pictures)]


def part(batch: Batch, files: Sequence[DataFile], named: Mapping[int, str] | None = None) -> Part | None:
    """The part of a table that depends on the batch's keys: by the column that leaves the fewest files; all of it if none tells."""
    if not batch.keys:
        return None
    columns = batch.columns
    names = named or {place: columns.physical[place] for place in columns.keys}
    parts: list[Keys] = [each for place in columns.keys if (each := batch.ranges[place].of(names[place]))]
    if not parts:
        return "all"
    return min(parts, key=lambda each: sum(each.may_be_in(file.column_bounds.get(each.column, {})) for file in files))


def as_table(rows: DataFrame, columns: Columns, places: Iterable[int], *more: Column) -> DataFrame:
    """Rows of the table under the names that they have here, `t0` …, and `t_there`."""
    from pyspark.sql import functions as F

    return rows.select(*(F.col(quote(columns.physical[place])).alias(f"t{place}") for place in places), F.lit(True).alias("t_there"), *more)


def on_keys(columns: Columns) -> Column:
    """That both rows have the same keys."""
    from pyspark.sql import functions as F

    found = F.lit(True)
    for number, place in enumerate(columns.keys):
        equal = F.col(f"t{place}") == F.col(f"b{place}")
        found = equal if number == 0 else found & equal
    return found


def beside(name: TableName, known: Known | None, part: Part | None) -> tuple[Read, ...]:
    """That rows depend on a part of another table."""
    return (Read(name, part, known.version if known else 0),) if part is not None else ()
