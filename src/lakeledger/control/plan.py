"""What would happen to which job, and why: worked out from values alone, so that it can be shown, stored and compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from lakeledger import codec
from lakeledger.control.fields import FieldChange, Side, compare, merged, shared
from lakeledger.control.settings import comparable, paused
from lakeledger.jobs import Job, JobSpec

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
class Action:
    """What is to be done for one module. `settings` is what its job is then."""

    kind: Kind
    module_name: str
    job_id: str | None = None
    reason: str = ""
    changes: tuple[FieldChange, ...] = ()
    settings: dict[str, Any] | None = None
    spec: JobSpec | None = field(default=None, compare=False, repr=False)

    @property
    def conflicts(self) -> list[FieldChange]:
        return [change for change in self.changes if change.side == "both"]

    @property
    def does_something(self) -> bool:
        return self.kind not in ("unchanged", "blocked")

    def words(self) -> list[str]:
        """The action in words: first what, then field by field."""
        which = f" job {self.job_id}" if self.job_id else ""
        return [f"{self.kind}{which}: {self.reason}", *(change.words() for change in self.changes)]

    def to_dict(self) -> dict[str, Any]:
        """As scripts read it."""
        return {
            "action": self.kind,
            "module_name": self.module_name,
            "job_id": self.job_id,
            "reason": self.reason,
            "changes": [change.to_dict() for change in self.changes],
            "settings": self.settings,
        }


@dataclass(frozen=True)
class Plan:
    """Every module and what is to be done for it, worked out at one version of the control table."""

    control_table: str
    backend: str
    version: int
    modules_version: int
    actions: tuple[Action, ...]

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
    gone = [_for_gone(name, mark, jobs.get(mark.job_id), prune=prune) for name, mark in sorted(tracked.items()) if name not in wanted]
    return sorted((*found, *gone), key=lambda action: action.module_name)


def _for_wish(wish: Wish, mark: Tracked | None, jobs: Mapping[str, Job], tagged: Job | None, prefer: Side | None) -> Action:
    job = jobs.get(mark.job_id) if mark else None
    if wish.problems or wish.spec is None:
        stays = "its last good job stays as it is" if job else "it gets no job"
        return Action("blocked", wish.module_name, mark.job_id if mark else None, f"{stays}: {'; '.join(wish.problems)}")
    if not wish.is_active:
        return _for_resting(wish.spec, mark, job)
    return _for_known(wish.spec, mark, job, prefer) if mark else _for_new(wish.spec, tagged, prefer)


def _for_new(spec: JobSpec, tagged: Job | None, prefer: Side | None) -> Action:
    if tagged is None:
        return Action("create", spec.module_name, None, "the module has no job yet", settings=spec.settings, spec=spec)
    return _change("adopt", "a job with its tag is there, but was not known", spec, tagged, shared(tagged.settings, spec.settings), prefer)


def _for_known(spec: JobSpec, mark: Tracked, job: Job | None, prefer: Side | None) -> Action:
    if job is None:
        return Action("recreate", spec.module_name, mark.job_id, "its job was deleted by somebody", settings=spec.settings, spec=spec)
    if mark.state != "active":
        return _change("resume", "the module is active again", spec, job, mark.settings, prefer)
    return _change("update", "the module changed", spec, job, mark.settings, prefer)


def _change(kind: Kind, reason: str, spec: JobSpec, job: Job, before: Mapping[str, Any], prefer: Side | None) -> Action:
    """An update in place: what differs, and the settings with our side of it."""
    if before == spec.settings == job.settings and kind == "update":
        return Action("unchanged", spec.module_name, job.job_id, "nothing changed", spec=spec)
    ours, theirs = comparable(spec.settings), comparable(job.settings)
    found = compare(comparable(before), ours, theirs)
    changes = tuple(_settled(change, prefer) if prefer and change.side == "both" else change for change in found)
    if kind == "update" and all(change.side == "theirs" for change in changes):
        told = "somebody changed it by hand" if changes else "nothing changed"
        return Action("unchanged", spec.module_name, job.job_id, told, changes, spec=spec)
    return Action(kind, spec.module_name, job.job_id, reason, changes, merged(theirs, ours, list(changes)), spec)


def _settled(change: FieldChange, prefer: Side) -> FieldChange:
    return FieldChange(change.path, prefer, change.before, change.ours, change.theirs)


def _for_resting(spec: JobSpec, mark: Tracked | None, job: Job | None) -> Action:
    if mark is None or job is None or mark.state != "active":
        return Action("unchanged", spec.module_name, mark.job_id if mark else None, "all its sources are switched off", spec=spec)
    return Action("pause", spec.module_name, job.job_id, "all its sources are switched off", settings=paused(job.settings), spec=spec)


def _for_gone(name: str, mark: Tracked, job: Job | None, *, prune: bool) -> Action:
    if mark.state == "removed" or (job is None and not prune):
        return Action("unchanged", name, mark.job_id, "the module is gone, and so is its job")
    if prune:
        return Action("remove", name, mark.job_id, "the module is no longer in the control table")
    if mark.state == "paused" or job is None:
        return Action("unchanged", name, mark.job_id, "the module is gone; its job is paused until you prune it")
    return Action(
        "pause", name, job.job_id, "the module is no longer in the control table; prune to remove its job", settings=paused(job.settings)
    )
