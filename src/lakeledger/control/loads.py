"""What a source that loads data reads, how much of it, and what its rows do to their table."""

from __future__ import annotations

import re
from datetime import timedelta
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationInfo, field_validator, model_validator
from pydantic_core import PydanticCustomError

from lakeledger import clock, codec
from lakeledger.control.expectations import QualityConfig
from lakeledger.control.values import Columns, Line, Name, Part, Plain, Text
from lakeledger.errors import Invalid
from lakeledger.quality.volume import VolumePolicy
from lakeledger.redaction import scrub
from lakeledger.tables import TableName, parse_name

WriteMode = Literal["append", "overwrite", "overwrite_partitions", "merge", "insert_only", "scd2"]
LoadType = Literal["full", "incremental", "snapshot_diff", "cdc"]
KEYED: tuple[WriteMode, ...] = ("merge", "insert_only", "scd2")

REFERENCE = re.compile(r"\{\{\s*([\w.-]+)\s*\}\}|\$\{env:(\w+)\}")
# The context in which a source is checked again once its references are replaced.
RESOLVED = "resolved"


def no_password(url: str) -> str:
    """An address, or what pydantic collects if it holds a password."""
    if scrub(url) != url:
        raise PydanticCustomError("unsafe", "the url holds a password: write it as `password`, as a reference such as {{env.NAME}}")
    return url


def a_reference(password: str | None, info: ValidationInfo) -> str | None:
    """A reference to a password, or what pydantic collects; what it means stands here only while the task runs."""
    if password is None or info.context == RESOLVED or REFERENCE.fullmatch(password.strip()):
        return password
    raise PydanticCustomError("unsafe", "the password stands in clear: write {{env.NAME}} and set that variable where the task runs")


class VolumeConfig(Part):
    """What is expected of how many rows a load brings. By default a load that is unusual for its table is reported, and committed."""

    band: Literal["warn", "fail", "off"] = Field(
        "warn", description="What becomes of a load whose rows are not within the tolerance band: reported, refused, or not judged."
    )
    min_rows: int | None = Field(None, ge=0, description="Fewer rows are reported, or with band fail refused.")
    max_rows: int | None = Field(None, ge=0, description="More rows are reported, or with band fail refused.")
    tolerance: float | None = Field(None, gt=0, description="The share of what is expected that is usual, instead of what is learned.")

    @property
    def policy(self) -> VolumePolicy:
        return VolumePolicy(self.band, self.min_rows, self.max_rows, self.tolerance)

    @model_validator(mode="after")
    def _has_room(self) -> VolumeConfig:
        if self.min_rows is not None and self.max_rows is not None and self.min_rows > self.max_rows:
            raise PydanticCustomError(
                "text", "min_rows {least} is more than max_rows {most}", {"least": self.min_rows, "most": self.max_rows}
            )
        return self


