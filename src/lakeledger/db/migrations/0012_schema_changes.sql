-- Changes of a source's schema that block its load until a person accepts them: one row for each source and change.
-- One that was accepted becomes `applied` with the load that it let pass, and holds for later ones only if its change says that it `lasts`.
create table schema_changes (
    id              text primary key,
    tenant_id       text not null,
    schema_name     text not null,
    table_name      text not null,
    name_key        text not null,
    change_key      text not null,
    target_table    text,
    change          jsonb not null,
    effect          text not null,
    status          text not null check (status in ('blocked', 'accepted', 'applied')),
    blocked_at      timestamptz not null,
    blocked_by      text not null,
    run_id          text,
    accepted_at     timestamptz,
    accepted_by     text,
    accepted_reason text
);

create unique index schema_changes_by_change on schema_changes (tenant_id, name_key, change_key);
create index schema_changes_blocked on schema_changes (tenant_id, name_key, change_key) where status = 'blocked';
