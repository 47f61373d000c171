"""`lakeledger jobs`: the jobs that follow from the control table, on whichever backend they are."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import click

from lakeledger.cli import show
from lakeledger.cli.control_table import pairs
from lakeledger.cli.options import Options, paged, shared
from lakeledger.config import suggest
from lakeledger.errors import Invalid, NotFound
from lakeledger.redaction import scrub, scrub_value

if TYPE_CHECKING:
    from lakeledger import Ledger
    from lakeledger.db.pages import Page
    from lakeledger.jobs import Job, JobBackend
    from lakeledger.jobs.model import JobRun

JOB = '{"job_id", "module_name", "name", "control_table", "is_switched_off", "is_paused", "starts", "next_run_at", "settings"}'
LAST_RUNS = 10
NAMED = 5


@dataclass(frozen=True)
class Jobs:
    """The jobs of one backend, what only the local one knows of them, and as what they were last applied, by id: `active` or `paused`."""

    backend: JobBackend
    states: Mapping[str, str] = field(default_factory=dict)

    def get(self, word: str) -> Job:
        """The job with that id, the beginning of an id, or the name of its module. Raises NotFound or Invalid."""
        found = self.backend.list()
        for matches in (_is_id, _is_named, _begins):
            named = [job for job in found if matches(job, word)]
            if len(named) == 1:
                return named[0]
            if named:
                raise Invalid(f"{word!r} could be several jobs: {', '.join(sorted(job.job_id for job in named))}; give more of the id")
        names = sorted({job.module_name or job.name for job in found})
        raise NotFound(f"no job {word!r} on {self.backend.name}: `lakeledger jobs list` shows them{suggest(word, names)}")

    def document(self, job: Job) -> dict[str, Any]:
        """A job as scripts read it."""
        from lakeledger.jobs import OWNER_TAG
        from lakeledger.jobs.local import LocalBackend
        from lakeledger.jobs.waits import packed

        return {
            "job_id": job.job_id,
            "module_name": job.module_name,
            "name": job.name,
            "control_table": job.tags.get(OWNER_TAG),
            "is_switched_off": self.is_switched_off(job),
            "is_paused": job.is_paused or self.is_switched_off(job),
            "starts": starts(job.settings),
            "next_run_at": self.backend.get(job.job_id).next_run_at if isinstance(self.backend, LocalBackend) else None,
            "settings": scrub_value(packed(job.settings)),
        }

    def is_switched_off(self, job: Job) -> bool:
        """Whether its module is switched off or gone from the control table."""
        return self.states.get(job.job_id) == "paused"

    def refuse_switched_off(self, job: Job) -> None:
        """Raises Invalid if it is."""
        if self.is_switched_off(job):
            name = shlex.quote(job.module_name or job.name)
            raise Invalid(
                f"job {job.name} is switched off: its module has no active source in the control table, or is gone from it; "
                f"`lakeledger control activate {name}` and `lakeledger apply --yes` switch it on"
            )

    def runs(self, job: Job, limit: int = LAST_RUNS, after: str | None = None) -> Page[JobRun]:
        """Its last runs, as far as the backend tells."""
        from lakeledger.db.pages import Page
        from lakeledger.jobs.local import LocalBackend

        return self.backend.runs(job.job_id, limit, after) if isinstance(self.backend, LocalBackend) else Page()

    def set_pause(self, job: Job, status: str) -> Job:
        """Let what starts the job rest, or not. Raises Invalid if nothing starts it."""
        from lakeledger.jobs import JobSpec

        # Only that: whatever else somebody has changed since the job was read stays.
        parts = {name: {"pause_status": status} for name in ("schedule", "trigger") if job.settings.get(name)}
        if not parts:
            raise Invalid(f"nothing starts job {job.name} by itself: it has neither a schedule nor a trigger")
        return self.backend.update(job.job_id, JobSpec(job.module_name or job.name, parts))


@contextmanager
def open_jobs(options: Options) -> Iterator[Jobs]:
    """The jobs of the settings' backend. Raises NotInstalled or Invalid."""
    with options.open() as ledger:
        yield jobs_of(ledger)


def jobs_of(ledger: Ledger) -> Jobs:
    """The same of an open ledger."""
    from lakeledger.jobs import open_backend, tracking

    backend = open_backend(ledger.settings.control.backend, ledger.store, ledger.worker)
    with ledger.store.read() as tx:
        return Jobs(backend, tracking.states(tx, backend.name))


@click.group()
def jobs() -> None:
    """The modules' jobs: list, show, run, cancel, pause, resume and delete them."""


