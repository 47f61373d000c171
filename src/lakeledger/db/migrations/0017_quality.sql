-- What came of checking a table, or the rows of a load, by a suite of expectations. It outlives the run that checked: see `retention`.
create table dq_results (
    dq_result_id        text primary key,
    tenant_id           text not null,
    pipeline_logging_id text not null,
    step_logging_id     text,
    target_table        text not null,
    name_key            text not null,
    dq_config_id        text not null,
    executed_at         timestamptz not null,
    expectations_passed bigint not null,
    expectations_failed bigint not null,
    failed_expectations jsonb,
    overall_status      text not null check (overall_status in ('PASS', 'WARNING', 'FAIL')),
    ingestion_date      text not null,
    fail_on_error       boolean not null,
    is_visible          boolean not null,
    table_version       bigint,
    scope               jsonb not null
);

create index dq_results_by_time on dq_results (tenant_id, executed_at desc, dq_result_id desc);
create index dq_results_by_table on dq_results (tenant_id, name_key, executed_at desc, dq_result_id desc);
create index dq_results_by_status on dq_results (tenant_id, overall_status, executed_at desc, dq_result_id desc);
create index dq_results_by_suite on dq_results (tenant_id, dq_config_id, executed_at desc, dq_result_id desc);
create index dq_results_by_run on dq_results (tenant_id, pipeline_logging_id, executed_at, dq_result_id);

-- One row for each expectation, also for those that passed.
create table dq_checks (
    dq_check_id        text primary key,
    tenant_id          text not null,
    dq_result_id       text not null references dq_results (dq_result_id) on delete cascade,
    check_index        bigint not null,
    name_key           text not null,
    executed_at        timestamptz not null,
    expectation        text not null,
    check_name         text not null,
    column_name        text,
    severity           text not null check (severity in ('critical', 'warning', 'info')),
    action             text not null,
    success            boolean not null,
    observed           jsonb not null,
    element_count      bigint,
    unexpected_count   bigint,
    unexpected_percent double precision,
    sample             jsonb not null,
    error_message      text,
    declared           jsonb not null
);

create unique index dq_checks_of_result on dq_checks (dq_result_id, check_index);
-- How one expectation of a table went over time.
create index dq_checks_by_name on dq_checks (tenant_id, name_key, check_name, executed_at desc, dq_check_id desc);
