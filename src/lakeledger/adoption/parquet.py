"""A folder of Parquet files, as Spark, pandas or DuckDB leave it."""

from __future__ import annotations

from lakeledger.adoption.found import Found
from lakeledger.config import S3Settings
from lakeledger.errors import Invalid
from lakeledger.lake import Storage

SUFFIXES = (".parquet", ".parq", ".pq")


def look(location: str, s3: S3Settings) -> Found:
    """The Parquet files below a folder. Raises Invalid if there are none, or if they are those of another format's table."""
    every = Storage(location, s3).files()
    if any(file.path.startswith("_delta_log/") for file in every):
        raise Invalid(f"{location} is a Delta table, and not all of its files are its rows now: register it with --delta")
    if any(file.path.startswith("metadata/") and file.name.endswith(".metadata.json") for file in every):
        raise Invalid(f"{location} is an Iceberg table, and not all of its files are its rows now: register its metadata with --iceberg")
    shown = [file for file in every if not file.is_bookkeeping]
    files = [file for file in shown if file.name.lower().endswith(SUFFIXES)]
    if not files:
        raise Invalid(f"no Parquet file in {location}: give the folder that they are in")
    other = next((file for file in shown if not file.name.lower().endswith(SUFFIXES)), None)
    notes = (f"{len(shown) - len(files)} of its files are no Parquet and not taken in, {other.path} among them",) if other else ()
    # Every file is as deep in folders that name a column and a value.
    named = {tuple(part.partition("=")[0] for part in file.path.split("/")[:-1] if "=" in part) for file in files}
    return Found("parquet", location, files, partition_by=named.pop() if len(named) == 1 else (), notes=notes)
