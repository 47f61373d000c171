"""Hot statements find their rows by an index, whatever the ledger has grown to.

A line per statement: the indexes, each with the columns by which it must find the rows, and what is asked for.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest

import lakeledger
from contract.making import wait_until
from empty_ledgers import new_sqlite_url
from lakeledger import Ledger, events
from lakeledger.clock import now
from lakeledger.control.audit import sql as control
from lakeledger.db import Transaction
from lakeledger.db.queries import Query, statement
from lakeledger.jobs.queue import sql as jobs
from lakeledger.maintenance.policies import sql as maintenance
from lakeledger.quality.bands.decisions import sql as bands
from lakeledger.quality.freshness import sql as freshness
from lakeledger.quality.store import sql as quality
from lakeledger.recon.store import sql as recon
from lakeledger.records import sql as records
from lakeledger.runs.store import sql as runs
from lakeledger.sync import cleanup
from lakeledger.sync.dead_letters.store import sql as letters
from lakeledger.sync.errors.store import sql as errors
from lakeledger.sync.positions.store import sql as positions
from lakeledger.sync.schemas.store import sql as schemas
from lakeledger.sync.statistics import sql as statistics
from lakeledger.tables.store import sql as tables
from postgres_server import Server

PAGE: dict[str, Any] = {"page_size": 50}
NOW = now()


def after(**place: Any) -> dict[str, Any]:
    """A page behind that place."""
    return {"page_size": 50, **{f"after_{name}": value for name, value in place.items()}}


STARTED = after(start_time=NOW, pipeline_logging_id="x")
OCCURRED = after(occurred_at=NOW, id="x")
FOUND_OUT = after(produced_at=NOW, seq=7)
CHECKED = after(executed_at=NOW, dq_result_id="x")
RECONCILED = after(ended_at=NOW, recon_result_id="x")
CREATED = after(created_at=NOW, id="x")
CLAIM: dict[str, Any] = {"worker": "w", "until": NOW}
EXPIRED = "dead_letter_queue_claimed(claimed_until)"
LINKED: dict[str, Any] = {"error_log_id": "e", "dead_letter_id": "d"} | dict.fromkeys(
    ("payload_hash", "operation_type", "item_kind", "name_key", "source_record_id"), "x"
)
LANE: dict[str, Any] = {**PAGE, "table_name": "tables", "lane_column": "table_id", "subject": "t", "after_seq": 7, "last_seq": 99}
IDS: dict[str, Any] = {"prefix": "0199", "first": "0199", "last": "019a"}
ROWS = 5_000
# Of row n: its id, its tenant (one in two is another's), and its time.
ID, TENANT, AT = "lpad(n::text, 36, '0')", "(array['default', 'other'])[1 + n % 2]", "timestamptz '2026-01-01' + n * interval '1 minute'"


@dataclass(frozen=True)
class Hot:
    """A statement, the indexes that it must use, and whether it may sort what it found: a few rows, never a page of many.

    With an index go the columns that it must be entered by. Those of a tenant alone are all of the table: right where a page ends them,
    or where the index has only a few.
    """

    query: Query
    indexes: dict[str, set[str]]
    parameters: dict[str, Any]
    may_sort: bool = False

    @property
    def name(self) -> str:
        return " ".join([self.query.name, *(name for name in self.parameters if name in self.query.optional), *sorted(self.indexes)])


def hot(query: Query, indexes: str, *, may_sort: bool = False, **parameters: Any) -> Hot:
    """`indexes` as in `orders_by_customer(customer) orders_by_time`."""
    named = {name: set(columns.split(", ")) - {""} for name, columns in re.findall(r"(\w+)(?:\((.*?)\))?", indexes)}
    return Hot(query, named, parameters, may_sort)


HOT = [
    hot(runs.find_by_idempotency_key, "pipeline_runs_by_key(pipeline_id, idempotency_key)", pipeline_id="p", idempotency_key="k"),
    hot(runs.holder, "pipeline_runs_exclusive(pipeline_id)", pipeline_id="p"),
    hot(
        runs.begin_run,
        "pipeline_runs_by_token(pipeline_id)",
        run_id="r",
        worker_instance="w",
        instance_id="i",
        node_id="n",
        lease_expires_at=NOW,
    ),
    hot(runs.open_runs, "pipeline_runs_by_status(status)"),
    hot(runs.find_run_by_prefix, "pipeline_runs_pkey(pipeline_logging_id)", **IDS),
    hot(runs.list_runs, "pipeline_runs_by_time", **PAGE),
    hot(runs.list_runs, "pipeline_runs_by_time(start_time)", **STARTED),
    hot(runs.list_runs, "pipeline_runs_by_pipeline(pipeline_id, start_time)", **STARTED, pipeline_id="p"),
    hot(runs.list_runs, "pipeline_runs_by_status(status, start_time)", **STARTED, status="FAILED"),
    hot(runs.list_runs, "pipeline_runs_by_kind(run_kind, start_time)", **STARTED, run_kind="sync"),
    hot(runs.list_steps, "step_logs_by_run(pipeline_logging_id)", run_id="r"),
    hot(runs.recent_steps, "pipeline_runs_by_pipeline(pipeline_id) step_logs_by_run(pipeline_logging_id)", pipeline_id="p", runs=5),
    hot(runs.list_steps, "step_logs_by_run(pipeline_logging_id, step_index)", run_id="r", **after(step_index=7, step_logging_id="x")),
    hot(runs.following_runs, "pipeline_runs_by_pipeline(pipeline_id, start_time)", pipeline_id="p", start_time=NOW),
    hot(runs.list_transitions, "state_transitions_by_entity(entity_id)", entity_id="r"),
    hot(events.sql.changes_after, "change_log_by_tenant(tenant_id, seq)", **after(seq=7)),
    hot(events.sql.changes_after, "change_log_by_table(table_name, seq)", **after(seq=7), table_name="tables"),
    hot(events.sql.last_changes, "change_log_by_tenant(tenant_id)", **PAGE),
    hot(events.sql.last_changes, "change_log_by_table(table_name)", **PAGE, table_name="tables"),
    hot(events.sql.heads, "change_log_by_tenant(tenant_id)"),
    hot(events.sql.head, "change_log_by_tenant(tenant_id)"),
    hot(events.sql.oldest_after, "change_log_by_tenant(tenant_id, seq)", after_seq=7),
    hot(events.sql.lane_after, "change_log_by_table(table_name, seq)", **LANE),
    hot(jobs.list_runs, "local_job_runs_by_time", **PAGE),
    hot(jobs.list_runs, "local_job_runs_by_time(due_at)", **after(due_at=NOW, id="x")),
    hot(jobs.list_runs, "local_job_runs_by_job(job_id)", **PAGE, job_id="j"),
    hot(jobs.list_runs, "local_job_runs_by_job(job_id, due_at)", **after(due_at=NOW, id="x"), job_id="j"),
    hot(jobs.open_runs, "local_job_runs_queued local_job_runs_running"),
    hot(jobs.statuses, "local_job_runs_queued local_job_runs_running"),
    hot(jobs.running_runs, "local_job_runs_running"),
    hot(jobs.queued_runs, "local_job_runs_queued(start_after)", at=NOW),
    hot(jobs.next_due_run, "local_job_runs_queued(start_after)", at=NOW),
    hot(jobs.due_jobs, "local_jobs_due(next_run_at)", at=NOW, may_sort=True),
    hot(jobs.forget_ended, "local_job_runs_ended(ended_at)", before=NOW),
    hot(jobs.ledger_run, "pipeline_runs_by_key(pipeline_id, idempotency_key)", pipeline_id="p", key="k"),
    hot(control.applied_to_module, "step_logs_of_job(step_name)", **PAGE, module_name="m"),
    hot(control.applied_to_module, "step_logs_of_job(step_name, step_logging_id)", **PAGE, module_name="m", before_id="x"),
    hot(errors.find_error_by_prefix, "error_log_pkey(id)", **IDS),
    hot(errors.list_errors, "error_log_by_time(occurred_at)", **OCCURRED),
    hot(errors.list_errors, "error_log_by_status(status, occurred_at)", **OCCURRED, status="open"),
    hot(errors.list_errors, "error_log_by_type(error_type, occurred_at)", **OCCURRED, error_type="schema"),
    hot(errors.list_errors, "error_log_by_cause(fingerprint, occurred_at)", **OCCURRED, fingerprint="f"),
    hot(errors.list_errors, "error_log_by_table(name_key, occurred_at)", **OCCURRED, name_key="shop/orders"),
    hot(errors.list_errors, "error_log_by_schema(schema_key, occurred_at)", **OCCURRED, schema_key="shop"),
    hot(errors.count_errors, "error_log_groups error_log_pkey(id)", may_sort=True),
    hot(errors.count_errors, "error_log_groups(status) error_log_pkey(id)", may_sort=True, status="open"),
    hot(errors.claim_due, "error_log_due(retry_after) error_log_pkey(id)", claim="c", until=NOW, **PAGE, may_sort=True),
    hot(
        errors.waiting_letters,
        "dead_letter_queue_of_error(error_log_id) dead_letter_queue_pkey(id)",
        may_sort=True,
        error_log_id="e",
        dead_letter_id="d",
    ),
    hot(letters.find_letter_by_prefix, "dead_letter_queue_pkey(id)", **IDS),
    hot(letters.list_letters, "dead_letter_queue_by_time(created_at)", **CREATED),
    hot(letters.list_letters, "dead_letter_queue_by_status(status, created_at)", **CREATED, status="pending"),
    hot(letters.list_letters, "dead_letter_queue_by_cause(fingerprint, created_at)", **CREATED, fingerprint="f"),
    hot(letters.list_letters, "dead_letter_queue_by_table(name_key, created_at)", **CREATED, name_key="shop/orders"),
    hot(letters.list_letters, "dead_letter_queue_by_schema(schema_key, created_at)", **CREATED, schema_key="shop"),
    hot(letters.count_letters, "dead_letter_queue_groups dead_letter_queue_pkey(id)", may_sort=True),
    hot(letters.claim, f"dead_letter_queue_by_status(status) {EXPIRED}", **CLAIM, **PAGE, may_sort=True),
    hot(letters.claim, "dead_letter_queue_groups(status, fingerprint)", **CLAIM, **PAGE, may_sort=True, fingerprint="f"),
    hot(letters.claim, f"dead_letter_queue_pending_of_table(name_key) {EXPIRED}", **CLAIM, **PAGE, may_sort=True, name_key="shop/orders"),
    hot(letters.claim, f"dead_letter_queue_pending_of_schema(schema_key) {EXPIRED}", **CLAIM, **PAGE, may_sort=True, schema_key="shop"),
    hot(letters.claimable, f"dead_letter_queue_by_status(status) {EXPIRED}", **PAGE, may_sort=True),
    hot(letters.claimable, f"dead_letter_queue_pending_of_table(name_key) {EXPIRED}", **PAGE, may_sort=True, name_key="shop/orders"),
    hot(letters.claimable, f"dead_letter_queue_pending_of_schema(schema_key) {EXPIRED}", **PAGE, may_sort=True, schema_key="shop"),
    hot(letters.letters_of_rows, "dead_letter_queue_of_rows", **PAGE, workers="w%"),
    hot(letters.letters_of_rows, "dead_letter_queue_of_rows", **PAGE, workers="w%", name_key="shop/orders", fingerprint="f"),
    hot(letters.find_of_error, "dead_letter_queue_of_error(error_log_id) dead_letter_queue_pkey(id)", may_sort=True, **LINKED),
    hot(letters.claim_these, "dead_letter_queue_pkey(id)", **CLAIM, may_sort=True, ids=["a", "b"]),
    hot(
        letters.settle_errors,
        "error_log_pkey(id) error_log_of_letter(dead_letter_id)",
        status="resolved",
        by="me",
        note="",
        id="l",
        may_sort=True,
    ),
    hot(positions.find_marker, "sync_markers_by_source(name_key, marker_type)", name_key="shop/orders", marker_type="batch"),
    hot(positions.list_markers, "sync_markers_by_source", **PAGE),
    hot(positions.list_markers, "sync_markers_by_source(name_key)", **after(name_key="shop/orders", marker_type="batch")),
    hot(positions.list_history, "sync_marker_history_by_version(marker_id)", **PAGE, marker_id="m"),
    hot(positions.list_history, "sync_marker_history_by_version(marker_id, version)", **after(version=7), marker_id="m"),
    hot(positions.last_files, "source_files_by_path(marker_id)", **PAGE, marker_id="m"),
    hot(positions.last_files, "source_files_by_path(marker_id, file_path)", **after(file_path="x"), marker_id="m"),
    hot(schemas.list_latest, "schema_registry_by_version", **PAGE),
    hot(schemas.list_latest, "schema_registry_by_version(name_key)", **after(name_key="shop/orders")),
    hot(records.latest, "metadata_records_by_kind(kind)", kind="k"),
    hot(records.latest, "metadata_records_by_table(kind, name_key)", kind="k", name_key="main.orders"),
    hot(records.latest, "metadata_records_by_target(kind, target_key)", kind="k", target_key="shop|main.orders"),
    hot(records.history, "metadata_records_by_target(kind, target_key, produced_at)", **FOUND_OUT, kind="k", target_key="shop|"),
    hot(records.history, "metadata_records_by_run(run_id, kind, produced_at)", **FOUND_OUT, kind="k", run_id="r"),
    hot(records.kinds, ""),  # any index that begins with the kind will do
    hot(records.find_same, "metadata_records_once(dedupe_key)", dedupe_key="d"),
    hot(records.log, "metadata_records_by_log(seq)", **after(seq=7)),
    hot(records.head, "metadata_records_by_log"),
    hot(records.find_old, "metadata_records_by_kind(kind, produced_at)", **PAGE, kind="k", cutoff=NOW, after_at=NOW, after_seq=7),
    hot(records.forget, "", seqs=[1, 2]),  # by the number itself: on SQLite the table is in its order
    hot(
        records.find_movable,
        "metadata_records_by_kind(kind, produced_at) metadata_records_by_target(kind, target_key)",
        **PAGE,
        kind="k",
        cutoff=NOW,
        after_at=NOW,
        after_seq=7,
    ),
    hot(records.any_file, "record_files_by_kind"),
    hot(records.moved, "moved_records_pkey(dedupe_key)", dedupe_keys=["a", "b"]),
    hot(records.files_of_kind, "record_files_by_kind(kind)", kind="k", since=NOW, until=NOW),
    hot(records.history, "metadata_records_by_kind(kind)", **PAGE, kind="k"),
    hot(records.history, "metadata_records_by_kind(kind, produced_at)", **FOUND_OUT, kind="k"),
    hot(records.history, "metadata_records_by_table(kind, name_key, produced_at)", **FOUND_OUT, kind="k", name_key="main.orders"),
    hot(records.history, "metadata_records_by_kind(kind, produced_at)", **PAGE, kind="k", since=NOW, until=NOW),
    hot(records.history, "metadata_records_by_table(kind, name_key, produced_at)", **PAGE, kind="k", name_key="main.orders", since=NOW),
    hot(records.history, "metadata_records_by_table(kind, name_key, produced_at)", **PAGE, kind="k", name_key="main.orders", until=NOW),
    hot(
        records.history,
        "metadata_records_by_table(kind, name_key, produced_at)",
        **FOUND_OUT,
        kind="k",
        name_key="main.orders",
        since=NOW,
        until=NOW,
    ),
    hot(
        bands.volumes,
        "metadata_records_by_table(kind, name_key, produced_at) pipeline_runs_pkey(pipeline_logging_id)",
        name_key="main.orders",
        since=NOW,
        until=NOW,
        most=200,
    ),
    hot(
        bands.volumes_of_days,
        "metadata_records_by_table(kind, name_key, produced_at)",
        name_key="main.orders",
        since=NOW,
        until=NOW,
        most=200,
    ),
    hot(
        bands.results,
        "metadata_records_by_table(kind, name_key, produced_at)",
        kind="recon_result",
        name_key="main.orders",
        since=NOW,
        until=NOW,
        check="count",
        most=200,
    ),
    hot(bands.deletes, "tables_by_name(name_key) table_snapshots_by_time(table_id, committed_at)", name_key="main.orders", since=NOW),
    hot(bands.broken_steps, "step_logs_pkey(step_logging_id)", ids=["a", "b"]),
    hot(bands.decisions, "band_decisions_by_series(name_key, kind)", name_key="main.orders", kind="k"),
    hot(bands.last_verdicts, "tables_by_name(name_key) metadata_records_judged(kind, name_key)", **PAGE, after_key="a"),
    hot(freshness.find_freshness, "table_freshness_pkey(table_id)", table_id="t"),
    hot(freshness.list_freshness, "tables_by_name(name_key) table_freshness_pkey(table_id)", **PAGE, after_key="a"),
    hot(tables.list_tables, "tables_by_name", **PAGE),
    hot(tables.list_tables, "tables_by_name(name_key)", **after(name_key="main.orders")),
    hot(tables.list_snapshots, "table_snapshots_by_version(table_id, version)", **after(version=7), table_id="t"),
    hot(
        tables.files_at, "table_files_by_version(table_id, added_version)", **after(added_version=7, file_path="x"), table_id="t", version=9
    ),
    hot(positions.count_runs_since, "pipeline_runs_pkey(pipeline_logging_id)", marker_id="m", version=7, may_sort=True),
    hot(schemas.find_latest, "schema_registry_by_version(name_key)", name_key="shop/orders"),
    hot(schemas.list_changes, "schema_changes_by_change(name_key)", name_key="shop/orders"),
    hot(schemas.list_blocked, "schema_changes_blocked", **PAGE),
    hot(statistics.runs, "pipeline_runs_of_sync(end_time)", since=NOW),
    hot(statistics.runs, "pipeline_runs_of_sync(end_time)", since=NOW, schema_name="shop"),
    hot(statistics.errors, "error_log_by_time(occurred_at)", since=NOW, may_sort=True),
    hot(statistics.errors_by_hour, "error_log_by_time(occurred_at)", since=NOW, may_sort=True),
    hot(statistics.dead_letters, "dead_letter_queue_groups"),
    hot(tables.live_paths, "table_files_live(table_id)", table_id="t0", may_sort=True),
    hot(tables.live_files, "table_files_live(table_id)", table_id="t0", may_sort=True),
    hot(tables.count_live, "table_files_by_path(table_id, file_path)", table_id="t0", paths=["a", "b"]),
    hot(tables.retire_files, "table_files_by_path(table_id, file_path)", table_id="t0", paths=["a", "b"], version=7),
    hot(
        tables.bounds_touched_since,
        "table_files_by_version(table_id, added_version) table_files_removed(table_id, removed_version)",
        table_id="t",
        version=7,
        column="id",
    ),
    hot(
        tables.partitions_touched_since,
        "table_files_by_version(table_id, added_version) table_files_removed(table_id, removed_version)",
        may_sort=True,
        table_id="t",
        version=7,
    ),
    hot(tables.claims, "table_claims_by_table(table_id)", may_sort=True, table_id="t"),
    hot(recon.history, "recon_results_by_time(tenant_id)", **PAGE),
    hot(recon.history, "recon_results_by_time(ended_at)", **RECONCILED),
    hot(recon.history, "recon_results_by_time(ended_at)", **PAGE, since=NOW, until=NOW),
    hot(recon.history, "recon_results_by_name(recon_key, ended_at)", **RECONCILED, recon_key="r1"),
    hot(recon.history, "recon_results_by_table(name_key, ended_at)", **RECONCILED, name_key="silver.t1"),
    hot(recon.find_by_prefix, "recon_results_pkey(recon_result_id)", **IDS),
    hot(recon.last_compared, "recon_results_compared(recon_key)", recon_key="r1"),
    hot(recon.last_run, "recon_results_by_name(recon_key)", recon_key="r1"),
    hot(tables.remove_claims, "table_claims_by_table(table_id, run_id)", table_id="t", run_id="r"),
    hot(tables.compactions, "table_snapshots_replacing(table_id) expired_snapshots_replacing(table_id)", table_id="t0"),
    hot(quality.get_result, "dq_results_pkey(dq_result_id)", dq_result_id="x"),
    hot(quality.find_result_by_prefix, "dq_results_pkey(dq_result_id)", **IDS),
    hot(quality.checks_of, "dq_checks_of_result(dq_result_id)", dq_result_id="x"),
    hot(quality.of_run, "dq_results_by_run(pipeline_logging_id)", run_id="r"),
    hot(quality.history, "dq_results_by_time", **PAGE),
    hot(quality.history, "dq_results_by_time(executed_at)", **CHECKED),
    hot(quality.history, "dq_results_by_table(name_key, executed_at)", **CHECKED, name_key="shop/t1"),
    hot(quality.history, "dq_results_by_suite(dq_config_id, executed_at)", **CHECKED, dq_config_id="s1"),
    hot(quality.history, "dq_results_by_status(overall_status, executed_at)", **CHECKED, status="FAIL"),
    hot(
        quality.check_history,
        "dq_checks_by_name(name_key, check_name, executed_at)",
        **after(executed_at=NOW, dq_check_id="x"),
        name_key="shop/t1",
        check_name="c1",
    ),
    hot(tables.find_delta, "delta_publications_pkey(table_id)", table_id="t"),
    hot(tables.files_between, "table_files_by_version(table_id, added_version)", **PAGE, table_id="t0", low=4_990, high=4_999),
    hot(tables.paths_gone_between, "table_files_removed(table_id, removed_version)", may_sort=True, table_id="t0", low=4_990, high=4_999),
    hot(tables.find_batch, "table_snapshots_by_batch(table_id, batch_id)", table_id="t", batch_id="b"),
    hot(tables.find_expired_batch, "expired_snapshots_by_batch(table_id, batch_id)", table_id="t", batch_id="b"),
    hot(tables.expired_at, "expired_snapshots_by_version(table_id)", table_id="t", at=NOW),
    hot(tables.versions_between, "table_snapshots_by_version(table_id, version)", table_id="t", after=7, upto=9),
    hot(tables.paths_appended, "table_files_by_version(table_id, added_version)", table_id="t0", after=4_990, upto=4_999, may_sort=True),
    hot(tables.newest_before, "table_snapshots_by_version(table_id, version)", table_id="t", version=7),
    hot(tables.find_publication, "table_publications_pkey(table_id)", table_id="t"),
    hot(tables.tagged_snapshots, "table_tags_pkey(table_id) table_snapshots_by_version(table_id)", table_id="t"),
    hot(tables.files_added_since, "table_files_by_version(table_id, added_version)", table_id="t0", version=4_990),
    hot(tables.paths_removed_since, "table_files_removed(table_id, removed_version)", table_id="t0", version=4_990),
    hot(tables.live_in_partitions, "table_files_live(table_id, partition_path)", table_id="t0", paths=["a", "b"]),
    hot(tables.set_iceberg_state, "table_files_unpublished(table_id, added_version)", table_id="t0", version=7, state="completed"),
    hot(maintenance.unpublished_amount, "table_files_by_version(table_id, added_version)", table_id="t0", version=4_990),
    hot(maintenance.versions, "table_snapshots_by_version(table_id)", table_id="t"),
    hot(maintenance.list_tags, "table_tags_pkey(table_id)", may_sort=True, table_id="t"),
    hot(maintenance.list_pins, "table_pins_by_table(table_id)", may_sort=True, table_id="t"),
    hot(maintenance.unread_versions, "change_log_by_table(table_name, seq)", may_sort=True, seq=7),
    hot(maintenance.retired_between, "table_files_retired(table_id, removed_version)", **PAGE, table_id="t", low=3, high=7),
    hot(maintenance.count_retired_between, "table_files_retired(table_id, removed_version)", table_id="t", low=3, high=7),
    hot(maintenance.marked_files, "table_files_removable(table_id)", **PAGE, table_id="t"),
    hot(maintenance.marked_files, "table_files_removable(table_id, removable_since)", **after(since=NOW, id="x"), table_id="t"),
    hot(maintenance.without_checksum, "table_files_by_path(table_id, file_path)", **PAGE, table_id="t", after_path="x"),
    hot(maintenance.mark_files, "table_files_pkey(id)", ids=["a", "b"]),
    hot(maintenance.forget_files, "table_files_pkey(id)", ids=["a", "b"]),
    hot(cleanup.CHANGES.find, "change_log_by_tenant(tenant_id, seq)", **PAGE, cutoff=NOW, after=7),
    hot(cleanup.CHANGES.prune, "change_log_by_tenant(tenant_id, seq)", cutoff=NOW, first=7, last=9),
    hot(schemas.list_old, "schema_registry_by_version", **PAGE, keep=10),
    hot(schemas.list_old, "schema_registry_by_version", **PAGE, keep=10, after_key="shop/orders", after_version=7),
    hot(schemas.remove_versions, "schema_registry_pkey(id)", ids=["a", "b"]),
    hot(cleanup.STEPS_OF, "step_logs_by_run(pipeline_logging_id)", ids=["a", "b"]),
    hot(cleanup.FORGET_STEPS, "step_logs_pkey(step_logging_id)", ids=["a", "b"]),
    hot(cleanup.FORGET_TRANSITIONS, "state_transitions_by_entity(entity_id)", ids=["a", "b"]),
]
# Of each rule of the cleanup, in their order: what is over is found by these.
FINDING = [
    "dead_letter_queue_settled",
    "error_log_settled",
    "sync_marker_history_by_time",
    "dq_results_by_time",
    "recon_results_by_time",
    "local_job_runs_ended",
    "pipeline_runs_ended",
    "pipeline_runs_ended_keyed",
]
for rule, index in zip(cleanup.RULES, FINDING, strict=True):
    HOT += [
        hot(rule.find, f"{index}({rule.at})", **PAGE, cutoff=NOW, after_at=NOW, after_id=""),
        hot(rule.still, f"{rule.table}_pkey({rule.key})", cutoff=NOW, ids=["a", "b"]),
        hot(rule.delete, f"{rule.table}_pkey({rule.key})", ids=["a", "b"]),
    ]


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def explained(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ledger]:
    """A ledger whose plans are looked at; nothing is written to it."""
    if request.param == "sqlite":
        url = new_sqlite_url(tmp_path_factory.mktemp("plans"))
    else:
        server: Server = request.getfixturevalue("postgres")
        server.create_schema(schema := f"plans_{uuid.uuid4().hex[:8]}")
        url = server.url(schema=schema)
    with lakeledger.open(url) as ledger:
        if request.param == "postgres":
            _fill(url)
        yield ledger


@pytest.mark.parametrize("each", HOT, ids=lambda each: each.name)
def test_a_hot_statement_uses_its_index(explained: Ledger, each: Hot) -> None:
    with explained.store.read() as tx:
        plan = Plan.of(tx, each)
    assert plan.indexes.keys() >= each.indexes.keys(), plan.text
    assert {name: columns - plan.indexes[name] for name, columns in each.indexes.items() if columns - plan.indexes[name]} == {}, plan.text
    assert plan.scanned == set(), plan.text
    assert each.may_sort or not plan.sorts, plan.text


@pytest.mark.parametrize(
    ("text", "indexes"),
    [
        ("select pipeline_id from pipeline_runs where idempotency_key = :key order by tenant_id, start_time desc", "pipeline_runs_by_time"),
        (
            "select 1 from pipeline_runs where tenant_id = :tenant_id and pipeline_id = coalesce(:key, pipeline_id) order by start_time",
            "pipeline_runs_by_time(start_time)",
        ),
    ],
)
def test_a_statement_that_goes_through_an_index_to_find_its_rows_is_noticed(explained: Ledger, text: str, indexes: str) -> None:
    with pytest.raises(AssertionError):
        test_a_hot_statement_uses_its_index(explained, hot(statement(text), indexes, key="k"))


@dataclass(frozen=True)
class Plan:
    """What a database would do: which indexes it enters by which columns, what it goes through from end to end, and whether it sorts."""

    indexes: dict[str, set[str]]
    scanned: set[str]
    sorts: bool
    text: str

    @classmethod
    def of(cls, tx: Transaction, each: Hot) -> Plan:
        return _sqlite_plan(tx, each) if tx.dialect == "sqlite" else _postgres_plan(tx, each)


def _sqlite_plan(tx: Transaction, each: Hot) -> Plan:
    lines = [row["detail"] for row in tx.all(_prefixed("explain query plan ", each.query), **each.parameters)]
    text = "\n".join(lines)
    found = re.findall(r"SEARCH .*?USING (?:COVERING )?INDEX (\w+) \((.*)\)", text)
    made_up = {"CONSTANT", "json_each", *re.findall(r"(?:CO-ROUTINE|MATERIALIZE) (\w+)", text)}
    return Plan(
        indexes=_entered((re.sub(r"^sqlite_autoindex_(\w+)_1$", r"\1_pkey", name), by) for name, by in found),
        # With an index, too: whoever goes through all of it finds nothing by it.
        scanned={line.split()[1] for line in lines if line.startswith("SCAN")} - made_up,
        sorts="TEMP B-TREE" in text,
        text=text,
    )


def _postgres_plan(tx: Transaction, each: Hot) -> Plan:
    # A small table is quickly scanned and sorted: what counts is what it does when that is dear, and as a role that policies confine.
    for setting in ("enable_seqscan", *(() if each.may_sort else ("enable_bitmapscan", "enable_sort"))):
        tx.execute(statement(f"set local {setting} = off"))
    tx.execute(statement("set local role plan_reader"))
    found = tx.all(_prefixed("explain (format json) ", each.query), **each.parameters)[0]["QUERY PLAN"]
    nodes = list(_nodes(found[0]["Plan"]))
    return Plan(
        indexes=_entered((node["Index Name"], node.get("Index Cond", "")) for node in nodes if "Index Name" in node),
        scanned={
            node.get("Relation Name") or node["Index Name"]
            for node in nodes
            if node["Node Type"] == "Seq Scan" or ("Index Name" in node and "Index Cond" not in node)
        },
        sorts=any("Sort" in node["Node Type"] for node in nodes),
        text=str(found),
    )


def _entered(found: Iterable[tuple[str, str]]) -> dict[str, set[str]]:
    """The words of the conditions by which each index is entered, columns among them; of several times, those of all."""
    entered: dict[str, set[str]] = {}
    for name, by in found:
        words = set(re.findall(r"\w+", by))
        entered[name] = entered.get(name, words) & words
    return entered


def _nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for child in plan.get("Plans", []):
        yield from _nodes(child)


def _prefixed(prefix: str, query: Query) -> Query:
    return Query(query.name, {dialect: prefix + text for dialect, text in query.texts.items()})


def _fill(url: str) -> None:
    """PostgreSQL plans by what there is: rows enough for it to care, and a role that is confined to its tenant."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(FILL.encode())
        wait_until(lambda: _is_vacuumed(connection))


