"""The control table carried out: what changed, what would happen to which job, and exactly that done."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lakeledger.control import changes, left_behind, rows
from lakeledger.control.fields import Side, shared
from lakeledger.control.left_behind import Project
from lakeledger.control.model import JobRow, Snapshot
from lakeledger.control.plan import Action, Plan, Tracked, Wish, plan_actions, remove_left_behind
from lakeledger.control.secrets import in_clear
from lakeledger.control.settings import GENERATION, HERE, Program, job_spec, refuse_saved_queries
from lakeledger.control.summary import words
from lakeledger.control.table import ControlTable, is_local_path, project_of, run_name
from lakeledger.db import Store
from lakeledger.errors import Conflict, Failed, Fenced, Invalid, LakeledgerError
from lakeledger.jobs import OWNER_TAG, Job, JobBackend, JobSpec, tracking
from lakeledger.jobs.settings import merge, normalise
from lakeledger.jobs.tracking import TrackedJob
from lakeledger.runs import ActiveRun, Fence, NewRun, Worker, user_name
from lakeledger.runs import store as run_log
from lakeledger.sync.lost_steps import note_lost_step

if TYPE_CHECKING:
    from lakeledger.control.documents import Module

NAMED = 5


@dataclass(frozen=True)
class Applied:
    """What became of one module's action."""

    action: Action
    job_id: str | None = None
    error: str | None = None

    @property
    def module_name(self) -> str:
        return self.action.module_name

    def to_dict(self) -> dict[str, Any]:
        """As scripts read it."""
        return {"module_name": self.module_name, "action": self.action.kind, "job_id": self.job_id, "error": self.error}


