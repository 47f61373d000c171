-- name: find_table
select * from tables where tenant_id = :tenant_id and name_key = :name_key

-- name: list_tables
select * from tables
 where tenant_id = :tenant_id
   and name_key > :after_name_key -- optional
 order by name_key
 limit :page_size -- optional

-- name: add_table
insert into tables (
    table_id, tenant_id, schema_name, table_name, name_key, location, current_version, content_version, row_count, total_size,
    file_count, last_modified, created_at, updated_at
) values (:table_id, :tenant_id, :schema_name, :table_name, :name_key, :location, 0, 0, 0, 0, 0, :now, :now, :now)
returning *

-- name: move_table
-- The one place where a table gets its next version: nobody else may have given it in between.
update tables
   set current_version = :version, content_version = case when :is_news then :version else content_version end, row_count = row_count + :added_rows - :removed_rows,
       total_size = total_size + :added_size - :removed_size, file_count = file_count + :added_files - :removed_files,
       last_modified = case when :is_news then :now else last_modified end, updated_at = :now
 where tenant_id = :tenant_id and table_id = :table_id and current_version = :version - 1
returning *

-- name: put_stats
insert into table_stats (id, tenant_id, table_id, row_count, file_count, total_size, last_modified, created_at, updated_at)
values (:id, :tenant_id, :table_id, :row_count, :file_count, :total_size, :now, :now, :now)
on conflict (table_id) do update
   set row_count = excluded.row_count, file_count = excluded.file_count, total_size = excluded.total_size,
       last_modified = excluded.last_modified, updated_at = excluded.updated_at

-- name: get_stats
select * from table_stats where tenant_id = :tenant_id and table_id = :table_id

-- name: latest_metadata
select * from table_metadata where tenant_id = :tenant_id and table_id = :table_id order by schema_version desc limit 1

-- name: get_metadata
select * from table_metadata where tenant_id = :tenant_id and table_id = :table_id and schema_version = :schema_version

-- name: add_metadata
insert into table_metadata (
    id, tenant_id, table_id, schema_version, "schema", schema_hash, columns, storage_engine, engine_config, format, compression,
    partition_by, sort_by, properties, last_modified, created_at, updated_at
) values (
    :id, :tenant_id, :table_id, :schema_version, :schema, :schema_hash, :columns, 'lakeledger', :engine_config, :format, :compression,
    :partition_by, :sort_by, :properties, :now, :now, :now
)
returning *

-- name: add_files@sqlite
-- Many at once, from one document: a statement per file would take a minute for a hundred thousand.
insert into table_files (
    id, tenant_id, table_id, file_name, file_path, file_size, file_type, partition_path, row_count, is_compressed, column_bounds,
    state, added_version, run_id, iceberg_metadata_state, created_at, modified_at
)
select f.value ->> 'id', :tenant_id, :table_id, f.value ->> 'file_name', f.value ->> 'file_path', f.value ->> 'file_size', :file_type,
       f.value ->> 'partition_path', f.value ->> 'row_count', f.value ->> 'is_compressed', f.value -> 'column_bounds',
       'live', :version, :run_id, :iceberg_state, :now, f.value ->> 'modified_at'
  from json_each(:files) f

-- name: add_files@postgres
insert into table_files (
    id, tenant_id, table_id, file_name, file_path, file_size, file_type, partition_path, row_count, is_compressed, column_bounds,
    state, added_version, run_id, iceberg_metadata_state, created_at, modified_at
)
select f.id, :tenant_id, :table_id, f.file_name, f.file_path, f.file_size, :file_type, f.partition_path, f.row_count, f.is_compressed,
       f.column_bounds, 'live', :version, :run_id, :iceberg_state, :now, f.modified_at
  from jsonb_to_recordset(:files) f (
       id text, file_name text, file_path text, file_size bigint, partition_path text, row_count bigint, is_compressed boolean,
       column_bounds jsonb, modified_at timestamptz)

-- name: retire_all
update table_files set state = 'retired', removed_version = :version
 where tenant_id = :tenant_id and table_id = :table_id and state = 'live'
returning row_count, file_size, file_path

-- name: retire_partitions@sqlite
update table_files set state = 'retired', removed_version = :version
 where tenant_id = :tenant_id and table_id = :table_id and state = 'live' and partition_path in (select value from json_each(:paths))
returning row_count, file_size, file_path

