"""What is told, and to whom: an event, a subscriber, and which component hears of which table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, Literal, Protocol, TypeVar

from lakeledger.db.derived import WATCHED
from lakeledger.events import rows

Operation = Literal["INSERT", "UPDATE", "DELETE"]

T_co = TypeVar("T_co", covariant=True)
T_contra = TypeVar("T_contra", contravariant=True)

# Which component hears of which tables. It is the same everywhere, and no setting changes it.
COMPONENT_SUBSCRIPTIONS: dict[str, list[str]] = {
    "iceberg_updater": ["table_metadata", "table_files"],
    "delta_updater": ["table_snapshots"],
    "compactor": ["table_files", "table_stats"],
    "snapshotter": ["table_metadata", "table_files", "table_snapshots"],
    "metadata_orchestrator": ["tables", "table_metadata"],
    "lake_mirror": ["pipeline_runs", "step_logs", "dq_results", "api_keys"],
}

# What tells the lanes of a table apart that is not about a table of the lake.
_LANES = {"pipeline_runs": "pipeline_id", "step_logs": "step_name", "dq_results": "target_table", "api_keys": "tenant_id"}


@dataclass(frozen=True)
class Change:
    """One change of one row: its columns before and after, without documents and other large ones, which `Changes.load` gives.

    `before` is None for an INSERT, `after` for a DELETE. `seq` orders the changes of one tenant.
    """

    seq: int
    tenant_id: str
    table_name: str
    operation: str
    key: str
    before: dict[str, Any] | None
    after: dict[str, Any] | None
    at: datetime

    @property
    def lane(self) -> Lane:
        """In which lane it is delivered: order holds within it."""
        row = self.after or self.before or {}
        return Lane(self.table_name, str(row.get(lane_column(self.table_name)) or ""))


@dataclass(frozen=True)
class Lane:
    """The events of one table of the registry that are about one table of the lake (of runs: about one pipeline, of steps: of one name)."""

    table: str
    subject: str


def lane_column(table: str) -> str:
    """The column that tells the lanes of a table of the registry apart."""
    return _LANES.get(table, "table_id")


@dataclass(frozen=True)
class Event(Generic[T_co]):
    """One change of one row of the registry. `data` is the row after it, or of a DELETE the row that is gone.

    `timestamp` is the time of the change, `seq` its number in the tenant's change log, and `before` what the columns that an UPDATE
    changed held before it.
    """

    table: str
    operation: Operation
    data: T_co
    timestamp: datetime
    tenant_id: str
    seq: int
    before: Mapping[str, Any] | None = None

    @property
    def key(self) -> str:
        """The key of the row."""
        return str(getattr(self.data, WATCHED[self.table]))


class Subscriber(Protocol[T_contra]):
    """Who hears of changes of one tenant. To raise is to fail; the message is kept.

    Events are delivered at least once, in order within a table of the registry and a table of the lake; those of different tables are
    delivered by different threads at once.
    """

    def on_event(self, event: Event[T_contra]) -> None:
        """Handle one event; it is called again later if it raises."""
        ...

    def on_health(self) -> None:
        """Return if events can be handled, and raise if not. It is asked after several failures in a row."""
        ...

    def on_refresh(self) -> None:
        """Take everything from the ledger as it is now: at the first start, and after events were given up."""
        ...

    def subscribed_tables(self) -> Sequence[str]:
        """The tables of the registry whose changes it hears of."""
        ...


def to_event(change: Change) -> Event[Any]:
    """A change as subscribers get it."""
    row = change.before if change.operation == "DELETE" else change.after
    return Event(
        table=change.table_name,
        operation=change.operation,  # type: ignore[arg-type]  # the change log has a check on it
        data=rows.read(change.table_name, row or {}),
        timestamp=change.at,
        tenant_id=change.tenant_id,
        seq=change.seq,
        before=rows.read_values(change.table_name, _changed(change)) if change.operation == "UPDATE" else None,
    )


def _changed(change: Change) -> dict[str, Any]:
    """What an update changed, as it was."""
    after, before = change.after or {}, change.before or {}
    return {name: value for name, value in before.items() if name not in after or after[name] != value}
