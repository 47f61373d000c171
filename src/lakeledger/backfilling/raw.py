"""What a raw source says, entry by entry, before it is put together: about which table and run, when, and in which slice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

from lakeledger import codec
from lakeledger.errors import Invalid
from lakeledger.records import MetadataTarget

# The same thing as different tools call it, the most usual first.
TIMES = ("at", "ts", "timestamp", "time", "produced_at", "completed_at", "ended_at", "executed_at", "captured_at", "generated_at", "day")
RUNS, JOBS = ("run_id", "run", "ingestion_run_id", "load_run_id"), ("job_id", "job", "pipeline", "pipeline_id")
ROWS = ("rows", "row_count", "rows_written", "records", "count")
BYTES = ("bytes", "bytes_written", "size", "size_bytes")
SLICES = ("slice", "slice_id", "slice_key")
SURROUNDINGS = ("cluster", "workspace", "orchestrator", "schedule")


@dataclass(frozen=True)
class Origin:
    """Where an entry stands."""

    reader: str
    path: str
    line: int | None = None


@dataclass(frozen=True)
class Entry:
    """One entry of a raw source: facts of a kind about a target, of a run and of one slice of it if it says so.

    What `is_part` of a run is summed; anything else that says how many rows came says it of all of them.
    """

    kind: str
    target: MetadataTarget
    at: datetime | None
    run_id: str | None
    job_id: str | None
    facts: Mapping[str, Any]
    origin: Origin
    slice_id: str | None = None
    is_part: bool = False
    extras: Mapping[str, Any] = field(default_factory=dict)
    surroundings: Mapping[str, Any] = field(default_factory=dict)


class Unreadable(Invalid):
    """An entry that says nothing that can be used; the others of its source are read on."""


def first(given: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    """What is said under the first of these names that says anything."""
    return next((given[name] for name in names if given.get(name) not in (None, "")), None)


def text(given: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    """The same as a text."""
    found = first(given, names)
    return None if found is None else str(found)


def number(value: Any) -> int | None:
    """A whole number, also where it is written as a text. Raises Unreadable."""
    if value is None or value == "":
        return None
    try:
        found = int(Decimal(str(value)))
    except (ArithmeticError, ValueError) as error:
        raise Unreadable(f"{value!r} is no number") from error
    if found < 0:
        raise Unreadable(f"{value!r} is negative")
    return found


def moment(value: Any) -> datetime | None:
    """A time: with its zone, without it in UTC, a day, or seconds since 1970. Raises Unreadable."""
    if value is None or value == "":
        return None
    try:
        if isinstance(value, datetime):
            return value if value.tzinfo else value.replace(tzinfo=UTC)
        if isinstance(value, date):
            return datetime(value.year, value.month, value.day, tzinfo=UTC)
        if isinstance(value, int | float):
            return datetime.fromtimestamp(value / (1_000 if value > 1e11 else 1), UTC)
        found = datetime.fromisoformat(str(value).strip())
    except (ValueError, OverflowError, OSError) as error:
        raise Unreadable(f"{value!r} is no time") from error
    return found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)


def moment_text(value: Any) -> Any:
    """A window's bound as records have it: a time in one spelling, anything else as it is."""
    try:
        found = moment(value) if isinstance(value, str | datetime) else None
    except Unreadable:
        return value
    return codec.to_text(found) if found else value


def surroundings(given: Mapping[str, Any]) -> dict[str, Any]:
    """Where the run was at work, as far as an entry says so."""
    return {name: given.get(name) for name in SURROUNDINGS}


def entries_of(found: Any, inside: tuple[str, ...]) -> Iterator[Mapping[str, Any]]:
    """The objects of a document: itself, those of a list, or of a list inside it, with what stands beside that list."""
    if isinstance(found, list):
        for each in found:
            yield from entries_of(each, inside)
        return
    if not isinstance(found, Mapping):
        raise Unreadable(f"{str(found)[:60]!r} is no object")
    name = next((each for each in inside if isinstance(found.get(each), list)), None)
    if name is None:
        yield found
        return
    beside = {word: value for word, value in found.items() if word != name}
    for each in found[name]:
        yield {**beside, **each} if isinstance(each, Mapping) else {**beside, "value": each}
