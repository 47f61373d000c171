"""What is not the same in two views of the control table, row by row and field by field, told without secrets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from lakeledger.control import changes, json_text
from lakeledger.control.columns import MODULES, SOURCES, TIMES
from lakeledger.control.model import ModuleRow, Snapshot, SourceRow
from lakeledger.redaction import scrub, scrub_value

_NOT_COMPARED = ("module_name", "source_id", *TIMES)


def differences(before: Snapshot, after: Snapshot) -> Iterator[dict[str, Any]]:
    """Every row that changed: `change`, `module_name`, `source_id` (None for the settings of a module), and its `fields`."""
    for change in changes.between(before, after).changed_sources:
        yield {**change.to_dict(), "fields": _fields(change.before, change.after) if change.before and change.after else []}
    for name in sorted({*before.modules, *after.modules}):
        one, other = before.modules.get(name), after.modules.get(name)
        if (one and one.content_hash) != (other and other.content_hash):
            kind = "new" if one is None else "deleted" if other is None else "updated"
            yield {"change": kind, "module_name": name, "source_id": None, "fields": _fields(one, other) if one and other else []}


def row_document(row: SourceRow | ModuleRow) -> dict[str, Any]:
    """A row as scripts read it: its JSON texts as what they say."""
    return {name: _said(value) if name in (*SOURCES.configs, *MODULES.configs) else value for name, value in vars(row).items()}


def _said(text: str | None) -> Any:
    if text is None:
        return None
    try:
        return scrub_value(json_text.read_object(text))
    except (ValueError, TypeError):
        return scrub(text)


def _fields(before: SourceRow | ModuleRow, after: SourceRow | ModuleRow) -> list[dict[str, Any]]:
    one, other = _flat(before), _flat(after)
    names = [name for name in {**one, **other} if one.get(name) != other.get(name)]
    return [{"field": name, "before": one.get(name), "after": other.get(name)} for name in names]


def _flat(row: SourceRow | ModuleRow) -> dict[str, Any]:
    """Every field of a row, those inside a JSON text by their path."""
    document = {name: value for name, value in row_document(row).items() if name not in _NOT_COMPARED and value is not None}
    return dict(_inside("", document))


def _inside(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if not isinstance(value, Mapping):
        yield name, value
        return
    for key, inner in value.items():
        yield from _inside(f"{name}.{key}" if name else str(key), inner)
