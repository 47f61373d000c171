-- name: feed
-- When the ledger was made: the numbers of another ledger's change log say nothing about this one's.
select applied_at from schema_migrations where version = 1

-- name: ends
-- The newest change of the tenant, and up to where retention has deleted them.
select coalesce((select max(seq) from change_log where tenant_id = :tenant_id), 0) as head,
       coalesce((select seq from change_log_trimmed where tenant_id = :tenant_id), 0) as trimmed

-- name: changed
select seq, key from change_log
 where tenant_id = :tenant_id and table_name = :table_name and seq > :after_seq and seq <= :last_seq
 order by seq
 limit :page_size

-- name: waiting
select count(*) as number from (
    select 1 from change_log
     where tenant_id = :tenant_id and table_name = :table_name and seq > :after_seq and coalesce(after ->> 'pipeline_id', '') <> :own
     limit :most) waiting

-- name: last_known@sqlite
-- Of rows that are gone, what the changes said of them, oldest first.
select key, after from change_log
 where tenant_id = :tenant_id and table_name = :table_name and seq > :after_seq and seq <= :last_seq and after is not null
   and key in (select value from json_each(:keys))
 order by seq

-- name: last_known@postgres
select key, after from change_log
 where tenant_id = :tenant_id and table_name = :table_name and seq > :after_seq and seq <= :last_seq and after is not null
   and key = any(array(select jsonb_array_elements_text(:keys)))
 order by seq

-- name: columns_of@sqlite
select name, lower(type) as type from pragma_table_info(:table_name) order by cid

-- name: columns_of@postgres
select column_name as name, data_type as type from information_schema.columns
 where table_schema = current_schema() and table_name = :table_name
 order by ordinal_position

-- name: live_files
-- The files that may have one of the keys, and those of the partitions that get rows.
select file_path, file_size, row_count, partition_path, column_bounds -> :column ->> 'min' as low, column_bounds -> :column ->> 'max' as high
  from table_files
 where tenant_id = :tenant_id and table_id = :table_id and state = 'live'
