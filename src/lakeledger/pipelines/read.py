"""A table at a version as a DataFrame: exactly that version's files, with that version's schema."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lakeledger.errors import Failed
from lakeledger.lake import open_format
from lakeledger.pipelines.write import JSON_OPTIONS
from lakeledger.tables import View

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# Whatever the session says: no file is left out, and old dates are what they were when they were written.
OPTIONS = {"ignoreCorruptFiles": "false", "ignoreMissingFiles": "false", "datetimeRebaseMode": "CORRECTED", "int96RebaseMode": "CORRECTED"}


def read(spark: SparkSession, view: View) -> DataFrame:
    """The rows of a table at the view's version. Raises Failed if one of its files is gone."""
    from pyspark.errors import AnalysisException
    from pyspark.sql.types import StructType

    schema = StructType.fromJson(view.schema)
    if not view.files:
        return spark.createDataFrame([], schema)
    format_ = open_format(view.layout.format)
    reader = spark.read.format(format_.spark_name).schema(schema).options(**OPTIONS)
    if format_.spark_name == "json":
        reader = reader.options(mode="FAILFAST", **JSON_OPTIONS)
    try:
        return reader.load([literal(path) for path in view.paths])
    except AnalysisException as error:
        if error.getCondition() != "PATH_NOT_FOUND":
            raise
        gone = str(error).partition("\n")[0].partition(": ")[2].partition(" SQLSTATE")[0].rstrip(".")
        name = view.table.name
        raise Failed(f"{name} has lost a file of version {view.version}: {gone}; `lakeledger tables verify {name}` names all") from error


def literal(path: str) -> str:
    """A path that Spark takes as it is: it reads `[`, `{`, `*` and `?` as wildcards."""
    return re.sub(r"([\\*?\[\]{}])", r"\\\1", path)
