"""What maintenance talks about: tags, readers of versions, and what became of each table."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any


@dataclass(frozen=True)
class Tag:
    """A version with a name, which is kept as long as it has it: a row of `table_tags`."""

    table_id: str
    tenant_id: str
    name: str
    version: int
    comment: str | None
    created_at: datetime
    created_by: str


@dataclass(frozen=True)
class PinRow:
    """Who reads a version now: a row of `table_pins`."""

    pin_id: str
    tenant_id: str
    table_id: str
    version: int
    held_by: str
    instance_id: str
    pinned_at: datetime
    expires_at: datetime


@dataclass
class Amount:
    """So many files of so many bytes."""

    files: int = 0
    bytes: int = 0

    def add(self, sizes: Iterable[int]) -> None:
        for size in sizes:
            self.files, self.bytes = self.files + 1, self.bytes + size

    def grow(self, other: Amount) -> None:
        self.files, self.bytes = self.files + other.files, self.bytes + other.bytes


@dataclass
class Care:
    """What was done for one table, or would be.

    `expired` are versions; `dropped` are those that other engines no longer see. `marked` files are needed by no version from now on,
    `waiting` ones are not for less than the grace time, `removed` ones are gone, or would be. `problems` say what could not be done.
    """

    table: str
    expired: list[int] = field(default_factory=list)
    dropped: list[int] = field(default_factory=list)
    marked: Amount = field(default_factory=Amount)
    waiting: Amount = field(default_factory=Amount)
    removed: Amount = field(default_factory=Amount)
    orphans: Amount = field(default_factory=Amount)
    metadata: Amount = field(default_factory=Amount)
    checksums: int = 0
    problems: list[str] = field(default_factory=list)

    def document(self) -> dict[str, Any]:
        """As it is kept and as scripts read it: versions as ranges."""
        return {**asdict(self), "expired": ranges(self.expired), "dropped": ranges(self.dropped)}

    @property
    def has_done(self) -> bool:
        """Whether there was anything to do that changes something."""
        amounts = (self.marked, self.removed, self.orphans, self.metadata)
        return bool(self.expired or self.dropped or self.checksums or any(each.files for each in amounts))


@dataclass(frozen=True)
class Report:
    """What maintenance did, or would do, for each table, and in which run; None for a dry run."""

    tables: list[Care]
    run_id: str | None

    @property
    def applied(self) -> bool:
        return self.run_id is not None


def ranges(versions: Iterable[int]) -> list[list[int]]:
    """Numbers as first and last of each row of neighbours: [1, 2, 3, 7] is [[1, 3], [7, 7]]."""
    found: list[list[int]] = []
    for version in sorted(versions):
        if found and found[-1][1] == version - 1:
            found[-1][1] = version
        else:
            found.append([version, version])
    return found
