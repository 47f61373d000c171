"""Starts local jobs when they are due, as many schedulers as there may be, each run once.

What was due while no scheduler ran is made up for by one run, under the first due time that was missed. A run that is due while
`max_concurrent_runs` of its job are open is skipped, and noted as skipped, unless the job's `queue` is enabled; one that somebody asked
for waits, and a trigger does not look until there is room. A run whose worker was lost ends by what it committed, or is started again: as
often as its job's `max_retries` says, and at least once. So is one that a scheduler had to stop because it was told to end. One that is
set up wrong or took too long is not tried again. Whoever was taken over can end nothing any more: its claim has another token.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, cast

from lakeledger.background import Failures
from lakeledger.config import S3Settings
from lakeledger.db import Store, Transaction
from lakeledger.errors import Conflict, LakeledgerError
from lakeledger.jobs import adherence, queue, schedule, takeover, triggers
from lakeledger.jobs.local import get_job, sql
from lakeledger.jobs.model import CONFIGURATION_ERRORS, ENDINGS, JobRun, LocalJob
from lakeledger.jobs.triggers import Fired, TableVersion
from lakeledger.lake import Storage
from lakeledger.lake.storage import AS_AWS
from lakeledger.locations import is_url
from lakeledger.runs import Status, Worker, describe, failed
from lakeledger.runs import store as run_log
from lakeledger.runs.model import storable

LEASE_SECONDS = 60.0
PARALLEL_RUNS = 8
# How soon a look follows another at the earliest, however much is committed, and at the latest: while runs are under way, and else.
BREATH_SECONDS = 0.1
POLL_SECONDS = 1.0
LOOK_SECONDS = 10.0
# How long a run that found its module busy waits before it tries again.
BUSY_SECONDS = 5.0
GRACE_SECONDS = 30.0
# How often it is looked whether a clock that was wrong has put jobs off.
CHECK_EVERY = timedelta(minutes=5)
KEPT = timedelta(days=30)
TIDY_EVERY = timedelta(hours=1)

BY_ITSELF = "scheduler"

_FULL = "as many runs of the job as max_concurrent_runs allows were waiting or under way"


@dataclass(frozen=True)
class Due:
    """A run that is to be carried out now: its job, its parameters, and by which key the run log is to know it.

    `stop` is set when it must end; `cut_short` as well, if only because its scheduler ends.
    """

    job: LocalJob
    run: JobRun
    stop: threading.Event = field(default_factory=threading.Event, compare=False)
    cut_short: threading.Event = field(default_factory=threading.Event, compare=False)

    @property
    def key(self) -> str:
        """The idempotency key of its run in the run log: by it the run is found again if this worker is lost."""
        return self.run.key

    @property
    def parameters(self) -> dict[str, str]:
        return self.job.parameters(self.run.parameters)

    @property
    def is_exclusive(self) -> bool:
        """Whether no other run of the module may be under way."""
        return self.job.max_concurrent_runs == 1


@dataclass(frozen=True)
class Outcome:
    """How a run went: its id in the run log, how it ended there, why (without secrets), and whether another try may help."""

    run_id: str | None
    status: Status
    reason: str | None = None
    retryable: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "reason", storable(self.reason) if self.reason else None)


Execute = Callable[[Due], Outcome]
Versions = Callable[[Sequence[str]], Mapping[str, TableVersion]]


class Scheduler:
    """One process that carries out local jobs. `versions` tells where tables stand, `tell` hears what it waits for at its end.

    What goes wrong with a job, or with the scheduler itself, is reported to `failures`.

    The time is the store's, which is the same for all schedulers, unless `now` tells another.
    """

    def __init__(
        self,
        store: Store,
        worker: Worker,
        execute: Execute,
        *,
        versions: Versions = lambda _: {},
        tell: Callable[[str], None] = lambda _: None,
        failures: Failures | None = None,
        now: Callable[[], datetime] | None = None,
        lease_seconds: float = LEASE_SECONDS,
        parallel: int = PARALLEL_RUNS,
        look_seconds: float = LOOK_SECONDS,
        s3: S3Settings = AS_AWS,
    ) -> None:
        self._store = store
        self._worker = worker
        self._execute = execute
        self._versions = versions
        self._tell = tell
        self._failures = failures or Failures("scheduler")
        self._now = now or self._store_time
        self._lease_seconds = lease_seconds
        self._s3 = s3
        self._parallel = parallel
        self._look_every = timedelta(seconds=look_seconds)
        self._lock = threading.Lock()
        self._mine: dict[str, tuple[Due, threading.Thread]] = {}
        self._schedules: dict[str, tuple[str, Exception] | None] = {}
        self._looked_at: datetime | None = None
        self._checked_at: datetime | None = None
        self._renewed_at: datetime | None = None
        self._tidied_at: datetime | None = None

    def tick(self, now: datetime | None = None) -> list[Due]:
        """Do all that is to be done at that time; the runs that were started. Safe at any rate, and in several processes at once."""
        at = now or self._now()
        self._settle_lost(at)
        self._watch_mine(at)
        self._bring_forward(at)
        self._queue_due(at)
        self._report_schedules()
        self._look(at)
        return self._start(at)

    def run(self, stop: threading.Event, grace_seconds: float = GRACE_SECONDS) -> None:
        """Start what is due until told to stop; then let what is under way end, and after the grace stop that, too."""
        seen: str | None = None
        while not stop.is_set():
            try:
                seen = self._store.database.mark()
                self.tick()
                self._tidy()
                pause = self._pause()
                self._failures.clear("")
            except Exception as error:  # noqa: BLE001 - the outermost loop: whatever it is, it may be over at the next look
                self._failures.report("", f"the scheduler could not work: {_told(error)}", error)
                pause = POLL_SECONDS
            if not stop.wait(min(pause, BREATH_SECONDS)):
                self._store.rest(pause, seen, stop)
        if left := [due.job.name for due, _ in self._under_way()]:
            self._tell(f"waiting up to {grace_seconds:g} s for what is under way: {', '.join(left)}; told again, it does not wait")
        self.drain(grace_seconds)
        for due, _ in self._under_way():
            due.cut_short.set()
            due.stop.set()
        self.drain(grace_seconds)

    def drain(self, seconds: float) -> bool:
        """Wait until nothing of this scheduler is under way; False if something still is."""
        ends = time.monotonic() + seconds
        while (left := self._under_way()) and (wait := ends - time.monotonic()) > 0:
            left[0][1].join(min(wait, POLL_SECONDS))
            try:
                self._watch_mine(self._now())
            except LakeledgerError as error:  # What cannot be held on to now, others will settle.
                self._failures.report("", f"the scheduler could not renew its claims: {error}", error)
        return not self._under_way()

    def _store_time(self) -> datetime:
        with self._store.read() as tx:
            return tx.now

    def _settle_lost(self, at: datetime) -> None:
        """End the runs of lost schedulers by what they committed, or let them be started again."""
        with self._store.read() as tx:
            if not any(self._is_lost(tx, run) for run in queue.running(tx)) and not run_log.is_any_silent(tx):
                return
        with self._store.write() as tx:
            run_log.suspect(tx)
            for run in queue.running(tx):
                if self._is_lost(tx, run):
                    takeover.settle(tx, run, self._worker, at)

    def _is_lost(self, tx: Transaction, run: JobRun) -> bool:
        with self._lock:
            mine = self._mine.get(run.id)
        return not (mine and mine[0].run.claim_token == run.claim_token) and takeover.is_lost(tx, run, self._worker)

    def _watch_mine(self, at: datetime) -> None:
        """Stop what was cancelled, taken over or took too long, and hold on to the rest."""
        mine = [due for due, _ in self._under_way()]
        if not mine:
            return
        with self._store.read() as tx:
            held = {(run.id, run.claim_token) for run in queue.running(tx)}
        late = []
        for due in mine:
            if (due.run.id, due.run.claim_token) not in held:
                self._let_go(due)
            elif due.job.timeout and due.run.started_at and at - due.run.started_at >= due.job.timeout:
                late.append(due)
        if late or not _was_just_done(self._renewed_at, at, timedelta(seconds=self._lease_seconds / 3)):
            self._renewed_at = at
            with self._store.write() as tx:
                for due in late:
                    self._time_out(tx, due, at)
                for due in mine:
                    queue.renew(tx, due.run, self._lease_seconds)
        for due in late:
            self._let_go(due)

    def _time_out(self, tx: Transaction, due: Due, at: datetime) -> None:
        reason = f"timed out after {due.job.settings['timeout_seconds']} s"
        found = queue.ledger_run(tx, due.job, due.run)
        ended = queue.finish(tx, due.run, "failed", at, reason, found.id if found else None)
        if ended and found and found.is_open:
            run_log.finish(tx, found.id, failed(reason), self._worker.name, from_outside=True)

    def _let_go(self, due: Due) -> None:
        """It has ended, whatever its thread does: the ledger refuses what it would still commit."""
        due.stop.set()
        self._forget(due)

    def _forget(self, due: Due) -> None:
        """Unless it was claimed anew meanwhile."""
        with self._lock:
            if (mine := self._mine.get(due.run.id)) and mine[0] is due:
                del self._mine[due.run.id]

    def _under_way(self) -> list[tuple[Due, threading.Thread]]:
        with self._lock:
            return list(self._mine.values())

    def _bring_forward(self, at: datetime) -> None:
        """Let no job wait longer than its schedule says, because a clock that was ahead once said when it is due."""
        if _was_just_done(self._checked_at, at, CHECK_EVERY):
            return
        self._checked_at = at
        with self._store.read() as tx:
            if not self._put_off(tx, at):
                return
        with self._store.write() as tx:
            for job in self._put_off(tx, at):
                tx.execute(sql.set_next_run, job_id=job.job_id, next_run_at=self._next_time(job, at))

    def _put_off(self, tx: Transaction, at: datetime) -> list[LocalJob]:
        """The jobs that are due before the time for which they wait."""
        waiting = [LocalJob(**row) for row in tx.all(sql.waiting_jobs, at=at)]
        return [job for job in waiting if (due := self._next_time(job, at)) and due < cast("datetime", job.next_run_at)]

    def _queue_due(self, at: datetime) -> None:
        with self._store.read() as tx:
            if not tx.all(sql.due_jobs, at=at):
                return
        with self._store.write() as tx:
            counts = queue.count_open(tx)
            for job in [LocalJob(**row) for row in tx.all(sql.due_jobs, at=at)]:
                due, full = cast("datetime", job.next_run_at), _is_full(job, counts) and not job.queues
                missed = f"first of the times missed since {due:%Y-%m-%d %H:%M:%S} UTC" if self._was_late(job, due, at) else None
                queue.add(tx, job.job_id, "schedule", due, BY_ITSELF, reason=_FULL if full else missed, skipped=full)
                if missed:
                    adherence.note_missed(tx, job, adherence.times_between(job, due, at), due)
                tx.execute(sql.set_next_run, job_id=job.job_id, next_run_at=self._next_time(job, at))

    def _was_late(self, job: LocalJob, due: datetime, at: datetime) -> bool:
        following = self._next_time(job, due)
        return following is not None and following <= at

    def _next_time(self, job: LocalJob, after: datetime) -> datetime | None:
        self._schedules[job.job_id] = None
        try:
            return schedule.next_time(job.settings.get("schedule") or {}, after)
        except Exception as error:  # noqa: BLE001 - somebody wrote it past every check: it must not stop the other jobs
            self._schedules[job.job_id] = f"job {job.name} is no longer started: {_told(error)}", error
            return None

    def _report_schedules(self) -> None:
        """What was found while the store was being written, and could not be reported then."""
        found, self._schedules = self._schedules, {}
        for job_id, wrong in found.items():
            subject = f"schedule of {job_id}"
            if wrong:
                self._failures.report(subject, *wrong)
            else:
                self._failures.clear(subject)

    def _look(self, at: datetime) -> None:
        """See whether what triggers wait for has come."""
        if _was_just_done(self._looked_at, at, self._look_every):
            return
        self._looked_at = at
        self._settle_what_is_gone()
        with self._store.read() as tx:
            jobs = [LocalJob(**row) for row in tx.all(sql.watching_jobs)]
            counts = queue.count_open(tx)
        for job in jobs:
            if not _is_full(job, counts) and (fired := self._look_for(job, at)):
                with self._store.write() as tx:
                    now_kept = tx.one(sql.find_local, job_id=job.job_id)
                    if now_kept and LocalJob(**now_kept) == job and not _is_full(job, queue.count_open(tx)):
                        tx.execute(sql.set_seen, job_id=job.job_id, seen=fired.seen)
                        queue.add(tx, job.job_id, fired.cause, at, BY_ITSELF, reason=fired.reason)

    def _settle_what_is_gone(self) -> None:
        """What failed at a job that was deleted, or at a trigger that nobody looks at any more, is over."""
        failing = [(subject, *subject.partition(" of ")[::2]) for subject in self._failures.subjects if subject]
        if not failing:
            return
        with self._store.read() as tx:
            jobs = {job_id: tx.one(sql.find_local, job_id=job_id) for _, _, job_id in failing}
        for subject, what, job_id in failing:
            if (job := jobs[job_id]) is None:
                self._failures.clear(subject, "the job was deleted")
            elif what == "trigger" and not job["watches"]:
                self._failures.clear(subject, "its trigger is paused or gone")

    def _look_for(self, job: LocalJob, at: datetime) -> Fired | None:
        trigger: dict[str, Any] = job.settings.get("trigger") or {}
        subject = f"trigger of {job.job_id}"
        try:
            if files := trigger.get("file_arrival"):
                found = triggers.files_arrived(files, job.seen, _storage(files["url"], job.base, self._s3).files(), at)
            else:
                tables = trigger["table_update"]
                found = triggers.tables_moved(tables, job.seen, self._versions(tables["table_names"]), at)
        except Exception as error:  # noqa: BLE001 - one place that cannot be looked at must not stop the other jobs
            self._failures.report(subject, f"job {job.name} cannot look whether it is due: {_told(error)}", error)
            return None
        self._failures.clear(subject)
        return found

    def _start(self, at: datetime) -> list[Due]:
        with self._store.read() as tx:
            if not queue.queued(tx, at):
                return []
        started: list[Due] = []
        with self._store.write() as tx:
            counts = queue.count_open(tx)
            for run in queue.queued(tx, at):
                job = get_job(tx, run.job_id)
                under_way = counts.get((job.job_id, "running"), 0)
                if len(self._mine) + len(started) >= self._parallel or under_way >= job.max_concurrent_runs:
                    continue
                if claimed := queue.claim(tx, run, self._worker, at, self._lease_seconds):
                    counts[job.job_id, "running"] = under_way + 1
                    started.append(Due(job, claimed))
        for due in started:
            thread = threading.Thread(target=self._carry_out, args=(due,), name=f"job-{due.run.id[-6:]}", daemon=True)
            with self._lock:
                self._mine[due.run.id] = due, thread
            thread.start()
        return started

    def _carry_out(self, due: Due) -> None:
        try:
            outcome = self._execute(due)
        except Conflict as error:
            outcome = Outcome(None, Status.SKIPPED if error.retryable else Status.FAILED, str(error))
        except BaseException as error:  # noqa: BLE001 - the outermost loop of a run: whatever it raised, its end is written down
            outcome = Outcome(None, Status.FAILED, _told(error), not isinstance(error, CONFIGURATION_ERRORS))
        try:
            self._store.persist(lambda tx, _: self._end(tx, due, outcome))
        except LakeledgerError as error:
            self._failures.report("", f"the end of run {due.run.id} of {due.job.name} could not be written: {error}", error)
        self._forget(due)

    def _end(self, tx: Transaction, due: Due, outcome: Outcome) -> None:
        at, run, reason = self._now(), due.run, outcome.reason or ""
        if outcome.status == Status.SKIPPED and outcome.retryable and (run.waits or due.job.queues):
            queue.again(tx, run, at + timedelta(seconds=BUSY_SECONDS), reason)
        elif outcome.status in (Status.FAILED, Status.CANCELLED) and due.cut_short.is_set():
            queue.lose(tx, due.job, run, at, f"{self._worker.name} was told to end; {reason}", outcome.run_id)
        else:
            queue.end(tx, due.job, run, ENDINGS[outcome.status], at, outcome.reason, outcome.run_id, retryable=outcome.retryable)

    def _pause(self) -> float:
        """Until the next due time, or until it has to look at what nobody commits: time limits, silent workers, files that arrive."""
        at = self._now()
        longest = POLL_SECONDS if self._under_way() else max(POLL_SECONDS, min(self._look_every.total_seconds(), self._lease_seconds / 3))
        with self._store.read() as tx:
            rows = [tx.one(query, at=at) for query in (sql.next_due_job, sql.next_due_run)]
        waits: list[float] = [(row["at"] - at).total_seconds() for row in rows if row]
        return min([longest, *waits])

    def _tidy(self) -> None:
        at = self._now()
        if not _was_just_done(self._tidied_at, at, TIDY_EVERY):
            self._tidied_at = at
            with self._store.write() as tx:
                queue.forget(tx, at - KEPT)


def _was_just_done(last: datetime | None, at: datetime, pause: timedelta) -> bool:
    """Whether it was done so lately that it need not be done again; a clock that was put back is no reason to wait for it."""
    return last is not None and timedelta(0) <= at - last < pause


def _is_full(job: LocalJob, counts: Mapping[tuple[str, str], int]) -> bool:
    return counts.get((job.job_id, "queued"), 0) + counts.get((job.job_id, "running"), 0) >= job.max_concurrent_runs


def _told(error: BaseException) -> str:
    return str(error) if isinstance(error, LakeledgerError) else describe(error)


def _storage(url: str, base: str, s3: S3Settings) -> Storage:
    """A folder, which may be given relative to the module's document."""
    return Storage(url if is_url(url) else str(Path(base) / Path(url).expanduser()), s3)
