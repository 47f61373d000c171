-- What people decided about a point of a series, which is the id of a record or a day; the newest decision about a point counts.
create table band_decisions (
    decision_id text primary key,
    tenant_id   text not null,
    name_key    text not null,
    kind        text not null,
    point       text not null,
    decision    text not null check (decision in ('exclude', 'accept', 'restore')),
    reason      text not null,
    decided_by  text not null,
    decided_at  timestamptz not null
);

create index band_decisions_by_series on band_decisions (tenant_id, name_key, kind, decision_id);

-- When a table last got data, how long it usually waits for it, and how long it may. `gaps` has for each of the last days with data the
-- longest silence that ended on it, in seconds: [["2026-11-17", 86400.5], …]; `wait_seconds` is longer than most of them, and `learned_days`
-- is how many there are. `declared_by` is null if a document declares `max_age_seconds`.
create table table_freshness (
    table_id        text primary key references tables (table_id) on delete cascade,
    tenant_id       text not null,
    data_at         timestamptz,
    gaps            jsonb not null,
    wait_seconds    double precision,
    learned_days    integer not null default 0,
    max_age_seconds bigint,
    declared_by     text,
    reason          text,
    updated_at      timestamptz not null
);

-- Of what was loaded before, when it last was.
insert into table_freshness (table_id, tenant_id, data_at, gaps, updated_at)
select t.table_id, t.tenant_id, max(r.produced_at), '[]', max(r.produced_at)
  from metadata_records r
  join tables t on t.tenant_id = r.tenant_id and t.name_key = r.name_key
 where r.kind = 'ingestion_volume'
 group by t.table_id, t.tenant_id;

-- The last verdict about each table, of many records.
create index metadata_records_judged on metadata_records (tenant_id, kind, name_key, produced_at desc, record_id desc) where quality is not null;
