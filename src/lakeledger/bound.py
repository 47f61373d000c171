"""The ledger as somebody else has it who shares its database, settings and Spark: another tenant, or a task."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from lakeledger import config
from lakeledger.errors import Forbidden
from lakeledger.ledger import Ledger
from lakeledger.runs import ActiveRun, ActiveStep, Fence, NewRun
from lakeledger.runs import store as run_store
from lakeledger.sync.lost_steps import note_lost_step

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lakeledger.pipelines import Context
    from lakeledger.pipelines.own_session import Sessions
    from lakeledger.tables.checksums import Checksums


class TenantLedger(Ledger):
    """The ledger as another tenant has it."""

    def __init__(self, whole: Ledger, tenant: str) -> None:
        config.check_given(tenant=tenant)
        vars(self).update(vars(whole))  # the same database, Spark and sessions
        self._whole = whole
        self.settings = replace(whole.settings, tenant=tenant)
        self._open_for(replace(whole.store, tenant_id=tenant))

    def for_tenant(self, tenant: str) -> Ledger:
        """The same ledger for another tenant. Raises Invalid."""
        return self._whole.for_tenant(tenant)

    @property
    def spark(self) -> SparkSession:
        """The Spark session of the whole ledger, started when it is first asked for."""
        return self._whole.spark

    @property
    def has_spark(self) -> bool:
        """Whether the whole ledger has a Spark session."""
        return self._whole.has_spark

    def close(self) -> None:
        """Finish what runs in the background for this tenant. The ledger itself stays open: others use it. Raises as `Ledger.close`."""
        self.close_writers()
        if self._made:
            self._made[0].close()
        self._unwire()


class TaskLedger(Ledger):
    """The ledger as a task has it: whatever it writes, it writes in the name of its step, and no longer once that has ended.

    A run that the task begins is part of the task's run (`parent_run_id`), with a lease and an end of its own, but it commits only while
    the step may.
    """

    def __init__(self, whole: Ledger, step: ActiveStep, spark: Callable[[], SparkSession]) -> None:
        vars(self).update(vars(whole))  # the same database, settings and background
        self._whole = whole
        self._step = step
        self._task_spark = spark
        self._wire(replace(whole.store, check=lambda tx: run_store.check_fence(tx, step.fence)), whole.worker)

    def for_tenant(self, tenant: str) -> Ledger:
        """The task's ledger again, for its own tenant. Raises Forbidden for any other, which has no part in the task's step."""
        if tenant != self.settings.tenant:
            raise Forbidden(f"a task of tenant {self.settings.tenant} cannot work for tenant {tenant}: let a job of that tenant do it")
        return TaskLedger(self._whole, self._step, self._task_spark)

    @property
    def spark(self) -> SparkSession:
        """The Spark session of the task."""
        return self._task_spark()

    def close(self) -> None:
        """Stop what runs in the background for this task. The ledger itself stays open: others use it.

        What a task that failed has left in stream writers, the ledger refuses.
        """
        with suppress(Exception):  # The step has ended, and told why.
            self.close_writers()
        self._unwire()

    def _follow_runs(self) -> None:
        """The run that the task is part of has not ended."""

    def _background(self) -> tuple[Checksums, Sessions]:
        return self._whole._background()  # noqa: SLF001 - the same class

    def _begin(self, new: NewRun) -> ActiveRun:
        part = replace(new, parent_run_id=new.parent_run_id or self._step.fence.run_id)
        failures = self._whole.sync.background("heartbeats")
        return ActiveRun(self._whole.store, part, self.worker, self.settings.lease_seconds, note_lost_step, self._step.fence, failures)

    def _fence(self, run: ActiveRun | ActiveStep | None) -> Fence:
        if run is None or run.fence.run_id == self._step.fence.run_id:
            return self._step.fence
        return replace(run.fence, within=self._step.fence)

    def context(self) -> Context:
        """What work of this task is given."""
        # The commit checks the fence itself; what has to be settled after it is no longer the task's business.
        return replace(super().context(), store=self._whole.store)
