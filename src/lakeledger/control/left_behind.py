"""Jobs of control tables of this project that are no longer there: nothing speaks for them any more.

A ledger may be shared by projects, also of other machines. What may be another project's is never taken for left behind.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from lakeledger.control import table as tables
from lakeledger.control.fields import first_few
from lakeledger.errors import LakeledgerError, NotFound
from lakeledger.jobs import OWNER_TAG, Job
from lakeledger.jobs.tracking import TrackedJob


@dataclass(frozen=True)
class LeftJob:
    """A job, what was noted of it, and the table that left it as people know it. `is_replaced` if another one, ours, is in its place now.

    The jobs of a table that was made anew go on with it, but only in the project's own ledger: in one that is shared, another project
    in a folder of the same name looks the same, and its jobs are only told.
    """

    mark: TrackedJob
    job: Job
    control_table: str
    is_replaced: bool = False


@dataclass(frozen=True)
class Project:
    """The project as one of its control tables sees it: its folder, if it has one, and where relative paths begin.

    `owner` is the tag of the table's jobs. The ledger is its own if it is a file in the folder, and moves with it.
    """

    folder: Path | None
    base: str
    owner: str
    owns_ledger: bool

    def left_behind(self, marks: Iterable[TrackedJob], jobs: Mapping[str, Job]) -> list[LeftJob]:
        """Which of these, noted for other control tables, were left behind by a table of this project."""
        is_there = cache(_is_there)
        found = []
        for mark in marks:
            job = jobs.get(mark.job_id)
            owner = _owner(mark, job) if job else ""
            place = self._place(owner, job) if job else None
            if job is None or place is None:
                continue
            folders = {folder for folder in (self.folder, job.base, self.base) if folder}
            if not any(is_there(Path(folder, place), mark.control_table) for folder in folders):
                is_from_here = job.base in (None, self.base)
                name = place if is_from_here else str(Path(str(job.base), place))
                found.append(LeftJob(mark, job, name, is_from_here and owner == self.owner))
        return found

    def may_adopt(self, job: Job) -> bool:
        """Whether a job with our tag that is noted for nobody is ours."""
        return self.owns_ledger or not job.is_elsewhere(self.base)

    def _place(self, owner: str, job: Job) -> str | None:
        """Where in this project its control table was. None if it may be another project's, or nobody can look."""
        place = owner
        if job.base is None and not Path(place).is_absolute():  # then the name of the project's folder is before it
            name, _, place = place.partition("/")
            if self.folder is None or name != self.folder.name:
                return None
        is_from_here = owner == self.owner if job.base is None else job.base == self.base
        return place if place and tables.is_local_path(place) and (self.owns_ledger or is_from_here) else None


def warnings(left: Iterable[LeftJob], *, prune: bool) -> Iterator[str]:
    """That jobs go on for which nothing speaks any more, unless they are about to be removed."""
    names: dict[tuple[str, bool], list[str]] = {}
    for each in left:
        names.setdefault((each.control_table, each.is_replaced), []).append(each.mark.module_name)
    for (control_table, is_replaced), modules in sorted(names.items()):
        if is_replaced:
            yield (
                f"the ledger has jobs of another control table {control_table}, which is not the one here ({first_few(modules)}): "
                "if it was deleted, `lakeledger jobs delete` deletes one; if a project in another folder of this name has it, leave them"
            )
        elif not prune:
            yield (
                f"the control table {control_table} is no longer there, but its jobs are ({first_few(modules)}): "
                "`lakeledger plan --prune` shows what removes them, `lakeledger jobs delete` deletes one"
            )


def _owner(mark: TrackedJob, job: Job) -> str:
    """The tag that we gave the job, whatever people made of it."""
    return mark.owner or job.tags.get(OWNER_TAG, "")


def _is_there(path: Path, identity: str) -> bool:
    """Whether that control table is there; one that cannot be read may be it."""
    try:
        return (path / "_delta_log").is_dir() and tables.open(str(path)).identity == identity
    except NotFound:
        return False
    except (LakeledgerError, OSError):
        return True
