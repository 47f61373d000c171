-- What each check of a reconciliation found. `name_key` is the ledger table that it is about, if one of the sides is one.
create table recon_results (
    recon_result_id    text primary key,
    tenant_id          text not null,
    run_id             text not null,
    recon_name         text not null,
    recon_key          text not null,
    check_name         text not null,
    check_type         text not null,
    status             text not null
                       check (status in ('pass', 'warn', 'fail', 'error', 'skipped', 'timeout', 'scheduled_skip')),
    schema_name        text,
    table_name         text,
    name_key           text,
    source             jsonb not null,
    target             jsonb,
    source_metric      text,
    target_metric      text,
    difference         double precision,
    difference_percent double precision,
    thresholds         jsonb not null,
    band               jsonb,
    scope              jsonb not null,
    detail             jsonb not null,
    message            text not null,
    ingestion_run_ids  jsonb not null,
    frequency          text not null,
    started_at         timestamptz not null,
    ended_at           timestamptz not null
);

create index recon_results_by_time on recon_results (tenant_id, ended_at, recon_result_id);
create index recon_results_by_name on recon_results (tenant_id, recon_key, ended_at, recon_result_id);
create index recon_results_by_table on recon_results (tenant_id, name_key, ended_at, recon_result_id);
-- When a reconciliation was last carried out, which may have been long before it was last looked at.
create index recon_results_compared on recon_results (tenant_id, recon_key, ended_at) where status in ('pass', 'warn', 'fail');
