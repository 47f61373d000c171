"""Work on Spark that can be stopped without stopping anybody else's.

Spark Connect stops by tag. A classic session can only stop all that runs on it, so work that may have to be stopped gets a session of its
own: the same Spark, with the settings of loads, but temporary views of other sessions are not seen there.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from lakeledger import clock
from lakeledger.errors import Failed
from lakeledger.pipelines import Context
from lakeledger.pipelines.remote import answers, is_remote

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Interruptible:
    """Spark for one piece of work. With `alone`, it can be stopped on a classic session, too."""

    def __init__(self, context: Context, *, alone: bool) -> None:
        self._context = context
        self._alone = alone
        self._lock = threading.Lock()
        self._tag = f"lakeledger-{clock.new_id()}"
        self._stopped = False
        self._tagged: SparkSession | None = None
        self._own: SparkSession | None = None
        self._given: SparkSession | None = None

    def session(self) -> SparkSession:
        """The session to work on, in whichever thread. Raises Failed once the work was stopped."""
        given = self._context.spark
        with self._lock:
            if self._stopped:
                raise Failed("it was stopped")
            if is_remote(given):
                given.addTag(self._tag)
                self._tagged = given
                return given
            if self._alone and self._given is not given:  # the first one, or one that took the place of a lost one
                self._own, self._given = self._context.sessions.new(given), given
            return self._own or given

    def interrupt(self) -> None:
        """Stop what Spark does for it, and let it do nothing more."""
        with self._lock:
            self._stopped = True
            if self._tagged is not None:
                for session in (self._tagged, *self._context.sessions.beside(self._tagged)):
                    _quietly(session, session.interruptTag, self._tag)
            if self._own is not None:
                _quietly(self._own, self._own.interruptAll)


def _quietly(session: SparkSession, interrupt: Callable[..., object], *words: str) -> None:
    """A Spark that is gone does nothing more anyway."""
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]  # py4j has no types
    from pyspark.errors import PySparkException

    with suppress(PySparkException, Py4JError, OSError):
        if answers(session):
            interrupt(*words)
