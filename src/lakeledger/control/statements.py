"""One SQL statement on the control table, as people write it for Spark: read, checked, and said again for SQLite."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from lakeledger import codec
from lakeledger.config import suggest
from lakeledger.control.columns import MODULES, SOURCES, TIMES, Columns
from lakeledger.control.comparisons import cast_literals, time_text
from lakeledger.errors import Invalid

if TYPE_CHECKING:
    from sqlglot import exp

_SHAPES = {
    "INSERT": "INSERT INTO table VALUES (…), or INSERT INTO table (columns) VALUES (…)",
    "UPDATE": "UPDATE table SET column = value WHERE …",
    "DELETE": "DELETE FROM table WHERE …",
}
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

Kind = Literal["INSERT", "UPDATE", "DELETE", "SELECT"]

LONGEST = 1_000_000
_BEGINS = {
    "INSERT": "INSERT",
    "UPDATE": "UPDATE",
    "DELETE": "DELETE",
    "SELECT": "SELECT",
    "WITH": "SELECT",
    "FROM": "SELECT",
    "(": "SELECT",
}
# What a statement may be made of; whatever else was said (OVERWRITE, FROM, RETURNING, …) would be ignored or mean something else.
_PARTS: dict[str, tuple[str, ...]] = {
    "INSERT": ("this", "expression", "with_"),
    "UPDATE": ("this", "expressions", "where"),
    "DELETE": ("this", "where"),
}
_UNITS = {name: (1, name) for name in ("second", "minute", "hour", "day", "month", "year")} | {"week": (7, "day")}


@dataclass(frozen=True)
class Statement:
    """A statement that may be run: `text` is for SQLite, where `:now` is the time of the commit; a write changes its `target`."""

    kind: Kind
    text: str
    target: Columns = SOURCES


def parse(text: str, name: str, *, has_jobs: bool = False) -> Statement:
    """Check one statement on the control table of that name. Raises Invalid that says what is allowed."""
    from sqlglot import exp

    tree = _read(text)
    kind: Kind = _kind(tree)
    tables = {name: SOURCES, f"{name}_modules": MODULES, **({f"{name}_jobs": None} if has_jobs else {})}
    _check_tables(tree, tables)
    cast_literals(tree)
    if kind == "SELECT":
        return Statement(kind, _for_sqlite(tree))
    table = tree.this.this if isinstance(tree.this, exp.Schema) else tree.this
    if not isinstance(table, exp.Table) or table.name not in tables:
        raise Invalid(f"cannot read the statement: {_SHAPES[kind]}")
    target = tables[table.name]
    if target is None:
        raise Invalid(f"{table.name} cannot be written: it says which job belongs to which module, and lakeledger keeps it")
    _check_parts(tree, kind)
    if isinstance(tree, exp.Insert):
        _name_columns(tree, target)
    if isinstance(tree, exp.Update):
        _check_assignments(tree, target)
    return Statement(kind, _for_sqlite(tree), target)


def _read(text: str) -> exp.Expr:
    """The one statement in the text."""
    import sqlglot
    from sqlglot.errors import SqlglotError

    if len(text) > LONGEST:
        raise Invalid(f"the statement has {len(text)} characters, more than {LONGEST}: load YAML instead")
    try:
        tokens = sqlglot.tokenize(text, read="databricks")
        ends = [index for index, token in enumerate(tokens) if token.token_type == sqlglot.TokenType.SEMICOLON]
        words = tokens[: ends[0]] if ends else tokens
        if not words:
            raise Invalid("there is no statement: give one INSERT, UPDATE, DELETE or SELECT")
        if any(token.token_type != sqlglot.TokenType.SEMICOLON for token in tokens[len(words) :]):
            raise Invalid("give one statement at a time: each is one commit")
        if words[0].text.upper() not in _BEGINS:
            raise Invalid(
                f"{words[0].text.upper()} does not run here: only INSERT, UPDATE, DELETE and SELECT do; anything else, with Spark SQL"
            )
        (tree,) = (tree for tree in sqlglot.parse(text, read="databricks") if tree is not None)
    except SqlglotError as error:
        raise Invalid(f"cannot read the statement: {_reason(error)}") from error
    except RecursionError as error:
        raise Invalid("cannot read the statement: it is nested too deeply") from error
    return tree


def _kind(tree: exp.Expr) -> Kind:
    from sqlglot import exp

    kinds: list[tuple[Any, Kind]] = [(exp.Insert, "INSERT"), (exp.Update, "UPDATE"), (exp.Delete, "DELETE"), (exp.Query, "SELECT")]
    found = next((kind for type_, kind in kinds if isinstance(tree, type_)), None)
    if found is None:
        raise Invalid("only INSERT, UPDATE, DELETE and SELECT run here; anything else, with Spark SQL")
    if any(node is not tree for node in tree.find_all(exp.Insert, exp.Update, exp.Delete, exp.Into, exp.Command, exp.Create, exp.Drop)):
        raise Invalid(f"a {found} cannot hold another statement: give one at a time")
    return found


def _check_tables(tree: exp.Expr, tables: Mapping[str, Columns | None]) -> None:
    """Every table is one of ours, or a common table expression; each is then called by its own name alone."""
    from sqlglot import exp

    common = {codec.fold(cte.alias) for cte in tree.find_all(exp.CTE)}
    for table in list(tree.find_all(exp.Table)):
        if not isinstance(table.this, exp.Identifier):
            raise Invalid(f"a statement reads the control table, not {table.sql(dialect='databricks')}")
        if table.args.get("version") or table.args.get("when"):
            raise Invalid("earlier versions are not read here: look at the history, and compare two versions with a diff")
        if not table.db and codec.fold(table.name) in common:
            continue
        known = _matched(table.name, tables)
        table.set("this", exp.to_identifier(known))
        for part in ("db", "catalog"):
            table.set(part, None)
    for column in tree.find_all(exp.Column):
        for part in ("db", "catalog"):
            column.set(part, None)


def _matched(name: str, tables: Mapping[str, Any]) -> str:
    found = next((table for table in tables if codec.fold(table) == codec.fold(name)), None)
    if found is None:
        if name.endswith("_jobs"):
            raise Invalid(f"{name} cannot be read or written here: which job belongs to which module is in the ledger")
        raise Invalid(f"there is no table {name!r} here, only {' and '.join(tables)}{suggest(name, list(tables))}")
    return found


def _check_parts(tree: exp.Expr, kind: str) -> None:
    unknown = [part.strip("_") for part, value in tree.args.items() if value and part not in _PARTS[kind]]
    if unknown:
        raise Invalid(f"{kind} … {unknown[0].upper().replace('_', ' ')} does not run here: use Spark SQL, or several statements")


def _name_columns(tree: exp.Expr, target: Columns) -> None:
    """Say which columns an INSERT fills: all, or all but the two times, unless it names them itself."""
    from sqlglot import exp

    values = tree.expression
    if isinstance(tree.this, exp.Schema):
        names: Sequence[str] = [column.name for column in tree.this.expressions]
        _check_names(names, target)
    else:
        names = _by_count(values, target)
        columns = [exp.to_identifier(name) for name in names]
        tree.set("this", exp.Schema(this=tree.this, expressions=columns))
    if not isinstance(values, exp.Values):
        return
    for row in values.expressions:
        given = row.expressions if isinstance(row, exp.Tuple) else [row]
        if len(given) != len(names):
            raise Invalid(f"a row has {len(given)} values for {len(names)} columns ({', '.join(names)})")
        for name, value in zip(names, given, strict=True):
            if isinstance(value, exp.Var) and value.name.upper() == "DEFAULT":
                value.replace(exp.maybe_parse(target.defaults.get(codec.fold(name), "NULL"), dialect="databricks"))


def _by_count(values: exp.Expr, target: Columns) -> Sequence[str]:
    from sqlglot import exp

    if isinstance(values, exp.Values):
        first = values.expressions[0]
        count = len(first.expressions) if isinstance(first, exp.Tuple) else 1
    elif isinstance(values, exp.Query) and not values.is_star:
        count = len(values.selects)
    else:
        count = len(target.names)
    for names in (target.said, target.names):
        if len(names) == count:
            return names
    raise Invalid(
        f"{count} values do not fit: give {len(target.said)} ({', '.join(target.said)}), {len(target.names)} with {' and '.join(TIMES)}, "
        "or name the columns"
    )


def _check_names(names: Sequence[str], target: Columns) -> None:
    folded = [codec.fold(name) for name in names]
    for name in names:
        if codec.fold(name) not in target.names:
            raise Invalid(f"there is no column {name!r}{suggest(name, list(target.names))}")
        if folded.count(codec.fold(name)) > 1:
            raise Invalid(f"the column {name} is named more than once")


def _check_assignments(tree: exp.Expr, target: Columns) -> None:
    from sqlglot import exp

    assigned = [item.this for item in tree.expressions]
    if not all(isinstance(item, exp.EQ) and isinstance(item.this, exp.Column) for item in tree.expressions):
        raise Invalid("an UPDATE sets columns: SET column = value, …")
    _check_names([column.name for column in assigned], target)
    for item in tree.expressions:
        name = codec.fold(item.this.name)
        if name in TIMES and not (name == "updated_timestamp" and isinstance(item.expression, exp.CurrentTimestamp)):
            raise Invalid(f"{name} cannot be set: it is the time of the commit")
        item.this.set("table", None)  # SQLite knows no `SET t.column = …`


def _for_sqlite(tree: exp.Expr) -> str:
    from sqlglot import ErrorLevel, exp
    from sqlglot.errors import SqlglotError

    for sum_ in list(tree.find_all(exp.Add, exp.Sub)):
        if isinstance(sum_.expression, exp.Interval):
            sum_.replace(_shifted(sum_, sum_.expression))
    for node in _times(tree):
        node.replace(_as_text(node))
    for part in list(tree.find_all(exp.JSONExtract)):
        part.replace(exp.JSONExtractScalar(this=part.this, expression=part.expression))  # a text without quotes, as in Spark
    for name in tree.find_all(exp.Identifier):
        # A quoted name that SQLite does not know is a text to it, and a misspelt column would match nothing without a word.
        name.set("quoted", not _PLAIN.fullmatch(name.name))
    try:
        return tree.sql(dialect="sqlite", unsupported_level=ErrorLevel.RAISE)
    except SqlglotError as error:
        raise Invalid(f"this does not run without Spark: {_reason(error)}") from error


def _times(tree: exp.Expr) -> Iterator[exp.Expr]:
    from sqlglot import exp

    yield from list(tree.find_all(exp.CurrentTimestamp, exp.Localtimestamp))
    yield from [cast for cast in tree.find_all(exp.Cast) if cast.is_type("timestamp", "timestamptz", "timestampltz", "timestampntz")]


def _as_text(node: exp.Expr) -> exp.Expr:
    """A time as SQLite is to see it: SQLite has none, and would make a number of it."""
    from sqlglot import exp

    if not isinstance(node, exp.Cast):
        return exp.Placeholder(this="now")
    inner: exp.Expr = node.this
    if not inner.is_string:
        return inner
    try:
        return exp.Literal.string(time_text(codec.to_time(inner.name)))
    except ValueError as error:
        raise Invalid(f"{inner.name!r} is no timestamp: write 2026-01-31 12:00:00") from error


def _shifted(node: exp.Expr, interval: exp.Interval) -> exp.Expr:
    """A time, some units later or earlier, in SQLite's way."""
    from sqlglot import exp

    amount, unit = interval.this, str(interval.unit or "").lower().rstrip("s")
    if unit not in _UNITS or not amount or not amount.is_string or not amount.name.isdigit():
        raise Invalid(f"{interval.sql(dialect='databricks')} does not run without Spark: write INTERVAL 2 DAY, or HOUR, MONTH, …")
    many = int(amount.name) * _UNITS[unit][0] * (-1 if isinstance(node, exp.Sub) else 1)
    text = [exp.Literal.string("%Y-%m-%d %H:%M:%f"), node.this, exp.Literal.string(f"{many:+d} {_UNITS[unit][1]}")]
    return exp.Anonymous(this="strftime", expressions=text)


def _reason(error: Exception) -> str:
    """The first line of what sqlglot says; the others only underline the place, in colours."""
    return str(error).strip().partition("\n")[0].rstrip(".")
