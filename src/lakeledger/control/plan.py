"""What would happen to which job, and why: worked out from values alone, so that it can be shown, stored and compared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from lakeledger import codec
from lakeledger.control.fields import FieldChange, Side, aligned, changed, compare, merged, moved, shared
from lakeledger.control.left_behind import LeftJob
from lakeledger.control.settings import STARTERS, comparable, paused
from lakeledger.control.summary import Change, summarised, words
from lakeledger.errors import Conflict
from lakeledger.jobs import CONTENT_TAG, MODULE_TAG, OWNER_TAG, Job, JobSpec
from lakeledger.jobs.settings import path_parts, path_text
from lakeledger.jobs.waits import packed

Kind = Literal["create", "recreate", "adopt", "update", "pause", "resume", "remove", "blocked", "unchanged"]


@dataclass(frozen=True)
class Tracked:
    """What we last did with a module's job."""

    job_id: str
    settings: dict[str, Any]
    state: str = "active"


@dataclass(frozen=True)
class Wish:
    """What a module wants: a job (`spec`), one that rests because all its sources are off, or none because it cannot be read."""

    module_name: str
    spec: JobSpec | None = None
    is_active: bool = True
    problems: tuple[str, ...] = ()


@dataclass(frozen=True)
class Update:
    """What is sent to a job that is there: those of our fields that change, and nothing else, if our fields are still as they were seen.

    Of what is removed as a whole, a task or with `is_removal` the job itself, everything must be as it was seen: it is gone afterwards.
    """

    seen: Mapping[str, Any]
    ours: tuple[Mapping[str, Any], ...]
    settings: dict[str, Any] = field(default_factory=dict)
    remove: tuple[str, ...] = ()
    is_removal: bool = False

    def check(self, job: Job) -> None:
        """Raises Conflict if somebody changed one of our fields since, or anything in what is removed."""
        if packed(job.settings) == packed(self.seen):
            return  # as it nearly always is: a local job is looked at inside a transaction
        removed = [()] if self.is_removal else [tuple(path_parts(path)) for path in self.remove]
        if names := moved(self.ours, self.seen, job.settings, removed):
            raise Conflict(
                f"job {job.job_id} was changed by hand since it was planned ({', '.join(names)}): it was left so; plan and apply again",
                retryable=True,
            )


@dataclass(frozen=True)
class Action:
    """What is to be done for one module. `settings` is what its job is then, `update` what is sent to a job that is there.

    `control_table` is the id of the one that left the job behind, if it is another. `seen` says as what a job was seen that is removed.
    """

    kind: Kind
    module_name: str
    job_id: str | None = None
    reason: str = ""
    changes: tuple[Change, ...] = ()
    settings: dict[str, Any] | None = None
    spec: JobSpec | None = field(default=None, compare=False, repr=False)
    update: Update | None = field(default=None, compare=False, repr=False)
    control_table: str = ""
    seen: str = ""

    @property
    def conflicts(self) -> list[Change]:
        return [change for change in self.changes if change.side == "both"]

    @property
    def does_something(self) -> bool:
        return self.kind not in ("unchanged", "blocked")

    def words(self) -> list[str]:
        """The action in words: first what, then field by field."""
        which = f" job {self.job_id}" if self.job_id else ""
        changes = self._made() if self.kind in ("create", "recreate") else self.changes
        return [f"{self.kind}{which}: {self.reason}", *words(changes)]

    def _made(self) -> list[FieldChange]:
        """What a new job is made of, besides what every one has."""
        own = (("name",), *(("tags", tag) for tag in (OWNER_TAG, MODULE_TAG, CONTENT_TAG)))
        made = compare({}, comparable(self.settings or {}), {})
        told = [change for change in made if change.path not in own and change.path[0] != "environments"]
        return [change for change in told if change.ours != "UNPAUSED"]

    def to_dict(self) -> dict[str, Any]:
        """As scripts read it."""
        return {
            "action": self.kind,
            "module_name": self.module_name,
            "job_id": self.job_id,
            "reason": self.reason,
            "changes": [change.to_dict() for change in self.changes],
            "settings": None if self.settings is None else packed(self.settings),
            **({"control_table": self.control_table} if self.control_table else {}),
            **({"seen": self.seen} if self.seen else {}),
        }


