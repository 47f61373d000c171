"""One term of leadership: the subscriptions of all tenants, made anew when it begins and dropped when it is over."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from lakeledger.background import Failures
from lakeledger.config import AsthaSettings
from lakeledger.db import Database
from lakeledger.errors import Fenced, LakeledgerError
from lakeledger.events import feed, leadership
from lakeledger.events.feed import RegistryWatcher
from lakeledger.events.health import HealthMonitor
from lakeledger.events.leadership import Lease
from lakeledger.events.served import Served, Tenant, told
from lakeledger.events.store import EventStore
from lakeledger.events.subscribers import Factory
from lakeledger.events.subscription import Subscription, Surroundings
from lakeledger.events.workers import Workers

# How long the reader waits for subscribers to be made before it reads for those that are.
MAKING_SECONDS = 0.2


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
        self._served: dict[str, Served] = {}
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
        begun = [self._serve(tenant_id) for tenant_id in sorted({*self._known, *heads})]
        if any(begun):
            self._await_made()
        self._health.heads = heads
        while self._read_on(heads):
            if time.monotonic() - self._verified_at > self._settings.lease_seconds / 3:
                heads = self._verify()

    def _await_made(self) -> None:
        """Wait a moment for subscribers that are made quickly, as most are; the others follow when they are there."""
        ends = time.monotonic() + MAKING_SECONDS
        for served in self._served.values():
            served.wait_made(ends - time.monotonic())

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

    def _serve(self, tenant_id: str) -> bool:
        """Begin with a tenant, and with those of its subscribers that could not be made before; whether some are being made."""
        served = self._served.get(tenant_id)
        if served is None:
            tenant = self._open_tenant(tenant_id)
            fenced = replace(tenant.store, check=lambda tx: leadership.check(tx, self.lease.token))
            served = self._served[tenant_id] = Served(tenant, fenced, self._factories, self._workers, self._around)
        return served.make_missing()

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
        return any(served.is_incomplete for served in list(self._served.values())) or any(each.is_at_work for each in self._subscriptions())

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

    def _save_tenant(self, served: Served, *, is_last: bool) -> None:
        found = [(each, progress) for each in served.router.subscriptions if (progress := each.progress(is_last=is_last))]
        if not found:
            return
        try:
            EventStore(served.store).save([progress for _, progress in found])
        except BaseException:
            for each, progress in found:
                each.unsaved(progress)
            raise
        for each, progress in found:
            each.saved(progress)

    def _broke(self, error: BaseException) -> None:
        self._failures.report("delivery", f"a delivery broke: {told(error)}", error)

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
