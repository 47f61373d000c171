"""What tables and sources look like, as facts: collectors of schemas, statistics and differences, each a `MetadataProducer`.

A collector looks at one catalog: the ledger, a Spark catalog, or a database behind JDBC. All of them say the same in the same way: a
`schema_snapshot` if the columns are not those of the snapshot before, then a `catalog_diff` with it, and a `statistics_snapshot`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lakeledger.collecting.facts import KINDS, Known, Seen, facts
from lakeledger.db import Store
from lakeledger.names import TableName, parse_name
from lakeledger.records import MetadataContext, MetadataTarget
from lakeledger.records.producing import MetadataProducer, MetadataRequest, ProducerResult
from lakeledger.tables import store as tables

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lakeledger.collecting.jdbc_tables import JdbcTables
    from lakeledger.collecting.ledger_tables import LedgerTables
    from lakeledger.collecting.results import WorkFacts
    from lakeledger.collecting.spark_catalog import SparkCatalog
    from lakeledger.control.documents import Module
    from lakeledger.pipelines.sources.jdbc import JdbcConfig
    from lakeledger.quality import Suite
    from lakeledger.records.slice import Records

__all__ = ["KINDS", "Collectors", "Known", "Seen", "facts"]

PAGE = 500


@dataclass(frozen=True)
class Collectors:
    """The collectors of one tenant. What they say is kept by whoever asks them: `ledger.records.produce`, or `collect` here."""

    _store: Store
    _records: Callable[[], Records]
    _start_spark: Callable[[], SparkSession]
    _check: Callable[[str, Suite], object]
    _reconcile: Callable[[Any], object]

    @property
    def ledger_tables(self) -> LedgerTables:
        """Of the ledger's own tables, by what it knows of their files. No Spark."""
        from lakeledger.collecting.ledger_tables import LedgerTables

        return LedgerTables(self._store, self._records())

    def spark_catalog(self, catalog: str = "spark_catalog") -> SparkCatalog:
        """Of the tables of a Spark catalog, which Spark reads once for their statistics."""
        from lakeledger.collecting.spark_catalog import SparkCatalog

        return SparkCatalog(self._start_spark, self._records(), catalog)

    def jdbc(self, source_id: str, config: JdbcConfig) -> JdbcTables:
        """Of the table or query of another database. PostgreSQL is asked without Spark."""
        from lakeledger.collecting.jdbc_tables import JdbcTables

        return JdbcTables(source_id, config, self._records(), self._start_spark)

    def quality(self, suite: Suite) -> WorkFacts:
        """What a check of a ledger table by a suite finds (`dq_result`): it is checked when it is asked about, as a run of its own."""
        from lakeledger.collecting.results import quality

        return quality(self._records(), self._check, suite)

    def recon(self, reconciliation: Mapping[str, Any] | Any) -> WorkFacts:
        """What a reconciliation finds (`recon_result`): it is carried out when it is asked about, as a run of its own. Raises Invalid."""
        from lakeledger.collecting.results import recon

        return recon(self._records(), self._reconcile, reconciliation)

    def collect(self, *names: str, context: MetadataContext | None = None) -> list[ProducerResult]:
        """Ask about these tables of the ledger, or about all, and keep what is said. What one fails at, the others do not feel."""
        found = (parse_name(name) for name in names) if names else self._all_tables()
        targets = (MetadataTarget("ledger", name.schema, name.table) for name in found)
        return self._ask(self.ledger_tables, targets, context)

    def collect_spark(self, schema: str, catalog: str = "spark_catalog", context: MetadataContext | None = None) -> list[ProducerResult]:
        """The same of the tables of a schema of a Spark catalog."""
        asked = self.spark_catalog(catalog)
        return self._ask(asked, asked.targets(schema), context)

    def collect_modules(self, modules: Sequence[Module], context: MetadataContext | None = None) -> list[ProducerResult]:
        """The same of the JDBC sources that modules declare, each under the name that its loads have: `shop.orders`."""
        from lakeledger.collecting.jdbc_tables import declared

        found = declared(modules, self._records(), self._start_spark)
        return [result for each in found for result in self._ask(each, [each.target], context)]

    def _all_tables(self) -> Iterator[TableName]:
        after: str | None = None
        while True:
            with self._store.read() as tx:
                page = tables.list_page(tx, PAGE, after)
            yield from (table.name for table in page)
            if (after := page.next) is None:
                return

    def _ask(self, producer: MetadataProducer, targets: Iterable[MetadataTarget], context: MetadataContext | None) -> list[ProducerResult]:
        records = self._records()
        about = context or records.context("collect")
        return [records.produce(producer, MetadataRequest(target, about)) for target in targets]
