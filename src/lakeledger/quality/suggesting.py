"""A starter suite for a table: what its statistics and its history say that has held so far."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation
from itertools import pairwise
from typing import Any

from lakeledger.quality.model import Expectation, Suite, expect
from lakeledger.tables.model import DataFile, TableMetadata
from lakeledger.tables.schema import HISTORY, shown

INTEGERS = ("byte", "short", "integer", "long")
# Up to so large a share of NULLs, a column is taken for one that has a value as a rule.
MOST_NULLS = 0.05
# A column with at most so many values, each of them seen so often, is taken for one that has no others.
MOST_VALUES, SEEN_OFTEN = 20, 10
# With fewer rows, what holds for all of them says little; so it does with fewer loads.
FEWEST_ROWS, FEWEST_LOADS = 20, 3
# What texts may look like as a whole: name, regular expression.
SHAPES = {
    "uuid": "^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$",
    "email": "^[^@\\s]+@[^@\\s]+\\.[^@\\s]+$",
    "iso_date": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$",
}


@dataclass(frozen=True)
class ColumnFacts:
    """What is known of a column. `nulls` and the bounds are None if a file says nothing of them.

    `values` are all that it has, or None if nobody looked or there are many; `shape` is the one of SHAPES that all its texts have.
    """

    name: str
    type: str
    nulls: int | None = None
    least: Any = None
    greatest: Any = None
    values: tuple[str, ...] | None = None
    shape: str | None = None


@dataclass(frozen=True)
class Load:
    """What one load brought."""

    rows: int
    operation: str
    at: datetime


@dataclass(frozen=True)
class TableFacts:
    """What is known of a table without reading its rows, or with."""

    table: str
    rows: int
    columns: tuple[ColumnFacts, ...]
    keys: tuple[str, ...] = ()
    loads: tuple[Load, ...] = ()


def facts_of(table: str, metadata: TableMetadata, files: Iterable[DataFile], loads: Sequence[Load]) -> TableFacts:
    """What the files of a table, one after the other, say of it: rows, NULLs and bounds of its columns."""
    fields = [field for field in shown(metadata.schema)["fields"] if field["name"] not in HISTORY]
    seen: dict[str, _Sum] = {field["physical_name"]: _Sum(_plain_type(field["type"])) for field in fields}
    rows = 0
    for file in files:
        rows += file.row_count
        for name, each in seen.items():
            each.add(file.column_bounds.get(name, {}), file.row_count)
    columns = tuple(seen[field["physical_name"]].facts(field["name"]) for field in fields)
    named = {field["physical_name"]: field["name"] for field in fields}
    return TableFacts(table, rows, columns, tuple(named[key] for key in metadata.keys if key in named), tuple(loads))


def with_values(facts: TableFacts, seen: Mapping[str, ColumnFacts]) -> TableFacts:
    """The same with what somebody who read the rows found out of some columns."""
    return replace(facts, columns=tuple(replace(each, **_looked(seen[each.name])) if each.name in seen else each for each in facts.columns))


def suggest(facts: TableFacts, now: datetime) -> Suite:
    """A suite that the table as it is would pass, with some room for what is yet to come."""
    found = [*_of_table(facts), *(each for column in facts.columns for each in _of_column(facts, column, now))]
    rows = f"{facts.rows:,} {'row' if facts.rows == 1 else 'rows'}"
    loads = f" and {len(facts.loads)} loads" if facts.loads else ""
    said = f"Suggested from {rows} of {facts.table}{loads}; look at each before you rely on it."
    return Suite(facts.table, tuple(found), description=said)


def _of_table(facts: TableFacts) -> Iterable[Expectation]:
    yield expect("columns", names=[each.name for each in facts.columns], exact=False)
    if facts.keys:
        yield expect("unique", *facts.keys)
    if (least := _fewest(facts)) is not None:
        loads = f"The fewest rows of {len(facts.loads)} loads were {min(each.rows for each in facts.loads):,}." if facts.loads else None
        yield expect("row_count", min=least, severity="warning", description=loads)


def _fewest(facts: TableFacts) -> int | None:
    """How many rows there should be at least, in a load and so in the table; None if loads without any are usual."""
    if len(facts.loads) < FEWEST_LOADS:
        return 1 if facts.rows else None
    fewest = min(each.rows for each in facts.loads)
    return max(1, fewest // 2) if fewest else None


def _of_column(facts: TableFacts, column: ColumnFacts, now: datetime) -> Iterable[Expectation]:
    if not facts.rows:
        return
    if column.nulls == 0:
        yield expect("not_null", column.name)
    elif column.nulls is not None and facts.rows >= FEWEST_ROWS and column.nulls / facts.rows <= MOST_NULLS:
        yield expect("not_null", column.name, mostly=_share(1 - 2 * column.nulls / facts.rows), severity="warning")
    if column.values and facts.rows >= SEEN_OFTEN * len(column.values):
        yield expect("in_set", column.name, values=list(column.values), severity="warning")
    elif column.shape and facts.rows >= FEWEST_ROWS:
        yield expect("matches", column.name, regex=SHAPES[column.shape], severity="warning")
    if _is_number(column.type) and isinstance(column.least, Decimal) and column.least >= 0:
        yield expect("between", column.name, min=0, severity="warning")
    if (age := _freshness(facts, column, now)) is not None:
        yield expect("freshness", column.name, max_age=age, severity="warning")


def _freshness(facts: TableFacts, column: ColumnFacts, now: datetime) -> str | None:
    """How old the newest time may be, if it follows the loads; None if the column says something else, or there are too few loads."""
    if column.type != "timestamp" or not isinstance(column.greatest, datetime) or len(facts.loads) < FEWEST_LOADS:
        return None
    times = sorted(each.at for each in facts.loads)
    longest = max(later - earlier for earlier, later in pairwise(times))
    behind = times[-1] - column.greatest
    if behind < -timedelta(hours=1) or behind > max(longest, timedelta(hours=1)) or now < times[-1]:
        return None
    hours = math.ceil(2 * (longest + max(behind, timedelta(0))) / timedelta(hours=1))
    return f"{max(1, hours)}h"


class _Sum:
    """The NULLs and bounds of a column over files."""

    def __init__(self, type_: str) -> None:
        self.type = type_
        self.nulls: int | None = 0
        self.bounds: tuple[Any, Any] | None = None
        self.is_bounded = True

    def add(self, bounds: Mapping[str, Any], rows: int) -> None:
        nulls = bounds.get("nulls")
        self.nulls = self.nulls + nulls if self.nulls is not None and nulls is not None else None if rows else self.nulls
        if nulls == rows:
            return
        low, high = (_value(self.type, bounds.get(side)) for side in ("min", "max"))
        if low is None or high is None:
            self.is_bounded = self.is_bounded and not rows
        else:
            self.bounds = (min(self.bounds[0], low), max(self.bounds[1], high)) if self.bounds else (low, high)

    def facts(self, name: str) -> ColumnFacts:
        least, greatest = self.bounds if self.bounds and self.is_bounded else (None, None)
        return ColumnFacts(name, self.type, self.nulls, least, greatest)


def _value(type_: str, bound: Any) -> Any:
    """A bound as a value that compares: a number or a time; None for what is neither."""
    try:
        if bound is None or isinstance(bound, bool):
            return None
        if _is_number(type_):
            return Decimal(str(bound))
        if type_ == "timestamp":
            at = datetime.fromisoformat(str(bound))
            return at if at.tzinfo else at.replace(tzinfo=UTC)
    except (InvalidOperation, ValueError):
        return None
    return None


def _looked(found: ColumnFacts) -> dict[str, Any]:
    return {"values": found.values, "shape": found.shape, **({"nulls": found.nulls} if found.nulls is not None else {})}


def _plain_type(type_: Any) -> str:
    return type_ if isinstance(type_, str) else "nested"


def _is_number(type_: str) -> bool:
    return type_ in (*INTEGERS, "float", "double") or re.fullmatch(r"decimal(\(.*\))?", type_) is not None


def _share(value: float) -> float:
    """A share with two digits, and a little room."""
    return max(0.0, math.floor(value * 100) / 100)
