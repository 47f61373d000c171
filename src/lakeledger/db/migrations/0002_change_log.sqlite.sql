create table change_log (
    seq        integer primary key autoincrement,
    tenant_id  text not null,
    table_name text not null,
    operation  text not null check (operation in ('INSERT', 'UPDATE', 'DELETE')),
    key        text not null,
    before     jsonb,
    after      jsonb,
    at         timestamptz not null
);

create index change_log_by_tenant on change_log (tenant_id, seq);
create index change_log_by_table on change_log (tenant_id, table_name, seq);

-- A row in here, never committed, tells the triggers that retention is deleting.
create table retention_under_way (tenant_id text not null);
