"""Bringing an edit onto rows that others may have changed since: what it changes, where it collides, and how often it is tried."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from datetime import datetime
from typing import Any

from lakeledger.control.columns import TIMES
from lakeledger.control.model import Edit, JobRow, Key, Snapshot
from lakeledger.errors import Conflict
from lakeledger.redaction import scrub

PATIENCE_SECONDS = 30.0
_LONGEST_PAUSE_SECONDS = 0.5
_SHOWN = 120


def attempts(seconds: float = PATIENCE_SECONDS) -> Iterator[int]:
    """Numbers of attempts, with random pauses between them that grow, until the time is over."""
    ends, number = time.monotonic() + seconds, 0
    yield number
    while time.monotonic() < ends:
        time.sleep(random.uniform(0, min(_LONGEST_PAUSE_SECONDS, 0.01 * 2**number)))  # noqa: S311 - a pause, not a secret
        number += 1
        yield number


def effective(edit: Edit, now: Snapshot, at: datetime) -> Edit:
    """What the edit really changes, with the timestamps of its rows. Rows that cannot be read give way to an edit of their key."""
    result = edit.applied(now, at)
    broken = {table: broken_keys(now, table) for table in ("sources", "modules")}
    return Edit(
        {key: result.sources.get(key) for key in edit.sources if _differs(key, now.sources, result.sources) or key in broken["sources"]},
        {key: result.modules.get(key) for key in edit.modules if _differs(key, now.modules, result.modules) or key in broken["modules"]},
    )


def after(edit: Edit, now: Snapshot) -> Snapshot:
    """The rows after an effective edit."""
    return replace(now, sources=_put(now.sources, edit.sources), modules=_put(now.modules, edit.modules))


def difference(now: Snapshot, then: Snapshot) -> Edit:
    """The edit that makes the rows say what they said then. What could not be read then stays as it is now."""
    return Edit(
        _back(now.sources, then.sources, broken_keys(then, "sources")),
        _back(now.modules, then.modules, broken_keys(then, "modules")),
    )


def jobs_change(backend: str, rows: Sequence[JobRow], before: Mapping[Key, JobRow]) -> dict[Key, JobRow | None]:
    """What must be put and deleted so that the jobs table says which jobs that backend has."""
    gone: dict[Key, JobRow | None] = {key: None for key, row in before.items() if row.backend == backend}
    return {key: row for key, row in {**gone, **{row.key: row for row in rows}}.items() if before.get(key) != row}


def refuse_conflicts(edit: Edit, base: Snapshot, now: Snapshot, name: str) -> None:
    """Raises Conflict, which shows both, if somebody changed a row of the edit since its base.

    Also if they made the same change: of two who each add one, the second must look again.
    """
    told = [
        *_collisions(edit.sources, base.sources, now.sources, broken_keys(now, "sources") - broken_keys(base, "sources")),
        *_collisions(edit.modules, base.modules, now.modules, broken_keys(now, "modules") - broken_keys(base, "modules")),
    ]
    if told:
        since = f"since version {base.version}" if base.version != now.version else "meanwhile"
        raise Conflict(f"{name} was changed by somebody else {since}: {'; '.join(told)}; read it again and repeat the edit", retryable=True)


def broken_keys(snapshot: Snapshot, table: str) -> set[Any]:
    """The keys of the table's rows that cannot be read."""
    return {problem.key if table == "sources" else problem.key[0] for problem in snapshot.problems if problem.table == table}


def _collisions(edits: Mapping[Any, Any], base: Mapping[Any, Any], now: Mapping[Any, Any], newly_broken: set[Any]) -> Iterator[str]:
    for key, ours in edits.items():
        before, theirs = base.get(key), now.get(key)
        if key in newly_broken:
            yield f"{_name(key)} is there more than once now"
        elif before != theirs and _hash(before) != _hash(theirs):
            yield f"{_name(key)}{_told(before, theirs, ours)}"


def _name(key: Any) -> str:
    return ".".join(str(part) for part in key) if isinstance(key, tuple) else f"module {key}"


def _told(before: Any, theirs: Any, ours: Any) -> str:
    if _hash(theirs) == _hash(ours):
        return " is gone already" if theirs is None else " is already as this edit would make it"
    if theirs is None or ours is None:
        state = "is gone" if theirs is None else "is new" if before is None else "is another"
        return f" {state}, and this edit would {'delete' if ours is None else 'change'} it"
    differing = [each.name for each in fields(theirs) if each.name not in TIMES and getattr(theirs, each.name) != getattr(ours, each.name)]
    shown = [(name, *(_shown(getattr(row, name, None)) for row in (before, theirs, ours))) for name in differing]
    return ": " + ", ".join(f"{name} was {was}, is now {there}, would be {here}" for name, was, there, here in shown)


def _shown(value: Any) -> str:
    text = scrub(value) if isinstance(value, str) else str(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _hash(row: Any) -> str | None:
    return row.content_hash if row is not None else None


def _differs(key: Any, before: Mapping[Any, Any], after: Mapping[Any, Any]) -> bool:
    return before.get(key) is not after.get(key)


def _put(rows: Mapping[Any, Any], edits: Mapping[Any, Any]) -> dict[Any, Any]:
    kept = {key: row for key, row in rows.items() if key not in edits}
    return {**kept, **{key: row for key, row in edits.items() if row is not None}}


def _back(now: Mapping[Any, Any], then: Mapping[Any, Any], unread: set[Any]) -> dict[Any, Any]:
    """A row that is put back is a change of today, whenever it was written."""
    put = {key: replace(row, updated_timestamp=None) for key, row in then.items() if _hash(now.get(key)) != _hash(row)}
    return {**put, **dict.fromkeys(now.keys() - then.keys() - unread)}