@jobs.command("list")
@paged(1_000)
@shared(f'{{"backend", "jobs": [{JOB}], "next"}}')
def list_jobs(options: Options, limit: int, after: str | None) -> None:
    """Every job that lakeledger made.

    lakeledger jobs list
    """
    from lakeledger.db import pages

    with open_jobs(options) as opened:
        page = pages.cut(opened.backend.list(), {"name": str, "job_id": str}, lambda job: (job.name, job.job_id), limit, after)
        found = [opened.document(job) for job in page]
    if options.as_json:
        show.print_json({"backend": opened.backend.name, "jobs": found, "next": page.next})
        return
    if not found:
        click.echo(f"no jobs on {opened.backend.name} yet")
        show.print_next(options.command("plan"))
        return
    ids = show.short_ids([job["job_id"] for job in found])
    rows = [(short, *_job_row(job)) for short, job in zip(ids, found, strict=True)]
    show.print_table(["job", "~module", "starts", "", "next run", "~control table"], rows)
    show.print_more(page.next)
    show.print_next(options.command(f"jobs show {ids[0]}"))


@jobs.command("show")
@click.argument("job_id", metavar="ID")
@paged(LAST_RUNS)
@shared(f'{{"backend", "job": {JOB}, "runs": [row of local_job_runs], "next"}}')
def show_job(options: Options, job_id: str, limit: int, after: str | None) -> None:
    """One job: settings, tasks, last runs. The beginning of the ID or its module's name is enough.

    lakeledger jobs show shop
    """
    with open_jobs(options) as opened:
        job = opened.get(job_id)
        document, runs = opened.document(job), opened.runs(job, limit, after)
    if options.as_json:
        found = [{**vars(run), "reason": run.reason and scrub(run.reason), "parameters": scrub_value(run.parameters)} for run in runs]
        show.print_json({"backend": opened.backend.name, "job": document, "runs": found, "next": runs.next})
        return
    settings = document["settings"]
    parameters = {item["name"]: item.get("default", "") for item in settings.get("parameters") or []}
    show.print_facts(
        {
            "job": f"{job.job_id} on {opened.backend.name}",
            "module": job.module_name,
            "control table": document["control_table"],
            "description": settings.get("description"),
            "starts": (document["starts"] or "when asked") + (f" ({rests})" if (rests := _rests(document)) else ""),
            "next run": show.moment(document["next_run_at"]),
            "parameters": ", ".join(f"{name}={value}" for name, value in parameters.items()) or None,
        }
    )
    show.print_table(["~task", "type", "~after"], [_task_row(task) for task in job.settings.get("tasks") or []], title="tasks")
    if runs:
        rows = [(run.id, run.status, run.cause, show.ago(run.due_at), run.run_id or "", scrub(run.reason or "")) for run in runs]
        show.print_table(["~run", "status", "cause", "due", "~in the run log", "~reason"], rows, title="last runs")
        show.print_more(runs.next)
    if not document["is_switched_off"]:
        show.print_next(options.command(f"jobs run {shlex.quote(job.module_name or job.job_id)}"))


@jobs.command("run")
@click.argument("job_id", metavar="ID")
@click.option("--param", "parameters", metavar="NAME=VALUE", multiple=True, help="A parameter of the job; may be repeated.")
@shared('{"job_id", "run_id"}')
def run_job(options: Options, job_id: str, parameters: Sequence[str]) -> None:
    """Ask for a run now, also of a paused job, but not of one whose module is switched off.

    A local run is carried out by `lakeledger scheduler`.

    lakeledger jobs run shop --param day=2026-01-31
    """
    values = pairs(parameters, "parameter")
    with open_jobs(options) as opened:
        job = opened.get(job_id)
        opened.refuse_switched_off(job)
        run_id = opened.backend.run_now(job.job_id, values)
    if options.as_json:
        show.print_json({"job_id": job.job_id, "run_id": run_id})
        return
    click.echo(show.safe(f"run {run_id} of {job.name} was asked for"))
    if opened.backend.name == "local":
        show.print_next(options.command("scheduler --once"))


@jobs.command("cancel")
@click.argument("run_id", metavar="RUN")
@shared('{"run_id"}')
def cancel_run(options: Options, run_id: str) -> None:
    """End a run that `jobs run` or a schedule asked for, whether it waits or is under way.

    lakeledger jobs cancel 01a1e271-801c-73b0-9d1a-44b0f415cc85
    """
    with open_jobs(options) as opened:
        opened.backend.cancel(run_id)
    if options.as_json:
        show.print_json({"run_id": run_id})
        return
    click.echo(show.safe(f"run {run_id} is cancelled"))


@jobs.command("pause")
@click.argument("job_id", metavar="ID")
@shared('{"job_id", "is_paused"}')
def pause_job(options: Options, job_id: str) -> None:
    """Let nothing start a job by itself.

    lakeledger jobs pause shop
    """
    _set_pause(options, job_id, "PAUSED", "resume")


