-- name: find_marker
select * from sync_markers
 where tenant_id = :tenant_id and name_key = :name_key and marker_type = :marker_type

-- name: list_markers
select * from sync_markers
 where tenant_id = :tenant_id
   and (name_key, marker_type) > (:after_name_key, :after_marker_type) -- optional
 order by name_key, marker_type
 limit :page_size -- optional

-- name: add_marker
insert into sync_markers (
    id, tenant_id, schema_name, table_name, name_key, marker_type, position_kind, position_data, order_key, version, last_updated, sync_run_id
) values (
    :id, :tenant_id, :schema_name, :table_name, :name_key, :marker_type, :position_kind, :position_data, :order_key, 1, :now, :sync_run_id
)
returning *

-- name: move_marker
-- The version is compared again here, so that the rule does not depend on who called.
update sync_markers
   set position_kind = :position_kind, position_data = :position_data, order_key = :order_key,
       version = version + 1, last_updated = :now, sync_run_id = :sync_run_id
 where tenant_id = :tenant_id and id = :id and version = :version
returning *

-- name: remove_marker
-- Its history and its files go with it.
delete from sync_markers where tenant_id = :tenant_id and id = :id and version = :version
returning id

-- name: add_history
insert into sync_marker_history (
    id, tenant_id, marker_id, version, position_kind, position_data, order_key, updated_at, updated_by, sync_run_id, forced, reason,
    appended_rows
) values (
    :id, :tenant_id, :marker_id, :version, :position_kind, :position_data, :order_key, :now, :updated_by, :sync_run_id, :forced, :reason,
    :appended_rows
)

-- name: list_history
select * from sync_marker_history
 where tenant_id = :tenant_id and marker_id = :marker_id
   and version < :after_version -- optional
 order by version desc
 limit :page_size -- optional

-- name: count_runs_since
-- `tenant_id || ''`: were the tenant something that an index can find, SQLite would rather go through all of its rows.
select count(*) as runs, sum(records_processed) as records from pipeline_runs
 where tenant_id || '' = :tenant_id
   and pipeline_logging_id in (select sync_run_id from sync_marker_history
                                where tenant_id = :tenant_id and marker_id = :marker_id and version >= :version)

-- name: list_files
select file_path, file_size, modified_at, content_hash from source_files
 where tenant_id = :tenant_id and marker_id = :marker_id
   and registered_at > :after -- optional
 order by file_path

-- name: last_files
select file_path, file_size, modified_at, content_hash from source_files
 where tenant_id = :tenant_id and marker_id = :marker_id
   and file_path < :after_file_path -- optional
 order by file_path desc
 limit :page_size -- optional

-- name: forget_file
delete from source_files where tenant_id = :tenant_id and marker_id = :marker_id and file_path = :file_path

-- name: put_file
insert into source_files (id, tenant_id, marker_id, file_path, file_size, modified_at, content_hash, registered_at, run_id, row_key)
values (:id, :tenant_id, :marker_id, :file_path, :file_size, :modified_at, :content_hash, :now, :run_id, :row_key)
on conflict (marker_id, file_path) do update
   set file_size = excluded.file_size, modified_at = excluded.modified_at, content_hash = excluded.content_hash,
       registered_at = excluded.registered_at, run_id = excluded.run_id, row_key = excluded.row_key

-- name: row_keys
select file_path, row_key from source_files where tenant_id = :tenant_id and marker_id = :marker_id and row_key is not null

-- name: set_file_aside
update source_files set file_path = :aside where tenant_id = :tenant_id and marker_id = :marker_id and file_path = :file_path

-- name: rename_file
update source_files set file_path = :file_path, file_size = :file_size, modified_at = :modified_at
 where tenant_id = :tenant_id and marker_id = :marker_id and file_path = :aside
