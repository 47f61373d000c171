"""JSON Lines: one row per line, no statistics inside, so the bounds are what the write itself observed."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any

from lakeledger.lake import FileFacts, Storage
from lakeledger.lake.storage import CHUNK_BYTES


class JsonLines:
    """Readable by everything."""

    name = "jsonl"
    spark_name = "json"
    needs_observed_bounds = True

    def inspect(self, storage: Storage, path: str, observed: Mapping[str, Any], columns: Container[str]) -> FileFacts:  # noqa: ARG002 - of what was observed
        # The write's bounds hold for each of its files; its null counts only if there is one file, so they are left to the table.
        return FileFacts(_count_lines(storage, path), "none", {name: dict(bounds) for name, bounds in observed.items()})


def _count_lines(storage: Storage, path: str) -> int:
    with storage.reading(path), storage.filesystem.open_input_stream(storage.inner(path)) as stream:
        lines = 0
        while chunk := stream.read(CHUNK_BYTES):
            lines += chunk.count(b"\n")
        return lines
