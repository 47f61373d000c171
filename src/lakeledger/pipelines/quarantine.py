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
ROW, REASONS, SOURCE_FILE, RUN_ID = "row", "reasons", "source_file", "run_id"
# Columns that a source's rows may have beside their own, and that no table gets: of one that cannot be read the text and the reasons, and
# the file of each.
RAW, PROBLEMS, FILE = RESERVED = ("_raw", "_problems", "_source_file")


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
        {ROW: row, REASONS: every, SOURCE_FILE: where, RUN_ID: F.lit(run_id).cast("string")},
    )


def own_columns(schema: Schema) -> Schema:
    """The schema of a source's rows without what only says why one is bad."""
    return {**schema, "fields": [field for field in schema["fields"] if field["name"] not in (*RESERVED, KEY)]}


def text_of(columns: Sequence[str]) -> Column:
    """A row as text: as it came if it could not be read, else as JSON."""
    from pyspark.sql import functions as F

    own = [F.col(quote(name)) for name in columns if name not in (*RESERVED, KEY)]
    made = F.to_json(F.struct(*own), {"ignoreNullFields": "false"})
    return F.coalesce(F.col(RAW), made) if RAW in columns else made


def both(first: Aside, second: Aside) -> Aside:
    """Rows that one of two sets aside in one table, with the reasons of both; the rest is as the first has it."""
    from pyspark.sql import functions as F

    columns = {**first.columns}
    if REASONS in first.columns and REASONS in second.columns:
        columns[REASONS] = F.concat(first.columns[REASONS], second.columns[REASONS])
    return Aside(first.table, first.when | second.when, columns, first.failed)
