"""Whether files hold the columns that they are read for: by a schema alone, Spark reads a missing one as NULL and leaves out a new one.

A Parquet or ORC file says so in its footer. What JSON holds is found in one pass over its keys, about half the work of reading its rows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import or_
from typing import TYPE_CHECKING, Any

from lakeledger import codec
from lakeledger.errors import Invalid
from lakeledger.lake import Storage
from lakeledger.lake.storage import PARALLEL
from lakeledger.locations import from_spark
from lakeledger.tables.schema import Schema, column_names, type_text

if TYPE_CHECKING:
    from pyspark.sql import Column, SparkSession

# How wide Spark's integers and those of a footer are: read by a narrower one, Spark cuts a value off without a word.
BITS = {"byte": 8, "short": 16, "integer": 32, "long": 64, "int8": 8, "int16": 16, "int32": 32, "int64": 64}
BITS |= {f"uint{bits}": bits + 1 for bits in (8, 16, 32, 64)}  # without a sign: one bit more to hold them
# What cuts a text into lines. Of the other options of JSON, those that allow more change which rows have keys.
LINE_OPTIONS = ("encoding", "linesep")


class Differs(Invalid):
    """A file has other columns than it is read for: which are `missing`, and whether that `is_inside` a column."""

    def __init__(self, message: str, missing: Sequence[str], *, is_inside: bool) -> None:
        super().__init__(message)
        self.missing, self.is_inside = tuple(missing), is_inside


@dataclass(frozen=True)
class Struct:
    """The columns of a schema, or the fields of a struct in one of them, also in an array or as the values of a map."""

    place: tuple[str, ...]
    names: list[str]

    def path(self, name: str) -> str:
        """A field as people write it: `customer.name`."""
        return ".".join((*self.place, name))


@dataclass(frozen=True)
class Expected:
    """The columns to read. Those that are `optional` may be missing from a file; it may have others only if `allow_new`."""

    schema: Schema
    optional: frozenset[str]
    allow_new: bool

    @cached_property
    def structs(self) -> list[Struct]:
        """The columns, then the fields of each struct inside them."""
        return list(structs_of(self.schema))

    def required(self, struct: Struct) -> list[str]:
        return [name for name in struct.names if codec.fold(struct.path(name)) not in self.optional]

    @property
    def demands_something(self) -> bool:
        return not self.allow_new or any(self.required(struct) for struct in self.structs)


def structs_of(type_: Any, place: tuple[str, ...] = ()) -> Iterator[Struct]:
    """Every struct in a type, outermost first."""
    match _word(type_):
        case "struct":
            yield Struct(place, column_names(type_))
            for field in type_["fields"]:
                yield from structs_of(field["type"], (*place, field["name"]))
        case "array" | "map":
            yield from structs_of(_inner(type_), place)


def check_footers(
    paths: Sequence[str],
    expected: Expected,
    options: Mapping[str, str],
    open_storage: Callable[[str], Storage],
    types_of: Callable[[Storage, str], Schema | None],
) -> None:
    """Raise Invalid for a file whose footer does not fit; one that has none is left to Spark. Names of options are in lower case."""
    for path, footer in zip(paths, _footers(paths, open_storage, types_of), strict=True):
        if footer is None:
            continue
        # With a basePath, Spark takes columns from the names of folders as well.
        from_folders = re.findall(r"([^/=]+)=[^/]*(?=/)", path) if "basepath" in options else []
        fields = [*footer["fields"], *({"name": name, "type": "string"} for name in from_folders)]
        _check_type(path, (), {**footer, "fields": fields}, expected.schema, expected)


def check_json(spark: SparkSession, paths: Sequence[str], expected: Expected, options: Mapping[str, str]) -> None:
    """Raise Invalid for a file of which no row has a column. An explicit null counts, and a file without rows lacks nothing.

    Rows that are broken do not count: the read itself refuses them, unless it is told to take them. Names of options are in lower case.
    """
    from pyspark.sql import functions as F

    lines = {name: value for name, value in options.items() if name in LINE_OPTIONS} | {"wholetext": options.get("multiline", "false")}
    # Spark Connect takes no empty map for options.
    allowed = {name: value for name, value in options.items() if name.startswith("allow")} or None
    text = spark.read.format("text").options(**lines).load(list(paths)).where(F.trim("value") != "")
    of_array = F.when(F.trim("value").startswith("["), F.from_json("value", "array<string>", allowed)).otherwise(F.array("value"))
    rows = text.select(F.col("_metadata.file_path").alias("path"), F.explode(of_array).alias("row"))
    found = rows.select("path", F.explode(_objects(F.col("row"), expected, allowed)).alias("object")).select("path", "object.*")
    # The second is slower, but knows the options.
    keys_of_object = F.coalesce(F.json_object_keys("text"), F.map_keys(F.from_json("text", "map<string,string>", allowed)))
    # First the objects, then their keys: most rows of a file have the same ones.
    alike = found.select("path", "struct", keys_of_object.alias("keys")).where("keys is not null").distinct()
    keys = alike.select("path", "struct", F.explode_outer("keys").alias("key")).distinct()
    files = keys.groupBy("path", "struct").agg(F.collect_set("key").alias("keys"))
    is_wrong = reduce(or_, ((F.col("struct") == number) & _differs(struct, expected) for number, struct in enumerate(expected.structs)))
    for row in files.where(is_wrong).orderBy("path", "struct").limit(1).collect():
        _compare(from_spark(row["path"]), expected.structs[row["struct"]], sorted(row["keys"]), expected, str)


def narrows(found: Any, read_as: Any) -> bool:
    """Whether values of a footer's type would be cut by the type that they are read as. What does not fit at all, Spark itself refuses."""
    found, read_as = _word(found), _word(read_as)
    if found in BITS and read_as in BITS:
        return BITS[found] > BITS[read_as]
    have, want = (re.fullmatch(r"decimal\w*\((\d+), ?(\d+)\)", type_) for type_ in (found, read_as))
    if not have or not want:
        return False
    (digits, scale), (wanted_digits, wanted_scale) = (tuple(map(int, each.groups())) for each in (have, want))
    return scale > wanted_scale or digits - scale > wanted_digits - wanted_scale


