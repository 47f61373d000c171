"""What the rows of a table say of its texts: how many values a column has, which, and what they look like. Two passes, for any columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lakeledger.pipelines.partitions import quote
from lakeledger.quality.suggesting import MOST_VALUES, SHAPES, ColumnFacts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# More text columns than this are not looked at: each is some aggregates.
MOST_COLUMNS = 100
# A text that is longer is no code of something.
LONGEST_VALUE = 60


def profile(frame: DataFrame) -> dict[str, ColumnFacts]:
    """The facts of each column of texts, by its name."""
    names = [field.name for field in frame.schema.fields if field.dataType.simpleString() == "string"][:MOST_COLUMNS]
    if not names:
        return {}
    seen = _counted(frame, names)
    few = [name for name in names if seen[name]["distinct"] <= MOST_VALUES * 2 and (seen[name]["longest"] or 0) <= LONGEST_VALUE]
    values = _values(frame, few)
    return {name: _facts(name, seen[name], values.get(name)) for name in names}


def _counted(frame: DataFrame, names: list[str]) -> dict[str, dict[str, Any]]:
    """How many values each has, about, how many are NULL, and how many have which shape."""
    from pyspark.sql import functions as F

    wanted = []
    for index, name in enumerate(names):
        column = F.col(quote(name))
        wanted += [
            F.approx_count_distinct(column).alias(f"distinct_{index}"),
            F.count(column).alias(f"there_{index}"),
            F.count_if(column.isNull()).alias(f"nulls_{index}"),
            F.max(F.length(column)).alias(f"longest_{index}"),
            *(F.count_if(column.rlike(regex)).alias(f"{shape}_{index}") for shape, regex in SHAPES.items()),
        ]
    row = frame.agg(*wanted).collect()[0].asDict()
    kinds = ("distinct", "there", "nulls", "longest", *SHAPES)
    return {name: {kind: row[f"{kind}_{index}"] for kind in kinds} for index, name in enumerate(names)}


def _values(frame: DataFrame, names: list[str]) -> dict[str, tuple[str, ...]]:
    from pyspark.sql import functions as F

    if not names:
        return {}
    row = frame.agg(*(F.collect_set(F.col(quote(name))).alias(str(index)) for index, name in enumerate(names))).collect()[0]
    return {name: tuple(sorted(row[index])) for index, name in enumerate(names)}


def _facts(name: str, seen: dict[str, Any], values: tuple[str, ...] | None) -> ColumnFacts:
    shape = next((each for each in SHAPES if seen["there"] and seen[each] == seen["there"]), None)
    return ColumnFacts(name, "string", seen["nulls"], values=values if values and len(values) <= MOST_VALUES else None, shape=shape)
