"""What the control plane remembers in the ledger: rows as last imported from files, and how far each watcher has come."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any, TypeVar

from lakeledger import clock, codec
from lakeledger.control.model import Key, ModuleRow, SourceRow
from lakeledger.db import Transaction
from lakeledger.db.queries import load

sql = load("lakeledger.control")

AnyKey = tuple[str, str | None]
R = TypeVar("R", SourceRow, ModuleRow)
_TIMES = ("created_timestamp", "updated_timestamp")


@dataclass(frozen=True)
class Imported:
    """The rows as the files last said them, and which file said each. Keys are (module, source), or (module, None) for its settings."""

    sources: Mapping[Key, SourceRow]
    modules: Mapping[str, ModuleRow]
    files: Mapping[AnyKey, str]

    def says(self, row: SourceRow | ModuleRow, file: str) -> bool:
        """Whether that is what is remembered already."""
        known = self.sources.get(row.key) if isinstance(row, SourceRow) else self.modules.get(row.key)
        return known is not None and self.files.get(_key(row)) == file and _said(known) == _said(row)


def imported(tx: Transaction, control_table: str) -> Imported:
    """What was last imported into that control table."""
    rows = tx.all(sql.list_imports, control_table=control_table)
    sources = [_row(SourceRow, row["imported"]) for row in rows if row["source_id"] is not None]
    modules = [_row(ModuleRow, row["imported"]) for row in rows if row["source_id"] is None]
    return Imported(
        {source.key: source for source in sources},
        {module.key: module for module in modules},
        {(row["module_name"], row["source_id"]): row["file"] for row in rows},
    )


def remember(tx: Transaction, control_table: str, rows: Iterable[tuple[SourceRow | ModuleRow, str]], by: str) -> None:
    """Note what files say now: each row with its file."""
    said = [(_key(row), codec.to_plain(_said(row)), file) for row, file in rows]
    forget(tx, control_table, [key for key, _, _ in said])
    common = {"control_table": control_table, "by": by}
    tx.many(
        sql.add_import,
        [
            {**common, "id": clock.new_id(), "module_name": module_name, "source_id": source_id, "file": file, "imported": columns}
            for (module_name, source_id), columns, file in said
        ],
    )


def forget(tx: Transaction, control_table: str, keys: Iterable[AnyKey]) -> None:
    """Note that no file says these any more."""
    named = [{"control_table": control_table, "module_name": module_name, "source_id": source_id} for module_name, source_id in keys]
    tx.many(sql.forget_source, [each for each in named if each["source_id"] is not None])
    tx.many(sql.forget_module, [each for each in named if each["source_id"] is None])


def cursor(tx: Transaction, control_table: str, watcher: str) -> dict[str, Any] | None:
    """How far that watcher has come, or None if it has not begun."""
    row = tx.one(sql.find_cursor, control_table=control_table, watcher=watcher)
    return row["position"] if row else None


def advance(tx: Transaction, control_table: str, watcher: str, position: dict[str, Any]) -> None:
    """Note how far that watcher has come."""
    tx.execute(sql.put_cursor, id=clock.new_id(), control_table=control_table, watcher=watcher, position=position)


def _key(row: SourceRow | ModuleRow) -> AnyKey:
    return row.module_name, row.source_id if isinstance(row, SourceRow) else None


def _said(row: SourceRow | ModuleRow) -> dict[str, Any]:
    return {name: value for name, value in vars(row).items() if name not in _TIMES}


def _row(kind: type[R], said: Mapping[str, Any]) -> R:
    known = {each.name for each in fields(kind)}
    return kind(**{name: value for name, value in said.items() if name in known})
