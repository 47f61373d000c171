-- name: find_freshness
select * from table_freshness where tenant_id = :tenant_id and table_id = :table_id

-- name: put_freshness
insert into table_freshness (
    table_id, tenant_id, data_at, gaps, wait_seconds, learned_days, max_age_seconds, declared_by, reason, updated_at
) values (
    :table_id, :tenant_id, :data_at, :gaps, :wait_seconds, :learned_days, :max_age_seconds, :declared_by, :reason, :now
)
on conflict (table_id) do update
   set data_at = excluded.data_at, gaps = excluded.gaps, wait_seconds = excluded.wait_seconds, learned_days = excluded.learned_days,
       max_age_seconds = excluded.max_age_seconds, declared_by = excluded.declared_by, reason = excluded.reason, updated_at = excluded.updated_at

-- name: list_freshness
-- Without the gaps, which are long: what follows from them is there.
select t.schema_name, t.table_name, t.name_key, f.data_at, f.wait_seconds, f.learned_days, f.max_age_seconds, f.declared_by, f.reason
  from tables t
  join table_freshness f on f.table_id = t.table_id
 where t.tenant_id = :tenant_id
   and t.name_key > :after_key -- optional
 order by t.name_key
 limit :page_size
