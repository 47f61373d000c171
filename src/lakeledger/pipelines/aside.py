"""Rows set aside: in the one pass that writes a table, some go to files of another table, and one commit makes both visible.

The files have the columns of both tables, each under its physical name, and hold NULL in those of the other: one write has one schema.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lakeledger.db import Store
from lakeledger.errors import Invalid
from lakeledger.pipelines.apply import Aside, Saved, Target
from lakeledger.pipelines.partitions import quote
from lakeledger.runs import Counters
from lakeledger.tables import Change, Layout, TableMetadata, store
from lakeledger.tables.schema import Schema, check_readable, identify, normalise, reconcile

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

# The folder of what is set aside says so.
MARK = "lakeledger_set_aside"


@dataclass(frozen=True)
class Other:
    """The table that rows are set aside in: what the ledger knows of it, and, once the rows are known, its schema after the write."""

    aside: Aside
    location: str
    layout: Layout
    metadata: TableMetadata | None
    schema: Schema | None = None

    @property
    def fields(self) -> list[dict[str, str]]:
        return self.schema["fields"] if self.schema else []

    def change(self, saved: Saved, batch_id: str | None) -> Change:
        """What becomes of it: rows are only ever added."""
        counters = Counters(processed=saved.rows, failed=saved.rows)
        return Change(
            table=self.aside.table,
            location=self.location,
            operation="append",
            schema=self.schema or {},
            layout=self.layout,
            files=saved.files,
            evolve=True,
            batch_id=batch_id,
            counters=counters,
        )


def find(ledger_store: Store, aside: Aside, target: Target) -> Other:
    """The table that rows are set aside in. Raises Invalid if it has a place of its own: both have their files in one."""
    with ledger_store.read() as tx:
        table = store.find(tx, aside.table)
        known = store.metadata(tx, table) if table else None
    if table and table.location != target.location:
        raise Invalid(f"{aside.table} has a place of its own: rows are set aside in a table that was made so")
    return Other(aside, target.location, Layout(target.layout.format), known)


def with_schema(other: Other, frame: DataFrame, taken: Iterable[str]) -> Other:
    """The table with its schema after the write; its new columns have names in the files that are not taken. Raises Invalid."""
    given = normalise(frame.select(*_named(other.aside)).schema.jsonValue())
    check_readable(str(other.aside.table), given, other.layout.format)
    known = other.metadata
    schema = reconcile(str(other.aside.table), known.schema, given, evolve=True) if known else given
    schema, _ = identify(schema, known.schema if known else None, known.columns if known else [], avoid=taken)
    return Other(other.aside, other.location, other.layout, known, schema)


def split(frame: DataFrame, columns: dict[str, str], other: Other) -> DataFrame:
    """The frame with the columns of both tables, and the mark. `columns` are the physical names of the table's own, by those here."""
    from pyspark.sql import functions as F

    marked = frame.select("*", *_named(other.aside, MARK), F.coalesce(other.aside.when, F.lit(False)).alias(MARK))
    own = [_only(~F.col(MARK), name, stored) for name, stored in columns.items()]
    others = [_only(F.col(MARK), f"{MARK}_{field['name']}", field["physical_name"]) for field in other.fields]
    return marked.select(*own, *others, F.col(MARK).cast("string").alias(MARK))


def _named(aside: Aside, prefix: str = "") -> list[Column]:
    return [column.alias(f"{prefix}_{name}" if prefix else name) for name, column in aside.columns.items()]


def _only(when: Column, name: str, stored: str) -> Column:
    from pyspark.sql import functions as F

    return F.when(when, F.col(quote(name))).alias(stored)
