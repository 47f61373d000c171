"""Which job each module has, on which backend, and as what we last applied it: `{control_table}_jobs`, kept in the ledger."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

from lakeledger import clock, codec
from lakeledger.db import Row, Transaction
from lakeledger.db.queries import load
from lakeledger.errors import Invalid
from lakeledger.jobs import OWNER_TAG
from lakeledger.jobs.waits import packed, unpacked

sql = load("lakeledger.jobs")

STATES = ("active", "paused", "removed")


@dataclass(frozen=True)
class TrackedJob:
    """A row of `jobs`: the job of a module and what we last made of it, from rows with that hash. The timestamps keep the seed's names.

    `control_table` is the identity of the control table, which stays when it moves.
    """

    id: str
    tenant_id: str
    control_table: str
    module_name: str
    backend: str
    job_id: str
    job_name: str
    settings: dict[str, Any]
    settings_hash: str
    control_version: int
    state: str
    rows_hash: str | None
    created_timestamp: datetime
    updated_timestamp: datetime

    @property
    def owner(self) -> str:
        """The control table as people know it: the tag that we gave the job."""
        return str((self.settings.get("tags") or {}).get(OWNER_TAG, ""))


def put(
    tx: Transaction,
    control_table: str,
    module_name: str,
    backend: str,
    *,
    job_id: str,
    settings: Mapping[str, Any],
    control_version: int,
    state: str = "active",
    rows_hash: str | None = None,
) -> TrackedJob:
    """Note what a module's job is now, instead of what was noted before. Raises Invalid."""
    if state not in STATES:
        raise Invalid(f"the state of a job is one of {', '.join(STATES)}, not {state!r}")
    kept = packed(settings)
    row = tx.one(
        sql.put_job,
        id=clock.new_id(),
        control_table=control_table,
        module_name=module_name,
        backend=backend,
        job_id=job_id,
        job_name=str(settings.get("name") or module_name),
        settings=kept,
        settings_hash=codec.digest(kept),
        control_version=control_version,
        state=state,
        rows_hash=rows_hash,
    )
    return _read(cast("Row", row))


def find(tx: Transaction, control_table: str, module_name: str, backend: str) -> TrackedJob | None:
    """What is noted of a module's job, or None."""
    row = tx.one(sql.find_job, control_table=control_table, module_name=module_name, backend=backend)
    return _read(row) if row else None


def list_all(tx: Transaction, control_table: str | None = None, backend: str | None = None) -> list[TrackedJob]:
    """Every noted job, of one control table or of all, by module."""
    return [_read(row) for row in tx.all(sql.list_jobs, control_table=control_table, backend=backend)]


def find_by_id(tx: Transaction, backend: str, job_id: str) -> TrackedJob | None:
    """What is noted of the job with that id, or None."""
    row = tx.one(sql.find_job_by_id, backend=backend, job_id=job_id)
    return _read(row) if row else None


def states(tx: Transaction, backend: str) -> dict[str, str]:
    """The state of every job that was not removed, by its id: `paused` is one whose module is switched off or gone."""
    return {row["job_id"]: row["state"] for row in tx.all(sql.job_states, backend=backend)}


def note_removed(tx: Transaction, backend: str, job_id: str) -> None:
    """Note that a job was deleted: a module that still wants one gets a new one."""
    tx.execute(sql.note_removed, backend=backend, job_id=job_id)


def disown(tx: Transaction, backend: str, job_id: str) -> None:
    """Forget for whom a job was noted: it becomes somebody else's."""
    tx.execute(sql.disown_job, backend=backend, job_id=job_id)


def note_rows(tx: Transaction, control_table: str, module_name: str, backend: str, rows_hash: str) -> None:
    """Note that other rows come to the same job: the next plan then knows them."""
    tx.execute(sql.note_rows, control_table=control_table, module_name=module_name, backend=backend, rows_hash=rows_hash)


def remove(tx: Transaction, control_table: str, module_name: str, backend: str) -> bool:
    """Forget a module's job. False if nothing was noted."""
    return tx.execute(sql.remove_job, control_table=control_table, module_name=module_name, backend=backend) == 1


def _read(row: Row) -> TrackedJob:
    return TrackedJob(**{**row, "settings": unpacked(row["settings"])})
