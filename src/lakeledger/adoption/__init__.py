"""Tables that others have written, taken into the ledger where they are: their files stay, and version 1 of the table is made of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from lakeledger import codec, locations
from lakeledger.adoption import delta as delta_tables
from lakeledger.adoption import iceberg as iceberg_tables
from lakeledger.adoption import parquet as parquet_folders
from lakeledger.adoption.footers import Columns, Footer, columns_of, partition_paths, read_footers
from lakeledger.adoption.found import Found
from lakeledger.commit import Commit, Effect, commit
from lakeledger.config import S3Settings
from lakeledger.db import Store, Transaction
from lakeledger.errors import Conflict, Invalid
from lakeledger.lake import Storage
from lakeledger.names import TableName, parse_name
from lakeledger.publishing import Publisher
from lakeledger.runs import ActiveRun, ActiveStep, Counters, Fence
from lakeledger.runs import store as run_store
from lakeledger.tables import Change, Committed, Layout, NewFile, Table, store
from lakeledger.tables.change import find_batch
from lakeledger.tables.model import ADOPTED, Adopted

__all__ = ["Adoption", "Registered"]

_LOOKS = {"parquet": parquet_folders.look, "delta": delta_tables.look, "iceberg": iceberg_tables.look}


@dataclass(frozen=True)
class Registered:
    """A table that was taken in: what was found, what is to be known of it, and its version; `applied` if it was not there before."""

    table: Committed
    kind: str
    location: str
    files: int
    rows: int
    bytes: int
    notes: tuple[str, ...]

    @property
    def applied(self) -> bool:
        return self.table.applied


@dataclass(frozen=True)
class Adoption:
    """What takes tables of others into the ledger of one tenant."""

    _store: Store
    _warehouse: Callable[[], str]
    _s3: S3Settings
    _right: Callable[..., AbstractContextManager[Fence]]
    _publisher: Publisher

    def register(
        self,
        name: str,
        *,
        parquet: str | None = None,
        delta: str | None = None,
        iceberg: str | None = None,
        run: ActiveRun | ActiveStep | None = None,
    ) -> Registered:
        """Make a table of the files that a folder of Parquet, a Delta table or (by its metadata file) an Iceberg table has now.

        Nothing is copied, and what was there before is never deleted. To register the same again changes nothing. Raises Invalid for what
        cannot be read without its own engine, and Conflict if the name or the place belongs to another table.
        """
        wanted = parse_name(name)
        kind, place = _one(parquet=parquet, delta=delta, iceberg=iceberg)
        # Where an Iceberg table is, its metadata says; in the other places there may be files of the ledger, too, by now.
        found = _LOOKS[kind](place, self._s3) if kind == "iceberg" else None
        if done := self._find(wanted, kind, found.location if found else place):
            return done
        self._check(wanted, found.location if found else place)
        found = found or _LOOKS[kind](place, self._s3)
        footers = read_footers(Storage(found.location, self._s3), found.files)
        columns = columns_of(found, footers)
        parts = partition_paths(found, columns, footers)
        change = _change(wanted, found, columns, footers, parts)
        with self._right(wanted, run) as fence:
            made = self._commit(change, fence)
        loose = (f"it is taken in without its partitions ({', '.join(found.partition_by)}): bounds find its files",)
        notes = (*found.notes, *columns.notes, *(loose if found.partition_by and not parts else ()))
        return Registered(made, found.kind, found.location, len(found.files), change.rows, sum(file.size for file in found.files), notes)

    def _find(self, name: TableName, kind: str, location: str) -> Registered | None:
        """The table as it was registered before, if it is this very one."""
        with self._store.read() as tx:
            table = store.find(tx, name)
            known = store.metadata(tx, table) if table else None
            if table is None or known is None or known.properties.get(ADOPTED) != kind or table.location != location:
                return None
            first = store.origin(tx, table)
        summary = first.summary
        made = Committed(table.placed(self._warehouse()), first, applied=False)
        files, rows, size = (int(summary.get(f"added_{word}", 0)) for word in ("files", "rows", "bytes"))
        return Registered(made, kind, location, files, rows, size, ("files that others added since are not taken in",))

    def _check(self, name: TableName, location: str) -> None:
        """Raise Conflict or Invalid if name or place are taken."""
        warehouse = self._warehouse()
        if _overlap(location, warehouse.rpartition("/")[0]):
            raise Invalid(f"{location} is in the ledger's own warehouse, or has it inside: move the files to a place of their own")
        with self._store.read() as tx:
            if table := store.find(tx, name):
                raise _taken(table)
            for other in store.list_page(tx):
                if _overlap(location, other.placed(warehouse).location):
                    raise Conflict(f"{location} is where {other.name} is: a file belongs to one table")

    def _commit(self, change: Change, fence: Fence) -> Committed:
        def work(changes: Sequence[Change], effects: Sequence[Effect]) -> Commit:
            def once(tx: Transaction, again: bool) -> Commit:
                table = store.find(tx, change.table)
                if table and (done := find_batch(tx, table, "append", change.batch_id)):
                    return Commit(run_store.get(tx, fence.run_id), fence, (Committed(table, done, applied=again),))
                if table:
                    raise _taken(table)
                return commit(tx, fence, changes, effects=effects)

            return self._store.persist(once)

        with self._store.read() as tx:
            mode = self._publisher.mode(tx, None)
        made = self._publisher.commit(work, [change], [], fence.run_id, mode)
        return made.tables[0].placed(self._warehouse())


def _one(**given: str | None) -> tuple[str, str]:
    """What is to be registered, and where it is. Raises Invalid."""
    named = [(kind, path) for kind, path in given.items() if path is not None]
    if len(named) != 1 or not named[0][1].strip():
        raise Invalid("say what to register: a folder of Parquet, a Delta table or the metadata of an Iceberg table, one of them")
    return named[0][0], whole(named[0][1])


def whole(path: str) -> str:
    """A location in its one spelling. Raises Invalid."""
    place = locations.normal(path.rstrip("/") or path)
    return place if locations.is_url(place) else os.path.abspath(os.path.expanduser(place))  # noqa: PTH100, PTH111 - links stay as they are


def _overlap(one: str, other: str) -> bool:
    """Whether one place is the other, or inside it."""
    return f"{one}/".startswith(f"{other}/") or f"{other}/".startswith(f"{one}/")


def _taken(table: Table) -> Conflict:
    return Conflict(f"there is a table {table.name} already, at {table.location}: choose another name")


def _change(name: TableName, found: Found, columns: Columns, footers: Sequence[Footer], parts: Sequence[str] | None) -> Change:
    files = [
        NewFile(file.path, file.size, footer.rows, part, footer.compression, footer.bounds, file.modified_at)
        for file, footer, part in zip(found.files, footers, parts or [""] * len(footers), strict=True)
        if footer.rows
    ]
    rows = sum(file.rows for file in files)
    return Change(
        table=name,
        location=found.location,
        operation="append",
        schema={"type": "struct", "fields": columns.fields},
        layout=Layout("parquet", found.partition_by if parts else ()),
        files=files,
        reads="all",
        base_version=0,
        batch_id=codec.digest(["register", found.kind, found.location, sorted((file.path, file.size) for file in found.files)]),
        counters=Counters(processed=rows, inserted=rows),
        summary={"registered_from": found.kind, **found.summary},
        beside=columns.beside,
        adopted=Adopted(found.kind, columns.used),
    )
