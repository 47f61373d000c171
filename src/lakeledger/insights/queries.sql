-- name: current_inputs
-- What the rows of each table were last made of, as far as their run said; one row for each table.
select t.table_id, t.schema_name, t.table_name, s.version, s.summary, s.run_id, s.committed_at, s.operation
  from tables t join table_snapshots s on s.table_id = t.table_id and s.version = t.content_version
 where t.tenant_id = :tenant_id
   and t.name_key > :after_key -- optional
 order by t.name_key
 limit :page_size
