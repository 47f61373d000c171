"""A table at a version as a DataFrame: exactly that version's files, with that version's schema."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakeledger.lake import open_format
from lakeledger.pipelines.write import JSON_OPTIONS
from lakeledger.tables import View

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def read(spark: SparkSession, view: View) -> DataFrame:
    """The rows of a table at the view's version."""
    from pyspark.sql.types import StructType

    schema = StructType.fromJson(view.schema)
    if not view.files:
        return spark.createDataFrame([], schema)
    format_ = open_format(view.layout.format)
    reader = spark.read.format(format_.spark_name).schema(schema)
    if format_.spark_name == "json":
        reader = reader.options(mode="FAILFAST", **JSON_OPTIONS)
    return reader.load(view.paths)
