"""Where jobs live: one port, with jobs kept in the ledger itself (`local`) and on Databricks (`databricks`).

A job's settings have the shape of the Databricks Jobs API 2.2 everywhere, so that what is compared, merged and shown is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from lakeledger.errors import Conflict

if TYPE_CHECKING:
    from lakeledger.db import Store
    from lakeledger.runs import Worker

# Tags by which a job is known to be ours, also when the ledger has lost sight of it.
OWNER_TAG = "lakeledger"
MODULE_TAG = "lakeledger_module"
# Says what the module's tasks do: a query that changed makes another job, though its tasks are called the same.
CONTENT_TAG = "lakeledger_content"


@dataclass(frozen=True)
class JobSpec:
    """What a module's job should be. `module` is the document that a local run carries out, its paths relative to `base`.

    `rows_hash` is that of the rows of the control table that it was made from.
    """

    module_name: str
    settings: dict[str, Any]
    module: dict[str, Any] = field(default_factory=dict)
    base: str = ""
    rows_hash: str | None = None


@dataclass(frozen=True)
class Job:
    """A job as its backend has it now. `base` is where its module's paths begin, if the backend keeps that."""

    job_id: str
    settings: dict[str, Any]
    base: str | None = None

    @property
    def name(self) -> str:
        return str(self.settings.get("name", ""))

    @property
    def tags(self) -> dict[str, str]:
        return dict(self.settings.get("tags") or {})

    @property
    def module_name(self) -> str | None:
        return self.tags.get(MODULE_TAG)

    def is_elsewhere(self, base: str) -> bool:
        """Whether its module's paths begin at another place than this."""
        return self.base is not None and base not in ("", self.base)

    @property
    def is_paused(self) -> bool:
        """Whether nothing starts it by itself: neither its schedule nor its trigger."""
        return any((self.settings.get(part) or {}).get("pause_status") == "PAUSED" for part in ("schedule", "trigger", "continuous"))


Check = Callable[[Job], None]


class JobBackend(Protocol):
    """A place that keeps jobs and runs them."""

    @property
    def name(self) -> str: ...
    def list(self) -> Sequence[Job]:
        """Every job with our tag."""
        ...

    def find(self, job_id: str) -> Job | None:
        """The job as it is now, or None if somebody deleted it."""
        ...

    def create(self, spec: JobSpec, seen: Container[str] = ()) -> Job:
        """Make the job. Raises Conflict if there is one of its name and with our tags that was not seen before: a module has one job."""
        ...

    def update(self, job_id: str, spec: JobSpec, remove: Sequence[str] = (), check: Check | None = None) -> Job:
        """Set these settings in place and remove those fields; what is not named stays as people set it. Raises NotFound.

        `check` sees the job as it is right before, and may refuse by raising.
        """
        ...

    def delete(self, job_id: str, check: Check | None = None) -> None:
        """Delete it; one that is gone already is no error. `check` is as in `update`."""
        ...

    def run_now(self, job_id: str, parameters: Mapping[str, str] | None = None) -> str:
        """Start it now; the id of the run."""
        ...

    def cancel(self, run_id: str) -> object:
        """End a run that waits or is under way. Raises NotFound, or Conflict if it has ended."""
        ...


def refuse_second(spec: JobSpec, there: Iterable[Job], seen: Container[str]) -> None:
    """Raises Conflict if one of these jobs has our tags of the one that is to be made. One that was seen is known to be somebody else's."""
    tags = spec.settings.get("tags") or {}
    wanted = {tag: tags[tag] for tag in (OWNER_TAG, MODULE_TAG) if tag in tags}
    for job in there:
        if len(wanted) == 2 and wanted.items() <= job.tags.items() and job.job_id not in seen:
            raise Conflict(f"module {spec.module_name} has job {job.job_id} by now: no second one was made; plan again", retryable=True)


def open_backend(name: str, store: Store, worker: Worker) -> JobBackend:
    """The backend of that name. Raises NotInstalled or Invalid."""
    if name == "databricks":
        from lakeledger.jobs.databricks import DatabricksBackend

        return DatabricksBackend()
    from lakeledger.jobs.local import LocalBackend

    return LocalBackend(store, worker.name)
