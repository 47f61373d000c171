"""Files as a source: found by a glob, identified by name, size, time and content, and each read once."""

from __future__ import annotations

import os
import re
from collections.abc import Container, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from lakeledger import codec
from lakeledger.config import S3Settings
from lakeledger.errors import Failed, Invalid
from lakeledger.lake import Storage, StoredFile
from lakeledger.lake.orc import orc_types
from lakeledger.lake.parquet import footer_types
from lakeledger.lake.storage import AS_AWS, PARALLEL
from lakeledger.locations import for_spark, is_url
from lakeledger.pipelines.apply import Drift
from lakeledger.pipelines.naming import AS_IS, Naming
from lakeledger.pipelines.quarantine import FILE, RAW, RAW_FORMAT
from lakeledger.pipelines.read import literal
from lakeledger.pipelines.remote import is_remote
from lakeledger.pipelines.sources import avro_files, columns, csv_files, inferring
from lakeledger.pipelines.sources.columns import file_path
from lakeledger.pipelines.sources.headers import read_headers
from lakeledger.sync import FilesPosition, SourceFile
from lakeledger.tables.schema import SOURCE_FILE, Schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

DEFAULTS = {
    "csv": {"header": "true", "mode": "FAILFAST", "enforceSchema": "false"},
    "json": {"mode": "FAILFAST"},
    "parquet": {},
    "orc": {},
    "avro": {},
    "text": {},
}

# How Spark is told to find out the columns by itself.
INFER = {"csv": {"inferSchema": "true"}, "json": {}, "parquet": {"mergeSchema": "true"}, "orc": {"mergeSchema": "true"}, "text": {}}
# Where Spark puts a row of JSON that it cannot read, if the schema has that column: no file has it.
CORRUPT_RECORD = "_corrupt_record"
ROOT = Path("/")

OnChange = Literal["refuse", "load", "ignore", "replace"]


@dataclass(frozen=True)
class Where:
    """From where relative paths are meant, and how object stores are reached."""

    base: Path = ROOT
    s3: S3Settings = AS_AWS

    def whole(self, path: str) -> str:
        return path if is_url(path) else str(self.base.absolute() / path)

    def storage(self, folder: str) -> Storage:
        return Storage(folder, self.s3)


HERE = Where()


@dataclass(frozen=True)
class Files:
    """A declared set of files. `changed_files` says what to do with one that was read and then changed; a full load reads it anyway.

    `optional_columns` are those that may be missing from a file: its rows have NULL there. With `keeps_bad_rows`, a row that cannot be
    read does not fail the read: it has its text in the column `_raw`, and every row has its file in `_source_file`. `naming` says which
    columns of the table those of the files are, `may_lack` which of the table's they need not have (folded). Files of a table that
    `is_fixed` are read by its schema; `drift` says what becomes of other columns.
    """

    path: str
    format: str = "csv"
    schema: str | None = None
    options: Mapping[str, str] | None = None
    changed_files: OnChange = "refuse"
    optional_columns: tuple[str, ...] = ()
    keeps_bad_rows: bool = False
    naming: Naming = AS_IS
    may_lack: frozenset[str] = frozenset()
    is_fixed: bool = True
    drift: Drift = "freeze"

    @property
    def names_files(self) -> bool:
        """Whether each row says of which file it is."""
        return self.changed_files == "replace"


@dataclass(frozen=True)
class Planned:
    """Which files are to be read now, which known ones only have another path, by their old one, and where the source stands afterwards.

    `set_aside` are known files that are gone and whose path another known one took: they stay registered by their content. Of the files
    to be read, those in `changed` were read before: their rows take the place of the old ones.
    """

    files: list[SourceFile]
    position: FilesPosition
    renamed: Mapping[str, SourceFile] = field(default_factory=dict)
    set_aside: Mapping[str, SourceFile] = field(default_factory=dict)
    changed: tuple[str, ...] = ()

    @property
    def moved(self) -> dict[str, SourceFile]:
        """The known files that are to be registered under another path, by their old one."""
        return {**self.renamed, **self.set_aside}