-- name: retire_partitions@postgres
update table_files set state = 'retired', removed_version = :version
 where tenant_id = :tenant_id and table_id = :table_id and state = 'live'
   and partition_path = any(array(select jsonb_array_elements_text(:paths)))
returning row_count, file_size, file_path

-- name: retire_files@sqlite
-- `removed_version is null` and not `state = 'live'`: found by the path, not by walking all that is live.
update table_files set state = 'retired', removed_version = :version
 where tenant_id = :tenant_id and table_id = :table_id and removed_version is null and file_path in (select value from json_each(:paths))
returning row_count, file_size, file_path

-- name: retire_files@postgres
update table_files set state = 'retired', removed_version = :version
 where tenant_id = :tenant_id and table_id = :table_id and removed_version is null
   and file_path = any(array(select jsonb_array_elements_text(:paths)))
returning row_count, file_size, file_path

-- name: count_live@sqlite
select count(*) as files from table_files
 where tenant_id = :tenant_id and table_id = :table_id and removed_version is null and file_path in (select value from json_each(:paths))

-- name: count_live@postgres
select count(*) as files from table_files
 where tenant_id = :tenant_id and table_id = :table_id and removed_version is null
   and file_path = any(array(select jsonb_array_elements_text(:paths)))

-- name: bounds_touched_since
-- Once each, though a file may have come and gone since: its bounds cannot be compared by the database.
-- What a compaction did touches nothing: the same rows are in other files.
select column_bounds -> :column as bounds from table_files f
 where tenant_id = :tenant_id and table_id = :table_id and added_version > :version
   and not exists (select 1 from table_snapshots s where s.table_id = f.table_id and s.version = f.added_version and s.operation = 'replace')
union all
select column_bounds -> :column as bounds from table_files f
 where tenant_id = :tenant_id and table_id = :table_id and removed_version > :version and added_version <= :version
   and not exists (select 1 from table_snapshots s where s.table_id = f.table_id and s.version = f.removed_version and s.operation = 'replace')

-- name: partitions_touched_since
select partition_path from table_files f
 where tenant_id = :tenant_id and table_id = :table_id and added_version > :version
   and not exists (select 1 from table_snapshots s where s.table_id = f.table_id and s.version = f.added_version and s.operation = 'replace')
union
select partition_path from table_files f
 where tenant_id = :tenant_id and table_id = :table_id and removed_version > :version
   and not exists (select 1 from table_snapshots s where s.table_id = f.table_id and s.version = f.removed_version and s.operation = 'replace')

-- name: add_snapshot
insert into table_snapshots (
    snapshot_id, tenant_id, table_id, version, parent_version, operation, summary, schema_version, run_id, batch_id, trigger, committed_at
) values (
    :snapshot_id, :tenant_id, :table_id, :version, :parent_version, :operation, :summary, :schema_version, :run_id, :batch_id, :trigger, :now
)
returning *

-- name: find_batch
select * from table_snapshots where tenant_id = :tenant_id and table_id = :table_id and batch_id = :batch_id order by version desc limit 1

-- name: find_expired_batch
select * from expired_snapshots where tenant_id = :tenant_id and table_id = :table_id and batch_id = :batch_id order by version desc limit 1

-- name: get_snapshot
select * from table_snapshots where tenant_id = :tenant_id and table_id = :table_id and version = :version

-- name: expired_snapshot
select * from expired_snapshots where tenant_id = :tenant_id and table_id = :table_id and version = :version

-- name: snapshot_at
select * from table_snapshots
 where tenant_id = :tenant_id and table_id = :table_id and committed_at <= :at
 order by version desc
 limit 1

-- name: expired_at
-- The version that was current then, among those that have expired.
select version from expired_snapshots
 where tenant_id = :tenant_id and table_id = :table_id and committed_at <= :at
 order by version desc
 limit 1

-- name: tagged_version
select version from table_tags where tenant_id = :tenant_id and table_id = :table_id and name = :name

-- name: newest_before
select version from table_snapshots where tenant_id = :tenant_id and table_id = :table_id and version < :version order by version desc limit 1

-- name: oldest_after
select version from table_snapshots where tenant_id = :tenant_id and table_id = :table_id and version > :version order by version limit 1

-- name: list_snapshots
select * from table_snapshots
 where tenant_id = :tenant_id and table_id = :table_id
   and version < :after_version -- optional
 order by version desc
 limit :page_size -- optional

