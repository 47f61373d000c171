"""What became of streamed rows, read from the files themselves: it takes no Spark."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from lakeledger import Ledger

EVENTS = "bronze.events"


def read(ledger: Ledger, table: str = EVENTS) -> pa.Table:
    """A table as it is now, under the names of its columns; what a file does not have is NULL."""
    view = ledger.tables.view(table)
    fields = view.schema["fields"]
    parts = []
    for path in view.paths:
        whole = parquet.ParquetFile(path).read()
        missing = [pa.nulls(len(whole)) if each["physical_name"] not in whole.column_names else None for each in fields]
        columns = [
            whole.column(each["physical_name"]) if nothing is None else nothing for each, nothing in zip(fields, missing, strict=True)
        ]
        parts.append(pa.table(columns, names=[each["name"] for each in fields]))
    return pa.concat_tables(parts, promote_options="permissive") if parts else pa.table({each["name"]: [] for each in fields})


def ids(ledger: Ledger, table: str = EVENTS) -> list[Any]:
    return sorted(read(ledger, table).column("id").to_pylist())


def quarantined(ledger: Ledger, table: str = EVENTS) -> list[tuple[Any, list[str]]]:
    found = read(ledger, f"{table}__quarantine").to_pylist() if ledger.tables.find(f"{table}__quarantine") else []
    return sorted(((json.loads(row["row"]), row["reasons"]) for row in found), key=repr)
