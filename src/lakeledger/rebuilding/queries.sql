-- name: inhabitants
-- What a ledger has of a tenant that it would not have if it were new.
select (select count(*) from tables where tenant_id = :tenant_id) as tables,
       (select count(*) from sync_markers where tenant_id = :tenant_id) as positions,
       (select count(*) from pipeline_runs where tenant_id = :tenant_id) as runs

-- name: rebuilt_by
-- The run that has rebuilt the tenant from that warehouse, if one has.
select pipeline_logging_id as run_id from pipeline_runs
 where tenant_id = :tenant_id and pipeline_id = :pipeline_id and run_kind = 'maintenance' and status = 'COMPLETED'
   and parameters ->> 'warehouse' = :warehouse
 limit 1

-- name: add_table
insert into tables (
    table_id, tenant_id, schema_name, table_name, name_key, location, current_version, content_version, row_count, total_size,
    file_count, last_modified, created_at, updated_at
) values (
    :table_id, :tenant_id, :schema_name, :table_name, :name_key, :location, :current_version, :content_version, :row_count, :total_size,
    :file_count, :last_modified, :created_at, :updated_at
)

-- name: add_stats
insert into table_stats (id, tenant_id, table_id, row_count, file_count, total_size, last_modified, created_at, updated_at)
values (:id, :tenant_id, :table_id, :row_count, :file_count, :total_size, :last_modified, :created_at, :updated_at)

-- name: add_metadata
insert into table_metadata (
    id, tenant_id, table_id, schema_version, "schema", schema_hash, columns, storage_engine, engine_config, format, compression,
    partition_by, sort_by, properties, last_modified, created_at, updated_at
) values (
    :id, :tenant_id, :table_id, :schema_version, :schema, :schema_hash, :columns, 'lakeledger', :engine_config, :format, :compression,
    :partition_by, :sort_by, :properties, :at, :at, :at
)

-- name: add_snapshot
insert into table_snapshots (
    snapshot_id, tenant_id, table_id, version, parent_version, operation, summary, schema_version, run_id, batch_id, trigger, committed_at,
    manifest_list, metadata_location, iceberg_snapshot_id, publish_trigger
) values (
    :snapshot_id, :tenant_id, :table_id, :version, :parent_version, :operation, :summary, :schema_version, :run_id, :batch_id, :trigger,
    :committed_at, :manifest_list, :metadata_location, :iceberg_snapshot_id, :publish_trigger
)

-- name: add_expired
insert into expired_snapshots (
    snapshot_id, tenant_id, table_id, version, parent_version, operation, summary, schema_version, run_id, batch_id, trigger, committed_at,
    expired_at, expired_by
) values (
    :snapshot_id, :tenant_id, :table_id, :version, :parent_version, :operation, :summary, :schema_version, :run_id, :batch_id, :trigger,
    :committed_at, :now, :expired_by
)

-- name: add_files@sqlite
insert into table_files (
    id, tenant_id, table_id, file_name, file_path, file_size, file_type, partition_path, row_count, is_compressed, column_bounds,
    state, added_version, removed_version, run_id, iceberg_metadata_state, created_at, modified_at
)
select f.value ->> 'id', :tenant_id, :table_id, f.value ->> 'file_name', f.value ->> 'file_path', f.value ->> 'file_size', :file_type,
       f.value ->> 'partition_path', f.value ->> 'row_count', :is_compressed, f.value -> 'column_bounds',
       f.value ->> 'state', f.value ->> 'added_version', f.value ->> 'removed_version', f.value ->> 'run_id', :iceberg_state,
       f.value ->> 'at', f.value ->> 'at'
  from json_each(:files) f

-- name: add_files@postgres
insert into table_files (
    id, tenant_id, table_id, file_name, file_path, file_size, file_type, partition_path, row_count, is_compressed, column_bounds,
    state, added_version, removed_version, run_id, iceberg_metadata_state, created_at, modified_at
)
select f.id, :tenant_id, :table_id, f.file_name, f.file_path, f.file_size, :file_type, f.partition_path, f.row_count, :is_compressed,
       f.column_bounds, f.state, f.added_version, f.removed_version, f.run_id, :iceberg_state, f.at, f.at
  from jsonb_to_recordset(:files) f (
       id text, file_name text, file_path text, file_size bigint, partition_path text, row_count bigint,
       column_bounds jsonb, state text, added_version bigint, removed_version bigint, run_id text, at timestamptz)

-- name: add_publication
insert into table_publications (
    table_id, tenant_id, mode, formats, version, metadata_location, previous_metadata_location, updated_at
) values (:table_id, :tenant_id, :mode, :formats, :version, :metadata_location, :previous_metadata_location, :now)

-- name: add_tag
insert into table_tags (table_id, tenant_id, name, version, comment, created_at, created_by)
values (:table_id, :tenant_id, :name, :version, :comment, :now, :created_by)

-- name: add_marker
insert into sync_markers (
    id, tenant_id, schema_name, table_name, name_key, marker_type, position_kind, position_data, order_key, version, last_updated, sync_run_id
) values (
    :id, :tenant_id, :schema_name, :table_name, :name_key, :marker_type, :kind, :data, :order_key, :version, :at, :run_id
)

-- name: add_history
insert into sync_marker_history (
    id, tenant_id, marker_id, version, position_kind, position_data, order_key, updated_at, updated_by, sync_run_id, forced, reason,
    appended_rows
) values (
    :id, :tenant_id, :marker_id, :version, :kind, :data, :order_key, :at, :updated_by, :run_id, :forced, :reason, :appended_rows
)

-- name: add_source_files@sqlite
insert into source_files (id, tenant_id, marker_id, file_path, file_size, modified_at, content_hash, registered_at, run_id, row_key)
select f.value ->> 'id', :tenant_id, :marker_id, f.value ->> 'path', f.value ->> 'size', f.value ->> 'modified_at',
       f.value ->> 'content_hash', f.value ->> 'registered_at', f.value ->> 'run_id', f.value ->> 'row_key'
  from json_each(:files) f

-- name: add_source_files@postgres
insert into source_files (id, tenant_id, marker_id, file_path, file_size, modified_at, content_hash, registered_at, run_id, row_key)
select f.id, :tenant_id, :marker_id, f.path, f.size, f.modified_at, f.content_hash, f.registered_at, f.run_id, f.row_key
  from jsonb_to_recordset(:files) f (
       id text, path text, size bigint, modified_at timestamptz, content_hash text, registered_at timestamptz, run_id text, row_key text)

-- name: add_schema
insert into schema_registry (
    id, tenant_id, schema_name, table_name, name_key, version, schema_definition, schema_hash, ordinal_hash, evolution_type,
    previous_version, compatibility_status, changes, policy, registered_at, registered_by, sync_run_id
) values (
    :id, :tenant_id, :schema_name, :table_name, :name_key, :version, :schema_definition, :schema_hash, :ordinal_hash, :evolution_type,
    :previous_version, :compatibility_status, :changes, :policy, :registered_at, :registered_by, :sync_run_id
)

-- name: forget_run
insert into forgotten_runs (run_id, tenant_id, forgotten_at) values (:run_id, :tenant_id, :now) on conflict (run_id) do nothing
