"""What is known: immutable facts about a target, written by whoever learned them.

`MetadataRepository` is where they are kept: in the ledger, or in files of a folder or an object store. Whoever emits does not know which.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

from lakeledger.db import Store
from lakeledger.db.pages import Page
from lakeledger.errors import Invalid, NotInstalled
from lakeledger.records.model import MetadataContext, MetadataRecord, MetadataTarget, Target
from lakeledger.records.query import Condition, MetadataQuery, Window
from lakeledger.records.store import add, history, sql
from lakeledger.redaction import scrub

if TYPE_CHECKING:
    from lakeledger.config import S3Settings
    from lakeledger.lake.storage import Storage
    from lakeledger.records.forgetting import Forgotten
    from lakeledger.records.moving import Moved
    from lakeledger.records.producing import (
        MetadataProducer,
        MetadataProducerRunner,
        MetadataRequest,
        ProducerOutcome,
        ProducerResult,
    )
    from lakeledger.records.slice import Records

__all__ = [
    "Condition",
    "MetadataContext",
    "MetadataProducer",
    "MetadataProducerRunner",
    "MetadataQuery",
    "MetadataRecord",
    "MetadataRepository",
    "MetadataRequest",
    "MetadataTarget",
    "ProducerOutcome",
    "ProducerResult",
    "Records",
    "Stored",
    "Target",
    "Window",
    "add",
    "history",
    "open",
    "sql",
]

# What only emitters and commands need is found when it is asked for.
_LATER = {
    "MetadataProducer": "producing",
    "MetadataProducerRunner": "producing",
    "MetadataRequest": "producing",
    "ProducerOutcome": "producing",
    "ProducerResult": "producing",
    "Records": "slice",
}


@dataclass(frozen=True)
class Stored:
    """What became of records that were stored together: how many were new, and how many were there already."""

    stored: int
    duplicates: int


class MetadataRepository(Protocol):
    """Where records are kept. What `store` and `bulk_store` have returned from is not lost, and a record that is stored again is one.

    A target is a `MetadataTarget`, or the name of a table, whichever source its records came from, or None for all. The latest of
    several records is the one with the latest `produced_at`, and of those the one that was stored last.
    """

    def store(self, record: MetadataRecord) -> MetadataRecord:
        """Keep a record; as it is kept, with its place in the log. Raises Invalid."""
        ...

    def bulk_store(self, records: Iterable[MetadataRecord]) -> Stored:
        """Keep many, in their order. Should it fail, a part of them may be kept: store them again, and each is there once."""
        ...

    def latest(self, target: Target | None = None, kind: str | None = None) -> MetadataRecord | None:
        """The newest record of a kind about a target, or None."""
        ...

    def history(
        self,
        target: Target | None = None,
        kind: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        limit: int | None = 100,
        after: str | None = None,
    ) -> Page[MetadataRecord]:
        """Records of a kind about a target, newest first, a page at a time; `until` is not part of the time. Raises Invalid."""
        ...

    def query(self, query: MetadataQuery) -> Page[MetadataRecord]:
        """The records that a query asks for, newest first, a page at a time."""
        ...

    def log(self, after: int = 0, limit: int | None = 1_000, kind: str | None = None) -> list[MetadataRecord]:
        """What was stored behind that place in the log, in that order."""
        ...

    def head(self) -> int:
        """The place of the newest record in the log; 0 if there is none."""
        ...

    def close(self) -> None:
        """Let go of what is open; what was stored is stored."""
        ...


class MaintainedRepository(MetadataRepository, Protocol):
    """A repository whose files and rows are ours to keep in order."""

    def compact(self, cutoff: datetime, *, dry_run: bool = True) -> list[Moved]:
        """Move what is older to Parquet, by kind; history gives the same answers. A dry run only counts."""
        ...

    def forget(self, days: float, *, dry_run: bool = True) -> list[Forgotten]:
        """Delete what is older than its kind is kept, which is so many days unless it says otherwise. A dry run only counts."""
        ...


def open(url: str, store: Store, s3: S3Settings | None = None, folder: Callable[[], str] | None = None) -> MaintainedRepository:
    """The repository at that URL: `sql`, a folder (`file:///folder`), or one in an object store (`s3://bucket/folder`). Raises Invalid.

    `folder` is where the history of the ledger goes as Parquet.
    """
    scheme = url.partition("://")[0].lower()
    match scheme:
        case "sql":
            from lakeledger.records.sql_repository import SqlRepository

            return SqlRepository(store, partial(_storage, folder, s3)) if folder else SqlRepository(store)
        case "http" | "https":
            # The one seam for a service: a client with the methods above, which is given the URL and the tenant.
            raise NotInstalled(
                f"a remote repository ({scrub(url)}) needs the client of the metadata service, which this release does not have"
            )
        case _ if "://" in url or url.startswith(("/", "dbfs:/")):
            from lakeledger.config import S3Settings
            from lakeledger.records.file_repository import FileRepository

            return FileRepository(url, store, s3 or S3Settings())
        case _:
            raise Invalid(f"records.repository cannot be {scrub(url)!r}: write sql, file:///folder or s3://bucket/folder")


def _storage(folder: Callable[[], str], s3: S3Settings | None) -> Storage:
    from lakeledger.config import S3Settings
    from lakeledger.lake.storage import Storage

    return Storage(folder(), s3 or S3Settings())


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(import_module(f"lakeledger.records.{_LATER[name]}"), name)
    raise AttributeError(f"module 'lakeledger.records' has no attribute {name!r}")
