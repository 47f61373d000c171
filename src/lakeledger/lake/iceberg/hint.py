"""The hint beside a table's metadata: which of it is published. Metadata that was staged in vain looks the same as what was."""

from __future__ import annotations

from lakeledger.lake.iceberg.stage import GZIPPED, METADATA
from lakeledger.lake.storage import Storage

HINT = "version-hint.text"
_ENDINGS = (f".{GZIPPED}", ".metadata.json")


def hint_path(folder: str, location: str) -> str:
    """Where a table's hint is, relative to its place. `folder` is the one that is the table's own: it may live in another table's."""
    is_own = f"/{location}".endswith(f"/{folder}")
    return f"{METADATA}/{HINT}" if is_own else f"{METADATA}/{folder.replace('/', '.')}.{HINT}"


def write_hint(storage: Storage, path: str, metadata_location: str) -> None:
    """Say that this metadata is published. It has the name without its ending, as engines that open folders read it."""
    storage.replace(path, _stem(metadata_location).encode())


def is_hinted(storage: Storage, path: str, metadata_location: str) -> bool:
    """Whether the hint names that metadata."""
    try:
        return storage.read(path).decode() == _stem(metadata_location)
    except (FileNotFoundError, ValueError):
        return False


def read_hint(storage: Storage, path: str) -> tuple[str, ...]:
    """The metadata that a hint may mean, relative to the table's place. Raises FileNotFoundError, or ValueError for what is no hint."""
    stem = storage.read(path).decode().strip()
    if not stem or "/" in stem:
        raise ValueError(f"{stem!r} names no metadata")
    return tuple(f"{METADATA}/{stem}{ending}" for ending in reversed(_ENDINGS))


def _stem(metadata_location: str) -> str:
    name = metadata_location.rpartition("/")[2]
    return next((name.removesuffix(ending) for ending in _ENDINGS if name.endswith(ending)), name)
