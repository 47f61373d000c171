"""What a statement compares columns with: SQLite, which finds every text greater than every number, would not cast it as Spark does."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from lakeledger import codec
from lakeledger.control.columns import JOBS, MODULES, SOURCES
from lakeledger.errors import Invalid

if TYPE_CHECKING:
    from sqlglot import exp

_KINDS = {name: columns.type(name) for columns in (SOURCES, MODULES, JOBS) for name in columns.names}
_WHOLE = re.compile(r"[+-]?\d+")


def cast_literals(tree: exp.Expr) -> None:
    """Bring every value that a column is compared with to the column's type. Raises Invalid where Spark would not cast it either."""
    for column, value in list(_compared(tree)):
        if (kind := _KINDS.get(codec.fold(column.name))) and (made := _cast(column.name, kind, value)) is not value:
            value.replace(made)


def _compared(tree: exp.Expr) -> Iterator[tuple[exp.Column, exp.Expr]]:
    """Every column with each literal that it is compared with."""
    from sqlglot import exp

    assignments = [id(item) for item in tree.expressions] if isinstance(tree, exp.Update) else []
    pairs = (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ)
    for node in tree.find_all(*pairs, exp.In, exp.Between):
        if id(node) in assignments:
            continue
        if isinstance(node, exp.In):
            sides = [(node.this, value) for value in node.expressions]
        elif isinstance(node, exp.Between):
            sides = [(node.this, node.args["low"]), (node.this, node.args["high"])]
        else:
            sides = [(node.this, node.expression), (node.expression, node.this)]
        yield from ((column, value) for column, value in sides if isinstance(column, exp.Column) and _is_literal(value))


def _is_literal(value: exp.Expr) -> bool:
    from sqlglot import exp

    inner = value.this if isinstance(value, exp.Neg) else value
    return isinstance(inner, exp.Literal | exp.Boolean)


def _cast(name: str, kind: str, value: exp.Expr) -> exp.Expr:
    from sqlglot import exp

    text = value.name if value.is_string else None
    match kind:
        case "integer" | "long":
            if text is not None and _WHOLE.fullmatch(text.strip()):
                return exp.Literal.number(int(text))
            fits = text is None and not isinstance(value, exp.Boolean)
            return _fitting(value, fits, f"{name} is a number: compare it with one")
        case "boolean":
            if text is not None and text.strip().lower() in ("true", "false"):
                return exp.Boolean(this=text.strip().lower() == "true")
            fits = isinstance(value, exp.Boolean) or (text is None and value.name in ("0", "1"))
            return _fitting(value, fits, f"{name} is true or false: compare it with that")
        case "timestamp":
            return exp.Literal.string(_time(name, text))
        case _:
            return _fitting(value, text is not None, f"{name} is a text: compare it with one, in quotes")


def _fitting(value: exp.Expr, fits: bool, wanted: str) -> exp.Expr:
    if not fits:
        raise Invalid(f"{wanted}, not with {value.sql(dialect='databricks')}")
    return value


def time_text(at: datetime) -> str:
    """A time as the statement sees it: text in the order of time."""
    return at.astimezone(UTC).replace(tzinfo=None).isoformat(" ", timespec="microseconds")


def _time(name: str, text: str | None) -> str:
    try:
        at = codec.to_time(text or "")
    except ValueError as error:
        raise Invalid(f"{name} is a time: compare it with one, for example '2026-01-31 12:00:00'") from error
    return time_text(at)