@dataclass(frozen=True)
class Plan:
    """Every module and what is to be done for it, worked out at one version of the control table. `seen` are the jobs that were there."""

    control_table: str
    backend: str
    version: int
    modules_version: int
    actions: tuple[Action, ...]
    warnings: tuple[str, ...] = ()
    seen: frozenset[str] = field(default=frozenset(), compare=False, repr=False)

    @property
    def digest(self) -> str:
        """The same for two plans that would do the same."""
        return codec.digest([self.control_table, self.backend, [action.to_dict() for action in self.actions if action.does_something]])

    @property
    def conflicts(self) -> list[Action]:
        return [action for action in self.actions if action.conflicts]

    def count(self, kind: Kind) -> int:
        return sum(action.kind == kind for action in self.actions)

    def to_dict(self) -> dict[str, Any]:
        """As scripts read it, and as it is kept between `plan --out` and `apply`."""
        return {
            "control_table": self.control_table,
            "backend": self.backend,
            "version": self.version,
            "modules_version": self.modules_version,
            "digest": self.digest,
            "warnings": list(self.warnings),
            "actions": [action.to_dict() for action in self.actions],
        }


def plan_actions(
    wishes: Sequence[Wish],
    tracked: Mapping[str, Tracked],
    jobs: Mapping[str, Job],
    tagged: Mapping[str, Job],
    *,
    prefer: Side | None = None,
    prune: bool = False,
) -> list[Action]:
    """What to do for each module. `jobs` are the tracked jobs that are still there, `tagged` those of ours that are not tracked."""
    found = [_for_wish(wish, tracked.get(wish.module_name), jobs, tagged.get(wish.module_name), prefer) for wish in wishes]
    wanted = {wish.module_name for wish in wishes}
    marks = {**tracked, **{name: Tracked(job.job_id, {}) for name, job in tagged.items()}}
    there = {**{job.job_id: job for job in tagged.values()}, **jobs}
    gone = [_for_gone(name, mark, there.get(mark.job_id), prune=prune) for name, mark in marks.items() if name not in wanted]
    return sorted((*found, *gone), key=lambda action: action.module_name)


def _for_wish(wish: Wish, mark: Tracked | None, jobs: Mapping[str, Job], tagged: Job | None, prefer: Side | None) -> Action:
    job = jobs.get(mark.job_id) if mark else None
    if wish.problems or wish.spec is None:
        stays = "its last good job stays as it is" if job else "it gets no job"
        return Action("blocked", wish.module_name, mark.job_id if mark else None, f"{stays}: {'; '.join(wish.problems)}")
    if not wish.is_active:
        return _for_resting(wish.spec, mark, job or (None if mark else tagged))
    if mark is None or mark.state == "removed":
        return _for_new(wish.spec, tagged, prefer)
    return _for_known(wish.spec, mark, job, tagged, prefer)


def _for_new(spec: JobSpec, tagged: Job | None, prefer: Side | None) -> Action:
    if tagged is None:
        return Action("create", spec.module_name, None, "the module has no job yet", settings=spec.settings, spec=spec)
    return _change("adopt", "a job with its tag is there, but was not known", spec, tagged, {}, prefer or "ours")


def _for_known(spec: JobSpec, mark: Tracked, job: Job | None, tagged: Job | None, prefer: Side | None) -> Action:
    if job is None and tagged is not None:
        return _for_new(spec, tagged, prefer)
    if job is None:
        return Action("recreate", spec.module_name, mark.job_id, "its job was deleted by somebody", settings=spec.settings, spec=spec)
    if mark.state != "active":
        before = mark.settings or shared(job.settings, spec.settings)
        return _change("resume", "the module is active again", spec, job, before, prefer)
    return _change("update", "the module changed", spec, job, mark.settings, prefer)


