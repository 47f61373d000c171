"""Rows and edits for the tests of the control table."""

from __future__ import annotations

from typing import Any

from lakeledger.control.model import Edit, Key, ModuleRow, SourceRow

INGEST = {"source_config": '{"path": "in/*.csv"}', "target_config": '{"table": "orders"}', "transformation_config": "{}"}


def source(source_id: str = "orders", module_name: str = "shop", **more: Any) -> SourceRow:
    values = {"source_type": "files", "execution_order": 1, **INGEST, "is_active": True, **more}
    return SourceRow(source_id, module_name, **values)


def put(*rows: SourceRow | ModuleRow) -> Edit:
    return Edit(
        {row.key: row for row in rows if isinstance(row, SourceRow)},
        {row.key: row for row in rows if isinstance(row, ModuleRow)},
    )


def remove(*keys: Key) -> Edit:
    return Edit(dict.fromkeys(keys))
