"""Spark's own errors as ours: the one place that reads them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lakeledger.errors import Failed, Forbidden, Invalid, LakeledgerError, Unavailable
from lakeledger.pipelines.cluster import why_ended
from lakeledger.pipelines.reach import storage_failure
from lakeledger.sync.failures import ErrorType, classify

LONGEST = 1_000
ENDED = (
    "the Spark session has ended: it was stopped, or its Spark Connect server was restarted or has closed it. `ledger.spark` opens "
    "another, on which frames have to be made anew; one that you gave to `lakeledger.open` is yours to open again"
)
# What Spark says of a session or a driver that is no more.
_ENDED_SESSION = re.compile(r"INVALID_HANDLE\.SESSION_|NO_ACTIVE_SESSION|RESPONSE_ALREADY_RECEIVED|incorrect server side session")
_STOPPED = re.compile(r"stopped SparkContext|SparkContext (?:was|has been) (?:shut ?down|stopped)|SparkContext is stopped", re.IGNORECASE)
_MISSING_FILE = re.compile(r"(?:PATH_NOT_FOUND|FILE_NOT_EXIST|FileNotFound|does not exist)", re.IGNORECASE)
_NO_FOLDER = re.compile(r"Mkdirs failed to create file:/*(/.+?)(?: \(exists=|\s*$)", re.MULTILINE)
_LOCAL_PATHS = re.compile(r"file:/*(?=/)([^\s,;'\"]+)")


@contextmanager
def translating() -> Iterator[None]:
    """Raise one of our errors for what Spark raises inside the block, and anything else as it is."""
    try:
        yield
    except Exception as error:
        if type(error).__module__.partition(".")[0] not in ("pyspark", "py4j", "grpc"):
            raise
        raise translated(error) from error


def translated(error: Exception) -> LakeledgerError:
    """Spark's error as ours.

    Unavailable if Spark itself or a store is gone, Invalid if what was asked for is wrong, such as a column that is not there, or files
    on a disk that Spark does not see, else Failed.
    """
    if found := _lost(error) or storage_failure(str(error)) or not_shared(error):
        return found
    wrong = classify(error) is ErrorType.SCHEMA
    return Invalid(explain(error)) if wrong else Failed(explain(error))


def not_shared(error: Exception) -> Invalid | None:
    """The error for a file that is here, and that the machines that Spark runs on do not see."""
    text = str(error)
    if unmade := _NO_FOLDER.search(text):
        return Invalid(f"Spark cannot make {unmade[1]}: choose a warehouse that every machine it runs on shares and may write to")
    if not _MISSING_FILE.search(text) or "Permission denied" in text:
        return None
    here = [path for found in _LOCAL_PATHS.findall(text) if Path(path := found.rstrip(".")).exists()]
    return Invalid(f"{here[0]} is here, but not where Spark runs: put it on storage that all its machines share") if here else None


def _lost(error: Exception) -> LakeledgerError | None:
    """The error if not the work failed, but Spark is gone."""
    if _ENDED_SESSION.search(f"{_ask(error, 'getCondition')} {error}"):
        return Unavailable(ENDED)
    status = _ask(error, "getGrpcStatusCode") or _ask(error, "code")
    match getattr(status, "name", None):
        case "UNAVAILABLE":
            return Unavailable(f"the Spark Connect server does not answer: {_unreached(error)}; see that it runs, then run it again")
        case "UNAUTHENTICATED" | "PERMISSION_DENIED":
            return Forbidden("the Spark Connect server refuses the user or the token of `remote` under [spark]")
    if _STOPPED.search(str(error)):
        return Unavailable(why_ended())
    if type(error).__name__ == "Py4JNetworkError":
        return Unavailable("Spark's JVM has ended: start this process again; if it ran out of memory, raise spark.driver.memory")
    return None


def _unreached(error: Exception) -> str:
    """Who did not answer, out of gRPC's page about it."""
    found = re.search(r"(?:ipv[46]:|unix:)?([\w.\[\]%:-]+:\d+): (?:[^:\"]*: )*([^:\"()]+)", str(error))
    return f"{found[1].removeprefix('ipv4:').removeprefix('ipv6:')}: {found[2].strip()}" if found else _first_line(str(error))


def _ask(error: Exception, method: str) -> Any:
    """What the error answers, if it knows the question; one of the JVM cannot answer once that is gone."""
    try:
        return getattr(error, method)()
    except Exception:  # noqa: BLE001 - a failure to describe a failure must not hide it
        return None


def explain(error: Exception) -> str:
    """What Spark says, in one line: what failed and each deeper reason, without the call sites of the JVM."""
    text = str(error)
    if "Traceback (most recent call last)" in text:  # a Python function: its own last words say it all
        return f"a Python function failed: {text.strip().splitlines()[-1]}"
    outer, *causes = text.split("\nCaused by: ")
    found = [_first_line(outer), *(_whole(cause) for cause in causes)]
    reasons = [reason for reason in dict.fromkeys(found) if reason] or [type(error).__name__]
    if unreadable := re.search(r"reading file (?:file:/*(?=/))?(\S+)\.$", reasons[0]):
        why = " ← ".join(re.sub(r"^\[[A-Z_.]+\] ", "", reason) for reason in reasons[1:])[:LONGEST]
        return f"cannot read {unreadable[1]}: {why}; correct the file or the source's schema, nothing of it was loaded"
    return " ← ".join(reasons)[:LONGEST]


def _first_line(text: str) -> str:
    """The message above the JVM's stack trace, and below what py4j says of itself."""
    return next(filter(None, (_clean(line) for line in text.splitlines())), "")


def _whole(text: str) -> str:
    """A deeper reason: all its lines up to the call sites."""
    return _clean(" ".join(re.split(r"\n(?:\s+at |\s+\.\.\.|Parse Mode)", text, maxsplit=1)[0].split()))


def _clean(line: str) -> str:
    line = re.sub(r"^(?:An error occurred while calling \S+|: |\([\w.$]+\) )", "", line.strip())
    return re.sub(r"^[\w.$]+(?:Exception|Error): ", "", re.sub(r"\s*SQLSTATE: \w+.*$", "", line)).strip()
