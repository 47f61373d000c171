"""Modules as rows of the control table, and back: a row that is wrong makes its own module bad, and no other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from operator import attrgetter
from typing import Any

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from lakeledger import codec
from lakeledger.control import json_text, problems
from lakeledger.control.columns import MODULES, SOURCES
from lakeledger.control.documents import AnySource, Module, wrong_dependencies
from lakeledger.control.model import ModuleRow, Snapshot, SourceRow, UnreadableRow
from lakeledger.control.modules import ModuleSettings
from lakeledger.control.shapes import Shaped
from lakeledger.control.yaml_text import Path
from lakeledger.errors import Invalid

# Settings of a source that have no column of their own: they stand in its transformation_config.
SETTINGS = ("depends_on", "run_if", "timeout_seconds", "max_retries", "retry_seconds")
CONFIGS = ("source_config", "target_config", "transformation_config")
MODULE_CONFIGS = ("schedule", "trigger", "parameters", "tags", "notifications")

_SOURCE_VALUES, _MODULE_VALUES = (attrgetter(*columns.said) for columns in (SOURCES, MODULES))


@dataclass(frozen=True)
class RowProblem:
    """What is wrong with a field of a source's row, or of its module's row (then there is no source_id)."""

    module_name: str
    source_id: str | None
    field: str
    message: str

    def __str__(self) -> str:
        name = self.module_name if self.source_id is None else f"{self.module_name}.{self.source_id}"
        return ": ".join(part for part in (name, self.field, self.message) if part)


@dataclass(frozen=True)
class Modules:
    """The modules of a control table: those that can run, and what is wrong with the others."""

    good: Mapping[str, Module] = field(default_factory=dict)
    bad: Mapping[str, list[RowProblem]] = field(default_factory=dict)


def to_rows(module: Module) -> tuple[ModuleRow, list[SourceRow]]:
    """The rows of a module, without timestamps. The same module always gives the same texts."""
    return _module_row(module), [_source_row(module.module_name, source) for source in module.sources]


def from_rows(module: ModuleRow | None, sources: Sequence[SourceRow]) -> Module:
    """The module that rows describe, its sources in the order of execution and name. Raises Invalid with every problem."""
    if not sources:
        raise Invalid(f"the module {module.module_name if module else ''} has no sources")
    read = _read(sources[0].module_name, module, sources)
    if isinstance(read, Module):
        return read
    raise Invalid("\n".join(map(str, read)))


def modules_of(snapshot: Snapshot) -> Modules:
    """Every module of the table. One whose rows are wrong is bad as a whole: a job never runs with a part missing."""
    sources: dict[str, list[SourceRow]] = {}
    for row in snapshot.sources.values():
        sources.setdefault(row.module_name, []).append(row)
    bad: dict[str, list[RowProblem]] = {}
    for problem in snapshot.problems:
        bad.setdefault(problem.key[0] or "", []).append(_unreadable(problem))
    good: dict[str, Module] = {}
    for name, rows in sorted(sources.items()):
        read = _read(name, snapshot.modules.get(name), rows)
        if not isinstance(read, Module):
            bad.setdefault(name, []).extend(read)
        elif name not in bad:
            good[name] = read
    return Modules(good, dict(sorted(bad.items())))


def hashes(snapshot: Snapshot, *more: Any) -> dict[str, str]:
    """What the rows of each module say, letter by letter, and `more`; of one with a row that cannot be read, nothing."""
    said: dict[str, list[Any]] = {}
    for row in snapshot.sources.values():
        said.setdefault(row.module_name, []).append(_SOURCE_VALUES(row))
    bad = {problem.key[0] for problem in snapshot.problems}
    settings = {name: _MODULE_VALUES(row) for name, row in snapshot.modules.items()}
    return {name: codec.digest([*more, settings.get(name), sorted(found)]) for name, found in said.items() if name not in bad}


def canonical(row: SourceRow) -> SourceRow:
    """The same row as `to_rows` would write it: without defaults and timestamps. A row that is wrong stays as it is."""
    found: list[RowProblem] = []
    try:
        source = _any_source().validate_python(_source_value(row, found))
    except ValidationError:
        return row
    return row if found else _source_row(row.module_name, source)


@cache
def _any_source() -> TypeAdapter[AnySource]:
    return TypeAdapter(AnySource)


def canonical_module(row: ModuleRow) -> ModuleRow:
    """The same, for the settings of a module."""
    found: list[RowProblem] = []
    try:
        settings = ModuleSettings.model_validate(_module_value(row.module_name, row, found))
    except ValidationError:
        return row
    return row if found else _module_row(settings)


def _module_row(module: ModuleSettings) -> ModuleRow:
    return ModuleRow(
        module.module_name,
        module.description,
        schedule=_said(module.schedule),
        trigger=_said(module.trigger),
        parameters=_said(module.parameters or None),
        tags=_said(module.tags or None),
        notifications=_said(module.notifications),
        timeout_seconds=module.timeout_seconds,
        max_concurrent_runs=module.max_concurrent_runs,
    )


def _source_row(module_name: str, source: AnySource) -> SourceRow:
    work = {"task_type": source.transformation_config.task_type, **_plain(source.transformation_config), **_settings(source)}
    return SourceRow(
        source.source_id,
        module_name,
        source.source_type,
        source.execution_order,
        _json(source.source_config),
        _json(source.target_config or {}),
        codec.to_json(work),
        source.is_active,
    )


def _settings(source: AnySource) -> dict[str, Any]:
    return source.model_dump(mode="json", include=set(SETTINGS), exclude_defaults=True)


def _plain(value: BaseModel | Mapping[str, Any]) -> dict[str, Any]:
    return value.model_dump(mode="json", by_alias=True, exclude_defaults=True) if isinstance(value, BaseModel) else dict(value)


def _said(value: BaseModel | Mapping[str, Any] | None) -> str | None:
    return None if value is None else _json(value)


def _json(value: BaseModel | Mapping[str, Any]) -> str:
    return codec.to_json(_plain(value))


def _read(name: str, module: ModuleRow | None, sources: Iterable[SourceRow]) -> Module | list[RowProblem]:
    """The module, or everything that is wrong with it."""
    rows = sorted(sources, key=_order)
    found: list[RowProblem] = []
    value = {**_module_value(name, module, found), "sources": [_source_value(row, found) for row in rows]}
    try:
        read = Module.model_validate(value)
    except ValidationError as error:
        broken = {(problem.source_id, problem.field) for problem in found}
        more = [_problem(name, rows, value, item) for item in error.errors(include_url=False)]
        return [*found, *(each for each in more if (each.source_id, each.field.partition(".")[0]) not in broken)]
    for path, text in wrong_dependencies(read):
        found.append(RowProblem(name, rows[int(path[1])].source_id if path else None, "transformation_config.depends_on", text))
    return found or read


def _order(row: SourceRow) -> tuple[int, str]:
    return (row.execution_order if isinstance(row.execution_order, int) else 0), row.source_id


def _module_value(name: str, row: ModuleRow | None, found: list[RowProblem]) -> dict[str, Any]:
    if name != name.strip():
        found.append(RowProblem(name, None, "module_name", f"{name!r} has blanks around it"))
    if row is None:
        return {"module_name": name}
    texts = {each: getattr(row, each) for each in MODULE_CONFIGS}
    said = {each: _object(RowProblem(name, None, each, ""), text, found) for each, text in texts.items() if text is not None}
    numbers = {each: getattr(row, each) for each in ("timeout_seconds", "max_concurrent_runs")}
    return {"module_name": name, "description": row.description, **said, **numbers}


def _source_value(row: SourceRow, found: list[RowProblem]) -> dict[str, Any]:
    if row.source_id != row.source_id.strip():
        found.append(RowProblem(row.module_name, row.source_id, "source_id", f"{row.source_id!r} has blanks around it"))
    configs = {each: _object(RowProblem(*row.key, each, ""), getattr(row, each), found) for each in CONFIGS}
    work = configs["transformation_config"]
    settings = {each: work.pop(each) for each in SETTINGS if each in work}
    return {
        "source_id": row.source_id,
        "source_type": row.source_type,
        "execution_order": row.execution_order,
        "is_active": row.is_active,
        **{each: config for each, config in configs.items() if config or each == "source_config"},
        **settings,
    }


def _object(problem: RowProblem, text: str | None, found: list[RowProblem]) -> dict[str, Any]:
    """What a JSON text says; if it cannot be read, that is the problem, and it says nothing."""
    try:
        return json_text.read_object(text)
    except (ValueError, TypeError) as error:
        found.append(RowProblem(problem.module_name, problem.source_id, problem.field, str(error)))
        return {}


def _problem(name: str, rows: Sequence[SourceRow], value: Mapping[str, Any], item: ErrorDetails) -> RowProblem:
    """A problem that pydantic found, at the row and the field that it is about."""
    path = problems.path_of(value, item)
    message = problems.explain(item, Module, Shaped(dict(value)))
    if path[:1] != ("sources",) or len(path) == 1:
        return RowProblem(name, None, _told(path) or "sources", message)
    inside = path[2:]
    if inside[:1] and inside[0] in SETTINGS:
        inside = ("transformation_config", *inside)
    elif item["type"] == "unsafe" and not inside:
        inside = ("target_config", "write_mode")
    return RowProblem(name, rows[int(path[1])].source_id, _told(inside), message)


def _told(path: Path) -> str:
    return ".".join(str(part) for part in path)


def _unreadable(row: UnreadableRow) -> RowProblem:
    return RowProblem(row.key[0] or "", row.key[1], row.field, f"{row.message} (row {row.row_number})")
