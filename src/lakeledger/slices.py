"""What a ledger is made of, each slice imported when it is first asked for: most commands, and most programs, need one or two of them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from lakeledger.config import Settings
from lakeledger.db import Store
from lakeledger.errors import Invalid, LakeledgerError
from lakeledger.runs import Runs, Worker
from lakeledger.sync.lost_steps import note_lost_step
from lakeledger.tables.warehouse import Warehouse

if TYPE_CHECKING:
    from lakeledger.adoption import Adoption
    from lakeledger.backfilling import Backfill
    from lakeledger.batches import Batches
    from lakeledger.bus.subscribing import BusDelivery
    from lakeledger.collecting import Collectors
    from lakeledger.columns import Columns
    from lakeledger.delta_publishing import DeltaPublisher
    from lakeledger.events import Changes
    from lakeledger.events.astha import Astha
    from lakeledger.events.operations import Events
    from lakeledger.events.subscribers import Factory
    from lakeledger.insights import Insights
    from lakeledger.maintenance.maintain import Maintenance
    from lakeledger.maintenance.mirror import Mirror
    from lakeledger.maintenance.pins import Pin
    from lakeledger.maintenance.repair import Repair
    from lakeledger.maintenance.snapshots import Snapshots
    from lakeledger.pipelines import Context
    from lakeledger.pipelines.streaming.writer import StreamWriter
    from lakeledger.publishing import Publisher
    from lakeledger.quality import SuiteResult
    from lakeledger.quality.bands.slice import Bands
    from lakeledger.quality.freshness import Freshnesses
    from lakeledger.recon import Recon
    from lakeledger.records import MetadataRecord
    from lakeledger.records.producing import Emitted
    from lakeledger.records.slice import Bus, Records
    from lakeledger.runs import ActiveRun, Fence, Heartbeats
    from lakeledger.sync import Capture, DeadLetters, Errors, Positions, Schemas
    from lakeledger.tables import DeltaPublication, Publication, Tables
    from lakeledger.tables.checksums import Checksums


class Slices:
    """The slices of one tenant over one store."""

    settings: Settings
    store: Store
    worker: Worker
    runs: Runs
    _warehouse: Warehouse
    _threads: WeakSet[Checksums | Heartbeats | Astha | StreamWriter]  # of every tenant and task, to be closed with the whole ledger
    for_tenant: Callable[[str], Any]
    _right: Callable[..., AbstractContextManager[Fence]]
    _fence: Callable[..., Fence | None]
    run: Callable[..., ActiveRun]
    context: Callable[[], Context]
    check: Callable[..., SuiteResult]

    def _wire(self, store: Store, worker: Worker) -> None:
        self.store = store
        self.worker = worker
        self.runs = Runs(store, worker, note_lost_step)
        self._making = threading.RLock()
        self._capture: Capture | None = None
        self._at_close: list[Callable[[], None]] = []
        self._publisher: Publisher | None = None
        self._records: Records | None = None
        self._writers: WeakSet[StreamWriter] = WeakSet()

    def at_close(self, action: Callable[[], None]) -> None:
        """Do that when this tenant's part of the ledger is closed."""
        self._at_close.append(action)

    def close_writers(self) -> None:
        """Commit what stream writers have gathered, and close them. Raises what one failed by, unless somebody has heard of it before."""
        for writer in list(self._writers):
            writer.close()

    def _unwire(self) -> None:
        """Stop what the slices run in the background."""
        while self._at_close:
            self._at_close.pop()()
        if self._capture:
            self._capture.close()

    @property
    def sync(self) -> Capture:
        """Where capture stands: positions, schema versions, sync runs, errors and dead letters."""
        with self._making:
            if self._capture is None:
                from lakeledger.sync.capture import Capture

                settings = self.settings
                self._capture = Capture(
                    self.store, self.worker, settings.lease_seconds, settings.capture, settings.retention, self._threads
                )
            return self._capture

    @property
    def positions(self) -> Positions:
        """How far each source was read."""
        return self.sync.positions

    @property
    def schemas(self) -> Schemas:
        """The schema versions of captured tables."""
        return self.sync.schemas

    @property
    def errors(self) -> Errors:
        """What failed, and whether it was retried or settled."""
        return self.sync.errors

    @property
    def dead_letters(self) -> DeadLetters:
        """Records that could not be written."""
        return self.sync.dead_letters

    @property
    def tables(self) -> Tables:
        """Tables, their versions and files."""
        from lakeledger.tables import Tables

        return Tables(self.store, self.worker, self._warehouse.path, note_lost_step, self.settings.s3)

    @property
    def columns(self) -> Columns:
        """Columns: rename, drop and add them without touching files."""
        from lakeledger.columns import Columns

        return Columns(self.store, self._warehouse.path, self._right, self.publisher)

    @property
    def adoption(self) -> Adoption:
        """What takes tables of others into the ledger."""
        from lakeledger.adoption import Adoption

        return Adoption(self.store, self._warehouse.claim, self.settings.s3, self._right, self.publisher)

    @property
    def batches(self) -> Batches:
        """The batches of sources: which tables have them, and taking them back with a rewind."""
        from lakeledger.batches import Batches

        return Batches(self.store, self.run, self.publisher)

    @property
    def publisher(self) -> Publisher:
        """What lets other engines see tables, as Iceberg."""
        with self._making:
            if self._publisher is None:
                from lakeledger.publishing import Publisher

                self._publisher = Publisher(self.store, self.settings, self._warehouse.path)
            return self._publisher

    @property
    def delta(self) -> DeltaPublisher:
        """What lets other engines see tables, as Delta."""
        from lakeledger.delta_publishing import DeltaPublisher

        return DeltaPublisher(self.store, self.settings, self._warehouse.path)

    def publish(
        self, table: str, formats: Sequence[str] | None = None, *, metadata: str | None = None
    ) -> tuple[Publication | None, DeltaPublication | None]:
        """Let other engines see a table as it is now, in each of its formats: what they see as Iceberg, and as Delta.

        `formats` and `metadata` say for good which these are (`["iceberg", "delta"]`) and when others see a version. Raises NotFound,
        Invalid, Unpublishable if one of the formats has no place for the table, or Conflict if its Delta log was written by others.
        """
        if formats is not None:
            self.publisher.set_formats(table, formats)
        if metadata is not None:
            self.publisher.set_mode(table, metadata)
        wanted = self.publisher.formats(table)
        failed: LakeledgerError | None = None
        if "iceberg" in wanted:
            try:
                self.publisher.publish(table)
            except Invalid as error:
                failed = error  # what one format has no place for, the other may
        if "delta" in wanted:
            self.delta.publish(table)
        if failed:
            raise failed
        return self.tables.publication(table), self.tables.delta(table)

    @property
    def snapshots(self) -> Snapshots:
        """The versions of tables: tags, policies, and why each version is kept."""
        from lakeledger.maintenance.expiry import unheard
        from lakeledger.maintenance.snapshots import Snapshots

        lease = self.settings.lease_seconds
        return Snapshots(self.store, self.worker, self.publisher, unheard, lease, lambda: self.sync.background("pins"))

    def pin(self, table: str, version: int | str | None = None, at: datetime | str | None = None) -> Pin:
        """A reader of a version, to be used in a `with` block, which gives its view: until it ends, the version does not expire."""
        return self.snapshots.pin(table, version, at)

    @property
    def maintenance(self) -> Maintenance:
        """What expires, removes, sweeps and repairs."""
        from lakeledger.maintenance.expiry import unheard
        from lakeledger.maintenance.maintain import Maintenance

        return Maintenance(self.store, self.worker, self._warehouse.path, self.settings.s3, self.tables, self.runs, self.run, unheard)

    @property
    def mirror(self) -> Mirror:
        """The lake's own tables: runs, steps, quality results and keys of the tenant as tables of its lake."""
        from lakeledger.maintenance.mirror import Mirror

        return Mirror(self.store, self.settings, self.run, self.context, lambda: self.snapshots)

    def _follow_runs(self) -> None:
        """Have the lake's own tables made on the first run, and follow the others, where the settings do not say no."""
        if self.settings.mirror.enabled:
            self.mirror.follow(self.sync.background("mirror"))

    @property
    def repair(self) -> Repair:
        """Compares tables with storage and with what other engines see, and repairs what can be repaired."""
        from lakeledger.maintenance.repair import Repair

        return Repair(self.store, self.tables, self.publisher, self.delta, self.settings.s3)

    @property
    def recon(self) -> Recon:
        """Reconciliations: whether two copies of the same rows agree."""
        from lakeledger.recon import Recon

        return Recon(self.store, self.run, self.context, lambda: self.sync.masking)

    @property
    def records(self) -> Records:
        """The facts that are known."""
        with self._making:
            if self._records is None:
                from lakeledger.records.slice import Records
                from lakeledger.runs import user_name
                from lakeledger.sync.quarantined_records import QuarantinedRecords

                quarantine = QuarantinedRecords(lambda: self.dead_letters)
                self._records = Records(
                    self.store,
                    self.settings.records,
                    self.settings.s3,
                    user_name(),
                    quarantine,
                    lambda: f"{self._warehouse.path()}/_records",
                    self.settings.retention.records_days,
                    _open_bus,
                )
                self.at_close(self._records.close)
            return self._records

    @property
    def collectors(self) -> Collectors:
        """What says facts about tables and sources when it is asked: schemas, statistics, differences, checks."""
        from lakeledger.collecting import Collectors

        return Collectors(
            self.store, lambda: self.records, lambda: self.context().spark, self.check, lambda each: self.recon.run(each, now=True)
        )

    @property
    def bus(self) -> BusDelivery:
        """What brings records to subscribers of their log, and from and to Kafka."""
        from lakeledger.bus.subscribing import BusDelivery

        failures = self.sync.background
        return BusDelivery(
            self.store, lambda: self.records, lambda: self.positions, lambda: self.dead_letters, lambda: failures("bus", "subscribers")
        )

    @property
    def backfill(self) -> Backfill:
        """What brings history from before to the records."""
        from lakeledger.backfilling import Backfill

        return Backfill(self.store, lambda: self.records)

    @property
    def insights(self) -> Insights:
        """What follows from what is known: plans, gates, trends, adherence and lineage."""
        from lakeledger.insights import Insights
        from lakeledger.runs import user_name

        return Insights(self.store, lambda: self.records, user_name())

    @property
    def bands(self) -> Bands:
        """What is usual: tolerance bands of volumes and checks, and what people decided about points."""
        from lakeledger.quality.bands.slice import Bands

        return Bands(self.store, self.settings.bands)

    @property
    def freshness(self) -> Freshnesses:
        """How fresh tables are, how old they may become, and which are silent."""
        from lakeledger.quality.freshness import Freshnesses

        return Freshnesses(self.store, self.settings.bands)

    @property
    def changes(self) -> Changes:
        """The change log, in the order of the commits."""
        from lakeledger.events import Changes

        return Changes(self.store)

    @property
    def events(self) -> Events:
        """How far subscribers got, and what they could not handle."""
        from lakeledger.events.operations import Events

        return Events(self.store, self.dead_letters)

    def subscribers(self, *, components: bool = True) -> dict[str, Factory]:
        """Who hears of changes, as what makes it from the ledger of a tenant: components, and those of the settings. Raises Invalid."""
        from lakeledger.events.subscribers import configured
        from lakeledger.maintenance import components as made

        return {**(made() if components else {}), **configured(self.settings.subscribers, self.settings.base)}

    def astha(
        self,
        subscribers: Mapping[str, Factory] | None = None,
        *,
        components: bool = True,
        tell: Callable[[str], None] = lambda _: None,
    ) -> Astha:
        """What delivers every change of every tenant to components, to these subscribers and to those of the settings, in a `with` block.

        A subscriber is given as what makes it from the ledger of a tenant: `ledger.astha({"mirror": Mirror})`. Raises Invalid.
        """
        from lakeledger.events.astha import Astha

        factories = {**self.subscribers(components=components), **(subscribers or {})}
        failures = self.sync.background("astha", "delivery")
        made = Astha(self.store, self.worker, self.for_tenant, factories, self.settings.astha, failures, tell)
        self._threads.add(made)
        return made


def _open_bus(url: str, store: Callable[[Sequence[MetadataRecord]], Emitted], options: Mapping[str, str]) -> Bus:
    from lakeledger import bus

    return bus.open(url, store, options)
