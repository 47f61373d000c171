"""Whether files hold the columns that they are read for: by a schema alone, Spark reads a missing one as NULL and leaves out a new one.

A Parquet file says so in its footer. What JSON holds is found in one pass over its keys, about half the work of reading its rows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from lakeledger import codec
from lakeledger.errors import Invalid
from lakeledger.lake import Storage
from lakeledger.lake.parquet import footer_types
from lakeledger.lake.storage import PARALLEL
from lakeledger.tables.schema import Schema, column_names, type_text

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# How wide Spark's integers and those of a footer are: read by a narrower one, Spark cuts a value off without a word.
BITS = {"byte": 8, "short": 16, "integer": 32, "long": 64, "int8": 8, "int16": 16, "int32": 32, "int64": 64}
BITS |= {f"uint{bits}": bits + 1 for bits in (8, 16, 32, 64)}  # without a sign: one bit more to hold them
# What cuts a text into lines. Of the other options of JSON, those that allow more change which rows have keys.
LINE_OPTIONS = ("encoding", "linesep")


@dataclass(frozen=True)
class Expected:
    """The columns to read. Those that are `optional` may be missing from a file; it may have others only if `allow_new`."""

    schema: Schema
    optional: frozenset[str]
    allow_new: bool

    @property
    def names(self) -> list[str]:
        return column_names(self.schema)

    @property
    def required(self) -> list[str]:
        return [name for name in self.names if codec.fold(name) not in self.optional]


def check_parquet(paths: Sequence[str], expected: Expected, options: Mapping[str, str]) -> None:
    """Raise Invalid for a file whose footer does not fit; one that is no Parquet is left to Spark. Names of options are in lower case."""
    types = {codec.fold(field["name"]): field["type"] for field in expected.schema["fields"]}
    for path, footer in zip(paths, _footers(paths), strict=True):
        if footer is None:
            continue
        # With a basePath, Spark takes columns from the names of folders as well.
        from_folders = re.findall(r"([^/=]+)=[^/]*(?=/)", path) if "basepath" in options else []
        _compare(path, [*footer, *from_folders], expected, codec.fold)
        for name, found in footer.items():
            if narrows(found, read_as := types.get(codec.fold(name))):
                raise Invalid(f"{path} has the column {name} as {found}, which {type_text(read_as)} cannot hold: declare a wider type")


def check_json(spark: SparkSession, paths: Sequence[str], expected: Expected, options: Mapping[str, str]) -> None:
    """Raise Invalid for a file of which no row has a column. An explicit null counts, and a file without rows lacks nothing.

    Rows that are broken do not count: the read itself refuses them, unless it is told to take them. Names of options are in lower case.
    """
    from pyspark.sql import functions as F

    lines = {name: value for name, value in options.items() if name in LINE_OPTIONS} | {"wholetext": options.get("multiline", "false")}
    allowed = {name: value for name, value in options.items() if name.startswith("allow")}
    text = spark.read.format("text").options(**lines).load(list(paths)).where(F.trim("value") != "")
    of_array = F.when(F.trim("value").startswith("["), F.from_json("value", "array<string>", allowed)).otherwise(F.array("value"))
    rows = text.select(F.col("_metadata.file_path").alias("path"), F.explode(of_array).alias("row"))
    # The second is slower, but knows the options.
    keys_of_row = F.coalesce(F.json_object_keys("row"), F.map_keys(F.from_json("row", "map<string,string>", allowed)))
    # First the rows, then their keys: most rows of a file have the same ones.
    alike = rows.select("path", keys_of_row.alias("keys")).where("keys is not null").distinct()
    keys = alike.select("path", F.explode_outer("keys").alias("key")).distinct()
    files = keys.groupBy("path").agg(F.collect_set("key").alias("keys"))
    required, known = (F.lit(names).cast("array<string>") for names in (expected.required, expected.names))
    is_new = F.size(F.array_except("keys", known)) > 0
    wrong = (F.size(F.array_except(required, "keys")) > 0) | (is_new & F.lit(not expected.allow_new))
    for row in files.where(wrong).orderBy("path").limit(1).collect():
        _compare(unquote(row["path"]).removeprefix("file:"), sorted(row["keys"]), expected, str)


def narrows(found: str, read_as: Any) -> bool:
    """Whether values of a footer's type would be cut by the type that they are read as. What does not fit at all, Spark itself refuses."""
    if found in BITS and read_as in BITS:
        return BITS[found] > BITS[read_as]
    have, want = (re.fullmatch(r"decimal\w*\((\d+), ?(\d+)\)", str(type_)) for type_ in (found, read_as))
    if not have or not want:
        return False
    (digits, scale), (wanted_digits, wanted_scale) = (tuple(map(int, each.groups())) for each in (have, want))
    return scale > wanted_scale or digits - scale > wanted_digits - wanted_scale


def _footers(paths: Sequence[str]) -> list[dict[str, str] | None]:
    places = [path.rpartition("/") for path in paths]
    folders = {folder: Storage(folder) for folder, _, _ in places}
    with ThreadPoolExecutor(PARALLEL, thread_name_prefix="footers") as pool:
        return list(pool.map(lambda place: footer_types(folders[place[0]], place[2]), places))


def _compare(path: str, found: Sequence[str], expected: Expected, key: Callable[[str], str]) -> None:
    has, knows = {key(name) for name in found}, {key(name) for name in expected.names}
    if missing := [name for name in expected.required if key(name) not in has]:
        raise Invalid(
            f"{path} lacks the column {', '.join(missing)}: it has {', '.join(found) or 'none'}; correct the file or the source's schema, "
            f"or add it to optional_columns if it may be missing"
        )
    if not expected.allow_new and (new := [name for name in found if key(name) not in knows]):
        raise Invalid(f"{path} has new columns that the table does not have: {', '.join(new)}; declare the schema to leave them out")
