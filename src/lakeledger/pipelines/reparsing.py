"""Quarantined rows, read again: their texts by the schema that is declared now, or the columns that were read where there is no text."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from lakeledger import codec
from lakeledger.control import documents
from lakeledger.errors import Invalid
from lakeledger.pipelines import Context
from lakeledger.pipelines.apply.changes import RESCUED
from lakeledger.pipelines.bad_rows import UNREADABLE
from lakeledger.pipelines.partitions import quote
from lakeledger.pipelines.quarantine import (
    AS_JSON,
    BEFORE,
    COLUMNS,
    EVENT,
    FILE,
    FORMAT,
    PROBLEMS,
    RAW,
    RAW_FORMAT,
    REASONS,
    ROW,
    SOURCE_FILE,
)
from lakeledger.pipelines.sources import Source, files, look
from lakeledger.pipelines.sources.csv_files import CSV
from lakeledger.pipelines.sources.debezium import Debezium, DebeziumFiles, decode
from lakeledger.pipelines.sources.declared import Declared
from lakeledger.pipelines.sources.kafka import KafkaSource
from lakeledger.sync.schemas import to_spark
from lakeledger.tables.schema import Schema

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import StructType

# A change that is replayed is older than every other one that its database wrote at the same place.
BEFORE_ALL_OTHERS = -1
TEXT, PARSED = "_text", "_parsed"
BESIDE = (FILE, RAW_FORMAT, BEFORE)


@dataclass(frozen=True)
class Texts:
    """How the rows of a source are read again: `columns` of those that were read, and which texts (`csv`, `json`, or events) it gives.

    `headers` are the columns of CSV texts whose files have others, or another order, by the kinds of these texts.
    """

    columns: StructType
    format: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    debezium: Debezium | None = None
    known: Schema | None = None
    headers: Mapping[str, Sequence[str]] = field(default_factory=dict)


def texts_of(context: Context, source: Source, declared: Declared, spark: SparkSession) -> Texts:
    """How a source's rows are read now. Raises Invalid if nobody knows its columns any more."""
    seen = look(context.store, source.name, declared.target_config.name)
    if isinstance(declared, documents.FilesSource) and not isinstance(source, DebeziumFiles) and declared.source_config.schema_text:
        config = declared.source_config
        options = {**files.DEFAULTS[config.format], **config.options}
        return Texts(_with_rescued(files.parse_schema(spark, config.schema_text or ""), declared), config.format, options)
    debezium = source.config if isinstance(source, DebeziumFiles) else source.config.debezium if isinstance(source, KafkaSource) else None
    known = context.ledger.schemas.find(source.name)
    if known is None:
        raise Invalid(
            f"the columns of {source.name.name} are not known: run it once, so that they are registered, or declare source_config.schema"
        )
    return Texts(_with_rescued(to_spark(known.definition), declared), debezium=debezium, known=seen.given_columns)


def read_again(quarantined: DataFrame, how: Texts) -> DataFrame:
    """The rows with their own columns, and beside them what `quarantine` reserves: what still cannot be read has its text."""
    from pyspark.sql import functions as F

    by_reasons = F.when(F.array_contains(REASONS, UNREADABLE), F.lit(how.format or EVENT)).otherwise(F.lit(COLUMNS))
    format_ = F.coalesce(F.col(FORMAT), by_reasons) if FORMAT in quarantined.columns else by_reasons
    given = quarantined.select(
        F.col(ROW).alias(TEXT), F.col(SOURCE_FILE).alias(FILE), format_.alias(RAW_FORMAT), F.col(REASONS).alias(BEFORE)
    )
    if how.format == CSV:
        how = replace(how, headers=_headers(quarantined))
    if how.debezium is None:
        return _parsed(given, how)
    nowhere = {name: F.lit(0).cast("bigint").alias(name) for name in ("file", "block", "row", "element")}
    lines = given.where(F.col(RAW_FORMAT) == EVENT).select(F.col(TEXT).alias("text"), *nowhere.values(), *BESIDE)
    events, _ = decode(lines, how.debezium, BEFORE_ALL_OTHERS, how.known, BESIDE)
    return events.unionByName(_parsed(given.where(F.col(RAW_FORMAT) != EVENT), how), allowMissingColumns=True)


