"""Debezium's change events as JSON: each becomes a row with its change, whether it is an envelope or flattened, with or without its schema.

Everything is read on Spark. One pass finds which tables and schemas there are and counts what is no change; a second reads the rows.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lakeledger import codec
from lakeledger.config import S3Settings
from lakeledger.control.documents import FilesSource
from lakeledger.errors import Invalid
from lakeledger.lake.storage import AS_AWS
from lakeledger.pipelines.effects import ReadFiles
from lakeledger.pipelines.read import literal
from lakeledger.pipelines.sources import Reading, Seen, changes, files
from lakeledger.pipelines.sources import debezium_events as events
from lakeledger.pipelines.sources.debezium_types import Decimals, Field, declared_value, field_of, fits, type_of, widest
from lakeledger.pipelines.sources.declared import DeclaredFiles
from lakeledger.sync import Source as SourceName
from lakeledger.sync import SourceFile
from lakeledger.tables.schema import Schema

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import StructType


@dataclass(frozen=True)
class Debezium:
    """How events are read.

    `table` is the one whose events are wanted (`schema.table`, or `database.table` where there are no schemas), if the stream has several.
    `schema` declares the columns: needed if the events carry no schema, else it chooses among them. `types` names Debezium's type of a
    column where neither tells it, such as `io.debezium.time.MicroTimestamp`. `flattened` events are what ExtractNewRecordState leaves.
    `decimals` are the bytes of Debezium's default mode, or a text if decimal.handling.mode is string (or decimal.format NUMERIC).
    """

    table: str | None = None
    schema: str | None = None
    types: Mapping[str, str] = field(default_factory=dict)
    flattened: bool = False
    decimals: Decimals = "base64"


@dataclass(frozen=True)
class DebeziumFiles:
    """Files of events: JSON Lines, or arrays of events. Which files are new is what the source of files below finds out."""

    found: DeclaredFiles
    config: Debezium = Debezium()

    @classmethod
    def at(
        cls,
        name: SourceName,
        path: str,
        config: Debezium = Debezium(),  # noqa: B008 - frozen
        *,
        base: Path = files.ROOT,
        s3: S3Settings = AS_AWS,
        multiline: bool = False,
        changed_files: files.OnChange = "refuse",
    ) -> DebeziumFiles:
        """The events in the files that match a path. With `multiline`, each file is one array or one event. Raises Invalid."""
        options = {"multiLine": "true"} if multiline else {}
        declared = FilesSource.model_validate(
            {
                "source_id": name.table_name or name.schema_name,
                "source_type": "files",
                "source_config": {"path": path, "format": "json", "options": options, "changed_files": changed_files},
                "target_config": {"table": name.table_name or name.schema_name},
            }
        )
        return cls(DeclaredFiles(name, declared, files.Where(base, s3)), config)

    @property
    def name(self) -> SourceName:
        return self.found.name

    def plan(self, seen: Seen) -> Reading | None:
        reading = self.found.plan(seen)
        if reading is None or reading.frame is None:
            return reading
        read = [file for effect in reading.effects if isinstance(effect, ReadFiles) for file in effect.files]
        detail = dict(reading.detail)
        return replace(
            reading,
            frame=lambda spark: self._frame(spark, read, seen, detail),
            is_named=False,
            batch_id=codec.digest([reading.batch_id, asdict(self.config)]) if reading.batch_id else None,
            detail=detail,
        )

    def sample(self, rows: int) -> Reading:  # noqa: ARG002 - nobody knows how many events a file has
        """The events of the first files."""
        read = self.found.first_files()
        detail: dict[str, Any] = {"files": len(read)}
        return Reading(frame=lambda spark: self._frame(spark, read, None, detail), detail=detail)

    @contextmanager
    def _frame(self, spark: SparkSession, read: list[SourceFile], seen: Seen | None, detail: dict[str, Any]) -> Iterator[DataFrame]:
        options = {name.lower(): value for name, value in self.found.declared.source_config.options.items()}
        paths = [literal(self.found.where.whole(file.path)) for file in read]
        lines = events.lines(spark, paths, whole=options.get("multiline", "false").lower() == "true")
        batch = seen.marker.version if seen and seen.marker else 0
        frame, counts = decode(lines, self.config, batch, seen.given_columns if seen else None)
        detail.update(counts)
        yield frame


def decode(
    lines: DataFrame, config: Debezium, batch: int = 0, known: Schema | None = None, beside: Sequence[str] = ()
) -> tuple[DataFrame, dict[str, int]]:
    """The changes in texts (see `debezium_events`), as `changes` describes them, and how many texts were something else.

    `batch` tells texts of later loads from those of earlier ones; `known` are the target's columns, for a batch without any event of
    the table. Columns of the texts that are `beside` them stay. Raises Invalid.
    """
    told = events.classify(lines, config.table, flattened=config.flattened)
    found = Found.of(told, config)
    columns = Columns(lines.sparkSession, config, found.schemas, known)
    return columns.frame(told.where(f"kind in ('{events.EVENT}', '{events.BAD}')"), batch, beside), found.counts


@dataclass(frozen=True)
class Found:
    """What the first pass over the texts found: the schemas of the table's events, and how many there are of each kind."""

    schemas: Mapping[str, Mapping[str, Field]]
    counts: dict[str, int]

    @classmethod
    def of(cls, told: DataFrame, config: Debezium) -> Found:
        """Look at all texts. Raises Invalid if they are of several tables and none is chosen."""
        groups = told.groupBy("kind", "table", "schema").count().collect()
        counts: dict[str, int] = {}
        for row in groups:
            counts[row["kind"]] = counts.get(row["kind"], 0) + row["count"]
        tables = sorted({row["table"] for row in groups if row["kind"] in (events.EVENT, events.OTHER_TABLE) and row["table"]})
        if config.table is None and len(tables) > 1:
            raise Invalid(f"the events are of several tables, {', '.join(tables)}: name one as the source's `table`")
        texts = {row["schema"] for row in groups if row["kind"] == events.EVENT and row["schema"]}
        schemas = {text: _fields(text, flattened=config.flattened) for text in texts}
        plural = {
            events.TOMBSTONE: "tombstones",
            events.OTHER_TABLE: "other_tables",
            events.OTHER: "other_messages",
            events.BAD: "unreadable",
        }
        return cls(schemas, {plural.get(kind, "events"): count for kind, count in sorted(counts.items())})


