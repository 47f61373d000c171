-- name: policies_of
select scope, settings from maintenance_policies where tenant_id = :tenant_id and scope in ('', :schema, :name)

-- name: list_policies
select * from maintenance_policies where tenant_id = :tenant_id order by scope

-- name: get_policy
select settings from maintenance_policies where tenant_id = :tenant_id and scope = :scope

-- name: put_policy
insert into maintenance_policies (tenant_id, scope, settings, updated_at, updated_by)
values (:tenant_id, :scope, :settings, :now, :updated_by)
on conflict (tenant_id, scope) do update
   set settings = excluded.settings, updated_at = excluded.updated_at, updated_by = excluded.updated_by

-- name: remove_policy
delete from maintenance_policies where tenant_id = :tenant_id and scope = :scope

-- name: add_tag
insert into table_tags (table_id, tenant_id, name, version, comment, created_at, created_by)
values (:table_id, :tenant_id, :name, :version, :comment, :now, :created_by)
on conflict (table_id, name) do nothing
returning *

-- name: get_tag
select * from table_tags where tenant_id = :tenant_id and table_id = :table_id and name = :name

-- name: list_tags
select * from table_tags where tenant_id = :tenant_id and table_id = :table_id order by version, name

-- name: remove_tag
delete from table_tags where tenant_id = :tenant_id and table_id = :table_id and name = :name
returning *

-- name: add_pin
insert into table_pins (pin_id, tenant_id, table_id, version, held_by, instance_id, pinned_at, expires_at)
values (:pin_id, :tenant_id, :table_id, :version, :held_by, :instance_id, :now, :expires_at)

-- name: renew_pin
update table_pins set expires_at = :expires_at where tenant_id = :tenant_id and pin_id = :pin_id

-- name: remove_pin
delete from table_pins where tenant_id = :tenant_id and pin_id = :pin_id

-- name: list_pins
select * from table_pins where tenant_id = :tenant_id and table_id = :table_id order by version, pinned_at, pin_id

-- name: remove_pins@sqlite
delete from table_pins where tenant_id = :tenant_id and pin_id in (select value from json_each(:pins))

-- name: remove_pins@postgres
delete from table_pins where tenant_id = :tenant_id and pin_id = any(array(select jsonb_array_elements_text(:pins)))

-- name: versions
select version, committed_at, iceberg_snapshot_id from table_snapshots where tenant_id = :tenant_id and table_id = :table_id order by version

-- name: readers
-- Whoever reads tables of the ledger piece by piece: by Iceberg's snapshots, or by our own versions.
select schema_name, table_name, position_kind, position_data from sync_markers
 where tenant_id = :tenant_id and position_kind in ('iceberg', 'versions')

-- name: cursors
-- Up to where each subscriber has read the change log.
select seq from subscriber_cursor where tenant_id = :tenant_id

-- name: lanes
-- Of a subscriber that is behind with some tables, the first event of each that it has not handled.
select next_seq from delivery where tenant_id = :tenant_id

-- name: unread_versions
-- The oldest version of each table that not every subscriber has heard of.
select after ->> 'table_id' as table_id, min(cast(after ->> 'version' as bigint)) as version
  from change_log
 where tenant_id = :tenant_id and table_name = 'table_snapshots' and seq > :seq and operation = 'INSERT'
 group by after ->> 'table_id'

-- name: archive_versions@sqlite
insert into expired_snapshots (
    snapshot_id, tenant_id, table_id, version, parent_version, operation, summary, schema_version, run_id, batch_id, trigger, committed_at,
    expired_at, expired_by
)
select snapshot_id, tenant_id, table_id, version, parent_version, operation, summary, schema_version, run_id, batch_id, trigger, committed_at,
       :now, :expired_by
  from table_snapshots
 where tenant_id = :tenant_id and table_id = :table_id and version in (select value from json_each(:versions))

