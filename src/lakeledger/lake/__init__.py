"""How table files are kept: where they are, and what each format can tell about a file that was just written."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from lakeledger.errors import Invalid
from lakeledger.lake.storage import Storage, StoredFile

__all__ = ["FORMATS", "Bounds", "FileFacts", "FileFormat", "Storage", "StoredFile", "open_format"]

FORMATS = ("parquet", "jsonl")

Bounds = dict[str, dict[str, Any]]


@dataclass(frozen=True)
class FileFacts:
    """What a file says of itself. `bounds`: per column `min` and `max` (where known) and `nulls`."""

    rows: int
    compression: str
    bounds: Bounds


class FileFormat(Protocol):
    """A file format: what Spark calls it, and how a written file is inspected."""

    name: str
    spark_name: str
    needs_observed_bounds: bool

    def inspect(self, storage: Storage, path: str, observed: Mapping[str, Any], columns: Container[str]) -> FileFacts:
        """Facts about one file, with bounds of these columns. `observed` is what the write itself saw, for formats without statistics."""
        ...


def open_format(name: str) -> FileFormat:
    """The format with that name. Raises Invalid."""
    match name:
        case "parquet":
            from lakeledger.lake.parquet import Parquet

            return Parquet()
        case "jsonl":
            from lakeledger.lake.jsonl import JsonLines

            return JsonLines()
        case _:
            raise Invalid(f"unknown file format {name!r}: use {' or '.join(FORMATS)}")