@dataclass(frozen=True)
class Columns:
    """The columns that the events of a table have, and how each is read from the texts of its values."""

    spark: SparkSession
    config: Debezium
    schemas: Mapping[str, Mapping[str, Field]]
    known: Schema | None

    @cached_property
    def declared(self) -> dict[str, str]:
        """The declared columns with their types. Raises Invalid."""
        return _types(files.parse_schema(self.spark, self.config.schema)) if self.config.schema else {}

    @cached_property
    def hints(self) -> dict[str, Field]:
        return {name: field_of(type_) for name, type_ in self.config.types.items()}

    @cached_property
    def types(self) -> dict[str, str]:
        """Every column with its type. Raises Invalid if nothing tells them."""
        if self.declared:
            return self.declared
        names = list(dict.fromkeys(name for fields in self.schemas.values() for name in fields))
        if names:
            return {name: widest(name, [type_of(each) for each in self._fields(name)]) for name in names}
        if self.known:
            from pyspark.sql.types import StructType

            return {name: type_ for name, type_ in _types(StructType.fromJson(self.known)).items() if name not in changes.COLUMNS}
        raise Invalid("the events carry no schema: declare the columns as the source's `schema`, or set schemas.enable of the converter")

    def frame(self, told: DataFrame, batch: int, beside: Sequence[str] = ()) -> DataFrame:
        """The rows of the texts that are events, or that should be."""
        from pyspark.sql import functions as F

        names, types = list(self.types), list(self.types.values())
        # First the values, then what is to be known of them, each in one expression for all columns: Spark compiles far less.
        sent = F.map_filter("fields", lambda _, text: text.isNull() | ~text.isin(*events.PLACEHOLDERS))
        read = told.withColumns({"sent": sent})
        read = read.withColumns({f"value_{index}": self._value(name) for index, name in enumerate(names)})
        missing = F.array(*(F.col(f"value_{index}").isNull() for index in range(len(names))))
        bad = F.transform(
            F.lit(names),
            lambda name, index: F.when(
                missing[index] & F.try_element_at("sent", name).isNotNull(),
                F.concat(name, F.lit(": "), F.substring(F.try_element_at("sent", name), 1, 60), F.lit(" is no "), F.lit(types)[index]),
            ),
        )
        read = read.withColumns({"unset": F.filter(F.lit(names), _is_unset)})
        # An update that gives a row another key is a deletion and an insertion, and of the old row only the key is known.
        not_sent = F.when(
            F.col("change") == changes.INSERT, F.transform("unset", lambda name: F.concat(name, F.lit(f": {changes.NOT_SENT}")))
        )
        all_problems = F.concat("problems", F.array_compact(bad), F.coalesce(not_sent, F.lit([]).cast("array<string>")))
        read = read.withColumns({"problems": all_problems})
        is_bad = F.size("problems") > 0
        return read.select(
            *(F.when(~is_bad, F.col(f"value_{index}")).alias(name) for index, name in enumerate(names)),
            F.when(~is_bad, F.col("change")).alias(changes.CHANGE_TYPE),
            F.when(~is_bad, events.sequence(batch)).alias(changes.SEQUENCE),
            F.when(~is_bad & (F.size("unset") > 0), F.col("unset")).alias(changes.UNSET),
            F.when(is_bad, F.col("text")).alias(changes.RAW),
            F.when(is_bad, F.col("problems")).alias(changes.PROBLEMS),
            *beside,
        )

    def _value(self, name: str) -> Column:
        """A column's value: by its own event's schema, where there are several that differ in it."""
        from pyspark.sql import functions as F

        text, type_, decimals = F.try_element_at("sent", F.lit(name)), self.types[name], self.config.decimals
        fields = self._fields(name)
        if not fields:
            read = declared_value(type_, text, decimals)
        elif len(fields) == 1:
            read = fits(fields[0], type_)(text, decimals)
        else:
            read = F.lit(None).cast(type_)
            for schema, columns in self.schemas.items():
                if name in columns:
                    read = F.when(F.col("schema") == F.lit(schema), fits(columns[name], type_)(text, decimals)).otherwise(read)
        return read.cast(type_)

    def _fields(self, name: str) -> list[Field]:
        """What the schemas say of a column, each once; a hint is right whatever they say."""
        if name in self.hints:
            return [self.hints[name]]
        distinct = {json.dumps(_essence(fields[name]), sort_keys=True): fields[name] for fields in self.schemas.values() if name in fields}
        return list(distinct.values())


