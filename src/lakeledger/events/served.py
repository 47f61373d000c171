"""One tenant that is served: its subscriptions, each made on a thread of its subscriber, so that none waits for another."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from typing import Protocol

from lakeledger.db import Store
from lakeledger.errors import LakeledgerError, Unavailable
from lakeledger.events import subscribers
from lakeledger.events.router import EventRouter
from lakeledger.events.subscribers import Factory
from lakeledger.events.subscription import Subscription, Surroundings
from lakeledger.events.workers import Workers
from lakeledger.runs import describe
from lakeledger.sync.capture import Capture

# How soon a subscriber is made again that could not be.
RETRY_SECONDS = 30.0


class Tenant(Protocol):
    """What is needed of a ledger of one tenant; its subscribers are given it, too."""

    store: Store

    @property
    def sync(self) -> Capture: ...
    def close(self) -> None: ...


class Served:
    """A tenant. `router` has the subscriptions that are made; `store` is the tenant's, and refuses to write once somebody else leads."""

    def __init__(
        self, tenant: Tenant, store: Store, factories: Mapping[str, Factory], workers: Mapping[str, Workers], around: Surroundings
    ) -> None:
        self.tenant = tenant
        self.store = store
        self.router = EventRouter(())
        self.failures = tenant.sync.background("astha")
        self._factories = factories
        self._workers = workers
        self._around = around
        self._changed = threading.Condition()
        # When those that are not made are made next, and since when others are being made.
        self._due = dict.fromkeys(factories, 0.0)
        self._since: dict[str, float] = {}

    @property
    def is_incomplete(self) -> bool:
        """Whether a subscriber is not made yet."""
        return len(self.router.subscriptions) < len(self._factories)

    def make_missing(self) -> bool:
        """Have those subscribers made whose time has come, and report those that take long; whether any is begun."""
        now = time.monotonic()
        with self._changed:
            begun = [name for name, due in self._due.items() if now >= due]
            for name in begun:
                del self._due[name]
                self._since[name] = now
            late = [name for name, since in self._since.items() if now - since >= self._around.settings.timeout_seconds]
        for name in begun:
            self._workers[name].submit(lambda name=name: self._make(name))  # type: ignore[misc]  # each its own name
        for name in late:
            self._report(name, f"subscriber {name} takes long to be made, and gets nothing until it is: look at what it does at its start")
            if name not in self._since:  # it is made meanwhile
                self._report(name, None)
        return bool(begun)

    def wait_made(self, seconds: float) -> None:
        """Until none is being made, but not for longer than that."""
        with self._changed:
            self._changed.wait_for(lambda: not self._since, max(0.0, seconds))

    def _make(self, name: str) -> None:
        """Make a subscriber and its subscription; what goes wrong is reported, and it is tried again."""
        made: Subscription | None = None
        again = 0.0

        def report(message: str | None, error: BaseException | None) -> None:
            self._report(name, message, error)

        try:
            subscriber = subscribers.make(name, self._factories[name], self.tenant)
            draft = self.tenant.sync.dead_letters.draft
            made = Subscription(name, subscriber, self.store, self._workers[name], self._around, draft, report)
        except Unavailable:  # The store is away, which whoever reads the feed reports: it is tried again with the next look.
            pass
        except Exception as error:  # noqa: BLE001 - the subscriber is somebody else's
            report(f"subscriber {name} cannot be made, and is tried again: {told(error)}", error)
            again = time.monotonic() + RETRY_SECONDS
        with self._changed:
            self._since.pop(name, None)
            if made is None:
                self._due[name] = again
            else:
                self.router = EventRouter([*self.router.subscriptions, made])
            self._changed.notify_all()
        if made:
            report(None, None)
        self._around.wake()

    def _report(self, name: str, message: str | None, error: BaseException | None = None) -> None:
        if message is None:
            self.failures.clear(name)
        else:
            self.failures.report(name, message, error)


def told(error: BaseException) -> str:
    """What an error says, ours or anybody's."""
    return str(error) if isinstance(error, LakeledgerError) else describe(error)
