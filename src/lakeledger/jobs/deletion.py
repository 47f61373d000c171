"""A job deleted by a person: gone from its backend, noted as removed, and in the run log with the reason."""

from __future__ import annotations

from lakeledger.db import Store
from lakeledger.jobs import OWNER_TAG, Job, JobBackend, tracking
from lakeledger.runs import ActiveRun, NewRun, Worker, user_name
from lakeledger.sync.lost_steps import note_lost_step


def delete_job(store: Store, worker: Worker, backend: JobBackend, job: Job, reason: str | None, lease_seconds: float) -> str:
    """Delete it, while nobody applies the control table that it belongs to; the id of the run. Raises Conflict if somebody does."""
    with store.read() as tx:
        mark = tracking.find_by_id(tx, backend.name, job.job_id)
    control_table = (mark.owner if mark else "") or job.tags.get(OWNER_TAG, "")
    version = mark.control_version if mark else 0
    known = {"control_table": control_table, "control_table_id": mark.control_table if mark else None}
    about = {**known, "backend": backend.name, "version": version, "reason": reason}
    name = f"apply:{control_table.rstrip('/').rpartition('/')[2]}"  # as the run log knows what is done to its jobs
    new = NewRun(name, trigger_by=user_name(), run_kind="maintenance", parameters=about, exclusive=True)
    with ActiveRun(store, new, worker, lease_seconds, note_lost_step) as run:
        told = ["deleted by hand" + (f": {reason}" if reason else "")]
        with run.step(job.module_name or job.name, "job", action="remove", job_id=job.job_id, changes=told):
            backend.delete(job.job_id)
            with store.write() as tx:
                tracking.note_removed(tx, backend.name, job.job_id)
        return run.id
