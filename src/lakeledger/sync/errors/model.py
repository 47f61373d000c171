"""What went wrong while data was captured: one error, its kind, and the errors that share a cause."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from lakeledger.codec import Id
from lakeledger.sync.failures.kinds import ErrorType, OperationType


class ErrorStatus(StrEnum):
    """An error is open until somebody, or a retry that succeeds, settles it. Settled errors never change again."""

    OPEN = "open"
    RESOLVED = "resolved"
    IGNORED = "ignored"


@dataclass(frozen=True)
class NewError:
    """What is known of an error when it happens. Without `max_retries`, its type decides how often it is tried again.

    Messages, codes, traces and ids may be anything that can be written as text.
    """

    schema_name: str
    table_name: str | None
    error_type: ErrorType | str
    error_message: object
    sync_run_id: Id | None = None
    step_id: str | None = None
    error_code: object = None
    error_details: Any = None
    stack_trace: object = None
    record_data: Any = None
    operation_type: OperationType | str | None = None
    max_retries: int | None = None
    source_record_id: object = None


@dataclass(frozen=True)
class ErrorLog:
    """One error: a row of `error_log`. `retry_after` is empty when it is not to be tried again by itself.

    While somebody tries it again, `claimed_by` is the name of that one claim.
    """

    id: str
    tenant_id: str
    sync_run_id: str | None
    step_id: str | None
    schema_name: str
    table_name: str | None
    name_key: str
    schema_key: str
    error_type: str
    error_code: str | None
    error_message: str
    error_details: dict[str, Any] | None
    stack_trace: str | None
    record_data: dict[str, Any] | None
    record_complete: bool
    operation_type: str | None
    fingerprint: str
    status: str
    retry_count: int
    max_retries: int
    retry_after: datetime | None
    last_retry_at: datetime | None
    dead_letter_id: str | None
    claimed_by: str | None
    claimed_until: datetime | None
    occurred_at: datetime
    resolved_at: datetime | None
    resolved_by: str | None
    resolution_note: str | None

    @property
    def is_open(self) -> bool:
        return self.status == ErrorStatus.OPEN

    def holder(self, now: datetime) -> str | None:
        """The claim that holds the error now, if any."""
        return self.claimed_by if self.claimed_until and self.claimed_until > now else None

    @property
    def source_record_id(self) -> str | None:
        """What the record is called where it came from, if that was said."""
        return (self.error_details or {}).get("source_record_id")


@dataclass(frozen=True)
class ErrorGroup:
    """The errors that share a cause, with the newest message as a sample."""

    fingerprint: str
    error_type: str
    error_code: str | None
    error_message: str
    count: int
    open_count: int
    first_seen: datetime
    last_seen: datetime
    tables: tuple[str, ...]
