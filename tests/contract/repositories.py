"""Repositories of every kind for one contract: in the ledger on each database, and in a folder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from lakeledger import Ledger, records
from lakeledger.records import MetadataContext, MetadataRecord, MetadataRepository, MetadataTarget

START = datetime(2026, 1, 1, tzinfo=UTC)
ORDERS = MetadataTarget("erp", "sales", "orders")
PRODUCER = "tests.v1"


def fact(number: int = 0, kind: str = "custom", target: MetadataTarget = ORDERS, **more: Any) -> MetadataRecord:
    """A record of so many seconds after the start, which says its number."""
    given: dict[str, Any] = {"payload": {"number": number}, "produced_at": START + timedelta(seconds=number), **more}
    context = given.pop("context", MetadataContext("job", f"run-{number}", "default"))
    return MetadataRecord(target, context, kind, producer_id=PRODUCER, **given)


def numbers(found: Any) -> list[int]:
    """Which records these are."""
    return [each.payload["number"] for each in found]


@contextmanager
def repository(url: str, ledger: Ledger) -> Iterator[MetadataRepository]:
    """The repository at a URL."""
    opened = records.open(url, ledger.store, ledger.settings.s3)
    yield opened
    opened.close()


def url_of(kind: str, folder: Path) -> str:
    """What the settings say for that kind of repository."""
    return "sql" if kind == "sql" else f"file://{folder}/metadata"
