"""The row conditions of Great Expectations as SQL conditions of Spark."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from lakeledger.errors import Invalid

_OPERATORS = {"==": "=", "!=": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
# Its own small language: a column compared with a text, a number or a date, or not NULL.
_TEXT = re.compile(
    r"""\s*col\("(?P<column>[^"]+)"\)\s*
    (?:(?P<not_null>\.notnull\(\))
    |(?P<operator>==|!=|<=|>=|<|>)\s*
     (?:(?P<number>[+-]?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?)
     |(?P<date>date\()?(?:"(?P<double>[^"]*)"|'(?P<single>[^']*)')(?(date)\))))\s*""",
    re.VERBOSE | re.IGNORECASE,
)


def as_sql(condition: Any, parser: Any) -> str:
    """The condition in SQL. Raises Invalid, with the reason, for what cannot be said in it."""
    if isinstance(condition, Mapping):
        return _structured(condition, parser)
    if not isinstance(condition, str) or not condition.strip():
        raise Invalid(f"row_condition {condition!r} is no condition")
    if parser == "spark":
        return condition.strip()
    if parser in ("great_expectations", "great_expectations__experimental__", None) and condition.lstrip().startswith("col("):
        return _text(condition)
    if parser == "pandas":
        raise Invalid(f"row_condition {condition!r} is written for pandas: write it in SQL, with condition_parser spark")
    raise Invalid(f"row_condition {condition!r} cannot be read: write it in SQL, with condition_parser spark")


def name_sql(column: str) -> str:
    """A column's name as SQL has it."""
    return "`" + column.replace("`", "``") + "`"


def text_sql(text: str) -> str:
    """A text as SQL has it."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _structured(condition: Mapping[str, Any], parser: Any) -> str:
    match condition:
        case {"type": "pass_through", "pass_through_filter": str(text)}:
            return as_sql(text, parser or "spark")
        case {"type": "nullity", "column": {"name": str(column)}, "is_null": bool(is_null)}:
            return f"{name_sql(column)} is {'' if is_null else 'not '}null"
        case {"type": "comparison", "column": {"name": str(column)}, "operator": str(operator), "parameter": parameter}:
            return _comparison(column, operator, parameter)
        case {"type": "and" | "or" as word, "conditions": [_, *_] as parts}:
            return f" {word} ".join(f"({as_sql(each, parser)})" for each in parts)
    raise Invalid(f"row_condition {dict(condition)!r} cannot be read: write it in SQL, with condition_parser spark")


def _comparison(column: str, operator: str, parameter: Any) -> str:
    if operator in _OPERATORS:
        return f"{name_sql(column)} {_OPERATORS[operator]} {_literal(parameter)}"
    if operator in ("IN", "NOT_IN") and isinstance(parameter, list) and parameter:
        return f"{name_sql(column)} {'in' if operator == 'IN' else 'not in'} ({', '.join(_literal(each) for each in parameter)})"
    raise Invalid(f"row_condition compares {column} by {operator} {parameter!r}, which cannot be said in SQL")


def _literal(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str):
        return text_sql(value)
    raise Invalid(f"row_condition compares with {value!r}, which is neither a number nor a text")


def _text(condition: str) -> str:
    found = _TEXT.fullmatch(condition)
    if found is None:
        raise Invalid(f"row_condition {condition!r} cannot be read: write it in SQL, with condition_parser spark")
    column = name_sql(found["column"])
    if found["not_null"]:
        return f"{column} is not null"
    text = found["double"] if found["double"] is not None else found["single"]
    value = found["number"] or (f"date {text_sql(text)}" if found["date"] else text_sql(text))
    return f"{column} {_OPERATORS[found['operator']]} {value}"
