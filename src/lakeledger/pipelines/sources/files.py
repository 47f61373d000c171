"""Files as a source: found by a glob, identified by name, size, time and content, and each read once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from lakeledger import codec
from lakeledger.errors import Failed, Invalid
from lakeledger.lake import Storage, StoredFile
from lakeledger.sync import FilesPosition, SourceFile

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

FORMATS = ("csv", "json", "parquet")
DEFAULTS = {
    "csv": {"header": "true", "mode": "FAILFAST", "enforceSchema": "false"},
    "json": {"mode": "FAILFAST"},
    "parquet": {},
}

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
    absolute = pattern if "://" in pattern else str(base / Path(pattern).expanduser())
    root, rest = split_glob(absolute)
    if not rest:
        root, _, rest = absolute.rpartition("/")
    matches = re.compile(glob_regex(rest)).fullmatch
    found = [
        StoredFile(f"{root}/{file.path}", file.size, file.modified_at)
        for file in Storage(root).files(recursive="/" in rest)
        if matches(file.path) and not file.is_bookkeeping
    ]
    if not found and not split_glob(absolute)[1]:
        raise Invalid(f"no such file: {absolute}; check the source's path")
    return found


def plan_incremental(found: Iterable[StoredFile], known: Iterable[SourceFile], on_change: OnChange) -> Reading | None:
    """What is new since the last read, or None. Raises Invalid for a changed file that nobody said how to take."""
    registered = {file.path: file for file in known}
    new: list[SourceFile] = []
    for file in (identify(file) for file in found if _looks_different(file, registered.get(file.path))):
        before = registered.get(file.path)
        if before is None or (before.content_hash != file.content_hash and on_change == "load"):
            new.append(file)
        elif before.content_hash != file.content_hash and on_change == "refuse":
            raise Invalid(f"{file.path} changed after it was read: set changed_files to 'load' to read it again, or to 'ignore'")
    return Reading(new, _position({**registered, **{file.path: file for file in new}})) if new else None


def plan_full(found: Iterable[StoredFile], known: Iterable[SourceFile]) -> Reading:
    """Everything that is there. The position still counts every file ever read: it never goes backwards."""
    registered = {file.path: file for file in known}
    now = [registered[file.path] if not _looks_different(file, registered.get(file.path)) else identify(file) for file in found]
    return Reading(now, _position({**registered, **{file.path: file for file in now}}))


def read(spark: SparkSession, source: Files, files: list[SourceFile], table_schema: dict[str, object] | None) -> DataFrame:
    """The rows of these files: by the declared schema, else by the table's, else as Spark infers it. Raises Invalid."""
    from pyspark.sql.types import StructType

    options = {**DEFAULTS[source.format], **(source.options or {})}
    reader = spark.read.format(source.format).options(**options)
    if source.schema:
        reader = reader.schema(_parse_schema(source.schema))
    elif table_schema:
        reader = reader.schema(StructType.fromJson(table_schema))
    elif source.format == "csv":
        reader = reader.option("inferSchema", "true")
    return reader.load([file.path for file in files])


def identify(file: StoredFile) -> SourceFile:
    """A file with its content hash. Raises Failed if it vanished."""
    folder, _, name = file.path.rpartition("/")
    try:
        return SourceFile(file.path, file.size, file.modified_at, Storage(folder).checksum(name))
    except FileNotFoundError as error:
        raise Failed(f"{file.path} vanished while it was being read: run it again") from error


def split_glob(pattern: str) -> tuple[str, str]:
    """The folder in front of the first wildcard, and the rest ('' if there is none)."""
    parts = pattern.split("/")
    first = next((index for index, part in enumerate(parts) if re.search(r"[*?\[]", part)), None)
    return (pattern, "") if first is None else ("/".join(parts[:first]), "/".join(parts[first:]))


def glob_regex(pattern: str) -> str:
    """A glob as a regular expression: `*` and `?` stay in a folder, `**/` goes through any number of them."""
    parts = re.split(r"(\*\*/|\*|\?|\[[^\]]+\])", pattern)
    known = {"**/": "(?:.*/)?", "*": "[^/]*", "?": "[^/]"}
    return "".join(known.get(part) or (part.replace("[!", "[^") if part.startswith("[") else re.escape(part)) for part in parts)


def _looks_different(file: StoredFile, known: SourceFile | None) -> bool:
    return known is None or (file.size, file.modified_at) != (known.size, known.modified_at)


def _position(files: Mapping[str, SourceFile]) -> FilesPosition:
    return FilesPosition(len(files), codec.digest(sorted(file.identity for file in files.values())))


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
