-- The ledger's tables. Types are written as PostgreSQL spells them; SQLite takes them as they are.

create table pipeline_runs (
    pipeline_logging_id text primary key,
    tenant_id           text not null,
    pipeline_id         text not null,
    status              text not null check (status in ('PENDING', 'RUNNING', 'COMPLETED', 'FAILED', 'CANCELLED', 'SKIPPED')),
    trigger_type        text not null,
    trigger_by          text not null,
    start_time          timestamptz not null,
    end_time            timestamptz,
    duration_ms         bigint,
    config_version      text,
    worker_instance     text,
    error_message       text,
    parameters          jsonb not null,
    run_kind            text not null,
    schema_name         text,
    sync_mode           text,
    config_hash         text,
    source_info         jsonb,
    destination_info    jsonb,
    instance_id         text,
    node_id             text,
    records_processed   bigint not null default 0,
    records_inserted    bigint not null default 0,
    records_updated     bigint not null default 0,
    records_deleted     bigint not null default 0,
    records_failed      bigint not null default 0,
    bytes_processed     bigint not null default 0,
    commit_count        bigint not null default 0,
    done_by             text not null default 'end' check (done_by in ('end', 'commit', 'steps')),
    error_details       jsonb,
    parent_run_id       text,
    retry_of            text,
    idempotency_key     text,
    exclusive           boolean not null,
    heartbeat_at        timestamptz,
    lease_token         bigint not null,
    lease_expires_at    timestamptz,
    suspected_at        timestamptz
);

create index pipeline_runs_by_time on pipeline_runs (tenant_id, start_time desc, pipeline_logging_id desc);
create index pipeline_runs_by_pipeline on pipeline_runs (tenant_id, pipeline_id, start_time desc, pipeline_logging_id desc);
create index pipeline_runs_by_status on pipeline_runs (tenant_id, status, start_time desc, pipeline_logging_id desc);
create index pipeline_runs_by_kind on pipeline_runs (tenant_id, run_kind, start_time desc, pipeline_logging_id desc);
create index pipeline_runs_by_token on pipeline_runs (tenant_id, pipeline_id, lease_token desc);
create unique index pipeline_runs_exclusive on pipeline_runs (tenant_id, pipeline_id) where exclusive and status = 'RUNNING';
create unique index pipeline_runs_idempotent on pipeline_runs (tenant_id, pipeline_id, idempotency_key)
    where idempotency_key is not null and status in ('PENDING', 'RUNNING', 'COMPLETED');
create index pipeline_runs_by_key on pipeline_runs (tenant_id, pipeline_id, idempotency_key, start_time desc, pipeline_logging_id desc)
    where idempotency_key is not null;

create table step_logs (
    step_logging_id     text primary key,
    tenant_id           text not null,
    pipeline_logging_id text not null references pipeline_runs (pipeline_logging_id) on delete cascade,
    step_name           text not null,
    step_type           text not null,
    step_index          integer not null,
    status              text not null check (status in ('PENDING', 'RUNNING', 'COMPLETED', 'FAILED', 'CANCELLED', 'SKIPPED')),
    start_time          timestamptz not null,
    end_time            timestamptz,
    duration_ms         bigint,
    rows_processed      bigint,
    bytes_processed     bigint,
    error_message       text,
    metadata            jsonb not null,
    attempt             integer not null default 1,
    target_table        text,
    done_by             text not null default 'end' check (done_by in ('end', 'commit')),
    committed_at        timestamptz
);

create index step_logs_by_run on step_logs (pipeline_logging_id, step_index, step_logging_id);
create index step_logs_by_time on step_logs (tenant_id, start_time desc);

-- What a step printed and where it failed, capped and without secrets.
create table step_output (
    step_logging_id text primary key references step_logs (step_logging_id) on delete cascade,
    tenant_id       text not null,
    output          text not null,
    left_out        bigint not null,
    traceback       text,
    kept_at         timestamptz not null
);

create table state_transitions (
    transition_id text primary key,
    tenant_id     text not null,
    entity        text not null,
    entity_id     text not null,
    from_status   text,
    to_status     text not null,
    at            timestamptz not null,
    reason        text,
    actor         text not null
);

create index state_transitions_by_entity on state_transitions (entity_id, transition_id);

create table tables (
    table_id        text primary key,
    tenant_id       text not null,
    schema_name     text not null,
    table_name      text not null,
    name_key        text not null,
    location        text not null,
    current_version bigint not null,
    content_version bigint not null,
    row_count       bigint not null,
    total_size      bigint not null,
    file_count      bigint not null,
    last_modified   timestamptz not null,
    created_at      timestamptz not null,
    updated_at      timestamptz not null
);

create unique index tables_by_name on tables (tenant_id, name_key);

-- Runs that retention has deleted and that may have left files behind: until the next sweep, which deletes those.
create table forgotten_runs (
    run_id       text primary key,
    tenant_id    text not null,
    forgotten_at timestamptz not null
);

create table warehouses (
    tenant_id         text primary key,
    location          text not null,
    relative_location text,
    claimed_at        timestamptz not null
);

