"""What changed in the control table between two of its versions: by content, never by clocks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Literal

from lakeledger.control.columns import SOURCES
from lakeledger.control.model import Key, ModuleRow, Snapshot, SourceRow

Kind = Literal["new", "updated", "deactivated", "reactivated", "deleted"]

# What most rows have in common with what they were; only for the others is it worth while to look into their JSON.
_VALUES = attrgetter(*SOURCES.said)


@dataclass(frozen=True)
class SourceChange:
    """One source that is not what it was."""

    kind: Kind
    module_name: str
    source_id: str
    before: SourceRow | None
    after: SourceRow | None

    def to_dict(self) -> dict[str, Any]:
        """As scripts read it."""
        return {"change": self.kind, "module_name": self.module_name, "source_id": self.source_id}


@dataclass(frozen=True)
class Changes:
    """The modules and sources that changed up to a version of the control table. A module is in one list only."""

    version: int
    new_modules: tuple[str, ...] = ()
    updated_modules: tuple[str, ...] = ()
    deactivated_modules: tuple[str, ...] = ()
    reactivated_modules: tuple[str, ...] = ()
    deleted_modules: tuple[str, ...] = ()
    changed_sources: tuple[SourceChange, ...] = ()

    @property
    def modules(self) -> set[str]:
        """Every module that changed in any way."""
        lists = (self.new_modules, self.updated_modules, self.deactivated_modules, self.reactivated_modules, self.deleted_modules)
        return {name for names in lists for name in names}

    def to_dict(self) -> dict[str, Any]:
        """The shape that `detect_changes` is known for."""
        return {
            "new_modules": list(self.new_modules),
            "updated_modules": list(self.updated_modules),
            "deactivated_modules": list(self.deactivated_modules),
            "reactivated_modules": list(self.reactivated_modules),
            "deleted_modules": list(self.deleted_modules),
            "changed_sources": [change.to_dict() for change in self.changed_sources],
        }


def between(before: Snapshot | None, after: Snapshot) -> Changes:
    """What changed from one view of the control table to a later one; from None, everything is new."""
    known: Mapping[Key, SourceRow] = before.sources if before else {}
    settings: Mapping[str, ModuleRow] = before.modules if before else {}
    sources = [change for key in sorted({*known, *after.sources}) if (change := _source(key, known.get(key), after.sources.get(key)))]
    touched = {change.module_name for change in sources}
    touched |= {name for name in {*settings, *after.modules} if _hash(settings.get(name)) != _hash(after.modules.get(name))}
    was, now = _activity(known), _activity(after.sources)
    kinds = {name: _module(was.get(name), now.get(name)) for name in sorted(touched & (was.keys() | now.keys()))}

    def named(kind: Kind) -> tuple[str, ...]:
        return tuple(name for name, found in kinds.items() if found == kind)

    lists = (named("new"), named("updated"), named("deactivated"), named("reactivated"), named("deleted"))
    return Changes(after.version, *lists, tuple(sources))


def _source(key: Key, before: SourceRow | None, after: SourceRow | None) -> SourceChange | None:
    if before is None or after is None:
        return SourceChange("new" if before is None else "deleted", *key, before, after)
    if _VALUES(before) == _VALUES(after) or before.content_hash == after.content_hash:
        return None
    if before.is_active != after.is_active:
        return SourceChange("reactivated" if after.is_active else "deactivated", *key, before, after)
    return SourceChange("updated", *key, before, after)


def _module(was_active: bool | None, is_active: bool | None) -> Kind:
    """A module is known by its rows, and active while one of them is."""
    if is_active is None:
        return "deleted"
    if was_active is None:
        return "new"
    if was_active == is_active:
        return "updated"
    return "reactivated" if is_active else "deactivated"


def _activity(sources: Mapping[Key, SourceRow]) -> dict[str, bool]:
    found: dict[str, bool] = {}
    for (module, _), row in sources.items():
        found[module] = found.get(module, False) or row.is_active
    return found


def _hash(row: ModuleRow | None) -> str | None:
    return row.content_hash if row else None
