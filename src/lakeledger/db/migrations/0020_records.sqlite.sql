-- Records get a place in the log of their tenant (`seq`, never given twice, in the order of commits), what makes them the same fact
-- (`dedupe_key`), what their target is matched by, and the time that they are about if they say so.
create table new_records (
    seq            integer primary key autoincrement,
    record_id      text not null unique,
    tenant_id      text not null,
    kind           text not null,
    source_id      text not null,
    schema_name    text,
    table_name     text,
    name_key       text,
    target_key     text not null,
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
    dedupe_key     text not null,
    window_start   timestamptz,
    window_end     timestamptz
);

insert into new_records (
    record_id, tenant_id, kind, source_id, schema_name, table_name, name_key, target_key, target_extras, job_id, run_id, namespace,
    context_extras, payload, produced_at, producer_id, version, quality, extras, dedupe_key)
select record_id, tenant_id, kind, source_id, schema_name, table_name, name_key,
       source_id || '|' || coalesce(name_key, lower(schema_name) || '.', ''), target_extras, job_id, run_id, namespace,
       context_extras, payload, produced_at, producer_id, version, quality, extras, coalesce(dedupe_key, record_id)
  from metadata_records
 order by produced_at, record_id;

drop table metadata_records;
alter table new_records rename to metadata_records;

create index metadata_records_by_log on metadata_records (tenant_id, seq);
create index metadata_records_by_kind on metadata_records (tenant_id, kind, produced_at desc, seq desc);
create index metadata_records_by_table on metadata_records (tenant_id, kind, name_key, produced_at desc, seq desc);
create index metadata_records_by_target on metadata_records (tenant_id, kind, target_key, produced_at desc, seq desc);
create index metadata_records_by_run on metadata_records (tenant_id, run_id, kind, produced_at desc, seq desc);
-- The last verdict about each table, of many records.
create index metadata_records_judged on metadata_records (tenant_id, kind, name_key, produced_at desc, seq desc) where quality is not null;
create unique index metadata_records_once on metadata_records (tenant_id, dedupe_key);

-- What records of a kind look like: every version that was registered. Without a schema anything does. `retention_days` null keeps them
-- for good, -1 for as long as the settings say; `frequency` says how often one is to be expected: hourly, daily, on_change, …
create table record_kind (
    tenant_id      text not null,
    kind           text not null,
    version        integer not null,
    schema         jsonb not null,
    compatibility  text not null check (compatibility in ('backward', 'forward', 'full', 'none')),
    retention_days double precision,
    archive        boolean not null,
    frequency      text,
    description    text,
    reason         text,
    registered_by  text not null,
    registered_at  timestamptz not null,
    primary key (tenant_id, kind, version)
);

-- What becomes of a record whose kind is not registered, or that does not look like it: refused, set aside as a dead letter, or kept.
create table record_policy (
    tenant_id text primary key,
    policy    text not null check (policy in ('strict', 'quarantine', 'open')),
    reason    text,
    set_by    text not null,
    set_at    timestamptz not null
);

-- History that was moved to Parquet, beside the warehouse: each file has records of one kind, from one time to another. While it is
-- `moving`, its records may be in metadata_records still.
create table record_files (
    record_file_id text primary key,
    tenant_id      text not null,
    kind           text not null,
    file_path      text not null,
    file_size      bigint not null,
    record_count   bigint not null,
    first_at       timestamptz not null,
    last_at        timestamptz not null,
    first_seq      bigint not null,
    last_seq       bigint not null,
    status         text not null check (status in ('moving', 'moved')),
    created_at     timestamptz not null
);

create index record_files_by_kind on record_files (tenant_id, kind, last_at desc, record_file_id);

-- Which facts are in those files: one that is stored again is known still.
create table moved_records (
    tenant_id      text not null,
    dedupe_key     text not null,
    record_file_id text not null references record_files (record_file_id) on delete cascade,
    record_id      text not null,
    seq            bigint not null,
    primary key (tenant_id, dedupe_key)
);

create index moved_records_by_file on moved_records (record_file_id, seq);