create table table_metadata (
    id             text primary key,
    tenant_id      text not null,
    table_id       text not null references tables (table_id) on delete cascade,
    schema_version integer not null,
    "schema"       jsonb not null,
    schema_hash    text not null,
    storage_engine text not null,
    engine_config  jsonb not null,
    format         text not null,
    compression    text not null,
    partition_by   jsonb not null,
    sort_by        jsonb not null,
    properties     jsonb not null,
    last_modified  timestamptz not null,
    created_at     timestamptz not null,
    updated_at     timestamptz not null,
    unique (table_id, schema_version)
);

create table table_snapshots (
    snapshot_id    text primary key,
    tenant_id      text not null,
    table_id       text not null references tables (table_id) on delete cascade,
    version        bigint not null,
    parent_version bigint,
    operation      text not null,
    summary        jsonb not null,
    schema_version integer not null,
    run_id         text not null,
    batch_id       text,
    trigger        text not null,
    committed_at   timestamptz not null,
    manifest_list  text
);

create unique index table_snapshots_by_version on table_snapshots (table_id, version);
create index table_snapshots_by_batch on table_snapshots (table_id, batch_id, version) where batch_id is not null;
create index table_snapshots_by_time on table_snapshots (table_id, committed_at);
create index table_snapshots_by_run on table_snapshots (tenant_id, run_id);

create table table_files (
    id                     text primary key,
    tenant_id              text not null,
    table_id               text not null references tables (table_id) on delete cascade,
    file_name              text not null,
    file_path              text not null,
    file_size              bigint not null,
    file_type              text not null,
    partition_path         text not null,
    row_count              bigint not null,
    checksum               text,
    is_compressed          boolean not null,
    column_bounds          jsonb not null,
    state                  text not null check (state in ('live', 'retired')),
    added_version          bigint not null,
    removed_version        bigint,
    run_id                 text not null,
    iceberg_metadata_state text not null,
    created_at             timestamptz not null,
    modified_at            timestamptz not null
);

create unique index table_files_by_path on table_files (table_id, file_path);
create index table_files_live on table_files (table_id, partition_path) where state = 'live';
create index table_files_by_version on table_files (table_id, added_version, file_path);
create index table_files_removed on table_files (table_id, removed_version) where removed_version is not null;

create table table_stats (
    id            text primary key,
    tenant_id     text not null,
    table_id      text not null unique references tables (table_id) on delete cascade,
    row_count     bigint not null,
    file_count    bigint not null,
    total_size    bigint not null,
    last_modified timestamptz not null,
    created_at    timestamptz not null,
    updated_at    timestamptz not null
);

create table sync_markers (
    id            text primary key,
    tenant_id     text not null,
    schema_name   text not null,
    table_name    text,
    name_key      text not null,
    marker_type   text not null check (marker_type in ('stream', 'batch', 'initial')),
    position_kind text not null,
    position_data jsonb not null,
    order_key     text not null,
    version       bigint not null,
    last_updated  timestamptz not null,
    sync_run_id   text
);

create unique index sync_markers_by_source on sync_markers (tenant_id, name_key, marker_type);

create table sync_marker_history (
    id            text primary key,
    tenant_id     text not null,
    marker_id     text not null references sync_markers (id) on delete cascade,
    version       bigint not null,
    position_kind text not null,
    position_data jsonb not null,
    order_key     text not null,
    updated_at    timestamptz not null,
    updated_by    text not null,
    sync_run_id   text,
    forced        boolean not null,
    reason        text,
    appended_rows bigint
);

create unique index sync_marker_history_by_version on sync_marker_history (marker_id, version);

create table source_files (
    id            text primary key,
    tenant_id     text not null,
    marker_id     text not null references sync_markers (id) on delete cascade,
    file_path     text not null,
    file_size     bigint not null,
    modified_at   timestamptz not null,
    content_hash  text not null,
    registered_at timestamptz not null,
    run_id        text not null
);

create unique index source_files_by_path on source_files (marker_id, file_path);

create table metadata_records (
    record_id      text primary key,
    tenant_id      text not null,
    kind           text not null,
    source_id      text not null,
    schema_name    text,
    table_name     text,
    name_key       text,
    target_extras  jsonb not null,
    job_id         text,
    run_id         text,
    namespace      text,
    context_extras jsonb not null,
    payload        jsonb not null,
    produced_at    timestamptz not null,
    producer_id    text not null,
    version        text,
    quality        jsonb,
    extras         jsonb not null,
    dedupe_key     text
);

create index metadata_records_by_kind on metadata_records (tenant_id, kind, produced_at desc, record_id desc);
create index metadata_records_by_table on metadata_records (tenant_id, kind, name_key, produced_at desc, record_id desc);
create unique index metadata_records_once on metadata_records (tenant_id, dedupe_key) where dedupe_key is not null;
create index metadata_records_by_run on metadata_records (tenant_id, run_id);

-- How far each subscriber has read the change log; what the slowest has not seen is kept.
create table subscriber_cursor (
    tenant_id  text not null,
    subscriber text not null,
    seq        bigint not null,
    updated_at timestamptz not null,
    primary key (tenant_id, subscriber)
);
