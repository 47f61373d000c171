"""Whether something came: new files at a place, new versions of tables. What was there is given, what is to be known is given back.

What is there when a trigger first looks counts as new: nothing that came before the scheduler did is missed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from lakeledger import codec
from lakeledger.errors import Invalid
from lakeledger.lake import StoredFile
from lakeledger.runs.model import storable

SETTLE_SECONDS = 10.0
ID_LENGTH = 16
NAMED = 3


@dataclass(frozen=True)
class TableVersion:
    """Where a table stands, and since when."""

    version: int
    changed_at: datetime


@dataclass(frozen=True)
class Fired:
    """Why a run is due, and what the trigger knows from now on."""

    cause: str
    reason: str
    seen: dict[str, Any]

    def __post_init__(self) -> None:
        object.__setattr__(self, "reason", storable(self.reason))


def check(trigger: Mapping[str, Any]) -> None:
    """Raises Invalid if the trigger does not say what to wait for."""
    files, tables = trigger.get("file_arrival"), trigger.get("table_update")
    if bool(files) == bool(tables):
        raise Invalid("a local trigger waits for either file_arrival or table_update")
    if files and not files.get("url"):
        raise Invalid("a file_arrival trigger needs the url of a folder")
    if tables and not tables.get("table_names"):
        raise Invalid("a table_update trigger needs table_names")


def files_arrived(wanted: Mapping[str, Any], seen: Mapping[str, Any], files: Sequence[StoredFile], now: datetime) -> Fired | None:
    """Fires when a file is new or has changed, and none of those changed for `wait_after_last_change_seconds`, by default 10."""
    there = {_id(file): file for file in files if not file.is_bookkeeping}
    known = set(seen.get("files") or ())
    new = [file for id, file in there.items() if id not in known]
    if not new or not _is_time(wanted, seen, now):
        return None
    if max(file.modified_at for file in new) > now - _seconds(wanted, "wait_after_last_change_seconds", SETTLE_SECONDS):
        return None
    named = ", ".join(file.path for file in new[:NAMED]) + (f" and {len(new) - NAMED} more" if len(new) > NAMED else "")
    return Fired("file_arrival", f"new: {named}", {**seen, "files": sorted(there), "fired_at": codec.to_text(now)})


def tables_moved(wanted: Mapping[str, Any], seen: Mapping[str, Any], tables: Mapping[str, TableVersion], now: datetime) -> Fired | None:
    """Fires when one of the tables has a version that was not seen, or with ALL_UPDATED when each of them has."""
    known = seen.get("versions") or {}
    names = [str(name) for name in wanted["table_names"]]
    moved = [name for name in names if name in tables and tables[name].version != known.get(name, 0)]
    enough = len(moved) == len(names) if wanted.get("condition") == "ALL_UPDATED" else bool(moved)
    if not enough or not _is_time(wanted, seen, now):
        return None
    if max(tables[name].changed_at for name in moved) > now - _seconds(wanted, "wait_after_last_change_seconds", 0):
        return None
    told = ", ".join(f"{name} is at version {tables[name].version}" for name in moved)
    versions = {**known, **{name: tables[name].version for name in moved}}
    return Fired("table_update", told, {**seen, "versions": versions, "fired_at": codec.to_text(now)})


def _id(file: StoredFile) -> str:
    """What makes it another file: its path, its size and when it was written."""
    return hashlib.sha256(f"{file.path}|{file.size}|{codec.to_text(file.modified_at)}".encode()).hexdigest()[:ID_LENGTH]


def _is_time(wanted: Mapping[str, Any], seen: Mapping[str, Any], now: datetime) -> bool:
    """Whether the trigger may fire again so soon. A last time that is still to come was told by a wrong clock."""
    if (last := seen.get("fired_at")) is None:
        return True
    fired_at = codec.to_time(str(last))
    return fired_at > now or fired_at <= now - _seconds(wanted, "min_time_between_triggers_seconds", 0)


def _seconds(wanted: Mapping[str, Any], name: str, default: float) -> timedelta:
    given = wanted.get(name)
    return timedelta(seconds=default if given is None else float(given))
