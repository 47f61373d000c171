"""The figures of `lakeledger sync stats` in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lakeledger.cli import show

BARS = "▁▂▃▄▅▆▇█"
WIDEST = 48


def facts(figures: Mapping[str, Any]) -> dict[str, show.Cell | None]:
    """One line for each thing there is to know; what never was is left out."""
    runs, errors, letters, markers = (figures[name] for name in ("sync_runs", "errors", "dead_letters", "markers"))
    return {
        "runs": _runs(runs),
        "moved": _moved(runs),
        "speed": _speed(runs),
        "errors": _errors(errors),
        "by type": _counts(dict(sorted(errors["by_type"].items(), key=lambda each: -each[1]))) or None,
        "by hour": _trend(errors["trend"]) if errors["total_errors"] else None,
        "retries": _retries(errors),
        "dead letters": _letters(letters),
        "positions": _markers(markers),
    }


def _runs(runs: Mapping[str, Any]) -> str:
    if not runs["total_runs"]:
        return "nothing ran"
    states = {name: runs[f"{name}_runs"] for name in ("completed", "failed", "cancelled", "running")}
    rate = "none has ended" if runs["success_rate"] is None else f"{_percent(runs['success_rate'])} of those that ended completed"
    return f"{show.count(runs['total_runs'])} ({_counts(states)}): {rate}"


def _moved(runs: Mapping[str, Any]) -> str | None:
    if not runs["total_records_processed"]:
        return None
    parts = _counts({name: runs[f"total_records_{name}"] for name in ("inserted", "updated", "deleted", "failed")})
    records = show.plural(runs["total_records_processed"], "record")
    return f"{records}{f' ({parts})' if parts else ''}, {show.size(runs['total_bytes_processed'])}"


def _speed(runs: Mapping[str, Any]) -> str | None:
    if runs["records_per_second"] is None:
        return None
    rates = f"{runs['records_per_second']:,.0f} records/s, {show.size(int(runs['bytes_per_second']))}/s"
    return f"{rates}; a run took {show.duration(runs['avg_duration_ms'])}, the longest {show.duration(runs['max_duration_ms'])}"


def _errors(errors: Mapping[str, Any]) -> str:
    states = {name: errors[f"{name}_errors"] for name in ("open", "resolved", "ignored")}
    return f"{show.count(errors['total_errors'])} ({_counts(states)})" if errors["total_errors"] else "none"


def _retries(errors: Mapping[str, Any]) -> str | None:
    if not errors["retries"]:
        return None
    rate = errors["retry_success_rate"]
    return show.count(errors["retries"]) + ("" if rate is None else f", {_percent(rate)} of the errors that were retried are resolved")


def _letters(letters: Mapping[str, Any]) -> str:
    if not letters["total"]:
        return "none"
    oldest = f", the oldest pending one {show.ago(letters['oldest_pending_at'])}" if letters["oldest_pending_at"] else ""
    return _counts({name: letters[name] for name in ("pending", "processing", "resolved", "discarded")}) + oldest


def _markers(markers: Mapping[str, Any]) -> str:
    if not markers["total"]:
        return "none"
    newest, oldest = show.ago(markers["newest_update"]), show.ago(markers["oldest_update"])
    lag = f", the one that lags most {oldest}" if markers["total"] > 1 else ""
    return f"{show.count(markers['total'])}, last moved {newest}{lag}"


def _trend(hours: Sequence[Mapping[str, Any]]) -> str:
    """A bar per hour, or per several where they are too many."""
    width = -(-len(hours) // WIDEST)
    sums = [sum(hour["errors"] for hour in hours[start : start + width]) for start in range(0, len(hours), width)]
    most = max(sums)
    bars = "".join(BARS[-(-number * (len(BARS) - 1) // most)] for number in sums)
    return f"{bars} at most {show.count(most)}" + (f" in {width} hours" if width > 1 else "")


def _counts(numbers: Mapping[str, int]) -> str:
    """30 open, 2 resolved; without those of which there are none."""
    return ", ".join(f"{show.count(number)} {name}" for name, number in numbers.items() if number)


def _percent(rate: float) -> str:
    """Rounded down, so that only all of them are 100 %."""
    return f"{int(rate * 1000) / 10:g} %"
