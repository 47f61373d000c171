"""How facts are asked for: by target, kind, time and execution, and by what is inside them."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from lakeledger import codec
from lakeledger.db.pages import check_limit
from lakeledger.errors import Invalid
from lakeledger.records.model import MetadataRecord, Target, check_kind, window_of

OPERATORS = {"=": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


@dataclass(frozen=True)
class Condition:
    """What a value inside a record must be: `payload.rows >= 100`. Values of another type are never equal, nor less or more."""

    path: str
    op: str
    value: str | float | bool | None

    def __post_init__(self) -> None:
        root, _, rest = self.path.partition(".")
        if root not in ("payload", "extras", "quality") or not rest or not all(rest.split(".")):
            raise Invalid(f"{self.path!r} is no path in a record: write payload.rows, extras.window_start or quality.status")
        if self.op not in OPERATORS:
            raise Invalid(f"{self.op!r} is no comparison: use {', '.join(OPERATORS)}")
        if '"' in self.path or "\\" in self.path:
            raise Invalid(f"{self.path!r} cannot be asked for: a name with a quote or a backslash is no part of a path")
        if self.op not in ("=", "!=") and (isinstance(self.value, bool) or not isinstance(self.value, str | int | float)):
            raise Invalid(f"{self.path} {self.op} {self.value!r} cannot be compared: give a number, a text or a time")

    @cached_property
    def keys(self) -> tuple[str, ...]:
        return tuple(self.path.split("."))

    def holds(self, record: MetadataRecord) -> bool:
        """Whether it does for a record at hand."""
        found: Any = vars(record)
        for key in self.keys:
            found = found.get(key) if isinstance(found, Mapping) else None
        return _compare(self.op, found, self.value)


def _compare(op: str, found: Any, value: Any) -> bool:
    alike = _type(found) == _type(value) != "other"
    if op == "!=":
        return not (alike and found == value)
    return alike and bool(OPERATORS[op](found, value))


def _type(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    return "number" if isinstance(value, int | float) else "text" if isinstance(value, str) else "other"


@dataclass(frozen=True)
class Window:
    """A time that a record's own window must overlap: its `window_start` and `window_end`, of which the end is not part.

    They are looked for in the payload and then in the extras. A record with only one of them has no bound on the other side; one without
    either, or with windows that are no times, overlaps nothing: numbers are compared as conditions, `payload.window_end > 100`.
    """

    start: datetime | str | None = None
    end: datetime | str | None = None

    def __post_init__(self) -> None:
        for name in ("start", "end"):
            if (time := getattr(self, name)) is not None:
                object.__setattr__(self, name, codec.to_moment(time))

    def overlaps(self, record: MetadataRecord) -> bool:
        first, last = window_of(record)
        if first is None or last is None:
            return False
        return (self.end is None or first < self.end) and (self.start is None or last > self.start)  # type: ignore[operator]


@dataclass(frozen=True)
class MetadataQuery:
    """Which records: each that is given must hold. Newest first; `after` is the `next` of the page before.

    `where` are conditions on `payload.*`, `extras.*` and `quality.*`. `since` and `until` are of `produced_at`; `until` is not part of it.
    """

    target: Target | None = None
    kinds: Sequence[str] = ()
    producer_id: str | None = None
    run_id: str | None = None
    job_id: str | None = None
    since: datetime | str | None = None
    until: datetime | str | None = None
    where: Sequence[Condition] = ()
    window: Window | None = None
    limit: int | None = 100
    after: str | None = None

    def __post_init__(self) -> None:
        if isinstance(self.kinds, str):
            object.__setattr__(self, "kinds", (self.kinds,))
        for kind in self.kinds:
            check_kind(kind)
        for name in ("since", "until"):
            if (time := getattr(self, name)) is not None:
                object.__setattr__(self, name, codec.to_moment(time))
        if self.limit is not None:
            check_limit(self.limit)

    def matches(self, record: MetadataRecord) -> bool:
        """Whether a record at hand is one of them; not asked is what an index already answered: target, kinds and time."""
        return (
            (self.producer_id is None or record.producer_id == self.producer_id)
            and (self.run_id is None or record.context.run_id == self.run_id)
            and (self.job_id is None or record.context.job_id == self.job_id)
            and all(condition.holds(record) for condition in self.where)
            and (self.window is None or self.window.overlaps(record))
        )
