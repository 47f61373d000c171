"""Settings of jobs as plain values: which of them say the same, how ours are laid over what people set, and the least to send for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

# Lists whose entries have a name, by which they are found whatever their order.
ENTRY_KEYS = {"tasks": "task_key", "job_clusters": "job_cluster_key", "parameters": "name", "environments": "environment_key"}
# Of these, the Jobs API takes single entries; any other list is sent as a whole.
SENT_BY_ENTRY = ("tasks", "job_clusters")

_TRIGGERS = frozenset({"file_arrival", "table_update", "periodic", "model"})
# What says when a schedule or a trigger starts the job; without it, the rest of the part says nothing.
_STARTS = {"schedule": ("quartz_cron_expression", "cron"), "file_arrival": ("url",), "table_update": ("table_names",)}
_QUIET = {"no_alert_for_skipped_runs": False, "no_alert_for_canceled_runs": False, "alert_on_last_attempt": False}
_TASK = {
    "run_if": "ALL_SUCCESS",
    "timeout_seconds": 0,
    "max_retries": 0,
    "min_retry_interval_millis": 0,
    "retry_on_timeout": False,
    "disable_auto_optimization": False,
    "disabled": False,
    "email_notifications": _QUIET,
    "notification_settings": _QUIET,
    "pipeline_task": {"full_refresh": False},
}
_JOB = {
    "description": "",
    "max_concurrent_runs": 1,
    "timeout_seconds": 0,
    "queue": {"enabled": True},
    "edit_mode": "EDITABLE",
    "email_notifications": _QUIET,
    "notification_settings": _QUIET,
    "schedule": {"pause_status": "UNPAUSED"},
    "trigger": {
        "pause_status": "UNPAUSED",
        "file_arrival": {"min_time_between_triggers_seconds": 0, "wait_after_last_change_seconds": 0},
        "table_update": {"condition": "ANY_UPDATED", "min_time_between_triggers_seconds": 0, "wait_after_last_change_seconds": 0},
    },
}


@dataclass(frozen=True)
class Patch:
    """The least to send: fields with their new values, and the names of those to remove (`schedule`, `tasks/load`)."""

    new_settings: dict[str, Any] = field(default_factory=dict)
    fields_to_remove: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.new_settings or self.fields_to_remove)


def normalise(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings without what the API fills in or reorders: two that would make the same job become equal.

    A field that says only its default is left out, so both sides of a comparison must be normalised.
    """
    source = "GIT" if settings.get("git_source") else "WORKSPACE"
    result = {name: value for name, value in settings.items() if name != "format"}
    sorted_lists: dict[int, list[Any]] = {}
    for name, key in ENTRY_KEYS.items():
        if entries := result.get(name):
            result[name] = _sorted_by(key, [_plain_entry(name, entry, source, sorted_lists) for entry in entries])
    return _without_defaults(result, _JOB)


def merge(current: Mapping[str, Any], wanted: Mapping[str, Any], remove: Iterable[str] = ()) -> dict[str, Any]:
    """What is there without the removed fields, and with ours laid over it: what people added beside ours stays.

    A removed field is a path from the top, `schedule` or `tasks/load/timeout_seconds`; what is wanted is never removed.
    """
    result = deepcopy(dict(current))
    for path in remove:
        _remove(result, path_parts(path))
    for name, value in wanted.items():
        key = ENTRY_KEYS.get(name)
        result[name] = _lay_entries(result.get(name) or [], value, key) if key else _lay(result.get(name), value)
    return without_stumps(result, wanted)


