"""Which files a path, a folder or a pattern means, and their text."""

from __future__ import annotations

import glob
import os
from pathlib import Path

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


def text(path: Path, folder: Path | None = None) -> str:
    """The text of a file. Raises Invalid if it is not there, too long, no text, or a link that leads out of the folder."""
    try:
        if folder is not None and not path.resolve().is_relative_to(folder.resolve()):
            raise Invalid(f"{path}: a link that leads out of {folder} is not followed")
        if path.is_dir() or (folder is not None and path.exists() and not path.is_file()):  # a pipe may be read, if somebody names it
            raise Invalid(f"cannot read {path}: it is not a file")
        with path.open("rb") as file:
            data = file.read(yaml_text.MAX_BYTES + 1)
    except FileNotFoundError as error:
        raise Invalid(f"no such file: {path}; `lakeledger init` writes a first one") from error
    except (OSError, RuntimeError, ValueError) as error:  # RuntimeError: links that lead to each other
        raise Invalid(f"cannot read {path}: {getattr(error, 'strerror', None) or error}") from error
    decoded = yaml_text.decode(data)
    if isinstance(decoded, str):
        return decoded
    raise Invalid(f"{path}:{decoded.line}:{decoded.column}: {decoded.text}")


def _below(folder: Path) -> list[Path]:
    found: list[Path] = []
    for root, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        found += [Path(root, name) for name in names if name.endswith(SUFFIXES) and not name.startswith(".")]
    return sorted(found)