class TargetConfig(Part):
    """The table that a source writes, and what the rows do to it. `catalog` is kept for the document's sake; a ledger has one.

    The keys that begin with `keys` have the names and the meaning that they have in AUTO CDC.
    """

    table: Text
    catalog: Text | None = None
    schema_name: Text = Field("main", alias="schema")
    write_mode: WriteMode | None = None
    format: Literal["parquet", "jsonl"] | None = None
    partition_by: tuple[Text, ...] | None = None
    publish: tuple[Literal["iceberg", "delta"], ...] | None = Field(
        None, description="As what other engines see the table: iceberg, delta, or both. By default as the settings say."
    )
    sort_by: tuple[Text, ...] | None = Field(
        None, description="The order of rows in files that a compaction makes; by default that of keys."
    )
    keys: Columns = Field((), description="The columns that identify a row, for merge, insert_only, scd2, snapshot_diff and cdc.")
    sequence_by: Columns = Field((), description="The columns that order the changes of a row: the latest wins.")
    apply_as_deletes: Line | None = Field(None, description="The SQL condition of rows that delete theirs.")
    apply_as_truncates: Line | None = Field(None, description="The SQL condition of rows that delete all earlier ones.")
    column_list: Columns = Field((), description="The columns that the table gets.")
    except_column_list: Columns = Field((), description="The columns that the table does not get.")
    ignore_null_updates: bool = Field(False, description="Whether NULL in an update keeps the value that is there.")
    stored_as_scd_type: Literal[1, 2] | None = Field(None, description="1 is write_mode merge, 2 is scd2.")
    track_history_column_list: Columns = Field((), description="With scd2: the columns whose changes make a new row.")
    track_history_except_column_list: Columns = Field((), description="With scd2: the columns whose changes do not.")
    schema_drift: Literal["freeze", "evolve", "rescue", "drop"] = Field(
        "freeze",
        description="Columns that the table does not have: refused, added (also wider types), kept as JSON in _rescued, or left out.",
    )
    column_names: Literal["as_is", "safe"] = Field(
        "as_is", description="With safe, all of a source's column names but letters, digits and underscores becomes one underscore."
    )
    renamed_columns: dict[Text, Text] = Field(
        default_factory=dict, description="Earlier names of columns, or those of the source, by the names that the table has."
    )
    bad_rows: Literal["refuse", "quarantine"] = Field(
        "refuse", description="What becomes of rows that cannot be read, or have NULL in a key, the sequence or a required column."
    )
    required_columns: Columns = Field((), description="With bad_rows quarantine: further columns that must not be NULL.")
    max_bad_rows: int | None = Field(None, ge=0, description="With bad_rows quarantine: more of them fail the load.")
    max_bad_rate: float | None = Field(None, ge=0, le=1, description="With bad_rows quarantine: a larger share of them fails the load.")
    volume: VolumeConfig | None = Field(None, description="What is expected of how many rows a load brings.")
    freshness: Text | None = Field(None, description="How old the table's last data may become: 26h, 8d. By default that is learned.")
    quality: QualityConfig | None = Field(None, description="What is expected of the rows, checked as they are written.")

    @cached_property
    def name(self) -> TableName:
        return parse_name(f"{self.schema_name}.{self.table}")

    @property
    def declared_mode(self) -> WriteMode | None:
        """The write mode that it names, in either way."""
        return self.write_mode or {1: "merge", 2: "scd2"}.get(self.stored_as_scd_type or 0)  # type: ignore[return-value]

    @property
    def max_age(self) -> timedelta | None:
        """How old the table's last data may become."""
        return clock.parse_span(self.freshness) if self.freshness else None

    @field_validator("freshness")
    @classmethod
    def _is_an_age(cls, freshness: str | None) -> str | None:
        if freshness is not None and not clock.parse_span(freshness):
            raise PydanticCustomError("text", "{given} is not a time span: write 90m, 26h or 8d", {"given": repr(freshness)})
        return freshness

    @field_validator("renamed_columns")
    @classmethod
    def _renames_once(cls, renamed: dict[str, str]) -> dict[str, str]:
        pairs = [(codec.fold(now), codec.fold(before)) for now, before in renamed.items()]
        names = [name for pair in pairs if pair[0] != pair[1] for name in pair]
        if doubled := [name for name in names if names.count(name) > 1]:
            raise PydanticCustomError("text", "{name} is there twice: a column has one name now, and one before", {"name": doubled[0]})
        return renamed

    @model_validator(mode="after")
    def _has_a_name(self) -> TargetConfig:
        try:
            _ = self.name
        except Invalid as error:
            raise PydanticCustomError("table_name", "{text}", {"text": str(error)}) from error
        return self


class DebeziumConfig(Part):
    """How events of Debezium are read."""

    table: Text | None = Field(default=None, description="schema.table whose events are wanted, if the stream has several.")
    types: dict[str, Text] = Field(default_factory=dict, description="Debezium's types of columns where the events do not carry them.")
    flattened: bool = Field(default=False, description="Whether they are what ExtractNewRecordState leaves.")
    decimals: Literal["base64", "text"] = Field(default="base64", description="How decimals are written.")


class FilesConfig(Part):
    """Which files, and how to read them."""

    path: Line
    format: Literal["csv", "json", "parquet", "orc", "avro", "text", "debezium"] = "csv"
    schema_text: str | None = Field(None, alias="schema")
    options: dict[str, Text] = Field(default_factory=dict)
    changed_files: Literal["refuse", "load", "ignore", "replace"] = Field(
        "refuse",
        description="What becomes of a file that was read and then changed: replace exchanges its rows in the table for the new ones.",
    )
    optional_columns: tuple[Text, ...] = Field(
        (), description="Columns (or `column.field`) that may be missing from a file; its rows have NULL there."
    )
    debezium: DebeziumConfig | None = Field(None, description="With format debezium: how its events are read.")

    @field_validator("path")
    @classmethod
    def _holds_no_password(cls, path: str) -> str:
        if scrub(path) != path:
            raise PydanticCustomError("unsafe", "the path holds a password, which would be kept with every file: give it to Spark instead")
        return path

    @model_validator(mode="after")
    def _can_miss_a_column(self) -> FilesConfig:
        options = {name.lower(): value.lower() for name, value in self.options.items()}
        if self.optional_columns and self.format == "csv" and options.get("header") == "false":
            raise PydanticCustomError("unsafe", "a CSV without a header has its columns by their places: none of them can be optional")
        return self


