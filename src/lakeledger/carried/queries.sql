-- name: moves
-- Where sources stood with the versions of a table that came after one: what moved in a commit has its run and its time.
select m.schema_name, m.table_name, m.name_key, m.marker_type, h.marker_id, h.version, h.position_kind, h.position_data, h.order_key,
       h.updated_at, h.updated_by, h.sync_run_id, h.forced, h.reason, h.appended_rows, s.version as table_version
  from (select tenant_id, version, run_id, committed_at from table_snapshots
         where tenant_id = :tenant_id and table_id = :table_id and version > :since
        union all
        select tenant_id, version, run_id, committed_at from expired_snapshots
         where tenant_id = :tenant_id and table_id = :table_id and version > :since) s
  join sync_marker_history h on h.tenant_id = s.tenant_id and h.updated_at = s.committed_at and h.sync_run_id = s.run_id
  join sync_markers m on m.id = h.marker_id
 order by h.marker_id, h.version

-- name: is_of_table
-- Whether a move was made by a version of the table up to that one.
select 1
  from sync_marker_history h
  join table_snapshots s on s.table_id = :table_id and s.committed_at = h.updated_at and s.run_id = h.sync_run_id
 where h.tenant_id = :tenant_id and h.marker_id = :marker_id and h.version = :version and s.version <= :since

-- name: all_files
select file_path, file_size, modified_at, content_hash, row_key, registered_at, run_id
  from source_files where tenant_id = :tenant_id and marker_id = :marker_id order by registered_at, file_path

-- name: files_of_run
select file_path, file_size, modified_at, content_hash, row_key, registered_at, run_id
  from source_files where tenant_id = :tenant_id and marker_id = :marker_id and run_id = :run_id order by registered_at, file_path

-- name: schema_versions
select * from schema_registry
 where tenant_id = :tenant_id and name_key = :name_key
   and registered_at >= :since_at -- optional
 order by version

-- name: versions
select snapshot_id, version, parent_version, operation, summary, schema_version, run_id, batch_id, trigger, committed_at
  from table_snapshots where tenant_id = :tenant_id and table_id = :table_id and version > :after and version <= :upto
union all
select snapshot_id, version, parent_version, operation, summary, schema_version, run_id, batch_id, trigger, committed_at
  from expired_snapshots where tenant_id = :tenant_id and table_id = :table_id and version > :after and version <= :upto
 order by version

-- name: schemas_after
select * from table_metadata
 where tenant_id = :tenant_id and table_id = :table_id and schema_version > :after
 order by schema_version

-- name: peers
-- The other tables that the same commits have changed.
select t.schema_name, t.table_name, o.version, o.snapshot_id
  from table_snapshots s
  join table_snapshots o on o.tenant_id = s.tenant_id and o.run_id = s.run_id and o.committed_at = s.committed_at and o.table_id <> s.table_id
  join tables t on t.table_id = o.table_id
 where s.tenant_id = :tenant_id and s.table_id = :table_id and s.version > :since
 order by o.version
