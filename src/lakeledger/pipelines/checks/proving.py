"""What files say of themselves, how many rows and NULLs they hold and between which values, decides expectations without a look at rows."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import cached_property, partial
from typing import Any

from lakeledger import codec
from lakeledger.lake import Bounds
from lakeledger.pipelines.checks.conditions import Column, Rows
from lakeledger.quality import Expectation
from lakeledger.quality.verdict import lies_between
from lakeledger.tables.schema import Schema

# A time without a zone is that of a session, whatever zone it has.
ANY_ZONE = timedelta(hours=14)
WHOLE_NUMBERS = ("byte", "short", "integer", "long")
# Their NaN is more than any number, but bounds leave it out.
FLOATING = ("float", "double")
# Not text, of which bounds are cut.
_ORDERED = ("number", "decimal", "date", "timestamp", "timestamp_ntz")


class Unproven(Exception):
    """The files do not say it."""


@dataclass(frozen=True)
class Facts:
    """What files say of their rows: how many there are, and for each file how many and the bounds of its columns, by physical names."""

    files: Sequence[tuple[int, Bounds]] = ()
    names: Mapping[str, str] = field(default_factory=dict)

    @staticmethod
    def of(files: Iterable[tuple[int, Bounds]], schema: Schema) -> Facts:
        """Those of a table with this schema."""
        return Facts(list(files), {each["name"]: each["physical_name"] for each in schema["fields"]})

    @cached_property
    def _physical(self) -> dict[str, str]:
        return {codec.fold(name): physical for name, physical in self.names.items()}

    @cached_property
    def rows(self) -> int:
        return sum(rows for rows, _ in self.files)

    def _bounds(self, name: str) -> list[tuple[int, Mapping[str, Any]]]:
        physical = self._physical.get(codec.fold(name))
        return [(rows, bounds.get(physical, {}) if physical else {}) for rows, bounds in self.files]

    def nulls(self, name: str) -> int:
        """How many rows have no value of a column. Raises Unproven."""
        try:
            return sum(bounds["nulls"] for _, bounds in self._bounds(name))
        except KeyError as error:
            raise Unproven from error

    def edges(self, side: str, name: str, type_: Any) -> list[Any]:
        """The least, or the greatest, value of each file that has values. Raises Unproven."""
        try:
            return [_value(bounds[side], type_) for rows, bounds in self._bounds(name) if bounds.get("nulls") != rows]
        except (KeyError, ValueError, TypeError, ArithmeticError) as error:
            raise Unproven from error


Proof = Callable[[Facts], Any]


def _value(plain: Any, type_: Any) -> Any:
    """A bound as Python has it. Raises ValueError, TypeError or ArithmeticError for what is none of that type."""
    match type_:
        case _ if type_ in WHOLE_NUMBERS and isinstance(plain, int):
            return plain
        case _ if type_ in FLOATING and isinstance(plain, int | float):
            return float(plain) + 0.0
        case "date":
            return date.fromisoformat(plain)
        case "timestamp":
            return codec.to_time(plain)
        case "timestamp_ntz":
            return datetime.fromisoformat(plain)
        case str() if type_.startswith("decimal") and isinstance(plain, str):
            return Decimal(plain)
    raise TypeError(f"{plain!r} is no {type_}")


def provable(expectation: Expectation, rows: Rows, told_of: Collection[str]) -> bool:
    """Whether files can say something of it: of whole rows, and columns that they tell of."""
    folded = {codec.fold(name) for name in told_of}
    return (
        expectation.where is None
        and expectation.action == "report"
        and rows.unset is None
        and all(codec.fold(name) in folded for name in expectation.columns)
    )


def missing(expectation: Expectation) -> Proof | None:
    """How many rows have no value, of the expectations of one column."""
    return partial(Facts.nulls, name=expectation.columns[0]) if len(expectation.columns) == 1 else None


def unexpected(expectation: Expectation, rows: Rows) -> Proof | None:
    """How many rows are unexpected, if they can be proven to be none, or NULLs alone; None where it would be no wonder if they cannot."""
    if len(expectation.columns) != 1:
        return None
    name, column = expectation.columns[0], rows.column(expectation.columns[0])
    if expectation.kind == "not_null":
        return lambda facts: facts.nulls(name)
    if expectation.kind == "null":
        return lambda facts: facts.rows - facts.nulls(name)
    bounds = _bounds(expectation, column)
    return partial(_none_but_nulls, name=name, column=column, expectation=expectation, bounds=bounds) if bounds else None


def _bounds(expectation: Expectation, column: Column) -> Mapping[str, Any] | None:
    """Between which values all have to lie; None if that is not all that is expected, or if some may lie elsewhere."""
    given = expectation.parameters
    if expectation.mostly not in (None, 1) or expectation.max_unexpected:
        return None
    if expectation.kind == "between" and column.family in _ORDERED:
        return None if column.type in FLOATING and given.get("max") is not None else given
    return _without_gaps(given["values"]) if expectation.kind == "in_set" and column.type in WHOLE_NUMBERS else None


def _without_gaps(values: Sequence[Any]) -> Mapping[str, int] | None:
    """Whole numbers one after the other as bounds; None if there are gaps between them, or they are something else."""
    if not values or not all(type(each) is int for each in values):
        return None
    least, greatest = min(values), max(values)
    return {"min": least, "max": greatest} if len(set(values)) == greatest - least + 1 else None


def _none_but_nulls(facts: Facts, name: str, column: Column, expectation: Expectation, bounds: Mapping[str, Any]) -> int:
    try:
        is_proven = _between(bounds, facts, name, column)
    except (TypeError, ValueError, ArithmeticError) as error:
        raise Unproven from error
    if not is_proven:
        raise Unproven
    return facts.nulls(name) if expectation.nulls == "fail" else 0


def _between(given: Mapping[str, Any], facts: Facts, name: str, column: Column) -> bool:
    """Whether all values lie between two."""
    exact = {side: _exact(bound, column) for side, bound in given.items()}
    for side in (side for side in ("min", "max") if exact.get(side) is not None):
        only = {key: value for key, value in exact.items() if key in (side, f"strict_{side}")}
        if not all(_lies(only, side, edge) for edge in facts.edges(side, name, column.type)):
            return False
    return True


def _exact(bound: Any, column: Column) -> Any:
    """A bound as SQL would compare it, or ValueError where it is not plain how."""
    if isinstance(bound, bool) or bound is None:
        return bound
    if column.family in ("number", "decimal"):
        if isinstance(bound, date):
            raise ValueError(bound)
        return Decimal(str(bound)) if column.type not in FLOATING else float(bound)
    if column.family == "date":
        return bound if type(bound) is date else date.fromisoformat(bound)
    return bound if isinstance(bound, datetime) else datetime.fromisoformat(str(bound))


def _lies(bound: Mapping[str, Any], side: str, edge: Any) -> bool:
    if isinstance(edge, datetime):
        if edge.tzinfo is None and bound[side].tzinfo:
            return False
        if edge.tzinfo and not bound[side].tzinfo:
            edge += -ANY_ZONE if side == "min" else ANY_ZONE
            bound = {**bound, side: bound[side].replace(tzinfo=UTC)}
    return lies_between(bound, edge)


def value(expectation: Expectation, rows: Rows) -> Proof | None:
    """The value of an aggregate that bounds are; None if they are not it."""
    column = rows.column(expectation.columns[0])
    side = {"min": "min", "max": "max", "freshness": "max"}.get(expectation.kind)
    if side is None or column.family not in _ORDERED or (side == "max" and column.type in FLOATING):
        return None
    return partial(_edge, side=side, name=expectation.columns[0], type_=column.type)


def _edge(facts: Facts, side: str, name: str, type_: Any) -> Any:
    found = facts.edges(side, name, type_)
    return (min(found) if side == "min" else max(found)) if found else None