-- name: origins
select summary ->> 'source' as source from table_snapshots
 where tenant_id = :tenant_id and table_id = :table_id and operation not in ('replace', 'alter') and cast(summary ->> 'added_files' as integer) > 0
union
select summary ->> 'source' as source from expired_snapshots
 where tenant_id = :tenant_id and table_id = :table_id and operation not in ('replace', 'alter') and cast(summary ->> 'added_files' as integer) > 0

-- name: versions_between
select version, operation, run_id from table_snapshots
 where tenant_id = :tenant_id and table_id = :table_id and version > :after and version <= :upto
 order by version

-- name: paths_appended
-- Also of files that were compacted away since: their rows came once, with the version that appended them.
select file_path from table_files f
 where tenant_id = :tenant_id and table_id = :table_id and added_version > :after and added_version <= :upto
   and exists (select 1 from table_snapshots s
                where s.table_id = f.table_id and s.version = f.added_version and s.version > :after and s.version <= :upto
                  and s.operation = 'append')
 order by added_version, file_path

-- name: live_paths
-- The current version is known by state, and nobody who only reads needs the bounds. `>= ''` is always so,
-- and lets SQLite see that the index of what is live is the one to take.
select file_path from table_files
 where tenant_id = :tenant_id and table_id = :table_id and state = 'live' and partition_path >= ''
 order by added_version, file_path

-- name: paths_at
select file_path from table_files
 where tenant_id = :tenant_id and table_id = :table_id
   and added_version <= :version and (removed_version is null or removed_version > :version)
 order by added_version, file_path

-- name: live_files
select * from table_files
 where tenant_id = :tenant_id and table_id = :table_id and state = 'live' and partition_path >= ''
 order by added_version, file_path

-- name: files_at
select * from table_files
 where tenant_id = :tenant_id and table_id = :table_id
   and added_version <= :version and (removed_version is null or removed_version > :version)
   and (added_version, file_path) > (:after_added_version, :after_file_path) -- optional
 order by added_version, file_path
 limit :page_size -- optional

-- name: all_files
select * from table_files where tenant_id = :tenant_id and table_id = :table_id order by added_version, file_path

-- name: known_paths
-- By the folder, not by the name: a table may live in a folder that is called otherwise.
select table_files.file_path
  from table_files join tables on tables.table_id = table_files.table_id
 where tables.tenant_id = :tenant_id and tables.location = :location

-- name: adopted_tables
-- Those that began with files of others, wherever these are.
select t.* from tables t
 where t.tenant_id = :tenant_id
   and exists (select 1 from table_metadata m where m.table_id = t.table_id and m.properties ->> 'adopted' is not null)
 order by t.name_key

-- name: tagged_snapshots
-- Nobody takes from Iceberg the name of its own branch.
select g.name, s.snapshot_id
  from table_tags g join table_snapshots s on s.table_id = g.table_id and s.version = g.version
 where g.tenant_id = :tenant_id and g.table_id = :table_id and g.name <> 'main'

-- name: tagged_versions
-- The last hundred, in order, that have a tag and are older.
select * from (
    select * from table_snapshots s
     where s.tenant_id = :tenant_id and s.table_id = :table_id and s.version < :version
       and s.version in (select g.version from table_tags g where g.table_id = :table_id and g.name <> 'main')
     order by s.version desc limit 100
) tagged order by version

-- name: find_snapshot
select * from table_snapshots where tenant_id = :tenant_id and table_id = :table_id and snapshot_id = :snapshot_id

-- name: set_checksum
update table_files set checksum = :checksum where tenant_id = :tenant_id and table_id = :table_id and file_path = :file_path and checksum is null

-- name: find_warehouse
select * from warehouses where tenant_id = :tenant_id

-- name: put_warehouse
insert into warehouses (tenant_id, location, relative_location, claimed_at) values (:tenant_id, :location, :relative_location, :now)
on conflict (tenant_id) do update
   set location = excluded.location, relative_location = excluded.relative_location, claimed_at = excluded.claimed_at

-- name: has_tables
select 1 from tables where tenant_id = :tenant_id limit 1

-- name: newest_files
select schema_name, table_name, location, file_path
  from (select t.schema_name, t.table_name, t.location,
               (select f.file_path from table_files f where f.table_id = t.table_id and f.state = 'live' order by f.added_version desc limit 1) as file_path
          from tables t where t.tenant_id = :tenant_id) newest
 where file_path is not null