def _is_unset(name: Column) -> Column:
    """Whether an event does not carry a column's value. An inserted row has all: a column that it lacks was not there yet, or is gone."""
    from pyspark.sql import functions as F

    lacks = (F.col("change") == changes.UPDATE) & ~F.map_contains_key("sent", name)
    return F.coalesce(F.map_contains_key("fields", name) & ~F.map_contains_key("sent", name), F.lit(False)) | F.coalesce(
        lacks, F.lit(False)
    )


def _fields(text: str, *, flattened: bool) -> dict[str, Field]:
    """The columns of the row that a schema describes."""
    try:
        schema = json.loads(text)
        if not flattened:
            schema = next(each for each in schema["fields"] if each["field"] == "after")
        return {each["field"]: each for each in schema["fields"] if not (flattened and each["field"].startswith(events.ADDED))}
    except (ValueError, KeyError, TypeError, StopIteration) as error:
        raise Invalid(f"the schema of an event is none of Debezium's: {text[:200]} ({error!r})") from error


def _essence(described: Field) -> Field:
    """What makes a field the same as another: not whether it is optional, nor what is told about it."""
    return {key: value for key, value in described.items() if key in ("type", "name", "parameters", "items", "keys", "values", "fields")}


def _types(schema: StructType) -> dict[str, str]:
    return {each.name: each.dataType.simpleString() for each in schema.fields}
