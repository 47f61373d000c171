"""Schemas and statistics of the ledger's own tables, by what it knows of their files: no file is opened, and no Spark is started."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from lakeledger import codec
from lakeledger.collecting.facts import KINDS, Known, Seen, facts
from lakeledger.db import Store
from lakeledger.errors import NotFound
from lakeledger.names import TableName, parse_name
from lakeledger.quality.suggesting import ColumnFacts, facts_of
from lakeledger.records import MetadataRecord
from lakeledger.records.producing import MetadataRequest
from lakeledger.sync.schemas import SchemaDefinition, from_spark
from lakeledger.tables import DataFile, Table, TableMetadata, store
from lakeledger.tables.schema import shown

CATALOG = "ledger"
PAGE = 5_000


@dataclass(frozen=True)
class LedgerTables:
    """Says facts about tables of the ledger, whose targets have the source `ledger`."""

    _store: Store
    _known: Known
    producer_id: str = "collector.ledger.v1"
    capabilities: frozenset[str] = KINDS

    def supports(self, request: MetadataRequest) -> bool:
        return request.target.source_id == CATALOG and request.target.table is not None

    def produce(self, request: MetadataRequest) -> Iterable[MetadataRecord]:
        """The facts as of the table's version now. Raises NotFound."""
        name = parse_name(request.target.name)
        with self._store.read() as tx:
            table = store.get(tx, name)
            metadata = store.metadata(tx, table)
        if metadata is None:
            raise NotFound(f"{name} has no schema yet: nothing was written to it")
        return facts(request, self.producer_id, self._seen(name, table, metadata), self._known)

    def _seen(self, name: TableName, table: Table, metadata: TableMetadata) -> Seen:
        spark = from_spark(shown(metadata.schema))
        named = {field["physical_name"]: field["name"] for field in metadata.schema["fields"]}
        definition = SchemaDefinition(spark.columns, [named[key] for key in metadata.keys if key in named])
        return Seen(CATALOG, definition, self._statistics(name, table, metadata), list(metadata.partition_by), table.current_version)

    def _statistics(self, name: TableName, table: Table, metadata: TableMetadata) -> dict[str, Any]:
        found = facts_of(str(name), metadata, self._files(table), ())
        columns = {each.name: told for each in found.columns if (told := _column(each, found.rows))}
        return {
            "row_count": found.rows,
            "total_bytes": table.total_size,
            "file_count": table.file_count,
            "columns": columns,
            "sampled": False,
        }

    def _files(self, table: Table) -> Iterator[DataFile]:
        """The files of the version, a page at a time: there may be a hundred thousand."""
        after: str | None = None
        while True:
            with self._store.read() as tx:
                page = store.files_at(tx, table, table.current_version, PAGE, after)
            yield from page
            if (after := page.next) is None:
                return


def _column(column: ColumnFacts, rows: int) -> dict[str, Any]:
    nulls: dict[str, Any] = {}
    if column.nulls is not None:
        nulls = {"null_count": column.nulls, "null_percent": round(100 * column.nulls / rows, 4) if rows else 0.0}
    bounds = {"min": column.least, "max": column.greatest}
    return {**nulls, **{name: _plain(value) for name, value in bounds.items() if value is not None}}


def _plain(value: Any) -> Any:
    """A bound as JSON has it: a whole number as one."""
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    return codec.to_plain(value)
