"""What of a source is new by its watermark: which slice of its rows is to be read, and where the source stands afterwards.

Values in, values out: a source asks its database what the plan needs to know, and renders the slice in its own SQL.

A load reads everything above the stored mark, up to the maximum that the source has when the load is planned. Rows that come in while it
is being read are above that, and wait for the next load. The mark that is stored is the maximum that was read, never the clock.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any, Literal

from lakeledger import codec
from lakeledger.errors import Invalid
from lakeledger.sync.kinds import NumberPosition, Position, TimestampPosition, WatermarkPosition
from lakeledger.sync.kinds.watermark import DATE, DECIMAL, INTEGER, NUMBERS, TEXT, TIMESTAMP, TIMESTAMP_NTZ, to_value, to_written

Nulls = Literal["refuse", "include", "skip"]
Lookback = timedelta | Decimal | int


@dataclass(frozen=True)
class Watermark:
    """The columns whose values only grow: the first tells what is new, each other one breaks the ties of those before it.

    `lookback` is how far below the mark is read again, for rows that are committed late: a time span, or a number for numbers; 0 reads
    only the ties of the mark again. `nulls` says what becomes of rows that have no watermark: they are refused, or read with the first
    load and never again, or skipped and counted. `start` is the first value of the first column that is wanted at all.
    """

    columns: tuple[str, ...]
    lookback: Lookback | None = None
    nulls: Nulls = "refuse"
    start: Any = None

    def __post_init__(self) -> None:
        folded = [codec.fold(name) for name in self.columns]
        if not folded or len(set(folded)) < len(folded):
            raise Invalid(f"a watermark names one column or several different ones, not {list(self.columns)}")
        if self.nulls not in ("refuse", "include", "skip"):
            raise Invalid(f"nulls of a watermark is refuse, include or skip, not {self.nulls!r}")
        if isinstance(self.lookback, bool) or _is_negative(self.lookback):
            raise Invalid(f"lookback is a time span such as 2h, or a number for a number column, and not negative: {self.lookback}")


@dataclass(frozen=True)
class Bound:
    """One end of a slice. It may have values for the first columns only: then the others do not matter."""

    values: tuple[Any, ...]
    inclusive: bool


@dataclass(frozen=True)
class Slice:
    """Rows by their watermark: between two bounds, and with `nulls` those without one, too. `types` says how each column is ordered."""

    columns: tuple[str, ...]
    types: tuple[str, ...]
    low: Bound | None = None
    high: Bound | None = None
    nulls: bool = False

    def contains(self, values: Sequence[Any]) -> bool:
        """Whether a row with these values belongs to it."""
        if any(value is None for value in values):
            return self.nulls
        given = tuple(values)
        return (self.low is None or _is_above(given, self.low)) and (self.high is None or _is_below(given, self.high))

    def written(self, bound: Bound | None) -> list[Any] | None:
        """A bound as it is kept in facts and details."""
        return None if bound is None else [to_written(type_, value) for type_, value in zip(self.types, bound.values, strict=False)]


@dataclass(frozen=True)
class Found:
    """What the source answers: its greatest watermark, None if no row has one, and how many rows have none."""

    highest: tuple[Any, ...] | None
    null_rows: int = 0


@dataclass(frozen=True)
class Planned:
    """What is to be read, and the mark afterwards; None if it stays.

    `repeats` says why rows may come that were read before; `skipped` counts those without a watermark that are left out.
    """

    slice: Slice
    mark: tuple[Any, ...] | None = None
    repeats: str | None = None
    skipped: int = 0


def plan(watermark: Watermark, types: Sequence[str], mark: tuple[Any, ...] | None, found: Found) -> Planned | None:
    """What is new above the mark, or None. Without a mark it is everything. Raises Invalid for rows without a watermark."""
    check(watermark, types)
    is_first = mark is None
    if found.null_rows and watermark.nulls == "refuse":
        raise Invalid(
            f"{_count(found.null_rows)} no value in {' or '.join(watermark.columns)}, and would never be read: fill it in, "
            f"or set nulls to 'include' (read with the first load only) or 'skip'"
        )
    with_nulls = is_first and watermark.nulls == "include"
    skipped = 0 if with_nulls else found.null_rows
    if found.highest is None:
        return None
    repeats = None
    if mark is None:
        low = None if watermark.start is None else Bound((to_value(types[0], watermark.start),), inclusive=True)
    elif watermark.lookback is None:
        low = Bound(mark, inclusive=False)
    else:
        low = Bound((_back(mark[0], types[0], watermark.lookback),), inclusive=True)
        repeats = f"lookback {_words(watermark.lookback)} reads rows again"
    slice_ = Slice(watermark.columns, tuple(types), low, Bound(found.highest, inclusive=True), with_nulls)
    if low is not None and not _is_above(found.highest, low):
        return None
    return Planned(slice_, found.highest if mark is None else max(mark, found.highest), repeats, skipped)


def plan_window(watermark: Watermark, types: Sequence[str], window: tuple[Any, Any], mark: tuple[Any, ...] | None) -> Planned:
    """A backfill: from the first value up to, but without, the second. The mark stays where it is. Raises Invalid."""
    check(watermark, types)
    first, last = (to_value(types[0], _in_zone(types[0], value)) for value in window)
    if not first < last:
        raise Invalid(f"the window from {window[0]} to {window[1]} is empty: its end is not part of it and must be after its beginning")
    slice_ = Slice(watermark.columns, tuple(types), Bound((first,), inclusive=True), Bound((last,), inclusive=False))
    start = None if watermark.start is None else to_value(types[0], watermark.start)
    was_read = mark is not None and first <= mark[0] and (start is None or last > start)
    return Planned(slice_, None, f"the window from {window[0]} reaches into what was loaded before" if was_read else None)


def check(watermark: Watermark, types: Sequence[str]) -> None:
    """Raise Invalid if the lookback does not go with the column's type."""
    lookback, first = watermark.lookback, watermark.columns[0]
    if lookback is None or (lookback == 0 and not isinstance(lookback, timedelta)):
        return
    fits = types[0] in ((TIMESTAMP, TIMESTAMP_NTZ, DATE) if isinstance(lookback, timedelta) else NUMBERS)
    if not fits:
        wanted = "a number" if types[0] in NUMBERS else "no lookback but 0" if types[0] == TEXT else "a time span such as 2h"
        raise Invalid(f"lookback {_words(lookback)} does not go with {first}, which is of type {types[0]}: give {wanted}")
    if isinstance(lookback, timedelta) and types[0] == DATE and lookback % timedelta(days=1):
        raise Invalid(f"lookback {_words(lookback)} does not go with {first}, which is a date: give whole days, for example 2d")


