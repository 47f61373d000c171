"""Relative paths: a YAML file means them from its own folder, the control table from the folder of the settings."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from lakeledger.control.documents import Loading
from lakeledger.control.modules import AnySource, FilesSource, SqlSource


def misplaced(loading: Loading, base: Path) -> list[str]:
    """What a file finds beside itself and the control table would not find, each with the path to write instead."""
    found = []
    for loaded in loading.documents:
        folder = loaded.path.parent
        for module in loaded.document.modules if loaded.document else ():
            for source in module.sources:
                for path in _paths(source):
                    if _is_there(folder, path) and not _is_there(base, path):
                        instead = os.path.relpath(folder / path, base)
                        found.append(
                            f"{loaded.path}: {module.module_name}.{source.source_id}: in the control table, {path} is meant from {base}, "
                            f"where it is not: write {instead}"
                        )
    return found


def _paths(source: AnySource) -> Iterator[str]:
    if isinstance(source, FilesSource):
        yield source.source_config.path
    elif isinstance(source, SqlSource) and (path := source.transformation_config.sql_task.sql_file_path):
        yield path


def _is_there(folder: Path, path: str) -> bool:
    if "://" in path or Path(path).expanduser().is_absolute():
        return False  # it means the same everywhere
    try:
        return next(folder.glob(path), None) is not None
    except (ValueError, OSError):
        return False
