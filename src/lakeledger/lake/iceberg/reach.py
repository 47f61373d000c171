"""What published metadata needs: the files of metadata that it leads to, and the data files of its current snapshot."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from lakeledger.lake.iceberg import journal
from lakeledger.lake.iceberg.avro import DELETED, read
from lakeledger.lake.iceberg.stage import Base, read_document
from lakeledger.lake.storage import Storage


def reachable(storage: Storage, root: str, location: str) -> set[str]:
    """The files, relative to the table's place `root`, that what is published needs, and what was published before, as its log names it.

    Raises FileNotFoundError if something that is published now is gone; what was before may be.
    """
    document = _document(storage, root, location)
    lists = _lists(document)
    found = {_relative(root, location), *lists, *_manifests(storage, root, lists), *_journals(document)}
    for entry in document["metadata-log"]:
        with suppress(FileNotFoundError):
            logged = _document(storage, root, entry["metadata-file"])
            earlier = _lists(logged) - lists
            found |= {_relative(root, entry["metadata-file"]), *_journals(logged)}
            for each in earlier - found:
                with suppress(FileNotFoundError):
                    found |= {each, *_manifests(storage, root, {each})}
    return {_relative(root, each) for each in found}


def data_paths(storage: Storage, root: str, base: Base) -> set[str]:
    """The data files of the current snapshot, relative to the table's place. Raises FileNotFoundError if a manifest is gone."""
    return {
        _relative(root, entry["data_file"]["file_path"])
        for manifest in base.manifests
        for entry in read(storage.read(_relative(root, manifest["manifest_path"])))
        if entry["status"] != DELETED
    }


def _document(storage: Storage, root: str, location: str) -> dict[str, Any]:
    return read_document(location, storage.read(_relative(root, location)))


def _lists(document: dict[str, Any]) -> set[str]:
    return {each["manifest-list"] for each in document["snapshots"]}


def _journals(document: dict[str, Any]) -> set[str]:
    return {path for path, _ in journal.parse(document["properties"].get(journal.JOURNAL))}


def _manifests(storage: Storage, root: str, lists: set[str]) -> Iterator[str]:
    for each in lists:
        for manifest in read(storage.read(_relative(root, each))):
            yield manifest["manifest_path"]


def _relative(root: str, whole: str) -> str:
    return whole.removeprefix(f"{root}/")
