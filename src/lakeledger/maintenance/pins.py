"""Open readers: a version that somebody reads is pinned, and does not expire while the reader lives."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime, timedelta
from types import TracebackType

from lakeledger import clock
from lakeledger.background import Failures
from lakeledger.db import Store, Transaction
from lakeledger.errors import LakeledgerError
from lakeledger.maintenance.model import PinRow
from lakeledger.maintenance.policies import sql
from lakeledger.names import TableName
from lakeledger.runs import Worker
from lakeledger.runs.heartbeats import BEATS, HASTY_BEATS
from lakeledger.runs.worker import is_gone
from lakeledger.tables import Table, View, store

# A pin outlasts its lease by another one: the ledger may be away when it should be renewed.
LEASES = 2


class Pin:
    """A pinned version, to be used in a `with` block, which gives its view. A background heartbeat renews it until the block ends."""

    def __init__(
        self,
        handle: Store,
        worker: Worker,
        lease_seconds: float,
        failures: Failures,
        name: TableName,
        version: int | str | None,
        at: datetime | None,
    ) -> None:
        self._store = handle
        self._worker = worker
        self._lease_seconds = lease_seconds
        self._failures = failures
        self._chosen = name, version, at
        self._id = clock.new_id()
        self._ended = threading.Event()

    def __enter__(self) -> View:
        with self._store.write() as tx:
            view = store.view(tx, *self._chosen)
            owner = {"held_by": self._worker.name, "instance_id": self._worker.instance_id}
            tx.execute(
                sql.add_pin, pin_id=self._id, table_id=view.table.table_id, version=view.version, expires_at=self._until(tx), **owner
            )
        threading.Thread(target=self._keep_alive, name=f"pin-{self._id[-6:]}", daemon=True).start()
        return view

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._ended.set()
        with suppress(LakeledgerError), self._store.write() as tx:  # If the ledger is away, the pin ends by itself.
            tx.execute(sql.remove_pin, pin_id=self._id)

    def _until(self, tx: Transaction) -> datetime:
        return tx.now + timedelta(seconds=LEASES * self._lease_seconds)

    def _keep_alive(self) -> None:
        pause = self._lease_seconds / BEATS
        while not self._ended.wait(pause):
            pause = self._lease_seconds / BEATS
            try:
                with self._store.write() as tx:
                    tx.execute(sql.renew_pin, pin_id=self._id, expires_at=self._until(tx))
            except LakeledgerError as error:
                self._failures.report("pins", f"pins of versions could not be renewed: {error}", error)
                pause = self._lease_seconds / HASTY_BEATS
            else:
                self._failures.clear("pins")


def living(tx: Transaction, table: Table, worker: Worker) -> Iterable[PinRow]:
    """The pins of readers that may still live."""
    return [pin for pin in listed(tx, table) if not _is_over(tx, pin, worker)]


def listed(tx: Transaction, table: Table) -> list[PinRow]:
    """Every pin of a table."""
    return [PinRow(**row) for row in tx.all(sql.list_pins, table_id=table.table_id)]


def remove_dead(tx: Transaction, table: Table, worker: Worker) -> None:
    """Forget the pins of readers that are gone."""
    if dead := [pin.pin_id for pin in listed(tx, table) if _is_over(tx, pin, worker)]:
        tx.execute(sql.remove_pins, pins=dead)


def _is_over(tx: Transaction, pin: PinRow, worker: Worker) -> bool:
    return pin.expires_at <= tx.now or is_gone(worker, pin.held_by, pin.instance_id)
