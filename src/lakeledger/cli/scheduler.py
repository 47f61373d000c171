"""`lakeledger scheduler`: carry out local jobs when they are due."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import click

from lakeledger import Ledger
from lakeledger.cli import DONE, FAILED, PARTLY_FAILED, show
from lakeledger.cli.options import Options, shared
from lakeledger.cli.stopping import when_told
from lakeledger.errors import NotFound
from lakeledger.jobs.local import LocalBackend
from lakeledger.jobs.model import JobRun
from lakeledger.jobs.scheduler import GRACE_SECONDS, POLL_SECONDS, Due, Outcome, Scheduler
from lakeledger.jobs.triggers import TableVersion
from lakeledger.redaction import scrub
from lakeledger.sync.background import BackgroundCleanup

# A process that runs for months remembers only what it did lately.
REMEMBERED = 1_000
# One that ends before that, and starts again, does not begin to clean up each time.
FIRST_CLEANUP_SECONDS = 60.0


class Watched:
    """Carries runs out, and tells and remembers them."""

    def __init__(self, ledger: Ledger, *, silent: bool) -> None:
        self._ledger = ledger
        self._silent = silent
        self.ids: deque[str] = deque(maxlen=REMEMBERED)

    def execute(self, due: Due) -> Outcome:
        """Carry out a run, and tell it."""
        self.ids.append(due.run.id)
        self.say(f"{due.job.name}: run {due.run.id} begins ({due.run.cause})")
        try:
            outcome = self._ledger.run_job(due)
        except BaseException as error:
            self.say(f"{due.job.name}: run {due.run.id} ended: {error}")
            raise
        self.say(f"{due.job.name}: run {due.run.id} {outcome.status}{f': {outcome.reason}' if outcome.reason else ''}")
        return outcome

    def say(self, text: str) -> None:
        """On stderr, for whoever watches."""
        if not self._silent:
            show.print_event(text)


@click.command("scheduler")
@click.option("--once", is_flag=True, help="Carry out what is due now, and end.")
@shared('{"runs": [row of local_job_runs]}')
def scheduler(options: Options, once: bool) -> int:
    """Carry out local jobs when their schedule, their trigger or somebody asks for it, until it is told to end.

    Several may run at once: each run is carried out by one. At the end what is under way is given time to finish. Every hour what is
    older than its retention is deleted, as by `sync cleanup --delete`. With --once nothing is, and the exit code says how the runs went:
    3 if some failed, 1 if all did.

      lakeledger scheduler
      lakeledger scheduler --once
    """
    stop = threading.Event()
    with show.answering(options.as_json), options.open() as ledger, when_told(stop.set):
        watched = Watched(ledger, silent=options.as_json)
        clockwork = Scheduler(
            ledger.store,
            ledger.worker,
            watched.execute,
            versions=lambda names: table_versions(ledger, names),
            tell=watched.say,
            failures=ledger.sync.background("scheduler"),
            lease_seconds=ledger.settings.lease_seconds,
            s3=ledger.settings.s3,
        )
        if once:
            _run_once(clockwork, stop)
        else:
            watched.say("waiting for jobs that are due; Ctrl-C ends it")
        if not once or stop.is_set():
            with cleaning(ledger):
                clockwork.run(stop, GRACE_SECONDS)
        runs = _runs(ledger, list(watched.ids))
    if options.as_json:
        show.print_json({"runs": [_document(run) for run in runs]})
    elif not runs:
        click.echo("nothing was due")
    else:
        rows = [(run.id, run.status, run.cause, run.run_id or "", scrub(run.reason or "")) for run in runs]
        show.print_table(["~run", "status", "cause", "~in the run log", "~reason"], rows)
        show.print_next(options.command("runs list"))
    return exit_code(runs) if once else DONE


@contextmanager
def cleaning(ledger: Ledger) -> Iterator[None]:
    """Delete meanwhile, every hour and in the background, what is older than its retention; what fails is reported, and tried again."""

    def clean() -> dict[str, int]:
        return ledger.sync.cleanup(stop=background.is_stopping)

    background = BackgroundCleanup(clean, FIRST_CLEANUP_SECONDS, failures=ledger.sync.background("cleanup"))
    background.start()
    try:
        yield
    finally:
        background.close()


def table_versions(ledger: Ledger, names: Sequence[str]) -> dict[str, TableVersion]:
    """Where tables stand; one that is not there has no version yet."""
    found: dict[str, TableVersion] = {}
    for name in names:
        try:
            table = ledger.tables.get(name)
        except NotFound:
            continue
        found[name] = TableVersion(table.content_version, table.last_modified)
    return found


def exit_code(runs: list[JobRun]) -> int:
    """0 if nothing failed, 3 if something else did not, else 1."""
    failed = [run.status == "failed" for run in runs]
    return DONE if not any(failed) else FAILED if all(failed) else PARTLY_FAILED


def _run_once(clockwork: Scheduler, stop: threading.Event) -> None:
    """Start what is due, and what then is, until nothing is left or somebody ends it."""
    while not stop.is_set() and clockwork.tick():
        while not stop.is_set() and not clockwork.drain(POLL_SECONDS):
            pass


def _runs(ledger: Ledger, ids: list[str]) -> list[JobRun]:
    """The runs as they ended; one whose job was deleted meanwhile is gone."""
    backend = LocalBackend(ledger.store, ledger.worker.name)
    found = []
    for id in dict.fromkeys(ids):
        try:
            found.append(backend.run(id))
        except NotFound:
            continue
    return found


def _document(run: JobRun) -> dict[str, Any]:
    return {**vars(run), "reason": run.reason and scrub(run.reason)}
