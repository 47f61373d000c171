"""How values become text and back: canonical JSON, digests, timestamps, folded names."""

from __future__ import annotations

import hashlib
import json
import unicodedata
from dataclasses import asdict, is_dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from typing import Any
from uuid import UUID

from lakeledger.errors import Invalid

# Ids are text in the ledger; callers may hold them as UUIDs.
Id = str | UUID


def to_text(at: datetime) -> str:
    """A timestamp as fixed-width UTC text, so that text order is time order."""
    if at.tzinfo is None:
        raise ValueError(f"naive timestamp {at!r}: attach a time zone")
    return at.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def to_time(text: str) -> datetime:
    """The timestamp that `to_text` (or any ISO 8601 writer) wrote."""
    at = datetime.fromisoformat(text)
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)


def to_moment(value: datetime | str) -> datetime:
    """A time that a caller names: a datetime with a time zone, or the same as text. Raises Invalid."""
    try:
        at = datetime.fromisoformat(value) if isinstance(value, str) else value
        if not isinstance(at, datetime):
            raise TypeError
    except (TypeError, ValueError) as error:
        raise Invalid(f"{value!r} is no time: write it as 2026-01-31T12:00:00Z") from error
    if at.tzinfo is None:
        raise Invalid(f"{value!s} needs a time with a time zone: add one, for example 2026-01-31T12:00:00Z")
    return at.astimezone(UTC)


def to_json(value: Any) -> str:
    """Canonical JSON: sorted keys, no spaces, exact integers; equal values give equal text. Raises ValueError for NaN and infinity."""
    return json.dumps(value, default=_plain, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def to_plain(value: Any) -> Any:
    """The same value made only of what JSON knows."""
    return json.loads(to_json(value))


def digest(value: Any) -> str:
    """SHA-256 of a value's canonical JSON."""
    return hashlib.sha256(to_json(value).encode()).hexdigest()


def fold(name: str) -> str:
    """The key by which a name is matched: names differ only if their folded keys do."""
    return unicodedata.normalize("NFC", name).casefold()


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return to_text(value) if value.tzinfo else value.isoformat()
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, Enum):
        return value.value
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if isinstance(value, Decimal | PurePath):
        return str(value)
    if isinstance(value, set | frozenset):
        return sorted(value)
    raise TypeError(f"{type(value).__name__} cannot be written as JSON: {value!r}")


def size_text(number: int) -> str:
    """A number of bytes as people read it: 1.2 MB."""
    amount = float(number)
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if amount < 999.5:
            return f"{amount:,.0f} {unit}" if unit == "B" or amount >= 99.95 else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:,.1f} PB"
