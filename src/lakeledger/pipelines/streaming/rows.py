"""Dicts and Arrow tables brought to the columns of their table by the drift policy; rows that do not fit are found, with every reason."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain, groupby
from typing import TYPE_CHECKING, Any

from lakeledger import codec
from lakeledger.errors import Invalid
from lakeledger.pipelines.apply import Drift
from lakeledger.pipelines.apply.changes import RESCUED
from lakeledger.pipelines.drift import becomes
from lakeledger.pipelines.streaming.columns import arrow_schema, grown, schema_of
from lakeledger.pipelines.streaming.values import convert, errors, is_empty, misfits, text_of, type_of
from lakeledger.tables.schema import Schema, column_names, normalise, shown, type_text

if TYPE_CHECKING:
    import pyarrow as pa

# Rows that were gathered: dicts, one after the other, or a table of Arrow as `columns.as_table` gives it.
Piece = Any
# How many columns that a table does not have are reasons of their own: there may be any number of them.
NAMED_COLUMNS = 20
ANOTHER, NAMELESS = "another column", "a column without a name"


@dataclass(frozen=True)
class BadRow:
    """A row that the table does not get: its text, and every reason."""

    text: str
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class Fitted:
    """Rows as the table takes them, by the names of its columns, the table's schema after them, and those that it does not take."""

    schema: Schema
    table: pa.Table
    bad: list[BadRow] = field(default_factory=list)


def fit_rows(
    table: str, pieces: Sequence[Piece], known: Schema | None, declared: Schema | None, drift: Drift, required: Sequence[str]
) -> Fitted:
    """Bring all that was gathered to one set of columns. Raises Invalid.

    The first rows of a table say which columns it has, unless they are declared.
    """
    import pyarrow as pa

    policy = drift if known or declared else "evolve"
    schema = {"type": "struct", "fields": shown(known)["fields"]} if known else None
    schema = grown(table, schema, declared, policy) if declared else schema
    pieces = _joined(pieces)
    for piece in pieces:
        given = schema_of(piece.schema) if isinstance(piece, pa.Table) else _seen(piece, schema, policy)
        schema = grown(table, schema, given, policy)
    schema = _with_rescued(schema or {"type": "struct", "fields": []}) if drift == "rescue" else schema
    if not schema or not schema["fields"]:
        raise Invalid(f"the rows for {table} have no columns with values: declare them with schema=")
    parts = [_part(piece, schema, policy, required) for piece in pieces]
    return Fitted(schema, pa.concat_tables([part.table for part in parts]), [bad for part in parts for bad in part.bad])


def _joined(pieces: Sequence[Piece]) -> list[Piece]:
    """The pieces, with tables of the same columns that follow each other as one."""
    import pyarrow as pa

    def kind(piece: Piece) -> Any:
        return piece.schema.remove_metadata() if isinstance(piece, pa.Table) else None

    found = ((each, list(group)) for each, group in groupby(pieces, kind))
    return [joined for each, group in found for joined in ([pa.concat_tables(group).combine_chunks()] if each else group)]


def _part(piece: Piece, schema: Schema, drift: Drift, required: Sequence[str]) -> Fitted:
    import pyarrow as pa

    look = _Look(schema, drift)
    table = look.of_table(piece) if isinstance(piece, pa.Table) else look.of_dicts(piece)
    look.require(table, required)
    if not look.reasons:
        return Fitted(schema, table)
    keep = pa.array([number not in look.reasons for number in range(len(table))])
    given = piece.take(pa.array(sorted(look.reasons))).to_pylist() if isinstance(piece, pa.Table) else None
    rows = given or [piece[number] for number in sorted(look.reasons)]
    bad = [BadRow(text_of(row), tuple(dict.fromkeys(look.reasons[number]))) for row, number in zip(rows, sorted(look.reasons), strict=True)]
    return Fitted(schema, table.filter(keep), bad)


