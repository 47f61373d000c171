"""Files read with the columns that they have, for a table that may be there already: by its types where those take every value."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lakeledger import codec
from lakeledger.lake import Storage
from lakeledger.lake.orc import orc_types
from lakeledger.lake.parquet import footer_types
from lakeledger.pipelines.apply import Drift
from lakeledger.pipelines.naming import Naming
from lakeledger.pipelines.read import literal
from lakeledger.pipelines.sources import columns, fitting
from lakeledger.tables.schema import Schema, widens

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, DataFrameReader, SparkSession

FOOTERS: dict[str, Callable[[Storage, str], Schema | None]] = {"parquet": footer_types, "orc": orc_types}


@dataclass(frozen=True)
class Inferring:
    """What is known before files are looked at: format and options, the table's columns, and which of them a file may lack (folded)."""

    format: str
    options: Mapping[str, str]
    infer: Mapping[str, str]
    naming: Naming
    known: Schema | None
    drift: Drift
    optional: frozenset[str]


def read(spark: SparkSession, paths: Sequence[str], how: Inferring, open_storage: Callable[[str], Storage]) -> DataFrame:
    """The rows under the names of the table. Raises SchemaChanged for columns of the table that a file lacks."""
    from pyspark.sql.types import StructType

    def reader() -> DataFrameReader:
        return spark.read.format(how.format).options(**how.options)

    places = [literal(path) for path in paths]
    frame = reader().options(**how.infer).load(places)
    given = frame.schema.jsonValue()["fields"]
    names = how.naming.of([field["name"] for field in given])
    if how.known is None:
        return frame.toDF(*names) if names != frame.columns else frame
    if not given:  # of empty files nothing is known, and nothing is missing
        return reader().schema(StructType.fromJson(how.known)).load(places)
    found = dict(zip(names, (field["type"] for field in given), strict=True))
    if how.format == "json":
        unsure = fitting.doubtful(found, how.known)
        empty = fitting.without_values(frame.toDF(*names), unsure) if unsure else []
        types = fitting.typed(found, how.known, empty, frozen=how.drift == "freeze")
    else:
        types = _promoted(found, how.known)
    _check(spark, paths, how, {codec.fold(name): field["name"] for name, field in zip(names, given, strict=True)}, types, open_storage)
    if types != found:
        fields = [{**field, "type": type_} for field, type_ in zip(given, types.values(), strict=True)]
        frame = reader().schema(StructType.fromJson({"type": "struct", "fields": fields})).load(places)
    return frame.toDF(*names) if names != frame.columns else frame


def _check(
    spark: SparkSession,
    paths: Sequence[str],
    how: Inferring,
    raw: Mapping[str, str],
    types: Mapping[str, Any],
    open_storage: Callable[[str], Storage],
) -> None:
    """Raise SchemaChanged if a file lacks a column of the table; `raw` are the names that files have, by those of the table, folded."""
    known = how.known or {"fields": []}
    required = [field["name"] for field in known["fields"] if codec.fold(field["name"]) not in how.optional]
    # Only the columns themselves: what is inside of one is compared as its type.
    wanted = [{"name": raw.get(codec.fold(name), name), "type": "string"} for name in required]
    expected = columns.Expected({"type": "struct", "fields": wanted}, frozenset(), allow_new=True)
    options = {name.lower(): value for name, value in how.options.items()}
    if not wanted:
        return
    try:
        if how.format in FOOTERS:
            columns.check_footers(paths, expected, options, open_storage, FOOTERS[how.format])
        elif len(paths) > 1:
            columns.check_json(spark, [literal(path) for path in paths], expected, options)
        elif missing := [name for name in required if codec.fold(name) not in raw]:
            raise columns.Differs(columns.lacks(paths[0], missing, list(raw.values())), missing, is_inside=False)
    except columns.Differs as error:
        ours = {raw.get(codec.fold(name), name): name for name in required}
        raise fitting.lacking(str(error), [ours.get(name, name) for name in error.missing], types, known, how.drift) from error


def _promoted(found: Mapping[str, Any], known: Schema) -> dict[str, Any]:
    """The types of a footer, with the table's where that is only wider."""
    there = {codec.fold(field["name"]): field["type"] for field in known["fields"]}
    return {name: own if widens(type_, own := there.get(codec.fold(name), type_)) else type_ for name, type_ in found.items()}
