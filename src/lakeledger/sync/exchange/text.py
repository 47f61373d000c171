"""JSON and JSON Lines as other tools write them, each record with its place for messages."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

from lakeledger.errors import Invalid

# How Java's serialisation begins, after two bytes that survive no decoding as text.
_JAVA = "\x00\x05"
_SHOWN = 80
_DEEPEST = 100


@dataclass(frozen=True)
class Record:
    """One JSON value of a text, and where it stands."""

    where: str
    value: Any


def parse(text: str) -> list[Record]:
    """The document, or one record per line. Raises Invalid if it is neither."""
    if text[2:4] == _JAVA:
        raise Invalid(
            "this is the binary file of FileOffsetBackingStore, which only Java can read: "
            "export the offsets with GET /connectors/<name>/offsets of Kafka Connect's REST API"
        )
    text = text.removeprefix("\ufeff")
    try:
        return [Record("the document", load(text))]
    except ValueError as error:
        return list(_lines(text, error))


def spread(records: Iterable[Record]) -> Iterator[Record]:
    """The records, with the entries of lists in place of the lists."""
    for record in records:
        if isinstance(record.value, list):
            yield from (Record(f"{record.where}, entry {number}", entry) for number, entry in enumerate(record.value, start=1))
        else:
            yield record


def load(text: str) -> Any:
    """The JSON value. Raises ValueError for what a database could not keep, too: NaN, infinity, half characters."""
    try:
        value = json.loads(text, parse_constant=_refused, parse_float=_finite)
        json.dumps(value, ensure_ascii=False).encode()
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    level = [value]
    for _ in range(_DEEPEST):
        level = [inner for outer in level for inner in _inside(outer)]
    if level:
        raise ValueError("it is nested too deeply")
    return value


def pretty(value: Any) -> str:
    """JSON for people and tools."""
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def mapping(value: Any, what: str) -> dict[str, Any]:
    """The value, if it is an object. Raises Invalid."""
    if not isinstance(value, dict):
        raise Invalid(f"{what} must be an object, not {shown(value)}")
    return value


def shown(value: Any) -> str:
    """A value in a few words."""
    match value:
        case dict():
            text = f"an object with {', '.join(value)}" if value else "an empty object"
        case list():
            text = f"a list of {len(value)}"
        case _:
            text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _lines(text: str, error: ValueError) -> Iterator[Record]:
    if not text.strip():
        raise Invalid("there is nothing in it")
    lines = [(number, line) for number, line in enumerate(text.split("\n"), start=1) if line.strip()]
    for index, (number, line) in enumerate(lines):
        try:
            # Kafka's console consumer prints a key, a tab and the value.
            parts = [load(part) for part in line.split("\t")] if "\t" in line else load(line)
        except ValueError as wrong:
            if index == 0:
                raise Invalid(f"this is neither JSON nor JSON lines: {error}") from error
            raise Invalid(f"line {number} is no JSON: {wrong}") from wrong
        yield Record(f"line {number}", parts)


def _inside(value: Any) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def _refused(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is too large a number")
    return number
