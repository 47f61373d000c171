"""Settings compared field by field: what we changed, what people changed by hand, and what both did."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from lakeledger import codec
from lakeledger.control.settings import STARTERS, comparable
from lakeledger.jobs import CONTENT_TAG
from lakeledger.jobs.settings import ENTRY_KEYS, entries, without_displaced, without_stumps
from lakeledger.redaction import scrub_value

Path = tuple[str, ...]
_Flat = Mapping[Path, Any]
Side = Literal["ours", "theirs", "both"]

NAMED = 5
LONGEST_VALUE = 300

# Nobody but us can say what it should be.
_CONTENT = ("tags", CONTENT_TAG)


class _Absent:
    """What a side that does not have the field has there."""


ABSENT = _Absent()


@dataclass(frozen=True)
class FieldChange:
    """One field that is not the same everywhere: as we last set it, as we want it now, as the backend has it. None is absent."""

    path: Path
    side: Side
    before: Any
    ours: Any
    theirs: Any

    @property
    def name(self) -> str:
        return ".".join(self.path)

    def words(self, name: str | None = None) -> str:
        """What is different, as people say it, without secrets; of the field under its own or under that name."""
        name = name or self.name
        before, ours, theirs = (None if value is None else scrub_value(value, self.name) for value in (self.before, self.ours, self.theirs))
        match self.side:
            case "theirs":
                return f"{name} was changed by hand from {_told(before)} to {_told(theirs)}, and is left so"
            case "both" if before is None and ours is None:
                return f"{name} was set by hand to {_told(theirs)}, and cannot stay beside what you want"
            case "both":
                return f"{name} was {_told(before)}; you want {_told(ours)}, somebody set {_told(theirs)} by hand"
            case _:
                return self._our_words(name, ours, theirs)

    def _our_words(self, name: str, ours: Any, theirs: Any) -> str:
        if self.path == _CONTENT:
            return "what its sources do has changed"
        if is_entry(self.path):
            return f"{name} is {'removed' if ours is None else 'added'}"
        if ours is None:
            return f"{name} is removed (was {_told(theirs)})"
        if theirs is None:
            return f"{name} becomes {_told(ours)}"
        told = _list_words(theirs, ours)
        return f"{name}: {told}" if told else f"{name} changes from {_told(theirs)} to {_told(ours)}"

    def to_dict(self) -> dict[str, Any]:
        """As scripts read it."""
        return {"field": self.name, "side": self.side, "before": self.before, "ours": self.ours, "theirs": self.theirs}


def aligned(before: Mapping[str, Any], ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> tuple[dict[str, Any], ...]:
    """The three sides without what the backend fills in by itself, but each with the defaults that we spelled out: those are ours."""
    sides = [dict(flatten(comparable(settings))) for settings in (before, ours, theirs)]
    said = dict(flatten(before)) | dict(flatten(ours))
    spelled = {path: value for path, value in said.items() if value not in (None, [], {}) and not any(path in side for side in sides[:2])}
    for side in sides:
        parents = {(), *side, *(path[:-1] for path in side)}
        side.update({path: value for path, value in spelled.items() if path not in side and path[:-1] in parents})
    return tuple(unflatten(side) for side in sides)


def compare(before: Mapping[str, Any], ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> list[FieldChange]:
    """The fields that differ between what we want and what is there. What only people have set is theirs, and no difference."""
    flat = [dict(flatten(settings)) for settings in (before, ours, theirs)]
    paths = sorted({path for side in flat for path in side})
    found = [change for path in paths if (change := _compare(path, *(side.get(path, ABSENT) for side in flat)))]
    whole = {change.path for change in found if is_entry(change.path)}
    kept = [change for change in found if change.path in whole or change.path[:2] not in whole]
    return _as_one_decision(kept, *flat)


def shared(theirs: Mapping[str, Any], ours: Mapping[str, Any]) -> dict[str, Any]:
    """Of what is there, the fields that we set as well."""
    wanted = dict(flatten(ours))
    return unflatten({path: value for path, value in flatten(theirs) if path in wanted})


def merged(theirs: Mapping[str, Any], ours: Mapping[str, Any], changes: list[FieldChange]) -> dict[str, Any]:
    """What is there, with our changes made to it. Where both changed, we are followed."""
    flat, wanted = dict(flatten(theirs)), dict(flatten(ours))
    paths, whole = _paths(changes)
    replaced = [path for path in {**flat, **wanted} if path in paths or path[:2] in whole]
    for path in replaced:
        flat.pop(path, None)
    flat.update({path: wanted[path] for path in replaced if path in wanted})
    return _possible(unflatten({path: flat[path] for path in {**wanted, **flat} if path in flat}), ours)


def changed(settings: Mapping[str, Any], changes: Iterable[FieldChange]) -> dict[str, Any]:
    """Of the settings, the fields that we change."""
    paths, whole = _paths(changes)
    return unflatten({path: value for path, value in flatten(settings) if path in paths or path[:2] in whole})


def moved(ours: Sequence[Mapping[str, Any]], seen: Mapping[str, Any], now: Mapping[str, Any], removed: Iterable[Path] = ()) -> list[str]:
    """The fields of ours, of what starts the job, and of whatever goes with the removed, that are not as they were seen."""
    gone = _whole(removed, ours[-1])
    watched = {path for settings in ours for path, _ in flatten(settings)}
    before, after = (dict(flatten(comparable(settings))) for settings in (seen, now))
    names = [path for path in {**before, **after} if path in watched or path[0] in STARTERS or not gone.isdisjoint(_parts(path))]
    return sorted(".".join(path) for path in names if before.get(path, ABSENT) != after.get(path, ABSENT))


def is_entry(path: Path) -> bool:
    """Whether it is a whole entry of a named list: a task, a parameter."""
    return len(path) == 2 and path[0] in ENTRY_KEYS


def flatten(settings: Mapping[str, Any], prefix: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every field with its path. An entry of a named list is there by its name, and its fields are below it."""
    for name, value in settings.items():
        key = None if prefix else ENTRY_KEYS.get(name)
        if key and isinstance(value, list) and all(isinstance(item, dict) and key in item for item in value):
            for item in value:
                path = (name, str(item[key]))
                yield path, {}
                yield from flatten({field: inner for field, inner in item.items() if field != key}, path)
        elif isinstance(value, dict) and value:
            yield from flatten(value, (*prefix, name))
        else:
            yield (*prefix, name), value


