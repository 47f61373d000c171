-- name: changes_after
select * from change_log
 where tenant_id = :tenant_id
   and seq > :after_seq -- optional
   and table_name = :table_name -- optional
 order by seq
 limit :page_size -- optional
