"""Subscribers that remember what they were told, and a delivery whose time passes when the test says so."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, cast

from contract.making import append, new_file
from lakeledger import Ledger
from lakeledger.config import AsthaSettings
from lakeledger.db.queries import statement
from lakeledger.events import Event, Subscriber, feed
from lakeledger.events.astha import Astha
from lakeledger.events.store import EventStore
from lakeledger.events.subscribers import Factory
from lakeledger.events.subscription import Subscription, Surroundings
from lakeledger.events.workers import Workers

QUICK: dict[str, Any] = {"first_pause_seconds": 0.005, "longest_pause_seconds": 0.02, "lease_seconds": 2.0}


def nothing(_: Event[Any]) -> None:
    """Handle any event."""


@dataclass
class Recorder:
    """A subscriber of one tenant."""

    tenant: str
    tables: Sequence[str]
    handle: Callable[[Event[Any]], None] = nothing
    refresh: Callable[[], None] = lambda: None
    health: Callable[[], None] = lambda: None
    tried: list[Event[Any]] = field(default_factory=list)
    seen: list[Event[Any]] = field(default_factory=list)
    refreshes: int = 0
    probes: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def on_event(self, event: Event[Any]) -> None:
        with self.lock:
            self.tried.append(event)
        self.handle(event)
        with self.lock:
            self.seen.append(event)

    def on_health(self) -> None:
        self.probes += 1
        self.health()

    def on_refresh(self) -> None:
        self.refreshes += 1
        self.refresh()

    def subscribed_tables(self) -> Sequence[str]:
        return self.tables

    @property
    def seqs(self) -> list[int]:
        return [event.seq for event in self.seen]


class Recorders:
    """Makes a recorder for each tenant, and remembers them."""

    def __init__(self, *tables: str, **options: Any) -> None:
        self._tables = tables or ("table_files",)
        self._options = options
        self.of: dict[str, Recorder] = {}

    def __call__(self, ledger: Ledger) -> Recorder:
        made = self.of[ledger.settings.tenant] = Recorder(ledger.settings.tenant, self._tables, **self._options)
        return made

    @property
    def seen(self) -> list[Event[Any]]:
        return self.of["default"].seen if "default" in self.of else []


@contextmanager
def delivering(ledger: Ledger, factories: dict[str, Factory], **settings: Any) -> Iterator[Astha]:
    """Astha in the background, with pauses of milliseconds."""
    ledger.settings = replace(ledger.settings, astha=AsthaSettings(**{**QUICK, **settings}))
    with ledger.astha(factories, components=False) as astha:
        yield astha


class Stage:
    """One subscription without threads: time passes by what it says that it waits for."""

    def __init__(self, ledger: Ledger, subscriber: Subscriber[Any], name: str = "sub", **settings: Any) -> None:
        self.ledger, self.now, self.waits = ledger, 0.0, list[float]()
        self.reports: list[str | None] = []
        self._jobs: deque[Callable[[], None]] = deque()
        around = Surroundings(AsthaSettings(**settings), lambda: self.now, lambda: 0.0, lambda: True, lambda: None)
        self.subscription = Subscription(
            name,
            subscriber,
            ledger.store,
            cast("Workers", self),
            around,
            ledger.dead_letters.draft,
            lambda message, _: self.reports.append(message),
        )

    def submit(self, job: Callable[[], None]) -> None:
        self._jobs.append(job)

    def read(self) -> None:
        """Read what is new."""
        if (
            self.subscription.is_following
            and self.subscription.has_room()
            and (found := feed.page(self.ledger.store, self.subscription.read_to))
        ):
            mine = [change for change in found if change.table_name in self.subscription.tables]
            self.subscription.take(mine, self.subscription.read_to, found[-1].seq)

    def work(self) -> float | None:
        """Read what is new, and do what is due; how long until there is more."""
        self.read()
        wait = self.subscription.tick()
        while self._jobs:
            self._jobs.popleft()()
        return wait

    def save(self) -> None:
        if progress := self.subscription.progress(is_last=True):
            EventStore(self.ledger.store).save([progress])
            self.subscription.saved(progress)

    def pass_time(self, steps: int = 1) -> None:
        """So many times: do what is due, then let the time pass until something is."""
        for _ in range(steps):
            self.work()
            self.save()
            wait = self.subscription.tick()
            if wait:
                self.waits.append(wait)
                self.now += wait
            while self._jobs:
                self._jobs.popleft()()
        self.save()


def load(ledger: Ledger, table: str = "silver.orders", name: str = "a") -> int:
    """A commit of one file; its number among the changes."""
    append(ledger, new_file(name), table=table)
    return head(ledger)


def head(ledger: Ledger) -> int:
    return feed.head(ledger.store)


def numbers(ledger: Ledger, table: str = "table_files", after: int = 0) -> list[int]:
    """The changes of a table of the registry."""
    with ledger.store.read() as tx:
        found = tx.all(
            statement("select seq from change_log where tenant_id = :tenant_id and table_name = :name and seq > :after order by seq"),
            name=table,
            after=after,
        )
    return [row["seq"] for row in found]