def _footers(
    paths: Sequence[str], open_storage: Callable[[str], Storage], types_of: Callable[[Storage, str], Schema | None]
) -> list[Schema | None]:
    places = [path.rpartition("/") for path in paths]
    folders = {folder: open_storage(folder) for folder, _, _ in places}
    with ThreadPoolExecutor(PARALLEL, thread_name_prefix="footers") as pool:
        return list(pool.map(lambda place: types_of(folders[place[0]], place[2]), places))


def _check_type(path: str, place: tuple[str, ...], found: Any, read_as: Any, expected: Expected) -> None:
    """Raise Invalid if a type in a footer lacks fields of the one that it is read as, has others, or is wider."""
    match _word(found), _word(read_as):
        case "struct", "struct":
            _compare(path, Struct(place, column_names(read_as)), column_names(found), expected, codec.fold)
            types = {codec.fold(field["name"]): field["type"] for field in read_as["fields"]}
            for field in found["fields"]:
                if (name := codec.fold(field["name"])) in types:
                    _check_type(path, (*place, field["name"]), field["type"], types[name], expected)
        case ("array", "array") | ("map", "map"):
            _check_type(path, place, _inner(found), _inner(read_as), expected)
        case _ if narrows(found, read_as):
            name = ".".join(place)
            raise Invalid(f"{path} has the column {name} as {found}, which {type_text(read_as)} cannot hold: declare a wider type")


def _objects(row: Column, expected: Expected, allowed: Mapping[str, str] | None) -> Column:
    """The objects in the text of a row that are read as structs, each with the number of its struct."""
    from pyspark.sql import functions as F

    def numbered(number: int, texts: Column) -> Column:
        return F.transform(texts, lambda text: F.struct(F.lit(number).alias("struct"), text.alias("text")))

    return F.concat(*(numbered(*each) for each in enumerate(_texts(F.array(row), expected.schema, allowed))))


def _texts(texts: Column, type_: Any, allowed: Mapping[str, str] | None) -> Iterator[Column]:
    """For each struct in a type, in the order of `structs_of`, the texts of its objects."""
    from pyspark.sql import functions as F

    def parsed(schema: str, take: Callable[[Column], Column]) -> Column:
        return F.filter(F.transform(texts, lambda text: take(F.from_json(text, schema, allowed))), F.isnotnull)

    def values(name: str) -> Column:
        return parsed("map<string,string>", lambda fields: F.try_element_at(fields, F.lit(name)))

    match _word(type_):
        case "struct":
            yield texts
            for field in type_["fields"]:
                if any(structs_of(field["type"])):
                    yield from _texts(values(field["name"]), field["type"], allowed)
        case "array":
            yield from _texts(F.flatten(parsed("array<string>", lambda elements: elements)), type_["elementType"], allowed)
        case "map":
            yield from _texts(F.flatten(parsed("map<string,string>", F.map_values)), type_["valueType"], allowed)


def _differs(struct: Struct, expected: Expected) -> Column:
    """Whether the keys of objects are not the fields that they are read for."""
    from pyspark.sql import functions as F

    required, known = (F.lit(names).cast("array<string>") for names in (expected.required(struct), struct.names))
    is_new = F.size(F.array_except("keys", known)) > 0
    return (F.size(F.array_except(required, "keys")) > 0) | (is_new & F.lit(not expected.allow_new))


def _compare(path: str, struct: Struct, found: Sequence[str], expected: Expected, key: Callable[[str], str]) -> None:
    has, knows = {key(name) for name in found}, {key(name) for name in struct.names}
    if missing := [struct.path(name) for name in expected.required(struct) if key(name) not in has]:
        raise Differs(lacks(path, missing, [struct.path(name) for name in found]), missing, is_inside=bool(struct.place))
    if not expected.allow_new and (new := [struct.path(name) for name in found if key(name) not in knows]):
        message = f"{path} has new columns that the table does not have: {', '.join(new)}; declare the schema to leave them out"
        raise Differs(message, (), is_inside=bool(struct.place))


def file_path() -> Column:
    """The file that a row was read from. Spark gives it as part of a URL."""
    from pyspark.sql import functions as F

    return F.url_decode(F.replace(F.col("_metadata.file_path"), F.lit("+"), F.lit("%2B")))


def lacks(path: str, missing: Sequence[str], found: Sequence[str]) -> str:
    """That a file lacks columns, in words."""
    return (
        f"{path} lacks the column {', '.join(missing)}: it has {', '.join(found) or 'none'}; correct the file or the source's schema, "
        f"or add it to optional_columns if it may be missing"
    )


def _word(type_: Any) -> str:
    """What kind of type it is: a word stands for itself."""
    return str(type_["type"] if isinstance(type_, dict) else type_)


def _inner(type_: dict[str, Any]) -> Any:
    """The type of an array's elements or of a map's values."""
    return type_["elementType"] if type_["type"] == "array" else type_["valueType"]
