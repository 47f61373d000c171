"""Bad rows: what cannot be written goes to `<table>__quarantine` in the same commit, as text and with every reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from lakeledger.names import TableName
from lakeledger.pipelines.apply import Aside
from lakeledger.pipelines.partitions import quote
from lakeledger.tables.schema import SOURCE_FILE as KEY
from lakeledger.tables.schema import Schema

if TYPE_CHECKING:
    from pyspark.sql import Column

SUFFIX = "__quarantine"
ROW, REASONS, SOURCE_FILE, RUN_ID, FORMAT = "row", "reasons", "source_file", "run_id", "format"
# Columns that a source's rows may have beside their own, and that no table gets: of one that cannot be read the text, what kind of text
# it is, and the reasons; the file of each; and of one that is replayed the reasons that it had.
RAW, RAW_FORMAT, PROBLEMS, FILE, BEFORE = RESERVED = ("_raw", "_raw_format", "_problems", "_source_file", "_reasons_before")
# What kind of text a row is if no source says it: the columns that were read, as JSON, or an event of a change feed.
COLUMNS, EVENT = "columns", "event"
# Without these Spark would cut times to milliseconds, and a row that is replayed would be older than it was.
AS_JSON = {
    "ignoreNullFields": "false",
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
    "timeZone": "UTC",
}


def table_of(table: TableName) -> TableName:
    """Where the bad rows of a table are."""
    return TableName(table.schema, f"{table.table}{SUFFIX}")


def bad_rows(table: TableName, columns: Sequence[str], reasons: Mapping[str, Column], run_id: str | None = None) -> Aside:
    """Rows of these columns that have a reason, by the conditions of the reasons, which are never NULL."""
    from pyspark.sql import functions as F

    every = F.filter(F.array(*(F.when(condition, F.lit(reason)) for reason, condition in reasons.items())), lambda each: each.isNotNull())
    every = F.concat(every, F.coalesce(F.col(PROBLEMS), F.array().cast("array<string>"))) if PROBLEMS in columns else every
    row, where = text_of(columns), F.col(FILE) if FILE in columns else F.lit(None).cast("string")
    return Aside(
        table_of(table),
        F.size(every) > 0,
        {ROW: row, REASONS: every, SOURCE_FILE: where, RUN_ID: F.lit(run_id).cast("string"), FORMAT: _format(columns)},
    )


def own_columns(schema: Schema) -> Schema:
    """The schema of a source's rows without what only says why one is bad."""
    return {**schema, "fields": [field for field in schema["fields"] if field["name"] not in (*RESERVED, KEY)]}


def text_of(columns: Sequence[str]) -> Column:
    """A row as text: as it came if it could not be read, else as JSON."""
    from pyspark.sql import functions as F

    own = [F.col(quote(name)) for name in columns if name not in (*RESERVED, KEY)]
    made = F.to_json(F.struct(*own), AS_JSON)
    return F.coalesce(F.col(RAW), made) if RAW in columns else made


def _format(columns: Sequence[str]) -> Column:
    """What kind of text a row is kept as."""
    from pyspark.sql import functions as F

    if RAW not in columns:
        return F.lit(COLUMNS)
    raw = F.col(RAW_FORMAT) if RAW_FORMAT in columns else F.lit(EVENT)
    return F.when(F.col(RAW).isNotNull(), raw).otherwise(F.lit(COLUMNS))


def both(first: Aside, second: Aside) -> Aside:
    """Rows that one of two sets aside in one table, with the reasons of both; the rest is as the first has it."""
    from pyspark.sql import functions as F

    columns = {**first.columns}
    if REASONS in first.columns and REASONS in second.columns:
        columns[REASONS] = F.concat(first.columns[REASONS], second.columns[REASONS])
    return Aside(first.table, first.when | second.when, columns, first.failed)
