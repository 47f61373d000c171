"""Time and the ids that are ordered by it: the only place that asks what time it is."""

from __future__ import annotations

from datetime import UTC, datetime

import uuid_utils


def now() -> datetime:
    """The current time, timezone-aware, in UTC."""
    return datetime.now(UTC)


def new_id() -> str:
    """A new UUIDv7: unique everywhere, and later ids sort after earlier ones."""
    return str(uuid_utils.uuid7())


def elapsed_ms(start: datetime, end: datetime) -> int:
    """Whole milliseconds from start to end, never negative."""
    return max(0, round((end - start).total_seconds() * 1000))
