"""How data moves on Spark: read, check, write files, commit."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from lakeledger.db import Store, Transaction
from lakeledger.errors import Conflict
from lakeledger.lake import Storage
from lakeledger.runs import ActiveRun, ActiveStep
from lakeledger.tables.model import placed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lakeledger.ledger import Ledger
    from lakeledger.pipelines.own_session import Sessions
    from lakeledger.pipelines.sources import Wanted
    from lakeledger.publishing import Publisher
    from lakeledger.sync.errors import Errors
    from lakeledger.tables.checksums import Checksums


@dataclass(frozen=True)
class Context:
    """What work on a ledger is given: the store, and, once it asks for them, the tenant's part of the warehouse and Spark.

    A task gets its run and step, too, the job's parameters, and the folder of the project. Its `ledger` is bound to the step: what is
    appended or overwritten belongs to it, with or without `run=`, and a run that the task begins (`context.ledger.run(…)`) is a part of the
    task's run. `stop` is set when the task should end, because it took too long or its run was cancelled: the step has ended then, and the
    ledger refuses (Fenced) whatever the task still writes. `wanted` is what loads read, if not what is new.
    """

    ledger: Ledger
    store: Store
    find_warehouse: Callable[[], str]
    check_warehouse: Callable[[Transaction], None]
    checksums: Checksums
    start_spark: Callable[[], SparkSession]
    sessions: Sessions
    errors: Errors
    publisher: Publisher
    base: Path = Path()
    parameters: Mapping[str, str] = field(default_factory=dict)
    stop: threading.Event = field(default_factory=threading.Event)
    active_run: ActiveRun | None = None
    active_step: ActiveStep | None = None
    wanted: Wanted | None = None

    @property
    def run(self) -> ActiveRun:
        """The run that the work belongs to. Raises Conflict outside of one."""
        if self.active_run is None:
            raise Conflict("this is no work of a run")
        return self.active_run

    @property
    def step(self) -> ActiveStep:
        """The step that the work is. Raises Conflict outside of one."""
        if self.active_step is None:
            raise Conflict("this is no work of a step")
        return self.active_step

    @property
    def spark(self) -> SparkSession:
        """The Spark session, started when it is first asked for."""
        session = self.start_spark()
        if self.active_step:
            from lakeledger.pipelines.tasks.python import send_by_value

            send_by_value()
        return session

    @property
    def warehouse(self) -> str:
        """The tenant's part of the warehouse. Raises Invalid if the ledger has none."""
        return self.find_warehouse()

    def storage(self, location: str) -> Storage:
        """The files of a location, which if it is relative is meant from the tenant's part of the warehouse."""
        return Storage(placed(location, self.warehouse), self.ledger.settings.s3)