class Deployment:
    """One control table and the jobs that follow from it on one backend."""

    def __init__(
        self,
        store: Store,
        worker: Worker,
        table: ControlTable,
        backend: JobBackend,
        base: str = "",
        lease_seconds: float = 60.0,
        program: Program = HERE,
    ) -> None:
        self.table = table
        self.backend = backend
        self._store = store
        self._worker = worker
        self.base = base
        self._lease_seconds = lease_seconds
        self._program = program

    @property
    def owner(self) -> str:
        """The tag of its jobs. Where others have jobs, too, the name of the project's folder tells their control tables from this one."""
        project = project_of(self.table)
        return f"{project.name}/{self.table.place}" if project and self.backend.name != "local" else self.table.place

    def changes_since(self, version: int | None) -> changes.Changes:
        """What changed in the control table since that version of it; everything, if None."""
        before, after = (None, self.table.read()) if version is None else self.table.read_changed(version)
        return changes.between(before, after)

    def plan(self, *, prefer: Side | None = None, prune: bool = False, modules: Sequence[str] | None = None) -> Plan:
        """What would happen to which job. Nothing is changed."""
        snapshot = self.table.read()
        hashes = rows.hashes(snapshot, GENERATION, vars(self._program))
        with self._store.read() as tx:
            known = tracking.list_all(tx, None, self.backend.name)
        tracked = {job.module_name: job for job in known if job.control_table == self.table.identity}
        others = [job for job in known if job.control_table != self.table.identity and job.state != "removed"]
        ours = {job.job_id: job for job in self.backend.list()}
        left = self._project.left_behind(others, ours)
        inherited = {each.mark.job_id for each in left if each.is_replaced and self._project.owns_ledger}
        jobs, tagged, extra = self._jobs(tracked, ours, {job.job_id for job in others} - inherited)
        settled = {name: job for name, job in tracked.items() if _is_settled(job, jobs.get(job.job_id), hashes.get(name), self.base)}
        marks = {name: Tracked(job.job_id, job.settings, job.state) for name, job in tracked.items() if name not in settled}
        actions = plan_actions(self._wishes(snapshot, hashes, settled), marks, jobs, tagged, prefer=prefer, prune=prune)
        actions += [Action("unchanged", name, job.job_id, "nothing changed") for name, job in settled.items()]
        left = [each for each in left if each.mark.job_id not in inherited]
        actions += [remove_left_behind(each) for each in left if prune and not each.is_replaced]
        chosen = [action for action in actions if modules is None or action.module_name in modules]
        chosen.sort(key=lambda action: (action.module_name, action.control_table))
        warnings = [*self._warnings(chosen, snapshot), *left_behind.warnings(left, prune=prune), *_extra_words(extra)]
        at = (snapshot.version, snapshot.modules_version)
        return Plan(self.table.location, self.backend.name, *at, tuple(chosen), tuple(warnings), frozenset(ours))

    def bring(self, *, prefer: Side | None = None, prune: bool = False) -> list[Applied]:
        """Plan and apply. A module that was changed here and by hand waits for a decision: it is told, and stops no other."""
        plan = self.plan(prefer=prefer, prune=prune)
        waiting = {action.module_name: Applied(action, action.job_id, _undecided(action, plan.backend)) for action in plan.conflicts}
        rest = replace(plan, actions=tuple(action for action in plan.actions if action.module_name not in waiting))
        if any(action.does_something for action in rest.actions):
            done = self.apply(rest, prefer=prefer, prune=prune, modules=[action.module_name for action in rest.actions])
        else:
            done = self._leave(rest)
        return sorted([*done, *waiting.values()], key=lambda each: each.module_name)

    def apply(
        self,
        plan: Plan,
        *,
        prefer: Side | None = None,
        prune: bool = False,
        modules: Sequence[str] | None = None,
        progress: Callable[[Applied], None] = lambda _: None,
    ) -> list[Applied]:
        """Do exactly that plan, as one run of the run log if there is anything to do.

        One module that fails does not stop the others; what was done for each is noted at once. Raises Conflict if the plan is stale,
        somebody else is applying, or a conflict in it is not settled, and Fenced if somebody took over: then nothing more is done.
        """
        if not any(action.does_something for action in plan.actions):
            now = self.plan(prefer=prefer, prune=prune, modules=modules)
            _check_current(plan, now)
            return self._leave(now)
        with ActiveRun(self._store, self._new_run(plan), self._worker, self._lease_seconds, note_lost_step) as run:
            now = self.plan(prefer=prefer, prune=prune, modules=modules)
            _check_current(plan, now)
            done = []
            for action in now.actions:
                done.append(self._apply(run, action, now) if action.does_something else _left_alone(action))
                if action.does_something or action.kind == "blocked":
                    progress(done[-1])
            self._note_rows(now, run.fence)
            self._publish()
            if failures := [each for each in done if each.error and each.action.kind != "blocked"]:
                run.fail("; ".join(f"{each.module_name}: {each.error}" for each in failures))
        return done

    def jobs(self) -> list[JobRow]:
        """The job of each module, as it was last applied."""
        with self._store.read() as tx:
            return job_rows(tracking.list_all(tx, self.table.identity, self.backend.name))

    def _leave(self, plan: Plan) -> list[Applied]:
        """What is left of a plan in which nothing is to be done."""
        self._note_rows(plan)
        self._publish()
        return [_left_alone(action) for action in plan.actions]

    def _publish(self) -> None:
        """Let the jobs table say what was done, for whoever asks with SQL."""
        try:
            self.table.put_jobs(self.backend.name, self.jobs())
        except LakeledgerError as error:
            raise Failed(f"the jobs are as planned, but {self.table.name}_jobs does not say so: {error}") from error

    def _new_run(self, plan: Plan) -> NewRun:
        control_table = {"control_table": self.table.place, "control_table_id": self.table.identity}
        about = {**control_table, "backend": self.backend.name, "version": plan.version, "digest": plan.digest}
        return NewRun(run_name(self.table), trigger_by=user_name(), run_kind="maintenance", parameters=about, exclusive=True)

    def _wishes(self, snapshot: Snapshot, hashes: Mapping[str, str], settled: Container[str]) -> list[Wish]:
        """What each module wants, except those that are settled."""
        found = rows.modules_of(replace(snapshot, sources={key: row for key, row in snapshot.sources.items() if key[0] not in settled}))
        wishes = [Wish(name, problems=tuple(str(problem) for problem in problems)) for name, problems in found.bad.items()]
        for name, module in found.good.items():
            try:
                self._refuse_notifications(module)
                if self.backend.name == "local":
                    refuse_saved_queries(module)
                spec = job_spec(module, self.table.place, self.base, self._program, self.owner)
            except Invalid as error:
                wishes.append(Wish(name, problems=(str(error),)))
            else:
                wishes.append(Wish(name, replace(spec, rows_hash=hashes.get(name)), module.is_active))
        return wishes

    def _refuse_notifications(self, module: Module) -> None:
        """Whoever asks to be notified relies on it: what this backend cannot send is not accepted. Raises Invalid."""
        wanted = module.notifications.model_dump(exclude_defaults=True) if module.notifications and module.is_active else {}
        if self.backend.name == "local" and wanted:
            names = ", ".join(f"notifications.{name}" for name in wanted)
            raise Invalid(
                f"{module.module_name}: {names}: the local backend sends no e-mail; take notifications out of the module "
                f"(`lakeledger control set {module.module_name} notifications=`), or deploy to Databricks (control.backend)"
            )

    def _warnings(self, actions: Iterable[Action], snapshot: Snapshot) -> Iterator[str]:
        """What is not wrong but worth a look, of the modules for which something is to be done."""
        changed = {action.module_name: action.spec for action in actions if action.does_something and action.spec}
        yield from in_clear([row for (name, _), row in snapshot.sources.items() if name in changed])
        yield from in_clear([row for name, row in snapshot.modules.items() if name in changed])
        ours = (spec.settings for spec in changed.values())
        if self.backend.name != "local" and is_local_path(self.table.location) and any("environments" in settings for settings in ours):
            yield (
                f"{self.table.location} is a path of this machine: the tasks that lakeledger itself carries out on {self.backend.name} "
                "will not find it; keep the control table at a URL, in a volume or in a catalog"
            )

    @property
    def _project(self) -> Project:
        folder, database = project_of(self.table), self._store.database
        file = Path(database.url.removeprefix("sqlite:///")) if database.dialect == "sqlite" else None
        owns_ledger = bool(folder and file and file.resolve().is_relative_to(folder.resolve()))
        return Project(folder, self.base, self.owner, owns_ledger)

    def _jobs(
        self, tracked: Mapping[str, TrackedJob], ours: Mapping[str, Job], of_others: Container[str]
    ) -> tuple[dict[str, Job], dict[str, Job], list[Job]]:
        """The tracked jobs that are there, by id; those of ours that nobody tracks, by module; and those that are one too many."""
        jobs = {job_id: ours[job_id] for job_id in (job.job_id for job in tracked.values()) if job_id in ours}
        for job_id in (job.job_id for job in tracked.values() if job.job_id not in ours and job.state != "removed"):
            if found := self.backend.find(job_id):
                jobs[job_id] = found
        owners, project = (self.owner, self.table.location), self._project
        unknown = [
            job for job in ours.values() if job.tags.get(OWNER_TAG) in owners and job.job_id not in of_others and job.job_id not in jobs
        ]
        here = [job for job in unknown if job.module_name and project.may_adopt(job)]
        known = {name for name, job in tracked.items() if job.job_id in jobs}
        tagged = {job.module_name: job for job in here if job.module_name and job.module_name not in known}
        return jobs, tagged, [job for job in here if tagged.get(str(job.module_name)) is not job]

    def _apply(self, run: ActiveRun, action: Action, plan: Plan) -> Applied:
        """Do it, as a step of the run that says what was done."""
        try:
            with run.step(action.module_name, "job", action=action.kind, changes=words(action.changes)) as step:
                with self._store.read() as tx:
                    run_log.check_fence(tx, step.fence)
                job_id = self._carry_out(action, plan.seen)
                self._note(action, job_id, plan.version, step.fence)
                step.metadata["job_id"] = job_id
        except Fenced as error:
            told = "somebody else took over this apply, and what it did here is not noted: plan again, which shows what is there"
            raise Fenced(f"{action.module_name}: {action.kind}: {told} ({error})") from error
        except LakeledgerError as error:
            return Applied(action, action.job_id, str(error))
        return Applied(action, job_id)

    def _carry_out(self, action: Action, seen: frozenset[str]) -> str:
        """Do it; what people changed since the plan is refused, or was none of ours and stays. Raises Conflict."""
        spec, update, job_id = action.spec or JobSpec(action.module_name, {}), action.update, str(action.job_id)
        if action.kind in ("create", "recreate"):
            return self.backend.create(spec, seen).job_id
        if action.kind == "remove":
            self.backend.delete(job_id, update.check if update else None)
        elif update:
            self.backend.update(job_id, replace(spec, settings=update.settings), update.remove, update.check)
        return job_id

    def _note_rows(self, plan: Plan, fence: Fence | None = None) -> None:
        """Rows that changed and come to the same job need not be read again. Raises Fenced."""
        same = {action.module_name: action.spec for action in plan.actions if action.kind == "unchanged" and action.spec}
        if hashes := {name: spec.rows_hash for name, spec in same.items() if spec.rows_hash}:
            with self._store.write() as tx:
                if fence:
                    run_log.check_fence(tx, fence)
                for name, rows_hash in hashes.items():
                    tracking.note_rows(tx, self.table.identity, name, self.backend.name, rows_hash)

    def _note(self, action: Action, job_id: str, version: int, fence: Fence) -> None:
        """What we made of the job: our part of its settings, so that the next plan can tell ours from theirs. Raises Fenced."""
        state = {"pause": "paused", "remove": "removed"}.get(action.kind, "active")
        with self._store.write() as tx:
            run_log.check_fence(tx, fence)
            control_table = action.control_table or self.table.identity
            before = tracking.find(tx, control_table, action.module_name, self.backend.name)
            settings = action.spec.settings if action.spec and state == "active" else _resting(action, before)
            if before is None and action.job_id:
                tracking.disown(tx, self.backend.name, job_id)
            tracking.put(
                tx,
                control_table,
                action.module_name,
                self.backend.name,
                job_id=job_id,
                settings=settings,
                control_version=version,
                state=state,
                rows_hash=action.spec.rows_hash if action.spec else None,
            )


