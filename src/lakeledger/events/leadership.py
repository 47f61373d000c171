"""Which process delivers events: one at a time, and another one within seconds when it is gone.

Whoever leads writes nothing while nobody doubts it. Whoever would like to lead says from time to time that it doubts (`suspected_at`); the
leader, whom every commit wakes, takes that back, and only one that stays silent for the whole lease is taken over. A leader may deliver
for as long as its lease lasts from the moment when it last saw that it leads: until then nobody else can. One that is gone from the same
machine, or that has let go, is followed at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from lakeledger import failpoints
from lakeledger.db import Database, Transaction
from lakeledger.db.migrate import SYSTEM_TENANT
from lakeledger.db.queries import load
from lakeledger.errors import Fenced
from lakeledger.runs import Worker
from lakeledger.runs.worker import is_gone

sql = load("lakeledger.events")

# No tenant can be called so: whoever writes about the lease waits for the writers of none.
NO_TENANT = "_astha"


@dataclass(frozen=True)
class Lease:
    """Who leads, since when, and since when somebody doubts that it lives. Without a holder nobody leads."""

    id: int
    token: int
    holder: str | None
    instance_id: str | None
    lease_seconds: float
    taken_at: datetime
    suspected_at: datetime | None


def find(tx: Transaction) -> Lease | None:
    """The lease, or None before the first leader."""
    row = tx.one(sql.find_lease)
    return Lease(**row) if row else None


def check(tx: Transaction, token: int) -> None:
    """Raise Fenced unless that token's holder leads. Whoever takes over waits for every writer, so it holds for the whole transaction."""
    found = find(tx)
    if found is None or found.token != token or found.holder is None:
        raise Fenced("another process delivers the events now")


def is_free(tx: Transaction, found: Lease | None, worker: Worker) -> bool:
    """Whether nobody leads, or only somebody who is gone or has been silent for the whole lease."""
    if found is None or found.holder is None or is_gone(worker, found.holder, found.instance_id):
        return True
    return found.suspected_at is not None and tx.now - found.suspected_at >= timedelta(seconds=found.lease_seconds)


def take(database: Database, worker: Worker, seconds: float) -> Lease | None:
    """Lead, if the lease is free; None if it is not. It goes alone: no write of the leader before is under way then."""
    with database.transaction(SYSTEM_TENANT, write=True) as tx:
        found = find(tx)
        if not is_free(tx, found, worker):
            return None
        holder = {"holder": worker.name, "instance_id": worker.instance_id, "lease_seconds": seconds}
        row = tx.one(sql.take_lease, token=found.token, **holder) if found else tx.one(sql.add_lease, **holder)
        failpoints.reach(failpoints.IN_LEASE)
    failpoints.reach(failpoints.AFTER_LEASE)
    return Lease(**row) if row else None


def suspect(database: Database, found: Lease) -> None:
    """Ask whoever leads whether it lives."""
    with database.transaction(NO_TENANT, write=True) as tx:
        tx.execute(sql.suspect_lease, token=found.token)


def answer(database: Database, token: int) -> None:
    """Say that it does. Raises Fenced if that came too late."""
    with database.transaction(NO_TENANT, write=True) as tx:
        if tx.execute(sql.answer_lease, token=token) != 1:
            raise Fenced("another process delivers the events now")


def release(database: Database, token: int) -> None:
    """Let the next one lead at once."""
    with database.transaction(NO_TENANT, write=True) as tx:
        tx.execute(sql.release_lease, token=token)
