"""Relative paths: a YAML file means them from its own folder, the control table from the folder of the settings."""

from __future__ import annotations

import glob
import itertools
import os
from collections.abc import Iterator
from pathlib import Path

from lakeledger.control.documents import Loading, expected_of
from lakeledger.control.modules import AnySource, FilesSource, SqlSource
from lakeledger.locations import is_url


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
    yield from (quality.suite_file for quality in expected_of(source) if quality.suite_file)


def _is_there(folder: Path, path: str) -> bool:
    """Whether it leads to something from there. Of a pattern that could lead through a whole disk, only the part before it is looked at."""
    if is_url(path) or path.startswith("~") or Path(path).is_absolute():
        return False  # it means the same everywhere
    parts = Path(path).parts
    fixed = [*itertools.takewhile(lambda part: not glob.has_magic(part), parts)]
    try:
        if len(fixed) == len(parts) or "**" in path or ".." in parts:
            return folder.joinpath(*fixed).exists()
        return next(folder.glob(path), None) is not None
    except (ValueError, OSError, RuntimeError):
        return False