def without_stumps(settings: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
    """The settings without a schedule or trigger that no longer says when, unless it is wanted so.

    What people set beside it has nothing left to hold on to.
    """
    asked = wanted.get("trigger") or {}
    trigger = {name: part for name, part in (settings.get("trigger") or {}).items() if name in asked or not _is_stump(name, part)}
    kept = {name: part for name, part in settings.items() if name != "trigger" and (name in wanted or not _is_stump(name, part))}
    return {**kept, "trigger": trigger} if trigger.keys() - {"pause_status"} or (asked and "trigger" in settings) else kept


def without_displaced(there: Mapping[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
    """What is there, without what cannot stand beside those of the wanted that are there, too."""
    present = {name: value for name, value in wanted.items() if name in there}
    return {name: value for name, value in there.items() if not _is_displaced(name, present)}


def patch(current: Mapping[str, Any], target: Mapping[str, Any]) -> Patch:
    """What to send so that `current` becomes `target`; nothing where they say the same."""
    had, has = normalise(current), normalise(target)
    made = Patch()
    for name in (*target, *(name for name in current if name not in target)):
        if had.get(name) == has.get(name):
            continue
        if name in SENT_BY_ENTRY:
            _patch_entries(made, name, had.get(name) or [], has.get(name) or [], target.get(name) or [])
        elif _is_empty(target.get(name)):
            made.fields_to_remove.append(name)
        else:
            made.new_settings[name] = target[name]
    return made


def path_text(parts: Iterable[str]) -> str:
    """A path as `update` takes it: `tasks/load/timeout_seconds`. A slash within a name is written as in JSON Pointer."""
    return "/".join(part.replace("~", "~0").replace("/", "~1") for part in parts)


def path_parts(path: str) -> list[str]:
    """The names that `path_text` joined."""
    return [part.replace("~1", "/").replace("~0", "~") for part in path.split("/")]


def entries(settings: Mapping[str, Any], name: str) -> dict[str, dict[str, Any]]:
    """The entries of a named list, by their names."""
    return {str(entry[ENTRY_KEYS[name]]): entry for entry in settings.get(name) or []}


def _patch_entries(made: Patch, name: str, had: list[Any], has: list[Any], target: list[Any]) -> None:
    before, after = entries({name: had}, name), entries({name: has}, name)
    changed = [entry for key, entry in entries({name: target}, name).items() if before.get(key) != after[key]]
    if changed:
        made.new_settings[name] = changed
    made.fields_to_remove.extend(f"{name}/{key}" for key in before if key not in after)


def _lay(current: Any, wanted: Any) -> Any:
    """Ours over theirs: inside a mapping name by name, else ours alone."""
    if not (isinstance(current, Mapping) and isinstance(wanted, Mapping)):
        return wanted
    kept = {name: value for name, value in current.items() if not _is_displaced(name, wanted)}
    return {**kept, **{name: _lay(kept.get(name), value) for name, value in wanted.items()}}


def _is_displaced(name: str, wanted: Mapping[str, Any]) -> bool:
    """Whether it cannot stand beside what is wanted: a task does one thing, and a trigger waits for one."""
    if name in wanted:
        return False
    if name.endswith("_task"):
        return any(other.endswith("_task") for other in wanted)
    return name in _TRIGGERS and not _TRIGGERS.isdisjoint(wanted)


def _is_stump(name: str, part: Any) -> bool:
    return isinstance(part, Mapping) and name in _STARTS and not any(part.get(start) for start in _STARTS[name])


def _lay_entries(current: list[Any], wanted: list[Any], key: str) -> list[Any]:
    ours = {entry[key]: entry for entry in wanted}
    theirs = {entry[key]: entry for entry in current}
    return [_lay(theirs.get(name), ours.get(name, theirs.get(name))) for name in {**theirs, **ours}]


def _remove(settings: dict[str, Any], parts: list[str]) -> None:
    node: Any = settings
    if len(parts) > 1 and (key := ENTRY_KEYS.get(parts[0])):
        found = [entry for entry in settings.get(parts[0]) or [] if entry.get(key) == parts[1]]
        if len(parts) == 2 and found:
            settings[parts[0]] = [entry for entry in settings[parts[0]] if entry.get(key) != parts[1]]
        node, parts = (found[0] if found else None), parts[2:]
    for part in parts[:-1]:
        node = node.get(part) if isinstance(node, dict) else None
    if parts and isinstance(node, dict):
        node.pop(parts[-1], None)


def _plain_entry(name: str, entry: dict[str, Any], source: str, sorted_lists: dict[int, list[Any]]) -> dict[str, Any]:
    """An entry of a named list as it was most likely written."""
    match name:
        case "tasks":
            return _plain_task(entry, source, sorted_lists)
        case "environments":
            return _plain_environment(entry)
        case _:
            return _without_defaults(entry, {})


def _plain_task(task: dict[str, Any], source: str, sorted_lists: dict[int, list[Any]]) -> dict[str, Any]:
    """The API sorts what a task waits for, and says where its code comes from. A list that many tasks share is sorted once."""
    from_there = {name: {"source": source, "file": {"source": source}} for name in task if name.endswith("_task")}
    waits = task.get("depends_on") or []
    if id(waits) not in sorted_lists:
        sorted_lists[id(waits)] = _sorted_by("task_key", waits)
    return _without_defaults({**task, "depends_on": sorted_lists[id(waits)]}, {**from_there, **_TASK})


def _plain_environment(environment: dict[str, Any]) -> dict[str, Any]:
    """`client` is the earlier name of `environment_version`."""
    spec = dict(environment.get("spec") or {})
    version = spec.pop("client", None)
    return _without_defaults({**environment, "spec": {"environment_version": version, **spec}}, {})


def _sorted_by(key: str, entries: list[Any]) -> list[Any]:
    return sorted(entries, key=lambda entry: str(entry.get(key)))


def _without_defaults(value: Mapping[str, Any], defaults: Any) -> dict[str, Any]:
    known = defaults if isinstance(defaults, Mapping) else {}
    inner = {name: _plain(item, known.get(name)) for name, item in value.items()}
    return {name: item for name, item in inner.items() if not _is_empty(item) and not (name in known and item == known[name])}


def _plain(item: Any, defaults: Any) -> Any:
    """As the API gives it back, which knows no tuples."""
    if isinstance(item, dict):
        return _without_defaults(item, defaults)
    return list(item) if isinstance(item, tuple) else item


def _is_empty(value: Any) -> bool:
    return value is None or value in ({}, [])
