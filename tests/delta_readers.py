"""Independent readers of Delta tables, each given nothing but the folder; and what the files of a version say, read without any of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyarrow import parquet

from iceberg_readers import plain
from lakeledger import Ledger
from lakeledger.tables.schema import shown

if TYPE_CHECKING:
    from deltalake import DeltaTable

Rows = tuple[list[str], list[str]]
Reader = Callable[[str, int | None, dict[str, str] | None], pa.Table]

TYPES = {"byte": pa.int8(), "short": pa.int16(), "integer": pa.int32(), "long": pa.int64(), "float": pa.float32(), "double": pa.float64()}
TYPES |= {"string": pa.string(), "date": pa.date32()}


def with_deltalake(location: str, version: int | None, options: dict[str, str] | None = None) -> pa.Table:
    from deltalake import DeltaTable, QueryBuilder

    table = DeltaTable(location, version=version, storage_options=options)
    return pa.table(QueryBuilder().register("t", table).execute("select * from t").read_all())


def with_duckdb(location: str, version: int | None, _: dict[str, str] | None = None) -> pa.Table:
    from iceberg_readers import duckdb_session

    session = duckdb_session()
    import duckdb_extension_delta

    (path,) = Path(str(duckdb_extension_delta.__file__)).parent.rglob("*.duckdb_extension")
    session.execute(f"load '{path}'")
    at = f", version => {version}" if version is not None else ""
    return session.sql(f"select * from delta_scan('{location}'{at})").to_arrow_table()


READERS: dict[str, Reader] = {"deltalake": with_deltalake, "duckdb": with_duckdb}


def location(ledger: Ledger, name: str = "shop.orders") -> str:
    return ledger.tables.get(name).location


def opened(ledger: Ledger, name: str = "shop.orders") -> DeltaTable:
    from deltalake import DeltaTable

    return DeltaTable(location(ledger, name))


def seen(ledger: Ledger, version: int | None = None, reader: str = "deltalake", name: str = "shop.orders") -> Rows:
    """What another engine finds at a version of the ledger."""
    found = ledger.tables.delta(name) if version is None else None
    numbers = {each.version: each.delta_version for each in ledger.tables.history(name, None)}
    number = found.delta_version if found else numbers[version or 0]
    assert number is not None, f"version {version} is not published"
    return plain(READERS[reader](location(ledger, name), number, None))


def told(ledger: Ledger, version: int | None = None, name: str = "shop.orders") -> Rows:
    """What the ledger says of a version: its files, read as they are, and the names that the columns have."""
    view = ledger.tables.view(name, version)
    fields = shown(view.schema)["fields"]
    parts = []
    for path in view.paths:
        file = parquet.read_table(path, partitioning=None)
        columns = {
            field["name"]: file[field["physical_name"]].cast(TYPES[field["type"]])
            if field["physical_name"] in file.column_names
            else pa.nulls(file.num_rows, TYPES[field["type"]])
            for field in fields
        }
        parts.append(pa.table(columns))
    empty = pa.table({field["name"]: pa.array([], TYPES[field["type"]]) for field in fields})
    return plain(pa.concat_tables([empty, *parts]))


def log(ledger: Ledger, name: str = "shop.orders") -> Path:
    return Path(location(ledger, name), "_delta_log")


def entries(ledger: Ledger, name: str = "shop.orders") -> list[list[dict[str, Any]]]:
    """The actions of each entry of the log."""
    return [[json.loads(line) for line in path.read_text().splitlines()] for path in sorted(log(ledger, name).glob("*.json"))]


def actions(entry: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [action[kind] for action in entry if kind in action]
