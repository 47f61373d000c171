"""What tasks wait for, written once: every task of a level waits for all of the level before, which is as many lists as there are tasks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

# The lists that several tasks share; a task then says with a number which of them is its `depends_on`.
LISTS = "depends_on_lists"


def packed(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings as they are stored and printed: a list that several tasks wait for stands once, as the names of those tasks."""
    known: dict[int, tuple[str, ...] | None] = {}
    waits = [_names(task.get("depends_on"), known) for task in settings.get("tasks") or ()]
    often = [names for names, count in Counter(names for names in waits if names).items() if count > 1]
    if not often:
        return dict(settings)
    numbers = {names: number for number, names in enumerate(often)}
    tasks = [
        {**task, "depends_on": numbers[names]} if names in numbers else task for task, names in zip(settings["tasks"], waits, strict=True)
    ]
    return {**settings, "tasks": tasks, LISTS: [list(names) for names in often]}


def unpacked(settings: Mapping[str, Any]) -> dict[str, Any]:
    """What was packed, in the shape that backends know. Tasks that wait for the same ones share one list: nobody may change it."""
    if LISTS not in settings:
        return dict(settings)
    lists = [[{"task_key": name} for name in names] for names in settings[LISTS]]
    tasks = [
        {**task, "depends_on": lists[task["depends_on"]]} if isinstance(task.get("depends_on"), int) else task for task in settings["tasks"]
    ]
    return {name: tasks if name == "tasks" else value for name, value in settings.items() if name != LISTS}


def _names(waits: Any, known: dict[int, tuple[str, ...] | None]) -> tuple[str, ...] | None:
    """The names in a list that is worth to be written once: of two or more tasks, of which nothing but the name is said."""
    if id(waits) not in known:
        is_plain = isinstance(waits, list) and len(waits) > 1 and all(entry.keys() == {"task_key"} for entry in waits)
        known[id(waits)] = tuple(entry["task_key"] for entry in waits) if is_plain else None
    return known[id(waits)]