def _is_vacuumed(connection: psycopg.Connection[Any]) -> bool:
    """Whether an index alone can tell what is there: not while a transaction of anybody's on the server is older than the rows."""
    connection.execute("vacuum analyze")
    seen = connection.execute(
        "select min(relallvisible) from pg_class where relnamespace = current_schema()::regnamespace and relname = 'error_log'"
    ).fetchone()
    return seen is not None and seen[0] > 0


FILL = f"""
set session_replication_role = replica;
insert into pipeline_runs (pipeline_logging_id, tenant_id, pipeline_id, status, trigger_type, trigger_by, start_time, end_time, parameters,
                           run_kind, schema_name, exclusive, lease_token, idempotency_key)
select {ID}, {TENANT}, 'p' || n % 50, (array['COMPLETED', 'FAILED', 'RUNNING'])[1 + n % 3], 'api', 'me', {AT}, {AT}, '{{}}',
       (array['pipeline', 'sync'])[1 + n % 2], 'shop', false, n, case when n % 5 = 0 then 'k' || n end
  from generate_series(1, {ROWS}) n;
insert into step_logs (step_logging_id, tenant_id, pipeline_logging_id, step_name, step_type, step_index, status, start_time, metadata)
select {ID}, {TENANT}, 'r' || n % 50, 's' || n % 90, 'load', n, 'COMPLETED', {AT}, '{{}}' from generate_series(1, {ROWS}) n;
insert into error_log (id, tenant_id, schema_name, table_name, name_key, schema_key, error_type, error_message, record_complete,
                       fingerprint, status, retry_count, max_retries, occurred_at, resolved_at, dead_letter_id, sync_run_id, retry_after)
select {ID}, {TENANT}, 'shop', 't' || n % 90, 'shop/t' || n % 90, 'shop' || n % 30, 'type' || n % 9, 'no', true, 'cause' || n % 70,
       (array['open', 'resolved', 'ignored'])[1 + n % 3], 0, 3, {AT}, {AT}, 'd' || n, {ID}, {AT} from generate_series(1, {ROWS}) n;
insert into dead_letter_queue (id, tenant_id, error_log_id, schema_name, table_name, name_key, schema_key, operation_type, item_kind,
                               record_data, record_complete, payload_hash, dedupe_key, error_type, fingerprint, error_count, status,
                               created_at, last_failed_at, resolved_at, claimed_until, sync_run_id)
select {ID}, {TENANT}, {ID}, 'shop', 't' || n % 90, 'shop/t' || n % 90, 'shop' || n % 30, 'insert', 'record', '{{}}', true, 'h', 'd' || n,
       'type', 'cause' || n % 70, 1, case n % 40 when 0 then 'pending' when 20 then 'processing' else 'resolved' end,
       {AT}, {AT}, {AT}, {AT}, {ID}
  from generate_series(1, {ROWS}) n;
insert into recon_results (recon_result_id, tenant_id, run_id, recon_name, recon_key, check_name, check_type, status, schema_name,
                           table_name, name_key, source, thresholds, scope, detail, message, ingestion_run_ids, frequency,
                           started_at, ended_at)
select {ID}, {TENANT}, 'r' || n % 50, 'r' || n % 90, 'r' || n % 90, 'count', 'count', (array['pass', 'fail', 'skipped'])[1 + n % 3],
       'silver', 't' || n % 90, 'silver.t' || n % 90, '{{}}', '{{}}', '[]', '{{}}', '', '[]', 'daily', {AT}, {AT}
  from generate_series(1, {ROWS}) n;
insert into sync_marker_history (id, tenant_id, marker_id, version, position_kind, position_data, order_key, updated_at, updated_by, forced,
                                 sync_run_id)
select {ID}, {TENANT}, 'm' || n % 50, n, 'number', '{{}}', '', {AT}, 'me', false, {ID} from generate_series(1, {ROWS}) n;
insert into metadata_records (record_id, tenant_id, kind, source_id, target_key, target_extras, context_extras, payload, produced_at,
                              producer_id, extras, dedupe_key, run_id, window_start, window_end)
select {ID}, {TENANT}, 'kind' || n % 3, 's', 's' || n % 90, '{{}}', '{{}}', '{{}}', {AT}, 'me', '{{}}', 'd' || n, 'r' || n % 900, {AT}, {AT}
  from generate_series(1, {ROWS}) n;
insert into record_files (record_file_id, tenant_id, kind, file_path, file_size, record_count, first_at, last_at, first_seq, last_seq,
                          status, created_at)
select 'f' || n, {TENANT}, 'kind' || n % 3, 'p' || n, 1, 1, {AT}, {AT}, n, n, 'moved', {AT} from generate_series(1, {ROWS}) n;
insert into moved_records (tenant_id, dedupe_key, record_file_id, record_id, seq)
select {TENANT}, 'm' || n, 'f' || n, {ID}, n from generate_series(1, {ROWS}) n;
insert into tables (table_id, tenant_id, schema_name, table_name, name_key, location, current_version, content_version, row_count,
                    total_size, file_count, last_modified, created_at, updated_at)
select 't' || n, {TENANT}, 'shop', 't' || n, 'shop.t' || n, 'l', 1, 1, 1, 1, 1, {AT}, {AT}, {AT} from generate_series(1, {ROWS}) n;
insert into table_freshness (table_id, tenant_id, data_at, gaps, updated_at)
select 't' || n, {TENANT}, {AT}, '[]', {AT} from generate_series(1, {ROWS}) n;
insert into dq_results (dq_result_id, tenant_id, pipeline_logging_id, target_table, name_key, dq_config_id, executed_at,
                        expectations_passed, expectations_failed, overall_status, ingestion_date, fail_on_error, is_visible, scope)
select {ID}, {TENANT}, 'r' || n, 't', 'shop/t' || n % 90, 's' || n % 70, {AT}, 1, 0, (array['PASS', 'WARNING', 'FAIL'])[1 + n % 3],
       '2026-01-01', false, true, '{{}}' from generate_series(1, {ROWS}) n;
insert into dq_checks (dq_check_id, tenant_id, dq_result_id, check_index, name_key, executed_at, expectation, check_name, severity, action,
                       success, observed, sample, declared)
select {ID}, {TENANT}, {ID}, 0, 'shop/t' || n % 90, {AT}, 'not_null', 'c' || n % 30, 'critical', 'report', true, '{{}}', '[]', '{{}}'
  from generate_series(1, {ROWS}) n;
insert into local_job_runs (id, tenant_id, job_id, cause, due_at, asked_by, parameters, status, attempt, times_lost, claim_token,
                            start_after, created_at, ended_at)
select {ID}, {TENANT}, 'j' || n % 50, 'asked', {AT}, 'me', '{{}}', 'done', 1, 0, 0, {AT}, {AT}, {AT} from generate_series(1, {ROWS}) n;
insert into change_log (tenant_id, table_name, operation, key, at)
select case when n % 20 = 0 then 'default' else 'other' end, (array['tables', 'pipeline_runs', 'table_files'])[1 + n % 3], 'INSERT',
       {ID}, {AT} from generate_series(1, {ROWS}) n;
insert into schema_registry (id, tenant_id, schema_name, table_name, name_key, version, schema_definition, schema_hash, ordinal_hash,
                             evolution_type, compatibility_status, changes, policy, registered_at, registered_by)
select {ID}, {TENANT}, 'shop', 't' || n % 90, 'shop/t' || n % 90, n, '{{}}', 'h', 'h', 'initial', 'compatible', '[]', 'none', {AT}, 'me'
  from generate_series(1, {ROWS}) n;
insert into table_files (id, tenant_id, table_id, file_name, file_path, file_size, file_type, partition_path, row_count, is_compressed,
                         column_bounds, state, added_version, removed_version, run_id, iceberg_metadata_state, created_at, modified_at)
select {ID}, {TENANT}, 't' || n % 5, 'f', 'f' || n, 1, 'parquet', 'p' || n % 9, 1, true, '{{}}',
       case when n % 10 = 0 then 'live' else 'retired' end, n, case when n % 10 = 0 then null else n + 1 end, {ID}, 'pending', {AT}, {AT}
  from generate_series(1, {ROWS}) n;
do $$ begin
    if not exists (select from pg_roles where rolname = 'plan_reader') then create role plan_reader; end if;
exception when duplicate_object or unique_violation then null;  -- another test process was faster
end $$;
do $$ begin
    execute format('grant usage on schema %I to plan_reader', current_schema());
    execute format('grant all on all tables in schema %I to plan_reader', current_schema());
end $$;
"""
