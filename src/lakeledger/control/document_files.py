"""Which files a path, a folder or a pattern means, and their text."""

from __future__ import annotations

import glob
import os
import stat
from pathlib import Path
from typing import BinaryIO

from lakeledger.control import yaml_text
from lakeledger.errors import Invalid

SUFFIXES = (".yml", ".yaml")


def find(path: Path) -> list[Path]:
    """The files that are meant, sorted: the one, or all YAML files below a folder, or those that match. Raises Invalid if there is none.

    Hidden files and folders are left out.
    """
    if path.is_dir():
        found = _below(path)
        reason = f"no YAML file in {path}"
    elif glob.has_magic(str(path)) and not path.exists():
        names = glob.glob(str(path), recursive=True)  # noqa: PTH207 - Path.glob wants the folder and the pattern apart
        found = [each for name in sorted(names) if not (each := Path(name)).is_dir()]
        reason = f"no file matches {path}"
    else:
        return [path]
    if not found:
        raise Invalid(reason)
    return found


def text(path: Path, folder: Path | None = None, hint: str = "`lakeledger init` writes a first one") -> str:
    """The text of a file. Raises Invalid if it is not there (with the hint), too long, no text, or a link that leads out of the folder."""
    try:
        with _open(path) if folder is None else _open_below(folder.resolve(), path) as file:
            data = file.read(yaml_text.MAX_BYTES + 1)
    except FileNotFoundError as error:
        raise Invalid(f"no such file: {path}; {hint}") from error
    except (OSError, RuntimeError, ValueError) as error:  # RuntimeError: links that lead to each other
        raise Invalid(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from error
    decoded = yaml_text.decode(data)
    if isinstance(decoded, str):
        return decoded
    raise Invalid(f"{path}:{decoded.line}:{decoded.column}: {decoded.text}")


def _open(path: Path) -> BinaryIO:
    if path.is_dir():  # a pipe may be read, if somebody names it
        raise Invalid(f"cannot read {path}: it is not a file")
    return path.open("rb")


def _open_below(folder: Path, path: Path) -> BinaryIO:
    """A file of that folder, whoever puts links in its way meanwhile: each step is taken from the one before, and follows none."""
    real = path.resolve()
    if not real.is_relative_to(folder):
        raise Invalid(f"{path}: a link that leads out of {folder} is not followed")
    at = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for name in real.relative_to(folder).parts:
            before, at = at, os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=at)  # a pipe is not waited for
            os.close(before)
        if not stat.S_ISREG(os.fstat(at).st_mode):
            raise Invalid(f"cannot read {path}: it is not a file")
        return os.fdopen(os.dup(at), "rb")
    finally:
        os.close(at)


def _below(folder: Path) -> list[Path]:
    found: list[Path] = []
    for root, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        found += [Path(root, name) for name in names if name.endswith(SUFFIXES) and not name.startswith(".")]
    return sorted(found)
