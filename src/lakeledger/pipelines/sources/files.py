"""Files as a source: found by a glob, identified by name, size, time and content, and each read once."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from lakeledger import codec
from lakeledger.errors import Failed, Invalid
from lakeledger.lake import Storage, StoredFile
from lakeledger.pipelines.read import literal
from lakeledger.sync import FilesPosition, SourceFile

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

DEFAULTS = {
    "csv": {"header": "true", "mode": "FAILFAST", "enforceSchema": "false"},
    "json": {"mode": "FAILFAST"},
    "parquet": {},
}

# How Spark is told to find out the columns by itself.
INFER = {"csv": {"inferSchema": "true"}, "json": {}, "parquet": {"mergeSchema": "true"}}
ROOT = Path("/")

OnChange = Literal["refuse", "load", "ignore"]


@dataclass(frozen=True)
class Files:
    """A declared set of files. `changed_files` says what to do with one that was read and then changed."""

    path: str
    format: str = "csv"
    schema: str | None = None
    options: Mapping[str, str] | None = None
    changed_files: OnChange = "refuse"


@dataclass(frozen=True)
class Reading:
    """Which files are to be read now, and where the source stands afterwards."""

    files: list[SourceFile]
    position: FilesPosition


def discover(pattern: str, base: Path) -> list[StoredFile]:
    """The files that match, with absolute paths. Raises Invalid if a path without wildcards is not there."""
    folder, rest = split_glob(pattern)
    exact = not rest
    if exact:
        folder, _, rest = pattern.rpartition("/")
    here = base / Path(folder or ("/" if pattern.startswith("/") else "")).expanduser()
    root = folder if "://" in pattern else os.path.abspath(here)  # noqa: PTH100 - resolve() would follow links
    found = [
        StoredFile(f"{root}/{file.path}", file.size, file.modified_at)
        for file in Storage(root).files(recursive="/" in rest)
        if (file.path == rest if exact else matches_glob(file.path, rest)) and not file.is_bookkeeping
    ]
    if not found and exact:
        raise Invalid(f"no such file: {root}/{rest}; check the source's path")
    return found


def as_declared(found: Iterable[StoredFile], pattern: str, base: Path) -> list[StoredFile]:
    """The files by the paths they are known by: relative to the document if the pattern is, so that both can move together."""
    if "://" in pattern or Path(pattern).expanduser().is_absolute():
        return list(found)
    return [replace(file, path=os.path.relpath(file.path, base.absolute())) for file in found]


def plan_incremental(found: Iterable[StoredFile], known: Iterable[SourceFile], on_change: OnChange, base: Path = ROOT) -> Reading | None:
    """What is new since the last read, or None. Raises Invalid for a changed file that nobody said how to take."""
    registered = {file.path: file for file in known}
    new: list[SourceFile] = []
    for file in (identify(file, base) for file in found if _looks_different(file, registered.get(file.path))):
        before = registered.get(file.path)
        if before is None or (before.content_hash != file.content_hash and on_change == "load"):
            new.append(file)
        elif before.content_hash != file.content_hash and on_change == "refuse":
            raise Invalid(f"{file.path} changed after it was read: set changed_files to 'load' to read it again, or to 'ignore'")
    return Reading(new, _position({**registered, **{file.path: file for file in new}})) if new else None


def plan_full(found: Iterable[StoredFile], known: Iterable[SourceFile], base: Path = ROOT) -> Reading:
    """Everything that is there. The position still counts every file ever read: it never goes backwards."""
    registered = {file.path: file for file in known}
    now = [registered[file.path] if not _looks_different(file, registered.get(file.path)) else identify(file, base) for file in found]
    return Reading(now, _position({**registered, **{file.path: file for file in now}}))


def check_unchanged(read: Iterable[SourceFile], now: Iterable[StoredFile]) -> None:
    """Raise Failed if a file is no longer what was identified: then nobody knows which of its rows were read."""
    there = {file.path: file for file in now}
    for file in read:
        if file.path not in there or _looks_different(there[file.path], file):
            raise Failed(f"{file.path} changed while it was being read; nothing of it was loaded, run it again", retryable=True)


def read(spark: SparkSession, source: Files, files: list[SourceFile], table_schema: dict[str, object] | None, base: Path) -> DataFrame:
    """The rows of these files: by the declared schema, else by the table's, else as Spark infers it. Raises Invalid."""
    from pyspark.sql.types import StructType

    paths = [literal(_whole_path(file.path, base)) for file in files]
    options = {**DEFAULTS[source.format], **(source.options or {})}
    reader = spark.read.format(source.format).options(**options)
    if source.schema:
        return reader.schema(_parse_schema(source.schema)).load(paths)
    if table_schema is None:
        return reader.options(**INFER[source.format]).load(paths)
    known = StructType.fromJson(table_schema)
    if source.format != "csv":
        # Read by a schema, Spark drops what the schema does not name without a word. (A CSV's header is compared with it.)
        _refuse_new_columns(source, reader.options(**INFER[source.format]).load(paths).columns, known.names)
    return spark.read.format(source.format).options(**options).schema(known).load(paths)


def identify(file: StoredFile, base: Path = ROOT) -> SourceFile:
    """A file with its content hash. Raises Failed if it vanished."""
    folder, _, name = _whole_path(file.path, base).rpartition("/")
    try:
        return SourceFile(file.path, file.size, file.modified_at, Storage(folder).checksum(name))
    except FileNotFoundError as error:
        raise Failed(f"{file.path} vanished while it was being read: run it again") from error


def split_glob(pattern: str) -> tuple[str, str]:
    """The folder in front of the first wildcard, and the rest ('' if there is none)."""
    parts = pattern.split("/")
    first = next((index for index, part in enumerate(parts) if re.search(r"[*?\[]", part)), None)
    return (pattern, "") if first is None else ("/".join(parts[:first]), "/".join(parts[first:]))


def matches_glob(path: str, pattern: str) -> bool:
    """Whether a path matches as in a shell: `*`, `?` and `[ab]` stay in a folder, `**` goes through any number of them."""
    return _match(path.split("/"), pattern.split("/"))


def _match(path: list[str], pattern: list[str]) -> bool:
    if not pattern:
        return not path
    if pattern[0] == "**":
        return any(_match(path[skipped:], pattern[1:] or ["*"]) for skipped in range(len(path)))
    return bool(path) and fnmatchcase(path[0], pattern[0]) and _match(path[1:], pattern[1:])


def _whole_path(path: str, base: Path) -> str:
    return path if "://" in path else str(base.absolute() / path)


def _looks_different(file: StoredFile, known: SourceFile | None) -> bool:
    return known is None or (file.size, file.modified_at) != (known.size, known.modified_at)


def _position(files: Mapping[str, SourceFile]) -> FilesPosition:
    return FilesPosition.of(file.identity for file in files.values())


def _refuse_new_columns(source: Files, given: Iterable[str], known: Iterable[str]) -> None:
    expected = {codec.fold(name) for name in known}
    if new := [name for name in given if codec.fold(name) not in expected]:
        raise Invalid(f"{source.path} has new columns that the table does not have: {', '.join(new)}; declare the schema to leave them out")


def _parse_schema(text: str) -> StructType:
    from pyspark.errors import PySparkException
    from pyspark.sql.types import StructType

    try:
        schema = StructType.fromDDL(text)
    except PySparkException as error:
        raise Invalid(f"cannot read the schema {text!r}: write it as `name type, name type`") from error
    if not isinstance(schema, StructType):
        raise Invalid(f"the schema {text!r} is a single type: write it as `name type, name type`")
    return schema
