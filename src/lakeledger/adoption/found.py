"""What was found of a table that somebody else has written, before its files are opened."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from lakeledger.config import S3Settings
from lakeledger.errors import Invalid
from lakeledger.lake import Storage, StoredFile
from lakeledger.tables.schema import Field


@dataclass(frozen=True)
class Found:
    """Where a table is, its files (relative to that), and its columns, as far as it declares them; else the files do.

    `ids` are the ids of the declared columns, by name, where the format has some. `partition_by` are the columns by which files may be
    told apart, if each has one value of them. `summary` is kept with the version.
    """

    kind: str
    location: str
    files: list[StoredFile]
    fields: list[Field] | None = None
    ids: Mapping[str, int] = field(default_factory=dict)
    partition_by: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    summary: Mapping[str, Any] = field(default_factory=dict)


def present(location: str, paths: Iterable[str], s3: S3Settings) -> list[StoredFile]:
    """These files as they are in storage, found with one listing. Raises Invalid if one is gone."""
    there = {file.path: file for file in Storage(location, s3).files()}
    wanted = sorted(set(paths))
    if missing := [path for path in wanted if path not in there]:
        raise Invalid(f"{location}/{missing[0]} is a file of the table and is gone: restore it, or repair the table first")
    return [there[path] for path in wanted]
