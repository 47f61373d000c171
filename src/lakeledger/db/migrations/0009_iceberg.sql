-- What other engines see of a table: the Iceberg metadata that each published version has, and the one that is current.
alter table table_snapshots add column metadata_location text;
alter table table_snapshots add column iceberg_snapshot_id bigint;

-- `mode` is null where the ledger's setting counts. `version` is 0 before the first is published. `problem` says why a version is not.
create table table_publications (
    table_id                   text primary key references tables (table_id) on delete cascade,
    tenant_id                  text not null,
    mode                       text check (mode in ('sync', 'async', 'off')),
    version                    bigint not null,
    metadata_location          text,
    previous_metadata_location text,
    problem                    text,
    problem_version            bigint,
    updated_at                 timestamptz not null
);

-- What waits to be published is found without a walk through all that is.
create index table_files_unpublished on table_files (table_id, added_version) where iceberg_metadata_state in ('pending', 'processing', 'failed');

-- The catalog that other engines ask. It is a view, so that nobody but the ledger moves a table.
create view iceberg_tables as
select t.tenant_id as catalog_name, t.schema_name as table_namespace, t.table_name, p.metadata_location, p.previous_metadata_location,
       'TABLE' as iceberg_type
  from tables t
  join table_publications p on p.table_id = t.table_id
 where p.metadata_location is not null;

create view iceberg_namespace_properties as
select distinct tenant_id as catalog_name, schema_name as namespace, 'exists' as property_key, 'true' as property_value from tables;
