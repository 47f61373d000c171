"""Secrets that stand in the control table in clear: whoever reads the table, its jobs or the ledger reads them, too."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from lakeledger.control.columns import MODULES, SOURCES
from lakeledger.control.differences import row_document
from lakeledger.control.model import ModuleRow, SourceRow
from lakeledger.redaction import MASK


def in_clear(rows: Iterable[SourceRow | ModuleRow]) -> Iterator[str]:
    """Where a secret stands, and what to write instead."""
    for row in rows:
        name = ".".join(row.key) if isinstance(row, SourceRow) else row.module_name
        configs = SOURCES.configs if isinstance(row, SourceRow) else MODULES.configs
        masked = row_document(row)
        for config in configs:
            for path in _masked(config, masked[config]):
                yield f"{name}: {path} holds a secret in clear, which the table and its jobs keep: write {{{{env.NAME}}}} instead"


def _masked(path: str, value: Any) -> Iterator[str]:
    match value:
        case dict():
            for name, inner in value.items():
                yield from _masked(f"{path}.{name}", inner)
        case list():
            for inner in value:
                yield from _masked(path, inner)
        case str() if MASK in value:
            yield path
