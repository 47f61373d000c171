"""Schemas and statistics of the tables of a Spark catalog, by DataFrames alone: it works on Spark Connect, too."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lakeledger import codec
from lakeledger.collecting.facts import KINDS, STATISTICS, Known, Seen, facts
from lakeledger.errors import Invalid
from lakeledger.pipelines.partitions import quote
from lakeledger.pipelines.translating import translating
from lakeledger.records import MetadataRecord, MetadataTarget
from lakeledger.records.producing import MetadataRequest
from lakeledger.sync.schemas import from_spark

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

CATALOG = "spark"
# Of these types the least and the greatest value say something.
_ORDERED = ("byte", "short", "integer", "long", "float", "double", "decimal", "date", "timestamp", "timestamp_ntz", "string")


@dataclass(frozen=True)
class SparkCatalog:
    """Says facts about tables of a Spark catalog, whose name is the source of their targets.

    The parameter `statistics` of a request says how much is read for them: `columns` (the default), one pass over the table; `rows`, a
    count; `none`.
    """

    _start: Callable[[], SparkSession]
    _known: Known
    catalog: str = "spark_catalog"
    producer_id: str = "collector.spark.v1"
    capabilities: frozenset[str] = KINDS

    def targets(self, schema: str) -> Iterator[MetadataTarget]:
        """The tables of a schema. Raises Invalid if it is not there."""
        with translating():
            found = self._start().sql(f"show tables in {quote(self.catalog)}.{quote(schema)}").collect()
        yield from (MetadataTarget(self.catalog, schema, row["tableName"]) for row in found if not row["isTemporary"])

    def supports(self, request: MetadataRequest) -> bool:
        target = request.target
        return target.source_id == self.catalog and bool(target.schema and target.table)

    def produce(self, request: MetadataRequest) -> Iterable[MetadataRecord]:
        """The facts as of now. Raises Invalid if the table is not there."""
        target = request.target
        name = ".".join(quote(part) for part in (self.catalog, target.schema or "", target.table or ""))
        how = request.parameters.get("statistics", "columns")
        if how not in ("columns", "rows", "none"):
            raise Invalid(f"statistics of a Spark table are columns, rows or none, not {how!r}")
        if request.kinds and STATISTICS not in request.kinds:
            how = "none"
        with translating():
            frame = self._start().table(name)
            described = frame.sparkSession.sql(f"describe extended {name}").collect()
            definition = from_spark(frame.schema)
            statistics = None if how == "none" else {**_counted(frame, with_columns=how == "columns"), **_size(described)}
        return facts(request, self.producer_id, Seen(CATALOG, definition, statistics, _partitions(described)), self._known)


def _counted(frame: DataFrame, *, with_columns: bool) -> dict[str, Any]:
    """Rows, and of each column its NULLs, bounds and distinct values, in one pass."""
    from pyspark.sql import functions as F

    if not with_columns:
        return {"row_count": frame.count(), "sampled": False}
    asked: list[Column] = [F.count(F.lit(1))]
    places: dict[str, dict[str, int]] = {}
    for field in frame.schema.fields:
        column, found = F.col(quote(field.name)), places.setdefault(field.name, {})
        wanted = {"filled": F.count(column)}
        if field.dataType.typeName() in _ORDERED:
            wanted |= {"min": F.min(column), "max": F.max(column), "distinct_count": F.approx_count_distinct(column)}
        for what, expression in wanted.items():
            found[what] = len(asked)
            asked.append(expression)
    (row,) = frame.select(*(each.alias(f"c{number}") for number, each in enumerate(asked))).collect()
    rows: int = row[0]
    return {"row_count": rows, "columns": {name: _column(row, found, rows) for name, found in places.items()}, "sampled": False}


def _column(row: Any, places: dict[str, int], rows: int) -> dict[str, Any]:
    nulls = rows - row[places["filled"]]
    told = {"null_count": nulls, "null_percent": round(100 * nulls / rows, 4) if rows else 0.0}
    values = {name: row[place] for name, place in places.items() if name != "filled"}
    return {**told, **{name: codec.to_plain(value) for name, value in values.items() if value is not None}}


def _size(described: list[Any]) -> dict[str, Any]:
    """What the catalog itself says of the size: `1234 bytes, 5 rows`."""
    found = next((row["data_type"] for row in described if row["col_name"] == "Statistics"), None)
    number = (found or "").partition(" bytes")[0]
    return {"total_bytes": int(number)} if number.isdigit() else {}


def _partitions(described: list[Any]) -> list[str]:
    """The columns behind `# Partition Information`, up to the line that is empty; a format of its own says `Part 0`."""
    names = [row["col_name"] for row in described]
    heads = [name for name in ("# Partition Information", "# Partitioning") if name in names]
    if not heads:
        return []
    behind = described[names.index(heads[0]) + 1 :]
    found = []
    for row in behind:
        if not row["col_name"] or (row["col_name"].startswith("# ") and row["col_name"] != "# col_name"):
            break
        if row["col_name"] != "# col_name":
            found.append(row["data_type"] if row["col_name"].startswith("Part ") else row["col_name"])
    return found
