"""Files wherever they are: a local path or an object store URL, through pyarrow's file systems."""

from __future__ import annotations

import hashlib
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, BinaryIO, TypeVar

from lakeledger.errors import Failed, Invalid

if TYPE_CHECKING:
    from pyarrow import fs

T = TypeVar("T")

CHUNK_BYTES = 1 << 20
PARALLEL = 8


@dataclass(frozen=True)
class StoredFile:
    """A file that is really there. `path` is relative to the folder that was listed."""

    path: str
    size: int
    modified_at: datetime

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    @property
    def is_bookkeeping(self) -> bool:
        """Whether an engine keeps it for itself (`_SUCCESS`, `.crc`, `_temporary/…`), as everybody agrees to ignore."""
        return any(part.startswith(("_", ".")) and "=" not in part for part in self.path.split("/"))


class Storage:
    """One folder and what is below it."""

    def __init__(self, root: str) -> None:
        from pyarrow import ArrowInvalid, fs

        try:
            opened = fs.FileSystem.from_uri(root) if "://" in root else (fs.LocalFileSystem(), root)
        except ArrowInvalid as error:
            raise Invalid(f"cannot open {root!r}: {error}") from error
        self.filesystem: fs.FileSystem = opened[0]
        self._base: str = opened[1].rstrip("/")
        self.root = root.rstrip("/")

    def inner(self, path: str) -> str:
        """The path as the file system below knows it."""
        return f"{self._base}/{path}" if path else self._base

    def files(self, folder: str = "", *, recursive: bool = True) -> list[StoredFile]:
        """The files in the folder, or everything below it, in order; none if it does not exist."""
        return sorted(self._walk(folder, recursive=recursive), key=lambda file: file.path)

    def folders(self, folder: str = "") -> list[str]:
        """The names of the folders directly inside."""
        from pyarrow import fs

        return sorted(info.base_name for info in self._infos(folder, recursive=False) if info.type == fs.FileType.Directory)

    def has(self, path: str) -> bool:
        """Whether there is such a file."""
        from pyarrow import fs

        try:
            return bool(self.filesystem.get_file_info(self.inner(path)).type == fs.FileType.File)
        except OSError as error:
            raise Failed(f"cannot look at {self.root}/{path}: {_reason(error)}") from error

    def make(self, folder: str) -> None:
        """Create a folder. Raises Invalid if that is not allowed."""
        try:
            self.filesystem.create_dir(self.inner(folder), recursive=True)
        except OSError as error:
            raise Invalid(f"cannot write to {self.root}: {_reason(error)}; choose a writable warehouse") from error

    def remove_folder(self, folder: str) -> None:
        """Delete a folder and all below it; nothing happens if it is not there."""
        try:
            self.filesystem.delete_dir(self.inner(folder))
        except FileNotFoundError:
            return
        except OSError as error:
            raise Failed(f"cannot delete {self.root}/{folder}: {_reason(error)}") from error

    def remove(self, path: str) -> None:
        """Delete one file; nothing happens if it is not there."""
        try:
            self.filesystem.delete_file(self.inner(path))
        except FileNotFoundError:
            return
        except OSError as error:
            raise Failed(f"cannot delete {self.root}/{path}: {_reason(error)}") from error

    def checksum(self, path: str) -> str:
        """SHA-256 of a file's content. Raises FileNotFoundError."""
        with self.filesystem.open_input_stream(self.inner(path)) as stream:
            return f"sha256:{_digest(stream)}"

    def checksums(self, paths: Iterable[str]) -> Iterator[tuple[str, str | None]]:
        """Each path with its checksum, or None where the file is gone; several are read at a time."""

        def one(path: str) -> tuple[str, str | None]:
            try:
                return path, self.checksum(path)
            except FileNotFoundError:
                return path, None

        return _several_at_a_time(one, paths)

    def _walk(self, folder: str, *, recursive: bool) -> Iterator[StoredFile]:
        from pyarrow import fs

        for info in self._infos(folder, recursive=recursive):
            if info.type == fs.FileType.File:
                path = info.path.removeprefix(self._base).lstrip("/")
                yield StoredFile(path, info.size, datetime.fromtimestamp(info.mtime_ns / 1e9, UTC))

    def _infos(self, folder: str, *, recursive: bool) -> list[fs.FileInfo]:
        from pyarrow import fs

        selector = fs.FileSelector(self.inner(folder), recursive=recursive, allow_not_found=True)
        try:
            return list(self.filesystem.get_file_info(selector))
        except OSError as error:
            raise Failed(f"cannot list {self.root}/{folder}: {_reason(error)}") from error


def _several_at_a_time(read: Callable[[str], T], paths: Iterable[str]) -> Iterator[T]:
    """What is read from each path, in order, in daemon threads: Python would wait at its exit for those of an executor."""
    waiting = deque((path, Future[T]()) for path in paths)
    found = [future for _, future in waiting]

    def work() -> None:
        while waiting:
            try:
                path, future = waiting.popleft()
            except IndexError:  # another thread was quicker
                return
            try:
                future.set_result(read(path))
            except BaseException as error:  # noqa: BLE001 - raised again by whoever asks for this file
                future.set_exception(error)

    for _ in range(min(PARALLEL, len(found))):
        threading.Thread(target=work, name="checksum", daemon=True).start()
    try:
        for future in found:
            yield future.result()
    finally:
        waiting.clear()  # Whoever asked has left: the rest is not read.


def _digest(stream: BinaryIO) -> str:
    sha = hashlib.sha256()
    while chunk := stream.read(CHUNK_BYTES):
        sha.update(chunk)
    return sha.hexdigest()


def _reason(error: OSError) -> str:
    return error.strerror or str(error).partition("\n")[0]
