"""Where capture stands: positions of sources, moved in the same commit as the data they describe."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lakeledger.db import Store
from lakeledger.sync import positions
from lakeledger.sync.model import (
    Advance,
    FilesPosition,
    Marker,
    MarkerChange,
    NumberPosition,
    Position,
    Source,
    SourceFile,
    TimestampPosition,
    parse_position,
    parse_source,
)

__all__ = [
    "Advance",
    "FilesPosition",
    "Marker",
    "MarkerChange",
    "NumberPosition",
    "Position",
    "Positions",
    "Source",
    "SourceFile",
    "TimestampPosition",
    "parse_position",
    "parse_source",
]


@dataclass(frozen=True)
class Positions:
    """The positions of one tenant's sources."""

    _store: Store
    _actor: str

    def get(self, source: str | Source) -> Marker:
        """Where a source stands. Raises NotFound."""
        with self._store.read() as tx:
            return positions.get(tx, _source(source))

    def find(self, source: str | Source) -> Marker | None:
        """Where a source stands, or None if it was never read."""
        with self._store.read() as tx:
            return positions.find(tx, _source(source))

    def history(self, source: str | Source) -> Sequence[MarkerChange]:
        """Every value a source's position had, oldest first."""
        with self._store.read() as tx:
            return positions.history(tx, _source(source))

    def files(self, source: str | Source) -> Sequence[SourceFile]:
        """The files of a source that have been read. Raises NotFound."""
        with self._store.read() as tx:
            return positions.files(tx, positions.get(tx, _source(source)))

    def advance(
        self, source: str | Source, to: Position, expected_version: int | None = None, *, force: bool = False, reason: str | None = None
    ) -> Marker:
        """Move a position by itself, without data. Raises Conflict."""
        move = Advance(_source(source), to, expected_version, force, reason)
        with self._store.write() as tx:
            return positions.advance(tx, move, self._actor)

    def list(self) -> Sequence[Marker]:
        """Every source's position."""
        with self._store.read() as tx:
            return positions.list_all(tx)


def _source(source: str | Source) -> Source:
    return parse_source(source) if isinstance(source, str) else source