def unflatten(flat: Mapping[Path, Any]) -> dict[str, Any]:
    """Settings from their fields."""
    settings: dict[str, Any] = {}
    for path, value in flat.items():
        node = settings
        for name in path[:-1]:
            node = node.setdefault(name, {})
        if value == {}:
            node.setdefault(path[-1], {})
        else:
            node[path[-1]] = value
    for name, key in ENTRY_KEYS.items():
        if isinstance(entries := settings.get(name), dict):
            settings[name] = [{key: entry, **fields} for entry, fields in entries.items()]
    return settings


def _paths(changes: Iterable[FieldChange]) -> tuple[set[Path], set[Path]]:
    """Of what we change, every field, and those that are whole entries."""
    paths = {change.path for change in changes if change.side != "theirs"}
    return paths, {path for path in paths if is_entry(path)}


def _whole(removed: Iterable[Path], wanted: Mapping[str, Any]) -> set[Path]:
    """What goes with all that people set in it: the job, an entry, and what a task did if it does something else now."""
    left = {_choice(path) for path, _ in flatten(wanted)}
    choices = {path: _choice(path) if path else None for path in removed}
    return {choice if choice and choice not in left else path for path, choice in choices.items()}


def _parts(path: Path) -> Iterator[Path]:
    """All that the field is in, from the job down to itself."""
    return (path[:length] for length in range(len(path) + 1))


