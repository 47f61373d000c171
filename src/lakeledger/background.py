"""What fails where nobody looks, in the monitor, the scheduler, heartbeats, checksums: logged and kept, once while it stays the same."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from lakeledger.errors import LakeledgerError, Unavailable
from lakeledger.redaction import scrub


class Keeps(Protocol):
    """Where failures are kept, by the part that failed and what it failed at."""

    def still_open(self, part: str) -> Mapping[str, tuple[str, str]]:
        """What an earlier process left open here: id and message by subject."""
        ...

    def add(self, part: str, subject: str, message: str, error: BaseException | None) -> str:
        """Keep a failure; its id."""
        ...

    def is_over(self, id: str) -> bool:
        """Whether somebody took it for over, such as another process in which it works."""
        ...

    def settle(self, id: str, note: str) -> None:
        """It is over."""
        ...


WORKS_AGAIN = "it works again"


@dataclass
class _Failure:
    message: str
    error: BaseException | None = None
    id: str | None = None
    is_logged: bool = False


class Failures:
    """The failures of one part of the background, by subject. `report` one as often as it is seen, and `clear` what works again."""

    def __init__(self, part: str, kept: Keeps | None = None) -> None:
        self._part = part
        self._kept = kept
        self._log = logging.getLogger(f"lakeledger.{part}")
        self._lock = threading.RLock()
        self._open: dict[str, _Failure] = {}
        self._has_looked = kept is None

    def report(self, subject: str, message: str, error: BaseException | None = None) -> None:
        """Log what failed, if it is new, and keep it; what cannot be kept now is kept when it is next reported, or over.

        Never inside a transaction: it may write to the ledger.
        """
        message = scrub(message)
        with self._lock:
            self._look_back()
            found = self._open.get(subject)
            if found is None or found.message != message:
                self._settle(subject)
                found = self._open[subject] = _Failure(message, error)
            if not found.is_logged:
                self._log.error(message)
                found.is_logged = True
            if not isinstance(error, Unavailable):
                self._keep(subject, found)

    @property
    def subjects(self) -> list[str]:
        """What fails now, and what an earlier process left open."""
        with self._lock:
            self._look_back()
            return list(self._open)

    def clear(self, subject: str, note: str = WORKS_AGAIN) -> None:
        """What failed is over; the note says why."""
        with self._lock:
            self._look_back()
            if subject in self._open:
                self._log.info("%s: %s is over", self._part, self._open[subject].message)
                self._settle(subject, note)

    def replace(self, current: Mapping[str, str]) -> None:
        """Everything that fails now, message by subject: what is not in it works again."""
        with self._lock:
            self._look_back()
            for subject in [subject for subject in self._open if subject not in current]:
                self.clear(subject)
            for subject, message in current.items():
                self.report(subject, message)

    def _look_back(self) -> None:
        """Go on from what an earlier process left open, so that it is not kept twice, and is settled when it is over."""
        if self._has_looked or self._kept is None:
            return
        try:
            found = self._kept.still_open(self._part)
        except LakeledgerError:
            return  # What cannot be read now is read next time.
        self._has_looked = True
        self._open = {**{subject: _Failure(message, id=id) for subject, (id, message) in found.items()}, **self._open}

    def _keep(self, subject: str, found: _Failure) -> None:
        if self._kept is None:
            return
        try:
            if found.id is None or self._kept.is_over(found.id):
                found.id = self._kept.add(self._part, subject, found.message, found.error)
        except LakeledgerError as error:
            self._log.debug("could not be kept: %s", error)  # It was logged, and is kept at the next opportunity.

    def _settle(self, subject: str, note: str = WORKS_AGAIN) -> None:
        """Keep it as over; what was never kept is kept now, so that the ledger knows of it."""
        if (found := self._open.pop(subject, None)) is None or self._kept is None:
            return
        if found.id is None:
            self._keep(subject, found)
        try:
            if found.id is not None:
                self._kept.settle(found.id, note)
        except LakeledgerError as error:
            self._log.debug("could not be settled: %s", error)
