"""Ledger tables as Iceberg tables over the same files: metadata is staged unseen, and a pointer in the ledger makes it true."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from lakeledger.errors import Invalid
from lakeledger.lake import Bounds


class Unpublishable(Invalid):
    """Iceberg has no place for something in the table, which stays readable through the ledger."""


@dataclass(frozen=True)
class Added:
    """A file that comes into the table: its whole path, and what the ledger knows of it."""

    path: str
    size: int
    rows: int
    bounds: Bounds


@dataclass(frozen=True)
class Step:
    """What lies between what was published last and the version to be published.

    `schema` is the ledger's, with ids and physical names; `partition_by` are ids of its columns. `removed` are whole paths;
    `replaces_all` says that no file of before stays. `operation` is Iceberg's word: append, overwrite or replace. `summary` is kept with
    the snapshot, `properties` with the table.
    """

    table_id: str
    location: str
    version: int
    snapshot_id: str
    schema: dict[str, Any]
    schema_version: int
    operation: str
    at_ms: int
    partition_by: tuple[int, ...] = ()
    added: list[Added] = field(default_factory=list)
    removed: frozenset[str] = frozenset()
    replaces_all: bool = False
    summary: dict[str, str] = field(default_factory=dict)
    properties: dict[str, str] = field(default_factory=dict)