def _as_one_decision(found: list[FieldChange], before: _Flat, ours: _Flat, theirs: _Flat) -> list[FieldChange]:
    """Where people chose another way to start, or another type of task, while we changed ours, either all of ours holds or nothing."""
    changed = {place for change in found if change.side != "theirs" and (place := _place(change.path)) is not None}
    had, want, have = (_choices(side, changed) for side in (before, ours, theirs))
    taken = {place for place in changed if _is_taken(had[place], want[place], have[place])}
    known = {_choice(path) for path in (*before, *ours)}
    instead = [path for path in theirs if _place(path) in taken and _choice(path) not in known]
    made = [replace(change, side="both") if _place(change.path) in taken else change for change in found]
    return sorted((*made, *(FieldChange(path, "both", None, None, theirs[path]) for path in instead)), key=lambda change: change.path)


def _choices(side: _Flat, places: Iterable[Path]) -> dict[Path, set[Path]]:
    """What stands in each of these places."""
    found: dict[Path, set[Path]] = {place: set() for place in places}
    for path in side:
        if (choice := _choice(path)) and choice[:-1] in found:
            found[choice[:-1]].add(choice)
    return found


def _is_taken(had: set[Path], want: set[Path], have: set[Path]) -> bool:
    """Whether people put something else in the place of what we want there, or nothing."""
    return bool(want and (have - want - had or (had & want) - have))


def _choice(path: Path) -> Path | None:
    """The part that the field belongs to, if a job or task can have only one of its kind: `schedule`, `tasks.load.notebook_task`."""
    if path[0] in STARTERS:
        return path[:1]
    return path[:3] if path[0] == "tasks" and len(path) > 2 and path[2].endswith("_task") else None


def _place(path: Path) -> Path | None:
    choice = _choice(path)
    return None if choice is None else choice[:-1]


def _possible(settings: dict[str, Any], ours: Mapping[str, Any]) -> dict[str, Any]:
    """Without what people set and no job can have beside ours: a second type of one task, a second trigger, half a schedule."""
    if settings.get("tasks"):
        wanted = entries(ours, "tasks")
        settings["tasks"] = [without_displaced(task, wanted.get(str(task["task_key"]), {})) for task in settings["tasks"]]
    if settings.get("trigger"):
        settings["trigger"] = without_displaced(settings["trigger"], ours.get("trigger") or {})
    return without_stumps(settings, ours)


def _compare(path: Path, before: Any, ours: Any, theirs: Any) -> FieldChange | None:
    if ours == theirs or (before is ABSENT and ours is ABSENT):
        return None
    side: Side = "theirs" if before == ours else "ours" if before == theirs or path == _CONTENT else "both"
    return FieldChange(path, side, *(None if value is ABSENT else value for value in (before, ours, theirs)))


def first_few(names: Collection[str]) -> str:
    """The first few names."""
    return ", ".join([*list(names)[:NAMED], *(["…"] if len(names) > NAMED else [])])


def plus_minus(added: Collection[str], removed: Collection[str]) -> str:
    """What a list gets and loses; of many, the first few and how many they are."""
    signed = (("+", added), ("−", removed))
    return ", ".join(f"{sign} {first_few(names)}{f' ({len(names)})' if len(names) > NAMED else ''}" for sign, names in signed if names)


def _list_words(before: Any, after: Any) -> str | None:
    """How one list becomes another, if nothing but what comes and goes is to be told."""
    if not (isinstance(before, list | tuple) and isinstance(after, list | tuple)):
        return None
    old, new = ([_told(value) for value in side] for side in (before, after))
    if len({*old}) < len(old) or len({*new}) < len(new):
        return None
    return plus_minus([value for value in new if value not in {*old}], [value for value in old if value not in {*new}]) or None


def _told(value: Any) -> str:
    if value is None:
        return "nothing"
    text = value if isinstance(value, str) else codec.to_json(value)
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}… ({len(text)} characters)"
