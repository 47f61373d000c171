-- What the control plane remembers: the rows as they were last imported from files, and how far each watcher has come.

create table control_imports (
    id            text primary key,
    tenant_id     text not null,
    control_table text not null,
    module_name   text not null,
    source_id     text,
    file          text not null,
    imported      jsonb not null,
    imported_at   timestamptz not null,
    imported_by   text not null
);

create unique index control_imports_by_source on control_imports (tenant_id, control_table, module_name, source_id) where source_id is not null;
create unique index control_imports_by_module on control_imports (tenant_id, control_table, module_name) where source_id is null;

create table control_cursors (
    id            text primary key,
    tenant_id     text not null,
    control_table text not null,
    watcher       text not null,
    position      jsonb not null,
    updated_at    timestamptz not null
);

create unique index control_cursors_by_watcher on control_cursors (tenant_id, control_table, watcher);
