"""Events that a subscriber could not handle: parked as dead letters of `lakeledger.<subscriber>`, and replayed in their order."""

from __future__ import annotations

from typing import Any

from lakeledger import codec
from lakeledger.errors import Invalid
from lakeledger.events.model import Change, Lane, lane_column
from lakeledger.runs import describe
from lakeledger.sync.dead_letters import DeadLetter, ItemKind, NewLetter
from lakeledger.sync.errors import classify

SCHEMA = "lakeledger"


def letter(subscriber: str, change: Change, error: BaseException) -> NewLetter:
    """An event as a dead letter: one per subscriber and event, however often it fails."""
    return NewLetter(
        SCHEMA,
        subscriber,
        change.operation.lower(),
        codec.to_plain(vars(change)),
        source_record_id=f"{subscriber}/{change.seq}",
        error_message=describe(error),
        error_type=classify(error).value,
        item_kind=ItemKind.EVENT,
    )


def change_of(parked: DeadLetter) -> Change:
    """The event that was parked. Raises Invalid if what is kept of it is not complete."""
    if not parked.record_complete:
        raise Invalid(
            f"dead letter {parked.id} is not complete: its event had a column that is masked, or was too large; "
            f"settle it with `lakeledger dlq resolve {parked.id}`, and let the subscriber look at the ledger"
        )
    data: dict[str, Any] = dict(parked.record_data)
    return Change(**{**data, "at": codec.to_time(data["at"])})


def seq_of(parked: DeadLetter) -> int:
    """The number of the event in the change log."""
    return int((parked.source_record_id or "/0").rpartition("/")[2])


def lane_of(parked: DeadLetter) -> Lane:
    """The lane of the event."""
    row = parked.record_data.get("after") or parked.record_data.get("before") or {}
    table = str(parked.record_data.get("table_name"))
    return Lane(table, str(row.get(lane_column(table)) or ""))
