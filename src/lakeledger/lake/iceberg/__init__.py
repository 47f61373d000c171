"""Ledger tables as Iceberg tables over the same files: metadata is staged unseen, and a pointer in the ledger makes it true."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from lakeledger.errors import Invalid
from lakeledger.lake import Bounds

# What the ledger's own properties begin with, of tables and of snapshots.
PROPERTY = "lakeledger"


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

    `schema` is the ledger's, with ids and physical names; `partition_by` are ids of its columns, of which files have one value, or those
    in `by_day` values of one day. `removed` are whole paths of
    files that were published. `former` are columns that the table had, and `foreign` those of another table, that its files may have, as
    far as they were not published before. `operation` is Iceberg's word: append, overwrite or replace. `summary` is kept with
    the snapshot, `properties` with the table; `tags` name snapshots by their numbers in Iceberg, also such as it does not have.
    `journal` is noted beside the metadata, for a ledger that is lost.
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
    by_day: frozenset[int] = frozenset()
    added: list[Added] = field(default_factory=list)
    removed: frozenset[str] = frozenset()
    former: list[dict[str, Any]] = field(default_factory=list)
    foreign: list[dict[str, Any]] = field(default_factory=list)
    summary: dict[str, str] = field(default_factory=dict)
    properties: dict[str, str] = field(default_factory=dict)
    tags: dict[str, int] = field(default_factory=dict)
    journal: list[dict[str, Any]] = field(default_factory=list)


def iceberg_id(snapshot_id: str) -> int:
    """The number by which Iceberg knows a snapshot of the ledger."""
    return UUID(snapshot_id).int & (2**63 - 1)
