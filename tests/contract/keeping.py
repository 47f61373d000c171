"""Tables of real files without Spark, and time that passes when a test says so."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from contract.making import execute, rows
from lakeledger import Ledger, clock
from lakeledger.commit import Commit, Effect, commit
from lakeledger.lake import open_format
from lakeledger.lake.storage import Storage
from lakeledger.tables import Change, Layout, NewFile, parse_name

ORDERS = "shop.orders"
SCHEMA = {"type": "struct", "fields": [{"name": "id", "type": "long", "nullable": True, "metadata": {}}]}


def write(
    ledger: Ledger, ids: Sequence[int], table: str = ORDERS, format_: str = "parquet", folder: str | None = None, run_id: str = "run"
) -> NewFile:
    """A file with these rows, as Spark would have written it."""
    storage = Storage(f"{ledger.warehouse}/{folder or parse_name(table).folder}", ledger.settings.s3)
    path = f"data/{run_id}/{clock.new_id()}.{format_}"
    if format_ == "parquet":
        sink = pa.BufferOutputStream()
        parquet.write_table(pa.table({"id": pa.array(ids, pa.int64())}), sink)
        content = sink.getvalue().to_pybytes()
    else:
        content = "".join(json.dumps({"id": each}) + "\n" for each in ids).encode()
    storage.write(path, content)
    facts = open_format(format_).inspect(storage, path, {}, {"id"})
    return NewFile(path, len(content), facts.rows, "", facts.compression, facts.bounds, clock.now())


def put(ledger: Ledger, ids: Sequence[int], table: str = ORDERS, format_: str = "parquet", mode: str = "sync", **more: Any) -> Commit:
    """Commit rows, by default as an append that other engines see at once."""
    name = parse_name(table)
    given = {"operation": "append", "location": name.folder, **more}
    with ledger.run("load") as run:
        files = [write(ledger, ids, table, format_, more.get("location"), run.id)] if ids else []
        change = Change(name, schema=SCHEMA, layout=Layout(format_), files=files, **given)

        def work(changes: Sequence[Change], effects: Sequence[Effect]) -> Commit:
            with ledger.store.write() as tx:
                return commit(tx, run.fence, changes, effects=effects)

        return ledger.publisher.commit(work, [change], [], run.id, mode)


def overwrite(ledger: Ledger, ids: Sequence[int], **more: Any) -> Commit:
    return put(ledger, ids, operation="overwrite", retires="all", **more)


def read(ledger: Ledger, version: int | None = None, table: str = ORDERS) -> list[int]:
    """The ids of a version, from its files."""
    view = ledger.tables.view(table, version)
    storage = Storage(view.table.location, ledger.settings.s3)
    found: list[int] = []
    for path in view.file_paths:
        content = storage.read(path)
        if path.endswith(".parquet"):
            found += parquet.read_table(pa.BufferReader(content))["id"].to_pylist()
        else:
            found += [json.loads(line)["id"] for line in content.splitlines()]
    return sorted(found)


def files(ledger: Ledger, folder: str = "data", table: str = ORDERS) -> set[str]:
    """What is in storage."""
    return {file.path for file in Storage(ledger.tables.get(table).location, ledger.settings.s3).files(folder)}


def let_pass(ledger: Ledger, days: float) -> None:
    """Make everything that happened so many days older."""
    span = timedelta(days=days)
    for name, columns in {
        "table_snapshots": ["committed_at"],
        "expired_snapshots": ["committed_at"],
        "tables": ["created_at"],
        "table_files": ["removable_since"],
        "pipeline_runs": ["start_time"],
    }.items():
        for column in columns:
            key = {"table_snapshots": "snapshot_id", "expired_snapshots": "snapshot_id", "tables": "table_id", "table_files": "id"}
            id_ = key.get(name, "pipeline_logging_id")
            for row in rows(ledger, f"select {id_} as id, {column} as at from {name} where {column} is not null"):
                execute(ledger, f"update {name} set {column} = :at where {id_} = :id", at=row["at"] - span, id=row["id"])
    grow_old(Path(ledger.warehouse), span)


def grow_old(folder: Path, span: timedelta = timedelta(days=1)) -> None:
    """Make every file so much older."""
    past = time.time() - span.total_seconds()
    for path in folder.rglob("*"):
        if path.is_file():
            os.utime(path, (past, past))
