"""Records for the tests of repositories."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from lakeledger.records import MetadataContext, MetadataRecord, MetadataTarget

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
