"""Who changed the control table, when and why: what we leave in each Delta commit of ours, and how commits of others are read."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any

from lakeledger.control.model import Commit, Edit

_OURS = "lakeledger"
_LONG = ("metadata", "protocol")
# A note is read with every history: beyond so many modules it does not name them.
MOST_NAMED = 50


@dataclass(frozen=True)
class Mark:
    """Our note in a Delta commit (`userMetadata`, which `DESCRIBE HISTORY` shows everywhere).

    A commit of the sources names the `modules_version` that belongs to it; one of the modules, the `sources_version` that it is staged on.
    `touched` are the modules that it changes, so that whoever looks for one of them need not read every version; None if there are many.
    """

    edit: str
    by: str
    reason: str = ""
    operation: str = "EDIT"
    sources_version: int | None = None
    modules_version: int | None = None
    touched: Sequence[str] | None = None

    def naming(self, change: Edit) -> Mark:
        """The same note, with the modules that the change is about."""
        names = sorted({*(module for module, _ in change.sources), *change.modules})
        return replace(self, touched=names if len(names) <= MOST_NAMED else None)

    @property
    def text(self) -> str:
        return json.dumps({_OURS: {name: value for name, value in asdict(self).items() if value is not None}}, ensure_ascii=False)


def mark_of(info: Mapping[str, Any] | None) -> Mark | None:
    """Our note in a commit, or None if somebody else made it."""
    try:
        said = json.loads((info or {}).get("userMetadata") or "{}")
        return Mark(**said[_OURS]) if isinstance(said, dict) and _OURS in said else None
    except (ValueError, TypeError):
        return None  # a note of somebody else, or of a later release


def commit_of(version: int, info: Mapping[str, Any] | None, table: str) -> Commit:
    """A commit as its log entry tells it; `info` is None if the entry says nothing."""
    said = info or {}
    mark = mark_of(said)
    note = {"reason": mark.reason, "modules_version": mark.modules_version} if mark else {"reason": said.get("userMetadata")}
    detail = {
        **note,
        "parameters": {name: value for name, value in (said.get("operationParameters") or {}).items() if name not in _LONG} or None,
        "engine": said.get("engineInfo"),
        "notebook": said.get("notebook"),
        "job": said.get("job"),
    }
    return Commit(
        version=version,
        at=committed_at(said),
        by=(mark.by if mark else None) or said.get("userName") or said.get("userId"),
        operation=mark.operation if mark else str(said.get("operation") or "UNKNOWN"),
        detail={name: value for name, value in detail.items() if value not in (None, "")},
        table=table,
        touched=frozenset(mark.touched) if mark and mark.touched is not None else None,
    )


def committed_at(info: Mapping[str, Any] | None) -> datetime:
    """When the commit was made: Delta's log counts milliseconds, Spark gives a time. What is not known is long ago."""
    at = (info or {}).get("timestamp", 0)
    if isinstance(at, datetime):
        return at.astimezone(UTC)
    return datetime.fromtimestamp(at / 1000, UTC)