class _Look:
    """One look at rows of a piece: what is wrong with which, and what of them is rescued, by their numbers."""

    def __init__(self, schema: Schema, drift: Drift) -> None:
        self.schema = schema
        self.arrow = arrow_schema(schema)
        self.drift = drift
        self.reasons: dict[int, list[str]] = defaultdict(list)
        self.rescued: dict[int, dict[str, Any]] = defaultdict(dict)

    def of_dicts(self, rows: Sequence[dict[str, Any]]) -> pa.Table:
        """The rows as a table. Of each column all values are converted at once; only where that fails, the ones to blame are looked for."""
        rows, names = self._under_names(rows)
        self._unknown(rows, names)
        columns = [self._values([row.get(each.name) for row in rows], each) for each in self.arrow]
        return self._whole(columns, len(rows))

    def of_table(self, table: pa.Table) -> pa.Table:
        """The rows of a table with the columns of ours."""
        import pyarrow as pa

        given = {codec.fold(name): table.column(number) for number, name in enumerate(table.column_names)}
        types = {codec.fold(each["name"]): each["type"] for each in schema_of(table.schema)["fields"]}
        columns = []
        for each, known in zip(self.arrow, self.schema["fields"], strict=True):
            column = given.pop(codec.fold(each.name), None)
            if column is None:
                columns.append(pa.nulls(len(table), each.type))
            elif becomes(types[codec.fold(each.name)], known["type"], self.drift) == "rescued":
                columns.append(self._values(column.to_pylist(), each))
            else:
                columns.append(column.cast(each.type))
        if self.drift == "rescue":
            for key, column in given.items():
                self._rescue(next(name for name in table.column_names if codec.fold(name) == key), column.to_pylist())
        return self._whole(columns, len(table))

    def require(self, table: pa.Table, names: Sequence[str]) -> None:
        """Note rows that have NULL where they must not; a value that does not fit is none, and has its reason already."""
        import pyarrow.compute as pc

        known = {codec.fold(name): name for name in table.column_names}
        for name in names:
            own = known.get(codec.fold(name))
            column = table.column(own) if own else None
            if column is not None and not column.null_count:
                continue
            empty = pc.indices_nonzero(column.is_null()).to_pylist() if column is not None else range(len(table))
            for number in empty:
                if _misfit(own or name, self.schema) not in self.reasons.get(number, ()):
                    self.reasons[number].append(f"{own or name} is NULL")

    def _under_names(self, rows: Sequence[dict[str, Any]]) -> tuple[Sequence[dict[str, Any]], set[str]]:
        """The rows with keys spelled as the table spells its columns, and all keys. One that has a column twice is bad."""
        keys: set[Any] = set().union(*rows)
        spelled = {codec.fold(name): name for name in column_names(self.schema)}
        renamed = {key: spelled.get(codec.fold(str(key)), str(key)) for key in keys}
        if all(key == name for key, name in renamed.items()):
            return rows, keys
        made = [{renamed[key]: value for key, value in row.items()} for row in rows]
        for number, (before, after) in enumerate(zip(rows, made, strict=True)):
            if len(after) < len(before):
                self.reasons[number].append("it has columns that differ only in case")
        return made, set(renamed.values())

    def _unknown(self, rows: Sequence[dict[str, Any]], keys: set[str]) -> None:
        """What becomes of values that the table has no column for."""
        unknown = sorted(keys.difference(self.arrow.names))
        if not unknown or self.drift == "drop":
            return
        named, every = set(unknown[:NAMED_COLUMNS]), set(unknown)
        problem = "is nothing that a table keeps" if self.drift == "evolve" else "is new"
        for number, row in enumerate(rows):
            for key in sorted(every.intersection(row)):
                if is_empty(row[key]):
                    continue
                if self.drift == "rescue":
                    self.rescued[number][key] = row[key]
                else:
                    self.reasons[number].append(f"{(key or NAMELESS) if key in named else ANOTHER} {problem}")

    def _values(self, values: list[Any], each: pa.Field) -> pa.Array:
        import pyarrow as pa

        try:
            return convert(values, each.type)
        except errors():
            for number in misfits(values, each.type):
                if self.drift == "rescue" and each.name != RESCUED:
                    self.rescued[number][each.name] = values[number]
                else:
                    self.reasons[number].append(_misfit(each.name, self.schema))
                values[number] = None
            return pa.array(values, each.type)

    def _rescue(self, name: str, values: list[Any]) -> None:
        for number, value in enumerate(values):
            if value is not None:
                self.rescued[number][name] = value

    def _whole(self, columns: list[pa.Array], length: int) -> pa.Table:
        import pyarrow as pa

        if self.rescued:
            place = self.arrow.get_field_index(RESCUED)
            before = columns[place].to_pylist()
            told = [text_of(self.rescued[number]) if number in self.rescued else before[number] for number in range(length)]
            columns[place] = pa.array(told, self.arrow.field(place).type)
        return pa.table(columns, schema=self.arrow)


def _seen(rows: Sequence[dict[str, Any]], schema: Schema | None, drift: Drift) -> Schema:
    """The columns of dicts that a table gets by them, with the types of their values; what has none is looked at row by row later."""
    if drift != "evolve":
        return {"type": "struct", "fields": []}
    known = {codec.fold(name) for name in column_names(schema)} if schema else set()
    names = {codec.fold(str(key)): key for key in dict.fromkeys(chain.from_iterable(rows))}
    fields = [{"name": str(key), "type": type_} for name, key in names.items() if name not in known and (type_ := type_of(rows, key))]
    return normalise({"fields": fields})


def _misfit(name: str, schema: Schema) -> str:
    type_ = next((each["type"] for each in schema["fields"] if each["name"] == name), "string")
    return f"{name} is not {type_text(type_)}"


def _with_rescued(schema: Schema) -> Schema:
    if RESCUED in column_names(schema):
        return schema
    return {**schema, "fields": [*schema["fields"], *normalise({"fields": [{"name": RESCUED, "type": "string"}]})["fields"]]}
