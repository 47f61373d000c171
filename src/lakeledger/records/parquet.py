"""Records as Parquet: a row for each, its documents as JSON text, ordered by target and time, so that a look-up reads little."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from lakeledger.db import Row
from lakeledger.lake.storage import Storage

if TYPE_CHECKING:
    import pyarrow as pa

DOCUMENTS = ("target_extras", "context_extras", "payload", "quality", "extras")
TIMES = ("produced_at", "window_start", "window_end")
TEXTS = (
    "record_id", "kind", "source_id", "schema_name", "table_name", "name_key", "target_key", "job_id", "run_id", "namespace", "producer_id",
    "version", "dedupe_key",
)  # fmt: skip
ROWS_AT_A_TIME = 5_000


def write(storage: Storage, path: str, rows: Sequence[Row]) -> int:
    """Make a file of these rows, there at once and whole; how many bytes."""
    import pyarrow as pa
    from pyarrow import parquet

    ordered = sorted(rows, key=lambda row: (row["target_key"], row["produced_at"], row["seq"]))
    table = pa.Table.from_pylist([_plain(row) for row in ordered], schema=_schema())
    sink = pa.BufferOutputStream()
    parquet.write_table(table, sink, row_group_size=ROWS_AT_A_TIME, compression="zstd", write_page_index=True)
    content = sink.getvalue().to_pybytes()
    storage.replace(path, content)
    return len(content)


def read(storage: Storage, path: str, where: Mapping[str, Any], since: datetime | None = None, until: datetime | None = None) -> list[Row]:
    """The rows of a file that have these values, of a time; in no order."""
    return _rows(storage, path, [*((name, "=", value) for name, value in where.items()), *_bounds("produced_at", since, until)])


def read_log(storage: Storage, path: str, after: int, last: int | None) -> list[Row]:
    """The rows of a file behind one place of the log, up to another."""
    return _rows(storage, path, [("seq", ">", after), *([("seq", "<=", last)] if last is not None else [])])


def _rows(storage: Storage, path: str, filters: list[tuple[str, str, Any]]) -> list[Row]:
    from pyarrow import parquet

    with storage.reading(path):
        found = parquet.read_table(storage.inner(path), filesystem=storage.filesystem, filters=filters or None, schema=_schema())
    return [_row(row) for row in found.to_pylist()]


def _bounds(name: str, since: datetime | None, until: datetime | None) -> list[tuple[str, str, Any]]:
    given = [(name, ">=", since)] if since is not None else []
    return [*given, *([(name, "<", until)] if until is not None else [])]


def _schema() -> pa.Schema:
    import pyarrow as pa

    fields = [pa.field("seq", pa.int64())]
    fields += [pa.field(name, pa.string()) for name in (*TEXTS, *DOCUMENTS)]
    fields += [pa.field(name, pa.timestamp("us", tz="UTC")) for name in TIMES]
    return pa.schema(fields)


def _plain(row: Row) -> dict[str, Any]:
    documents = {name: None if row[name] is None else json.dumps(row[name], ensure_ascii=False) for name in DOCUMENTS}
    return {**{name: row[name] for name in ("seq", *TEXTS, *TIMES)}, **documents}


def _row(row: dict[str, Any]) -> Row:
    documents = {name: None if row[name] is None else json.loads(row[name]) for name in DOCUMENTS}
    times = {name: None if row[name] is None else row[name].astimezone(UTC) for name in TIMES}
    return {**row, **documents, **times}
