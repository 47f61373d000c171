"""Schemas and statistics of tables of other databases. PostgreSQL is asked directly, and by its own statistics; others through Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from lakeledger.collecting.facts import KINDS, STATISTICS, Known, Seen, facts
from lakeledger.control.documents import JdbcSource as Declared
from lakeledger.control.documents import Module
from lakeledger.pipelines.sources import dialects
from lakeledger.pipelines.sources.asking import Asks
from lakeledger.pipelines.sources.asking_postgres import PostgresAsks
from lakeledger.pipelines.sources.jdbc import ALIAS, JdbcConfig, JdbcSource
from lakeledger.pipelines.sources.opening import jdbc_config
from lakeledger.records import MetadataRecord, MetadataTarget
from lakeledger.records.producing import MetadataRequest
from lakeledger.sync import Source as SourceName
from lakeledger.sync import parse_source
from lakeledger.sync.kinds.watermark import INTEGER
from lakeledger.sync.schemas import SchemaDefinition

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CATALOG = "jdbc"

# Both are what PostgreSQL knows itself; a table that was never analysed is -1 rows.
_SIZE = "select reltuples::bigint, pg_total_relation_size(oid) from pg_class where oid = %s::regclass"
_COLUMNS = """
select s.attname, s.null_frac, s.n_distinct, s.avg_width from pg_stats s
  join pg_class c on c.relname = s.tablename join pg_namespace n on n.oid = c.relnamespace and n.nspname = s.schemaname
 where c.oid = %s::regclass
"""
_KEY = """
select a.attname from pg_index i cross join unnest(i.indkey) with ordinality k(attribute, place)
  join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.attribute
 where i.indrelid = %s::regclass and i.indisprimary order by k.place
"""
_COMMENTS = """
select a.attname, d.description from pg_attribute a join pg_description d on d.objoid = a.attrelid and d.objsubid = a.attnum
 where a.attrelid = %s::regclass and d.classoid = 'pg_class'::regclass
"""


@dataclass(frozen=True)
class JdbcTables:
    """Says facts about the table or query of a database, under the name of a source.

    The parameter `exact` of a request has rows counted; otherwise PostgreSQL says how many it believes there are.
    """

    source_id: str
    config: JdbcConfig
    _known: Known
    _start_spark: Callable[[], SparkSession] | None = None
    about: MetadataTarget | None = None
    producer_id: str = "collector.jdbc.v1"
    capabilities: frozenset[str] = KINDS

    @cached_property
    def _source(self) -> JdbcSource:
        return JdbcSource(SourceName(self.source_id, self.config.table or "query"), self.config, self._start_spark)

    @property
    def target(self) -> MetadataTarget:
        """What it says facts about: the table of the database, unless it was given another name."""
        if self.about:
            return self.about
        parts = dialects.split_name(self.config.table) if self.config.table else ["query"]
        return MetadataTarget(self.source_id, ".".join(parts[:-1]) or None, parts[-1])

    def supports(self, request: MetadataRequest) -> bool:
        return request.target.key == self.target.key

    def produce(self, request: MetadataRequest) -> Iterable[MetadataRecord]:
        """The facts as of now. Raises Invalid, Forbidden, NotInstalled or Unavailable."""
        with self._source.asking() as asks:
            columns = [{"name": each.name, "type": each.type, "nullable": each.nullable} for each in asks.columns(self._source.rows)]
            wanted = not request.kinds or STATISTICS in request.kinds
            exact = bool(request.parameters.get("exact"))
            if isinstance(asks, PostgresAsks) and self.config.table:
                seen = self._of_postgres(asks, columns, wanted=wanted, exact=exact)
            else:
                statistics = {"row_count": self._count(asks), "sampled": False} if wanted else None
                seen = Seen(CATALOG, SchemaDefinition(columns), statistics)
        return facts(request, self.producer_id, seen, self._known)

    def _of_postgres(self, asks: PostgresAsks, columns: list[dict[str, Any]], *, wanted: bool, exact: bool) -> Seen:
        name = self._source.rows
        key = [row[0] for row in asks.all(_KEY, name)]
        comments = dict(asks.all(_COMMENTS, name))
        told = [{**each, "comment": comments[each["name"]]} if each["name"] in comments else each for each in columns]
        statistics = self._statistics(asks, name, exact=exact) if wanted else None
        return Seen(CATALOG, SchemaDefinition(told, key), statistics)

    def _statistics(self, asks: PostgresAsks, name: str, *, exact: bool) -> dict[str, Any]:
        ((rows, size),) = asks.all(_SIZE, name)
        is_estimate = rows >= 0 and not exact
        count = int(rows) if is_estimate else self._count(asks)
        columns = {column: _column(nulls, distinct, width, count) for column, nulls, distinct, width in asks.all(_COLUMNS, name)}
        return {"row_count": count, "total_bytes": size, "columns": columns, "sampled": is_estimate or bool(columns)}

    def _count(self, asks: Asks) -> int:
        count = self._source.dialect.text(INTEGER, "count(*)")
        (text,) = asks.one(f"select {count} as number from {self._source.rows} {ALIAS}")  # noqa: S608 - names are quoted by the dialect
        return int(text or 0)


def declared(modules: Sequence[Module], known: Known, start_spark: Callable[[], SparkSession] | None = None) -> Iterator[JdbcTables]:
    """A collector for each active JDBC source of the modules, under the name by which its loads are known, and its gate."""
    for module in modules:
        for source in module.sources:
            if isinstance(source, Declared) and source.is_active:
                config = jdbc_config(source)
                name = parse_source(f"{module.module_name}.{source.source_id}")
                about = MetadataTarget(name.name, name.schema_name, name.table_name, {"table": config.table} if config.table else {})
                yield JdbcTables(name.name, config, known, start_spark, about)


def _column(nulls: float, distinct: float, width: int, rows: int) -> dict[str, Any]:
    """What PostgreSQL sampled of a column; a negative number of distinct values is a share of the rows."""
    count = round(-distinct * rows) if distinct < 0 else round(distinct)
    return {
        "null_percent": round(100 * nulls, 4),
        "null_count": round(nulls * rows),
        "distinct_count": count,
        "average_length": float(width),
    }
