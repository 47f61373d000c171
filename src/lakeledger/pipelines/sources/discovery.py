"""What could be loaded from a folder or a database: sources with their columns and candidates for keys, found without Spark."""

from __future__ import annotations

import csv
import itertools
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lakeledger.errors import Invalid
from lakeledger.redaction import scrub
from lakeledger.sync.schemas import from_arrow, to_spark
from lakeledger.tables.schema import type_text

if TYPE_CHECKING:
    import pyarrow as pa

    from lakeledger.pipelines.sources.describe import Description

FORMATS = {".csv": "csv", ".tsv": "csv", ".json": "json", ".jsonl": "json", ".ndjson": "json", ".parquet": "parquet"}
# How much of one file is looked at.
SAMPLE_BYTES = 1_000_000
SAMPLE_ROWS = 10_000
MOST_FILES = 100_000

_VARYING = re.compile(r"\d+")
_CHANGED = re.compile(r"(updated|modified|changed|last)_?(at|on|date|time|ts)?$", re.IGNORECASE)
_KEY = re.compile(r"(^|_)(id|key|uuid|code|no|number)$", re.IGNORECASE)


@dataclass(frozen=True)
class Candidate:
    """Something that could be a source: how to read it, what it holds, and what a person has to decide."""

    name: str
    source_type: str
    config: Mapping[str, Any]
    columns: Sequence[tuple[str, str]]
    keys: Sequence[str] = ()
    watermarks: Sequence[str] = ()
    unknown: Sequence[str] = field(default_factory=tuple)


def in_folder(folder: Path, base: Path) -> list[Candidate]:
    """The sources that a folder holds, with paths as they are written from `base`. Raises Invalid if there is none."""
    groups: dict[tuple[Path, str, str], list[Path]] = {}
    for path in itertools.islice(_files(folder), MOST_FILES):
        suffix = "".join(part for part in path.suffixes[-2:] if part.lower() in (*FORMATS, ".gz"))
        stem = path.name.removesuffix(suffix)
        groups.setdefault((path.parent, _VARYING.sub("*", stem), suffix), []).append(path)
    if not groups:
        raise Invalid(f"no file to load in {folder}: it needs {', '.join(FORMATS)}, also with .gz")
    names: set[str] = set()
    return [_candidate(paths, pattern, suffix, base, names) for (_, pattern, suffix), paths in sorted(groups.items())]


def in_database(url: str, user: str, password: str) -> list[Candidate]:
    """The tables of a database, which is asked with the credentials that these variables of the environment hold. Raises Invalid, Forbidden
    or Unavailable.
    """
    from lakeledger.pipelines.sources.describe import describe, list_tables
    from lakeledger.pipelines.sources.jdbc import JdbcConfig

    address = url if url.startswith("jdbc:") else f"jdbc:{url}"
    known = {name: f"{{{{env.{variable}}}}}" for name, variable in (("user", user), ("password", password)) if variable in os.environ}
    connection = JdbcConfig(address, query="select 1", user=known.get("user"), password=known.get("password"))
    tables = list_tables(connection)
    if not tables:
        raise Invalid(f"{scrub(address)} has no tables to be seen: set {user} and {password} to somebody who sees them")
    names: set[str] = set()
    return [_table(describe(connection, table), address, known, names) for table in tables]


def _table(described: Description, url: str, credentials: Mapping[str, str], names: set[str]) -> Candidate:
    schema, _, table = described.table.rpartition(".")
    name = _name(table if schema == "public" else f"{schema}_{table}", Path(table), names)
    best = described.watermarks[0] if described.watermarks else None
    unknown = [f"{column} {why}" for column, why in described.unreadable.items()]
    unknown += [f"{', '.join(best.columns)} {best.reason}: {best.warning}"] if best and best.warning else []
    unknown += [] if best else ["no column grows with every change: the table is loaded whole each time"]
    unknown += [] if described.primary_key else ["it has no primary key: say which columns identify a row before you merge"]
    readable = [column for column in described.columns if not column.refused]
    config: dict[str, Any] = {"url": url, **credentials, "table": described.table}
    if len(readable) < len(described.columns):
        config["columns"] = [column.name for column in readable]
    return Candidate(
        name,
        "jdbc",
        config,
        [(column.name, column.type) for column in readable],
        described.primary_key,
        best.columns if best else (),
        unknown,
    )


def watermark_candidates(columns: Sequence[tuple[str, str]]) -> list[str]:
    """The columns that look as if they grew with every change: times whose names say so first."""
    times = [name for name, type_ in columns if type_.startswith(("timestamp", "date"))]
    return sorted(times, key=lambda name: not _CHANGED.search(name))


def _files(folder: Path) -> Iterator[Path]:
    if not folder.is_dir():
        raise Invalid(f"no folder {folder}: give a folder with files, or the URL of a database")
    for path in sorted(folder.rglob("*")):
        ends = [suffix.lower() for suffix in path.suffixes[-2:]]
        if path.is_file() and not path.name.startswith((".", "_")) and any(end in FORMATS for end in ends):
            yield path


