"""Rules over random rows, and what plain Python says of them: the oracle of what is set aside and why."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

from lakeledger.quality import Expectation

Row = tuple[Any, ...]
SCHEMA = "n int, i int, d double, s string, day date, m decimal(10,2)"
NAMES = ("n", "i", "d", "s", "day", "m")
NAN = float("nan")

INTS = st.sampled_from([None, -3, -1, 0, 1, 2, 5, 2**31 - 1])
DOUBLES = st.sampled_from([None, NAN, float("inf"), float("-inf"), -1.5, -0.0, 0.0, 0.1, 2.0, 1e300])
TEXTS = st.sampled_from([None, "", "a", "ab", "Ab ", "it's", "back\\slash", "ä€", "12", "1.5", "x\ny"])
DAYS = st.sampled_from([None, date(1970, 1, 1), date(2026, 1, 31), date(2026, 2, 1)])
DECIMALS = st.sampled_from([None, Decimal("-1.00"), Decimal("0.00"), Decimal("0.10"), Decimal("99999999.99")])
VALUES = {"i": INTS, "d": DOUBLES, "s": TEXTS, "day": DAYS, "m": DECIMALS}
ROWS = st.lists(st.tuples(INTS, DOUBLES, TEXTS, DAYS, DECIMALS), max_size=12)

# Conditions in SQL, and what they are in Python: None where one is NULL.
Condition = Callable[[dict[str, Any]], bool | None]


def _either(*values: bool | None) -> bool | None:
    return True if True in values else None if None in values else False


def _compared(left: Any, right: Any, how: Callable[[Any, Any], bool]) -> bool | None:
    """As Spark compares: NaN is equal to itself and greater than all others."""
    if left is None or right is None:
        return None
    return how(_ordered(left), _ordered(right))


def _compares(left: Any, right: Any, how: str) -> bool | None:
    """Two columns: whether they are the same can be said if one is NULL; if both are, nothing is said."""
    if (left is None) != (right is None) and how in ("=", "!="):
        return how == "!="
    return _compared(left, right, OPERATORS[how])


def _ordered(value: Any) -> Any:
    if isinstance(value, float | int | Decimal):
        return (1, 0) if value != value else (0, value)  # noqa: PLR0124 - NaN
    return value


SQL: dict[str, Condition] = {
    "i > 0": lambda row: _compared(row["i"], 0, operator.gt),
    "d >= 0 or s = 'a' -- a comment": lambda row: _either(_compared(row["d"], 0.0, operator.ge), _compared(row["s"], "a", operator.eq)),
    "length(s) > 1": lambda row: None if row["s"] is None else len(row["s"]) > 1,
    "i is not null": lambda row: row["i"] is not None,
    "m <> 0.10": lambda row: _compared(row["m"], Decimal("0.10"), operator.ne),
}
OPERATORS = {">": operator.gt, ">=": operator.ge, "=": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le}
REGEXES = ["^a", "b$", "^ab$", r"k\\s", r"\d+", r"[^\w]", "'"]


def _known(column: str) -> st.SearchStrategy[Any]:
    """Values to compare a column with."""
    return VALUES[column].filter(lambda value: value is not None)


def _bounds(column: str) -> st.SearchStrategy[Any]:
    return _known(column).filter(lambda value: not isinstance(value, float) or math.isfinite(value))


@st.composite
def rules(draw: st.DrawFn) -> dict[str, Any]:
    """A rule that sets rows aside."""
    kind = draw(
        st.sampled_from(["not_null", "null", "in_set", "not_in_set", "between", "matches", "not_matches", "length", "compare", "valid"])
    )
    column = draw(st.sampled_from(list(VALUES)))
    given: dict[str, Any] = {"column": column}
    match kind:
        case "in_set" | "not_in_set":
            given["values"] = draw(st.lists(_known(column), max_size=4))
        case "between":
            edges = sorted(draw(st.lists(_bounds(column), min_size=2, max_size=2)), key=_ordered)
            given |= {"min": edges[0], "max": edges[1], "strict_min": draw(st.booleans()), "strict_max": draw(st.booleans())}
        case "matches" | "not_matches":
            given |= {"column": "s", "regex": draw(st.sampled_from(REGEXES))}
        case "length":
            given |= {"column": "s", "min": draw(st.integers(0, 2)), "max": draw(st.integers(2, 4))}
        case "compare":
            columns = draw(st.sampled_from([("i", "m"), ("d", "i"), ("d", "m")]))
            given = {"columns": list(columns), "operator": draw(st.sampled_from(list(OPERATORS)))}
        case "valid":
            given = {"condition": draw(st.sampled_from(list(SQL)))}
    nulls = {"valid": ["fail", "pass"], "compare": [], "not_null": [], "null": []}.get(kind, ["ignore", "fail", "pass"])
    shared = {"nulls": draw(st.sampled_from([None, *nulls])), "where": draw(st.sampled_from([None, None, *SQL]))}
    return {kind: given, "action": "quarantine", **{name: value for name, value in shared.items() if value is not None}}


def is_unexpected(rule: Expectation, row: dict[str, Any]) -> bool:
    """What plain Python says of one row."""
    if rule.where is not None and SQL[rule.where](row) is not True:
        return False
    given = rule.parameters
    if rule.kind == "valid":
        held = SQL[given["condition"]](row)
        return held is False or (held is None and rule.nulls != "pass")
    if rule.kind == "compare":
        return _compares(row[rule.columns[0]], row[rule.columns[1]], given["operator"]) is False
    value = row[rule.columns[0]]
    if rule.kind in ("not_null", "null"):
        return (value is None) == (rule.kind == "not_null")
    if value is None:
        return rule.nulls == "fail"
    return not _expected(rule.kind, value, given)


def _expected(kind: str, value: Any, given: Any) -> bool:
    match kind:
        case "in_set" | "not_in_set":
            found = any(_ordered(value) == _ordered(_typed(each, value)) for each in given["values"])
            return (found or not given["values"]) if kind == "in_set" else not found
        case "between":
            low, high = _ordered(_typed(given["min"], value)), _ordered(_typed(given["max"], value))
            own = _ordered(value)
            return bool((own > low if given["strict_min"] else own >= low) and (own < high if given["strict_max"] else own <= high))
        case "matches" | "not_matches":
            return bool(re.search(given["regex"], value, re.ASCII)) == (kind == "matches")
        case _:
            return bool(given["min"] <= len(value) <= given["max"])


def _typed(bound: Any, value: Any) -> Any:
    if isinstance(value, float) and isinstance(bound, str):
        return float(bound)
    return date.fromisoformat(bound) if isinstance(value, date) else bound
