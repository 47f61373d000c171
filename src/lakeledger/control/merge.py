"""Files into the control table without losing what people changed there: last import, table and file, row by row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, Protocol, TypeVar

from lakeledger import codec
from lakeledger.control import json_text, rows
from lakeledger.control.documents import Module
from lakeledger.control.model import Edit, Key, ModuleRow, Snapshot, SourceRow
from lakeledger.redaction import scrub_value

Choice = Literal["file", "table"]
AnyKey = tuple[str, str | None]
Row = TypeVar("Row", SourceRow, ModuleRow)

_TIMES = ("created_timestamp", "updated_timestamp")
_NOT_COMPARED = ("module_name", "source_id", *_TIMES)


class Rows(Protocol):
    """What the files said when they were last imported."""

    @property
    def sources(self) -> Mapping[Key, SourceRow]: ...
    @property
    def modules(self) -> Mapping[str, ModuleRow]: ...


@dataclass(frozen=True)
class FieldConflict:
    """A field that the file and the table have differently: as last imported, as the file has it, as the table has it. None is absent."""

    field: str
    base: Any
    ours: Any
    theirs: Any

    def words(self) -> str:
        """The field as people read it, without secrets."""
        name = self.field.rpartition(".")[2]
        base, ours, theirs = (codec.to_json(scrub_value(value, name)) for value in (self.base, self.ours, self.theirs))
        return f"{self.field} was {base}; the file has {ours}, the table has {theirs}"


@dataclass(frozen=True)
class MergeConflict:
    """A row that the file and the table both changed, each in its own way. Without a source_id, it is the row of a module's settings."""

    module_name: str
    source_id: str | None
    reason: str
    fields: tuple[FieldConflict, ...] = ()

    def words(self) -> list[str]:
        """What is in conflict: first the row and why, then field by field."""
        name = self.module_name if self.source_id is None else f"{self.module_name}.{self.source_id}"
        return [f"{name}: {self.reason}", *(f"  {field.words()}" for field in self.fields)]


@dataclass(frozen=True)
class Merge:
    """What to do to the table, and what was left alone. Keys are (module, source), or (module, None) for a module's settings.

    `left` are those of the kept that the files no longer have. `said` are the file's rows to remember as imported, `gone` the keys to
    forget: a conflict that is not settled stays one.
    """

    edit: Edit
    conflicts: list[MergeConflict]
    kept: list[AnyKey]
    left: list[AnyKey]
    unchanged: list[AnyKey]
    pruned: list[AnyKey]
    said: list[SourceRow | ModuleRow]
    gone: list[AnyKey]


def merge(last: Rows, table: Snapshot, file: Iterable[Module], *, prune: bool = False, choose: Choice | None = None) -> Merge:
    """Merge what files say now into the table. `last` is what the same files said before.

    Only the file changed a row: it is put. Only the table did: it stays. Both did, differently: a conflict, unless `choose` says who is
    followed. A source that was switched off in the table stays off until the file itself switches it. What left the file stays, too,
    unless `prune`.
    """
    merging = _Merging(prune, choose)
    named = [rows.to_rows(module) for module in file]
    modules = {module.module_name: module for module, _ in named}
    sources = {source.key: source for _, found in named for source in found}
    unreadable = {problem.key: str(problem) for problem in table.problems}
    for key, source in sorted(sources.items()):
        merging.stated(key, last.sources.get(key), table.sources.get(key), source, unreadable.get(key))
    for key in sorted(last.sources.keys() - sources.keys()):
        merging.left(key, last.sources[key], table.sources.get(key))
    for name, module in sorted(modules.items()):
        base, now = (each.modules.get(name, ModuleRow(name)) for each in (last, table))
        merging.stated((name, None), base, now, module, unreadable.get((name, None)))
    remaining = {module for module, source_id in table.sources if merging.sources.get((module, source_id), "stays") is not None}
    for name in sorted(last.modules.keys() - modules.keys()):
        merging.left((name, None), last.modules[name], table.modules.get(name), is_needed=name in remaining)
    return merging.result()


