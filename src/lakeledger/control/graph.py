"""From a module to its tasks: what waits for what, under keys that no two tasks share."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lakeledger.config import suggest
from lakeledger.errors import Invalid

if TYPE_CHECKING:
    from lakeledger.control.documents import AnySource, Module

KEY_LENGTH = 100
_KEY = re.compile(rf"[A-Za-z0-9_-]{{1,{KEY_LENGTH}}}")


@dataclass(frozen=True)
class Task:
    """One active source as a task: its key, and the keys of the tasks that it waits for."""

    key: str
    source: AnySource
    waits_for: tuple[str, ...]
    run_if: str


def tasks(module: Module) -> list[Task]:
    """The module's active sources in an order in which they can run. Raises Invalid for a cycle or an unknown name.

    A source waits for every source of the next lower execution_order, and for those that it depends on; instead of one that is switched
    off, for those that this one depends on.
    """
    known = {source.source_id: source for source in module.sources}
    active = {name: source for name, source in known.items() if source.is_active}
    before = _level_before(active.values())
    waits: dict[str, frozenset[str]] = {}
    for name, source in active.items():
        level = before[source.execution_order]
        if unknown := [other for other in source.depends_on if other not in known]:
            raise Invalid(f"{module.module_name}.{name} depends on {unknown[0]!r}, which is not there{suggest(unknown[0], sorted(known))}")
        more = _active_below(source.depends_on, known)
        waits[name] = level if more <= level else level | more
    order = _in_order(module.module_name, waits)
    keys, place = task_keys(order), {name: at for at, name in enumerate(order)}
    in_order = {  # what a whole level waits for is one tuple: there may be a thousand tasks that wait for a thousand
        names: tuple(keys[other] for other in sorted(names, key=place.__getitem__)) for names in set(waits.values())
    }
    return [Task(keys[name], active[name], in_order[waits[name]], active[name].run_if) for name in order]


def task_keys(names: Sequence[str]) -> dict[str, str]:
    """A key for each name, made of what every backend allows; names that look alike then still have different keys."""
    keys = {name: name for name in names if _KEY.fullmatch(name)}
    for name in names:
        if name not in keys:
            digest = hashlib.sha256(name.encode()).hexdigest()
            plain = re.sub(r"[^A-Za-z0-9_-]", "_", name)
            keys[name] = next(
                key for size in range(8, 65) if (key := f"{plain[: KEY_LENGTH - 1 - size]}_{digest[:size]}") not in keys.values()
            )
    return keys


def _level_before(active: Iterable[AnySource]) -> dict[int, frozenset[str]]:
    """For each execution_order, all sources of the next lower one."""
    levels: dict[int, list[str]] = {}
    for source in active:
        levels.setdefault(source.execution_order, []).append(source.source_id)
    orders = sorted(levels)
    return {order: frozenset(levels.get(lower, ())) for lower, order in zip([-1, *orders], orders, strict=False)}


def _active_below(names: Iterable[str], known: Mapping[str, AnySource]) -> frozenset[str]:
    """These sources, and in place of each that is switched off those that it depends on, however deep."""
    found: set[str] = set()
    left, seen = list(names), set[str]()
    while left:
        name = left.pop()
        if name in seen or name not in known:
            continue
        seen.add(name)
        if known[name].is_active:
            found.add(name)
        else:
            left += known[name].depends_on
    return frozenset(found)


def _in_order(module: str, waits: Mapping[str, frozenset[str]]) -> list[str]:
    """Every name after those it waits for, otherwise as given. Raises Invalid that shows a cycle."""
    order: list[str] = []
    done: set[str] = set()
    left = list(waits)
    while left:
        ready = [name for name in left if waits[name] <= done]
        if not ready:
            raise Invalid(
                f"the tasks of {module} wait for each other: {' → '.join(_cycle(waits, left))}; change depends_on or execution_order"
            )
        order += ready
        done.update(ready)
        left = [name for name in left if name not in done]
    return order


def _cycle(waits: Mapping[str, frozenset[str]], left: Sequence[str]) -> list[str]:
    path = [left[0]]
    while True:
        following = min(name for name in waits[path[-1]] if name in left)
        if following in path:
            return [*path[path.index(following) :], following]
        path.append(following)
