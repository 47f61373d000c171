"""Time and the ids that are ordered by it: the only place that asks what time it is."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import uuid_utils

LONGEST_SPAN = timedelta(days=3_650)
_SPAN = re.compile(r"(?:(\d{1,9})d)?(?:(\d{1,9})h)?(?:(\d{1,9})m)?(?:(\d{1,9})s)?")


def now() -> datetime:
    """The current time, timezone-aware, in UTC."""
    return datetime.now(UTC)


def new_id() -> str:
    """A new UUIDv7: unique everywhere, and later ids sort after earlier ones."""
    return str(uuid_utils.uuid7())


def elapsed_ms(start: datetime, end: datetime) -> int:
    """Whole milliseconds from start to end, never negative."""
    return max(0, round((end - start).total_seconds() * 1000))


def parse_span(text: str) -> timedelta | None:
    """A time span as people write it: 90s, 30m, 1h30m, 2d or 0. None if it is something else, or longer than LONGEST_SPAN."""
    text = text.strip().lower()
    match = _SPAN.fullmatch("0s" if text == "0" else text)
    if match is None or not any(match.groups()):
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    total = days * 86_400 + hours * 3_600 + minutes * 60 + seconds
    return timedelta(seconds=total) if total <= LONGEST_SPAN.total_seconds() else None
