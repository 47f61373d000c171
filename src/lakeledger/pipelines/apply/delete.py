"""Rows deleted by a condition: files that have none of them stay, those that have nothing else go, and the others are written again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from lakeledger import codec
from lakeledger.commit import Commit, Effect
from lakeledger.errors import Conflict, Failed, Invalid, NotFound
from lakeledger.names import TableName
from lakeledger.pipelines import Context
from lakeledger.pipelines.apply import Saved, Target
from lakeledger.pipelines.apply.matching import Known, look_at
from lakeledger.pipelines.claiming import claimed
from lakeledger.pipelines.partitions import quote
from lakeledger.pipelines.save import Shape
from lakeledger.pipelines.sql_task import gives_other_rows_each_time
from lakeledger.pipelines.write import Planned, persist, put
from lakeledger.runs import Counters, Fence
from lakeledger.tables import Change, Committed, DataFile, Files, store
from lakeledger.tables.model import Keys
from lakeledger.tables.schema import shown

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from sqlglot import exp

_INTEGERS = ("byte", "short", "integer", "long")


@dataclass(frozen=True)
class Found:
    """The rows for which a condition is true: how many each file has. What is left of those files has to be written again."""

    name: TableName
    target: Target
    known: Known
    session: SparkSession
    condition: Column
    files: list[DataFile]
    hits: dict[str, int]

    @property
    def count(self) -> int:
        return sum(self.hits.values())

    @property
    def split(self) -> list[DataFile]:
        """The files that also have other rows."""
        return [file for file in self.files if self.hits[file.file_path] < file.row_count]

    def rows(self) -> DataFrame:
        """The rows themselves, of which there is one at least."""
        return _named(self.known.rows(self.session, self.files), self.known).where(self.condition).drop("t_file")

    def rest(self) -> tuple[DataFrame, Shape]:
        """The other rows of the split files, of which there is one at least, and what they look like in files."""
        from pyspark.sql import functions as F

        fields = self.known.schema["fields"]
        kept = _named(self.known.rows(self.session, self.split), self.known, with_hidden=True)
        kept = kept.where(~F.coalesce(self.condition, F.lit(False)))
        frame = kept.select(*(F.col(quote(_stored(field))).alias(str(place)) for place, field in enumerate(fields)))
        columns = {f"{place}": field["physical_name"] for place, field in enumerate(fields)}
        return frame, Shape(self.known.schema, columns, keys=self.target.metadata.keys if self.target.metadata else ())

    def without(self, saved: Saved, **more: Any) -> Change:
        """The table without the rows, once the others are written again. Raises Failed if they are not those."""
        if saved.rows != sum(file.row_count for file in self.files) - self.count:
            told = f"{saved.rows} rows of {self.name} are left, not those for which the condition is not true"
            raise Failed(f"{told}: nothing was deleted")
        return Change(
            table=self.name,
            location=self.target.location,
            operation="delete",
            schema=self.known.schema,
            layout=self.target.layout,
            files=saved.files,
            retires=Files(frozenset(self.hits)) if self.hits else None,
            base_version=self.known.version,
            schema_version=self.target.metadata.schema_version if self.target.metadata else None,
            **more,
        )


def delete(context: Context, name: TableName, where: str, fence: Fence, metadata: str | None = None) -> Committed:
    """Delete the rows for which a condition is true. Raises NotFound, Invalid, Conflict, Fenced or Failed; then nothing is deleted."""
    from pyspark.sql import functions as F

    _check(where)
    found = find(context, name, lambda: F.expr(where), where, metadata)

    def plan(saved: Saved, effects: Sequence[Effect] = ()) -> Planned:
        told, counted = {"where": where, "deleted": found.count}, Counters(processed=found.count, deleted=found.count)
        return Planned([found.without(saved, counters=counted, summary=told)], effects=effects)

    if not found.split:
        return _without_files(context, fence, found.target, plan(Saved([])))
    frame, shape = found.rest()
    with claimed(context, fence, found.target.table, found.hits) as released:
        return put(context, fence, frame, shape, found.target, lambda saved: plan(saved, released), placed=True).tables[0]


def find(context: Context, name: TableName, where: Callable[[], Column], prune_by: str, metadata: str | None = None) -> Found:
    """The rows of a table for which a condition is true. `prune_by` is true for all of them, in SQL. Raises NotFound or Conflict."""
    target, known = _look(context, name, metadata)
    wanted = pruned(known.files, known.schema, prune_by)
    session = context.sessions.to_merge(context.sessions.to_load(context.spark))
    condition = where()  # Spark makes columns only once it is there.
    if not wanted:
        return Found(name, target, known, session, condition, [], {})
    counted = _named(known.rows(session, wanted), known).where(condition).groupBy("t_file").count().collect()
    by_name = known.find(row[0] for row in counted)
    hits = {by_name[row[0]].file_path: row[1] for row in counted}
    return Found(name, target, known, session, condition, list(by_name.values()), hits)


def pruned(files: Sequence[DataFile], schema: Mapping[str, Any], where: str) -> list[DataFile]:
    """The files that may have such rows, by what the condition says of single columns."""
    fields = {codec.fold(field["name"]): field for field in shown(dict(schema))["fields"]}
    parts = list(_parts(where, fields))
    return [file for file in files if all(part.may_be_in(file.column_bounds.get(part.column, {})) for part in parts)]


def _look(context: Context, name: TableName, metadata: str | None) -> tuple[Target, Known]:
    with context.store.read() as tx:
        table = store.get(tx, name)
        latest = store.metadata(tx, table)
        publishing = context.publisher.mode(tx, table, metadata)
    known = look_at(context, name)
    if latest is None or known is None:
        raise NotFound(f"{name} has no rows yet")
    if known.version != table.current_version:
        raise Conflict(f"{name} moved while a delete was planned: retry", retryable=True)
    return Target(table, latest, table.location, store.layout_of(latest), publishing), known


def _without_files(context: Context, fence: Fence, target: Target, planned: Planned) -> Committed:
    """Commit what takes no writing."""

    def work(changes: Sequence[Change], pointers: Sequence[Effect]) -> Commit:
        return persist(context, [], fence, changes, planned.moves, [*planned.effects, *pointers])

    made = context.publisher.commit(work, planned.changes, planned.moves, fence.run_id, target.publishing)
    return made.placed(context.warehouse).tables[0]


def _stored(field: Mapping[str, Any]) -> str:
    return str(field["physical_name"] if field.get("hidden") else field["name"])


def _named(rows: DataFrame, known: Known, *, with_hidden: bool = False) -> DataFrame:
    """The rows under the names that people give the columns, and the files that they are in."""
    from pyspark.sql import functions as F

    fields = known.schema["fields"] if with_hidden else shown(known.schema)["fields"]
    columns = (F.col(quote(field["physical_name"])).alias(_stored(field)) for field in fields)
    return rows.select(*columns, F.col("_metadata.file_path").alias("t_file"))


def _check(where: str) -> None:
    """Raise Invalid for a condition that is none, or that is not the same each time it is asked."""
    from sqlglot import exp, parse_one
    from sqlglot.errors import SqlglotError

    try:
        tree = parse_one(where, dialect="databricks", into=exp.Condition)
        restless = gives_other_rows_each_time(f"select 1 where {where}")
    except SqlglotError as error:
        raise Invalid(f"cannot read the condition {where!r}: {str(error).partition(chr(10))[0]}") from error
    if tree.find(exp.Query):
        raise Invalid(f"the condition {where!r} asks another table: read the values before, and name them")
    if restless:
        raise Invalid(f"the condition {where!r} asks the clock or chance: write the value itself")


def _parts(where: str, fields: Mapping[str, Mapping[str, Any]]) -> Iterator[Keys]:
    from sqlglot import exp, parse_one

    tree = parse_one(where, dialect="databricks")
    conditions = list(tree.flatten()) if isinstance(tree, exp.And) else [tree]
    for each in conditions:
        column = each.this if isinstance(each, exp.EQ | exp.LT | exp.LTE | exp.GT | exp.GTE | exp.Between | exp.In) else None
        field = fields.get(codec.fold(column.name)) if isinstance(column, exp.Column) and not column.table else None
        found = _range(each, field["type"]) if field else None
        if field and found:
            yield Keys(field["physical_name"], *found)


def _range(condition: exp.Expr, type_: Any) -> tuple[Any, Any] | None:
    """From where to where values lie for which a condition may be true; both ends are known, or it is of no use."""
    from sqlglot import exp

    if isinstance(condition, exp.Between):
        ends = [condition.args["low"], condition.args["high"]]
    elif isinstance(condition, exp.In):
        ends = list(condition.expressions)
    elif isinstance(condition, exp.EQ):
        ends = [condition.expression]
    else:
        return None
    values = [_value(end, type_) for end in ends]
    return (min(values), max(values)) if values and None not in values else None


def _value(literal: exp.Expr, type_: Any) -> Any:
    from sqlglot import exp

    if not isinstance(literal, exp.Literal):
        return None
    if literal.is_string:
        return literal.this if type_ == "string" else None
    if type_ in _INTEGERS and literal.this.isdigit():
        return int(literal.this)
    return Decimal(literal.this) if isinstance(type_, str) and type_.startswith("decimal") else None
