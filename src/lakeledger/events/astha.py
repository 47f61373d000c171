"""Astha: pushes every change of the registry, of every tenant, to its subscribers. Of several processes one leads, the others stand by."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Self

from lakeledger.background import Failures
from lakeledger.config import AsthaSettings
from lakeledger.db import Store
from lakeledger.db.migrate import SYSTEM_TENANT
from lakeledger.errors import Fenced, Invalid, LakeledgerError
from lakeledger.events import leadership
from lakeledger.events.leadership import Lease
from lakeledger.events.served import Tenant, told
from lakeledger.events.subscribers import Factory
from lakeledger.events.term import Term
from lakeledger.runs import Worker

# How long to wait after something went wrong with Astha itself, and how often whoever stands by looks.
PAUSE_SECONDS = 1.0
# How often at least it is looked for changes where nothing is to be done, although a commit would be told.
IDLE_SECONDS = 60.0
# How often at least it is looked at what lasts too long.
KEEP_SECONDS = 5.0
GRACE_SECONDS = 10.0
# How soon it is looked whether there is room for more of what is there.
ROOM_SECONDS = 0.02
# How soon it is seen that it is told to stop.
STOP_SECONDS = 0.5


class Astha:
    """Delivers from `start` to `close`, or while `run` lasts, with threads that do nothing while nothing is committed."""

    def __init__(
        self,
        store: Store,
        worker: Worker,
        open_tenant: Callable[[str], Tenant],
        factories: Mapping[str, Factory],
        settings: AsthaSettings,
        failures: Failures,
        tell: Callable[[str], None] = lambda _: None,
    ) -> None:
        if not factories:
            raise Invalid("nobody has subscribed: give a subscriber, or name one under [subscribers] in the settings")
        self._store = store
        self._worker = worker
        self._open_tenant = open_tenant
        self._factories = dict(factories)
        self._settings = settings
        self._failures = failures
        self._tell = tell
        self._stop = threading.Event()
        self._term: Term | None = None
        self._leads = threading.Event()
        self._reader = threading.Thread(target=self._read, name="astha-reader", daemon=True)
        self._keeper = threading.Thread(target=self._keep, name="astha-keeper", daemon=True)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    @property
    def is_leading(self) -> bool:
        """Whether this process delivers."""
        term = self._term
        return term is not None and term.may_deliver()

    def start(self) -> None:
        """Begin, in the background."""
        self._reader.start()
        self._keeper.start()

    def run(self, stop: threading.Event) -> None:
        """Deliver until told to stop."""
        with self:
            stop.wait()

    def close(self) -> None:
        """Let what is under way end, write down how far everybody got, and let another process lead."""
        self._stop.set()
        self._leads.set()
        if term := self._term:
            term.wake.set()
        for thread in (self._keeper, self._reader):
            if thread.is_alive():
                thread.join()

    # The reader: leads or stands by, and reads the feed

    def _read(self) -> None:
        while not self._stop.is_set():
            try:
                if lease := self._campaign():
                    self._lead(lease)
            except Fenced:
                self._tell("another process delivers the events now; standing by")
            except Exception as error:  # noqa: BLE001 - the outermost loop: whatever it is, it may be over soon
                self._broke(error)

    def _campaign(self) -> Lease | None:
        """Stand by until this process leads; None if it is told to stop."""
        asked_at = time.monotonic()
        while not self._stop.is_set():
            with self._store.database.transaction(SYSTEM_TENANT, write=False) as tx:
                found = leadership.find(tx)
                is_free = leadership.is_free(tx, found, self._worker)
            if is_free and (lease := leadership.take(self._store.database, self._worker, self._settings.lease_seconds)):
                return lease
            if found and time.monotonic() - asked_at >= found.lease_seconds / 2:
                asked_at = time.monotonic()
                leadership.suspect(self._store.database, found)
            self._failures.clear("")
            self._stop.wait(min(PAUSE_SECONDS, self._settings.lease_seconds / 3))
        return None

    def _lead(self, lease: Lease) -> None:
        term = Term(self._store.database, lease, self._open_tenant, self._factories, self._settings, self._failures, time.monotonic())
        self._term = term
        self._leads.set()
        self._tell(f"delivering to {', '.join(self._factories)}")
        try:
            while not self._stop.is_set() and not term.is_over:
                self._look(term)
        finally:
            self._end(term)

    def _look(self, term: Term) -> None:
        """Hand out what is new, and wait for more."""
        try:
            seen = self._store.database.mark()
            term.look()
        except Fenced:
            term.is_over = True
            raise
        except Exception as error:  # noqa: BLE001 - an outage, mostly: this process leads on unless another one does
            self._broke(error)
            return
        self._failures.clear("")
        if term.has_unread:
            self._stop.wait(ROOM_SECONDS)
            return
        # A leader that has something to do must be seen to be one before its lease is over.
        self._rest(term, self._settings.lease_seconds / 2 if term.is_at_work else IDLE_SECONDS, seen)

    def _rest(self, term: Term, seconds: float, seen: str) -> None:
        """Until somebody commits, a subscriber has come that has something to read, the time is up, or it is told to stop."""
        ends = time.monotonic() + seconds
        while not self._stop.is_set() and not term.has_unread and (left := ends - time.monotonic()) > 0:
            if self._store.database.wait(min(left, STOP_SECONDS), seen):
                return

    def _end(self, term: Term) -> None:
        self._term = None
        if not self._stop.is_set():
            self._leads.clear()
        term.wake.set()
        try:
            term.close(GRACE_SECONDS if self._stop.is_set() else 0)
        except LakeledgerError as error:  # What was handled and not written down is handled again: at least once.
            self._failures.report("", f"how far the subscribers got could not be written down at the end: {error}", error)

    # The keeper: starts what is due, and writes down what was done

    def _keep(self) -> None:
        while self._leads.wait() and not self._stop.is_set():
            term = self._term
            if term is None:
                self._stop.wait(0.01)  # between two terms
                continue
            term.wake.clear()
            pause = min(KEEP_SECONDS, self._settings.timeout_seconds / 4)
            try:
                wait = term.keep()
                pause = pause if wait is None else min(pause, wait)
            except Fenced:
                term.is_over = True
            except Exception as error:  # noqa: BLE001 - the outermost loop: whatever it is, it may be over soon
                self._broke(error)
            term.wake.wait(max(pause, 0.001))

    def _broke(self, error: Exception) -> None:
        self._failures.report("", f"Astha could not work, and tries again: {told(error)}", error)
        self._stop.wait(PAUSE_SECONDS)
