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
