"""A Spark cluster behind a driver of ours: whether its master answers, and whether its executors take the tasks.

Where they do not, Spark waits without a word: for a minute or for ever. This is the only module that looks at the driver's SparkContext.
The driver is ours, and on a Spark Connect server there is none.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from lakeledger.errors import Failed, Invalid, LakeledgerError, Unavailable
from lakeledger.pipelines.reaching import reach
from lakeledger.pipelines.remote import is_remote

if TYPE_CHECKING:
    from pyspark import StatusTracker
    from pyspark.sql import SparkSession

_log = logging.getLogger(__name__)

SCHEME = "spark://"
LOOK_SECONDS = 0.5
# When it is said that the work waits: executors that are only starting are there by then.
PATIENT_SECONDS = 10.0
# After how long the master is asked: without one there are no new executors to wait for.
HOPEFUL_SECONDS = 2.0

# There is one Spark in a process, so that there is one reason why it was ended. Sessions cannot be asked any more by then.
_ended_because: list[str] = []


def check_master(master: str) -> None:
    """Raise Unavailable if none of the standalone masters answers, and Invalid for an address that is none."""
    if not master.startswith(SCHEME):
        return
    addresses = [address.rpartition(":") for address in master.removeprefix(SCHEME).split(",")]
    if not all(host and port.isdecimal() for host, _, port in addresses):
        raise Invalid(f"{master} is no address of a Spark master: write spark://host:7077")
    missed = []
    for host, _, port in addresses:
        if (reason := reach(host, int(port))) is None:
            return
        missed.append(f"{host}:{port}: {reason}")
    raise Unavailable(f"no Spark master at {', '.join(missed)}; see that it runs, or change `master` under [spark]")


def watch(session: SparkSession, master: str, wait_seconds: float) -> None:
    """From now on, end this Spark when it has work and no executor has taken any of it for so long."""
    threading.Thread(target=_watch, args=(session, master, wait_seconds), name="executors", daemon=True).start()


def is_alive(session: SparkSession) -> bool:
    """Whether the driver of a classic session is still there."""
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]  # py4j has no types

    context: Any = session.sparkContext
    try:
        return context._jsc is not None and not context._jsc.sc().isStopped()  # noqa: SLF001 - Python's half of it does not know
    except Py4JError:
        return False


def why_ended() -> str:
    """Why the Spark of this process is no more."""
    return _ended_because[-1] if _ended_because else "Spark was stopped while it was needed: run it again, which starts another"


def lost_rows(session: SparkSession, place: str, found: int, written: int) -> LakeledgerError:
    """The error for a write of which fewer rows are there than were written."""
    told = f"{place} holds {found} rows, but {written} were written"
    local = place.startswith("file:") or "://" not in place
    if local and (is_remote(session) or not (session.conf.get("spark.master") or "").startswith("local")):
        return Invalid(
            f"{told}: Spark's executors have written to disks that this machine does not see; "
            "set `warehouse` to storage that all of them share, such as s3://… or a network mount"
        )
    return Failed(f"{told}: storage lost files, run it again")


def _watch(session: SparkSession, master: str, wait_seconds: float) -> None:
    from py4j.protocol import Py4JError

    try:
        tracker = session.sparkContext.statusTracker()
        reason = _why_neglected(lambda: _has_neglected_work(tracker), session, master, wait_seconds)
    except (Py4JError, OSError, AttributeError):
        return  # Somebody else has stopped it.
    _ended_because.append(reason)
    _log.warning("Spark is stopped: %s", reason)
    session.stop()


def _why_neglected(is_neglected: Callable[[], bool], session: SparkSession, master: str, wait_seconds: float) -> str:
    """Wait until there was work for too long without anybody who did it, and say why."""
    pause = threading.Event()
    since, told = time.monotonic(), False
    while True:
        pause.wait(LOOK_SECONDS)
        if not is_neglected():
            since, told = time.monotonic(), False
            continue
        waited = time.monotonic() - since
        if waited >= HOPEFUL_SECONDS:
            try:
                check_master(master)
            except Unavailable as error:
                return f"the cluster went away: {error}"
        if waited >= wait_seconds:
            return _why_starved(session, master, wait_seconds)
        if waited >= PATIENT_SECONDS and not told:
            told = True
            _log.warning("no executor of %s takes a task: waiting up to %g s", master, wait_seconds)


def _has_neglected_work(tracker: StatusTracker) -> bool:
    stages = [stage for number in tracker.getActiveStageIds() if (stage := tracker.getStageInfo(number))]
    return bool(stages) and not any(stage.numActiveTasks for stage in stages)


def _why_starved(session: SparkSession, master: str, wait_seconds: float) -> str:
    memory, cores = (session.conf.get(f"spark.executor.{name}", default) for name, default in (("memory", "1g"), ("cores", "all")))
    return (
        f"no executor of {master} took a task for {wait_seconds:g} s: no worker is free, or large enough for executors of {memory} and "
        f"{cores} cores; start workers, ask for less (spark.executor.memory, spark.executor.cores, spark.cores.max under [spark.conf]), "
        "or wait longer (`wait_seconds` under [spark])"
    )
