"""The log of a Delta table, read entry by entry: delta-rs numbers its own history wrongly while others commit."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deltalake.fs import DeltaStorageHandler


@dataclass(frozen=True)
class DeltaLog:
    """The commits of the Delta table at a path or URL."""

    location: str
    options: Mapping[str, str] | None = None

    def info(self, version: int) -> dict[str, Any] | None:
        """Who made that version and how; None if the entry was cleaned up, or says nothing."""
        try:
            lines = self._read(f"_delta_log/{version:020}.json").splitlines()
        except FileNotFoundError:
            return None
        entries = (json.loads(line) for line in lines if b'"commitInfo"' in line)
        return next((entry["commitInfo"] for entry in entries if "commitInfo" in entry), None)

    def newest_first(self, version: int) -> Iterator[tuple[int, dict[str, Any]]]:
        """The commits from that version back to the oldest whose entry is still there."""
        for each in range(version, -1, -1):
            info = self.info(each)
            if info is None:
                return
            yield each, info

    def _read(self, path: str) -> bytes:
        if "://" not in self.location:  # what reads from anywhere takes longer to load than to read
            return Path(self.location, path).read_bytes()
        with self._files.open_input_file(path) as file:
            return bytes(file.read())

    @cached_property
    def _files(self) -> DeltaStorageHandler:
        from deltalake.fs import DeltaStorageHandler

        return DeltaStorageHandler(self.location, dict(self.options) if self.options else None)
