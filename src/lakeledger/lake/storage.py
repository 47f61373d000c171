"""Files wherever they are: a folder on disk or in an object store, through pyarrow's file systems."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TypeVar

from lakeledger import clock
from lakeledger.config import S3Settings
from lakeledger.errors import Failed, Invalid, LakeledgerError
from lakeledger.lake import stores

if TYPE_CHECKING:
    from pyarrow import NativeFile, fs

T = TypeVar("T")

CHUNK_BYTES = 1 << 20
PARALLEL = 8
AS_AWS = S3Settings()
# What a file system says that has no links, as those that are mounted from an object store.
_WITHOUT_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)
# How a file on disk is called before it is whole.
TEMPORARY = re.compile(r"\..+\.[0-9a-f]{8}\.lakeledger-tmp")


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
    """One folder and what is below it. `root` is a location; see `lakeledger.locations`.

    Raises Invalid for one that is not supported. In an object store, everything raises Unavailable if that is not reached, refuses
    access or has no such bucket.
    """

    def __init__(self, root: str, s3: S3Settings = AS_AWS) -> None:
        self._opened = stores.open(root, s3)
        self._s3 = s3
        self.filesystem: fs.FileSystem = self._opened.filesystem
        self._base = self._opened.base.rstrip("/")
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

        with self._telling(f"look at {self.root}/{path}"):
            return bool(self.filesystem.get_file_info(self.inner(path)).type == fs.FileType.File)

    def make(self, folder: str) -> None:
        """Create a folder, or in an object store, which has none, see that its bucket is there. Raises Invalid if that is not allowed."""
        if self._opened.bucket:
            self._check_bucket()
            return
        try:
            self.filesystem.create_dir(self.inner(folder), recursive=True)
        except OSError as error:
            raise Invalid(f"cannot write to {self.root}: {stores.reason(error)}; choose a writable warehouse") from error

    def remove_folder(self, folder: str) -> None:
        """Delete a folder and all below it; nothing happens if it is not there."""
        with self._telling(f"delete {self.root}/{folder}"), suppress(FileNotFoundError):
            self.filesystem.delete_dir(self.inner(folder))

    def remove(self, path: str) -> None:
        """Delete one file; nothing happens if it is not there."""
        with self._telling(f"delete {self.root}/{path}"), suppress(FileNotFoundError):
            self.filesystem.delete_file(self.inner(path))

    def remove_all(self, paths: Iterable[str]) -> Iterator[str]:
        """Delete files, several at a time; each path once it is gone. The first that cannot be deleted ends it."""

        def one(path: str) -> str:
            self.remove(path)
            return path

        return _several_at_a_time(one, paths)

    def write(self, path: str, content: bytes) -> None:
        """Make a small file, and the folder that it is in."""
        with self.writing(path) as stream:
            stream.write(content)

    @contextmanager
    def writing(self, path: str) -> Iterator[NativeFile]:
        """A file to write, in a folder that is made if need be. It is whole once the block ends."""
        with self._telling(f"write {self.root}/{path}"):
            if not self._opened.bucket:
                self.filesystem.create_dir(self.inner(path.rpartition("/")[0]), recursive=True)
            with self.filesystem.open_output_stream(self.inner(path)) as stream:
                yield stream

    def put(self, path: str, content: bytes) -> bool:
        """Make a file that is there at once and whole; False, and nothing is changed, if there is one already.

        In an object store somebody else may put one between the look and the write: whoever uses it sees to it that nobody does.
        """
        with self._telling(f"write {self.root}/{path}"):
            if self._opened.is_remote:
                if self.has(path):
                    return False
                self.write(path, content)
                return True
            whole, temporary = Path(self.inner(path)), self._temporary(path, content)
            try:
                os.link(temporary, whole)
            except FileExistsError:
                return False
            except OSError as error:
                if error.errno not in _WITHOUT_LINKS:
                    raise
                return _create(whole, content)
            finally:
                temporary.unlink()
            return True

    def replace(self, path: str, content: bytes) -> None:
        """Make a file, or another in its place: whoever reads finds one of the two, and whole."""
        if self._opened.is_remote:
            self.write(path, content)
            return
        with self._telling(f"write {self.root}/{path}"):
            self._temporary(path, content).replace(self.inner(path))

    def _temporary(self, path: str, content: bytes) -> Path:
        """The content in a file beside where it belongs, on disk for good."""
        whole = Path(self.inner(path))
        whole.parent.mkdir(parents=True, exist_ok=True)
        temporary = whole.with_name(f".{whole.name}.{clock.new_id()[-8:]}.lakeledger-tmp")
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        return temporary

    def read(self, path: str) -> bytes:
        """A small file's content. Raises FileNotFoundError."""
        try:
            with self.filesystem.open_input_stream(self.inner(path)) as stream:
                return bytes(stream.read())
        except FileNotFoundError:
            raise
        except OSError as error:
            raise self._failure(error, f"read {self.root}/{path}") from error

    def checksum(self, path: str) -> str:
        """SHA-256 of a file's content. Raises FileNotFoundError."""
        with self.reading(path), self.filesystem.open_input_stream(self.inner(path)) as stream:
            return f"sha256:{_digest(stream)}"

    def checksums(self, paths: Iterable[str]) -> Iterator[tuple[str, str | None]]:
        """Each path with its checksum, or None where the file is gone; several are read at a time."""

        def one(path: str) -> tuple[str, str | None]:
            try:
                return path, self.checksum(path)
            except FileNotFoundError:
                return path, None

        return _several_at_a_time(one, paths)

    @contextmanager
    def reading(self, path: str) -> Iterator[None]:
        """Around whatever reads a file through `filesystem`: a store's errors are told as ours, a local disk's are left as they are."""
        try:
            yield
        except FileNotFoundError:
            raise
        except OSError as error:
            if not self._opened.is_remote:
                raise
            raise self._failure(error, f"read {self.root}/{path}") from error

    @contextmanager
    def _telling(self, doing: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise self._failure(error, doing) from error

    def _failure(self, error: OSError, doing: str) -> LakeledgerError:
        if self._opened.is_remote:
            return stores.failure(error, doing, self.root, self._s3)
        return Failed(f"cannot {doing}: {stores.reason(error)}")

    def _check_bucket(self) -> None:
        from pyarrow import fs

        with self._telling(f"look at {self.root}"):
            is_there = self.filesystem.get_file_info(self._opened.bucket).type != fs.FileType.NotFound
        if not is_there:
            raise stores.missing_bucket(self.root, self._s3)

    def _walk(self, folder: str, *, recursive: bool) -> Iterator[StoredFile]:
        from pyarrow import fs

        for info in self._infos(folder, recursive=recursive):
            if info.type == fs.FileType.File:
                path = info.path.removeprefix(self._base).lstrip("/")
                yield StoredFile(path, info.size, datetime.fromtimestamp(info.mtime_ns / 1e9, UTC))

    def _infos(self, folder: str, *, recursive: bool) -> list[fs.FileInfo]:
        from pyarrow import fs

        selector = fs.FileSelector(self.inner(folder), recursive=recursive, allow_not_found=True)
        with self._telling(f"list {self.root}/{folder}"):
            found = list(self.filesystem.get_file_info(selector))
        if not found and self._opened.bucket:
            self._check_bucket()  # A bucket that is not there looks empty.
        return found


def _create(path: Path, content: bytes) -> bool:
    """Make a file unless there is one, where there are no links: on what is mounted, a file appears when it is closed."""
    try:
        with path.open("xb") as file:
            file.write(content)
    except FileExistsError:
        return False
    return True


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
