"""Independent readers of Iceberg tables, each given nothing but the ledger's catalog or the metadata file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lakeledger import Ledger

if TYPE_CHECKING:
    import pyarrow as pa

Reader = Callable[[Ledger, str, int], "pa.Table"]


@contextmanager
def catalog(ledger: Ledger) -> Iterator[Any]:
    """The ledger's tables as pyiceberg sees them."""
    from pyiceberg.catalog.sql import SqlCatalog

    url = ledger.settings.url.replace("postgresql://", "postgresql+psycopg://")
    s3 = {"s3.endpoint": ledger.settings.s3.endpoint, "s3.region": "us-east-1"} if ledger.settings.s3.endpoint else {}
    with closing(SqlCatalog(ledger.settings.tenant, uri=url, init_catalog_tables="false", **s3)) as opened:
        yield opened


def with_pyiceberg(ledger: Ledger, name: str, snapshot_id: int) -> pa.Table:
    with catalog(ledger) as opened:
        return opened.load_table(str(ledger.tables.get(name).name)).scan(snapshot_id=snapshot_id).to_arrow()


def with_polars(ledger: Ledger, name: str, snapshot_id: int) -> pa.Table:
    import polars as pl

    os.environ.setdefault("POLARS_ICEBERG_PLANNER", "pyiceberg")  # else it warns that another package would be quicker
    with catalog(ledger) as opened:
        table = opened.load_table(str(ledger.tables.get(name).name))
        s3 = ledger.settings.s3.endpoint
        options = {"aws_endpoint_url": s3, "aws_region": "us-east-1", "aws_allow_http": "true"} if s3 else None
        return pl.scan_iceberg(table, snapshot_id=snapshot_id, storage_options=options).collect().to_arrow()


def with_duckdb(ledger: Ledger, name: str, snapshot_id: int) -> pa.Table:
    location = ledger.tables.publication(name).metadata_location  # type: ignore[union-attr]  # it is published
    session = duckdb_session()
    if endpoint := ledger.settings.s3.endpoint:
        keys = f"key_id '{os.environ['AWS_ACCESS_KEY_ID']}', secret '{os.environ['AWS_SECRET_ACCESS_KEY']}', region 'us-east-1'"
        session.execute(f"create secret (type s3, {keys}, endpoint '{endpoint.removeprefix('http://')}', url_style 'path', use_ssl false)")
    found = session.sql(f"select * from iceberg_scan('{location}', snapshot_from_id => {snapshot_id})")
    return found.to_arrow_table()


def duckdb_session() -> Any:
    """DuckDB with its extensions, which are packages of their own."""
    import duckdb
    import duckdb_extension_avro
    import duckdb_extension_httpfs
    import duckdb_extension_iceberg

    session = duckdb.connect(config={"allow_unsigned_extensions": "true"})
    session.execute("set timezone = 'UTC'")
    for package in (duckdb_extension_avro, duckdb_extension_httpfs, duckdb_extension_iceberg):
        (path,) = Path(str(package.__file__)).parent.rglob("*.duckdb_extension")
        session.execute(f"load '{path}'")
    return session


READERS: dict[str, Reader] = {"pyiceberg": with_pyiceberg, "polars": with_polars, "duckdb": with_duckdb}


def plain(table: pa.Table) -> tuple[list[str], list[str]]:
    """The names of the columns, and the rows in an order of their own."""
    return table.column_names, sorted(repr({name: _plain(value) for name, value in row.items()}) for row in table.to_pylist())


def _plain(value: Any) -> Any:
    """Engines differ in how they say it, not in what it is: time zones by other names, maps as pairs."""
    if isinstance(value, datetime) and value.tzinfo:
        return value.astimezone(UTC)
    if isinstance(value, list):
        return [tuple(each) if isinstance(each, tuple) else _plain(each) for each in value]
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    return value
