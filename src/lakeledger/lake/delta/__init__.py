"""Ledger tables as Delta tables over the same files: a log of our own in the table's folder, whose entries are versions of the ledger."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lakeledger.lake import Bounds

# The folder of the log, inside that of the table.
LOG = "_delta_log"
# Whoever writes to a Delta table must know all of its writer features. Nobody but the ledger knows this one, and no reader has to.
OWNER = "writtenByLakeledger"
# The property of the table by which the ledger knows a log of its own again.
TABLE_ID = "lakeledger.table-id"


@dataclass(frozen=True)
class LogFile:
    """A data file as the log tells of it: its path relative to the table's folder, and what the ledger knows of it."""

    path: str
    size: int
    rows: int
    bounds: Bounds
    modified_ms: int


@dataclass(frozen=True)
class Shape:
    """A table's columns in Delta's words, the features that readers need for them, and the properties that go with these.

    `stats` are the types of the columns that bounds are told of, by their names in the files.
    """

    schema: dict[str, Any]
    features: frozenset[str] = frozenset()
    properties: Mapping[str, str] = field(default_factory=dict)
    stats: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class About:
    """What the log says of the table beside its columns. `app_id` tells our entries from everybody else's."""

    log_id: str
    table_id: str
    name: str
    created_ms: int
    properties: Mapping[str, str] = field(default_factory=dict)

    @property
    def app_id(self) -> str:
        return f"lakeledger:{self.table_id}"