def _parsed(given: DataFrame, how: Texts) -> DataFrame:
    from pyspark.sql import functions as F
    from pyspark.sql.types import StringType, StructField, StructType

    schema = StructType([*how.columns.fields, StructField(RAW, StringType())])
    is_array = (F.col(RAW_FORMAT) == "json") & F.trim(TEXT).startswith("[")
    elements = F.coalesce(F.when(is_array, F.from_json(TEXT, "array<string>")), F.array(TEXT))
    rows = given.select(F.explode(elements).alias(TEXT), *BESIDE)
    ways = {COLUMNS: F.from_json(F.col(TEXT), schema, _permissive(AS_JSON)), **_ways(schema, how)}
    parsed = F.coalesce(*(F.when(F.col(RAW_FORMAT) == name, way) for name, way in ways.items()))
    read = rows.withColumn(PARSED, parsed)
    is_lost = F.col(PARSED).isNull()
    # What nobody can read now is as it was.
    problems = F.when(is_lost, F.array_remove(BEFORE, UNREADABLE))
    return read.select(
        *(F.col(f"{PARSED}.{quote(name)}").alias(name) for name in how.columns.names),
        F.coalesce(F.col(f"{PARSED}.{RAW}"), F.when(is_lost, F.col(TEXT))).alias(RAW),
        problems.alias(PROBLEMS),
        *BESIDE,
    )


def _ways(schema: StructType, how: Texts) -> dict[str, Column]:
    """How the texts of the source's own format are read."""
    from pyspark.sql import functions as F

    match how.format:
        case "csv":
            return {kind: _by_header(schema, names, how) for kind, names in {CSV: how.columns.names, **how.headers}.items()}
        case "json":
            return {"json": F.from_json(F.col(TEXT), schema, _permissive(how.options))}
    return {}


def _headers(quarantined: DataFrame) -> dict[str, list[str]]:
    """The headers of the files that texts are of, where they are kept with the texts."""
    from pyspark.sql import functions as F

    if FORMAT not in quarantined.columns:
        return {}
    kinds = quarantined.where(F.col(FORMAT).startswith(f"{CSV} ")).select(FORMAT).distinct().collect()
    return {row[0]: json.loads(row[0].removeprefix(f"{CSV} ")) for row in kinds}


def _by_header(schema: StructType, names: Sequence[str], how: Texts) -> Column:
    """CSV texts of files with that header, as rows of the schema."""
    from pyspark.sql import functions as F

    types = {codec.fold(each.name): each.dataType.simpleString() for each in schema.fields}
    columns = ", ".join(f"{quote(name)} {types.get(codec.fold(name), 'string')}" for name in (*names, RAW))
    parsed = F.from_csv(F.col(TEXT), columns, _permissive(how.options))
    there = {codec.fold(name): name for name in (*names, RAW)}
    made = F.struct(
        *(
            (parsed[there[key]] if (key := codec.fold(each.name)) in there else F.lit(None).cast(each.dataType)).alias(each.name)
            for each in schema.fields
        )
    )
    return F.when(parsed.isNotNull(), made)


def _permissive(options: Mapping[str, str]) -> dict[str, str]:
    """The options of a reader that gives what it cannot read as text."""
    kept = {name: value for name, value in options.items() if name.lower() not in ("mode", "columnnameofcorruptrecord")}
    return {**kept, "mode": "PERMISSIVE", "columnNameOfCorruptRecord": RAW}


def _with_rescued(columns: StructType, declared: Declared) -> StructType:
    """The columns, with the one that holds what the table had no place for."""
    from pyspark.sql.types import StringType, StructField, StructType

    if declared.target_config.schema_drift != "rescue" or RESCUED in columns.names:
        return columns
    return StructType([*columns.fields, StructField(RESCUED, StringType())])
