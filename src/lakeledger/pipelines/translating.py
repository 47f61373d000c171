"""Spark's own errors as ours: the one place that reads them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from lakeledger.errors import Failed, Invalid, LakeledgerError
from lakeledger.pipelines.reach import storage_failure
from lakeledger.sync.failures import ErrorType, classify

LONGEST = 1_000


@contextmanager
def translating() -> Iterator[None]:
    """Raise ours for what Spark raises inside the block, and anything else as it is."""
    try:
        yield
    except Exception as error:
        if type(error).__module__.partition(".")[0] not in ("pyspark", "py4j"):
            raise
        raise translated(error) from error


def translated(error: Exception) -> LakeledgerError:
    """Spark's error as ours: that of a store, Invalid if what was asked for is wrong, such as a column that is not there, else Failed."""
    if found := storage_failure(str(error)):
        return found
    wrong = classify(error) is ErrorType.SCHEMA
    return Invalid(explain(error)) if wrong else Failed(explain(error))


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
