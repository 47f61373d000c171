-- What capture learns: schema versions, errors, dead letters.

create table schema_registry (
    id                   text primary key,
    tenant_id            text not null,
    schema_name          text not null,
    table_name           text not null,
    name_key             text not null,
    version              integer not null,
    schema_definition    jsonb not null,
    schema_hash          text not null,
    ordinal_hash         text not null,
    evolution_type       text not null,
    previous_version     integer,
    compatibility_status text not null check (compatibility_status in ('compatible', 'breaking', 'unknown')),
    changes              jsonb not null,
    policy               text not null,
    registered_at        timestamptz not null,
    registered_by        text not null,
    sync_run_id          text
);

create unique index schema_registry_by_version on schema_registry (tenant_id, name_key, version);

create table error_log (
    id              text primary key,
    tenant_id       text not null,
    sync_run_id     text,
    step_id         text,
    schema_name     text not null,
    table_name      text,
    name_key        text not null,
    schema_key      text not null,
    error_type      text not null,
    error_code      text,
    error_message   text not null,
    error_details   jsonb,
    stack_trace     text,
    record_data     jsonb,
    record_complete boolean not null,
    operation_type  text,
    fingerprint     text not null,
    status          text not null check (status in ('open', 'resolved', 'ignored')),
    retry_count     integer not null,
    max_retries     integer not null,
    retry_after     timestamptz,
    last_retry_at   timestamptz,
    dead_letter_id  text,
    claimed_by      text,
    claimed_until   timestamptz,
    occurred_at     timestamptz not null,
    resolved_at     timestamptz,
    resolved_by     text,
    resolution_note text
);

create index error_log_by_time on error_log (tenant_id, occurred_at desc, id desc);
create index error_log_by_status on error_log (tenant_id, status, occurred_at desc, id desc);
create index error_log_by_type on error_log (tenant_id, error_type, occurred_at desc, id desc);
create index error_log_by_cause on error_log (tenant_id, fingerprint, occurred_at desc, id desc);
create index error_log_by_table on error_log (tenant_id, name_key, occurred_at desc, id desc);
create index error_log_by_schema on error_log (tenant_id, schema_key, occurred_at desc, id desc);
-- Everything that a group is told from, so that counting them reads no error.
create index error_log_groups on error_log (tenant_id, status, fingerprint, schema_name, table_name, occurred_at, id);
create index error_log_due on error_log (tenant_id, retry_after) where status = 'open' and retry_after is not null;
create index error_log_settled on error_log (tenant_id, resolved_at, id) where status <> 'open';
create index error_log_of_letter on error_log (tenant_id, dead_letter_id) where dead_letter_id is not null;
create index error_log_of_steps on error_log (tenant_id, name_key) where status = 'open' and step_id is not null;
create index error_log_of_run on error_log (tenant_id, sync_run_id) where sync_run_id is not null;

create table dead_letter_queue (
    id                text primary key,
    tenant_id         text not null,
    sync_run_id       text,
    error_log_id      text,
    schema_name       text not null,
    table_name        text,
    name_key          text not null,
    schema_key        text not null,
    operation_type    text not null,
    item_kind         text not null check (item_kind in ('record', 'event', 'metadata')),
    source_record_id  text,
    record_data       jsonb not null,
    record_complete   boolean not null,
    payload_hash      text not null,
    dedupe_key        text not null,
    error_type        text not null,
    error_message     text,
    fingerprint       text not null,
    error_count       integer not null,
    status            text not null check (status in ('pending', 'processing', 'resolved', 'discarded')),
    created_at        timestamptz not null,
    last_failed_at    timestamptz not null,
    claimed_by        text,
    claimed_until     timestamptz,
    resolved_at       timestamptz,
    resolved_by       text,
    resolution_method text,
    resolution_note   text
);

-- The same record fails twice: one letter. Once it is settled, a new failure is a new letter.
create unique index dead_letter_queue_once on dead_letter_queue (tenant_id, dedupe_key) where status in ('pending', 'processing');
create index dead_letter_queue_by_time on dead_letter_queue (tenant_id, created_at desc, id desc);
create index dead_letter_queue_by_status on dead_letter_queue (tenant_id, status, created_at, id);
create index dead_letter_queue_claimed on dead_letter_queue (tenant_id, claimed_until) where status = 'processing';
create index dead_letter_queue_by_cause on dead_letter_queue (tenant_id, fingerprint, created_at, id);
create index dead_letter_queue_by_table on dead_letter_queue (tenant_id, name_key, created_at, id);
create index dead_letter_queue_by_schema on dead_letter_queue (tenant_id, schema_key, created_at, id);
-- What waits is claimed without looking at what is settled.
create index dead_letter_queue_pending_of_table on dead_letter_queue (tenant_id, name_key, created_at, id) where status = 'pending';
create index dead_letter_queue_pending_of_schema on dead_letter_queue (tenant_id, schema_key, created_at, id) where status = 'pending';
-- What waits for one cause is claimed by its age; and counting groups reads no letter.
create index dead_letter_queue_groups
    on dead_letter_queue (tenant_id, status, fingerprint, created_at, id, schema_name, table_name, error_count);
create index dead_letter_queue_settled on dead_letter_queue (tenant_id, resolved_at, id) where status in ('resolved', 'discarded');
create index dead_letter_queue_of_error on dead_letter_queue (tenant_id, error_log_id) where error_log_id is not null;
create index dead_letter_queue_of_run on dead_letter_queue (tenant_id, sync_run_id) where sync_run_id is not null;

create index pipeline_runs_of_sync on pipeline_runs (tenant_id, end_time) where run_kind = 'sync';
create index sync_marker_history_by_time on sync_marker_history (tenant_id, updated_at, id);
create index pipeline_runs_ended on pipeline_runs (tenant_id, end_time, pipeline_logging_id)
    where end_time is not null and idempotency_key is null;
create index pipeline_runs_ended_keyed on pipeline_runs (tenant_id, end_time, pipeline_logging_id)
    where end_time is not null and idempotency_key is not null;
create index metadata_records_by_time on metadata_records (tenant_id, produced_at, record_id) where kind <> 'schema_version';