def _candidate(paths: Sequence[Path], pattern: str, suffix: str, base: Path, names: set[str]) -> Candidate:
    first = max(paths, key=lambda path: (path.stat().st_size, path.name))
    format_ = next(FORMATS[part] for part in map(str.lower, first.suffixes) if part in FORMATS)
    where = _from(first.parent, base) / (f"{pattern}{suffix}" if len(paths) > 1 or "*" in pattern else first.name)
    config: dict[str, Any] = {"path": where.as_posix(), "format": format_}
    unknown: list[str] = []
    try:
        sample, options = _sample(first, format_)
    except (OSError, ValueError, csv.Error) as error:
        return Candidate(_name(pattern, first, names), "files", config, (), unknown=[f"{first.name} cannot be read: {_line(error)}"])
    if options:
        config["options"] = options
    columns = _columns(sample.schema, unknown)
    if len(columns) == len(sample.schema.names) and columns:
        config["schema"] = ", ".join(f"{_quoted(name)} {type_}" for name, type_ in columns)
    keys = _keys(sample)
    if not keys:
        unknown.append("no column is unique in the sample: say which columns identify a row before you merge")
    return Candidate(_name(pattern, first, names), "files", config, columns, keys, watermark_candidates(columns), unknown)


def _from(folder: Path, base: Path) -> Path:
    try:
        return folder.resolve().relative_to(base.resolve())
    except ValueError:
        return folder.resolve()


def _sample(path: Path, format_: str) -> tuple[pa.Table, dict[str, str]]:
    """The beginning of a file, and the options that it takes to read it. Raises OSError or ValueError (pyarrow's errors are both)."""
    import pyarrow as pa
    from pyarrow import csv as arrow_csv
    from pyarrow import json as arrow_json
    from pyarrow import parquet

    if format_ == "parquet":
        opened = parquet.ParquetFile(path)
        return pa.Table.from_batches(itertools.islice(opened.iter_batches(SAMPLE_ROWS), 1), opened.schema_arrow), {}
    with pa.input_stream(str(path), compression="detect") as stream:
        data = stream.read(SAMPLE_BYTES)
    whole = data[: data.rfind(b"\n") + 1] or data
    if format_ == "json":
        if data.lstrip()[:1] == b"[":
            raise ValueError("it is one array; write one JSON document per line, or set the option multiLine")
        return arrow_json.read_json(pa.BufferReader(whole)), {}
    delimiter = _delimiter(whole.decode("utf-8-sig", errors="replace"))
    parsed = arrow_csv.read_csv(pa.BufferReader(whole), parse_options=arrow_csv.ParseOptions(delimiter=delimiter, newlines_in_values=True))
    if doubled := [name for name in parsed.schema.names if parsed.schema.names.count(name) > 1]:
        raise ValueError(f"it has the column {doubled[0]!r} twice; give each column a name of its own")
    options = {} if delimiter == "," else {"sep": delimiter}
    return parsed, {**options, "multiLine": "true"} if _has_line_breaks(parsed) else options


def _has_line_breaks(sample: pa.Table) -> bool:
    """Whether a text of the sample goes over several lines."""
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = (column for column in sample.columns if pa.types.is_string(column.type))
    return any(pc.any(pc.match_substring(column, "\n")).as_py() for column in texts)


def _delimiter(text: str) -> str:
    head = text.partition("\n")[0]
    found = max(",;\t|", key=head.count)
    return found if head.count(found) else ","


def _columns(schema: pa.Schema, unknown: list[str]) -> list[tuple[str, str]]:
    import pyarrow as pa

    found = []
    for column in schema:
        if pa.types.is_null(column.type):
            unknown.append(f"{column.name} is empty in the sample: its type is a guess")
            found.append((column.name, "string"))
            continue
        try:
            (made,) = to_spark(from_arrow(pa.schema([column]))).jsonValue()["fields"]
        except Invalid as error:
            unknown.append(str(error))
            continue
        found.append((column.name, _readable(type_text(made["type"]))))
    return found


def _keys(sample: Any) -> list[str]:
    """The columns without NULL or doubles in the sample, those named like a key first; a table of one row says nothing."""
    import pyarrow.compute as pc

    if sample.num_rows < 2:
        return [name for name in sample.schema.names if _KEY.search(name)][:1]
    unique = []
    for name in sample.schema.names:
        values = sample.column(name)
        try:
            if (
                values.null_count == 0
                and pc.count_distinct(values).as_py() == sample.num_rows
                and str(values.type) not in ("double", "float")
            ):
                unique.append(name)
        except (NotImplementedError, ValueError):  # nested values cannot be counted
            continue
    named = [name for name in unique if _KEY.search(name)]
    return named or unique[:1]


def _name(pattern: str, path: Path, names: set[str]) -> str:
    """A name for source and table: of the files, or of their folder where the files have none."""
    words = re.sub(r"[^A-Za-z0-9]+", "_", pattern.replace("*", " ")).strip("_").lower()
    made = words or re.sub(r"[^A-Za-z0-9]+", "_", path.parent.name).strip("_").lower() or "source"
    made = f"t_{made}" if made[0].isdigit() else made
    free = next(name for number in itertools.count(1) if (name := made if number == 1 else f"{made}_{number}") not in names)
    names.add(free)
    return free


def _quoted(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z_]\w*", name) else "`" + name.replace("`", "``") + "`"


def _readable(type_: str) -> str:
    """A type that text can be read as: files say neither a time zone nor that a time of day is one."""
    return "string" if type_.startswith("time(") else type_.replace("timestamp_ntz", "timestamp")


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:200]
