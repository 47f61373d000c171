"""The tables of one tenant, as everybody who is not writing one asks for them."""

from __future__ import annotations

from collections.abc import Callable, Container
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from lakeledger import codec
from lakeledger.config import S3Settings
from lakeledger.db import Store
from lakeledger.db.pages import Page
from lakeledger.errors import Invalid
from lakeledger.names import parse_name
from lakeledger.runs import Worker
from lakeledger.runs.recovery import NoteLost
from lakeledger.tables import delta, store, sweep, verify
from lakeledger.tables.model import DataFile, DeltaPublication, Publication, Snapshot, Table, TableMetadata, TableStats, View


@dataclass(frozen=True)
class Tables:
    """The tables of one tenant."""

    _store: Store
    _worker: Worker
    _warehouse: Callable[[], str]
    _note_lost: NoteLost
    _s3: S3Settings

    def get(self, name: str) -> Table:
        """The table as it is now. Raises NotFound."""
        with self._store.read() as tx:
            return self._placed(store.get(tx, parse_name(name)))

    def find(self, name: str) -> Table | None:
        """The table as it is now, or None."""
        with self._store.read() as tx:
            table = store.find(tx, parse_name(name))
        return self._placed(table) if table else None

    def view(self, name: str, version: int | str | None = None, at: datetime | str | None = None) -> View:
        """A table at a version (number or tag) or a time: schema and files. Raises NotFound, or Invalid for a time without a time zone."""
        moment = None if at is None else codec.to_moment(at)
        with self._store.read() as tx:
            view = store.view(tx, parse_name(name), version, moment)
        return replace(view, table=self._placed(view.table))

    def metadata(self, name: str) -> TableMetadata | None:
        """The table's latest schema version and layout. Raises NotFound."""
        with self._store.read() as tx:
            return store.metadata(tx, store.get(tx, parse_name(name)))

    def publication(self, name: str) -> Publication | None:
        """What other engines see of the table, or None if nobody ever asked. Raises NotFound."""
        with self._store.read() as tx:
            return store.publication(tx, store.get(tx, parse_name(name)))

    def delta(self, name: str) -> DeltaPublication | None:
        """What other engines see of the table as Delta, or None if nothing. Raises NotFound."""
        with self._store.read() as tx:
            return delta.find(tx, store.get(tx, parse_name(name)))

    def stats(self, name: str) -> TableStats:
        """How big a table is. Raises NotFound."""
        with self._store.read() as tx:
            return store.stats(tx, store.get(tx, parse_name(name)))

    def files(self, name: str, version: int | None = None, limit: int | None = None, after: str | None = None) -> Page[DataFile]:
        """The files of a version, by default the current one: all, or a page at a time. Raises NotFound."""
        with self._store.read() as tx:
            table = store.get(tx, parse_name(name))
            return store.files_at(tx, table, store.snapshot(tx, table, version).version, limit, after)

    def history(self, name: str, limit: int | None = 100, after: str | None = None) -> Page[Snapshot]:
        """The table's versions, newest first, a page at a time. Raises NotFound."""
        with self._store.read() as tx:
            return store.history(tx, store.get(tx, parse_name(name)), limit, after)

    def verify(self, name: str, *, deep: bool = True) -> verify.Verification:
        """Compare a table's registry with its storage. Raises NotFound."""
        return verify.verify(self._store, self._worker, self._warehouse(), parse_name(name), self._s3, deep=deep)

    def sweep(self, grace: timedelta = sweep.GRACE, *, delete: bool = False, only: Container[str] | None = None) -> sweep.Sweep:
        """Find, and with `delete` remove, what crashed writes left behind, everywhere or `only` in these folders of the warehouse."""
        return sweep.sweep(self._store, self._worker, self._warehouse(), self._note_lost, grace, self._s3, delete=delete, only=only)

    def list(self, limit: int | None = None, after: str | None = None) -> Page[Table]:
        """Every table, by name: all, or a page at a time."""
        with self._store.read() as tx:
            found = store.list_page(tx, limit, after)
        return Page(map(self._placed, found), found.next)

    def _placed(self, table: Table) -> Table:
        # A shared ledger whose warehouse is not known here can still be looked at.
        with suppress(Invalid):
            return table.placed(self._warehouse())
        return table
