"""An Iceberg table, by its metadata file: the files of its current snapshot, and its columns with their ids."""

from __future__ import annotations

from typing import Any

from lakeledger import locations
from lakeledger.adoption.found import Found, present
from lakeledger.config import S3Settings
from lakeledger.errors import Invalid
from lakeledger.locations import from_spark
from lakeledger.pipelines.sources.iceberg import open_metadata
from lakeledger.tables.schema import Field

NOTE = "do not write it or remove orphan files with Iceberg any more: it would not know the files that the ledger adds, and delete them"

_TYPES = {
    "int": "integer",
    "timestamp": "timestamp_ntz",
    "timestamptz": "timestamp",
    **{name: name for name in ("long", "float", "double", "boolean", "string", "date", "binary")},
}


def look(metadata: str, s3: S3Settings) -> Found:
    """The table as its metadata says. Raises Invalid for what only Iceberg's own reader can read."""
    table = open_metadata(metadata)
    location = locations.normal(from_spark(table.location()).rstrip("/"))
    tasks = list(table.scan().plan_files())
    if any(task.delete_files for task in tasks):
        raise Invalid(f"{metadata} has delete files, which need Iceberg's own reader: rewrite its data files first")
    if odd := [task.file.file_path for task in tasks if str(task.file.file_format).rpartition(".")[2].upper() != "PARQUET"]:
        raise Invalid(f"{metadata} has files that are no Parquet, such as {odd[0]}: rewrite them first")
    paths = [locations.normal(from_spark(task.file.file_path)) for task in tasks]
    if outside := [path for path in paths if not path.startswith(f"{location}/")]:
        raise Invalid(f"{metadata} has files outside of {location}, such as {outside[0]}: rewrite its data files first")
    columns = table.schema().fields
    fields = [_field(column, metadata) for column in columns]
    ids = {column.name: column.field_id for column in columns}
    by_id = {column.field_id: column.name for column in columns}
    parts = tuple(by_id[part.source_id] if str(part.transform) == "identity" else part.name for part in table.spec().fields)
    current = table.current_snapshot()
    summary = {"iceberg_snapshot_id": current.snapshot_id} if current else {}
    files = present(location, (path.removeprefix(f"{location}/") for path in paths), s3)
    return Found("iceberg", location, files, fields, ids, parts, (NOTE,), summary)


def _field(column: Any, metadata: str) -> Field:
    text = str(column.field_type).replace(" ", "")
    if getattr(column, "initial_default", None) is not None:
        raise Invalid(f"column {column.name} of {metadata} has a default for older rows, which needs Iceberg's own reader")
    if not text.startswith("decimal(") and text not in _TYPES:
        raise Invalid(
            f"column {column.name} of {metadata} is {column.field_type}, whose ids inside the files the ledger cannot keep: "
            "load it with source_type iceberg instead"
        )
    return {"name": column.name, "type": _TYPES.get(text, text), "nullable": True, "metadata": {}}
