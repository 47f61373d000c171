"""The records of one tenant: emitted and read through the repository that the settings choose."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any, Protocol

from lakeledger import clock, records
from lakeledger.config import RecordSettings, S3Settings
from lakeledger.db import Store, Transaction
from lakeledger.db.pages import Page
from lakeledger.errors import Invalid
from lakeledger.records import MaintainedRepository, registry
from lakeledger.records.environment import environment, filled
from lakeledger.records.following import Following
from lakeledger.records.forgetting import Forgotten, audit
from lakeledger.records.model import MetadataContext, MetadataRecord, MetadataTarget, Target, chunks
from lakeledger.records.moving import Moved
from lakeledger.records.producing import Emitted, MetadataProducer, MetadataProducerRunner, MetadataRequest, ProducerResult
from lakeledger.records.query import MetadataQuery
from lakeledger.records.registry import Kinds, Policy

CHUNK = 10_000
PAGE = 1_000
LEDGER, DIRECTLY = "sql", "none"
LOOK_SECONDS, POLL_SECONDS = 5.0, 0.2


class Quarantine(Protocol):
    """Where records wait that do not look like their kind."""

    def set_aside(self, record: MetadataRecord, why: str) -> object: ...
    def replay(
        self, store: Callable[[Iterable[MetadataRecord]], object], kind: str | None, limit: int | None, *, dry_run: bool
    ) -> object: ...


class Bus(Protocol):
    """What brings emitted records to the repository, if not they themselves."""

    def publish(self, records: Sequence[MetadataRecord]) -> Emitted: ...
    def close(self) -> None: ...


OpenBus = Callable[[str, Callable[[Sequence[MetadataRecord]], Emitted], Mapping[str, str]], Bus]


class Records:
    """The facts of one tenant."""

    def __init__(
        self,
        store: Store,
        settings: RecordSettings | None = None,
        s3: S3Settings | None = None,
        actor: str = "lakeledger",
        quarantine: Quarantine | None = None,
        folder: Callable[[], str] | None = None,
        days: float = 90.0,
        open_bus: OpenBus | None = None,
    ) -> None:
        self._store = store
        self._settings = settings or RecordSettings()
        self._s3 = s3
        self._actor = actor
        self._quarantine = quarantine
        self._folder = folder
        self._days = days
        self._open_bus = open_bus

    @cached_property
    def repository(self) -> MaintainedRepository:
        """Where emitted records are kept, and read from."""
        return records.open(self._settings.repository, self._store, self._s3, self._folder)

    @cached_property
    def _bus(self) -> Bus | None:
        """By what emitted records travel, if a setting says so; opened when the first one is emitted."""
        if self._open_bus is None or self._settings.bus == DIRECTLY:
            return None
        return self._open_bus(self._settings.bus, self._kept, self._settings.bus_options)

    @property
    def bus_options(self) -> Mapping[str, str]:
        """What Kafka's clients are given."""
        return self._settings.bus_options

    @cached_property
    def _following(self) -> Following | None:
        """What brings to a repository elsewhere what commits write, which is always in the ledger."""
        if self._settings.repository == LEDGER:
            return None
        ledger = records.open(LEDGER, self._store, self._s3, self._folder)
        return Following(self._store, ledger, self.repository)  # type: ignore[arg-type]

    @property
    def _current(self) -> MaintainedRepository:
        """The repository with everything that is known by now."""
        if self._following:
            self._following.catch_up()
        return self.repository

    @property
    def kinds(self) -> Kinds:
        """What records of each kind look like, and what becomes of those that do not."""
        return Kinds(self._store, self._actor)

    @cached_property
    def environment(self) -> dict[str, Any]:
        """Where this process runs, as every record says it."""
        return environment(self._store.tenant_id, self._settings)

    @cached_property
    def runner(self) -> MetadataProducerRunner:
        """What asks producers, and stores what they say."""
        return MetadataProducerRunner(self.emit_many)

    def context(self, job_id: str | None = None, run_id: str | None = None, **extras: Any) -> MetadataContext:
        """The context of an execution here, with cluster, workspace, tenant, orchestrator and schedule."""
        return filled(MetadataContext(job_id, run_id, self._store.tenant_id, extras), self.environment)

    def record(
        self,
        target: Target,
        kind: str,
        payload: dict[str, Any],
        producer_id: str,
        *,
        context: MetadataContext | None = None,
        **more: Any,
    ) -> MetadataRecord:
        """A record to be emitted; a target may be named as a table, whose source is then its producer. Raises Invalid."""
        about = target if isinstance(target, MetadataTarget) else _table(target, producer_id)
        return MetadataRecord(about, context or self.context(), kind, payload, producer_id, **more)

    def emit(self, record: MetadataRecord) -> MetadataRecord | None:
        """Keep a record; as it is kept, or None if it was set aside as a dead letter. Raises Invalid.

        By a bus it is published: then it is not lost, and has no place in the log yet that is known here.
        """
        made = self._complete(record)
        if self._bus is None:
            return self.store(made)
        return made if self._published([made]).quarantined == 0 else None

    def emit_many(self, records: Iterable[MetadataRecord]) -> Emitted:
        """Keep many records, in their order. Should it fail, emit them again: each is kept once. Raises Invalid."""
        made = (self._complete(record) for record in records)
        return self.bulk_store(made) if self._bus is None else self._published(made)

    def produce(self, producer: MetadataProducer, request: MetadataRequest, *, must_succeed: bool = False) -> ProducerResult:
        """Ask a producer about a target, and keep what it says. Raises what it raises only if it must succeed."""
        return self.runner.execute(producer, request, must_succeed=must_succeed)

    def store(self, record: MetadataRecord) -> MetadataRecord | None:
        """The same of a record that says all of its context itself."""
        return self.repository.store(record) if self._accepted([record]) else None

    def bulk_store(self, records: Iterable[MetadataRecord]) -> Emitted:
        """The same of many."""
        stored = duplicates = quarantined = 0
        for chunk in chunks(records, CHUNK):
            accepted = self._accepted(chunk)
            done = self.repository.bulk_store(accepted)
            stored, duplicates = stored + done.stored, duplicates + done.duplicates
            quarantined += len(chunk) - len(accepted)
        return Emitted(stored, duplicates, quarantined)

    def _published(self, records: Iterable[MetadataRecord]) -> Emitted:
        """What became of records that went by the bus; they are checked at this door, too."""
        total = Emitted()
        for chunk in chunks(records, CHUNK):
            accepted = self._accepted(chunk)
            done = self._bus.publish(accepted) if self._bus and accepted else Emitted()
            aside = len(chunk) - len(accepted)
            total = Emitted(
                total.stored + done.stored, total.duplicates + done.duplicates, total.quarantined + aside, total.published + done.published
            )
        return total

    def _kept(self, records: Sequence[MetadataRecord]) -> Emitted:
        """The repository's subscriber of the bus."""
        done = self.repository.bulk_store(records)
        return Emitted(done.stored, done.duplicates)

    def set_aside(self, record: MetadataRecord, why: str) -> None:
        """Keep a record as a dead letter, which `replay` stores once it can. Raises Invalid if there is no quarantine."""
        if self._quarantine is None:
            raise Invalid("these records have no quarantine: open them with a ledger")
        self._quarantine.set_aside(record, why)

    def replay(self, kind: str | None = None, limit: int | None = None, *, dry_run: bool = True) -> Any:
        """Store what was set aside, of one kind or of all, now that its kind is registered; what is still refused waits on.

        A dry run only counts.
        """
        if self._quarantine is None:
            raise Invalid("these records have no quarantine: open them with a ledger")
        return self._quarantine.replay(self._store_strictly, kind, limit, dry_run=dry_run)

    def latest(self, target: Target | None = None, kind: str | None = None) -> MetadataRecord | None:
        """The newest record of a kind: about a target, about a table (`silver.orders`, or `orders` of `main`), or about anything."""
        return self._current.latest(target, kind)

    def history(
        self,
        target: Target | None = None,
        kind: str | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        limit: int | None = 100,
        after: str | None = None,
    ) -> Page[MetadataRecord]:
        """Records of a kind, newest first, a page at a time: about a target, about a table, or about all.

        `since` and `until` are times with a time zone, of which `until` is not part. Raises Invalid for what is none.
        """
        return self._current.history(target, kind, since, until, limit, after)

    def query(self, query: MetadataQuery | None = None, **chosen: Any) -> Page[MetadataRecord]:
        """The records that a query asks for, newest first, a page at a time: `query(kinds=["recon_result"], job_id="shop")`."""
        return self._current.query(replace(query, **chosen) if query else MetadataQuery(**chosen))

    def log(self, after: int = 0, limit: int | None = 1_000, kind: str | None = None) -> list[MetadataRecord]:
        """What was stored behind that place in the log, in that order."""
        return self._current.log(after, limit, kind)

    def head(self) -> int:
        """The place of the newest record in the log; 0 if there is none."""
        return self._current.head()

    def tail(
        self, after: int = 0, kind: str | None = None, *, follow: bool = False, stop: threading.Event | None = None
    ) -> Iterator[MetadataRecord]:
        """What was stored behind that place in the log, each once and in that order; to `follow` goes on with what comes, until `stop`."""
        told, place = stop or threading.Event(), after
        while not told.is_set():
            mark = self._store.database.mark() if follow else None
            found = self.log(place, PAGE, kind)
            for record in found:
                yield record
                place = record.sequence or place
            if not found:
                if not follow:
                    return
                # A commit is heard of at once; files of others are looked for.
                self._store.rest(LOOK_SECONDS if self._following is None else POLL_SECONDS, mark, told)

    def compact(self, older_than: timedelta, *, dry_run: bool = True) -> list[Moved]:
        """Move records that are older to Parquet, except the last one about each target; history gives the same answers as before.

        What was moved, or with a dry run would be, by kind.
        """
        return self._current.compact(clock.now() - older_than, dry_run=dry_run)

    def retain(self, *, dry_run: bool = True, reason: str | None = None) -> list[Forgotten]:
        """Delete records that are older than their kind is kept; what went is a record of the kind `records_retention`.

        A dry run says of every kind how long it is kept, and how many are older.
        """
        gone = self._current.forget(self._days, dry_run=dry_run)
        if gone and not dry_run:
            self.repository.store(self._complete(audit(gone, self._actor, reason)))
        return gone

    def close(self) -> None:
        """Let go of what the bus and the repository have open."""
        if (bus := vars(self).pop("_bus", None)) is not None:
            bus.close()
        if "repository" in vars(self):
            self.repository.close()

    def _accepted(self, found: list[MetadataRecord]) -> list[MetadataRecord]:
        """Those that look like their kind, or all if nobody asks. Raises Invalid where others are refused."""
        with self._store.read() as tx:
            policy = registry.policy_of(tx)
            refused = {} if policy is Policy.OPEN else _refused(tx, found)
        if not refused:
            return found
        if policy is Policy.STRICT or self._quarantine is None:
            raise Invalid(_refusal(found, refused))
        for number, why in refused.items():
            self._quarantine.set_aside(found[number], why)
        return [record for number, record in enumerate(found) if number not in refused]

    def _store_strictly(self, found: Iterable[MetadataRecord]) -> None:
        records = list(found)
        with self._store.read() as tx:
            refused = _refused(tx, records)
        if refused:
            raise Invalid(_refusal(records, refused))
        self.repository.bulk_store(records)

    def _complete(self, record: MetadataRecord) -> MetadataRecord:
        context = filled(record.context, self.environment)
        return record if context is record.context else replace(record, context=context, verbatim=True)


def _refused(tx: Transaction, found: list[MetadataRecord]) -> dict[int, str]:
    """Which of them do not look like their kind, and why."""
    known: dict[Any, Any] = {}
    said = ((number, registry.problems(tx, record, known)) for number, record in enumerate(found))
    return {number: why for number, why in said if why}


def _refusal(found: list[MetadataRecord], refused: dict[int, str]) -> str:
    number, why = next(iter(refused.items()))
    more = f"; and {len(refused) - 1} more" if len(refused) > 1 else ""
    return f"the record of the kind {found[number].kind} about {found[number].target.name} is refused: {why}{more}"


def _table(name: str, source_id: str) -> MetadataTarget:
    schema, _, table = name.rpartition(".")
    return MetadataTarget(source_id, schema or None, table)
