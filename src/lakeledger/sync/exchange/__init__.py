"""Positions that other tools wrote, taken over and given back: Debezium's offsets, Singer's and Airbyte's states.

An imported position keeps the foreign document whole, and where it came from, so that an export gives back what was imported.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from lakeledger.errors import Invalid
from lakeledger.sync.exchange import airbyte, debezium, singer
from lakeledger.sync.exchange.foreign import Foreign, Scan
from lakeledger.sync.exchange.text import Record, parse, shown
from lakeledger.sync.model import Marker

__all__ = ["FORMATS", "Foreign", "Scan", "read", "scan", "write"]


class Format(Protocol):
    """How one tool writes down where it stands."""

    def knows(self, value: object) -> bool:
        """Whether only this tool would write such a value."""
        ...

    def read(self, records: Sequence[Record], schema: str | None) -> Scan: ...
    def write(self, markers: Sequence[Marker]) -> str: ...


FORMATS: dict[str, Format] = {"debezium": debezium, "singer": singer, "airbyte": airbyte}


def read(text: str, format: str | None = None, schema: str | None = None) -> list[Foreign]:
    """The positions in what another tool wrote; `scan` also says what was left out. Raises Invalid."""
    return scan(text, format, schema).found


def scan(text: str, format: str | None = None, schema: str | None = None) -> Scan:
    """The positions in what another tool wrote, and what in it is no position. Raises Invalid.

    The format is told by the content unless it is given. The schema names what has no name of its own: a table without a schema, a
    state of the whole source. A connector's offsets take it in place of the server's name.
    """
    records = parse(text)
    chosen = _format(format) if format else _tell(records)
    result = chosen.read(records, schema)
    seen: set[tuple[str, str]] = set()
    for source in (foreign.source for foreign in result.found):
        if (source.key, source.marker_type) in seen:
            raise Invalid(
                f"two {result.format} positions are for {source.name} ({source.marker_type}): import them one by one, with a schema each"
            )
        seen.add((source.key, source.marker_type))
    return result


def write(markers: Sequence[Marker], format: str) -> str:
    """The positions as that tool reads them. Raises Invalid for one that it cannot express."""
    return _format(format).write(markers)


def _format(name: str) -> Format:
    if name not in FORMATS:
        raise Invalid(f"unknown format {name!r}: use {', '.join(FORMATS)}")
    return FORMATS[name]


def _tell(records: Sequence[Record]) -> Format:
    values = [record.value for record in records]
    values += [entry for value in values if isinstance(value, list) for entry in value]
    names = [name for name, format in FORMATS.items() if any(format.knows(value) for value in values)]
    if len(names) == 1:
        return FORMATS[names[0]]
    if names:
        raise Invalid(f"this could be of {' and of '.join(names)}: say which format it is")
    found = shown(values[0]) if values else "nothing"
    raise Invalid(f"none of {', '.join(FORMATS)} writes positions like this: found {found}")
