"""What could not be written and waits for somebody: one dead letter, those that share a cause, and what a replay did."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from lakeledger import codec
from lakeledger.codec import Id
from lakeledger.errors import Invalid
from lakeledger.sync.failures import OperationType


class LetterStatus(StrEnum):
    """A letter is pending, or processing while a worker holds it. Resolved and discarded letters never change again."""

    PENDING = "pending"
    PROCESSING = "processing"
    RESOLVED = "resolved"
    DISCARDED = "discarded"


class ItemKind(StrEnum):
    """What the letter holds."""

    RECORD = "record"
    EVENT = "event"
    METADATA = "metadata"


# A year: whoever holds a letter for longer has forgotten it.
LONGEST_HOLD = 366 * 86_400

# What a letter says of an error that did not tell what was to be done with its record.
UNKNOWN_OPERATION = "unknown"


@dataclass(frozen=True)
class NewLetter:
    """What is known of a record that could not be written. `record_data` is masked before it is stored; other values are kept as text.

    With a `quarantine_table` it stands for rows there, and has no record of its own.
    """

    schema_name: str
    table_name: str | None
    operation_type: OperationType | str
    record_data: Any
    sync_run_id: Id | None = None
    error_log_id: Id | None = None
    source_record_id: object = None
    error_message: object = None
    error_type: str | None = None
    item_kind: ItemKind | str = ItemKind.RECORD
    quarantine_table: str | None = None


@dataclass(frozen=True)
class Draft:
    """A letter that may be stored as it is: masked, scrubbed, and with the key that makes it one letter however often it fails."""

    schema_name: str
    table_name: str | None
    name_key: str
    schema_key: str
    operation_type: str
    item_kind: str
    source_record_id: str | None
    record_data: dict[str, Any]
    record_complete: bool
    payload_hash: str
    dedupe_key: str
    error_type: str
    error_message: str | None
    fingerprint: str
    sync_run_id: str | None
    error_log_id: str | None
    quarantine_table: str | None = None


@dataclass(frozen=True)
class DeadLetter:
    """One letter: a row of `dead_letter_queue`. A record that is not complete has to be fetched again by its `source_record_id`."""

    id: str
    tenant_id: str
    sync_run_id: str | None
    error_log_id: str | None
    schema_name: str
    table_name: str | None
    name_key: str
    schema_key: str
    operation_type: str
    item_kind: str
    source_record_id: str | None
    record_data: dict[str, Any]
    record_complete: bool
    payload_hash: str
    dedupe_key: str
    error_type: str
    error_message: str | None
    fingerprint: str
    error_count: int
    status: str
    created_at: datetime
    last_failed_at: datetime
    claimed_by: str | None
    claimed_until: datetime | None
    resolved_at: datetime | None
    resolved_by: str | None
    resolution_method: str | None
    resolution_note: str | None
    quarantine_table: str | None = None

    @property
    def is_settled(self) -> bool:
        return self.status in (LetterStatus.RESOLVED, LetterStatus.DISCARDED)

    @property
    def stands_for_rows(self) -> bool:
        """Whether it stands for quarantined rows of a load, and not for a record of its own."""
        return self.quarantine_table is not None

    def holder(self, now: datetime) -> str | None:
        """Who holds the letter now, if anybody."""
        return self.claimed_by if self.claimed_until and self.claimed_until > now else None


@dataclass(frozen=True)
class LetterGroup:
    """The letters that share a cause, with the newest message as a sample."""

    fingerprint: str
    error_type: str
    error_message: str | None
    count: int
    by_status: dict[str, int]
    oldest: datetime
    newest: datetime
    tables: tuple[str, ...]


@dataclass(frozen=True)
class Cause:
    """How many of a replay's letters share a cause."""

    fingerprint: str
    error_type: str
    error_message: str | None
    count: int


@dataclass(frozen=True)
class Replay:
    """What a replay did, or would do. `skipped` letters were taken or changed by somebody else in the meantime."""

    dry_run: bool
    total: int
    incomplete: int
    groups: tuple[Cause, ...] = ()
    replayed: int = 0
    failed: int = 0
    skipped: int = 0


@dataclass(frozen=True)
class Claim:
    """For whom letters or errors are held, and for how long."""

    worker: str
    seconds: float

    def __post_init__(self) -> None:
        if not 0 < self.seconds <= LONGEST_HOLD:
            raise Invalid(f"a claim cannot last {self.seconds} s: give a positive number of seconds, at most {LONGEST_HOLD}")


@dataclass(frozen=True)
class Filter:
    """Which letters: of a schema, of a table, with a cause."""

    schema: str | None = None
    table: str | None = None
    fingerprint: str | None = None


@dataclass(frozen=True)
class Settlement:
    """How a letter ends."""

    status: LetterStatus
    method: str
    by: str
    note: str | None = None


def dedupe_key(name_key: str, operation: str, kind: str, source_record_id: str | None, payload_hash: str) -> str:
    """What the letters of one record have in common: its id at the source, or without one its content."""
    identity = ["source", source_record_id] if source_record_id else ["payload", payload_hash]
    return codec.digest([name_key, operation, kind, *identity])
