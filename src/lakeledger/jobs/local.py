"""Jobs kept in the ledger: made and changed like those of any backend, carried out by `lakeledger scheduler`."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

from lakeledger import clock
from lakeledger.config import suggest
from lakeledger.db import Row, Store, Transaction
from lakeledger.db.pages import Page
from lakeledger.db.queries import load
from lakeledger.errors import Conflict, Invalid, NotFound
from lakeledger.jobs import OWNER_TAG, Check, Job, JobSpec, queue, refuse_second, schedule, triggers
from lakeledger.jobs.model import JobRun, LocalJob
from lakeledger.jobs.settings import merge
from lakeledger.jobs.waits import packed, unpacked
from lakeledger.runs import Outcome, cancelled
from lakeledger.runs import store as run_log

sql = load("lakeledger.jobs")

STARTERS = ("schedule", "trigger")
NUMBERS = ("max_concurrent_runs", "timeout_seconds", "max_retries", "min_retry_interval_millis")


@dataclass(frozen=True)
class LocalBackend:
    """The jobs of one tenant's ledger. `actor` is who changes them and asks for runs."""

    _store: Store
    _actor: str
    name: str = "local"

    def list(self) -> Sequence[Job]:
        """Every job with our tag."""
        with self._store.read() as tx:
            found = tx.all(sql.list_local)
        return [job for job in map(_job, found) if OWNER_TAG in job.tags]

    def find(self, job_id: str) -> Job | None:
        """The job as it is now, or None if somebody deleted it."""
        with self._store.read() as tx:
            row = tx.one(sql.find_local, job_id=job_id)
        return LocalJob(**row).job if row else None

    def create(self, spec: JobSpec, seen: Container[str] = ()) -> Job:
        """Keep a new job. Raises Invalid if its schedule or trigger cannot be read, and Conflict if its module has one of its name."""
        with self._store.write() as tx:
            columns = _columns(spec.settings, spec.module_name, tx.now)
            refuse_second(spec, [_job(row) for row in tx.all(sql.named_local, name=columns["name"])], seen)
            made = {"job_id": clock.new_id(), "settings": packed(spec.settings), "module": spec.module, "base": spec.base, "seen": {}}
            return LocalJob(**cast("Row", tx.one(sql.add_local, **made, **columns))).job

    def update(self, job_id: str, spec: JobSpec, remove: Sequence[str] = (), check: Check | None = None) -> Job:
        """Set these settings in place and remove those fields; what is not named stays as people set it. Raises NotFound or Invalid.

        `check` sees the job in the same transaction, and may refuse by raising.
        """
        with self._store.write() as tx:
            before = get_job(tx, job_id)
            if check:
                check(before.job)
            settings = packed(merge(before.job.settings, spec.settings, remove))
            return _put(tx, before, settings, spec.module or before.module, spec.base or before.base)

    def delete(self, job_id: str, check: Check | None = None) -> None:
        """Delete it with its queue; a run that is under way is cancelled. Nothing happens if it is not there. `check` is as in `update`."""
        how = cancelled("its job was deleted")
        with self._store.write() as tx:
            if row := tx.one(sql.find_local, job_id=job_id):
                if check:
                    check(LocalJob(**row).job)
                for run in queue.unfinished(tx, job_id):
                    _cancel(tx, run, how, self._actor)
                tx.execute(sql.remove_local, job_id=job_id)

    def run_now(self, job_id: str, parameters: Mapping[str, str] | None = None) -> str:
        """Queue a run, also of a paused job; the id of the run.

        Raises NotFound, or Invalid for a parameter that the job has not, and for a job whose module is switched off.
        """
        with self._store.write() as tx:
            job = get_job(tx, job_id)
            if job.is_switched_off:
                raise Invalid(
                    f"job {job.name} is switched off: no source of its module is active, and a run would do nothing; "
                    f"`lakeledger control activate {job.pipeline_id}` and `lakeledger apply --yes` switch it on"
                )
            known = list(job.parameters({}))
            if unknown := [name for name in parameters or {} if name not in known]:
                has = f"it has {', '.join(known)}" if known else "it has none"
                raise Invalid(f"job {job.name} has no parameter {unknown[0]!r}: {has}{suggest(unknown[0], known)}")
            return cast("JobRun", queue.add(tx, job_id, "asked", tx.now, self._actor, parameters)).id

    def pause(self, job_id: str) -> Job:
        """Let nothing start it by itself. Raises NotFound, or Invalid if nothing does."""
        return self._set_pause(job_id, "PAUSED")

    def resume(self, job_id: str) -> Job:
        """Let its schedule or trigger start it again, from now on: what was due in between is not made up for. Raises as `pause`."""
        return self._set_pause(job_id, "UNPAUSED")

    def cancel(self, id: str, reason: str | None = None) -> JobRun:
        """End a run that waits or is under way; its worker is refused at its next commit. Raises NotFound, or Conflict if it has ended."""
        how = cancelled(reason or f"cancelled by {self._actor}")
        with self._store.write() as tx:
            run = queue.get(tx, id)
            ended = _cancel(tx, run, how, self._actor)
        if ended is None:
            raise Conflict(f"run {run.id} has already ended: {run.status}")
        return ended

    def run(self, id: str) -> JobRun:
        """A run, waiting, under way or ended. Raises NotFound."""
        with self._store.read() as tx:
            return queue.get(tx, id)

    def runs(self, job_id: str | None = None, limit: int | None = 50, after: str | None = None) -> Page[JobRun]:
        """The runs of a job, or of all, newest first, a page at a time."""
        with self._store.read() as tx:
            return queue.history(tx, job_id, limit, after)

    def get(self, job_id: str) -> LocalJob:
        """All that is kept of a job. Raises NotFound."""
        with self._store.read() as tx:
            return get_job(tx, job_id)

    def _set_pause(self, job_id: str, status: str) -> Job:
        with self._store.write() as tx:
            job = get_job(tx, job_id)
            parts = {name: {**job.settings[name], "pause_status": status} for name in STARTERS if job.settings.get(name)}
            if not parts:
                raise Invalid(f"nothing starts job {job.name} by itself: it has neither a schedule nor a trigger")
            return _put(tx, job, {**job.settings, **parts}, job.module, job.base)


