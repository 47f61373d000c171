"""One term of leadership: the subscriptions of all tenants, made anew when it begins and dropped when it is over."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from lakeledger.background import Failures
from lakeledger.config import AsthaSettings
from lakeledger.db import Database, Store
from lakeledger.errors import Fenced, LakeledgerError
from lakeledger.events import feed, leadership, subscribers
from lakeledger.events.feed import RegistryWatcher
from lakeledger.events.health import HealthMonitor
from lakeledger.events.leadership import Lease
from lakeledger.events.router import EventRouter
from lakeledger.events.store import EventStore
from lakeledger.events.subscribers import Factory
from lakeledger.events.subscription import Subscription, Surroundings
from lakeledger.events.workers import Workers
from lakeledger.runs import describe
from lakeledger.sync.capture import Capture

# How often a tenant is looked at again in which a subscriber could not be made.
RETRY_SECONDS = 30.0


class Tenant(Protocol):
    """What is needed of a ledger of one tenant; its subscribers are given it, too."""

    store: Store

    @property
    def sync(self) -> Capture: ...
    def close(self) -> None: ...


@dataclass
class _Served:
    """A tenant, its subscriptions, and which of its subscribers could not be made when."""

    tenant: Tenant
    router: EventRouter
    failures: Failures
    missing: dict[str, float]


class Term:
    """What one leader does: `look` reads the feed and hands out what is new, `keep` does the rest, each on a thread of its own."""

    def __init__(
        self,
        database: Database,
        lease: Lease,
        open_tenant: Callable[[str], Tenant],
        factories: Mapping[str, Factory],
        settings: AsthaSettings,
        failures: Failures,
        verified_at: float,
    ) -> None:
        self.lease = lease
        self.is_over = False
        self.wake = threading.Event()
        self._database = database
        self._open_tenant = open_tenant
        self._factories = factories
        self._settings = settings
        self._failures = failures
        self._watcher = RegistryWatcher(database)
        self._verified_at = verified_at
        self._served: dict[str, _Served] = {}
        self._around = Surroundings(settings, time.monotonic, random.random, self.may_deliver, self.wake.set)
        self._workers = {name: Workers(name, settings.threads, self._broke, self.wake.set) for name in factories}
        self._health = HealthMonitor(settings)
        self._known: set[str] | None = None
        self._saving = threading.Lock()

    def may_deliver(self) -> bool:
        """Whether nobody else can lead yet."""
        return not self.is_over and time.monotonic() - self._verified_at < self._settings.lease_seconds

    # The reader

    def look(self) -> None:
        """Hand out whatever is new, for all tenants, until nothing is. Raises Fenced when somebody else leads."""
        heads = self._verify()
        if self._known is None:
            self._known = self._watcher.tenants()
        for tenant_id in sorted({*self._known, *heads}):
            self._serve(tenant_id)
        self._health.heads = heads
        while self._read_on(heads):
            if time.monotonic() - self._verified_at > self._settings.lease_seconds / 3:
                heads = self._verify()

    def _verify(self) -> dict[str, int]:
        """See that this process still leads, and say so to whoever doubts it; the newest change of every tenant."""
        began = time.monotonic()
        found = self._watcher.look()
        if found.lease is None or found.lease.token != self.lease.token or found.lease.holder is None:
            raise Fenced("another process delivers the events now")
        if found.lease.suspected_at is not None:
            leadership.answer(self._database, self.lease.token)
        was_late = not self.may_deliver()
        self._verified_at = began
        if was_late:
            self.wake.set()
        return found.heads

    def _read_on(self, heads: Mapping[str, int]) -> bool:
        """A page for every tenant and place in its log; whether there may be more."""
        is_more = False
        for tenant_id, head in heads.items():
            served = self._served.get(tenant_id)
            for after, readers in served.router.places(head).items() if served else ():
                if served and (changes := feed.page(served.tenant.store, after)):
                    served.router.route(changes, after, readers)
                    is_more = True
        return is_more

    def _serve(self, tenant_id: str) -> None:
        """Begin with a tenant, and with those of its subscribers that could not be made before."""
        served = self._served.get(tenant_id)
        if served is None:
            tenant = self._open_tenant(tenant_id)
            served = _Served(tenant, EventRouter(()), tenant.sync.background("astha"), dict.fromkeys(self._factories, 0.0))
            self._served[tenant_id] = served
        now = time.monotonic()
        made = [self._make(served, name) for name, due in served.missing.items() if now >= due]
        if any(made):
            served.router = EventRouter([*served.router.subscriptions, *(each for each in made if each)])
            served.missing = {name: due for name, due in served.missing.items() if name not in {each.name for each in made if each}}
            self.wake.set()

    def _make(self, served: _Served, name: str) -> Subscription | None:
        """The subscription, or None if its subscriber cannot be made now, which is reported."""

        def report(message: str | None, error: BaseException | None) -> None:
            if message is None:
                served.failures.clear(name)
            else:
                served.failures.report(name, message, error)

        try:
            subscriber = subscribers.make(name, self._factories[name], served.tenant)
        except Exception as error:  # noqa: BLE001 - the subscriber is somebody else's
            report(f"subscriber {name} cannot be made, and is tried again: {_told(error)}", error)
            served.missing[name] = time.monotonic() + RETRY_SECONDS
            return None
        report(None, None)
        draft = served.tenant.sync.dead_letters.draft
        return Subscription(name, subscriber, self._fenced(served), self._workers[name], self._around, draft, report)

    # The keeper

    def keep(self) -> float | None:
        """Start what is due and write down what was done; how long until there is more to do, if that is known."""
        waits = [each.tick() for each in self._subscriptions()]
        waits += [workers.relieve() for workers in self._workers.values()]
        self._save()
        for served in list(self._served.values()):
            self._health.look(served.tenant.store, served.router.subscriptions, served.failures)
        return min((each for each in waits if each is not None), default=None)

    @property
    def has_unread(self) -> bool:
        """Whether somebody has no room yet for what is there to be read."""
        heads = self._health.heads
        return any(each.is_following and each.read_to < heads.get(each.tenant_id, 0) for each in self._subscriptions())

    @property
    def is_at_work(self) -> bool:
        """Whether something is to be done although nobody commits anything."""
        return any(served.missing for served in list(self._served.values())) or any(each.is_at_work for each in self._subscriptions())

    def _subscriptions(self) -> Iterator[Subscription]:
        for served in list(self._served.values()):
            yield from served.router.subscriptions

    def _save(self, *, is_last: bool = False) -> None:
        """One transaction per tenant in which something happened. One whose store cannot be written does not hold up the others."""
        failed: Exception | None = None
        with self._saving:
            for served in list(self._served.values()):
                try:
                    self._save_tenant(served, is_last=is_last)
                except LakeledgerError as error:
                    failed = error
        if failed:
            raise failed

    def _save_tenant(self, served: _Served, *, is_last: bool) -> None:
        found = [(each, progress) for each in served.router.subscriptions if (progress := each.progress(is_last=is_last))]
        if not found:
            return
        try:
            EventStore(self._fenced(served)).save([progress for _, progress in found])
        except BaseException:
            for each, progress in found:
                each.unsaved(progress)
            raise
        for each, progress in found:
            each.saved(progress)

    def _fenced(self, served: _Served) -> Store:
        """The tenant's store, which refuses to write once somebody else leads."""
        return replace(served.tenant.store, check=lambda tx: leadership.check(tx, self.lease.token))

    def _broke(self, error: BaseException) -> None:
        self._failures.report("delivery", f"a delivery broke: {_told(error)}", error)

    # The end

    def close(self, grace_seconds: float) -> None:
        """Let what is under way end, write down how far it got, and let the next one lead. Raises what the store raises."""
        for workers in self._workers.values():
            workers.stop()
        ends = time.monotonic() + grace_seconds
        for workers in self._workers.values():
            workers.join(max(0.0, ends - time.monotonic()))
        try:
            if not self.is_over:
                self._save(is_last=True)
                leadership.release(self._database, self.lease.token)
        finally:
            self.is_over = True
            for served in self._served.values():
                served.tenant.close()


def _told(error: BaseException) -> str:
    return str(error) if isinstance(error, LakeledgerError) else describe(error)