def discover(pattern: str, base: Path, s3: S3Settings = AS_AWS) -> list[StoredFile]:
    """The files that match, with absolute paths. Raises Invalid if a path without wildcards is not there, or Unavailable."""
    folder, rest = split_glob(pattern)
    exact = not rest
    if exact:
        folder, _, rest = pattern.rpartition("/")
    here = base / Path(folder or ("/" if pattern.startswith("/") else "")).expanduser()
    root = folder if is_url(pattern) else os.path.abspath(here)  # noqa: PTH100 - resolve() would follow links
    found = [
        StoredFile(f"{root}/{file.path}", file.size, file.modified_at)
        for file in Storage(root, s3).files(recursive="/" in rest)
        if (file.path == rest if exact else matches_glob(file.path, rest)) and not file.is_bookkeeping
    ]
    if not found and exact:
        raise Invalid(f"no such file: {root}/{rest}; check the source's path")
    return found


def as_declared(found: Iterable[StoredFile], pattern: str, base: Path) -> list[StoredFile]:
    """The files by the paths they are known by: relative to the document if the pattern is, so that both can move together."""
    if is_url(pattern) or Path(pattern).expanduser().is_absolute():
        return list(found)
    return [replace(file, path=os.path.relpath(file.path, base.absolute())) for file in found]


def plan_incremental(found: Iterable[StoredFile], known: Iterable[SourceFile], on_change: OnChange, where: Where = HERE) -> Planned | None:
    """What is new since the last read, or None. Raises Invalid for a file that changed, unless such files are ignored or replaced."""
    present, registered = {file.path: file for file in found}, {file.path: file for file in known}
    looked_at = _look_at(present, registered, where)
    renamed = _renamed(registered, present, looked_at)
    taken = registered.keys() & {file.path for file in renamed.values()} - renamed.keys()
    set_aside = {path: _aside(registered[path]) for path in taken}
    moved = {**renamed, **set_aside}
    kept = {path: file for path, file in registered.items() if path not in moved} | {file.path: file for file in moved.values()}
    new = [file for file in looked_at if file.path not in kept]
    changed = [file for file in looked_at if file.path in kept and kept[file.path].content_hash != file.content_hash]
    if changed and on_change not in ("ignore", "replace"):
        raise Invalid(
            f"{changed[0].path} changed after it was read, and its rows would come twice: restore it and put what is new elsewhere, "
            f"set changed_files to 'ignore', or load all files again with load_type full"
        )
    replaced = changed if on_change == "replace" else []
    if not new and not renamed and not replaced:
        return None
    read = [*new, *replaced]
    return Planned(read, _position(kept | {file.path: file for file in read}), renamed, set_aside, tuple(file.path for file in replaced))


def plan_full(found: Iterable[StoredFile], known: Iterable[SourceFile], where: Where = HERE) -> Planned:
    """Everything that is there. The position still counts every file ever read: it never goes backwards."""
    present, registered = list(found), {file.path: file for file in known}
    looked_at = {
        file.path: file for file in identify([file for file in present if _looks_different(file, registered.get(file.path))], where)
    }
    now = [looked_at.get(file.path) or registered[file.path] for file in present]
    return Planned(now, _position({**registered, **{file.path: file for file in now}}))


def check_unchanged(read: Iterable[SourceFile], now: Iterable[StoredFile]) -> None:
    """Raise Failed if a file is no longer what was identified: then nobody knows which of its rows were read."""
    there = {file.path: file for file in now}
    for file in read:
        if file.path not in there or _looks_different(there[file.path], file):
            raise Failed(f"{file.path} changed while it was being read; nothing of it was loaded, run it again", retryable=True)


def read(spark: SparkSession, source: Files, files: list[SourceFile], table_schema: Schema | None, where: Where) -> DataFrame:
    """The rows of these files, under the names of the table: by the declared schema, else by the table's, else with what they have.

    Raises Invalid, or SchemaChanged if nothing is declared and a file lacks a column of the table.
    """
    from pyspark.sql.types import StructType

    whole = [where.whole(file.path) for file in files]
    options = {**DEFAULTS[source.format], **(source.options or {})}
    named = {name.lower(): value for name, value in options.items()}  # as Spark matches them
    declared = parse_schema(spark, source.schema) if source.schema else None
    schema = declared or (StructType.fromJson(table_schema) if table_schema and source.is_fixed else None)
    optional = source.may_lack | {codec.fold(name) for name in source.optional_columns}
    asked = csv_files.Asked(
        options,
        source.naming,
        csv_files.renamed(schema, source.naming) if schema else None,
        declared is not None,
        table_schema,
        source.drift,
        optional,
        source.keeps_bad_rows,
        source.keeps_bad_rows or source.names_files,
    )
    if source.keeps_bad_rows and schema is None:
        raise Invalid(f"bad rows of {source.path} cannot be told without a schema: declare source_config.schema")
    if source.format == "csv" and csv_files.has_header(named):
        _check_optional(source, schema.jsonValue() if schema else None)
        groups = csv_files.group(whole, read_headers(whole, named, where.storage), source.naming)
        return csv_files.read(spark, groups, asked)
    if source.format == "avro":
        return avro_files.read(spark, avro_files.group(whole, where.storage), asked)
    if schema is not None and source.keeps_bad_rows:
        return source.naming.apply(_with_bad_rows(spark, source, whole, schema, options))
    if schema is not None and (declared or not _differ(spark, source, whole, schema, named, where)):
        if declared:
            _check_columns(spark, source, whole, schema, named, where)
        return source.naming.apply(
            spark.read.format(source.format).options(**options).schema(schema).load([literal(path) for path in whole])
        )
    known = table_schema if source.format in ("json", "parquet", "orc") else None
    how = inferring.Inferring(source.format, options, INFER[source.format], source.naming, known, source.drift, optional)
    return inferring.read(spark, whole, how, where.storage)