def get_job(tx: Transaction, job_id: str) -> LocalJob:
    """The job with that id. Raises NotFound."""
    row = tx.one(sql.find_local, job_id=job_id)
    if row is None:
        raise NotFound(f"no local job {job_id!r}: `lakeledger jobs list` shows them")
    return LocalJob(**row)


def _job(row: Row) -> Job:
    return Job(row["job_id"], unpacked(row["settings"]), row["base"])


def _put(tx: Transaction, before: LocalJob, settings: dict[str, Any], module: dict[str, Any], base: str) -> Job:
    columns = _columns(settings, before.name, tx.now)
    if settings.get("schedule") == before.settings.get("schedule"):
        columns["next_run_at"] = before.next_run_at  # A time that has come and was not seen yet is still due.
    row = tx.one(sql.update_local, job_id=before.job_id, settings=settings, module=module, base=base, **columns)
    return LocalJob(**cast("Row", row)).job


def _columns(settings: Mapping[str, Any], name: str, now: datetime) -> dict[str, Any]:
    """What follows from the settings. Raises Invalid."""
    timing, trigger = settings.get("schedule"), settings.get("trigger")
    for number in NUMBERS:
        if not isinstance(value := settings.get(number) or 0, int | float) or value < 0:
            raise Invalid(f"{number} of job {settings.get('name') or name} must be a number from 0, not {value!r}")
    if timing:
        schedule.check(timing)
    if trigger:
        triggers.check(trigger)
    job = Job("", dict(settings))
    return {
        "name": job.name or name,
        "paused": job.is_paused,
        "next_run_at": schedule.next_time(timing, now) if timing else None,
        "watches": bool(trigger and trigger.get("pause_status") != "PAUSED"),
    }


def _cancel(tx: Transaction, run: JobRun, how: Outcome, actor: str) -> JobRun | None:
    """End a run in the queue and in the run log. None if it has ended already."""
    found = queue.ledger_run(tx, get_job(tx, run.job_id), run)
    ended = queue.cancel(tx, run.id, how.reason or "", found.id if found else None)
    if ended and found and found.is_open:
        run_log.finish(tx, found.id, how, actor, from_outside=True)
    return ended
