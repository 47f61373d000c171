"""The files that a monitor follows: one that may still be written is left for later, one that did not change is not read again."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lakeledger.control import document_files
from lakeledger.control.documents import Loaded, Loading, load_file, refuse_shared
from lakeledger.control.variables import PREFIX
from lakeledger.errors import Invalid

# The coarsest time stamps of files are two seconds apart: two versions of a younger file may look the same.
_STAMP_SECONDS = 2.0

Stamp = tuple[int, int, int, int, int]


class Files:
    """What was read of the files below a folder, from look to look. `left` are those that were too fresh to be read."""

    def __init__(self, settle_seconds: float) -> None:
        self.left: list[Path] = []
        self._settle_seconds = settle_seconds
        self._values: dict[str, Any] = {}
        self._kept: dict[Path, tuple[Stamp, Loaded]] = {}
        self._read: dict[Path, Stamp | None] | None = None

    def load_all(self, path: Path | str, given: Mapping[str, Any] | None = None) -> Loading:
        """Read and check each file that is settled. One that is not says nothing yet. Raises Invalid if nothing matches."""
        path = Path(path)
        self._forget_if_others({**_environment(), **(given or {})})
        self.left, self._read = [], None
        read: dict[Path, Stamp | None] = {}
        folder = path if path.is_dir() else None
        loaded = [self._load(file, folder, given, read) for file in _found(path)]
        self._kept = {file: kept for file, kept in self._kept.items() if file in read}
        self._read = read
        if not loaded and folder is None:
            document_files.find(path)  # says why
        return Loading(refuse_shared(loaded))

    def settles_in(self, path: Path) -> float:
        """In how many seconds every file will be settled, if nobody writes on."""
        return max((self._left_of(_stamp(file)) for file in _found(path)), default=0.0)

    def due_in(self, path: Path) -> float:
        """In how many seconds there will be a settled file that was not read as it is; never, if all of them were."""
        if self._read is None:
            return float("inf")
        now = {file: _stamp(file) for file in _found(path)}
        if self._read.keys() - now.keys():
            return 0.0
        changed = (stamp for file, stamp in now.items() if file not in self._read or self._read[file] != stamp)
        return min((self._left_of(stamp) for stamp in changed), default=float("inf"))

    def _load(self, file: Path, folder: Path | None, given: Mapping[str, Any] | None, read: dict[Path, Stamp | None]) -> Loaded:
        stamp = _stamp(file)
        kept = self._kept.get(file)
        if kept and kept[0] == stamp:
            read[file] = stamp
            return kept[1]
        if self._left_of(stamp):
            return self._leave(file)
        loaded = load_file(file, folder, given)
        if _stamp(file) != stamp:
            return self._leave(file)
        read[file] = stamp
        if stamp and loaded.document and _age(stamp) >= _STAMP_SECONDS:
            self._kept[file] = stamp, loaded
        return loaded

    def _leave(self, file: Path) -> Loaded:
        self.left.append(file)
        return Loaded(file, None)

    def _left_of(self, stamp: Stamp | None) -> float:
        """How many seconds a file still counts as being written. One from the future does not: nobody knows when it was."""
        age = _age(stamp) if stamp else -1.0
        return max(0.0, self._settle_seconds - age) if age >= 0 else 0.0

    def _forget_if_others(self, values: dict[str, Any]) -> None:
        if values != self._values:
            self._kept.clear()
            self._values = values


def _found(path: Path) -> list[Path]:
    try:
        return document_files.find(path)
    except Invalid:
        return []


def _environment() -> dict[str, str]:
    return {name.removeprefix(PREFIX): value for name, value in os.environ.items() if name.startswith(PREFIX)}


def _stamp(file: Path) -> Stamp | None:
    """What differs if somebody wrote to the file or put another in its place; None if it cannot be looked at."""
    try:
        found = file.stat()
    except (OSError, RuntimeError, ValueError):
        return None
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino, found.st_dev


def _age(stamp: Stamp) -> float:
    return time.time() - stamp[0] / 1e9
