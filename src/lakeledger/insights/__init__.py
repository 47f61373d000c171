"""What follows from what is known: before a load is planned or started, for dashboards, and for whoever asks where rows came from.

Everything here reads records through their port, wherever they are kept; lineage also reads the registry of tables.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from lakeledger.db import Store
from lakeledger.errors import NotFound
from lakeledger.insights import gate as gates
from lakeledger.insights.gate import Gate, source_target
from lakeledger.records.model import MetadataRecord, MetadataTarget, Target

if TYPE_CHECKING:
    from lakeledger.insights.lineage import Edge
    from lakeledger.insights.planner import LoadPlan
    from lakeledger.insights.sla import Adherence
    from lakeledger.insights.trends import TimedOut, Trend
    from lakeledger.records.slice import Records

__all__ = ["Gate", "Insights", "source_target"]


@dataclass(frozen=True)
class Insights:
    """What follows from the records of one tenant."""

    _store: Store
    _records: Callable[[], Records]
    _actor: str

    def plan(self, target: Target, *, loads: int = 30) -> LoadPlan:
        """What the next load of a table will probably be: columns with precision, size, change rate, and how to partition it.

        From its latest schema and statistics, and its last `loads` ordinary loads. Raises NotFound if nothing is known of it.
        """
        from lakeledger.insights import planner

        return planner.plan(self._records(), target, loads)

    def gate(self, source: str | MetadataTarget) -> Gate:
        """Whether loads of a source may start: not while the latest difference of its catalog breaks readers and nobody accepted it."""
        return gates.gate(self._records(), source_target(source))

    def accept(
        self, source: str | MetadataTarget, reason: str | None = None, *, until: datetime | str | None = None, by: str | None = None
    ) -> MetadataRecord:
        """Let loads of a source go on although its gate is closed, for good or until a time; kept with who and why.

        Raises NotFound if its gate is open, and Invalid for a time that is over.
        """
        found = self.gate(source)
        if found.is_open:
            raise NotFound(f"nothing blocks {found.name}: the latest difference of its catalog breaks nothing, or was accepted")
        records = self._records()
        record = gates.acceptance(found, by or self._actor, reason, until, records.context("schema accept"))
        return records.store(record) or record  # never by a bus: the next load asks at once

    def trends(
        self,
        kind: str = "recon_result",
        target: Target | None = None,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        bucket: str = "day",
    ) -> list[Trend]:
        """How records of a kind went, per table and day, week or hour: passed, warned, failed; rows and bytes of loads. Oldest first."""
        from lakeledger.insights import trends

        return trends.trends(self._records(), kind, target, since, until, bucket)

    def timeouts(self, since: datetime | str | None = None, *, at_least: int = 2) -> list[TimedOut]:
        """Tables whose reconciliations timed out repeatedly, the worst first, beside the volumes of their loads."""
        from lakeledger.insights import trends

        return trends.timeouts(self._records(), since, at_least)

    def sla(self, schedule: str | None = None, since: datetime | str | None = None, until: datetime | str | None = None) -> list[Adherence]:
        """How schedules kept their due times, by name: on time, late, missed, failed."""
        from lakeledger.insights import sla

        return sla.adherence(self._records(), schedule, since, until)

    def lineage_up(self, table: str, version: int | str | None = None, *, depth: int = 10) -> list[Edge]:
        """Which runs and inputs made a version of a table, and what made those. Raises NotFound."""
        from lakeledger.insights import lineage

        return lineage.up(self._store, self._records(), table, version, depth)

    def lineage_down(self, table: str, version: int | None = None, *, depth: int = 10) -> list[Edge]:
        """Which versions of which tables were made of a table, or of one of its versions, and what was made of those."""
        from lakeledger.insights import lineage

        return lineage.down(self._store, self._records(), table, version, depth)