-- name: archive_versions@postgres
insert into expired_snapshots (
    snapshot_id, tenant_id, table_id, version, parent_version, operation, summary, schema_version, run_id, batch_id, trigger, committed_at,
    expired_at, expired_by
)
select snapshot_id, tenant_id, table_id, version, parent_version, operation, summary, schema_version, run_id, batch_id, trigger, committed_at,
       :now, :expired_by
  from table_snapshots
 where tenant_id = :tenant_id and table_id = :table_id
   and version = any(array(select cast(each as bigint) from jsonb_array_elements_text(:versions) each))

-- name: remove_versions@sqlite
delete from table_snapshots
 where tenant_id = :tenant_id and table_id = :table_id and version in (select value from json_each(:versions))

-- name: remove_versions@postgres
delete from table_snapshots
 where tenant_id = :tenant_id and table_id = :table_id
   and version = any(array(select cast(each as bigint) from jsonb_array_elements_text(:versions) each))

-- name: retired_between
-- What came after one kept version and was gone by the next: no version that is kept needs it. What is marked is not found again.
select id, file_size
  from table_files
 where tenant_id = :tenant_id and table_id = :table_id and removed_version is not null and removable_since is null
   and removed_version > :low and removed_version <= :high and added_version > :low
 limit :page_size

-- name: count_retired_between
select count(*) as files, coalesce(sum(file_size), 0) as bytes
  from table_files
 where tenant_id = :tenant_id and table_id = :table_id and removed_version is not null and removable_since is null
   and removed_version > :low and removed_version <= :high and added_version > :low

-- name: mark_files@sqlite
update table_files set removable_since = :now
 where tenant_id = :tenant_id and removable_since is null and state = 'retired' and id in (select value from json_each(:ids))

-- name: mark_files@postgres
update table_files set removable_since = :now
 where tenant_id = :tenant_id and removable_since is null and state = 'retired' and id = any(array(select jsonb_array_elements_text(:ids)))

-- name: marked_files
select id, file_path, file_size, added_version, removable_since from table_files
 where tenant_id = :tenant_id and table_id = :table_id and removable_since is not null
   and (removable_since, id) > (:after_since, :after_id) -- optional
 order by removable_since, id
 limit :page_size

-- name: forget_files@sqlite
delete from table_files where tenant_id = :tenant_id and state = 'retired' and id in (select value from json_each(:ids))

-- name: forget_files@postgres
delete from table_files where tenant_id = :tenant_id and state = 'retired' and id = any(array(select jsonb_array_elements_text(:ids)))

-- name: needed_elsewhere@sqlite
-- Another table may live in the same place and know the same file.
select f.file_path from table_files f join tables t on t.table_id = f.table_id
 where t.tenant_id = :tenant_id and t.location = :location and t.table_id <> :table_id
   and f.file_path in (select value from json_each(:paths))

-- name: needed_elsewhere@postgres
select f.file_path from table_files f join tables t on t.table_id = f.table_id
 where t.tenant_id = :tenant_id and t.location = :location and t.table_id <> :table_id
   and f.file_path = any(array(select jsonb_array_elements_text(:paths)))

-- name: neighbours
select * from tables where tenant_id = :tenant_id and location = :location

-- name: count_without_checksum
select count(*) as files from table_files
 where tenant_id = :tenant_id and table_id = :table_id and checksum is null and removable_since is null

-- name: without_checksum
select file_path from table_files
 where tenant_id = :tenant_id and table_id = :table_id and checksum is null and removable_since is null and file_path > :after_path
 order by file_path
 limit :page_size

-- name: live_figures
select coalesce(sum(row_count), 0) as row_count, count(*) as file_count, coalesce(sum(file_size), 0) as total_size
  from table_files where tenant_id = :tenant_id and table_id = :table_id and state = 'live' and partition_path >= ''

-- name: set_figures
update tables set row_count = :row_count, file_count = :file_count, total_size = :total_size, updated_at = :now
 where tenant_id = :tenant_id and table_id = :table_id

-- name: unpublished_amount
select count(*) as files, coalesce(sum(file_size), 0) as bytes, coalesce(sum(row_count), 0) as "rows"
  from table_files
 where tenant_id = :tenant_id and table_id = :table_id and added_version > :version