-- name: versions_of_run
select t.schema_name, t.table_name, s.version, s.operation, s.summary, s.batch_id
  from (select table_id, version, operation, summary, batch_id, committed_at
          from table_snapshots where tenant_id = :tenant_id and run_id = :run_id
        union all
        select table_id, version, operation, summary, batch_id, committed_at
          from expired_snapshots where tenant_id = :tenant_id and run_id = :run_id) s
  join tables t on t.table_id = s.table_id
 order by s.committed_at, t.name_key

-- name: versions_of_runs@sqlite
select t.table_id, t.schema_name, t.table_name, s.version, s.operation, s.summary, s.run_id, s.committed_at
  from (select table_id, version, operation, summary, run_id, committed_at
          from table_snapshots where tenant_id = :tenant_id and run_id in (select value from json_each(:runs))
        union all
        select table_id, version, operation, summary, run_id, committed_at
          from expired_snapshots where tenant_id = :tenant_id and run_id in (select value from json_each(:runs))) s
  join tables t on t.table_id = s.table_id
 order by t.name_key, s.version

-- name: versions_of_runs@postgres
select t.table_id, t.schema_name, t.table_name, s.version, s.operation, s.summary, s.run_id, s.committed_at
  from (select table_id, version, operation, summary, run_id, committed_at
          from table_snapshots where tenant_id = :tenant_id and run_id = any(array(select jsonb_array_elements_text(:runs)))
        union all
        select table_id, version, operation, summary, run_id, committed_at
          from expired_snapshots where tenant_id = :tenant_id and run_id = any(array(select jsonb_array_elements_text(:runs)))) s
  join tables t on t.table_id = s.table_id
 order by t.name_key, s.version

-- name: deletes
select summary from table_snapshots where tenant_id = :tenant_id and table_id = :table_id and operation = 'delete'
union all
select summary from expired_snapshots where tenant_id = :tenant_id and table_id = :table_id and operation = 'delete'

-- name: operation_of
select operation from table_snapshots where tenant_id = :tenant_id and table_id = :table_id and version = :version
union all
select operation from expired_snapshots where tenant_id = :tenant_id and table_id = :table_id and version = :version

-- name: files_of_versions@sqlite
select * from table_files
 where tenant_id = :tenant_id and table_id = :table_id and added_version in (select value from json_each(:versions))
 order by added_version, file_path

-- name: files_of_versions@postgres
select * from table_files
 where tenant_id = :tenant_id and table_id = :table_id
   and added_version = any(array(select cast(each as bigint) from jsonb_array_elements_text(:versions) each))
 order by added_version, file_path

-- name: tables_of_source
select t.schema_name, t.table_name from tables t
 where t.tenant_id = :tenant_id
   and (exists (select 1 from table_snapshots s where s.table_id = t.table_id and s.summary ->> 'source' = :source)
        or exists (select 1 from expired_snapshots s where s.table_id = t.table_id and s.summary ->> 'source' = :source))
 order by t.name_key

-- name: find_publication
select * from table_publications where tenant_id = :tenant_id and table_id = :table_id

-- name: put_publication_mode
insert into table_publications (table_id, tenant_id, mode, version, updated_at) values (:table_id, :tenant_id, :mode, 0, :now)
on conflict (table_id) do update set mode = excluded.mode, updated_at = excluded.updated_at

-- name: point
-- The swap: only whoever has seen what is published now moves it on.
insert into table_publications (table_id, tenant_id, version, metadata_location, updated_at)
values (:table_id, :tenant_id, :version, :metadata_location, :now)
on conflict (table_id) do update
   set version = excluded.version, previous_metadata_location = table_publications.metadata_location,
       metadata_location = excluded.metadata_location, problem = null, problem_version = null, updated_at = excluded.updated_at
 where table_publications.metadata_location is not distinct from :base_location
returning table_id

-- name: note_problem
insert into table_publications (table_id, tenant_id, version, problem, problem_version, updated_at)
values (:table_id, :tenant_id, 0, :problem, :version, :now)
on conflict (table_id) do update
   set problem = excluded.problem, problem_version = excluded.problem_version, updated_at = excluded.updated_at

-- name: publish_snapshot
update table_snapshots
   set manifest_list = :manifest_list, metadata_location = :metadata_location, iceberg_snapshot_id = :iceberg_snapshot_id,
       publish_trigger = :publish_trigger
 where tenant_id = :tenant_id and table_id = :table_id and version = :version

