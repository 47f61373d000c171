"""Changes applied in plain Python: what a table must hold once all of them have been applied."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from lakeledger.pipelines.sources import changes

if TYPE_CHECKING:
    from pyspark.sql import Row


def reduced(rows: Iterable[Row], key: str) -> dict[Any, dict[str, Any]]:
    """The rows by their key after these changes, in the order of their sequence."""
    table: dict[Any, dict[str, Any]] = {}
    changed = [row.asDict() for row in rows if row[changes.CHANGE_TYPE]]
    for row in sorted(changed, key=lambda row: row[changes.SEQUENCE]):
        values = {name: value for name, value in row.items() if name not in changes.COLUMNS}
        match row[changes.CHANGE_TYPE]:
            case changes.TRUNCATE:
                table.clear()
            case changes.DELETE:
                table.pop(values[key], None)
            case _:
                before = table.get(values[key], {})
                table[values[key]] = {**values, **{name: before.get(name) for name in row.get(changes.UNSET) or ()}}
    return table
