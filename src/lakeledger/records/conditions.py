"""Conditions on what is inside a record, as SQL of each database. Values of another type than what is asked for never match."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lakeledger.db.queries import Query, to_pyformat
from lakeledger.records.query import Condition

PLACE = "/* conditions */"


def applied(dialect: str, query: Query, where: Sequence[Condition]) -> tuple[Query, dict[str, Any]]:
    """The statement with these conditions at their place, and the values that they are compared with."""
    if not where:
        return query, {}
    write = _postgres if dialect == "postgres" else _sqlite
    texts: list[str] = []
    values: dict[str, Any] = {}
    for number, condition in enumerate(where):
        texts.append(f"and {write(condition, number)}")
        values[f"path_{number}"] = _path(dialect, condition)
        if condition.value is not None:
            values[f"value_{number}"] = condition.value
    said = " ".join(texts)
    whole = query.text(dialect).replace(PLACE, to_pyformat(said) if dialect == "postgres" else said)
    return Query(query.name, {dialect: whole}), values


def _path(dialect: str, condition: Condition) -> str:
    names = [f'"{name}"' for name in condition.keys[1:]]
    return "{" + ",".join(names) + "}" if dialect == "postgres" else "$." + ".".join(names)


def _sqlite(condition: Condition, number: int) -> str:
    column, path, value = condition.keys[0], f":path_{number}", f":value_{number}"
    found = f"json_extract({column}, {path})"
    if condition.value is None:
        return f"{found} is {'' if condition.op == '=' else 'not '}null"
    match condition.value:
        case bool():
            types = "'true', 'false'"
        case str():
            types = "'text'"
        case _:
            types = "'integer', 'real'"
    compared = f"coalesce(json_type({column}, {path}) in ({types}) and {found} {_op(condition)} {value}, false)"
    return f"not {compared}" if condition.op == "!=" else compared


def _postgres(condition: Condition, number: int) -> str:
    column, path, value = condition.keys[0], f"cast(:path_{number} as text[])", f":value_{number}"
    found = f"({column} #> {path})"
    if condition.value is None:
        return f"coalesce(jsonb_typeof({found}), 'null') {'=' if condition.op == '=' else '<>'} 'null'"
    match condition.value:
        case bool():
            compared = f"{found} = to_jsonb(cast({value} as boolean))"
        case str():
            # In the order of code points, as everywhere else, and not in that of the server's language.
            said = f'(({column} #>> {path}) collate "C")'
            compared = f"jsonb_typeof({found}) = 'string' and {said} {_op(condition)} cast({value} as text)"
        case _:
            compared = f"jsonb_typeof({found}) = 'number' and {found} {_op(condition)} to_jsonb(cast({value} as numeric))"
    compared = f"coalesce({compared}, false)"
    return f"not {compared}" if condition.op == "!=" else compared


def _op(condition: Condition) -> str:
    return "=" if condition.op == "!=" else condition.op
