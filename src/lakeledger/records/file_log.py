"""The append-only log of a folder of records: lines of JSON in `log/*.jsonl`, each file named by the first record in it.

On a disk a file is appended to until it is big, and what a killed writer left of a line is cut off by the next one. In an object store,
which cannot append, every batch is a file. Nobody ever sees half a line.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Protocol

from lakeledger.errors import Conflict
from lakeledger.lake.storage import Storage
from lakeledger.records.layout import LOCK, LOG, LOG_ENDING, SHORT_LOG, log_file

FILE_BYTES = 16_000_000
# Where a file that never grows was read to its end.
WHOLE = -1


@dataclass(frozen=True)
class Line:
    """One line of the log, and where it stands."""

    path: str
    offset: int
    content: bytes


@dataclass
class Place:
    """How far a log was read: up to there in that file."""

    path: str = ""
    offset: int = 0


class Log(Protocol):
    """A log that is read from a place on, and appended to by one writer at a time."""

    def locked(self) -> AbstractContextManager[None]: ...
    def read(self, place: Place) -> Iterator[Line]: ...
    def append(self, first: int, lines: Sequence[bytes], short: Sequence[bytes]) -> None: ...
    def line_at(self, path: str, offset: int) -> bytes: ...
    def drop(self, live: Collection[str]) -> None: ...


class DiskLog:
    """On a disk, which several processes may share."""

    def __init__(self, storage: Storage) -> None:
        self._root = Path(storage.inner(""))

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Alone among all processes on this disk; the lock goes with the process."""
        self._root.mkdir(parents=True, exist_ok=True)
        with (self._root / LOCK).open("ab") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def read(self, place: Place) -> Iterator[Line]:
        """The whole lines behind that place, which moves with them."""
        for path in self._files():
            if path < place.path:
                continue
            if path > place.path:
                place.path, place.offset = path, 0
            try:
                with (self._root / path).open("rb") as file:
                    file.seek(place.offset)
                    for content in file:
                        if not content.endswith(b"\n"):
                            break  # somebody is writing it
                        line = Line(path, place.offset, content)
                        place.offset += len(content)
                        yield line
            except FileNotFoundError:  # all of it was forgotten
                continue

    def append(self, first: int, lines: Sequence[bytes], short: Sequence[bytes]) -> None:
        """Add lines, for good, and what the short log beside it says of them. Whoever calls holds the lock."""
        path = self._open_file(first)
        self._mend(path)
        self._write(path, b"".join(lines))
        self._mend(SHORT_LOG)
        self._write(SHORT_LOG, b"".join(short), is_kept=False)

    def line_at(self, path: str, offset: int) -> bytes:
        with (self._root / path).open("rb") as file:
            file.seek(offset)
            return file.readline()

    def drop(self, live: Collection[str]) -> None:
        """Delete the oldest files of the log, up to the first that has something which is still there."""
        for path in _dead(self._files(), live):
            (self._root / path).unlink(missing_ok=True)

    def _open_file(self, first: int) -> str:
        files = self._files()
        if files and (self._root / files[-1]).stat().st_size < FILE_BYTES:
            return files[-1]
        return log_file(first)

    def _mend(self, path: str) -> None:
        """Cut off what a killed writer left of a line."""
        file = self._root / path
        if not file.exists():
            return
        with file.open("r+b") as stream:
            size = stream.seek(0, os.SEEK_END)
            whole = size
            while whole:
                stream.seek(max(0, whole - 4096))
                piece = stream.read(whole - max(0, whole - 4096))
                if (end := piece.rfind(b"\n")) >= 0:
                    whole = max(0, whole - 4096) + end + 1
                    break
                whole = max(0, whole - 4096)
            if whole < size:
                stream.truncate(whole)

    def _write(self, path: str, content: bytes, *, is_kept: bool = True) -> None:
        file = self._root / path
        is_new = not file.exists()
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("ab") as stream:
            stream.write(content)
            stream.flush()
            if is_kept:
                os.fsync(stream.fileno())
        if is_new and is_kept:
            _keep_name(file.parent)

    def _files(self) -> list[str]:
        folder = self._root / LOG
        try:
            names = [file.name for file in folder.iterdir()]
        except FileNotFoundError:
            return []
        return sorted(f"{LOG}/{name}" for name in names if name.endswith(LOG_ENDING) and not name.startswith("."))


def _keep_name(folder: Path) -> None:
    """See that a new file is found in its folder even after the power fails."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


class ObjectLog:
    """In an object store, where one process writes at a time: there is no lock that all of them have."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    @contextmanager
    def locked(self) -> Iterator[None]:
        yield

    def read(self, place: Place) -> Iterator[Line]:
        names = (file.path for file in self._storage.files(LOG, recursive=False) if file.path.endswith(LOG_ENDING))
        for path in names:
            if path < place.path or (path == place.path and place.offset == WHOLE):
                continue
            start = place.offset if path == place.path else 0
            for line in self._storage.read(path)[start:].split(b"\n")[:-1]:
                yield Line(path, start, line + b"\n")
                start += len(line) + 1
            place.path, place.offset = path, WHOLE

    def append(self, first: int, lines: Sequence[bytes], short: Sequence[bytes]) -> None:  # noqa: ARG002 - one file cannot grow here
        path = log_file(first)
        if not self._storage.put(path, b"".join(lines)):
            raise Conflict(f"somebody else writes to {self._storage.root} at the same time: let one process write there, and try again")

    def drop(self, live: Collection[str]) -> None:
        names = [file.path for file in self._storage.files(LOG, recursive=False) if file.path.endswith(LOG_ENDING)]
        for path in _dead(names, live):
            self._storage.remove(path)

    def line_at(self, path: str, offset: int) -> bytes:
        content = self._storage.read(path)
        return content[offset : content.index(b"\n", offset) + 1]


def _dead(paths: Sequence[str], live: Collection[str]) -> Iterator[str]:
    return takewhile(lambda path: path not in live, paths[:-1])


def open_log(storage: Storage, *, can_append: bool) -> Log:
    """The log of a folder."""
    return DiskLog(storage) if can_append else ObjectLog(storage)
