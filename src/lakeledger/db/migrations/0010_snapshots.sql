-- How long versions and their files are kept, by whom they are needed, and which are gone.

-- A version with a name is kept until the name is taken away.
create table table_tags (
    table_id   text not null references tables (table_id) on delete cascade,
    tenant_id  text not null,
    name       text not null,
    version    bigint not null,
    comment    text,
    created_at timestamptz not null,
    created_by text not null,
    primary key (table_id, name)
);

-- `scope` is '' for all tables, a schema, or a table. `settings` has only what differs from the scope above.
create table maintenance_policies (
    tenant_id  text not null,
    scope      text not null,
    settings   jsonb not null,
    updated_at timestamptz not null,
    updated_by text not null,
    primary key (tenant_id, scope)
);

-- Who reads a version now; a reader that lives renews its pin.
create table table_pins (
    pin_id      text primary key,
    tenant_id   text not null,
    table_id    text not null references tables (table_id) on delete cascade,
    version     bigint not null,
    held_by     text not null,
    instance_id text not null,
    pinned_at   timestamptz not null,
    expires_at  timestamptz not null
);

create index table_pins_by_table on table_pins (table_id, version);

-- Versions that can no longer be read. Their batches stay known, and so does which version was current when.
create table expired_snapshots (
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
    expired_at     timestamptz not null,
    expired_by     text not null
);

create unique index expired_snapshots_by_version on expired_snapshots (table_id, version);
create index expired_snapshots_by_batch on expired_snapshots (table_id, batch_id, version) where batch_id is not null;
create index expired_snapshots_by_run on expired_snapshots (tenant_id, run_id);

-- Since when no version that is kept needs a retired file: after a grace time it is removed, and then its row.
alter table table_files add column removable_since timestamptz;
create index table_files_retired on table_files (table_id, removed_version) where removed_version is not null and removable_since is null;
create index table_files_removable on table_files (table_id, removable_since, id) where removable_since is not null;