def _check_columns(
    spark: SparkSession, source: Files, paths: Sequence[str], schema: StructType, options: Mapping[str, str], where: Where
) -> None:
    """Raise Invalid if a file does not have the columns that it is read for. Names of options are in lower case."""
    expected = _expected(source, schema.jsonValue(), options)
    match source.format:
        case "parquet" | "orc":
            columns.check_footers(paths, expected, options, where.storage, footer_types if source.format == "parquet" else orc_types)
        case "json" if expected.demands_something:
            columns.check_json(spark, [literal(path) for path in paths], expected, options)


def _differ(spark: SparkSession, source: Files, paths: Sequence[str], schema: StructType, options: Mapping[str, str], where: Where) -> bool:
    """Whether the files have other columns than the table. Raises Invalid if what differs is inside of one."""
    try:
        _check_columns(spark, source, paths, schema, options, where)
    except columns.Differs as error:
        if error.is_inside:
            raise
        return True
    return False


def _with_bad_rows(spark: SparkSession, source: Files, paths: Sequence[str], schema: StructType, options: Mapping[str, str]) -> DataFrame:
    """The rows with their text if they cannot be read, and their file. What a file lacks is not looked for: a row without it is bad."""
    from pyspark.sql import functions as F
    from pyspark.sql.types import StringType

    given = {name: value for name, value in options.items() if name.lower() not in ("mode", "columnnameofcorruptrecord")}
    reader = spark.read.format(source.format).options(**given)
    has_text = source.format in ("csv", "json")
    if has_text:
        reader = reader.options(mode="PERMISSIVE", columnNameOfCorruptRecord=RAW)
        schema = schema.add(RAW, StringType())
    frame = reader.schema(schema).load([literal(path) for path in paths])
    return frame.withColumns({FILE: file_path(), RAW_FORMAT: F.lit(source.format)})


def with_row_keys(frame: DataFrame, row_keys: Mapping[str, str], source: Files, where: Where) -> DataFrame:
    """The rows of files as they were read, each with the key of its file, by the files' paths."""
    from pyspark.sql import functions as F

    path, key = f"{SOURCE_FILE}_path", f"{SOURCE_FILE}_key"
    known = [(_as_found(where.whole(each)), row_key) for each, row_key in row_keys.items()]
    lookup = frame.sparkSession.createDataFrame(known, f"{path} string, {key} string")
    found = F.col(FILE) if FILE in frame.columns else file_path()
    joined = frame.withColumn(path, F.regexp_replace(found, "^file:(//)?(?=/)", "")).join(F.broadcast(lookup), path, "left")
    strange = F.concat(F.lit("rows came from a file that was not asked for: "), F.col(path))
    keyed = joined.withColumn(SOURCE_FILE, F.coalesce(F.col(key), F.raise_error(strange).cast("string")))
    return keyed.drop(path, key, *(() if source.keeps_bad_rows else (FILE,)))


def _as_found(path: str) -> str:
    """A path as Spark names it, without the scheme of a disk."""
    return for_spark(path) if is_url(path) else os.path.normpath(path)


