"""From what was seen to verdicts: pure rules, the same whether rows were looked at as they were written or in a table."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from decimal import Decimal
from fractions import Fraction
from typing import Any

from lakeledger import clock, codec
from lakeledger.quality.model import CheckResult, Expectation

# How many different unexpected values are kept.
SAMPLE = 5


@dataclass(frozen=True)
class Seen:
    """What was seen for one expectation: the rows looked at, those of them without a value, which no share counts, and the unexpected.

    `value` is that of an aggregate; None if there was nothing to aggregate. `error` says why nothing could be seen.
    """

    elements: int | None = None
    missing: int = 0
    unexpected: int | None = None
    value: Any = None
    observed: Mapping[str, Any] = field(default_factory=dict)
    sample: tuple[Any, ...] = ()
    success: bool | None = None
    error: str | None = None


def judge(expectation: Expectation, seen: Seen, now: datetime) -> CheckResult:
    """The result of one expectation."""
    if seen.error is not None:
        return CheckResult(expectation, success=False, error=seen.error)
    if seen.unexpected is not None:
        return _counted(expectation, seen)
    if seen.success is not None:
        return CheckResult(expectation, seen.success, plain(seen.observed))
    return _aggregated(expectation, seen, now)


def _aggregated(expectation: Expectation, seen: Seen, now: datetime) -> CheckResult:
    observed = {**seen.observed, "value": seen.value}
    if seen.value is None:
        return CheckResult(expectation, expectation.nulls == "pass", plain(observed), seen.elements)
    if expectation.kind == "freshness":
        return _fresh(expectation, seen, now)
    try:
        success = lies_between(expectation.parameters, seen.value)
    except (TypeError, ValueError) as error:
        return CheckResult(expectation, success=False, observed=plain(observed), error=f"{error}")
    return CheckResult(expectation, success, plain(observed), seen.elements)


def _counted(expectation: Expectation, seen: Seen) -> CheckResult:
    """Nothing looked at, nothing unexpected: an empty load passes."""
    elements, unexpected = seen.elements or 0, seen.unexpected or 0
    present = elements - seen.missing
    return CheckResult(
        expectation,
        tolerates(expectation, present, unexpected),
        plain({"missing_count": seen.missing, **seen.observed}),
        elements,
        unexpected,
        unexpected / present * 100 if present else None,
        seen.sample,
    )


def tolerates(expectation: Expectation, present: int, unexpected: int) -> bool:
    """Whether so many unexpected rows of those that have a value are few enough."""
    if expectation.max_unexpected is not None:
        return unexpected <= expectation.max_unexpected
    if present <= 0:
        return unexpected == 0
    mostly = Fraction(str(expectation.mostly)) if expectation.mostly is not None else Fraction(1)
    return present - unexpected >= mostly * present


def lies_between(bounds: Mapping[str, Any], value: Any) -> bool:
    """Whether a value keeps the bounds. Raises TypeError or ValueError if it cannot be compared with them."""
    if (equal := bounds.get("equal")) is not None:
        return bool(value == like(equal, value))
    if (least := bounds.get("min")) is not None:
        least = like(least, value)
        if not (value > least if bounds.get("strict_min") else value >= least):
            return False
    if (greatest := bounds.get("max")) is not None:
        greatest = like(greatest, value)
        return bool(value < greatest if bounds.get("strict_max") else value <= greatest)
    return True


def like(bound: Any, value: Any) -> Any:
    """A bound as what the value is, a date or a time, which YAML and JSON may have as text. Raises ValueError or TypeError."""
    match value:
        case datetime():
            moment = bound if isinstance(bound, datetime) else _moment(bound)
            if value.tzinfo is None:
                return moment.replace(tzinfo=None) if moment.tzinfo is None else moment.astimezone(UTC).replace(tzinfo=None)
            return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        case date():
            return _moment(bound).date() if not isinstance(bound, date) or isinstance(bound, datetime) else bound
        case int() | float() | Decimal() if isinstance(bound, str):
            return Decimal(bound)
        case str() if not isinstance(bound, str):
            raise TypeError(f"{bound!r} cannot be compared with the text {value!r}")
        case _:
            return bound


def _moment(bound: Any) -> datetime:
    if isinstance(bound, date):
        return bound if isinstance(bound, datetime) else datetime.combine(bound, time())
    try:
        return datetime.fromisoformat(str(bound))
    except ValueError as error:
        raise ValueError(f"{bound!r} is no date or time: write it as 2026-01-31 or 2026-01-31T12:00:00Z") from error


def _fresh(expectation: Expectation, seen: Seen, now: datetime) -> CheckResult:
    newest = seen.value
    if isinstance(newest, date) and not isinstance(newest, datetime):
        newest = datetime.combine(newest, time())
    if not isinstance(newest, datetime):
        return CheckResult(expectation, success=False, error=f"{expectation.columns[0]} holds no times: {newest!r}")
    newest = newest if newest.tzinfo else newest.replace(tzinfo=UTC)
    age = now - newest
    most = clock.parse_span(expectation.parameters["max_age"])
    observed = {"value": newest, "age_seconds": round(age.total_seconds(), 3)}
    return CheckResult(expectation, most is not None and age <= most, plain(observed), seen.elements)


def plain(value: Any) -> Any:
    """A value as JSON keeps it: numbers that JSON does not know are texts."""
    match value:
        case float() if not math.isfinite(value):
            return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        case Mapping():
            return {str(name): plain(each) for name, each in value.items()}
        case list() | tuple():
            return [plain(each) for each in value]
        case bytes() | bytearray():
            return bytes(value).hex()
        case _:
            return codec.to_plain(value)
