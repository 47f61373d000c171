"""Avro files, each read by the schema that it carries: those of one schema together. Spark itself takes the schema of one file for all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import reduce
from typing import TYPE_CHECKING, Any

from lakeledger import codec
from lakeledger.errors import Invalid, NotInstalled
from lakeledger.lake import Storage
from lakeledger.lake.storage import PARALLEL
from lakeledger.pipelines.partitions import quote
from lakeledger.pipelines.quarantine import FILE
from lakeledger.pipelines.read import literal
from lakeledger.pipelines.sources import fitting
from lakeledger.pipelines.sources.columns import file_path, lacks
from lakeledger.pipelines.sources.csv_files import Asked
from lakeledger.tables.schema import type_text, widens

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def group(paths: Sequence[str], open_storage: Callable[[str], Storage]) -> list[list[str]]:
    """The files by the schemas that they carry, several read at a time. Raises Invalid for one that is no Avro."""
    places = [path.rpartition("/") for path in paths]
    folders = {folder: open_storage(folder) for folder, _, _ in places}
    found: dict[str, list[str]] = {}
    with ThreadPoolExecutor(PARALLEL, thread_name_prefix="avro") as pool:
        for path, schema in zip(paths, pool.map(lambda place: _schema(folders[place[0]], place[2]), places), strict=True):
            found.setdefault(schema, []).append(path)
    return list(found.values())


def read(spark: SparkSession, groups: Sequence[Sequence[str]], asked: Asked) -> DataFrame:
    """The rows of all groups under the same columns. Raises Invalid, NotInstalled, or SchemaChanged for columns that a file lacks."""
    frames = [_load(spark, paths, asked) for paths in groups]
    inferred = [{field["name"]: field["type"] for field in frame.schema.jsonValue()["fields"] if field["name"] != FILE} for frame in frames]
    types = _types(groups, inferred, asked)
    _check(groups, inferred, types, asked)
    return reduce(lambda left, right: left.unionAll(right), (_rows(frame, types, asked) for frame in frames))


def _schema(storage: Storage, name: str) -> str:
    import fastavro

    try:
        with storage.reading(name), storage.filesystem.open_input_stream(storage.inner(name), compression=None) as stream:
            return codec.to_json(fastavro.reader(stream).writer_schema)
    except (ValueError, StopIteration, EOFError) as error:
        raise Invalid(
            f"{storage.root}/{name} is no Avro file: {error or 'it is cut off'}; correct the file or the source's format"
        ) from error


def _load(spark: SparkSession, paths: Sequence[str], asked: Asked) -> DataFrame:
    from pyspark.errors import AnalysisException

    try:
        frame = spark.read.format("avro").options(**asked.options).load([literal(path) for path in paths])
    except AnalysisException as error:
        if "avro" not in str(error).lower() or "find" not in str(error).lower():
            raise
        raise NotInstalled(
            "Spark has no reader of Avro: run `lakeledger jars fetch avro` once, and add avro to jars under [spark]"
        ) from error
    if asked.names_files:
        frame = frame.withColumn(FILE, file_path())
    return asked.naming.apply(frame)


def _types(groups: Sequence[Sequence[str]], inferred: Sequence[Mapping[str, Any]], asked: Asked) -> dict[str, Any]:
    """The type of each column: the declared one, else the widest that a file or the table has. Raises Invalid if a file has another."""
    names: dict[str, str] = {}
    for name in (name for types in inferred for name in types):
        names.setdefault(codec.fold(name), name)
    if asked.declared and asked.schema is not None:
        types = {field["name"]: field["type"] for field in asked.schema.jsonValue()["fields"]}
    else:
        found = {key: [type_ for types in inferred for name, type_ in types.items() if codec.fold(name) == key] for key in names}
        there = {codec.fold(field["name"]): field["type"] for field in asked.known["fields"]} if asked.known else {}
        types = {}
        for key, name in names.items():
            widest = reduce(lambda left, right: right if widens(left, right) else left, found[key])
            types[name] = there[key] if key in there and widens(widest, there[key]) else widest
    wanted = {codec.fold(name): type_ for name, type_ in types.items()}
    for paths, own in zip(groups, inferred, strict=True):
        for name, type_ in own.items():
            as_ = wanted.get(codec.fold(name), type_)
            if type_ != as_ and not widens(type_, as_):
                raise Invalid(
                    f"{paths[0]} has the column {name} as {type_text(type_)}, which {type_text(as_)} cannot hold: load it by itself"
                )
    return types


def _check(groups: Sequence[Sequence[str]], inferred: Sequence[Mapping[str, Any]], types: Mapping[str, Any], asked: Asked) -> None:
    required = types if asked.declared else [field["name"] for field in asked.known["fields"]] if asked.known else []
    for paths, own in zip(groups, inferred, strict=True):
        there = {codec.fold(name) for name in own}
        missing = [name for name in required if codec.fold(name) not in there | asked.optional]
        if missing and asked.known and not asked.declared:
            raise fitting.lacking(lacks(paths[0], missing, list(own)), missing, types, asked.known, asked.drift)
        if missing:
            raise Invalid(lacks(paths[0], missing, list(own)))


def _rows(frame: DataFrame, types: Mapping[str, Any], asked: Asked) -> DataFrame:
    from pyspark.sql import functions as F

    there = {codec.fold(name): name for name in frame.columns}
    columns = [
        (F.col(quote(there[codec.fold(name)])) if codec.fold(name) in there else F.lit(None)).cast(type_text(type_)).alias(name)
        for name, type_ in types.items()
    ]
    return frame.select(*columns, *([F.col(FILE)] if asked.names_files else []))