def identify(files: Sequence[StoredFile], where: Where = HERE) -> list[SourceFile]:
    """The files with their content hashes, several read at a time. Raises Failed if one vanished."""
    whole = [where.whole(file.path).rpartition("/") for file in files]
    folders = {folder: where.storage(folder) for folder, _, _ in whole}

    def one(file: StoredFile, place: tuple[str, str, str]) -> SourceFile:
        try:
            return SourceFile(file.path, file.size, file.modified_at, folders[place[0]].checksum(place[2]))
        except FileNotFoundError as error:
            raise Failed(f"{file.path} vanished while it was being read: run it again") from error

    with ThreadPoolExecutor(PARALLEL, thread_name_prefix="identify") as pool:
        return list(pool.map(one, files, whole))


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


def _looks_different(file: StoredFile, known: SourceFile | None) -> bool:
    return known is None or (file.size, file.modified_at) != (known.size, known.modified_at)


def _look_at(present: Mapping[str, StoredFile], registered: Mapping[str, SourceFile], where: Where) -> list[SourceFile]:
    """The content of the files that look new or different, and of those whose content turned up elsewhere.

    Such a one looks as it did, but may be another that moved up: one by one, a whole row of files can have moved.
    """
    by_content: dict[str, list[StoredFile]] = {}
    for path in present.keys() & registered.keys():
        by_content.setdefault(registered[path].content_hash, []).append(present[path])
    looked_at: dict[str, SourceFile] = {}
    doubtful = [file for path, file in present.items() if _looks_different(file, registered.get(path))]
    while doubtful:
        seen = identify(doubtful, where)
        looked_at |= {file.path: file for file in seen}
        elsewhere = {file.content_hash for file in seen if not _is_in_place(file, registered)}
        doubtful = [file for content in elsewhere for file in by_content.pop(content, ()) if file.path not in looked_at]
    return [looked_at[path] for path in present if path in looked_at]


def _renamed(registered: Mapping[str, SourceFile], present: Container[str], looked_at: list[SourceFile]) -> dict[str, SourceFile]:
    """Known files that now have another path, by their old one. A file whose like is still in its place is a copy: that is new."""
    now = {file.path: file.content_hash for file in looked_at}
    missed: dict[str, list[str]] = {}
    for path, file in registered.items():
        if path not in present or now.get(path, file.content_hash) != file.content_hash:
            missed.setdefault(file.content_hash, []).append(path)
    renamed: dict[str, SourceFile] = {}
    for file in looked_at:
        paths = missed.get(file.content_hash)
        if paths and not _is_in_place(file, registered):
            back = _aside(file).path  # One that comes back to where it was set aside is that very file.
            renamed[paths.pop(paths.index(back) if back in registered and back in paths else 0)] = file
    return renamed


def _is_in_place(file: SourceFile, registered: Mapping[str, SourceFile]) -> bool:
    return file.path in registered and registered[file.path].content_hash == file.content_hash


def _aside(file: SourceFile) -> SourceFile:
    """A file under a name that no other can take."""
    return replace(file, path=f"{file.path}@{file.content_hash}")


def _position(files: Mapping[str, SourceFile]) -> FilesPosition:
    return FilesPosition.of(file.identity for file in files.values())


def _expected(source: Files, schema: Schema, options: Mapping[str, str]) -> columns.Expected:
    optional = _check_optional(source, schema)
    broken_rows = {codec.fold(options.get("columnnameofcorruptrecord", CORRUPT_RECORD))} if source.format == "json" else set()
    return columns.Expected(schema, frozenset(optional.keys() | source.may_lack | broken_rows), allow_new=source.schema is not None)


def _check_optional(source: Files, schema: Schema | None) -> dict[str, str]:
    """The optional columns by their folded names. Raises Invalid for one that is none."""
    optional = {codec.fold(name): name for name in source.optional_columns}
    names = [struct.path(name) for struct in columns.structs_of(schema) for name in struct.names] if schema else []
    if schema and (unknown := optional.keys() - {codec.fold(name) for name in names}):
        raise Invalid(f"optional_columns of {source.path} has {optional[min(unknown)]!r}, which is no column: there is {', '.join(names)}")
    return optional


def parse_schema(spark: SparkSession, text: str) -> StructType:
    """The columns of a declared schema. Raises Invalid."""
    from pyspark.errors import PySparkException
    from pyspark.sql.types import StructType

    try:
        schema = StructType.fromDDL(text)
    except PySparkException as error:
        raise Invalid(f"cannot read the schema {text!r}: write it as `name type, name type`") from error
    if not isinstance(schema, StructType):
        raise Invalid(f"the schema {text!r} is a single type: write it as `name type, name type`")
    # Spark Connect has just asked the user's session, for which TIMESTAMP may be another type.
    return spark.createDataFrame([], text).schema if is_remote(spark) else schema
