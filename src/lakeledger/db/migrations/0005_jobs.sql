-- What should run: the jobs of every backend as we last applied them, and the jobs and runs that the ledger itself keeps.
-- A tracked job keeps its settings, and a hash of the rows that they were made from: while both are the same, a plan need not read on.
-- What the job runs is with its backend.

create table jobs (
    id                text primary key,
    tenant_id         text not null,
    control_table     text not null,
    module_name       text not null,
    backend           text not null,
    job_id            text not null,
    job_name          text not null,
    settings          jsonb not null,
    settings_hash     text not null,
    rows_hash         text,
    control_version   bigint not null,
    state             text not null check (state in ('active', 'paused', 'removed')),
    created_timestamp timestamptz not null,
    updated_timestamp timestamptz not null
);

create unique index jobs_by_module on jobs (tenant_id, control_table, module_name, backend);

create table local_jobs (
    job_id      text primary key,
    tenant_id   text not null,
    name        text not null,
    settings    jsonb not null,
    module      jsonb not null,
    base        text not null,
    paused      boolean not null,
    next_run_at timestamptz,
    watches     boolean not null,
    seen        jsonb not null,
    created_at  timestamptz not null,
    updated_at  timestamptz not null,
    version     bigint not null
);

create index local_jobs_due on local_jobs (tenant_id, next_run_at) where next_run_at is not null;
create index local_jobs_watching on local_jobs (tenant_id, job_id) where watches;

create table local_job_runs (
    id            text primary key,
    tenant_id     text not null,
    job_id        text not null references local_jobs (job_id) on delete cascade,
    cause         text not null check (cause in ('schedule', 'file_arrival', 'table_update', 'asked')),
    due_at        timestamptz not null,
    asked_by      text not null,
    parameters    jsonb not null,
    status        text not null check (status in ('queued', 'running', 'done', 'failed', 'skipped', 'cancelled')),
    reason        text,
    attempt       integer not null,
    times_lost    integer not null,
    start_after   timestamptz not null,
    run_id        text,
    claim_token   bigint not null,
    claimed_by    text,
    claimed_on    text,
    claimed_until timestamptz,
    created_at    timestamptz not null,
    started_at    timestamptz,
    ended_at      timestamptz
);

-- What was done to the job of a module, newest first: ids grow with time.
create index step_logs_of_job on step_logs (tenant_id, step_name, step_logging_id desc) where step_type = 'job';

-- A due time of a job is one run, however many schedulers see that it has come.
create unique index local_job_runs_once on local_job_runs (job_id, due_at) where cause <> 'asked';
-- What waits and what is under way is found without looking at what has ended. SQLite uses no partial index for one of several statuses.
create index local_job_runs_queued on local_job_runs (tenant_id, start_after, id) where status = 'queued';
create index local_job_runs_running on local_job_runs (tenant_id, started_at, id) where status = 'running';
create index local_job_runs_by_time on local_job_runs (tenant_id, due_at desc, id desc);
create index local_job_runs_by_job on local_job_runs (tenant_id, job_id, due_at desc, id desc);
create index local_job_runs_ended on local_job_runs (tenant_id, ended_at, id) where ended_at is not null;
