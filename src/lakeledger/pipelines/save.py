"""Rows become files that nobody sees: Spark writes them in one pass, and what each file says of itself is read."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from lakeledger import failpoints
from lakeledger.errors import Failed
from lakeledger.lake import FileFormat, Storage, StoredFile, open_format
from lakeledger.pipelines import Context, observe
from lakeledger.pipelines.apply import Saved
from lakeledger.pipelines.own_session import moved
from lakeledger.pipelines.partitions import by_partitions, partition_path
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


def save(
    context: Context, frame: DataFrame, schema: Schema, layout: Layout, measures: Mapping[str, Column], storage: Storage, folder: str
) -> Saved:
    """Write the frame, which has its columns under their physical names. Raises Failed if the files do not hold what was sent."""
    from pyspark.sql import Observation

    format_, seen, columns = open_format(layout.format), Observation(), stored(schema)
    partition_by = stored_names(schema, layout.partition_by)
    failpoints.reach(failpoints.BEFORE_WRITE)
    writer_session = context.sessions.to_write(frame.sparkSession, schema) if format_.spark_name == "parquet" else frame.sparkSession
    with moved(frame, writer_session) as placed:
        spread, copies = by_partitions(placed, columns, partition_by)
        wanted = observe.aggregates(columns, measures, with_bounds=format_.needs_observed_bounds)
        watched = spread.observe(seen, *wanted)
        failpoints.reach(failpoints.MID_WRITE, storage.inner(folder))
        writer = watched.write.format(format_.spark_name).options(**WRITE_OPTIONS)
        writer = writer.options(**JSON_OPTIONS) if format_.spark_name == "json" else writer
        (writer.partitionBy(*copies) if copies else writer).save(f"{storage.root}/{folder}")
    failpoints.reach(failpoints.AFTER_WRITE)
    found = dict(seen.get)
    files = _inspect(storage, folder, format_, partition_by, found, columns)
    return Saved(files, observe.measured(found, measures))


def _inspect(
    storage: Storage, folder: str, format_: FileFormat, partition_by: list[str], seen: dict[str, Any], schema: Schema
) -> list[NewFile]:
    """The files that were written, each with what it says of itself. Raises Failed if they do not hold what was sent."""
    bounds = observe.bounds(seen, schema)

    def inspect(file: StoredFile) -> NewFile:
        facts = format_.inspect(storage, file.path, bounds)
        where = partition_path(file.path, partition_by)
        return NewFile(file.path, file.size, facts.rows, where, facts.compression, facts.bounds, file.modified_at)

    written = [file for file in storage.files(folder) if not file.is_bookkeeping]
    with ThreadPoolExecutor(PARALLEL_FOOTERS, thread_name_prefix="footers") as pool:
        files = list(pool.map(inspect, written))
    if (found := sum(file.rows for file in files)) != seen["rows"]:
        raise Failed(f"{storage.root}/{folder} holds {found} rows, but {seen['rows']} were written: storage lost files, run it again")
    for empty in (file for file in files if not file.rows):
        storage.remove(empty.path)
    return [file for file in files if file.rows]