def to_position(watermark: Watermark, types: Sequence[str], mark: tuple[Any, ...]) -> Position:
    """The mark as it is stored: a single time or number as one, so that people can type it, and anything else as a watermark."""
    written = tuple(to_written(type_, value) for type_, value in zip(types, mark, strict=True))
    named = {"column": watermark.columns[0]}
    match tuple(types):
        case ("timestamp",):
            return TimestampPosition(mark[0], named)
        case ("integer",) if -(2**63) <= mark[0] < 2**63:
            return NumberPosition(mark[0], named)
    return WatermarkPosition(watermark.columns, written, tuple(types))


def to_mark(name: str, watermark: Watermark, types: Sequence[str], position: Position) -> tuple[Any, ...]:
    """The mark of a stored position. Raises Invalid if it is one of other columns or types than the source has now."""
    match position:
        case TimestampPosition():
            columns: tuple[Any, ...] = (position.extras.get("column", watermark.columns[0]),)
            values: tuple[Any, ...] = (position.at,)
        case NumberPosition():
            columns, values = (position.extras.get("column", watermark.columns[0]),), (position.value,)
        case WatermarkPosition():
            columns, values = position.columns, position.values
        case _:
            columns, values = (), ()
    if [codec.fold(str(each)) for each in columns] != [codec.fold(each) for each in watermark.columns]:
        raise Invalid(_moved_on(name, watermark, position))
    try:
        mark = tuple(to_value(type_, value) for type_, value in zip(types, values, strict=True))
    except Invalid as error:
        raise Invalid(f"{_moved_on(name, watermark, position)} ({error})") from error
    if to_position(watermark, types, mark).kind != position.kind:
        raise Invalid(_moved_on(name, watermark, position))
    return mark


