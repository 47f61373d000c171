"""Partition folders that can be told apart whatever the values are, written from copies so that the columns stay in the files."""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from typing import TYPE_CHECKING, Any

from lakeledger import codec
from lakeledger.errors import Invalid
from lakeledger.tables.schema import Schema, type_text

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def quote(name: str) -> str:
    """A column name as Spark SQL reads it, whatever is in it."""
    return "`" + name.replace("`", "``") + "`"


def by_partitions(frame: DataFrame, schema: Schema, partition_by: Sequence[str], *, together: bool = True) -> tuple[DataFrame, list[str]]:
    """The frame with a copy of each partition column to make folders from, and the copies' names. Raises Invalid.

    Its rows are brought `together` by partition, or each task would write a file into each folder. A partition that is big is still
    written by several tasks, if Spark's adaptive execution is on.
    """
    from pyspark.sql import functions as F

    fields = {codec.fold(field["name"]): (field["name"], field["type"]) for field in schema["fields"]}
    copies = [_free_name(f"by_{name}", fields) for name in partition_by]
    for name, copy in zip(partition_by, copies, strict=True):
        frame = frame.withColumn(copy, _folder_value(*fields[codec.fold(name)]))
    return brought_together(frame, [F.col(quote(copy)) for copy in copies]) if copies and together else frame, copies


def partition_path(path: str, partition_by: Sequence[str]) -> str:
    """`day=2026-01-01/region=EU` for a file written below the copies' folders; '' for an unpartitioned table."""
    folders = [part for part in path.split("/")[:-1] if "=" in part][-len(partition_by) :] if partition_by else []
    return "/".join(f"{name}={folder.partition('=')[2]}" for name, folder in zip(partition_by, folders, strict=True))


def brought_together(frame: DataFrame, by: list[Column]) -> DataFrame:
    """The frame with the rows of each value in one task, or in several if they are many."""
    is_adaptive = str(frame.sparkSession.conf.get("spark.sql.adaptive.enabled")).lower() == "true"
    return frame.hint("rebalance", *by) if is_adaptive else frame.repartition(*by)  # without, Spark ignores the hint


def _folder_value(name: str, type_: Any) -> Column:
    # Spark writes '' and NULL into the same folder. An underscore in front tells '' and whatever begins with one apart.
    from pyspark.sql import functions as F

    text = _text(name, type_)
    return F.when((text == "") | text.startswith("_"), F.concat(F.lit("_"), text)).otherwise(text)


def _text(name: str, type_: Any) -> Column:
    """One text for each value, whatever the session's time zone or ANSI mode. Raises Invalid for a column that has none."""
    from pyspark.sql import functions as F

    column = F.col(quote(name))
    if not isinstance(type_, str) or type_ == "variant":
        raise Invalid(f"cannot partition by {name}, a {type_text(type_)}: partition by columns of plain values")
    if type_ == "timestamp":
        return F.timestamp_add("MICROSECOND", F.unix_micros(column), F.expr("timestamp_ntz'1970-01-01'")).cast("string")
    if type_ in ("float", "double"):
        return F.when(column == 0, F.lit(0).cast(type_)).otherwise(column).cast("string")  # 0.0 and -0.0 are the same value
    if decimal := re.fullmatch(r"decimal\(\d+,(\d+)\)", type_):
        return F.call_function("format_number", column, F.lit("0" + f".{'0' * int(decimal[1])}".rstrip(".")))
    return F.hex(column) if type_ == "binary" else column.cast("string")


def _free_name(wanted: str, taken: Container[str]) -> str:
    while codec.fold(wanted) in taken:
        wanted = f"{wanted}_"
    return wanted
