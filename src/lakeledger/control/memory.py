"""What the control plane remembers in the ledger: rows as last imported from files, and how far each watcher has come."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, TypeVar

from lakeledger import clock, codec
from lakeledger.control.model import Key, ModuleRow, SourceRow
from lakeledger.db import Transaction
from lakeledger.db.queries import load

sql = load("lakeledger.control")

R = TypeVar("R", SourceRow, ModuleRow)
_TIMES = ("created_timestamp", "updated_timestamp")


@dataclass(frozen=True)
class Imported:
    """The rows as the files last said them, and which file said each module."""

    sources: Mapping[Key, SourceRow]
    modules: Mapping[str, ModuleRow]
    files: Mapping[str, str]


def imported(tx: Transaction, control_table: str) -> Imported:
    """What was last imported into that control table."""
    rows = tx.all(sql.list_imports, control_table=control_table)
    sources = [_row(SourceRow, row["imported"]) for row in rows if row["source_id"] is not None]
    modules = [_row(ModuleRow, row["imported"]) for row in rows if row["source_id"] is None]
    return Imported(
        {source.key: source for source in sources},
        {module.key: module for module in modules},
        {row["module_name"]: row["file"] for row in rows},
    )


def remember(tx: Transaction, control_table: str, rows: Iterable[SourceRow | ModuleRow], file: str, by: str) -> None:
    """Note what a file says now."""
    for row in rows:
        key = {"module_name": row.module_name, "source_id": row.source_id if isinstance(row, SourceRow) else None}
        said = {name: value for name, value in asdict(row).items() if name not in _TIMES}
        tx.execute(sql.forget_import, control_table=control_table, **key)
        tx.execute(sql.add_import, id=clock.new_id(), control_table=control_table, **key, file=file, imported=codec.to_plain(said), by=by)


def forget(tx: Transaction, control_table: str, keys: Iterable[tuple[str, str | None]]) -> None:
    """Note that no file says these any more."""
    for module_name, source_id in keys:
        tx.execute(sql.forget_import, control_table=control_table, module_name=module_name, source_id=source_id)


def cursor(tx: Transaction, control_table: str, watcher: str) -> dict[str, Any] | None:
    """How far that watcher has come, or None if it has not begun."""
    row = tx.one(sql.find_cursor, control_table=control_table, watcher=watcher)
    return row["position"] if row else None


def advance(tx: Transaction, control_table: str, watcher: str, position: dict[str, Any]) -> None:
    """Note how far that watcher has come."""
    tx.execute(sql.put_cursor, id=clock.new_id(), control_table=control_table, watcher=watcher, position=position)


def _row(kind: type[R], said: Mapping[str, Any]) -> R:
    known = {each.name for each in fields(kind)}
    return kind(**{name: value for name, value in said.items() if name in known})
