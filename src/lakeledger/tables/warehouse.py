"""Where a tenant's tables are. The ledger remembers it, so that nobody writes a part of a shared table elsewhere by mistake."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from lakeledger import locations
from lakeledger.config import Settings
from lakeledger.db import Row, Store, Transaction
from lakeledger.db.queries import load
from lakeledger.errors import Invalid
from lakeledger.lake import Storage

sql = load("lakeledger.tables")


@dataclass(frozen=True)
class Remembered:
    """The warehouse that a tenant's tables were written to: a row of `warehouses`."""

    tenant_id: str
    location: str
    relative_location: str | None
    claimed_at: datetime

    def is_at(self, location: str, relative_location: str | None) -> bool:
        """Whether that is the same place, or the same beside a ledger that was moved or copied with it."""
        return self.location == location or (relative_location is not None and self.relative_location == relative_location)


@dataclass(frozen=True)
class Move:
    """The warehouse before and after, the tables whose newest file is not in the new one, and whether it was done."""

    before: str | None
    after: str
    missing: list[str]
    applied: bool


class Warehouse:
    """The warehouse of the settings, once it is known to be the one that the ledger's tables are in."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self._store = store
        self._settings = settings
        self._lock = threading.Lock()
        self._is_checked = False
        self._is_claimed = False

    def path(self) -> str:
        """The tenant's part of it. Raises Invalid if there is none, or if the tables are in another."""
        location = self._settings.warehouse_uri
        with self._lock:
            if not self._is_checked:
                with self._store.read() as tx:
                    self._check(tx, location)
                self._is_checked = True
        return f"{location}/{self._store.tenant_id}"

    def claim(self) -> str:
        """The tenant's part of it, to be written to: from the first table on the ledger remembers it."""
        path = self.path()
        with self._lock:
            if not self._is_claimed:
                self._store.persist(lambda tx, _: self._remember(tx, self._settings.warehouse_uri))
                self._is_claimed = True
        return path

    def check(self, tx: Transaction) -> None:
        """Raise Invalid if the warehouse that was written to is no longer the one that the ledger remembers: somebody has moved it."""
        location, known = self._settings.warehouse_uri, find(tx)
        if known is not None and not known.is_at(location, self._relative(location)):
            self._is_claimed = self._is_checked = False  # the next write asks anew
            raise Invalid(f"the ledger's warehouse has become {known.location} while {location} was written to: nothing was committed")

    def remember(self, tx: Transaction) -> None:
        """Remember the warehouse of the settings, for a ledger that is made from it. Raises Invalid if its tables are in another."""
        self._remember(tx, self._settings.warehouse_uri)

    def move(self, *, apply: bool) -> Move:
        """Remember the warehouse of the settings from now on. Raises Invalid if files are missing there. A dry run unless `apply`."""
        after = self._settings.warehouse_uri
        with self._store.read() as tx:
            before = find(tx)
            newest = tx.all(sql.newest_files)
        missing = _missing(Storage(f"{after}/{self._store.tenant_id}", self._settings.s3), newest)
        if apply and missing:
            raise Invalid(f"{after} does not have the newest file of {', '.join(missing[:3])}: move the files first, then try again")
        if apply:
            with self._store.write() as tx:
                self._put(tx, after)
        return Move(before.location if before else None, after, missing, apply)

    def _check(self, tx: Transaction, location: str) -> None:
        known = find(tx)
        if known is None or known.is_at(location, self._relative(location)) or not tx.one(sql.has_tables):
            return
        raise Invalid(
            f"the tables of tenant {tx.tenant_id} are in the warehouse {known.location}, not in {location}: "
            f"use --warehouse {known.location}, or if the files were moved, `lakeledger db move-warehouse {location} --apply`"
        )

    def _remember(self, tx: Transaction, location: str) -> None:
        self._check(tx, location)  # Somebody may have been a moment earlier.
        known = find(tx)
        if known is None or not known.is_at(location, self._relative(location)):
            self._put(tx, location)

    def _put(self, tx: Transaction, location: str) -> None:
        tx.execute(sql.put_warehouse, location=location, relative_location=self._relative(location))

    def _relative(self, location: str) -> str | None:
        """The way from the ledger's file to the warehouse, where both are on disk: it stays the same when they move together."""
        url = self._settings.database_url
        if locations.is_url(location) or not url.startswith("sqlite:"):
            return None
        return os.path.relpath(location, Path(url.removeprefix("sqlite:///")).parent)


def find(tx: Transaction) -> Remembered | None:
    """What the ledger remembers, if anything."""
    row = tx.one(sql.find_warehouse)
    return Remembered(**row) if row else None


def _missing(storage: Storage, newest: list[Row]) -> list[str]:
    inside = [row for row in newest if not (locations.is_url(row["location"]) or row["location"].startswith("/"))]
    wanted = {f"{row['location']}/{row['file_path']}": f"{row['schema_name']}.{row['table_name']}" for row in inside}
    return [table for path, table in wanted.items() if not storage.has(path)]
