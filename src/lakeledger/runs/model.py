"""What the run log talks about: runs, their steps, and how either of them ended."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from lakeledger.redaction import scrub, scrub_value
from lakeledger.runs.exceptions import describe, trace_of

MESSAGE_LIMIT = 2_000
TRACE_LIMIT = 20_000


class Status(StrEnum):
    """The one status vocabulary. COMPLETED, FAILED, CANCELLED and SKIPPED never change again."""

    PENDING = "PENDING"
    RUNNING = "RUNNING"
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    CANCELLED = "CANCELLED"
    SKIPPED = "SKIPPED"


class DoneBy(StrEnum):
    """What proves that a run or a step has done its work, should its worker be lost before it says so.

    END: nothing but its own end, because it may commit several times, or work elsewhere. COMMIT: its commit, which is the only one and
    comes last. STEPS (runs only): that all of its steps, which were planned in advance, are done.
    """

    END = "end"
    COMMIT = "commit"
    STEPS = "steps"


TRIGGERS = ("api", "scheduler", "manual", "webhook", "retry")
KINDS = ("pipeline", "sync", "recon", "maintenance", "backfill", "quality")


@dataclass(frozen=True)
class Run:
    """One execution of a pipeline: a row of `pipeline_runs`, with the seed's column names."""

    pipeline_logging_id: str
    tenant_id: str
    pipeline_id: str
    status: str
    trigger_type: str
    trigger_by: str
    start_time: datetime
    end_time: datetime | None
    duration_ms: int | None
    config_version: str | None
    worker_instance: str | None
    error_message: str | None
    parameters: dict[str, Any]
    run_kind: str
    schema_name: str | None
    sync_mode: str | None
    config_hash: str | None
    source_info: dict[str, Any] | None
    destination_info: dict[str, Any] | None
    instance_id: str | None
    node_id: str | None
    records_processed: int
    records_inserted: int
    records_updated: int
    records_deleted: int
    records_failed: int
    bytes_processed: int
    commit_count: int
    done_by: str
    error_details: dict[str, Any] | None
    parent_run_id: str | None
    retry_of: str | None
    idempotency_key: str | None
    exclusive: bool
    heartbeat_at: datetime | None
    lease_token: int
    lease_expires_at: datetime | None
    suspected_at: datetime | None

    @property
    def id(self) -> str:
        return self.pipeline_logging_id

    @property
    def is_open(self) -> bool:
        return self.status in (Status.PENDING, Status.RUNNING)


@dataclass(frozen=True)
class Step:
    """One step of a run: a row of `step_logs`. `committed_at` is set by the commit that made its data visible."""

    step_logging_id: str
    tenant_id: str
    pipeline_logging_id: str
    step_name: str
    step_type: str
    step_index: int
    status: str
    start_time: datetime
    end_time: datetime | None
    duration_ms: int | None
    rows_processed: int | None
    bytes_processed: int | None
    error_message: str | None
    metadata: dict[str, Any]
    attempt: int
    target_table: str | None
    done_by: str
    committed_at: datetime | None

    @property
    def id(self) -> str:
        return self.step_logging_id


@dataclass(frozen=True)
class StepOutput:
    """What a step printed, without the `left_out` characters of its middle, and where it failed: a row of `step_output`."""

    step_logging_id: str
    tenant_id: str
    output: str
    left_out: int
    traceback: str | None
    kept_at: datetime


@dataclass(frozen=True)
class Transition:
    """One change of state of a run, a step or a position."""

    transition_id: str
    tenant_id: str
    entity: str
    entity_id: str
    from_status: str | None
    to_status: str
    at: datetime
    reason: str | None
    actor: str


@dataclass(frozen=True)
class NewRun:
    """What is known of a run before it starts. Secrets are taken out as it is made, so that no transaction waits for that."""

    pipeline_id: str
    trigger_type: str = "manual"
    trigger_by: str = ""
    run_kind: str = "pipeline"
    parameters: dict[str, Any] = field(default_factory=dict)
    config_version: str | None = None
    config_hash: str | None = None
    idempotency_key: str | None = None
    retry_of: str | None = None
    parent_run_id: str | None = None
    exclusive: bool = False
    done_by: DoneBy = DoneBy.END
    schema_name: str | None = None
    sync_mode: str | None = None
    source_info: dict[str, Any] | None = None
    destination_info: dict[str, Any] | None = None
    instance_id: str | None = None
    node_id: str | None = None

    def __post_init__(self) -> None:
        for name in ("parameters", "source_info", "destination_info"):
            object.__setattr__(self, name, scrub_value(getattr(self, name)))


@dataclass(frozen=True)
class NewStep:
    """What is known of a step before it starts. Secrets are taken out as it is made."""

    name: str
    type: str = "task"
    target_table: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    attempt: int = 1
    done_by: DoneBy = DoneBy.END

    def __post_init__(self) -> None:
        object.__setattr__(self, "metadata", scrub_value(self.metadata))


@dataclass(frozen=True)
class Counters:
    """How much a run moved. Counters of several commits add up."""

    processed: int = 0
    inserted: int = 0
    updated: int = 0
    deleted: int = 0
    failed: int = 0
    bytes: int = 0

    def __add__(self, other: Counters) -> Counters:
        return Counters(
            self.processed + other.processed,
            self.inserted + other.inserted,
            self.updated + other.updated,
            self.deleted + other.deleted,
            self.failed + other.failed,
            self.bytes + other.bytes,
        )


@dataclass(frozen=True)
class Outcome:
    """How a run or a step ended."""

    status: Status
    error_message: str | None = None
    error_details: dict[str, Any] | None = None
    reason: str | None = None


def completed(reason: str | None = None) -> Outcome:
    """It did its work."""
    return Outcome(Status.COMPLETED, reason=reason)


def skipped(reason: str) -> Outcome:
    """It was not needed, or what it waits for did not complete (steps only)."""
    return Outcome(Status.SKIPPED, reason=storable(reason))


def cancelled(reason: str) -> Outcome:
    """Somebody stopped it."""
    return Outcome(Status.CANCELLED, error_message=storable(reason), reason=storable(reason))


def failed(error: BaseException | str) -> Outcome:
    """It failed; the message is scrubbed of secrets and cut to a readable length."""
    # What is far from what is kept is not even read.
    message = storable((error if isinstance(error, str) else describe(error))[: 4 * MESSAGE_LIMIT])[:MESSAGE_LIMIT]
    if isinstance(error, str):
        return Outcome(Status.FAILED, message, reason=message[:200])
    trace = storable(trace_of(error)[-4 * TRACE_LIMIT :])[-TRACE_LIMIT:]
    return Outcome(Status.FAILED, message, {"type": type(error).__name__, "traceback": trace}, reason=message[:200])


def storable(text: str) -> str:
    """The text without secrets and without what a database cannot keep: NUL and halves of characters."""
    return scrub(text).encode("utf-8", "backslashreplace").decode().replace("\0", "\\0")


@dataclass(frozen=True)
class Fence:
    """The right of a run to commit: its lease token, and the step that the commit belongs to.

    A run that a task began may commit only `within` the right of that task. One that `ends_run` is used once: the run ends with its commit.
    """

    run_id: str
    token: int
    step_id: str | None = None
    within: Fence | None = None
    ends_run: bool = False