def render(slice_: Slice, column: Callable[[int], str], literal: Callable[[int, Any], str]) -> str | None:
    """The slice as a SQL condition, None if it is everything. `column` and `literal` write the column, and a value of it, by its index.

    The first column is compared by itself, too: then any index on it is of use.
    """
    parts = [_compared(bound, sign, column, literal) for bound, sign in ((slice_.low, ">"), (slice_.high, "<")) if bound]
    present = [f"{column(index)} is not null" for index in range(len(slice_.columns))]
    if not parts and slice_.nulls:
        return None
    inside = " and ".join([*parts, *present])
    if not slice_.nulls:
        return inside
    return f"({inside}) or {' or '.join(f'{column(index)} is null' for index in range(len(slice_.columns)))}"


def _compared(bound: Bound, sign: str, column: Callable[[int], str], literal: Callable[[int, Any], str]) -> str:
    values = bound.values
    last = len(values) - 1
    terms = []
    for index in range(len(values)):
        ties = [f"{column(each)} = {literal(each, values[each])}" for each in range(index)]
        or_equal = "=" if bound.inclusive and index == last else ""
        terms.append(" and ".join([*ties, f"{column(index)} {sign}{or_equal} {literal(index, values[index])}"]))
    if len(terms) == 1:
        return terms[0]
    return f"{column(0)} {sign}= {literal(0, values[0])} and ({' or '.join(f'({term})' for term in terms)})"


def _is_above(values: tuple[Any, ...], bound: Bound) -> bool:
    given = values[: len(bound.values)]
    return bool(given >= bound.values if bound.inclusive else given > bound.values)


def _is_below(values: tuple[Any, ...], bound: Bound) -> bool:
    given = values[: len(bound.values)]
    return bool(given <= bound.values if bound.inclusive else given < bound.values)


def _back(value: Any, type_: str, lookback: Lookback) -> Any:
    if lookback == 0 and not isinstance(lookback, timedelta):
        return value
    try:
        back = value - (Decimal(lookback) if type_ == DECIMAL else lookback)  # type: ignore[arg-type]  # `check` has seen that they fit
    except OverflowError:  # Further back than there are times: from the first on.
        return {DATE: date.min, TIMESTAMP: datetime.min.replace(tzinfo=UTC)}.get(type_, datetime.min)  # noqa: DTZ901 - one without a zone
    return int(back) if type_ == INTEGER else back


def _is_negative(lookback: Lookback | None) -> bool:
    return lookback is not None and (lookback < timedelta(0) if isinstance(lookback, timedelta) else lookback < 0)


def _in_zone(type_: str, value: Any) -> Any:
    """A day where a time is wanted is its midnight; where the type has a zone, that of UTC."""
    if isinstance(value, str) and type_ in (TIMESTAMP, TIMESTAMP_NTZ) and len(value) == len("2026-01-31"):
        return f"{value}T00:00:00{'Z' if type_ == TIMESTAMP else ''}"
    if isinstance(value, date) and not isinstance(value, datetime) and type_ in (TIMESTAMP, TIMESTAMP_NTZ):
        return _in_zone(type_, value.isoformat())
    return value


def _moved_on(name: str, watermark: Watermark, position: Position) -> str:
    declared = ", ".join(watermark.columns)
    return (
        f"{name} stands at {position.document()}, which is no place in its watermark {declared}: load everything again with a full "
        f"refresh, or set a place with `lakeledger positions set {name} … --force --reason …`"
    )


def _count(rows: int) -> str:
    return "1 row has" if rows == 1 else f"{rows:,} rows have"


def _words(lookback: Lookback) -> str:
    return str(lookback)
