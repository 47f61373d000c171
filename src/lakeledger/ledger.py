"""The ledger: opens the store and wires every slice to it. The only module that knows them all."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self
from weakref import WeakSet

from lakeledger import config
from lakeledger.codec import Id
from lakeledger.config import Settings, SparkSettings
from lakeledger.db import Store, migrate
from lakeledger.errors import Invalid, NotFound, Unavailable
from lakeledger.names import TableName
from lakeledger.runs import ActiveRun, ActiveStep, DoneBy, Fence, NewRun, this_worker, user_name
from lakeledger.runs import store as run_store
from lakeledger.sync.lost_steps import note_lost_step
from lakeledger.tables.warehouse import Move, Warehouse
from lakeledger.writes import Writes

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lakeledger.control.documents import Document, Module
    from lakeledger.jobs.scheduler import Due, Outcome
    from lakeledger.maintenance.compaction import Compacted, Compaction
    from lakeledger.pipelines import Context
    from lakeledger.pipelines.own_session import Sessions
    from lakeledger.pipelines.preview import Preview
    from lakeledger.pipelines.replaying import Replayed
    from lakeledger.pipelines.runner import ModuleResult, StepResult
    from lakeledger.runs.explain import Explanation
    from lakeledger.tables.checksums import Checksums


class Ledger(Writes):
    """The operational memory of one tenant. Use it as a context manager, or call `close`."""

    def __init__(
        self,
        settings: Settings,
        spark: SparkSession | None = None,
        start_spark: Callable[[SparkSettings], SparkSession] | None = None,
        *,
        must_exist: bool = False,
    ) -> None:
        """Open it, or make it unless it must be there. Raises Invalid or Unavailable."""
        self.settings = settings
        store = migrate.open_store(settings, must_exist=must_exist)
        self.database = store.database
        self._threads = WeakSet()
        self._spark = spark
        self._owns_spark = spark is None
        self._start_spark = start_spark
        self._spark_lock = threading.Lock()
        self._open_for(store)

    def _open_for(self, store: Store) -> None:
        """Have a warehouse and a background of one's own, for that tenant."""
        self._warehouse = Warehouse(store, self.settings)
        self._made: tuple[Checksums, Sessions] | None = None
        self._wire(store, this_worker(self.settings.costs.usd_per_hour))

    def for_tenant(self, tenant: str) -> Ledger:
        """The same ledger for another tenant, over the same connections and the same Spark. Raises Invalid for what is no name.

        To close it ends what runs in the background for it, and nothing else; to close this one closes all of them.
        """
        from lakeledger.bound import TenantLedger

        return TenantLedger(self, tenant)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Finish what runs in the background, for every tenant, and close the store. Spark is left running: it may be shared.

        Raises what a stream writer failed by whose rows are lost, unless it was raised before.
        """
        try:
            self.close_writers()
            if self._records:
                self._records.close()
            with suppress(KeyError):  # none is left
                while True:
                    self._threads.pop().close()
        finally:
            self.database.close()

    def settle(self) -> None:
        """Wait until the background has nothing left to do: every committed file has its checksum."""
        if self._made:
            self._made[0].drain()

    @property
    def warehouse(self) -> str:
        """The tenant's part of the warehouse. Raises Invalid if the ledger has none, or if its tables are in another."""
        return self._warehouse.path()

    def move_warehouse(self, *, apply: bool = False) -> Move:
        """Take the warehouse of the settings for the one that the tables are in: their files were moved. A dry run unless `apply`."""
        return self._warehouse.move(apply=apply)

    @property
    def spark(self) -> SparkSession:
        """The Spark session, started when it is first asked for, and again when it has lost its Spark.

        Raises Unavailable if nobody answers where it is to run, or if it is one that was given to the ledger, which is not opened again.
        """
        from lakeledger.pipelines import session
        from lakeledger.pipelines.reach import spark_settings
        from lakeledger.pipelines.translating import ENDED

        with self._spark_lock:
            if self._spark is None or not session.is_alive(self._spark):
                if not self._owns_spark:
                    raise Unavailable(ENDED)
                self._spark = (self._start_spark or session.open_session)(spark_settings(self.settings))
            return self._spark

    @property
    def has_spark(self) -> bool:
        """Whether there is a Spark session in this process: it was given to the ledger, or started for work that needed it."""
        return self._spark is not None

    def run(
        self,
        pipeline: str,
        trigger: str = "manual",
        *,
        by: str | None = None,
        kind: str = "pipeline",
        parameters: dict[str, Any] | None = None,
        config_version: str | None = None,
        config_hash: str | None = None,
        idempotency_key: Id | None = None,
        retry_of: Id | None = None,
        parent_run_id: Id | None = None,
        exclusive: bool = False,
        done_by: DoneBy = DoneBy.END,
    ) -> ActiveRun:
        """A run, to be used in a `with` block. An exclusive one raises Conflict while another holds the pipeline.

        One that commits exactly once, as the last thing that it does, is `done_by="commit"`: should its worker be lost after the commit,
        it counts as done. Any other one has to be run again. Raises Invalid for "steps": a run is done by those that it plans.
        """
        if done_by == DoneBy.STEPS:
            raise Invalid("a run is done by its steps once it has planned them: begin it without done_by and call `run.plan([...])`")
        new = NewRun(
            pipeline_id=pipeline,
            trigger_type=trigger,
            trigger_by=by or user_name(),
            run_kind=kind,
            parameters=parameters or {},
            config_version=config_version,
            config_hash=config_hash,
            idempotency_key=_text(idempotency_key),
            retry_of=_text(retry_of),
            parent_run_id=_text(parent_run_id),
            exclusive=exclusive,
            done_by=done_by,
        )
        return self._begin(new)

    def explain(self, run_id: Id) -> Explanation:
        """Why a run stands as it does, what of it is visible, and what to do next, in words. Raises NotFound."""
        from lakeledger.jobs import queue
        from lakeledger.runs.explain import explain
        from lakeledger.tables import store as table_store

        with self.store.read() as tx:
            run = run_store.get(tx, run_id)
            return explain(
                run,
                run_store.steps(tx, run.id),
                next(reversed(run_store.transitions(tx, run.id)), None),
                table_store.versions_of_run(tx, run.id),
                run_store.following(tx, run),
                tx.now,
                is_queued=queue.will_start_again(tx, run),
            )

    def run_modules(
        self,
        document: Document,
        base: Path,
        module: str | None = None,
        trigger: str = "manual",
        progress: Callable[[StepResult], None] = lambda _: None,
    ) -> list[ModuleResult]:
        """Run a document's modules, or one of them, each as one exclusive run; one without an active source is passed over.

        Raises NotFound, Invalid if none has an active source, or Conflict if one of them is already running; those after it are then not
        started.
        """
        chosen = [item for item in document.modules if module in (None, item.module_name)]
        if not chosen and module is not None:
            names = ", ".join(item.module_name for item in document.modules)
            raise NotFound(f"no module {module!r} in the document: it has {names or 'none'}")
        active = [item for item in chosen if item.is_active]
        return [self.run_module(item, base, trigger, progress) for item in active or chosen]

    def run_module(
        self,
        module: Module,
        base: Path,
        trigger: str = "manual",
        progress: Callable[[StepResult], None] = lambda _: None,
        parameters: dict[str, Any] | None = None,
        *,
        pipeline: str | None = None,
        only: Collection[str] | None = None,
        retry_of: Id | None = None,
        window: tuple[Any, Any] | None = None,
        full_refresh: bool = False,
    ) -> ModuleResult:
        """Run one module, in the run log under its own name or that of `pipeline`. `parameters` are kept with the run.

        With `only`, just those of its sources, as a retry of the run `retry_of`: `runs.unfinished` says which did not complete.
        `window` and `full_refresh` are as in `load`, for every load of the module.
        Raises Conflict that names the holder if it is already running, and Invalid if it has no active source.
        """
        from lakeledger.pipelines.config_version import config_version
        from lakeledger.pipelines.runner import run_module
        from lakeledger.pipelines.sources import Wanted

        chosen = module if only is None else module.only(only)
        if chosen.why_idle:
            raise Invalid(chosen.why_idle)
        name, digest = pipeline or module.module_name, module.config_hash
        new = NewRun(
            name,
            trigger,
            user_name(),
            run_kind="backfill" if window else "pipeline",
            parameters=parameters or {},
            config_version=config_version(base, digest),
            config_hash=digest,
            retry_of=_text(retry_of),
            exclusive=True,
        )
        context = replace(self.context(), wanted=Wanted(window, full_refresh))
        with self._begin(new) as run:
            result = run_module(context, run, chosen, base, progress, alone=self._owns_spark)
        self._follow_runs()
        return result

    def preview_module(
        self,
        module: Module,
        base: Path,
        parameters: dict[str, Any] | None = None,
        *,
        window: tuple[Any, Any] | None = None,
        full_refresh: bool = False,
    ) -> list[Preview]:
        """What each active source of a module would read and write if it ran now. Starts no Spark and writes nothing."""
        from lakeledger.pipelines.preview import preview
        from lakeledger.pipelines.sources import Wanted

        context = replace(self.context(), wanted=Wanted(window, full_refresh))
        return preview(context, module, base, {name: str(value) for name, value in (parameters or {}).items()})

    def sample_module(
        self,
        module: Module,
        base: Path,
        rows: int,
        progress: Callable[[StepResult], None] = lambda _: None,
        parameters: dict[str, Any] | None = None,
    ) -> ModuleResult:
        """Load at most so many rows of each active source of a module into a scratch table, which is replaced.

        The rows are read as by a first load, and no position moves: the sources' own tables, quarantines and dead letters stay as they are.
        A source that fails does not stop the others. Raises Conflict if another sample of the module is being taken.
        """
        from lakeledger.pipelines.sample import sample_module

        kept = {**(parameters or {}), "sample": rows}
        new = NewRun(f"sample:{module.module_name}", "manual", user_name(), parameters=kept, exclusive=True)
        with self._begin(new) as run:
            return sample_module(self.context(), run, module, base, rows, progress, parameters or {})

    def replay(
        self,
        modules: Sequence[Module],
        base: Path,
        *,
        letters: Sequence[Id] | None = None,
        schema: str | None = None,
        table: str | None = None,
        fingerprint: str | None = None,
        limit: int | None = None,
        parameters: dict[str, Any] | None = None,
        dry_run: bool = True,
    ) -> list[Replayed]:
        """Send quarantined rows through the loads that the modules declare, again: all that letters stand for, or those of some letters.

        In one commit the rows that are good now leave the quarantine for the table, those that are still bad stay with the reasons that
        they have now, and the letters are settled. Positions stay. Each source is a run of its own; what keeps one from it is the `error`
        of what it did. A dry run only counts. Raises NotFound, Invalid or Conflict for letters that are none, or are settled.
        """
        from lakeledger.pipelines.replaying import batches, waiting
        from lakeledger.pipelines.replays import replay_declared
        from lakeledger.sync.dead_letters.model import Filter

        found = batches(waiting(self.store, Filter(schema, table, fingerprint), letters, limit))
        context, values = replace(self.context(), base=base), {name: str(value) for name, value in (parameters or {}).items()}
        return [replay_declared(context, batch, modules, values, dry_run=dry_run) for batch in found]

    @property
    def compaction(self) -> Compaction:
        """What makes few files of many small ones."""
        from lakeledger.maintenance.compaction import Compaction

        return Compaction(self.store, self.settings.compaction, self.run, self.runs.recover, self.context)

    def compact(self, table: str | None = None, apply: bool = False, *, now: bool = False) -> list[Compacted]:
        """Write the small files of a table together, or of all tables, one round each, with the same rows. A dry run unless `apply`.

        With `now` also those of partitions that were written just now. Raises NotFound for a table that is not there; what keeps a
        table from it is the `problem` of what it did.
        """
        return self.compaction.compact([table] if table else [], apply=apply, now=now, trigger="api")

    def run_job(self, due: Due) -> Outcome:
        """Carry out a run of a local job, for a `Scheduler`. Raises Invalid, or Conflict if its module is running already."""
        from lakeledger.pipelines.job import run_due

        outcome = run_due(self.context(), due)
        self._follow_runs()
        return outcome

    def bound_to(self, step: ActiveStep, spark: Callable[[], SparkSession]) -> Ledger:
        """The ledger for one task, on the Spark session that can be stopped for it: what it writes, it writes in that step's name."""
        from lakeledger.bound import TaskLedger

        return TaskLedger(self, step, spark)

    def _begin(self, new: NewRun) -> ActiveRun:
        failures = self.sync.background("heartbeats")
        return ActiveRun(self.store, new, self.worker, self.settings.lease_seconds, note_lost_step, failures=failures)

    def _fence(self, run: ActiveRun | ActiveStep | None) -> Fence | None:
        """The right to commit in whose name a write is made; None if it needs a run of its own."""
        return run.fence if run is not None else None

    @contextmanager
    def _right(
        self, table: TableName, run: ActiveRun | ActiveStep | None, kind: str = "pipeline", parameters: dict[str, Any] | None = None
    ) -> Iterator[Fence]:
        """The right to commit, of a run of its own if need be."""
        if fence := self._fence(run):
            yield fence
            return
        with self.run(str(table), trigger="api", kind=kind, parameters=parameters, done_by=DoneBy.COMMIT) as implicit:
            yield implicit.last_fence

    def context(self) -> Context:
        """What work on this ledger is given."""
        from lakeledger.pipelines import Context

        checksums, sessions = self._background()
        warehouse = self._warehouse
        return Context(
            self, self.store, warehouse.claim, warehouse.check, checksums, lambda: self.spark, sessions, self.errors, self.publisher
        )

    def _background(self) -> tuple[Checksums, Sessions]:
        """What fills in checksums, and the sessions of our own, of this ledger and of its tasks."""
        with self._making:
            if self._made is None:
                from lakeledger.pipelines.own_session import Sessions
                from lakeledger.tables.checksums import Checksums

                checksums = Checksums(self.store, self.sync.background("checksums"), self.settings.s3)
                self._threads.add(checksums)
                self._made = checksums, Sessions(self.settings.spark.conf)
            return self._made


def open(
    target: str | Settings | None = None,
    *,
    warehouse: str | None = None,
    tenant: str | None = None,
    metadata: str | None = None,
    spark: SparkSession | None = None,
) -> Ledger:
    """Open a ledger: by URL, by settings, or by the nearest `lakeledger.toml`. Raises Invalid or Unavailable.

    Without a `warehouse`, a SQLite ledger keeps its tables beside its file; a PostgreSQL one must be given one before it writes.
    """
    if isinstance(target, Settings):
        config.check_given(warehouse=warehouse, tenant=tenant)
        given: dict[str, Any] = {"warehouse": warehouse, "tenant": tenant, "metadata": metadata}
        return Ledger(replace(target, **{name: value for name, value in given.items() if value}), spark)
    return Ledger(config.load(url=target, warehouse=warehouse, tenant=tenant, metadata=metadata), spark)


def _text(value: Id | None) -> str | None:
    return None if value is None else str(value)
