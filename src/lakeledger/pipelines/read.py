"""A table at a version as a DataFrame: exactly that version's files, with that version's schema."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING

from lakeledger.errors import Failed
from lakeledger.lake import Storage, open_format
from lakeledger.locations import for_spark, scheme_of
from lakeledger.pipelines.own_session import listing_quickly
from lakeledger.pipelines.partitions import quote
from lakeledger.pipelines.save import JSON_OPTIONS, Shape
from lakeledger.pipelines.translating import not_shared
from lakeledger.tables import Layout, NewFile, View
from lakeledger.tables.schema import shown, stored

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# Whatever the session says: no file is left out, and old dates are what they were when they were written.
OPTIONS = {"ignoreCorruptFiles": "false", "ignoreMissingFiles": "false", "datetimeRebaseMode": "CORRECTED", "int96RebaseMode": "CORRECTED"}


# Up to here Spark looks at the files without a job.
LISTED_BY_THE_DRIVER = 32


def read(spark: SparkSession, view: View) -> DataFrame:
    """The rows of a table at the view's version. Raises Failed if one of its files is gone, Invalid if only Spark does not see it."""
    from pyspark.sql.types import StructType

    if not view.file_paths:
        return spark.createDataFrame([], StructType.fromJson(shown(view.schema)))
    return _named(read_stored(spark, view), view)


def read_stored(spark: SparkSession, view: View) -> DataFrame:
    """The rows of a view's files, of which there is one at least, with all columns under their physical names. Raises as `read`."""
    from pyspark.errors import AnalysisException
    from pyspark.sql.types import StructType

    format_ = open_format(view.layout.format)
    reader = spark.read.format(format_.spark_name).schema(StructType.fromJson(stored(view.schema))).options(**OPTIONS)
    if format_.spark_name == "json":
        reader = reader.options(mode="FAILFAST", **JSON_OPTIONS)
    try:
        on_disk = scheme_of(view.table.location) == "file"
        with listing_quickly(spark, on_disk=on_disk) if len(view.file_paths) > LISTED_BY_THE_DRIVER else nullcontext():
            return reader.load([literal(path) for path in view.paths])
    except AnalysisException as error:
        if error.getCondition() != "PATH_NOT_FOUND":
            raise
        if unseen := not_shared(error):
            raise unseen from error
        gone = str(error).partition("\n")[0].partition(": ")[2].partition(" SQLSTATE")[0].rstrip(".")
        name = view.table.name
        raise Failed(f"{name} has lost a file of version {view.version}: {gone}; `lakeledger tables verify {name}` names all") from error


def read_files(storage: Storage, spark: SparkSession, layout: Layout, shape: Shape, files: Sequence[NewFile]) -> DataFrame | None:
    """The table's rows of files that were just written, which nobody sees yet; None if there are none."""
    from pyspark.sql import functions as F
    from pyspark.sql.types import StructType

    if not files:
        return None
    format_ = open_format(layout.format)
    reader = spark.read.format(format_.spark_name).schema(StructType.fromJson(shape.stored)).options(**OPTIONS)
    if format_.spark_name == "json":
        reader = reader.options(mode="FAILFAST", **JSON_OPTIONS)
    frame = reader.load([literal(f"{storage.root}/{file.path}") for file in files])
    return frame.select(*(F.col(quote(physical)).alias(name) for name, physical in shape.columns.items()))


def _named(frame: DataFrame, view: View) -> DataFrame:
    """The columns under the names that they have at the view's version, without those that are hidden."""
    from pyspark.sql import functions as F

    fields = shown(view.schema)["fields"]
    if len(fields) == len(view.schema["fields"]) and all(field["name"] == field["physical_name"] for field in fields):
        return frame
    return frame.select(*(F.col(quote(field["physical_name"])).alias(field["name"]) for field in fields))


def literal(path: str) -> str:
    """A path as Spark reads it: by its own scheme, and with `[`, `{`, `*` and `?` that are no wildcards."""
    return re.sub(r"([\\*?\[\]{}])", r"\\\1", for_spark(path))
