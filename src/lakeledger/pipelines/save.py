"""Rows become files that nobody sees: Spark writes them in one pass, and what each file says of itself is read."""

from __future__ import annotations

from collections.abc import Container, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from lakeledger import failpoints
from lakeledger.lake import Bounds, FileFormat, Storage, StoredFile, open_format
from lakeledger.locations import for_spark
from lakeledger.pipelines import Context, observe
from lakeledger.pipelines.apply import Saved
from lakeledger.pipelines.aside import MARK, Other, split
from lakeledger.pipelines.cluster import lost_rows
from lakeledger.pipelines.own_session import moved
from lakeledger.pipelines.partitions import by_partitions, partition_path, quote
from lakeledger.tables import Layout, NewFile
from lakeledger.tables.schema import Schema, stored, stored_names

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

PARALLEL_FOOTERS = 8
# The registry decides what is visible: tasks put their files where they stay, and no job moves them once more.
WRITE_OPTIONS = {
    "mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
    "mapreduce.fileoutputcommitter.algorithm.version": "2",
}
# JSON has no timestamps: without these Spark would cut them to milliseconds, and old ones to whole minutes of their zone.
# It would also keep a column of the usual name for itself, to put lines into that it cannot read.
JSON_OPTIONS = {
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
    "timeZone": "UTC",
    "columnNameOfCorruptRecord": "_lakeledger_no_such_column",
}


@dataclass(frozen=True)
class Shape:
    """What rows are to look like in files: the table's schema, the physical name of each column of the frame, and the other tables.

    `keys` are physical names of columns whose bounds are kept, however many there are. `folders` are further columns of the frame, which
    no file has: rows with other values of them are in other folders. `order` are physical names of columns by which each file is sorted.
    """

    schema: Schema
    columns: dict[str, str]
    others: tuple[Other, ...] = ()
    keys: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()
    order: tuple[str, ...] = ()

    @property
    def stored(self) -> Schema:
        """The schema of the files."""
        return stored({"fields": [*self.schema["fields"], *(field for other in self.others for field in other.fields)]})

    def beside(self, own: Other | None = None) -> tuple[dict[str, Any], ...]:
        """The columns that files of one of the tables have beside its own."""
        tables = [(None, self.schema["fields"]), *((other, other.fields) for other in self.others)]
        return tuple(field for table, fields in tables if table is not own for field in fields) if self.others else ()

    def give(self, frame: DataFrame) -> DataFrame:
        """The frame in this shape."""
        from pyspark.sql import functions as F

        if self.others:
            return split(frame, self.columns, self.others)
        if list(self.columns.values()) == frame.columns:
            return frame
        return frame.select(*(F.col(quote(name)).alias(physical) for name, physical in self.columns.items()), *self.folders)


def save(
    context: Context,
    frame: DataFrame,
    shape: Shape,
    layout: Layout,
    measures: Mapping[str, Column],
    storage: Storage,
    folder: str,
    *,
    placed: bool = False,
) -> Saved:
    """Write the frame in that shape, in one pass. Raises Failed if the files do not hold what was sent, Invalid if they are elsewhere.

    Rows that are `placed` are written by the tasks that they are in.
    """
    from pyspark.sql import Observation

    format_, seen, measured, columns = open_format(layout.format), Observation(), Observation(), shape.stored
    partition_by = stored_names(shape.schema, layout.partition_by)
    bounded = observe.bounded(columns, {*partition_by, *shape.keys})
    failpoints.reach(failpoints.BEFORE_WRITE)
    writer_session = context.sessions.to_write(frame.sparkSession, columns) if format_.spark_name == "parquet" else frame.sparkSession
    with moved(frame, writer_session) as here:
        types = observe.types(here, measures)
        given = here.observe(measured, *observe.measures(measures, types)) if measures else here
        spread, copies = by_partitions(shape.give(given), columns, partition_by, together=not placed)
        copies = [*([MARK] if shape.others else []), *shape.folders, *copies]
        spread = spread.sortWithinPartitions(*map(quote, (*copies, *shape.order))) if shape.order else spread
        watched = spread.observe(seen, *observe.aggregates(columns, bounded if format_.needs_observed_bounds else ()))
        failpoints.reach(failpoints.MID_WRITE, storage.inner(folder))
        writer = watched.write.format(format_.spark_name).options(**WRITE_OPTIONS)
        writer = writer.options(**JSON_OPTIONS) if format_.spark_name == "json" else writer
        (writer.partitionBy(*copies) if copies else writer).save(for_spark(f"{storage.root}/{folder}"))
    failpoints.reach(failpoints.AFTER_WRITE)
    found = dict(seen.get)
    files = _inspect(storage, folder, format_, partition_by, observe.bounds(found, columns), bounded)
    if (rows := sum(file.rows for file in files)) != found["rows"]:
        raise lost_rows(frame.sparkSession, f"{storage.root}/{folder}", rows, found["rows"])
    files = _without_empty(storage, files)
    saved = Saved(files, observe.measured(dict(measured.get), types, found["rows"]) if measures else {})
    return _apart(saved, shape) if shape.others else saved


def _apart(saved: Saved, shape: Shape) -> Saved:
    """The files of the table and of what was set aside, each with the bounds of its own columns."""

    def own(number: int, fields: list[dict[str, Any]], **more: Any) -> list[NewFile]:
        names = {field["physical_name"] for field in fields}
        return [
            replace(file, bounds={name: bounds for name, bounds in file.bounds.items() if name in names}, **more)
            for file in saved.files
            if f"/{MARK}={number}/" in file.path
        ]

    asides = tuple(Saved(own(other.number, other.fields, partition_path="")) for other in shape.others)
    return Saved(own(0, shape.schema["fields"]), saved.measured, asides)


def _inspect(
    storage: Storage,
    folder: str,
    format_: FileFormat,
    partition_by: list[str],
    bounds: Bounds,
    bounded: Container[str],
) -> list[NewFile]:
    """The files that were written, each with what it says of itself."""

    def inspect(file: StoredFile) -> NewFile:
        facts = format_.inspect(storage, file.path, bounds, bounded)
        where = partition_path(file.path, partition_by)
        return NewFile(file.path, file.size, facts.rows, where, facts.compression, facts.bounds, file.modified_at)

    written = [file for file in storage.files(folder) if not file.is_bookkeeping]
    with ThreadPoolExecutor(PARALLEL_FOOTERS, thread_name_prefix="footers") as pool:
        return list(pool.map(inspect, written))


def _without_empty(storage: Storage, files: list[NewFile]) -> list[NewFile]:
    for empty in (file for file in files if not file.rows):
        storage.remove(empty.path)
    return [file for file in files if file.rows]
