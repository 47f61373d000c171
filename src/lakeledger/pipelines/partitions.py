"""Partition folders that can be told apart whatever the values are, written from copies so that the columns stay in the files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lakeledger import codec
from lakeledger.errors import Invalid

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def quote(name: str) -> str:
    """A column name as Spark SQL reads it, whatever is in it."""
    return "`" + name.replace("`", "``") + "`"


def with_copies(frame: DataFrame, partition_by: Sequence[str]) -> tuple[DataFrame, list[str]]:
    """The frame with a copy of each partition column to make folders from, and the copies' names. Raises Invalid."""
    columns = {codec.fold(name): name for name in frame.columns}
    if missing := [name for name in partition_by if codec.fold(name) not in columns]:
        raise Invalid(f"cannot partition by {', '.join(missing)}: the data has {', '.join(frame.columns)}")
    copies = [_free_name(f"by_{name}", columns) for name in partition_by]
    for name, copy in zip(partition_by, copies, strict=True):
        frame = frame.withColumn(copy, _folder_value(columns[codec.fold(name)]))
    return frame, copies


def partition_path(path: str, partition_by: Sequence[str]) -> str:
    """`day=2026-01-01/region=EU` for a file written below the copies' folders; '' for an unpartitioned table."""
    folders = [part for part in path.split("/")[:-1] if "=" in part][-len(partition_by) :] if partition_by else []
    return "/".join(f"{name}={folder.partition('=')[2]}" for name, folder in zip(partition_by, folders, strict=True))


def _folder_value(name: str) -> Column:
    # Spark writes '' and NULL into the same folder. An underscore in front tells '' and whatever begins with one apart.
    from pyspark.sql import functions as F

    text = F.col(quote(name)).cast("string")
    return F.when((text == "") | text.startswith("_"), F.concat(F.lit("_"), text)).otherwise(text)


def _free_name(wanted: str, taken: dict[str, str]) -> str:
    while codec.fold(wanted) in taken:
        wanted = f"{wanted}_"
    return wanted
