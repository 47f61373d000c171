"""Changes as people read them: what happens to many tasks alike is one line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from lakeledger.control.fields import FieldChange, Side, first_few, is_entry, plus_minus

# What a list gets and what it loses.
_Difference = tuple[tuple[str, ...], tuple[str, ...]]

# So many entries that come or go are told one by one.
APART = 5


@dataclass(frozen=True)
class WaitsChange:
    """What these tasks wait for, besides what they did: the tasks of a level change together.

    Where both sides changed it, `added` and `removed` are what we want, and those `by_hand` what people made of it.
    """

    tasks: tuple[str, ...]
    side: Side
    added: tuple[str, ...]
    removed: tuple[str, ...]
    added_by_hand: tuple[str, ...] = ()
    removed_by_hand: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return f"tasks.{self.tasks[0] if len(self.tasks) == 1 else '*'}.depends_on"

    def words(self) -> str:
        """What is different, as people say it."""
        which = self.name if len(self.tasks) == 1 else f"depends_on of {len(self.tasks)} tasks ({first_few(self.tasks)})"
        told = plus_minus(self.added, self.removed)
        match self.side:
            case "theirs":
                return f"{which} was changed by hand: {told}, and is left so"
            case "both":
                return f"{which}: you want {told}, somebody set {plus_minus(self.added_by_hand, self.removed_by_hand)} by hand"
            case _:
                return f"{which}: {told}"

    def to_dict(self) -> dict[str, Any]:
        """As scripts read it."""
        found = {"tasks": list(self.tasks), "added": list(self.added), "removed": list(self.removed)}
        by_hand = {"added_by_hand": list(self.added_by_hand), "removed_by_hand": list(self.removed_by_hand)}
        return {"field": self.name, "side": self.side, **found, **(by_hand if self.side == "both" else {})}


Change = FieldChange | WaitsChange


def summarised(changes: Iterable[FieldChange]) -> tuple[Change, ...]:
    """The changes, with those of what tasks wait for put together where they are the same."""
    found: list[Change] = []
    groups: dict[tuple[Side, _Difference, _Difference], list[str]] = {}
    known: dict[int, frozenset[str] | None] = {}
    for change in changes:
        if (differences := _differences(change, known)) is None:
            found.append(change)
        else:
            groups.setdefault((change.side, *differences), []).append(change.path[1])
    return *found, *(WaitsChange(tuple(tasks), side, *made, *by_hand) for (side, made, by_hand), tasks in groups.items())


def words(changes: Iterable[Change]) -> list[str]:
    """A line for each; for what happens to many tasks alike, one for all of them."""
    groups: dict[tuple[Any, ...], list[Change]] = {}
    for change in changes:
        groups.setdefault(_alike(change), []).append(change)
    return [line for found in groups.values() for line in _lines(found)]


def _alike(change: Change) -> tuple[Any, ...]:
    """What a change has in common with those that are told together with it."""
    if isinstance(change, FieldChange) and is_entry(change.path):
        return change.path[0], change.side, change.ours is None
    if isinstance(change, FieldChange) and change.path[0] == "tasks":
        return change.path[2:], change.words("…")
    return (change.words(),)


def _lines(found: Sequence[Change]) -> list[str]:
    first = found[0]
    if len(found) == 1 or isinstance(first, WaitsChange):
        return [change.words() for change in found]
    names = [change.path[1] for change in found if isinstance(change, FieldChange)]
    if not is_entry(first.path):
        return [first.words(f"{'.'.join(first.path[2:])} of {len(names)} tasks ({first_few(names)})")]
    if first.side != "ours" or len(names) <= APART:
        return [change.words() for change in found]
    return [f"{first.path[0]}: {plus_minus((), names) if first.ours is None else plus_minus(names, ())}"]


def _differences(change: FieldChange, known: dict[int, frozenset[str] | None]) -> tuple[_Difference, _Difference] | None:
    """What comes and what goes, and in a conflict what did so by hand; or None if the change is another one, or of more than names."""
    if len(change.path) != 3 or (change.path[0], change.path[2]) != ("tasks", "depends_on"):
        return None
    before, ours, theirs = (_names(waits, known) for waits in (change.before, change.ours, change.theirs))
    if before is None or ours is None or theirs is None:
        return None
    is_conflict = change.side == "both"
    first, then = {"ours": (theirs, ours), "theirs": (before, theirs), "both": (before, ours)}[change.side]
    made = _difference(first, then)
    by_hand = _difference(before, theirs) if is_conflict else ((), ())
    return (made, by_hand) if any(made) and (any(by_hand) or not is_conflict) else None


def _difference(before: frozenset[str], after: frozenset[str]) -> _Difference:
    return tuple(sorted(after - before)), tuple(sorted(before - after))


def _names(waits: Any, known: dict[int, frozenset[str] | None]) -> frozenset[str] | None:
    """The names in a list of dependencies that says nothing else."""
    if id(waits) not in known:
        entries = waits or []
        is_plain = isinstance(entries, list) and all(isinstance(entry, dict) and entry.keys() == {"task_key"} for entry in entries)
        known[id(waits)] = frozenset(entry["task_key"] for entry in entries) if is_plain else None
    return known[id(waits)]
