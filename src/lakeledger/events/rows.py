"""The rows that events carry, one type per table of the registry.

An event has the scalar columns of its row. Documents (a schema, bounds, a summary, parameters), a file's checksum, its state in
Iceberg and a run's heartbeat are not in the change log: `ledger.changes.load(event)` gives the whole row as it is now.
"""

from __future__ import annotations

import typing
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from functools import cache
from typing import Any

from lakeledger import codec
from lakeledger.tables.model import Table, TableStats

__all__ = ["ROWS", "PipelineRuns", "TableFiles", "TableMetadata", "TableSnapshots", "TableStats", "Tables", "read"]

# A row of `tables` has scalar columns only, and so has one of `table_stats`.
Tables = Table


@dataclass(frozen=True)
class TableMetadata:
    """A row of `table_metadata`, without `schema`, `columns`, `engine_config`, `partition_by`, `sort_by` and `properties`."""

    id: str
    tenant_id: str
    table_id: str
    schema_version: int
    schema_hash: str
    storage_engine: str
    format: str
    compression: str
    last_modified: datetime
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True)
class TableFiles:
    """A row of `table_files`, without `column_bounds`, `checksum` and `iceberg_metadata_state`. Its path is relative to the table's."""

    id: str
    tenant_id: str
    table_id: str
    file_name: str
    file_path: str
    file_size: int
    file_type: str
    partition_path: str
    row_count: int
    is_compressed: bool
    state: str
    added_version: int
    removed_version: int | None
    run_id: str
    created_at: datetime
    modified_at: datetime


@dataclass(frozen=True)
class TableSnapshots:
    """A row of `table_snapshots`, without `summary`."""

    snapshot_id: str
    tenant_id: str
    table_id: str
    version: int
    parent_version: int | None
    operation: str
    schema_version: int
    run_id: str
    batch_id: str | None
    trigger: str
    committed_at: datetime
    manifest_list: str | None
    metadata_location: str | None
    iceberg_snapshot_id: int | None
    publish_trigger: str | None
    delta_version: int | None


@dataclass(frozen=True)
class PipelineRuns:
    """A row of `pipeline_runs`, without its documents, its heartbeat and when its lease ends."""

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
    run_kind: str
    schema_name: str | None
    sync_mode: str | None
    config_hash: str | None
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
    parent_run_id: str | None
    retry_of: str | None
    idempotency_key: str | None
    exclusive: bool
    lease_token: int


@dataclass(frozen=True)
class StepLogs:
    """A row of `step_logs`, without `metadata`."""

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
    attempt: int
    target_table: str | None
    done_by: str
    committed_at: datetime | None


@dataclass(frozen=True)
class DqResults:
    """A row of `dq_results`, without `failed_expectations` and `scope`."""

    dq_result_id: str
    tenant_id: str
    pipeline_logging_id: str
    step_logging_id: str | None
    target_table: str
    name_key: str
    dq_config_id: str
    executed_at: datetime
    expectations_passed: int
    expectations_failed: int
    overall_status: str
    ingestion_date: str
    fail_on_error: bool
    is_visible: bool
    table_version: int | None


@dataclass(frozen=True)
class ApiKeys:
    """A row of `api_keys`, without its hash and its scopes."""

    api_key_id: str
    tenant_id: str
    created_at: datetime
    created_by: str | None
    expires_at: datetime | None
    is_active: bool
    last_used_at: datetime | None
    description: str | None
    key_prefix: str | None
    revoked_at: datetime | None
    revoked_by: str | None


# Table of the registry → the type of its rows.
ROWS: dict[str, type[Any]] = {
    "tables": Tables,
    "table_metadata": TableMetadata,
    "table_files": TableFiles,
    "table_stats": TableStats,
    "table_snapshots": TableSnapshots,
    "pipeline_runs": PipelineRuns,
    "step_logs": StepLogs,
    "dq_results": DqResults,
    "api_keys": ApiKeys,
}


def read(table: str, logged: Mapping[str, Any]) -> Any:
    """A row as the change log has it, typed. A column that is younger than the change is None."""
    times = _times(table)
    return ROWS[table](**{name: _value(logged.get(name), name in times) for name in _names(table)})


def read_values(table: str, logged: Mapping[str, Any]) -> dict[str, Any]:
    """Some columns as the change log has them, with times as times."""
    times = _times(table)
    return {name: _value(value, name in times) for name, value in logged.items()}


def _value(value: Any, is_time: bool) -> Any:
    return codec.to_time(value) if is_time and value is not None else value


@cache
def _names(table: str) -> tuple[str, ...]:
    return tuple(each.name for each in fields(ROWS[table]))


@cache
def _times(table: str) -> frozenset[str]:
    """The columns that hold times; JSON holds them as text."""
    hints = typing.get_type_hints(ROWS[table])
    return frozenset(name for name in _names(table) if datetime in (hints[name], *typing.get_args(hints[name])))