-- name: publish_tagged_snapshot
-- A version that is seen because of its tag; if it was seen before, why it was stays.
update table_snapshots
   set manifest_list = :manifest_list, metadata_location = :metadata_location, iceberg_snapshot_id = :iceberg_snapshot_id,
       publish_trigger = coalesce(publish_trigger, :publish_trigger)
 where tenant_id = :tenant_id and table_id = :table_id and version = :version

-- name: repoint
-- The same version by other metadata.
update table_publications
   set previous_metadata_location = metadata_location, metadata_location = :metadata_location, updated_at = :now
 where tenant_id = :tenant_id and table_id = :table_id and version = :version and metadata_location = :base_location
returning table_id

-- name: move_snapshot_metadata
update table_snapshots set metadata_location = :metadata_location
 where tenant_id = :tenant_id and table_id = :table_id and version = :version

-- name: files_added_since
select file_path, file_size, row_count, column_bounds
  from table_files
 where tenant_id = :tenant_id and table_id = :table_id and added_version > :version and state = 'live'

-- name: paths_removed_since
select file_path from table_files
 where tenant_id = :tenant_id and table_id = :table_id and removed_version > :version and added_version <= :version

-- name: live_in_partitions@sqlite
select file_path from table_files
 where tenant_id = :tenant_id and table_id = :table_id and state = 'live' and partition_path in (select value from json_each(:paths))

-- name: live_in_partitions@postgres
select file_path from table_files
 where tenant_id = :tenant_id and table_id = :table_id and state = 'live'
   and partition_path = any(array(select jsonb_array_elements_text(:paths)))

-- name: schemas_in_place
-- Every schema that a table in that place has had.
select m.table_id, m."schema", m.properties from table_metadata m join tables t on t.table_id = m.table_id
 where t.tenant_id = :tenant_id and t.location = :location
 order by m.table_id, m.schema_version

-- name: set_iceberg_state
update table_files set iceberg_metadata_state = :state
 where tenant_id = :tenant_id and table_id = :table_id and added_version <= :version and iceberg_metadata_state in ('pending', 'processing', 'failed')

-- name: find_table_by_id
select * from tables where tenant_id = :tenant_id and table_id = :table_id

-- name: put_formats
insert into table_publications (table_id, tenant_id, formats, version, updated_at) values (:table_id, :tenant_id, :formats, 0, :now)
on conflict (table_id) do update set formats = excluded.formats, updated_at = excluded.updated_at

-- name: find_delta
select * from delta_publications where tenant_id = :tenant_id and table_id = :table_id

-- name: list_delta
select * from delta_publications where tenant_id = :tenant_id

-- name: forget_delta
delete from delta_publications where tenant_id = :tenant_id and table_id = :table_id

-- name: reserve_delta
-- The next entry of the log: only whoever has seen what is there now says what it will be.
insert into delta_publications (table_id, tenant_id, version, log_id, target_version, target_delta, target_at, updated_at)
values (:table_id, :tenant_id, 0, :log_id, :target_version, :target_delta, :now, :now)
on conflict (table_id) do update
   set log_id = excluded.log_id, target_version = excluded.target_version, target_delta = excluded.target_delta,
       target_at = excluded.target_at, updated_at = excluded.updated_at
 where delta_publications.delta_version is not distinct from :delta_version
   and delta_publications.target_delta is not distinct from :seen_target
returning *

-- name: point_delta
update delta_publications
   set version = target_version, delta_version = target_delta, target_version = null, target_delta = null, target_at = null,
       problem = null, problem_version = null, updated_at = :now
 where tenant_id = :tenant_id and table_id = :table_id and target_version = :target_version and target_delta = :target_delta
returning *

-- name: begin_delta_anew
update delta_publications
   set version = 0, delta_version = null, checkpoint_version = null, target_version = null, target_delta = null, target_at = null, updated_at = :now
 where tenant_id = :tenant_id and table_id = :table_id

-- name: publish_delta_snapshot
update table_snapshots set delta_version = :delta_version
 where tenant_id = :tenant_id and table_id = :table_id and version = :version

-- name: forget_delta_versions
update table_snapshots set delta_version = null
 where tenant_id = :tenant_id and table_id = :table_id and delta_version is not null