def _change(kind: Kind, reason: str, spec: JobSpec, job: Job, before: Mapping[str, Any], prefer: Side | None) -> Action:
    """An update in place: what differs, and the settings with our side of it."""
    has_moved = job.is_elsewhere(spec.base)
    if before == spec.settings == job.settings and kind == "update" and not has_moved:
        return Action("unchanged", spec.module_name, job.job_id, "nothing changed", spec=spec)
    last, ours, theirs = aligned(before, spec.settings, job.settings)
    found = compare(last, ours, theirs)
    changes = tuple(_settled(change, prefer) if prefer and change.side == "both" else change for change in found)
    if kind == "update" and last == ours and not has_moved:
        told = "somebody changed it by hand" if changes else "nothing changed"
        return Action("unchanged", spec.module_name, job.job_id, told, summarised(changes), spec=spec)
    if kind == "update" and all(change.side == "theirs" for change in changes):
        reason = f"its paths begin at {spec.base} now" if has_moved else "the module changed; its job stays as it is"
    settings = merged(theirs, ours, list(changes))
    update = _update(job, (before, spec.settings), settings, changes)
    return Action(kind, spec.module_name, job.job_id, reason, summarised(changes), settings, spec, update)


def _update(job: Job, ours: tuple[Mapping[str, Any], ...], settings: Mapping[str, Any], changes: Iterable[FieldChange]) -> Update:
    made = [change for change in changes if change.side == "ours"]
    gone = tuple(path_text(change.path) for change in made if change.ours is None)
    return Update(job.settings, ours, changed(settings, made), gone)


def _settled(change: FieldChange, prefer: Side) -> FieldChange:
    return FieldChange(change.path, prefer, change.before, change.ours, change.theirs)


def _for_resting(spec: JobSpec, mark: Tracked | None, job: Job | None) -> Action:
    if job is None or (mark and mark.state != "active"):
        return Action("unchanged", spec.module_name, mark.job_id if mark else None, "all its sources are switched off", spec=spec)
    return _pause(spec.module_name, job, "all its sources are switched off", mark, spec)


def _for_gone(name: str, mark: Tracked, job: Job | None, *, prune: bool) -> Action:
    if mark.state == "removed" or (job is None and not prune):
        return Action("unchanged", name, mark.job_id, "the module is gone, and so is its job")
    if prune:
        return _remove(Action("remove", name, mark.job_id, "the module is no longer in the control table"), job, mark.settings)
    if mark.state == "paused" or job is None:
        return Action("unchanged", name, mark.job_id, "the module is gone; its job is paused until you prune it")
    return _pause(name, job, "the module is no longer in the control table; prune to remove its job", mark)


def remove_left_behind(left: LeftJob) -> Action:
    """What to do with the job of a control table that is no longer there."""
    mark, reason = left.mark, f"it was left behind by the control table {left.control_table}, which is no longer there"
    action = Action("remove", mark.module_name, mark.job_id, reason, control_table=mark.control_table)
    return _remove(action, left.job, mark.settings)


def _remove(action: Action, job: Job | None, ours: Mapping[str, Any]) -> Action:
    """The removal of that job as it is now, if it is there: whoever agreed to it saw it so."""
    if job is None:
        return action
    seen = codec.digest(packed(comparable(job.settings)))
    return replace(action, update=Update(job.settings, (ours,), is_removal=True), seen=seen)


def _pause(name: str, job: Job, reason: str, mark: Tracked | None, spec: JobSpec | None = None) -> Action:
    """Let nothing start the job by itself. What people paused already is not ours to start again later."""
    starters = {part: comparable(job.settings).get(part) or {} for part in STARTERS}
    changes = tuple(
        FieldChange((part, "pause_status"), "ours", said["pause_status"], "PAUSED", said["pause_status"])
        for part, said in starters.items()
        if said and said["pause_status"] != "PAUSED"
    )
    settings = paused(job.settings)
    update = _update(job, (mark.settings if mark else {},), settings, changes)
    return Action("pause", name, job.job_id, reason, changes, settings, spec, update)