class _Merging:
    """Row by row, what becomes of it."""

    def __init__(self, prune: bool, choose: Choice | None) -> None:
        self.prune = prune
        self.choose = choose
        self.sources: dict[Key, SourceRow | None] = {}
        self.modules: dict[str, ModuleRow | None] = {}
        self.conflicts: list[MergeConflict] = []
        self.kept: list[AnyKey] = []
        self.left_behind: list[AnyKey] = []
        self.unchanged: list[AnyKey] = []
        self.pruned: list[AnyKey] = []
        self.said: list[SourceRow | ModuleRow] = []
        self.gone: list[AnyKey] = []

    def stated(self, key: AnyKey, base: Row | None, table: Row | None, file: Row, unreadable: str | None) -> None:
        """A row that the file has."""
        base, table = _canonical(base, file), _canonical(table, file)
        conflict: MergeConflict | None = None
        put: Row | None = None
        if unreadable:
            conflict, put = _conflict(key, f"the table's row cannot be read: {unreadable}", base, file, None), file
        elif table is None and base is None:
            put = file
        elif table is None:
            if not _same(base, file):
                conflict, put = _conflict(key, "the row was deleted in the table and changed in the file", base, file, None), file
        else:
            wanted = _with_activity(base, table, file)
            if not _same(wanted, table):
                conflict, put = _compared(key, base, table, file, wanted)
        self._decide(key, table, file, put, conflict)

    def left(self, key: AnyKey, base: Row, table: Row | None, *, is_needed: bool = False) -> None:
        """A row that the file no longer has."""
        if table is None:
            self.gone.append(key)
        elif not self.prune or is_needed:
            self.kept.append(key)
            self.left_behind += [] if is_needed else [key]
        elif _same(_canonical(table, base), base) or self.choose == "file":
            self._put(key, None)
            self.pruned.append(key)
            self.gone.append(key)
        elif self.choose == "table":
            self.kept.append(key)
            self.gone.append(key)
        else:
            self.conflicts.append(_conflict(key, "the row left the file, but was changed in the table", base, None, table))

    def result(self) -> Merge:
        edit = Edit(self.sources, self.modules)
        return Merge(edit, self.conflicts, self.kept, self.left_behind, self.unchanged, self.pruned, self.said, self.gone)

    def _decide(self, key: AnyKey, table: Row | None, file: Row, put: Row | None, conflict: MergeConflict | None) -> None:
        if conflict and self.choose is None:
            self.conflicts.append(conflict)
            return
        self.said.append(file)
        if put is not None and not (conflict and self.choose == "table"):
            self._put(key, put)
        elif table is not None and _same(table, file):
            self.unchanged.append(key)
        else:
            self.kept.append(key)

    def _put(self, key: AnyKey, row: SourceRow | ModuleRow | None) -> None:
        module_name, source_id = key
        if source_id is None:
            self.modules[module_name] = row if isinstance(row, ModuleRow) else None
        else:
            self.sources[module_name, source_id] = row if isinstance(row, SourceRow) else None


def _compared(key: AnyKey, base: Row | None, table: Row, file: Row, wanted: Row) -> tuple[MergeConflict | None, Row | None]:
    """What to put where table and file differ, and whether that is in conflict."""
    if base is None:
        return _conflict(key, "the file and the table both have the row, and differ", None, file, table), wanted
    if _same(_alike(file, base), base):
        switched = isinstance(file, SourceRow) and isinstance(base, SourceRow) and file.is_active != base.is_active
        return None, _alike(table, wanted) if switched else None
    if _same(_alike(table, base), base):
        return None, wanted
    return _conflict(key, "the file and the table both changed the row", base, file, table), wanted


def _with_activity(base: Row | None, table: Row, file: Row) -> Row:
    """The file's row, switched on or off as the table has it unless the file itself switched it since the last import."""
    if not isinstance(file, SourceRow) or not isinstance(table, SourceRow):
        return file
    if not isinstance(base, SourceRow):
        return replace(file, is_active=file.is_active and table.is_active)
    return replace(file, is_active=table.is_active if file.is_active == base.is_active else file.is_active)


def _alike(row: Row, other: Row) -> Row:
    """The row, switched on or off as the other one is."""
    return replace(row, is_active=other.is_active) if isinstance(row, SourceRow) and isinstance(other, SourceRow) else row


def _canonical(row: Row | None, other: Row) -> Row | None:
    """The row without spelled-out defaults, so that only what means something else counts as a change."""
    if row is None or _same(row, other):
        return row
    return rows.canonical(row) if isinstance(row, SourceRow) else rows.canonical_module(row)


def _same(one: SourceRow | ModuleRow | None, other: SourceRow | ModuleRow | None) -> bool:
    if one is None or other is None:
        return False
    return _columns(one) == _columns(other) or one.content_hash == other.content_hash


def _columns(row: SourceRow | ModuleRow) -> list[Any]:
    return [value for name, value in vars(row).items() if name not in _TIMES]


def _conflict(
    key: AnyKey, reason: str, base: SourceRow | ModuleRow | None, ours: SourceRow | ModuleRow | None, theirs: SourceRow | ModuleRow | None
) -> MergeConflict:
    sides = [dict(_flat(row)) for row in (base, ours, theirs)]
    names = sorted({name for side in sides for name in side})
    found = (FieldConflict(name, *(side.get(name) for side in sides)) for name in names)
    return MergeConflict(*key, reason, tuple(field for field in found if field.ours != field.theirs))


def _flat(row: SourceRow | ModuleRow | None) -> Iterator[tuple[str, Any]]:
    """Every field of a row, those inside a JSON text by their path."""
    for column in fields(row) if row else ():
        value = getattr(row, column.name)
        if column.name not in _NOT_COMPARED and value is not None:
            yield from _inside(column.name, _said(value) if column.name in (*rows.CONFIGS, *rows.MODULE_CONFIGS) else value)


def _said(text: str) -> Any:
    try:
        return json_text.read_object(text)
    except (ValueError, TypeError):
        return text


def _inside(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if not isinstance(value, dict):
        yield name, value
        return
    for key, inner in value.items():
        yield from _inside(f"{name}.{key}", inner)
