"""SQL over ledger tables: the tables a query names become views of the versions it reads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lakeledger import codec
from lakeledger.db import Store
from lakeledger.errors import Invalid, NotFound
from lakeledger.pipelines.read import read
from lakeledger.tables import TableName, View, parse_name, store

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from sqlglot import exp


@dataclass(frozen=True)
class Reference:
    """A place in the query's text that names a table."""

    table: str
    start: int
    end: int
    aliased: bool


@dataclass(frozen=True)
class Query:
    """A checked query and the ledger tables it reads, each at one version."""

    text: str
    parameters: dict[str, Any]
    references: list[Reference]
    views: dict[str, View]

    @property
    def inputs(self) -> dict[str, int]:
        """Which version of which table is read."""
        return {str(view.table.name): view.version for view in self.views.values()}

    @property
    def batch_id(self) -> str:
        """The same query over the same versions gives the same batch."""
        tables = {view.table.table_id: view.version for view in self.views.values()}
        return codec.digest(["sql", self.text, self.parameters, tables])


def prepare(handle: Store, text: str, parameters: dict[str, Any]) -> Query:
    """Check a query and pin the tables it reads. Raises Invalid if it is not one SELECT."""
    references = find_references(text)
    with handle.read() as tx:
        views: dict[str, View] = {}
        for name in {reference.table for reference in references}:
            if (table := _ledger_name(name)) and store.find(tx, table):
                views[name] = store.view(tx, table)
    return Query(text, parameters, [item for item in references if item.table in views], views)


@contextmanager
def run(spark: SparkSession, query: Query, token: str) -> Iterator[DataFrame]:
    """The query's result, lazy. Its views live as long as the block."""
    names = {table: f"lakeledger_{token}_{index}" for index, table in enumerate(sorted(query.views))}
    try:
        for table, view in query.views.items():
            read(spark, view).createOrReplaceTempView(names[table])
        yield spark.sql(rewrite(query.text, query.references, names), args=query.parameters or None)
    finally:
        for name in names.values():
            spark.catalog.dropTempView(name)


def rewrite(text: str, references: list[Reference], names: dict[str, str]) -> str:
    """The query with each table's name replaced, and everything else left as it was written."""
    for reference in sorted(references, key=lambda item: item.start, reverse=True):
        alias = "" if reference.aliased else f" AS `{reference.table.rpartition('.')[2]}`"
        text = f"{text[: reference.start]}{names[reference.table]}{alias}{text[reference.end :]}"
    return text


def find_references(text: str) -> list[Reference]:
    """The tables a query reads, where they stand. Raises Invalid if it is not one SELECT."""
    from sqlglot import exp

    tree = _parse(text)
    defined = {codec.fold(cte.alias) for cte in tree.find_all(exp.CTE)}
    found = []
    for table in tree.find_all(exp.Table):
        parts = [part for part in table.parts if isinstance(part, exp.Identifier)]
        if not parts or (len(parts) == 1 and codec.fold(parts[0].name) in defined):
            continue
        places = [(part.meta["start"], part.meta["end"] + 1) for part in parts]
        name = ".".join(part.name for part in parts)
        found.append(Reference(name, min(start for start, _ in places), max(end for _, end in places), bool(table.alias)))
    return found


def _parse(text: str) -> exp.Expr:
    import sqlglot
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

    try:
        trees = [tree for tree in sqlglot.parse(text, dialect="databricks") if tree is not None]
    except SqlglotError as error:
        raise Invalid(f"cannot read the query: {str(error).partition(chr(10))[0]}") from error
    if len(trees) != 1 or not isinstance(trees[0], exp.Query):
        raise Invalid("a SQL task is one SELECT: what it gives is written to the target table")
    return trees[0]


def _ledger_name(name: str) -> TableName | None:
    try:
        return parse_name(name)
    except (Invalid, NotFound):
        return None
