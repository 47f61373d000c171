"""Whether two numbers are near enough: thresholds, and what history allows. Pure."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from lakeledger.recon.model import Outcome, Status, Thresholds

# Sums of floating-point numbers depend on the order of the rows in their last digits.
FLOAT_NOISE = 1e-9


def percent_of(difference: float, source: float) -> float | None:
    """A difference as a share of the source; None if there is nothing to be a share of."""
    if difference == 0:
        return 0.0
    return abs(difference) / abs(source) * 100 if source else None


def judge(difference: float, percent: float | None, thresholds: Thresholds, allowed: str | None = None) -> Status:
    """Pass if within either of the absolute and the percent threshold, which are 0 if none is given. `allowed` is the band's judgement."""
    size = abs(difference)
    limits = (thresholds.absolute, thresholds.percent)
    warns = (thresholds.warn_absolute, thresholds.warn_percent)
    if limits == (None, None):
        limits = (float("inf"), None) if warns != (None, None) else (0.0, None)
    if allowed == "pass":
        return Status.PASS
    if not _within(size, percent, limits):
        return Status.WARN if allowed == "warn" and not thresholds.are_declared else Status.FAIL
    if allowed == "warn" or (warns != (None, None) and not _within(size, percent, warns)):
        return Status.WARN
    return Status.PASS


def compare(source: Any, target: Any, thresholds: Thresholds, *, is_float: bool = False, unit: str = "") -> Outcome:
    """The outcome of one number of each side. NULL equals NULL and nothing else; zero rows are a number."""
    if source is None or target is None:
        return _one_is_null(source, target)
    if not isinstance(source, int | float | Decimal) or not isinstance(target, int | float | Decimal):
        return _unordered(source, target)
    difference = float(target) - float(source) if is_float else float(Decimal(target) - Decimal(source))
    if is_float and abs(difference) <= FLOAT_NOISE * max(abs(float(source)), abs(float(target))):
        difference = 0.0
    if difference != difference:  # noqa: PLR0124 - NaN or two infinities
        same = str(source) == str(target)
        return Outcome(Status.PASS if same else Status.FAIL, source, target, 0.0 if same else None, None, f"{source} and {target}")
    percent = percent_of(difference, float(source))
    status = judge(difference, percent, thresholds)
    return Outcome(status, source, target, difference, percent, words(source, target, difference, percent, unit))


def words(source: Any, target: Any, difference: float, percent: float | None, unit: str = "") -> str:
    """A comparison as people read it."""
    if difference == 0:
        return f"both are {plain(source)}{unit}"
    share = f" ({percent:.4g} %)" if percent is not None else ""
    apart = f"{plain(abs(difference))} {'more' if difference > 0 else 'less'}{share}"
    return f"the source has {plain(source)}{unit}, the target {plain(target)}{unit}: {apart}"


def plain(value: Any) -> str:
    """A number as people write it: no exponent, no useless zeros."""
    if isinstance(value, float):
        return f"{int(value):,}" if value == int(value) and abs(value) < 1e15 else f"{value:,.10g}"
    if isinstance(value, Decimal):
        text = f"{value:,f}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    return f"{value:,}" if isinstance(value, int) else str(value)


def _one_is_null(source: Any, target: Any) -> Outcome:
    if source is None and target is None:
        return Outcome(Status.PASS, None, None, 0.0, 0.0, "both have no value")
    side = "source" if source is None else "target"
    return Outcome(
        Status.FAIL, source, target, None, None, f"the {side} has no value, the other has {plain(target if source is None else source)}"
    )


def _unordered(source: Any, target: Any) -> Outcome:
    if source == target:
        return Outcome(Status.PASS, source, target, 0.0, 0.0, f"both are {source}")
    return Outcome(Status.FAIL, source, target, None, None, f"the source has {source}, the target {target}")


def _within(size: float, percent: float | None, limits: tuple[float | None, float | None]) -> bool:
    absolute, share = limits
    return (absolute is not None and size <= absolute) or (share is not None and percent is not None and percent <= share)
