"""What files exist: tables, their versions, files and statistics, and the commit that changes them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from lakeledger.names import TableName, parse_name

if TYPE_CHECKING:
    from lakeledger.tables.model import (
        Change,
        Committed,
        DataFile,
        DeltaPublication,
        Files,
        Keys,
        Layout,
        NewFile,
        Partitions,
        Publication,
        Snapshot,
        Table,
        TableMetadata,
        TableStats,
        Trigger,
        View,
    )
    from lakeledger.tables.registry import Tables

__all__ = [
    "Change",
    "Committed",
    "DataFile",
    "DeltaPublication",
    "Files",
    "Keys",
    "Layout",
    "NewFile",
    "Partitions",
    "Publication",
    "Snapshot",
    "Table",
    "TableMetadata",
    "TableName",
    "TableStats",
    "Tables",
    "Trigger",
    "View",
    "parse_name",
]


# What only checks a table's name, as the control table does, need not load the whole registry.
def __getattr__(name: str) -> Any:
    if name in __all__:
        return getattr(import_module(f"{__name__}.{'registry' if name == 'Tables' else 'model'}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
