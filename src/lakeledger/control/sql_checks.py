"""From what a statement left behind to an edit: every value checked, every problem named with its row and field."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from lakeledger import codec
from lakeledger.control import edits, json_text, rows
from lakeledger.control.columns import SOURCES, TIMES, Columns
from lakeledger.control.comparisons import time_text
from lakeledger.control.model import Edit, Snapshot
from lakeledger.control.scratch import Touched, Values
from lakeledger.errors import Invalid

LONGEST_NAME = 200
LONGEST_TEXT = 1_000_000
LARGEST = 2**31 - 1


@dataclass(frozen=True)
class _Checked:
    """A row that a statement left, and what is wrong with it."""

    number: int
    key: tuple[Any, ...]
    row: Any
    problems: tuple[tuple[str, str], ...] = ()

    def told(self) -> Iterator[str]:
        name = ".".join(str(part) for part in self.key if part is not None)
        for field, message in self.problems:
            yield f"row {self.number}{f' ({name})' if name else ''}: {field}: {message}"


def edit_of(columns: Columns, touched: Sequence[Touched], left: Sequence[Values], snapshot: Snapshot, now: datetime) -> Edit:
    """The edit that a write comes to. Raises Invalid with every problem; then nothing may be committed."""
    key_of = _key_in(columns)
    before = {key_of(each.after): each.before for each in touched if each.after is not None}
    keys = dict.fromkeys(key_of(values) for each in touched for values in (each.after, each.before) if values is not None)
    after: dict[Any, list[Values]] = {key: [] for key in keys}
    for values in left:
        if (key := key_of(values)) in after:
            after[key].append(values)
    checked = [_check(columns, number, key, found, before.get(key), now) for number, (key, found) in enumerate(after.items(), 1) if found]
    told = [line for each in checked for line in each.told()]
    put = {each.key: each.row for each in checked}
    edit = _edit(columns, {key: put.get(key) for key in keys})
    if told := told or [str(problem) for problem in _new_problems(edit, snapshot)]:
        raise Invalid("\n".join(["nothing was changed:", *told]))
    return edit


def _edit(columns: Columns, changed: dict[Any, Any]) -> Edit:
    return Edit(sources=changed) if columns is SOURCES else Edit(modules={key[0]: row for key, row in changed.items()})


def _key_in(columns: Columns) -> Callable[[Values], tuple[Any, ...]]:
    places = [columns.names.index(name) for name in columns.key]
    return lambda values: tuple(values[place] for place in places)


def _check(columns: Columns, number: int, key: tuple[Any, ...], found: list[Values], before: Values | None, now: datetime) -> _Checked:
    """One key and the rows that have it now. A text that was wrong before and did not change is left to whoever repairs it."""
    if len(found) > 1:
        return _Checked(
            number, key, None, ((columns.key[-1], f"there would be {len(found)} rows with this key: UPDATE the one that is there"),)
        )
    said = dict(zip(columns.names, found[0], strict=True))
    was = dict(zip(columns.names, before, strict=True)) if before else {}
    problems = tuple(
        (name, message) for name, value in said.items() if (message := _problem(columns, name, value, is_new=was.get(name, now) != value))
    )
    if problems:
        return _Checked(number, key, None, problems)
    row: Any = columns.row(**{name: _value(name, value, now) for name, value in said.items()})
    return _Checked(number, key, replace(row, updated_timestamp=None) if before else row)


def _problem(columns: Columns, name: str, value: Any, *, is_new: bool) -> str | None:
    if value is None:
        return "is missing" if name in columns.needed else None
    match columns.type(name):
        case "integer":
            lowest = 1 if name == "max_concurrent_runs" else 0
            is_right = isinstance(value, int) and lowest <= value <= LARGEST
            return None if is_right else f"must be a whole number from {lowest} to {LARGEST}, not {_shown(value)}"
        case "boolean":
            return None if isinstance(value, int) and value in (0, 1) else f"must be true or false, not {_shown(value)}"
        case "timestamp":
            return None if _is_time(value) else f"must be a timestamp, not {_shown(value)}"
        case _:
            return _text_problem(columns, name, value) if is_new or not isinstance(value, str) else None


def _text_problem(columns: Columns, name: str, value: Any) -> str | None:
    if not isinstance(value, str):
        return f"must be a text, not {_shown(value)}"
    if name in columns.configs:
        return _config_problem(value)
    longest = LONGEST_TEXT if name == "description" else LONGEST_NAME
    if len(value) > longest:
        return f"has {len(value)} characters, more than {longest}"
    if name in columns.needed and (not value.strip() or value != value.strip() or not value.isprintable()):
        return f"must be a name without blanks around it, not {_shown(value)}"
    return None


def _config_problem(value: str) -> str | None:
    if len(value) > LONGEST_TEXT:
        return f"has {len(value)} characters, more than {LONGEST_TEXT}"
    if not value.strip():
        return "must be JSON: {} says nothing"
    try:
        json_text.read_object(value)
    except (ValueError, TypeError) as error:
        return str(error)
    return None


def _new_problems(edit: Edit, snapshot: Snapshot) -> list[rows.RowProblem]:
    """What the edit would make wrong in the rows that it puts: a task type that nobody knows, two sources that overwrite one table."""
    names = {key[0] for key in edit.sources} | set(edit.modules)
    known = set(rows_problems(snapshot, names))
    sources = {key for key, row in edit.sources.items() if row}
    modules = {name for name, _ in sources} | {name for name, row in edit.modules.items() if row}
    return [
        problem
        for problem in rows_problems(edits.after(edit, snapshot), names)
        if problem not in known
        and (problem.module_name in modules if problem.source_id is None else (problem.module_name, problem.source_id) in sources)
    ]


def rows_problems(snapshot: Snapshot, names: set[Any]) -> list[rows.RowProblem]:
    """What is wrong with the rows of these modules."""
    part = replace(
        snapshot,
        sources={key: row for key, row in snapshot.sources.items() if key[0] in names},
        modules={name: row for name, row in snapshot.modules.items() if name in names},
        problems=(),
    )
    return [problem for found in rows.modules_of(part).bad.values() for problem in found]


def _value(name: str, value: Any, now: datetime) -> Any:
    """The value for the row. What the statement called now is left open: the commit knows its time."""
    if name in TIMES and value is not None:
        return None if value == time_text(now) else codec.to_time(value)
    return bool(value) if name == "is_active" else value


def _is_time(value: Any) -> bool:
    try:
        return isinstance(value, str) and codec.to_time(value) is not None
    except ValueError:
        return False


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:80]}…"