-- name: set_delta_checkpoint
update delta_publications set checkpoint_version = :checkpoint_version
 where tenant_id = :tenant_id and table_id = :table_id and delta_version >= :checkpoint_version

-- name: note_delta_problem
insert into delta_publications (table_id, tenant_id, version, log_id, problem, problem_version, updated_at)
values (:table_id, :tenant_id, 0, :log_id, :problem, :version, :now)
on conflict (table_id) do update
   set problem = excluded.problem, problem_version = excluded.problem_version, updated_at = excluded.updated_at

-- name: versions_since
-- Also those that have expired: what they did is part of what lies between.
select version, operation, schema_version, 1 as is_kept from table_snapshots
 where tenant_id = :tenant_id and table_id = :table_id and version > :version
union all
select version, operation, schema_version, 0 as is_kept from expired_snapshots
 where tenant_id = :tenant_id and table_id = :table_id and version > :version
 order by version

-- name: schemas_of
select schema_version, "schema", format from table_metadata where tenant_id = :tenant_id and table_id = :table_id order by schema_version

-- name: files_between
-- What came after one version and is there at another, a page at a time.
select added_version, file_path, file_size, row_count, column_bounds, modified_at from table_files
 where tenant_id = :tenant_id and table_id = :table_id
   and added_version > :low and added_version <= :high and (removed_version is null or removed_version > :high)
   and (added_version, file_path) > (:after_added_version, :after_file_path) -- optional
 order by added_version, file_path
 limit :page_size

-- name: paths_gone_between
select file_path, file_size from table_files
 where tenant_id = :tenant_id and table_id = :table_id and added_version <= :low and removed_version > :low and removed_version <= :high
 order by file_path

-- name: oldest_delta_version
select min(delta_version) as delta_version from table_snapshots where tenant_id = :tenant_id and table_id = :table_id and delta_version is not null

-- name: publishing_lag
-- By format: how many tables are published, how many are behind and by how many versions at most, and how many say why they are not.
select 'iceberg' as format, count(*) as tables, sum(case when p.version < t.current_version then 1 else 0 end) as behind,
       max(t.current_version - p.version) as versions, sum(case when p.problem is not null then 1 else 0 end) as problems
  from table_publications p join tables t on t.table_id = p.table_id
 where p.tenant_id = :tenant_id and (p.version > 0 or p.problem is not null)
union all
select 'delta' as format, count(*) as tables, sum(case when d.version < t.current_version then 1 else 0 end) as behind,
       max(t.current_version - d.version) as versions, sum(case when d.problem is not null then 1 else 0 end) as problems
  from delta_publications d join tables t on t.table_id = d.table_id
 where d.tenant_id = :tenant_id

-- name: publishing_problems
select t.schema_name, t.table_name, 'Iceberg' as format, p.problem
  from table_publications p join tables t on t.table_id = p.table_id
 where p.tenant_id = :tenant_id and p.problem is not null
union all
select t.schema_name, t.table_name, 'Delta' as format, d.problem
  from delta_publications d join tables t on t.table_id = d.table_id
 where d.tenant_id = :tenant_id and d.problem is not null
 order by 1, 2, 3
 limit 1

-- name: add_claim
insert into table_claims (claim_id, tenant_id, table_id, run_id, paths, claimed_at)
values (:claim_id, :tenant_id, :table_id, :run_id, :paths, :now)

-- name: remove_claims
delete from table_claims where tenant_id = :tenant_id and table_id = :table_id and run_id = :run_id

-- name: remove_dead_claims
delete from table_claims
 where tenant_id = :tenant_id and table_id = :table_id
   and not exists (select 1 from pipeline_runs r where r.pipeline_logging_id = table_claims.run_id and r.status = 'RUNNING')

-- name: claims
select c.run_id, c.paths from table_claims c
 where c.tenant_id = :tenant_id and c.table_id = :table_id
   and exists (select 1 from pipeline_runs r where r.pipeline_logging_id = c.run_id and r.status = 'RUNNING')
 order by c.run_id

-- name: compactions
-- For which size of files each compaction packed what it made, also one that has expired.
select version, summary ->> 'target_bytes' as target_bytes from table_snapshots
 where tenant_id = :tenant_id and table_id = :table_id and operation = 'replace'
union all
select version, summary ->> 'target_bytes' as target_bytes from expired_snapshots
 where tenant_id = :tenant_id and table_id = :table_id and operation = 'replace'
