"""Rows that say nothing of some columns: of each column the newest value that a row carries counts, in whatever order rows come."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from lakeledger.pipelines.apply.values import comparable, is_orderable

if TYPE_CHECKING:
    from pyspark.sql import Column


class HasColumns(Protocol):
    """What is to be known of the columns."""

    @property
    def values(self) -> list[int]: ...
    @property
    def types(self) -> list[Any]: ...
    @property
    def physical(self) -> list[str]: ...


def newest(columns: HasColumns) -> list[Column]:
    """What is left of the rows of one key: of each column the newest value with its sequence, as `p0`, `p1` …, and the last delete."""
    from pyspark.sql import functions as F

    sequence, is_delete, is_row = F.col("b_sequence"), F.col("b_kind") == "d", F.col("b_kind") == "u"
    last_delete = F.max(F.when(is_delete, sequence))
    made = [F.coalesce(F.max(F.when(~is_delete, sequence)), last_delete).alias("b_sequence"), last_delete.alias("b_deleted")]
    made.append(F.max("b_kind").alias("b_kind"))  # "u" comes after "d", and those that truncate are among themselves
    for place in columns.values:
        carries = is_row & ~F.array_contains("b_unset", columns.physical[place])
        value, type_ = F.col(f"b{place}"), columns.types[place]
        pair = F.struct(sequence.alias("s"), value.alias("v"))
        if is_orderable(type_):
            made.append(F.max(F.when(carries, pair)).alias(f"p{place}"))
        else:
            order = F.when(carries, F.struct(sequence, comparable(value, type_)))
            made.append(F.max_by(pair, order).alias(f"p{place}"))
    return made


def opened(columns: HasColumns) -> list[str]:
    """What there is then, beside the keys."""
    return ["b_sequence", "b_deleted", "b_kind", *(f"p{place}" for place in columns.values)]


def known_since(carried: Column, name: str, sequence: Column) -> tuple[Column, Column]:
    """The sequence of a column of a row of the table, and whether any row ever carried it."""
    from pyspark.sql import functions as F

    is_other = F.coalesce(F.map_contains_key(carried, name), F.lit(False))
    since = F.when(is_other, carried[name]).otherwise(sequence)
    return since, ~(is_other & carried[name].isNull())


def to_carried(since: Sequence[tuple[str, Column]], sequence: Column) -> Column:
    """Of which columns the sequence is another than the row's; NULL if of none."""
    from pyspark.sql import functions as F

    pairs = [F.when(~each.eqNullSafe(sequence), F.struct(F.lit(name).alias("key"), each.alias("value"))) for name, each in since]
    others = F.filter(F.array(*pairs), lambda pair: pair.isNotNull())
    return F.when(F.size(others) > 0, F.map_from_entries(others))
