"""The rows of a query as a raw source: of a SQLite file, or of PostgreSQL."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lakeledger.backfilling.inventory import RawSource, secret
from lakeledger.errors import Invalid
from lakeledger.pipelines.sources import asking_postgres

SQLITE = "sqlite:///"


def rows_of(base: Path, source: RawSource) -> Iterator[dict[str, Any]]:
    """Each row by the names of its columns. Raises Invalid, Forbidden, NotInstalled or Unavailable."""
    url = secret(source.url) or ""
    if url.startswith(SQLITE):
        yield from _of_sqlite(base / url.removeprefix(SQLITE), source)
        return
    if not url.removeprefix("jdbc:").startswith(("postgresql:", "postgres:")):
        raise Invalid(f"{source.name}: SQL is read from sqlite:///file.db or postgresql://user@host/database; give other databases as CSV")
    address, found = asking_postgres.parse_url(url)
    given = {"user": secret(source.user), "password": secret(source.password)}
    parameters = {**found, **{name: value for name, value in given.items() if value}}
    secrets = tuple(value for value in (given["password"],) if value)
    with asking_postgres.Postgres(address.removeprefix("jdbc:").partition("?")[0], parameters, {}, secrets).asking() as asks:
        cursor = asks.connection.execute((source.query or "").encode())
        names = [column.name for column in cursor.description or ()]
        yield from (dict(zip(names, row, strict=True)) for row in cursor)


def _of_sqlite(file: Path, source: RawSource) -> Iterator[dict[str, Any]]:
    if not file.is_file():
        raise Invalid(f"{source.name}: there is no SQLite file {file}")
    connection = sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True)
    try:
        connection.row_factory = sqlite3.Row
        yield from (dict(row) for row in connection.execute(source.query or ""))
    except sqlite3.Error as error:
        raise Invalid(f"{source.name}: the query fails: {error}") from error
    finally:
        connection.close()
