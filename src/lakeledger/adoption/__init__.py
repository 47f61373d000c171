"""Tables that others have written, taken into the ledger where they are: their files stay, and version 1 of the table is made of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from lakeledger import codec, locations
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
from lakeledger.tables import Change, Committed, Layout, NewFile, store
from lakeledger.tables.change import find_batch
from lakeledger.tables.model import Adopted

__all__ = ["Adoption", "Registered"]


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
        found = self._look(parquet, delta, iceberg)
        batch_id = codec.digest(["register", found.kind, found.location, sorted((file.path, file.size) for file in found.files)])
        if done := self._check(wanted, found, batch_id):
            return self._registered(found, done, [], ())
        footers = read_footers(Storage(found.location, self._s3), found.files)
        columns = columns_of(found, footers)
        parts = partition_paths(found, columns, footers)
        change = _change(wanted, found, columns, footers, parts, batch_id)
        with self._right(wanted, run) as fence:
            made = self._commit(change, found, fence)
        notes = (f"it is taken in without its partitions ({', '.join(found.partition_by)}): bounds find its files",)
        return self._registered(found, made, footers, (*found.notes, *columns.notes, *(notes if found.partition_by and not parts else ())))

    def _look(self, parquet: str | None, delta: str | None, iceberg: str | None) -> Found:
        given = [each for each in (parquet, delta, iceberg) if each is not None]
        if len(given) != 1:
            raise Invalid("say what to register: a folder of Parquet, a Delta table or the metadata of an Iceberg table, one of them")
        if delta is not None:
            from lakeledger.adoption.delta import look

            return look(whole(delta), self._s3)
        if iceberg is not None:
            from lakeledger.adoption.iceberg import look as look_at_iceberg

            return look_at_iceberg(whole(iceberg), self._s3)
        from lakeledger.adoption.folder import look as look_at_folder

        return look_at_folder(whole(given[0]), self._s3)

    def _check(self, name: TableName, found: Found, batch_id: str) -> Committed | None:
        """What is there already, if it is this very table. Raises Conflict or Invalid if name or place are taken."""
        warehouse = self._warehouse()
        if _overlap(found.location, warehouse.rpartition("/")[0]):
            raise Invalid(f"{found.location} is in the ledger's own warehouse, or has it inside: move the files to a place of their own")
        with self._store.read() as tx:
            if table := store.find(tx, name):
                if done := find_batch(tx, table, "append", batch_id):
                    return Committed(table.placed(warehouse), done, applied=False)
                raise Conflict(_taken(name, table.location, found))
            for other in store.list_page(tx):
                if _overlap(found.location, other.placed(warehouse).location):
                    raise Conflict(f"{found.location} is where {other.name} is: a file belongs to one table")
        return None

    def _commit(self, change: Change, found: Found, fence: Fence) -> Committed:
        def work(changes: Sequence[Change], effects: Sequence[Effect]) -> Commit:
            def once(tx: Transaction, again: bool) -> Commit:
                table = store.find(tx, change.table)
                done = find_batch(tx, table, "append", change.batch_id) if table else None
                if table and done:
                    return Commit(run_store.get(tx, fence.run_id), fence, (Committed(table, done, applied=again),))
                if table:
                    raise Conflict(_taken(change.table, table.location, found))
                return commit(tx, fence, changes, effects=effects)

            return self._store.persist(once)

        with self._store.read() as tx:
            mode = self._publisher.mode(tx, None)
        made = self._publisher.commit(work, [change], [], fence.run_id, mode)
        return made.tables[0].placed(self._warehouse())

    def _registered(self, found: Found, made: Committed, footers: Sequence[Footer], notes: Sequence[str]) -> Registered:
        rows = sum(footer.rows for footer in footers) if footers else int(made.snapshot.summary.get("added_rows", 0))
        size = sum(file.size for file in found.files)
        return Registered(made, found.kind, found.location, len(found.files), rows, size, tuple(notes))


def whole(path: str) -> str:
    """A location in its one spelling. Raises Invalid."""
    place = locations.normal(path.rstrip("/") or path)
    return place if locations.is_url(place) else os.path.abspath(os.path.expanduser(place))  # noqa: PTH100, PTH111 - links stay as they are


def _overlap(one: str, other: str) -> bool:
    """Whether one place is the other, or inside it."""
    return f"{one}/".startswith(f"{other}/") or f"{other}/".startswith(f"{one}/")


def _taken(name: TableName, location: str, found: Found) -> str:
    if location == found.location:
        return (
            f"{name} was registered already, and {location} has other files now: what came since is not taken in; "
            f"append it, or register it under another name in another ledger"
        )
    return f"there is a table {name} already, at {location}: choose another name"


def _change(
    name: TableName, found: Found, columns: Columns, footers: Sequence[Footer], parts: Sequence[str] | None, batch_id: str
) -> Change:
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
        batch_id=batch_id,
        counters=Counters(processed=rows, inserted=rows),
        summary={"registered_from": found.kind, **found.summary},
        beside=columns.beside,
        adopted=Adopted(found.kind, columns.used),
    )