class JdbcConfig(Part):
    """A table or a query of a database. Credentials are references: `{{env.SHOP_PASSWORD}}`."""

    url: Line = Field(description="jdbc:postgresql://host:5432/database, without a password.")
    user: Text | None = None
    password: Text | None = Field(None, description="A reference such as {{env.SHOP_PASSWORD}}.")
    table: Line | None = Field(None, description="schema.table as the database knows it.")
    query: Text | None = Field(None, description="A SELECT instead of a table.")
    columns: Columns = Field((), description="The columns to read; all without it.")
    filter: Line | None = Field(None, description="A condition in the database's SQL.")
    partition_column: Text | None = Field(None, description="A number, date or time by which the read is split.")
    partitions: int | None = Field(None, ge=1, le=1_000, description="In how many parts.")
    fetch_size: int = Field(10_000, ge=1, le=1_000_000, description="How many rows one round trip fetches.")
    types: dict[str, Text] = Field(default_factory=dict, description="Spark's types of columns that have none of their own.")
    late_rows: Literal["wait", "ignore"] = Field(
        "wait", description="Whether to wait for open transactions before the maximum is believed."
    )
    options: dict[str, Text] = Field(default_factory=dict, description="Passed to Spark's JDBC reader.")

    @model_validator(mode="after")
    def _reads_one_thing(self) -> JdbcConfig:
        if (self.table is None) == (self.query is None):
            raise PydanticCustomError("task", "a jdbc source needs table or query, and not both")
        return self

    _no_password = field_validator("url")(no_password)
    _reference = field_validator("password")(a_reference)


class ReplicationConfig(Part):
    """The changes of a table of PostgreSQL, from a replication slot."""

    url: Line = Field(description="postgresql://host:5432/database, without a password.")
    user: Text | None = None
    password: Text | None = Field(None, description="A reference such as {{env.SHOP_PASSWORD}}.")
    table: Line = Field(description="schema.table")
    slot: Name | None = Field(None, description="Its replication slot; made by the first load.")
    publication: Name | None = Field(None, description="Its publication, which must be there.")
    max_changes: int = Field(100_000, ge=1, description="About how many changes one load reads, in whole transactions.")
    snapshot: Literal["initial", "never"] = Field("initial", description="Whether the first load copies the table.")

    _no_password = field_validator("url")(no_password)
    _reference = field_validator("password")(a_reference)


class DeltaConfig(Part):
    """A Delta table, read without a JAR."""

    path: Line
    max_versions: int = Field(100, ge=1, description="How many versions one load reads at most.")
    storage_options: dict[str, Text] = Field(default_factory=dict, description="Those of delta-rs; secrets as references.")


class IcebergConfig(Part):
    """An Iceberg table, read without a JAR."""

    table: Line = Field(description="The metadata file, or namespace.table of the catalog.")
    catalog: dict[str, Text] = Field(default_factory=dict, description="Properties of pyiceberg's catalog; secrets as references.")


class KafkaConfig(Part):
    """A topic of Kafka, read by its offsets."""

    servers: Line
    topic: Line
    schema_text: str | None = Field(None, alias="schema", description="The columns of its JSON values.")
    debezium: DebeziumConfig | None = Field(None, description="If its values are events of Debezium.")
    max_messages: int = Field(1_000_000, ge=1, description="How many messages one load reads at most.")
    start: Literal["earliest", "latest"] = "earliest"
    options: dict[str, Text] = Field(default_factory=dict, description="Those of Kafka's clients; secrets as references.")


class CallableConfig(Part):
    """A function of an installed package that gives a DataFrame or Arrow, alone or with the position that it brings."""

    function: str = Field(description="`package.module:function`")
    parameters: dict[str, Plain] = Field(default_factory=dict)

    @field_validator("function")
    @classmethod
    def _can_be_found(cls, function: str) -> str:
        if not re.fullmatch(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*", function):
            raise PydanticCustomError("text", "write package.module:function, not {given}", {"given": repr(function)})
        return function


class IngestConfig(Part):
    """How much of the source is read."""

    task_type: Literal["ingest"] = "ingest"
    load_type: LoadType = "incremental"
    watermark_column: Columns = Field(default=(), description="What grows with every change; further columns break ties.")
    lookback: Annotated[str | int | None, Field(union_mode="left_to_right")] = Field(
        default=None, description="How far behind the watermark rows are read again: 10m, or a number."
    )
    null_watermark: Literal["refuse", "include", "skip"] = Field(
        default="refuse", description="What becomes of rows whose watermark is NULL."
    )
    allow_empty: bool = Field(default=False, description="With snapshot_diff: an empty source deletes every row.")

    @field_validator("lookback")
    @classmethod
    def _is_a_span(cls, lookback: Any) -> Any:
        if isinstance(lookback, str) and clock.parse_span(lookback) is None:
            raise PydanticCustomError("text", "{given} is not a time span: write 90s, 30m, 1h or 2d", {"given": repr(lookback)})
        if isinstance(lookback, int) and lookback < 0:
            raise PydanticCustomError("text", "a lookback of {given} would look ahead: write a positive number", {"given": lookback})
        return lookback
