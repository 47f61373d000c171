"""SQL over ledger tables: the tables a query names become views of the versions it reads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lakeledger import codec
from lakeledger.errors import Invalid, NotFound
from lakeledger.pipelines import Context
from lakeledger.pipelines.read import read
from lakeledger.pipelines.remote import answers
from lakeledger.tables import TableName, View, parse_name, store
from lakeledger.tables.schema import column_names, shown

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from sqlglot import exp


RESTLESS = frozenset(
    [
        "rand",
        "randn",
        "random",
        "uuid",
        "shuffle",
        "now",
        "current_date",
        "current_time",
        "current_timestamp",
        "current_timestamp_ltz",
        "localtimestamp",
        "unix_timestamp",
        "curdate",
        "getdate",
        "current_user",
        "session_user",
        "monotonically_increasing_id",
    ]
)


@dataclass(frozen=True)
class Reference:
    """A place in the query's text that names a table: to read it, or in front of one of its columns."""

    table: str
    start: int
    end: int
    aliased: bool = False
    is_qualifier: bool = False

    def replacement(self, view: str) -> str:
        """What stands there instead: the view under the table's own name, or that name."""
        name = f"`{self.table.rpartition('.')[2]}`"
        if self.is_qualifier:
            return name
        return view if self.aliased else f"{view} AS {name}"


@dataclass(frozen=True)
class Query:
    """A checked query and the ledger tables it reads, each at one version; not `is_pinned` if it reads anything else too."""

    text: str
    parameters: dict[str, Any]
    references: list[Reference]
    views: dict[str, View]
    is_pinned: bool = True

    @property
    def inputs(self) -> dict[str, int]:
        """Which version of which table is read."""
        return {str(view.table.name): view.version for view in self.views.values()}

    @property
    def batch_id(self) -> str:
        """The same query over the same versions gives the same batch."""
        tables = {view.table.table_id: [view.content_version, column_names(shown(view.schema))] for view in self.views.values()}
        return codec.digest(["sql", self.text, self.parameters, tables])


def prepare(context: Context, text: str, parameters: dict[str, Any]) -> Query:
    """Check a query and pin the tables it reads. Raises Invalid if it is not one SELECT."""
    references = find_references(text)
    with context.store.read() as tx:
        views: dict[str, View] = {}
        for name in {reference.table for reference in references if not reference.is_qualifier}:
            if (table := _ledger_name(name)) and store.find(tx, table):
                views[name] = store.view(tx, table).placed(context.warehouse)
    known = [item for item in references if item.table in views]
    unknown = [item for item in references if item.table not in views and not item.is_qualifier]
    return Query(text, parameters, known, views, is_pinned=not unknown and not gives_other_rows_each_time(text))


@contextmanager
def run(spark: SparkSession, query: Query, token: str) -> Iterator[DataFrame]:
    """The query's result, lazy. Its views live as long as the block."""
    names = {table: f"lakeledger_{token}_{index}" for index, table in enumerate(sorted(query.views))}
    try:
        for table, view in query.views.items():
            read(spark, view).createOrReplaceTempView(names[table])
        yield spark.sql(rewrite(query.text, query.references, names), args=query.parameters or None)
    finally:
        for name in names.values() if answers(spark) else ():
            spark.catalog.dropTempView(name)


def rewrite(text: str, references: list[Reference], names: dict[str, str]) -> str:
    """The query with each table's name replaced, and everything else left as it was written."""
    for reference in sorted(references, key=lambda item: item.start, reverse=True):
        text = f"{text[: reference.start]}{reference.replacement(names[reference.table])}{text[reference.end :]}"
    return text


def find_references(text: str) -> list[Reference]:
    """The tables a query reads, where they stand. Raises Invalid if it is not one SELECT."""
    from sqlglot import exp

    tree = _parse(text)
    found = []
    for table in tree.find_all(exp.Table):
        parts = [part for part in table.parts if isinstance(part, exp.Identifier)]
        if parts and not (len(parts) == 1 and codec.fold(parts[0].name) in _common_names(table)):
            found.append(_reference(parts, aliased=bool(table.alias)))
    qualifiers = ([part for part in column.parts[:-1] if isinstance(part, exp.Identifier)] for column in tree.find_all(exp.Column))
    return found + [_reference(parts, is_qualifier=True) for parts in qualifiers if len(parts) > 1]


def gives_other_rows_each_time(text: str) -> bool:
    """Whether a query asks something else than its tables: the clock, chance, or a table function."""
    from sqlglot import exp

    tree = _parse(text)
    if any(not isinstance(table.this, exp.Identifier) for table in tree.find_all(exp.Table)):
        return True
    return any(function.sql_name().lower() in RESTLESS or function.name.lower() in RESTLESS for function in tree.find_all(exp.Func))


def _reference(parts: list[exp.Identifier], *, aliased: bool = False, is_qualifier: bool = False) -> Reference:
    start = min(part.meta["start"] for part in parts)
    end = max(part.meta["end"] for part in parts) + 1
    return Reference(".".join(part.name for part in parts), start, end, aliased, is_qualifier)


def _common_names(table: exp.Expr) -> set[str]:
    """The common table expressions that are in sight where a table is named: one sees those before it, not itself."""
    from sqlglot import exp

    seen: set[str] = set()
    node: exp.Expr | None = table.parent
    below: exp.Expr = table
    while node is not None:
        if isinstance(node, exp.With):
            visible = node.expressions if node.args.get("recursive") else node.expressions[: node.expressions.index(below)]
            seen |= {codec.fold(cte.alias) for cte in visible}
        elif isinstance(node, exp.Query) and not isinstance(below, exp.With):
            seen |= {codec.fold(cte.alias) for cte in node.ctes}
        below = node
        node = node.parent
    return seen


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
