"""Tables of any columns made of real files without Spark, to be published as Delta."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from contract.test_publishing import ORDERS, working
from delta_readers import TYPES
from lakeledger import Ledger, clock
from lakeledger.commit import Commit
from lakeledger.lake.parquet import Parquet
from lakeledger.lake.storage import Storage
from lakeledger.tables import Change, Files, Layout, NewFile
from lakeledger.tables.schema import identify, normalise, shown

COLUMNS = {"id": "long", "name": "string"}


def logical(columns: Mapping[str, str], hidden: Sequence[str] = ()) -> dict[str, Any]:
    return {"type": "struct", "fields": [_field(name, type_, hidden=name in hidden) for name, type_ in columns.items()]}


def _field(name: str, type_: str, *, hidden: bool) -> dict[str, Any]:
    return {"name": name, "type": type_, "nullable": True, "metadata": {}, **({"hidden": True} if hidden else {})}


def write(ledger: Ledger, rows: Sequence[tuple[Any, ...]], columns: Mapping[str, str], run_id: str = "run", folder: str = "") -> NewFile:
    """A file with these rows, in which the columns are called as the table calls them in its files."""
    known = ledger.tables.metadata("shop.orders") if ledger.tables.find("shop.orders") else None
    schema, _ = identify(normalise(logical(columns)), known.schema if known else None, known.columns if known else [])
    storage = Storage(f"{ledger.warehouse}/{ORDERS.folder}")
    path = f"data/{run_id}/{folder}{clock.new_id()}.parquet"
    whole = Path(storage.inner(path))
    whole.parent.mkdir(parents=True, exist_ok=True)
    fields = {field["physical_name"]: TYPES[field["type"]] for field in schema["fields"]}
    made = pa.table({name: pa.array([row[place] for row in rows], type_) for place, (name, type_) in enumerate(fields.items())})
    parquet.write_table(made, whole)
    facts = Parquet().inspect(storage, path, {}, set(fields))
    return NewFile(path, whole.stat().st_size, facts.rows, "", facts.compression, facts.bounds, clock.now())


def put(
    ledger: Ledger,
    *rows: tuple[Any, ...],
    columns: Mapping[str, str] = COLUMNS,
    hidden: Sequence[str] = (),
    mode: str = "async",
    folder: str = "",
    **more: Any,
) -> Commit:
    """Commit rows, by default as an append; a commit is published by nobody unless the test says so."""
    with ledger.run("load") as run:
        files = [write(ledger, rows, columns, run.id, folder)] if rows else []
        given: dict[str, Any] = {"operation": "append", "layout": Layout(), "schema": logical(columns, hidden), "evolve": True, **more}
        change = Change(ORDERS, ORDERS.folder, files=files, **given)
        return ledger.publisher.commit(working(ledger, run.fence, lambda: None), [change], [], run.id, mode)


def compact(ledger: Ledger, *rows: tuple[Any, ...], **more: Any) -> Commit:
    """The same rows in one file."""
    whole = Files(frozenset(ledger.tables.view("shop.orders").file_paths))
    return put(ledger, *rows, operation="replace", retires=whole, **more)


def names(ledger: Ledger) -> list[str]:
    return [field["name"] for field in shown(ledger.tables.view("shop.orders").schema)["fields"]]
