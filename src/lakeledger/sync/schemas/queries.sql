-- name: find_latest
select * from schema_registry
 where tenant_id = :tenant_id and name_key = :name_key
 order by version desc
 limit 1

-- name: find_version
select * from schema_registry where tenant_id = :tenant_id and name_key = :name_key and version = :version

-- name: list_latest
-- A walk along the index, which asks for each version whether it is the latest: there are few, since older ones become records.
select * from schema_registry registry
 where tenant_id = :tenant_id
   and name_key > :after_name_key -- optional
   and version = (select max(newer.version) from schema_registry newer where newer.tenant_id = :tenant_id and newer.name_key = registry.name_key)
 order by name_key
 limit :page_size -- optional

-- name: list_versions
select * from schema_registry where tenant_id = :tenant_id and name_key = :name_key order by version

-- name: add_version
-- Writers go one after the other, and the newest version is never archived: the number is the next one, without a gap.
insert into schema_registry (
    id, tenant_id, schema_name, table_name, name_key, version, schema_definition, schema_hash, ordinal_hash,
    evolution_type, previous_version, compatibility_status, changes, policy, registered_at, registered_by, sync_run_id
) values (
    :id, :tenant_id, :schema_name, :table_name, :name_key,
    (select coalesce(max(version), 0) + 1 from schema_registry where tenant_id = :tenant_id and name_key = :name_key),
    :schema_definition, :schema_hash, :ordinal_hash,
    :evolution_type, :previous_version, :compatibility_status, :changes, :policy, :now, :registered_by, :sync_run_id
)
returning *

-- name: count_old
-- Versions have no gaps, so those that are not among the newest are those up to a number.
select count(*) as number
  from schema_registry registry
  join (select name_key, max(version) as version from schema_registry where tenant_id = :tenant_id group by name_key) latest
    on latest.name_key = registry.name_key
 where registry.tenant_id = :tenant_id and registry.version <= latest.version - :keep

-- name: list_old
-- In the order of the index, which alone tells the newest version of each table: what is not old is passed over without being read.
select registry.*
  from schema_registry registry
 where registry.tenant_id = :tenant_id
   and (registry.name_key, registry.version) > (:after_key, :after_version) -- optional
   and registry.version <= (select max(newest.version) from schema_registry newest
                             where newest.tenant_id = :tenant_id and newest.name_key = registry.name_key) - :keep
 order by registry.name_key, registry.version
 limit :page_size

-- name: remove_versions@sqlite
delete from schema_registry where tenant_id || '' = :tenant_id and id in (select value from json_each(:ids)) returning id

-- name: remove_versions@postgres
delete from schema_registry where tenant_id = :tenant_id and id = any(array(select jsonb_array_elements_text(:ids))) returning id

-- name: find_archived
select payload from metadata_records
 where tenant_id = :tenant_id and kind = 'schema_version' and name_key = :record_key and version = :version

-- name: list_archived
select payload from metadata_records
 where tenant_id = :tenant_id and kind = 'schema_version' and name_key = :record_key

-- name: set_policy
update schema_registry set policy = :policy where tenant_id = :tenant_id and id = :id

-- name: block_change
-- The same change again is the same row: since when it blocks stays, unless it was accepted and loaded in between.
insert into schema_changes (
    id, tenant_id, schema_name, table_name, name_key, change_key, target_table, change, effect, status, blocked_at, blocked_by, run_id
) values (
    :id, :tenant_id, :schema_name, :table_name, :name_key, :change_key, :target_table, :change, :effect, 'blocked', :now, :blocked_by, :run_id
)
on conflict (tenant_id, name_key, change_key) do update
   set target_table = excluded.target_table, change = excluded.change, effect = excluded.effect, status = 'blocked', run_id = excluded.run_id,
       blocked_by = excluded.blocked_by,
       blocked_at = case when schema_changes.status = 'blocked' then schema_changes.blocked_at else excluded.blocked_at end,
       accepted_at = null, accepted_by = null, accepted_reason = null
 where schema_changes.status <> 'accepted'

-- name: allow_change
-- What follows from an accepted change is accepted with it.
insert into schema_changes (
    id, tenant_id, schema_name, table_name, name_key, change_key, target_table, change, effect, status, blocked_at, blocked_by, run_id,
    accepted_at, accepted_by, accepted_reason
) values (
    :id, :tenant_id, :schema_name, :table_name, :name_key, :change_key, :target_table, :change, :effect, 'accepted', :now, :blocked_by, :run_id,
    :now, :accepted_by, :accepted_reason
)
on conflict (tenant_id, name_key, change_key) do nothing

-- name: list_changes
select * from schema_changes where tenant_id = :tenant_id and name_key = :name_key order by change_key

-- name: list_blocked
select * from schema_changes
 where tenant_id = :tenant_id and status = 'blocked'
   and (name_key, change_key) > (:after_name_key, :after_change_key) -- optional
 order by name_key, change_key
 limit :page_size -- optional

-- name: accept_changes
update schema_changes
   set status = 'accepted', accepted_at = :now, accepted_by = :accepted_by, accepted_reason = :accepted_reason
 where tenant_id = :tenant_id and name_key = :name_key and status = 'blocked'

-- name: apply_changes
update schema_changes set status = 'applied' where tenant_id = :tenant_id and name_key = :name_key and status = 'accepted'

-- name: remove_blocked
delete from schema_changes where tenant_id = :tenant_id and name_key = :name_key and status = 'blocked'