@jobs.command("resume")
@click.argument("job_id", metavar="ID")
@shared('{"job_id", "is_paused"}')
def resume_job(options: Options, job_id: str) -> None:
    """Let its schedule or trigger start a job again.

    lakeledger jobs resume shop
    """
    _set_pause(options, job_id, "UNPAUSED", "pause")


@jobs.command("delete")
@click.argument("job_id", metavar="ID")
@click.option("--reason", metavar="TEXT", help="Why: it is kept in the run log.")
@click.option("--apply", is_flag=True, help="Delete it; without it nothing is touched.")
@shared(f'{{"applied": …, "backend", "job": {JOB}, "cancels": [id of a run], "run_id"}}')
def delete(options: Options, job_id: str, reason: str | None, apply: bool) -> None:
    """Show what would go with a job; with --apply delete it. The beginning of the ID or its module's name is enough.

    Runs that wait or are under way are cancelled. A module that is still in the control table gets a new job at the next `apply`.

      lakeledger jobs delete shop
      lakeledger jobs delete shop --reason "left behind by the old project" --apply
    """
    from lakeledger.jobs.deletion import delete_job

    with options.open() as ledger:
        opened = jobs_of(ledger)
        job = opened.get(job_id)
        document = opened.document(job)
        cancels = [run.id for run in opened.runs(job) if run.status in ("queued", "running")]
        done = delete_job(ledger.store, ledger.worker, opened.backend, job, reason, ledger.settings.lease_seconds) if apply else None
    if options.as_json:
        show.print_json({"applied": apply, "backend": opened.backend.name, "job": document, "cancels": cancels, "run_id": done})
        return
    show.print_facts(
        {
            "job": f"{job.job_id} on {opened.backend.name}",
            "module": job.module_name,
            "control table": document["control_table"],
            "starts": document["starts"] or "when asked",
            "cancels": show.plural(len(cancels), "run") if cancels else None,
        }
    )
    click.echo(show.safe(f"{job.name} was deleted" if apply else "nothing was deleted"))
    why = f" --reason {shlex.quote(reason)}" if reason else ""
    show.print_next(options.command("jobs list" if apply else f"jobs delete {shlex.quote(job.job_id)}{why} --apply"))


def starts(settings: dict[str, Any]) -> str:
    """What starts a job by itself, in a few words."""
    timing, trigger = settings.get("schedule") or {}, settings.get("trigger") or {}
    told = []
    if cron := timing.get("quartz_cron_expression") or timing.get("cron"):
        told.append(f"{cron} {timing.get('timezone_id', 'UTC')}")
    if files := trigger.get("file_arrival"):
        told.append(f"files in {scrub(str(files.get('url')))}")
    if tables := trigger.get("table_update"):
        told.append(f"changes of {', '.join(tables.get('table_names') or [])}")
    return "; ".join(told)


def _set_pause(options: Options, job_id: str, status: str, back: str) -> None:
    with open_jobs(options) as opened:
        job = opened.get(job_id)
        if status == "UNPAUSED":
            opened.refuse_switched_off(job)
        job = opened.set_pause(job, status)
    if options.as_json:
        show.print_json({"job_id": job.job_id, "is_paused": job.is_paused})
        return
    click.echo(show.safe(f"{job.name} is {'paused' if job.is_paused else 'started again by its schedule or trigger'}"))
    show.print_next(options.command(f"jobs {back} {shlex.quote(job.module_name or job.job_id)}"))


def _job_row(job: dict[str, Any]) -> tuple[str, ...]:
    return job["module_name"] or job["name"], job["starts"], _rests(job), _when(job), job["control_table"] or ""


def _rests(job: dict[str, Any]) -> str:
    return "switched off" if job["is_switched_off"] else "paused" if job["is_paused"] else ""


def _task_row(task: dict[str, Any]) -> tuple[str, str, str]:
    kind = next((name.removesuffix("_task") for name in task if name.endswith("_task")), "")
    if (task.get("python_wheel_task") or {}).get("package_name") == "lakeledger":
        kind = "lakeledger"  # it carries out the source itself
    after = [each["task_key"] for each in task.get("depends_on") or []]
    more = [f"… ({len(after)})"] if len(after) > NAMED else []
    return task["task_key"], kind, ", ".join([*after[:NAMED], *more])


def _when(job: dict[str, Any]) -> str:
    at = job["next_run_at"]
    return f"{at:%Y-%m-%d %H:%M} UTC" if at and not job["is_paused"] else ""


def _is_id(job: Job, word: str) -> bool:
    return job.job_id == word


def _is_named(job: Job, word: str) -> bool:
    return word in (job.module_name, job.name)


def _begins(job: Job, word: str) -> bool:
    return bool(word) and job.job_id.startswith(word)
