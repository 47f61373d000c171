"""CSV files, each read by its own header: those of one header together, and what a file lacks or has beside the others is known before."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

from lakeledger import codec
from lakeledger.errors import Invalid
from lakeledger.pipelines.apply import Drift
from lakeledger.pipelines.naming import Naming
from lakeledger.pipelines.partitions import quote
from lakeledger.pipelines.quarantine import FILE, RAW, RAW_FORMAT
from lakeledger.pipelines.read import literal
from lakeledger.pipelines.sources import fitting
from lakeledger.pipelines.sources.columns import file_path, lacks
from lakeledger.tables.schema import Schema, type_text

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import StructType


CSV = "csv"


@dataclass(frozen=True)
class Asked:
    """What is wanted of CSV files: by a `schema`, which is `declared` or the table's, or as they are, beside what the table is `known` for.

    `optional` are columns, folded, that a file may lack. With `keeps_bad_rows` a row that cannot be read has its text in `_raw`; with
    `names_files` each has its file in `_source_file`.
    """

    options: Mapping[str, str]
    naming: Naming
    schema: StructType | None = None
    declared: bool = False
    known: Schema | None = None
    drift: Drift = "freeze"
    optional: frozenset[str] = frozenset()
    keeps_bad_rows: bool = False
    names_files: bool = False

    @property
    def frozen(self) -> bool:
        return self.drift == "freeze"


@dataclass(frozen=True)
class Group:
    """Files that have one header: their paths, and the columns in the order of the header, as the table calls them."""

    paths: list[str]
    names: list[str]

    def has(self, name: str) -> bool:
        return codec.fold(name) in map(codec.fold, self.names)


def has_header(options: Mapping[str, str]) -> bool:
    """Whether files say themselves what their columns are: not by their places or folders. Names of options are in lower case."""
    by_place = options.get("enforceschema", "false").lower() == "true" or "basepath" in options
    return options.get("header", "").lower() == "true" and not by_place


def group(paths: Sequence[str], headers: Sequence[tuple[str, ...] | None], naming: Naming) -> list[Group]:
    """The files by their headers; those that are empty bring nothing. Raises Invalid for columns that differ only in case."""
    by_header: dict[tuple[str, ...], list[str]] = {}
    for path, header in zip(paths, headers, strict=True):
        if header is not None:
            by_header.setdefault(header, []).append(path)
    return [Group(found, _names(header, found[0], naming)) for header, found in by_header.items()]


def renamed(schema: StructType, naming: Naming) -> StructType:
    """A schema whose columns may be called as in the files, or as in the table, by the names of the table."""
    from pyspark.sql.types import StructField, StructType

    names = naming.of(schema.names)
    return StructType([StructField(name, each.dataType, each.nullable) for name, each in zip(names, schema.fields, strict=True)])


def read(spark: SparkSession, groups: Sequence[Group], asked: Asked) -> DataFrame:
    """The rows of all groups under the same columns. Raises Invalid, or SchemaChanged for columns of the table that a file lacks."""
    if asked.schema is not None and (asked.declared or _fits(groups, asked)):
        return _by_schema(spark, groups, asked, asked.schema)
    inferred = [_inferred(spark, each, asked) for each in groups]
    names = {codec.fold(name): name for types in inferred for name in types}
    types = {name: fitting.common([each[name] for each in _spelled(inferred, names) if name in each]) for name in names.values()}
    unsure = fitting.doubtful(types, asked.known)
    empty = fitting.without_values(_union(spark, groups, asked, types), unsure) if unsure else []
    types = fitting.typed(types, asked.known, empty, frozen=asked.frozen)
    _check(groups, types, asked)
    return _union(spark, groups, asked, types)


def text_format(names: Sequence[str], wanted: Iterable[str]) -> str:
    """What kind of text a row of a file is: with the columns of its header, unless they are those that are wanted, in their order."""
    return CSV if [codec.fold(name) for name in names] == [codec.fold(name) for name in wanted] else f"{CSV} {codec.to_json(list(names))}"


def _names(header: tuple[str, ...], path: str, naming: Naming) -> list[str]:
    names = naming.of([name or f"_c{place}" for place, name in enumerate(header)])
    folded = [codec.fold(name) for name in names]
    if doubled := [name for name in names if folded.count(codec.fold(name)) > 1]:
        raise Invalid(
            f"{path} has columns that differ only in case: {', '.join(doubled)}; name all but one of them in target_config.renamed_columns"
        )
    return names


def _fits(groups: Sequence[Group], asked: Asked) -> bool:
    """Whether every file has the columns of the table, and no others."""
    wanted = {codec.fold(name) for name in asked.schema.names} if asked.schema else set()
    return all(wanted - asked.optional <= set(map(codec.fold, each.names)) <= wanted for each in groups)


def _check(groups: Sequence[Group], types: Mapping[str, Any], asked: Asked) -> None:
    if asked.known is None:
        return
    required = [field["name"] for field in asked.known["fields"] if codec.fold(field["name"]) not in asked.optional]
    for each in groups:
        if missing := [name for name in required if not each.has(name)]:
            raise fitting.lacking(lacks(each.paths[0], missing, each.names), missing, types, asked.known, asked.drift)


def _by_schema(spark: SparkSession, groups: Sequence[Group], asked: Asked, schema: StructType) -> DataFrame:
    """By the schema. What a file has beside it is left out, but refused if the table is frozen."""
    wanted = {codec.fold(name) for name in schema.names}
    for each in groups:
        new = [name for name in each.names if codec.fold(name) not in wanted]
        if new and asked.frozen:
            raise Invalid(
                f"{each.paths[0]} has columns that its schema does not have: {', '.join(new)}; declare them, or set schema_drift to "
                f"drop to leave them out"
            )
        if missing := [name for name in schema.names if not each.has(name) and codec.fold(name) not in asked.optional]:
            raise Invalid(lacks(each.paths[0], missing, each.names))
    return _union(spark, groups, asked, {field["name"]: field["type"] for field in schema.jsonValue()["fields"]})


def _inferred(spark: SparkSession, found: Group, asked: Asked) -> dict[str, Any]:
    """The columns of files of one header, with the types that Spark infers."""
    given = spark.read.format("csv").options(**{**asked.options, "inferSchema": "true"}).load([literal(path) for path in found.paths])
    types = [field["type"] for field in given.schema.jsonValue()["fields"]]
    if len(types) != len(found.names):
        raise Invalid(
            f"{found.paths[0]} has {len(types)} columns for Spark, but {len(found.names)} names in its header ({', '.join(found.names)}): "
            f"check the options sep, quote and escape"
        )
    return dict(zip(found.names, types, strict=True))


def _spelled(inferred: Sequence[Mapping[str, Any]], names: Mapping[str, str]) -> list[dict[str, Any]]:
    return [{names[codec.fold(name)]: type_ for name, type_ in types.items()} for types in inferred]


def _union(spark: SparkSession, groups: Sequence[Group], asked: Asked, types: Mapping[str, Any]) -> DataFrame:
    if not groups:
        from pyspark.sql.types import StructType

        return spark.createDataFrame([], StructType.fromJson({"type": "struct", "fields": [_field(*each) for each in types.items()]}))
    return reduce(lambda left, right: left.unionAll(right), (_rows(spark, each, asked, types) for each in groups))


def _rows(spark: SparkSession, found: Group, asked: Asked, types: Mapping[str, Any]) -> DataFrame:
    """The rows of files of one header, under the columns that are wanted; by their places, as the header is known."""
    from pyspark.sql import functions as F
    from pyspark.sql.types import StructType

    wanted = {codec.fold(name): type_ for name, type_ in types.items()}
    fields = [_field(name, wanted.get(codec.fold(name), "string")) for name in found.names]
    # A row with too few values is found only if every column is read.
    options = {**asked.options, "enforceSchema": "true", "columnPruning": "false"}
    more: list[Column] = []
    if asked.keeps_bad_rows:
        options = {name: value for name, value in options.items() if name.lower() not in ("mode", "columnnameofcorruptrecord")}
        options |= {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": RAW}
        fields.append(_field(RAW, "string"))
        more = [F.col(RAW), F.lit(text_format(found.names, types)).alias(RAW_FORMAT)]
    if asked.names_files:
        more.append(file_path().alias(FILE))
    schema = StructType.fromJson({"type": "struct", "fields": fields})
    frame = spark.read.format("csv").options(**options).schema(schema).load([literal(path) for path in found.paths])
    there = {codec.fold(name): name for name in found.names}
    columns = [
        F.col(quote(there[codec.fold(name)])).alias(name) if codec.fold(name) in there else F.lit(None).cast(type_text(type_)).alias(name)
        for name, type_ in types.items()
    ]
    return frame.select(*columns, *more)


def _field(name: str, type_: Any) -> dict[str, Any]:
    return {"name": name, "type": type_, "nullable": True, "metadata": {}}