def _extra_words(extra: Sequence[Job]) -> Iterator[str]:
    """That a module has more jobs than the one that is kept: each would load the same."""
    for job in extra:
        told = f"module {job.module_name} has another job, {job.job_id}, which nobody follows"
        yield f"{told}: `lakeledger jobs delete {job.job_id} --apply` deletes it"


def _left_alone(action: Action) -> Applied:
    return Applied(action, action.job_id, action.reason if action.kind == "blocked" else None)


def _is_settled(tracked: TrackedJob, job: Job | None, rows_hash: str | None, base: str) -> bool:
    """Whether neither the module's rows nor its job changed since it was last applied: then there is nothing to compare."""
    if job is None or tracked.state != "active" or rows_hash is None or tracked.rows_hash != rows_hash or job.is_elsewhere(base):
        return False
    return job.settings == tracked.settings or normalise(job.settings) == normalise(tracked.settings)


def job_rows(tracked: Iterable[TrackedJob]) -> list[JobRow]:
    """Tracked jobs as rows of the jobs table."""
    names = [each.name for each in fields(JobRow)]
    return [JobRow(**{name: getattr(job, name) for name in names}) for job in tracked]


def _check_current(plan: Plan, now: Plan) -> None:
    if plan.digest != now.digest:
        raise Conflict(f"the plan is no longer current: {_moved(plan, now)}; look at a new one", retryable=True)
    if now.conflicts:
        raise Conflict("\n".join(f"{action.module_name}: {_undecided(action, now.backend)}" for action in now.conflicts))


def _resting(action: Action, before: TrackedJob | None) -> dict[str, Any]:
    """Our part of the settings of a job that is paused or removed, with what we paused: that we start again, and nothing else."""
    known = before.settings if before else shared(action.settings or {}, action.spec.settings) if action.spec else {}
    return merge(known, action.update.settings) if action.update else dict(known)


def _undecided(action: Action, backend: str) -> str:
    names = ", ".join(change.name for change in action.conflicts)
    return f"changed here and by hand in {backend}: {names}; say whose side holds, ours or theirs"


def _moved(plan: Plan, now: Plan) -> str:
    """What is not as it was planned, and for which modules that makes a difference."""
    planned, found = ({action.module_name: action.to_dict() for action in each.actions if action.does_something} for each in (plan, now))
    names = sorted(name for name in {**planned, **found} if planned.get(name) != found.get(name))
    told = ", ".join(names[:NAMED]) + ("…" if len(names) > NAMED else "")
    if (plan.version, plan.modules_version) != (now.version, now.modules_version):
        return f"the control table has moved on from version {plan.version} ({told})"
    return f"something changed on {now.backend} or in how it is planned ({told})"
