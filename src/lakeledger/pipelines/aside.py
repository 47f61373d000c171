"""Rows set aside: in the one pass that writes a table, some go to files of another table, and one commit makes both visible.

Rows are marked before anything else is done with them. The files have the columns of all tables, each under its physical name, and hold
NULL in those of the others: one write has one schema. The names of what is set aside begin with a word that no other column may have.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lakeledger.db import Store
from lakeledger.errors import Invalid
from lakeledger.names import TableName
from lakeledger.pipelines import quarantine
from lakeledger.pipelines.apply import Aside, Read, Saved, Target
from lakeledger.pipelines.apply.values import nothing
from lakeledger.pipelines.partitions import quote
from lakeledger.runs import Counters
from lakeledger.tables import Change, Layout, TableMetadata, store
from lakeledger.tables.change import prefix_of
from lakeledger.tables.schema import ASIDE, Schema, check_readable, column_names, identify, normalise, reconcile

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

# Which table a row goes to: 0 is the write's own, the others are numbered. Folders are named so, too.
MARK = f"{ASIDE}_table"


@dataclass(frozen=True)
class Other:
    """A table that rows are set aside in: what the ledger knows of it, and its schema after the write."""

    aside: Aside
    number: int
    location: str
    layout: Layout
    metadata: TableMetadata | None
    schema: Schema

    @property
    def fields(self) -> list[dict[str, Any]]:
        return list(self.schema["fields"])

    def change(self, saved: Saved, reads: Sequence[Read] = ()) -> Change:
        """What becomes of it. It has no batch of its own: it follows the table that the write is about, which may have read it."""
        counters = Counters(processed=saved.rows, failed=saved.rows) if self.aside.failed else Counters()
        read = next((each for each in reads if each.table == self.aside.table), None)
        return Change(
            table=self.aside.table,
            location=self.location,
            operation="append",
            schema=self.schema,
            layout=self.layout,
            files=saved.files,
            evolve=True,
            counters=counters,
            reads=read.part if read else None,
            base_version=read.version if read else None,
        )

    def named(self, column: str) -> str:
        """What a column of it is called in a marked frame."""
        return _column_name(self.number, column)


def together(first: Sequence[Aside], second: Sequence[Aside]) -> tuple[list[int], list[Aside]]:
    """All of them, and where the second ones are. What both set aside in one table is one."""
    every, places = list(first), []
    for aside in second:
        place = next((place for place, each in enumerate(every) if each.table == aside.table), len(every))
        every[place:] = [*([quarantine.both(every[place], aside)] if place < len(every) else [aside]), *every[place + 1 :]]
        places.append(place)
    return places, every


def mark(frame: DataFrame, asides: Sequence[Aside]) -> DataFrame:
    """The frame with the mark of each row, and with the columns that it has if it is set aside. The first that wants a row gets it."""
    from pyspark.sql import functions as F

    if not asides:
        return frame
    chosen = F.lit("0")
    for number, aside in reversed(list(enumerate(asides, 1))):
        chosen = F.when(aside.when, F.lit(str(number))).otherwise(chosen)
    marked = frame.select("*", chosen.alias(MARK))
    return marked.select("*", *(column for number, aside in enumerate(asides, 1) for column in _columns(aside, number)))


def unmarked(others: Sequence[Other]) -> list[Column]:
    """What rows of the table itself have beside their own columns, if any are set aside."""
    from pyspark.sql import functions as F

    fields = [(other, field) for other in others for field in other.fields if field["name"] in other.aside.columns]
    theirs = [nothing(field["type"]).alias(other.named(field["name"])) for other, field in fields]
    return [F.lit("0").alias(MARK), *theirs] if others else []


def find(ledger_store: Store, marked: DataFrame, asides: Sequence[Aside], target: Target) -> list[Other]:
    """The tables that rows are set aside in, with their schemas after the write. Raises Invalid, before Spark does anything."""
    return [_find(ledger_store, marked, aside, number, target) for number, aside in enumerate(asides, 1)]


def split(frame: DataFrame, columns: dict[str, str], others: Sequence[Other]) -> DataFrame:
    """A marked frame with the columns of all tables, and the mark. `columns` are the physical names of the table's own, by those here."""
    from pyspark.sql import functions as F

    own = [F.when(F.col(MARK) == "0", F.col(quote(name))).alias(stored) for name, stored in columns.items()]
    theirs = [_their(other, field).alias(field["physical_name"]) for other in others for field in other.fields]
    return frame.select(*own, *theirs, MARK)


def _their(other: Other, field: dict[str, Any]) -> Column:
    from pyspark.sql import functions as F

    if field["name"] in other.aside.columns:
        return F.col(quote(_column_name(other.number, field["name"])))
    return nothing(field["type"])


def _find(ledger_store: Store, marked: DataFrame, aside: Aside, number: int, target: Target) -> Other:
    given = normalise(marked.select(*(column.alias(name) for name, column in aside.columns.items())).schema.jsonValue())
    known, schema = schema_of(ledger_store, aside.table, given, target)
    return Other(aside, number, target.location, Layout(target.layout.format), known, schema)


def schema_of(ledger_store: Store, name: TableName, given: Schema, target: Target) -> tuple[TableMetadata | None, Schema]:
    """What the ledger knows of a table that rows with such columns are set aside in, and its schema after that. Raises Invalid."""
    with ledger_store.read() as tx:
        table = store.find(tx, name)
        known = store.metadata(tx, table) if table else None
    if table and table.location != target.location:
        raise Invalid(f"{name} has a place of its own: rows are set aside in a table that was made so")
    if known and known.format != target.layout.format:
        raise Invalid(f"{name} is {known.format}: {target.layout.format} files hold no rows for it")
    check_readable(str(name), given, target.layout.format)
    prefix = prefix_of(name, target.location)
    if known is None:
        return None, identify(given, None, [], prefix)[0]
    # Whoever works on what was set aside may have added columns of their own.
    names = column_names(given)
    missing = [field for field in known.schema["fields"] if field["name"] not in names]
    whole = reconcile(str(name), known.schema, {"fields": [*given["fields"], *missing]}, evolve=True)
    return known, identify(whole, known.schema, known.columns, prefix)[0]


def _columns(aside: Aside, number: int) -> list[Column]:
    """What the row has there, computed only for rows that go there."""
    from pyspark.sql import functions as F

    is_here = F.col(MARK) == str(number)
    return [F.when(is_here, column).alias(_column_name(number, name)) for name, column in aside.columns.items()]


def _column_name(number: int, name: str) -> str:
    return f"{ASIDE}_{number}_{name}"
